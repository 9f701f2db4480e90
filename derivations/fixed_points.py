"""A balanced mode equation that is a sum of powers of u: its positive fixed points, isolated and told stable or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from math import gcd
from typing import Any, Literal, NamedTuple

from flint import arb, fmpq, fmpq_poly
from sympy import Add, Expr, Poly, Rational, S, Symbol, root, sqrt

from derivations.balls import BITS, MOST_BITS, precision
from derivations.expression import LossError
from derivations.formulas import inline
from derivations.notation import lam, rho, sigma, u
from derivations.reduction import UndecidedError, normal, sign
from dynamics.errors import LindynError

Stability = Literal["stable", "unstable", "half-stable"]

MOST_DEGREE = 500


class Term(NamedTuple):
    """coefficient * u**exponent."""

    exponent: int
    coefficient: Expr

    @property
    def expression(self) -> Expr:
        """As SymPy writes it."""
        return self.coefficient * u**self.exponent


@dataclass(frozen=True)
class Rate:
    """du/dt as terms of ascending, whole exponents and coefficients that are not zero."""

    terms: tuple[Term, ...]

    @property
    def expression(self) -> Expr:
        """The right-hand side."""
        return Add(*(term.expression for term in self.terms))

    @property
    def is_numeric(self) -> bool:
        """Whether every coefficient is a rational number."""
        return all(term.coefficient.is_Rational for term in self.terms)

    @property
    def lowest(self) -> int:
        """The power of u that divides the rate; negative if it has poles at 0."""
        return self.terms[0].exponent

    @cached_property
    def step(self) -> int:
        """The rate is u**lowest times a polynomial in u**step."""
        return reduce(gcd, (term.exponent - self.lowest for term in self.terms), 0) or 1

    @property
    def cofactor(self) -> Poly:
        """The rate over u**lowest, a polynomial that does not vanish at 0, over the field of its coefficients."""
        return Poly({(term.exponent - self.lowest,): term.coefficient for term in self.terms}, u, field=True)

    @property
    def deflated(self) -> fmpq_poly:
        """The cofactor as a polynomial in y = u**step; only of a numeric rate."""
        coefficients = {(term.exponent - self.lowest) // self.step: as_fmpq(term.coefficient) for term in self.terms}
        return fmpq_poly([coefficients.get(power, fmpq(0)) for power in range(max(coefficients) + 1)])


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
        If an exponent is no whole number, a coefficient is no rational number once all symbols are, or nothing is left.
    """
    numbers = dict(point or {})
    if lam in numbers and rho in numbers:
        numbers[sigma] = sqrt(S(numbers[lam]) / numbers[rho])
    elif any(not S(coefficient).is_rational_function(lam, rho) or S(coefficient).has(sigma) for coefficient in terms.values()):
        numbers[lam] = rho * sigma**2
    collected: dict[int, Expr] = {}
    for exponent, coefficient in terms.items():
        power, value = S(exponent).subs(numbers), normal(S(coefficient).subs(numbers))
        shown = inline(S(coefficient) * u ** S(exponent))
        if not power.is_Integer:
            raise LossError(f"The loss gives du/dt the term {shown}, whose exponent {inline(power)} is no whole number.")
        if value.is_number and not value.is_Rational:
            raise LossError(f"The loss gives du/dt the term {shown}, whose coefficient {inline(value)} is no rational number.")
        collected[int(power)] = collected.get(int(power), S.Zero) + value
    kept = tuple(Term(power, value) for power, value in sorted(collected.items()) if normal(value) != 0)
    if not kept:
        raise LossError("The loss gives du/dt = 0: its terms cancel, and nothing trains.")
    return Rate(kept)


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
        signs = [sign(term.coefficient, {}) for term in rate.terms]
    except UndecidedError:
        return Signs(
            None, None, "How many positive fixed points there are depends on the numbers: a coefficient has no fixed sign."
        )
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


def _one_sign(rate: Rate, turn: int) -> str:
    shown, word = inline(rate.expression), "positive" if turn > 0 else "negative"
    if len(rate.terms) == 1:
        return f"The loss has no positive fixed point: the one term of du/dt = {shown} is {word} for u > 0."
    return f"The loss has no positive fixed point: every term of du/dt = {shown} is {word} for u > 0."


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """A positive zero of the rate, isolated.

    Attributes
    ----------
    exact
        The value where it is a rational number, a root of one, or the root of a quadratic surd; else None.
    multiplicity, stability
        Of the zero; half-stable if the rate has the same sign on both sides.
    factor, step, rank
        Where it comes from: u**step is the rank-th positive root of this irreducible factor.
    """

    exact: Expr | None
    multiplicity: int
    stability: Stability
    factor: fmpq_poly
    step: int
    rank: int

    def ball(self, bits: int = BITS) -> arb:
        """A ball around the value, at this precision."""
        with precision(bits):
            return _positive_roots(self.factor)[self.rank].root(self.step)

    def product(self, depth: int, bits: int = BITS) -> arb:
        """A ball around the encoder's amplitude there, the power of the depth."""
        with precision(bits):
            return self.ball(bits) ** depth

    def against(self, power: fmpq, degree: int) -> int:
        """-1, 0 or 1 as the value lies below, at or above power**(1/degree); decided exactly."""
        for bits in precisions(BITS):
            value, bound = self.ball(bits), rooted(power, degree, bits)
            if not value.overlaps(bound):
                return 1 if value > bound else -1
            if bits == BITS and _has_root(self.factor, power**self.step, degree):
                return 0
        raise LindynError("Two amplitudes are too close to be told apart.")


def positive_zeros(rate: Rate) -> tuple[FixedPoint, ...]:
    """All positive zeros of a numeric rate, ascending; possibly none.

    Raises
    ------
    LindynError
        If the rate has symbols left, or a degree too high to isolate its zeros.
    """
    if not rate.is_numeric:
        raise LossError(f"The fixed points of du/dt = {inline(rate.expression)} need numbers for its symbols.")
    if (rate.terms[-1].exponent - rate.lowest) // rate.step > MOST_DEGREE:
        raise LindynError(
            f"The fixed points of du/dt are zeros of a polynomial of degree above {MOST_DEGREE}; lower the depth."
        )
    whole = rate.deflated
    points: list[FixedPoint] = []
    right = rate.terms[-1].coefficient
    for factor, multiplicity, rank in reversed(_isolated(whole)):
        left = right * (-1) ** multiplicity
        stability: Stability = "half-stable" if left == right else "stable" if right < 0 else "unstable"
        points.append(FixedPoint(_exactly(factor, rank, rate.step), multiplicity, stability, factor, rate.step, rank))
        right = left
    return tuple(reversed(points))


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
    turn = rate.terms[-1].coefficient
    heavy, light = (Add(*(term.expression for term in rate.terms if term.coefficient * side > 0)) for side in (turn, -turn))
    return (
        f"The loss has no positive fixed point: of du/dt = {inline(rate.expression)}, the part {inline(heavy)} outweighs "
        f"{inline(light)} for every u > 0."
    )


def _isolated(whole: fmpq_poly) -> list[tuple[fmpq_poly, int, int]]:
    """(irreducible factor, multiplicity, rank among its positive roots) of every positive root, ascending."""
    factors = whole.factor()[1]
    for bits in precisions(BITS):
        with precision(bits):
            found = [(ball, f, m, rank) for f, m in factors for rank, ball in enumerate(_positive_roots(f))]
        found.sort(key=lambda entry: entry[0].mid())
        if not any(one[0].overlaps(other[0]) for one, other in pairwise(found)):
            return [(f, m, rank) for _, f, m, rank in found]
    raise LindynError("The fixed points are too close to be told apart.")


def _positive_roots(factor: fmpq_poly) -> list[arb]:
    """The positive roots of a squarefree polynomial, ascending, as disjoint balls; real roots come exactly real."""
    roots: Any = factor.complex_roots()
    positive = [value.real for value, _ in roots if value.imag == 0 and value.real > 0]
    return sorted(positive, key=lambda value: value.mid())


def _has_root(factor: fmpq_poly, power: fmpq, degree: int) -> bool:
    """Whether power**(1/degree) is the positive root of this irreducible factor: then the factor divides y**degree - power."""
    reduced, y = fmpq_poly([1]), fmpq_poly([0, 1])
    for digit in f"{degree:b}":
        reduced = reduced * reduced * (y if digit == "1" else 1) % factor
    return bool(reduced == power)


def _exactly(factor: fmpq_poly, rank: int, step: int) -> Expr | None:
    """The positive root of this rank in closed form, if the factor is linear or quadratic in some power."""
    inner = gcd(*(power for power in range(1, factor.degree() + 1) if factor[power] != 0))
    low, *high = (as_rational(factor[power]) for power in range(0, factor.degree() + 1, inner))
    if len(high) == 1:
        return root(-low / high[0], step * inner)
    if len(high) == 2:
        middle, product = -high[0] / (2 * high[1]), low / high[1]
        upper = product < 0 or rank == 1
        return root(middle + (1 if upper else -1) * sqrt(middle**2 - product), step * inner)
    return None


def precisions(bits: int) -> Iterator[int]:
    """This many bits, then twice as many, up to the most that is tried."""
    while bits <= MOST_BITS:
        yield bits
        bits *= 2


def rooted(power: fmpq, degree: int, bits: int) -> arb:
    """power**(1/degree) at this precision."""
    with precision(bits):
        return arb(power).root(degree)


def as_fmpq(value: Expr) -> fmpq:
    """A SymPy rational as python-flint writes it."""
    return fmpq(int(value.p), int(value.q))


def as_rational(value: fmpq) -> Rational:
    """A python-flint rational as SymPy writes it."""
    return Rational(int(value.p), int(value.q))
