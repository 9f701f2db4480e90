"""The rows of a figure's table: curves, critical times and runs in the columns that they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.checks import check_positive, whole_number
from dynamics.grid import Setting
from dynamics.table import Columns, Table

if TYPE_CHECKING:
    from dynamics.comparison import Simulation
    from dynamics.features import FloatArray

NAMED = 8
"""Features named in a caption, at most."""

POINTS = 120
"""Points of an exact curve that follow its course; as many again are spread evenly in time."""


def predicted(setting: Setting, features: dyn.Features) -> dyn.CriticalTimes:
    """The exact critical times at a setting."""
    return dyn.critical_times(setting.objective, features, epsilon=setting.epsilon, fraction=setting.fraction)


def rows(kind: str, setting: Setting, features: dyn.Features, columns: Columns, **marks: Any) -> Table:
    """One row a feature and point.

    Parameters
    ----------
    columns
        Arrays of shape ``(features, points)``, or what broadcasts to it.
    marks
        Columns that are the same in every row.
    """
    each = setting.columns(features) | {"asymptote": predicted(setting, features).asymptote}
    return spread(kind, marks, each, columns)


def spread(kind: str, marks: Columns, each: Columns, points: Columns) -> Table:
    """One row a feature and point.

    Parameters
    ----------
    marks, each, points
        Columns that are the same in every row, that have one entry a feature, and of shape ``(features, points)`` or what
        broadcasts to it.
    """
    count = len(next(iter(each.values())))
    shape = np.broadcast_shapes((count, 1), *(np.shape(column) for column in points.values()))
    return Table(
        {name: np.full(shape[0] * shape[1], value) for name, value in ({"kind": kind} | marks).items()}
        | {name: np.repeat(np.asarray(column), shape[1]) for name, column in each.items()}
        | {name: np.broadcast_to(column, shape).ravel() for name, column in points.items()}
    )


def critical(setting: Setting, features: dyn.Features, **marks: Any) -> Table:
    """The critical times: for each feature the point of its curve at which it counts as learned."""
    found = predicted(setting, features)
    place = {"time": found.time[:, None], "amplitude": (setting.fraction * found.asymptote)[:, None]}
    return rows("critical-time", setting, features, place, **marks)


def exact(setting: Setting, features: dyn.Features, *, end: float, **marks: Any) -> Table:
    """The exact curves from the start to a training time."""
    objective, epsilon = setting.objective, setting.epsilon
    course = dyn.trajectories(objective, features, epsilon=epsilon, points=POINTS).time
    even = np.broadcast_to(np.linspace(0.0, end, POINTS), (len(features), POINTS))
    time = np.sort(np.minimum(np.hstack([np.where(np.isfinite(course), course, end), even]), end), axis=1)
    curve = {"time": time, "amplitude": dyn.amplitude(objective, features, epsilon=epsilon, time=time)}
    return rows("exact", setting, features, curve, **marks)


def simulated(kind: str, run: Simulation, **marks: Any) -> Table:
    """The curves of a trained network."""
    experiment, curves = run.experiment, run.curves
    shown = slice(experiment.first)
    seen = {"time": curves.time[None, :], "amplitude": curves.amplitude[shown]}
    return rows(kind, experiment.setting, experiment.features[shown], seen, **marks)


def in_order(setting: Setting, features: dyn.Features) -> str:
    """The order in which an objective learns some features, with the times, and what it does not learn; one sentence."""
    found = predicted(setting, features)
    labels = np.array(features.labels(), dtype=object)
    learned = np.flatnonzero(found.status == dyn.Status.REACHED)
    first = learned[np.argsort(found.log10_time[learned], kind="stable")]
    told = {
        "learns": [f"{labels[row]} ({found.time[row]:.4g})" for row in first],
        "has from the start": list(labels[found.status == dyn.Status.ALREADY_REACHED]),
        "never learns": list(labels[found.status == dyn.Status.NEVER]),
    }
    return f"{setting.objective.name.upper()} {'; '.join(f'{verb} {_listed(names)}' for verb, names in told.items() if names)}."


def _listed(names: Sequence[str]) -> str:
    """The first of them, and whether there are more."""
    return ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def last_time(setting: Setting, features: dyn.Features, *, margin: float = 1.25) -> float:
    """Training time a little after the last critical time."""
    times = predicted(setting, features).time
    later: FloatArray = times[np.isfinite(times) & (times > 0.0)]
    if not len(later):
        name = setting.objective.name.upper()
        raise dyn.LindynError(f"{name} learns no feature after the start at these settings, so there is no curve to draw.")
    return margin * float(later.max())


def log_range(points: int, **ends: float) -> FloatArray:
    """Points spread evenly in the logarithm between two ends; raises a `ParameterError` that names the one that is wrong."""
    (_, low), (name, high) = ends.items()
    for end, value in ends.items():
        check_positive(end, value)
    if not low < high:
        raise dyn.ParameterError(name, high, f"above {low:g}, where the range begins")
    return np.geomspace(low, high, whole_number("points", points, 2, 10_000))


def first_time(time: FloatArray, amplitude: FloatArray, level: FloatArray) -> FloatArray:
    """When each row of amplitudes first reaches its level, between the points linearly; inf where it does not."""
    above = amplitude >= level[:, None]
    after = np.maximum(above.argmax(axis=1), 1)
    row = np.arange(len(level))
    low, high = amplitude[row, after - 1], amplitude[row, after]
    share = np.clip((level - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
    between = time[after - 1] + share * (time[after] - time[after - 1])
    reached: FloatArray = np.where(above.any(axis=1), between, np.inf)
    return reached
