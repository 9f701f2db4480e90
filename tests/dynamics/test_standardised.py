import numpy as np
import pytest
from numpy.testing import assert_allclose

from dynamics.feature_basis import diagonalise
from dynamics.views import lagged, masked, paired, second_moments, standardised

RNG = np.random.default_rng(8)
DATA = RNG.normal(size=(400, 5)) @ RNG.normal(size=(5, 5)) * np.array([1.0, 1e3, 1e-4, 7.0, 2.0]) + 3.0


def test_standardised_columns_have_unit_variance_before_masking() -> None:
    moments = second_moments(standardised(masked(DATA, keep=0.3)))
    assert_allclose(np.diagonal(moments.input_covariance), 0.3, rtol=1e-12)
    assert_allclose(np.diagonal(moments.cross_covariance), 0.3, rtol=1e-12)


@pytest.mark.parametrize("unit", [np.array([1.0, 10.0, 1e-3, 1e5, 0.5])])
def test_standardised_views_do_not_know_the_units(unit: np.ndarray) -> None:
    for views in (
        lambda data: lagged(data, lag=2),
        lambda data: masked(data, keep=0.6, target="complementary"),
        lambda data: paired(data, data[::-1].copy()),
    ):
        here, there = (diagonalise(second_moments(standardised(views(data)))).features for data in (DATA, DATA * unit))
        assert_allclose(here.lam, there.lam, rtol=1e-9, atol=1e-12)
        assert_allclose(here.sigma, there.sigma, rtol=1e-9)


def test_both_sides_are_divided_by_the_spread_of_x() -> None:
    moments = second_moments(standardised(paired(DATA, 5.0 * DATA)))
    assert_allclose(np.diagonal(moments.cross_covariance), 5.0, rtol=1e-12)


def test_a_constant_column_stays_out() -> None:
    data = np.column_stack([DATA, np.full(len(DATA), 2.0)])
    moments = second_moments(standardised(masked(data, keep=0.5)))
    assert moments.columns_kept.tolist() == [0, 1, 2, 3, 4]


def test_the_order_of_the_data_in_memory_does_not_matter() -> None:
    here, there = (second_moments(lagged(data, lag=1)) for data in (DATA, np.asfortranarray(DATA)))
    assert np.array_equal(here.input_covariance, there.input_covariance)
    assert np.array_equal(here.cross_covariance, there.cross_covariance)
