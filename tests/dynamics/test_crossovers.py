"""The starts at which two features trade places, against signs of the difference of their times by quadrature."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dynamics import Features, LindynError, Objective, ParameterError, jepa, mae, supervised
from dynamics.learning_order import crossovers
from tests import reference
from tests.strategies import fractions, objectives

A, B = Features(lam=0.8, rho=1.2), Features(lam=1.0, rho=0.6)


def first_by_quadrature(objective: Objective, one: Features, other: Features, epsilon: float, fraction: float) -> int:
    """-1 where ``one`` is learned first, 1 where ``other`` is, at a start below both thresholds."""
    for bits in (230, 900, 3500):
        times = [
            reference.critical_time(
                objective, lam=feature.lam[0], rho=feature.rho[0], epsilon=epsilon, fraction=fraction, bits=bits
            )
            for feature in (one, other)
        ]
        if times[0] < times[1]:
            return -1
        if times[0] > times[1]:
            return 1
    raise AssertionError("a tie to 1000 digits")


def highest_start(objective: Objective, one: Features, other: Features, fraction: float) -> float:
    return fraction * float(min(one.rho[0], other.rho[0])) ** (objective.depth / objective.b)


def assert_each_is_a_sign_change(
    objective: Objective, one: Features, other: Features, fraction: float, found: np.ndarray
) -> None:
    """A few doubles to either side of a crossover the order is certified to differ."""
    assert np.all(np.diff(found) > 0)
    assert np.all((found > 0) & (found < highest_start(objective, one, other, fraction)))
    for epsilon in found:
        before, after = float(epsilon) * (1 - 2.0**-50), float(epsilon) * (1 + 2.0**-50)
        signs = [first_by_quadrature(objective, one, other, start, fraction) for start in (before, after)]
        assert signs[0] != signs[1]


# --- the example of section 4 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "window"), [(3, (-2.41500, -1.20214)), (4, (-3.10264, -1.33706)), (8, (-5.84537, -2.13353))])
def test_a_window_opens_at_depth_three(depth: int, window: tuple[float, float]) -> None:
    found = crossovers(jepa(depth), A, B)
    assert_allclose(np.log10(found), window, atol=5e-6)
    assert_each_is_a_sign_change(jepa(depth), A, B, 0.5, found)
    inside, outside = math.sqrt(found[0] * found[1]), found[0] / 10
    assert first_by_quadrature(jepa(depth), A, B, inside, 0.5) == -1
    assert first_by_quadrature(jepa(depth), A, B, outside, 0.5) == 1


@pytest.mark.parametrize("depth", [1, 2])
def test_shallow_encoders_have_no_window(depth: int) -> None:
    assert crossovers(jepa(depth), A, B).shape == (0,)


def test_the_window_widens_with_depth() -> None:
    widths = [np.ptp(np.log10(crossovers(jepa(depth), A, B))) for depth in range(3, 17)]
    assert np.all(np.diff(widths) > 0)


def test_per_layer_the_lower_edge_tends_to_the_ratio_of_the_differences() -> None:
    """(lam_A - lam_B) / (sigma_A**2 - sigma_B**2) = 0.2 in epsilon**(1/L)."""
    edges = np.array([crossovers(jepa(depth), A, B)[0] ** (1 / depth) for depth in (8, 16, 32, 64)])
    gaps = 0.2 - edges
    assert np.all(gaps > 0)
    assert np.all(np.diff(gaps) < 0)
    assert_allclose(gaps[-1] / gaps[-2], 0.5, atol=0.1)


@pytest.mark.parametrize("depth", [1, 2, 3, 5, 9])
def test_reconstruction_keeps_to_lambda_in_the_example(depth: int) -> None:
    assert len(crossovers(mae(depth), A, B)) == 0


# --- how many there are -----------------------------------------------------------------------------------------------------


def expected_count(objective: Objective, one: Features, other: Features, fraction: float) -> int | None:
    """The difference of the times turns at most once, where g = (lam_A - lam_B) - (sigma_A**2 - sigma_B**2) epsilon**(b/L)
    changes sign: signs at 1e-300, there, and at the lower threshold (where the lower asymptote wins) tell all.

    ``None`` where the lower threshold leaves no room above 1e-300.
    """
    highest = highest_start(objective, one, other, fraction)
    if highest < 1e-299:
        return None
    signs = [first_by_quadrature(objective, one, other, 1e-300, fraction)]
    numerator, denominator = one.lam[0] - other.lam[0], one.sigma[0] ** 2 - other.sigma[0] ** 2
    if numerator * denominator > 0:
        log_turn = objective.depth / objective.b * math.log(numerator / denominator)
        if math.log(1e-300) < log_turn < math.log(highest) - 1e-9:
            turn = math.exp(log_turn)
            signs.append(first_by_quadrature(objective, one, other, turn, fraction))
    signs.append(-1 if one.rho[0] < other.rho[0] else 1)
    return int(np.count_nonzero(np.diff(signs)))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Features, Features]:
    """Two features whose lambdas differ by up to a factor 3, their rhos by up to 10, so that both orders occur."""
    rho = 10 ** draw(st.floats(-1, 0.5))
    other = rho * 10 ** (draw(st.sampled_from([-1, 1])) * draw(st.floats(0.02, 1)))
    lam = 10 ** draw(st.floats(-3, 3))
    factor = 10 ** draw(st.floats(-0.5, 0.5))
    return Features(lam=lam, rho=rho), Features(lam=lam * factor, rho=other)


@given(objectives(max_depth=24), pairs(), fractions())
def test_crossovers_are_as_many_as_the_signs_say_and_exactly_there(
    objective: Objective, pair: tuple[Features, Features], fraction: float
) -> None:
    one, other = pair
    assume(one.lam[0] != other.lam[0])
    count = expected_count(objective, one, other, fraction)
    assume(count is not None)
    found = crossovers(objective, one, other, fraction=fraction)
    assert len(found) == count
    assert_each_is_a_sign_change(objective, one, other, fraction, found)


@settings(max_examples=40)
@given(objectives(max_depth=24), pairs(), st.integers(-20, 20))
def test_crossovers_depend_neither_on_the_order_of_the_pair_nor_on_the_unit_of_lambda(
    objective: Objective, pair: tuple[Features, Features], power: int
) -> None:
    one, other = pair
    found = crossovers(objective, one, other)
    assert_allclose(crossovers(objective, other, one), found, rtol=1e-15)
    scaled = [Features(lam=feature.lam * 2.0**power, rho=feature.rho) for feature in pair]
    assert_allclose(crossovers(objective, *scaled), found, rtol=1e-15)


@pytest.mark.parametrize("predictor_depth", [1, 2, 5])
@pytest.mark.parametrize("depth", [1, 2, 5, 12])
@pytest.mark.parametrize("fraction", [0.3, 0.5, 0.99])
def test_at_equal_lambda_jepa_features_trade_places_exactly_once(depth: int, predictor_depth: int, fraction: float) -> None:
    """Higher rho is first for small starts, the lower asymptote at the lower threshold, and the difference is monotone."""
    objective = jepa(depth, predictor_depth)
    high, low = Features(lam=2.0, rho=0.9), Features(lam=2.0, rho=0.5)
    found = crossovers(objective, high, low, fraction=fraction)
    assert len(found) == 1
    assert_each_is_a_sign_change(objective, high, low, fraction, found)
    assert first_by_quadrature(objective, high, low, found[0] / 1.01, fraction) == -1


@pytest.mark.parametrize(("depth", "turn"), [(2, 0.938), (3, 0.761), (4, 0.611), (5, 0.500), (6, 0.419), (8, 0.312)])
def test_at_equal_lambda_mae_features_trade_places_only_above_the_fraction_where_k_l_turns(depth: int, turn: float) -> None:
    high, low = Features(lam=2.0, rho=0.9), Features(lam=2.0, rho=0.5)
    assert len(crossovers(mae(depth), high, low, fraction=turn - 0.0006)) == 0
    found = crossovers(mae(depth), high, low, fraction=turn + 0.02)
    assert len(found) == 1
    assert_each_is_a_sign_change(mae(depth), high, low, turn + 0.02, found)


def test_at_equal_lambda_one_layer_mae_features_never_trade_places() -> None:
    """t_A - t_B = ln((rho_A - e**2) / (rho_B - e**2)) / (2 lam) has the sign of rho_A - rho_B."""
    for fraction in (0.01, 0.5, 0.999):
        assert len(crossovers(mae(1), Features(lam=2.0, rho=0.9), Features(lam=2.0, rho=0.5), fraction=fraction)) == 0
        assert len(crossovers(supervised(2), Features(lam=2.0, rho=0.9), Features(lam=2.0, rho=0.5), fraction=fraction)) == 0


@pytest.mark.parametrize("objective", [jepa(1), jepa(3), jepa(4, 2), mae(1), mae(3)], ids=str)
def test_at_equal_rho_the_larger_lambda_is_always_first(objective: Objective) -> None:
    for fraction in (0.01, 0.5, 0.999):
        assert len(crossovers(objective, Features(lam=1.0, rho=0.7), Features(lam=1.001, rho=0.7), fraction=fraction)) == 0


@pytest.mark.parametrize("objective", [jepa(1), jepa(3), jepa(4, 2), mae(1), mae(3)], ids=str)
def test_more_lambda_and_more_rho_still_lose_to_a_lower_threshold_at_high_starts(objective: Objective) -> None:
    """An odd number of sign changes, at most two: one."""
    strong, weak = Features(lam=1.5, rho=1.1), Features(lam=1.0, rho=0.6)
    found = crossovers(objective, strong, weak, fraction=0.5)
    assert len(found) == 1
    assert_each_is_a_sign_change(objective, strong, weak, 0.5, found)
    assert first_by_quadrature(objective, strong, weak, found[0] / 2, 0.5) == -1


@given(objectives(max_depth=24), pairs(), fractions())
def test_there_are_at_most_two(objective: Objective, pair: tuple[Features, Features], fraction: float) -> None:
    found = crossovers(objective, *pair, fraction=fraction)
    assert found.ndim == 1
    assert len(found) <= 2
    assert np.all(np.diff(found) > 0)


# --- parameters ---------------------------------------------------------------------------------------------------------------


def test_each_side_is_one_feature() -> None:
    two = Features(lam=[1.0, 2.0], rho=0.5)
    for pair in ((two, A), (A, two)):
        with pytest.raises(LindynError):
            crossovers(jepa(2), *pair)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5, math.nan])
def test_the_fraction_is_that_of_critical_times(fraction: float) -> None:
    with pytest.raises(ParameterError, match=r"^fraction is "):
        crossovers(jepa(2), A, B, fraction=fraction)
