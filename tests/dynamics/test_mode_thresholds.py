"""Where a feature is lost, found by bisection on the regime, against the formulas of the theory page."""

from collections.abc import Callable
from math import sqrt

import pytest
from numpy.testing import assert_allclose

from dynamics import Features, Objective, Status, jepa, mae
from dynamics.modes import weight_decay_fold
from dynamics.reduced import mode_times
from dynamics.regime import Regime


def threshold(lost: Callable[[float], bool], alive: float, dead: float) -> float:
    """The parameter at which a feature changes from alive to lost."""
    assert not lost(alive)
    assert lost(dead)
    while abs(dead - alive) > 1e-9 * abs(dead):
        middle = 0.5 * (alive + dead)
        alive, dead = (alive, middle) if lost(middle) else (middle, dead)
    return 0.5 * (alive + dead)


def collapses(objective: Objective, lam: float, rho: float, epsilon: float, regime: Regime) -> bool:
    result = mode_times(objective, Features(lam=lam, rho=rho), epsilon=epsilon, regime=regime)
    return result.status[0] is Status.COLLAPSES


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("rate", [1.0, 0.5, 4.0])
def test_a_latent_predictor_collapses_where_its_start_is_too_strong(depth: int, layers: int, rate: float) -> None:
    """v -> rho^(1/M) at a fixed point, so u^2 = rho^(2/M)/kappa - c must be positive; for M = 1, kappa = 1 rho > sqrt(c)."""
    epsilon, start = 1e-3, 0.8
    balance = start**2 / rate - epsilon ** (2 / depth)
    objective = jepa(depth, layers)
    found = threshold(
        lambda rho: collapses(objective, 1.0, rho, epsilon, Regime(predictor_start=start, predictor_rate=rate)), 3.0, 1e-3
    )
    assert found == pytest.approx(sqrt(rate * balance) ** layers, rel=1e-6)


@pytest.mark.parametrize("depth", [2, 3])
def test_a_masked_autoencoder_does_not_collapse(depth: int) -> None:
    assert not collapses(mae(depth), 1.0, 1e-3, 1e-6, Regime(predictor_start=0.5))


@pytest.mark.parametrize(
    "objective", [jepa(1), jepa(2), jepa(3), jepa(2, 2), mae(1), mae(2), mae(3), mae(2, 3)], ids=lambda o: f"{o.name}{o.depth}"
)
def test_weight_decay_above_the_fold_loses_the_feature(objective: Objective) -> None:
    lam, rho, a, b = 1.3, 0.8, objective.a, objective.b
    total = a - 1 + b
    fold = lam * (rho * (a - 1) / total) ** ((a - 1) / b) * b / total if a > 1 else lam
    assert_allclose(weight_decay_fold(objective, Features(lam=lam, rho=rho)), fold, rtol=1e-13)
    # The start lies between the two fixed points, which meet at z = (a - 1) / (a - 1 + b).
    meeting = ((a - 1) / total * rho) ** (objective.depth / b) if a > 1 else 1e-6
    found = threshold(lambda eta: collapses(objective, lam, rho, meeting, Regime(weight_decay=eta)), 0.5 * fold, 2.0 * fold)
    assert found == pytest.approx(fold, rel=1e-6)


def test_below_the_lower_fixed_point_a_feature_is_lost() -> None:
    """lam u^(a-1) (1 - u^b / rho) = eta has its lower root at the start."""
    objective, lam, rho = jepa(2), 1.0, 0.9
    for epsilon in (1e-1, 1e-3):
        u = epsilon**0.5
        lower = lam * u ** (objective.a - 1) * (1 - u**objective.b / rho)
        found = threshold(
            lambda eta, epsilon=epsilon: collapses(objective, lam, rho, epsilon, Regime(weight_decay=eta)),  # type: ignore[misc]
            0.5 * lower,
            2.0 * lower,
        )
        assert found == pytest.approx(lower, rel=1e-6)


@pytest.mark.parametrize("lam", [1.0, 0.7, 3.0])
def test_a_start_on_the_unstable_fixed_point_is_not_learned(lam: float) -> None:
    """There growth and decay cancel, and what rounding leaves of them is no rate."""
    features, epsilon = Features(lam=lam, rho=1.0), 0.01
    layer = epsilon**0.5
    decay = lam * layer**3 * (1 - layer)
    found = mode_times(jepa(2), features, epsilon=epsilon, regime=Regime(weight_decay=decay))
    assert found.status[0] is Status.COLLAPSES
    above = mode_times(jepa(2), features, epsilon=epsilon, regime=Regime(weight_decay=decay * (1 - 1e-9)))
    assert above.status[0] is Status.REACHED
