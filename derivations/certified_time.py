"""The critical time of any balanced mode equation in numbers, enclosed by ball arithmetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from math import isinf
from typing import Any, Literal

from flint import acb, arb, fmpq
from sympy import Expr, Rational, S, Symbol

from derivations.balls import BITS, NotANumberError, precision
from derivations.expression import MOST_DIGITS, decimal
from derivations.fixed_points import FixedPoint, positive_zeros
from derivations.formulas import inline
from derivations.notation import L, M, lam, rho, sigma
from derivations.rates import Rate, StandstillError, polynomial
from derivations.roots import as_ball, as_fmpq, precisions, rooted
from dynamics.errors import LindynError, ParameterError

Word = Literal["reached", "already-reached", "never"]

BITS_PER_DIGIT = 3.33
GUARD_BITS = 64
STRETCH = 4


@dataclass(frozen=True)
class Setting:
    """The numbers of one run, exact.

    Decimal strings, rational numbers, or doubles, which stand for the decimals that they print as. Lambda and rho have the same
    sign; with sigma**2 = lambda/rho they may both be negative.

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
        for name in ("epsilon", "fraction"):
            object.__setattr__(self, name, exact(name, getattr(self, name)))
        for name in ("lam", "rho"):
            object.__setattr__(self, name, exact(_SHOWN.get(name, name), getattr(self, name), signed=True))
        if self.lam == 0:
            allowed = "other than 0, as lambda and rho do not tell sigma there; lindyn critical-time takes --sigma and answers"
            raise ParameterError("lambda", 0, allowed)
        if self.rho * self.lam <= 0:
            word = "positive" if self.lam > 0 else "negative"
            raise ParameterError("rho", _plain(self.rho), f"a {word} decimal number like lambda, as rho = lambda/sigma^2")
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


def exact(name: str, value: Any, *, signed: bool = False) -> Rational:
    """A number as the fraction it was written as, positive unless signed; a double stands for the decimal that it prints as.

    Raises
    ------
    ParameterError
        Under this name, if it is no such number or has too many digits.
    """
    kind = "decimal number" if signed else "positive decimal number"
    number = None
    if isinstance(value, float | Decimal) and isinf(value):
        raise ParameterError(name, value, f"a finite {kind}")
    if isinstance(value, (Rational, Fraction, int)) and not isinstance(value, bool):
        number = Rational(value)
    elif isinstance(value, (str, float, Decimal)):
        with suppress(ValueError):
            number = decimal(str(value).strip())
    if number is None or (number <= 0 and not signed):
        raise ParameterError(name, value, f"a {kind} of up to {MOST_DIGITS} digits" if number is None else f"a {kind}")
    return number


def _plain(number: Rational) -> str:
    """As a double is written, to be read."""
    return f"{float(number):g}"


@dataclass(frozen=True, eq=False)
class CriticalTime:
    """When a feature first reaches a fraction of the fixed point it tends to.

    Attributes
    ----------
    status
        ``reached``, ``already-reached`` (at the start) or ``never`` (its amplitude sinks to 0, grows without bound, or stays on
        an unstable fixed point).
    sentence
        The same for a reader, with the cause.
    goal
        The fixed point that the layer tends to or stays on; None if there is none.
    asymptote
        Encloses the encoder's amplitude at the end of time.
    time
        Encloses the training time; 0 if already reached, infinite if never.
    fixed_points
        All positive fixed points of the layer, ascending.
    """

    status: Word
    sentence: str
    goal: FixedPoint | None
    asymptote: arb
    time: arb
    fixed_points: tuple[FixedPoint, ...] = ()


def critical_time(terms: Mapping[Expr, Expr], setting: Setting, *, digits: int = 30) -> CriticalTime:
    """The first training time at which the encoder reaches a fraction of its own asymptote, enclosed to these digits.

    Where it tends to, whether it grows, and whether it starts above the target are decided exactly. As for the named
    objectives, a feature that sinks to a positive fixed point starts above its target and counts as learned at time 0.

    Raises
    ------
    LindynError
        If the mode equation is no sum of powers with real coefficients, has roots of a negative lambda or rho, or has fixed
        points that cannot be isolated.
    """
    _refuse_roots_of_negative(terms, setting)
    try:
        rate = polynomial(terms, setting.point)
    except StandstillError:
        with precision(BITS):
            return CriticalTime("never", _STILL, None, arb(as_fmpq(setting.epsilon)), arb("inf"))
    course = _Course(rate, setting)
    return replace(course.ends(digits), fixed_points=course.zeros)


_STILL = "With these numbers du/dt = 0, as its terms cancel: the amplitude stays at epsilon. Change lambda or rho."
_SINKS = (
    "The start epsilon is above the asymptote, to which the amplitude sinks, so the feature counts as learned at time 0. "
    "Lower epsilon, or the depth."
)
_STARTS_ABOVE = (
    "The start epsilon is at or above fraction * asymptote, so the feature counts as learned at time 0. Lower epsilon, or "
    "the depth."
)
_STARTS_THERE = (
    "The start epsilon is the asymptote itself, {kind} fixed point{side}, so the feature counts as learned at time 0. Lower "
    "epsilon, or the depth."
)
_STAYS = (
    "The start epsilon is exactly an unstable fixed point of du/dt = {rate}: the amplitude stays there, and leaves it from any "
    "start beside it. Move epsilon."
)


def _refuse_roots_of_negative(terms: Mapping[Expr, Expr], setting: Setting) -> None:
    """Coefficients were simplified for positive lambda and rho, which is as true of negative ones if it leaves no roots."""
    if setting.lam > 0:
        return
    layers = {L: S(setting.depth), M: S(setting.predictor_depth)}
    if not all(S(coefficient).subs(layers).is_rational_function(lam, rho, sigma) for coefficient in terms.values()):
        raise refused_negative(setting.lam)


def refused_negative(value: Rational) -> ParameterError:
    """The refusal of a negative lambda for a loss that was derived with roots of it."""
    allowed = "positive for this loss, whose derivation takes roots of it; lindyn critical-time answers for jepa and mae"
    return ParameterError("lambda", _plain(value), allowed)


class _Course:
    """Where an amplitude goes from its start."""

    def __init__(self, rate: Rate, setting: Setting) -> None:
        self.rate, self.setting = rate, setting
        self.zeros = positive_zeros(rate)
        start = as_fmpq(setting.epsilon)
        self.sides = [zero.against(start, setting.depth) for zero in self.zeros]

    @property
    def shown(self) -> str:
        """The right-hand side, to be read."""
        return inline(self.rate.expression)

    def amplitude(self, zero: FixedPoint) -> arb:
        """Of the encoder, at a fixed point."""
        with precision(BITS):
            return zero.product(self.setting.depth)

    def ends(self, digits: int) -> CriticalTime:
        """How it goes."""
        if 0 in self.sides:
            return self.stays(self.zeros[self.sides.index(0)])
        above = [zero for zero, side in zip(self.zeros, self.sides, strict=True) if side > 0]
        below = self.zeros[: len(self.zeros) - len(above)]
        if self.rate.signs[-1] * (-1) ** sum(zero.multiplicity for zero in above) > 0:
            return self.grows(above[0], digits) if above else self.explodes()
        return self.told("already-reached", _SINKS, below[-1]) if below else self.dies()

    def told(self, status: Word, sentence: str, goal: FixedPoint, time: arb | None = None) -> CriticalTime:
        """An end at a positive fixed point."""
        time = time if time is not None else arb(0 if status == "already-reached" else "inf")
        return CriticalTime(status, sentence, goal, self.amplitude(goal), time)

    def stays(self, zero: FixedPoint) -> CriticalTime:
        """From a start on a fixed point."""
        if zero.stability == "unstable":
            return self.told("never", _STAYS.format(rate=self.shown), zero)
        side = ", which attracts from one side only" if zero.stability == "half-stable" else ""
        return self.told("already-reached", _STARTS_THERE.format(kind=f"a {zero.stability}", side=side), zero)

    def grows(self, goal: FixedPoint, digits: int) -> CriticalTime:
        """To a fixed point above."""
        if goal.against(as_fmpq(self.setting.epsilon / self.setting.fraction), self.setting.depth) <= 0:
            return self.told("already-reached", _STARTS_ABOVE, goal)
        time = _enclosed_time(self.rate, self.setting, goal, digits)
        return self.told("reached", "The feature reaches fraction * asymptote at the stated time.", goal, time)

    def explodes(self) -> CriticalTime:
        """No fixed point is above, and the rate is positive."""
        course = f"as du/dt = {self.shown} stays positive"
        sentence = f"From this epsilon the amplitude grows without bound, {course}: there is no asymptote."
        return CriticalTime("never", sentence, None, arb("inf"), arb("inf"))

    def dies(self) -> CriticalTime:
        """No fixed point is below, and the rate is negative."""
        sentence = f"From this epsilon the amplitude sinks to 0, as du/dt = {self.shown} is negative there: {self.remedy()}."
        return CriticalTime("never", sentence, None, arb(0), arb("inf"))

    def remedy(self) -> str:
        """What other starts would do."""
        if not self.zeros:
            return "no positive fixed point holds it"
        words = [self.amplitude(zero).str(6, radius=False) for zero in self.zeros]
        kinds = [zero.stability for zero in self.zeros]
        if "stable" in kinds:
            goal = kinds.index("stable")
            limit = f" and below {words[goal + 1]}" if goal + 1 < len(words) else ""
            return f"it must start above {words[goal - 1]}{limit} to tend to the stable fixed point {words[goal]}"
        if kinds[0] == "half-stable":
            return f"no fixed point is stable, and {words[0]} attracts from above only"
        if len(words) > 1:
            return f"no fixed point is stable; from above {words[0]} it tends to {words[1]}, which attracts from below only"
        return f"no fixed point is stable, and from above {words[0]} it grows without bound"


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
    inner = rate.of_root

    def slowness(amplitude: acb, _: bool) -> acb:
        return 1 / (amplitude**inner.lowest * sum((c * amplitude**k for k, c in powers), acb(0)))

    with precision(bits):
        powers = [(term.exponent - inner.lowest, as_ball(term.coefficient)) for term in inner.terms]
        start, end = start.root(rate.root), end.root(rate.root)
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
