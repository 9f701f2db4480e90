"""Gradient flow of the network as a right-hand side, in a clock that never waits.

With theta all layers (the teacher's too) and t the training time, the independent variable is

    ds = D dt,    D^2 = |theta'|^2 / |theta|^2 + (CLOCK / until)^2:

the way that the layers go, relative to their size, and a little of the time itself so that it also ends when nothing moves any
more. Time is one more unknown. A plateau of 1e9 time units then costs no more than one of 10, and a critical time is as exact
as the tolerance, relative to itself.
"""

from __future__ import annotations

import numpy as np

from dynamics.features import FloatArray
from dynamics.network.gradients import Gradients, product
from dynamics.network.moments import Moments
from dynamics.regime import Regime

CLOCK = 10.0
"""Length of s that a network at rest spends on the whole time."""

NUDGE = 1e-6
"""Relative size of the differences of which theta' is differentiated; it is a polynomial, so hardly any digit is lost."""


class State:
    """Layers, the teacher's layers (none without one) and time, laid out in one vector.

    Of diagonal layers on diagonal moments only the diagonals: nothing else ever moves.
    """

    def __init__(self, layers: FloatArray, teacher: FloatArray, moments: Moments) -> None:
        self._layers, self._teacher = np.zeros_like(layers), np.zeros_like(teacher)
        given = (layers, moments.input_covariance, moments.cross_covariance, moments.target_covariance)
        diagonal = not any(np.any(matrix[..., ~np.eye(moments.width, dtype=bool)]) for matrix in given)
        self._moving = slice(None, None, moments.width + 1 if diagonal else 1)

    def split(self, vector: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Layers, teacher's layers and time, in a workspace that the next call overwrites."""
        layers, teacher = self._entries(self._layers), self._entries(self._teacher)
        layers[:] = vector[: layers.size].reshape(layers.shape)
        teacher[:] = vector[layers.size : -1].reshape(teacher.shape)
        return self._layers, self._teacher, float(vector[-1])

    def joined(self, layers: FloatArray, teacher: FloatArray, time: float) -> FloatArray:
        """The vector of layers, teacher's layers and time."""
        return np.concatenate([self._entries(layers).ravel(), self._entries(teacher).ravel(), [time]])

    def _entries(self, matrices: FloatArray) -> FloatArray:
        """A view of the entries that move, one row a matrix."""
        return matrices.reshape(len(matrices), matrices.shape[1] ** 2)[:, self._moving]


class Flow:
    """d(theta, time)/ds, and its Jacobian.

    Attributes
    ----------
    first
        The state at time 0.
    """

    def __init__(self, gradients: Gradients, regime: Regime, layers: FloatArray, until: float) -> None:
        objective = gradients.objective
        taught = regime.teacher_rate is not None and objective.target_depth > 0
        teacher = layers[: objective.target_depth if taught else 0]
        self.state = State(layers, teacher, gradients.moments)
        self.first = self.state.joined(layers, teacher, 0.0)
        self._gradients, self._regime = gradients, regime
        self._teacher_rate = float(regime.teacher_rate or 0.0)
        self._rest = (CLOCK / until) ** 2
        self._least = min(float(np.abs(layer).max()) for layer in layers)

    def __call__(self, _: float, vector: FloatArray) -> FloatArray:
        """The slope at a state."""
        slope = self._in_time(vector)
        slope /= self._clock(slope[:-1], vector[:-1])
        return slope

    def jacobian(self, _: float, vector: FloatArray) -> FloatArray:
        """Derivatives of the slope by the state; those by the time are 0."""
        slope, theta = self._in_time(vector), vector[:-1]
        way, size = slope[:-1], float(np.dot(theta, theta))
        clock = self._clock(way, theta)
        inner = np.stack([self._derivative(vector, k) for k in range(len(theta))], axis=1)
        of_clock = (inner[:-1].T @ way / size - np.dot(way, way) * theta / size**2) / clock
        jacobian = np.zeros((len(vector), len(vector)))
        jacobian[:, :-1] = inner / clock - np.outer(slope, of_clock) / clock**2
        return jacobian

    def _in_time(self, vector: FloatArray) -> FloatArray:
        """d(theta, time)/dt."""
        layers, teacher, _ = self.state.split(vector)
        moved = velocity(self._gradients, self._regime, layers, teacher)
        return self.state.joined(moved, self._teacher_rate * (layers[: len(teacher)] - teacher), 1.0)

    def _clock(self, way: FloatArray, theta: FloatArray) -> float:
        return float(np.sqrt(np.dot(way, way) / np.dot(theta, theta) + self._rest))

    def _derivative(self, vector: FloatArray, k: int) -> FloatArray:
        nudge = np.zeros_like(vector)
        nudge[k] = NUDGE * max(abs(vector[k]), self._least)
        difference = self._in_time(vector + nudge) - self._in_time(vector - nudge)
        difference /= 2.0 * nudge[k]
        return difference


def velocity(gradients: Gradients, regime: Regime, layers: FloatArray, teacher: FloatArray) -> FloatArray:
    """d layers / dt in a workspace that the next call overwrites; ``teacher`` holds its layers, none for the encoder itself."""
    descent = gradients(list(layers), product(teacher) if len(teacher) else None)
    if regime.predictor_rate != 1.0:
        descent[gradients.objective.depth :] *= regime.predictor_rate
    if regime.weight_decay:
        descent -= regime.weight_decay * layers
    return descent
