"""The exact solution of F' = K F - c F F' F: penalised losses, spectral contrastive learning, networks of two layers.

For symmetric K, F F' after a time t is e^(Kt) F_0 [1 + 2 c F_0' (int_0^t e^(2Ks) ds) F_0]^-1 F_0' e^(Kt). The loss with
penalty beta on the covariance has K = 4 beta - 2 kappa and c = 4 beta, the spectral contrastive one K = 4 A and c = 4, and two
layers W_2 W_1 on whitened input, balanced (W_2' W_2 = W_1 W_1'), K = [[0, S'], [S, 0]] and c = 1/2 with F = [W_1'; W_2].
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt

from dynamics.checks import check_positive
from dynamics.errors import ParameterError
from dynamics.features import FloatArray

LONGEST = 2.0
"""Time, times the norm of K, that one application of the exact map covers; longer ones lose digits."""


@dataclass(frozen=True, eq=False)
class Riccati:
    """The flow of one symmetric K, shape ``(n, n)``, and one c > 0."""

    kernel: FloatArray
    saturation: float

    def __post_init__(self) -> None:
        check_positive("saturation", self.saturation)
        kernel = np.asarray(self.kernel, dtype=np.float64)
        if kernel.ndim != 2 or not np.allclose(kernel, kernel.T, rtol=1e-12, atol=1e-12 * np.abs(kernel).max(initial=0.0)):
            raise ParameterError("kernel", "not a symmetric matrix", "symmetric")

    def gram(self, start: npt.ArrayLike, time: float) -> FloatArray:
        """F F' a time after the start F_0, shape ``(n, width)``."""
        factor = self.factor(start, time)
        gram: FloatArray = factor @ factor.T
        return gram

    def factor(self, start: npt.ArrayLike, time: float) -> FloatArray:
        """One F with the exact F F': F itself up to a rotation of its columns."""
        rates, basis = np.linalg.eigh(self.kernel)
        factor = basis.T @ np.asarray(start, dtype=np.float64)
        steps = max(1, ceil(float(np.abs(rates).max()) * time / LONGEST))
        for _ in range(steps):
            factor = self._advanced(factor, rates, time / steps)
        forward: FloatArray = basis @ factor
        return forward

    def _advanced(self, factor: FloatArray, rates: FloatArray, time: float) -> FloatArray:
        grown = np.exp(rates * time)[:, None] * factor
        double = 2.0 * rates * time
        small = np.abs(double) < 1e-12
        integral = time * np.where(small, 1.0, np.expm1(double) / np.where(small, 1.0, double))
        weight = np.eye(factor.shape[1]) + 2.0 * self.saturation * factor.T @ (integral[:, None] * factor)
        advanced: FloatArray = np.linalg.solve(np.linalg.cholesky(weight), grown.T).T
        return advanced
