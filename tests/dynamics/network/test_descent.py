"""Gradient descent tends to gradient flow, to first order in the step."""

import re
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Objective, ParameterError, critical_times, jepa, mae
from dynamics.features import FloatArray
from dynamics.network import descent
from dynamics.network.descent import Descent, GradientDescent
from dynamics.network.gradients import Gradients
from dynamics.network.moments import moments_of_features
from dynamics.network.outcome import Outcome
from dynamics.network.stability import stable_learning_rate
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


def network(objective: Objective, regime: Regime, rate: float, layers: FloatArray) -> Descent:
    return Descent(Gradients(objective, moments_of_features(TWO)), regime, GradientDescent(rate), layers, None)


def test_weight_decay_shrinks_layers_as_in_the_time_of_a_step() -> None:
    layers = np.tile(1e-8 * np.eye(2), (3, 1, 1))
    moving = network(jepa(2), Regime(weight_decay=3.0), 0.5, layers)
    moving.differentiate()
    moving.move()
    assert_allclose(moving.layers, np.exp(-1.5) * layers, rtol=1e-12, atol=1e-20)


def test_what_was_seen_stays_as_it_was() -> None:
    moving = network(jepa(1), Regime(teacher_rate=1.0), 0.5, np.tile(0.3 * np.eye(2), (2, 1, 1)))
    layers, target = moving.seen()
    assert target is not None
    moving.differentiate()
    moving.move()
    assert_array_equal(layers, np.tile(0.3 * np.eye(2), (2, 1, 1)))
    assert_array_equal(target, 0.3 * np.eye(2))


@pytest.mark.parametrize("regime", [Regime(), Regime(teacher_rate=2.0)], ids=["own", "teacher"])
def test_an_interrupted_run_ends_with_layers_and_loss_of_one_moment(regime: Regime, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of a chunk of steps."""
    steps = iter(range(1000))

    def move(self: Descent) -> None:
        if next(steps) == 700:
            raise KeyboardInterrupt
        original(self)

    original = Descent.move
    monkeypatch.setattr(Descent, "move", move)
    run = simulate(jepa(1), TWO, epsilon=0.1, training=GradientDescent(0.01), regime=regime)
    monkeypatch.undo()
    done = int(re.findall(r"After (\d+) of", run.ending.detail)[0])
    assert 0 < done <= 700
    again = simulate(jepa(1), TWO, epsilon=0.1, training=GradientDescent(0.01), regime=regime, until=0.01 * done)
    assert_array_equal(run.layers, again.layers)
    assert_allclose(run.curves.time[-1], 0.01 * done)
    assert_allclose(run.curves.loss[-1], again.curves.loss[-1], rtol=1e-12)


def test_wide_networks_are_looked_at_after_fewer_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descent, "CHUNK_WORK", 320.0)  # 16 multiplications a step: 2 layers of 2 x 2
    shares: list[float] = []
    simulate(jepa(1), TWO, epsilon=1e-3, training=GradientDescent(0.01), until=10.0, points=2, watch=shares.append)
    assert_allclose(np.diff(shares).max(), 20 * 0.01 / 10.0)


RINGING = [("momentum", 0.9, 0.05), ("momentum", 0.9, 0.3), ("momentum", 0.5, 0.8), ("plain", 0.0, 0.55), ("plain", 0.0, 0.99)]


@pytest.mark.parametrize(("optimiser", "momentum", "share"), RINGING)
@pytest.mark.parametrize("objective", [jepa(1), jepa(2), mae(2)], ids=str)
def test_ringing_that_dies_away_is_no_oscillation(objective: Objective, optimiser: str, momentum: float, share: float) -> None:
    """Beyond (1 - sqrt(m))^2/h the heavy ball swings, beyond 1/h plain descent does; both settle up to 2(1 + m)/h."""
    asymptote = TWO.rho ** (objective.depth / objective.b)
    gradients = Gradients(objective, moments_of_features(TWO))
    rate = share * stable_learning_rate(gradients, Regime(), TWO.rho, asymptote, momentum)
    training = GradientDescent(rate, optimiser, momentum)
    for steps in (100, 150, 250, 400, 1000):
        run = simulate(objective, TWO, epsilon=0.1, training=training, until=steps * training.time_step)
        assert run.ending.outcome is Outcome.COMPLETED, steps


@pytest.mark.parametrize("objective", [jepa(1), jepa(2), mae(2)], ids=str)
def test_swings_that_last_are_an_oscillation(objective: Objective) -> None:
    asymptote = TWO.rho ** (objective.depth / objective.b)
    limit = stable_learning_rate(Gradients(objective, moments_of_features(TWO)), Regime(), TWO.rho, asymptote)
    for steps in (60, 100, 300, 1000):
        run = simulate(objective, TWO, epsilon=0.1, training=GradientDescent(1.05 * limit), until=steps * 1.05 * limit)
        assert run.ending.outcome is Outcome.OSCILLATING, steps


@pytest.mark.parametrize("period", [2, 3, 5])
def test_cycles_of_any_period_are_found_and_fading_ones_are_not(period: int) -> None:
    cycle = np.tile(np.arange(period, dtype=np.float64), 256)[-descent.RECENT :, None]
    assert descent._oscillates(cycle)
    fading = np.exp(-np.arange(descent.RECENT) / 300.0)[:, None]
    assert not descent._oscillates(cycle * fading)
    assert not descent._oscillates(1e-3 * cycle / period)
