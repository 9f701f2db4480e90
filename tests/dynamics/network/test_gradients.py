"""Gradients against differences of 1/2 E|V W x - T y|^2, which is quadratic in every entry: central differences are exact."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Objective, jepa, mae, supervised
from dynamics.features import FloatArray
from dynamics.network.gradients import Gradients, loss
from dynamics.network.moments import Moments, SampleMoments
from tests.dynamics.network.setting import chain, halves, random_moments

WIDTH = 3
OBJECTIVES = [make(depth, predictor) for make in (jepa, mae) for depth in (1, 2, 3, 4) for predictor in (1, 2, 3)]


def layers_of(objective: Objective, seed: int) -> FloatArray:
    count = objective.depth + objective.predictor_depth
    return np.random.default_rng(seed).standard_normal((count, WIDTH, WIDTH)) / np.sqrt(WIDTH)


def loss_between(seen: FloatArray, target: FloatArray, moments: Moments) -> float:
    """1/2 E|A x - T y|^2 as three traces."""
    square = np.trace(seen @ moments.input_covariance @ seen.T) + np.trace(target @ moments.target_covariance @ target.T)
    return float(square / 2 - np.trace(target @ moments.cross_covariance @ seen.T))


def target_of(objective: Objective, layers: FloatArray) -> FloatArray:
    return halves(objective, layers)[0] if objective.name == "jepa" else np.eye(WIDTH)


def downhill(loss: Callable[[FloatArray], float], layers: FloatArray, step: float = 0.125) -> FloatArray:
    """Minus the slope in every entry."""
    slope = np.empty_like(layers)
    for place in np.ndindex(layers.shape):
        nudge = np.zeros_like(layers)
        nudge[place] = step
        slope[place] = (loss(layers - nudge) - loss(layers + nudge)) / (2 * step)
    return slope


def assert_close(found: FloatArray, expected: FloatArray) -> None:
    assert np.abs(found - expected).max() <= 1e-7 * np.abs(expected).max()
    assert np.abs(found - expected).max() <= 1e-12 * np.abs(expected).max() + 1e-12  # what rounding leaves of exact differences


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_descent_is_minus_the_slope_of_the_loss_with_the_target_frozen(objective: Objective) -> None:
    moments, layers = random_moments(1, WIDTH), layers_of(objective, 2)
    frozen = target_of(objective, layers)
    expected = downhill(lambda moved: loss_between(chain(moved), frozen, moments), layers)
    assert_close(Gradients(objective, moments)(list(layers)), expected)


@pytest.mark.parametrize("objective", [o for o in OBJECTIVES if o.name == "jepa"], ids=str)
def test_a_teacher_takes_the_place_of_the_frozen_encoder(objective: Objective) -> None:
    moments, layers = random_moments(3, WIDTH), layers_of(objective, 4)
    teacher = np.random.default_rng(5).standard_normal((WIDTH, WIDTH))
    expected = downhill(lambda moved: loss_between(chain(moved), teacher, moments), layers)
    assert_close(Gradients(objective, moments)(list(layers), teacher), expected)


@pytest.mark.parametrize("objective", [o for o in OBJECTIVES if o.name == "jepa"], ids=str)
def test_without_stop_gradient_nothing_is_frozen(objective: Objective) -> None:
    moments, layers = random_moments(6, WIDTH), layers_of(objective, 7)
    expected = downhill(lambda moved: loss_between(chain(moved), target_of(objective, moved), moments), layers)
    assert_close(Gradients(objective, moments, stop_gradient=False)(list(layers)), expected)


@pytest.mark.parametrize("objective", [jepa(2), mae(2, 2)], ids=str)
def test_diagonal_moments_need_no_other_rule(objective: Objective) -> None:
    moments = Moments(np.diag([1.0, 0.5, 2.0]), np.diag([0.7, 0.0, -0.3]), np.diag([1.0, 0.4, 1.5]))
    layers = layers_of(objective, 8)
    frozen = target_of(objective, layers)
    expected = downhill(lambda moved: loss_between(chain(moved), frozen, moments), layers)
    assert_close(Gradients(objective, moments)(list(layers)), expected)


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_a_supervised_network_is_an_mae_with_one_decoder_layer(depth: int) -> None:
    moments, layers = random_moments(9, WIDTH), layers_of(mae(depth - 1), 10)
    assert_array_equal(Gradients(supervised(depth), moments)(list(layers)), Gradients(mae(depth - 1), moments)(list(layers)))


@pytest.mark.parametrize("objective", [jepa(1), jepa(3, 2), mae(1), mae(2, 3)], ids=str)
def test_the_loss_is_the_mean_over_samples(objective: Objective) -> None:
    rng = np.random.default_rng(11)
    x = rng.standard_normal((50, WIDTH)) @ rng.standard_normal((WIDTH, WIDTH))
    y = 0.5 * x[:, ::-1] + rng.standard_normal((50, WIDTH))
    layers = layers_of(objective, 12)
    encoder, predictor = halves(objective, layers)
    for teacher in (None, rng.standard_normal((WIDTH, WIDTH))) if objective.name == "jepa" else (None,):
        target = target_of(objective, layers) if teacher is None else teacher
        error = x @ (predictor @ encoder).T - y @ target.T
        moments = SampleMoments(x, y)
        assert_allclose(loss(objective, moments, layers, teacher), np.square(error).sum(axis=1).mean() / 2, rtol=1e-12)


def test_a_new_batch_replaces_the_moments_and_nothing_is_left_of_the_last_call() -> None:
    objective, layers = jepa(2), layers_of(jepa(2), 13)
    full, diagonal = random_moments(14, WIDTH), Moments(np.eye(WIDTH), 0.5 * np.eye(WIDTH), np.eye(WIDTH))
    gradients = Gradients(objective, full)
    first = gradients(list(layers)).copy()
    gradients.renew(diagonal)
    assert_array_equal(gradients(list(layers)), Gradients(objective, diagonal)(list(layers)))
    gradients.renew(full)
    assert_array_equal(gradients(list(layers)), first)


def test_the_products_on_the_way_are_kept() -> None:
    objective, layers = mae(3, 2), layers_of(mae(3, 2), 15)
    gradients = Gradients(objective, random_moments(16, WIDTH))
    gradients(list(layers))
    for count in range(1, 6):
        assert_allclose(gradients.products[count - 1], chain(layers[:count]), atol=1e-14)
