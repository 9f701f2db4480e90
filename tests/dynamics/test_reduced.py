import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Features, Objective, ParameterError, critical_times, jepa, mae
from dynamics.reduced import Method, integrated_critical_times


@pytest.mark.parametrize(
    "objective", [make(depth, layers) for make in (jepa, mae) for depth in range(1, 9) for layers in (1, 2)]
)
@pytest.mark.parametrize("epsilon", [1e-1, 1e-4, 1e-12, 1e-300])
def test_integration_agrees_with_the_closed_form(objective: Objective, epsilon: float) -> None:
    rng = np.random.default_rng(5)
    features = Features(lam=10.0 ** rng.uniform(-3, 3, 50), rho=10.0 ** rng.uniform(-1, 0.5, 50))
    exact = critical_times(objective, features, epsilon=epsilon, fraction=0.9)
    integrated = integrated_critical_times(objective, features, epsilon=epsilon, fraction=0.9)
    assert_array_equal(integrated.status, exact.status)
    reached = np.isfinite(exact.log10_time)
    assert_allclose(integrated.log10_time[reached] - exact.log10_time[reached], 0.0, atol=4e-10)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"])
def test_every_method_of_scipy_gets_there(method: Method) -> None:
    features = Features(lam=[1.0, 0.8], rho=[0.5, 1.2])
    for objective in (jepa(1), jepa(2), mae(3)):
        for epsilon in (1e-2, 1e-300):
            exact = critical_times(objective, features, epsilon=epsilon)
            integrated = integrated_critical_times(objective, features, epsilon=epsilon, method=method)
            assert_array_equal(integrated.status, exact.status)
            reached = np.isfinite(exact.log10_time)
            assert_allclose(integrated.log10_time[reached], exact.log10_time[reached], rtol=1e-15, atol=4e-10)


def test_features_that_are_not_reached_keep_their_status() -> None:
    features = Features(lam=[-1.0, 0.0, 1.0], sigma=[1.0, 1.0, 10.0])
    integrated = integrated_critical_times(jepa(2), features, epsilon=0.1)
    assert_array_equal(integrated.time, [np.inf, np.inf, 0.0])


def test_an_unknown_method_is_named() -> None:
    with pytest.raises(ParameterError, match="method is Euler; it must be one of RK23, RK45, DOP853, Radau, BDF, LSODA"):
        integrated_critical_times(jepa(2), Features(lam=1.0, rho=1.0), epsilon=0.1, method="Euler")  # type: ignore[arg-type]
