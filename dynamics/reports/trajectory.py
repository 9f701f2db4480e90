"""The table of exact curves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dynamics.errors import ParameterError
from dynamics.features import Features, FloatArray
from dynamics.grid import Grid, Setting
from dynamics.reports.times import check_convention, in_convention, scale_of
from dynamics.table import Table, stacked
from dynamics.trajectory import Trajectories, trajectories, trajectories_around, trajectories_at


def trajectory_table(
    features: Features,
    grid: Grid,
    *,
    times: npt.ArrayLike | None = None,
    points: int = 50,
    from_critical: bool = False,
    time: str = "training",
) -> Table:
    """Exact curves, one row a feature, setting and time.

    Parameters
    ----------
    times
        The times to give, in the convention of ``time``; by default ``points`` places spread where each curve moves.
    points
        Points a curve where no times are given.
    from_critical
        Count ``times`` from each feature's critical time.
    """
    check_convention(time)
    tables = []
    for setting in grid.settings():
        given = (
            None
            if times is None
            else np.atleast_1d(np.asarray(times, dtype=np.float64)) / scale_of(setting.objective.depth, time)
        )
        curves = _curves(features, setting, given, points, from_critical)
        tables.append(Table(in_convention(curves.columns(), setting.objective.depth, time)))
    return stacked(tables)


def _curves(features: Features, setting: Setting, given: FloatArray | None, points: int, from_critical: bool) -> Trajectories:
    if given is None:
        return trajectories(setting.objective, features, epsilon=setting.epsilon, fraction=setting.fraction, points=points)
    at = trajectories_around if from_critical else trajectories_at
    curves = at(setting.objective, features, epsilon=setting.epsilon, fraction=setting.fraction, time=given)
    early = (curves.time_from_critical < -curves.critical.time[:, None]) & from_critical
    if early.any():
        row = int(np.argmax(early.any(axis=1)))
        raise ParameterError(
            "time",
            curves.time_from_critical[row][early[row]][0],
            f"at least {-curves.critical.time[row]:.6g}, where feature {features.labels()[row]} starts, in training time",
        )
    return curves
