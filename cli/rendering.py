"""How tables reach the reader: rounded on a terminal, with every digit everywhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import click

if TYPE_CHECKING:
    from rich.table import Table as Grid

    from dynamics.table import Columns, Table

SHOWN_ROWS = 1000
UNLIMITED = 10_000
NARROW = 18
NARROWEST_GRID = 90
"""Columns of a terminal below which a table of sentences is shown row by row."""

KEYS = ("feature", "objective", "depth", "predictor_depth", "epsilon", "fraction", "rank", "time")
"""Columns repeated in every part of a table that is wider than the terminal, where they vary."""

SETTINGS = (
    "loss",
    "kernel",
    "invariance",
    "views",
    "width",
    "beta",
    "objective",
    "query",
    "patches",
    "masked",
    "clusters",
    "latent_low",
    "latent_high",
    "counts",
    "depth",
    "predictor_depth",
    "epsilon",
    "fraction",
    "accuracy",
    "images",
    "seed",
    "start",
    "learning_rate",
    "optimiser",
    "momentum",
    "batch",
    "predictor_start",
    "predictor_rate",
    "teacher_rate",
    "weight_decay",
    "stop_gradient",
    "runs",
    "diverged",
    "other_objective",
    "features",
    "time",
    "time_convention",
)
"""Columns that go into the caption where they are the same in every row."""


class LongTable(Protocol):
    """A table that is written in parts."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    def head(self, rows: int) -> Table:
        """The first rows, at least so many where there are as many."""

    def write(self, stream: BinaryIO, table_format: str) -> None:
        """Write the whole."""


@dataclass(frozen=True)
class Output:
    """Where a table goes and in which format."""

    table_format: str | None
    path: str | None

    def write(self, table: Table, caption: str = "") -> None:
        """Write the table; ``caption`` is shown with the readable format only."""
        self._write(lambda stream, table_format: _write(table, table_format, stream, caption), len(table))

    def write_long(self, table: LongTable, keys: Sequence[str]) -> None:
        """Write a table that need not fit into memory; ``keys`` are the columns that tell its rows apart."""

        def write(stream: BinaryIO, table_format: str) -> None:
            if table_format == "table":
                stream.write(readable(table.head(SHOWN_ROWS), rows=table.rows, keys=(*KEYS, *keys)).encode())
            else:
                table.write(stream, table_format)

        self._write(write, table.rows)

    def _write(self, write: Callable[[BinaryIO, str], None], rows: int) -> None:
        table_format = self.table_format or self._format_of_path()
        if self.path:
            from dynamics.files import replaced

            with replaced(self.path) as stream:
                write(stream, table_format)
            click.echo(f"{rows} rows written to {self.path}.", err=True)
            return
        _refuse_closed()
        if table_format == "parquet" and sys.stdout.isatty():
            raise click.UsageError("Parquet is not for a terminal; add --output FILE.")
        write(sys.stdout.buffer, table_format)
        sys.stdout.buffer.flush()

    def check(self) -> None:
        """Refuse a path that names no format or cannot be written, before a long computation."""
        self._format_of_path()
        if self.path is None:
            _refuse_closed()
            return
        from dynamics.files import refuse_unwritable

        refuse_unwritable(self.path)

    def summarise(self, table: Table, caption: str = "") -> None:
        """Write a table to standard output in the chosen format, because the path is for a larger one."""
        Output(self.table_format, None).write(table, caption)

    def keep(self, table: Table) -> None:
        """Write a table to the path, in the format that its ending says."""
        Output(None, self.path).write(table)

    def _format_of_path(self) -> str:
        if self.path is None:
            return "table"
        from dynamics.tables import FORMATS, format_of

        named = format_of(self.path)
        if named is None and os.path.splitext(self.path)[1].lower() not in ("", ".txt"):
            raise click.UsageError(
                f"The ending of --output {self.path} names no format; add --format table, {', '.join(FORMATS)}."
            )
        return named or "table"


ENDINGS = {".md": "markdown", ".tex": "latex", ".json": "json"}


@dataclass(frozen=True)
class Document:
    """Where a text goes and in which of the formats that its command knows."""

    formats: tuple[str, ...]
    text_format: str | None
    path: str | None

    def check(self) -> None:
        """Refuse what could not be written, before it is computed."""
        self._format()
        if self.path is None:
            _refuse_closed()

    def write(self, **renderings: Callable[[], str]) -> None:
        """Write the text that the rendering of the chosen format makes."""
        self.check()
        text = renderings[self._format()]()
        if self.path:
            from dynamics.files import replaced

            with replaced(self.path) as stream:
                stream.write(text.encode())
            click.echo(f"{self.path} written.", err=True)
            return
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()

    def _format(self) -> str:
        if self.text_format or self.path is None:
            return self.text_format or self.formats[0]
        ending = os.path.splitext(self.path)[1].lower()
        named = self.formats[0] if ending in ("", ".txt") else ENDINGS.get(ending)
        if named not in self.formats:
            raise click.UsageError(
                f"The ending of --output {self.path} names no format; add --format {', '.join(self.formats)}."
            )
        return named


def _refuse_closed() -> None:
    if sys.stdout is None:
        raise click.ClickException("Standard output is closed; add --output FILE.")


def note(text: str) -> None:
    """Say something beside the data."""
    click.echo(text, err=True)


def _write(table: Table, table_format: str, stream: BinaryIO, caption: str) -> None:
    if table_format == "table":
        stream.write(readable(table, caption).encode())
    else:
        from dynamics.tables import write_table

        write_table(table, stream, table_format)


def readable(table: Table, caption: str = "", *, rows: int | None = None, keys: Sequence[str] = KEYS) -> str:
    """The table as text: numbers to six digits, settings that never vary told once below, wide tables in parts.

    ``rows`` is how many there are, where the table has only the first of them; ``keys`` are repeated in every part.
    """
    rows = len(table) if rows is None else rows
    shown = {name: column[:SHOWN_ROWS] for name, column in table.columns.items()}
    whole = rows == len(table)
    constant = {name: column[0] for name, column in shown.items() if whole and name in SETTINGS and _is_constant(table, name)}
    varying = {name: column for name, column in shown.items() if name not in constant}
    lines = [", ".join(f"{name} {_cell(value)}" for name, value in constant.items())] if constant else []
    if rows > SHOWN_ROWS:
        lines.append(f"{rows - SHOWN_ROWS} more rows; --format csv gives all.")
    lines += [caption] if caption else []
    parts = [_drawn(part) for part in _parts(varying, terminal_width(UNLIMITED), keys)]
    return "\n".join(parts) + "".join(f"{line}\n" for line in lines)


def _is_constant(table: Table, name: str) -> bool:
    return len(set(table.columns[name])) == 1


def terminal_width(otherwise: int) -> int:
    """Columns of the terminal, or what to take where there is none."""
    if not _watched():
        return otherwise
    from shutil import get_terminal_size

    return get_terminal_size().columns


def _watched() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def _parts(columns: Columns, width: int, leading: Sequence[str]) -> list[Columns]:
    """The columns in groups that fit into the width, each led by the columns that tell the rows apart."""
    keys = {name: column for name, column in columns.items() if name in leading}
    widths = {name: 2 + max(map(len, [*name.split("_"), *map(_cell, column)])) for name, column in columns.items()}
    if sum(widths.values()) <= width:
        return [columns]
    parts, room = [dict(keys)], width - sum(widths[name] for name in keys)
    free = room
    for name in (name for name in columns if name not in keys):
        if widths[name] > free and len(parts[-1]) > len(keys):
            parts.append(dict(keys))
            free = room
        parts[-1][name] = columns[name]
        free -= widths[name]
    return parts


def wrapped(headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """A table of sentences above a caption, wrapped to the terminal; the first column gets what the others leave.

    The first line of a first cell names its row. A narrow terminal shows the rows one below the other.
    """
    from textwrap import fill

    width = terminal_width(140)
    table = _stacked(headings, rows, width) if width < NARROWEST_GRID else _beside(headings, rows, width)
    return "\n\n".join([table.rstrip("\n"), *([fill(caption, width)] if caption else [])]) + "\n"


def _beside(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    grid = _grid()
    grid.expand = True
    first, *others = headings
    grid.add_column(first, ratio=1, overflow="fold")
    for heading in others:
        grid.add_column(heading.replace(" ", "\n"), max_width=NARROW)
    for row in rows:
        grid.add_row(*row)
        grid.add_row()
    return _printed(grid, width)


def _stacked(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    """Each row as its name, its other cells after their headings, and what follows the name."""
    from textwrap import TextWrapper

    indented = TextWrapper(width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)

    def block(row: Sequence[str]) -> str:
        name, *sentences = row[0].split("\n")
        told = "; ".join(f"{heading}: {cell}" for heading, cell in zip(headings[1:], row[1:], strict=True) if cell)
        return "".join(f"{text}\n" for text in (name, *map(indented.fill, (told, *sentences))))

    return "\n".join(map(block, rows))


def _grid() -> Grid:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table as Grid

    return Grid(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0), collapse_padding=True)


def _printed(grid: Grid, width: int) -> str:
    from io import StringIO

    from rich.console import Console

    text = StringIO()
    console = Console(file=text, width=width, force_terminal=_watched(), highlight=False, emoji=False, markup=False)
    console.print(grid)
    return "".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines())


def _drawn(columns: Columns) -> str:
    grid = _grid()
    for name, column in columns.items():
        words = len(column) > 0 and all(isinstance(value, str) for value in column)
        grid.add_column(name.replace("_", "\n"), justify="left" if words else "right", no_wrap=True)
    for row in zip(*columns.values(), strict=True):
        grid.add_row(*map(_cell, row))
    return _printed(grid, UNLIMITED)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
