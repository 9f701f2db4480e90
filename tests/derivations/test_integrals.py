"""Tail and Duration against quadrature to 50 digits, in value, in derivative and where an end comes near 0 or 1."""

from itertools import pairwise

import mpmath
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from sympy import Expr, Integer, Rational, S, Symbol, latex, log

from derivations.balls import DIGITS, enclosed, precision
from derivations.closed_form import duration
from derivations.integrals import Duration, Tail
from derivations.notation import Integers, a, b, lam, u, ustar, x, x0, x1
from derivations.proof import zero_at
from derivations.reduction import UndecidedError, vanishes

c = Symbol("c", integer=True, positive=True)
ENDS = ["1/1000000", "1/100", "1/3", "1/2", "9/10", "999/1000", "99999999/100000000"]


def number(value: Rational) -> mpmath.mpf:
    return mpmath.mpf(int(value.p)) / int(value.q)


def quadrature(power: Rational, saturation: Rational, low: Rational, high: Rational) -> mpmath.mpf:
    """The integral of y^power / (1 - y^saturation), in y or, where it starts away from 0, in ln y; refined towards 1."""
    exponent, rise = number(power), number(saturation)
    steps = [1 - (1 - number(high)) * mpmath.mpf(2) ** k for k in range(60)]
    if low == 0:
        grid = sorted({mpmath.mpf(0), *(step for step in steps if step > 0)})
        return mpmath.quad(lambda at: at**exponent / (1 - at**rise), grid)
    start = number(low)
    grid = sorted({mpmath.log(start), *(mpmath.log(step) for step in steps if step > start)})
    pieces = [one + (other - one) * k / 6 for one, other in pairwise(grid) for k in range(6)] + [grid[-1]]
    return mpmath.quad(lambda at: mpmath.exp(at * (exponent + 1)) / (1 - mpmath.exp(at * rise)), pieces)


def assert_is(ball: arb, truth: mpmath.mpf) -> None:
    with precision(1024), mpmath.workdps(60):
        known = arb(mpmath.nstr(truth, 52))
        size = max(arb(1), abs(known))
        assert abs(ball.mid() - known) <= ball.rad() + arb(10) ** -45 * size, (ball, truth)
        assert ball.rad() <= arb(10) ** -DIGITS * 2 * size


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize(("power", "saturation"), [(1, 1), (1, 2), (1, 7), (2, 3), (3, 4), (5, 6), (4, 2), (9, 2)])
def test_the_tail_is_its_integral(power: int, saturation: int, end: str) -> None:
    ball = enclosed(Tail(power, saturation, x), {x: Rational(end)})
    with mpmath.workdps(55):
        assert_is(ball, quadrature(Rational(power - 1), Rational(saturation), S.Zero, Rational(end)))


@pytest.mark.parametrize(("low", "high"), [("1/1000000", "1/2"), ("1/100", "999/1000"), ("1/3", "9/10"), ("2/5", "41/100")])
@pytest.mark.parametrize(
    ("exponent", "saturation"), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 2), (4, 1), (5, 4), (7, 3), (12, 5), (3, 7), (15, 1)]
)
def test_the_duration_is_its_integral(exponent: int, saturation: int, low: str, high: str) -> None:
    ball = enclosed(Duration(exponent, saturation, x0, x1), {x0: Rational(low), x1: Rational(high)})
    with mpmath.workdps(55):
        assert_is(ball, quadrature(Rational(-exponent), Rational(saturation), Rational(low), Rational(high)))


@given(st.integers(1, 14), st.integers(1, 6), st.integers(1, 98), st.integers(1, 98))
def test_the_duration_is_the_closed_form_of_whole_exponents(exponent: int, saturation: int, low: int, high: int) -> None:
    point = {x0: Rational(low, 99), x1: Rational(high, 99)}
    assert zero_at(Duration(Integer(exponent), Integer(saturation), x0, x1), duration(exponent, saturation), point)


@given(st.integers(1, 14), st.integers(1, 6), st.lists(st.integers(1, 98), min_size=3, max_size=3))
def test_durations_add_up_along_the_way(exponent: int, saturation: int, ends: list[int]) -> None:
    one, two, three = (Rational(end, 99) for end in ends)
    whole = Duration(Integer(exponent), Integer(saturation), one, three)
    parts = Duration(Integer(exponent), Integer(saturation), one, two) + Duration(
        Integer(exponent), Integer(saturation), two, three
    )
    assert zero_at(whole, parts, {})


def test_an_empty_stretch_takes_no_time() -> None:
    assert Duration(a, b, x, x) == 0
    assert Duration(a, b, x0, x1).subs(x1, x0) == 0


def test_derivatives_are_the_integrand_at_the_ends() -> None:
    whole = Duration(a, b, x0, x1)
    assert vanishes(Tail(c, b, x).diff(x) - x ** (c - 1) / (1 - x**b))
    assert vanishes(whole.diff(x1) - x1**-a / (1 - x1**b))
    assert vanishes(whole.diff(x0) + x0**-a / (1 - x0**b))
    assert vanishes(Duration(a, b, u / ustar, x1).diff(ustar) - u / ustar**2 * (u / ustar) ** -a / (1 - (u / ustar) ** b))
    assert whole.diff(lam) == 0


@pytest.mark.parametrize(
    ("expression", "by"),
    [(Tail(c, b, x), c), (Tail(c, b, x), b), (Duration(a, b, x0, x1), a), (Duration(a, b, x0, x1), b)],
    ids=str,
)
def test_nothing_is_claimed_of_derivatives_by_the_exponents(expression: Expr, by: Symbol) -> None:
    with pytest.raises(UndecidedError):
        expression.diff(by)


@pytest.mark.parametrize("end", ["1/3", "9/10"])
@pytest.mark.parametrize(("power", "saturation"), [(1, 2), (3, 4), (2, 3)])
def test_the_derivative_is_what_small_steps_see(power: int, saturation: int, end: str) -> None:
    step = Rational(1, 2**60)
    tail = Tail(Integer(power), Integer(saturation), x)
    at = Rational(end)
    slope = enclosed((tail.subs(x, at + step) - tail.subs(x, at - step)) / (2 * step), {})
    assert abs(float(slope - enclosed(tail.diff(x), {x: at}))) < 1e-30


# --- small ends -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("exponent", "saturation"), [(1, 1), (2, 1), (3, 2), (2, 5), (6, 3)])
def test_what_is_said_of_a_small_start_is_the_leading_term(exponent: int, saturation: int) -> None:
    whole = Duration(Integer(exponent), Integer(saturation), x, Rational(1, 2))
    lead = whole.small(x, {})
    assert lead == (-log(x) if exponent == 1 else x ** (1 - exponent) / (exponent - 1))
    assert abs(float(enclosed(whole / lead, {x: Rational(1, 2**2000)})) - 1) < 1e-3


@pytest.mark.parametrize(("power", "saturation"), [(1, 1), (1, 3), (4, 2)])
def test_what_is_said_of_a_small_tail_is_the_leading_term(power: int, saturation: int) -> None:
    tail = Tail(Integer(power), Integer(saturation), x)
    assert tail.small(x, {}) == x**power / power
    assert abs(float(enclosed(tail / tail.small(x, {}), {x: Rational(1, 2**60)})) - 1) < 1e-15


def test_a_start_of_exponent_one_or_more_is_undecided_where_the_two_differ() -> None:
    with pytest.raises(UndecidedError):
        Duration(a, b, x, x1).small(x, {a: Integers(1)})
    assert Duration(a, b, x, x1).small(x, {a: Integers(2)}) == x ** (1 - a) / (a - 1)
    with pytest.raises(UndecidedError):
        Duration(a, b, x0, x).small(x, {a: Integers(2)})
    with pytest.raises(UndecidedError):
        Tail(x, b, x1).small(x, {})
    with pytest.raises(UndecidedError):
        Tail(c - 1, b, x).small(x, {})


@pytest.mark.parametrize("expression", [Tail(c, b, x), Duration(a, b, x0, x1), Tail(c, b, x) ** 2, Duration(a, b, x0, x1) ** 2])
def test_they_print_as_mathematics(expression: Expr) -> None:
    assert latex(expression).count("{") == latex(expression).count("}")
    assert r"\Phi_{" in latex(expression) or "T_{" in latex(expression)


# --- outside of what they are for -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("exponent", "saturation"), [("5/2", "1"), ("2", "1/2"), ("7/3", "4/3"), ("0", "1"), ("-3", "2")])
def test_the_duration_of_other_exponents_is_its_integral_or_no_number(exponent: str, saturation: str) -> None:
    try:
        ball = enclosed(Duration(Rational(exponent), Rational(saturation), x0, x1), {x0: Rational(1, 4), x1: Rational(1, 2)})
    except ArithmeticError:
        return
    with mpmath.workdps(55):
        assert_is(ball, quadrature(-Rational(exponent), Rational(saturation), Rational(1, 4), Rational(1, 2)))
