"""Runs as rows: what share of pairs kept the order of theory, and the numbers of a run."""

from itertools import combinations
from math import inf, isnan, log, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Features, GradientDescent, jepa, mae, simulate
from dynamics.multiview import Setup, loss_of, simulate_modes
from dynamics.objectives import Objective
from dynamics.reports.runs import mode_run, network_run, pairs_in_order, steps_columns

TIMES = st.lists(st.tuples(st.sampled_from([1.0, 2.0, 3.0, inf, nan]), st.sampled_from([1.0, 2.0, 3.0, inf])), max_size=6)


@given(TIMES, st.sampled_from([0.5, 1.0, 2.5, inf]))
def test_pairs_are_counted_one_by_one(times: list[tuple[float, float]], end: float) -> None:
    counted = kept = 0
    for (first, one), (second, other) in combinations(times, 2):
        if isnan(first) or isnan(second) or first == second or min(first, second) > end:
            continue
        counted += 1
        kept += one < other if first < second else other < one
    predicted, simulated = (np.array(column, dtype=np.float64) for column in zip(*times, strict=True)) if times else ([], [])
    found = pairs_in_order(np.asarray(predicted), np.asarray(simulated), end)
    assert isnan(found) if counted == 0 else found == kept / counted


def test_a_feature_that_is_never_learned_comes_last_and_two_of_them_kept_no_order() -> None:
    predicted = np.array([1.0, 2.0, 3.0])
    assert pairs_in_order(predicted, np.array([1.0, 2.0, inf])) == 1.0
    assert_allclose(pairs_in_order(predicted, np.array([inf, 1.0, 2.0])), 1.0 / 3.0)
    assert_allclose(pairs_in_order(predicted, np.array([1.0, inf, inf])), 2.0 / 3.0)
    assert pairs_in_order(predicted, np.array([inf, inf, 2.0])) == 0.0
    assert pairs_in_order(predicted, np.array([inf, inf, inf])) == 0.0


def test_pairs_that_theory_learns_after_the_end_do_not_count() -> None:
    predicted = np.array([1.0, 2.0, 3.0])
    assert pairs_in_order(predicted, np.array([1.0, inf, inf]), end=1.5) == 1.0
    assert isnan(pairs_in_order(predicted, np.array([inf, inf, inf]), end=0.5))


def test_an_aligned_run_is_a_row_in_the_order_of_theory() -> None:
    features = Features(lam=[1.0, 0.8, 0.6], rho=[0.6, 1.2, 0.9], names=["a", "b", "c"])
    run = simulate(jepa(depth=2), features, epsilon=0.05)
    row = {name: column[0] for name, column in network_run(run).columns.items()}
    assert (row["features"], row["predicted"], row["learned"]) == (3, 3, 3)
    assert (row["pairs_in_order"], row["order_correlation"]) == (1.0, 1.0)
    expected = features.labels()[int(np.argmin(run.experiment.predicted.time))]
    assert (row["first_feature"], row["predicted_first"]) == (expected, expected)
    assert_allclose(row["median_ratio"], 1.0, rtol=1e-6)
    assert row["outcome"] == "completed"
    assert row["end_time"] == run.curves.time[-1]


def test_features_that_start_above_their_thresholds_say_nothing_of_the_order() -> None:
    """The weak one has asymptote 0.01 at depth 2, and starts above half of it."""
    features = Features(lam=[1.0, 0.8, 0.3], rho=[0.6, 1.2, 0.1], names=["a", "b", "weak"])
    run = simulate(jepa(depth=2), features, epsilon=0.01)
    row = {name: column[0] for name, column in network_run(run).columns.items()}
    both = {
        name: column[0] for name, column in network_run(simulate(jepa(depth=2), features[:2], epsilon=0.01)).columns.items()
    }
    assert (row["already_reached"], both["already_reached"]) == (1, 0)
    assert (row["learned"], row["predicted"]) == (both["learned"] + 1, both["predicted"] + 1)
    for name in ("first_feature", "predicted_first", "pairs_in_order", "order_correlation"):
        assert row[name] == both[name], name


def test_a_run_that_ends_before_anything_is_learned_has_empty_cells() -> None:
    run = simulate(jepa(depth=2), Features(lam=[1.0, 0.8], rho=[0.6, 1.2]), epsilon=0.01, until=1.0)
    row = {name: column[0] for name, column in network_run(run).columns.items()}
    assert (row["predicted"], row["learned"]) == (0, 0)
    for name in ("pairs_in_order", "order_correlation", "first_feature", "median_ratio"):
        assert row[name] is None


def test_times_of_a_row_are_in_the_convention_asked_for() -> None:
    run = simulate(mae(depth=3), Features(lam=[1.0], rho=[0.6]), epsilon=0.05, until=6.0)
    training, paper = (network_run(run, time=time).columns for time in ("training", "paper"))
    assert paper["time_convention"][0] == "paper"
    assert training["end_time"][0] == 6.0
    assert paper["end_time"][0] == 18.0


def test_a_run_of_modes_is_a_row() -> None:
    features = Features(lam=[1.0, 0.8, 0.5], rho=[0.9, 0.8, 0.5])
    run = simulate_modes(loss_of("barlow-twins"), features, setup=Setup(width=8, beta=1.0), epsilon=1e-3, start="orthogonal")
    row = {name: column[0] for name, column in mode_run(run).columns.items()}
    assert (row["features"], row["predicted"], row["learned"], row["pairs_in_order"]) == (3, 3, 3, 1.0)
    assert_allclose(row["median_ratio"], 1.0, rtol=1e-4)
    assert row["effective_rank"] == run.curves.effective_rank[-1]
    assert not row["diverged"]


@pytest.mark.parametrize("objective", [jepa(depth=1), jepa(depth=3), mae(depth=1), mae(depth=2)])
@pytest.mark.parametrize("learning_rate", [1e-2, 1e-3])
def test_plain_descent_is_late_by_half_the_logarithm_of_how_its_speed_grows(objective: Objective, learning_rate: float) -> None:
    """Euler's method follows u' = f - (rate / 2) f f', and so is late by ln(f(end) / f(start)) / 2 steps, whatever the rate."""
    epsilon, fraction, lam, rho = 0.05, 0.5, 1.0, 0.6
    run = simulate(
        objective,
        Features(lam=[lam], rho=[rho]),
        epsilon=epsilon,
        fraction=fraction,
        training=GradientDescent(learning_rate=learning_rate),
    )
    steps = steps_columns(run)
    target = float(run.experiment.predicted.asymptote[0]) * fraction

    def speed(amplitude: float) -> float:
        """Of a layer, du/dt = lambda u^a (1 - u^b / rho)."""
        layer = amplitude ** (1.0 / objective.depth)
        return lam * layer**objective.a * (1.0 - layer**objective.b / rho)

    late = steps["simulated_steps"][0] - steps["predicted_steps"][0]
    assert_allclose(late, log(speed(target) / speed(epsilon)) / 2.0, rtol=3.0 * learning_rate + 1e-3)


def test_steps_are_counted_where_a_step_is_a_time() -> None:
    features = Features(lam=[1.0], rho=[0.6])
    heavy = simulate(
        mae(depth=1), features, epsilon=0.05, training=GradientDescent(learning_rate=1e-3, optimiser="momentum", momentum=0.5)
    )
    assert_array_equal(steps_columns(heavy)["simulated_steps"], heavy.time / 2e-3)
    assert steps_columns(simulate(mae(depth=1), features, epsilon=0.05, until=1.0)) == {}
