"""Exact trajectories: where each feature is at a given time, and when it is at a given place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.checks import check_epsilon, check_fraction, check_times, spread_times, whole_number
from dynamics.courses import Growing, courses
from dynamics.critical_time import CriticalTimes, critical_times
from dynamics.features import Features, FloatArray
from dynamics.objectives import Objective
from dynamics.power_law import asymptote
from dynamics.status import Status
from dynamics.table import Columns, Tabular


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
    times = spread_times(check_times(time, least=0.0), len(features))
    result = np.full(times.shape, epsilon)
    for course in courses(objective, features, epsilon):
        result[course.which] = course.amplitude_after(times[course.which])
    limit = asymptote(objective, features.rho)[:, None]
    result = np.clip(result, np.minimum(epsilon, limit), np.maximum(epsilon, limit), out=result)
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
    LindynError
        If a feature has no critical time to measure from, because it is never or already reached.
    """
    check_epsilon(epsilon)
    check_fraction(fraction)
    times = spread_times(check_times(time), len(features))
    reached = critical_times(objective, features, epsilon=epsilon, fraction=fraction)
    reached.require_reached()
    (course,) = courses(objective, features, epsilon)
    assert isinstance(course, Growing)
    return np.clip(course.amplitude_around(times, fraction), epsilon, reached.asymptote[:, None])


@dataclass(frozen=True, eq=False)
class Trajectories(Tabular):
    """Curves of every feature, arrays of shape ``(features, points)``.

    Attributes
    ----------
    critical
        The critical times that ``time_from_critical`` is measured from.
    time, time_from_critical
        Training time, and the same minus the critical time, which resolves the transition even where one ulp of ``time``
        exceeds its width; ``-inf`` where the critical time is infinite.
    amplitude
        Encoder amplitude.
    """

    critical: CriticalTimes
    time: FloatArray
    time_from_critical: FloatArray
    amplitude: FloatArray

    def columns(self) -> Columns:
        """One row a feature and point: the columns of its critical time, then time, time_from_critical and amplitude."""
        points = self.time.shape[1]
        repeated = {name: np.repeat(np.asarray(column), points) for name, column in self.critical.columns().items()}
        return repeated | {
            "time": self.time.ravel(),
            "time_from_critical": self.time_from_critical.ravel(),
            "amplitude": self.amplitude.ravel(),
        }


def trajectories_at(
    objective: Objective, features: Features, *, epsilon: float, time: npt.ArrayLike, fraction: float = 0.5
) -> Trajectories:
    """The curve of every feature at the given training times; parameters and errors are those of `amplitude`."""
    critical = critical_times(objective, features, epsilon=epsilon, fraction=fraction)
    amplitudes = amplitude(objective, features, epsilon=epsilon, time=time)
    times = np.array(np.broadcast_to(check_times(time, least=0.0), amplitudes.shape))
    return Trajectories(critical, times, _since(times, critical.time[:, None]), amplitudes)


def trajectories_around(
    objective: Objective, features: Features, *, epsilon: float, time: npt.ArrayLike, fraction: float = 0.5
) -> Trajectories:
    """The curve of every feature at times from its own critical time; parameters and errors are those of `amplitude_around`."""
    critical = critical_times(objective, features, epsilon=epsilon, fraction=fraction)
    amplitudes = amplitude_around(objective, features, epsilon=epsilon, fraction=fraction, time=time)
    since = np.array(np.broadcast_to(check_times(time), amplitudes.shape))
    return Trajectories(critical, critical.time[:, None] + since, since, amplitudes)


def trajectories(
    objective: Objective, features: Features, *, epsilon: float, fraction: float = 0.5, points: int = 50
) -> Trajectories:
    """The curve of every feature on ``points`` places spread where it moves: evenly in its logistic clock.

    Growing and sinking features are followed until they are within a thousandth of their asymptote (closer if ``fraction``
    asks for it), fading ones until a hundredth of epsilon is left.

    Parameters
    ----------
    epsilon, fraction
        As for `critical_times`.
    points
        Points a curve, at least 2.

    Raises
    ------
    ParameterError
        As for `critical_times`, or if there are fewer than two points.
    """
    whole_number("points", points, 2)
    critical = critical_times(objective, features, epsilon=epsilon, fraction=fraction)
    time, since, amplitudes = (np.empty((len(features), points)) for _ in range(3))
    left = min(1e-3, (1.0 - fraction) / 10.0)
    for course in courses(objective, features, epsilon):
        time[course.which], amplitudes[course.which] = course.curve(points, left)
        since[course.which] = _since(time[course.which], critical.time[course.which, None])
        if isinstance(course, Growing):
            measured = critical.status[course.which] == Status.REACHED
            since[course.which] = np.where(measured[:, None], course.since(fraction, points, left), since[course.which])
    limit = critical.asymptote[:, None]
    np.clip(amplitudes, np.minimum(epsilon, limit), np.maximum(epsilon, limit), out=amplitudes)
    amplitudes[:, 0] = epsilon
    since[:, 0] = 0.0 - critical.time
    return Trajectories(critical, time, since, amplitudes)


def _since(time: FloatArray, critical: FloatArray) -> FloatArray:
    """time - critical, which is minus infinity where there is no critical time, however late."""
    return np.where(np.isinf(critical), -np.inf, time - np.where(np.isinf(critical), 0.0, critical))
