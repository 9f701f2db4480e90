"""Modes with two ends: dx/dt = x (growth x - saturation x^2 - decay), which grow from above a threshold and die from below."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.features import FloatArray
from dynamics.multiview.modes import Modes
from dynamics.multiview.status import ModeStatus, outcomes
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
        Weight decay; 0 or more. From growth^2 / (4 saturation) on it takes every mode.
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
        lost, never = start <= self.threshold, self.growth <= 0.0
        return outcomes(start, end, never=never, lost=lost & ~never, how=ModeStatus.COLLAPSES)

    def time(self, start: FloatArray, end: FloatArray) -> FloatArray:
        """Time from one size to another, both between the threshold and the asymptote.

        By partial fractions over 0 and the two fixed points; without decay the lower one is 0 as well.
        """
        return self._clock(end) - self._clock(start)

    @property
    def _held(self) -> npt.NDArray[np.bool_]:
        held: npt.NDArray[np.bool_] = (self.growth > 0.0) & (4.0 * self.decay * self.saturation < self.growth**2)
        return held

    @property
    def _root(self) -> FloatArray:
        root: FloatArray = np.sqrt(np.maximum(self.growth**2 - 4.0 * self.decay * self.saturation, 0.0))
        return root

    def _clock(self, size: FloatArray) -> FloatArray:
        low, high, bend = self.threshold, self.asymptote, self.saturation
        plain = self.decay == 0.0
        low = np.where(plain, 2.0 * high, low)  # any number above: without decay the other branch is taken
        decaying = (
            -(
                np.log(size) / (low * high)
                + np.log(np.abs(size - low)) / (low * (low - high))
                + np.log(np.abs(high - size)) / (high * (high - low))
            )
            / bend
        )
        rest = np.log(size) - np.log(np.abs(self.growth - bend * size))
        return np.where(plain, (bend / self.growth * rest - 1.0 / size) / self.growth, decaying)
