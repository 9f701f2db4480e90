"""The table of critical times."""

from __future__ import annotations

from math import isfinite, log
from typing import Any

import numpy as np
import numpy.typing as npt

from dynamics.critical_time import CriticalTimes, critical_times, elasticities, expansion
from dynamics.errors import ParameterError
from dynamics.features import Features, FloatArray
from dynamics.grid import Grid, Setting
from dynamics.reports.times import check_convention, convention_column, scale_of, time_columns
from dynamics.table import Columns, Table, stacked


def critical_time_table(
    features: Features,
    grid: Grid,
    *,
    method: str = "exact",
    time: str = "training",
    learning_rate: float | None = None,
    digits: int | None = None,
    sensitivities: bool = False,
    small_start: bool = False,
) -> Table:
    """Critical times of all features at every setting of the grid.

    Parameters
    ----------
    method
        ``exact`` evaluates the closed form; ``scipy`` integrates the mode equation instead and adds ``difference``, relative to
        the closed form.
    time
        One of `CONVENTIONS`; with ``paper`` a last column says so.
    learning_rate
        Adds ``steps``: the number of gradient-descent steps, to first order in the learning rate.
    digits
        Adds certified bounds that share at least this many digits.
    sensitivities
        Adds the elasticities of the critical time.
    small_start
        Adds the dominant term and the whole expansion for a small start, to compare with the exact time.
    """
    check_convention(time)
    if learning_rate is not None and not (isfinite(learning_rate) and learning_rate > 0):
        raise ParameterError("learning_rate", learning_rate, "a positive finite number")
    tables = []
    for setting in grid.settings():
        times = critical_times(setting.objective, features, epsilon=setting.epsilon, fraction=setting.fraction)
        differences: Columns = {}
        if method == "scipy":
            exact, times = times, _integrated(features, setting)
            differences["difference"] = _relative_difference(times, exact)
        columns = setting.columns(features) | time_columns(times, time) | differences
        if learning_rate is not None:
            columns["steps"] = times.time / learning_rate
        if digits is not None:
            from dynamics.certificate import enclosures

            bounds = enclosures(
                setting.objective,
                features,
                epsilon=setting.epsilon,
                fraction=setting.fraction,
                digits=digits,
                scale=scale_of(setting.objective.depth, time),
            )
            columns |= {"critical_time_lower": list(bounds.lower), "critical_time_upper": list(bounds.upper)}
        if sensitivities:
            columns |= elasticity_columns(features, setting, times)
        if small_start:
            columns |= _expansion_columns(features, setting, times, time)
        tables.append(Table(columns | convention_column(time, len(features))))
    return stacked(tables)


def _integrated(features: Features, setting: Setting) -> CriticalTimes:
    from dynamics.reduced import integrated_critical_times

    return integrated_critical_times(setting.objective, features, epsilon=setting.epsilon, fraction=setting.fraction)


def _relative_difference(times: CriticalTimes, exact: CriticalTimes) -> FloatArray:
    reached = np.isfinite(exact.log10_time)
    difference = np.zeros(len(reached))
    difference[reached] = np.expm1(log(10.0) * (times.log10_time[reached] - exact.log10_time[reached]))
    finite = reached & np.isfinite(exact.time) & (exact.time > 0)
    difference[finite] = times.time[finite] / exact.time[finite] - 1.0
    return difference


def elasticity_columns(features: Features, setting: Setting, times: CriticalTimes) -> Columns:
    """The elasticities of every critical time; nothing where there is no critical time after the start."""
    reached = np.isfinite(times.log10_time)
    names = ("elasticity_lambda", "elasticity_rho", "elasticity_epsilon", "elasticity_fraction")
    if not reached.any():
        return {name: _spread(np.empty(0), reached) for name in names}
    result = elasticities(setting.objective, features[reached], epsilon=setting.epsilon, fraction=setting.fraction)
    return {
        name: _spread(values, reached)
        for name, values in zip(names, (result.lam, result.rho, result.epsilon, result.fraction), strict=True)
    }


def _expansion_columns(features: Features, setting: Setting, times: CriticalTimes, time: str) -> Columns:
    """Dominant term and expansion; nothing where there is no critical time after the start."""
    reached = np.isfinite(times.log10_time)
    names = ("dominant_time", "expansion_time")
    if not reached.any():
        return {name: _spread(np.empty(0), reached) for name in names}
    result = expansion(setting.objective, features[reached], epsilon=setting.epsilon, fraction=setting.fraction)
    scale = scale_of(setting.objective.depth, time)
    return {name: _spread(scale * values, reached) for name, values in zip(names, (result.dominant, result.total), strict=True)}


def _spread(values: FloatArray, where: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """The values at their places, with None, an empty cell, at the others."""
    if where.all():
        return values
    column = np.full(len(where), None, dtype=object)
    column[where] = values
    return column
