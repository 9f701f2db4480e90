"""Mode equations as sums of powers, and where they stand still."""

import time
from fractions import Fraction
from itertools import pairwise

import mpmath as mp
import pytest
from flint import arb, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Rational, S, root, sqrt

from derivations.balls import precision
from derivations.expression import LossError
from derivations.fixed_points import fixed_points, positive_zeros
from derivations.notation import L, M, lam, rho, sigma, u
from derivations.partial_fractions import antiderivative, is_antiderivative
from derivations.rates import by_signs, polynomial
from dynamics.errors import LindynError
from tests.derivations.rates import DECAY, JEPA, MAE, at, number, rate_of, terms_of


@pytest.mark.parametrize("loss", [JEPA, MAE])
def test_weight_decay_subtracts_eta_u(loss):
    plain, decayed = terms_of(loss), terms_of(f"{loss} + 0.02{DECAY}")
    assert decayed == plain | {S.One: Rational(-1, 50)}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (u * (u - 1) * (2 - u), [(S(1), 1, "unstable"), (S(2), 1, "stable")]),
        (u**2 * (1 - u) ** 2 * (u - 3), [(S(1), 2, "half-stable"), (S(3), 1, "unstable")]),
        ((1 - u) ** 3, [(S(1), 3, "stable")]),
        (u**5 * (2 - u**3), [(root(S(2), 3), 1, "stable")]),
        (u * (4 - u**4), [(sqrt(2), 1, "stable")]),
        (u**3 * (u**2 - 3 * u + 1), [((3 - sqrt(5)) / 2, 1, "stable"), ((3 + sqrt(5)) / 2, 1, "unstable")]),
        (-u * (u**4 - 5 * u**2 + 5), [(sqrt((5 - sqrt(5)) / 2), 1, "unstable"), (sqrt((5 + sqrt(5)) / 2), 1, "stable")]),
        (u**-2 * (3 - u) * (u**2 + 1), [(S(3), 1, "stable")]),
        ((u - 1) * (u - Rational(10**12 + 1, 10**12)), [(S(1), 1, "stable"), (Rational(10**12 + 1, 10**12), 1, "unstable")]),
    ],
)
def test_fixed_points_solved_by_hand(expression, expected):
    found = fixed_points(rate_of(expression))
    assert [(point.multiplicity, point.stability) for point in found] == [entry[1:] for entry in expected]
    for point, (value, *_) in zip(found, expected, strict=True):
        assert (point.exact - value).equals(0)
        assert abs(number(point.ball()) - mp.mpf(str(value.evalf(40)))) < mp.mpf(10) ** -35
        assert point.ball().contains(arb(str(value.evalf(60)))) or point.ball().rad() < 1e-60


def test_a_root_without_closed_form_is_isolated():
    (point,) = fixed_points(rate_of(3 - u - u**5))
    assert point.exact is None
    with precision(400):
        below, above = (point.ball(300) + turn * arb(10) ** -80 for turn in (-1, 1))
        assert 3 - below - below**5 > 0 > 3 - above - above**5


zeros = st.lists(st.tuples(st.fractions(Fraction(1, 50), 20, max_denominator=50), st.integers(1, 3)), min_size=1, max_size=4)


@settings(max_examples=60)
@given(zeros, st.integers(0, 4), st.sampled_from([1, -1]))
def test_fixed_points_are_the_zeros_a_product_is_made_of(zeros, power, turn):
    chosen = {Rational(z.numerator, z.denominator): multiplicity for z, multiplicity in zeros}
    product = turn * u**power * (u + 1)
    for zero, multiplicity in chosen.items():
        product *= (u - zero) ** multiplicity
    found = fixed_points(rate_of(product.expand()))
    assert {point.exact: point.multiplicity for point in found} == chosen
    ends = [S.Zero, *(point.exact for point in found), found[-1].exact + 2]
    signs = [product.subs(u, (one + other) / 2) > 0 for one, other in pairwise(ends)]
    words = {(True, False): "stable", (False, True): "unstable", (True, True): "half-stable", (False, False): "half-stable"}
    assert [point.stability for point in found] == [words[pair] for pair in pairwise(signs)]


@pytest.mark.parametrize(
    ("depth", "predictor_depth", "loss"), [(1, 1, JEPA), (2, 1, JEPA), (3, 2, JEPA), (2, 1, MAE), (3, 2, MAE)]
)
def test_weight_decay_folds_where_theory_says(depth, predictor_depth, loss):
    """lambda u^(a-1) (1 - u^b/rho) peaks at u^b = rho (a-1)/(a-1+b): above that value no fixed point is left."""
    a, b = (
        (2 * depth + predictor_depth - 1, predictor_depth)
        if loss is JEPA
        else (depth + predictor_depth - 1, depth + predictor_depth)
    )
    growth, capacity = Rational(4, 5), Rational(7, 10)
    top = capacity * Rational(a - 1, a - 1 + b)
    fold = growth * top ** Rational(a - 1, b) * Rational(b, a - 1 + b)
    plain = terms_of(loss)
    for eta, count in ((fold.evalf(30) * (1 - Rational(1, 10**9)), 2), (fold.evalf(30) * (1 + Rational(1, 10**9)), 0)):
        rate = polynomial(plain | {S.One: -Rational(str(eta))}, at(depth, predictor_depth, lam=growth, rho=capacity))
        found = positive_zeros(rate)
        assert [point.stability for point in found] == ["unstable", "stable"][:count]
        if not found:
            with pytest.raises(LossError, match=r"no positive fixed point.*outweighs"):
                fixed_points(rate)


def test_at_the_fold_itself_the_two_meet():
    rate = polynomial(terms_of(JEPA) | {S.One: Rational(-1, 4)}, at(1, lam=S(1), rho=S(1)))
    (point,) = fixed_points(rate)
    assert (point.exact, point.multiplicity, point.stability) == (Rational(1, 2), 2, "half-stable")


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        (u**3 + 2 * u, "every term of du/dt = u^3 + 2 u is positive for u > 0."),
        (-lam * u**3 - u / 100, "every term of du/dt = -λ u^3 - u/100 is negative for u > 0."),
        (-u, "the one term of du/dt = -u is negative for u > 0."),
        (u**3 - u**2 + u, "of du/dt = u^3 - u^2 + u, the part u^3 + u outweighs -u^2 for every u > 0."),
    ],
)
def test_no_positive_fixed_point_names_the_terms(expression, told):
    with pytest.raises(LossError) as refused:
        fixed_points(rate_of(expression))
    assert told in str(refused.value)
    assert str(refused.value).startswith("The loss has no positive fixed point: ")


def test_signs_decide_what_they_can():
    mixture = polynomial(terms_of(f"{JEPA} + {MAE}"), at(3))
    assert (by_signs(mixture).count, by_signs(mixture).stable) == (1, True)
    unstable = rate_of(lam * u**3 - u)
    assert (by_signs(unstable).count, by_signs(unstable).stable) == (1, False)
    assert by_signs(rate_of(lam * u + u**2)).count == 0
    decayed = by_signs(polynomial(terms_of(f"{JEPA} + 0.1{DECAY}"), at(2)))
    assert decayed.count is None
    assert "depends on the numbers" in decayed.sentence
    assert by_signs(rate_of((lam - rho) * u - u**2)).count is None


def test_symbols_have_no_isolated_fixed_points():
    with pytest.raises(LossError, match="need numbers"):
        fixed_points(rate_of(lam * u**3 - u))


@pytest.mark.parametrize(
    ("terms", "point", "told"),
    [
        ({L + 1: lam}, {}, "whose exponent L + 1 is no number; give the depths"),
        ({S.One: sqrt(-2)}, {}, "whose coefficient sqrt(2) I is no real number"),
        ({L: lam, M: -lam}, {L: S(2), M: S(2)}, "du/dt = 0"),
        ({}, {}, "du/dt = 0"),
    ],
)
def test_what_is_no_sum_of_powers_is_refused(terms, point, told):
    with pytest.raises(LossError) as refused:
        polynomial(terms, point)
    assert told in str(refused.value)


def test_sigma_is_a_number_where_lambda_over_rho_is_a_square():
    assert polynomial({S.One: sigma}, {lam: S(1), rho: S(4)}).expression == u / 2


def test_odd_powers_of_sigma_leave_no_root():
    """(lambda/rho)**(3/2) = sigma**3, next to lambda = rho sigma**2."""
    rate = polynomial({S(4): -((lam / rho) ** Rational(3, 2)), S(2): sigma, S(1): lam})
    assert rate.expression.expand() == -(sigma**3) * u**4 + sigma * u**2 + rho * sigma**2 * u
    assert is_antiderivative(antiderivative(rate), 1 / rate.expression)


def test_a_degree_beyond_reach_is_refused():
    with pytest.raises(LindynError, match="3 terms and degree 200000, too large"):
        positive_zeros(polynomial(terms_of(f"{JEPA} + 0.1{DECAY}"), at(100_000, lam=S(1), rho=S(1))))


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ({Rational(1, 2): S.One, S.One: -S.One}, [(S.One, "stable")]),
        ({Rational(1, 2): S(2), Rational(7, 6): -S.One}, [(2 ** Rational(3, 2), "stable")]),
        ({Rational(-1, 3): S(-6), Rational(1, 6): S(5), Rational(2, 3): -S.One}, [(S(4), "unstable"), (S(9), "stable")]),
    ],
)
def test_exponents_may_be_fractions(terms, expected):
    found = fixed_points(polynomial(terms))
    assert [(point.exact, point.stability) for point in found] == expected
    for point in found:
        assert abs(number(point.ball()) - mp.mpf(str(point.exact.evalf(40)))) < mp.mpf(10) ** -35
        below, above = (mp.mpf(str(point.exact.evalf(40))) * (1 + turn * mp.mpf(10) ** -9) for turn in (-1, 1))
        rate = [sum(float(c) * at ** mp.mpf(float(e)) for e, c in terms.items()) for at in (below, above)]
        assert (rate[0] > 0 > rate[1]) == (point.stability == "stable")


def test_irrational_coefficients_are_enclosed():
    """du/dt = sqrt(2) u - 3 u^2 + u^3: u = (3 -+ sqrt(9 - 4 sqrt(2))) / 2."""
    found = fixed_points(rate_of(sqrt(2) * u - 3 * u**2 + u**3))
    assert [(point.exact, point.stability) for point in found] == [(None, "stable"), (None, "unstable")]
    with mp.workdps(60):
        for point, turn in zip(found, (-1, 1), strict=True):
            value = (3 + turn * mp.sqrt(9 - 4 * mp.sqrt(2))) / 2
            assert abs(number(point.ball()) - value) < mp.mpf(10) ** -50
            assert point.ball().rad() < arb(10) ** -70


def test_a_common_irrational_factor_changes_nothing():
    (point,) = fixed_points(rate_of((sqrt(3) * u * (u - 2) ** 2).expand()))
    assert (point.exact, point.multiplicity, point.stability) == (2, 2, "half-stable")


def test_an_irrational_start_is_compared_exactly_with_an_irrational_zero():
    """du/dt = -u (u - sqrt(2)) (u + sqrt(3))."""
    (point,) = fixed_points(rate_of((-u * (u - sqrt(2)) * (u + sqrt(3))).expand()))
    assert point.against(fmpq(2), 2) == 0
    assert point.against(fmpq(8), 6) == 0
    assert point.against(fmpq(2 * 10**30 + 1, 10**30), 2) == -1
    assert point.against(fmpq(2 * 10**30 - 1, 10**30), 2) == 1


def test_irrational_double_zeros_are_refused_with_a_way_out():
    with pytest.raises(LindynError, match="such as a lambda/rho that is a square"):
        fixed_points(rate_of((u * (u - sqrt(2)) ** 2).expand()))


def test_terms_of_undecided_sign_say_what_is_certain():
    one = by_signs(rate_of((lam - lam / rho) * u))
    assert "There is no positive fixed point" in one.sentence
    two = by_signs(rate_of((lam - rho) * u - u**3))
    assert "have opposite signs, there is exactly one positive fixed point" in two.sentence


@pytest.mark.parametrize("expression", [(1 + u) ** 140 - 500 * u, u**397 - 3 * u**200 + u**2 / 9], ids=["dense", "sparse"])
@pytest.mark.slow
@pytest.mark.timed
def test_the_largest_polynomials_are_isolated_in_seconds(expression):
    rate = rate_of(expression.expand())
    began = time.perf_counter()
    assert positive_zeros(rate)
    assert time.perf_counter() - began < 4.0


def test_too_many_terms_are_refused():
    with pytest.raises(LindynError, match="201 terms and degree 200, too large"):
        positive_zeros(rate_of(((1 + u) ** 200).expand()))
