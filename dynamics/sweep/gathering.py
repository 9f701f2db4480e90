"""Gathering: the finished cells of a store as one table, in the order of the grid and a part at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress, islice
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from dynamics.errors import LindynError
from dynamics.sweep.parameters import Value
from dynamics.sweep.plan import Cell, Sweep, sweep_in
from dynamics.sweep.store import Store, StoreError
from dynamics.table import Table, anything
from dynamics.tables import require_parquet, write_parts

if TYPE_CHECKING:
    import pyarrow as pa

PART = 500
"""Cells in memory at a time."""


@dataclass(frozen=True, eq=False)
class Gathered:
    """The finished cells of a store.

    Attributes
    ----------
    sweep, store
        Whose cells they are.
    schema
        Columns of the whole table with their types: the axes, then those of the cells. A column that a cell does not have is
        empty there.
    mask
        Of every cell of the grid whether it is in the table: those that were finished at one moment, also while others follow.
    rows
        How many rows.
    """

    sweep: Sweep
    store: Store
    schema: pa.Schema
    mask: bytes
    rows: int

    @property
    def finished(self) -> int:
        """How many cells there are in the table."""
        return sum(self.mask)

    def parts(self) -> Iterator[Table]:
        """The table, part after part."""
        whole = compress(self.sweep.cells(), self.mask)
        while some := list(islice(whole, PART)):
            yield self._table(some)

    def write(self, stream: BinaryIO, table_format: str) -> None:
        """Write it in one of `dynamics.tables.FORMATS`; memory does not grow with the number of cells."""
        if table_format != "parquet":
            write_parts(self.parts(), stream, table_format)
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        with pq.ParquetWriter(stream, self.schema) as writer:
            for part in self.parts():
                writer.write_table(
                    pa.table([pa.array(part.columns[field.name], field.type) for field in self.schema], self.schema)
                )

    def head(self, rows: int) -> Table:
        """The first rows, at least so many where there are as many."""
        found, count = [], 0
        for part in self.parts():
            found.append(part)
            count += len(part)
            if count >= rows:
                break
        columns = {name: [part.columns[name] for part in found] for name in self.schema.names}
        return Table({name: np.concatenate(parts) if parts else anything([]) for name, parts in columns.items()})

    def _table(self, some: list[Cell]) -> Table:
        import pyarrow as pa

        parts = [self._cell(cell) for cell in some]
        whole = pa.concat_tables([part.cast(self.schema) for part in parts])
        return Table({name: _array(whole.column(name)) for name in self.schema.names})

    def _cell(self, cell: Cell) -> pa.Table:
        import pyarrow as pa

        found = _read(self.store, cell)
        count = found.num_rows
        columns = {name: found.column(name) for name in found.column_names}
        axes = {name: cell.values[name] for name in self.sweep.shown}
        # An axis that leaves a value to the study shows what the study took.
        columns |= {name: pa.array([value] * count) for name, value in axes.items() if value is not None or name not in columns}
        return pa.table({name: columns.get(name, pa.nulls(count)) for name in self.schema.names})


def gathered(store: Store) -> Gathered:
    """The finished cells of a store.

    Raises
    ------
    StoreError
        If it is no store, or a cell of it is damaged.
    LindynError
        If pyarrow is not installed.
    """
    require_parquet("")
    import pyarrow as pa

    sweep = sweep_in(store.about())
    types: dict[str, Any] = {name: _type(sweep.values[name]) for name in sweep.shown}
    mask = bytes(store.is_finished(cell.key) for cell in sweep.cells())
    rows = 0
    for cell in compress(sweep.cells(), mask):
        about = _metadata(store, cell)
        rows += about.num_rows
        for field in about.schema.to_arrow_schema():
            types[field.name] = _wider(types.get(field.name), field.type)
    order = [*sweep.shown, *sweep.kept.keys, *(sweep.observables or sweep.kept.columns)]
    names = dict.fromkeys(name for name in order if name in types)
    schema = pa.schema([(name, types[name]) for name in names])
    return Gathered(sweep, store, schema, mask, rows)


def failures_table(store: Store) -> Table:
    """The cells of a store that failed: their axes, the error and what it says."""
    sweep = sweep_in(store.about())
    failed = [cell for cell in sweep.cells() if not store.is_finished(cell.key) and store.has_failed(cell.key)]
    errors = [store.failure(cell.key) for cell in failed]
    told = {name: anything([cell.values[name] for cell in failed]) for name in sweep.shown}
    told |= {"error": anything([error.kind for error in errors]), "message": anything([error.message for error in errors])}
    return Table(told)


def remarks_table(store: Store) -> Table:
    """What a reader should know of each finished cell, one row a remark: its axes and the sentence."""
    sweep = sweep_in(store.about())
    told = [
        (cell, text)
        for cell in sweep.cells()
        if store.is_finished(cell.key)
        for text in store.resolved(cell.key).get("remarks", [])
    ]
    columns = {name: anything([cell.values[name] for cell, _ in told]) for name in sweep.shown}
    return Table(columns | {"remark": anything([text for _, text in told])})


def _read(store: Store, cell: Cell) -> pa.Table:
    import pyarrow.parquet as pq

    with _of_cell(store, cell), pq.ParquetFile(store.table(cell.key)) as file:
        return file.read()


def _metadata(store: Store, cell: Cell) -> Any:
    import pyarrow.parquet as pq

    with _of_cell(store, cell):
        return pq.read_metadata(store.table(cell.key))


@contextmanager
def _of_cell(store: Store, cell: Cell) -> Iterator[None]:
    """Turn what cannot be read into a `StoreError` that says what to remove."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError):
        folder = store.table(cell.key).parent
        raise StoreError(f"{folder} is damaged; remove it and run the sweep again, which computes that cell anew.") from None


def _type(values: tuple[Value, ...]) -> Any:
    import pyarrow as pa

    return pa.array(list(values)).type


def _wider(first: Any, second: Any) -> Any:
    """A type that holds the values of both."""
    import pyarrow as pa

    if first is None or first == second or pa.types.is_null(first):
        return second
    if pa.types.is_null(second):
        return first
    try:
        both = [pa.schema([("column", one)]) for one in (first, second)]
        return pa.unify_schemas(both, promote_options="permissive").field("column").type
    except pa.ArrowException:
        raise LindynError(f"Cells of the store have columns of unlike types, {first} and {second}.") from None


def _array(column: pa.ChunkedArray) -> Any:
    """A column as NumPy has it, with None in empty cells."""
    return anything(column.to_pylist()) if column.null_count else column.to_numpy()
