"""The table of exact curves."""

from __future__ import annotations

from collections.abc import Callable

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
    method: str = "exact",
    time: str = "training",
) -> Table:
    """Curves, one row a feature, setting and time.

    Parameters
    ----------
    method
        ``exact`` inverts the closed form; ``scipy`` integrates the mode equation instead and adds ``difference``, relative to
        the closed form: of the amplitude at given times, and of the time (from the critical one where there is one) at places.
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
        curves = _curves(_roads(method), features, setting, given, points, from_critical)
        tables.append(Table(in_convention(curves.columns(), setting.objective.depth, time)))
    return stacked(tables)


Road = Callable[..., Trajectories]


def _roads(method: str) -> tuple[Road, Road, Road]:
    """How curves are found: at places, at times, and at times from the critical one."""
    if method == "scipy":
        from dynamics import integrated_trajectory as integrated

        return (
            integrated.integrated_trajectories,
            integrated.integrated_trajectories_at,
            integrated.integrated_trajectories_around,
        )
    return trajectories, trajectories_at, trajectories_around


def _curves(
    roads: tuple[Road, Road, Road],
    features: Features,
    setting: Setting,
    given: FloatArray | None,
    points: int,
    from_critical: bool,
) -> Trajectories:
    at_places, at_times, around = roads
    if given is None:
        return at_places(setting.objective, features, epsilon=setting.epsilon, fraction=setting.fraction, points=points)
    at = around if from_critical else at_times
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
