"""Axes: lists, ranges, and ranges in the logarithm."""

from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from dynamics import LindynError, ParameterError
from dynamics.sweep.axes import values_of
from dynamics.sweep.parameters import Parameter

WHOLE, NUMBER, WORD = Parameter(int, 2), Parameter(float, 0.5), Parameter(str, "jepa", ("jepa", "mae"))


def test_a_list_is_taken_as_it_stands() -> None:
    assert values_of("objective", ["mae", "jepa"], WORD) == ("mae", "jepa")
    assert values_of("depth", [3, 1], WHOLE) == (3, 1)


def test_whole_numbers_of_a_list_of_numbers_become_doubles() -> None:
    values = values_of("epsilon", [1, 0.5], NUMBER)
    assert values == (1.0, 0.5)
    assert all(type(value) is float for value in values)


@given(st.integers(-50, 50), st.integers(0, 40), st.integers(1, 7))
def test_a_range_of_whole_numbers_is_that_of_python_with_its_end(start: int, length: int, step: int) -> None:
    given_range = {"from": start, "to": start + length, "step": step}
    values = values_of("depth", given_range, WHOLE)
    assert values == tuple(range(start, start + length + 1, step))
    assert all(type(value) is int for value in values)


def test_a_range_counts_by_one_where_no_step_is_given() -> None:
    assert values_of("depth", {"from": 1, "to": 3}, WHOLE) == (1, 2, 3)


def test_a_range_of_tenths_has_tenths_and_its_end() -> None:
    values = values_of("fraction", {"from": 0.1, "to": 0.9, "step": 0.1}, NUMBER)
    assert values == (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def test_an_end_between_two_steps_is_left_out() -> None:
    assert values_of("depth", {"from": 1, "to": 6, "step": 2}, WHOLE) == (1, 3, 5)


@given(st.floats(-5, 5), st.floats(0.01, 10), st.integers(2, 30))
def test_evenly_spread_values_have_equal_steps_and_both_ends(start: float, length: float, points: int) -> None:
    end = start + length
    values = np.array(values_of("epsilon", {"from": start, "to": end, "points": points}, NUMBER), dtype=np.float64)
    assert (values[0], values[-1], len(values)) == (start, end, points)
    assert_allclose(np.diff(values), (end - start) / (points - 1), rtol=1e-9, atol=1e-13)


@given(st.floats(1e-12, 1.0), st.floats(1.5, 1e9), st.integers(2, 30))
def test_values_evenly_spread_in_the_logarithm_have_equal_ratios_and_both_ends(start: float, by: float, points: int) -> None:
    end = start * by
    values = np.array(values_of("epsilon", {"from": start, "to": end, "log_points": points}, NUMBER), dtype=np.float64)
    assert (values[0], values[-1], len(values)) == (start, end, points)
    assert_allclose(np.diff(np.log(values)), log(end / start) / (points - 1), rtol=1e-9, atol=1e-13)


def test_decades_are_decades() -> None:
    values = values_of("epsilon", {"from": 1e-6, "to": 1e-1, "log_points": 6}, NUMBER)
    assert values == (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


def test_whole_numbers_between_whole_ends_are_whole() -> None:
    assert values_of("depth", {"from": 1, "to": 9, "points": 5}, WHOLE) == (1, 3, 5, 7, 9)
    assert values_of("depth", {"from": 1, "to": 1000, "log_points": 4}, WHOLE) == (1, 10, 100, 1000)


@pytest.mark.parametrize(
    ("given_axis", "told"),
    [
        ([], "empty"),
        ([1, 1], "twice"),
        (1, "must be a list"),
        ("1,2", "must be a list"),
        ([1.5], "whole number"),
        ([True], "whole number"),
        (["1"], "whole number"),
        ({}, "nothing"),
        ({"from": 1}, "a range has from, to"),
        ({"from": 1, "to": 2, "by": 1}, "a range has from, to"),
        ({"from": 1, "to": 2, "step": 1, "points": 2}, "at most one"),
        ({"from": 3, "to": 1}, "end of a range"),
        ({"from": 1, "to": 3, "step": 0}, "positive"),
        ({"from": 1, "to": 3, "step": -1}, "positive"),
        ({"from": "1", "to": 3}, "finite number"),
        ({"from": True, "to": 3}, "finite number"),
        ({"from": 1, "to": float("inf")}, "finite number"),
        ({"from": 1, "to": 3, "points": 1}, "at least 2"),
        ({"from": 1, "to": 3, "points": 2.0}, "at least 2"),
        ({"from": 0, "to": 3, "log_points": 2}, "positive"),
        ({"from": 1, "to": 3_000_000}, "at most 1000000"),
        ({"from": 1, "to": 2, "log_points": 3}, "whole number"),
    ],
)
def test_what_is_no_axis_of_whole_numbers_is_refused_by_its_name(given_axis: Any, told: str) -> None:
    with pytest.raises(LindynError, match=told) as refusal:
        values_of("depth", given_axis, WHOLE)
    assert "depth" in str(refusal.value)


def test_a_refused_value_names_its_axis() -> None:
    with pytest.raises(ParameterError) as refusal:
        values_of("objective", ["jepa", "mea"], WORD)
    assert refusal.value.name == "objective"
