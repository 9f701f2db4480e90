"""The positive roots of polynomials, isolated by certified balls, and compared with numbers exactly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import flint
from flint import acb, acb_poly, arb, arb_poly, fmpq, fmpq_poly
from sympy import Add, Expr, Rational, root

from derivations.balls import BITS, MOST_BITS, NotANumberError, evaluate, precision
from derivations.reduction import normal
from dynamics.errors import LindynError

MOST_ENCLOSED_BITS = 2_048
"""With irrational coefficients, roots are isolated with up to this many bits."""


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


def isolated_roots(coefficients: tuple[Expr, ...]) -> list[tuple[Factor, int, int]]:
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


def enclosed_roots(coefficients: tuple[Expr, ...]) -> list[tuple[Factor, int, int]]:
    """The same where a coefficient is irrational: one factor, and every root simple."""
    whole = RealFactor(coefficients)
    with precision(BITS):
        return [(whole, 1, rank) for rank in range(len(whole.positive_roots()))]


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
