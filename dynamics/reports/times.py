"""What the tables of critical times share: the time convention and the columns of a critical time."""

from __future__ import annotations

from math import log10

import numpy as np

from dynamics.critical_time import CriticalTimes
from dynamics.errors import ParameterError
from dynamics.status import words
from dynamics.table import Columns

CONVENTIONS = ("training", "paper")
"""``training`` counts gradient-flow time at unit learning rate per layer; ``paper`` is the depth times that."""


def check_convention(time: str) -> None:
    """Raise unless ``time`` is one of `CONVENTIONS`."""
    if time not in CONVENTIONS:
        raise ParameterError("time", time, " or ".join(CONVENTIONS))


def scale_of(depth: int, time: str) -> int:
    """What a training time is multiplied by."""
    return depth if time == "paper" else 1


def convention_column(time: str, count: int) -> Columns:
    """The column that names a convention other than the default."""
    return {} if time == "training" else {"time_convention": np.full(count, time)}


def time_columns(times: CriticalTimes, time: str) -> Columns:
    """Asymptote, critical time, its logarithm and its status."""
    scale = scale_of(times.objective.depth, time)
    return {
        "asymptote": times.asymptote,
        "critical_time": scale * times.time,
        "log10_critical_time": times.log10_time + log10(scale) if scale > 1 else times.log10_time,
        "status": words(times.status),
    }
