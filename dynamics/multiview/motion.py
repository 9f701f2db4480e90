"""How the state of a loss moves: along its gradient flow, or by steps of gradient descent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

import numpy as np

from dynamics.checks import check_positive
from dynamics.errors import LindynError
from dynamics.features import FloatArray
from dynamics.multiview.flows import watched
from dynamics.multiview.training import Training

MOST_STEPS = 5_000_000
"""Of gradient descent."""

EXPLODED = 1e8
"""Entry, over the largest of the start and 1, beyond which descent has diverged."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Where the state came: at times near those asked for, as far as it went, and when each mode crossed its threshold.

    ``crossed`` is 0 for modes that start there and ``nan`` for those that never came.
    """

    times: FloatArray
    states: FloatArray
    crossed: FloatArray
    diverged: bool = False


def followed(training: Training, state: FloatArray, times: FloatArray, thresholds: FloatArray) -> Motion:
    """Along the gradient flow."""
    first = training.sizes(state)
    open_modes = np.flatnonzero(np.isfinite(thresholds) & (first < thresholds))

    def above(mode: int) -> Callable[[FloatArray], float]:
        return lambda now: float(training.sizes(now)[mode] / thresholds[mode] - 1.0)

    states, found = watched(training.rate, state, times, [above(mode) for mode in open_modes.tolist()])
    crossed = np.where(first >= thresholds, 0.0, np.nan)
    crossed[open_modes] = found
    return Motion(times, states, crossed)


def descended(training: Training, state: FloatArray, times: FloatArray, thresholds: FloatArray, learning_rate: float) -> Motion:
    """By gradient descent, a step counting as ``learning_rate`` of time; crossings lie on straight lines between steps.

    Raises
    ------
    ParameterError
        If ``learning_rate`` is not positive.
    LindynError
        If that takes more than `MOST_STEPS`.
    """
    check_positive("learning_rate", learning_rate)
    length = float(times[-1]) / learning_rate
    if length > MOST_STEPS:
        raise LindynError(
            f"The run would take {length:.3g} steps, more than {MOST_STEPS:g}; raise the learning rate or end earlier."
        )
    steps = ceil(length)
    due = np.minimum(np.rint(times / learning_rate), steps).astype(int)
    bound = EXPLODED * max(1.0, float(np.abs(state).max()))
    size = training.sizes(state)
    crossed = np.where(size >= thresholds, 0.0, np.nan)
    seen = [state] * int((due == 0).sum())
    for step in range(1, steps + 1):
        with np.errstate(over="ignore", invalid="ignore"):
            state = training.settle(state + learning_rate * training.rate(state))
        if not np.abs(state).max() < bound:
            return Motion(learning_rate * due[: len(seen)], np.array(seen), crossed, diverged=True)
        before, size = size, training.sizes(state)
        rising = np.isnan(crossed) & (size >= thresholds)
        if rising.any():
            share = (thresholds[rising] - before[rising]) / (size[rising] - before[rising])
            crossed[rising] = learning_rate * (step - 1 + share)
        seen += [state] * int((due == step).sum())
    return Motion(learning_rate * due, np.array(seen), crossed)
