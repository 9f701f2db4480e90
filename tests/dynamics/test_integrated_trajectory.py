import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics import Features, Objective, amplitude, jepa, mae, trajectories
from dynamics.integrated_trajectory import (
    integrated_trajectories,
    integrated_trajectories_around,
    integrated_trajectories_at,
)
from dynamics.trajectory import amplitude_around

EVERY_KIND = Features(lam=[1.0, 0.5, -0.4, 0.0, 2.0], sigma=[1.0, 0.8, 1.0, 1.0, 30.0])
OBJECTIVES = [jepa(1), jepa(3), jepa(2, 3), mae(1), mae(4), mae(2, 2)]


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
@pytest.mark.parametrize("epsilon", [1e-12, 3e-2, 0.3])
def test_integrated_curves_are_the_exact_ones(objective: Objective, epsilon: float) -> None:
    curves = integrated_trajectories(objective, EVERY_KIND, epsilon=epsilon)
    exact = trajectories(objective, EVERY_KIND, epsilon=epsilon)
    assert_allclose(curves.time, exact.time, rtol=1e-9)
    told = curves.difference[curves.difference != None].astype(float)  # noqa: E711
    assert told.max() < 1e-9


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_amplitudes_at_given_times_are_the_exact_ones(objective: Objective) -> None:
    times = np.linspace(0.0, 60.0, 31)
    curves = integrated_trajectories_at(objective, EVERY_KIND, epsilon=0.1, time=times)
    assert_allclose(curves.amplitude, amplitude(objective, EVERY_KIND, epsilon=0.1, time=times), rtol=1e-9)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_amplitudes_around_the_critical_time_are_the_exact_ones(objective: Objective) -> None:
    features, since = Features(lam=[1.0, 0.5], rho=[0.9, 1.1]), np.linspace(-5.0, 5.0, 21)
    curves = integrated_trajectories_around(objective, features, epsilon=1e-6, time=since)
    exact = amplitude_around(objective, features, epsilon=1e-6, fraction=0.5, time=since)
    assert_allclose(curves.amplitude, exact, rtol=1e-9)
