"""Modes with two ends: dx/dt = x (growth x - saturation x^2 - decay), which grow from above a threshold and die from below."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.features import FloatArray
from dynamics.multiview.modes import Modes
from dynamics.multiview.status import outcomes
from dynamics.status import StatusArray


@dataclass(frozen=True, eq=False)
class Bistable(Modes):
    """One curve a mode, arrays of shape ``(modes,)``.

    Attributes
    ----------
    growth
        Covariance that drives the mode; one that is not positive only decays.
    saturation
        Variance that holds it back; positive.
    decay
        Weight decay; 0 or more. Above growth^2 / (4 saturation) it takes every mode.
    """

    growth: FloatArray
    saturation: FloatArray
    decay: FloatArray

    @property
    def threshold(self) -> FloatArray:
        """Size below which a mode dies: the lower fixed point; ``inf`` where every start does."""
        held = self._held
        return np.where(held, 2.0 * self.decay / np.where(held, self.growth + self._root, 1.0), np.inf)

    @property
    def asymptote(self) -> FloatArray:
        """Size that a mode above the threshold tends to: the upper fixed point; 0 where there is none."""
        return np.where(self._held, (self.growth + self._root) / (2.0 * self.saturation), 0.0)

    def status(self, start: FloatArray, end: FloatArray) -> StatusArray:
        """What becomes of each mode from this size."""
        return outcomes(start, end, never=self.growth <= 0.0, lost=start <= self.threshold)

    def time(self, start: FloatArray, end: FloatArray) -> FloatArray:
        """Time from one size to another, both between the threshold and the asymptote."""
        return self._clock(end) - self._clock(start)

    @property
    def _held(self) -> npt.NDArray[np.bool_]:
        held: npt.NDArray[np.bool_] = (self.growth > 0.0) & (4.0 * self.decay * self.saturation <= self.growth**2)
        return held

    @property
    def _root(self) -> FloatArray:
        root: FloatArray = np.sqrt(np.maximum(self.growth**2 - 4.0 * self.decay * self.saturation, 0.0))
        return root

    def _clock(self, size: FloatArray) -> FloatArray:
        """By partial fractions over 0 and the two fixed points, the logarithms of 0 and of the lower one taken together."""
        low, high = self.threshold, self.asymptote
        decaying = low > 0.0
        lower = np.where(decaying, np.log1p(-low / size) / np.where(decaying, low, 1.0), -1.0 / size)
        clock: FloatArray = ((np.log(size) - np.log(high - size)) / high + lower) / (self.saturation * (high - low))
        return clock
