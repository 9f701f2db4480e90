"""Pairs of views and their second moments: masks averaged over exactly, lags, blocks of rows, and tables that are no data."""

import itertools
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import dynamics.views
from dynamics import LindynError, ParameterError
from dynamics.feature_basis import diagonalise
from dynamics.features import FloatArray
from dynamics.views import Views, lagged, masked, paired, second_moments

TARGETS = ("full", "independent", "complementary")
KINDS: dict[str, Callable[[npt.NDArray[Any]], Views]] = {
    "paired": lambda x: paired(x, np.roll(x, 1, axis=1)),
    "masked": lambda x: masked(x, keep=0.3, target="complementary"),
    "lagged": lambda x: lagged(x, lag=2),
}


def normal(seed: int, rows: int, columns: int) -> FloatArray:
    """Rows of correlated normal variables about means that are not 0."""
    generator = np.random.default_rng(seed)
    return generator.standard_normal((rows, columns)) @ generator.standard_normal((columns, columns)) + generator.normal(
        size=columns
    )


def second_view(target: str, rows: FloatArray, mask: FloatArray, other: FloatArray) -> FloatArray:
    return {"full": rows, "independent": rows * other, "complementary": rows * (1 - mask)}[target]


# Masks


@pytest.mark.parametrize("target", TARGETS)
@given(seed=st.integers(0, 2**32), columns=st.integers(1, 4), rows=st.integers(2, 6), keep=st.floats(0.01, 0.99))
def test_masked_moments_are_the_average_over_all_masks(target: str, seed: int, columns: int, rows: int, keep: float) -> None:
    x = normal(seed, rows, columns)
    centred = x - x.mean(axis=0)
    masks = [np.array(mask) for mask in itertools.product([0.0, 1.0], repeat=columns)]
    chances = [keep ** mask.sum() * (1 - keep) ** (columns - mask.sum()) for mask in masks]
    inside, across = np.zeros((columns, columns)), np.zeros((columns, columns))
    for (mask, chance), (other, chance_other) in itertools.product(zip(masks, chances, strict=True), repeat=2):
        seen, hidden = centred * mask, second_view(target, centred, mask, other)
        inside += chance * chance_other * seen.T @ seen / rows
        across += chance * chance_other * hidden.T @ seen / rows
    moments = second_moments(masked(x, keep=keep, target=target))
    scale = np.abs(inside).max() / keep
    assert_allclose(moments.input_covariance, inside, atol=1e-12 * scale)
    assert_allclose(moments.cross_covariance, across, atol=1e-12 * scale)
    assert moments.count == rows


@pytest.mark.parametrize("target", TARGETS)
def test_masked_moments_agree_with_sampled_masks(target: str) -> None:
    x, keep, draws = normal(3, 500, 3), 0.35, 400
    centred = x - x.mean(axis=0)
    generator = np.random.default_rng(4)
    samples = []
    for _ in range(draws):
        mask, other = (generator.random((2, *x.shape)) < keep).astype(float)
        seen = centred * mask
        samples.append([seen.T @ seen / len(x), second_view(target, centred, mask, other).T @ seen / len(x)])
    moments = second_moments(masked(x, keep=keep, target=target))
    error = np.std(samples, axis=0, ddof=1) / np.sqrt(draws)
    exact = np.stack([moments.input_covariance, moments.cross_covariance])
    assert (np.abs(np.mean(samples, axis=0) - exact) <= 4.5 * error + 1e-12).all()


@pytest.mark.parametrize("target", ["full", "independent"])
def test_keeping_everything_masks_nothing(target: str) -> None:
    x = normal(0, 20, 3)
    everything, same = second_moments(masked(x, keep=1, target=target)), second_moments(paired(x, x))
    assert_allclose(everything.input_covariance, same.input_covariance, rtol=1e-14)
    assert_allclose(everything.cross_covariance, same.cross_covariance, rtol=1e-13, atol=1e-14)


def test_masked_moments_are_symmetric_to_the_last_bit() -> None:
    moments = second_moments(masked(normal(1, 200, 30), keep=0.4))
    assert_array_equal(moments.cross_covariance, moments.cross_covariance.T)


# Two tables, and one table at two times


@given(st.integers(0, 2**32), st.integers(2, 30), st.integers(1, 5))
def test_paired_moments_are_population_covariances_of_y_with_x(seed: int, rows: int, columns: int) -> None:
    x, y = normal(seed, rows, columns), normal(seed + 1, rows, columns)
    moments = second_moments(paired(x, y))
    joint = np.atleast_2d(np.cov(x, y, rowvar=False, bias=True))
    scale = np.abs(joint).max()
    assert_allclose(moments.input_covariance, joint[:columns, :columns], atol=1e-13 * scale)
    assert_allclose(moments.cross_covariance, joint[columns:, :columns], atol=1e-13 * scale)


def test_cross_covariance_is_y_by_x() -> None:
    x, mixing = normal(5, 50, 3), np.array([[1.0, 2.0, 0.0], [0.0, 0.5, 0.0], [3.0, 0.0, -1.0]])
    moments = second_moments(paired(x, x @ mixing.T + 7))
    assert_allclose(moments.cross_covariance, mixing @ moments.input_covariance, rtol=1e-11)


@given(st.integers(0, 2**32), st.integers(4, 30), st.data())
def test_lagged_views_pair_a_row_with_a_later_one_each_about_its_own_mean(seed: int, rows: int, data: st.DataObject) -> None:
    lag = data.draw(st.integers(1, rows - 2))
    x = normal(seed, rows, 2)
    moments, same = second_moments(lagged(x, lag=lag)), second_moments(paired(x[:-lag], x[lag:]))
    assert moments.count == rows - lag
    assert_array_equal(moments.input_covariance, same.input_covariance)
    assert_array_equal(moments.cross_covariance, same.cross_covariance)


@pytest.mark.parametrize("lag", [1, 3])
def test_noisy_autoregression_has_the_features_of_the_theory(lag: int) -> None:
    count, gamma, tau, eta = 400_000, np.array([0.9, 0.5]), np.array([1.5, 1.0]), np.array([0.5, 1.2])
    generator = np.random.default_rng(11)
    shocks = generator.standard_normal((count, 2)) * tau * np.sqrt(1 - gamma**2)
    signal = np.empty((count, 2))
    state = tau * generator.standard_normal(2)
    for step, shock in enumerate(shocks):
        signal[step] = state = gamma * state + shock
    x = signal + eta * generator.standard_normal((count, 2))
    features = diagonalise(second_moments(lagged(x, lag=lag))).features
    assert_allclose(features.lam, gamma**lag * tau**2, atol=0.04)
    assert_allclose(features.rho, gamma**lag * tau**2 / (tau**2 + eta**2), atol=0.01)
    assert_allclose(features.sigma**2, tau**2 + eta**2, atol=0.04)


# Blocks, memory, types


@pytest.mark.parametrize("kind", KINDS)
def test_block_size_does_not_matter(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = normal(6, 101, 4)
    whole = second_moments(KINDS[kind](x))
    for rows in (1, 7, 100, 101):
        monkeypatch.setattr(dynamics.views, "BLOCK_BYTES", rows * 4 * 8)
        assert next(iter(KINDS[kind](x).blocks(4))) == slice(0, min(rows, KINDS[kind](x).count))
        parts = second_moments(KINDS[kind](x))
        assert_allclose(parts.input_covariance, whole.input_covariance, rtol=1e-12, atol=1e-14)
        assert_allclose(parts.cross_covariance, whole.cross_covariance, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_memory_mapped_equals_in_memory(kind: str, tmp_path: Path) -> None:
    x = normal(7, 300, 5).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    on_disk = second_moments(KINDS[kind](np.load(tmp_path / "x.npy", mmap_mode="r")))
    in_memory = second_moments(KINDS[kind](x))
    assert_array_equal(on_disk.input_covariance, in_memory.input_covariance)
    assert_array_equal(on_disk.cross_covariance, in_memory.cross_covariance)


@pytest.mark.parametrize("kind", ["masked", "lagged"])
def test_a_file_larger_than_a_block_is_never_copied_as_a_whole(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).integers(0, 256, (200_000, 16), dtype=np.uint8))
    x = np.load(tmp_path / "x.npy", mmap_mode="r")
    monkeypatch.setattr(dynamics.views, "BLOCK_BYTES", 1 << 18)
    tracemalloc.start()
    try:
        second_moments(KINDS[kind](x))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000, "200,000 rows of 16 numbers are 3.2 MB as stored and 25.6 MB as doubles"


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int8, np.int64, np.uint64, np.float16, np.float32, np.longdouble])
@pytest.mark.parametrize("kind", ["masked", "lagged"])
def test_every_real_type_is_computed_with_in_doubles(dtype: npt.DTypeLike, kind: str) -> None:
    x = np.random.default_rng(8).integers(0, 2 if dtype is np.bool_ else 100, (400, 3)).astype(dtype)
    stored, doubles = second_moments(KINDS[kind](x)), second_moments(KINDS[kind](x.astype(np.float64)))
    assert stored.input_covariance.dtype == np.float64
    assert_array_equal(stored.input_covariance, doubles.input_covariance)
    assert_array_equal(stored.cross_covariance, doubles.cross_covariance)


def test_a_common_offset_costs_the_square_of_the_rounding_of_the_mean() -> None:
    x = np.random.default_rng(9).integers(-1000, 1000, (5000, 3)) / 1024
    near, far = second_moments(paired(x, -x)), second_moments(paired(x + 2.0**40, 2.0**40 - x))
    rounding = 2.0**-13
    assert_allclose(far.input_covariance, near.input_covariance, rtol=1e-13, atol=rounding**2)
    assert_allclose(far.cross_covariance, near.cross_covariance, rtol=1e-13, atol=rounding**2)


def test_lists_and_transposed_arrays_are_tables_too() -> None:
    x = normal(10, 30, 3)
    expected = second_moments(paired(x, x)).input_covariance
    assert_allclose(second_moments(paired(x.tolist(), np.asfortranarray(x))).input_covariance, expected, rtol=1e-13, atol=1e-14)


# Columns that do not vary


@pytest.mark.parametrize("kind", KINDS)
def test_constant_columns_are_left_out_of_both_views(kind: str) -> None:
    x = normal(12, 40, 4)
    x[:, 1], x[:, 3] = 0.1, -7e5
    y = normal(13, 40, 4)
    views = paired(x, y) if kind == "paired" else KINDS[kind](x)
    rest = paired(x[:, [0, 2]], y[:, [0, 2]]) if kind == "paired" else KINDS[kind](x[:, [0, 2]])
    moments, expected = second_moments(views), second_moments(rest)
    assert_array_equal(moments.columns_kept, [0, 2])
    assert moments.notes == ("x does not vary in 2 of the 4 columns, 2, 4; left out of both views.",)
    assert_allclose(moments.input_covariance, expected.input_covariance, rtol=1e-13)
    assert_allclose(moments.cross_covariance, expected.cross_covariance, rtol=1e-13, atol=1e-14)
    assert expected.notes == ()


@pytest.mark.parametrize(("dtype", "unit"), [(np.float64, 2.0**-52), (np.float32, 2.0**-23)])
def test_a_column_that_varies_in_its_last_digit_only_is_constant(dtype: npt.DTypeLike, unit: float) -> None:
    x = normal(14, 30, 2).astype(dtype)
    x[:, 0] = 1.0
    x[::3, 0] = 1.0 + unit
    assert_array_equal(second_moments(paired(x, x)).columns_kept, [1])
    x[::3, 0] = 1.0 + 100 * unit
    assert_array_equal(second_moments(paired(x, x)).columns_kept, [0, 1])


def test_a_column_constant_in_y_alone_is_kept() -> None:
    x = normal(15, 30, 2)
    y = x.copy()
    y[:, 1] = 4.0
    moments = second_moments(paired(x, y))
    assert_array_equal(moments.cross_covariance[1], [0.0, 0.0])
    assert moments.notes == ()


def test_constant_columns_are_called_by_name_and_many_are_counted() -> None:
    x = normal(16, 30, 12)
    x[:, 1:] = 1.0
    x[:, 2] = normal(17, 30, 1)[:, 0]
    names = [f"sensor {letter}" for letter in "abcdefghijkl"]
    (note,) = second_moments(masked(x, keep=0.5, columns=names)).notes
    assert "10 of the 12 columns, sensor b, sensor d," in note
    assert "sensor j and 2 more;" in note


@pytest.mark.parametrize("kind", KINDS)
def test_data_without_variation_are_refused(kind: str) -> None:
    with pytest.raises(LindynError, match="no column of X varies"):
        second_moments(KINDS[kind](np.full((10, 3), 0.3)))


# What is no data


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("rows", [1, 4, 100])
def test_an_entry_that_is_not_finite_is_named_in_any_block(value: float, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamics.views, "BLOCK_BYTES", rows * 3 * 8)
    x = normal(18, 20, 3)
    spoilt = x.copy()
    spoilt[16, 1] = value
    with pytest.raises(ParameterError, match=rf"X is {value} in row 17, column 2; it must be finite"):
        second_moments(masked(spoilt, keep=0.5))
    with pytest.raises(ParameterError, match=rf"Y is {value} in row 17, column 2 \(b\); it must be finite"):
        second_moments(paired(x, spoilt, columns=["a", "b", "c"]))
    with pytest.raises(ParameterError, match=rf"X is {value} in row 17, column 2;"):
        second_moments(lagged(spoilt, lag=10))


@pytest.mark.parametrize("scale", [1e160, 1e300, 1e-160, 1e-300])
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_whose_squares_leave_the_doubles_are_refused(kind: str, scale: float) -> None:
    with pytest.raises(LindynError, match="rescale the data"):
        second_moments(KINDS[kind](scale * normal(19, 20, 3)))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros(5), r"X is an array of shape \(5,\)"),
        (np.zeros((2, 2, 2)), r"X is an array of shape \(2, 2, 2\)"),
        (np.zeros((5, 0)), r"X is an array of shape \(5, 0\)"),
        (3.0, r"X is an array of shape \(\)"),
        (np.zeros((1, 3)), "X is a table of 1 rows"),
        (np.zeros((0, 3)), "X is a table of 0 rows"),
        (np.zeros((3, 3), dtype=complex), "X is an array of type complex128"),
        ([["a", "b"], ["c", "d"]], "X is an array of type <U1"),
        (np.array([[1, None], [2, 3]], dtype=object), "X is an array of type object"),
        (np.zeros((3, 3), dtype="datetime64[s]"), "X is an array of type datetime64"),
        ([[1, 2], [3]], "X is a ragged list"),
    ],
)
def test_what_is_not_a_table_of_numbers_is_refused(table: Any, message: str) -> None:
    for make in (lambda: paired(table, table), lambda: masked(table, keep=0.5), lambda: lagged(table, lag=1)):
        with pytest.raises(ParameterError, match=message):
            make()


@pytest.mark.parametrize("shape", [(4, 3), (5, 2), (5, 4)])
def test_views_of_different_shapes_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(LindynError, match=rf"X has 5 rows and 3 columns and Y has {shape[0]} rows and {shape[1]} columns"):
        paired(np.zeros((5, 3)), np.zeros(shape))


@pytest.mark.parametrize("keep", [0, 0.0, -0.1, 1.0001, np.nan, np.inf, "half", None, True])
@pytest.mark.parametrize("target", TARGETS)
def test_a_keep_probability_outside_its_range_is_refused(keep: Any, target: str) -> None:
    with pytest.raises(ParameterError, match=rf"keep is {keep}; it must be a number above 0"):
        masked(normal(0, 5, 2), keep=keep, target=target)


def test_keeping_everything_leaves_no_complement() -> None:
    with pytest.raises(ParameterError, match="below 1, so that the complement shows something"):
        masked(normal(0, 5, 2), keep=1.0, target="complementary")


def test_an_unknown_target_is_refused() -> None:
    with pytest.raises(ParameterError, match="target is half; it must be full, independent or complementary"):
        masked(normal(0, 5, 2), keep=0.5, target="half")


@pytest.mark.parametrize("lag", [0, -1, 4, 5, 1.0, "1", None, True])
def test_a_lag_that_leaves_fewer_than_two_pairs_or_is_no_whole_number_is_refused(lag: Any) -> None:
    with pytest.raises(ParameterError, match=rf"lag is {lag}; it must be a whole number from 1 to 3"):
        lagged(normal(0, 5, 2), lag=lag)


def test_a_series_of_two_rows_has_no_lagged_views() -> None:
    with pytest.raises(LindynError, match="need at least 3"):
        lagged(normal(0, 2, 2), lag=1)


def test_names_must_match_the_columns() -> None:
    with pytest.raises(LindynError, match="there are 2 names for the 3 columns of X"):
        masked(normal(0, 5, 3), keep=0.5, columns=["a", "b"])
