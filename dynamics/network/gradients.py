"""Loss and gradients of a deep linear network, from second moments alone.

    1/2 E |V W x - T y|^2,    R = V W Sxx - T Syx,    dV = R W',    dW = V' R,

with the target T frozen: the encoder itself or its teacher (JEPA), or no layer at all (MAE). One product from the input
upwards and one from the residual downwards give the gradients of all layers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dynamics.features import FloatArray
from dynamics.network.moments import Moments
from dynamics.objectives import Objective

Multiplication = Callable[[FloatArray, FloatArray], FloatArray]
"""Writes a matrix times a fixed one into a second matrix."""


def product(layers: Sequence[FloatArray] | FloatArray) -> FloatArray:
    """The layers applied one after the other, the first to the input."""
    result = layers[0]
    for layer in layers[1:]:
        result = layer @ result
    return result


class Gradients:
    """Minus the gradient of the loss with respect to every layer, in a workspace that is reused.

    Attributes
    ----------
    descent
        The result of the last call, shape ``(layers, d, d)``; the next call overwrites it.
    products
        ``products[k]`` is the product of the first ``k + 1`` layers at the last call; ``products[depth - 1]`` is the encoder.
    """

    def __init__(self, objective: Objective, moments: Moments, *, stop_gradient: bool = True) -> None:
        self.objective, self.moments = objective, moments
        layers = objective.depth + objective.predictor_depth
        self.descent = np.empty((layers, moments.width, moments.width))
        self.products: list[FloatArray] = list(np.empty_like(self.descent))
        self._first, *self._above = self.descent
        self._errors = list(np.empty_like(self.descent))
        self._target = np.empty((moments.width, moments.width))
        self._times_input = multiplication(moments.input_covariance)
        self._times_cross = multiplication(moments.cross_covariance)
        self._turn = objective.target_depth if not stop_gradient else 0

    def renew(self, moments: Moments) -> None:
        """Change the moments, as every minibatch does."""
        self.moments = moments
        self._times_input = multiplication(moments.input_covariance)
        self._times_cross = multiplication(moments.cross_covariance)

    def __call__(self, layers: Sequence[FloatArray], teacher: FloatArray | None = None) -> FloatArray:
        """The descent direction at these layers; ``teacher`` is the product that stands for the target, if not the encoder."""
        products, errors = self.products, self._errors
        products[0] = layers[0]
        for k in range(1, len(layers)):
            np.dot(layers[k], products[k - 1], out=products[k])
        target = products[self.objective.target_depth - 1] if teacher is None else teacher
        error = errors[-1]
        self._times_input(products[-1], error)
        np.subtract(self._seen_target(target), error, out=error)
        for k in range(len(layers) - 1, 0, -1):
            np.dot(error, products[k - 1].T, out=self._above[k - 1])
            error = np.dot(layers[k].T, error, out=errors[k - 1])
            if k == self._turn:
                error += self._through_target(target)
        self._first[...] = error
        return self.descent

    def loss(self, layers: Sequence[FloatArray] | FloatArray, teacher: FloatArray | None = None) -> float:
        """1/2 E |V W x - T y|^2."""
        whole = product(layers)
        moments, depth = self.moments, self.objective.target_depth
        target = product(layers[:depth]) if depth else np.eye(moments.width)
        target = target if teacher is None else teacher
        square = np.vdot(whole, whole @ moments.input_covariance) + np.vdot(target, target @ moments.target_covariance)
        return float(0.5 * square - np.vdot(whole, target @ moments.cross_covariance))

    def _seen_target(self, target: FloatArray) -> FloatArray:
        """T Syx, where no target layer is the identity."""
        if not self.objective.target_depth:
            return self.moments.cross_covariance
        self._times_cross(target, self._target)
        return self._target

    def _through_target(self, target: FloatArray) -> FloatArray:
        """What an unfrozen target adds at its output: minus the gradient with respect to T."""
        whole, moments = self.products[-1], self.moments
        return whole @ moments.cross_covariance.T - target @ moments.target_covariance


def multiplication(matrix: FloatArray) -> Multiplication:
    """Multiplication from the right by ``matrix``; a diagonal one only scales columns."""
    diagonal = matrix.diagonal().copy()
    if np.count_nonzero(matrix) == np.count_nonzero(diagonal):
        return lambda left, out: np.multiply(left, diagonal, out=out)
    return lambda left, out: np.dot(left, matrix, out=out)
