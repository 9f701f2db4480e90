"""A run beside its prediction: what becomes of features, how runs end, what a reader is told."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Features, LindynError, Objective, ParameterError, Status, critical_times, jepa, mae
from dynamics.feature_basis import diagonalise
from dynamics.network.descent import GradientDescent
from dynamics.network.moments import Moments
from dynamics.network.outcome import Outcome
from dynamics.network.population import Data, population_of
from dynamics.regime import Regime
from dynamics.simulation import Experiment, simulate
from dynamics.views import masked, paired, second_moments
from tests.dynamics.network.setting import ONE, TWO, differences, halves

OBJECTIVES = st.sampled_from([jepa(1), jepa(2), mae(1), mae(2), mae(1, 2)])


@st.composite
def features(draw: st.DrawFn) -> Features:
    """Two or three features apart enough from 0 to be learned soon."""
    count = draw(st.integers(2, 3))
    lam, rho = (draw(st.lists(st.floats(0.5, 2.0), min_size=count, max_size=count)) for _ in range(2))
    return Features(lam=lam, rho=np.clip(rho, 0.6, 1.3))


@given(OBJECTIVES, features(), st.floats(1e-2, 1e2))
@settings(max_examples=4)
def test_times_scale_with_lambda_at_equal_rho(objective: Objective, told: Features, factor: float) -> None:
    one = simulate(objective, told, epsilon=0.1)
    other = simulate(objective, Features(lam=factor * told.lam, rho=told.rho), epsilon=0.1)
    assert_allclose(other.time * factor, one.time, rtol=1e-8)
    assert_allclose(other.amplitude, one.amplitude, rtol=1e-8)
    assert_allclose(other.experiment.horizon * factor, one.experiment.horizon, rtol=1e-12)


@given(OBJECTIVES, features(), st.randoms(use_true_random=False))
@settings(max_examples=4)
def test_the_order_of_features_permutes_the_results(objective: Objective, told: Features, chance: object) -> None:
    order = list(range(len(told)))
    chance.shuffle(order)  # type: ignore[attr-defined]
    one, other = (simulate(objective, some, epsilon=0.1) for some in (told, told[order]))
    assert_allclose(other.time, one.time[order], rtol=1e-8)
    assert_allclose(other.amplitude, one.amplitude[order], rtol=1e-8)
    assert_allclose(other.experiment.horizon, one.experiment.horizon, rtol=1e-12)


@given(st.sampled_from([jepa(1), jepa(2), mae(2), jepa(1, 2), mae(1, 2)]), st.integers(0, 2**32 - 1))
@settings(max_examples=4)
def test_what_neighbouring_layers_differ_by_is_conserved_from_any_start(objective: Objective, seed: int) -> None:
    rng = np.random.default_rng(seed)
    layers = 0.5 * rng.standard_normal((objective.depth + objective.predictor_depth, 2, 2))
    run = simulate(objective, TWO, epsilon=0.1, start=layers, until=5.0)
    assert_allclose(differences(run.layers), differences(layers), rtol=0, atol=1e-9)


def test_the_run_and_its_prediction_stand_side_by_side() -> None:
    run = simulate(jepa(2), Features(lam=[1.0, 0.8], rho=[0.9, 0.7], names=["a", "b"]), epsilon=0.05)
    table = run.to_dataframe()
    assert list(table.columns) == [
        *("feature", "objective", "depth", "predictor_depth", "epsilon", "fraction", "lambda", "rho", "sigma", "asymptote"),
        *("final_amplitude", "polar_amplitude", "critical_time", "simulated_time", "ratio", "status", "simulated_status"),
    ]
    assert table["feature"].tolist() == ["a", "b"]
    assert_allclose(table["critical_time"], critical_times(jepa(2), TWO, epsilon=0.05).time)
    assert_allclose(table["ratio"], 1.0, rtol=1e-8)
    assert table["status"].tolist() == table["simulated_status"].tolist() == ["reached", "reached"]
    assert run.remarks() == []


@pytest.mark.parametrize("objective", [jepa(1), mae(2)], ids=str)
def test_the_default_end_lets_every_feature_be_learned(objective: Objective) -> None:
    for fraction in (0.5, 0.99):
        run = simulate(objective, TWO, epsilon=0.05, fraction=fraction)
        assert set(run.status) == {Status.REACHED}
        late = critical_times(objective, TWO, epsilon=0.05, fraction=max(0.9, fraction)).time.max()
        assert_allclose(run.experiment.horizon, 1.3 * late)


def test_only_so_many_features_need_to_be_learned() -> None:
    told = Features(lam=[1.0, 0.8, 1e-3], rho=[0.9, 0.7, 0.8])
    run = simulate(mae(2), told, epsilon=0.05, first=2)
    assert_allclose(run.experiment.horizon, simulate(mae(2), TWO, epsilon=0.05).experiment.horizon)
    assert run.status.tolist() == [Status.REACHED, Status.REACHED, Status.NOT_REACHED]
    assert run.time[2] == np.inf


def test_a_start_above_the_threshold_is_reached_at_time_0() -> None:
    told = Features(lam=[1.0, 0.04], rho=[0.9, 0.04])
    for training in (None, GradientDescent(0.1)):
        run = simulate(jepa(1), told, epsilon=0.1, training=training)
        assert run.status.tolist() == [Status.REACHED, Status.ALREADY_REACHED]
        assert run.time[1] == 0.0
        assert np.isnan(run.ratio[1])
        assert run.to_dataframe()["ratio"].isna().tolist() == [False, True]


def test_a_run_of_features_that_only_sink_has_an_end_too() -> None:
    told = Features(lam=[0.5, 0.4], rho=[0.05, 0.06])
    run = simulate(jepa(1), told, epsilon=0.3)
    assert set(run.status) == {Status.ALREADY_REACHED}
    assert_array_equal(run.time, 0.0)
    assert_allclose(run.amplitude, told.rho, rtol=1e-2)


def test_what_is_not_reached_within_the_run_is_infinite() -> None:
    run = simulate(jepa(1), TWO, epsilon=0.05, until=1.0)
    assert run.status.tolist() == [Status.NOT_REACHED, Status.NOT_REACHED]
    assert_array_equal(run.time, np.inf)
    assert np.isnan(run.ratio).all()
    assert run.ending.outcome is Outcome.COMPLETED
    assert run.to_dataframe()["simulated_status"].tolist() == ["not-reached"] * 2


@pytest.mark.parametrize("training", [None, GradientDescent(0.05)], ids=["flow", "descent"])
def test_never_stays_never(training: GradientDescent | None) -> None:
    told = Features(lam=[1.0, 0.0, -0.5], sigma=[1.0, 1.0, 1.0])
    run = simulate(jepa(2), told, epsilon=0.1, training=training)
    assert run.status.tolist() == [Status.REACHED, Status.NEVER, Status.NEVER]
    assert_array_equal(run.time[1:], np.inf)
    assert (run.amplitude[1:] < 0.1).all()
    assert (run.amplitude[1:] > 0).all()


def test_negative_covariance_is_learned_from_a_predictor_of_that_sign() -> None:
    told = Features(lam=-0.8, rho=-0.7)
    run = simulate(jepa(1), told, epsilon=0.1, regime=Regime(predictor_start=-0.1))
    assert run.status.tolist() == [Status.REACHED]
    assert_allclose(run.time, critical_times(jepa(1), Features(lam=0.8, rho=0.7), epsilon=0.1).time, rtol=1e-8)
    _, predictor = halves(jepa(1), run.layers)
    assert_allclose(predictor, -run.amplitude[0])
    assert run.remarks() == []


@pytest.mark.parametrize("objective", [jepa(1), jepa(2), mae(2), jepa(1, 2)], ids=str)
@pytest.mark.parametrize("rate", [2.3, 2.6, 3.0, 5.0])
def test_a_learning_rate_beyond_stability_is_told(objective: Objective, rate: float) -> None:
    limit = 2 / float((TWO.lam * objective.b * TWO.rho ** ((objective.a - 1) / objective.b)).max())
    run = simulate(objective, TWO, epsilon=0.1, until=300.0, training=GradientDescent(rate / 2 * limit))
    asymptote = TWO.rho ** (objective.depth / objective.b)
    assert np.abs(run.amplitude / asymptote - 1).max() > 1e-3
    assert any("stable" in remark and "learning rate" in remark for remark in run.remarks())
    if run.ending.outcome is Outcome.COMPLETED:  # only JEPA has other ends: V = rho and any W, some of them stable
        assert objective.name == "jepa"
        _, predictor = halves(objective, run.layers)
        assert_allclose(predictor, np.diag(TWO.rho), atol=1e-3)
    else:
        assert run.ending.outcome in {Outcome.OSCILLATING, Outcome.DIVERGED}
        assert "learning rate" in run.ending.sentence
        assert run.remarks()[0].startswith(run.ending.outcome.value)


@pytest.mark.parametrize("objective", [jepa(1), mae(1), mae(3)], ids=str)
def test_a_run_that_diverges_keeps_what_came_before(objective: Objective) -> None:
    run = simulate(objective, TWO, epsilon=0.1, training=GradientDescent(100.0), until=1e4)
    assert run.ending.outcome is Outcome.DIVERGED
    assert "learning rate" in run.ending.sentence
    assert "steps" in run.ending.sentence
    for name in ("time", "amplitude", "norm", "singular_value", "predictor_eigenvalue", "off_diagonal", "imbalance", "loss"):
        assert np.isfinite(getattr(run.curves, name)).all()
    assert np.isfinite(run.layers).all()
    assert_allclose(run.curves.amplitude[:, 0], 0.1)
    assert len(run.to_dataframe()) == 2


@pytest.mark.parametrize("start", ["balanced", "orthogonal", "haar", "gaussian"])
@pytest.mark.parametrize("optimiser", ["plain", "momentum", "adam"])
def test_no_learning_rate_breaks_a_run(start: str, optimiser: str) -> None:
    for objective in (jepa(1), jepa(3, 2), mae(2)):
        for rate in (1.0, 1e2, 1e5):
            training = GradientDescent(rate, optimiser)
            run = simulate(objective, TWO, epsilon=0.1, start=start, training=training, until=30 * training.time_step)
            assert np.isfinite(run.amplitude).all()
            assert isinstance(run.remarks(), list)


def test_a_misaligned_start_is_told() -> None:
    for objective in (jepa(2), mae(2)):
        run = simulate(objective, TWO, epsilon=0.05, start="haar", until=1.0)
        assert any("features mix" in remark for remark in run.remarks())
    assert not simulate(mae(2), TWO, epsilon=0.05, start="orthogonal", until=1.0).remarks()
    assert any("Gaussian" in remark for remark in simulate(mae(2), TWO, epsilon=0.05, start="gaussian", until=1.0).remarks())


@pytest.mark.parametrize("seed", range(4))
def test_a_single_feature_with_a_predictor_of_the_wrong_sign_is_told(seed: int) -> None:
    run = simulate(jepa(1), ONE, epsilon=0.1, start="haar", seed=seed)
    sign = np.sign(run.start.layers[1, 0, 0])
    assert run.status[0] is (Status.REACHED if sign > 0 else Status.NOT_REACHED)
    assert bool(run.remarks()) == (sign < 0)


def test_features_of_full_moments_mix_and_the_run_says_so() -> None:
    moments = Moments(np.array([[1.0, 0.4], [0.4, 1.0]]), np.array([[0.8, 0.1], [0.2, 0.5]]), 2 * np.eye(2))
    run = simulate(jepa(2), moments, epsilon=0.05)
    assert_allclose(run.experiment.features.lam, [0.8, 0.5])
    assert_allclose(run.experiment.features.rho, [0.8, 0.5])
    assert run.curves.off_diagonal[-1] > 0.01
    assert any("mixed" in remark for remark in run.remarks())
    encoder, predictor = halves(jepa(2), run.layers)
    late = simulate(jepa(2), moments, epsilon=0.05, until=2000.0)
    encoder, predictor = halves(jepa(2), late.layers)
    target = encoder @ moments.cross_covariance @ np.linalg.inv(moments.input_covariance)
    assert_allclose(predictor @ encoder, target, atol=1e-5)


@pytest.mark.parametrize("target", ["full", "independent"])
def test_a_network_trained_on_data_ends_at_their_regression(target: str) -> None:
    """V W tends to Syx Sxx^-1 of the masked rows, in the basis of the features."""
    rows = np.random.default_rng(0).standard_normal((100, 3)) * [1.0, 0.8, 0.6]
    covariance = np.cov(rows.T, bias=True)
    keep = 0.7
    inputs = keep**2 * covariance + keep * (1 - keep) * np.diag(np.diagonal(covariance))
    cross = covariance * (keep if target == "full" else keep**2)
    views = masked(rows, keep=keep, target=target)
    basis = diagonalise(second_moments(views))
    run = simulate(mae(1), Data(views, basis), epsilon=0.05, until=500.0)
    encoder, decoder = halves(mae(1), run.layers)
    turned = basis.directions @ decoder @ encoder @ basis.directions.T
    assert_allclose(turned, cross @ np.linalg.inv(inputs), atol=1e-9)


@pytest.mark.parametrize(
    "training", [None, GradientDescent(0.01), GradientDescent(0.01, batch=8)], ids=["flow", "steps", "batch"]
)
def test_ctrl_c_keeps_the_curves(training: GradientDescent | None) -> None:
    shares: list[float] = []

    def interrupt(share: float) -> None:
        shares.append(share)
        if share > 0.6:
            raise KeyboardInterrupt

    run = simulate(jepa(1), TWO, epsilon=0.05, training=training, watch=interrupt)
    assert run.ending.outcome is Outcome.INTERRUPTED
    assert run.remarks()[0].startswith("interrupted")
    assert_allclose(run.curves.time[-1], shares[-1] * run.experiment.horizon, rtol=1e-9)
    encoder, _ = halves(jepa(1), run.layers)
    assert_allclose(np.diagonal(encoder), run.curves.amplitude[:, -1], rtol=1e-12)
    whole = simulate(jepa(1), TWO, epsilon=0.05, training=training)
    assert_array_equal(run.curves.time[:-1], whole.curves.time[: len(run.curves.time) - 1])
    assert_array_equal(run.time[np.isfinite(run.time)], whole.time[np.isfinite(run.time)])


def test_ctrl_c_at_once_leaves_the_start() -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    run = simulate(mae(1), TWO, epsilon=0.05, watch=interrupt)
    assert run.ending.outcome is Outcome.INTERRUPTED
    assert_allclose(run.curves.amplitude[:, 0], 0.05)
    assert set(run.status) == {Status.NOT_REACHED}


INTERRUPTIBLE = """
import sys, time
import numpy as np
from dynamics import Features, jepa, mae
from dynamics.network.descent import GradientDescent
from dynamics.simulation import simulate

told = Features(lam=[1.0, 0.8], rho=[0.9, 0.7])

def watch(share):
    print("running", flush=True)
    time.sleep(0.02)

how = {
    "explicit": lambda: simulate(mae(2), told, epsilon=0.05, watch=watch),
    "implicit": lambda: simulate(jepa(1, 2), told, epsilon=1e-3, watch=watch),
    "descent": lambda: simulate(jepa(1), told, epsilon=0.05, training=GradientDescent(1e-6), watch=watch),
}
run = how[sys.argv[1]]()
print(run.ending.outcome.value, len(run.curves.time), np.isfinite(run.curves.amplitude).all(), run.remarks()[0])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name != "posix", reason="needs POSIX signals")
@pytest.mark.parametrize("method", ["explicit", "implicit", "descent"])
def test_a_real_ctrl_c_keeps_the_curves(method: str, tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text(INTERRUPTIBLE)
    command = [sys.executable, "-W", "error", str(script), method]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        for _ in range(5):
            assert child.stdout.readline() == "running\n"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=20)
    assert err == ""
    assert child.returncode == 0
    outcome, points, finite, word = out.splitlines()[-1].split()[:4]
    assert (outcome, finite, word) == ("interrupted", "True", "interrupted:")
    assert int(points) >= 2


@pytest.mark.parametrize("training", [None, GradientDescent(0.9), GradientDescent(5.0)], ids=["flow", "step", "large"])
def test_watch_sees_shares_that_grow_to_1(training: GradientDescent | None) -> None:
    shares: list[float] = []
    simulate(jepa(1), TWO, epsilon=0.1, training=training, watch=shares.append)
    assert shares[0] > 0.0
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert max(shares) <= 1.0


@pytest.mark.parametrize("points", [50, 2000])
def test_points_are_roughly_as_many_as_asked_for(points: int) -> None:
    curves = simulate(mae(2), TWO, epsilon=1e-3, points=points).curves
    assert len(curves.time) < 3 * points
    moved = np.abs(np.diff(curves.amplitude, axis=1))
    assert (moved.max(axis=0) < 0.2).all()


def test_the_loss_falls_where_there_is_one() -> None:
    """MAE is a gradient flow; JEPA's target moves."""
    loss = simulate(mae(2), TWO, epsilon=0.05).curves.loss
    assert (np.diff(loss) < 1e-12).all()
    assert loss[0] > loss[-1] >= 0


@pytest.mark.parametrize("kind", ["orthogonal", "gaussian"])
def test_a_seed_repeats_a_run_to_the_byte(kind: str) -> None:
    one, two, other = (simulate(mae(2), TWO, epsilon=0.05, start=kind, seed=seed, until=20.0) for seed in (7, 7, 8))
    assert one.layers.tobytes() == two.layers.tobytes()
    assert one.time.tobytes() == two.time.tobytes()
    assert one.curves.amplitude.tobytes() == two.curves.amplitude.tobytes()
    assert one.layers.tobytes() != other.layers.tobytes()


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("epsilon", {"epsilon": 0.0}),
        ("epsilon", {"epsilon": "small"}),
        ("fraction", {"fraction": 1.0}),
        ("until", {"until": 0.0}),
        ("until", {"until": -1.0}),
        ("until", {"until": np.inf}),
        ("until", {"until": np.nan}),
        ("until", {"until": "5"}),
        ("seed", {"seed": -1}),
        ("seed", {"seed": 1.5}),
        ("points", {"points": 1}),
        ("first", {"first": 0}),
        ("first", {"first": -1}),
        ("first", {"first": 1.5}),
        ("start", {"start": "anywhere"}),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(name: str, how: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=f"^{name} is .*; it must be ") as refused:
        simulate(jepa(1), TWO, **{"epsilon": 0.1, **how})  # type: ignore[arg-type]
    assert refused.value.name == name


def test_a_question_without_an_answer_is_refused_in_a_sentence() -> None:
    with pytest.raises(LindynError, match=r"^mae predicts the input itself.*\.$"):
        simulate(mae(1), TWO, epsilon=0.1, regime=Regime(stop_gradient=False))
    with pytest.raises(LindynError, match=r"teacher.*\.$"):
        simulate(jepa(1), TWO, epsilon=0.1, regime=Regime(stop_gradient=False, teacher_rate=1.0))
    with pytest.raises(LindynError, match=r"raise epsilon.*\.$"):
        simulate(jepa(3), TWO, epsilon=1e-300)


def test_where_there_is_no_prediction_the_advice_is_not_to_simulate() -> None:
    """Here the decoder's wrong sign drives the encoder down first, so that mode equations cannot take it for their clock."""
    regime, sentence = Regime(predictor_start=-0.09, weight_decay=1.7e-4), ""
    try:
        simulate(mae(1), Features(lam=0.34, rho=0.3), epsilon=0.008, until=50.0, regime=regime)
    except LindynError as refused:
        sentence = str(refused)
    assert "simulate" not in sentence


def test_an_experiment_is_what_simulate_runs() -> None:
    experiment = Experiment(jepa(1), population_of(TWO), 0.05)
    assert_array_equal(experiment.run().time, simulate(jepa(1), TWO, epsilon=0.05).time)
    again = Experiment.of(experiment.setting, experiment.population, until=3.0)
    assert (again.objective, again.epsilon, again.fraction, again.until) == (jepa(1), 0.05, 0.5, 3.0)
    assert again.horizon == 3.0


def test_on_views_a_turned_encoder_is_told_and_polar_amplitudes_come_to_the_asymptotes() -> None:
    """Features of noisy views couple by a per cent only, but JEPA's encoder turns: what looks lost in the old frame is not."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 4)) * [3.0, 2.0, 1.5, 1.0]
    views = paired(x, x + 0.5 * rng.normal(size=x.shape))
    run = simulate(jepa(2), Data(views, diagonalise(second_moments(views))), epsilon=0.01)
    assert_allclose(run.curves.polar_amplitude[:, -1], run.experiment.predicted.asymptote, rtol=0.02)
    assert run.curves.off_diagonal[-1] > 0.3
    assert any("polar_amplitude does not depend" in text for text in run.remarks())


def test_layers_given_that_do_not_start_at_epsilon_are_told() -> None:
    layers = np.tile(np.sqrt(0.1) * np.eye(2), (3, 1, 1))
    assert any("The layers given start at" in text for text in simulate(mae(2), TWO, epsilon=1e-2, start=layers).remarks())
    assert simulate(mae(2), TWO, epsilon=0.1, start=layers).remarks() == []


def test_momentum_is_late_by_what_the_linear_growth_says_and_it_is_told() -> None:
    """Growing by s a step of the flow takes s / ((1 - m) ln z) as long, z the greater root of z^2 - (1 + m + s) z + m."""
    m, learning_rate = 0.9, 0.005
    run = simulate(mae(1), ONE, epsilon=1e-6, training=GradientDescent(learning_rate, "momentum", m))
    s = learning_rate * ONE.lam[0]
    whole = 1 + m + s
    z = (whole + np.sqrt(whole**2 - 4 * m)) / 2
    assert_allclose(run.ratio, s / ((1 - m) * np.log(z)), rtol=0.05)
    assert any(text.startswith("Momentum keeps to the time") for text in run.remarks())
    small = simulate(mae(1), ONE, epsilon=1e-2, training=GradientDescent(1e-4, "momentum", m))
    assert small.remarks() == []
    assert_allclose(small.ratio, 1.0, atol=0.02)


def test_a_run_with_momentum_lasts_until_its_features_are_learned() -> None:
    run = simulate(mae(2), TWO, epsilon=1e-2, start="orthogonal", training=GradientDescent(0.05, "momentum"), seed=1)
    assert [status.value for status in run.status] == ["reached", "reached"]


def test_momentum_bears_a_learning_rate_that_plain_descent_does_not() -> None:
    """The limit of the heavy ball is 1 + m times that of plain descent, not 1 - m times."""
    run = simulate(mae(1), ONE, epsilon=0.1, training=GradientDescent(0.3, "momentum", 0.9), until=3000.0)
    assert not any("unstable" in text for text in run.remarks())
    assert_allclose(run.layers[1] @ run.layers[0], [[0.9]], rtol=1e-6)
