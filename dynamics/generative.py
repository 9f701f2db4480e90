"""Linear generative models: what masks make of pixels, and lags of slow noisy signals, as features and as samples.

    >>> from dynamics.generative import NoisyAutoregression
    >>> slow_and_fast = NoisyAutoregression(coefficient=[0.9, 0.5], variance=1.0, noise=[0.0, 3.0])
    >>> slow_and_fast.features().lam.tolist()
    [0.9, 0.5]

After Littwin et al. 2024, linear generative models; the formulas are those of the statements `independent-mask-moments`,
`full-target-moments`, `complementary-target-moments` and `ar1-moments`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from dynamics.checks import whole_number
from dynamics.errors import ParameterError
from dynamics.feature_basis import FeatureBasis, diagonalise
from dynamics.features import Features, FloatArray
from dynamics.network.population import Data
from dynamics.views import Masking, Views, lagged, masked, maskings, second_moments


@dataclass(frozen=True, init=False, eq=False)
class MaskedPixels:
    """Images whose pixels have one variance s, each pixel of x kept with probability ``keep`` on its own and else 0.

    With equal variances masks turn no eigenvector of the pixels' covariance: on the one of eigenvalue kappa
    sigma^2 = q^2 kappa + q (1 - q) s, and lambda rises with kappa. So does rho: JEPA and MAE rank these features alike.

    Parameters
    ----------
    eigenvalues
        kappa of every feature, positive; their mean is s.
    keep, target
        As for `dynamics.views.masked`.

    Raises
    ------
    ParameterError
        If an eigenvalue is not positive, ``keep`` is not in (0, 1] or ``target`` is unknown.
    """

    eigenvalues: FloatArray
    keep: float
    target: str

    def __init__(self, eigenvalues: npt.ArrayLike, keep: float, target: str = "full") -> None:
        maskings(keep, target)
        object.__setattr__(self, "eigenvalues", _column("eigenvalues", eigenvalues, _positive, "positive"))
        object.__setattr__(self, "keep", float(keep))
        object.__setattr__(self, "target", target)

    @property
    def variance(self) -> float:
        """Variance s of every pixel."""
        return float(self.eigenvalues.mean())

    def features(self) -> Features:
        """Lambda and sigma of every eigenvector, in the order of the eigenvalues."""
        inputs, cross = maskings(self.keep, self.target)
        return Features(lam=self._behind(cross), sigma=np.sqrt(self._behind(inputs)))

    @cached_property
    def directions(self) -> FloatArray:
        """The features of the samples as columns: Walsh patterns, light and dark in equal strength.

        Their entries are all +-1/sqrt(d), and that is what gives the pixels one variance whatever the eigenvalues. Waves on a
        ring would do so too, but a sine and a cosine need the same eigenvalue.

        Raises
        ------
        ParameterError
            If the number of eigenvalues is not a power of two.
        """
        count = len(self.eigenvalues)
        if count & (count - 1):
            raise ParameterError("eigenvalues", f"a list of {count}", "as many as a power of two, for images to be drawn")
        patterns: FloatArray = np.full((1, 1), 1.0 / np.sqrt(count))
        while len(patterns) < count:
            patterns = np.block([[patterns, patterns], [patterns, -patterns]])
        return patterns

    def sample(self, count: int, generator: np.random.Generator) -> FloatArray:
        """Normal images before masking, one a row: shape ``(count, d)``."""
        size = (whole_number("count", count, 2), len(self.eigenvalues))
        images: FloatArray = generator.standard_normal(size) * np.sqrt(self.eigenvalues) @ self.directions.T
        return images

    def views(self, count: int, generator: np.random.Generator) -> Views:
        """Paired views of ``count`` images; the masks are averaged over exactly."""
        return masked(self.sample(count, generator), keep=self.keep, target=self.target)

    def _behind(self, masking: Masking) -> FloatArray:
        """`Masking.moment` along the eigenvectors of a covariance whose diagonal is constant."""
        return masking.full * self.eigenvalues + masking.diagonal * self.variance


@dataclass(frozen=True, init=False, eq=False)
class NoisyAutoregression:
    """Independent AR(1) amplitudes z' = gamma z + innovation seen with noise; y is x ``lag`` steps later.

    lambda = gamma^k tau^2 does not know of the noise and sigma^2 = tau^2 + eta^2 does. So MAE ranks by lambda, and JEPA is also
    drawn to what is slow and clean: their orders can differ.

    Parameters
    ----------
    coefficient
        gamma of every feature, between -1 and 1: what one step keeps of an amplitude.
    variance
        tau^2 of its stationary amplitude, positive.
    noise
        eta^2, variance of the noise that each view adds on its own; 0 or more.
    lag
        k, steps from x to y.

    A single value serves all features.

    Raises
    ------
    ParameterError
        If a value is out of its range, or lists differ in length.
    """

    coefficient: FloatArray
    variance: FloatArray
    noise: FloatArray
    lag: int

    def __init__(
        self, coefficient: npt.ArrayLike, variance: npt.ArrayLike = 1.0, noise: npt.ArrayLike = 0.0, lag: int = 1
    ) -> None:
        columns = {
            "coefficient": _column("coefficient", coefficient, lambda value: np.abs(value) < 1.0, "between -1 and 1"),
            "variance": _column("variance", variance, _positive, "positive"),
            "noise": _column("noise", noise, lambda value: value >= 0.0, "0 or more"),
        }
        count = max(map(len, columns.values()))
        for name, column in columns.items():
            if len(column) not in (1, count):
                raise ParameterError(name, f"a list of {len(column)} numbers", f"a list of {count} or a single number")
            object.__setattr__(self, name, np.broadcast_to(column, count))
        object.__setattr__(self, "lag", whole_number("lag", lag, 1))

    def features(self) -> Features:
        """Lambda and sigma of every amplitude, in the order given."""
        return Features(lam=self.coefficient**self.lag * self.variance, sigma=np.sqrt(self.variance + self.noise))

    @cached_property
    def directions(self) -> FloatArray:
        """The features of the samples as columns: waves over the channels, so that every channel sees every amplitude."""
        channel = np.arange(len(self.coefficient))
        angle = 2.0 * np.pi * np.outer(channel, channel) / len(channel)
        waves: FloatArray = (np.cos(angle) + np.sin(angle)) / np.sqrt(len(channel))
        return waves

    def sample(self, count: int, generator: np.random.Generator) -> FloatArray:
        """A stationary normal series, one time a row: shape ``(count, d)``."""
        size = (whole_number("count", count, 2), len(self.coefficient))
        spread, gamma = np.sqrt(self.variance), self.coefficient
        amplitudes = generator.standard_normal(size) * spread
        amplitudes[1:] *= np.sqrt((1.0 - gamma) * (1.0 + gamma))
        for before, now in pairwise(amplitudes):
            now += gamma * before
        seen: FloatArray = (amplitudes + generator.standard_normal(size) * np.sqrt(self.noise)) @ self.directions.T
        return seen

    def views(self, count: int, generator: np.random.Generator) -> Views:
        """Paired views from a series of ``count`` times."""
        return lagged(self.sample(count, generator), lag=self.lag)


def sampled(model: MaskedPixels | NoisyAutoregression, count: int, generator: np.random.Generator) -> Data:
    """Views drawn from a model with the features estimated from them, for `simulate` to train a network on.

    Every estimated feature takes the place of the model's own feature that it overlaps with, so that entry by entry
    ``data.basis.features`` estimates ``model.features()``.

    Raises
    ------
    ParameterError
        If the sample is too small to show every feature.
    """
    views = model.views(count, generator)
    return Data(views, _matched(diagonalise(second_moments(views)), model.directions, count))


def _matched(basis: FeatureBasis, directions: FloatArray, count: int) -> FeatureBasis:
    """The basis in the order and with the signs of the given directions, matched one to one for the largest overlaps."""
    from scipy.optimize import linear_sum_assignment

    if basis.directions.shape != directions.shape:
        raise ParameterError("count", count, f"large enough to show {len(directions)} features")
    overlap = directions.T @ basis.directions
    _, order = linear_sum_assignment(-np.abs(overlap))
    signs = np.sign(np.take_along_axis(overlap, order[:, None], axis=1)[:, 0])
    estimated = basis.features
    return replace(
        basis,
        features=Features(lam=estimated.lam[order], sigma=estimated.sigma[order]),
        directions=basis.directions[:, order] * signs,
        leakage=basis.leakage[order],
    )


def _positive(values: FloatArray) -> npt.NDArray[np.bool_]:
    return values > 0.0


def _column(
    name: str, values: npt.ArrayLike, within: Callable[[FloatArray], npt.NDArray[np.bool_]], description: str
) -> FloatArray:
    try:
        column = np.atleast_1d(np.array(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise ParameterError(name, repr(values), "a number or a list of numbers") from None
    if column.ndim != 1 or not column.size:
        raise ParameterError(name, f"an array of shape {column.shape}", "one number or a non-empty list of numbers")
    allowed = np.isfinite(column) & within(column)
    if not allowed.all():
        raise ParameterError(name, column[~allowed][0], f"finite and {description}")
    return column
