"""How tables reach the reader: rounded on a terminal, with every digit everywhere else."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import click

if TYPE_CHECKING:
    from dynamics.table import Table

SHOWN_ROWS = 1000
SETTINGS = (
    "objective",
    "depth",
    "predictor_depth",
    "epsilon",
    "fraction",
    "other_objective",
    "features",
    "time",
    "time_convention",
)
"""Columns that go into the caption where they are the same in every row."""


@dataclass(frozen=True)
class Output:
    """Where a table goes and in which format."""

    table_format: str | None
    path: str | None

    def write(self, table: Table, caption: str = "") -> None:
        """Write the table; ``caption`` is shown with the readable format only."""
        from dynamics.tables import format_of, replaced

        table_format = self.table_format or (format_of(self.path) if self.path else None) or "table"
        if self.path:
            with replaced(self.path) as stream:
                _write(table, table_format, stream, caption)
            click.echo(f"{len(table)} rows written to {self.path}.", err=True)
            return
        if table_format == "parquet" and sys.stdout.isatty():
            raise click.UsageError("Parquet is not for a terminal; add --output FILE.")
        _write(table, table_format, sys.stdout.buffer, caption)
        sys.stdout.buffer.flush()


def note(text: str) -> None:
    """Say something beside the data."""
    click.echo(text, err=True)


def _write(table: Table, table_format: str, stream: BinaryIO, caption: str) -> None:
    if table_format == "table":
        stream.write(readable(table, caption).encode())
    else:
        from dynamics.tables import write_table

        write_table(table, stream, table_format)


def readable(table: Table, caption: str = "") -> str:
    """The table as text: numbers to six digits, columns that never vary told once below."""
    from io import StringIO

    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as Grid

    terminal = sys.stdout.isatty()
    shown = {name: list(column[:SHOWN_ROWS]) for name, column in table.columns.items()}
    constant = {
        name: column[0] for name, column in shown.items() if name in SETTINGS and len(set(column)) == 1 and len(table) > 1
    }
    grid = Grid(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0), collapse_padding=True)
    varying = {name: column for name, column in shown.items() if name not in constant}
    for name, column in varying.items():
        words = all(isinstance(value, str) for value in column)
        grid.add_column(name.replace("_", "\n"), justify="left" if words else "right", no_wrap=True)
    for row in zip(*varying.values(), strict=True):
        grid.add_row(*map(_cell, row))
    text = StringIO()
    console = Console(
        file=text, width=None if terminal else 500, force_terminal=terminal, highlight=False, emoji=False, markup=False
    )
    console.print(grid)
    told = [f"{name} {_cell(value)}" for name, value in constant.items()]
    lines = [", ".join(told)] if told else []
    if len(table) > SHOWN_ROWS:
        lines.append(f"{len(table) - SHOWN_ROWS} more rows; --format csv gives all.")
    lines += [caption] if caption else []
    body = "\n".join(line.rstrip() for line in text.getvalue().splitlines())
    return body + "\n" + "".join(f"{line}\n" for line in lines)


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
