"""Mode equations integrated by SciPy, with time as the unknown: a check of the closed forms by another road.

In the logistic clock y = logit(z) a feature's time obeys dt/dy = (unit) exp(-alpha ln(z / z0)), which has no plateau, no
blow-up and no event: every critical time is the value at the end of its own stretch of y, and one call serves all features.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from dynamics.critical_time import CriticalTimes, critical_times
from dynamics.errors import LindynError
from dynamics.features import Features, FloatArray
from dynamics.objectives import Objective
from dynamics.power_law import ScaledTime, growth_span, time_unit
from dynamics.status import Status

Method = Literal["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"]
TOLERANCE = 1e-13


def integrated_critical_times(
    objective: Objective, features: Features, *, epsilon: float, fraction: float = 0.5, method: Method = "DOP853"
) -> CriticalTimes:
    """Critical times as SciPy integrates them, all features in one call; good to about 1e-11 relative.

    Parameters
    ----------
    epsilon, fraction
        As for `critical_times`, which decides the status.
    method
        An explicit or implicit method of ``scipy.integrate.solve_ivp``.

    Raises
    ------
    ParameterError
        As `critical_times`.
    LindynError
        If the integrator gives up; the sentence is SciPy's.
    """
    exact = critical_times(objective, features, epsilon=epsilon, fraction=fraction)
    reached = exact.status == Status.REACHED
    if not reached.any():
        return exact
    lam, rho = features.lam[reached], features.rho[reached]
    duration = _integrated_duration(objective, rho, epsilon, fraction, method)
    unit = time_unit(objective, lam, epsilon)
    scaled = ScaledTime(unit.mantissa * duration, unit.exponent)
    time, log10_time = exact.time.copy(), exact.log10_time.copy()
    time[reached], log10_time[reached] = scaled.value, scaled.log10
    return replace(exact, time=time, log10_time=log10_time)


def _integrated_duration(objective: Objective, rho: FloatArray, epsilon: float, fraction: float, method: Method) -> FloatArray:
    """Time over the time unit at the start."""
    from scipy.integrate import solve_ivp

    span = growth_span(objective, rho, epsilon, fraction)
    alpha = float(objective.alpha)
    stretch = span.log_ratio + np.log1p(span.gap * span.end / span.end_gap)

    def slope(share: float, _: FloatArray) -> FloatArray:
        elapsed = share * stretch
        log_ratio = span.log_ratio - np.logaddexp(np.log(span.end), np.log(span.end_gap) + stretch - elapsed)
        return stretch * np.exp(-alpha * log_ratio)

    scale = stretch / (1.0 + alpha * stretch)
    run = solve_ivp(slope, (0.0, 1.0), np.zeros_like(stretch), method=method, rtol=TOLERANCE, atol=TOLERANCE * scale)
    if not run.success:
        raise LindynError(f"SciPy's {method} gave up: {run.message}")
    result: FloatArray = run.y[:, -1]
    return result
