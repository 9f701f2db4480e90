"""What becomes of a mode: the word that tables carry and the sentence a user reads."""

from __future__ import annotations

from enum import Enum

import numpy as np
import numpy.typing as npt

from dynamics.features import FloatArray
from dynamics.status import StatusArray


class ModeStatus(Enum):
    """Outcome of a critical time; the value is the word in tables, ``message`` the cause and the remedy."""

    REACHED = "reached"
    ALREADY_REACHED = "already-reached"
    NEVER = "never"
    COLLAPSES = "collapses"
    BEYOND_WIDTH = "beyond-width"
    NOT_REACHED = "not-reached"
    NOT_PREDICTED = "not-predicted"
    DIVERGED = "diverged"

    @property
    def message(self) -> str:
        """The sentence for a reader: what happened and what would change it."""
        return _MESSAGES[self]


_MESSAGES = {
    ModeStatus.REACHED: "The mode reaches its threshold at the stated time.",
    ModeStatus.ALREADY_REACHED: ("The start is at or above the threshold, so the mode counts as learned at time 0."),
    ModeStatus.NEVER: (
        "The loss does not let the mode grow: its views do not covary positively (lambda <= 0), or the penalty is too weak for"
        " it (penalised: beta at or below kappa / 2; normalised: below activation_beta). Raise beta in the second case."
    ),
    ModeStatus.COLLAPSES: (
        "The mode dies: weight decay is above the square of lambda over four times the variance, or the start is at or below"
        " the unstable fixed point. Lower the weight decay or raise epsilon."
    ),
    ModeStatus.BEYOND_WIDTH: (
        "Faster modes have filled the projector: a projector of width d holds d modes. Raise the width to learn this one."
    ),
    ModeStatus.NOT_REACHED: (
        "The mode did not come to its threshold within the run: it needs longer, or modes mix and it never"
        " gets there. Raise --until, or lower epsilon."
    ),
    ModeStatus.NOT_PREDICTED: (
        "No time is predicted: the loss has no closed form, beta is above 1, the start is too large for a staircase, or a"
        " teacher and weight decay together leave no variable monotone. A simulation shows what happens."
    ),
    ModeStatus.DIVERGED: "Gradient descent did not converge: lower the learning rate.",
}


def outcomes(
    start: FloatArray,
    end: FloatArray,
    *,
    never: npt.NDArray[np.bool_],
    lost: npt.NDArray[np.bool_] | bool = False,
) -> StatusArray:
    """One status a mode, from sizes at the start and the end; those that are ``lost`` collapse."""
    told: StatusArray = np.full(len(end), ModeStatus.REACHED, dtype=object)
    told[start >= end] = ModeStatus.ALREADY_REACHED
    told[np.broadcast_to(lost, told.shape)] = ModeStatus.COLLAPSES
    told[never] = ModeStatus.NEVER
    return told
