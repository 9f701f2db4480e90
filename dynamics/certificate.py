"""Rigorous enclosures of critical times by ball arithmetic (python-flint), for the doubles given.

The closed form is evaluated as it is written, head and tail, with every rounding enclosed; whether a feature is already
reached is decided exactly, in rational numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from math import ceil, floor
from typing import TYPE_CHECKING

from dynamics.checks import check_epsilon, check_fraction, whole_number
from dynamics.clock import LOG10_2
from dynamics.errors import LindynError
from dynamics.features import Features
from dynamics.objectives import Objective
from dynamics.status import Status
from dynamics.table import Columns, Tabular

if TYPE_CHECKING:
    from flint import arb, fmpq, fmpz

EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
MOST_DIGITS = 10_000
BITS_PER_DIGIT = 3.33
GUARD_BITS = 64


@dataclass(frozen=True)
class Enclosures(Tabular):
    """Certified bounds of critical times, one pair of decimal strings a feature.

    Attributes
    ----------
    lower, upper
        The critical time of the doubles given lies between them, ends included. They agree in at least the digits asked for.
        ``"0"`` where the feature is already reached, ``"inf"`` where it never is.
    status
        Decided exactly.
    """

    lower: tuple[str, ...]
    upper: tuple[str, ...]
    status: tuple[Status, ...]

    def columns(self) -> Columns:
        """Bounds as decimal strings, and the status."""
        return {
            "critical_time_lower": list(self.lower),
            "critical_time_upper": list(self.upper),
            "status": [status.value for status in self.status],
        }


def enclosures(
    objective: Objective, features: Features, *, epsilon: float, fraction: float = 0.5, digits: int = 15, scale: int = 1
) -> Enclosures:
    """Bounds of every critical time that agree in at least ``digits`` significant digits.

    Certified for lambda, rho, epsilon and fraction as the doubles they are: 0.1 stands for the double next to it. The closed
    form is that of balanced, aligned gradient flow (Littwin et al. 2024, critical times); the theorem behind the evaluation is
    the inclusion property of ball arithmetic (Johansson 2017, Arb).

    Parameters
    ----------
    epsilon, fraction
        As for `critical_times`.
    digits
        Significant digits the two bounds must share; 1 to 10,000.
    scale
        Whole number to multiply the training time by: the depth, for the time convention without the factor L.

    Raises
    ------
    ParameterError
        As `critical_times`, or if ``digits`` is not a whole number in its range.
    """
    check_epsilon(epsilon)
    check_fraction(fraction)
    digits = whole_number("digits", digits, 1, MOST_DIGITS)
    bounds = [
        _bounds(objective, lam, rho, epsilon, fraction, digits, scale)
        for lam, rho in zip(features.lam.tolist(), features.rho.tolist(), strict=True)
    ]
    lower, upper, status = zip(*bounds, strict=True)
    return Enclosures(lower, upper, status)


def exact_status(objective: Objective, lam: float, rho: float, epsilon: float, fraction: float) -> Status:
    """The status of one feature, decided in rational arithmetic: is epsilon**b >= fraction**b rho**L?"""
    if lam <= 0:
        return Status.NEVER
    start, end, limit = (_rational(x) for x in (epsilon, fraction, rho))
    if start**objective.b >= end**objective.b * limit**objective.depth:
        return Status.ALREADY_REACHED
    return Status.REACHED


def time_ball(objective: Objective, lam: float, rho: float, epsilon: float, fraction: float, *, precision: int) -> arb:
    """A ball that contains the critical time of one feature whose status is ``reached``.

    ``precision`` is the working precision in bits; the ball's radius says what is left of it.
    """
    from flint import arb, ctx, fmpq

    with ctx.workprec(precision):
        alpha, power = fmpq(objective.a - 1, objective.b), fmpq(objective.b, objective.depth)
        log_rho = arb(rho).log()
        log_start, log_end = arb(epsilon).log() * power - log_rho, arb(fraction).log() * power
        total = arb(0)
        for k in range(ceil(objective.alpha)):
            order = alpha - k
            total += ((-order * log_start).exp() - (-order * log_end).exp()) / arb(order)
        rest = ceil(objective.alpha) - alpha
        if rest == 0:
            total += log_end - log_start + (-log_start.expm1()).log() - (-log_end.expm1()).log()
        else:
            total += _incomplete_beta(rest, log_end, precision) - _incomplete_beta(rest, log_start, precision)
        return (-alpha * log_rho).exp() / (arb(lam) * objective.b) * total


def _incomplete_beta(order: fmpq, log_z: arb, precision: int) -> arb:
    """The integral of x**(order - 1) / (1 - x) from 0 to z, by the series around whichever end of (0, 1) is nearer."""
    from flint import arb

    exponent, z, gap = arb(order), log_z.exp(), -log_z.expm1()
    if z < 0.75:
        return (exponent * log_z).exp() / exponent * z.hypgeom_2f1(arb(1), exponent, 1 + exponent)
    total = -arb.const_euler() - exponent.digamma() - gap.log()
    term = arb(1)
    for n in range(1, precision):
        term *= gap * (n - order) / n
        total -= term / n
    # Every later term is smaller than the last by a factor of at most gap.
    return total + term * gap / (1 - gap) * arb(0, 1)


def tightening_balls(
    objective: Objective, lam: float, rho: float, epsilon: float, fraction: float, digits: int
) -> Iterator[arb]:
    """Balls around one critical time, each with at least twice the precision of the last; endless for practical purposes."""
    precision = int(digits * BITS_PER_DIGIT) + GUARD_BITS
    while precision <= 64 * (MOST_DIGITS + GUARD_BITS):
        yield time_ball(objective, lam, rho, epsilon, fraction, precision=precision)
        precision *= 2


def _bounds(
    objective: Objective, lam: float, rho: float, epsilon: float, fraction: float, digits: int, scale: int
) -> tuple[str, str, Status]:
    status = exact_status(objective, lam, rho, epsilon, fraction)
    if status is not Status.REACHED:
        word = "inf" if status is Status.NEVER else "0"
        return word, word, status
    shown = digits + 2
    for ball in tightening_balls(objective, lam, rho, epsilon, fraction, digits):
        accuracy = ball.rel_accuracy_bits()
        if accuracy > digits * BITS_PER_DIGIT:
            lower, upper = _decimal_bounds(ball, shown, scale)
            if _shared_digits(lower, upper) >= digits:
                return _written(lower), _written(upper), status
            shown = max(shown, int(accuracy / BITS_PER_DIGIT))
    raise LindynError(f"{digits} digits of the critical time at lambda {lam}, rho {rho} could not be certified.")


def _decimal_bounds(ball: arb, shown: int, scale: int) -> tuple[Decimal, Decimal]:
    from flint import ctx

    with ctx.workprec(max(ball.rel_accuracy_bits(), 0) + GUARD_BITS):
        ends = ball.lower().man_exp(), ball.upper().man_exp()
    return _rounded(*ends[0], shown, scale, upwards=False), _rounded(*ends[1], shown, scale, upwards=True)


def _rounded(mantissa: fmpz, exponent: fmpz, shown: int, scale: int, *, upwards: bool) -> Decimal:
    """mantissa * 2**exponent * scale to ``shown`` significant digits, rounded outwards."""
    from flint import fmpz

    whole, binary = mantissa * scale, int(exponent)
    shift = shown - floor((whole.bit_length() + binary - 1) * LOG10_2)
    numerator = whole * fmpz(10) ** max(shift, 0) * fmpz(2) ** max(binary, 0)
    denominator = fmpz(10) ** max(-shift, 0) * fmpz(2) ** max(-binary, 0)
    quotient, remainder = divmod(numerator, denominator)
    surplus = len(quotient.str()) - shown
    quotient, cut = divmod(quotient, fmpz(10) ** surplus)
    if upwards and (cut or remainder):
        quotient += 1
    return Decimal(quotient.str()).scaleb(surplus - shift, EXACT)


def _shared_digits(lower: Decimal, upper: Decimal) -> int:
    if lower.adjusted() != upper.adjusted():
        return 0
    pairs = zip(lower.as_tuple().digits, upper.as_tuple().digits, strict=False)
    return next((place for place, (low, high) in enumerate(pairs) if low != high), len(lower.as_tuple().digits))


def _written(value: Decimal) -> str:
    return str(value).lower()


def _rational(value: float) -> fmpq:
    from flint import fmpq

    return fmpq(*value.as_integer_ratio())
