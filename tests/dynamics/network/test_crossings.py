"""First crossings in tables of amplitudes."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.network.crossings import Crossings


def test_a_crossing_lies_on_the_line_between_neighbours() -> None:
    crossings = Crossings(np.array([0.5, 2.0]), np.array([0.1, 0.1]))
    assert crossings.open.all()
    crossings.found_in(np.array([[0.1, 0.1], [0.4, 1.0], [0.8, 1.5]]), np.array([0.0, 1.0, 3.0]))
    assert_allclose(crossings.time, [1.5, np.inf])
    assert_array_equal(crossings.open, [False, True])


def test_the_first_crossing_counts() -> None:
    crossings = Crossings(np.array([0.5]), np.array([0.0]))
    crossings.found_in(np.array([[0.0], [1.0], [0.0], [1.0]]), np.arange(4.0))
    assert_allclose(crossings.time, 0.5)
    crossings.found_in(np.array([[0.0], [1.0]]), np.array([10.0, 11.0]))
    assert_allclose(crossings.time, 0.5)


def test_a_start_at_or_beyond_the_threshold_is_time_0() -> None:
    crossings = Crossings(np.array([0.5, 0.5, -0.5, -0.5]), np.array([0.5, 0.7, -0.5, 0.7]))
    assert_array_equal(crossings.time, [0.0, 0.0, 0.0, np.inf])


def test_a_negative_threshold_is_reached_from_above() -> None:
    crossings = Crossings(np.array([-0.5]), np.array([0.1]))
    crossings.found_in(np.array([[0.1], [0.9], [-0.3], [-0.7]]), np.arange(4.0))
    assert_allclose(crossings.time, 2.5)


def test_a_threshold_of_0_is_never_reached() -> None:
    crossings = Crossings(np.array([0.0]), np.array([0.0]))
    crossings.found_in(np.array([[0.0], [1.0], [-1.0]]), np.arange(3.0))
    assert np.isinf(crossings.time).all()
    assert not crossings.open.any()
