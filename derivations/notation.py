"""The symbols, once; and the ranges they live in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from sympy import Dummy, Expr, Function, Rational, S, Symbol, oo, symbols

L, M, N, n, K = symbols("L M N n K", integer=True, positive=True)
a, b = symbols("a b", integer=True, positive=True)
lam, rho, sigma = symbols("lambda rho sigma", positive=True)
epsilon, p, eta = symbols("epsilon p eta", positive=True)
u, v, w, x, z = symbols("u v w x z", positive=True)
u0, u1, x0, x1, z0, z1 = symbols("u_0 u_1 x_0 x_1 z_0 z_1", positive=True)
t, tau, s = symbols("t tau s", positive=True)
lam_A, lam_B, rho_A, rho_B, sigma_A, sigma_B = symbols("lambda_A lambda_B rho_A rho_B sigma_A sigma_B", positive=True)
ustar = Symbol("u_*", positive=True)
beta, gamma, kappa, nu, gap = symbols("beta gamma kappa nu gap", positive=True)

SAMPLED_DENOMINATOR = 360


class sg(Function):  # noqa: N801
    """A stop-gradient: what stands inside is frozen while the loss is differentiated."""

    nargs = 1

    def fdiff(self, argindex: int = 1) -> Expr:
        """Zero: nothing flows through."""
        return S.Zero


def released(expression: Expr) -> Expr:
    """The expression with every stop-gradient replaced by what it holds, as it is evaluated during training."""
    return expression.replace(sg, lambda held: held)


@dataclass(frozen=True)
class Reals:
    """An open interval that a real symbol ranges over, and the part of it that checks sample."""

    low: Any = S.Zero
    high: Any = oo
    sampled: tuple[Any, Any] = (S.Half, S(2))

    def positively(self, symbol: Symbol) -> Expr:
        """The symbol written with a positive one that ranges over all positive numbers."""
        y = Dummy(symbol.name, positive=True)
        return self.low + y if self.high == oo else (self.high + self.low * y) / (1 + y)

    def sample(self, random: Random) -> Rational:
        """A rational number strictly inside."""
        low, high = self.sampled
        return low + (high - low) * Rational(random.randrange(1, SAMPLED_DENOMINATOR), SAMPLED_DENOMINATOR)


@dataclass(frozen=True)
class Integers:
    """Whole numbers from ``least`` on, of which checks sample those up to ``most``."""

    least: int = 1
    most: int = 6

    def positively(self, symbol: Symbol) -> Expr:
        """The symbol as the least value plus a non-negative whole number."""
        return self.least + Dummy(symbol.name, integer=True, nonnegative=True)

    def sample(self, random: Random) -> Rational:
        """A whole number in the range."""
        return Rational(random.randint(self.least, self.most))


@dataclass(frozen=True)
class NonZero:
    """Said of an expression that a hypothesis keeps from being 0."""


Range = Reals | Integers
Domain = Mapping[Expr, Range | NonZero]

UNIT = Reals(0, 1, (Rational(1, 12), Rational(11, 12)))
"""(0, 1)."""

SMALL = Reals(0, oo, (Rational(1, 20), Rational(2, 5)))
"""All positive numbers, sampled below every sampled rho."""


def range_of(symbol: Symbol, domain: Domain) -> Range:
    """What the domain says of a symbol, or what its name always means."""
    given = domain.get(symbol)
    if isinstance(given, Reals | Integers):
        return given
    if symbol.is_integer:
        return Integers()
    if symbol in (p, x, x0, x1, z, z0, z1):
        return UNIT
    return SMALL if symbol in (u, u0, u1, v, w, epsilon) else Reals()
