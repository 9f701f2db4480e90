"""Redundancy within one mode, and training without a penalty, against the projector's own equations."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from dynamics import ParameterError
from dynamics.multiview import Sharing, tilt, unpenalised_limit


def trained(strengths: np.ndarray, start: np.ndarray, beta: float, time: float) -> np.ndarray:
    """Outputs z of shape (outputs, modes): z' = -4 M z gamma, M = C - 1 off the diagonal times beta, C = z gamma z'."""

    def flow(_: float, state: np.ndarray) -> np.ndarray:
        z = state.reshape(start.shape)
        excess = (z * strengths) @ z.T - np.eye(len(z))
        pull = beta * excess + (1 - beta) * np.diag(np.diag(excess))
        return (-4.0 * pull @ z * strengths).ravel()

    found = solve_ivp(flow, (0.0, time), start.ravel(), method="DOP853", rtol=1e-11, atol=1e-14)
    return found.y[:, -1].reshape(start.shape)


STARTS = st.lists(st.floats(1e-6, 0.05), min_size=2, max_size=6, unique=True).map(np.array)


# --- one mode shared --------------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(start=STARTS, strength=st.floats(0.2, 3.0), beta=st.sampled_from([0.05, 0.7, 1.0, 1.3, 2.0]), time=st.floats(0.1, 2.0))
def test_variances_of_outputs_compete_as_the_projector_does(
    start: np.ndarray, strength: float, beta: float, time: float
) -> None:
    columns = np.sqrt(start / strength)[:, None]
    expected = strength * trained(np.array([strength]), columns, beta, time / strength)[:, 0] ** 2
    seen = Sharing(strength, beta).trajectory(start, [0.0, time / strength])
    assert_allclose(seen[0], start, rtol=1e-9)
    assert_allclose(seen[1], expected, rtol=1e-6)


def test_the_rate_is_that_of_competing_species() -> None:
    """8 gamma x_p (1 - x_p - beta times the others)."""
    x = np.array([0.1, 0.3, 0.2])
    expected = [8 * 1.5 * x[p] * (1 - x[p] - 0.4 * (x.sum() - x[p])) for p in range(3)]
    assert_allclose(Sharing(1.5, 0.4).rate(x), expected, rtol=1e-14)


@pytest.mark.parametrize("beta", [0.05, 0.6])
def test_below_one_outputs_end_alike(beta: float) -> None:
    start = np.array([0.02, 1e-4, 1e-3, 0.3])
    ended = Sharing(1.0, beta).trajectory(start, [400.0])[0]
    assert_allclose(ended, 1.0 / (1.0 + 3.0 * beta), rtol=1e-5)
    assert_allclose(Sharing(1.0, beta).end(start), 1.0 / (1.0 + 3.0 * beta), rtol=1e-12)


@settings(max_examples=15)
@given(start=STARTS)
def test_at_one_outputs_keep_their_ratios(start: np.ndarray) -> None:
    seen = Sharing(0.7, 1.0).trajectory(start, [0.3, 2.0, 50.0])
    for shares in seen:
        assert_allclose(shares / shares[0], start / start[0], rtol=1e-10)
    assert_allclose(seen[-1].sum(), 1.0, rtol=1e-10)
    assert_allclose(Sharing(0.7, 1.0).end(start), start / start.sum(), rtol=1e-14)


@settings(max_examples=15)
@given(start=STARTS, beta=st.floats(1.2, 3.0))
def test_above_one_the_strongest_takes_all(start: np.ndarray, beta: float) -> None:
    ended = Sharing(1.0, beta).end(start)
    assert_allclose(ended, np.where(start == start.max(), 1.0, 0.0))


def test_above_one_the_projector_itself_ends_with_one_output() -> None:
    start = np.array([0.010, 0.012, 0.011])
    z = trained(np.array([1.0]), np.sqrt(start)[:, None], 1.5, 60.0)
    assert_allclose(Sharing(1.0, 1.5).end(start), z[:, 0] ** 2, atol=1e-8)
    assert_allclose(Sharing(1.0, 1.5).trajectory(start, [60.0])[0], z[:, 0] ** 2, atol=1e-8)


def test_outputs_that_tie_above_one_stay_tied() -> None:
    ended = Sharing(1.0, 2.0).end([0.2, 0.2, 0.1])
    assert_allclose(ended, [1 / 3, 1 / 3, 0.0], rtol=1e-12)
    assert_allclose(Sharing(1.0, 2.0).rate(ended), 0.0, atol=1e-14)


@settings(max_examples=30)
@given(start=STARTS, beta=st.sampled_from([0.1, 1.0, 3.0]))
def test_the_end_does_not_move(start: np.ndarray, beta: float) -> None:
    sharing = Sharing(2.0, beta)
    assert_allclose(sharing.rate(sharing.end(start)), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("strength", "beta", "named"),
    [(0.0, 0.5, "strength"), (-1.0, 0.5, "strength"), (1.0, 0.0, "beta"), (1.0, math.nan, "beta")],
)
def test_a_mode_or_weight_that_is_not_positive_is_refused(strength: float, beta: float, named: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        Sharing(strength, beta)
    assert refusal.value.name == named


@pytest.mark.parametrize("start", [[0.1, 0.0], [0.1, -0.1], [0.1, math.inf], [[0.1]]], ids=str)
def test_a_start_without_variance_is_refused(start: list) -> None:
    with pytest.raises(ParameterError) as refusal:
        Sharing(1.0, 0.5).end(start)
    assert refusal.value.name == "start"


# --- no penalty -------------------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(
    strengths=st.lists(st.floats(-1.0, 2.0), min_size=1, max_size=4).map(lambda rest: np.array([1.0, *rest])),
    scale=st.floats(1e-3, 0.5),
    seed=st.integers(0, 1000),
)
def test_without_a_penalty_an_output_ends_where_its_flow_does(strengths: np.ndarray, scale: float, seed: int) -> None:
    start = scale * np.random.default_rng(seed).choice([-1.0, 1.0], len(strengths)) * np.linspace(1.0, 0.5, len(strengths))
    flow_end = trained(strengths, start[None, :], 0.0, 60.0)[0]
    found = unpenalised_limit(strengths, start)
    assert_allclose(found, flow_end, rtol=1e-6, atol=1e-9)
    assert (strengths * found**2).sum() == pytest.approx(1.0, rel=1e-12)


def test_a_negative_strength_shrinks_to_a_limit_that_is_not_zero() -> None:
    """z_i (z_1(end) / z_1(start))^(gamma_i / gamma_1)."""
    strengths, start = np.array([1.0, -0.3]), np.array([0.05, 0.4])
    end = unpenalised_limit(strengths, start)
    assert_allclose(end[1], start[1] * (end[0] / start[0]) ** -0.3, rtol=1e-12)
    assert 0.1 < end[1] < start[1]
    assert_allclose(end, trained(strengths, start[None, :], 0.0, 40.0)[0], rtol=1e-8)


@settings(max_examples=15)
@given(first=st.floats(0.3, 2.0), second=st.floats(-0.5, 2.0), time=st.floats(0.05, 3.0))
def test_all_modes_of_an_output_obey_one_power_law_on_the_way(first: float, second: float, time: float) -> None:
    start = np.array([[0.02, 0.03], [0.04, -0.01]])
    seen = trained(np.array([first, second]), start, 0.0, time)
    assert_allclose(np.log(seen[:, 1] / start[:, 1]) * first, np.log(seen[:, 0] / start[:, 0]) * second, atol=1e-8)


def test_outputs_without_a_penalty_do_not_see_each_other() -> None:
    strengths, start = np.array([1.0, 0.6, 0.3]), 0.1 * np.random.default_rng(0).standard_normal((4, 3))
    together = trained(strengths, start, 0.0, 60.0)
    assert_allclose(together, [unpenalised_limit(strengths, row) for row in start], atol=1e-7)


@pytest.mark.parametrize("strengths", [(1.0, 0.6), (0.5, 0.45), (2.0, 0.4)], ids=str)
def test_the_tilt_of_an_output_is_right_in_the_limit_of_a_small_start(strengths: tuple[float, float]) -> None:
    errors = []
    for scale in (1e-3, 1e-6, 1e-9):
        start = scale * np.array([1.0, 0.7])
        end = unpenalised_limit(strengths, start)
        errors.append(abs(tilt(strengths, start) / (end[1] / end[0]) - 1.0))
    assert errors[2] < errors[1] < errors[0] < 0.5


def test_equal_strengths_tilt_as_they_start() -> None:
    assert tilt([1.0, 1.0], [0.01, -0.02]) == pytest.approx(-2.0)
    assert unpenalised_limit([1.0, 1.0], [0.3, 0.4]) == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("start", [[0.0, 0.1], [0.1]], ids=str)
def test_an_output_without_anything_to_learn_is_refused(start: list[float]) -> None:
    with pytest.raises(ParameterError) as refusal:
        unpenalised_limit([1.0, -0.5], start)
    assert refusal.value.name == "start"
