"""The three ways a feature can move, and where it is when a given time has passed.

Each branch has a coordinate y on the whole real line and a time that is monotone in it, the same for every feature of an
objective up to the factor |rho|**-alpha / (|lam| b). Inverting one universal curve therefore gives every trajectory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dynamics.clock import BLOCK, Span, complement_series, dimensionless_time
from dynamics.features import FloatArray

END = 60.0
"""Logit at which a feature counts as having arrived: its distance from the asymptote is 1e-26 of it."""

FADED = 600.0
"""-ln |z| from which on a fading feature follows its pure power law to double precision."""

STEP = 1.0 / 16.0
FAR = 8000.0


@dataclass(frozen=True)
class Branch(ABC):
    """A monotone stretch of the flow for one exponent alpha = (a - 1) / b."""

    alpha: Fraction

    last: ClassVar[float]
    """Greatest y: beyond it the feature has arrived."""

    @abstractmethod
    def log_time(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Logarithm of the branch's time at y, and its derivative."""

    @abstractmethod
    def log_coordinate(self, y: FloatArray | float) -> FloatArray:
        """ln |z| at y."""

    @abstractmethod
    def position(self, log_z: FloatArray) -> FloatArray:
        """The y at which ln |z| is ``log_z``."""

    def at(self, log_time: FloatArray) -> FloatArray:
        """The y at which the branch's time has the given logarithm: the tabulated curve, then two Newton steps."""
        result = np.empty(log_time.size)
        times = log_time.ravel()
        for first in range(0, times.size, BLOCK):
            target = times[first : first + BLOCK]
            y = np.minimum(_curve(self)(target), self.last)
            for _ in range(2):
                value, slope = self.log_time(y)
                y = np.minimum(y + (target - value) / slope, self.last)
            result[first : first + BLOCK] = y
        return result.reshape(log_time.shape)


@dataclass(frozen=True)
class Growth(Branch):
    """0 < z < 1: the amplitude rises to its asymptote. y is the logit of z; time is what remains until y = END."""

    last = END - STEP

    def stretch(self, y0: FloatArray, y1: FloatArray | float) -> Span:
        """The stretch from y0 to y1 >= y0."""
        log_z0, log_z1 = self.log_coordinate(y0), self.log_coordinate(y1)
        end, end_gap = np.exp(log_z1), 1.0 / (1.0 + np.exp(y1))
        start_gap = 1.0 / (1.0 + np.exp(y0))
        gap = np.where(y0 < 0.0, -np.expm1(log_z0 - log_z1), (start_gap - end_gap) / np.where(y0 < 0.0, 1.0, end))
        log_ratio = np.where(y0 < 0.0, log_z1 - log_z0, -np.log1p(-np.minimum(gap, 0.75)))
        return Span(np.exp(log_z0 - log_z1), gap, log_ratio, end, end_gap)

    def remaining(self, y: FloatArray) -> Span:
        """The stretch from y to END."""
        return self.stretch(y, END)

    def log_time(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        log_z = self.log_coordinate(y)
        duration, _ = dimensionless_time(self.alpha, self.remaining(y))
        return np.log(duration) - float(self.alpha) * log_z, -1.0 / duration

    def log_coordinate(self, y: FloatArray | float) -> FloatArray:
        log_z: FloatArray = -np.logaddexp(0.0, np.negative(y))
        return log_z

    def position(self, log_z: FloatArray) -> FloatArray:
        y: FloatArray = log_z - np.log(-np.expm1(log_z))
        return y


@dataclass(frozen=True)
class Descent(Branch):
    """z > 1: the amplitude sinks to its asymptote. y is the logit of 1/z; time is what has passed since z = infinity."""

    last = END - STEP

    def log_time(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        from scipy.special import digamma, hyp2f1

        alpha = float(self.alpha)
        log_v, gap = -np.logaddexp(0.0, -y), 1.0 / (1.0 + np.exp(y))
        near = gap * (alpha + 1.0) < 0.25
        ratio = np.exp(np.where(near, 0.0, y))
        log_time = y + alpha * log_v + np.log(hyp2f1(1.0, 1.0, alpha + 2.0, -ratio) / (alpha + 1.0))
        series = complement_series(-self.alpha, gap[near])
        log_time[near] = np.log(-np.euler_gamma - digamma(1.0 + alpha) - np.log(gap[near]) - series)
        return log_time, np.exp((alpha + 1.0) * log_v - log_time)

    def log_coordinate(self, y: FloatArray | float) -> FloatArray:
        log_z: FloatArray = np.logaddexp(0.0, np.negative(y))
        return log_z

    def position(self, log_z: FloatArray) -> FloatArray:
        y: FloatArray = -log_z - np.log(-np.expm1(-log_z))
        return y


@dataclass(frozen=True)
class Fading(Branch):
    """z < 0: an anti-covarying feature dies out. y = -ln|z|; time is what has passed since |z| = infinity."""

    last = inf

    def log_time(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        alpha = float(self.alpha)
        log_time = self._log_power_time(y) if alpha else np.where(y < -40.0, y, np.log(np.logaddexp(0.0, np.maximum(y, -40.0))))
        return log_time, np.exp((alpha + 1.0) * y - np.logaddexp(0.0, y) - log_time)

    def _log_power_time(self, y: FloatArray) -> FloatArray:
        return np.where(y < 0.0, self._early(np.minimum(y, 0.0)), self._late(np.maximum(y, 0.0)))

    def _early(self, y: FloatArray) -> FloatArray:
        """v < 1: the integral of x**alpha / (1 + x) from 0 to v as a hypergeometric function."""
        from scipy.special import hyp2f1

        alpha = float(self.alpha)
        log_time: FloatArray = (alpha + 1.0) * y + np.log(hyp2f1(1.0, alpha + 1.0, alpha + 2.0, -np.exp(y)) / (alpha + 1.0))
        return log_time

    def _late(self, y: FloatArray) -> FloatArray:
        """v > 1: the same over v**alpha, from its fractional part upwards; every step divides the error by v."""
        from scipy.special import hyp2f1

        steps, base = divmod(self.alpha, 1)
        v = np.exp(np.minimum(y, FADED))
        share = v * hyp2f1(1.0, float(base) + 1.0, float(base) + 2.0, -v) / float(base + 1) if base else np.log1p(v)
        for step in range(1, int(steps) + 1):
            share = 1.0 / float(base + step) - share / v
        log_time: FloatArray = float(self.alpha) * y + np.log(share)
        return log_time

    def log_coordinate(self, y: FloatArray | float) -> FloatArray:
        return np.negative(y)

    def position(self, log_z: FloatArray) -> FloatArray:
        return -log_z


@dataclass(frozen=True)
class _Curve:
    """y against the logarithm of the time: cubic Hermite between the nodes, straight lines beyond them."""

    log_time: FloatArray
    y: FloatArray
    slope: FloatArray

    def __call__(self, log_time: FloatArray) -> FloatArray:
        interval: npt.NDArray[np.intp] = np.clip(np.searchsorted(self.log_time, log_time) - 1, 0, len(self.log_time) - 2)
        left, y0, y1 = self.log_time[interval], self.y[interval], self.y[interval + 1]
        width = self.log_time[interval + 1] - left
        s = (log_time - left) / width
        inside = np.clip(s, 0.0, 1.0)
        d0, d1 = self.slope[interval] * width, self.slope[interval + 1] * width
        rest = 1.0 - inside
        hermite = rest * rest * (y0 + inside * (2.0 * y0 + d0)) + inside * inside * (y1 + rest * (2.0 * y1 - d1))
        result: FloatArray = hermite + np.where(s < 0.0, s * d0, np.where(s > 1.0, (s - 1.0) * d1, 0.0))
        return result


@lru_cache
def _curve(branch: Branch) -> _Curve:
    far = np.geomspace(FADED, FAR, 60)
    fine = np.arange(-FADED, min(branch.last, FADED), STEP)
    y = np.concatenate([-far[::-1], fine, far[far < branch.last]])
    log_time, slope = branch.log_time(y)
    order = slice(None, None, -1 if log_time[0] > log_time[-1] else 1)
    return _Curve(log_time[order], y[order], 1.0 / slope[order])
