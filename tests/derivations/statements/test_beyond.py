"""Beyond balance and positive covariances: trained features do as the statements say."""

from collections.abc import Callable, Sequence
from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq

from derivations.statements import beyond, signs  # noqa: F401

LAM, SIGMA = 0.9, 1.2
RHO = LAM / SIGMA**2


def train(rates: Callable[..., Sequence[float]], start: Sequence[float], time: float) -> np.ndarray:
    """Amplitudes after some time of gradient flow."""
    run = solve_ivp(lambda _, y: rates(*y), (0, time), start, method="LSODA", rtol=1e-10, atol=1e-13)
    assert run.success
    return run.y[:, -1]


def jepa(depth: int, lam: float = LAM, sigma: float = SIGMA, kappa: float = 1.0, decay: float = 0.0):
    """(du/dt, dv/dt) of one feature from the matrix gradients of the loss, all matrices 1 x 1 and one predictor layer."""

    def rates(u: float, v: float) -> tuple[float, float]:
        error = v * u**depth * sigma**2 - u**depth * lam
        return -v * error * u ** (depth - 1) - decay * u, kappa * -error * u**depth - decay * v

    return rates


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("beta", [0.05, 20.0])
def test_ema_teacher_of_any_rate_ends_at_the_power_of_rho_and_keeps_balance(depth, beta):
    def rates(u, v, teacher):
        error = v * u**depth * SIGMA**2 - teacher**depth * LAM
        return -v * error * u ** (depth - 1), -error * u**depth, beta * (u - teacher)

    u, v, teacher = train(rates, (0.4, 0.4, 0.4), 2000)
    assert_allclose(u, v, rtol=1e-8)
    assert_allclose([u**depth, teacher**depth], RHO**depth, rtol=1e-6)


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("start", [(0.3, 0.5), (0.4, 0.1)])
def test_unbalanced_run_ends_where_the_conserved_difference_says(depth, start):
    u, v = train(jepa(depth), start, 20000)
    c = start[1] ** 2 - start[0] ** 2
    assert_allclose(v**2 - u**2, c, atol=1e-8)
    assert_allclose(u**depth, (RHO**2 - c) ** (depth / 2), rtol=1e-6)


@pytest.mark.parametrize(("rho", "end"), [(0.45, 0.0), (0.55, (0.55**2 - 0.5**2) ** 0.5)])
def test_feature_survives_an_unbalanced_start_if_rho_exceeds_the_predictor(rho, end):
    u, _ = train(jepa(1, lam=rho, sigma=1.0), (1e-4, 0.5), 4000)
    assert_allclose(u, end, atol=1e-4)


@pytest.mark.parametrize("depth", [1, 3])
def test_unbalanced_time_is_the_quadrature(depth):
    u0, v0, u1 = 0.3, 0.5, 0.35

    def slowness(u):
        v = (u**2 + v0**2 - u0**2) ** 0.5
        return 1 / (u ** (2 * depth - 1) * v * (LAM - SIGMA**2 * v))

    assert_allclose(train(jepa(depth), (u0, v0), quad(slowness, u0, u1)[0])[0], u1, rtol=1e-8)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("kappa", [0.25, 4.0])
def test_faster_predictor_moves_the_asymptote(depth, kappa):
    u0 = 0.35
    u, v = train(jepa(depth, kappa=kappa), (u0, u0), 10000)
    assert_allclose(v**2 / kappa - u**2, u0**2 / kappa - u0**2, atol=1e-8)
    assert_allclose(u**depth, (u0**2 + (RHO**2 - u0**2) / kappa) ** (depth / 2), rtol=1e-6)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_weight_decay_below_the_fold_keeps_the_feature_and_above_it_does_not(depth):
    a = 2 * depth  # JEPA with one predictor layer: b = 1
    summit = RHO * (a - 1) / a
    fold = LAM * summit ** (a - 1) / a
    upper = brentq(lambda u: LAM * u ** (a - 1) * (1 - u / RHO) - 0.9 * fold, summit, RHO)
    lower = brentq(lambda u: LAM * u ** (a - 1) * (1 - u / RHO) - 0.9 * fold, 0, summit)
    ends = [train(jepa(depth, decay=0.9 * fold), (u, u), 1000 / fold)[0] for u in (1.1 * lower, 0.9 * lower)]
    assert_allclose(ends, (upper, 0), atol=1e-6)
    assert_allclose(train(jepa(depth, decay=1.1 * fold), (summit, summit), 1000 / fold)[0], 0, atol=1e-6)


def test_weight_decay_shrinks_the_imbalance_exponentially():
    u, v = train(jepa(2, decay=0.1), (0.3, 0.6), 4)
    assert_allclose(v**2 - u**2, (0.6**2 - 0.3**2) * np.exp(-0.8), rtol=1e-8)


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_feature_without_covariance_decays_like_a_square_root_of_time(depth):
    epsilon, time = 0.3, 50.0
    u, _ = train(jepa(depth, lam=0.0), 2 * (epsilon ** (1 / depth),), time)
    assert_allclose(u**depth, (epsilon**-2 + 2 * depth * SIGMA**2 * time) ** -0.5, rtol=1e-7)


@pytest.mark.parametrize("depth", [1, 2])
def test_negative_covariance_decays_as_the_law_says(depth):
    time = 1e9
    u, _ = train(jepa(depth, lam=-LAM), (0.5, 0.5), time)
    assert_allclose(u**depth, ((2 * depth - 1) * LAM * time) ** (-depth / (2 * depth - 1)), rtol=5e-3)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_negative_covariance_is_learned_from_a_negative_predictor(depth):
    u, v = train(jepa(depth, lam=-LAM), (0.4, -0.4), 3000)
    assert_allclose((u**depth, v), (RHO**depth, -RHO), rtol=1e-6)


def test_negative_covariance_is_learned_too_from_a_positive_predictor_smaller_than_the_encoder():
    u, v = train(jepa(1, lam=-LAM), (0.4, 0.1), 1000)
    assert_allclose((u, v), ((RHO**2 + 0.4**2 - 0.1**2) ** 0.5, -RHO), rtol=1e-6)


@pytest.mark.parametrize(("a", "b"), [(2, 1), (5, 2), (3, 4)])
@pytest.mark.parametrize(("share", "end"), [(0.97, 0.0), (1.03, inf)])
def test_gradient_descent_settles_below_the_largest_step_only(a, b, share, end):
    rest = RHO ** (1 / b)
    step = share * 2 / (LAM * b * rest ** (a - 1))
    u = rest * (1 + 1e-6)
    for _ in range(200):
        u += step * LAM * u**a * (1 - u**b / RHO)
    distance = abs(u / rest - 1) / 1e-6
    assert distance < 0.01 if end == 0 else distance > 100


@pytest.mark.parametrize(("a", "b"), [(2, 1), (5, 2), (3, 4)])
def test_gradient_descent_misses_the_second_order(a, b):
    u, step = 0.6, 1e-3
    rate, slope = LAM * u**a * (1 - u**b / RHO), LAM * (a * u ** (a - 1) - (a + b) * u ** (a + b - 1) / RHO)
    flow = train(lambda y: (LAM * y**a * (1 - y**b / RHO),), (u,), step)[0]
    assert_allclose((flow - u - step * rate) / step**2, rate * slope / 2, rtol=1e-2)


def layer_gradients(loss: Callable[[np.ndarray], float], layers: np.ndarray) -> np.ndarray:
    """Central differences by each layer on its own."""
    nudges = 1e-5 * np.eye(len(layers))
    return np.array([(loss(layers + nudge) - loss(layers - nudge)) / 2e-5 for nudge in nudges])


@pytest.mark.parametrize(("depth", "predictor_depth"), [(1, 1), (3, 2)])
def test_without_the_stop_gradient_separate_layers_follow_the_control_and_shrink(depth, predictor_depth):
    u, v, spread = 0.8, 0.9, 1.1

    def loss(layers):
        encoder, predictor = layers[:depth].prod(), layers[depth:].prod()
        return ((predictor * encoder * SIGMA) ** 2 - 2 * predictor * encoder**2 * LAM + (encoder * spread) ** 2) / 2

    gradients = layer_gradients(loss, np.array([u] * depth + [v] * predictor_depth))
    p = v**predictor_depth
    encoder = u ** (2 * depth - 1) * (2 * LAM * p - SIGMA**2 * p**2 - spread**2)
    predictor = u ** (2 * depth) * p / v * (LAM - SIGMA**2 * p)
    assert_allclose(-gradients, [encoder] * depth + [predictor] * predictor_depth, rtol=1e-6)
    assert_allclose(2 * (v * predictor - u * encoder), 2 * u ** (2 * depth) * (spread**2 - LAM * p), rtol=1e-12)
    assert encoder < 0


@pytest.mark.parametrize(("depth", "predictor_depth"), [(1, 1), (2, 1), (2, 3)])
def test_regressing_on_y_ends_where_mae_does(depth, predictor_depth):
    def rates(u, v):
        error = v**predictor_depth * u**depth * SIGMA**2 - LAM
        return -error * v**predictor_depth * u ** (depth - 1), -error * v ** (predictor_depth - 1) * u**depth

    u, _ = train(rates, (0.5, 0.5), 500)
    assert_allclose(u**depth, RHO ** (depth / (depth + predictor_depth)), rtol=1e-7)
