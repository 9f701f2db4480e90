"""Tables: columns by name, read and written as CSV, TSV, JSON, JSON lines and Parquet.

Floats are written with every digit (shortest repr); infinities are ``inf`` in CSV and the strings "inf" and "-inf" in JSON.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from dynamics.errors import LindynError, TableError
from dynamics.features import FloatArray
from dynamics.files import reason
from dynamics.table import Table, stacked

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("csv", "tsv", "json", "jsonl", "parquet")


def format_of(path: str | Path) -> str | None:
    """The format that a file's ending names, if any."""
    ending = Path(path).suffix.lower().lstrip(".")
    return {"ndjson": "jsonl", "pq": "parquet"}.get(ending, ending if ending in FORMATS else None)


def write_table(table: Table, stream: BinaryIO, table_format: str) -> None:
    """Write a table to a binary stream in one of `FORMATS`."""
    write_parts([table], stream, table_format)


def write_parts(parts: Iterable[Table], stream: BinaryIO, table_format: str) -> None:
    """Write a table that comes in parts with the same columns, one below the other; text needs no memory for the whole."""
    _WRITERS[table_format](parts, stream)


def _write_separated(separator: str) -> Callable[[Iterable[Table], BinaryIO], None]:
    def write(parts: Iterable[Table], stream: BinaryIO) -> None:
        with _text(stream) as text:
            for number, part in enumerate(parts):
                header = number == 0
                part.to_dataframe().to_csv(
                    text, index=False, header=header, sep=separator, lineterminator="\n", chunksize=50_000
                )

    return write


def _write_json(parts: Iterable[Table], stream: BinaryIO) -> None:
    with _text(stream) as text:
        text.write("[\n")
        for number, record in enumerate(_records(parts)):
            text.write(f",\n{record}" if number else record)
        text.write("\n]\n")


def _write_json_lines(parts: Iterable[Table], stream: BinaryIO) -> None:
    with _text(stream) as text:
        text.writelines(record + "\n" for record in _records(parts))


def _records(parts: Iterable[Table]) -> Iterator[str]:
    return (_strict(record) for part in parts for record in part.records())


def _write_parquet(parts: Iterable[Table], stream: BinaryIO) -> None:
    require_parquet()
    buffer = io.BytesIO()
    stacked(parts).to_dataframe().to_parquet(buffer, index=False)
    stream.write(buffer.getbuffer())


_WRITERS = {
    "csv": _write_separated(","),
    "tsv": _write_separated("\t"),
    "json": _write_json,
    "jsonl": _write_json_lines,
    "parquet": _write_parquet,
}


@contextmanager
def _text(stream: BinaryIO) -> Iterator[io.TextIOWrapper]:
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=False)
    try:
        yield text
    finally:
        text.detach()


def _strict(record: dict[str, Any]) -> str:
    import json

    finite = {name: _json_number(value) if isinstance(value, float) else value for name, value in record.items()}
    return json.dumps(finite, ensure_ascii=False, allow_nan=False)


def _json_number(value: float) -> float | str:
    return value if np.isfinite(value) else str(value)


def require_parquet(otherwise: str = ", or choose CSV") -> None:
    """Raise a `LindynError` that says what to install, or what to do otherwise, where Parquet cannot be read or written."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise LindynError(f"Parquet needs pyarrow, which is not installed; run pip install pyarrow{otherwise}.") from None


def read_parquet(stream: BinaryIO) -> pd.DataFrame:
    """Read Parquet; raises a `TableError`, to follow the name of the file, where it is not."""
    require_parquet()
    import pandas as pd
    import pyarrow as pa

    try:
        return pd.read_parquet(stream)
    except (pa.ArrowException, OSError):
        raise TableError("is not valid Parquet.") from None


def read_frame(source: str | Path | BinaryIO, name: str, table_format: str | None = None) -> pd.DataFrame:
    """Any table as it stands in the file, in the format given, named by the path's ending or, of a stream, by its content.

    Raises
    ------
    TableError
        If it cannot be read; one sentence that begins with ``name``.
    """
    try:
        if isinstance(source, str | Path):
            with open(source, "rb") as stream:
                return _parsed(stream, name, table_format or format_of(source) or "csv")
        content = source.read()
        return _parsed(io.BytesIO(content), name, table_format or _sniffed(content))
    except OSError as error:
        raise TableError(f"{name} cannot be read: {reason(error)}.") from None


def _sniffed(content: bytes) -> str:
    start = content.lstrip(b"\xef\xbb\xbf \t\r\n")
    header = start.split(b"\n", 1)[0]
    if start.startswith(b"PAR1"):
        return "parquet"
    return {b"[": "json", b"{": "jsonl"}.get(start[:1], "tsv" if b"\t" in header else "csv")


def _parsed(stream: BinaryIO, name: str, table_format: str) -> pd.DataFrame:
    with refusals_of(name):
        if table_format == "parquet":
            return read_parquet(stream)
        if table_format in ("csv", "tsv"):
            return read_separated(stream, "\t" if table_format == "tsv" else ",")
    import pandas as pd

    try:
        return pd.DataFrame(_json_records(stream, table_format))
    except UnicodeDecodeError:
        raise TableError(f"{name} is not UTF-8 text.") from None
    except (RecursionError, OverflowError):
        raise TableError(f"{name} is not valid {table_format.upper()}.") from None
    except (ValueError, TypeError, KeyError) as error:
        raise TableError(f"{name} is not valid {table_format.upper()}: {str(error).splitlines()[0].rstrip('.')}.") from None


@contextmanager
def refusals_of(name: str) -> Iterator[None]:
    """Turn what readers of CSV and Parquet refuse into a `TableError` that begins with the name of the file."""
    import pandas as pd

    try:
        yield
    except pd.errors.EmptyDataError:
        raise TableError(f"{name} is empty.") from None
    except UnicodeDecodeError:
        raise TableError(f"{name} is not UTF-8 text.") from None
    except TableError as error:
        raise TableError(f"{name} {error}") from None


def read_separated(stream: BinaryIO, separator: str = ",", *, header: int | None = 0) -> pd.DataFrame:
    """Read CSV or TSV with every digit, stripped column names and empty cells as missing.

    Raises
    ------
    TableError
        If rows differ in length or a column name stands twice; the sentence is to follow the name of the file.
    """
    import pandas as pd

    options: dict[str, Any] = {"na_values": [""], "keep_default_na": False, "sep": separator, "encoding": "utf-8-sig"}
    if header is not None:
        names = pd.read_csv(stream, header=None, nrows=1, dtype=str, **options).iloc[0].map(lambda name: str(name).strip())
        if names.duplicated().any():
            raise TableError(f"has the column {names[names.duplicated()].iloc[0]} twice.")
        stream.seek(0)
    try:
        frame: pd.DataFrame = pd.read_csv(stream, header=header, skipinitialspace=True, **options)
    except pd.errors.ParserError as error:
        raise TableError(_ragged(str(error), header is not None)) from None
    if not isinstance(frame.index, pd.RangeIndex):
        raise TableError("is ragged: row 1 has more fields than the header.")
    if header is not None:
        frame.columns = frame.columns.map(lambda column: str(column).strip())
    return frame


def _ragged(complaint: str, headed: bool) -> str:
    place = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", complaint)
    if place is None:
        return "is ragged or has an unclosed quotation mark."
    wanted, line, found = map(int, place.groups())
    return f"is ragged: row {line - headed} has {found} fields where {wanted} are expected."


def _json_records(stream: BinaryIO, table_format: str) -> list[dict[str, Any]]:
    import json

    text = stream.read().decode("utf-8-sig")
    if table_format == "json":
        records = json.loads(text, object_pairs_hook=_distinct_keys)
    else:
        records = [_json_line(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ValueError("expected a list of objects, one a feature")
    return records


def _json_line(number: int, line: str) -> Any:
    import json

    try:
        return json.loads(line, object_pairs_hook=_distinct_keys)
    except ValueError as error:
        raise ValueError(f"line {number}: {error}") from None


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)} stands twice in one object")
    return record


def numeric_column(column: pd.Series[Any], title: object, name: str, remedy: str = "") -> FloatArray:
    """A column as doubles; raises a `TableError` that names the first cell which is not a finite number, and the remedy."""
    import pandas as pd

    missing = column.isna().to_numpy()
    if missing.any():
        raise TableError(f"{name}: row {int(np.argmax(missing)) + 1}, column {title} is empty; a number is needed.")
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        wrong = next((row for row, cell in enumerate(column) if isinstance(cell, bool) or not _is_finite_number(cell)), None)
        if wrong is not None:
            cell = column.iloc[wrong]
            raise TableError(f"{name}: row {wrong + 1}, column {title} is {cell!r}; a finite number is needed{remedy}.")
    values = column.to_numpy(dtype=np.float64)
    return require_cells(values, np.isfinite(values), title, name, "a finite number")


def require_cells(values: FloatArray, allowed: npt.NDArray[np.bool_], title: object, name: str, needed: str) -> FloatArray:
    """The values, unless one is not allowed: then a `TableError` that names its row."""
    if not allowed.all():
        row = int(np.argmin(allowed))
        raise TableError(f"{name}: row {row + 1}, column {title} is {values[row]}; {needed} is needed.")
    return values


def is_number(text: object) -> bool:
    """Whether a cell reads as a number, infinities and nan included."""
    try:
        float(str(text))
    except (ValueError, OverflowError):
        return False
    return True


def _is_finite_number(cell: object) -> bool:
    return is_number(cell) and bool(np.isfinite(float(str(cell))))
