"""The exact flow du/dt = lambda u^a (1 - u^b / rho): from the start to a fraction of the asymptote."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import expm1, ldexp, log

import numpy as np

from dynamics.clock import LN2, LOG10_2, SMALLEST_NORMAL, Span, dimensionless_time, scaled_power
from dynamics.features import FloatArray
from dynamics.objectives import Objective


@dataclass(frozen=True)
class ScaledTime:
    """Times as mantissa * 2**exponent, which neither overflow nor underflow."""

    mantissa: FloatArray
    exponent: np.ndarray

    @property
    def value(self) -> FloatArray:
        """The times as doubles; ``inf`` where a double cannot hold them."""
        with np.errstate(over="ignore", under="ignore"):
            value: FloatArray = np.ldexp(self.mantissa, self.exponent)
        return value

    def share(self, time: FloatArray) -> FloatArray:
        """time / these times."""
        with np.errstate(over="ignore", under="ignore"):
            share: FloatArray = np.ldexp(time / self.mantissa, -self.exponent)
        return share

    @property
    def log10(self) -> FloatArray:
        """Decimal logarithms, finite whatever the times."""
        return np.log10(self.mantissa) + self.exponent * LOG10_2


def asymptote(objective: Objective, rho: FloatArray) -> FloatArray:
    """Encoder amplitude rho**(L/b) that each feature tends to from a positive start; 0 where rho <= 0."""
    with np.errstate(over="ignore", under="ignore"):
        limit: FloatArray = np.maximum(rho, 0.0) ** (objective.depth / objective.b)
    return limit


def growth_span(objective: Objective, rho: FloatArray, epsilon: float, fraction: float) -> Span:
    """The stretch of z = u**b / rho from the start to ``fraction`` of the asymptote, for positive ``rho``.

    Empty (ratio 1) where the start is already there.
    """
    power = Fraction(objective.b, objective.depth)
    start, start_binary = scaled_power(epsilon, power)
    end, end_binary = scaled_power(fraction, power)
    rho_mantissa, rho_binary = np.frexp(rho)
    mantissa = (start / end) / rho_mantissa
    binary = (start_binary - end_binary) - rho_binary
    with np.errstate(over="ignore", under="ignore"):
        ratio = np.minimum(np.ldexp(mantissa, binary), 1.0)
    tiny = ratio < SMALLEST_NORMAL
    log_ratio = -np.log(np.where(tiny, 1.0, ratio))
    if tiny.any():
        log_ratio[tiny] = -np.log(mantissa[tiny]) - binary[tiny] * LN2
    return Span(ratio, 1.0 - ratio, log_ratio, ldexp(end, end_binary), -expm1(float(power) * log(fraction)))


def time_unit(objective: Objective, lam: FloatArray, epsilon: float) -> ScaledTime:
    """1 / (lam b u0**(a-1)): training time in which an unsaturated feature grows e-fold in z at the start, for lam > 0."""
    growth, binary = scaled_power(epsilon, Fraction(1 - objective.a, objective.depth))
    lam_mantissa, lam_binary = np.frexp(lam)
    return ScaledTime(growth / (objective.b * lam_mantissa), binary - lam_binary)


def growth_time(objective: Objective, lam: FloatArray, epsilon: float, span: Span) -> ScaledTime:
    """Training time spent on a stretch that begins at ``epsilon``, for lam > 0."""
    unit = time_unit(objective, lam, epsilon)
    duration, _ = dimensionless_time(objective.alpha, span)
    return ScaledTime(unit.mantissa * duration, unit.exponent)
