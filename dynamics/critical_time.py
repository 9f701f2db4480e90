"""When is each feature learned: exact critical times, what they depend on, and how they look for a small start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.checks import check_epsilon, check_fraction
from dynamics.errors import ParameterError
from dynamics.features import Features, FloatArray
from dynamics.objectives import Objective
from dynamics.power_law import asymptote, growth_span, growth_time
from dynamics.status import Status, StatusArray, status_where

BLOCK = 1 << 13
"""Features worked on at a time, so that the temporaries stay in the cache."""


@dataclass(frozen=True, eq=False)
class CriticalTimes:
    """Critical times of every feature under one objective, arrays of shape ``(len(features),)``.

    Attributes
    ----------
    time
        Gradient-flow time at unit learning rate per layer; ``inf`` where the status is ``never`` or a double overflows.
    log10_time
        Decimal logarithm, finite also where ``time`` overflows; ``-inf`` where the feature is already reached.
    status
        A `Status` a feature.
    asymptote
        Encoder amplitude the feature tends to.
    """

    objective: Objective
    features: Features
    epsilon: float
    fraction: float
    time: FloatArray
    log10_time: FloatArray
    status: StatusArray
    asymptote: FloatArray

    def require_reached(self) -> None:
        """Raise a `ParameterError` that names the first feature which is not ``reached`` and why."""
        for row in np.flatnonzero(self.status != Status.REACHED)[:1]:
            status: Status = self.status[row]
            name = self.features.labels()[row]
            raise ParameterError("feature", f"{name} ({status.value})", f"one that is reached after the start. {status.message}")


def critical_times(objective: Objective, features: Features, *, epsilon: float, fraction: float = 0.5) -> CriticalTimes:
    check_epsilon(epsilon)
    check_fraction(fraction)
    count = len(features)
    time, log10_time, limit = (np.empty(count) for _ in range(3))
    status = np.empty(count, dtype=object)
    for first in range(0, count, BLOCK):
        part = slice(first, first + BLOCK)
        lam, rho = features.lam[part], features.rho[part]
        positive = lam > 0
        lam, rho = np.where(positive, lam, 1.0), np.where(positive, rho, 1.0)
        span = growth_span(objective, rho, epsilon, fraction)
        reached = positive & (span.gap > 0)
        scaled = growth_time(objective, lam, epsilon, span)
        time[part] = np.where(reached, scaled.value, np.where(positive, 0.0, np.inf))
        with np.errstate(divide="ignore"):
            log10_time[part] = np.where(reached, scaled.log10, np.where(positive, -np.inf, np.inf))
        status[part] = status_where([(~positive, Status.NEVER), (~reached, Status.ALREADY_REACHED)], Status.REACHED)
        limit[part] = asymptote(objective, features.rho[part])
    return CriticalTimes(objective, features, epsilon, fraction, time, log10_time, status, limit)

