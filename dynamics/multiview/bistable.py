"""Modes with two ends: dx/dt = rate x (x - bend x^2 - decay), which grow from above a threshold and die from below it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.features import FloatArray


@dataclass(frozen=True, eq=False)
class Bistable:
    """One curve a mode, arrays of shape ``(modes,)``.

    Attributes
    ----------
    rate
        Unit of the speed; positive.
    bend
        1 + variance that augmentation adds to the mode; positive.
    decay
        Weight decay; 0 or more. From 1 / (4 bend) on it takes every mode.
    """

    rate: FloatArray
    bend: FloatArray
    decay: FloatArray

    @property
    def threshold(self) -> FloatArray:
        """Energy below which a mode dies: the lower fixed point; ``inf`` where every start does."""
        return np.where(self._held, 2.0 * self.decay / (1.0 + self._root), np.inf)

    @property
    def asymptote(self) -> FloatArray:
        """Energy that a mode above the threshold tends to: the upper fixed point; 0 where there is none."""
        return np.where(self._held, (1.0 + self._root) / (2.0 * self.bend), 0.0)

    def lost(self, start: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether each mode dies from this energy."""
        lost: npt.NDArray[np.bool_] = start <= self.threshold
        return lost

    def time(self, start: FloatArray, end: FloatArray) -> FloatArray:
        """Time from one energy to another, both between the threshold and the asymptote.

        By partial fractions over 0 and the two fixed points; without decay the lower one is 0 as well.
        """
        return (self._clock(end) - self._clock(start)) / self.rate

    @property
    def _held(self) -> npt.NDArray[np.bool_]:
        held: npt.NDArray[np.bool_] = 4.0 * self.decay * self.bend < 1.0
        return held

    @property
    def _root(self) -> FloatArray:
        root: FloatArray = np.sqrt(np.maximum(1.0 - 4.0 * self.decay * self.bend, 0.0))
        return root

    def _clock(self, energy: FloatArray) -> FloatArray:
        low, high, bend = self.threshold, self.asymptote, self.bend
        plain = self.decay == 0.0
        low = np.where(plain, 0.5 * high, low)  # any number: without decay the other branch is taken
        decaying = (
            -(
                np.log(energy) / (low * high)
                + np.log(np.abs(energy - low)) / (low * (low - high))
                + np.log(np.abs(high - energy)) / (high * (high - low))
            )
            / bend
        )
        return np.where(plain, -1.0 / energy + bend * (np.log(energy) - np.log(np.abs(1.0 - bend * energy))), decaying)
