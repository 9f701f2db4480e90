import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dynamics import TableError
from dynamics.matrices import read_matrix

NUMBERS = np.arange(12.0).reshape(4, 3)


def test_every_format_gives_the_same_numbers(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(NUMBERS, columns=["a", "b", "c"])
    np.save(tmp_path / "x.npy", NUMBERS)
    np.savez(tmp_path / "one.npz", NUMBERS)
    np.savez(tmp_path / "two.npz", x=NUMBERS, y=NUMBERS + 1)
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_csv(tmp_path / "x.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "x.parquet")
    np.savetxt(tmp_path / "bare.csv", NUMBERS, delimiter=",")
    for name in ("x.npy", "one.npz", "two.npz:x", "x.csv", "x.tsv", "x.parquet", "bare.csv"):
        assert_array_equal(read_matrix(str(tmp_path / name)).values, NUMBERS)
    assert read_matrix(str(tmp_path / "x.csv")).columns == ("a", "b", "c")
    assert read_matrix(str(tmp_path / "bare.csv")).columns is None
    assert_array_equal(read_matrix(str(tmp_path / "x.parquet"), ["c", "a"]).values, NUMBERS[:, [2, 0]])


def test_an_npy_file_is_mapped_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", NUMBERS)
    assert isinstance(read_matrix(str(tmp_path / "x.npy")).values, np.memmap)


def corrupted_npz() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("x.npy", b"not an array")
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("x.npy", b"garbage", "not a readable NumPy file"),
        ("x.npy", b"", "not a readable NumPy file"),
        ("x.npz", b"PK garbage", "not a readable NumPy file"),
        ("x.npz", corrupted_npz(), "not a readable NumPy file"),
        ("x.csv", b"", "is empty"),
        ("x.csv", b"a,b\n", "is empty"),
        ("x.csv", b"a,b\n1,2,3\n", "ragged"),
        ("x.csv", b"a,b\n1,2\n1,2,3\n", "ragged"),
        ("x.csv", b"a,b\n1\n", "row 1, column b is empty"),
        (
            "x.csv",
            b"a,b\n1,2\n3,x\n",
            "row 2, column b is 'x'.*, or leave the column out with --columns a",
        ),
        ("x.csv", b"a,b\n1,\xff\n", "not UTF-8"),
        ("x.parquet", b"garbage", "not valid Parquet"),
        ("x.mat", b"", "unknown ending"),
    ],
)
def test_a_file_that_is_no_matrix_is_refused_in_one_sentence(tmp_path: Path, name: str, content: bytes, complaint: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=complaint) as refused:
        read_matrix(str(tmp_path / name))
    assert "\n" not in str(refused.value)


def test_a_file_that_needs_pickle_is_refused(tmp_path: Path) -> None:
    objects = np.array([{"a": 1}, None], dtype=object)
    np.save(tmp_path / "x.npy", objects)
    np.savez(tmp_path / "x.npz", x=objects)
    for name in ("x.npy", "x.npz"):
        with pytest.raises(TableError, match="needs pickle, which can run code and is refused"):
            read_matrix(str(tmp_path / name))


@pytest.mark.parametrize(
    "array", [np.arange(3.0), np.zeros((2, 2, 2)), np.zeros((0, 3)), np.array([["a", "b"]]), np.zeros((2, 2), complex)]
)
def test_an_array_of_another_kind_is_refused(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(TableError):
        read_matrix(str(tmp_path / "x.npy"))


def test_a_key_must_be_given_and_be_there(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", one=NUMBERS, two=NUMBERS)
    with pytest.raises(TableError, match=r"holds the arrays one, two; say which as .*x\.npz:KEY"):
        read_matrix(str(tmp_path / "x.npz"))
    with pytest.raises(TableError, match="has no array three; it holds one, two"):
        read_matrix(str(tmp_path / "x.npz:three"))


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TableError, match="has no column c; it has a, b"):
        read_matrix(str(tmp_path / "x.csv"), ["a", "c"])
