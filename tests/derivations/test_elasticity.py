"""The elasticities are the derivatives of the derived critical time, as symbols and as differences of its values."""

from collections.abc import Mapping

import pytest
from sympy import Expr, Integer, Rational, S, Symbol

from derivations.balls import enclosed, precision
from derivations.closed_form import critical_time
from derivations.elasticity import BRACKET, BY_EPSILON, BY_FRACTION, BY_LAMBDA, BY_RHO, DURATION
from derivations.gradient_flow import Member
from derivations.notation import L, a, b, epsilon, lam, p, rho, ustar, x0, x1
from derivations.reduction import vanishes

TIME = critical_time(Member(lam, a, b, rho))
BY = {lam: BY_LAMBDA, rho: BY_RHO, epsilon: BY_EPSILON, p: BY_FRACTION}
AMPLITUDES = {x0: epsilon ** (1 / L) / rho ** (1 / b), x1: p ** (1 / L)}
POINTS = [
    {
        L: Integer(depth),
        a: Integer(exponent),
        b: Integer(saturation),
        lam: Rational(2, 3),
        rho: capacity,
        epsilon: start,
        p: share,
    }
    for depth, exponent, saturation in ((1, 1, 2), (1, 2, 1), (2, 4, 1), (3, 3, 4), (2, 5, 2), (4, 7, 3))
    for capacity, start, share in (
        (Rational(6, 7), Rational(1, 1000), Rational(1, 2)),
        (Rational(5, 4), Rational(1, 20), Rational(9, 10)),
        (Rational(3, 4), Rational(1, 10**9), Rational(1, 50)),
    )
]


def moved(point: Mapping[Symbol, Expr], parameter: Symbol, by: Rational) -> dict[Symbol, Expr]:
    return {**point, parameter: point[parameter] * by}


@pytest.mark.parametrize("parameter", BY, ids=str)
def test_each_is_what_a_small_change_of_its_parameter_does_to_the_time(parameter: Symbol) -> None:
    step = Rational(1, 2**40)
    for point in POINTS:
        with precision(512):
            up, down, here = (enclosed(TIME, moved(point, parameter, 1 + turn * step)) for turn in (1, -1, 0))
            slope = (up - down) / (here * 2 * step.p) * int(step.q)
        found = enclosed(BY[parameter].subs(AMPLITUDES), point)
        assert float(slope) == pytest.approx(float(found), rel=1e-12, abs=1e-16), point


@pytest.mark.parametrize(("parameter", "weight"), [(lam, S.One), (ustar, 1 / b), (epsilon, S.One), (p, S.One)], ids=str)
def test_each_is_the_derivative_by_its_parameter(parameter: Symbol, weight: Expr) -> None:
    time = critical_time(Member(lam, a, b, ustar**b))
    to_amplitudes = {epsilon: (x0 * ustar) ** L, p: x1**L}
    claimed = BY[rho if parameter == ustar else parameter]
    left = (parameter * time.diff(parameter) * weight).subs(to_amplitudes)
    right = claimed * time.subs(to_amplitudes)
    assert vanishes(left - right)
    assert not vanishes(left + right)


def test_a_common_scale_of_the_layers_ties_rho_to_epsilon() -> None:
    """u -> c u multiplies rho by c^b, epsilon by c^L and the time by c^(1-a)."""
    assert vanishes(b * BY_RHO + L * BY_EPSILON - (1 - a))


def test_the_bracket_has_the_sign_of_the_elasticity_by_rho() -> None:
    assert vanishes(BY_RHO * b * (1 - x0**b) * DURATION - BRACKET)
    for point in POINTS:
        elasticity, bracket = (enclosed(part.subs(AMPLITUDES), point) for part in (BY_RHO, BRACKET))
        assert (elasticity > 0) == (bracket > 0)


def test_later_starts_save_time_and_higher_thresholds_cost_it() -> None:
    assert BY_LAMBDA == -1
    for point in POINTS:
        assert enclosed(BY_EPSILON.subs(AMPLITUDES), point) < 0
        assert enclosed(BY_FRACTION.subs(AMPLITUDES), point) > 0


def test_the_bracket_is_positive_on_the_threshold_and_negative_far_below_it_if_a_exceeds_b() -> None:
    for exponent, saturation in ((2, 1), (4, 1), (5, 2), (7, 3)):
        powers = {a: Integer(exponent), b: Integer(saturation), x1: Rational(7, 10)}
        assert enclosed(BRACKET.subs(x0, x1), powers) > 0
        assert enclosed(BRACKET, {**powers, x0: Rational(1, 10**6)}) < 0
