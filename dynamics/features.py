"""The features of a data distribution: lambda, rho and sigma, validated once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dynamics.errors import LindynError, ParameterError

FloatArray = npt.NDArray[np.float64]

AGREEMENT = 1e-6
"""How far, relative to lambda, a given lambda may lie from rho sigma^2 when all three are given."""


@dataclass(frozen=True, init=False, eq=False)
class Features:
    """Features of paired views x, y, one entry each.

    Parameters
    ----------
    lam
        Covariance of the feature between the two views, E[y x]; zero and negative values are allowed.
    rho
        Regression coefficient of y on x, lam / sigma**2; of the same sign as lam.
    sigma
        Standard deviation of the feature in x; positive.
    names
        One distinct label a feature; by default the numbers from 1.

    Any two of ``lam``, ``rho``, ``sigma`` give the third; if all three are given they must agree to one part in a million,
    and ``lam`` and ``rho`` are kept. A single value serves all features. Where ``lam`` is zero ``rho`` does not determine
    ``sigma``: give ``sigma``.

    Raises
    ------
    ParameterError
        If a value is not finite, a sigma is not positive, signs contradict each other, or names repeat.
    LindynError
        If fewer than two of the three are given, lengths differ, or the three disagree.
    """

    lam: FloatArray
    rho: FloatArray
    sigma: FloatArray
    names: tuple[str, ...] | None

    def __init__(
        self,
        lam: npt.ArrayLike | None = None,
        rho: npt.ArrayLike | None = None,
        sigma: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        given = {
            name: _column(name, values)
            for name, values in (("lambda", lam), ("rho", rho), ("sigma", sigma))
            if values is not None
        }
        if len(given) < 2:
            have = " and ".join(given) or "none"
            raise LindynError(f"two of lambda, rho and sigma are needed and {have} was given.")
        lam_column, rho_column, sigma_column = _complete(**_broadcast(given))
        object.__setattr__(self, "lam", lam_column)
        object.__setattr__(self, "rho", rho_column)
        object.__setattr__(self, "sigma", sigma_column)
        object.__setattr__(self, "names", None if names is None else _distinct(names, len(lam_column)))

    def __len__(self) -> int:
        return len(self.lam)

    def __getitem__(self, which: slice | Sequence[int] | npt.NDArray[Any]) -> Features:
        """The features at a slice, mask or list of positions, labels kept."""
        positions = np.arange(len(self))[which]
        names = [self.names[row] if self.names else str(row + 1) for row in positions.tolist()]
        return Features(lam=self.lam[which], rho=self.rho[which], sigma=self.sigma[which], names=names)

    def joined(self, others: Features) -> Features:
        """These features followed by others, numbered anew."""
        columns = ((self.lam, others.lam), (self.rho, others.rho), (self.sigma, others.sigma))
        lam, rho, sigma = (np.concatenate(pair) for pair in columns)
        return Features(lam=lam, rho=rho, sigma=sigma)

    def labels(self) -> tuple[str, ...]:
        """The names, or the numbers from 1 where none were given."""
        return self.names if self.names is not None else tuple(map(str, range(1, len(self) + 1)))


def _column(name: str, values: npt.ArrayLike) -> FloatArray:
    try:
        column = np.atleast_1d(np.array(values, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(name, repr(values), "a number or a list of numbers") from None
    if column.ndim != 1 or column.size == 0:
        raise ParameterError(name, f"an array of shape {column.shape}", "one number or a non-empty list of numbers")
    _require(name, column, np.isfinite(column), "finite")
    if name == "sigma":
        _require(name, column, column > 0, "positive")
    return column


def _require(name: str, column: FloatArray, allowed: npt.NDArray[np.bool_], description: str) -> None:
    if not allowed.all():
        row = int(np.argmin(allowed))
        where = f" (row {row + 1})" if len(column) > 1 else ""
        raise ParameterError(name, f"{column[row]}{where}", description)


def _broadcast(given: dict[str, FloatArray]) -> dict[str, FloatArray]:
    count = max(map(len, given.values()))
    for name, column in given.items():
        if len(column) not in (1, count):
            raise ParameterError(name, f"a list of {len(column)} numbers", f"a list of {count} or a single number")
    return {name: np.ascontiguousarray(np.broadcast_to(column, count)) for name, column in given.items()}


def _complete(**given: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    lam, rho, sigma = (given.get(name) for name in ("lambda", "rho", "sigma"))
    if lam is None:
        assert rho is not None
        assert sigma is not None
        with np.errstate(over="ignore"):
            lam = rho * sigma * sigma
    elif rho is None:
        assert sigma is not None
        with np.errstate(over="ignore"):
            rho = lam / sigma / sigma
    else:
        _require("rho", rho, np.sign(lam) == np.sign(rho), "of the same sign as lambda (for a lambda of 0 give sigma instead)")
        if sigma is None:
            _require("lambda", lam, lam != 0, "non-zero when rho is given without sigma, because rho = lambda / sigma^2")
            sigma = _root_ratio(lam, rho)
        else:
            _agree(lam, rho, sigma)
    for name, column in (("lambda", lam), ("rho", rho), ("sigma", sigma)):
        _require(name, column, np.isfinite(column), "finite: the other two give a number a double cannot hold")
    return lam, rho, sigma


def _root_ratio(lam: FloatArray, rho: FloatArray) -> FloatArray:
    """sqrt(lam / rho), also where the ratio itself leaves the doubles."""
    with np.errstate(over="ignore", under="ignore"):
        ratio = lam / rho
        apart = np.sqrt(np.abs(lam)) / np.sqrt(np.abs(rho))
    fits = np.isfinite(ratio) & (ratio > 0)
    return np.where(fits, np.sqrt(np.where(fits, ratio, 1.0)), apart)


def _agree(lam: FloatArray, rho: FloatArray, sigma: FloatArray) -> None:
    with np.errstate(over="ignore"):
        implied = rho * sigma * sigma
    gap = np.abs(lam - implied)
    wrong = gap > AGREEMENT * np.abs(lam)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise LindynError(
            f"lambda = rho sigma^2 is violated in row {row + 1}: lambda is {lam[row]}, rho sigma^2 is {implied[row]}, "
            f"{gap[row] / abs(lam[row]):.3g} apart relative to lambda; correct one of the three or leave one out."
        )


def _distinct(names: Sequence[str], count: int) -> tuple[str, ...]:
    labels = tuple(map(str, names))
    if len(labels) != count:
        raise LindynError(f"there are {len(labels)} names for {count} features.")
    if len(set(labels)) < count:
        first: dict[str, int] = {}
        for row, label in enumerate(labels, start=1):
            if label in first:
                raise ParameterError("name", f"{label} in rows {first[label]} and {row}", "given to one feature only")
            first[label] = row
    return labels
