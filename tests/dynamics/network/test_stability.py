"""The largest stable learning rate against a Jacobian written from the theory, and against runs on both sides of it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics import Features, Objective, jepa, mae
from dynamics.features import FloatArray
from dynamics.network.descent import GradientDescent
from dynamics.network.gradients import Gradients
from dynamics.network.moments import Moments, moments_of_features
from dynamics.network.outcome import Outcome
from dynamics.network.stability import stable_learning_rate
from dynamics.reduced import mode_times
from dynamics.regime import Regime
from dynamics.simulation import simulate
from tests.dynamics.network.setting import EIGHT, ONE, TWO, chain, halves, random_moments

OBJECTIVES = [jepa(1), jepa(2), jepa(3), jepa(1, 2), mae(1), mae(2), mae(2, 2)]


def limit_of(objective: Objective, features: Features, regime: Regime | None = None) -> float:
    gradients = Gradients(objective, moments_of_features(features))
    power = objective.depth / objective.b
    return stable_learning_rate(gradients, regime or Regime(), features.rho, features.rho**power)


def descent(objective: Objective, features: Features, layers: FloatArray) -> FloatArray:
    """Section 1, layer by layer."""
    inputs, cross = np.diag(features.sigma**2), np.diag(features.lam)
    encoder, predictor = halves(objective, layers)
    error = predictor @ encoder @ inputs - (encoder @ cross if objective.name == "jepa" else cross)
    return -np.array([chain(layers[k + 1 :]).T @ error @ chain(layers[:k]).T for k in range(len(layers))])


def fastest_rate(objective: Objective, features: Features) -> float:
    """Of the flow linearised at its fixed point v^(M) u^(L-L') = rho, balanced, in all directions."""
    layer = np.diag(features.rho ** (1 / objective.b))
    layers = np.tile(layer, (objective.depth + objective.predictor_depth, 1, 1))
    assert np.abs(descent(objective, features, layers)).max() < 1e-13
    columns = []
    for place in np.ndindex(layers.shape):
        nudge = np.zeros_like(layers)
        nudge[place] = 1e-5
        slope = descent(objective, features, layers + nudge) - descent(objective, features, layers - nudge)
        columns.append(slope.ravel() / 2e-5)
    return float(np.abs(np.linalg.eigvals(np.array(columns).T)).max())


@pytest.mark.parametrize("features", [ONE, TWO], ids=["one", "two"])
@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_the_limit_is_2_over_the_fastest_rate(objective: Objective, features: Features) -> None:
    limit = limit_of(objective, features)
    assert_allclose(limit, 2 / fastest_rate(objective, features), rtol=1e-8)


@pytest.mark.parametrize("objective", [jepa(1), mae(2)], ids=str)
def test_the_limit_of_many_features_too(objective: Objective) -> None:
    assert_allclose(limit_of(objective, EIGHT), 2 / fastest_rate(objective, EIGHT), rtol=1e-8)


MIXED = Features(lam=[1.0, -0.7, 0.4], sigma=[1.1, 1.0, 0.9])
REGIMES = [Regime(weight_decay=0.01), Regime(weight_decay=1e-3, predictor_rate=3.0)]


@pytest.mark.parametrize("regime", REGIMES, ids=["decay", "rate"])
@pytest.mark.parametrize("features", [TWO, MIXED], ids=["two", "negative"])
@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_the_end_is_a_fixed_point_under_weight_decay_too_and_all_its_directions_count(
    objective: Objective, features: Features, regime: Regime
) -> None:
    """Each layer of V is sqrt(kappa) times one of W: decay forgets what else they started with."""
    asymptote = mode_times(objective, features, epsilon=0.4, regime=regime).asymptote
    encoder = np.abs(asymptote) ** (1 / objective.depth)
    kappa, decay = float(regime.predictor_rate), float(regime.weight_decay)
    end = np.stack(
        [np.diag(encoder)] * objective.depth
        + [np.diag(np.sign(features.rho) * np.sqrt(kappa) * encoder)] * objective.predictor_depth
    )
    rates = np.array([1.0] * objective.depth + [kappa] * objective.predictor_depth)[:, None, None]

    def flow(layers: FloatArray) -> FloatArray:
        return rates * descent(objective, features, layers) - decay * layers

    assert np.abs(flow(end)).max() < 1e-9
    columns = []
    for place in np.ndindex(end.shape):
        nudge = np.zeros_like(end)
        nudge[place] = 1e-5
        columns.append((flow(end + nudge) - flow(end - nudge)).ravel() / 2e-5)
    limit = stable_learning_rate(Gradients(objective, moments_of_features(features)), regime, features.rho, asymptote)
    assert_allclose(limit, 2 / np.abs(np.linalg.eigvals(np.array(columns).T)).max(), rtol=1e-7)


@pytest.mark.parametrize("momentum", [0.5, 0.9])
def test_the_heavy_ball_bears_a_larger_learning_rate(momentum: float) -> None:
    """Around the end, where it starts: far from it a large rate overshoots."""
    objective = mae(2)
    gradients, asymptote = Gradients(objective, moments_of_features(TWO)), TWO.rho ** (2 / 3)
    limit = stable_learning_rate(gradients, Regime(), TWO.rho, asymptote, momentum)
    assert_allclose(limit, (1 + momentum) * limit_of(objective, TWO), rtol=1e-12)
    end = np.tile(np.diag(TWO.rho ** (1 / 3)), (3, 1, 1))
    for share, settles in ((0.95, True), (1.05, False)):
        training = GradientDescent(share * limit, "momentum", momentum)
        run = simulate(objective, TWO, epsilon=0.1, start=1.001 * end, until=500 * training.time_step, training=training)
        assert np.allclose(run.amplitude, asymptote, rtol=1e-6) == settles


def test_only_the_diagonals_of_coupled_moments_count() -> None:
    coupled = random_moments(3, 2)
    plain = Moments(*(np.diag(np.diagonal(part)) for part in vars(coupled).values()))
    rho = plain.features().rho
    limits = [
        stable_learning_rate(Gradients(mae(1), moments), Regime(), rho, np.abs(rho) ** 0.5) for moments in (coupled, plain)
    ]
    assert limits[0] == limits[1]


@pytest.mark.parametrize("objective", [jepa(2), jepa(3), mae(2)], ids=str)
def test_the_balanced_direction_is_no_stiffer_than_the_whole(objective: Objective) -> None:
    u = TWO.rho ** (1 / objective.b)
    balanced = 2 / (TWO.lam * objective.b * u ** (objective.a - 1))
    assert limit_of(objective, TWO) <= balanced.min() * (1 + 2e-3)


@pytest.mark.parametrize("objective", [jepa(2), mae(1), mae(2)], ids=str)
def test_descent_settles_below_the_limit_and_not_above(objective: Objective) -> None:
    limit = limit_of(objective, TWO)
    asymptote = TWO.rho ** (objective.depth / objective.b)
    calm = simulate(objective, TWO, epsilon=0.1, until=600.0, training=GradientDescent(0.95 * limit))
    assert calm.ending.outcome is Outcome.COMPLETED
    assert_allclose(calm.amplitude, asymptote, rtol=1e-6)
    assert calm.remarks() == []
    wild = simulate(objective, TWO, epsilon=0.1, until=600.0, training=GradientDescent(1.05 * limit))
    assert np.abs(wild.amplitude / asymptote - 1).max() > 1e-3
    assert any("stable" in remark for remark in wild.remarks())


def test_a_faster_predictor_lowers_the_limit() -> None:
    regime = Regime(predictor_rate=3.0)
    features = TWO
    asymptote = ((0.1**2) + (features.rho**2 - 0.1**2) / 3.0) ** 0.5
    gradients = Gradients(jepa(1), moments_of_features(features))
    fast = stable_learning_rate(gradients, regime, features.rho, asymptote)
    slow = stable_learning_rate(gradients, replace(regime, predictor_rate=1.0), features.rho, asymptote)
    assert fast < slow


def test_where_nothing_is_learned_any_rate_is_stable() -> None:
    features = Features(lam=[-1.0, 0.0], sigma=[1.0, 1.0])
    gradients = Gradients(jepa(2), moments_of_features(features))
    assert stable_learning_rate(gradients, Regime(), features.rho, np.zeros(2)) == np.inf


def test_a_single_feature_of_a_single_layer_has_a_limit_too() -> None:
    for objective in (jepa(1), mae(1)):
        run = simulate(objective, ONE, epsilon=0.1, training=GradientDescent(0.1))
        assert run.remarks() == []
