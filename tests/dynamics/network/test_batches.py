"""Minibatches have the moments they are drawn from, on average; masks are averaged over exactly."""

from itertools import product as pairs
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import ParameterError
from dynamics.feature_basis import FeatureBasis, diagonalise
from dynamics.features import FloatArray
from dynamics.network.batches import Batches, GaussianBatches
from dynamics.network.data import DataBatches, moments_of_views
from dynamics.network.moments import Moments, SampleMoments, moments_of_features
from dynamics.network.population import Data, population_of
from dynamics.views import Views, lagged, masked, paired, second_moments
from tests.dynamics.network.setting import TWO, random_moments

ROWS, WIDTH = 40, 3


def data(seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((ROWS, WIDTH)) @ rng.standard_normal((WIDTH, WIDTH)) + 5.0
    return rows[:, :WIDTH]


def views_of(kind: str) -> Views:
    if kind == "paired":
        return paired(data(), data() + 0.3 * data(1))
    if kind == "lagged":
        return lagged(data().cumsum(axis=0) * 0.1, lag=2)
    if kind == "whole":
        return masked(data(), keep=1.0)
    return masked(data(), keep=0.3, target=kind)


KINDS = ["paired", "lagged", "whole", "full", "independent", "complementary"]
NAMES = ("input_covariance", "cross_covariance", "target_covariance")


def basis_of(views: Views) -> FeatureBasis:
    return diagonalise(second_moments(views))


def assert_mean_tends_to(batches: Batches, expected: Moments | SampleMoments, draws: int = 2000) -> None:
    drawn = [batches.draw() for _ in range(draws)]
    for name in NAMES:
        values = np.array([getattr(moments, name) for moments in drawn])
        error = values.std(axis=0) / np.sqrt(draws)
        assert (np.abs(values.mean(axis=0) - getattr(expected, name)) < 4.5 * error + 1e-12).all(), name
        assert (error < 0.15 * np.abs(getattr(expected, name)).max()).all()


@pytest.mark.parametrize("size", [1, 16])
def test_normal_batches_have_the_moments_on_average(size: int) -> None:
    moments = random_moments(2, WIDTH)
    assert_mean_tends_to(GaussianBatches(moments, size, np.random.default_rng(3)), moments, draws=4000)


def test_normal_batches_of_features_have_their_moments() -> None:
    moments = moments_of_features(TWO)
    assert_mean_tends_to(GaussianBatches(moments, 8, np.random.default_rng(4)), moments)


def test_larger_batches_scatter_less() -> None:
    moments = random_moments(2, WIDTH)
    spread = []
    for size in (4, 64):
        batches = GaussianBatches(moments, size, np.random.default_rng(5))
        spread.append(np.std([batches.draw().cross_covariance for _ in range(1000)], axis=0))
    assert_allclose(spread[0] / spread[1], 4.0, rtol=0.15)


def test_a_target_that_varies_less_than_x_predicts_is_refused() -> None:
    moments = Moments(np.eye(2), 0.9 * np.eye(2), 0.5 * np.eye(2))
    with pytest.raises(ParameterError, match=r"^target_covariance is "):
        GaussianBatches(moments, 4, np.random.default_rng(0))


def test_a_target_that_x_tells_exactly_is_allowed() -> None:
    moments = Moments(np.diag([1.0, 0.25]), np.diag([0.9, 0.1]), np.diag([0.81, 0.04]))
    drawn = GaussianBatches(moments, 5, np.random.default_rng(0)).draw()
    assert_allclose(drawn.cross_covariance, np.diag([0.9, 0.4]) @ drawn.input_covariance, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_with_fresh_masks_have_the_moments_on_average(kind: str) -> None:
    views = views_of(kind)
    basis = basis_of(views)
    assert_mean_tends_to(DataBatches(views, basis, 16, np.random.default_rng(6)), moments_of_views(views, basis))


@pytest.mark.parametrize("kind", ["full", "independent", "complementary"])
def test_masks_are_averaged_over_exactly(kind: str) -> None:
    """Every mask of x with every mask of y, weighted by its probability."""
    keep, views = 0.3, views_of(kind)
    rows = data() - data().mean(axis=0)
    sums = {name: np.zeros((WIDTH, WIDTH)) for name in NAMES}
    masks = np.array(list(pairs([0.0, 1.0], repeat=WIDTH)))
    weight = keep ** masks.sum(axis=1) * (1 - keep) ** (WIDTH - masks.sum(axis=1))
    for (shown, p), (other, q) in pairs(zip(masks, weight, strict=True), repeat=2):
        x = rows * shown
        y = rows * {"full": 1.0, "independent": other, "complementary": 1 - shown}[kind]
        for name, left, right in zip(NAMES, (x, y, y), (x, x, y), strict=True):
            sums[name] += p * q * left.T @ right / ROWS
    basis = basis_of(views)
    found = moments_of_views(views, basis)
    for name in NAMES:
        expected = basis.directions.T @ sums[name] @ basis.directions
        assert_allclose(getattr(found, name), expected, rtol=0, atol=1e-12 * np.abs(sums["input_covariance"]).max())


def test_moments_of_pairs_are_those_of_the_centred_rows() -> None:
    views = views_of("paired")
    basis = basis_of(views)
    x, y = data(), data() + 0.3 * data(1)
    x, y = ((side - side.mean(axis=0)) @ basis.directions for side in (x, y))
    expected = SampleMoments(x, y)
    found = moments_of_views(views, basis)
    for name in NAMES:
        assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-12 * np.abs(x).max() ** 2)


def test_constant_columns_are_left_out_of_batches_too() -> None:
    rows = np.hstack([data(), np.full((ROWS, 1), 7.0)])
    views = masked(rows, keep=0.5)
    basis = basis_of(views)
    batches = DataBatches(views, basis, 16, np.random.default_rng(7))
    assert batches.draw().width == WIDTH
    assert_mean_tends_to(batches, moments_of_views(views, basis))


def test_directions_in_which_x_does_not_vary_are_left_out_of_batches_too() -> None:
    rows = np.hstack([data(), data()[:, :1] + data()[:, 1:2]])
    views = paired(rows, rows)
    basis = basis_of(views)
    batches = DataBatches(views, basis, 16, np.random.default_rng(8))
    assert batches.draw().width == WIDTH
    assert_mean_tends_to(batches, moments_of_views(views, basis))


def test_the_same_seed_draws_the_same_bytes() -> None:
    for kind in ("independent", "paired"):
        views = views_of(kind)
        basis = basis_of(views)
        one, two, other = (DataBatches(views, basis, 4, np.random.default_rng(seed)).draw() for seed in (1, 1, 2))
        assert_array_equal(one.cross_covariance, two.cross_covariance)
        assert (one.cross_covariance != other.cross_covariance).any()


def test_a_population_draws_rows_where_it_has_them() -> None:
    views = views_of("paired")
    population = population_of(Data(views, basis_of(views)))
    generator = np.random.default_rng(0)
    assert isinstance(population.batches(4, generator), DataBatches)
    assert isinstance(population.without_rows().batches(4, generator), GaussianBatches)
    assert isinstance(population_of(TWO).batches(4, generator), GaussianBatches)


def test_features_become_diagonal_moments() -> None:
    moments = moments_of_features(TWO)
    assert_allclose(moments.cross_covariance, np.diag(TWO.lam))
    assert_allclose(moments.input_covariance, np.diag(TWO.lam / TWO.rho))
    assert_allclose(moments.features().rho, TWO.rho)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("cross_covariance", np.eye(3)),
        ("cross_covariance", np.ones(2)),
        ("target_covariance", np.array([[1.0, 0.5], [0.0, 1.0]])),
        ("input_covariance", np.array([[1.0, 0.5], [0.0, 1.0]])),
        ("cross_covariance", np.array([[1.0, np.nan], [0.0, 1.0]])),
        ("input_covariance", np.zeros((0, 0))),
        ("input_covariance", np.ones((2, 3))),
        ("input_covariance", np.diag([1.0, -1.0])),
        ("input_covariance", np.diag([1.0, 0.0])),
        ("input_covariance", np.array([[1.0, 2.0], [2.0, 1.0]])),
        ("target_covariance", np.array([[1.0, 2.0], [2.0, 1.0]])),
        ("input_covariance", [[1.0], [1.0, 2.0]]),
        ("cross_covariance", "moments"),
    ],
)
def test_moments_that_cannot_be_are_refused_by_name(name: str, change: Any) -> None:
    parts = {part: np.eye(2) for part in NAMES} | {name: change}
    with pytest.raises(ParameterError, match=f"^{name} is .*; it must be "):
        Moments(**parts)


def test_lists_are_moments_too_and_moments_do_not_change() -> None:
    mine = np.eye(2)
    moments = Moments([[1.0, 0.0], [0.0, 2.0]], 0.5 * mine, mine)  # type: ignore[arg-type]
    mine[0, 0] = 7.0
    assert_array_equal(moments.input_covariance, np.diag([1.0, 2.0]))
    assert_array_equal(moments.target_covariance, np.eye(2))
    for name in NAMES:
        with pytest.raises(ValueError, match="read-only"):
            getattr(moments, name)[0, 0] = 3.0


def test_moments_of_samples_are_their_means() -> None:
    x, y = np.random.default_rng(9).standard_normal((2, 7, WIDTH))
    moments = SampleMoments(x, y)
    for name, left, right in zip(NAMES, (x, y, y), (x, x, y), strict=True):
        assert_allclose(getattr(moments, name), np.mean([np.outer(a, b) for a, b in zip(left, right, strict=True)], axis=0))
