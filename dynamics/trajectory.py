"""Exact trajectories: where each feature is at a given time, and when it is at a given place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

from dynamics.branches import Branch, Descent, Fading, Growth
from dynamics.checks import check_epsilon, check_fraction, check_times
from dynamics.critical_time import critical_times
from dynamics.features import Features, FloatArray
from dynamics.objectives import Objective
from dynamics.power_law import asymptote, growth_time


def amplitude(objective: Objective, features: Features, *, epsilon: float, time: npt.ArrayLike) -> FloatArray:
    """Encoder amplitude of every feature at the given times, exactly, whatever the sign of its lambda.

    Parameters
    ----------
    epsilon
        Encoder amplitude of every feature at time 0.
    time
        Training times from 0 on: a number, a list shared by all features, or an array with one row a feature.

    Returns
    -------
    FloatArray
        Shape ``(len(features), number of times)``. Where a transition is shorter than the spacing of doubles at its time the
        result is right for the double given and says nothing about the shape in between: use `amplitude_around` there.

    Raises
    ------
    ParameterError
        If ``epsilon`` is not positive, or a time is negative or not finite.
    """
    check_epsilon(epsilon)
    times = check_times(time, least=0.0)
    times = np.broadcast_to(times, (len(features), times.shape[-1]))
    result = np.full(times.shape, epsilon)
    for course in _courses(objective, features, epsilon):
        result[course.which] = course.amplitude_after(times[course.which], epsilon)
    flat = features.lam == 0
    result[flat] = _decay_without_covariance(objective, features.sigma[flat, None], epsilon, times[flat])
    result[times == 0] = epsilon
    return result


def amplitude_around(
    objective: Objective, features: Features, *, epsilon: float, time: npt.ArrayLike, fraction: float = 0.5
) -> FloatArray:
    """Encoder amplitude at times measured from each feature's own critical time, which resolves every transition.

    Parameters
    ----------
    time
        Training times minus the critical time, of either sign: a number, a list shared by all features, or one row a feature.
    epsilon, fraction
        As for `critical_times`.

    Returns
    -------
    FloatArray
        Shape ``(len(features), number of times)``; ``epsilon`` before the start.

    Raises
    ------
    ParameterError
        If a feature has no critical time to measure from, because it is never or already reached.
    """
    check_epsilon(epsilon)
    check_fraction(fraction)
    times = check_times(time)
    times = np.broadcast_to(times, (len(features), times.shape[-1]))
    reached = critical_times(objective, features, epsilon=epsilon, fraction=fraction)
    reached.require_reached()
    branch = Growth(objective.alpha)
    middle = branch.position(np.array([objective.b / objective.depth * log(fraction)]))
    log_time, _ = branch.log_time(middle)
    share = times * np.exp(-_log_unit(objective, features.lam, features.rho) - log_time)[:, None]
    with np.errstate(divide="ignore"):
        y = branch.at(log_time + np.log(np.maximum(1.0 - share, 0.0)))
    limit = reached.asymptote[:, None]
    return np.clip(limit * np.exp(objective.depth / objective.b * branch.log_coordinate(y)), epsilon, limit)


@dataclass(frozen=True)
class _Course:
    """The features that move along one branch."""

    branch: Branch
    which: npt.NDArray[np.bool_]
    objective: Objective
    lam: FloatArray
    rho: FloatArray
    log_start: FloatArray

    def amplitude_after(self, time: FloatArray, epsilon: float) -> FloatArray:
        start = self.branch.position(self.log_start)
        log_time, _ = self.branch.log_time(start)
        with np.errstate(divide="ignore"):
            if isinstance(self.branch, Growth):
                whole = growth_time(self.objective, self.lam, epsilon, self.branch.remaining(start))
                log_time = log_time + np.log(np.maximum(1.0 - whole.share(time), 0.0))
            else:
                log_elapsed = np.log(time) - _log_unit(self.objective, self.lam, self.rho)
                log_time = np.logaddexp(log_time, log_elapsed)
        log_z = self.branch.log_coordinate(self.branch.at(log_time))
        result: FloatArray = np.exp(self.objective.depth / self.objective.b * (log_z + np.log(np.abs(self.rho))))
        return result


def _courses(objective: Objective, features: Features, epsilon: float) -> Iterator[_Course]:
    lam, rho = features.lam, features.rho
    log_start = objective.b / objective.depth * log(epsilon) - np.log(np.abs(np.where(rho == 0, 1.0, rho)))
    for kind, which in (
        (Growth, (lam > 0) & (log_start < 0)),
        (Descent, (lam > 0) & (log_start > 0)),
        (Fading, lam < 0),
    ):
        if which.any():
            yield _Course(kind(objective.alpha), which, objective, lam[which, None], rho[which, None], log_start[which, None])


def _log_unit(objective: Objective, lam: FloatArray, rho: FloatArray) -> FloatArray:
    """ln of |rho|**-alpha / (|lam| b), the training time that a branch's time counts in."""
    unit: FloatArray = -float(objective.alpha) * np.log(np.abs(rho)) - np.log(np.abs(lam) * objective.b)
    return unit


def _decay_without_covariance(objective: Objective, sigma: FloatArray, epsilon: float, time: FloatArray) -> FloatArray:
    """lam = 0: du/dt = -sigma^2 u^(a+b), a pure power law."""
    order = objective.a + objective.b - 1
    rate = order * epsilon ** (order / objective.depth) * sigma**2
    decay: FloatArray = epsilon * np.exp(-objective.depth / order * np.log1p(rate * time))
    return decay
