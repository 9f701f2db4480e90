"""Modes whose energy grows logistically: dx/dt = rate x (1 - x / capacity)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.features import FloatArray


@dataclass(frozen=True, eq=False)
class Logistic:
    """One logistic curve a mode, arrays of shape ``(modes,)``.

    Attributes
    ----------
    rate
        Rate of growth of a small energy; a mode of rate 0 or less is never learned.
    capacity
        Energy that a growing mode tends to; positive.
    """

    rate: FloatArray
    capacity: FloatArray

    @property
    def asymptote(self) -> FloatArray:
        """Energy that each mode tends to from a small start; 0 where it does not grow."""
        return np.where(self.rate > 0.0, self.capacity, 0.0)

    def lost(self, start: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether each mode shrinks to nothing from this energy."""
        return np.broadcast_to(self.rate <= 0.0, np.shape(start))

    def time(self, start: FloatArray, end: FloatArray) -> FloatArray:
        """Time from one energy to another, both between 0 and the capacity; of growing modes."""
        return (_logit(end / self.capacity) - _logit(start / self.capacity)) / self.rate

    def energy(self, start: FloatArray, time: FloatArray) -> FloatArray:
        """Energy a time after this start, also of modes that shrink."""
        with np.errstate(over="ignore"):
            grown = np.exp(-self.rate * time)
            energy: FloatArray = start / (start / self.capacity * -np.expm1(-self.rate * time) + grown)
        return energy


def _logit(share: FloatArray) -> FloatArray:
    logit: FloatArray = np.log(share) - np.log1p(-share)
    return logit
