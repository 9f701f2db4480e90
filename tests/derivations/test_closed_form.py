"""Time in closed form: what is proved by differentiation, and what SymPy's own integration gets wrong."""

from collections.abc import Callable

import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st
from sympy import Add, Expr, Integer, Integral, Rational, S, atan, integrate, log, oo, sqrt, symbols

from derivations.balls import enclosed
from derivations.closed_form import (
    antiderivative,
    critical_time,
    duration,
    general_antiderivative,
    head,
    layer_fixed_point,
    logarithmic_tail,
    written_out,
    written_out_time,
)
from derivations.gradient_flow import Member, mode
from derivations.integrals import Duration, Tail
from derivations.notation import K, L, M, a, b, epsilon, lam, n, p, rho, u, ustar, x, x0, x1
from derivations.partial_fractions import is_antiderivative
from derivations.proof import zero_at
from derivations.reduction import vanishes

SYMPY = tuple(int(part) for part in sympy.__version__.split(".")[:2])
DROPPED = {
    2: -rho * (1 / (lam * rho * u) + log(-(rho ** Rational(1, 3)) + u) / (3 * lam * rho ** Rational(4, 3))),
    4: -rho * (1 / (3 * lam * rho * u**3) + log(-(rho ** Rational(1, 5)) + u) / (5 * lam * rho ** Rational(8, 5))),
    5: -rho * (1 / (4 * lam * rho * u**4) + log(-(rho ** Rational(1, 3)) + u**2) / (6 * lam * rho ** Rational(5, 3))),
}
"""What SymPy 1.14 answers for the pace of MAE, one decoder layer: the logarithms of the complex roots are missing."""


def pace(depth: int) -> Expr:
    """dt/du of MAE with one decoder layer."""
    return 1 / (lam * u**depth * (1 - u ** (depth + 1) / rho))


def test_the_pace_is_that_of_the_derived_mode() -> None:
    for depth in range(1, 6):
        assert vanishes(1 / mode("mae").rate.subs({L: depth, M: 1}) - pace(depth))


# --- SymPy's antiderivatives ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", DROPPED)
def test_an_antiderivative_without_the_complex_roots_is_rejected(depth: int) -> None:
    assert not is_antiderivative(DROPPED[depth], pace(depth), u)


@pytest.mark.skipif(SYMPY != (1, 14), reason="Another SymPy may answer otherwise.")
@pytest.mark.parametrize("depth", DROPPED)
def test_that_is_what_sympy_answers(depth: int) -> None:
    answer = integrate(pace(depth), u)
    assert not is_antiderivative(answer, pace(depth), u)
    assert vanishes((answer - DROPPED[depth]).diff(u))


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_whatever_sympy_answers_is_accepted_only_if_it_is_right(depth: int) -> None:
    answer = integrate(pace(depth), u)
    point = {lam: Rational(2, 3), rho: Rational(5, 4), u: Rational(1, 3)}
    off = abs(float(enclosed(answer.diff(u) / pace(depth) - 1, point)))
    assert is_antiderivative(answer, pace(depth), u) == (off < 1e-30)


def test_the_dropped_logarithms_are_worth_a_per_cent_of_a_time() -> None:
    ends = [{lam: S.One, rho: S.One, u: at} for at in (Rational(1, 10), Rational(9, 10))]
    real = DROPPED[2].subs(log(u - rho ** Rational(1, 3)), log(rho ** Rational(1, 3) - u))
    answered = enclosed(real, ends[1]) - enclosed(real, ends[0])
    truth = enclosed(Integral(pace(2), (u, Rational(1, 10), Rational(9, 10))), ends[0])
    assert 0.005 < abs(float(answered / truth) - 1) < 0.05


def _two_layers(arc: Expr, by_quadratic: int | Expr = 6, by_pole: int = 3) -> Expr:
    y = u / ustar
    return (-1 / y - log(1 - y) / by_pole + log(1 + y + y**2) / by_quadratic + arc * atan((2 * y + 1) / sqrt(3))) / (
        lam * ustar
    )


def test_the_antiderivative_with_all_its_roots_is_accepted() -> None:
    assert is_antiderivative(_two_layers(-1 / sqrt(S(3))), pace(2).subs(rho, ustar**3), u)


@pytest.mark.parametrize(
    "candidate",
    [
        _two_layers(S.Zero),
        _two_layers(1 / sqrt(S(3))),
        _two_layers(-1 / sqrt(S(3)), by_quadratic=3),
        _two_layers(-1 / sqrt(S(3)), by_quadratic=oo),
        _two_layers(-1 / sqrt(S(3)), by_pole=1),
        _two_layers(-1 / sqrt(S(3))) + u * Rational(1, 10**50),
        2 * _two_layers(-1 / sqrt(S(3))),
        -1 / (lam * u),
    ],
    ids=str,
)
def test_variants_of_it_are_rejected(candidate: Expr) -> None:
    assert not is_antiderivative(candidate, pace(2).subs(rho, ustar**3), u)


def test_a_constant_does_not_matter() -> None:
    assert is_antiderivative(_two_layers(-1 / sqrt(S(3))) + log(rho) + 17, pace(2).subs(rho, ustar**3), u)


# --- ours -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("saturation", range(1, 7))
@pytest.mark.parametrize("exponent", range(1, 13))
def test_the_closed_form_is_proved_for_whole_exponents(exponent: int, saturation: int) -> None:
    integrand = x**-exponent / (1 - x**saturation)
    closed = antiderivative(exponent, saturation)
    assert is_antiderivative(closed, integrand, x)
    for other in (closed + log(x), closed + 1 / x, -closed, closed.subs(x, x**2)):
        assert not is_antiderivative(other, integrand, x)


@pytest.mark.parametrize(("exponent", "saturation"), [(2, 1), (4, 1), (3, 2), (4, 3), (7, 2), (6, 6)])
def test_neighbouring_exponents_have_another_closed_form(exponent: int, saturation: int) -> None:
    integrand = x**-exponent / (1 - x**saturation)
    for change in ((1, 0), (-1, 0), (0, 1)):
        assert not is_antiderivative(antiderivative(exponent + change[0], saturation + change[1]), integrand, x)


@given(st.integers(1, 10), st.integers(1, 5))
def test_a_duration_is_the_difference_of_the_closed_form_at_its_ends(exponent: int, saturation: int) -> None:
    closed = duration(exponent, saturation)
    assert closed == antiderivative(exponent, saturation, x1) - antiderivative(exponent, saturation, x0)
    assert vanishes(closed.subs(x1, x0))
    assert vanishes(closed.diff(x1) - Duration(exponent, saturation, x0, x1).diff(x1))
    assert vanishes(closed.diff(x0) - Duration(exponent, saturation, x0, x1).diff(x0))


@pytest.mark.parametrize(("exponent", "saturation"), [(2, 1), (7, 3), (9, 2), (5, 4), (12, 5)])
def test_head_and_tail_are_what_the_closed_form_is_made_of(exponent: int, saturation: int) -> None:
    count = -(-(exponent - 1) // saturation)
    excess = count * saturation - (exponent - 1)
    tail = Tail(Integer(excess), Integer(saturation), x) if excess else logarithmic_tail(Integer(saturation), x)
    whole = head(Integer(exponent), Integer(saturation), Integer(count), x).doit() + tail
    assert vanishes(whole - antiderivative(exponent, saturation))


@pytest.mark.parametrize(
    ("exponent", "saturation", "cases"),
    [
        (2 * L, S.One, [""]),
        (M + 1, M, [""]),
        (L, L + 1, ["a other than 1", "a = 1"]),
        (2 * L + M - 1, M, ["c = K b - (a-1) > 0, K = ceil((a-1)/b)", "c = 0"]),
    ],
)
def test_antiderivatives_for_any_depth_say_when_they_hold(exponent: Expr, saturation: Expr, cases: list[str]) -> None:
    assert [condition for condition, _ in general_antiderivative(exponent, saturation)] == cases


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("predictor_depth", [1, 2, 3])
def test_antiderivatives_for_any_depth_are_those_of_each_depth(depth: int, predictor_depth: int) -> None:
    layers = {L: depth, M: predictor_depth}
    c = symbols("c", integer=True, positive=True)
    for name in ("jepa", "mae"):
        member = mode(name)
        exponent, saturation = (int(power.subs(layers)) for power in (member.a, member.b))
        count = -(-(exponent - 1) // saturation)
        excess = count * saturation - (exponent - 1)
        by_condition = {
            "": True,
            "a other than 1": exponent > 1,
            "a = 1": exponent == 1,
            "c = K b - (a-1) > 0, K = ceil((a-1)/b)": excess > 0,
            "c = 0": excess == 0,
        }
        formula = next(formula for condition, formula in general_antiderivative(member.a, member.b) if by_condition[condition])
        found = formula.subs({K: count, c: excess}).subs(layers).doit()
        assert is_antiderivative(found, x**-exponent / (1 - x**saturation), x)


# --- the critical time ----------------------------------------------------------------------------------------------------

OBJECTIVES = [("jepa", 1, 1), ("jepa", 2, 1), ("jepa", 3, 2), ("jepa", 2, 4), ("mae", 1, 1), ("mae", 2, 1), ("mae", 4, 2)]


def member_of(name: str, depth: int, predictor_depth: int) -> Member:
    found = mode(name)
    return Member(found.growth, *(power.subs({L: depth, M: predictor_depth}) for power in (found.a, found.b)), found.capacity)


@pytest.mark.parametrize("name", ["jepa", "mae", "supervised"])
def test_the_critical_time_loses_what_passes_at_the_start_and_is_zero_at_the_threshold(name: str) -> None:
    member = mode(name)
    star = layer_fixed_point(member)
    at_layers = critical_time(Member(member.growth, member.a, member.b, ustar**member.b)).subs({epsilon: u**L, p: x1**L})
    assert vanishes(at_layers.diff(u) + 1 / member.rate.subs(rho, ustar**member.b))
    assert vanishes(at_layers.subs(u, x1 * ustar))
    assert vanishes(star**member.b - rho)


@pytest.mark.parametrize(("name", "depth", "predictor_depth"), OBJECTIVES)
def test_the_time_written_out_is_the_critical_time(name: str, depth: int, predictor_depth: int) -> None:
    member = member_of(name, depth, predictor_depth)
    short, terms = critical_time(member), written_out_time(member)
    point = {L: Integer(depth), lam: Rational(2, 3), rho: Rational(6, 7), epsilon: Rational(1, 200), p: Rational(3, 8)}
    whole = written_out(short)
    assert not whole.has(Duration)
    assert zero_at(short, Add(*terms), point)
    assert zero_at(short, whole, point)
    in_layers = {rho: ustar**member.b, epsilon: u**L, p: x1**L}
    assert vanishes((whole - Add(*terms)).subs(in_layers).subs(L, depth))


def test_what_is_not_written_out_is_left() -> None:
    assert written_out(Duration(a, b, x0, x1)) == Duration(a, b, x0, x1)
    assert written_out(n * Duration(2, 1, x0, x1)) == n * duration(2, 1)


CLOSED: dict[str, tuple[Member, Callable[[], Expr]]] = {
    "one layer each under MAE": (
        member_of("mae", 1, 1),
        lambda: log(p**2 * (rho - epsilon**2) / (epsilon**2 * (1 - p**2))) / (2 * lam),
    ),
    "one layer each under JEPA": (
        member_of("jepa", 1, 1),
        lambda: (1 / epsilon - 1 / (p * rho) + (log(p * rho / epsilon) - log((1 - p) / (1 - epsilon / rho))) / rho) / lam,
    ),
}


@pytest.mark.parametrize(("member", "closed"), CLOSED.values(), ids=CLOSED)
def test_textbook_times_come_out(member: Member, closed: Callable[[], Expr]) -> None:
    for start, share in ((Rational(1, 100), Rational(1, 2)), (Rational(1, 10**6), Rational(99, 100))):
        point = {L: S.One, lam: Rational(2, 3), rho: Rational(6, 7), epsilon: start, p: share}
        assert zero_at(critical_time(member), closed(), point)
