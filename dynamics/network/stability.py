"""The largest learning rate that gradient descent of a network can bear where it ends up."""

from __future__ import annotations

import numpy as np

from dynamics.features import FloatArray
from dynamics.network.flow import velocity
from dynamics.network.gradients import Gradients
from dynamics.objectives import Objective
from dynamics.regime import Regime

NUDGE = 1e-6
"""Relative size of the differences that make up the linearised flow."""

FEW_UNKNOWNS = 50
"""Up to so many all eigenvalues are as quickly found as the largest, which needs at least three unknowns."""


def stable_learning_rate(gradients: Gradients, regime: Regime, rho: FloatArray, asymptote: FloatArray) -> float:
    """2 over the fastest relaxation rate of the aligned network at its predicted end, in any direction of its matrices.

    Exact for diagonal moments, plain gradient descent and no teacher; else a guide. ``inf`` where nothing is learned.
    """
    from scipy.sparse.linalg import LinearOperator, eigs

    end = _end(gradients.objective, rho, asymptote)
    if not end.any():
        return np.inf
    none = np.empty((0, *end.shape[1:]))
    nudge = NUDGE * float(np.abs(end).max())

    def response(direction: FloatArray) -> FloatArray:
        turn = direction.reshape(end.shape) * (nudge / np.linalg.norm(direction))
        forward = velocity(gradients, regime, end + turn, none).copy()
        difference = forward - velocity(gradients, regime, end - turn, none)
        return (np.linalg.norm(direction) / (2.0 * nudge)) * difference.ravel()

    if end.size <= FEW_UNKNOWNS:
        rates = np.linalg.eigvals(np.stack([response(direction) for direction in np.eye(end.size)]))
    else:
        seed = np.random.default_rng(0).standard_normal(end.size)
        operator = LinearOperator((end.size, end.size), matvec=response, dtype=np.float64)
        rates = eigs(operator, k=1, which="LM", v0=seed, tol=1e-3, return_eigenvectors=False)
    return 2.0 / float(np.abs(rates).max())


def _end(objective: Objective, rho: FloatArray, asymptote: FloatArray) -> FloatArray:
    """Layers of the learned features at their fixed point V u^(L-k) = rho, nothing of the others."""
    learned = asymptote != 0.0
    encoder = np.abs(asymptote) ** (1.0 / objective.depth)
    kept = encoder ** (objective.depth - objective.target_depth)
    whole = np.where(learned, np.abs(rho), 0.0) / np.where(learned, kept, 1.0)
    predictor = np.sign(rho) * whole ** (1.0 / objective.predictor_depth)
    return np.stack([np.diag(encoder)] * objective.depth + [np.diag(predictor)] * objective.predictor_depth)
