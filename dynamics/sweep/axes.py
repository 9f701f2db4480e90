"""Axes: the values that a configuration lists, or spreads evenly or evenly in the logarithm between two ends.

``[1, 2, 5]``                              a list
``{from = 1, to = 9, step = 2}``           a range with its end; the step is 1 if it is left out
``{from = 0.1, to = 0.9, points = 5}``     evenly spread, with both ends
``{from = 1e-6, to = 1e-2, log_points = 9}``  evenly spread in the logarithm, with both ends

Parameters that go together are one axis, ``"patches,global_size" = [[64, 28], [196, 106]]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import exp, floor, isfinite, log
from typing import Any

from dynamics.errors import LindynError, ParameterError
from dynamics.sweep.parameters import Parameter, Value

MOST_VALUES = 1_000_000
"""Values of one axis, at most."""

SLACK = 1e-9
"""Share of a step by which the end of a range may be missed."""


def values_of(name: str, given: object, parameter: Parameter) -> tuple[Value, ...]:
    """The values of an axis, each of the parameter's type.

    Raises
    ------
    ParameterError
        If it is no list and no range, is empty, names a value twice or has one that the parameter cannot be.
    """
    found = _spread(name, given) if isinstance(given, dict) else given
    if not isinstance(found, list):
        raise ParameterError(f"axes.{name}", given, "a list, or a table with from, to and one of step, points and log_points")
    if not found:
        raise LindynError(f"The axis {name} is empty, so there is nothing to compute; give it a value, or leave it out.")
    values = tuple(parameter.read(name, value) for value in found)
    if len(set(values)) < len(values):
        twice = next(value for value in values if values.count(value) > 1)
        raise LindynError(f"The axis {name} has the value {twice} twice; every cell is computed once, so leave one out.")
    return values


def joint_points(axis: str, given: object, parameters: Mapping[str, Parameter]) -> tuple[tuple[Value, ...], ...]:
    """The points of an axis of several parameters that go together, each a list with a value for every one of them.

    Raises
    ------
    ParameterError
        If it is no list of such lists, is empty, names a point twice or has a value that its parameter cannot be.
    """
    wanted = f"a list of lists, each with {', '.join(parameters)}"
    if not isinstance(given, list) or not all(isinstance(point, list) and len(point) == len(parameters) for point in given):
        raise ParameterError(f"axes.{axis}", given, wanted)
    if not given:
        raise LindynError(f"The axis {axis} is empty, so there is nothing to compute; give it a point, or leave it out.")
    points = tuple(
        tuple(parameter.read(name, value) for (name, parameter), value in zip(parameters.items(), point, strict=True))
        for point in given
    )
    if len(set(points)) < len(points):
        twice = next(point for point in points if points.count(point) > 1)
        raise LindynError(f"The axis {axis} has the point {twice} twice; every cell is computed once, so leave one out.")
    return points


def _spread(name: str, given: dict[str, Any]) -> list[float | int]:
    kinds = [kind for kind in _SPREADS if kind in given]
    strange = [key for key in given if key not in ("from", "to", *_SPREADS)]
    if strange or len(kinds) > 1 or not {"from", "to"} <= set(given):
        have = ", ".join(given) or "nothing"
        raise LindynError(f"The axis {name} has {have}; a range has from, to and at most one of step, points and log_points.")
    numbers = {key: _number(f"axes.{name}.{key}", value) for key, value in given.items()}
    kind = kinds[0] if kinds else "step"
    start, end = numbers["from"], numbers["to"]
    if end < start:
        raise LindynError(f"The axis {name} goes from {start} to {end}; the end of a range lies at or above its start.")
    return _SPREADS[kind](name, start, end, numbers.get(kind, 1))


def _number(name: str, value: object) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ParameterError(name, value, "a finite number")
    return value


def _steps(name: str, start: float, end: float, step: float) -> list[float | int]:
    if step <= 0:
        raise ParameterError(f"axes.{name}.step", step, "a positive number")
    count = floor((end - start) / step + SLACK) + 1
    _require_count(f"axes.{name}", count)
    return [_rounded(start + place * step) for place in range(count)]


def _evenly(name: str, start: float, end: float, points: float) -> list[float | int]:
    count = _count(f"axes.{name}.points", points)
    return _between(start, end, count, lambda share: start + share * (end - start))


def _evenly_in_logarithm(name: str, start: float, end: float, points: float) -> list[float | int]:
    count = _count(f"axes.{name}.log_points", points)
    if start <= 0:
        raise ParameterError(f"axes.{name}.from", start, "positive where log_points is given")
    return _between(start, end, count, lambda share: exp(log(start) + share * (log(end) - log(start))))


_SPREADS = {"step": _steps, "points": _evenly, "log_points": _evenly_in_logarithm}


def _between(start: float, end: float, count: int, at: Callable[[float], float]) -> list[float | int]:
    inner = [_rounded(at(place / (count - 1))) for place in range(1, count - 1)]
    whole = isinstance(start, int) and isinstance(end, int)
    return [start, *(int(value) if whole and value == int(value) else value for value in inner), end]


def _count(name: str, points: float) -> int:
    if not isinstance(points, int) or points < 2:
        raise ParameterError(name, points, "a whole number, at least 2")
    _require_count(name, points)
    return points


def _require_count(name: str, count: int) -> None:
    if count > MOST_VALUES:
        raise LindynError(f"{name} would have {count} values; at most {MOST_VALUES} are possible.")


def _rounded(value: float | int) -> float | int:
    """Fifteen digits, so that 0.1 + 0.2 is 0.3 and a decade a decade."""
    return value if isinstance(value, int) else float(f"{value:.15g}")
