"""Tables in folders: Zarr arrays and sets of Parquet files give the moments of the same table in memory."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import dynamics.matrices
from dynamics import LindynError, ParameterError, TableError
from dynamics.bootstrap import bootstrap
from dynamics.feature_basis import diagonalise
from dynamics.large import chunk_ends, is_stored, read_rows
from dynamics.matrices import Matrix, read_matrix
from dynamics.network.data import moments_of_views
from dynamics.views import Views, lagged, masked, paired, second_moments, standardised

ROWS, COLUMNS = 97, 4
TABLE = np.random.default_rng(5).standard_normal((ROWS, COLUMNS)) + np.arange(COLUMNS)
KINDS: dict[str, Callable[[Any], Views]] = {
    "paired": lambda x: paired(x, x[:, ::-1]),
    "masked": lambda x: masked(x, keep=0.3, target="complementary"),
    "lagged": lambda x: lagged(x, lag=2),
    "standardised": lambda x: standardised(lagged(x, lag=3)),
}


def as_zarr(path: Path, values: npt.NDArray[Any], chunks: tuple[int, int]) -> str:
    stored: Any = zarr.open(str(path), mode="w", shape=values.shape, chunks=chunks, dtype=values.dtype)
    stored[:] = values
    return str(path)


def as_parquet_set(path: Path, values: npt.NDArray[Any], rows: int, group: int) -> str:
    path.mkdir()
    for number, start in enumerate(range(0, len(values), rows)):
        part = pa.table({f"c{column}": values[start : start + rows, column] for column in range(values.shape[1])})
        pq.write_table(part, path / f"part.{number}.parquet", row_group_size=group)
    return str(path)


@pytest.fixture
def folders(tmp_path: Path) -> list[Matrix]:
    return [
        read_matrix(as_zarr(tmp_path / "x.zarr", TABLE, (10, 3))),
        read_matrix(as_parquet_set(tmp_path / "set", TABLE, 8, 3)),
    ]


def test_folders_are_read_where_they_are_and_in_order(folders: list[Matrix]) -> None:
    for matrix in folders:
        assert is_stored(matrix.values)
        assert matrix.values.shape == TABLE.shape
        assert_array_equal(np.asarray(matrix.values), TABLE)
    assert folders[0].columns is None
    assert folders[1].columns == ("c0", "c1", "c2", "c3")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block_bytes", [8 * COLUMNS, 8 * COLUMNS * 15, 1 << 25])
def test_moments_are_those_of_the_table_in_memory(
    folders: list[Matrix], kind: str, block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dynamics.views.BLOCK_BYTES", block_bytes)
    expected = second_moments(KINDS[kind](TABLE))
    for matrix in folders:
        found = second_moments(KINDS[kind](matrix.values))
        assert_allclose(found.input_covariance, expected.input_covariance, rtol=1e-12, atol=1e-13)
        assert_allclose(found.cross_covariance, expected.cross_covariance, rtol=1e-12, atol=1e-13)
        assert_allclose(found.means, expected.means, rtol=1e-12, atol=1e-13)
        assert found.count == expected.count


def test_the_same_folder_gives_the_same_bytes_each_time(folders: list[Matrix], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynamics.views.BLOCK_BYTES", 8 * COLUMNS * 11)
    for matrix in folders:
        runs = [second_moments(KINDS["lagged"](matrix.values)) for _ in range(3)]
        for run in runs:
            assert_array_equal(run.cross_covariance, runs[0].cross_covariance)


@settings(max_examples=30)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(1, 20))
def test_blocks_are_whole_chunks_and_leave_no_gap(lengths: list[int], most: int) -> None:
    import dask.array as da

    values = da.ones((sum(lengths), 1), chunks=(tuple(lengths), 1))
    if len(values) < 2:
        return
    views = masked(values, keep=0.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dynamics.views.BLOCK_BYTES", 8 * most)
        blocks = list(views.blocks(1))
    ends = chunk_ends(values)
    assert [block.start for block in blocks] == [0, *(block.stop for block in blocks[:-1])]
    assert blocks[-1].stop == len(values)
    assert {block.stop for block in blocks} <= set(ends)
    for block in blocks:
        joined = sum(block.start < end <= block.stop for end in ends)
        assert joined == 1 or block.stop - block.start <= most


def test_rows_may_be_asked_for_in_any_order_and_twice(folders: list[Matrix]) -> None:
    places = np.array([96, 3, 3, 50, 0])
    for matrix in folders:
        assert_array_equal(read_rows(matrix.values, places), TABLE[places])


def test_errors_and_moments_of_batches_come_from_folders_as_well(folders: list[Matrix]) -> None:
    inside = masked(TABLE, keep=0.5)
    basis = diagonalise(second_moments(inside))
    expected = bootstrap(inside, basis, seed=1, replicates=20)
    target = moments_of_views(inside, basis).target_covariance
    for matrix in folders:
        views = masked(matrix.values, keep=0.5)
        assert_allclose(moments_of_views(views, basis).target_covariance, target, rtol=1e-12, atol=1e-13)
        assert bootstrap(views, basis, seed=1, replicates=20).lam.shape == expected.lam.shape


def test_an_entry_that_is_not_finite_is_named_by_its_row(tmp_path: Path) -> None:
    values = TABLE.copy()
    values[71, 2] = np.nan
    for path in (as_zarr(tmp_path / "x.zarr", values, (10, 4)), as_parquet_set(tmp_path / "set", values, 8, 3)):
        with pytest.raises(ParameterError, match=r"nan in row 72, column 3"):
            second_moments(masked(read_matrix(path).values, keep=0.5))


def test_an_empty_cell_of_whole_numbers_is_named_by_its_row(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    pq.write_table(pa.table({"a": [1, 2, 3], "b": [4, None, 6]}), tmp_path / "set" / "0.parquet")
    with pytest.raises(ParameterError, match=r"nan in row 2, column 2"):
        second_moments(masked(read_matrix(str(tmp_path / "set")).values, keep=0.5))


def test_parts_are_taken_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Part 10 comes after part 9, as a series needs."""
    long = np.arange(26.0).reshape(13, 2)
    assert_array_equal(np.asarray(read_matrix(as_parquet_set(tmp_path / "set", long, 1, 1)).values), long)


def test_columns_of_a_set_are_chosen_by_name(tmp_path: Path) -> None:
    matrix = read_matrix(as_parquet_set(tmp_path / "set", TABLE, 20, 9), ("c3", "c0"))
    assert matrix.columns == ("c3", "c0")
    assert_array_equal(np.asarray(matrix.values), TABLE[:, [3, 0]])


def test_a_group_of_arrays_is_asked_for_one(tmp_path: Path) -> None:
    path = str(tmp_path / "both.zarr")
    group: Any = zarr.open_group(path, mode="w")
    for name, factor in (("one", 1.0), ("two", 2.0)):
        array = group.create_array(name, shape=TABLE.shape, dtype="f8")
        array[:] = factor * TABLE
    assert_array_equal(np.asarray(read_matrix(f"{path}:two").values), 2.0 * TABLE)
    with pytest.raises(TableError, match=r"holds the arrays one, two; say which as .*both\.zarr:KEY"):
        read_matrix(path)
    with pytest.raises(TableError, match="has no array three; it holds one, two"):
        read_matrix(f"{path}:three")


def test_a_large_file_of_parquet_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "one.parquet"
    pq.write_table(pa.table({"a": TABLE[:, 0], "b": TABLE[:, 1]}), path, row_group_size=10)
    assert not is_stored(read_matrix(str(path)).values)
    monkeypatch.setattr(dynamics.matrices, "LARGE", 8 * 2 * ROWS - 1)
    large = read_matrix(str(path))
    assert is_stored(large.values)
    assert large.columns == ("a", "b")
    assert_array_equal(np.asarray(large.values), TABLE[:, :2])


def test_what_is_no_table_of_numbers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="is a folder with neither a Zarr array nor Parquet files"):
        read_matrix(str(tmp_path))
    words = tmp_path / "words"
    words.mkdir()
    pq.write_table(pa.table({"day": ["mon", "tue"], "wind": [1.0, 2.0]}), words / "0.parquet")
    with pytest.raises(TableError, match=r"the column day holds string values; .* leave the column out with --columns wind"):
        read_matrix(str(words))
    assert read_matrix(str(words), ("wind",)).values.shape == (2, 1)
    with pytest.raises(TableError, match="has no column rain; it has day, wind"):
        read_matrix(str(words), ("rain",))
    with pytest.raises(TableError, match="is asked for twice"):
        read_matrix(str(words), ("wind", "wind"))
    pq.write_table(pa.table({"wind": [1.0]}), words / "1.parquet")
    with pytest.raises(TableError, match=r"1\.parquet and 0\.parquet differ in the column day"):
        read_matrix(str(words))
    (words / "2.parquet").write_bytes(b"no parquet")
    with pytest.raises(TableError, match="holds a file that is not valid Parquet"):
        read_matrix(str(words))
    line = as_zarr(tmp_path / "line.zarr", TABLE, (10, 4))
    with pytest.raises(TableError, match="has no column names to choose from"):
        read_matrix(line, ("a",))
    with pytest.raises(TableError, match="is one array and has no array key"):
        read_matrix(f"{line}:key")
    cube: Any = zarr.open(str(tmp_path / "cube.zarr"), mode="w", shape=(3, 3, 3), dtype="f8")
    assert cube.ndim == 3
    with pytest.raises(TableError, match=r"has shape \(3, 3, 3\)"):
        read_matrix(str(tmp_path / "cube.zarr"))
    broken = tmp_path / "broken.zarr"
    broken.mkdir()
    (broken / "zarr.json").write_text("{")
    with pytest.raises(LindynError, match="is not a readable Zarr array"):
        read_matrix(str(broken))


def test_memory_holds_a_few_blocks_and_not_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynamics.views.BLOCK_BYTES", 1 << 17)
    long = np.random.default_rng(0).standard_normal((1 << 16, 16))
    path = as_zarr(tmp_path / "long.zarr", long, (1 << 10, 16))
    size = long.nbytes
    expected = second_moments(masked(long, keep=0.5)).input_covariance
    second_moments(masked(read_matrix(path).values[:2000], keep=0.5))  # imports
    del long
    tracemalloc.start()
    found = second_moments(masked(read_matrix(path).values, keep=0.5))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert_allclose(found.input_covariance, expected, rtol=1e-11, atol=1e-12)
    assert most < size / 2
