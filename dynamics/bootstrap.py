"""Standard errors of the features of paired views, by resampling rows.

The basis stays as found on all rows, so the errors are those of lambda, rho and ranks *along the given directions*; that the
directions themselves would turn on other data is not in them. With the basis fixed, lambda and sigma^2 of a resampled data set
are weighted sums of one number a row less a product of weighted means, so all replicates come from one pass over the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.checks import whole_number
from dynamics.errors import LindynError
from dynamics.feature_basis import FeatureBasis
from dynamics.features import Features, FloatArray
from dynamics.views import Views

CONSTANT = 1e-12
"""Variance, relative to the mean square, below which a resampled feature counts as constant."""


@dataclass(frozen=True, eq=False)
class StandardErrors:
    """Bootstrap standard errors, one entry a feature.

    Attributes
    ----------
    lam, rho
        Of lambda, in squared units of the data, and of rho.
    rank
        Of the ranks, None if no ranking was asked for.
    replicates
        Resampled data sets behind them; an error is itself known to about a share ``1 / sqrt(2 replicates)``.
    block_length
        Consecutive rows that were drawn together.
    """

    lam: FloatArray
    rho: FloatArray
    rank: FloatArray | None
    replicates: int
    block_length: int


def bootstrap(
    views: Views,
    basis: FeatureBasis,
    *,
    seed: int,
    replicates: int = 200,
    rank_by: Callable[[Features], npt.ArrayLike] | None = None,
    block_length: int | None = None,
) -> StandardErrors:
    """Standard errors of lambda, rho and ranks by resampling rows with replacement, in the fixed basis.

    Parameters
    ----------
    views, basis
        The views and the features found from them.
    seed
        Of ``numpy.random.default_rng``; the same seed gives the same numbers.
    rank_by
        Ranks, one number a feature, from the `Features` of a replicate.
    block_length
        Rows drawn together (Kunsch 1989, moving blocks). By default 1 for independent rows and, because neighbouring rows of a
        series depend on one another, the cube root of the number of pairs for lagged views.

    A feature that is constant in a replicate has nothing to predict and counts there with lambda = rho = 0, so that one which
    hangs on a few rows gets the large error it deserves. Masks are averaged over exactly in every replicate.

    Raises
    ------
    ParameterError
        If ``seed``, ``replicates`` or ``block_length`` is out of range.
    LindynError
        If the basis belongs to other views, or ``rank_by`` does not return one finite number a feature.
    """
    count, kept = views.count, basis.moments.columns_kept
    if basis.moments.count != count or kept[-1] >= views.width:
        raise LindynError(
            f"the basis comes from {basis.moments.count} pairs, not from these {count}; use the same views for both."
        )
    length = whole_number("block_length", views.block_length if block_length is None else block_length, 1, max(1, count // 2))
    number = whole_number("replicates", replicates, 2)
    generator = np.random.default_rng(whole_number("seed", seed, 0))
    lam, variance = _replicates(views, basis, _Resampling(count, length, number, generator))
    rank = None if rank_by is None else np.stack([_ranks(rank_by, *row) for row in zip(lam, variance, strict=True)])
    rank_error = None if rank is None else _deviation(rank)
    return StandardErrors(_deviation(lam), _deviation(lam / variance), rank_error, number, length)


@dataclass(frozen=True)
class _Resampling:
    """Blocks of consecutive rows drawn with replacement until there are as many rows as before; the last block is shorter."""

    rows: int
    length: int
    replicates: int
    generator: np.random.Generator

    def weights(self, parts: Iterable[slice]) -> Iterator[FloatArray]:
        """How often every replicate holds each row of each part, replicates x rows; the parts are in order and leave no gap."""
        blocks, rest = divmod(self.rows, self.length)
        positions = self.rows - self.length + 1
        shorter = self.generator.integers(self.rows - rest + 1, size=(self.replicates, 1))
        left = np.full(self.replicates, blocks)
        running = np.zeros((self.replicates, self.length - 1), dtype=np.int64)
        for part in parts:
            size = max(0, min(part.stop, positions) - part.start)
            drawn = self.generator.binomial(left, size / max(positions - part.start, 1))
            left = left - drawn
            starts = np.zeros((self.replicates, part.stop - part.start), dtype=np.int64)
            starts[:, :size] = self._scatter(drawn, size)
            running = np.concatenate([running, starts], axis=1)
            covering = running.cumsum(axis=1)
            weights = covering[:, self.length - 1 :]
            weights[:, 1:] -= covering[:, : -self.length].copy()
            row = np.arange(part.start, part.stop)
            yield (weights + ((row >= shorter) & (row < shorter + rest))).astype(np.float64)
            running = running[:, running.shape[1] - self.length + 1 :]

    def _scatter(self, drawn: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
        """That many draws of each replicate, counted over ``size`` equally likely places."""
        if size == 0:
            return np.zeros((self.replicates, 0), dtype=np.int64)
        place = self.generator.integers(size, size=int(drawn.sum()))
        replicate = np.repeat(np.arange(self.replicates), drawn)
        return np.bincount(replicate * size + place, minlength=self.replicates * size).reshape(self.replicates, size)


def _replicates(views: Views, basis: FeatureBasis, resampling: _Resampling) -> tuple[FloatArray, FloatArray]:
    """Lambda and sigma^2 of every feature in every replicate, replicates x features."""
    directions, means, kept = basis.directions, basis.moments.means, basis.moments.columns_kept
    shape = resampling.replicates, directions.shape[1]
    x_mean, y_mean = (np.zeros((resampling.replicates, len(kept))) for _ in range(2))
    cross, square = np.zeros(shape), np.zeros(shape)
    parts = list(views.blocks(max(views.width, resampling.replicates)))
    for part, weights in zip(parts, resampling.weights(parts), strict=True):
        x, y = views.centred(part, kept, means)
        share = weights / views.count
        x_mean += share @ x
        y_mean += share @ y
        square += share @ views.input_masking.along(x, x, directions)
        cross += share @ views.cross_masking.along(x, y, directions)
    variance = square - views.input_masking.along(x_mean, x_mean, directions)
    lam = cross - views.cross_masking.along(x_mean, y_mean, directions)
    constant = variance <= CONSTANT * square
    return np.where(constant, 0.0, lam), np.where(constant, basis.features.sigma**2, variance)


def _ranks(rank_by: Callable[[Features], npt.ArrayLike], lam: FloatArray, variance: FloatArray) -> FloatArray:
    ranks = np.asarray(rank_by(Features(lam=lam, sigma=np.sqrt(variance))), dtype=np.float64)
    if ranks.shape != lam.shape or not np.isfinite(ranks).all():
        raise LindynError(f"rank_by returned {ranks!r}; one finite number for each of {len(lam)} features is needed.")
    return ranks


def _deviation(values: FloatArray) -> FloatArray:
    scale = np.abs(values).max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    deviation: FloatArray = (values / scale).std(axis=0, ddof=1) * scale
    return deviation
