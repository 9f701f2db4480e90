"""Configurations: the sweep that a TOML file says."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dynamics.errors import LindynError, ParameterError, TableError
from dynamics.files import reason
from dynamics.sweep.axes import joint_points, values_of
from dynamics.sweep.parameters import Parameter, Value, one_of, refuse_unread
from dynamics.sweep.plan import JOINT, SOURCE, Point, Sweep
from dynamics.sweep.sources import KINDS, Source, read_source
from dynamics.sweep.studies import STUDIES
from dynamics.sweep.study import Study
from dynamics.sweep.version import code_version

SECTIONS = ("command", "table", "observables", "settings", "axes", "sources")
"""Keys of a configuration."""

MOST_CELLS = 10_000_000
"""Cells of a grid, at most: it is counted before it is computed."""

CLOSE = 0.7
"""How alike two names are of which one is taken for a slip of the other, 0 to 1."""


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


def sweep_of(document: Mapping[str, Any], folder: Path = Path()) -> Sweep:
    """The sweep that a parsed configuration says; parameters and errors are those of `read_sweep`."""
    study = STUDIES[_chosen("command", document, tuple(STUDIES))] if "command" in document else None
    _refuse_unknown("A configuration", "key", document, SECTIONS, _where(study) if study else {})
    study = STUDIES[_chosen("command", document, tuple(STUDIES))]
    table = _chosen("table", document, tuple(study.tables), next(iter(study.tables)))
    settings, axes = _section(document, "settings"), _axes(_section(document, "axes"))
    known = (*study.parameters, *((SOURCE,) if study.sources else ()))
    shown = [name for axis in axes for name in axis.split(JOINT)]
    for names in (settings, shown):
        _refuse_unknown(study.name, "parameter", names, known, _instead(study))
    twice = next((name for name in shown if name in settings or shown.count(name) > 1), None)
    if twice is not None:
        raise LindynError(f"{twice} stands twice in settings and axes; leave one of them out.")
    sources = _sources(study, _section(document, "sources"), folder)
    parameters = {**study.parameters, SOURCE: Parameter(str, next(iter(sources), ""), tuple(sources))}
    points = {axis: _points(axis, value, parameters) for axis, value in axes.items()}
    if len(sources) > 1 and SOURCE not in shown:
        shown, points = [SOURCE, *shown], {SOURCE: _each(tuple(sources)), **points}
    fixed: dict[str, Value] = {name: parameters[name].read(name, value) for name, value in settings.items()}
    defaults = {name: parameters[name].default for name in known if name not in (*shown, *fixed)}
    points |= {name: ((value,),) for name, value in (fixed | defaults).items()}
    observables = _observables(document, table, study)
    sweep = Sweep(study, table, observables, points, tuple(shown), sources, code_version())
    if len(sweep) > MOST_CELLS:
        raise LindynError(
            f"The grid has {len(sweep):.3g} cells; at most {MOST_CELLS} are possible: give the axes fewer values."
        )
    refuse_unread(parameters, sweep.values, [*fixed, *shown])
    sweep.check()
    return sweep


def _axes(section: Mapping[str, Any]) -> dict[str, Any]:
    """The axes with the names of parameters that go together in one way of writing."""
    return {JOINT.join(name.strip() for name in axis.split(JOINT)): value for axis, value in section.items()}


def _points(axis: str, given: object, parameters: Mapping[str, Parameter]) -> tuple[Point, ...]:
    names = axis.split(JOINT)
    if len(names) == 1:
        return _each(values_of(axis, given, parameters[axis]))
    return joint_points(axis, given, {name: parameters[name] for name in names})


def _each(values: tuple[Value, ...]) -> tuple[Point, ...]:
    return tuple((value,) for value in values)


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
