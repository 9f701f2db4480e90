"""A balanced mode equation that is a sum of powers of u: its positive fixed points, isolated and told stable or not.

Exponents are rational; with q their common denominator everything is a polynomial in y = u**(1/q).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from itertools import pairwise
from math import gcd, lcm
from typing import Any, Literal, NamedTuple

import flint
from flint import acb, acb_poly, arb, arb_poly, fmpq, fmpq_poly
from sympy import Add, Expr, Poly, Rational, S, Symbol, preorder_traversal, root, sqrt

from derivations.balls import BITS, MOST_BITS, NotANumberError, evaluate, precision, sign_at
from derivations.expression import LossError
from derivations.formulas import inline
from derivations.notation import lam, rho, sigma, u
from derivations.reduction import UndecidedError, normal, sign
from dynamics.errors import LindynError

Stability = Literal["stable", "unstable", "half-stable"]

MOST_DEGREE = 400
MOST_SIZE = 20_000
"""Degree times the number of terms, of a polynomial whose roots are isolated."""
MOST_ENCLOSED_DEGREE = 200
MOST_ENCLOSED_BITS = 2_048
"""With irrational coefficients, roots are isolated up to this degree and with up to this many bits."""


class StandstillError(LossError):
    """du/dt = 0 whatever u is: every amplitude is a fixed point."""


class Term(NamedTuple):
    """coefficient * y**exponent."""

    exponent: int
    coefficient: Expr


@dataclass(frozen=True)
class Rate:
    """du/dt as terms of ascending exponents and coefficients that are not zero, whole powers of y where u = y**root."""

    terms: tuple[Term, ...]
    root: int = 1

    @property
    def expression(self) -> Expr:
        """The right-hand side in u."""
        return self.written(self.terms)

    def written(self, terms: Iterable[Term]) -> Expr:
        """The sum of some of the terms in u."""
        return Add(*(term.coefficient * u ** Rational(term.exponent, self.root) for term in terms))

    @property
    def of_root(self) -> Rate:
        """dy/dt as powers of y, which are whole."""
        q = self.root
        return Rate(tuple(Term(term.exponent - q + 1, term.coefficient / q) for term in self.terms))

    @property
    def is_numeric(self) -> bool:
        """Whether every coefficient is a number."""
        return all(term.coefficient.is_number for term in self.terms)

    @property
    def is_rational(self) -> bool:
        """Whether no coefficient has an irrational number in it."""
        return all(
            not part.is_number or part.is_Rational for term in self.terms for part in preorder_traversal(term.coefficient)
        )

    @property
    def lowest(self) -> int:
        """The power of y that divides the rate; negative if it has poles at 0."""
        return self.terms[0].exponent

    @property
    def degree(self) -> int:
        """Of the denominator of 1 / rate, or of the numerator if that is higher."""
        return self.terms[-1].exponent - min(self.lowest, 0)

    @cached_property
    def step(self) -> int:
        """The rate is y**lowest times a polynomial in y**step."""
        return reduce(gcd, (term.exponent - self.lowest for term in self.terms), 0) or 1

    @property
    def isolated_degree(self) -> int:
        """Degree of the polynomial in y**step whose zeros are the fixed points."""
        return (self.terms[-1].exponent - self.lowest) // self.step

    @property
    def size(self) -> str:
        """Of that polynomial, to be read."""
        count = len(self.terms)
        return f"{count} term{'s' if count > 1 else ''} and degree {self.isolated_degree}"

    @cached_property
    def signs(self) -> tuple[int, ...]:
        """Of the coefficients, each -1 or 1.

        Raises
        ------
        UndecidedError
            If a symbolic coefficient has no fixed sign.
        """
        return tuple(_sign(term.coefficient) for term in self.terms)

    @property
    def cofactor(self) -> Poly:
        """The rate over y**lowest, a polynomial that does not vanish at 0, over the field of its coefficients, in u for y."""
        return Poly({(term.exponent - self.lowest,): term.coefficient for term in self.terms}, u, field=True)

    @property
    def deflated(self) -> tuple[Expr, ...]:
        """The coefficients of the cofactor as a monic polynomial in y**step, from the constant one on."""
        highest = self.terms[-1].coefficient
        coefficients = {(term.exponent - self.lowest) // self.step: normal(term.coefficient / highest) for term in self.terms}
        return tuple(coefficients.get(power, S.Zero) for power in range(max(coefficients) + 1))


def _sign(coefficient: Expr) -> int:
    return sign_at(coefficient, {}) if coefficient.is_number else sign(coefficient, {})


def polynomial(terms: Mapping[Expr, Expr], point: Mapping[Symbol, Any] | None = None) -> Rate:
    """The rate from exponent -> coefficient, as `derivations.gradient_flow.powers_of_layer` returns it.

    Parameters
    ----------
    point
        Whole numbers for L and M, and rational numbers for lambda and rho if there are any; sigma**2 is lambda / rho. Where
        an odd power of sigma stays a symbol, lambda is written rho sigma**2, so that no root is left.

    Raises
    ------
    LossError
        If an exponent or a coefficient is no real number once all symbols are; `StandstillError` if nothing is left.
    """
    numbers = dict(point or {})
    if lam in numbers and rho in numbers:
        numbers[sigma] = sqrt(S(numbers[lam]) / numbers[rho])
    elif any(not S(coefficient).is_rational_function(lam, rho) or S(coefficient).has(sigma) for coefficient in terms.values()):
        numbers[lam] = rho * sigma**2
    collected: dict[Rational, Expr] = {}
    for exponent, coefficient in terms.items():
        power, value = S(exponent).subs(numbers), normal(S(coefficient).subs(numbers))
        shown = inline(S(coefficient) * u ** S(exponent))
        if not power.is_Rational:
            raise LossError(
                f"The loss gives du/dt the term {shown}, whose exponent {inline(power)} is no number; give the depths."
            )
        if value.is_number and not value.is_real:
            raise LossError(f"The loss gives du/dt the term {shown}, whose coefficient {inline(value)} is no real number.")
        collected[power] = collected.get(power, S.Zero) + value
    kept = [(power, value) for power, value in sorted(collected.items()) if normal(value) != 0]
    if not kept:
        raise StandstillError("The loss gives du/dt = 0: its terms cancel, and nothing trains.")
    q = lcm(*(int(power.q) for power, _ in kept))
    return Rate(tuple(Term(int(power * q), value) for power, value in kept), q)


@dataclass(frozen=True)
class Signs:
    """What the signs of the coefficients decide about positive fixed points (Descartes).

    Attributes
    ----------
    count
        Positive fixed points; None if it depends on the numbers.
    stable
        Of a single fixed point, whether it is stable; None if there is no single one.
    sentence
        The same for a reader.
    """

    count: int | None
    stable: bool | None
    sentence: str


def by_signs(rate: Rate) -> Signs:
    """Decide by the signs of the coefficients alone, symbolic or numeric."""
    try:
        signs = rate.signs
    except UndecidedError:
        return Signs(None, None, _undecided(rate))
    changes = sum(one != other for one, other in pairwise(signs))
    if changes == 0:
        return Signs(0, None, _one_sign(rate, signs[0]))
    if changes == 1:
        word = "stable" if signs[-1] < 0 else "unstable"
        return Signs(
            1, signs[-1] < 0, f"The coefficients change sign once: there is exactly one positive fixed point, and it is {word}."
        )
    return Signs(
        None, None, f"The coefficients change sign {changes} times: whether there are fixed points depends on the numbers."
    )


def _undecided(rate: Rate) -> str:
    shown = f"du/dt = {inline(rate.expression)}"
    if len(rate.terms) == 1:
        return (
            f"There is no positive fixed point: the one term of {shown} vanishes at no u > 0. The amplitude grows without "
            "bound where its coefficient is positive and sinks to 0 where that is negative; where it is 0, nothing trains."
        )
    if len(rate.terms) == 2:
        low, high = (inline(term.coefficient) for term in rate.terms)
        return (
            f"Where the two coefficients of {shown}, {low} and {high}, have opposite signs, there is exactly one positive "
            "fixed point, stable where the second is negative; elsewhere there is none."
        )
    return "How many positive fixed points there are depends on the numbers: a coefficient has no fixed sign."


def _one_sign(rate: Rate, turn: int) -> str:
    shown, word = inline(rate.expression), "positive" if turn > 0 else "negative"
    if len(rate.terms) == 1:
        return f"The loss has no positive fixed point: the one term of du/dt = {shown} is {word} for u > 0."
    return f"The loss has no positive fixed point: every term of du/dt = {shown} is {word} for u > 0."


@dataclass(frozen=True, eq=False)
class RationalFactor:
    """An irreducible polynomial with rational coefficients."""

    polynomial: fmpq_poly
    most_bits = MOST_BITS

    def positive_roots(self) -> list[arb]:
        """Ascending, as disjoint balls, to the precision at work."""
        return _positive_roots(self, flint.ctx.prec)

    def isolated(self) -> list[arb]:
        """The same, computed afresh; real roots come exactly real."""
        roots: Any = self.polynomial.complex_roots()
        positive = [value.real for value, _ in roots if value.imag == 0 and value.real > 0]
        return sorted(positive, key=lambda value: value.mid())

    def has_root(self, power: fmpq, degree: int) -> bool:
        """Whether power**(1/degree) is a root: then the polynomial divides y**degree - power."""
        reduced, y = fmpq_poly([1]), fmpq_poly([0, 1])
        for digit in f"{degree:b}":
            reduced = reduced * reduced * (y if digit == "1" else 1) % self.polynomial
        return bool(reduced == power)


@dataclass(frozen=True, eq=False)
class RealFactor:
    """A polynomial with irrational coefficients, known by balls; its roots are isolated where they are all simple."""

    coefficients: tuple[Expr, ...]
    most_bits = MOST_ENCLOSED_BITS

    def positive_roots(self) -> list[arb]:
        """Ascending, as disjoint balls, to the precision at work.

        Raises
        ------
        LindynError
            If two roots meet, or are too close to be told apart.
        """
        return _positive_roots(self, flint.ctx.prec)

    def isolated(self) -> list[arb]:
        """The same, computed afresh; each ball contains a change of sign."""
        wanted = flint.ctx.prec
        for bits in precisions(2 * wanted, max(2 * wanted, self.most_bits)):
            with precision(bits), suppress(NotANumberError, ValueError):
                tolerance = arb(2) ** -wanted
                polynomial = arb_poly([as_ball(value) for value in self.coefficients])
                roots = [_on_the_line(polynomial, ball) for ball in acb_poly(polynomial).roots(tol=tolerance)]
                return sorted((ball for ball in roots if ball is not None and ball > 0), key=lambda ball: ball.mid())
        raise LindynError(
            "Two fixed points meet or are too close to be told apart: du/dt has irrational coefficients. Change a number, or "
            "choose numbers that make the coefficients rational, such as a lambda/rho that is a square."
        )

    def has_root(self, power: fmpq, degree: int) -> bool:
        """Whether power**(1/degree) is found to be a root, by a normal form, and lies in the ball of a single one."""
        value = root(as_rational(power), degree)
        if normal(Add(*(c * value**k for k, c in enumerate(self.coefficients)))) != 0:
            return False
        near = rooted(power, degree, BITS)
        return sum(ball.overlaps(near) for ball in self.positive_roots()) == 1


def _on_the_line(polynomial: arb_poly, isolated: acb) -> arb | None:
    """The real part of a ball that contains one root, if that is real; None if it is not.

    Raises
    ------
    NotANumberError
        If the precision does not tell.
    """
    if not isolated.imag.contains(0):
        return None
    low, high = (polynomial(end) for end in (isolated.real.lower(), isolated.real.upper()))
    if not low * high < 0 or isolated.real.contains(0):
        raise NotANumberError("It is not told whether a root is real.")
    return isolated.real


Factor = RationalFactor | RealFactor


@lru_cache(maxsize=64)
def _positive_roots(factor: Factor, bits: int) -> list[arb]:
    with precision(bits):
        return factor.isolated()


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """A positive zero of the rate, isolated.

    Attributes
    ----------
    exact
        The value where it is a rational number, a root of one, or the root of a quadratic surd; else None.
    multiplicity, stability
        Of the zero; half-stable if the rate has the same sign on both sides.
    factor, step, rank, root
        Where it comes from: y**step is the rank-th positive root of this factor, where u = y**root.
    """

    exact: Expr | None
    multiplicity: int
    stability: Stability
    factor: Factor
    step: int
    rank: int
    root: int = 1

    def ball(self, bits: int = BITS) -> arb:
        """A ball around the value, at this precision."""
        with precision(bits):
            return self.factor.positive_roots()[self.rank].root(self.step) ** self.root

    def product(self, depth: int, bits: int = BITS) -> arb:
        """A ball around the encoder's amplitude there, the power of the depth."""
        with precision(bits):
            return self.ball(bits) ** depth

    def against(self, power: fmpq, degree: int) -> int:
        """-1, 0 or 1 as the value lies below, at or above power**(1/degree); decided exactly."""
        for bits in precisions(BITS, self.factor.most_bits):
            value, bound = self.ball(bits), rooted(power, degree, bits)
            if not value.overlaps(bound):
                return 1 if value > bound else -1
            if bits == BITS and self.factor.has_root(power**self.step, degree * self.root):
                return 0
        raise LindynError(f"The start and a fixed point are too close to be told apart with {self.factor.most_bits} bits.")


def positive_zeros(rate: Rate) -> tuple[FixedPoint, ...]:
    """All positive zeros of a numeric rate, ascending; possibly none.

    Raises
    ------
    LindynError
        If the rate has symbols left, or a degree too high to isolate its zeros.
    """
    if not rate.is_numeric:
        raise LossError(f"The fixed points of du/dt = {inline(rate.expression)} need numbers for its symbols.")
    coefficients = rate.deflated
    rational = all(value.is_Rational for value in coefficients)
    if not _is_isolated(rate, rational):
        why = "" if rational else "irrational coefficients, "
        raise LindynError(
            f"The fixed points of du/dt are zeros of a polynomial with {why}{rate.size}, too large to isolate them; lower the "
            "depth."
        )
    points: list[FixedPoint] = []
    right = rate.signs[-1]
    found = _isolated(coefficients) if rational else _enclosed(coefficients)
    for factor, multiplicity, rank in reversed(found):
        left = right * (-1) ** multiplicity
        stability: Stability = "half-stable" if left == right else "stable" if right < 0 else "unstable"
        exact = _exactly(factor, rank, Rational(rate.step, rate.root))
        points.append(FixedPoint(exact, multiplicity, stability, factor, rate.step, rank, rate.root))
        right = left
    return tuple(reversed(points))


def is_isolated(rate: Rate) -> bool:
    """Whether the degree is low enough for numbers, once there are any."""
    return _is_isolated(rate, rate.is_rational)


def _is_isolated(rate: Rate, rational: bool) -> bool:
    degree = rate.isolated_degree
    return degree * len(rate.terms) <= MOST_SIZE and degree <= (MOST_DEGREE if rational else MOST_ENCLOSED_DEGREE)


def fixed_points(rate: Rate) -> tuple[FixedPoint, ...]:
    """The positive fixed points of a numeric rate, ascending; at least one.

    Raises
    ------
    LossError
        If there is none, which the signs may tell of a symbolic rate as well; the sentence says which terms prevent it.
    """
    decided = by_signs(rate)
    if decided.count == 0:
        raise LossError(decided.sentence)
    found = positive_zeros(rate)
    if not found:
        raise LossError(_outweighed(rate))
    return found


def _outweighed(rate: Rate) -> str:
    """Why a numeric rate with terms of both signs has no zero: those of one sign outweigh the others."""
    signed = list(zip(rate.terms, rate.signs, strict=True))
    heavy, light = (rate.written(term for term, turn in signed if turn == side) for side in (rate.signs[-1], -rate.signs[-1]))
    return (
        f"The loss has no positive fixed point: of du/dt = {inline(rate.expression)}, the part {inline(heavy)} outweighs "
        f"{inline(light)} for every u > 0."
    )


def _isolated(coefficients: tuple[Expr, ...]) -> list[tuple[Factor, int, int]]:
    """(irreducible factor, multiplicity, rank among its positive roots) of every positive root, ascending."""
    whole = fmpq_poly([as_fmpq(value) for value in coefficients])
    factors = [(RationalFactor(factor), multiplicity) for factor, multiplicity in whole.factor()[1]]
    for bits in precisions(BITS):
        with precision(bits):
            found = [(ball, f, m, rank) for f, m in factors for rank, ball in enumerate(f.positive_roots())]
        found.sort(key=lambda entry: entry[0].mid())
        if not any(one[0].overlaps(other[0]) for one, other in pairwise(found)):
            return [(f, m, rank) for _, f, m, rank in found]
    raise LindynError("The fixed points are too close to be told apart.")


def _enclosed(coefficients: tuple[Expr, ...]) -> list[tuple[Factor, int, int]]:
    """The same where a coefficient is irrational: one factor, and every root simple."""
    whole = RealFactor(coefficients)
    with precision(BITS):
        return [(whole, 1, rank) for rank in range(len(whole.positive_roots()))]


def _exactly(origin: Factor, rank: int, step: Rational) -> Expr | None:
    """The positive root of this rank in closed form, if the factor is rational and linear or quadratic in some power."""
    if not isinstance(origin, RationalFactor):
        return None
    factor = origin.polynomial
    inner = gcd(*(power for power in range(1, factor.degree() + 1) if factor[power] != 0))
    low, *high = (as_rational(factor[power]) for power in range(0, factor.degree() + 1, inner))
    if len(high) == 1:
        return root(-low / high[0], step * inner)
    if len(high) == 2:
        middle, product = -high[0] / (2 * high[1]), low / high[1]
        upper = product < 0 or rank == 1
        return root(middle + (1 if upper else -1) * sqrt(middle**2 - product), step * inner)
    return None


def precisions(bits: int, most: int = MOST_BITS) -> Iterator[int]:
    """This many bits, then twice as many, up to the most that is tried."""
    while bits <= most:
        yield bits
        bits *= 2


def rooted(power: fmpq, degree: int, bits: int) -> arb:
    """power**(1/degree) at this precision."""
    with precision(bits):
        return arb(power).root(degree)


def as_ball(value: Expr) -> arb:
    """A real number without symbols, at the precision at work."""
    ball: Any = evaluate(value, {})
    return arb(ball)


def as_fmpq(value: Expr) -> fmpq:
    """A SymPy rational as python-flint writes it."""
    return fmpq(int(value.p), int(value.q))


def as_rational(value: fmpq) -> Rational:
    """A python-flint rational as SymPy writes it."""
    return Rational(int(value.p), int(value.q))
