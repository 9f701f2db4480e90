"""The critical time of any balanced mode equation in numbers, enclosed by ball arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

from flint import acb, arb, fmpq
from sympy import Expr, Rational, S, Symbol

from derivations.balls import BITS, NotANumberError, precision
from derivations.expression import LossError, decimal
from derivations.fixed_points import FixedPoint, Rate, as_fmpq, polynomial, positive_zeros, precisions, rooted
from derivations.formulas import inline
from derivations.notation import L, M, lam, rho
from dynamics.errors import LindynError, ParameterError

Word = Literal["reached", "already-reached", "never"]

BITS_PER_DIGIT = 3.33
GUARD_BITS = 64
STRETCH = 4


@dataclass(frozen=True)
class Setting:
    """The numbers of one run, exact.

    Decimal strings, rational numbers, or doubles, which stand for the decimals that they print as.

    Raises
    ------
    ParameterError
        If a number is none, or out of its range.
    """

    lam: Any
    rho: Any
    epsilon: Any
    fraction: Any = "0.5"
    depth: int = 1
    predictor_depth: int = 1

    def __post_init__(self) -> None:
        for name in ("lam", "rho", "epsilon", "fraction"):
            object.__setattr__(self, name, exact(_SHOWN.get(name, name), getattr(self, name)))
        if self.fraction >= 1:
            raise ParameterError("fraction", self.fraction, "strictly between 0 and 1")
        for name in ("depth", "predictor_depth"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise ParameterError(name, getattr(self, name), "a whole number of at least 1")

    @property
    def point(self) -> dict[Symbol, Any]:
        """The values of the symbols in a mode equation."""
        return {L: S(self.depth), M: S(self.predictor_depth), lam: self.lam, rho: self.rho}


_SHOWN = {"lam": "lambda"}


def exact(name: str, value: Any) -> Rational:
    """A positive number as the fraction it was written as; a double stands for the decimal that it prints as.

    Raises
    ------
    ParameterError
        Under this name, if it is no positive number or has too many digits.
    """
    number = None
    if isinstance(value, (Rational, Fraction, int)) and not isinstance(value, bool):
        number = Rational(value)
    elif isinstance(value, (str, float)):
        with suppress(ValueError):
            number = decimal(str(value).strip())
    if number is None or number <= 0:
        raise ParameterError(name, value, "a positive decimal number")
    return number


@dataclass(frozen=True, eq=False)
class CriticalTime:
    """When a feature first reaches a fraction of the fixed point it tends to.

    Attributes
    ----------
    status
        ``reached``, ``already-reached`` (at the start) or ``never`` (its amplitude sinks to 0 or grows without bound).
    sentence
        The same for a reader, with the cause.
    goal
        The fixed point that the layer tends to; None if that is 0 or infinity.
    asymptote
        Encloses the encoder's amplitude at the end of time.
    time
        Encloses the training time; 0 if already reached, infinite if never.
    """

    status: Word
    sentence: str
    goal: FixedPoint | None
    asymptote: arb
    time: arb


def critical_time(terms: Mapping[Expr, Expr], setting: Setting, *, digits: int = 30) -> CriticalTime:
    """The first training time at which the encoder reaches a fraction of its own asymptote, enclosed to these digits.

    Where it tends to, whether it grows, and whether it starts above the target are decided exactly. As for the named
    objectives, a feature that sinks to a positive fixed point starts above its target and counts as learned at time 0.

    Raises
    ------
    LossError
        If the mode equation is no sum of whole powers with rational coefficients, or the start is a fixed point of it.
    """
    rate = polynomial(terms, setting.point)
    growing, goal = _destination(rate, setting)
    if goal is None:
        return _never(rate, setting, growing)
    with precision(BITS):
        asymptote = goal.product(setting.depth)
    if not growing:
        return CriticalTime("already-reached", _SINKS, goal, asymptote, arb(0))
    if goal.against(as_fmpq(setting.epsilon / setting.fraction), setting.depth) <= 0:
        return CriticalTime("already-reached", _STARTS_ABOVE, goal, asymptote, arb(0))
    time = _enclosed_time(rate, setting, goal, digits)
    return CriticalTime("reached", "The feature reaches fraction * asymptote at the stated time.", goal, asymptote, time)


_SINKS = (
    "The start epsilon is above the asymptote, to which the amplitude sinks, so the feature counts as learned at time 0. "
    "Lower epsilon, or the depth."
)
_STARTS_ABOVE = (
    "The start epsilon is at or above fraction * asymptote, so the feature counts as learned at time 0. Lower epsilon, or "
    "the depth."
)


def _destination(rate: Rate, setting: Setting) -> tuple[bool, FixedPoint | None]:
    """Whether the amplitude grows from its start, and the fixed point it tends to; None for 0 or infinity."""
    zeros, start = positive_zeros(rate), as_fmpq(setting.epsilon)
    sides = [zero.against(start, setting.depth) for zero in zeros]
    if 0 in sides:
        raise LossError(
            f"The start epsilon = {setting.epsilon} is itself a fixed point of du/dt = {inline(rate.expression)}, so the "
            "feature stays there; move epsilon."
        )
    above = [zero for zero, side in zip(zeros, sides, strict=True) if side > 0]
    turns = (-1) ** sum(zero.multiplicity for zero in above)
    if rate.terms[-1].coefficient * turns > 0:
        return True, above[0] if above else None
    below = zeros[: len(zeros) - len(above)]
    return False, below[-1] if below else None


def _never(rate: Rate, setting: Setting, growing: bool) -> CriticalTime:
    shown = f"du/dt = {inline(rate.expression)}"
    if growing:
        sentence = f"From this epsilon the amplitude grows without bound, as {shown} stays positive: there is no asymptote."
        return CriticalTime("never", sentence, None, arb("inf"), arb("inf"))
    zeros = positive_zeros(rate)
    remedy = "no positive fixed point holds it"
    if zeros:
        threshold = zeros[0].product(setting.depth).str(6, radius=False)
        remedy = f"it must start above {threshold} to be learned"
    sentence = f"From this epsilon the amplitude sinks to 0, as {shown} is negative there: {remedy}."
    return CriticalTime("never", sentence, None, arb(0), arb("inf"))


def _enclosed_time(rate: Rate, setting: Setting, goal: FixedPoint, digits: int) -> arb:
    """The integral of du / f(u) from the start to the target, at whatever precision it takes."""
    start, share, depth = as_fmpq(setting.epsilon), as_fmpq(setting.fraction), setting.depth
    tolerance = fmpq(1, 10**digits)
    for bits in precisions(int(BITS_PER_DIGIT * digits) + GUARD_BITS):
        with precision(bits), suppress(NotANumberError):
            target = goal.ball(bits) * rooted(share, depth, bits)
            time = time_between(rate, rooted(start, depth, bits), target, bits)
            if time > 0 and time.rad() <= time.lower() * tolerance:
                return time
    raise LindynError(f"The critical time cannot be enclosed to {digits} digits.")


def time_between(rate: Rate, start: arb, end: arb, bits: int = BITS) -> arb:
    """An enclosure of the time from one layer amplitude to another, both positive; the rate is numeric.

    Raises
    ------
    NotANumberError
        If the precision does not suffice, or the rate may vanish on the way.
    """
    powers = [(term.exponent - rate.lowest, as_fmpq(term.coefficient)) for term in rate.terms]

    def slowness(amplitude: acb, _: bool) -> acb:
        return 1 / (amplitude**rate.lowest * sum((c * amplitude**k for k, c in powers), acb(0)))

    with precision(bits):
        total = sum((acb.integral(slowness, *pair) for pair in pairwise(_stretches(start, end))), acb(0))
        for ball, turn in ((start, -1), (end, 1)):  # from the exact middle of an end to wherever in it the end is
            total += turn * (ball - ball.mid()) * slowness(acb(ball), False)
    if not total.is_finite():
        raise NotANumberError("The time is not finite at this precision.")
    return total.real


def _stretches(start: arb, end: arb) -> Iterator[arb]:
    """Exact points from one middle to the other, each a few times the one before: 1/f varies by powers of u near 0."""
    point, last = start.mid(), end.mid()
    yield point
    while (point := (point * STRETCH).mid()) < last:
        yield point
    yield last
