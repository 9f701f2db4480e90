"""Standard errors against data sets resampled in full, against known variances, and where a replicate has no variance left."""

import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import dynamics.views
from dynamics import Features, LindynError, ParameterError
from dynamics.bootstrap import StandardErrors, _Resampling, bootstrap
from dynamics.feature_basis import FeatureBasis, diagonalise
from dynamics.features import FloatArray
from dynamics.views import Views, lagged, masked, paired, second_moments

SEEDS = st.integers(0, 2**32)


def normal(seed: int, rows: int, columns: int) -> FloatArray:
    generator = np.random.default_rng(seed)
    return generator.standard_normal((rows, columns)) @ generator.standard_normal((columns, columns)) + 3.0


def basis_of(views: Views) -> FeatureBasis:
    return diagonalise(second_moments(views))


def by_rho(features: Features) -> npt.NDArray[np.intp]:
    return np.argsort(np.argsort(-features.rho))


def drawn(rows: int, length: int, replicates: int, seed: int, steps: int = 10**9) -> FloatArray:
    """All weights, replicates x rows, drawn in parts of so many rows."""
    parts = [slice(start, min(start + steps, rows)) for start in range(0, rows, steps)]
    resampling = _Resampling(rows, length, replicates, np.random.default_rng(seed))
    return np.concatenate(list(resampling.weights(parts)), axis=1)


# The weights


@given(SEEDS, st.integers(2, 40), st.integers(1, 45), st.data())
def test_every_replicate_is_blocks_of_consecutive_rows_as_many_as_before(
    seed: int, rows: int, steps: int, data: st.DataObject
) -> None:
    length = data.draw(st.integers(1, max(1, rows // 2)))
    weights = drawn(rows, length, 5, seed, steps)
    assert_array_equal(weights.sum(axis=1), rows)
    assert_array_equal(weights, weights.round())
    assert weights.min() >= 0
    assert (np.count_nonzero(np.diff(weights, axis=1), axis=1) <= 2 * math.ceil(rows / length)).all()


@given(SEEDS, st.integers(1, 6), st.integers(1, 5), st.integers(1, 45))
def test_whole_blocks_can_be_taken_apart_again(seed: int, length: int, blocks: int, steps: int) -> None:
    rows = length * (blocks + 1)
    for weights in drawn(rows, length, 4, seed, steps):
        rest, found = weights.copy(), 0
        while rest.any():
            start = int(np.flatnonzero(rest)[0])
            rest[start : start + length] -= 1
            found += 1
            assert start + length <= rows
            assert rest.min() >= 0
        assert found == blocks + 1


@pytest.mark.parametrize("steps", [1, 3, 10])
def test_independent_rows_are_drawn_as_a_multinomial_whatever_the_parts(steps: int) -> None:
    weights = drawn(10, 1, 20_000, seed=1, steps=steps)
    covariance = np.cov(weights, rowvar=False)
    assert_allclose(weights.mean(axis=0), 1.0, atol=0.035)
    assert_allclose(covariance, np.eye(10) - 0.1, atol=0.05)


@pytest.mark.parametrize("steps", [1, 4, 100])
def test_blocks_start_anywhere_with_equal_chance(steps: int) -> None:
    rows, length = 11, 3  # three blocks of 3 in 9 places and one of 2 in 10 places
    weights = drawn(rows, length, 40_000, seed=2, steps=steps)
    of_three = np.convolve(np.ones(9), np.ones(3)) / 9 * 3
    of_two = np.convolve(np.ones(10), np.ones(2)) / 10
    assert_allclose(weights.mean(axis=0), of_three + of_two, atol=0.02)


# Against data sets resampled in full


def resampled(kind: str, x: FloatArray, y: FloatArray, q: float) -> tuple[FloatArray, FloatArray]:
    """Sxx and Syx of one resampled data set, by the formulas of the theory."""
    centred, other = x - x.mean(axis=0), y - y.mean(axis=0)
    c = centred.T @ centred / len(x)
    diagonal = np.diag(np.diag(c))
    inside = q * q * c + q * (1 - q) * diagonal
    return {
        "paired": (c, other.T @ centred / len(x)),
        "full": (inside, q * c),
        "independent": (inside, q * q * c),
        "complementary": (inside, q * (1 - q) * (c - diagonal)),
    }[kind]


@pytest.mark.parametrize("kind", ["paired", "lagged", "full", "independent", "complementary"])
@pytest.mark.parametrize("rows_in_a_block", [10**6, 13])
def test_errors_equal_those_of_data_sets_resampled_row_by_row(
    kind: str, rows_in_a_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    replicates, q, seed, columns = 25, 0.3, 7, 4
    monkeypatch.setattr(dynamics.views, "BLOCK_BYTES", rows_in_a_block * replicates * 8)
    x = normal(3, 61, columns)
    x[:, 1] = 5.0
    x, y = (x, 0.5 * x + normal(4, 61, columns)) if kind == "paired" else (x, x)
    views = {"paired": lambda: paired(x, y), "lagged": lambda: lagged(x, lag=2)}.get(
        kind, lambda: masked(x, keep=q, target=kind)
    )()
    x, y = (x[:-2], x[2:]) if kind == "lagged" else (x, y)
    basis = basis_of(views)
    errors = bootstrap(views, basis, seed=seed, replicates=replicates, rank_by=by_rho)
    lam, rho, kept = [], [], basis.moments.columns_kept
    length = 4 if kind == "lagged" else 1
    for weights in drawn(len(x), length, replicates, seed, rows_in_a_block):
        which = np.repeat(np.arange(len(x)), weights.astype(int))
        inside, across = resampled("paired" if kind == "lagged" else kind, x[which][:, kept], y[which][:, kept], q)
        lam.append([u @ across @ u for u in basis.directions.T])
        rho.append([u @ across @ u / (u @ inside @ u) for u in basis.directions.T])
    assert (errors.replicates, errors.block_length) == (replicates, length)
    assert_allclose(errors.lam, np.std(lam, axis=0, ddof=1), rtol=1e-9, atol=1e-12)
    assert_allclose(errors.rho, np.std(rho, axis=0, ddof=1), rtol=1e-9, atol=1e-12)
    assert errors.rank is not None
    assert_allclose(errors.rank, np.std(np.argsort(np.argsort(-np.array(rho))), axis=0, ddof=1), rtol=1e-9, atol=1e-12)


# Against known variances


def test_error_of_a_variance_and_of_a_regression_coefficient_of_normal_data() -> None:
    count, slope, noise = 4000, np.array([0.8, 0.3]), np.array([0.5, 1.5])
    generator = np.random.default_rng(5)
    x = generator.standard_normal((count, 2)) * [2.0, 1.0]
    same = paired(x, x)
    variance = basis_of(same).features.sigma ** 2
    assert_allclose(bootstrap(same, basis_of(same), seed=0, replicates=2000).lam, variance * math.sqrt(2 / count), rtol=0.08)
    views = paired(x, slope * x + noise * generator.standard_normal((count, 2)))
    errors = bootstrap(views, basis_of(views), seed=0, replicates=2000)
    assert_allclose(errors.rho, noise / np.array([2.0, 1.0]) / math.sqrt(count), rtol=0.08)


def test_a_series_has_the_errors_of_dependent_rows() -> None:
    count, gamma = 20_000, 0.8
    shocks = np.random.default_rng(6).standard_normal(count) * math.sqrt(1 - gamma**2)
    x = np.empty((count, 1))
    x[0] = shocks[0]
    for step in range(1, count):
        x[step] = gamma * x[step - 1] + shocks[step]
    views = lagged(x, lag=1)
    basis = basis_of(views)
    # Bartlett's variance of a sample covariance at lag 1: sum of c_k^2 + c_(k+1) c_(k-1) over all k.
    k = np.arange(-400, 401)
    bartlett = math.sqrt(np.sum(gamma ** (2.0 * np.abs(k)) + gamma ** np.abs(k + 1.0) * gamma ** np.abs(k - 1.0)) / count)
    slope = math.sqrt((1 - gamma**2) / count)
    blocks = bootstrap(views, basis, seed=0, replicates=1000, block_length=100)
    assert_allclose(blocks.lam, bartlett, rtol=0.12)
    assert_allclose(blocks.rho, slope, rtol=0.12)
    assert bootstrap(views, basis, seed=0).block_length == 28
    assert bootstrap(views, basis, seed=0, block_length=1).lam[0] < 0.6 * bartlett


def test_ranks_far_apart_have_no_error_and_ranks_of_equals_do() -> None:
    generator = np.random.default_rng(7)
    x = generator.standard_normal((3000, 3))
    y = x * [0.9, 0.5, 0.5] + 0.1 * generator.standard_normal((3000, 3))
    views = paired(x, y)
    errors = bootstrap(views, basis_of(views), seed=0, rank_by=by_rho)
    assert errors.rank is not None
    assert errors.rank[0] == 0.0
    assert (errors.rank[1:] > 0.2).all()
    assert bootstrap(views, basis_of(views), seed=0).rank is None


# Replicates without variance


def test_a_feature_that_hangs_on_one_row_has_a_large_error_and_no_nan() -> None:
    x = np.zeros((201, 2))
    x[:, 0] = 0.01 * np.cos(np.pi * np.arange(201))
    x[100] = 0.0, 3.0
    views = paired(x, x)
    errors = bootstrap(views, basis_of(views), seed=0, replicates=3000, rank_by=lambda features: features.lam == 0)
    present = 1 - math.exp(-1)
    assert errors.rank is not None
    assert np.isfinite([errors.lam, errors.rho, errors.rank]).all()
    assert_allclose(errors.rho[0], math.sqrt(present * (1 - present)), rtol=0.05)
    assert_allclose(errors.rank[0], math.sqrt(present * (1 - present)), rtol=0.05)
    assert errors.rho[1] < 1e-2
    assert errors.rank[1] == 0


@pytest.mark.parametrize("make", [lambda x: paired(x, x), lambda x: masked(x, keep=0.5), lambda x: lagged(x, lag=1)])
@pytest.mark.parametrize("rows", [3, 4])
def test_the_fewest_rows_give_finite_errors(make: Callable[[FloatArray], Views], rows: int) -> None:
    views = make(np.array([[1.0, 7.0], [2.0, 5.0], [4.0, 6.0], [3.0, 1.0]])[:rows])
    errors = bootstrap(views, basis_of(views), seed=3, rank_by=by_rho)
    assert errors.rank is not None
    assert np.isfinite([errors.lam, errors.rho, errors.rank]).all()


def test_two_pairs_have_a_bootstrap() -> None:
    views = paired([[0.0], [1.0]], [[0.0], [2.0]])
    errors = bootstrap(views, basis_of(views), seed=0, replicates=4000)
    # Half of the replicates hold both rows, with lambda = 1/2 and rho = 2; the others hold one row twice.
    assert_allclose(errors.lam, 0.25, rtol=0.02)
    assert_allclose(errors.rho, 1.0, rtol=0.02)


@pytest.mark.parametrize("scale", [1e-65, 1e65])
def test_errors_scale_with_the_unit_to_the_ends_of_the_range(scale: float) -> None:
    x = normal(9, 30, 2)
    near, far = paired(x, x[:, ::-1]), paired(scale * x, scale * x[:, ::-1])
    errors, scaled = bootstrap(near, basis_of(near), seed=0), bootstrap(far, basis_of(far), seed=0)
    assert_allclose(scaled.lam, errors.lam * scale * scale, rtol=1e-6)
    assert_allclose(scaled.rho, errors.rho, rtol=1e-6)


def test_a_large_rho_has_an_error_whose_square_no_double_holds() -> None:
    x, y = normal(9, 30, 2), normal(12, 30, 2)
    near, far = paired(x, y), paired(1e-65 * x, 1e100 * y)
    errors, scaled = bootstrap(near, basis_of(near), seed=0), bootstrap(far, basis_of(far), seed=0)
    assert_allclose(scaled.rho * 1e-165, errors.rho, rtol=1e-6)


# Seeds, memory, arguments


def equal(first: StandardErrors, second: StandardErrors) -> bool:
    return first.lam.tobytes() == second.lam.tobytes() and first.rho.tobytes() == second.rho.tobytes()


@given(SEEDS)
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(seed: int) -> None:
    views = masked(normal(10, 30, 3), keep=0.5)
    basis = basis_of(views)
    first, again, other = (bootstrap(views, basis, seed=number, replicates=10) for number in (seed, seed, seed + 1))
    assert equal(first, again)
    assert not equal(first, other)


def test_memory_does_not_grow_with_replicates_times_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(11).standard_normal((100_000, 2)).astype(np.float32)
    views = masked(x, keep=0.5)
    basis = basis_of(views)
    monkeypatch.setattr(dynamics.views, "BLOCK_BYTES", 1 << 18)
    tracemalloc.start()
    try:
        bootstrap(views, basis, seed=0, replicates=100)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000, "100 replicates of 100,000 rows are 80 MB of weights"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed is -1; it must be a whole number, at least 0"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"seed": None}, "seed is None"),
        ({"seed": 0, "replicates": 1}, "replicates is 1; it must be a whole number, at least 2"),
        ({"seed": 0, "replicates": 10.0}, "replicates is 10.0"),
        ({"seed": 0, "block_length": 0}, "block_length is 0; it must be a whole number from 1 to 10"),
        ({"seed": 0, "block_length": 11}, "block_length is 11"),
        ({"seed": 0, "block_length": True}, "block_length is True"),
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any], message: str) -> None:
    views = paired(normal(0, 20, 2), normal(1, 20, 2))
    with pytest.raises(ParameterError, match=message):
        bootstrap(views, basis_of(views), **arguments)


@pytest.mark.parametrize("ranks", [[1.0], [1.0, np.nan], [[1.0, 2.0]], 3.0])
def test_rankings_that_are_not_one_number_a_feature_are_refused(ranks: Any) -> None:
    views = paired(normal(0, 20, 2), normal(1, 20, 2))
    with pytest.raises(LindynError, match="one finite number for each of 2 features"):
        bootstrap(views, basis_of(views), seed=0, rank_by=lambda _: ranks)


def test_a_basis_from_other_views_is_refused() -> None:
    x = normal(0, 20, 3)
    with pytest.raises(LindynError, match="comes from 20 pairs, not from these 19"):
        bootstrap(lagged(x, lag=1), basis_of(paired(x, x)), seed=0)
    with pytest.raises(LindynError, match="use the same views for both"):
        bootstrap(paired(x[:, :2], x[:, :2]), basis_of(paired(x, x)), seed=0)
