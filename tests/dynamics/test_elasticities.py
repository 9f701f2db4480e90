"""What a critical time depends on: exact elasticities against numerical differentiation of the quadrature."""

import math

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Features, LindynError, Objective, ParameterError, critical_times, jepa, mae
from dynamics.critical_time import elasticities
from tests import reference
from tests.dynamics.test_critical_time import mae_limit
from tests.strategies import Point, growing_points, random_points


def assert_matches_differentiation(point: Point) -> None:
    found = elasticities(point.objective, point.features, epsilon=point.epsilon, fraction=point.fraction)
    values = {"lam": point.lam, "rho": point.rho, "epsilon": point.epsilon, "fraction": point.fraction}
    for name, value in values.items():
        expected = reference.log_derivative(
            lambda moved, name=name: reference.critical_time(point.objective, **{**values, name: moved}), value
        )
        # 1e-40: what 60 digits of time leave of a difference quotient
        assert_allclose(getattr(found, name)[0], expected, rtol=1e-9, atol=1e-40, err_msg=f"{name} {point}")


def test_elasticities_are_the_derivatives_of_the_time() -> None:
    for point in random_points(seed=6, count=80):
        assert_matches_differentiation(point)


@pytest.mark.exhaustive
def test_elasticities_are_the_derivatives_of_the_time_at_2000_points() -> None:
    for point in random_points(seed=7, count=2000):
        assert_matches_differentiation(point)


@given(growing_points())
def test_time_is_exactly_inverse_in_lambda(point: Point) -> None:
    found = elasticities(point.objective, point.features, epsilon=point.epsilon, fraction=point.fraction)
    assert_array_equal(found.lam, [-1.0])


@given(growing_points())
def test_a_common_scale_of_the_layers_ties_rho_to_epsilon(point: Point) -> None:
    """u -> c u multiplies rho by c**b, epsilon by c**L and the time by c**(1-a)."""
    a, b = reference.exponents(point.objective)
    found = elasticities(point.objective, point.features, epsilon=point.epsilon, fraction=point.fraction)
    assert_allclose(b * found.rho + point.objective.depth * found.epsilon, 1 - a, rtol=1e-12, atol=1e-12)


@given(growing_points())
def test_a_lower_start_and_a_higher_fraction_take_longer(point: Point) -> None:
    found = elasticities(point.objective, point.features, epsilon=point.epsilon, fraction=point.fraction)
    assert found.epsilon[0] < 0
    assert found.fraction[0] >= 0
    assert all(np.isfinite(getattr(found, name)).all() for name in ("rho", "epsilon", "fraction"))


@pytest.mark.parametrize("rho", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("epsilon", [1e-2, 1e-8, 1e-100])
def test_mae_with_one_layer_each_in_closed_form(rho: float, epsilon: float) -> None:
    """t = ln(p**2 (rho - e**2) / (e**2 (1 - p**2))) / (2 lam)."""
    p = 0.8
    log = math.log(p**2 / (1 - p**2)) + math.log(rho - epsilon**2) - 2 * math.log(epsilon)
    found = elasticities(mae(1), Features(lam=3.0, rho=rho), epsilon=epsilon, fraction=p)
    assert_allclose(found.rho, rho / (rho - epsilon**2) / log, rtol=1e-12)
    assert_allclose(found.epsilon, -2 * rho / (rho - epsilon**2) / log, rtol=1e-12)
    assert_allclose(found.fraction, 2 / (1 - p**2) / log, rtol=1e-12)


@pytest.mark.parametrize("predictor_depth", [1, 2, 5, 8])
@pytest.mark.parametrize("depth", [1, 2, 3, 6, 20])
def test_jepa_learns_higher_rho_first_at_equal_lambda_for_a_small_start(depth: int, predictor_depth: int) -> None:
    objective = jepa(depth, predictor_depth)
    features = Features(lam=1.0, rho=[0.3, 0.9, 3.0])
    smallest = 1e-6 * float(critical_times(objective, features, epsilon=0.1).asymptote.min())
    for epsilon in (1e-280 ** min(1, depth / predictor_depth), min(1e-30, smallest)):
        assert np.all(elasticities(objective, features, epsilon=epsilon).rho < 0)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_jepa_learns_lower_rho_first_close_to_the_threshold(depth: int) -> None:
    """The sign turns where the bracket of the elasticity has its root."""
    asymptote = 0.9**depth
    assert elasticities(jepa(depth), Features(lam=1.0, rho=0.9), epsilon=0.49 * asymptote).rho[0] > 0


@pytest.mark.parametrize("depth", [2, 3, 4, 5, 6, 8])
def test_rho_helps_mae_only_above_a_fraction(depth: int) -> None:
    """The sign of K_L(p), and the size of its effect, as epsilon -> 0."""
    rho, epsilon, power = 0.7, 1e-200, (depth - 1) / (depth + 1)
    for fraction in (0.1, 0.25, 0.6, 0.95):
        found = elasticities(mae(depth), Features(lam=2.0, rho=rho), epsilon=epsilon, fraction=fraction).rho[0]
        change = -power * rho**-power * mae_limit(depth, fraction)
        assert_allclose(found, change * (depth - 1) * epsilon ** ((depth - 1) / depth), rtol=1e-8)


@pytest.mark.parametrize("objective", [jepa(2), jepa(3, 2), mae(2), mae(4)], ids=str)
def test_rho_enters_at_relative_order_epsilon_to_the_b_over_l(objective: Objective) -> None:
    """Section 4: one exponent, b = M for latent prediction against the bounded, saturation-born effect of reconstruction."""
    small, smaller = (
        abs(elasticities(objective, Features(lam=1.0, rho=0.8), epsilon=epsilon).rho[0]) for epsilon in (1e-60, 1e-80)
    )
    order = min(objective.b, objective.a - 1) / objective.depth
    assert_allclose(math.log10(small / smaller) / 20, order, rtol=1e-6)


def test_features_that_do_not_become_learned_have_no_elasticity() -> None:
    for status, lam, sigma in (("already-reached", 1.0, 5.0), ("never", 0.0, 1.0), ("never", -1.0, 1.0)):
        features = Features(lam=[1.0, lam], sigma=[1.0, sigma])
        with pytest.raises(LindynError, match=f"Feature 2 has no critical time after the start: {status}"):
            elasticities(jepa(3), features, epsilon=1e-3)


def test_each_feature_has_its_own_elasticities() -> None:
    features = Features(lam=[1.0, 2.0, 0.5], rho=[0.9, 0.4, 1.3])
    together = elasticities(jepa(2, 3), features, epsilon=1e-4, fraction=0.3)
    for index in range(3):
        alone = elasticities(jepa(2, 3), features[index : index + 1], epsilon=1e-4, fraction=0.3)
        for name in ("lam", "rho", "epsilon", "fraction"):
            assert_array_equal(getattr(alone, name), getattr(together, name)[index : index + 1])


@pytest.mark.parametrize(("name", "bad"), [("epsilon", 0.0), ("epsilon", math.nan), ("fraction", 1.0), ("fraction", -0.5)])
def test_parameters_are_those_of_critical_times(name: str, bad: float) -> None:
    with pytest.raises(ParameterError, match=f"^{name} is "):
        elasticities(mae(2), Features(lam=1.0, rho=1.0), **{"epsilon": 1e-3, name: bad})
