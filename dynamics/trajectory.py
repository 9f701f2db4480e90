"""Exact trajectories: where each feature is at a given time, and when it is at a given place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from math import log, log1p

import numpy as np
import numpy.typing as npt

from dynamics.branches import Branch, Descent, Fading, Growth
from dynamics.checks import check_epsilon, check_fraction, check_times, spread_times, whole_number
from dynamics.clock import dimensionless_time
from dynamics.critical_time import CriticalTimes, critical_times
from dynamics.features import Features, FloatArray
from dynamics.objectives import Objective
from dynamics.power_law import asymptote, growth_time
from dynamics.status import Status

FADED_SHARE = 0.01
"""Share of epsilon at which the curve of a feature that is never learned is cut."""


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
    for course in _courses(objective, features, epsilon):
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
    (course,) = _courses(objective, features, epsilon)
    assert isinstance(course, _Growing)
    return np.clip(course.amplitude_around(times, fraction), epsilon, reached.asymptote[:, None])


@dataclass(frozen=True, eq=False)
class Trajectories:
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
    for course in _courses(objective, features, epsilon):
        time[course.which], amplitudes[course.which] = course.curve(points, left)
        since[course.which] = _since(time[course.which], critical.time[course.which, None])
        if isinstance(course, _Growing):
            measured = critical.status[course.which] == Status.REACHED
            since[course.which] = np.where(measured[:, None], course.since(fraction, points, left), since[course.which])
    return Trajectories(critical, time, since, amplitudes)


def _since(time: FloatArray, critical: FloatArray) -> FloatArray:
    """time - critical, which is minus infinity where there is no critical time, however late."""
    return np.where(np.isinf(critical), -np.inf, time - np.where(np.isinf(critical), 0.0, critical))


@dataclass(frozen=True, eq=False)
class _Course(ABC):
    """The features that move in one way, as columns, and their common start."""

    objective: Objective
    which: npt.NDArray[np.bool_]
    lam: FloatArray
    rho: FloatArray
    sigma: FloatArray
    epsilon: float

    @abstractmethod
    def amplitude_after(self, time: FloatArray) -> FloatArray:
        """Amplitude when ``time`` has passed."""

    @abstractmethod
    def curve(self, points: int, left: float) -> tuple[FloatArray, FloatArray]:
        """Times and amplitudes where the curve moves, until a share ``left`` of the way is left."""

    @property
    def power(self) -> float:
        return self.objective.b / self.objective.depth

    @property
    def log_start(self) -> FloatArray:
        """The logarithm of |z| at the start."""
        start: FloatArray = self.power * log(self.epsilon) - np.log(np.abs(self.rho))
        return start

    def amplitude_at(self, log_z: FloatArray) -> FloatArray:
        """Amplitude where ln |z| has this value."""
        result: FloatArray = np.exp((log_z + np.log(np.abs(self.rho))) / self.power)
        return result

    def log_unit(self) -> FloatArray:
        """The logarithm of |rho|**-alpha / (|lam| b), the training time in which a branch counts."""
        alpha = float(self.objective.alpha)
        unit: FloatArray = -alpha * np.log(np.abs(self.rho)) - np.log(np.abs(self.lam) * self.objective.b)
        return unit


class _Growing(_Course):
    """lam > 0, from below."""

    @property
    def branch(self) -> Growth:
        return Growth(self.objective.alpha)

    def amplitude_after(self, time: FloatArray) -> FloatArray:
        start = self.branch.position(self.log_start)
        whole = growth_time(self.objective, self.lam, self.epsilon, self.branch.remaining(start))
        with np.errstate(divide="ignore"):
            log_remaining = self.branch.log_time(start)[0] + np.log(np.maximum(1.0 - whole.share(time), 0.0))
        return self.amplitude_at(self.branch.log_coordinate(self.branch.at(log_remaining)))

    def amplitude_around(self, time: FloatArray, fraction: float) -> FloatArray:
        """Amplitude when ``time`` has passed, or is still to pass, at ``fraction`` of the asymptote."""
        log_remaining, _ = self.branch.log_time(self.branch.position(np.array([[self.power * log(fraction)]])))
        with np.errstate(divide="ignore", over="ignore"):
            share = time * np.exp(-self.log_unit() - log_remaining)
            y = self.branch.at(log_remaining + np.log(np.maximum(1.0 - share, 0.0)))
        return self.amplitude_at(self.branch.log_coordinate(y))

    def curve(self, points: int, left: float) -> tuple[FloatArray, FloatArray]:
        y = self._places(points, left)
        time = growth_time(self.objective, self.lam, self.epsilon, self.branch.stretch(y[:, :1], y)).value
        return time, self.amplitude_at(self.branch.log_coordinate(y))

    def since(self, fraction: float, points: int, left: float) -> FloatArray:
        """The times of the curve, measured from where the feature is at ``fraction`` of its asymptote."""
        y = self._places(points, left)
        middle = self.branch.position(np.array(self.power * log(fraction)))
        first, last = np.minimum(y, middle), np.maximum(y, middle)
        duration, _ = dimensionless_time(self.objective.alpha, self.branch.stretch(first, last))
        log_unit = self.log_unit() - float(self.objective.alpha) * self.branch.log_coordinate(first)
        with np.errstate(over="ignore"):
            elapsed: FloatArray = np.sign(y - middle) * duration * np.exp(log_unit)
        return elapsed

    def _places(self, points: int, left: float) -> FloatArray:
        start = self.branch.position(self.log_start)
        end = np.maximum(self.branch.position(np.array(self.power * log1p(-left))), start + 1.0)
        return start + (end - start) * np.linspace(0.0, 1.0, points)


class _Sinking(_Course):
    """lam > 0, from above the asymptote."""

    @property
    def branch(self) -> Branch:
        return Descent(self.objective.alpha)

    def amplitude_after(self, time: FloatArray) -> FloatArray:
        log_time, _ = self.branch.log_time(self.branch.position(self.log_start))
        with np.errstate(divide="ignore"):
            log_elapsed = np.logaddexp(log_time, np.log(time) - self.log_unit())
        return self.amplitude_at(self.branch.log_coordinate(self.branch.at(log_elapsed)))

    def curve(self, points: int, left: float) -> tuple[FloatArray, FloatArray]:
        start = self.branch.position(self.log_start)
        y = start + (np.maximum(self._end(left), start + 1.0) - start) * np.linspace(0.0, 1.0, points)
        log_time, _ = self.branch.log_time(y)
        with np.errstate(over="ignore"):
            time = np.exp(self.log_unit() + log_time) * (1.0 - np.exp(log_time[:, :1] - log_time))
        return time, self.amplitude_at(self.branch.log_coordinate(y))

    def _end(self, left: float) -> FloatArray:
        return self.branch.position(np.array(self.power * log1p(left)))


class _Dying(_Sinking):
    """lam < 0: towards zero."""

    @property
    def branch(self) -> Branch:
        return Fading(self.objective.alpha)

    def _end(self, left: float) -> FloatArray:
        return self.branch.position(self.log_start + self.power * log(FADED_SHARE))


class _Uncorrelated(_Course):
    """lam = 0: du/dt = -sigma^2 u^(a+b), a pure power law."""

    @property
    def order(self) -> float:
        return (self.objective.a + self.objective.b - 1) / self.objective.depth

    @property
    def log_rate(self) -> FloatArray:
        """The logarithm of the rate at which (epsilon / w)**order grows."""
        rate: FloatArray = log(self.order * self.objective.depth) + self.order * log(self.epsilon) + 2.0 * np.log(self.sigma)
        return rate

    def amplitude_after(self, time: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            log_growth = np.logaddexp(0.0, self.log_rate + np.log(time))
        result: FloatArray = self.epsilon * np.exp(-log_growth / self.order)
        return result

    def curve(self, points: int, left: float) -> tuple[FloatArray, FloatArray]:
        log_share = log(FADED_SHARE) * np.linspace(0.0, 1.0, points)
        with np.errstate(over="ignore"):
            time = np.expm1(-self.order * log_share) * np.exp(-self.log_rate)
        return time, np.broadcast_to(self.epsilon * np.exp(log_share), time.shape)


class _Still(_Course):
    """lam > 0, at the asymptote from the start."""

    def amplitude_after(self, time: FloatArray) -> FloatArray:
        return np.full(time.shape, self.epsilon)

    def curve(self, points: int, left: float) -> tuple[FloatArray, FloatArray]:
        time = np.linspace(0.0, 1.0, points) / self.lam
        return time, self.amplitude_after(time)


def _courses(objective: Objective, features: Features, epsilon: float) -> Iterator[_Course]:
    lam, rho, sigma = features.lam, features.rho, features.sigma
    log_start = objective.b / objective.depth * log(epsilon) - np.log(np.abs(np.where(rho == 0, 1.0, rho)))
    ways: tuple[tuple[type[_Course], npt.NDArray[np.bool_]], ...] = (
        (_Growing, (lam > 0) & (log_start < 0)),
        (_Sinking, (lam > 0) & (log_start > 0)),
        (_Still, (lam > 0) & (log_start == 0)),
        (_Uncorrelated, lam == 0),
        (_Dying, lam < 0),
    )
    for way, which in ways:
        if which.any():
            yield way(objective, which, lam[which, None], rho[which, None], sigma[which, None], epsilon)
