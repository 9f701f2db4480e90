"""The expansion for a small start: its terms, its order of accuracy, and what section 4 reads off it."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Features, Objective, ParameterError, critical_times, jepa, mae, supervised
from dynamics.critical_time import expansion
from tests import reference
from tests.dynamics.test_critical_time import mae_limit

FEW = [jepa(1), jepa(2), jepa(3), jepa(2, 2), jepa(2, 3), jepa(3, 4), jepa(1, 3), mae(1), mae(2), mae(3), mae(2, 2), mae(5)]
MANY = [*FEW, jepa(10), jepa(64), jepa(20, 8), mae(64), mae(1, 8), supervised(7)]


def shape_of(objective: Objective) -> tuple[int, int, int]:
    """Section 3: the number of negative powers K, and (a, b)."""
    a, b = reference.exponents(objective)
    return math.ceil(Fraction(a - 1, b)), a, b


@pytest.mark.parametrize("objective", MANY, ids=str)
def test_terms_are_the_negative_powers_of_the_start(objective: Objective) -> None:
    features, epsilon = Features(lam=[1.3, 0.2], rho=[0.7, 2.0]), 1e-3
    count, a, b = shape_of(objective)
    found = expansion(objective, features, epsilon=epsilon, fraction=0.5)
    assert found.terms.shape == (2, count)
    with mpmath.workdps(40):
        for row, (lam, rho) in enumerate(zip(features.lam, features.rho, strict=True)):
            expected = [
                mpmath.mpf(epsilon) ** (-mpmath.mpf(a - 1 - k * b) / objective.depth)
                / (mpmath.mpf(lam) * (a - 1 - k * b) * mpmath.mpf(rho) ** k)
                for k in range(count)
            ]
            assert_allclose(found.terms[row], [float(term) for term in expected], rtol=1e-13)


@pytest.mark.parametrize("objective", MANY, ids=str)
def test_a_logarithm_appears_only_where_alpha_is_whole(objective: Objective) -> None:
    """|ln epsilon| / (L lam rho**alpha)."""
    _, a, b = shape_of(objective)
    found = expansion(objective, Features(lam=[1.3, 0.2], rho=[0.7, 2.0]), epsilon=1e-3).logarithm
    if (a - 1) % b:
        assert_array_equal(found, [0.0, 0.0])
    else:
        whole = (a - 1) // b
        expected = math.log(1e3) / objective.depth / (np.array([1.3, 0.2]) * np.array([0.7, 2.0]) ** whole)
        assert_allclose(found, expected, rtol=1e-13)


@pytest.mark.parametrize("objective", FEW, ids=str)
@pytest.mark.parametrize("fraction", [1e-3, 0.5, 1 - 1e-6])
def test_the_constant_is_what_is_left_of_the_exact_time(objective: Objective, fraction: float) -> None:
    """At epsilon = 1e-150, by quadrature with as many digits as that takes."""
    count, a, b = shape_of(objective)
    lam, rho, bits = 1.3, 0.7, 300 + 500 * (a - 1) // objective.depth
    found = expansion(objective, Features(lam=lam, rho=rho), epsilon=1e-2, fraction=fraction)
    with reference.precision(bits + 200):
        start = reference.arb(10) ** -150
        left = reference.critical_time(objective, lam=lam, rho=rho, epsilon=start, fraction=fraction, bits=bits)
        log_u = start.log() / objective.depth
        for k in range(count):
            left -= (-log_u * (a - 1 - k * b)).exp() / (reference.arb(lam) * (a - 1 - k * b) * reference.arb(rho) ** k)
        if (a - 1) % b == 0:
            left += log_u / (reference.arb(lam) * reference.arb(rho) ** ((a - 1) // b))
        expected = float(left)
    assert_allclose(found.constant, expected, rtol=1e-11)


@pytest.mark.parametrize("depth", [2, 3, 4, 5, 6, 8, 20])
def test_the_constant_of_mae_is_k_l_of_p(depth: int) -> None:
    rho = np.array([0.3, 0.9, 2.0])
    for fraction in (0.05, 0.5, 0.99):
        found = expansion(mae(depth), Features(lam=2.0, rho=rho), epsilon=1e-3, fraction=fraction).constant
        assert_allclose(found, rho ** (-(depth - 1) / (depth + 1)) * mae_limit(depth, fraction) / 2, rtol=1e-11)


@pytest.mark.parametrize(("depth", "turn"), [(2, 0.938), (3, 0.761), (4, 0.611), (5, 0.500), (6, 0.419), (8, 0.312)])
def test_the_constant_of_mae_changes_sign(depth: int, turn: float) -> None:
    below, above = (
        expansion(mae(depth), Features(lam=1.0, rho=0.8), epsilon=1e-3, fraction=p).constant[0]
        for p in (turn - 0.0006, turn + 0.0006)
    )
    assert below < 0 < above


@pytest.mark.parametrize("objective", MANY, ids=str)
def test_parts_add_up_and_only_the_constant_knows_the_fraction(objective: Objective) -> None:
    features = Features(lam=[1.3, 0.2], rho=[0.7, 2.0])
    early, late = (expansion(objective, features, epsilon=1e-3, fraction=p) for p in (0.2, 0.9))
    assert_array_equal(early.terms, late.terms)
    assert_array_equal(early.logarithm, late.logarithm)
    assert np.all(early.constant < late.constant)
    assert_allclose(early.total, early.terms.sum(axis=1) + early.logarithm + early.constant, rtol=1e-14)
    lower = expansion(objective, features, epsilon=1e-4, fraction=0.2)
    assert_array_equal(lower.constant, early.constant)


@pytest.mark.parametrize("objective", FEW, ids=str)
def test_the_error_of_the_total_vanishes_at_the_next_power(objective: Objective) -> None:
    """total - t is u*(1-a) x0**c / (lam c) with c the next exponent; a wrong coefficient anywhere would show."""
    count, a, b = shape_of(objective)
    lam, rho, c = 1.3, 0.7, (count * b - (a - 1)) or b
    checked = 0
    for z0 in (0.03, 0.003):
        epsilon = (z0 * rho) ** (objective.depth / b)
        exact = reference.critical_time(objective, lam=lam, rho=rho, epsilon=epsilon, fraction=0.9)
        predicted = rho ** (-(a - 1) / b) / lam * z0 ** (c / b) / c
        if predicted < 1e-11 * float(exact):
            continue
        total = expansion(objective, Features(lam=lam, rho=rho), epsilon=epsilon, fraction=0.9).total[0]
        with reference.precision():
            error = float(reference.arb(float(total)) - exact)
        assert_allclose(error, predicted, rtol=2 * z0 + 1e-14 * float(exact) / predicted)
        checked += 1
    assert checked > 0


@pytest.mark.parametrize("objective", MANY, ids=str)
def test_the_dominant_term_is_blind_to_rho(objective: Objective) -> None:
    found = expansion(objective, Features(lam=[0.4, 0.4, 0.4], rho=[0.1, 1.0, 7.0]), epsilon=1e-5)
    assert_array_equal(found.dominant, found.dominant[[0, 0, 0]])
    if objective.a > 1:
        assert_array_equal(found.dominant, found.terms[:, 0])
    else:
        assert_array_equal(found.dominant, found.logarithm)
        assert_allclose(found.dominant, math.log(1e5) / 0.4, rtol=1e-14)


@pytest.mark.parametrize("objective", FEW, ids=str)
def test_the_dominant_term_is_all_there_is_in_the_limit(objective: Objective) -> None:
    """The start at which it is worth 30 decades, and the one at which it is worth 150."""
    features, growth = Features(lam=[0.4, 0.4], rho=[0.5, 2.0]), max((objective.a - 1) / objective.depth, 1.0)
    near, far = (
        critical_times(objective, features, epsilon=epsilon).time / expansion(objective, features, epsilon=epsilon).dominant - 1
        for epsilon in (10 ** (-30 / growth), 10 ** (-150 / growth))
    )
    assert np.all(np.abs(far) <= np.maximum(0.6 * np.abs(near), 1e-12))
    assert np.all(np.abs(far) < 5e-3)


@pytest.mark.parametrize("depth", [2, 3, 5, 10])
def test_the_first_jepa_term_that_knows_rho_is_the_second_and_n_equal_one_is_the_smallest(depth: int) -> None:
    terms = expansion(jepa(depth), Features(lam=1.0, rho=[0.9, 0.6]), epsilon=1e-30).terms
    assert terms[0, 0] == terms[1, 0]
    assert np.all(terms[1, 1:] > terms[0, 1:])
    assert np.all(np.diff(terms, axis=1) < 0)
    assert_allclose(terms[:, 1], 1 / ((2 * depth - 2) * np.array([0.9, 0.6])) * 1e30 ** ((2 * depth - 2) / depth), rtol=1e-13)


def test_one_layer_jepa_is_a_pole_and_a_logarithm() -> None:
    """1 / (lam epsilon) + |ln epsilon| / (lam rho) + C."""
    found = expansion(jepa(1), Features(lam=2.0, rho=0.6), epsilon=1e-4)
    assert_allclose(found.terms, [[1e4 / 2.0]], rtol=1e-14)
    assert_allclose(found.logarithm, [math.log(1e4) / (2.0 * 0.6)], rtol=1e-14)


# --- equal lambda -------------------------------------------------------------------------------------------------------------


def relative_delay(objective: Objective, slow: float, fast: float, epsilon: float, fraction: float = 0.5) -> float:
    """t(rho = slow) / t(rho = fast) - 1 at lambda = 1, by quadrature."""
    first, second = (
        reference.critical_time(objective, lam=1.0, rho=rho, epsilon=epsilon, fraction=fraction, bits=900)
        for rho in (slow, fast)
    )
    with reference.precision(1000):
        return float(first / second - 1)


@pytest.mark.parametrize("predictor_depth", [1, 2, 3, 5])
@pytest.mark.parametrize("depth", [2, 3, 5, 9])
def test_at_equal_lambda_jepa_delays_low_rho_at_order_epsilon_to_the_m_over_l(depth: int, predictor_depth: int) -> None:
    low, high, order = 0.5, 0.8, predictor_depth / depth
    coefficient = (2 * depth + predictor_depth - 2) / (2 * depth - 2) * (1 / low - 1 / high)
    epsilon = 10 ** (-4 * depth / min(predictor_depth, 2 * depth - 2))  # the next power is 1e-4 of this one
    found = relative_delay(jepa(depth, predictor_depth), low, high, epsilon)
    assert_allclose(found, coefficient * epsilon**order, rtol=3e-3)
    times = critical_times(jepa(depth, predictor_depth), Features(lam=1.0, rho=[low, high]), epsilon=epsilon).time
    assert_allclose(times[0] / times[1] - 1, found, rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize("depth", [2, 3, 5, 8])
@pytest.mark.parametrize("fraction", [0.2, 0.97])
def test_at_equal_lambda_mae_orders_by_the_sign_of_k_l_at_a_falling_order(depth: int, fraction: float) -> None:
    low, high, power = 0.5, 0.8, (depth - 1) / (depth + 1)
    coefficient = (depth - 1) * mae_limit(depth, fraction) * (low**-power - high**-power)
    found = relative_delay(mae(depth), low, high, 1e-100, fraction)
    assert_allclose(found, coefficient * 1e-100 ** ((depth - 1) / depth), rtol=1e-8)


def test_at_equal_lambda_one_layer_delays_low_rho_by_a_logarithm() -> None:
    low, high, epsilon = 0.5, 0.8, 1e-100
    size = -math.log(epsilon)
    assert_allclose(relative_delay(jepa(1), low, high, epsilon), (1 / low - 1 / high) * epsilon * size, rtol=4 / size)
    assert_allclose(relative_delay(mae(1), low, high, epsilon), -math.log(high / low) / (2 * size), rtol=4 / size)


def test_depth_strengthens_the_bias_of_jepa_and_weakens_that_of_mae() -> None:
    epsilon, low, high = 1e-12, 0.5, 0.8
    latent = [relative_delay(jepa(depth), low, high, epsilon) for depth in (1, 2, 3, 4, 6)]
    pixels = [abs(relative_delay(mae(depth), low, high, epsilon)) for depth in (1, 2, 3, 4)]
    assert latent == sorted(latent)
    assert pixels == sorted(pixels, reverse=True)


def test_a_deeper_predictor_weakens_the_bias_of_jepa() -> None:
    delays = [relative_delay(jepa(4, predictor_depth), 0.5, 0.8, 1e-8) for predictor_depth in range(1, 9)]
    assert delays == sorted(delays, reverse=True)
    assert delays[-1] > 0


# --- parameters ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.0, -1.0])
def test_a_feature_that_is_never_learned_has_no_expansion(lam: float) -> None:
    with pytest.raises(ParameterError, match="lam"):
        expansion(jepa(2), Features(lam=[1.0, lam], sigma=1.0), epsilon=1e-3)


@pytest.mark.parametrize(("name", "bad"), [("epsilon", 0.0), ("epsilon", math.nan), ("fraction", 1.0), ("fraction", -0.5)])
def test_parameters_are_those_of_critical_times(name: str, bad: float) -> None:
    with pytest.raises(ParameterError, match=f"^{name} is "):
        expansion(mae(2), Features(lam=1.0, rho=1.0), **{"epsilon": 1e-3, name: bad})
