"""What is read off layers written by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics import Features, Objective, jepa, mae
from dynamics.features import FloatArray
from dynamics.network.descent import GradientDescent
from dynamics.network.gradients import Gradients, loss
from dynamics.network.moments import Moments, SampleMoments, moments_of_features
from dynamics.network.observables import Curves, Observer
from dynamics.network.starts import start_from
from dynamics.simulation import simulate
from tests.dynamics.network.setting import TWO, random_moments

QUARTER = np.array([[0.0, -1.0], [1.0, 0.0]])


def seen(
    objective: Objective, layers: FloatArray, frame_of: FloatArray | None = None, moments: Moments | SampleMoments | None = None
) -> Curves:
    """One look at the layers, in the frame of a start."""
    begun = np.tile(np.eye(layers.shape[-1]), (len(layers), 1, 1)) if frame_of is None else frame_of
    generator = np.random.default_rng(0)
    start = start_from(begun, objective, layers.shape[-1], encoder=1.0, predictor=1.0, generator=generator)
    gradients = Gradients(objective, moments or moments_of_features(TWO))
    observer = Observer(start, gradients, np.ones(layers.shape[-1]), 1.0, 0.01)
    observer.keep(0.0, layers)
    return observer.curves()


def test_amplitude_is_that_of_the_product_and_not_a_mean_of_layers() -> None:
    layers = np.array([np.diag([1.0, 4.0]), np.diag([9.0, 0.25]), np.eye(2)])
    assert_allclose(seen(jepa(2), layers).amplitude, [[9.0], [1.0]])
    assert_allclose(seen(mae(1, 2), layers).amplitude, [[1.0], [4.0]])


def test_amplitude_is_the_diagonal_in_the_feature_basis() -> None:
    layers = np.array([[[3.0, 1.0], [2.0, -5.0]], np.eye(2)])
    look = seen(jepa(1), layers)
    assert_allclose(look.amplitude[:, 0], [3.0, -5.0])
    assert_allclose(look.norm[:, 0], [np.sqrt(13), np.sqrt(26)])


def test_amplitude_is_read_in_the_frame_of_the_start() -> None:
    layers = np.array([QUARTER @ np.array([[3.0, 1.0], [2.0, 5.0]]), QUARTER.T])
    look = seen(mae(1), layers, np.array([QUARTER, QUARTER.T]))
    assert_allclose(look.amplitude[:, 0], [3.0, 5.0])
    assert_allclose(look.off_diagonal, np.sqrt(5 / 39))


def test_the_order_of_layers_is_from_the_input_up() -> None:
    first, second = np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[1.0, 0.0], [3.0, 1.0]])
    look = seen(jepa(2), np.array([first, second, np.eye(2)]))
    assert_allclose(look.amplitude[:, 0], [1.0, 7.0])


def test_polar_amplitudes_do_not_depend_on_a_turn_of_encoder_and_predictor() -> None:
    """Neither does the loss, of either objective."""
    size = np.array([[5.0, 1.0], [1.0, 3.0]])
    turn = np.linalg.qr(np.array([[1.0, 2.0], [-0.5, 3.0]]))[0]
    for objective, predictor in ((jepa(1), turn @ size @ turn.T), (mae(1), size @ turn.T)):
        look = seen(objective, np.array([turn @ size, predictor]))
        still = seen(objective, np.array([size, size]))
        assert_allclose(look.polar_amplitude[:, 0], [5.0, 3.0])
        assert_allclose(look.polar_off_diagonal, np.sqrt(2 / 36))
        assert_allclose(look.loss, still.loss)


def test_off_diagonal_is_a_share_of_the_norm() -> None:
    assert_allclose(seen(jepa(1), np.array([[[3.0, 4.0], [0.0, 0.0]], np.eye(2)])).off_diagonal, 0.8)
    assert_allclose(seen(jepa(1), np.array([[[0.0, 2.0], [3.0, 0.0]], np.eye(2)])).off_diagonal, 1.0)
    assert_allclose(seen(jepa(1), np.array([np.diag([3.0, 4.0]), np.ones((2, 2))])).off_diagonal, 0.0)


def test_singular_values_are_those_of_the_encoder_the_largest_first() -> None:
    assert_allclose(seen(jepa(1), np.array([[[0.0, 2.0], [-3.0, 0.0]], np.eye(2)])).singular_value[:, 0], [3.0, 2.0])
    layers = np.array([np.diag([1.0, 4.0]), np.diag([9.0, 0.25]), 7 * np.eye(2)])
    assert_allclose(seen(jepa(2), layers).singular_value[:, 0], [9.0, 1.0])


def test_predictor_eigenvalues_are_those_of_its_product_the_largest_first() -> None:
    layers = np.array([np.eye(2), [[2.0, 1.0], [0.0, -1.0]]])
    assert_allclose(seen(jepa(1), layers).predictor_eigenvalue[:, 0], [2.0, -1.0])
    layers = np.array([np.eye(2), [[2.0, 1.0], [0.0, -1.0]], np.diag([0.5, 3.0])])
    assert_allclose(seen(jepa(1, 2), layers).predictor_eigenvalue[:, 0], [1.0, -3.0])
    assert_allclose(seen(jepa(1), np.array([np.eye(2), QUARTER + 2 * np.eye(2)])).predictor_eigenvalue[:, 0], [2.0, 2.0])


def test_imbalance_is_the_greatest_over_neighbouring_layers() -> None:
    first, second, third = np.diag([1.0, 2.0]), np.diag([1.0, 3.0]), np.array([[0.0, 1.0], [1.0, 0.0]])
    look = seen(jepa(2), np.array([first, second, third]))  # differences diag(0, 5) and diag(0, -8)
    assert_allclose(look.imbalance, 8.0)
    one_sided = np.array([np.eye(2), [[1.0, 1.0], [0.0, 1.0]]])  # A'A = [[1, 1], [1, 2]]
    assert_allclose(seen(jepa(1), one_sided).imbalance, np.sqrt(3.0))
    other_side = np.array([[[1.0, 1.0], [0.0, 1.0]], np.eye(2)])  # B B' = [[2, 1], [1, 1]]
    assert_allclose(seen(jepa(1), other_side).imbalance, np.sqrt(3.0))
    assert seen(mae(1), np.array([QUARTER, QUARTER])).imbalance[0] == 0.0


@pytest.mark.parametrize("objective", [jepa(1), mae(1)], ids=str)
def test_loss_of_one_feature_by_hand(objective: Objective) -> None:
    """1/2 (v^2 w^2 sxx - 2 v w t syx + t^2 syy), t = w or 1."""
    moments = Moments(np.array([[2.0]]), np.array([[0.5]]), np.array([[1.5]]))
    w, v = 0.3, 0.7
    target = w if objective.name == "jepa" else 1.0
    expected = (v**2 * w**2 * 2.0 - 2 * v * w * target * 0.5 + target**2 * 1.5) / 2
    layers = np.array([[[w]], [[v]]])
    assert_allclose(seen(objective, layers, moments=moments).loss, expected)


def test_loss_is_the_mean_square_of_samples() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 30, 2))
    layers = rng.standard_normal((3, 2, 2))
    encoder = layers[1] @ layers[0]
    error = x @ (layers[2] @ encoder).T - y @ encoder.T
    look = seen(jepa(2), layers, moments=SampleMoments(x, y))
    assert_allclose(look.loss, np.square(error).sum() / 60)


def test_a_loss_is_never_negative() -> None:
    rng = np.random.default_rng(2)
    for objective in (jepa(2), mae(2)):
        for seed in range(20):
            layers = rng.standard_normal((3, 2, 2))
            assert seen(objective, layers, moments=random_moments(seed, 2)).loss[0] >= 0


def test_points_are_kept_where_something_moves_and_the_last_look_counts() -> None:
    start = start_from("balanced", jepa(1), 2, encoder=0.1, predictor=0.1, generator=np.random.default_rng(0))
    observer = Observer(start, Gradients(jepa(1), moments_of_features(TWO)), np.ones(2), 1.0, 0.1)
    observer.offer(0.0, start.layers)
    observer.offer(0.01, start.layers * 1.01)  # neither moved nor late
    observer.offer(0.02, start.layers * 3.0)
    observer.offer(0.5, start.layers * 3.0)
    assert_allclose(observer.curves().time, [0.0, 0.02, 0.5])
    observer.keep(0.5, start.layers * 9.0)  # the network moved on although the clock could not
    assert observer.curves().time[-1] == 0.5
    assert_allclose(observer.curves().amplitude[:, -1], 0.9)
    points = len(observer.curves().time)
    observer.keep(0.5, start.layers * 9.0)
    assert len(observer.curves().time) == points


@pytest.mark.parametrize("objective", [jepa(1), mae(1)], ids=str)
def test_the_loss_is_that_of_the_population_whatever_batch_came_last(objective: Objective) -> None:
    run = simulate(objective, TWO, epsilon=0.1, until=1.0, training=GradientDescent(0.05, batch=2))
    moments = moments_of_features(TWO)
    assert_allclose(run.curves.loss[-1], loss(objective, moments, run.layers), rtol=1e-12)
    assert_allclose(run.curves.loss[0], loss(objective, moments, run.start.layers), rtol=1e-12)


@pytest.mark.parametrize("training", [None, GradientDescent(0.02)], ids=["flow", "descent"])
@pytest.mark.parametrize("points", [10, 100])
def test_many_features_have_as_many_points_as_few(points: int, training: GradientDescent | None) -> None:
    many = Features(lam=np.linspace(0.5, 1.5, 20), rho=np.linspace(1.2, 0.6, 20))
    for objective, features, epsilon in ((jepa(2), many, 1e-2), (mae(2), TWO, 1e-3)):
        run = simulate(objective, features, epsilon=epsilon, points=points, training=training)
        assert points / 2 < len(run.curves.time) < 3 * points


def test_a_point_is_due_after_a_share_of_all_ways_or_of_the_time() -> None:
    start = start_from("balanced", jepa(1), 2, encoder=0.1, predictor=0.1, generator=np.random.default_rng(0))
    observer = Observer(start, Gradients(jepa(1), moments_of_features(TWO)), np.ones(2), 1.0, 0.1, ways=2)
    assert_allclose(observer.way(np.array([0.1, 0.3]), np.array([0.2, 0.2])), 1.0)
    for time, size in ((0.0, 1.0), (0.05, 1.9), (0.06, 2.1), (0.15, 2.1), (0.17, 2.1)):
        observer.offer(time, start.layers * size)  # 2.1: 0.11 of each of the two ways
    assert_allclose(observer.curves().time, [0.0, 0.06, 0.17])
