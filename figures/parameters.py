"""Parameters of figures as text: what ``depth=4`` means, by the default that it replaces."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dynamics.errors import LindynError, ParameterError
from figures.catalogue import Entry, nearest

KINDS: dict[type, tuple[Callable[[str], Any], str]] = {
    int: (int, "a whole number"),
    float: (float, "a number"),
    str: (str, "text"),
}
"""How a value is read, and what it must be."""


def overrides(entries: Sequence[Entry], settings: Sequence[str]) -> list[dict[str, Any]]:
    """For each figure the parameters that ``name=value`` texts give it; a figure that has no such parameter is not concerned.

    Lists are written with commas.

    Raises
    ------
    LindynError
        If a text has no ``=``, or none of the figures has the parameter; then with the nearest names.
    ParameterError
        If the value is not of the kind of the default.
    """
    pairs = [_split(setting) for setting in settings]
    known = list(dict.fromkeys(name for entry in entries for name in entry.parameters))
    for name, _ in pairs:
        if name not in known:
            which = f"The figure {entries[0].name} has" if len(entries) == 1 else "None of these figures has"
            parameter = "no parameter" if len(entries) == 1 else "the parameter"
            raise LindynError(f"{which} {parameter} {name}; {nearest(name, known)}.")
    return [
        {name: _read(name, text, entry.parameters[name]) for name, text in pairs if name in entry.parameters}
        for entry in entries
    ]


def shown(parameters: Mapping[str, Any]) -> str:
    """Parameters as they are written on the command line."""
    return " ".join(f"{name}={_written(value)}" for name, value in parameters.items())


def _split(setting: str) -> tuple[str, str]:
    name, equals, text = setting.partition("=")
    if not equals:
        raise LindynError(f"{setting} sets nothing; write name=value, such as depth=4.")
    return name.strip().replace("-", "_"), text.strip()


def _read(name: str, text: str, default: Any) -> Any:
    if isinstance(default, tuple):
        return tuple(_read(name, part.strip(), default[0]) for part in text.split(","))
    convert, description = KINDS[type(default)]
    try:
        return convert(text)
    except ValueError:
        raise ParameterError(name, repr(text), description) from None


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_written, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
