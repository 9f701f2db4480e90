"""The second moments that a network is trained on, in the coordinates of the features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dynamics.errors import ParameterError
from dynamics.features import Features, FloatArray

ROUNDING = 1e-9
"""Relative to the largest entry: asymmetry and negative eigenvalues that rounding may leave of a covariance."""

SQUARE = "a square matrix, of one size with the others"


class AnyMoments(Protocol):
    """Sxx, Syx and Syy, as matrices or, where nothing is off their diagonals, as vectors."""

    @property
    def input_covariance(self) -> FloatArray: ...
    @property
    def cross_covariance(self) -> FloatArray: ...
    @property
    def target_covariance(self) -> FloatArray: ...


@dataclass(frozen=True, eq=False)
class Moments:
    """Sxx = E[x x'], Syx = E[y x'] and Syy = E[y y'], each d x d; off the diagonal they couple the features.

    They are copied, and not to be written to.

    Raises
    ------
    ParameterError
        If they are not square matrices of one size with finite entries, if Sxx or Syy is not symmetric or has a negative
        eigenvalue, or if a coordinate of x does not vary.
    """

    input_covariance: FloatArray
    cross_covariance: FloatArray
    target_covariance: FloatArray

    def __post_init__(self) -> None:
        for name, values in list(vars(self).items()):
            matrix = _matrix(name, values)
            if len(matrix) != len(self.input_covariance):
                raise ParameterError(name, f"an array of shape {matrix.shape}", SQUARE)
            if name != "cross_covariance":
                _check_covariance(name, matrix)
            matrix.setflags(write=False)
            object.__setattr__(self, name, matrix)
        constant = np.flatnonzero(np.diagonal(self.input_covariance) <= 0.0)
        if len(constant):
            raise ParameterError("input_covariance", f"0 for coordinate {constant[0] + 1}", "positive for every coordinate")

    @property
    def width(self) -> int:
        """Number of coordinates d."""
        return len(self.input_covariance)

    def features(self) -> Features:
        """Lambda and sigma of every coordinate: the diagonals."""
        return Features(lam=np.diagonal(self.cross_covariance), sigma=np.sqrt(np.diagonal(self.input_covariance)))


@dataclass(frozen=True, eq=False)
class Diagonals:
    """The diagonals of moments, vectors of shape ``(d,)``."""

    input_covariance: FloatArray
    cross_covariance: FloatArray
    target_covariance: FloatArray

    @classmethod
    def of(cls, moments: AnyMoments) -> Diagonals:
        """Those of matrices."""
        return cls(*map(np.diagonal, (moments.input_covariance, moments.cross_covariance, moments.target_covariance)))

    def matrices(self) -> Moments:
        """The moments of features that are not coupled."""
        return Moments(*map(np.diag, vars(self).values()))


class SampleMoments:
    """The moments of samples x and y, one a row, about 0; not checked, as a new batch comes with every step."""

    def __init__(self, x: FloatArray, y: FloatArray) -> None:
        self.input_covariance: FloatArray = x.T @ x / len(x)
        self.cross_covariance: FloatArray = y.T @ x / len(x)
        self._y = y

    @cached_property
    def target_covariance(self) -> FloatArray:
        """E[y y'], computed when asked for: training needs it only without the stop-gradient."""
        covariance: FloatArray = self._y.T @ self._y / len(self._y)
        return covariance

    @property
    def width(self) -> int:
        """Number of coordinates d."""
        return len(self.input_covariance)


def moments_of_features(features: Features) -> Moments:
    """Diagonal moments: the setting of the theory.

    Features do not say how y varies. It is taken to vary as x does (exchangeable views) or, where ``|rho| > 1`` forbids that,
    as little as rho allows. This enters the loss; training only by way of normal minibatches, or without the stop-gradient.
    """
    variance = features.sigma**2
    return Diagonals(variance, features.lam, np.maximum(variance, features.rho * features.lam)).matrices()


def _matrix(name: str, values: npt.ArrayLike) -> FloatArray:
    """A copy of a square matrix of finite numbers."""
    try:
        matrix = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ParameterError(name, repr(values), SQUARE) from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
        raise ParameterError(name, f"an array of shape {matrix.shape}", SQUARE)
    if not np.isfinite(matrix).all():
        raise ParameterError(name, matrix[~np.isfinite(matrix)][0], "finite in every entry")
    return matrix


def _check_covariance(name: str, matrix: FloatArray) -> None:
    allowed = ROUNDING * np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > allowed:
        raise ParameterError(name, "not symmetric", "symmetric, as a covariance is")
    least = float(np.linalg.eigvalsh(matrix)[0])
    if least < -allowed:
        raise ParameterError(name, f"a matrix with the eigenvalue {least:.3g}", "a covariance, with no negative eigenvalue")
