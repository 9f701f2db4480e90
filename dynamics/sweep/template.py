"""A configuration to begin with: every parameter of a command with its default, and all that can be kept."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

from dynamics.sweep.parameters import NONE, Parameter
from dynamics.sweep.study import Study

WIDTH = 120

SOURCE = """\
[sources.mine]
lambda = [1.0, 0.8]
rho = [0.6, 0.9]
# or: features = "FILE"; or: x = "FILE" and mask = 0.5, lag = 1 or y = "FILE"; for multiview also: graph = "FILE"
"""


def template(study: Study) -> str:
    """A configuration of this study that can be computed as it stands; what is commented out has its default."""
    return "\n".join(_lines(study))


def _lines(study: Study) -> Iterator[str]:
    first = next(iter(study.tables))
    yield f'command = "{study.name}"'
    yield f'table = "{first}"'
    for name, kept in study.tables.items():
        columns = ", ".join(kept.columns)
        yield fill(f"{name}, one row {kept.rows}: {columns}", WIDTH, initial_indent="# ", subsequent_indent="#   ")
    yield '# observables = ["NAME"]  # columns of the table to keep, all without'
    yield ""
    yield "[settings]"
    for name, parameter in study.parameters.items():
        yield _setting(study, name, parameter)
    yield ""
    yield "[axes]  # also lists, {from, to, step}, {from, to, points} and {from, to, log_points}"
    yield study.example
    yield ""
    if study.sources:
        yield SOURCE


def _setting(study: Study, name: str, parameter: Parameter) -> str:
    default = NONE if parameter.default is None else parameter.default
    written = f'"{default}"' if isinstance(default, str) else str(default).lower()
    line = f"{name} = {written}"
    asked = [f"one of {', '.join(parameter.choices)}"] if parameter.choices else []
    for other, values in parameter.read_with:
        asked.append(f"with {other} = {' or '.join(map(str, values)) if values else 'a value'}")
    needed = study.needed.get(name)
    return f"{name} = {needed}" if needed else f"# {line}{'  # ' + '; '.join(asked) if asked else ''}"
