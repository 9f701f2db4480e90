"""The table of features: any two of lambda, rho and sigma, and every way they can contradict each other."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Features, LindynError, ParameterError, critical_times, jepa
from tests.strategies import lams, rhos, sigmas


@given(st.lists(st.tuples(rhos(), sigmas()), min_size=1, max_size=5), st.sampled_from([1.0, -1.0]))
def test_any_two_give_the_third(pairs: list[tuple[float, float]], sign: float) -> None:
    rho, sigma = (np.array(column) for column in zip(*pairs, strict=True))
    rho = sign * rho
    lam = rho * sigma**2
    for given_two in ({"rho": rho, "sigma": sigma}, {"lam": lam, "sigma": sigma}, {"lam": lam, "rho": rho}):
        table = Features(**given_two)
        assert len(table) == len(pairs)
        assert_allclose(table.lam, lam, rtol=1e-14)
        assert_allclose(table.rho, rho, rtol=1e-14)
        assert_allclose(table.sigma, sigma, rtol=1e-14)
        for name, values in given_two.items():
            assert_array_equal(getattr(table, name), values)


@given(lams(), rhos(), st.floats(-9e-7, 9e-7))
def test_three_that_agree_to_a_millionth_are_accepted_and_lambda_and_rho_kept(lam: float, rho: float, off: float) -> None:
    table = Features(lam=lam, rho=rho, sigma=math.sqrt(lam * (1 + off) / rho))
    assert (table.lam[0], table.rho[0]) == (lam, rho)


@pytest.mark.parametrize("off", [1.2e-6, -1.2e-6, 0.01, 3.0])
def test_three_that_disagree_by_more_are_refused(off: float) -> None:
    with pytest.raises(LindynError, match=r"lambda = rho sigma\^2"):
        Features(lam=[1.0, 2.0], rho=[0.5, 0.8], sigma=[math.sqrt(2), math.sqrt(2 * (1 + off) / 0.8)])


def test_a_disagreement_says_where_and_by_how_much() -> None:
    with pytest.raises(LindynError, match=r"row 2.*\b3\b"):
        Features(lam=[1.0, 1.0], rho=[1.0, 1.0], sigma=[1.0, 2.0])


@pytest.mark.parametrize("arguments", [{}, {"lam": 1.0}, {"rho": [0.5, 0.6]}, {"sigma": 1.0}], ids=str)
def test_fewer_than_two_are_refused(arguments: dict[str, float]) -> None:
    with pytest.raises(LindynError, match="two of"):
        Features(**arguments)


@pytest.mark.parametrize(("lam", "rho"), [(1.0, -0.5), (-1.0, 0.5), (1.0, 0.0), (-1.0, 0.0)])
def test_lambda_and_rho_of_different_signs_are_refused(lam: float, rho: float) -> None:
    with pytest.raises(ParameterError, match="sign"):
        Features(lam=lam, rho=rho)
    with pytest.raises(LindynError):
        Features(lam=[1.0, lam], rho=[1.0, rho], sigma=1.0)


def test_zero_lambda_needs_sigma() -> None:
    """rho = lambda / sigma**2 says nothing of sigma there."""
    with pytest.raises(ParameterError, match=r"^lam.* is 0.*sigma"):
        Features(lam=0.0, rho=0.0)
    with pytest.raises(ParameterError):
        Features(lam=0.0, rho=0.5)
    for given_two in ({"lam": 0.0, "sigma": 2.0}, {"rho": 0.0, "sigma": 2.0}, {"lam": 0.0, "rho": 0.0, "sigma": 2.0}):
        table = Features(**given_two)
        assert (table.lam[0], table.rho[0], table.sigma[0]) == (0.0, 0.0, 2.0)
    with pytest.raises(LindynError):
        Features(lam=0.0, rho=0.5, sigma=1.0)


@pytest.mark.parametrize("sigma", [0.0, -1.0])
@pytest.mark.parametrize("other", ["lam", "rho"])
def test_sigma_is_positive(other: str, sigma: float) -> None:
    with pytest.raises(ParameterError, match=r"^sigma is .*; it must be positive\.$"):
        Features(**{other: [0.5, 0.5], "sigma": [1.0, sigma]})


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("name", "other"), [("lam", "rho"), ("rho", "lam"), ("sigma", "lam"), ("lam", "sigma"), ("rho", "sigma")]
)
def test_what_is_not_finite_is_refused(name: str, other: str, bad: float) -> None:
    with pytest.raises(ParameterError, match=r"it must be (positive and )?finite") as caught:
        Features(**{name: [0.5, bad], other: 0.7})
    assert {"lam": "lambda"}.get(name, name) in str(caught.value)


@pytest.mark.parametrize("bad", ["x", "", None, object, [[1.0, 2.0]], [], 1j, ["a", "b"]], ids=repr)
def test_what_is_not_a_list_of_numbers_is_refused(bad: object) -> None:
    with pytest.raises(LindynError):
        Features(lam=bad, rho=0.5)  # type: ignore[arg-type]


def test_lengths_must_match() -> None:
    with pytest.raises(LindynError, match=r"\b2\b.*\b3\b|\b3\b.*\b2\b"):
        Features(lam=[1.0, 2.0], rho=[0.1, 0.2, 0.3])
    with pytest.raises(LindynError, match=r"\b1\b.*\b2\b|\b2\b.*\b1\b"):
        Features(lam=[1.0, 2.0], rho=0.5, names=["only"])


@pytest.mark.parametrize("single", [2, 2.0, [2.0], np.float64(2), np.array(2.0), np.array([2])], ids=repr)
def test_a_single_value_serves_all(single: float) -> None:
    table = Features(lam=single, rho=[0.5, 0.25, 1.0])
    assert len(table) == 3
    assert_array_equal(table.lam, [2.0, 2.0, 2.0])
    assert_array_equal(table.sigma, np.sqrt([4.0, 8.0, 2.0]))
    assert len(Features(lam=single, rho=0.5)) == 1


def test_names_label_the_features_and_stay_with_them() -> None:
    named = Features(lam=[1.0, 2.0, 3.0], rho=0.5, names=["edge", "blob", "noise"])
    assert named.names == ("edge", "blob", "noise")
    assert named.labels() == ("edge", "blob", "noise")
    for which, expected in (
        (slice(1, 3), ("blob", "noise")),
        ([2, 0], ("noise", "edge")),
        (np.array([True, False, True]), ("edge", "noise")),
    ):
        part = named[which]
        assert part.labels() == expected
        assert_array_equal(part.lam, named.lam[which])
        assert_array_equal(part.rho, named.rho[which])
        assert_array_equal(part.sigma, named.sigma[which])


def test_unnamed_features_are_numbered_from_one() -> None:
    unnamed = Features(lam=[1.0, 2.0, 3.0], rho=0.5)
    assert unnamed.names is None
    assert unnamed.labels() == ("1", "2", "3")
    assert unnamed[1:].labels() == ("2", "3")


def test_repeated_names_are_never_merged() -> None:
    with pytest.raises(LindynError, match=r"edge.*rows 1 and 3"):
        Features(lam=[1.0, 2.0, 3.0], rho=0.5, names=["edge", "blob", "edge"])


def test_a_table_does_not_follow_the_arrays_it_was_made_from() -> None:
    lam, rho = np.array([1.0, 2.0]), np.array([0.5, 0.6])
    table = Features(lam=lam, rho=rho)
    before = critical_times(jepa(2), table, epsilon=1e-3).time
    lam[:], rho[:] = -7.0, 9.0
    assert_array_equal(table.lam, [1.0, 2.0])
    assert_array_equal(critical_times(jepa(2), table, epsilon=1e-3).time, before)


def test_a_table_cannot_be_rewritten() -> None:
    table = Features(lam=[1.0, 2.0], rho=0.5)
    with pytest.raises(AttributeError):
        table.lam = np.array([3.0, 4.0])  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        table.lam[0] = -1.0


def test_extreme_but_finite_values_are_kept() -> None:
    table = Features(lam=[1e-300, 1e300], sigma=[1e-140, 1e140])
    assert_allclose(table.rho, [1e-20, 1e20], rtol=1e-14)
