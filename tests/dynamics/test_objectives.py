"""Exponents and asymptotes of section 2, and what a depth may be."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dynamics import Features, Objective, ParameterError, amplitude, critical_times, jepa, mae, supervised
from tests.strategies import objectives


@given(st.integers(1, 64), st.integers(1, 8))
def test_exponents_follow_from_depth_and_predictor_depth(depth: int, predictor_depth: int) -> None:
    latent, pixels = jepa(depth, predictor_depth), mae(depth, predictor_depth)
    assert (latent.a, latent.b) == (2 * depth + predictor_depth - 1, predictor_depth)
    assert (pixels.a, pixels.b) == (depth + predictor_depth - 1, depth + predictor_depth)
    assert latent.alpha == Fraction(2 * depth + predictor_depth - 2, predictor_depth)
    assert pixels.alpha == Fraction(depth + predictor_depth - 2, depth + predictor_depth)


def test_alpha_is_the_one_exponent_of_the_logistic_clock() -> None:
    """It is at least 1 for latent prediction and below 1 for reconstruction, whatever the depths."""
    for depth in (1, 2, 64):
        for predictor_depth in (1, 3, 8):
            assert jepa(depth, predictor_depth).alpha >= 1
            assert 0 <= mae(depth, predictor_depth).alpha < 1
    assert mae(1).alpha == 0


def test_one_predictor_layer_is_the_default() -> None:
    assert jepa(3) == jepa(3, 1) == jepa(depth=3, predictor_depth=1)
    assert mae(3) == mae(3, 1)
    assert jepa(3) != mae(3)
    assert {jepa(3), jepa(3, 1), mae(3)} == {jepa(3), mae(3)}


def test_objectives_are_named_as_in_tables() -> None:
    assert [objective.name for objective in (jepa(2), mae(2), supervised(2))] == ["jepa", "mae", "supervised"]
    assert (jepa(4, 3).depth, jepa(4, 3).predictor_depth) == (4, 3)


@given(st.integers(2, 64))
def test_a_supervised_network_decodes_with_its_last_layer(total: int) -> None:
    network = supervised(total)
    assert network.depth + network.predictor_depth == total
    assert (network.a, network.b) == (total - 1, total)
    assert (network.depth, network.predictor_depth) == (total - 1, 1)


@pytest.mark.parametrize("bad", [0, -1, 1.5, math.nan, math.inf, True, False, "2", None, [2]], ids=repr)
def test_a_depth_is_a_whole_number_of_layers(bad: object) -> None:
    for make, name in (
        (jepa, "depth"),
        (mae, "depth"),
        (supervised, "depth"),
        (lambda value: jepa(2, value), "predictor_depth"),
        (lambda value: mae(2, value), "predictor_depth"),
    ):
        with pytest.raises(ParameterError, match=rf"^{name} is .*; it must be a whole number from [12] to 100000\.$"):
            make(bad)  # type: ignore[arg-type]


def test_a_supervised_network_has_two_layers_at_least() -> None:
    with pytest.raises(ParameterError, match=r"^depth is 1; it must be a whole number from 2 to 100000\.$"):
        supervised(1)


@pytest.mark.parametrize("whole", [np.int64(3), np.int32(3), np.uint8(3)], ids=repr)
def test_whole_numbers_of_numpy_are_whole_numbers(whole: int) -> None:
    assert jepa(whole) == jepa(3)
    assert mae(2, whole) == mae(2, 3)


@given(objectives(), st.floats(1e-3, 10))
def test_the_asymptote_is_where_the_flow_stops(objective: Objective, rho: float) -> None:
    """Section 2: rho**(L/M) for latent prediction, rho**(L/(L+M)) for reconstruction."""
    depth, predictor_depth = objective.depth, objective.predictor_depth
    share = predictor_depth if objective.name == "jepa" else depth + predictor_depth
    result = critical_times(objective, Features(lam=1.0, rho=rho), epsilon=1e-3)
    assert_allclose(np.log(result.asymptote), depth / share * math.log(rho), rtol=1e-14, atol=1e-14)
    assert_allclose(result.asymptote ** (objective.b / depth), rho, rtol=1e-13)


@pytest.mark.parametrize(
    ("objective", "asymptote"),
    [
        (jepa(1), 0.6),
        (jepa(3), 0.216),
        (jepa(2, 2), 0.6),
        (mae(1), math.sqrt(0.6)),
        (mae(3), 0.6**0.75),
        (mae(1, 3), 0.6**0.25),
    ],
    ids=str,
)
def test_a_curve_left_to_itself_ends_at_the_asymptote(objective: Objective, asymptote: float) -> None:
    """From below and from above; a regression on y without stop-gradient would end at the MAE value instead."""
    for epsilon in (1e-2, 0.99):
        assert_allclose(
            amplitude(objective, Features(lam=1.0, rho=0.6), epsilon=epsilon, time=1e9)[0, 0], asymptote, rtol=1e-12
        )
