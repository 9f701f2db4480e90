"""The expansion for a small start: its terms are the exact time's, and what it leaves out vanishes."""

from itertools import pairwise

import pytest
from flint import arb
from sympy import Add, Expr, Integer, Rational, S, expand, log

from derivations.balls import enclosed, precision
from derivations.closed_form import critical_time, written_out_time
from derivations.expansion import (
    constant_beside_logarithm,
    constant_of_tail,
    dominant_term,
    end_term,
    expansion,
    logarithm,
    order,
    singular_term,
)
from derivations.gradient_flow import Member, mode
from derivations.notation import L, M, a, b, epsilon, lam, n, p, rho
from derivations.reduction import vanishes

POINT = {lam: Rational(2, 3), rho: Rational(6, 7), p: Rational(3, 8), L: Integer(2)}
EXPONENTS = [(exponent, saturation) for exponent in range(1, 9) for saturation in range(1, 5)]


def member(exponent: int, saturation: int) -> Member:
    return Member(lam, Integer(exponent), Integer(saturation), rho)


def value(expression: Expr, start: Rational) -> arb:
    return enclosed(expression, {**POINT, epsilon: start})


def left_out(exponent: int, saturation: int, first: Expr) -> Expr:
    """The coefficient of the first power left out: that of a geometric series, integrated."""
    steps = (exponent - 1 - first) / Integer(saturation)
    return 1 / (first * lam * rho**steps)


@pytest.mark.parametrize(("exponent", "saturation"), EXPONENTS)
def test_what_is_left_out_vanishes_with_the_start_at_its_own_order(exponent: int, saturation: int) -> None:
    """The first power left out is the (K+1)-th: its sign and size are known, but for a relative error of order u^b."""
    whole, terms = critical_time(member(exponent, saturation)), Add(*expansion(member(exponent, saturation)))
    count = -(-(exponent - 1) // saturation)
    first = order(member(exponent, saturation), Integer(count + 1 if exponent - 1 < count * saturation else count + 2))
    assert first < 0
    for start in (Rational(1, 10**12), Rational(1, 10**16)):
        with precision(512):
            left = float((value(whole, start) - value(terms, start)) * value(epsilon ** (first / L), start))
        assert left == pytest.approx(float(value(left_out(exponent, saturation, first), start)), rel=1e-4)


@pytest.mark.parametrize(("exponent", "saturation"), EXPONENTS)
def test_the_singular_terms_are_those_of_the_exact_time(exponent: int, saturation: int) -> None:
    count = -(-(exponent - 1) // saturation)
    exact, small = written_out_time(member(exponent, saturation)), expansion(member(exponent, saturation))
    assert exact[:count] == small[:count]
    assert set(exact[count : 2 * count]) <= set(small)


@pytest.mark.parametrize(("exponent", "saturation"), EXPONENTS)
def test_the_orders_fall_by_b_and_the_singular_ones_are_all_there(exponent: int, saturation: int) -> None:
    found = member(exponent, saturation)
    count = -(-(exponent - 1) // saturation)
    orders = [order(found, Integer(k)) for k in range(1, count + 2)]
    assert all(one - other == saturation for one, other in pairwise(orders))
    assert all(power > 0 for power in orders[:count])
    assert orders[count] <= 0
    starts = [term for term in expansion(found) if term.has(epsilon)]
    assert len(starts) == count + ((exponent - 1) % saturation == 0)


def test_only_the_first_term_is_blind_to_rho() -> None:
    general = Member(lam, a, b, rho)
    assert vanishes(singular_term(general, S.One).diff(rho))
    assert not vanishes(singular_term(general, S(2)).diff(rho))
    assert vanishes(singular_term(general, n).diff(rho) * rho + (n - 1) * singular_term(general, n))
    assert singular_term(general, S.One) == dominant_term(general)


def test_without_a_power_the_logarithm_dominates() -> None:
    flat = Member(lam, S.One, b, rho)
    assert dominant_term(flat) == logarithm(flat) == -log(epsilon) / (lam * L)


def test_the_logarithm_comes_as_the_theory_writes_it() -> None:
    member = mode("jepa")
    assert vanishes((logarithm(member) + log(epsilon) / (L * lam * rho ** (2 * L - 1))).subs(M, 1))
    assert vanishes(logarithm(mode("mae")).subs({L: 1, M: 1}) + log(epsilon) / lam)


def test_jepas_terms_come_as_the_theory_writes_them() -> None:
    member = mode("jepa")
    last_first = singular_term(member, n).subs(M, 1)
    theory = epsilon ** (-n / L) / (n * lam * rho ** (2 * L - 1 - n))
    assert vanishes(last_first - theory.subs(n, 2 * L - n))


@pytest.mark.parametrize(("name", "exponent"), [("jepa", 2 * L + M - 2), ("mae", L + M - 2)])
def test_the_leading_orders_of_the_objectives(name: str, exponent: Expr) -> None:
    assert expand(order(mode(name), S.One) - exponent) == 0
    assert vanishes(dominant_term(mode(name)) - epsilon ** (-exponent / L) / (exponent * lam))


@pytest.mark.parametrize(("exponent", "saturation"), EXPONENTS)
def test_the_constant_knows_the_end_alone(exponent: int, saturation: int) -> None:
    found = member(exponent, saturation)
    count = -(-(exponent - 1) // saturation)
    excess = count * saturation - (exponent - 1)
    rest = constant_of_tail(found, Integer(excess)) if excess else constant_beside_logarithm(found)
    parts = [rest, *(end_term(found, Integer(k)) for k in range(1, count + 1))]
    assert not any(part.has(epsilon) for part in parts)
    assert all(part.has(p) for part in parts)
    slope = rest.diff(p) - sum((part.diff(p) for part in parts[1:]), S.Zero)
    assert vanishes(slope - critical_time(found).diff(p))
