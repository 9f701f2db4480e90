"""Curves as SciPy integrates them: a check of the exact ones by another road."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import numpy.typing as npt

from dynamics.courses import Growing, courses
from dynamics.features import Features, FloatArray
from dynamics.motions import motion_of
from dynamics.objectives import Objective
from dynamics.reduced import integrated_critical_times
from dynamics.table import Columns
from dynamics.trajectory import Trajectories, trajectories, trajectories_around, trajectories_at


@dataclass(frozen=True, eq=False)
class ComparedTrajectories(Trajectories):
    """Integrated curves, and by how much they differ from the exact ones.

    Attributes
    ----------
    difference
        Relative, of what was integrated: of the amplitude where times are given; at given places of ``time_from_critical``,
        or of ``time`` where there is no critical time. None where the exact number is not finite.
    """

    difference: npt.NDArray[Any]

    def columns(self) -> Columns:
        """Those of `Trajectories`, then difference."""
        return super().columns() | {"difference": self.difference.ravel()}


def integrated_trajectories(
    objective: Objective, features: Features, *, epsilon: float, fraction: float = 0.5, points: int = 50
) -> ComparedTrajectories:
    """The curves of `trajectories` at the same places, their times integrated; good to about 1e-9 relative."""
    exact = trajectories(objective, features, epsilon=epsilon, fraction=fraction, points=points)
    critical = integrated_critical_times(objective, features, epsilon=epsilon, fraction=fraction)
    time, since = exact.time.copy(), exact.time_from_critical.copy()
    left = min(1e-3, (1.0 - fraction) / 10.0)
    for course in courses(objective, features, epsilon):
        motion = motion_of(course)
        if motion is None:
            continue
        y = motion.places(points, left)
        motion.integrate(y)
        time[course.which] = motion.elapsed(y[:, :1], y)
        since[course.which] = _since(time[course.which], critical.time[course.which, None])
        if isinstance(course, Growing):
            middle = motion.position(np.array([[course.power * log(fraction)]]))
            reached = np.isfinite(critical.log10_time[course.which, None])
            since[course.which] = np.where(reached, motion.elapsed(middle, y), since[course.which])
    since[:, 0] = 0.0 - critical.time
    known = np.isfinite(critical.log10_time)[:, None]
    difference = _relative(np.where(known, since, time), np.where(known, exact.time_from_critical, exact.time))
    return ComparedTrajectories(critical, time, since, exact.amplitude, difference)


def integrated_trajectories_at(
    objective: Objective, features: Features, *, epsilon: float, time: npt.ArrayLike, fraction: float = 0.5
) -> ComparedTrajectories:
    """The curves of `trajectories_at`, from the integrated time inverted; good to about 1e-9 relative.

    Like the exact ones they say nothing about the shape of a transition shorter than the spacing of doubles at its time: the
    difference there is that of two roads rounded differently. `integrated_trajectories_around` resolves it.
    """
    exact = trajectories_at(objective, features, epsilon=epsilon, time=time, fraction=fraction)
    amplitude = np.full(exact.time.shape, epsilon)
    for course in courses(objective, features, epsilon):
        motion = motion_of(course)
        if motion is not None:
            amplitude[course.which] = motion.amplitude_after(exact.time[course.which], motion.start())
    amplitude[exact.time == 0] = epsilon
    return _compared(exact, amplitude)


def integrated_trajectories_around(
    objective: Objective, features: Features, *, epsilon: float, time: npt.ArrayLike, fraction: float = 0.5
) -> ComparedTrajectories:
    """The curves of `trajectories_around`, from the integrated time inverted; good to about 1e-9 relative."""
    exact = trajectories_around(objective, features, epsilon=epsilon, time=time, fraction=fraction)
    (course,) = courses(objective, features, epsilon)
    motion = motion_of(course)
    assert motion is not None
    middle = np.broadcast_to(motion.position(np.array([[course.power * log(fraction)]])), (len(features), 1))
    return _compared(exact, motion.amplitude_after(exact.time_from_critical, middle))


def _compared(exact: Trajectories, amplitude: FloatArray) -> ComparedTrajectories:
    critical = integrated_critical_times(
        exact.critical.objective, exact.critical.features, epsilon=exact.critical.epsilon, fraction=exact.critical.fraction
    )
    start, limit = critical.epsilon, critical.asymptote[:, None]
    amplitude = np.clip(amplitude, np.minimum(start, limit), np.maximum(start, limit))
    return ComparedTrajectories(
        critical, exact.time, exact.time_from_critical, amplitude, _relative(amplitude, exact.amplitude)
    )


def _since(time: FloatArray, critical: FloatArray) -> FloatArray:
    return np.where(np.isinf(critical), -np.inf, time - np.where(np.isinf(critical), 0.0, critical))


def _relative(value: FloatArray, exact: FloatArray) -> npt.NDArray[Any]:
    """|value - exact| / |exact|; None where they are not finite."""
    finite = np.isfinite(value) & np.isfinite(exact)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        difference = np.where(value == exact, 0.0, np.abs(value - exact) / np.abs(exact))
    cells = difference.astype(object)
    cells[~finite] = None
    return cells
