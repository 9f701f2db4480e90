"""Times to 60 digits and more by rigorous quadrature of the mode equation; shares no formula with the library.

    t = integral from u0 to u1 of du / (lam u**a (1 - u**b / rho))

is taken in s = ln(z / z0), z = u**b / rho, by `acb.integral` of python-flint, whose result is a ball that contains the truth.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import pairwise

import flint
import mpmath
from flint import acb, arb, fmpq

from dynamics import Objective

BITS = 230  # 69 digits asked of every integral
GUARD = 90
Number = float | int | arb | fmpq


@contextmanager
def precision(bits: int = BITS + GUARD) -> Iterator[None]:
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def exponents(objective: Objective) -> tuple[int, int]:
    """(a, b) of section 2 of the theory, written again."""
    depth, predictor = objective.depth, objective.predictor_depth
    return (2 * depth + predictor - 1, predictor) if objective.name == "jepa" else (depth + predictor - 1, depth + predictor)


def _breakpoints(length: arb, near_start: arb, near_end: arb) -> list[arb]:
    """0 to ``length`` in steps that double away from either end, so that every piece is as long as its integrand is smooth."""

    def doubling(step: arb) -> list[arb]:
        offsets, offset = [], step
        while offset < length / 2:
            offsets.append(offset.mid())
            step = 2 * step
            offset = offset + step
        return offsets

    back = [(length - offset).mid() for offset in reversed(doubling(near_end))]
    return [arb(0), *doubling(near_start), *back, length]


def _rise_time(objective: Objective, lam: arb, sign: int, log_low: arb, log_high: arb, log_u_low: arb, bits: int) -> arb:
    """Time from |z| = exp(log_low) up to exp(log_high), z having this sign: lam b t u_low**(a-1) is the integral over s."""
    a, b = exponents(objective)
    alpha, z_low = arb(fmpq(a - 1, b)), sign * log_low.exp()
    first = 1 - z_low  # scales the integrand to 1 at s = 0, because the quadrature also stops at an absolute error

    def integrand(s: acb, _: bool) -> acb:
        return first * (-alpha * s).exp() / (1 - z_low * s.exp())

    scale = 8 / (alpha + 1)
    to_pole = (scale, scale) if sign < 0 else (abs(log_low), abs(log_high))
    ends = _breakpoints(log_high - log_low, *(min(scale, distance, key=float) for distance in to_pole))
    total = arb(0)
    for start, end in pairwise(ends):
        total += acb.integral(integrand, acb(start), acb(end), rel_tol=arb(2) ** -bits).real
    time = (-log_u_low * (a - 1)).exp() / (lam * b * first) * total
    assert time.rel_accuracy_bits() > bits - 20
    return time


def critical_time(
    objective: Objective, *, lam: Number, rho: Number, epsilon: Number, fraction: Number, bits: int = BITS
) -> arb:
    """Time from ``epsilon`` to ``fraction`` of the asymptote, for lam > 0 and a start below that."""
    with precision(bits + GUARD):
        _, b = exponents(objective)
        log_u0 = arb(epsilon).log() / objective.depth
        log_z0 = log_u0 * b - arb(rho).log()
        log_z1 = arb(fraction).log() * b / objective.depth
        assert log_z0 < log_z1 < 0
        return _rise_time(objective, arb(lam), 1, log_z0, log_z1, log_u0, bits)


def time_between(objective: Objective, *, lam: Number, rho: Number, start: Number, end: Number, bits: int = BITS) -> arb:
    """Time from encoder amplitude ``start`` to ``end`` on one side of the asymptote; lam and rho of either, common sign."""
    with precision(bits + GUARD):
        _, b = exponents(objective)
        log_start, log_end = (arb(w).log() / objective.depth for w in (start, end))
        log_rho, sign = abs(arb(rho)).log(), 1 if arb(rho) > 0 else -1
        rises = log_end > log_start
        low, high = (log_start, log_end) if rises else (log_end, log_start)
        time = _rise_time(objective, arb(lam), sign, low * b - log_rho, high * b - log_rho, low, bits)
        return time if rises else -time


def plain_critical_time(objective: Objective, *, lam: float, rho: float, epsilon: float, fraction: float) -> mpmath.mpf:
    """The same time by mpmath's quadrature straight in u, to check `critical_time` itself (30 digits; moderate points)."""
    with mpmath.workdps(50):
        a, b = exponents(objective)
        rho_, per_layer = mpmath.mpf(rho), mpmath.mpf(1) / objective.depth
        u0 = mpmath.mpf(epsilon) ** per_layer
        u1 = mpmath.mpf(fraction) ** per_layer * rho_ ** (mpmath.mpf(1) / b)
        steps = 8 * math.ceil(float(mpmath.log(u1 / u0))) + 8
        grid = [u0 * (u1 / u0) ** (mpmath.mpf(k) / steps) for k in range(steps + 1)]
        return mpmath.quad(lambda u: 1 / (lam * u**a * (1 - u**b / rho_)), grid)


def log_derivative(time: Callable[[arb], arb], value: float) -> float:
    """d ln time / d ln value by a central difference wide enough for 60 digits and small enough for 30."""
    with precision():
        step = arb(2) ** -60
        up, down = (time(arb(value) * (sign * step).exp()).log() for sign in (1, -1))
        return float((up - down) / (2 * step))


def log10(value: arb) -> arb:
    with precision():
        return value.log() / arb(10).log()


def relative_error(value: float, reference: arb) -> float:
    with precision():
        return abs(float((arb(value) - reference) / reference))


def error_in_ulps(value: float, reference: arb) -> float:
    with precision():
        return abs(float((arb(value) - reference) / arb(math.ulp(value))))


def time_tolerance(time: arb) -> float:
    """The accuracy the design promises of a critical time, relative: 1e-13 + 4 * 2**-53 * |ln t|."""
    with precision():
        return 1e-13 + 4 * 2.0**-53 * abs(float(time.log()))


def sharpness(objective: Objective, *, lam: float, rho: float, time: arb, end: Number) -> float:
    """|d ln w / d ln t| where the amplitude passes ``end`` after ``time``: how much an error in the time is amplified."""
    with precision():
        a, b = exponents(objective)
        log_u = arb(end).log() / objective.depth
        rate = lam * (log_u * (a - 1)).exp() * (1 - (log_u * b).exp() / rho)
        return abs(float(objective.depth * rate * time))


def exact(decimal: str) -> fmpq:
    """The rational number a decimal string stands for."""
    value = Fraction(decimal)
    return fmpq(value.numerator, value.denominator)
