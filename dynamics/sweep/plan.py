"""A sweep: one study at every combination of the values of its axes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

from dynamics.errors import LindynError, ParameterError
from dynamics.sweep.parameters import Value, Values
from dynamics.sweep.sources import Source
from dynamics.sweep.studies import STUDIES
from dynamics.sweep.study import Kept, Study

SOURCE = "source"
"""The axis of the sources."""

KEY_DIGITS = 24
"""Hexadecimal digits of a key, enough for no two cells to share one."""

JOINT = ","
"""What stands between the names of parameters that go together."""

Point = tuple[Value, ...]


@dataclass(frozen=True)
class Cell:
    """One point of the grid.

    Attributes
    ----------
    values
        Every parameter, and the name of the source.
    sweep
        Whose cell it is.
    """

    values: Values
    sweep: Sweep

    @cached_property
    def key(self) -> str:
        """Digest of all that the result depends on: parameters, the content of the source, what is kept, and the code."""
        return self.sweep.key_of(self.values)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A grid of cells.

    Attributes
    ----------
    study
        What is computed at each.
    table
        Which of its tables is kept.
    observables
        Columns of that table which are kept, besides those that tell its rows apart; empty for all.
    axes
        All values of every parameter, the axes of the configuration first, in its order; the last varies fastest. A key names
        one parameter, or with commas several that go together, and its points have a value for each.
    shown
        Parameters of the axes: what the rows of different cells are told apart by.
    sources
        What the cells are computed on, by name.
    version
        Of the code, as `code_version` has it.
    """

    study: Study
    table: str
    observables: tuple[str, ...]
    axes: Mapping[str, tuple[Point, ...]]
    shown: tuple[str, ...]
    sources: Mapping[str, Source]
    version: str

    def __len__(self) -> int:
        return prod(map(len, self.axes.values()))

    @property
    def kept(self) -> Kept:
        """The table that is kept."""
        return self.study.tables[self.table]

    def cells(self) -> Iterator[Cell]:
        """Every cell, in order, one at a time."""
        names = [name for axis in self.axes for name in axis.split(JOINT)]
        for points in product(*self.axes.values()):
            yield Cell(dict(zip(names, (value for point in points for value in point), strict=True)), self)

    @cached_property
    def values(self) -> dict[str, tuple[Value, ...]]:
        """All values of each parameter, each once."""
        columns = {axis: zip(*points, strict=True) for axis, points in self.axes.items()}
        return {
            name: tuple(dict.fromkeys(column))
            for axis, given in columns.items()
            for name, column in zip(axis.split(JOINT), given, strict=True)
        }

    def described(self) -> dict[str, Any]:
        """All that tells this sweep from another, for a store and for people."""
        return {
            "command": self.study.name,
            "table": self.table,
            "observables": list(self.observables),
            "axes": {axis: [_flat(point) for point in points] for axis, points in self.axes.items()},
            "shown": list(self.shown),
            "sources": {name: dict(source.described) for name, source in self.sources.items()},
            "version": self.version,
        }

    def resolved(self, cell: Cell) -> dict[str, Any]:
        """All that the result of a cell depends on."""
        named = self.sources.get(cell.values.get(SOURCE, ""))
        return {
            "command": self.study.name,
            "table": self.table,
            "observables": list(self.observables),
            "parameters": {name: cell.values[name] for name in self.study.parameters},
            "source": None if named is None else dict(named.described),
            "version": self.version,
        }

    @cached_property
    def contents(self) -> dict[str, Any]:
        """What is sent to where cells are computed: the sources by name, as the study carries them."""
        return {name: self.study.carried(source.content, self.values) for name, source in self.sources.items()}

    def check(self) -> None:
        """Prepare, without computing, cells with the ends of each axis.

        Raises
        ------
        LindynError
            If a value is refused for its own sake, or all of these cells are refused: a sweep may have single cells that make
            no sense, and they fail when they are computed.
        """
        first = next(self.cells()).values
        refusals, changes = [], [dict(change) for change in dict.fromkeys(self._ends())]
        for change in changes:
            values = {**first, **change}
            try:
                self.study.prepared(self.contents.get(str(values.get(SOURCE))), values)
            except LindynError as error:
                if isinstance(error, ParameterError) and error.name in change:
                    raise
                refusals.append(error)
        if len(refusals) == len(changes):
            raise refusals[0]

    def _ends(self) -> Iterator[tuple[tuple[str, Value], ...]]:
        """Each axis with its least and its greatest value, or with all points where they have no order."""
        for axis, points in self.axes.items():
            names = axis.split(JOINT)
            if len(names) == 1:
                numbers = [point for point in points if isinstance(point[0], int | float)]
                others = [point for point in points if not isinstance(point[0], int | float)]
                points = (*others, *((min(numbers), max(numbers)) if numbers else ()))
            yield from (tuple(zip(names, point, strict=True)) for point in points)

    def key_of(self, values: Values) -> str:
        """The key of the cell with these values."""
        digest = self._prefix.copy()
        digest.update(self._source_digests.get(values.get(SOURCE), b""))
        digest.update(_json([values[name] for name in self.study.parameters]))
        return str(digest.hexdigest()[:KEY_DIGITS])

    @cached_property
    def _prefix(self) -> Any:
        """Of what all cells share."""
        shared = [self.study.name, self.table, list(self.observables), list(self.study.parameters), self.version]
        return hashlib.sha256(_json(shared))

    @cached_property
    def _source_digests(self) -> dict[Any, bytes]:
        return {name: hashlib.sha256(_json(source.described)).digest() for name, source in self.sources.items()}


def sweep_in(about: Mapping[str, Any]) -> Sweep:
    """The sweep of a store, from what it says about itself, to count and gather its cells; it cannot be computed."""
    study = STUDIES.get(about.get("command", ""))
    if study is None:
        raise LindynError(f"The store is of a sweep of {about.get('command')}, which this version does not know.")
    axes = {axis: tuple(map(_point, points)) for axis, points in about["axes"].items()}
    sources = {name: Source(described, None) for name, described in about["sources"].items()}
    named = tuple(about["observables"]), axes, tuple(about["shown"])
    return Sweep(study, about["table"], *named, sources, about["version"])


def _flat(point: Point) -> Any:
    """A point as a store has it: the value of a single parameter by itself."""
    return list(point) if len(point) > 1 else point[0]


def _point(given: Any) -> Point:
    return tuple(given) if isinstance(given, list) else (given,)


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
