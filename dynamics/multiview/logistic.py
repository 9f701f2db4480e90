"""Modes whose size grows logistically: dx/dt = rate x (1 - x / capacity)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.features import FloatArray
from dynamics.multiview.modes import Modes
from dynamics.multiview.status import outcomes
from dynamics.status import StatusArray


@dataclass(frozen=True, eq=False)
class Logistic(Modes):
    """One logistic curve a mode, arrays of shape ``(modes,)``.

    Attributes
    ----------
    rate
        Rate of growth of a small size; a mode of rate 0 or less is never learned.
    capacity
        Size that a growing mode tends to; positive.
    """

    rate: FloatArray
    capacity: FloatArray

    @property
    def asymptote(self) -> FloatArray:
        """Size that each mode tends to from a small start; 0 where it does not grow."""
        return np.where(self.rate > 0.0, self.capacity, 0.0)

    def status(self, start: FloatArray, end: FloatArray) -> StatusArray:
        """What becomes of each mode from this size."""
        return outcomes(start, end, never=self.rate <= 0.0)

    def time(self, start: FloatArray, end: FloatArray) -> FloatArray:
        """Time from one size to another, both between 0 and the capacity; of growing modes."""
        return (_logit(end / self.capacity) - _logit(start / self.capacity)) / self.rate

    def size(self, start: FloatArray, time: FloatArray) -> FloatArray:
        """Size a time after this start, also of modes that shrink."""
        with np.errstate(over="ignore"):
            grown = np.exp(-self.rate * time)
            size: FloatArray = start / (start / self.capacity * -np.expm1(-self.rate * time) + grown)
        return size


def _logit(share: FloatArray) -> FloatArray:
    logit: FloatArray = np.log(share) - np.log1p(-share)
    return logit
