"""Tables larger than memory: Zarr arrays and sets of Parquet files as Dask arrays, read a few chunks at a time."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from dynamics.errors import LindynError, TableError
from dynamics.files import reason
from dynamics.tables import require_parquet
from dynamics.workers import cores

if TYPE_CHECKING:
    import pyarrow as pa

Found = TypeVar("Found")

NEEDED = "need Dask and Zarr, which are not installed; run pip install 'lindyn[distributed]'."


def is_stored(values: object) -> bool:
    """Whether these are the values of a Dask array, to be read when they are needed."""
    return hasattr(values, "__dask_graph__")


def read_rows(values: Any, part: slice | npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """Some rows of a Dask array, read in this thread."""
    if isinstance(part, slice):
        rows: npt.NDArray[Any] = values[part].compute(scheduler="synchronous")
        return rows
    once, places = np.unique(part, return_inverse=True)
    few: npt.NDArray[Any] = values[once].compute(scheduler="synchronous")
    return few[places]


def chunk_ends(values: Any) -> list[int]:
    """Where the chunks of rows end."""
    ends: list[int] = np.cumsum(values.chunks[0]).tolist()
    return ends


def side_by_side(work: Callable[[slice], Found], parts: Iterable[slice]) -> Iterator[Found]:
    """The work on every part, in order, on so many parts at a time as there are cores."""
    import dask

    waiting = iter(parts)
    while some := list(islice(waiting, cores())):
        yield from dask.compute(*(dask.delayed(work)(part) for part in some), scheduler="threads")


def read_stored(path: str, key: str | None, columns: Sequence[str]) -> tuple[Any, tuple[str, ...] | None]:
    """A folder as a Dask array of samples x coordinates, and the names of its columns where it has them.

    Parameters
    ----------
    path
        A Zarr array or group, or a folder of Parquet files, taken in the order of their names, numbers by their size.
    key
        Of a Zarr group: which of its arrays; not needed where there is one.
    columns
        Of Parquet files: the columns to keep, in this order; by default all.

    Raises
    ------
    TableError
        If it is neither, or cannot be read; one sentence that begins with ``path``.
    LindynError
        If Dask, Zarr or pyarrow is not installed.
    """
    files = sorted(Path(path).rglob("*.parquet"), key=lambda file: _natural(file.relative_to(path).as_posix()))
    if files:
        if key is not None:
            raise TableError(f"{path} is a set of Parquet files and has no array {key}; choose columns with --columns.")
        return parquet_set(path, files, columns)
    if columns:
        raise TableError(f"{path} has no column names to choose from; leave the columns out.")
    return _zarr_array(path, key), None


def parquet_set(path: str, files: Sequence[Path], columns: Sequence[str]) -> tuple[Any, tuple[str, ...]]:
    """Parquet files, one below the other, as a Dask array with a chunk a row group."""
    require_parquet("")
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        abouts = [pq.read_metadata(file) for file in files]
        schemas = [about.schema.to_arrow_schema() for about in abouts]
    except (pa.ArrowException, OSError):
        raise TableError(f"{path} holds a file that is not valid Parquet.") from None
    for file, schema in zip(files, schemas, strict=True):
        if set(schema.names) != set(schemas[0].names):
            strange = min(set(schema.names) ^ set(schemas[0].names))
            raise TableError(f"{path}: {file.name} and {files[0].name} differ in the column {strange}.")
    names = tuple(columns) or tuple(schemas[0].names)
    kind = _numbers(path, schemas[0], names)
    try:
        import dask
        import dask.array as da
    except ImportError:
        raise LindynError(f"Sets of Parquet files {NEEDED}") from None
    read = dask.delayed(_row_group)
    chunks = [
        da.from_delayed(read(str(file), group, names), (about.row_group(group).num_rows, len(names)), kind)
        for file, about in zip(files, abouts, strict=True)
        for group in range(about.num_row_groups)
        if about.row_group(group).num_rows
    ]
    if not chunks:
        raise TableError(f"{path} is empty.")
    return da.concatenate(chunks), names


def _numbers(path: str, schema: pa.Schema, names: Sequence[str]) -> np.dtype[Any]:
    """The type that holds the values of these columns; raises a `TableError` that names one which is missing or no number."""
    import pyarrow as pa

    if len(set(names)) < len(names):
        repeated = next(name for name in names if list(names).count(name) > 1)
        raise TableError(f"{path}: the column {repeated} is asked for twice.")
    kinds = []
    for name in names:
        if name not in schema.names:
            raise TableError(f"{path} has no column {name or '(empty name)'}; it has {', '.join(schema.names)}.")
        kind = schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            others = ",".join(other for other in names if other != name)
            leave = f"leave the column out with --columns {others or 'NAMES'}"
            raise TableError(f"{path}: the column {name} holds {kind} values; numbers are needed, or {leave}.")
        kinds.append(np.dtype(kind.to_pandas_dtype()))
    return np.result_type(*kinds)


def _row_group(file: str, group: int, names: Sequence[str]) -> npt.NDArray[Any]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as opened:
        table = opened.read_row_group(group, columns=list(names))
    return np.column_stack([table.column(name).to_numpy() for name in names])


def _zarr_array(path: str, key: str | None) -> Any:
    try:
        import dask.array as da
        import zarr
    except ImportError:
        raise LindynError(f"Zarr arrays {NEEDED}") from None
    try:
        opened: Any = zarr.open(path, mode="r")
    except FileNotFoundError:
        raise TableError(f"{path} is a folder with neither a Zarr array nor Parquet files.") from None
    except OSError as error:
        raise TableError(f"{path} cannot be read: {reason(error)}.") from None
    except (ValueError, KeyError):
        raise TableError(f"{path} is not a readable Zarr array.") from None
    if isinstance(opened, zarr.Group):
        opened = _member(opened, path, key)
    elif key is not None:
        raise TableError(f"{path} is one array and has no array {key}.")
    return da.from_array(opened, chunks=(*opened.chunks[:1], -1) if opened.ndim == 2 else "auto")


def _member(group: Any, path: str, key: str | None) -> Any:
    names = sorted(name for name, _ in group.arrays())
    if key is None and len(names) != 1:
        raise TableError(f"{path} holds the arrays {', '.join(names) or 'none'}; say which as {path}:KEY.")
    if key is not None and key not in names:
        raise TableError(f"{path} has no array {key}; it holds {', '.join(names) or 'none'}.")
    return group[key if key is not None else names[0]]


def _natural(name: str) -> list[int | str]:
    """What sorts part.10 behind part.9."""
    return [int(piece) if piece.isdigit() else piece for piece in re.split(r"(\d+)", name)]


def is_larger(path: str, most: int) -> bool:
    """Whether the numbers of a Parquet file need more bytes than that; False where it cannot be read."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return False
    try:
        about = pq.read_metadata(os.fspath(path))
    except (pa.ArrowException, OSError):
        return False
    return bool(8 * about.num_rows * about.num_columns > most)
