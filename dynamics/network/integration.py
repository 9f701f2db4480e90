"""The gradient flow followed to its end by SciPy, with a look back at every step."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.features import FloatArray
from dynamics.network.crossings import Crossings
from dynamics.network.flow import Flow
from dynamics.network.gradients import product
from dynamics.network.observables import Observer
from dynamics.network.outcome import Ending, Outcome

if TYPE_CHECKING:
    from scipy.integrate import OdeSolver

EXPLICIT_TOLERANCE, IMPLICIT_TOLERANCE = 1e-11, 1e-10
"""Relative tolerance a step; of the smallest layer's start and of the first time scale, absolute."""

LONGEST_STEP = 0.03
"""Of s, so that the steps alone draw a smooth curve: between them it is known less exactly."""

PATIENCE, SLOW = 200, 0.2
"""Steps after which an explicit method gives way, unless they have covered this share of the time that was left."""

LAST_PATIENCE, HOPELESS, STANDSTILL = 1000, 1e-5, 0.01
"""Steps after which a run is given up that covered less than this share of the time left; one by Radau, less than this s."""

NOTICEABLE = 1e-3
"""Way in units of their size that layers may still have to go when a run counts as completed."""

UNDERFLOW = "At the start the layers move by less than a double can hold"
"""What a run is stuck in whose first step is lost."""

FEW_UNKNOWNS = 150
"""Up to so many the dense linear algebra of an implicit method costs less than the steps it saves."""


def integrate(
    flow: Flow,
    observer: Observer,
    crossings: Crossings,
    *,
    until: float,
    shortest: float,
    watch: Callable[[float], None],
) -> tuple[Ending, FloatArray]:
    """Follow the flow until the time is up; how that ended, and the last layers.

    It starts with DOP853. Behind a feature that has settled stability limits the steps of an explicit method; a network of few
    unknowns then goes on with Radau.

    Parameters
    ----------
    shortest
        A time below the first of interest, to measure the accuracy of time by.
    watch
        Called with the time after every step.
    """
    run = _Run(flow, observer, crossings, until, shortest)
    observer.offer(*run.seen(flow.state.start))
    try:
        ending = run.to_the_end(watch)
    except KeyboardInterrupt:
        ending = Ending(Outcome.INTERRUPTED)
    last = run.seen(run.last)
    observer.keep(*last)
    return ending, last[1]


@dataclass(eq=False)
class _Run:
    """A solver on its way, and who looks at it."""

    flow: Flow
    observer: Observer
    crossings: Crossings
    until: float
    shortest: float

    def __post_init__(self) -> None:
        from scipy.integrate import DOP853

        self.last, self.explicit = self.flow.state.start, True
        self.scale = np.append(np.full(len(self.last) - 1, self.flow.least), self.shortest)
        self.mark = (0, 0.0, 0.0)
        self.solver: OdeSolver = DOP853(self.flow, 0.0, self.last, np.inf, **self._accuracy(EXPLICIT_TOLERANCE))

    def to_the_end(self, watch: Callable[[float], None]) -> Ending:
        """Step by step, looking back at each."""
        if (self.crossings.open & self.flow.underflows(self.until)).any():
            return Ending(Outcome.STUCK, UNDERFLOW)
        for count in itertools.count(1):
            self.solver.step()
            if self.solver.status == "failed":
                return self._end_of_progress()
            if not np.isfinite(self.solver.y).all():
                return Ending(Outcome.DIVERGED)
            self._look_back()
            watch(float(self.last[-1]))
            if self.last[-1] >= self.until:
                return Ending(Outcome.COMPLETED)
            if self._makes_no_headway(count):
                return self._end_of_progress()
        raise AssertionError

    def _makes_no_headway(self, count: int) -> bool:
        """Whether the method is to be given up; an explicit one gives way before that."""
        steps, time, s = self.mark
        covered = (self.last[-1] - time) / (self.until - time)
        if self.explicit and count - steps == PATIENCE and covered < SLOW and len(self.last) <= FEW_UNKNOWNS:
            self._become_implicit()
        if count - steps < LAST_PATIENCE:
            return False
        self.mark = (count, float(self.last[-1]), float(self.solver.t))
        return bool(covered < HOPELESS if self.explicit else covered < SLOW and self.solver.t - s < STANDSTILL)

    def _end_of_progress(self) -> Ending:
        """Where no step moves the clock any more: completed only if nothing would come in the time left."""
        to_come = self.flow.speed(self.last) * (self.until - self.last[-1])
        return Ending(Outcome.STUCK if self.crossings.open.any() or to_come > NOTICEABLE else Outcome.COMPLETED)

    def _accuracy(self, tolerance: float) -> dict[str, Any]:
        return {"rtol": tolerance, "atol": tolerance * self.scale, "max_step": LONGEST_STEP}

    def seen(self, vector: FloatArray) -> tuple[float, FloatArray, FloatArray | None]:
        """Time, layers and target's product at a state, as an observer looks at them."""
        state = self.flow.state
        layers, teacher, time = state.split(vector)
        matrices = np.stack([state.matrix(layer) for layer in layers])
        return time, matrices, state.matrix(product(teacher)) if len(teacher) else None

    def _become_implicit(self) -> None:
        from scipy.integrate import Radau

        self.explicit = False
        accuracy = self._accuracy(IMPLICIT_TOLERANCE)
        self.solver = Radau(self.flow, self.solver.t, self.last, np.inf, jac=self.flow.jacobian, **accuracy)

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
        self.observer.offer(*self.seen(last))
        self.last = last

    def _find(self, feature: np.intp, inside: Callable[[float], FloatArray], end: float) -> None:
        """When a feature reached its threshold within the step."""
        threshold = self.crossings.thresholds[feature]
        s = _root(lambda s: float(self._amplitude(inside(s))[feature] / threshold - 1.0), self.solver.t_old, end)
        self.crossings.time[feature] = inside(s)[-1]

    def _amplitude(self, vector: FloatArray) -> FloatArray:
        state, depth = self.flow.state, self.observer.gradients.objective.depth
        return self.observer.amplitude(state.matrix(product(state.split(vector)[0][:depth])))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function is 0; an end of the interval where rounding hides the change of sign."""
    from scipy.optimize import brentq

    if function(low) >= 0.0:
        return low
    if function(high) <= 0.0:
        return high
    return float(brentq(function, low, high, xtol=1e-300, rtol=4.0 * np.finfo(np.float64).eps))
