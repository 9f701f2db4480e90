"""A sweep: one study at every combination of the values of its axes, as a TOML file says it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from dynamics.errors import LindynError, ParameterError, TableError
from dynamics.files import reason
from dynamics.sweep.axes import values_of
from dynamics.sweep.parameters import Parameter, Value, Values, one_of, refuse_unread
from dynamics.sweep.sources import KINDS, Source, read_source
from dynamics.sweep.studies import STUDIES
from dynamics.sweep.study import Kept, Study
from dynamics.sweep.version import code_version

SECTIONS = ("command", "table", "observables", "settings", "axes", "sources")
"""Keys of a configuration."""

SOURCE = "source"
"""The axis of the sources."""

MOST_CELLS = 10_000_000
"""Cells of a grid, at most: it is counted before it is computed."""

CLOSE = 0.7
"""How alike two names are of which one is taken for a slip of the other, 0 to 1."""

KEY_DIGITS = 24
"""Hexadecimal digits of a key, enough for no two cells to share one."""


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
        All values of every parameter, the axes of the configuration first, in its order; the last varies fastest.
    shown
        Names of the axes: what the rows of different cells are told apart by.
    sources
        What the cells are computed on, by name.
    version
        Of the code, as `code_version` has it.
    """

    study: Study
    table: str
    observables: tuple[str, ...]
    axes: Mapping[str, tuple[Value, ...]]
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
        names = tuple(self.axes)
        for point in product(*self.axes.values()):
            yield Cell(dict(zip(names, point, strict=True)), self)

    def described(self) -> dict[str, Any]:
        """All that tells this sweep from another, for a store and for people."""
        return {
            "command": self.study.name,
            "table": self.table,
            "observables": list(self.observables),
            "axes": {name: list(values) for name, values in self.axes.items()},
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
        return {name: self.study.carried(source.content, self.axes) for name, source in self.sources.items()}

    def check(self) -> None:
        """Prepare, without computing, cells with the ends of each axis.

        Raises
        ------
        LindynError
            If a value is refused for its own sake, or all of these cells are refused: a sweep may have single cells that make
            no sense, and they fail when they are computed.
        """
        refusals, cells = [], list(dict.fromkeys(self._ends()))
        for name, value in cells:
            values = {axis: given[0] for axis, given in self.axes.items()} | {name: value}
            try:
                self.study.prepared(self.contents.get(str(values.get(SOURCE))), values)
            except LindynError as error:
                if isinstance(error, ParameterError) and error.name == name:
                    raise
                refusals.append(error)
        if len(refusals) == len(cells):
            raise refusals[0]

    def _ends(self) -> Iterator[tuple[str, Value]]:
        """Each axis with its least and its greatest value, or with all where they have no order."""
        for name, values in self.axes.items():
            numbers = [value for value in values if isinstance(value, int | float)]
            others = [value for value in values if not isinstance(value, int | float)]
            yield from ((name, value) for value in (*others, *({min(numbers): 0, max(numbers): 0} if numbers else ())))

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


def read_sweep(path: str | Path) -> Sweep:
    """The sweep of a configuration; files that it names are looked for in its folder.

    Raises
    ------
    TableError
        If the file cannot be read or is no TOML.
    LindynError
        If a key is unknown, an axis is empty or of the wrong type, a value or source is refused, or no cell makes sense.
    """
    import tomllib

    try:
        with open(path, "rb") as stream:
            document = tomllib.load(stream)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {reason(error)}.") from None
    except UnicodeDecodeError:
        raise TableError(f"{path} is not UTF-8 text.") from None
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"{path} is not valid TOML: {str(error).rstrip('.')}.") from None
    try:
        return sweep_of(document, Path(path).parent)
    except LindynError as error:
        raise LindynError(f"{path}: {error}") from None


def sweep_in(about: Mapping[str, Any]) -> Sweep:
    """The sweep of a store, from what it says about itself, to count and gather its cells; it cannot be computed."""
    study = STUDIES.get(about.get("command", ""))
    if study is None or not set(SECTIONS[:3]) < set(about):
        raise LindynError(f"The store is of a sweep of {about.get('command')}, which this version does not know.")
    axes = {name: tuple(values) for name, values in about["axes"].items()}
    sources = {name: Source(described, None) for name, described in about["sources"].items()}
    named = tuple(about["observables"]), axes, tuple(about["shown"])
    return Sweep(study, about["table"], *named, sources, about["version"])


def sweep_of(document: Mapping[str, Any], folder: Path = Path()) -> Sweep:
    """The sweep that a parsed configuration says; parameters and errors are those of `read_sweep`."""
    study = STUDIES[_chosen("command", document, tuple(STUDIES))] if "command" in document else None
    _refuse_unknown("A configuration", "key", document, SECTIONS, _where(study) if study else {})
    study = STUDIES[_chosen("command", document, tuple(STUDIES))]
    table = _chosen("table", document, tuple(study.tables), next(iter(study.tables)))
    settings, axes = (_section(document, name) for name in ("settings", "axes"))
    known = (*study.parameters, *((SOURCE,) if study.sources else ()))
    for section in (settings, axes):
        _refuse_unknown(study.name, "parameter", section, known, _instead(study))
    both = [name for name in axes if name in settings]
    if both:
        raise LindynError(f"{both[0]} stands in settings and in axes; leave one of them out.")
    sources = _sources(study, _section(document, "sources"), folder)
    values: dict[str, tuple[Value, ...]] = {SOURCE: tuple(sources)} if study.sources else {}
    values |= {name: (parameter.default,) for name, parameter in study.parameters.items()}
    parameters = {**study.parameters, SOURCE: Parameter(str, next(iter(sources), ""), tuple(sources))}
    given: dict[str, tuple[Value, ...]]
    given = {name: (parameters[name].read(name, value),) for name, value in settings.items()}
    given |= {name: values_of(name, value, parameters[name]) for name, value in axes.items()}
    refuse_unread(parameters, values | given, tuple(given))
    shown = (*((SOURCE,) if len(sources) > 1 and SOURCE not in axes else ()), *axes)
    ordered = {name: (values | given)[name] for name in (*shown, *(name for name in values if name not in shown))}
    observables = _observables(document, table, study)
    sweep = Sweep(study, table, observables, ordered, shown, sources, code_version())
    if len(sweep) > MOST_CELLS:
        raise LindynError(
            f"The grid has {len(sweep):.3g} cells; at most {MOST_CELLS} are possible: give the axes fewer values."
        )
    sweep.check()
    return sweep


def _sources(study: Study, given: Mapping[str, Any], folder: Path) -> dict[str, Source]:
    if not study.sources:
        if given:
            raise LindynError(f"{study.name} is computed from its settings alone; leave the sources out.")
        return {}
    if not given:
        raise LindynError(f"{study.name} needs something to learn; add a table [sources.NAME] with lambda and rho, or a file.")
    sources = {name: read_source(name, one, folder) for name, one in given.items()}
    for name, source in sources.items():
        kind = type(source.content).__name__
        if kind not in study.sources:
            raise LindynError(f"The source {name} is of a kind ({kind}) that {study.name} does not take.")
    return sources


def _observables(document: Mapping[str, Any], table: str, study: Study) -> tuple[str, ...]:
    kept = study.tables[table]
    given = document.get("observables", [])
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise ParameterError("observables", given, "a list of names of columns")
    if "observables" in document and not given:
        raise LindynError("observables is empty; name a column, or leave it out for all.")
    _refuse_unknown(f"The table {table}", "observable", given, (*kept.columns, *kept.keys), _tables(study))
    twice = next((name for name in given if given.count(name) > 1), None)
    if twice is not None:
        raise LindynError(f"observables has {twice} twice; leave one out.")
    return tuple(given)


def _section(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    section = document.get(name, {})
    if not isinstance(section, dict):
        raise ParameterError(name, section, f"a table, [{name}]")
    return section


def _chosen(name: str, document: Mapping[str, Any], allowed: tuple[str, ...], default: str | None = None) -> str:
    value = document.get(name, default)
    if value is None:
        raise LindynError(f"{name} is missing; it must be {one_of(allowed)}.")
    if value not in allowed:
        near = get_close_matches(str(value), allowed, n=1, cutoff=CLOSE)
        raise ParameterError(name, value, one_of(allowed) + (f" (did you mean {near[0]}?)" if near else ""))
    return str(value)


def _refuse_unknown(owner: str, what: str, given: Any, known: tuple[str, ...], elsewhere: Mapping[str, str]) -> None:
    """Refuse names that are not known, with the place where those of ``elsewhere`` belong."""
    for name in given:
        if name in known:
            continue
        near = get_close_matches(str(name), known, n=1, cutoff=CLOSE)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}."
        raise LindynError(f"{owner} has no {what} {name}; {elsewhere.get(name, hint)}")


def _where(study: Study) -> dict[str, str]:
    """Where keys belong that stand beside the sections."""
    return dict.fromkeys(study.parameters, "parameters stand under [settings] or [axes].")


def _instead(study: Study) -> dict[str, str]:
    """What to write in place of options of the command line that are no parameters."""
    of_source = dict.fromkeys(KINDS["x"], "it says what a source is: put it into [sources.NAME], one for each value.")
    options = {"time": "did you mean time_convention?", "runs": "give an axis seed.", "name": "did you mean loss?"}
    return (of_source if study.sources else {}) | options


def _tables(study: Study) -> dict[str, str]:
    """In which table observables are."""
    return {column: f"it is in the table {name}." for name, kept in study.tables.items() for column in kept.columns}


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
