"""Loss and gradients of a deep linear network, from second moments alone.

    1/2 E |V W x - T y|^2,    R = V W Sxx - T Syx,    dV = R W',    dW = V' R,

with the target T frozen: the encoder itself or its teacher (JEPA), or no layer at all (MAE). One product from the input
upwards and one from the residual downwards give the gradients of all layers.

Layers that stay diagonal, on diagonal moments, may be given as the vectors of their diagonals: then products are by entries,
and all else is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dynamics.features import FloatArray
from dynamics.network.moments import AnyMoments, Diagonals
from dynamics.objectives import Objective

Multiplication = Callable[[FloatArray, FloatArray], FloatArray]
"""Writes a matrix times a fixed one into a second matrix."""


def times(left: FloatArray, right: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """The product of two matrices, or of two diagonal ones given as vectors."""
    result: FloatArray = np.multiply(left, right, out=out) if left.ndim == 1 else np.dot(left, right, out=out)
    return result


def product(layers: Sequence[FloatArray] | FloatArray) -> FloatArray:
    """The layers applied one after the other, the first to the input."""
    result = layers[0]
    for layer in layers[1:]:
        result = times(layer, result)
    return result


def loss(
    objective: Objective,
    moments: AnyMoments,
    layers: Sequence[FloatArray] | FloatArray,
    teacher: FloatArray | None = None,
) -> float:
    """1/2 E |V W x - T y|^2; ``teacher`` is the product that stands for the target, if not the encoder."""
    whole, depth = product(layers), objective.target_depth
    encoder = product(layers[:depth]) if depth else np.eye(whole.shape[-1])
    target = encoder if teacher is None else teacher
    square = np.vdot(whole, whole @ moments.input_covariance) + np.vdot(target, target @ moments.target_covariance)
    return float(0.5 * square - np.vdot(whole, target @ moments.cross_covariance))


class Gradients:
    """Minus the gradient of the loss with respect to every layer, in a workspace that is reused.

    Attributes
    ----------
    descent
        The result of the last call, of the shape of the layers; the next call overwrites it.
    products
        ``products[k]`` is the product of the first ``k + 1`` layers at the last call; ``products[depth - 1]`` is the encoder.
    """

    def __init__(self, objective: Objective, moments: AnyMoments, *, stop_gradient: bool = True) -> None:
        self.objective = objective
        layers = objective.depth + objective.predictor_depth
        self.descent = np.empty((layers, *moments.input_covariance.shape))
        self.products: list[FloatArray] = list(np.empty_like(self.descent))
        self._errors = list(np.empty_like(self.descent))
        self._target_cross = np.empty(moments.input_covariance.shape)
        self._unfrozen_depth = 0 if stop_gradient else objective.target_depth
        self.renew(moments)

    def renew(self, moments: AnyMoments) -> None:
        """Change the moments, as every minibatch does."""
        self.moments = moments
        self._times_input = multiplication(moments.input_covariance)
        self._times_cross = multiplication(moments.cross_covariance)

    def of_diagonals(self) -> Gradients:
        """The same for the diagonals of layers and moments that have nothing else."""
        return Gradients(self.objective, Diagonals.of(self.moments), stop_gradient=not self._unfrozen_depth)

    def __call__(self, layers: Sequence[FloatArray], teacher: FloatArray | None = None) -> FloatArray:
        """The descent direction at these layers; ``teacher`` is the product that stands for the target, if not the encoder."""
        products, errors = self.products, self._errors
        products[0] = layers[0]
        for k in range(1, len(layers)):
            times(layers[k], products[k - 1], products[k])
        error = errors[-1]
        self._times_input(products[-1], error)
        np.subtract(self._target_times_cross(teacher), error, out=error)
        for k in range(len(layers) - 1, 0, -1):
            times(error, products[k - 1].T, self.descent[k])
            error = times(layers[k].T, error, errors[k - 1])
            if k == self._unfrozen_depth:
                error += self._descent_of_target()
        self.descent[0] = error
        return self.descent

    def _target_times_cross(self, teacher: FloatArray | None) -> FloatArray:
        """T Syx; the target T of no layer is the identity."""
        depth = self.objective.target_depth
        if not depth:
            return self.moments.cross_covariance
        self._times_cross(self.products[depth - 1] if teacher is None else teacher, self._target_cross)
        return self._target_cross

    def _descent_of_target(self) -> FloatArray:
        """Minus the gradient with respect to the encoder as a target, V W Sxy - W Syy."""
        whole, encoder, moments = self.products[-1], self.products[self._unfrozen_depth - 1], self.moments
        return times(whole, moments.cross_covariance.T) - times(encoder, moments.target_covariance)


def multiplication(matrix: FloatArray) -> Multiplication:
    """Multiplication from the right by ``matrix``; a diagonal one, or the vector of its diagonal, only scales columns."""
    diagonal = matrix if matrix.ndim == 1 else matrix.diagonal().copy()
    if np.count_nonzero(matrix) == np.count_nonzero(diagonal):
        return lambda left, out: np.multiply(left, diagonal, out=out)
    return lambda left, out: np.dot(left, matrix, out=out)
