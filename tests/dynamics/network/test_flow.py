"""Gradient flow of the matrices against the exact curves, and against what theory says where there are none."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Features, Objective, Status, amplitude, critical_times, jepa, mae
from dynamics.comparison import Simulation
from dynamics.network.crossings import Crossings
from dynamics.network.flow import Flow
from dynamics.network.gradients import Gradients
from dynamics.network.integration import integrate
from dynamics.network.moments import moments_of_features
from dynamics.network.observables import Observer
from dynamics.network.outcome import Outcome
from dynamics.network.starts import start_from
from dynamics.regime import Regime
from dynamics.simulation import simulate
from tests.dynamics.network.setting import EIGHT, ONE, TWO, differences, halves

EVERY = [make(depth, predictor) for predictor in (1, 2) for make in (jepa, mae) for depth in (1, 2, 3, 4, 5)]
BALANCED = [
    pytest.param(
        objective,
        id=f"{objective.name}-{objective.depth}-{objective.predictor_depth}",
        marks=[pytest.mark.slow] if objective.depth > 3 or (objective.name, objective.predictor_depth) == ("jepa", 2) else [],
    )
    for objective in EVERY
]
ALIGNED = [
    pytest.param(
        objective,
        id=f"{objective.name}-{objective.depth}-{objective.predictor_depth}",
        marks=[pytest.mark.slow] if objective.depth > 2 or objective.predictor_depth > 1 else [],
    )
    for objective in EVERY
    if objective.name == "mae" or objective == jepa(1)  # where the alignment is stable
]


def assert_follows_the_theory(run: Simulation) -> None:
    objective, features, epsilon = run.experiment.objective, run.experiment.features, run.experiment.epsilon
    exact = critical_times(objective, features, epsilon=epsilon, fraction=run.experiment.fraction)
    assert run.ending.outcome is Outcome.COMPLETED
    assert set(run.status) == {Status.REACHED}
    assert_allclose(run.time, exact.time, rtol=1e-6)
    assert_allclose(run.ratio, 1.0, rtol=1e-6)
    curves = run.curves
    assert_allclose(curves.amplitude, amplitude(objective, features, epsilon=epsilon, time=curves.time), rtol=0, atol=1e-6)
    assert len(curves.time) > 100
    assert (np.diff(curves.time) >= 0).all()
    assert curves.time[0] == 0.0
    assert curves.time[-1] == run.experiment.horizon


def assert_conserved(run: Simulation) -> None:
    assert_allclose(differences(run.layers), differences(run.start.layers), rtol=0, atol=1e-9)
    assert_allclose(run.curves.imbalance, run.curves.imbalance[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("objective", BALANCED)
def test_a_balanced_network_follows_the_exact_curves(objective: Objective) -> None:
    run = simulate(objective, EIGHT, epsilon=1e-2)
    assert_follows_the_theory(run)
    assert_conserved(run)
    assert_array_equal(run.curves.off_diagonal, 0.0)


@pytest.mark.parametrize("objective", ALIGNED)
def test_an_aligned_network_follows_the_exact_curves(objective: Objective) -> None:
    run = simulate(objective, EIGHT, epsilon=1e-2, start="orthogonal", seed=3)
    assert_follows_the_theory(run)
    assert_conserved(run)
    assert run.curves.off_diagonal.max() < 1e-5


@pytest.mark.parametrize("fraction", [0.01, 0.99])
def test_any_fraction_is_found_between_the_steps(fraction: float) -> None:
    for objective in (jepa(2), mae(2)):
        run = simulate(objective, TWO, epsilon=1e-3, fraction=fraction)
        assert_allclose(run.time, critical_times(objective, TWO, epsilon=1e-3, fraction=fraction).time, rtol=1e-8)


@pytest.mark.parametrize("predictor_start", [0.5, pytest.param(0.05, marks=pytest.mark.slow)])
@pytest.mark.parametrize("objective", [jepa(1), mae(3), pytest.param(jepa(2, 2), marks=pytest.mark.slow)], ids=str)
def test_balance_is_conserved_from_an_unbalanced_start(objective: Objective, predictor_start: float) -> None:
    run = simulate(objective, TWO, epsilon=1e-2, regime=Regime(predictor_start=predictor_start), until=60.0)
    u0 = 1e-2 ** (1 / objective.depth)
    u, v = run.layers[0].diagonal(), run.layers[-1].diagonal()
    assert_allclose(v**2 - u**2, predictor_start**2 - u0**2, rtol=0, atol=1e-9)
    assert_conserved(run)


@pytest.mark.parametrize("depth", [1, 2, *(pytest.param(depth, marks=pytest.mark.slow) for depth in (3, 4))])
def test_jepa_learns_a_power_of_rho_and_its_twin_that_regresses_on_y_another(depth: int) -> None:
    latent = simulate(jepa(depth), TWO, epsilon=0.1, until=400.0)
    assert_allclose(latent.amplitude, TWO.rho**depth, rtol=1e-9)
    plain = simulate(mae(depth), TWO, epsilon=0.1, until=400.0)
    assert_allclose(plain.amplitude, TWO.rho ** (depth / (depth + 1)), rtol=1e-9)
    assert np.abs(latent.amplitude - plain.amplitude).min() > 0.04


@pytest.mark.parametrize("objective", [jepa(2, 2), mae(2, 2), mae(1, 3)], ids=str)
def test_deeper_predictors_end_where_the_power_law_does(objective: Objective) -> None:
    run = simulate(objective, TWO, epsilon=0.2, until=400.0)
    depth, predictor = objective.depth, objective.predictor_depth
    power = depth / predictor if objective.name == "jepa" else depth / (depth + predictor)
    assert_allclose(run.amplitude, TWO.rho**power, rtol=1e-7)
    _, head = halves(objective, run.layers)
    assert_allclose(np.diagonal(head), TWO.rho if objective.name == "jepa" else TWO.rho ** (1 - power), rtol=1e-7)


@pytest.mark.parametrize("depth", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_without_stop_gradient_the_encoder_only_shrinks(depth: int) -> None:
    run = simulate(jepa(depth), TWO, epsilon=0.5, until=200.0, regime=Regime(stop_gradient=False))
    assert (np.diff(run.curves.norm, axis=1) < 0).all()
    assert (run.amplitude < 0.05).all()
    assert any("control" in remark for remark in run.remarks())


def test_without_stop_gradient_it_shrinks_from_any_start() -> None:
    for seed in range(2):
        run = simulate(jepa(2), TWO, epsilon=0.5, until=50.0, start="haar", seed=seed, regime=Regime(stop_gradient=False))
        size = np.linalg.norm(run.curves.norm, axis=0)
        assert (np.diff(size) < 0).all()


@pytest.mark.parametrize("depth", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_an_unbalanced_jepa_ends_at_rho_squared_less_the_excess(depth: int) -> None:
    excess = 0.5**2 - 0.1 ** (2 / depth)
    run = simulate(jepa(depth), TWO, epsilon=0.1, until=600.0, regime=Regime(predictor_start=0.5))
    assert_allclose(run.amplitude, (TWO.rho**2 - excess) ** (depth / 2), rtol=1e-9)
    assert_allclose(run.ratio, 1.0, rtol=1e-7)


def test_a_strong_predictor_loses_the_feature_of_small_rho() -> None:
    features = Features(lam=[1.0, 1.0], rho=[0.45, 0.55])
    run = simulate(jepa(1), features, epsilon=1e-3, until=3000.0, regime=Regime(predictor_start=0.5))
    assert run.status.tolist() == [Status.COLLAPSES, Status.REACHED]
    assert_allclose(run.amplitude, [0.0, np.sqrt(0.55**2 - 0.5**2 + 1e-6)], atol=1e-9)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_faster_predictor_lowers_the_end(depth: int) -> None:
    kappa, u0 = 2.5, 0.1 ** (1 / depth)
    run = simulate(jepa(depth), TWO, epsilon=0.1, until=600.0, regime=Regime(predictor_rate=kappa))
    assert_allclose(run.amplitude, (u0**2 + (TWO.rho**2 - u0**2) / kappa) ** (depth / 2), rtol=1e-9)
    assert_allclose(run.ratio, 1.0, rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2])
def test_a_slow_teacher_only_delays(depth: int) -> None:
    times = []
    for rate in (0.1, 1.0, 10.0):
        run = simulate(jepa(depth), TWO, epsilon=0.1, until=400.0, regime=Regime(teacher_rate=rate))
        assert_allclose(run.amplitude, TWO.rho**depth, rtol=1e-3)
        assert_allclose(run.ratio, 1.0, rtol=1e-7)
        times.append(run.time)
    plain = critical_times(jepa(depth), TWO, epsilon=0.1).time
    assert (times[0] > times[1]).all()
    assert (times[1] > plain).all()
    assert_allclose(times[2], plain, rtol=3e-2)


def test_a_fast_teacher_costs_no_more_steps_than_a_slow_one() -> None:
    taken = []

    def count(_: float) -> None:
        taken.append(1)
        if len(taken) > 2500:
            raise KeyboardInterrupt

    run = simulate(jepa(1), TWO, epsilon=0.1, until=600.0, regime=Regime(teacher_rate=1e3), watch=count)
    assert run.ending.outcome is Outcome.COMPLETED
    assert_allclose(run.time, critical_times(jepa(1), TWO, epsilon=0.1).time, rtol=1e-2)


@pytest.mark.parametrize("objective", [jepa(1), mae(2)], ids=str)
def test_weight_decay_stops_where_growth_and_decay_cancel(objective: Objective) -> None:
    decay = 0.01
    run = simulate(objective, TWO, epsilon=0.1, until=600.0, regime=Regime(weight_decay=decay))
    u = run.amplitude ** (1 / objective.depth)
    a, b = (2 * objective.depth, 1) if objective.name == "jepa" else (objective.depth, objective.depth + 1)
    assert_allclose(TWO.lam * u**a * (1 - u**b / TWO.rho), decay * u, rtol=1e-8)


TINY = [pytest.param(o, f, id=f"{o.name}-{o.predictor_depth}-{len(f)}") for o in (jepa(2), mae(2)) for f in (ONE, TWO)]


@pytest.mark.parametrize(("objective", "features"), TINY)
def test_a_tiny_start_gives_the_right_time_or_the_reason_why_not(objective: Objective, features: Features) -> None:
    run = simulate(objective, features, epsilon=1e-12)
    exact = critical_times(objective, features, epsilon=1e-12)
    found = np.isfinite(run.time)
    assert found.any()
    assert_allclose(run.time[found], exact.time[found], rtol=1e-8)
    assert set(run.status[found]) == {Status.REACHED}
    assert set(run.status[~found]) <= {Status.NOT_REACHED}
    if not found.all():
        assert run.ending.outcome is Outcome.STUCK
        assert any(remark.startswith(run.ending.outcome.value) for remark in run.remarks())


@pytest.mark.slow
@pytest.mark.parametrize("objective", [jepa(2, 2), mae(2, 2)], ids=str)
@pytest.mark.parametrize("features", [ONE, TWO, Features(lam=[1.0, 0.999], rho=[0.9, 0.7])], ids=["one", "two", "close"])
def test_a_tiny_start_of_a_deeper_predictor_gives_the_right_time_or_the_reason(
    objective: Objective, features: Features
) -> None:
    test_a_tiny_start_gives_the_right_time_or_the_reason_why_not(objective, features)


@pytest.mark.parametrize(("objective", "features"), [(jepa(2, 2), ONE), (jepa(2), TWO)])
def test_the_end_that_is_told_is_that_of_the_last_layers(objective: Objective, features: Features) -> None:
    run = simulate(objective, features, epsilon=1e-12)
    encoder, _ = halves(objective, run.layers)
    assert_allclose(run.amplitude, np.diagonal(encoder), rtol=1e-6)
    reached = run.status == Status.REACHED
    assert (run.amplitude[reached] >= (1 - 1e-6) * 0.5 * run.experiment.predicted.asymptote[reached]).all()


def test_a_completed_run_has_settled_or_went_to_its_end() -> None:
    run = simulate(jepa(2, 2), ONE, epsilon=1e-12)
    assert run.ending.outcome is Outcome.COMPLETED
    assert_allclose(run.amplitude, ONE.rho, rtol=1e-6)


def test_a_diagonal_start_stays_diagonal_by_any_method() -> None:
    features = Features(lam=[4.0, 0.3], rho=[0.6, 1.2])
    run = simulate(jepa(2, 3), features, epsilon=1e-3)
    assert_array_equal(run.curves.off_diagonal, 0.0)
    assert_allclose(run.time, critical_times(jepa(2, 3), features, epsilon=1e-3).time, rtol=1e-7)


@pytest.mark.slow
def test_four_balanced_features_stay_apart_for_long() -> None:
    features = Features(lam=[2.2069, 4.0241, 0.28854, 0.29346], rho=[0.56123, 0.59510, 1.1889, 0.68644])
    run = simulate(jepa(2, 3), features, epsilon=6.6e-4, fraction=0.34)
    exact = critical_times(jepa(2, 3), features, epsilon=6.6e-4, fraction=0.34).time
    assert_allclose(run.time, exact, rtol=1e-7)


def test_a_plateau_behind_a_learned_feature_is_crossed_where_doubles_resolve_it() -> None:
    """Relaxation takes about 0.1, doubles at the time of the plateau are 4e-9 apart."""
    features = Features(lam=[0.18864, 3.3170], rho=[1.49083, 0.39238])
    run = simulate(mae(1, 3), features, epsilon=8.7e-5)
    assert run.ending.outcome is Outcome.COMPLETED
    assert_allclose(run.time, critical_times(mae(1, 3), features, epsilon=8.7e-5).time, rtol=1e-7)


@pytest.mark.parametrize(("objective", "seed"), [(jepa(2), 3), pytest.param(jepa(3, 2), 3, marks=pytest.mark.slow)])
def test_an_aligned_start_that_comes_apart_says_so(objective: Objective, seed: int) -> None:
    """With JEPA rounding off the diagonal grows while a feature of larger rho waits."""
    run = simulate(objective, EIGHT, epsilon=1e-2, start="orthogonal", seed=seed)
    exact = critical_times(objective, EIGHT, epsilon=1e-2).time
    assert np.allclose(run.time, exact, rtol=1e-4, atol=0) or any("turned" in remark for remark in run.remarks())


@pytest.mark.parametrize("objective", [jepa(2), mae(2)], ids=str)
def test_a_slow_feature_behind_a_fast_one_costs_no_accuracy(objective: Objective) -> None:
    features = Features(lam=[1.0, 1e-3], rho=[0.9, 0.9])
    run = simulate(objective, features, epsilon=1e-2)
    assert_allclose(run.time, critical_times(objective, features, epsilon=1e-2).time, rtol=1e-7)


@pytest.mark.parametrize("objective", [jepa(1), mae(2)], ids=str)
def test_features_that_start_above_their_end_sink_along_the_exact_curve(objective: Objective) -> None:
    features = Features(lam=[0.5, 0.02], rho=[0.8, 0.05])
    run = simulate(objective, features, epsilon=0.3, until=40.0)
    exact = amplitude(objective, features, epsilon=0.3, time=run.curves.time)
    assert_allclose(run.curves.amplitude, exact, rtol=0, atol=1e-8)
    assert (np.diff(run.curves.amplitude[1]) < 0).all()


@pytest.mark.parametrize("depth", [1, 2])
def test_features_without_covariance_fade_along_the_exact_curve(depth: int) -> None:
    features = Features(lam=[1.0, 0.0, -0.5], sigma=[1.0, 1.0, 1.0])
    run = simulate(jepa(depth), features, epsilon=0.1)
    exact = amplitude(jepa(depth), features, epsilon=0.1, time=run.curves.time)
    assert_allclose(run.curves.amplitude, exact, rtol=0, atol=1e-7)
    times = run.curves.time
    assert_allclose(run.curves.amplitude[1], (0.1**-2 + 2 * depth * times) ** -0.5, rtol=1e-8)


SMALL = [
    (mae(1), 1e-30),
    *(pytest.param(o, 1e-100, marks=pytest.mark.slow) for o in (jepa(2), mae(1), mae(2))),
    *(pytest.param(o, 1e-150, marks=pytest.mark.exhaustive) for o in (jepa(2), mae(1), mae(2))),
]


@pytest.mark.parametrize(("objective", "epsilon"), SMALL)
def test_no_start_whose_motion_a_double_holds_is_too_small(objective: Objective, epsilon: float) -> None:
    run = simulate(objective, ONE, epsilon=epsilon)
    assert run.ending.outcome is Outcome.COMPLETED
    assert_allclose(run.ratio, 1.0, rtol=1e-9)


@pytest.mark.parametrize(("objective", "epsilon"), [(jepa(1), 1e-200), (jepa(2), 1e-170), (jepa(3), 1e-180)], ids=str)
def test_a_start_whose_motion_underflows_is_stuck_and_says_why(objective: Objective, epsilon: float) -> None:
    run = simulate(objective, TWO, epsilon=epsilon, until=1e300)
    assert run.ending.outcome is Outcome.STUCK
    assert run.ending.sentence.startswith("At the start the layers move by less than a double can hold.")
    assert "Raise epsilon" in run.ending.sentence
    assert set(run.status) == {Status.NOT_REACHED}


def test_a_start_that_would_not_get_far_in_the_time_is_not_stuck() -> None:
    assert simulate(jepa(2), TWO, epsilon=1e-170, until=1.0).ending.outcome is Outcome.COMPLETED


@pytest.mark.parametrize("until", [1e170, 1e300])
def test_no_end_is_too_late(until: float) -> None:
    run = simulate(mae(1), TWO, epsilon=0.1, until=until)
    assert run.ending.outcome is Outcome.COMPLETED
    assert_allclose(run.ratio, 1.0, rtol=1e-8)


@pytest.mark.parametrize("kind", ["nothing", "no predictor"])
def test_layers_that_are_0_are_a_start_too(kind: str) -> None:
    layers = np.stack([0.1 * np.eye(2), np.zeros((2, 2))]) if kind == "no predictor" else np.zeros((2, 2, 2))
    run = simulate(mae(1), TWO, epsilon=0.1, start=layers, until=30.0)
    assert run.ending.outcome is Outcome.COMPLETED
    assert_allclose(run.amplitude, TWO.rho**0.5 if kind == "no predictor" else 0.0, rtol=2e-2)


@pytest.mark.parametrize(("features", "outcome"), [(TWO, Outcome.STUCK), (ONE, Outcome.COMPLETED)], ids=["two", "one"])
def test_a_run_without_thresholds_is_complete_only_if_nothing_is_to_come(features: Features, outcome: Outcome) -> None:
    """At epsilon 1e-12 the first feature settles, and behind it no step of doubles reaches the second."""
    layers, until = np.tile(1e-6 * np.eye(len(features)), (3, 1, 1)), 1e24
    start = start_from(layers, jepa(2), len(features), encoder=1.0, predictor=1.0, generator=np.random.default_rng(0))
    gradients = Gradients(jepa(2), moments_of_features(features))
    none = np.zeros(len(features))
    ending, _ = integrate(
        Flow(gradients, Regime(), layers, until),
        Observer(start, gradients, features.rho, until, 0.1),
        Crossings(none, none),
        until=until,
        shortest=1e14,
        watch=lambda time: None,
    )
    assert ending.outcome is outcome
