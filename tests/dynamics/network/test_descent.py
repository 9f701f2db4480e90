"""Gradient descent tends to gradient flow, to first order in the step."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Objective, ParameterError, critical_times, jepa, mae
from dynamics.features import FloatArray
from dynamics.network.descent import GradientDescent
from dynamics.network.outcome import Outcome
from dynamics.regime import Regime
from dynamics.simulation import simulate
from tests.dynamics.network.setting import EIGHT, TWO

HALVINGS = (0.02, 0.01, 0.005)


def times(objective: Objective, steps: Sequence[float], regime: Regime | None = None, **how: object) -> FloatArray:
    """Simulated critical times, one row a time step."""
    momentum = 0.9 if how.get("optimiser") == "momentum" else 0.0
    return np.array(
        [
            simulate(
                objective,
                TWO,
                epsilon=0.1,
                training=GradientDescent(step * (1 - momentum), **how),
                regime=regime or Regime(),
            ).time
            for step in steps
        ]
    )


@pytest.mark.parametrize("optimiser", ["plain", "momentum"])
@pytest.mark.parametrize(
    "objective",
    [jepa(1), mae(2), *(pytest.param(objective, marks=pytest.mark.slow) for objective in (jepa(2), mae(1), jepa(2, 2)))],
    ids=str,
)
def test_critical_times_tend_to_those_of_the_flow_to_first_order(objective: Objective, optimiser: str) -> None:
    exact = critical_times(objective, TWO, epsilon=0.1).time
    found = times(objective, HALVINGS, optimiser=optimiser)
    error = np.abs(found / exact - 1)
    for feature in range(2):
        order = np.polyfit(np.log(HALVINGS), np.log(error[:, feature]), 1)[0]
        assert abs(order - 1) < 0.1
    extrapolated = 2 * found[-1] - found[-2]
    assert_allclose(extrapolated, exact, rtol=0.1 * error[-1].max())


@pytest.mark.slow
def test_eight_features_end_where_the_flow_does() -> None:
    run = simulate(jepa(2), EIGHT, epsilon=1e-2, training=GradientDescent(0.01))
    exact = critical_times(jepa(2), EIGHT, epsilon=1e-2).time
    assert run.ending.outcome is Outcome.COMPLETED
    assert_allclose(run.time, exact, rtol=1e-3)
    assert_array_equal(np.argsort(run.time), np.argsort(exact))


@pytest.mark.parametrize(
    "regime",
    [
        pytest.param(Regime(predictor_rate=2.5), marks=pytest.mark.slow),
        pytest.param(Regime(weight_decay=0.01), marks=pytest.mark.slow),
        pytest.param(Regime(teacher_rate=0.5), marks=pytest.mark.slow),
        pytest.param(Regime(predictor_start=0.2), marks=pytest.mark.slow),
        Regime(predictor_rate=0.5, weight_decay=0.005, teacher_rate=0.5, predictor_start=0.2),
    ],
    ids=["rate", "decay", "teacher", "start", "all"],
)
def test_the_regime_means_the_same_in_steps_and_in_time(regime: Regime) -> None:
    flow = simulate(jepa(1), TWO, epsilon=0.1, regime=regime).time
    found = times(jepa(1), (0.02, 0.01), regime)
    assert_allclose(found[-1], flow, rtol=5e-3)
    assert_allclose(2 * found[1] - found[0], flow, rtol=2e-4)


def test_momentum_counts_its_steps_for_more() -> None:
    assert_allclose(GradientDescent(0.01, "momentum", momentum=0.75).time_step, 0.04)
    assert GradientDescent(0.01, momentum=0.75).time_step == 0.01
    plain = simulate(mae(2), TWO, epsilon=0.1, training=GradientDescent(0.01))
    none = simulate(mae(2), TWO, epsilon=0.1, training=GradientDescent(0.01, "momentum", momentum=0.0))
    assert_array_equal(plain.layers, none.layers)


def test_a_step_is_the_learning_rate_times_the_slope() -> None:
    """Two steps by hand: u and v of one layer each, JEPA and MAE."""
    lam, rho = 0.8, 0.7
    for objective, own_target in ((jepa(1), True), (mae(1), False)):
        u = v = 0.3
        for _ in range(2):
            error = v * u * lam / rho - (u if own_target else 1.0) * lam
            u, v = u - 0.1 * v * error, v - 0.1 * error * u
        features = TWO[[1]]
        run = simulate(objective, features, epsilon=0.3, until=0.2, training=GradientDescent(0.1))
        assert_allclose(run.layers.ravel(), [u, v], rtol=1e-14)
        assert_allclose(run.curves.time[-1], 0.2)


def test_adam_takes_one_learning_rate_a_coordinate_first() -> None:
    run = simulate(mae(1), TWO, epsilon=0.1, until=0.01, training=GradientDescent(0.01, "adam"))
    moved = run.layers - run.start.layers
    assert_allclose(moved, 0.01 * np.tile(np.eye(2), (2, 1, 1)), rtol=1e-6)


def test_adam_learns_the_same_features() -> None:
    run = simulate(jepa(2), TWO, epsilon=0.1, until=20.0, training=GradientDescent(0.01, "adam"))
    assert_allclose(run.amplitude, TWO.rho**2, rtol=1e-3)
    assert np.isnan(run.ratio).all()
    assert any("Adam" in remark for remark in run.remarks())


@pytest.mark.parametrize("optimiser", ["plain", "adam", pytest.param("momentum", marks=pytest.mark.slow)])
def test_minibatches_end_near_the_asymptote_and_a_seed_repeats_them(optimiser: str) -> None:
    rate, until = {"plain": (0.02, 40.0), "momentum": (2e-3, 40.0), "adam": (2e-3, 1.0)}[optimiser]
    training = GradientDescent(rate, optimiser, batch=64)
    runs = [simulate(jepa(1), TWO, epsilon=0.1, until=until, training=training, seed=seed) for seed in (4, 4)]
    assert_array_equal(runs[0].layers, runs[1].layers)
    assert_array_equal(runs[0].time, runs[1].time)
    for run in runs if optimiser != "adam" else ():  # Adam's steps are not the mean of the gradient: it ends elsewhere
        assert_allclose(run.amplitude, TWO.rho, rtol=0.1)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("learning_rate", {"learning_rate": 0.0}),
        ("learning_rate", {"learning_rate": -1.0}),
        ("learning_rate", {"learning_rate": np.inf}),
        ("learning_rate", {"learning_rate": np.nan}),
        ("learning_rate", {"learning_rate": "fast"}),
        ("learning_rate", {"learning_rate": True}),
        ("optimiser", {"learning_rate": 0.1, "optimiser": "sgd"}),
        ("momentum", {"learning_rate": 0.1, "momentum": 1.0}),
        ("momentum", {"learning_rate": 0.1, "momentum": -0.1}),
        ("momentum", {"learning_rate": 0.1, "momentum": np.nan}),
        ("momentum", {"learning_rate": 0.1, "momentum": "heavy"}),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(name: str, how: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=f"^{name} is .*; it must be ") as refused:
        GradientDescent(**how)  # type: ignore[arg-type]
    assert refused.value.name == name


@pytest.mark.parametrize("number", [np.float64(0.1), np.float32(0.125), np.int64(1), 1])
def test_any_number_is_a_learning_rate(number: float) -> None:
    assert GradientDescent(number).time_step == number


@pytest.mark.parametrize("batch", [0, -1, 2.5, True])
def test_a_batch_is_a_whole_number(batch: object) -> None:
    with pytest.raises(ParameterError, match=r"^batch is .*; it must be a whole number, at least 1"):
        simulate(jepa(1), TWO, epsilon=0.1, training=GradientDescent(0.1, batch=batch))  # type: ignore[arg-type]


def test_more_steps_than_a_run_can_make_are_refused_in_a_sentence() -> None:
    with pytest.raises(ParameterError, match="learning_rate"):
        simulate(jepa(1), TWO, epsilon=0.1, training=GradientDescent(1e-310))
