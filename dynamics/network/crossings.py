"""When each feature first reaches its threshold, found between two looks at the network."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dynamics.features import FloatArray


@dataclass(eq=False)
class Crossings:
    """First times at which amplitudes reach ``thresholds``; ``inf`` while they have not, 0 where they start there.

    A negative threshold is reached from above. One that is 0 is never reached: there is nothing to learn.
    """

    thresholds: FloatArray
    start: FloatArray
    time: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.time = np.full(len(self.thresholds), np.inf)
        self.time[self.reached_by(self.start)] = 0.0

    @property
    def open(self) -> npt.NDArray[np.bool_]:
        """Which features have a threshold that they have not reached."""
        waiting: npt.NDArray[np.bool_] = (self.thresholds != 0.0) & np.isinf(self.time)
        return waiting

    def reached_by(self, amplitudes: FloatArray) -> npt.NDArray[np.bool_]:
        """Which open thresholds the amplitudes, ``(..., features)``, are at or beyond."""
        sign = np.sign(self.thresholds)
        beyond: npt.NDArray[np.bool_] = np.asarray(sign * amplitudes >= sign * self.thresholds) & self.open
        return beyond

    def found_in(self, amplitudes: FloatArray, times: FloatArray) -> None:
        """Note crossings in a table of amplitudes, times x features, by straight lines between neighbouring rows."""
        beyond = self.reached_by(amplitudes[1:])
        for feature in np.flatnonzero(beyond.any(axis=0)):
            row = int(np.argmax(beyond[:, feature]))
            before, after = amplitudes[row : row + 2, feature]
            share = (self.thresholds[feature] - before) / (after - before)
            self.time[feature] = times[row] + share * (times[row + 1] - times[row])
