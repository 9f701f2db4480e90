import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dynamics import Features, Objective, ParameterError, amplitude, critical_times, jepa, mae, trajectories
from tests.strategies import objectives

EVERY_KIND = Features(lam=[1.0, 0.5, -0.4, 0.0, 2.0], sigma=[1.0, 0.8, 1.0, 1.0, 30.0])


@pytest.mark.parametrize("objective", [jepa(1), jepa(3), jepa(2, 3), mae(1), mae(4), mae(2, 2)], ids=str)
@pytest.mark.parametrize("epsilon", [3e-2, 0.3, 2.0])
def test_the_points_lie_on_the_curve(objective: Objective, epsilon: float) -> None:
    curves = trajectories(objective, EVERY_KIND, epsilon=epsilon, points=25)
    assert_allclose(amplitude(objective, EVERY_KIND, epsilon=epsilon, time=curves.time), curves.amplitude, rtol=1e-11)


@given(objectives(), st.floats(-12, -2), st.floats(0.05, 0.99))
def test_points_resolve_the_transition(objective: Objective, log_epsilon: float, fraction: float) -> None:
    """Half the way to the asymptote never falls between points that are far apart on the logit scale."""
    feature = Features(lam=1.0, rho=1.0)
    curves = trajectories(objective, feature, epsilon=10**log_epsilon, fraction=fraction, points=400)
    share = curves.amplitude[0]
    assert share[0] == pytest.approx(10**log_epsilon)
    assert share[-1] > 0.998
    logit = np.log(share ** (objective.b / objective.depth)) - np.log1p(
        -(np.minimum(share, 1 - 1e-12) ** (objective.b / objective.depth))
    )
    assert np.diff(logit).max() < 2.0 * np.median(np.diff(logit))


def test_time_from_critical_resolves_what_time_cannot() -> None:
    """JEPA, L = 2, epsilon = 1e-12: the spacing of doubles at the critical time is 64 and the transition lasts about 1."""
    feature = Features(lam=1.0, rho=1.0)
    curves = trajectories(jepa(2), feature, epsilon=1e-12, points=200)
    near = np.abs(curves.time_from_critical[0]) < 3.0
    assert near.sum() > 10
    assert len(set(curves.time[0, near])) < near.sum()
    assert (np.diff(curves.time_from_critical[0, near]) > 0).all()
    u = np.sqrt(curves.amplitude[0, near])
    # dt = du / (u^4 (1 - u)) between neighbouring points, by Simpson's rule on a fine mesh in u
    mesh = np.linspace(u[:-1], u[1:], 2001)
    rate = 1.0 / (mesh**4 * (1.0 - mesh))
    weights = np.ones(2001)
    weights[1:-1:2], weights[2:-1:2] = 4.0, 2.0
    expected = (weights[:, None] * rate).sum(axis=0) * (u[1:] - u[:-1]) / 2000 / 3
    assert_allclose(np.diff(curves.time_from_critical[0, near]), expected, rtol=1e-9)


def test_time_from_critical_is_zero_at_the_fraction() -> None:
    feature = Features(lam=[1.0, 0.7], rho=[0.5, 1.4])
    curves = trajectories(mae(3), feature, epsilon=1e-4, fraction=0.7, points=2001)
    critical = critical_times(mae(3), feature, epsilon=1e-4, fraction=0.7)
    for row in range(2):
        at = np.interp(0.7 * critical.asymptote[row], curves.amplitude[row], curves.time_from_critical[row])
        assert abs(at) < 1e-4 * critical.time[row]
    assert_allclose(curves.time - curves.time_from_critical, critical.time[:, None] * np.ones((1, 2001)), rtol=1e-12)


def test_a_feature_that_is_never_learned_is_infinitely_before_its_time() -> None:
    curves = trajectories(jepa(2), Features(lam=[-1.0, 0.0], sigma=1.0), epsilon=0.1, points=5)
    assert (curves.time_from_critical == -np.inf).all()
    assert_allclose(curves.amplitude[:, -1], 0.001)


def test_fewer_than_two_points_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"points is 1; it must be a whole number, at least 2\."):
        trajectories(jepa(2), Features(lam=1.0, rho=1.0), epsilon=0.1, points=1)
