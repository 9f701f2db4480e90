"""The second moments that a network is trained on, in the coordinates of the features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.errors import ParameterError
from dynamics.features import Features, FloatArray


@dataclass(frozen=True, eq=False)
class Moments:
    """Sxx = E[x x'], Syx = E[y x'] and Syy = E[y y'], each d x d; off the diagonal they couple the features.

    Raises
    ------
    ParameterError
        If they are not square matrices of one size with finite entries, or Sxx or Syy is not symmetric.
    """

    input_covariance: FloatArray
    cross_covariance: FloatArray
    target_covariance: FloatArray

    def __post_init__(self) -> None:
        shape = self.input_covariance.shape
        for name in ("input_covariance", "cross_covariance", "target_covariance"):
            matrix = np.asarray(getattr(self, name), dtype=np.float64)
            if matrix.ndim != 2 or matrix.shape != (shape[0], shape[0]):
                raise ParameterError(name, f"an array of shape {matrix.shape}", "a square matrix, of one size with the others")
            if not np.isfinite(matrix).all():
                raise ParameterError(name, matrix[~np.isfinite(matrix)][0], "finite in every entry")
            if name != "cross_covariance" and not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-12 * np.abs(matrix).max()):
                raise ParameterError(name, "not symmetric", "symmetric, as a covariance is")
            object.__setattr__(self, name, matrix)

    @classmethod
    def of_batch(cls, x: FloatArray, y: FloatArray) -> Moments:
        """Those of samples, one a row, about 0."""
        return cls(x.T @ x / len(x), y.T @ x / len(x), y.T @ y / len(x))

    @property
    def width(self) -> int:
        """Number of coordinates d."""
        return len(self.input_covariance)

    def features(self) -> Features:
        """Lambda and sigma of every coordinate: the diagonals."""
        return Features(lam=np.diagonal(self.cross_covariance), sigma=np.sqrt(np.diagonal(self.input_covariance)))


def moments_of_features(features: Features) -> Moments:
    """Diagonal moments: the setting of the theory.

    Features do not say how y varies. It is taken to vary as x does (exchangeable views) or, where ``|rho| > 1`` forbids that,
    as little as rho allows. This enters the loss, and training only without the stop-gradient.
    """
    variance = features.sigma**2
    return Moments(np.diag(variance), np.diag(features.lam), np.diag(np.maximum(variance, features.rho * features.lam)))
