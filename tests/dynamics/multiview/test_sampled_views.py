"""Samples of views: the law of drawing all of them, and the error of the modes that are read off."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh, subspace_angles
from scipy.stats import ks_2samp

from dynamics.errors import ParameterError
from dynamics.features import Features
from dynamics.multiview.sampled_views import leading_modes, sampled_views, simulated_error

RHO = [0.9, 0.8, 0.7, 0.55, 0.4, 0.3, 0.2, 0.1]
FEATURES = Features(lam=[1.0, 0.5, -0.2], sigma=[1.2, 1.0, 0.8])


def law(width: int, images: float, views: float) -> float:
    """(a + b/m + c/(m (m - 1))) / n of the first-order theory, written again."""
    rho, m = np.array(RHO), views
    total = 0.0
    for k in rho[:width]:
        for j in rho[width:]:
            g = (k - j) ** 2
            total += (1 - k) ** 2 * j * k / g
            total += ((1 - k) ** 2 * (j * (1 - k) + k * (1 - j)) + k**2 * (1 - j) * (1 - k)) / g / m
            total += (1 - j) * (1 - k) / g / (m * (m - 1))
    return total / width / images


def one_by_one(features: Features, images: int, views: int, replicates: int, seed: int) -> tuple[np.ndarray, ...]:
    """All-pairs and view-mean estimates and total, from every single view."""
    generator = np.random.default_rng(seed)
    one, two = features.sigma**2, features.lam
    joint = np.linalg.cholesky(np.eye(views) * (one - two)[:, None, None] + two[:, None, None])
    x = np.einsum("kab,rikb->riak", joint, generator.standard_normal((replicates, images, len(features), views)))
    total = np.einsum("riaj,riak->rjk", x, x) / (images * views)
    summed = x.sum(axis=2)
    pairs = np.einsum("rij,rik->rjk", summed, summed) - images * views * total
    mean = x.mean(axis=2)
    return pairs / (images * views * (views - 1)), np.einsum("rij,rik->rjk", mean, mean) / images, total


def test_samples_have_the_law_of_drawing_every_view() -> None:
    drawn = sampled_views(FEATURES, images=5, views=3, replicates=4000, seed=1)
    known = one_by_one(FEATURES, 5, 3, 4000, seed=2)
    for found, expected in zip((drawn.all_pairs, drawn.view_mean, drawn.total), known, strict=True):
        for entry in ((0, 0), (0, 1), (2, 2), (1, 2)):
            assert ks_2samp(found[:, *entry], expected[:, *entry]).pvalue > 1e-3
        for product in ((0, 0), (0, 1)), ((0, 1), (1, 1)):
            both = [sample[:, *product[0]] * sample[:, *product[1]] for sample in (found, expected)]
            assert ks_2samp(*both).pvalue > 1e-3


def test_the_view_mean_estimate_shrinks_the_gap_to_the_total() -> None:
    """V = (1 - 1/m) U + total / m, in every sample."""
    drawn = sampled_views(FEATURES, images=7, views=4, replicates=3, seed=3)
    assert_allclose(drawn.view_mean, 0.75 * drawn.all_pairs + 0.25 * drawn.total, rtol=0.0, atol=1e-14)


def test_estimates_are_unbiased_and_as_variable_as_the_formula() -> None:
    images, views, count = 40, 4, 4000
    drawn = sampled_views(Features(rho=RHO, sigma=1.0), images=images, views=views, replicates=count, seed=4)
    rho, nu = np.array(RHO), 1.0 - np.array(RHO)
    assert_allclose(drawn.all_pairs.mean(axis=0), np.diag(rho), atol=0.02)
    assert_allclose(drawn.view_mean.mean(axis=0), np.diag(rho + nu / views), atol=0.02)
    mixed = np.outer(rho, nu)
    variance = (np.outer(rho, rho) + (mixed + mixed.T) / views + np.outer(nu, nu) / (views * (views - 1))) / images
    off = ~np.eye(len(RHO), dtype=bool)
    assert_allclose(drawn.all_pairs.var(axis=0)[off], variance[off], rtol=0.12)


def test_leading_modes_solve_the_generalised_problem() -> None:
    drawn = sampled_views(FEATURES, images=12, views=2, replicates=4, seed=5)
    found = leading_modes(drawn.all_pairs, drawn.total, 2)
    assert found.shape == (4, 3, 2)
    for basis, covariance, total in zip(found, drawn.all_pairs, drawn.total, strict=True):
        assert_allclose(basis.T @ basis, np.eye(2), atol=1e-14)
        assert_allclose(subspace_angles(basis, eigh(covariance, total)[1][:, 1:]), 0.0, atol=1e-6)


@pytest.mark.parametrize(("images", "views"), [(500, 4), (2000, 2), (2000, 4), (2000, 16)])
def test_the_error_is_that_of_the_first_order_law(images: int, views: int) -> None:
    error, deviation = simulated_error(RHO, 3, images=images, views=views, replicates=2000, seed=6)
    assert error == pytest.approx(law(3, images, views), rel=0.06)
    assert 0.01 < deviation / error < 0.02


def test_the_error_does_not_depend_on_the_order_of_the_modes() -> None:
    how = {"images": 300, "views": 3, "replicates": 4000}
    rising, falling = (simulated_error(rho, 3, seed=7, **how) for rho in (RHO[::-1], RHO))
    assert abs(rising[0] - falling[0]) < 4.0 * np.hypot(rising[1], falling[1])


def test_of_a_fixed_budget_three_or_four_views_are_best() -> None:
    """m* = 3.51 and the law gives the two the same error within a per cent."""
    errors = {
        m: simulated_error(RHO, 3, images=8000 // m, views=m, replicates=2000, seed=m)[0] for m in (2, 3, 4, 5, 8, 16, 32)
    }
    assert min(errors, key=errors.__getitem__) in (3, 4)
    assert errors[32] / errors[4] == pytest.approx(3.4, abs=0.2)


def test_the_same_seed_gives_the_same_samples() -> None:
    one, two, other = (sampled_views(FEATURES, images=4, views=2, replicates=2, seed=seed) for seed in (8, 8, 9))
    assert_array_equal(one.all_pairs, two.all_pairs)
    assert not np.array_equal(one.total, other.total)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"images": 2}, "images"),
        ({"views": 1}, "views"),
        ({"replicates": 0}, "replicates"),
        ({"seed": -1}, "seed"),
        ({"features": Features(lam=[1.0, 1.0], rho=[1.2, 0.5])}, "rho"),
        ({"features": Features(lam=[1.0, -1.0], sigma=[1.0, 1.1])}, "rho"),
    ],
    ids=["images", "views", "replicates", "seed", "rho above 1", "too far below 0"],
)
def test_samples_that_cannot_be_drawn_are_refused(changed: dict, named: str) -> None:
    how = {"features": FEATURES, "images": 5, "views": 3, "replicates": 2, "seed": 0} | changed
    with pytest.raises(ParameterError) as refusal:
        sampled_views(how.pop("features"), **how)
    assert refusal.value.name == named


@pytest.mark.parametrize(
    ("rho", "width", "replicates", "named"),
    [
        ([1.5, 0.5], 1, 2, "rho"),
        ([0.5, -1.1], 1, 2, "rho"),
        (RHO, 8, 2, "width"),
        (RHO, 0, 2, "width"),
        (RHO, 3, 1, "replicates"),
    ],
    ids=["beyond one", "below minus one", "all", "none", "a single sample"],
)
def test_errors_that_mean_nothing_are_refused(rho: list[float], width: int, replicates: int, named: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        simulated_error(rho, width, images=20, views=2, replicates=replicates, seed=0)
    assert refusal.value.name == named
