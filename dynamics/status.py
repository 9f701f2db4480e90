"""What became of a feature: the word that tables carry and the sentence a user reads."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dynamics.features import FloatArray

StatusArray = npt.NDArray[np.object_]


class Explained(Protocol):
    """A word that tables carry, and the sentence behind it."""

    @property
    def value(self) -> str: ...
    @property
    def message(self) -> str: ...


class Status(Enum):
    """Outcome of a critical time; the value is the word in tables, ``message`` the cause and the remedy."""

    REACHED = "reached"
    ALREADY_REACHED = "already-reached"
    NEVER = "never"
    COLLAPSES = "collapses"
    NOT_REACHED = "not-reached"
    NOT_PREDICTED = "not-predicted"

    @property
    def message(self) -> str:
        """The sentence for a reader: what happened and what would change it."""
        return _MESSAGES[self]


_MESSAGES = {
    Status.REACHED: "The feature reaches fraction * asymptote at the stated time.",
    Status.ALREADY_REACHED: (
        "The start epsilon is at or above fraction * asymptote, so the feature counts as learned at time 0. "
        "Lower epsilon, or the depth: a deep JEPA encoder's asymptote is rho**(depth/predictor_depth)."
    ),
    Status.NEVER: (
        "The views do not covary with the sign of the predictor's start (from a positive start: lambda <= 0), so the feature "
        "dies out. A feature with lambda < 0 is learned only when the predictor starts with the opposite sign."
    ),
    Status.COLLAPSES: (
        "The feature is lost, its amplitude decays to 0: the predictor starts too strong for it (rho < sqrt(c), c the square of"
        " the predictor layer less that of the encoder layer), or weight decay is above the fold, or the start is at or below"
        " the unstable fixed point. Lower the predictor's start or the weight decay, or raise epsilon."
    ),
    Status.NOT_PREDICTED: (
        "Weight decay on layers that start unbalanced, with a teacher or with an encoder that does not grow all the way: no"
        " variable is monotone that could take the place of time, so no critical time is predicted. lindyn simulate trains the"
        " network."
    ),
    Status.NOT_REACHED: (
        "The feature did not come to fraction * predicted asymptote within the run: it needs longer, or never gets there; the"
        " remarks on the run tell."
    ),
}

_MEMBERS = np.array([Status.ALREADY_REACHED, Status.REACHED, Status.NEVER], dtype=object)


def status_of(log10_time: FloatArray) -> StatusArray:
    """The status that a critical time means: already reached at 0, never at infinity."""
    members: StatusArray = _MEMBERS[np.where(np.isinf(log10_time), np.where(log10_time > 0, 2, 0), 1)]
    return members


def remarks(told: Iterable[str], statuses: Iterable[Explained] = Status) -> list[str]:
    """What a reader should know about the status words in a table, ``reached`` aside; one sentence a word."""
    present = set(told) - {Status.REACHED.value}
    return [f"{status.value}: {status.message}" for status in statuses if status.value in present]


def words(outcomes: npt.NDArray[np.object_]) -> StatusArray:
    """The words that tables carry for an array of enum members."""
    kinds: dict[Enum, str] = {member: member.value for member in set(outcomes.tolist())}
    text = np.empty(len(outcomes), dtype=object)
    for member, word in kinds.items():
        text[outcomes == member] = word
    return text
