"""Tables: columns by name, read and written as CSV, TSV, JSON, JSON lines and Parquet.

Floats are written with every digit (shortest repr); infinities are ``inf`` in CSV and the strings "inf" and "-inf" in JSON.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from dynamics.errors import LindynError, TableError
from dynamics.features import Features
from dynamics.table import Table

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("csv", "tsv", "json", "jsonl", "parquet")
VALUES = ("lambda", "rho", "sigma")
NAMES = ("feature", "name")
OWN_COLUMNS = frozenset(
    "objective depth predictor_depth epsilon fraction asymptote critical_time log10_critical_time status steps difference "
    "critical_time_lower critical_time_upper time rank next lambda_se rho_se leakage "
    "elasticity_lambda elasticity_rho elasticity_epsilon elasticity_fraction "
    "rank_jepa rank_mae rank_jepa_se rank_mae_se dominant_time expansion_time".split()
)
"""Columns that lindyn's own tables carry besides the features; a features table may keep them, and they are not read."""

EXPECTED = "two of the columns lambda, rho and sigma, and optionally name"


def format_of(path: str | Path) -> str | None:
    """The format that a file's ending names, if any."""
    ending = Path(path).suffix.lower().lstrip(".")
    return {"ndjson": "jsonl", "pq": "parquet"}.get(ending, ending if ending in FORMATS else None)


def write_table(table: Table, stream: BinaryIO, table_format: str) -> None:
    """Write a table to a binary stream in one of `FORMATS`."""
    _WRITERS[table_format](table, stream)


@contextmanager
def replaced(path: str | Path) -> Iterator[BinaryIO]:
    """A stream whose content takes the place of ``path`` once the block ends well; else the old file stays as it was."""
    import tempfile

    target = Path(path)
    try:
        handle, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise TableError(f"{target} cannot be written: {reason(error)}.") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, target)
    except BaseException as error:
        Path(beside).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise TableError(f"{target} cannot be written: {reason(error)}.") from None
        raise


def reason(error: OSError) -> str:
    """What the operating system said, as the end of a sentence."""
    return (error.strerror or str(error)).lower()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _write_separated(separator: str) -> Callable[[Table, BinaryIO], None]:
    def write(table: Table, stream: BinaryIO) -> None:
        with _text(stream) as text:
            table.to_dataframe().to_csv(text, index=False, sep=separator, lineterminator="\n", chunksize=50_000)

    return write


def _write_json(table: Table, stream: BinaryIO) -> None:
    with _text(stream) as text:
        text.write("[\n" + ",\n".join(map(_strict, table.records())) + "\n]\n")


def _write_json_lines(table: Table, stream: BinaryIO) -> None:
    with _text(stream) as text:
        text.writelines(_strict(record) + "\n" for record in table.records())


def _write_parquet(table: Table, stream: BinaryIO) -> None:
    require_parquet()
    buffer = io.BytesIO()
    table.to_dataframe().to_parquet(buffer, index=False)
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


def require_parquet() -> None:
    """Raise a `LindynError` that says what to install where Parquet cannot be read or written."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise LindynError("Parquet needs pyarrow, which is not installed; run pip install pyarrow, or choose CSV.") from None


def read_features(source: str | Path | BinaryIO, table_format: str | None = None) -> Features:
    """Read a features table: two of the columns lambda, rho and sigma, and optionally name (or feature).

    Parameters
    ----------
    source
        A path, or a binary stream whose format is recognised from its content.
    table_format
        One of `FORMATS`; by default what the path's ending says, else CSV.

    Raises
    ------
    TableError
        If the file cannot be read or is not such a table; the sentence names the row (counted from 1 below the header) and
        the column.
    """
    name = str(source) if isinstance(source, str | Path) else "standard input"
    try:
        frame = _frame(source, name, table_format)
        columns = _checked_columns(frame, name)
        values = {column: _numbers(frame[column], column, name) for column in VALUES if column in columns}
        labels = [_labels(frame[column], column, name) for column in NAMES if column in columns]
        return Features(
            lam=values.get("lambda"), rho=values.get("rho"), sigma=values.get("sigma"), names=labels[0] if labels else None
        )
    except TableError:
        raise
    except LindynError as error:
        raise TableError(f"{name}: {error}") from None


def _frame(source: str | Path | BinaryIO, name: str, table_format: str | None) -> pd.DataFrame:
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
    import pandas as pd

    try:
        if table_format == "parquet":
            require_parquet()
            return pd.read_parquet(stream)
        if table_format in ("json", "jsonl"):
            return pd.DataFrame(_json_records(stream, table_format))
        return read_separated(stream, "\t" if table_format == "tsv" else ",")
    except pd.errors.EmptyDataError:
        raise TableError(f"{name} is empty; expected {EXPECTED}.") from None
    except UnicodeDecodeError:
        raise TableError(f"{name} is not UTF-8 text.") from None
    except pd.errors.ParserError as error:
        raise TableError(f"{name} is ragged: {_parser_complaint(error)}.") from None
    except (ValueError, TypeError, KeyError) as error:
        if isinstance(error, LindynError):
            raise
        raise TableError(f"{name} is not valid {table_format.upper()}: {str(error).splitlines()[0]}.") from None
    except Exception as error:
        if type(error).__module__.startswith("pyarrow"):
            raise TableError(f"{name} is not valid Parquet: {str(error).splitlines()[0]}.") from None
        raise


def read_separated(stream: BinaryIO, separator: str = ",", *, header: int | None = 0) -> pd.DataFrame:
    """Read CSV or TSV with every digit, stripped column names and empty cells as missing; ragged rows are refused."""
    import pandas as pd

    options: dict[str, Any] = {"na_values": [""], "keep_default_na": False}
    frame: pd.DataFrame = pd.read_csv(
        stream, sep=separator, header=header, encoding="utf-8-sig", skipinitialspace=True, **options
    )
    if not isinstance(frame.index, pd.RangeIndex):
        raise pd.errors.ParserError("the rows have more fields than the header")
    if header is not None:
        frame.columns = frame.columns.map(lambda column: str(column).strip())
    return frame


def _parser_complaint(error: Exception) -> str:
    text = str(error).splitlines()[0] if str(error) else "rows differ in length"
    return text.removeprefix("Error tokenizing data. C error: ").rstrip(".").lower()


def _json_records(stream: BinaryIO, table_format: str) -> list[dict[str, Any]]:
    import json

    text = stream.read().decode("utf-8-sig")
    records = json.loads(text) if table_format == "json" else [json.loads(line) for line in text.splitlines() if line.strip()]
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ValueError("expected a list of objects, one a feature")
    return records


def _checked_columns(frame: pd.DataFrame, name: str) -> set[str]:
    columns = list(frame.columns)
    present = [column for column in VALUES if column in columns]
    if columns and all(_looks_numeric(column) for column in columns):
        raise TableError(f"{name} has no header; its first line must name {EXPECTED}.")
    repeated = sorted({column for column in columns if columns.count(column) > 1 or f"{column}.1" in columns})
    if repeated:
        raise TableError(f"{name} has the column {repeated[0]} twice.")
    unknown = [column for column in columns if column not in {*VALUES, *NAMES} | OWN_COLUMNS]
    if unknown:
        raise TableError(f"{name} has the unknown column {unknown[0]}; expected {EXPECTED}.")
    if len(present) < 2:
        raise TableError(f"{name} has {' and '.join(present) or 'none'} of lambda, rho and sigma; expected {EXPECTED}.")
    if frame.empty:
        raise TableError(f"{name} has a header but no rows.")
    return set(columns)


def _looks_numeric(text: object) -> bool:
    try:
        float(str(text))
    except ValueError:
        return False
    return True


def _numbers(column: pd.Series[Any], title: str, name: str) -> np.ndarray:
    import pandas as pd

    missing = column.isna().to_numpy()
    if missing.any():
        raise TableError(f"{name}: row {int(np.argmax(missing)) + 1}, column {title} is empty; a number is needed.")
    if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
        for row, cell in enumerate(column, start=1):
            if isinstance(cell, bool) or not _looks_numeric(cell) or not np.isfinite(float(cell)):
                raise TableError(f"{name}: row {row}, column {title} is {cell!r}; a finite number is needed.")
    values = column.to_numpy(dtype=np.float64)
    finite = np.isfinite(values)
    if not finite.all():
        row = int(np.argmin(finite))
        raise TableError(f"{name}: row {row + 1}, column {title} is {values[row]}; a finite number is needed.")
    return values


def _labels(column: pd.Series[Any], title: str, name: str) -> list[str]:
    missing = column.isna().to_numpy()
    if missing.any():
        raise TableError(f"{name}: row {int(np.argmax(missing)) + 1}, column {title} is empty; a name is needed.")
    labels: list[str] = column.astype(str).str.strip().tolist()
    return labels
