"""How a descent direction becomes a step: plain, with momentum, or Adam."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dynamics.features import FloatArray


class Optimiser(ABC):
    """Turns a descent direction into a step, in place.

    Parameters
    ----------
    rates
        Learning rate of every layer.
    momentum
        Share of the last step that is taken again, by the optimisers that do.
    shape
        Of the layers.
    """

    def __init__(self, rates: FloatArray, momentum: float, shape: tuple[int, ...]) -> None:
        self.momentum = momentum
        self.rate: float | FloatArray = float(rates[0]) if np.ptp(rates) == 0.0 else rates[:, None, None]

    @abstractmethod
    def step(self, layers: FloatArray, descent: FloatArray) -> None:
        """Move the layers; ``descent`` may be overwritten."""


class Plain(Optimiser):
    """layers += rate * descent."""

    def step(self, layers: FloatArray, descent: FloatArray) -> None:
        descent *= self.rate
        layers += descent


class Momentum(Optimiser):
    """Heavy ball: the last step once more, times the momentum, plus the plain step."""

    def __init__(self, rates: FloatArray, momentum: float, shape: tuple[int, ...]) -> None:
        super().__init__(rates, momentum, shape)
        self._last = np.zeros(shape)

    def step(self, layers: FloatArray, descent: FloatArray) -> None:
        descent *= self.rate
        self._last *= self.momentum
        self._last += descent
        layers += self._last


class Adam(Optimiser):
    """Every coordinate in units of its own root mean square gradient (Kingma and Ba 2015; beta 0.9 and 0.999)."""

    FIRST, SECOND, TINY = 0.9, 0.999, 1e-8

    def __init__(self, rates: FloatArray, momentum: float, shape: tuple[int, ...]) -> None:
        super().__init__(rates, momentum, shape)
        self._mean, self._square, self._steps = np.zeros(shape), np.zeros(shape), 0

    def step(self, layers: FloatArray, descent: FloatArray) -> None:
        self._steps += 1
        self._mean += (1.0 - self.FIRST) * (descent - self._mean)
        self._square += (1.0 - self.SECOND) * (descent * descent - self._square)
        size = np.sqrt(self._square / (1.0 - self.SECOND**self._steps)) + self.TINY
        layers += self.rate / (1.0 - self.FIRST**self._steps) * self._mean / size


OPTIMISERS: dict[str, type[Optimiser]] = {"plain": Plain, "momentum": Momentum, "adam": Adam}
