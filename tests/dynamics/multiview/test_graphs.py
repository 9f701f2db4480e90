"""Augmentation graphs, against sums over their images and views one by one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dynamics import ParameterError
from dynamics.multiview import AugmentationGraph, four_nodes


@st.composite
def graphs(draw: st.DrawFn) -> AugmentationGraph:
    """Random tables with zeros in them, and images that are not all alike."""
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    images, views = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    table = generator.random((images, views)) * (generator.random((images, views)) > 0.4) + 1e-3 * np.eye(images, views)
    table[:, 0] += 1e-3
    table[0] += 1e-3
    return AugmentationGraph(table / table.sum(axis=1, keepdims=True), generator.dirichlet(np.full(images, 2.0)))


def functions(graph: AugmentationGraph, seed: int = 0, count: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((graph.probabilities.shape[1], count))


def expected(graph: AugmentationGraph, values: np.ndarray, views: int) -> float:
    """Sum of squared distances from their mean of m views of an image, over every image and every m-tuple of views."""
    total = 0.0
    for image, row in zip(graph.images, graph.probabilities, strict=True):
        for chosen in product(range(len(row)), repeat=views):
            seen = values[list(chosen)]
            total += image * np.prod(row[list(chosen)]) * ((seen - seen.mean(axis=0)) ** 2).sum()
    return float(total)


# --- spectra ----------------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(graphs())
def test_eigenvalues_lie_between_zero_and_one_and_the_constant_has_one(graph: AugmentationGraph) -> None:
    values = np.linalg.eigvalsh(graph.kernel)
    assert values[0] >= -1e-12
    assert_allclose(values[-1], 1.0, rtol=1e-12)
    constant = np.sqrt(graph.views)
    assert_allclose(graph.kernel @ constant, constant, atol=1e-12)
    assert_allclose(graph.views.sum(), 1.0, rtol=1e-12)


@settings(max_examples=40)
@given(graphs())
def test_the_kernel_is_the_covariance_of_two_views_of_an_image(graph: AugmentationGraph) -> None:
    values = functions(graph)
    joint = np.zeros((3, 3))
    for image, row in zip(graph.images, graph.probabilities, strict=True):
        for (p, one), (q, other) in product(zip(row, values, strict=True), repeat=2):
            joint += image * p * q * np.outer(one, other)
    weighted = np.sqrt(graph.views)[:, None] * values
    assert_allclose(weighted.T @ graph.kernel @ weighted, joint, atol=1e-12)


@settings(max_examples=40)
@given(graphs())
def test_features_of_a_graph_are_its_eigenfunctions_of_unit_variance(graph: AugmentationGraph) -> None:
    features = graph.features()
    assert_allclose(features.sigma, 1.0)
    assert_allclose(features.rho, np.clip(np.sort(np.linalg.eigvalsh(graph.kernel))[::-1], 0.0, 1.0), atol=2e-12)
    values, vectors = graph.spectrum
    assert_allclose(graph.kernel @ vectors, vectors * values, atol=2e-12)


def test_the_first_feature_of_a_graph_is_the_constant() -> None:
    graph = AugmentationGraph([[0.6, 0.4, 0.0], [0.1, 0.6, 0.3], [0.0, 0.2, 0.8]])
    first = graph.spectrum[1][:, 0] / np.sqrt(graph.views)
    assert_allclose(first, first[0], rtol=1e-12)


def test_two_separate_halves_have_the_eigenvalue_one_twice() -> None:
    graph = AugmentationGraph([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.2, 0.8]])
    assert_allclose(graph.features().rho, [1.0, 1.0, 0.0, 0.0], atol=1e-12)


def test_images_without_augmentation_keep_every_function() -> None:
    assert_allclose(AugmentationGraph(np.eye(4)).features().rho, 1.0)


def test_weights_of_images_count() -> None:
    """Two images of p(x) .9 and .1: the kernel by hand."""
    table, weights = np.array([[0.7, 0.3], [0.2, 0.8]]), np.array([0.9, 0.1])
    occurs = weights @ table
    assert_allclose(AugmentationGraph(table, weights).views, [0.65, 0.35])
    by_hand = [
        [
            sum(w * row[a] * row[b] for w, row in zip(weights, table, strict=True)) / np.sqrt(occurs[a] * occurs[b])
            for b in (0, 1)
        ]
        for a in (0, 1)
    ]
    assert_allclose(AugmentationGraph(table, weights).kernel, by_hand, rtol=1e-13)
    assert not np.allclose(AugmentationGraph(table).kernel, by_hand, rtol=1e-3)


# --- losses -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("views", [2, 3])
@settings(max_examples=12)
@given(graphs())
def test_the_loss_of_m_views_is_m_minus_one_pair_distances(views: int, graph: AugmentationGraph) -> None:
    values = functions(graph, count=2)
    by_tuples = expected(graph, values, views)
    assert_allclose(graph.distance_from_mean(values, views), by_tuples, atol=1e-11)
    assert_allclose((views - 1) * graph.pair_distance(values), by_tuples, atol=1e-11)


@settings(max_examples=25)
@given(graphs())
def test_the_pair_distance_is_half_the_squared_distance_of_two_views(graph: AugmentationGraph) -> None:
    values = functions(graph)
    total = 0.0
    for image, row in zip(graph.images, graph.probabilities, strict=True):
        for (p, one), (q, other) in product(zip(row, values, strict=True), repeat=2):
            total += image * p * q * ((one - other) ** 2).sum() / 2.0
    assert_allclose(graph.pair_distance(values), total, atol=1e-12)


@settings(max_examples=25)
@given(graphs())
def test_an_eigenfunction_is_one_minus_its_eigenvalue_apart(graph: AugmentationGraph) -> None:
    values, vectors = graph.spectrum
    for value, vector in zip(values, vectors.T, strict=True):
        assert_allclose(graph.pair_distance((vector / np.sqrt(graph.views))[:, None]), 1.0 - value, atol=1e-11)


def test_one_view_has_no_distance_from_its_mean() -> None:
    with pytest.raises(ParameterError, match="views"):
        AugmentationGraph(np.eye(2)).distance_from_mean(np.eye(2), 1)


# --- the toy graph ----------------------------------------------------------------------------------------------------------

WEIGHTS = st.tuples(*[st.floats(0.01, 1.0)] * 4)


@settings(max_examples=25)
@given(WEIGHTS)
def test_eigenvalues_of_four_nodes_are_sums_with_the_signs_of_two_attributes(weights: tuple[float, ...]) -> None:
    signs = np.array([[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]])
    assert_allclose(np.sort(np.linalg.eigvalsh(four_nodes(*weights))), np.sort(signs @ weights), atol=1e-12)


@settings(max_examples=25)
@given(WEIGHTS)
def test_a_graph_of_four_views_is_four_nodes_again(weights: tuple[float, ...]) -> None:
    """Two views of an image: same^2 + ..., 2 (same first + second both), and so on."""
    same, first, second, both = np.array(weights) / sum(weights)
    twice = four_nodes(
        same**2 + first**2 + second**2 + both**2,
        2 * (same * first + second * both),
        2 * (same * second + first * both),
        2 * (same * both + first * second),
    )
    assert_allclose(AugmentationGraph(four_nodes(same, first, second, both)).kernel, twice, atol=1e-12)


def test_an_attribute_that_views_keep_has_the_eigenvalue_one() -> None:
    values = AugmentationGraph(four_nodes(0.7, 0.3, 0.0, 0.0)).features().rho
    assert_allclose(values, [1.0, 1.0, 0.16, 0.16], atol=1e-12)


# --- what is refused --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([[0.5, 0.4], [0.5, 0.5]], "sums to 0.9 in row 1"),
        ([[0.5, 0.5], [0.7, 0.5]], "sums to 1.2 in row 2"),
        ([[1.5, -0.5], [0.5, 0.5]], "-0.5 in row 1, column 2"),
        ([[0.5, np.nan], [0.5, 0.5]], "nan in row 1, column 2"),
        ([[0.5, 0.5], [np.inf, 0.0]], "inf in row 2, column 1"),
        ([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], "column 3"),
        ([0.5, 0.5], "a table"),
        (np.zeros((0, 3)), "a table"),
    ],
    ids=str,
)
def test_a_table_that_is_no_graph_is_refused_in_one_sentence(table: object, said: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        AugmentationGraph(table)
    assert refusal.value.name == "graph"
    assert said in str(refusal.value)


@pytest.mark.parametrize("images", [[0.5], [0.5, 0.6], [1.5, -0.5], [np.nan, 1.0]], ids=str)
def test_weights_of_images_that_are_no_distribution_are_refused(images: list[float]) -> None:
    with pytest.raises(ParameterError) as refusal:
        AugmentationGraph(np.eye(2), images)
    assert refusal.value.name == "images"


def test_a_view_of_an_image_that_never_comes_never_occurs() -> None:
    with pytest.raises(ParameterError, match="column 2"):
        AugmentationGraph(np.eye(2), [1.0, 0.0])
