"""What a cell of a sweep can compute, as data: its parameters, the work, and the tables that can be kept of the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dynamics.sweep.parameters import Parameter, Value, Values
from dynamics.table import Table

Work = Callable[[], Any]


@dataclass(frozen=True)
class Kept:
    """A table of a result.

    Attributes
    ----------
    of
        From the result and the parameters of the cell to the table.
    rows
        What a row is, for a reader.
    keys
        Columns that tell its rows apart; they are always kept.
    columns
        Every other column that it can have, which are the observables.
    """

    of: Callable[[Any, Values], Table]
    rows: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Study:
    """A command that a sweep runs at every cell.

    Attributes
    ----------
    prepared
        From a source, as `carried` makes it, and the parameters to the work, after refusing what is not allowed.
    parameters
        What a cell may set.
    tables
        What can be kept, by name, the usual one first.
    sources
        Kinds of content that it is computed on; none for a study without a source.
    example
        An axis, for a configuration to begin with.
    needed
        Settings that it needs, with values for such a configuration.
    remarks
        From a result and the parameters to what a reader should know beside the numbers; one sentence each.
    carried
        From the content of a source and all axes to what is sent to where cells are computed.
    """

    name: str
    prepared: Callable[[Any, Values], Work]
    parameters: Mapping[str, Parameter]
    tables: Mapping[str, Kept]
    example: str
    sources: tuple[str, ...] = ()
    needed: Mapping[str, str] = field(default_factory=dict)
    remarks: Callable[[Any, Values], list[str]] = lambda result, values: []
    carried: Callable[[Any, Mapping[str, Sequence[Value]]], Any] = lambda content, axes: content


def whole(default: int | None, **more: Any) -> Parameter:
    """A whole number."""
    return Parameter(int, default, **more)


def number(default: float | None, **more: Any) -> Parameter:
    """A number."""
    return Parameter(float, default, **more)


def word(*choices: str, **more: Any) -> Parameter:
    """One of these words, by default the first."""
    return Parameter(str, choices[0], choices, **more)


def mark(default: bool, **more: Any) -> Parameter:
    """Yes or no."""
    return Parameter(bool, default, **more)


def as_it_is(table: Table, values: Values) -> Table:
    """A result that is a table already."""
    return table


def columns_of(result: Any, values: Values) -> Table:
    """The table of a result that has columns."""
    return Table(result.columns())


def curves_of(run: Any, values: Values) -> Table:
    """The curves of a run that has a table of them."""
    curves: Table = run.curves_table()
    return curves
