"""How a run ended: the word and the sentence a user reads, cause and remedy included."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """How a run of the network ended; the value is the word in tables, ``message`` the cause and the remedy."""

    COMPLETED = "completed"
    STUCK = "stuck"
    DIVERGED = "diverged"
    OSCILLATING = "oscillating"
    INTERRUPTED = "interrupted"

    @property
    def message(self) -> str:
        """The sentence for a reader: what happened and what would change it."""
        return _MESSAGES[self]


_MESSAGES = {
    Outcome.COMPLETED: "The run went to its end, or as far as anything moved.",
    Outcome.STUCK: (
        "The run stopped before its end because in double precision no step moves it any further: the start is too small, or"
        " learned features settle too much faster than others wait. The critical times found are right, the others are inf."
        " Raise epsilon, or take the features apart."
    ),
    Outcome.DIVERGED: (
        "The layers grew beyond all bounds, and the run was stopped; what is shown is from before. Lower the learning rate."
    ),
    Outcome.OSCILLATING: (
        "The last steps went forth and back, and no less so with time: the learning rate is at or beyond the edge of what is"
        " stable. Lower it."
    ),
    Outcome.INTERRUPTED: "The run was interrupted; what is shown is from before.",
}


@dataclass(frozen=True)
class Ending:
    """An outcome and where or why, in the words of who noticed; empty if there is nothing to add."""

    outcome: Outcome
    detail: str = ""

    @property
    def sentence(self) -> str:
        """The message with its detail."""
        return f"{self.detail}. {self.outcome.message}" if self.detail else self.outcome.message
