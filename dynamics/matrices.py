"""Data matrices: one row a sample or a time step, read without ever trusting the file.

Files are .npy, .npz, CSV, TSV and Parquet; folders are Zarr arrays and sets of Parquet files, which stay where they are.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from dynamics.errors import TableError
from dynamics.files import reason
from dynamics.large import is_larger, parquet_set, read_stored
from dynamics.tables import is_number, numeric_column, read_parquet, read_separated, refusals_of

if TYPE_CHECKING:
    import pandas as pd


NPY, ZIP = b"\x93NUMPY", b"PK"

LARGE = 1 << 31
"""Bytes of numbers beyond which a Parquet file is read in parts."""


@dataclass(frozen=True)
class Matrix:
    """A two-dimensional array of numbers and the names of its columns, where the file has them."""

    values: npt.NDArray[Any]
    columns: tuple[str, ...] | None


def read_matrix(source: str, columns: Sequence[str] = ()) -> Matrix:
    """Read a data matrix, samples x coordinates.

    Parameters
    ----------
    source
        A path, or ``-`` for standard input, whose format is recognised from its content; for one array of an .npz file or
        Zarr group with several, ``FILE.npz:KEY`` or ``FOLDER.zarr:KEY``. An .npy file is mapped into memory, not loaded; the
        values of folders, and of Parquet files that would need more than `LARGE` bytes, are Dask arrays.
    columns
        For tables: the columns to keep, in this order; by default all.

    Raises
    ------
    TableError
        If the file cannot be read, needs pickle, is empty, ragged, not two-dimensional or not numeric; one sentence that names
        the place and what is allowed.
    """
    path, key = split_key(source)
    try:
        if path == "-":
            content = sys.stdin.buffer.read()
            return _parsed(io.BytesIO(content), "standard input", _sniffed(content), None, columns)
        if os.path.isdir(path):
            return _stored(*read_stored(path, key, columns), path)
        if path.lower().endswith(".parquet") and is_larger(path, LARGE):
            return _stored(*parquet_set(path, [Path(path)], columns), path)
        with open(path, "rb") as stream:
            return _parsed(stream, path, Path(path).suffix.lower(), key, columns)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {reason(error)}.") from None


def split_key(source: str) -> tuple[str, str | None]:
    """The path, and the array of an .npz file or Zarr group that is named behind it."""
    path, separator, key = source.rpartition(":")
    return (path, key) if separator and path.lower().endswith((".npz", ".zarr")) else (source, None)


def _stored(values: Any, columns: tuple[str, ...] | None, path: str) -> Matrix:
    return Matrix(_checked(values, path), columns)


def _sniffed(content: bytes) -> str:
    """The ending that a file with this content would have."""
    for start, ending in ((NPY, ".npy"), (ZIP, ".npz"), (b"PAR1", ".parquet")):
        if content.startswith(start):
            return ending
    return ".tsv" if b"\t" in content.split(b"\n", 1)[0] else ".csv"


def _parsed(stream: BinaryIO, name: str, ending: str, key: str | None, columns: Sequence[str]) -> Matrix:
    if ending in (".npy", ".npz"):
        if columns:
            raise TableError(f"{name} has no column names to choose from; leave the columns out or give a CSV or Parquet file.")
        return Matrix(_checked(_array(stream, name, key), name), None)
    if ending in (".csv", ".tsv", ".parquet"):
        return _from_table(stream, name, ending, columns)
    known = ".npy, .npz, .csv, .tsv or .parquet, or a folder: a Zarr array or a set of Parquet files"
    raise TableError(f"{name} has an unknown ending; expected {known}.")


def _array(stream: BinaryIO, name: str, key: str | None) -> npt.NDArray[Any]:
    from zipfile import BadZipFile
    from zlib import error as BadDeflate  # noqa: N812

    known = stream.read(len(NPY)).startswith((NPY, ZIP))
    stream.seek(0)
    try:
        if not known or (not name.lower().endswith(".npy") and not _is_whole(stream)):
            raise BadZipFile
        loaded = np.load(stream, allow_pickle=False) if _in_memory(stream, name) else np.load(name, "r", allow_pickle=False)
        return loaded if isinstance(loaded, np.ndarray) else _member(loaded, name, key)
    except (ValueError, EOFError, BadZipFile, BadDeflate) as error:
        if isinstance(error, TableError):
            raise
        if "pickle" in str(error) or "Python objects" in str(error):
            raise TableError(f"{name} needs pickle, which can run code and is refused; save it as plain numbers.") from None
        raise TableError(f"{name} is not a readable NumPy file.") from None


def _is_whole(stream: BinaryIO) -> bool:
    """Whether this is an .npy file or a zip archive with its directory."""
    from zipfile import is_zipfile

    whole = stream.read(len(NPY)) == NPY or is_zipfile(stream)
    stream.seek(0)
    return whole


def _in_memory(stream: BinaryIO, name: str) -> bool:
    """Whether to load rather than map: standard input, and archives."""
    return isinstance(stream, io.BytesIO) or not name.lower().endswith(".npy")


def _member(archive: np.lib.npyio.NpzFile, path: str, key: str | None) -> npt.NDArray[Any]:
    with archive:
        names = list(archive.files)
        if key is None and len(names) != 1:
            raise TableError(f"{path} holds the arrays {', '.join(names) or 'none'}; say which as {path}:KEY.")
        if key is not None and key not in names:
            raise TableError(f"{path} has no array {key}; it holds {', '.join(names) or 'none'}.")
        array = archive[key if key is not None else names[0]]
        if not isinstance(array, np.ndarray):
            raise TableError(f"{path} is not a readable NumPy file.")
        return array


def _checked(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if values.ndim != 2:
        raise TableError(f"{name} has shape {values.shape}; a two-dimensional array, samples x coordinates, is needed.")
    if values.size == 0:
        raise TableError(f"{name} is empty: its shape is {values.shape}.")
    if values.dtype.kind not in "fiub":
        raise TableError(f"{name} holds {values.dtype} values; real numbers are needed.")
    return values


def _from_table(stream: BinaryIO, name: str, ending: str, columns: Sequence[str]) -> Matrix:
    frame, headed = _frame(stream, name, ending)
    if frame.empty:
        raise TableError(f"{name} is empty.")
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise TableError(f"{name} has no column {missing[0] or '(empty name)'}; it has {', '.join(map(str, frame.columns))}.")
    if len(set(columns)) < len(columns):
        repeated = next(column for column in columns if list(columns).count(column) > 1)
        raise TableError(f"{name}: the column {repeated} is asked for twice.")
    chosen = frame[list(columns)] if columns else frame
    values = [numeric_column(chosen[title], title, name, _leave_out(title, chosen)) for title in chosen.columns]
    return Matrix(_checked(np.column_stack(values), name), tuple(map(str, chosen.columns)) if headed else None)


def _leave_out(title: object, frame: pd.DataFrame) -> str:
    others = ",".join(str(other) for other in frame.columns if other != title)
    return f", or leave the column out with --columns {others or 'NAMES'}"


def _frame(stream: BinaryIO, name: str, ending: str) -> tuple[pd.DataFrame, bool]:
    """The table, and whether it has a header: a first line of numbers only is data."""
    with refusals_of(name):
        if ending == ".parquet":
            return read_parquet(stream), True
        separator = "\t" if ending == ".tsv" else ","
        first = stream.readline().decode("utf-8-sig")
        stream.seek(0)
        headed = not all(is_number(cell.strip().strip('"')) for cell in first.strip().split(separator))
        return read_separated(stream, separator, header=0 if headed else None), headed
