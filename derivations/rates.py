"""A balanced mode equation as a sum of powers of u, and what the signs of its coefficients decide.

Exponents are rational; with q their common denominator everything is a polynomial in y = u**(1/q).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from math import gcd, lcm
from typing import Any, NamedTuple

from sympy import Add, Expr, Poly, Rational, S, Symbol, preorder_traversal, sqrt

from derivations.balls import sign_at
from derivations.expression import LossError
from derivations.formulas import inline
from derivations.notation import lam, rho, sigma, u
from derivations.reduction import UndecidedError, normal, sign


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
