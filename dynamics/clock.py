"""Time in a feature's own clock: the one integral behind every critical time and every curve.

In the coordinate z = u**b / rho a feature of any objective is exactly logistic in its own clock, and the time from z0 to z1,
in units of the growth time at the start, is

    Q_alpha(z0, z1) = integral_0^S exp(-alpha s) / (1 - z0 exp(s)) ds,    S = ln(z1 / z0),    alpha = (a - 1) / b.

It is built from its fractional part upwards, Q_alpha = (1 - exp(-alpha S)) / alpha + z0 Q_{alpha - 1}, a recurrence whose terms
are all positive, so that no digit is lost at any depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import frexp, log, log2, log10

import numpy as np
import numpy.typing as npt

from dynamics.features import FloatArray

BoolArray = npt.NDArray[np.bool_]

LN2 = log(2.0)
LOG10_2 = log10(2.0)
SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)

BLOCK = 1 << 13
"""Entries worked on at a time, so that temporaries stay in the cache."""

SHORT = 2.0
"""Length in the logistic clock below which the base integral is done by Gauss-Legendre: both antiderivatives would cancel."""


@dataclass(frozen=True)
class Span:
    """A growing stretch z0 < z1 < 1 of the logistic coordinate, held so that no digit is lost at either end.

    Attributes
    ----------
    ratio, gap, log_ratio
        z0 / z1, 1 - z0 / z1 and ln(z1 / z0), one entry a stretch.
    end, end_gap
        z1 and 1 - z1, one for all stretches or one each.
    """

    ratio: FloatArray
    gap: FloatArray
    log_ratio: FloatArray
    end: float | FloatArray
    end_gap: float | FloatArray

    @property
    def start(self) -> FloatArray:
        """z0."""
        return self.ratio * self.end

    @property
    def start_gap(self) -> FloatArray:
        """1 - z0."""
        return self.gap * self.end + self.end_gap

    def __getitem__(self, which: BoolArray) -> Span:
        """The stretches where ``which`` holds."""
        end, end_gap = (np.broadcast_to(given, self.ratio.shape)[which] for given in (self.end, self.end_gap))
        return Span(self.ratio[which], self.gap[which], self.log_ratio[which], end, end_gap)


def scaled_power(base: float, exponent: Fraction) -> tuple[float, int]:
    """base**exponent as (m, k) with value m * 2**k: no overflow, and no digit lost to a large logarithm."""
    mantissa, binary = frexp(base)
    whole, rest = divmod(exponent.numerator * binary, exponent.denominator)
    return 2.0 ** (rest / exponent.denominator + float(exponent) * log2(mantissa)), whole


def dimensionless_time(alpha: Fraction, span: Span) -> tuple[FloatArray, FloatArray]:
    """Q_alpha over each stretch, and the part z0 Q_{alpha - 1} of it that knows about saturation.

    The whole is (1 - ratio**alpha) / alpha plus that part (for alpha = 0, ln(z1 / z0) plus it); the growth of an
    unsaturated feature takes the first summand alone.
    """
    steps, base = divmod(alpha, 1)
    start = span.start
    if not base:
        saturation = np.log1p(span.gap * span.end / span.end_gap)
        total = span.log_ratio + saturation
        growth, power = np.zeros_like(total), np.ones_like(total)
    else:
        power = np.exp(-float(base) * span.log_ratio)
        growth = 1.0 - power
        saturation = power * _end_tail(base, span) - saturation_tail(base, start, span.start_gap)
        total = growth / float(base) + saturation
        _replace_short(base, span, total, growth, saturation)
    for step in range(1, int(steps) + 1):
        growth += power * span.gap
        power *= span.ratio
        saturation = start * total
        total = growth / float(base + step) + saturation
    return total, saturation


def _end_tail(base: Fraction, span: Span) -> float | FloatArray:
    if isinstance(span.end, float) and isinstance(span.end_gap, float):
        return _scalar_tail(base, span.end, span.end_gap)
    return saturation_tail(base, span.end, span.end_gap)


@lru_cache
def _scalar_tail(base: Fraction, z: float, gap: float) -> float:
    return float(saturation_tail(base, z, gap)[0])


def _replace_short(base: Fraction, span: Span, total: FloatArray, growth: FloatArray, saturation: FloatArray) -> None:
    clock = span.log_ratio + np.log1p(span.gap * span.end / span.end_gap)
    short = clock < SHORT
    if short.any():
        stretch = span[short]
        total[short] = _by_quadrature(float(base), stretch, clock[short])
        growth[short] = -np.expm1(-float(base) * stretch.log_ratio)
        saturation[short] = _by_quadrature(float(base) - 1.0, stretch, clock[short]) * stretch.start


def _by_quadrature(alpha: float, span: Span, clock: FloatArray) -> FloatArray:
    """Q over stretches of at most SHORT in the logistic clock y, where it is the integral of (z0 / z(y))**alpha."""
    total = np.zeros_like(clock)
    start = span.start
    for node, weight in zip(*np.polynomial.legendre.leggauss(14), strict=True):
        elapsed = 0.5 * (node + 1.0) * clock
        log_ratio = elapsed - np.log1p(start * np.expm1(elapsed))
        total += weight * np.exp(-alpha * log_ratio)
    return 0.5 * clock * total


def saturation_tail(base: Fraction, z: float | FloatArray, gap: float | FloatArray) -> FloatArray:
    """z**base times the integral_0^z of x**-base / (1 - x): the sum of z**(j+1) / (j + 1 - base)."""
    values, gaps = np.atleast_1d(np.asarray(z)), np.atleast_1d(np.asarray(gap))
    near = values > 0.5
    if not near.any():
        return _power_series(base, values)
    result = _power_series(base, np.where(near, 0.0, values))
    close, close_gaps = values[near], gaps[near]
    primitive = _primitive_constant(base) - np.log(close_gaps) - complement_series(base, close_gaps)
    result[near] = close ** float(base) * primitive
    return result


def _power_series(base: Fraction, z: FloatArray) -> FloatArray:
    # Summed forwards until no entry moves: an entry's value then does not depend on its neighbours.
    power = z
    total = z / float(1 - base)
    order = 2
    while True:
        power = power * z
        longer = total + power / float(order - base)
        if np.array_equal(longer, total):
            return total
        total = longer
        order += 1


def complement_series(base: Fraction, gap: FloatArray) -> FloatArray:
    """Sum over n >= 1 of (base)_n / (n! n) gap**n."""
    rising = np.full_like(gap, 1.0)
    total = np.zeros_like(gap)
    order = 1
    while True:
        rising = rising * gap * (float(base + order - 1) / order)
        longer = total + rising / order
        if np.array_equal(longer, total):
            return total
        total = longer
        order += 1


@lru_cache
def _primitive_constant(base: Fraction) -> float:
    """-Euler's gamma - psi(1 - base), fixed by the two series meeting at z = 1/2."""
    half = np.array([0.5])
    lower = _power_series(base, half) / half ** float(base)
    return float((lower + np.log(half) + complement_series(base, half))[0])
