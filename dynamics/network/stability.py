"""The largest learning rate that gradient descent of a network can bear where it ends up."""

from __future__ import annotations

import numpy as np

from dynamics.features import FloatArray
from dynamics.network.flow import NUDGE, derivative, velocity
from dynamics.network.gradients import Gradients
from dynamics.network.moments import Diagonals
from dynamics.objectives import Objective
from dynamics.regime import Regime


def stable_learning_rate(
    gradients: Gradients, regime: Regime, rho: FloatArray, asymptote: FloatArray, momentum: float = 0.0
) -> float:
    """2 (1 + momentum) over the fastest relaxation rate of the aligned network at its predicted end, in any direction.

    In units of the learning rate, for the heavy ball too. Exact for diagonal moments without a teacher and without weight
    decay, and with it to first order in the decay of a step. Of other moments only the diagonals count: a guide. It says
    nothing of the way there, on which a heavy ball can overshoot and diverge at smaller rates.
    ``inf`` where nothing is learned.
    """
    end = _end(gradients.objective, regime, rho, asymptote)
    if not end.any():
        return np.inf
    return 2.0 * (1.0 + momentum) / float(np.abs(np.linalg.eigvals(_linearised(gradients, regime, end))).max())


def _linearised(gradients: Gradients, regime: Regime, end: FloatArray) -> FloatArray:
    """The flow near diagonal layers, one block for every pair of features i <= j.

    There the entries (i, j) and (j, i) of all layers move one another and nothing else. So all entries of a layer are nudged at
    once: with equal signs, and with opposite signs on both sides of the diagonal, which tells what an entry owes to its own
    place from what it owes to the mirrored one.
    """
    plain = Gradients(gradients.objective, Diagonals.of(gradients.moments).matrices())
    none, nudge = np.empty((0, *end.shape[1:])), NUDGE * float(np.abs(end).max())
    places = np.arange(end.shape[-1])
    sides = np.sign(places - places[:, None]).astype(np.float64)

    def response(signs: FloatArray) -> FloatArray:
        """[k, m, i, j]: velocity of the entry (i, j) of layer k by the nudge of layer m."""
        nudges = np.eye(len(end))[:, :, None, None] * signs
        columns = [derivative(lambda layers: velocity(plain, regime, layers, none), end, turn, nudge) for turn in nudges]
        return np.stack(columns, axis=1)

    equal, opposite = response(np.ones_like(sides)), sides * response(sides)
    own, mirrored = (equal + opposite) / 2.0, (equal - opposite) / 2.0
    upper = np.triu_indices(len(places))
    lower = upper[::-1]
    parts = [[own[:, :, *upper], mirrored[:, :, *upper]], [mirrored[:, :, *lower], own[:, :, *lower]]]
    return np.block([[np.moveaxis(part, -1, 0) for part in row] for row in parts])


def _end(objective: Objective, regime: Regime, rho: FloatArray, asymptote: FloatArray) -> FloatArray:
    """Layers of the learned features at their fixed point, nothing of the others.

    V u^(L-k) = rho there, with k layers in the target; or, as weight decay forgets the balance v^2/kappa - u^2, that is 0.
    """
    learned = asymptote != 0.0
    encoder = np.abs(asymptote) ** (1.0 / objective.depth)
    if regime.weight_decay:
        predictor = np.sign(rho) * np.sqrt(regime.predictor_rate) * encoder
    else:
        kept = encoder ** (objective.depth - objective.target_depth)
        whole = np.where(learned, np.abs(rho), 0.0) / np.where(learned, kept, 1.0)
        predictor = np.sign(rho) * whole ** (1.0 / objective.predictor_depth)
    return np.stack([np.diag(encoder)] * objective.depth + [np.diag(predictor)] * objective.predictor_depth)
