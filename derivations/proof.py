"""What a proof is made of: steps checked twice, by reduction to a normal form and, apart from it, in ball arithmetic."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from flint import arb, fmpq
from sympy import Eq, Expr, Gt, Rational, S, Sum, Symbol
from sympy import Limit as LimitOf
from sympy.polys.polyerrors import BasePolynomialError

from derivations.balls import (
    BITS,
    DIGITS,
    MOST_BITS,
    NotANumberError,
    Point,
    enclosed,
    evaluate,
    is_continuous,
    precision,
    sign_at,
)
from derivations.notation import Domain, range_of
from derivations.reduction import (
    UndecidedError,
    diverges_at_zero,
    has_no_hidden_zero,
    is_positive,
    limit_at_zero,
    normal,
    vanishes,
    vanishes_at_zero,
)

POINTS = 12
"""Random rational points at which each step is checked."""

QUADRATURE = "ball quadrature"
NEAR, NEARER = 64, 2048
"""Binary orders of magnitude at which a limit is watched."""


@dataclass(frozen=True)
class Finding:
    """What became of a step.

    Attributes
    ----------
    reduced
        Whether the symbolic half holds.
    refuted
        Whether the numbers contradict the step at some point: a certified enclosure does, or a limit is not approached.
    points
        Points at which the step was evaluated and found to hold.
    reason
        Why it does not hold; empty if it does.
    """

    reduced: bool
    refuted: bool
    points: int
    reason: str = ""

    @property
    def holds(self) -> bool:
        """Whether the step may be relied on."""
        return self.reduced and not self.refuted and self.points > 0


@dataclass(frozen=True)
class Step(ABC):
    """One sentence of a proof and the obligation behind it.

    ``scope`` says for what the step was checked where that is not everything, as in "L = 1..10".
    """

    sentence: str
    scope: str = field(default="", kw_only=True)
    method: ClassVar[str] = "exact"

    @property
    @abstractmethod
    def formula(self) -> Expr:
        """The obligation as a formula to print."""

    @abstractmethod
    def reduce(self, domain: Domain) -> str:
        """The symbolic half: empty if it holds, else why it is not reduced."""

    @abstractmethod
    def holds_at(self, point: Point, domain: Domain) -> bool:
        """The numerical half at one rational point."""

    @abstractmethod
    def symbols(self) -> set[Symbol]:
        """What a point has to give values to."""

    def check(self, domain: Domain, random: Random) -> Finding:
        """Both halves."""
        try:
            reason = self.reduce(domain)
        except (UndecidedError, BasePolynomialError) as error:
            reason = str(error)
        names = sorted(self.symbols(), key=str)
        count = POINTS if names else 1
        for done in range(count):
            point = {symbol: range_of(symbol, domain).sample(random) for symbol in names}
            try:
                held = self.holds_at(point, domain)
            except ArithmeticError as error:
                return Finding(not reason, False, 0, reason or str(error))
            if not held:
                values = ", ".join(f"{symbol} = {value}" for symbol, value in point.items())
                return Finding(not reason, True, done, f"It fails at {values}." if values else "It fails.")
        return Finding(not reason, False, count, reason)


@dataclass(frozen=True)
class Identity(Step):
    """left = right."""

    left: Expr
    right: Expr

    @property
    def formula(self) -> Expr:
        return Eq(self.left, self.right, evaluate=False)

    def reduce(self, domain: Domain) -> str:
        return "" if vanishes(self.left - self.right) else "The residual does not reduce to 0."

    def holds_at(self, point: Point, domain: Domain) -> bool:
        return zero_at(self.left, self.right, point)

    def symbols(self) -> set[Symbol]:
        return set(self.left.free_symbols | self.right.free_symbols)


@dataclass(frozen=True)
class Sampled(Identity):
    """left = right, where the left side is an integral that only quadrature evaluates; its proof is another step."""

    method = QUADRATURE

    def reduce(self, domain: Domain) -> str:
        return ""


@dataclass(frozen=True)
class Positive(Step):
    """expression > 0 on the whole domain."""

    expression: Expr

    @property
    def formula(self) -> Expr:
        return Gt(self.expression, 0, evaluate=False)

    def reduce(self, domain: Domain) -> str:
        return "" if is_positive(self.expression, domain) else "The sign is not decided."

    def holds_at(self, point: Point, domain: Domain) -> bool:
        return sign_at(self.expression, point) > 0

    def symbols(self) -> set[Symbol]:
        return set(self.expression.free_symbols)


@dataclass(frozen=True)
class CertifiedPositive(Positive):
    """A number without parameters that is positive, by its enclosure."""

    method = "certified"

    def reduce(self, domain: Domain) -> str:
        return "" if not self.symbols() else "It has parameters."


@dataclass(frozen=True)
class Telescoping(Step):
    """The sum of term over index = first..n is total(n), by induction on n: both start alike and grow alike."""

    term: Expr
    total: Expr
    index: Symbol
    first: Expr = S.One

    @property
    def formula(self) -> Expr:
        dummy = Symbol("k", integer=True, positive=True)
        return Eq(Sum(self.term.subs(self.index, dummy), (dummy, self.first, self.index)), self.total, evaluate=False)

    def reduce(self, domain: Domain) -> str:
        start = (self.total - self.term).subs(self.index, self.first)
        growth = self.total - self.total.subs(self.index, self.index - 1) - self.term
        return "" if vanishes(start) and vanishes(growth) else "The induction does not close."

    def holds_at(self, point: Point, domain: Domain) -> bool:
        return zero_at(self.formula.lhs, self.formula.rhs, point)

    def symbols(self) -> set[Symbol]:
        return set(self.term.free_symbols | self.total.free_symbols | {self.index})


@dataclass(frozen=True)
class Limit(Step):
    """expression tends to value as the variable tends to 0 from above."""

    expression: Expr
    variable: Symbol
    value: Expr
    method = "limit"

    @property
    def formula(self) -> Expr:
        return Eq(LimitOf(self.expression, self.variable, 0, "+"), self.value, evaluate=False)

    def reduce(self, domain: Domain) -> str:
        found = limit_at_zero(self.expression, self.variable, domain)
        return "" if vanishes(found - self.value) else f"The limit is {found}."

    def holds_at(self, point: Point, domain: Domain) -> bool:
        return approaches(self.expression, self.value, self.variable, point)

    def symbols(self) -> set[Symbol]:
        return set((self.expression.free_symbols | self.value.free_symbols) - {self.variable})


@dataclass(frozen=True)
class RatioLimit(Step):
    """numerator / denominator tends to value as the variable tends to 0 from above, by l'Hopital's rule.

    Either the denominator diverges, or both tend to 0; then the ratio of the derivatives decides.
    """

    numerator: Expr
    denominator: Expr
    variable: Symbol
    value: Expr
    method = "limit"

    @property
    def formula(self) -> Expr:
        return Eq(LimitOf(self.numerator / self.denominator, self.variable, 0, "+"), self.value, evaluate=False)

    def reduce(self, domain: Domain) -> str:
        if not diverges_at_zero(self.denominator, self.variable, domain):
            for part in (self.numerator, self.denominator):
                if not vanishes_at_zero(part, self.variable, domain):
                    return "Neither does the denominator diverge, nor do both sides vanish."
            if not has_no_hidden_zero(self.denominator, self.variable, domain):
                return "The denominator may vanish for some parameters."
        slopes = normal(self.numerator.diff(self.variable) / self.denominator.diff(self.variable))
        found = limit_at_zero(slopes, self.variable, domain)
        return "" if vanishes(found - self.value) else f"The limit is {found}."

    def holds_at(self, point: Point, domain: Domain) -> bool:
        return approaches(self.numerator / self.denominator, self.value, self.variable, point)

    def symbols(self) -> set[Symbol]:
        parts = self.numerator, self.denominator, self.value
        return set().union(*(part.free_symbols for part in parts)) - {self.variable}


@dataclass(frozen=True)
class Bracket(Step):
    """A continuous expression without other parameters has a zero between two numbers: certified signs at both ends."""

    expression: Expr
    variable: Symbol
    low: Expr
    high: Expr
    method = "certified"

    @property
    def formula(self) -> Expr:
        ends = [self.expression.subs(self.variable, end) for end in (self.low, self.high)]
        return Gt(0, ends[0] * ends[1], evaluate=False)

    def reduce(self, domain: Domain) -> str:
        if self.symbols():
            return "It has parameters."
        return "" if is_continuous(self.expression, self.variable, self.low, self.high) else "A pole is not excluded."

    def holds_at(self, point: Point, domain: Domain) -> bool:
        low, high = (sign_at(self.expression, {**point, self.variable: end}) for end in (self.low, self.high))
        return low * high < 0

    def symbols(self) -> set[Symbol]:
        return set(self.expression.free_symbols - {self.variable})


Proof = tuple[Step, ...]


def zero_at(left: Expr, right: Expr, point: Point) -> bool:
    """Whether both sides agree to 40 digits; a certified difference is False, an unresolved one raises `NotANumberError`."""
    bits = BITS
    while bits <= MOST_BITS:
        with precision(bits):
            one, other = evaluate(left, point), evaluate(right, point)
            difference = one - other
            if isinstance(difference, fmpq):
                return bool(difference == 0)
            if not difference.contains(0):
                return False
            if abs(difference).upper() <= arb(10) ** -DIGITS * max(arb(1), abs(arb(1) * one).lower()):
                return True
        bits *= 2
    raise NotANumberError(f"{left} and {right} are not resolved.")


def approaches(expression: Expr, value: Expr, variable: Symbol, point: Point) -> bool:
    """Whether the distance to the limit shrinks eightfold from 2**-64 to 2**-2048 of the variable.

    Raises
    ------
    NotANumberError
        If it shrinks, but so slowly that neither answer is safe.
    """
    far, near = (abs(enclosed(expression - value, {**point, variable: Rational(1, 2**order)})) for order in (NEAR, NEARER))
    if near * 8 < far or near < arb(10) ** -DIGITS:
        return True
    if near * 2 < far:
        raise NotANumberError(f"{expression} comes near {value} too slowly to tell.")
    return False
