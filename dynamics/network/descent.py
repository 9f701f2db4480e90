"""Gradient descent of the network: plain, with momentum, or Adam; from the moments or from minibatches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import expm1

import numpy as np

from dynamics.checks import check_positive, check_share, whole_number
from dynamics.errors import ParameterError
from dynamics.features import FloatArray
from dynamics.network.batches import Batches
from dynamics.network.crossings import Crossings
from dynamics.network.gradients import Gradients, product
from dynamics.network.observables import Observer
from dynamics.network.outcome import Ending, Outcome
from dynamics.regime import Regime

LONGEST_CHUNK = 1024
"""Steps between two looks at the network, at most; fewer where something moves."""

RECENT, OSCILLATION = 13, 1e-3
"""Amplitudes looked back on at the end, one a step, and the share of its way by which a feature must not go forth and back."""

EXPLODED = 1e6
"""Amplitude, in units of the largest that a feature is expected to reach, beyond which a run has diverged."""


@dataclass(frozen=True)
class GradientDescent:
    """Gradient descent with a constant learning rate.

    Attributes
    ----------
    learning_rate
        Step of every encoder layer; the predictor's is ``regime.predictor_rate`` times that.
    optimiser
        ``plain``; ``momentum`` (heavy ball); ``adam``, whose steps of about one learning rate a coordinate, taken here in the
        coordinates of the features, have no gradient-flow time.
    momentum
        Share of the last step that is taken again, in [0, 1). It speeds plateaus up by 1 / (1 - momentum), which the time
        counts.
    batch
        Samples a step; None for the exact moments.
    """

    learning_rate: float
    optimiser: str = "plain"
    momentum: float = 0.9
    batch: int | None = None

    def __post_init__(self) -> None:
        check_positive("learning_rate", self.learning_rate)
        if self.optimiser not in OPTIMISERS:
            raise ParameterError("optimiser", self.optimiser, f"one of {', '.join(OPTIMISERS)}")
        check_share("momentum", self.momentum)
        if self.batch is not None:
            whole_number("batch", self.batch, 1)

    @property
    def time_step(self) -> float:
        """Gradient-flow time a step, to first order in the learning rate."""
        return self.learning_rate / (1.0 - self.momentum) if self.optimiser == "momentum" else self.learning_rate

    @property
    def has_flow_time(self) -> bool:
        """Whether a small step follows the gradient flow."""
        return self.optimiser != "adam"


class Optimiser(ABC):
    """Turns a descent direction into a step, in place."""

    def __init__(self, training: GradientDescent, rates: FloatArray, shape: tuple[int, ...]) -> None:
        self._training, self._rates = training, training.learning_rate * rates[:, None, None]
        self._uniform = float(self._rates.flat[0]) if np.ptp(rates) == 0.0 else None

    @abstractmethod
    def step(self, layers: FloatArray, descent: FloatArray) -> None:
        """Move the layers; ``descent`` may be overwritten."""

    @property
    def scale(self) -> float | FloatArray:
        """Learning rates of the layers, one number where they agree."""
        return self._rates if self._uniform is None else self._uniform


class Plain(Optimiser):
    """layers += rate * descent."""

    def step(self, layers: FloatArray, descent: FloatArray) -> None:
        descent *= self.scale
        layers += descent


class Momentum(Optimiser):
    """Heavy ball: the last step once more, times the momentum, plus the plain step."""

    def __init__(self, training: GradientDescent, rates: FloatArray, shape: tuple[int, ...]) -> None:
        super().__init__(training, rates, shape)
        self._last = np.zeros(shape)

    def step(self, layers: FloatArray, descent: FloatArray) -> None:
        descent *= self.scale
        self._last *= self._training.momentum
        self._last += descent
        layers += self._last


class Adam(Optimiser):
    """Every coordinate in units of its own root mean square gradient (Kingma and Ba 2015; beta 0.9 and 0.999)."""

    FIRST, SECOND, TINY = 0.9, 0.999, 1e-8

    def __init__(self, training: GradientDescent, rates: FloatArray, shape: tuple[int, ...]) -> None:
        super().__init__(training, rates, shape)
        self._mean, self._square, self._steps = np.zeros(shape), np.zeros(shape), 0

    def step(self, layers: FloatArray, descent: FloatArray) -> None:
        self._steps += 1
        self._mean += (1.0 - self.FIRST) * (descent - self._mean)
        self._square += (1.0 - self.SECOND) * (descent * descent - self._square)
        size = np.sqrt(self._square / (1.0 - self.SECOND**self._steps)) + self.TINY
        layers += self.scale / (1.0 - self.FIRST**self._steps) * self._mean / size


OPTIMISERS: dict[str, type[Optimiser]] = {"plain": Plain, "momentum": Momentum, "adam": Adam}


class Descent:
    """The network under gradient descent: `differentiate` and `move` make a step.

    Weight decay shrinks the layers beside the optimiser's step (decoupled), by ``weight_decay`` times the time of the step.
    """

    def __init__(
        self, gradients: Gradients, regime: Regime, training: GradientDescent, layers: FloatArray, batches: Batches | None
    ) -> None:
        objective = gradients.objective
        self.layers, self.gradients = layers.copy(), gradients
        self._views = list(self.layers)
        taught = regime.teacher_rate is not None and objective.target_depth > 0
        self.teacher = layers[: objective.target_depth].copy() if taught else None
        self._followed = -expm1(-float(regime.teacher_rate or 0.0) * training.time_step)
        rates = np.ones(len(layers))
        rates[objective.depth :] = regime.predictor_rate
        self._optimiser = OPTIMISERS[training.optimiser](training, rates, layers.shape)
        self._decay = float(regime.weight_decay) * training.time_step
        self._batches = batches
        self.exact = batches is None

    def differentiate(self) -> None:
        """The descent direction where the network is; on a fresh minibatch, if it has any."""
        if self._batches is not None:
            self.gradients.renew(self._batches.draw())
        self.gradients(self._views, self.target())

    def move(self) -> None:
        """One step along it, and the teacher's."""
        if self._decay:
            self.layers *= 1.0 - self._decay
        self._optimiser.step(self.layers, self.gradients.descent)
        if self.teacher is not None:
            self.teacher += self._followed * (self.layers[: len(self.teacher)] - self.teacher)

    def target(self) -> FloatArray | None:
        """The teacher's product, or None for the encoder itself."""
        return None if self.teacher is None else product(self.teacher)


def descend(
    network: Descent,
    observer: Observer,
    crossings: Crossings,
    *,
    steps: int,
    time_step: float,
    watch: Callable[[float], None],
) -> tuple[Ending, FloatArray]:
    """So many steps, with a look at the network after chunks of them that are shorter where it moves; the end, the last layers.

    Amplitudes are kept at every step within a chunk, so that crossings are found between neighbouring steps.
    """
    done, length, recent = 0, 1, np.empty((0, len(observer.scale)))
    kept, target = network.layers.copy(), network.target()
    observer.offer(0.0, kept, target)
    ending = Ending(Outcome.COMPLETED)
    try:
        while done < steps:
            length = min(length, steps - done)
            history = _chunk(network, observer, length)
            if not _bounded(history, observer.scale):
                ending = Ending(Outcome.DIVERGED, f"Between the steps {done} and {done + length}")
                break
            done += length
            recent = np.concatenate([recent[:-1], history])[-RECENT:]
            crossings.found_in(history, time_step * np.arange(done - length, done + 1, dtype=np.float64))
            kept, target = network.layers.copy(), network.target()
            observer.offer(time_step * done, kept, target)
            watch(time_step * done)
            moved = float(np.abs((history[-1] - history[0]) / observer.scale).max()) / observer.resolution
            length = _next_length(length, moved)
        else:
            if network.exact and _oscillates(recent, observer.scale):
                ending = Ending(Outcome.OSCILLATING)
    except KeyboardInterrupt:
        ending = Ending(Outcome.INTERRUPTED, f"After {done} of {steps} steps")
    observer.keep(time_step * done, kept, target)
    return ending, kept


def _chunk(network: Descent, observer: Observer, length: int) -> FloatArray:
    """Amplitudes at the start of each of ``length`` steps and after the last; infinite ones where the layers overflow."""
    encoder_of = network.gradients.products.__getitem__
    top = network.gradients.objective.depth - 1
    history = np.empty((length + 1, len(observer.scale)))
    with np.errstate(over="ignore", invalid="ignore"):
        for row in range(length):
            network.differentiate()
            history[row] = observer.amplitude(encoder_of(top))
            network.move()
        history[length] = observer.amplitude(product(network.layers[: top + 1]))
    return history


def _bounded(history: FloatArray, scale: FloatArray) -> bool:
    return bool((np.abs(history) <= EXPLODED * scale.max()).all())


def _next_length(length: int, moved: float) -> int:
    if moved > 1.0:
        return max(1, length // 2)
    return min(2 * length, LONGEST_CHUNK) if moved < 0.5 else length


def _oscillates(recent: FloatArray, scale: FloatArray) -> bool:
    """Whether a feature went forth and back by more than a thousandth of its way in the last steps."""
    steps = np.diff(recent, axis=0) / scale
    forth, back = (steps > OSCILLATION).any(axis=0), (steps < -OSCILLATION).any(axis=0)
    return bool((forth & back).any())
