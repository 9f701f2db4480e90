"""What the tables of times share: the time convention."""

from __future__ import annotations

from collections.abc import Callable
from math import log10
from typing import Any

import numpy as np
import numpy.typing as npt

from dynamics.errors import ParameterError
from dynamics.grid import Setting
from dynamics.table import Columns, cells

CONVENTIONS = ("training", "paper")
"""``training`` counts gradient-flow time at unit learning rate per layer; ``paper`` is the depth times that."""

TIMES = (
    "critical_time",
    "simulated_time",
    "simulated_time_sd",
    "time",
    "end_time",
    "time_from_critical",
    "dominant_time",
    "expansion_time",
)
"""Columns that a time convention scales."""


def check_convention(time: str) -> None:
    """Raise unless ``time`` is one of `CONVENTIONS`."""
    if time not in CONVENTIONS:
        raise ParameterError("time", time, " or ".join(CONVENTIONS))


def scale_of(depth: int, time: str) -> int:
    """What a training time is multiplied by."""
    return depth if time == "paper" else 1


def in_convention(columns: Columns, depth: int, time: str) -> Columns:
    """Columns in training time, in the convention asked for; one other than the default is named in a last column."""
    if time == "training":
        return columns
    scaled = {
        name: _changed(column, lambda cell: depth * cell) if name in TIMES else column for name, column in columns.items()
    }
    if "log10_critical_time" in scaled:
        scaled["log10_critical_time"] = _changed(scaled["log10_critical_time"], lambda cell: cell + log10(depth))
    count = len(next(iter(columns.values())))
    return scaled | {"time_convention": np.full(count, time)}


def _changed(column: npt.NDArray[Any], change: Callable[[Any], Any]) -> npt.NDArray[Any]:
    """The column with every cell changed but the empty ones."""
    if column.dtype != object:
        result: npt.NDArray[Any] = change(column)
        return result
    return cells(None if cell is None else change(cell) for cell in column)


def in_training(given: float | None, setting: Setting, time: str) -> float | None:
    """A time given in a convention, in training time; None stays None."""
    check_convention(time)
    return None if given is None else given / scale_of(setting.objective.depth, time)
