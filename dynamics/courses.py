"""The ways a feature can move from its start: growing, sinking, dying, uncorrelated, still.

A course is the features that move in one way; it knows where they are when a time has passed, and places where they move.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from math import log, log1p

import numpy as np
import numpy.typing as npt

from dynamics.branches import Branch, Descent, Fading, Growth
from dynamics.clock import dimensionless_time
from dynamics.features import Features, FloatArray
from dynamics.objectives import Objective
from dynamics.power_law import growth_time

FADED_SHARE = 0.01
"""Share of epsilon at which the curve of a feature that is never learned is cut."""


@dataclass(frozen=True, eq=False)
class Course(ABC):
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
        with np.errstate(over="ignore"):
            result: FloatArray = np.exp((log_z + np.log(np.abs(self.rho))) / self.power)
        return result

    def log_unit(self) -> FloatArray:
        """The logarithm of |rho|**-alpha / (|lam| b), the training time in which a branch counts."""
        alpha = float(self.objective.alpha)
        unit: FloatArray = -alpha * np.log(np.abs(self.rho)) - np.log(np.abs(self.lam)) - log(self.objective.b)
        return unit


class Growing(Course):
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
        with np.errstate(over="ignore", divide="ignore"):
            elapsed: FloatArray = np.sign(y - middle) * np.exp(np.log(duration) + log_unit)
        return elapsed

    def _places(self, points: int, left: float) -> FloatArray:
        start = self.branch.position(self.log_start)
        end = np.maximum(self.branch.position(np.array(self.power * log1p(-left))), start + 1.0)
        return start + (end - start) * np.linspace(0.0, 1.0, points)


class Sinking(Course):
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
        with np.errstate(over="ignore", divide="ignore"):
            time = np.exp(self.log_unit() + log_time + np.log1p(-np.exp(log_time[:, :1] - log_time)))
        return time, self.amplitude_at(self.branch.log_coordinate(y))

    def _end(self, left: float) -> FloatArray:
        return self.branch.position(np.array(self.power * log1p(left)))


class Dying(Sinking):
    """lam < 0: towards zero."""

    @property
    def branch(self) -> Branch:
        return Fading(self.objective.alpha)

    def _end(self, left: float) -> FloatArray:
        return self.branch.position(self.log_start + self.power * log(FADED_SHARE))


class Uncorrelated(Course):
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
        with np.errstate(over="ignore", divide="ignore"):
            time = np.exp(np.log(np.expm1(-self.order * log_share)) - self.log_rate)
        return time, np.broadcast_to(self.epsilon * np.exp(log_share), time.shape)


class Still(Course):
    """lam > 0, at the asymptote from the start."""

    def amplitude_after(self, time: FloatArray) -> FloatArray:
        return np.full(time.shape, self.epsilon)

    def curve(self, points: int, left: float) -> tuple[FloatArray, FloatArray]:
        with np.errstate(over="ignore"):
            time = np.linspace(0.0, 1.0, points) / self.lam
        return time, self.amplitude_after(time)


def courses(objective: Objective, features: Features, epsilon: float) -> Iterator[Course]:
    """The features by the way they move; every feature is in exactly one course."""
    lam, rho, sigma = features.lam, features.rho, features.sigma
    log_start = objective.b / objective.depth * log(epsilon) - np.log(np.abs(np.where(rho == 0, 1.0, rho)))
    ways: tuple[tuple[type[Course], npt.NDArray[np.bool_]], ...] = (
        (Growing, (lam > 0) & (log_start < 0)),
        (Sinking, (lam > 0) & (log_start > 0)),
        (Still, (lam > 0) & (log_start == 0)),
        (Uncorrelated, lam == 0),
        (Dying, lam < 0),
    )
    for way, which in ways:
        if which.any():
            yield way(objective, which, lam[which, None], rho[which, None], sigma[which, None], epsilon)
