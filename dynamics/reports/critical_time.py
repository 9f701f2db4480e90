"""The table of critical times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dynamics.checks import check_positive
from dynamics.critical_time import CriticalTimes, critical_times, elasticities, expansion
from dynamics.errors import LindynError, ParameterError
from dynamics.features import Features, FloatArray
from dynamics.grid import Grid, Setting
from dynamics.regime import PLAIN, Regime
from dynamics.reports.conditions import regime_columns
from dynamics.reports.times import check_convention, in_convention, scale_of
from dynamics.table import Columns, Table, Tabular, known, stacked

if TYPE_CHECKING:
    from dynamics.reduced import ModeTimes

METHODS = ("exact", "scipy")
"""The closed form, and the mode equation integrated."""


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
    regime: Regime = PLAIN,
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
    regime
        What departs from plain training, in training time. It has no closed form: its mode equations are integrated, and
        ``method``, ``digits``, ``sensitivities`` and ``small_start`` do not apply.

    Raises
    ------
    ParameterError
        If ``time`` or ``learning_rate`` is not allowed.
    LindynError
        If a regime goes with what only a closed form has.
    """
    check_convention(time)
    if not regime.plain and (digits is not None or sensitivities or small_start):
        raise LindynError("digits, elasticities and expansions need the closed form, which only plain training has.")
    if learning_rate is not None:
        check_positive("learning_rate", learning_rate)
    if method not in METHODS:
        raise ParameterError("method", method, " or ".join(METHODS))
    tables = []
    for setting in grid.settings():
        times = _times(features, setting, method, regime)
        columns = times.columns()
        if regime.plain and method == "scipy":
            columns["difference"] = _relative_difference(times, _times(features, setting, "exact", regime))
        if learning_rate is not None:
            columns["steps"] = known(times.time / learning_rate)
        if digits is not None:
            columns |= _bound_columns(features, setting, digits, time)
        if sensitivities:
            columns |= elasticity_columns(features, setting, times)
        if small_start:
            columns |= _expansion_columns(features, setting, times)
        columns |= regime_columns(regime, len(features))
        tables.append(Table(in_convention(columns, setting.objective.depth, time)))
    return stacked(tables)


def _times(features: Features, setting: Setting, method: str, regime: Regime) -> CriticalTimes | ModeTimes:
    objective, epsilon, fraction = setting.objective, setting.epsilon, setting.fraction
    if regime.plain and method == "exact":
        return critical_times(objective, features, epsilon=epsilon, fraction=fraction)
    from dynamics.reduced import integrated_critical_times, mode_times

    if regime.plain:
        return integrated_critical_times(objective, features, epsilon=epsilon, fraction=fraction)
    return mode_times(objective, features, epsilon=epsilon, fraction=fraction, regime=regime)


def _bound_columns(features: Features, setting: Setting, digits: int, time: str) -> Columns:
    """Certified bounds, in the convention of ``time``."""
    from dynamics.certificate import enclosures

    objective, scale = setting.objective, scale_of(setting.objective.depth, time)
    bounds = enclosures(objective, features, epsilon=setting.epsilon, fraction=setting.fraction, digits=digits, scale=scale)
    return {name: column for name, column in bounds.columns().items() if name != "status"}


def _relative_difference(times: CriticalTimes | ModeTimes, exact: CriticalTimes | ModeTimes) -> npt.NDArray[Any]:
    """Of the features that were integrated; nothing for the others."""
    reached = np.isfinite(exact.log10_time)
    difference = np.expm1(log(10.0) * (times.log10_time[reached] - exact.log10_time[reached]))
    fits = np.isfinite(exact.time[reached]) & (exact.time[reached] > 0)
    difference[fits] = times.time[reached][fits] / exact.time[reached][fits] - 1.0
    return _spread(difference, reached)


def elasticity_columns(features: Features, setting: Setting, times: CriticalTimes | ModeTimes) -> Columns:
    """The elasticities of every critical time; nothing where there is no critical time after the start."""
    names = ("elasticity_lambda", "elasticity_rho", "elasticity_epsilon", "elasticity_fraction")
    return _where_reached(elasticities, names, features, setting, times)


def _expansion_columns(features: Features, setting: Setting, times: CriticalTimes | ModeTimes) -> Columns:
    return _where_reached(expansion, ("dominant_time", "expansion_time"), features, setting, times)


def _where_reached(
    question: Callable[..., Tabular],
    names: Sequence[str],
    features: Features,
    setting: Setting,
    times: CriticalTimes | ModeTimes,
) -> Columns:
    """The answer's columns for the features that are reached, empty cells for the others."""
    reached = np.isfinite(times.log10_time)
    if not reached.any():
        return {name: _spread(np.empty(0), reached) for name in names}
    answer = question(setting.objective, features[reached], epsilon=setting.epsilon, fraction=setting.fraction).columns()
    return {name: _spread(answer[name], reached) for name in names}


def _spread(values: FloatArray, where: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """The values at their places, with None, an empty cell, at the others."""
    if where.all():
        return values
    column = np.full(len(where), None, dtype=object)
    column[where] = values
    return column
