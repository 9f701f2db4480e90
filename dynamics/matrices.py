"""Data matrices: one row a sample or a time step, read without ever trusting the file (.npy, .npz, CSV, TSV, Parquet)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dynamics.errors import TableError
from dynamics.tables import format_of, read_separated, reason, require_parquet

if TYPE_CHECKING:
    import pandas as pd


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
        A path; for one array of an .npz file with several, ``FILE.npz:KEY``. An .npy file is mapped into memory, not loaded.
    columns
        For tables: the columns to keep, in this order; by default all.

    Raises
    ------
    TableError
        If the file cannot be read, needs pickle, is empty, ragged, not two-dimensional or not numeric; one sentence that names
        the place and what is allowed.
    """
    path, key = _split(source)
    try:
        ending = Path(path).suffix.lower()
        if ending in (".npy", ".npz"):
            values = _array(path, key)
            if columns:
                raise TableError(
                    f"{path} has no column names to choose from; leave the columns out or give a CSV or Parquet file."
                )
            return Matrix(_checked(values, source), None)
        if format_of(path) in ("csv", "tsv", "parquet"):
            return _from_table(path, columns)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {reason(error)}.") from None
    raise TableError(f"{path} has an unknown ending; expected .npy, .npz, .csv, .tsv or .parquet.")


def _split(source: str) -> tuple[str, str | None]:
    path, separator, key = source.rpartition(":")
    return (path, key) if separator and path.lower().endswith(".npz") else (source, None)


def _array(path: str, key: str | None) -> npt.NDArray[Any]:
    from zipfile import BadZipFile
    from zlib import error as BadDeflate  # noqa: N812

    with open(path, "rb") as stream:
        known = stream.read(6).startswith((b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06"))
    if not known:
        raise TableError(f"{path} is not a readable NumPy file.")
    try:
        loaded = np.load(path, mmap_mode=None if path.lower().endswith(".npz") else "r", allow_pickle=False)
        return loaded if isinstance(loaded, np.ndarray) else _member(loaded, path, key)
    except (ValueError, EOFError, BadZipFile, BadDeflate) as error:
        if isinstance(error, TableError):
            raise
        if "pickle" in str(error) or "Python objects" in str(error):
            raise TableError(
                f"{path} needs pickle, which can run code and is refused; save it as a plain numeric array."
            ) from None
        raise TableError(f"{path} is not a readable NumPy file.") from None


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


def _from_table(path: str, columns: Sequence[str]) -> Matrix:
    import pandas as pd

    try:
        frame, headed = _frame(path)
    except pd.errors.EmptyDataError:
        raise TableError(f"{path} is empty.") from None
    except UnicodeDecodeError:
        raise TableError(f"{path} is not UTF-8 text.") from None
    except pd.errors.ParserError:
        raise TableError(f"{path} is ragged: its rows differ in length.") from None
    if frame.empty:
        raise TableError(f"{path} is empty.")
    missing = [column for column in columns if column not in frame.columns]
    if missing:
        raise TableError(f"{path} has no column {missing[0]}; it has {', '.join(map(str, frame.columns))}.")
    chosen = frame[list(columns)] if columns else frame
    for title in chosen.columns:
        _require_numbers(chosen[title], title, path, chosen.columns)
    values = _checked(chosen.to_numpy(dtype=np.float64), path)
    return Matrix(values, tuple(map(str, chosen.columns)) if headed else None)


def _frame(path: str) -> tuple[pd.DataFrame, bool]:
    """The table, and whether it has a header: a first line of numbers only is data."""
    if format_of(path) == "parquet":
        import pandas as pd

        require_parquet()
        try:
            return pd.read_parquet(path), True
        except OSError:
            raise
        except Exception as error:
            raise TableError(f"{path} is not valid Parquet: {str(error).splitlines()[0]}.") from None
    with open(path, "rb") as stream:
        first = stream.readline().decode("utf-8-sig")
        separator = "\t" if format_of(path) == "tsv" else ","
        headed = not all(_is_number(cell) for cell in first.strip().split(separator))
        stream.seek(0)
        return read_separated(stream, separator, header=0 if headed else None), headed


def _is_number(text: str) -> bool:
    try:
        float(text.strip().strip('"'))
    except ValueError:
        return False
    return True


def _require_numbers(column: pd.Series[Any], title: object, path: str, titles: pd.Index[Any]) -> None:
    import pandas as pd

    missing = column.isna().to_numpy()
    if missing.any():
        raise TableError(f"{path}: row {int(np.argmax(missing)) + 1}, column {title} is empty; a number is needed.")
    if pd.api.types.is_numeric_dtype(column):
        return
    row = next(row for row, cell in enumerate(column) if not _is_number(str(cell)))
    others = ",".join(str(other) for other in titles if other != title)
    raise TableError(
        f"{path}: row {row + 1}, column {title} is {column.iloc[row]!r}, not a number; "
        f"leave the column out with --columns {others or 'NAMES'}."
    )
