"""Gradient flow of the network as a right-hand side, in a clock that never waits.

With theta all layers (the teacher's too) and t the training time, the independent variable is

    ds = D dt,    D^2 = |theta'|^2 / |theta|^2 + (CLOCK / until)^2:

the way that the layers go, relative to their size, and a little of the time itself so that it also ends when nothing moves any
more. Time is one more unknown. A plateau of 1e9 time units then costs no more than one of 10, and a critical time is as exact
as the tolerance, relative to itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dynamics.features import FloatArray
from dynamics.network.gradients import Gradients, product
from dynamics.network.moments import AnyMoments
from dynamics.regime import Regime

CLOCK = 10.0
"""Length of s that a network at rest spends on the whole time."""

NUDGE = 1e-6
"""Relative size of the differences of which velocities are differentiated; they are polynomials: hardly any digit is lost."""

SETTLED = 1e-9
"""Relative distance from rest that an integration does not resolve."""

EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
"""Relative spacing of doubles, and the smallest that has all its digits."""


class State:
    """Layers, the teacher's layers (none without one) and time, laid out in one vector.

    Of diagonal layers on diagonal moments only the diagonals: nothing else ever moves. A layer is a vector then, as `Gradients`
    takes it.
    """

    def __init__(self, layers: FloatArray, teacher: FloatArray, moments: AnyMoments) -> None:
        width = layers.shape[-1]
        given = (layers, moments.input_covariance, moments.cross_covariance, moments.target_covariance)
        self.diagonal = not any(np.any(matrix[..., ~np.eye(width, dtype=bool)]) for matrix in given)
        self._count, self._shape = len(layers), (width,) if self.diagonal else (width, width)
        theta = np.concatenate([layers, teacher])
        self.start = np.append(np.diagonal(theta, axis1=1, axis2=2) if self.diagonal else theta, 0.0)

    def split(self, vector: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Layers, teacher's layers and time; views of the vector."""
        theta = vector[:-1].reshape(-1, *self._shape)
        return theta[: self._count], theta[self._count :], float(vector[-1])

    def matrix(self, layer: FloatArray) -> FloatArray:
        """A layer, or a product of layers, as the matrix that it is."""
        return np.diag(layer) if self.diagonal else layer


class Flow:
    """d(theta, time)/ds, and its Jacobian.

    Attributes
    ----------
    state
        How layers and time lie in its argument, and where they start.
    least
        Size at the start of the smallest layer that is not 0: a scale for the accuracy.
    """

    def __init__(self, gradients: Gradients, regime: Regime, layers: FloatArray, until: float) -> None:
        objective = gradients.objective
        taught = regime.teacher_rate is not None and objective.target_depth > 0
        teacher = layers[: objective.target_depth if taught else 0]
        self.state = State(layers, teacher, gradients.moments)
        self._gradients, self._regime = gradients.of_diagonals() if self.state.diagonal else gradients, regime
        self._teacher_rate = float(regime.teacher_rate or 0.0)
        self._rest = CLOCK / until
        sizes = np.abs(layers).max(axis=(1, 2))
        self.least = float(sizes[sizes > 0.0].min(initial=np.inf if sizes.any() else 1.0))

    def __call__(self, _: float, vector: FloatArray) -> FloatArray:
        """The slope at a state."""
        slope = self.in_time(vector)
        slope /= np.hypot(_speed(slope[:-1], vector[:-1]), self._rest)
        return slope

    def jacobian(self, _: float, vector: FloatArray) -> FloatArray:
        """Derivatives of the slope by the state, as Newton's method needs them.

        Those by the time are 0. Those of the time, which nothing depends on, are left out: by layers of size 1e-30 they are so
        large that a linear solver takes its pivots from them, and loses all digits of the layers.
        """
        theta = vector[:-1]
        slope = self.in_time(vector)
        size, way, speed = _norm(theta), _norm(slope[:-1]), _speed(slope[:-1], theta)
        clock = np.hypot(speed, self._rest)
        nudges = NUDGE * np.maximum(np.abs(theta), self.least)
        axes = np.eye(len(theta), len(vector))
        columns = [derivative(self.in_time, vector, axis, nudge) for axis, nudge in zip(axes, nudges, strict=True)]
        inner = np.stack(columns, axis=1)[:-1]
        of_speed = inner.T @ (slope[:-1] / (way or 1.0)) / size - speed * (theta / size) / size
        jacobian = np.zeros((len(vector), len(vector)))
        jacobian[:-1, :-1] = inner / clock - np.outer(slope[:-1] / clock, of_speed * (speed / clock) / clock)
        return jacobian

    def speed(self, vector: FloatArray) -> float:
        """|theta'| / |theta| at a state, over entries that are neither rounding nor at rest as exactly as they are known."""
        way, theta = self.in_time(vector)[:-1], vector[:-1]
        nearby = self.in_time(np.append(theta * (1.0 + SETTLED), vector[-1]))[:-1]
        moving = (np.abs(way) > np.abs(nearby - way)) & (np.abs(theta) > EPS * np.abs(theta).max())
        return _speed(np.where(moving, way, 0.0), theta)

    def underflows(self, until: float) -> npt.NDArray[np.bool_]:
        """Which features the start would move within the time, if only a double could hold so slow a motion."""
        layers, teacher, _ = self.state.split(self.state.start)
        moved = velocity(self._gradients, self._regime, layers, teacher)
        size, fastest = (np.abs(entries).reshape(-1, entries.shape[-1]).max(axis=0) for entries in (layers, moved))
        lost: npt.NDArray[np.bool_] = (size > 0.0) & (fastest < TINY) & (size < TINY * until)
        return lost

    def in_time(self, vector: FloatArray) -> FloatArray:
        """d(theta, time)/dt."""
        layers, teacher, _ = self.state.split(vector)
        moved = velocity(self._gradients, self._regime, layers, teacher)
        followed = self._teacher_rate * (layers[: len(teacher)] - teacher)
        return np.concatenate([moved.ravel(), followed.ravel(), [1.0]])


def velocity(gradients: Gradients, regime: Regime, layers: FloatArray, teacher: FloatArray) -> FloatArray:
    """d layers / dt in a workspace that the next call overwrites; ``teacher`` holds its layers, none for the encoder itself."""
    descent = gradients(list(layers), product(teacher) if len(teacher) else None)
    if regime.predictor_rate != 1.0:
        descent[gradients.objective.depth :] *= regime.predictor_rate
    if regime.weight_decay:
        descent -= regime.weight_decay * layers
    return descent


def derivative(function: Callable[[FloatArray], FloatArray], at: FloatArray, direction: FloatArray, nudge: float) -> FloatArray:
    """Derivative of a function of arrays along a direction, as a central difference of so small a nudge."""
    ahead = function(at + nudge * direction).copy()
    difference: FloatArray = (ahead - function(at - nudge * direction)) / (2.0 * nudge)
    return difference


def _speed(way: FloatArray, theta: FloatArray) -> float:
    """|theta'| / |theta|, where squares would underflow too; 0 at rest."""
    moved = _norm(way)
    return moved / _norm(theta) if moved else 0.0


def _norm(vector: FloatArray) -> float:
    """Length of a vector whose squares a double may not hold."""
    largest = float(np.abs(vector).max())
    return largest * float(np.linalg.norm(vector / largest)) if largest else 0.0
