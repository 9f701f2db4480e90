"""A SymPy expression as a rigorous enclosure (python-flint): exact while rational, a ball from there on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import flint
from flint import acb, arb, fmpq
from sympy import Abs, Add, E, Expr, Integral, Mul, Pow, Rational, Sum, Symbol, atan, ceiling, exp, floor, log, pi
from sympy.functions.special.hyper import hyper

Number = fmpq | arb | acb
Point = Mapping[Symbol, Any]

BITS = 256
MOST_BITS = 1 << 15
UNDEFINED_BITS = 1 << 10
"""What has no finite value with this many bits has none."""

EVALUATIONS = 50_000
"""Most evaluations of an integrand by quadrature."""

DIGITS = 40


class NotANumberError(ArithmeticError):
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
    NotANumberError
        Where a division, logarithm or power is undefined.
    """
    exact = {
        symbol: fmpq(int(value.p), int(value.q)) if isinstance(value, Rational) else value for symbol, value in point.items()
    }
    value = _value(expression, exact)
    if not isinstance(value, fmpq) and not value.is_finite():
        raise NotANumberError(f"{expression} has no finite value at {point}.")
    return value


def enclosed(expression: Expr, point: Point) -> arb:
    """The value to 40 digits, relative where it exceeds 1, at whatever precision that takes."""
    return _refined(expression, point, lambda ball: bool(ball.rad() <= arb(10) ** -DIGITS * max(arb(1), abs(ball.mid()))))


def sign_at(expression: Expr, point: Point) -> int:
    """-1 or 1, certified at whatever precision that takes; 0 if the value is exactly 0.

    Raises
    ------
    NotANumberError
        Where the value is undefined, or too near 0 to tell.
    """
    ball = _refined(expression, point, lambda ball: not ball.contains(0) or bool(ball == 0))
    return 0 if ball == 0 else 1 if ball > 0 else -1


def is_continuous(expression: Expr, variable: Symbol, low: Rational, high: Rational, pieces: int = 64) -> bool:
    """Whether balls that cover the interval have finite images: no pole and no jump lies in it."""
    width = (high - low) / (2 * pieces)
    try:
        with precision(BITS):
            for piece in range(pieces):
                middle, radius = (arb(fmpq(int(part.p), int(part.q))) for part in (low + (2 * piece + 1) * width, width))
                evaluate(expression, {variable: arb(middle, radius)})
    except NotANumberError:
        return False
    return True


def _refined(expression: Expr, point: Point, enough: Callable[[arb], bool]) -> arb:
    """A ball that is enough, with as many bits as that takes."""
    bits = BITS
    while bits <= MOST_BITS:
        with precision(bits):
            try:
                ball = _real(evaluate(expression, point))
                if enough(ball):
                    return ball
            except NotANumberError:
                if bits >= UNDEFINED_BITS:
                    raise
        bits *= 2
    raise NotANumberError(f"{expression} cannot be enclosed well enough.")


def _real(value: Number) -> arb:
    if isinstance(value, acb):
        if not value.imag.contains(0):
            raise NotANumberError("A real value was expected.")
        return value.real
    return arb(value)


def _value(expression: Expr, point: Mapping[Symbol, Number]) -> Number:
    if isinstance(expression, Symbol):
        return point[expression]
    if isinstance(expression, Rational):
        return fmpq(int(expression.p), int(expression.q))
    if expression is pi or expression is E:
        return arb.pi() if expression is pi else arb.const_e()
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
    if not hasattr(name, "ball"):
        raise NotANumberError(f"{expression} has no enclosure.")
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
            raise NotANumberError("Division by zero.")
        return base ** int(exponent.p)
    ball = _off_the_cut(_ball(base))
    return ball ** (arb(exponent) if isinstance(exponent, fmpq) else exponent)


def _floor(value: Number) -> fmpq:
    if not isinstance(value, fmpq):
        raise NotANumberError("The floor of what is not rational is not taken.")
    return fmpq(int(value.p) // int(value.q))


def _off_the_cut(value: arb | acb) -> arb | acb:
    """The value, or no number where a complex ball meets the cut of roots and logarithms: quadrature must not cross it."""
    if isinstance(value, acb) and value.imag.contains(0) and not value.real > 0:
        return acb("nan")
    return value


def _sum(expression: Sum, point: Mapping[Symbol, Number]) -> Number:
    if len(expression.limits) != 1:
        raise NotANumberError(f"{expression} has more than one index.")
    index, first, last = expression.limits[0]
    low, high = (_whole(_value(bound, point)) for bound in (first, last))
    total: Number = fmpq(0)
    for value in range(low, high + 1):
        total = total + _value(expression.function, {**point, index: fmpq(value)})
    return total


def _whole(value: Number) -> int:
    if not (isinstance(value, fmpq) and value.q == 1):
        raise NotANumberError(f"{value} is no whole number.")
    return int(value.p)


def _integral(expression: Integral, point: Mapping[Symbol, Number]) -> Number:
    variable, low, high = expression.limits[0]
    start, end = (acb(_ball(_value(bound, point))) for bound in (low, high))
    integrand = expression.function

    def at(argument: acb, _analytic: bool) -> acb:
        try:
            return acb(_ball(_value(integrand, {**point, variable: argument})))
        except NotANumberError:
            return acb("nan")

    return acb.integral(at, start, end, eval_limit=EVALUATIONS)


def _hypergeometric(expression: hyper, point: Mapping[Symbol, Number]) -> Number:
    if (len(expression.ap), len(expression.bq)) != (2, 1):
        raise NotANumberError(f"{expression} is no 2F1.")
    (first, second), (third,), argument = expression.ap, expression.bq, expression.argument
    one, other, below, at = (_value(part, point) for part in (first, second, third, argument))
    excess = one + other - below
    logarithmic = isinstance(excess, fmpq) and excess.q == 1
    return _real(at).hypgeom_2f1(_real(one), _real(other), _real(below), abc=logarithmic)


def _ball(value: Number) -> arb | acb:
    return arb(value) if isinstance(value, fmpq) else value


_FUNCTIONS: dict[Any, Callable[..., Number]] = {
    log: lambda value: _off_the_cut(_ball(value)).log(),
    exp: lambda value: _ball(value).exp(),
    Abs: lambda value: abs(value),
    atan: lambda value: _ball(value).atan(),
    ceiling: lambda value: -_floor(-value),
    floor: lambda value: _floor(value),
}
