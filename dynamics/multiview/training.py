"""Every loss as matrices are trained on it: the state, its rate, and what is read off it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynamics.features import FloatArray
from dynamics.multiview.flows import Gradient, barlow_twins_flow, normalised_flow, penalised_flow, spectral_contrastive_flow
from dynamics.multiview.invariance import kappa_of
from dynamics.multiview.losses import Setup
from dynamics.multiview.population import Views

Reading = Callable[[FloatArray], FloatArray]


def _as_it_is(state: FloatArray) -> FloatArray:
    return state


@dataclass(frozen=True, eq=False)
class Training:
    """One loss on one population.

    Attributes
    ----------
    start
        From weights of the projector, shape ``(width, modes)``, to the state.
    rate
        The gradient flow of the state, at unit learning rate.
    sizes
        Size of every mode, as the loss's own law measures it.
    covariance
        Second moments of the outputs, shape ``(width, width)``.
    loss
        The loss itself.
    settle
        What is done after a step of gradient descent.
    """

    start: Gradient
    rate: Gradient
    sizes: Reading
    covariance: Reading
    loss: Callable[[FloatArray], float]
    settle: Gradient = _as_it_is


def _energies(functions: FloatArray) -> FloatArray:
    energies: FloatArray = (functions**2).sum(axis=1)
    return energies


def _gram(functions: FloatArray) -> FloatArray:
    gram: FloatArray = functions.T @ functions
    return gram


def _off_diagonal(matrix: FloatArray) -> float:
    return float((matrix**2).sum() - (np.diagonal(matrix) ** 2).sum())


def _barlow_twins(views: Views, setup: Setup) -> Training:
    kernel = views.kernel(setup.kernel, setup.views)

    def covariance(weights: FloatArray) -> FloatArray:
        matrix: FloatArray = weights @ kernel @ weights.T
        return matrix

    def loss(weights: FloatArray) -> float:
        matrix = covariance(weights)
        return float(((np.diagonal(matrix) - 1.0) ** 2).sum()) + setup.beta * _off_diagonal(matrix)

    def sizes(weights: FloatArray) -> FloatArray:
        shares: FloatArray = np.diagonal(kernel) * (weights**2).sum(axis=0)
        return shares

    return Training(_as_it_is, barlow_twins_flow(kernel, beta=setup.beta), sizes, covariance, loss)


def _invariance(views: Views, setup: Setup) -> FloatArray:
    """K between features: kappa as a matrix, by the eigenvalues of the whitened kernel."""
    rho, basis = np.linalg.eigh(views.kernel("whitened", setup.views))
    matrix: FloatArray = (basis * kappa_of(rho, setup.invariance, setup.views)) @ basis.T
    return matrix


def _transposed(weights: FloatArray) -> FloatArray:
    return weights.T


def _penalised(views: Views, setup: Setup) -> Training:
    invariance = _invariance(views, setup)

    def loss(functions: FloatArray) -> float:
        excess = _gram(functions) - np.eye(setup.width)
        return float((functions * (invariance @ functions)).sum() + setup.beta * (excess**2).sum())

    return Training(_transposed, penalised_flow(invariance, beta=setup.beta), _energies, _gram, loss)


def _normalised(views: Views, setup: Setup) -> Training:
    invariance = _invariance(views, setup)

    def unit(functions: FloatArray) -> FloatArray:
        columns: FloatArray = functions / np.sqrt((functions**2).sum(axis=0))
        return columns

    def loss(functions: FloatArray) -> float:
        return float((functions * (invariance @ functions)).sum()) + setup.beta * _off_diagonal(_gram(functions))

    flow = normalised_flow(invariance, beta=setup.beta)
    return Training(lambda weights: unit(weights.T), flow, _energies, _gram, loss, unit)


def _spectral_contrastive(views: Views, setup: Setup) -> Training:
    kernel = views.kernel("whitened", setup.views)

    def loss(functions: FloatArray) -> float:
        return float(((kernel - functions @ functions.T) ** 2).sum())

    return Training(_transposed, spectral_contrastive_flow(kernel), _energies, _gram, loss)


@dataclass(frozen=True, eq=False)
class _Prediction:
    """Half E|P W x - W_t y|^2 in second moments, and its error W_t S_yx - P W S_xx."""

    views: Views

    def error(self, predictor: FloatArray, weights: FloatArray, target: FloatArray) -> FloatArray:
        error: FloatArray = target @ self.views.covariance - predictor @ weights @ self.views.variance
        return error

    def loss(self, predictor: FloatArray, weights: FloatArray, target: FloatArray) -> float:
        guess = predictor @ weights
        own = ((guess @ self.views.variance) * guess).sum() + ((target @ self.views.variance) * target).sum()
        return float(own / 2.0 - ((target @ self.views.covariance) * guess).sum())

    def covariance(self, weights: FloatArray) -> FloatArray:
        matrix: FloatArray = weights @ self.views.variance @ weights.T
        return matrix


def _byol(views: Views, setup: Setup) -> Training:
    """State: the encoder, beside it the predictor, and beside that the teacher, if there is one."""
    count, width, decay, follow = views.count, setup.width, setup.weight_decay, setup.teacher_rate
    prediction = _Prediction(views)

    def parts(state: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        weights = state[:, :count]
        return weights, state[:, count : count + width], weights if follow is None else state[:, count + width :]

    def start(weights: FloatArray) -> FloatArray:
        """As strong a predictor as the encoder, P^2 = W W', and a teacher that is the encoder."""
        values, basis = np.linalg.eigh(weights @ weights.T)
        predictor = (basis * np.sqrt(np.maximum(values, 0.0))) @ basis.T
        return np.hstack([weights, predictor, *([] if follow is None else [weights])])

    def rate(state: FloatArray) -> FloatArray:
        weights, predictor, teacher = parts(state)
        error = prediction.error(predictor, weights, teacher)
        moved = [predictor.T @ error - decay * weights, error @ weights.T - decay * predictor]
        return np.hstack([*moved, *([] if follow is None else [follow * (weights - teacher)])])

    def loss(state: FloatArray) -> float:
        weights, predictor, teacher = parts(state)
        return prediction.loss(predictor, weights, teacher)

    def sizes(state: FloatArray) -> FloatArray:
        norms: FloatArray = np.sqrt((parts(state)[0] ** 2).sum(axis=0))
        return norms

    return Training(start, rate, sizes, lambda state: prediction.covariance(parts(state)[0]), loss)


def _set_predictor(views: Views, setup: Setup, gain: Callable[[FloatArray, FloatArray], FloatArray]) -> Training:
    """A predictor W W' that is set, not trained; ``gain`` says how it passes the error on to the encoder."""
    prediction = _Prediction(views)

    def rate(weights: FloatArray) -> FloatArray:
        predictor = weights @ weights.T
        error = prediction.error(predictor, weights, weights)
        moved: FloatArray = gain(predictor, error) - setup.weight_decay * weights
        return moved

    def loss(weights: FloatArray) -> float:
        return prediction.loss(weights @ weights.T, weights, weights)

    return Training(_as_it_is, rate, lambda weights: _energies(weights.T), prediction.covariance, loss)


def _direct_copy(views: Views, setup: Setup) -> Training:
    return _set_predictor(views, setup, lambda predictor, error: predictor @ error)


def _iso_loss(views: Views, setup: Setup) -> Training:
    return _set_predictor(views, setup, lambda predictor, error: error)


def _two_layers(views: Views, setup: Setup) -> Training:
    """State: the first layer, and beside it the second, transposed."""
    count = views.count
    inside, target = _Prediction(views), np.eye(count)

    def parts(state: FloatArray) -> tuple[FloatArray, FloatArray]:
        return state[:, :count], state[:, count:]

    def start(weights: FloatArray) -> FloatArray:
        """Two layers alike, whose product has the amplitudes of these weights."""
        norms = np.sqrt((weights**2).sum(axis=0))
        layer = weights / np.sqrt(norms)
        return np.hstack([layer, layer])

    def rate(state: FloatArray) -> FloatArray:
        first, second = parts(state)
        error = inside.error(second.T, first, target)
        return np.hstack([second @ error, first @ error.T])

    def loss(state: FloatArray) -> float:
        first, second = parts(state)
        return inside.loss(second.T, first, target)

    def sizes(state: FloatArray) -> FloatArray:
        first, second = parts(state)
        products: FloatArray = (first * second).sum(axis=0)
        return products

    return Training(start, rate, sizes, lambda state: inside.covariance(parts(state)[0]), loss)


TRAININGS: dict[str, Callable[[Views, Setup], Training]] = {
    "barlow-twins": _barlow_twins,
    "penalised": _penalised,
    "normalised": _normalised,
    "spectral-contrastive": _spectral_contrastive,
    "byol": _byol,
    "direct-copy": _direct_copy,
    "iso-loss": _iso_loss,
    "two-layers": _two_layers,
}
"""How matrices are trained, for every loss of `LOSSES`."""
