"""A SymPy expression as a rigorous enclosure (python-flint): exact while rational, a ball from there on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import flint
from flint import acb, arb, fmpq
from sympy import Add, Expr, Integral, Mul, Pow, Rational, Sum, Symbol, atan, ceiling, exp, floor, log, pi
from sympy.functions.special.hyper import hyper

Number = fmpq | arb | acb
Point = Mapping[Symbol, Any]

BITS = 256
MOST_BITS = 1 << 15
DIGITS = 40


class NotANumber(ArithmeticError):
    """The expression has no finite value at this point."""


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Work with this many bits."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def evaluate(expression: Expr, point: Point) -> Number:
    """The value at a point of rational numbers or balls, at the current precision.

    Raises
    ------
    NotANumber
        Where a division, logarithm or power is undefined.
    """
    exact = {
        symbol: fmpq(int(value.p), int(value.q)) if isinstance(value, Rational) else value for symbol, value in point.items()
    }
    value = _value(expression, exact)
    if not isinstance(value, fmpq) and not value.is_finite():
        raise NotANumber(f"{expression} has no finite value at {point}.")
    return value


def enclosed(expression: Expr, point: Point) -> arb:
    """The value to 40 digits, relative where it exceeds 1, at whatever precision that takes."""
    bits = BITS
    while bits <= MOST_BITS:
        with precision(bits):
            value = evaluate(expression, point)
            ball = _real(value)
            if ball.rad() <= arb(10) ** -DIGITS * max(arb(1), abs(ball.mid())):
                return ball
        bits *= 2
    raise NotANumber(f"{expression} cannot be enclosed to {DIGITS} digits.")


def _real(value: Number) -> arb:
    if isinstance(value, acb):
        if not value.imag.contains(0):
            raise NotANumber("A real value was expected.")
        return value.real
    return arb(value)


def _value(expression: Expr, point: Mapping[Symbol, Number]) -> Number:
    if isinstance(expression, Symbol):
        return point[expression]
    if isinstance(expression, Rational):
        return fmpq(int(expression.p), int(expression.q))
    if expression is pi:
        return arb.pi()
    if isinstance(expression, Sum):
        return _sum(expression, point)
    if isinstance(expression, Integral):
        return _integral(expression, point)
    if isinstance(expression, hyper):
        return _hypergeometric(expression, point)
    values = [_value(part, point) for part in expression.args]
    if isinstance(expression, Add):
        return _folded(lambda one, other: one + other, values)
    if isinstance(expression, Mul):
        return _folded(lambda one, other: one * other, values)
    if isinstance(expression, Pow):
        return _power(*values)
    name = type(expression)
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](*values)
    special: Number = name.ball(*values)
    return special


def _folded(operation: Callable[[Number, Number], Number], values: list[Number]) -> Number:
    total = values[0]
    for value in values[1:]:
        total = operation(total, value)
    return total


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(exponent, fmpq) and exponent.q == 1:
        if isinstance(base, fmpq) and base == 0 and exponent < 0:
            raise NotANumber("Division by zero.")
        return base ** int(exponent.p)
    ball = arb(base) if isinstance(base, fmpq) else base
    return ball ** (arb(exponent) if isinstance(exponent, fmpq) else exponent)


def _sum(expression: Sum, point: Mapping[Symbol, Number]) -> Number:
    index, first, last = expression.limits[0]
    low, high = (_whole(_value(bound, point)) for bound in (first, last))
    total: Number = fmpq(0)
    for value in range(low, high + 1):
        total = total + _value(expression.function, {**point, index: fmpq(value)})
    return total


def _whole(value: Number) -> int:
    if not (isinstance(value, fmpq) and value.q == 1):
        raise NotANumber(f"{value} is no whole number.")
    return int(value.p)


def _integral(expression: Integral, point: Mapping[Symbol, Number]) -> Number:
    variable, low, high = expression.limits[0]
    start, end = (acb(_ball(_value(bound, point))) for bound in (low, high))
    integrand = expression.function
    return acb.integral(lambda y, _: acb(_ball(_value(integrand, {**point, variable: y}))), start, end)


def _hypergeometric(expression: hyper, point: Mapping[Symbol, Number]) -> Number:
    (first, second), (third,), argument = expression.ap, expression.bq, expression.argument
    one, other, below, at = (_value(part, point) for part in (first, second, third, argument))
    excess = one + other - below
    logarithmic = isinstance(excess, fmpq) and excess.q == 1
    return _real(at).hypgeom_2f1(_real(one), _real(other), _real(below), abc=logarithmic)


def _ball(value: Number) -> arb | acb:
    return arb(value) if isinstance(value, fmpq) else value


_FUNCTIONS: dict[Any, Callable[..., Number]] = {
    log: lambda value: _ball(value).log(),
    exp: lambda value: _ball(value).exp(),
    atan: lambda value: _ball(value).atan(),
    ceiling: lambda value: fmpq(-(-int(value.p) // int(value.q))),
    floor: lambda value: fmpq(int(value.p) // int(value.q)),
}
