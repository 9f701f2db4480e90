"""Starts: products of the amplitude asked for, balanced, aligned or not as their names say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Objective, ParameterError, jepa, mae
from dynamics.features import FloatArray
from dynamics.network.descent import GradientDescent
from dynamics.network.starts import STARTS, Start, start_from
from dynamics.regime import Regime
from dynamics.simulation import simulate
from tests.dynamics.network.setting import TWO, chain, differences, halves

WIDTH, EPSILON = 5, 1e-3
OBJECTIVES = [jepa(1), jepa(3), jepa(2, 3), mae(1), mae(3), mae(2, 3)]


def start(kind: str | FloatArray, objective: Objective, seed: int = 0, predictor: float | None = None) -> Start:
    layer = EPSILON ** (1 / objective.depth)
    generator = np.random.default_rng(seed)
    return start_from(
        kind, objective, WIDTH, encoder=layer, predictor=layer if predictor is None else predictor, generator=generator
    )


def test_there_are_four_kinds() -> None:
    assert list(STARTS) == ["balanced", "orthogonal", "haar", "gaussian"]


@pytest.mark.parametrize("kind", ["balanced", "orthogonal", "haar"])
@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_the_product_has_the_amplitude_and_layers_are_balanced(kind: str, objective: Objective) -> None:
    begun = start(kind, objective)
    encoder, predictor = halves(objective, begun.layers)
    assert_allclose(np.linalg.svd(encoder, compute_uv=False), EPSILON, rtol=1e-12)
    assert_allclose(np.diagonal(begun.frame.T @ encoder), EPSILON, rtol=1e-12)
    assert_allclose(begun.frame.T @ begun.frame, np.eye(WIDTH), atol=1e-13)
    assert_allclose(np.linalg.svd(predictor, compute_uv=False), EPSILON ** (objective.predictor_depth / objective.depth))
    assert_allclose(differences(begun.layers), 0.0, atol=1e-14)


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_an_orthogonal_start_is_aligned(objective: Objective) -> None:
    """JEPA: V is a multiple of the identity. MAE: V W is."""
    begun = start("orthogonal", objective)
    encoder, predictor = halves(objective, begun.layers)
    seen = predictor if objective.name == "jepa" else predictor @ encoder
    assert_allclose(seen / seen[0, 0], np.eye(WIDTH), atol=1e-13)
    assert seen[0, 0] > 0
    assert begun.misalignment < 1e-13
    assert np.abs(encoder - np.diag(np.diagonal(encoder))).max() > 0.1 * EPSILON


@pytest.mark.parametrize("objective", OBJECTIVES, ids=str)
def test_a_haar_start_is_not_aligned_and_a_balanced_one_is(objective: Objective) -> None:
    assert start("haar", objective).misalignment > 0.3
    assert start("gaussian", objective).misalignment > 0.3
    assert start("balanced", objective).misalignment == 0.0
    assert_array_equal(start("balanced", objective).frame, np.eye(WIDTH))


def test_rotations_are_all_equally_likely() -> None:
    """Entries have mean 0 and variance 1/d, and determinants of both signs."""
    drawn = np.array([start("haar", jepa(1), seed).layers[0] / EPSILON for seed in range(1000)])
    assert_allclose(drawn.mean(axis=0), 0.0, atol=5 / np.sqrt(1000 * WIDTH))
    assert_allclose(drawn.var(axis=0), 1 / WIDTH, atol=0.04)
    assert 0.4 < (np.linalg.det(drawn) > 0).mean() < 0.6


@pytest.mark.parametrize("objective", [jepa(1), jepa(3), mae(2, 2)], ids=str)
def test_a_gaussian_start_keeps_epsilon_of_the_length_on_average(objective: Objective) -> None:
    x = np.random.default_rng(1).standard_normal(WIDTH)
    squares = []
    for seed in range(1500):
        encoder, _ = halves(objective, start("gaussian", objective, seed).layers)
        squares.append(np.square(encoder @ x).sum() / np.square(x).sum() / EPSILON**2)
    assert abs(np.mean(squares) - 1.0) < 4 * np.std(squares) / np.sqrt(len(squares))
    assert start("gaussian", objective).by_norm


@pytest.mark.parametrize("kind", ["balanced", "orthogonal", "haar", "gaussian"])
def test_the_predictor_may_start_elsewhere(kind: str) -> None:
    usual, strong, opposite = (start(kind, jepa(2, 2), predictor=value) for value in (None, 0.5, -0.5))
    assert_array_equal(usual.layers[:2], strong.layers[:2])
    assert_allclose(strong.layers[2:] / 0.5, usual.layers[2:] / EPSILON**0.5, rtol=1e-12)
    assert_array_equal(opposite.layers[2:], -strong.layers[2:])
    assert_allclose(strong.misalignment, usual.misalignment, atol=1e-12)


@pytest.mark.parametrize("kind", ["orthogonal", "haar", "gaussian"])
def test_seeds_reproduce_bytes(kind: str) -> None:
    one, two, other = (start(kind, mae(2), seed).layers for seed in (1, 1, 2))
    assert one.tobytes() == two.tobytes()
    assert (one != other).any()


def test_given_layers_are_taken_as_they_are() -> None:
    layers = np.random.default_rng(2).standard_normal((3, WIDTH, WIDTH))
    before = layers.copy()
    begun = start(layers, jepa(2))
    assert_array_equal(begun.layers, layers)
    run = simulate(jepa(1), TWO, epsilon=0.1, start=layers[:2, :2, :2], until=5.0)
    assert_array_equal(run.start.layers, layers[:2, :2, :2])
    assert_array_equal(layers, before)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0)])
@pytest.mark.parametrize("training", [None, GradientDescent(0.1)], ids=["flow", "descent"])
def test_given_layers_train_alike_however_they_lie_in_memory(order: tuple[int, ...], training: GradientDescent | None) -> None:
    layers = 0.3 * np.random.default_rng(5).standard_normal((2, 2, 2))
    laid_out = np.ascontiguousarray(layers.transpose(order)).transpose(np.argsort(order))
    one, two = (simulate(jepa(1), TWO, epsilon=0.1, start=s, training=training, until=10.0) for s in (layers, laid_out))
    assert_array_equal(two.layers, one.layers)
    assert np.abs(two.layers).max() > 0.1


def test_given_layers_are_read_in_the_frame_of_their_polar_decomposition() -> None:
    rng = np.random.default_rng(3)
    turn = np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0]
    sizes = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    layers = np.array([np.diag(sizes), 2.0 * turn, np.eye(WIDTH)])
    begun = start(layers, jepa(2))
    assert_allclose(begun.frame, turn, atol=1e-13)
    assert_allclose(np.diagonal(begun.frame.T @ chain(layers[:2])), 2 * sizes, rtol=1e-12)
    assert begun.misalignment < 1e-13  # JEPA asks of V alone to be the identity,
    assert start(layers, mae(2)).misalignment > 0.3  # MAE of V W


def test_a_list_of_lists_is_given_layers_too() -> None:
    run = simulate(jepa(1), TWO, epsilon=0.1, start=[[[0.1, 0.0], [0.0, 0.1]]] * 2)  # type: ignore[arg-type]
    usual = simulate(jepa(1), TWO, epsilon=0.1)
    assert_allclose(run.time, usual.time, rtol=1e-9)


@pytest.mark.parametrize(
    "given",
    [
        "random",
        "",
        np.zeros((2, 3, 3)),
        np.zeros((3, 2, 2)),
        np.full((2, 2, 2), np.nan),
        None,
        [[1.0], [1.0, 2.0]],
        ["a", "b"],
    ],
    ids=["word", "nothing", "width", "count", "nan", "none", "ragged", "words"],
)
def test_another_start_is_refused_in_a_sentence(given: object) -> None:
    with pytest.raises(ParameterError, match=r"^start is .*; it must be ") as refused:
        simulate(jepa(1), TWO, epsilon=0.1, start=given)  # type: ignore[arg-type]
    assert refused.value.name == "start"


@pytest.mark.parametrize("name", ["predictor_start", "predictor_rate", "teacher_rate", "weight_decay"])
def test_a_network_has_one_number_where_modes_may_have_one_each(name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        simulate(jepa(1), TWO, epsilon=0.1, regime=Regime(**{name: np.array([0.1, 0.2])}))
