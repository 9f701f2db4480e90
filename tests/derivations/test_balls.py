"""Enclosures contain the truth: against 50 digits of mpmath, exactly while rational, and an error where nothing is defined."""

from collections.abc import Callable

import flint
import mpmath
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st
from sympy import Add, Expr, Integer, Integral, Rational, S, Sum, Symbol, atan, ceiling, exp, floor, hyper, log, pi, sqrt

from derivations.balls import DIGITS, NotANumberError, enclosed, evaluate, precision
from derivations.integrals import Duration, Tail
from derivations.notation import K, L, epsilon, n, rho, u, v, x

y = Symbol("y", positive=True)
real = Symbol("r", real=True)
POINT = {u: Rational(3, 7), v: Rational(22, 9), rho: Rational(5, 4), x: Rational(1, 3), L: Integer(4), K: Integer(3)}

rationals = st.fractions(-9, 9, max_denominator=50).map(lambda value: Rational(value.numerator, value.denominator))
positive = st.fractions(Rational(1, 50), 9, max_denominator=50).map(lambda value: Rational(value.numerator, value.denominator))


def assert_contains(ball: arb, truth: mpmath.mpf) -> None:
    """Up to the 50 digits that the truth is known to."""
    with precision(1024), mpmath.workdps(60):
        known = arb(mpmath.nstr(truth, 55))
        slack = arb(10) ** -48 * max(arb(1), abs(known))
        assert abs(ball.mid() - known) <= ball.rad() + slack, (ball, truth)
        assert ball.rad() <= arb(10) ** -DIGITS * max(arb(1), abs(known) + slack)


def at_fifty_digits(expression: Expr, point: dict[Symbol, Rational]) -> mpmath.mpf:
    with mpmath.workdps(60):
        return mpmath.mpf(str(expression.xreplace(point).evalf(58)))


@pytest.mark.parametrize(
    "expression",
    [
        u**v,
        u ** (1 / L),
        u ** (-(2 * L - 1) / L) / v,
        log(u),
        log(u) * log(v) - log(u**L / v),
        exp(-v) + exp(30 * v),
        atan((2 * u + 1) / sqrt(Integer(3))),
        pi * u,
        sqrt(u) + sqrt(v) - sqrt(u + v),
        (u**L - v**L) / (u - v),
        Sum(u**n / n, (n, 1, L + 30)),
        Sum(x**-n / (n * rho ** (2 * L - 1 - n)), (n, 1, 2 * L - 1)),
        Sum(sqrt(n), (n, K, L)),
        hyper((1, x), (1 + x,), u),
        hyper((1, x), (2 + x,), 1 - u / 10**6),
        log(1 - u**L) / L,
        u**-50 * v**60,
        u**2000,
    ],
    ids=str,
)
def test_the_value_lies_in_the_ball(expression: Expr) -> None:
    assert_contains(enclosed(expression, POINT), at_fifty_digits(expression, POINT))


@given(positive, positive, rationals)
def test_powers_and_logarithms_lie_in_their_balls(base: Rational, other: Rational, power: Rational) -> None:
    point = {u: base, v: other, real: power}
    for expression in (u**real, u**real * log(v), (u + v) ** (real / 3), log(u) - log(v) * real):
        assert_contains(enclosed(expression, point), at_fifty_digits(expression, point))


@given(st.lists(rationals, min_size=1, max_size=5), rationals, rationals)
def test_rational_values_are_exact(numbers: list[Rational], at: Rational, other: Rational) -> None:
    one, two = Symbol("one"), Symbol("two")
    polynomial = Add(*(number * one**k * two ** (k % 2) for k, number in enumerate(numbers)))
    value = evaluate(polynomial, {one: at, two: other})
    truth = sum((number * at**k * other ** (k % 2) for k, number in enumerate(numbers)), S.Zero)
    assert value == fmpq(int(truth.p), int(truth.q))


def test_a_value_is_rational_until_something_is_not() -> None:
    assert evaluate((u**L - v**-2) / rho, POINT) == fmpq(3, 7) ** 4 * fmpq(4, 5) - fmpq(81, 484) * fmpq(4, 5)
    assert isinstance(evaluate(Sum(1 / n, (n, 1, 30)), {}), fmpq)
    assert isinstance(evaluate(u ** Integer(3), POINT), fmpq)
    assert not isinstance(evaluate(sqrt(u), POINT), fmpq)


@pytest.mark.parametrize(("value", "down", "up"), [("7/2", 3, 4), ("-7/2", -4, -3), ("5", 5, 5), ("-5", -5, -5), ("0", 0, 0)])
def test_rounding_is_exact(value: str, down: int, up: int) -> None:
    point = {real: Rational(value)}
    assert evaluate(floor(real), point) == fmpq(down)
    assert evaluate(ceiling(real), point) == fmpq(up)


def test_an_empty_sum_is_zero() -> None:
    assert evaluate(Sum(u**n, (n, 1, K - 3)), POINT) == fmpq(0)


def test_balls_go_in_as_well_as_rationals() -> None:
    with precision(256):
        third = arb(1) / 3
        assert evaluate(log(3 * u), {u: third}).contains(0)
        assert evaluate(u**2, {u: third}).overlaps(arb(1) / 9)


# --- integrals ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("integrand", "low", "high", "function"),
    [
        (y**3 - y, S.Zero, S(2), lambda at: at**3 - at),
        (1 / (1 - y**3), S.Zero, Rational(9, 10), lambda at: 1 / (1 - at**3)),
        (y**-5 / (1 - y**2), Rational(1, 10), Rational(1, 2), lambda at: at**-5 / (1 - at**2)),
        (exp(-y) / (1 + y**2), S.Zero, S(3), lambda at: mpmath.exp(-at) / (1 + at**2)),
        (1 / y, Rational(1, 1000), S.One, lambda at: 1 / at),
        (y ** (L - 1) / (1 - y**L / rho), S.Zero, rho / 2, lambda at: at**3 / (1 - at**4 / mpmath.mpf("1.25"))),
        (y, S.One, S.Zero, lambda at: at),
    ],
    ids=lambda value: "" if callable(value) else str(value),
)
def test_integrals_lie_in_their_balls(
    integrand: Expr, low: Expr, high: Expr, function: Callable[[mpmath.mpf], mpmath.mpf]
) -> None:
    ball = enclosed(Integral(integrand, (y, low, high)), POINT)
    with mpmath.workdps(60):
        ends = [mpmath.mpf(int(end.xreplace(POINT).p)) / int(end.xreplace(POINT).q) for end in (low, high)]
        truth = mpmath.quad(function, mpmath.linspace(*ends, 9))
    assert_contains(ball, truth)


def test_an_integral_over_a_pole_is_not_a_number() -> None:
    with pytest.raises(NotANumberError):
        enclosed(Integral(1 / (y - S.Half), (y, 0, 1)), {})
    with pytest.raises(NotANumberError):
        enclosed(Integral(1 / y, (y, 0, 1)), {})


@pytest.mark.parametrize(
    ("integrand", "low", "high", "truth"),
    [
        (sqrt(y), S.One, S(2), 2 * (2 * sqrt(S(2)) - 1) / 3),
        (sqrt(y), S.Zero, S.One, Rational(2, 3)),
        (y ** Rational(3, 2), Rational(1, 10), S.One, 2 * (1 - sqrt(S(10)) / 1000) / 5),
    ],
    ids=str,
)
def test_an_integral_of_a_root_lies_in_its_ball(integrand: Expr, low: Expr, high: Expr, truth: Expr) -> None:
    try:
        ball = enclosed(Integral(integrand, (y, low, high)), {})
    except NotANumberError:
        return
    assert_contains(ball, at_fifty_digits(truth, {}))


# --- hypergeometric, near and far -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("gap", ["1/2", "1/10", "1/1000", "1/1000000000000", "1/1000000000000000000000000000000"])
@pytest.mark.parametrize(("second", "third"), [("1/2", "3/2"), ("1/3", "4/3"), ("2/7", "9/7"), ("1", "2"), ("1/2", "5/4")])
def test_the_hypergeometric_function_lies_in_its_ball_up_to_the_singularity(gap: str, second: str, third: str) -> None:
    """In the tails third minus second is 1: the logarithmic case."""
    parameters = [Rational(value) for value in (second, third)]
    ball = enclosed(hyper((1, parameters[0]), (parameters[1],), x), {x: 1 - Rational(gap)})
    with mpmath.workdps(90):
        one, other, at = (mpmath.mpf(int(value.p)) / int(value.q) for value in (*parameters, 1 - Rational(gap)))
        truth = mpmath.hyp2f1(1, one, other, at)
    assert_contains(ball, truth)


# --- precision ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "leading"),
    [
        (10**100 * log(1 + Rational(1, 10**100)), S.One),
        (10**300 * (sqrt(1 + Rational(1, 10**300)) - 1), S.Half),
        (epsilon**-200 * (exp(epsilon**200) - 1), S.One),
    ],
    ids=str,
)
def test_cancellation_is_met_with_more_bits(expression: Expr, leading: Expr) -> None:
    ball = enclosed(expression, {epsilon: Rational(1, 3)})
    with precision(512):
        assert ball.rad() <= arb(10) ** -DIGITS
        assert abs(ball.mid() - arb(fmpq(int(leading.p), int(leading.q)))) < arb(10) ** -DIGITS


def test_the_precision_is_restored() -> None:
    before = flint.ctx.prec
    enclosed(10**100 * log(1 + Rational(1, 10**100)), {})
    with pytest.raises(NotANumberError):
        enclosed(log(real), {real: S.Zero})
    assert flint.ctx.prec == before


def test_a_small_denominator_is_met_with_more_bits() -> None:
    assert enclosed(1 / (sqrt(1 + Rational(1, 10**80)) - 1), {}) > 0


# --- undefined ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "at"),
    [
        (1 / real, 0),
        (real**-3, 0),
        (real ** Rational(-1, 2), 0),
        (log(real), 0),
        (log(real), -1),
        (sqrt(real), -2),
        (real ** Rational(1, 3), -8),
        (real ** sqrt(S(2)), -1),
        (hyper((1, 1), (2,), real), 1),
        (hyper((1, 1), (2,), real), 2),
        (Tail(1, 2, real), 1),
        (Tail(1, 2, real), 2),
        (Tail(0, 2, real), S.Half),
        (Duration(2, 1, real, S.Half), 0),
        (Duration(2, 1, S.Half, real), 1),
        (Duration(2, 2, S.Half, real), Rational(3, 2)),
        (Duration(3, 2, S.Half, real), 2),
    ],
    ids=str,
)
def test_what_is_undefined_is_not_a_number(expression: Expr, at: Expr) -> None:
    with pytest.raises(NotANumberError):
        enclosed(expression, {real: S(at)})


def test_a_complex_value_is_not_taken_for_a_real_one() -> None:
    with precision(256), pytest.raises(NotANumberError):
        enclosed(u + 1, {u: flint.acb(0, 1)})


def test_a_hypergeometric_function_whose_parameters_cancel_is_refused() -> None:
    with pytest.raises(NotANumberError, match="is no 2F1"):
        enclosed(hyper((1, S.Half), (1,), u), POINT)


def test_a_double_sum_is_refused() -> None:
    with pytest.raises(NotANumberError, match="more than one index"):
        evaluate(Sum(n * K, (n, 1, 2), (K, 1, 3)), {})
