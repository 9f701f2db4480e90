"""The ways a feature can move, their time integrated by SciPy instead of evaluated.

Every way of moving has one universal time T(y) over its own coordinate y, the same for all features of an objective but for a
unit. Its slope w(y) is elementary, and m = ln(T / w) obeys m' = +-exp(-m) - (ln w)', which neither overflows nor stalls. One
scalar integration a way therefore serves all features, and inverting it gives amplitudes at given times.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import log, log1p
from typing import Any

import numpy as np

from dynamics.branches import END, FAR
from dynamics.courses import FADED_SHARE, Course, Dying, Growing, Sinking, Still, Uncorrelated
from dynamics.errors import LindynError
from dynamics.features import FloatArray

TOLERANCE = 1e-13

FORGOTTEN = 45.0
"""Length of y over which a wrong start of m is forgotten to exp(-45), double precision and more."""

FINE = 0.25
"""Spacing in y of the first guesses of an inversion."""

NEWTON_STEPS = 5

LONGEST, MOST_STEPS = 0.5, 1000
"""Longest step in y, for the sake of what is interpolated between steps, and how many of it are worth while."""

STEEPEST = 30.0
"""Greatest -m that a trial step is answered for; the true one is at most ln(alpha + 2)."""


class Motion(ABC):
    """The features of a course along its universal coordinate y; the time is what has passed since y = -infinity."""

    remaining = False
    """Whether the time is rather what remains until y = END."""

    last = END - 1.0

    def __init__(self, course: Any) -> None:
        self.course, self.alpha = course, float(course.objective.alpha)

    @abstractmethod
    def log_weight(self, y: FloatArray) -> FloatArray:
        """ln of the slope of the time."""

    @abstractmethod
    def steepness(self, y: float) -> float:
        """Derivative of `log_weight`."""

    def position(self, log_z: FloatArray) -> FloatArray:
        """The y at which ln |z| is ``log_z``: that of the exact branch, which shares the coordinate, not the time."""
        position: FloatArray = self.course.branch.position(log_z)
        return position

    def amplitude(self, y: FloatArray) -> FloatArray:
        """Encoder amplitude at y."""
        amplitude: FloatArray = self.course.amplitude_at(self.course.branch.log_coordinate(y))
        return amplitude

    @abstractmethod
    def finish(self, left: float) -> FloatArray:
        """The y at which the exact curves end."""

    def log_unit(self) -> FloatArray:
        """ln of the training time in which the universal time counts."""
        unit: FloatArray = self.course.log_unit()
        return unit

    def start(self) -> FloatArray:
        """The y of each feature's start, as a column."""
        return self.position(self.course.log_start)

    def places(self, points: int, left: float) -> FloatArray:
        """Where the exact curves are given."""
        return self.start() + (self.finish(left) - self.start()) * np.linspace(0.0, 1.0, points)

    def furthest(self, log_time: float) -> float:
        """A y by which a universal time of this logarithm has passed, where it passes at all."""
        return self.last

    def integrate(self, y: FloatArray) -> None:
        """Find m between the least and the greatest y, in one call of SciPy.

        Raises
        ------
        LindynError
            If the integrator gives up; the sentence is SciPy's.
        """
        from scipy.integrate import solve_ivp

        sign = -1.0 if self.remaining else 1.0
        low, high = float(np.min(y)) - 1.0, float(np.max(y)) + 1.0
        way = (END - 1.0, min(low, END - 2.0)) if self.remaining else (low - FORGOTTEN, high)
        run = solve_ivp(
            lambda place, m: sign * np.exp(np.minimum(-m, STEEPEST)) - self.steepness(place),
            way,
            [0.0],
            method="DOP853",
            rtol=TOLERANCE,
            atol=TOLERANCE,
            max_step=max(LONGEST, (max(way) - min(way)) / MOST_STEPS),
            dense_output=True,
        )
        if not run.success:
            raise LindynError(f"SciPy's DOP853 gave up: {run.message}")
        assert run.sol is not None
        self.solution: Callable[[FloatArray], FloatArray] = run.sol
        self.range = (min(way), max(way))

    def log_time(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """ln of the universal time at y, and its derivative."""
        m = self.solution(y.ravel())[0].reshape(y.shape)
        return self.log_weight(y) + m, (-1.0 if self.remaining else 1.0) * np.exp(-m)

    def elapsed(self, y0: FloatArray, y1: FloatArray) -> FloatArray:
        """Training time from y0 to y1."""
        first, last = self.log_time(y0)[0], self.log_time(y1)[0]
        greater, sign = np.maximum(first, last), -1.0 if self.remaining else 1.0
        with np.errstate(over="ignore", divide="ignore"):
            size = np.exp(self.log_unit() + greater + np.log(-np.expm1(-np.abs(last - first))))
        result: FloatArray = sign * np.sign(last - first) * size + 0.0  # no minus zero
        return result

    def amplitude_after(self, time: FloatArray, since: FloatArray) -> FloatArray:
        """Amplitude when ``time`` has passed since the place ``since``, a column."""
        with np.errstate(divide="ignore", over="ignore"):
            log_share = np.log(np.abs(time)) - self.log_unit()
        sign = np.sign(time) * (-1.0 if self.remaining else 1.0)
        self.integrate(np.concatenate([self.start().ravel(), since.ravel(), [self.furthest(float(np.max(log_share)))]]))
        log_since = np.broadcast_to(self.log_time(since)[0], time.shape)
        return self.amplitude(self._inverse(_log_sum(log_since, sign, log_share)))

    def _inverse(self, log_time: FloatArray) -> FloatArray:
        low, high = self.range[0], min(self.range[1], self.last)
        nodes = np.linspace(low, high, int((high - low) / FINE) + 2)
        values, _ = self.log_time(nodes)
        order = slice(None, None, -1 if self.remaining else 1)
        y = np.interp(log_time, values[order], nodes[order])
        for _ in range(NEWTON_STEPS):
            value, slope = self.log_time(y)
            y = np.clip(y - np.clip((value - log_time) / slope, -FINE, FINE), low, high)
        result: FloatArray = y
        return result


class GrowingMotion(Motion):
    """0 < z < 1: dt/dy = z^-alpha over the logit of z."""

    remaining = True

    def log_weight(self, y: FloatArray) -> FloatArray:
        weight: FloatArray = self.alpha * np.logaddexp(0.0, -y)
        return weight

    def steepness(self, y: float) -> float:
        return -self.alpha * _expit(-y)

    def finish(self, left: float) -> FloatArray:
        return np.maximum(self.position(np.array(self.course.power * log1p(-left))), self.start() + 1.0)


class SinkingMotion(Motion):
    """z > 1: dt/dy = z^(-alpha-1) over the logit of 1/z."""

    def log_weight(self, y: FloatArray) -> FloatArray:
        weight: FloatArray = -(self.alpha + 1.0) * np.logaddexp(0.0, -y)
        return weight

    def steepness(self, y: float) -> float:
        return (self.alpha + 1.0) * _expit(-y)

    def finish(self, left: float) -> FloatArray:
        return np.maximum(self.position(np.array(self.course.power * log1p(left))), self.start() + 1.0)


class DyingMotion(Motion):
    """z < 0: dt/dy = |z|^-alpha / (1 + |z|) over y = -ln |z|."""

    last = FAR

    def log_weight(self, y: FloatArray) -> FloatArray:
        weight: FloatArray = (self.alpha + 1.0) * y - np.logaddexp(0.0, y)
        return weight

    def steepness(self, y: float) -> float:
        return self.alpha + _expit(-y)

    def finish(self, left: float) -> FloatArray:
        return np.maximum(self.position(self.course.log_start + self.course.power * log(FADED_SHARE)), self.start() + 1.0)

    def furthest(self, log_time: float) -> float:
        # For y > 0 at least half of the power law has passed, (exp(alpha y) - 1) / (2 alpha), or y / 2.
        if not self.alpha:
            return float(np.exp(min(log_time + log(2.0), log(FAR))))
        return min(float(np.logaddexp(0.0, log_time + log(2.0 * self.alpha))) / self.alpha, FAR)


class UncorrelatedMotion(Motion):
    """lam = 0: dt/dy = exp(y) over y = (a + b - 1) ln(u0 / u), in units of its speed at the start."""

    last = np.inf

    def log_weight(self, y: FloatArray) -> FloatArray:
        return y

    def steepness(self, y: float) -> float:
        return 1.0

    def log_unit(self) -> FloatArray:
        unit: FloatArray = -self.course.log_rate
        return unit

    def start(self) -> FloatArray:
        return np.zeros((int(self.course.which.sum()), 1))

    def amplitude(self, y: FloatArray) -> FloatArray:
        amplitude: FloatArray = self.course.epsilon * np.exp(-y / self.course.order)
        return amplitude

    def finish(self, left: float) -> FloatArray:
        return np.array(-self.course.order * log(FADED_SHARE))

    def furthest(self, log_time: float) -> float:
        return float(np.logaddexp(0.0, log_time))


MOTIONS: dict[type[Course], type[Motion]] = {
    Growing: GrowingMotion,
    Sinking: SinkingMotion,
    Dying: DyingMotion,
    Uncorrelated: UncorrelatedMotion,
}


def motion_of(course: Course) -> Motion | None:
    """How a course moves; None where it does not."""
    return None if isinstance(course, Still) else MOTIONS[type(course)](course)


def _expit(y: float) -> float:
    return float(np.exp(-np.logaddexp(0.0, -y)))


def _log_sum(log_first: FloatArray, sign: FloatArray, log_second: FloatArray) -> FloatArray:
    """ln of the first plus or minus the second; minus infinity where that is negative."""
    gap = log_second - log_first
    with np.errstate(over="ignore", divide="ignore"):
        return np.where(sign < 0, log_first + np.log(np.maximum(-np.expm1(gap), 0.0)), np.logaddexp(log_first, log_second))
