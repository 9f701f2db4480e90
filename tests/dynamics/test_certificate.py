"""Enclosures contain the truth, are as tight as asked, and decide every status exactly."""

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamics import Features, Objective, ParameterError, Status, critical_times, jepa, mae, supervised
from dynamics.certificate import enclosures
from tests import reference
from tests.strategies import Point, growing_points, objectives, random_points

DECIMAL = re.compile(r"\d+(\.\d+)?([eE][+-]?\d+)?")


def leading_digits(decimal: str) -> tuple[int, str]:
    """(Exponent of the first significant digit, the significant digits) of a positive decimal string."""
    assert DECIMAL.fullmatch(decimal), decimal
    mantissa, _, exponent = decimal.lower().partition("e")
    whole, _, decimals = mantissa.partition(".")
    digits = (whole + decimals).lstrip("0")
    first = len(whole) - (len(whole + decimals) - len(digits))
    return first - 1 + int(exponent or 0), digits


def shared_digits(lower: str, upper: str) -> int:
    (low_exponent, low), (high_exponent, high) = leading_digits(lower), leading_digits(upper)
    if low_exponent != high_exponent:
        return 0
    length = max(len(low), len(high))
    pairs = zip(low.ljust(length, "0"), high.ljust(length, "0"), strict=True)
    return next((index for index, (one, other) in enumerate(pairs) if one != other), length)


def test_digits_are_counted_as_a_reader_would() -> None:
    assert shared_digits("1.234", "1.239") == 3
    assert shared_digits("123.4e-2", "1.2341") == 4
    assert shared_digits("0.00123", "1.24e-3") == 2
    assert shared_digits("9.99", "10.0") == 0
    assert shared_digits("1.5", "1.5") == 2


def assert_encloses(point: Point, digits: int, bits: int = reference.BITS) -> None:
    found = enclosures(point.objective, point.features, epsilon=point.epsilon, fraction=point.fraction, digits=digits)
    truth = reference.critical_time(
        point.objective, lam=point.lam, rho=point.rho, epsilon=point.epsilon, fraction=point.fraction, bits=bits
    )
    (lower,), (upper,) = found.lower, found.upper
    with reference.precision(bits + reference.GUARD):
        low, high = reference.arb(reference.exact(lower)), reference.arb(reference.exact(upper))
        assert not low > truth, (point, lower)
        assert not high < truth, (point, upper)
    assert Fraction(lower) <= Fraction(upper)
    assert shared_digits(lower, upper) >= digits, (point, lower, upper)


def assert_all_enclose(points: Iterable[Point]) -> None:
    for index, point in enumerate(points):
        assert_encloses(point, digits=(5, 15, 50)[index % 3])


def test_enclosures_contain_the_quadrature_over_the_whole_ranges() -> None:
    assert_all_enclose(random_points(seed=8, count=300))


@pytest.mark.exhaustive
def test_enclosures_contain_the_quadrature_at_5000_points() -> None:
    assert_all_enclose(random_points(seed=9, count=5000))


@given(growing_points(), st.sampled_from([1, 5, 15, 50]))
def test_enclosures_contain_the_quadrature_where_hypothesis_looks(point: Point, digits: int) -> None:
    assert_encloses(point, digits)


@pytest.mark.parametrize("objective", [jepa(1), jepa(3), mae(1), mae(4), jepa(2, 3), supervised(5)], ids=str)
def test_two_hundred_digits_are_two_hundred_true_digits(objective: Objective) -> None:
    assert_encloses(Point(objective, 0.3, 0.7, 1e-5, 0.9), digits=200, bits=1000)


def test_an_enclosure_excludes_a_time_that_is_wrong_in_the_last_digit_asked_for() -> None:
    point = Point(jepa(3), 1.1, 0.8, 1e-4, 0.5)
    for digits in (5, 15, 50):
        found = enclosures(point.objective, point.features, epsilon=point.epsilon, digits=digits)
        low, high = Fraction(found.lower[0]), Fraction(found.upper[0])
        assert high - low < low * Fraction(1, 10 ** (digits - 1))


@given(growing_points())
def test_the_double_lies_within_its_promised_accuracy_of_the_enclosure(point: Point) -> None:
    arguments = {"epsilon": point.epsilon, "fraction": point.fraction}
    time = float(critical_times(point.objective, point.features, **arguments).time[0])
    found = enclosures(point.objective, point.features, digits=20, **arguments)
    low, high = Fraction(found.lower[0]), Fraction(found.upper[0])
    if math.isinf(time):
        assert high > Fraction(np.finfo(float).max)
    else:
        slack = Fraction(1e-13 + 4 * 2.0**-53 * abs(math.log(time)))
        assert low * (1 - slack) <= Fraction(time) <= high * (1 + slack)


def test_fewer_digits_enclose_more() -> None:
    point = Point(mae(3), 2.0, 0.4, 1e-6, 0.7)
    widths = []
    for digits in (1, 5, 15, 50, 100):
        found = enclosures(point.objective, point.features, epsilon=point.epsilon, fraction=point.fraction, digits=digits)
        widths.append((Fraction(found.lower[0]), Fraction(found.upper[0])))
    for wide, narrow in pairwise(widths):
        assert wide[0] <= narrow[1]
        assert narrow[0] <= wide[1]
        assert narrow[1] - narrow[0] < wide[1] - wide[0]


def test_what_is_never_or_already_reached_needs_no_digits() -> None:
    features = Features(lam=[1.0, 1.0, 0.0, -1.0], sigma=[1.0, 5.0, 1.0, 1.0])
    found = enclosures(jepa(3), features, epsilon=1e-3, digits=5)
    assert found.status == (Status.REACHED, Status.ALREADY_REACHED, Status.NEVER, Status.NEVER)
    assert found.lower[1:] == ("0", "inf", "inf")
    assert found.upper[1:] == ("0", "inf", "inf")
    assert isinstance(found.lower, tuple)
    assert isinstance(found.upper, tuple)


def test_the_threshold_is_decided_exactly() -> None:
    """One double below fraction * asymptote a feature is still to be learned, in however little time."""
    feature = Features(lam=1.0, rho=0.5)
    below = math.nextafter(0.25, 0)
    assert enclosures(jepa(1), feature, epsilon=0.25, fraction=0.5).status == (Status.ALREADY_REACHED,)
    assert enclosures(jepa(1), feature, epsilon=math.nextafter(0.25, 1), fraction=0.5).lower == ("0",)
    found = enclosures(jepa(1), feature, epsilon=below, fraction=0.5)
    assert found.status == (Status.REACHED,)
    assert 0 < Fraction(found.lower[0]) <= Fraction(found.upper[0]) < Fraction(1, 10**14)
    assert_encloses(Point(jepa(1), 1.0, 0.5, below, 0.5), digits=15)


@given(growing_points(), st.integers(1, 4))
def test_a_start_just_below_the_threshold_is_enclosed_too(point: Point, doubles: int) -> None:
    """Where the double has lost most of its digits to cancellation."""
    asymptote = float(critical_times(point.objective, point.features, epsilon=point.epsilon).asymptote[0])
    epsilon = point.fraction * asymptote * (1 - 2.0 ** -(10 * doubles))
    assert_encloses(Point(point.objective, point.lam, point.rho, epsilon, point.fraction), digits=15)


@given(objectives(), st.floats(-10, 0), st.floats(0.01, 10))
def test_without_positive_covariance_the_bound_is_infinite(objective: Objective, lam: float, sigma: float) -> None:
    found = enclosures(objective, Features(lam=lam, sigma=sigma), epsilon=0.3)
    assert (found.lower, found.upper, found.status) == (("inf",), ("inf",), (Status.NEVER,))


def test_each_feature_has_its_own_bounds() -> None:
    features = Features(lam=[1.0, 2.0, -1.0, 0.5], sigma=[1.0, 1.5, 1.0, 0.9])
    together = enclosures(mae(2), features, epsilon=1e-4, digits=30)
    for index in range(4):
        alone = enclosures(mae(2), features[index : index + 1], epsilon=1e-4, digits=30)
        assert (alone.lower[0], alone.upper[0]) == (together.lower[index], together.upper[index])


@pytest.mark.parametrize("digits", [0, -3, 1.5, True, math.nan, "15"], ids=repr)
def test_digits_are_a_whole_number(digits: object) -> None:
    with pytest.raises(ParameterError, match=r"^digits is "):
        enclosures(jepa(2), Features(lam=1.0, rho=1.0), epsilon=1e-3, digits=digits)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "bad"), [("epsilon", 0.0), ("epsilon", math.inf), ("fraction", 1.0), ("fraction", math.nan)])
def test_parameters_are_those_of_critical_times(name: str, bad: float) -> None:
    with pytest.raises(ParameterError, match=f"^{name} is "):
        enclosures(mae(2), Features(lam=1.0, rho=1.0), **{"epsilon": 1e-3, name: bad})
