"""The two integrals behind every critical time, as SymPy functions that know their derivatives and their enclosures."""

from __future__ import annotations

from typing import Any

from flint import arb, fmpq
from sympy import Expr, Function, S, Symbol, ceiling, log

from derivations.balls import NotANumberError
from derivations.notation import Domain
from derivations.reduction import UndecidedError, sign, vanishes_at_zero


def head_and_tail(a: Expr, b: Expr) -> tuple[int, Expr]:
    """(K, c): how many powers the head has, and c = K b - (a - 1) of the tail, 0 for a logarithm; a and b are numbers."""
    count = max(int(ceiling((S(a) - 1) / b)), 0)
    return count, count * S(b) - (a - 1)


class Tail(Function):
    """``Tail(c, b, x)``: the integral of y**(c - 1) / (1 - y**b) over y from 0 to x < 1, c and b positive."""

    nargs = 3

    def fdiff(self, argindex: int = 1) -> Expr:
        """The integrand at the upper end, by the fundamental theorem of calculus."""
        c, b, x = self.args
        if argindex != 3:
            raise UndecidedError("Tail is differentiated by its upper end only.")
        return x ** (c - 1) / (1 - x**b)

    def small(self, variable: Symbol, domain: Domain) -> Expr:
        """x**c / c: the integrand is y**(c - 1) times what tends to 1."""
        c, b, x = self.args
        indices_hold = not (c.has(variable) or b.has(variable)) and sign(c, domain) > 0 and sign(b, domain) > 0
        if indices_hold and vanishes_at_zero(x, variable, domain):
            return x**c / c
        raise UndecidedError(f"Nothing is known of {self} for small {variable}.")

    @staticmethod
    def ball(c: fmpq, b: fmpq, x: fmpq | arb) -> arb:
        """x**c / c times a hypergeometric function."""
        if not (isinstance(c, fmpq) and isinstance(b, fmpq) and c > 0 and b > 0):
            raise NotANumberError("Phi[c, b] is evaluated for positive rational c and b.")
        power, step, end = arb(c), arb(b), arb(x)
        return end**power / power * (end**step).hypgeom_2f1(1, power / step, 1 + power / step, abc=True)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        c, b, x = map(printer.doprint, self.args)
        text = rf"\Phi_{{{c},{b}}}\left({x}\right)"
        return text if exp is None else rf"{text}^{{{exp}}}"


class Duration(Function):
    """``Duration(a, b, x0, x1)``: the integral of x**-a / (1 - x**b) over x from x0 to x1, both in (0, 1)."""

    nargs = 4

    @classmethod
    def eval(cls, a: Expr, b: Expr, x0: Expr, x1: Expr) -> Expr | None:
        """Zero over an empty stretch."""
        return S.Zero if x0 == x1 else None

    def fdiff(self, argindex: int = 1) -> Expr:
        """The integrand at an end, by the fundamental theorem of calculus."""
        a, b, x0, x1 = self.args
        if argindex not in (3, 4):
            raise UndecidedError("Duration is differentiated by its ends only.")
        return x1**-a / (1 - x1**b) if argindex == 4 else -(x0**-a) / (1 - x0**b)

    def small(self, variable: Symbol, domain: Domain) -> Expr:
        """x0**(1 - a) / (a - 1), or -ln x0 for a = 1, as the statements on dominant terms prove."""
        a, b, x0, x1 = self.args
        indices_hold = not any(part.has(variable) for part in (a, b, x1)) and sign(b, domain) > 0
        if indices_hold and vanishes_at_zero(x0, variable, domain) and sign(a - 1, domain) >= 0:
            return x0 ** (1 - a) / (a - 1) if sign(a - 1, domain) > 0 else -log(x0)
        raise UndecidedError(f"Nothing is known of {self} for small {variable}.")

    @staticmethod
    def ball(a: fmpq, b: fmpq, x0: fmpq | arb, x1: fmpq | arb) -> arb:
        """Head and tail of the closed form."""
        if not (isinstance(a, fmpq) and isinstance(b, fmpq) and b > 0):
            raise NotANumberError("T[a, b] is evaluated for rational a and positive rational b.")
        low, high = arb(x0), arb(x1)
        count = max(int(((a - 1) / b).ceil()), 0)
        powers = [arb(a - 1 - k * b) for k in range(count)]
        head = sum(((low**-power - high**-power) / power for power in powers), arb(0))
        c = count * b - (a - 1)
        if c == 0:
            step = arb(b)
            return head + (high / low).log() + ((1 - low**step).log() - (1 - high**step).log()) / step
        return head + Tail.ball(c, b, high) - Tail.ball(c, b, low)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        a, b, x0, x1 = map(printer.doprint, self.args)
        text = rf"T_{{{a},{b}}}\left({x0},\, {x1}\right)"
        return text if exp is None else rf"{text}^{{{exp}}}"
