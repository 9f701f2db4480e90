"""Sizes of areas, strengths, and images drawn from them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chisquare, kstest

from dynamics.attention import Areas, ImageModel, Latent, Sampler, constant, uniform
from dynamics.attention.metrics import areas_of
from dynamics.errors import LindynError, ParameterError

# --- areas ------------------------------------------------------------------------------------------------------------------


def test_sizes_and_exponents_are_two_ways_to_say_the_same() -> None:
    areas = Areas.of_exponents(1e4, 0.9, 0.4)
    assert_allclose([areas.global_size, areas.local_size], [10**3.6, 10**1.6], rtol=1e-14)
    assert_allclose([areas.kappa_c, areas.kappa_s], [0.9, 0.4], rtol=1e-14)
    assert_allclose(areas.local_areas, (1e4 - 10**3.6) / 10**1.6, rtol=1e-14)


@pytest.mark.parametrize(
    ("patches", "global_size", "local_size", "gap"),
    [(196, 106, 9, 0.351), (196, 26, 10, -0.202), (100, 52, 6, 0.327), (100, 16, 6, -0.185)],
)
def test_gaps_of_the_sizes_that_are_simulated(patches: int, global_size: int, local_size: int, gap: float) -> None:
    assert Areas(patches, global_size, local_size).gap == pytest.approx(gap, abs=5e-4)


@given(st.floats(10.0, 1e12), st.floats(0.5, 0.9), st.floats(0.001, 0.5))
def test_the_gap_is_that_of_the_difference_less_what_the_global_area_leaves(patches: float, one: float, two: float) -> None:
    if patches**one + patches**two < patches:
        assert Areas.of_exponents(patches, one, two).gap == pytest.approx((one - two) - (1.0 - one), abs=1e-11)


@pytest.mark.parametrize("kappa_c", [0.4999, 1.0001, math.nan, -math.inf])
def test_exponents_of_the_global_area_run_from_a_half_to_one(kappa_c: float) -> None:
    with pytest.raises(ParameterError, match=r"kappa_c .* from 0\.5 to 1\b"):
        Areas.of_exponents(1e4, kappa_c, 0.3)


@pytest.mark.parametrize("kappa_s", [0.0009, 0.5001, math.nan])
def test_exponents_of_local_areas_run_from_a_thousandth_to_a_half(kappa_s: float) -> None:
    with pytest.raises(ParameterError, match=r"kappa_s .* from 0\.001 to 0\.5"):
        Areas.of_exponents(1e4, 0.9, kappa_s)


def test_ends_of_the_ranges_are_inside() -> None:
    for kappa_s in (0.001, 0.5):
        Areas.of_exponents(1e4, 0.5, kappa_s)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (10, 0, 3), (10, 5, 0.5), (math.inf, 5, 2), (10, math.nan, 2), (10, 5, math.nan)])
def test_sizes_that_are_none_are_refused(sizes: tuple[float, float, float]) -> None:
    with pytest.raises(ParameterError, match="a number from"):
        Areas(*sizes)


@pytest.mark.parametrize("sizes", [(100, 90, 20), (100, 100, 1), (196, 196**1.0, 4)])
def test_areas_that_do_not_fit_are_refused(sizes: tuple[float, float, float]) -> None:
    with pytest.raises(LindynError, match="do not fit into"):
        Areas(*sizes)


def test_one_local_area_just_fits() -> None:
    assert Areas(12, 6, 6).whole().local_areas == 1


@pytest.mark.parametrize("sizes", [(100, 52, 7), (100, 51.5, 7), (100.5, 52, 6), (10, 5, 2)])
def test_the_nearest_whole_areas_are_told_and_do_fill(sizes: tuple[float, float, float]) -> None:
    with pytest.raises(LindynError, match="the nearest that do are") as told:
        Areas(*sizes).whole()
    global_size, local_size, patches = (
        int(word) for word in str(told.value).split("are ")[-1].rstrip(".").replace(" and ", " ").replace(" of ", " ").split()
    )
    assert Areas(patches, global_size, local_size).whole().local_areas >= 1
    assert abs(global_size - sizes[1]) <= sizes[2]


# --- strengths --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [1, 2, 3, 8])
@pytest.mark.parametrize("ends", [(0.5, 1.5), (0.0, 1.0), (2.0, 2.1)])
def test_moments_of_an_interval(ends: tuple[float, float], power: int) -> None:
    low, high = ends
    exact = (high ** (power + 1) - low ** (power + 1)) / ((power + 1) * (high - low))
    assert uniform(low, high).mean(power) == pytest.approx(exact, rel=1e-12)


def test_an_interval_of_one_point_is_a_constant() -> None:
    law = uniform(0.7, 0.7)
    assert (law.interval, law.mean(3)) == (None, pytest.approx(0.343))


def test_strengths_are_drawn_from_their_law() -> None:
    generator = np.random.default_rng(0)
    assert kstest(uniform(0.5, 1.5).sample((4000,), generator), "uniform", args=(0.5, 1.0)).pvalue > 1e-3
    drawn = Latent(np.array([0.3, 2.0]), np.array([0.25, 0.75])).sample((4000,), generator)
    assert set(np.unique(drawn)) == {0.3, 2.0}
    assert np.mean(drawn == 2.0) == pytest.approx(0.75, abs=0.03)
    assert_array_equal(constant(1.3).sample((2, 3), generator), np.full((2, 3), 1.3))


@pytest.mark.parametrize("ends", [(2.0, 1.0), (-1.0, 1.0), (math.nan, 1.0), (0.0, 0.0), (0.0, math.inf)])
def test_what_is_no_interval_is_refused(ends: tuple[float, float]) -> None:
    with pytest.raises(ParameterError, match="interval"):
        uniform(*ends)


@pytest.mark.parametrize(
    ("values", "weights"),
    [([1.0, -1.0], [0.5, 0.5]), ([1.0], [0.9]), ([1.0, 2.0], [1.5, -0.5]), ([0.0], [1.0]), ([1.0, 2.0], [1.0])],
)
def test_what_is_no_law_is_refused(values: list[float], weights: list[float]) -> None:
    with pytest.raises(ParameterError):
        Latent(np.array(values), np.array(weights))


@pytest.mark.parametrize("masked", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_masks_hide_some_patches_and_not_all(masked: float) -> None:
    with pytest.raises(ParameterError, match="masked"):
        ImageModel(Areas(12, 6, 3), masked)


@pytest.mark.parametrize("clusters", [0, -1, 1.5, True])
def test_clusters_are_counted(clusters: object) -> None:
    with pytest.raises(ParameterError, match="clusters"):
        ImageModel(Areas(12, 6, 3), clusters=clusters)  # type: ignore[arg-type]


# --- images -----------------------------------------------------------------------------------------------------------------

MODEL = ImageModel(Areas(20, 8, 3), masked=0.4, clusters=3, latent=uniform(0.5, 1.5))


def test_every_cluster_has_areas_of_the_sizes_that_were_asked_for() -> None:
    sampler = Sampler(MODEL, seed=1)
    for partition in sampler.partition:
        assert_array_equal(np.bincount(partition), [8, 3, 3, 3, 3])
    assert_array_equal(sampler.partition[0], np.repeat(np.arange(5), [8, 3, 3, 3, 3]))
    assert not any((sampler.partition[0] == other).all() for other in sampler.partition[1:])
    shared = Sampler(MODEL, seed=1, shared_partition=True)
    assert (shared.partition == sampler.partition[0]).all()


def test_images_are_of_their_cluster_and_one_strength_an_area() -> None:
    sampler = Sampler(MODEL, seed=2)
    batch = sampler.draw(200)
    assert_array_equal(batch.area, sampler.partition[batch.cluster])
    assert_array_equal(batch.shown.sum(axis=1), 12)
    for area, strength in zip(batch.area, batch.strength, strict=True):
        assert len({(one, other) for one, other in zip(area, strength, strict=True)}) == 5
    assert len(np.unique(batch.strength)) == 200 * 5


def test_clusters_and_masks_are_drawn_evenly() -> None:
    batch = Sampler(MODEL, seed=3).draw(6000)
    assert chisquare(np.bincount(batch.cluster)).pvalue > 1e-3
    assert chisquare(batch.shown.sum(axis=0)).pvalue > 1e-3
    assert_allclose((batch.shown[:, 0] & batch.shown[:, 1]).mean(), 12 / 20 * 11 / 19, atol=0.02)


def test_another_mask_leaves_the_image_as_it_is() -> None:
    sampler = Sampler(MODEL, seed=4)
    batch = sampler.draw(50)
    again = sampler.masked_again(batch)
    assert_array_equal(again.area, batch.area)
    assert_array_equal(again.strength, batch.strength)
    assert_array_equal(again.shown.sum(axis=1), 12)
    assert (again.shown != batch.shown).any(axis=1).sum() >= 49


def test_one_seed_gives_one_sample() -> None:
    one, other, third = (Sampler(MODEL, seed=seed).draw(9) for seed in (5, 5, 6))
    assert_array_equal(one.strength, other.strength)
    assert_array_equal(one.shown, other.shown)
    assert (one.strength != third.strength).any()


def test_images_need_whole_areas() -> None:
    with pytest.raises(LindynError, match="whole areas"):
        Sampler(ImageModel(Areas(20, 7, 3)), seed=0)


def test_masks_that_hide_no_patch_are_refused() -> None:
    with pytest.raises(LindynError):
        Sampler(ImageModel(Areas(12, 6, 3), masked=0.01), seed=0).draw(1)


def test_masks_that_show_no_patch_are_refused() -> None:
    with pytest.raises(LindynError):
        Sampler(ImageModel(Areas(12, 6, 3), masked=0.99), seed=0).draw(1)


def test_areas_as_runs_start_with_the_global_one() -> None:
    assert_array_equal(areas_of(9, 3, 2), [0, 0, 0, 1, 1, 2, 2, 3, 3])
