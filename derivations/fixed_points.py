"""Where a balanced mode equation stands still: positive fixed points, isolated and told stable or not."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Literal

from flint import arb, fmpq
from sympy import Expr, Rational, root, sqrt

from derivations.balls import BITS, precision
from derivations.expression import LossError
from derivations.formulas import inline
from derivations.rates import Rate, by_signs
from derivations.roots import Factor, RationalFactor, as_rational, enclosed_roots, isolated_roots, precisions, rooted
from dynamics.errors import LindynError

Stability = Literal["stable", "unstable", "half-stable"]

MOST_DEGREE = 400
MOST_SIZE = 20_000
"""Degree times the number of terms, of a polynomial whose roots are isolated."""
MOST_ENCLOSED_DEGREE = 200
"""The same with irrational coefficients."""


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
    found = isolated_roots(coefficients) if rational else enclosed_roots(coefficients)
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
