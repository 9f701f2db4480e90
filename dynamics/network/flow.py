"""Gradient flow of the network, by SciPy, in a clock that never waits.

With theta all layers and t the training time, the independent variable is

    ds = ( |theta'|^2 / |theta|^2 + (CLOCK / until)^2 )^(1/2) dt:

the way that the layers go, relative to their size, and a little of the time itself so that it also ends when nothing moves any
more. Time is one more unknown. A plateau of 1e9 time units then costs no more than one of 10, and a critical time is as exact
as the tolerance, relative to itself.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dynamics.features import FloatArray
from dynamics.network.crossings import Crossings
from dynamics.network.gradients import Gradients, product
from dynamics.network.observables import Observer
from dynamics.network.outcome import Ending, Outcome
from dynamics.regime import Regime

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver

CLOCK = 10.0
"""Length of s that a network at rest spends on the whole time."""

TOLERANCE = 1e-11
"""Relative tolerance a step; of the layers' start and of the first time scale, absolute."""

FEW_UNKNOWNS = 600
"""Up to so many the dense linear algebra of an implicit method costs less than the steps it saves."""

STIFF = 1e4
"""Relaxation times of the fastest feature within the run, from which on an explicit method is limited by stability."""

LONGEST_STEP = 0.03
"""Of s, so that the steps alone draw a smooth curve: between them it is known less exactly."""

PATIENCE, HOPELESS = 1000, 1e5
"""A run is stuck when so many steps have brought it no further than this part of the time that is left."""


@dataclass(frozen=True, eq=False)
class State:
    """Layers, the teacher's layers (none without one) and time, laid out in one vector."""

    layers: tuple[int, int, int]
    teacher: tuple[int, int, int]

    def split(self, vector: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Layers, teacher's layers and time."""
        count = int(np.prod(self.layers))
        return vector[:count].reshape(self.layers), vector[count:-1].reshape(self.teacher), float(vector[-1])


class Flow:
    """The right-hand side d(layers, teacher, time)/ds."""

    def __init__(self, gradients: Gradients, regime: Regime, layers: FloatArray, until: float) -> None:
        objective = gradients.objective
        taught = regime.teacher_rate is not None and objective.target_depth > 0
        self.state = State(layers.shape, (objective.target_depth if taught else 0, *layers.shape[1:]))
        self.first = np.concatenate([layers.ravel(), layers[: self.state.teacher[0]].ravel(), [0.0]])
        self._gradients, self._regime = gradients, regime
        self._teacher_rate = float(regime.teacher_rate or 0.0)
        self._rest = (CLOCK / until) ** 2
        self.evaluations = 0

    def __call__(self, _: float, vector: FloatArray) -> FloatArray:
        """The slope at a state."""
        layers, teacher, _time = self.state.split(vector)
        slope = np.empty_like(vector)
        moved, followed, _one = self.state.split(slope)
        np.copyto(moved, velocity(self._gradients, self._regime, layers, teacher))
        if len(teacher):
            np.multiply(layers[: len(teacher)] - teacher, self._teacher_rate, out=followed)
        slope[-1] = 1.0
        way, size = slope[:-1], vector[:-1]
        slope /= np.sqrt(np.dot(way, way) / np.dot(size, size) + self._rest)
        self.evaluations += 1
        return slope


def velocity(gradients: Gradients, regime: Regime, layers: FloatArray, teacher: FloatArray) -> FloatArray:
    """d layers / dt in a workspace that the next call overwrites; ``teacher`` holds its layers, none for the encoder itself."""
    descent = gradients(list(layers), product(teacher) if len(teacher) else None)
    if regime.predictor_rate != 1.0:
        descent[gradients.objective.depth :] *= regime.predictor_rate
    if regime.weight_decay:
        descent -= regime.weight_decay * layers
    return descent


def integrate(
    flow: Flow,
    observer: Observer,
    crossings: Crossings,
    *,
    until: float,
    stiffness: float,
    shortest: float,
    watch: Callable[[float], None],
) -> tuple[Ending, FloatArray]:
    """Follow the flow until the time is up; how that ended, and the last layers.

    Parameters
    ----------
    stiffness
        Expected relaxation times of the fastest feature within the run: decides between an explicit and an implicit method.
    shortest
        A time below the first of interest, to measure the accuracy of time by.
    watch
        Called with the time after every step.
    """
    from scipy.integrate import DOP853, LSODA

    smallest = min(float(np.abs(layer).max()) for layer in flow.state.split(flow.first)[0])
    scale = np.append(np.full(len(flow.first) - 1, smallest), shortest)
    method = LSODA if len(flow.first) <= FEW_UNKNOWNS and stiffness > STIFF else DOP853
    run = _Run(
        method(flow, 0.0, flow.first, np.inf, rtol=TOLERANCE, atol=TOLERANCE * scale, max_step=LONGEST_STEP),
        flow,
        observer,
        crossings,
        until,
    )
    run.show(flow.first)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LSODA also warns of what its status says
            ending = run.to_the_end(watch)
    except KeyboardInterrupt:
        ending = Ending(Outcome.INTERRUPTED)
    run.show(run.last, look=observer.keep)
    return ending, flow.state.split(run.last)[0]


@dataclass(eq=False)
class _Run:
    """A solver on its way, and who looks at it."""

    solver: OdeSolver
    flow: Flow
    observer: Observer
    crossings: Crossings
    until: float

    def __post_init__(self) -> None:
        self.last = self.flow.first

    def to_the_end(self, watch: Callable[[float], None]) -> Ending:
        """Step by step, looking back at each."""
        solver, mark = self.solver, 0.0
        for count in itertools.count(1):
            message = solver.step()
            if solver.status == "failed":
                return Ending(Outcome.NOT_CONVERGED, str(message or "").rstrip("."))
            if not np.isfinite(solver.y).all():
                return Ending(Outcome.DIVERGED)
            self._look_back()
            watch(float(self.last[-1]))
            if self.last[-1] >= self.until:
                return Ending(Outcome.COMPLETED)
            if count % PATIENCE == 0:
                if self.last[-1] - mark < (self.until - mark) / HOPELESS:
                    return Ending(Outcome.STUCK if self.crossings.open.any() else Outcome.COMPLETED)
                mark = self.last[-1]
        raise AssertionError

    def show(self, vector: FloatArray, look: Callable[..., None] | None = None) -> None:
        """Let the observer look at a state."""
        layers, teacher, time = self.flow.state.split(vector)
        (look or self.observer.offer)(time, layers, product(teacher) if len(teacher) else None)

    def _look_back(self) -> None:
        """What happened in the step just taken, up to the end of the run."""
        solver = self.solver
        end, last = solver.t, solver.y.copy()
        crossed = self.crossings.reached_by(self._amplitude(last))
        if crossed.any() or last[-1] > self.until:
            inside = solver.dense_output()
            if last[-1] > self.until:
                end = _root(lambda s: inside(s)[-1] - self.until, solver.t_old, end)
                last = inside(end)
                last[-1] = self.until
            for feature in np.flatnonzero(self.crossings.reached_by(self._amplitude(last))):
                self._find(feature, inside, end)
        self.show(last)
        self.last = last

    def _find(self, feature: np.intp, inside: Callable[[float], FloatArray], end: float) -> None:
        """When a feature reached its threshold within the step."""
        threshold = self.crossings.thresholds[feature]
        s = _root(lambda s: float(self._amplitude(inside(s))[feature] / threshold - 1.0), self.solver.t_old, end)
        self.crossings.time[feature] = inside(s)[-1]

    def _amplitude(self, vector: FloatArray) -> FloatArray:
        return self.observer.amplitude(product(self.flow.state.split(vector)[0][: self.observer.gradients.objective.depth]))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function is 0; an end of the interval where rounding hides the change of sign."""
    from scipy.optimize import brentq

    if function(low) >= 0.0:
        return low
    if function(high) <= 0.0:
        return high
    return float(brentq(function, low, high, xtol=1e-300, rtol=4.0 * np.finfo(np.float64).eps))
