"""Gradient descent of the network: plain, with momentum, or Adam; from the moments or from minibatches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, expm1

import numpy as np

from dynamics.checks import check_positive, check_share, whole_number
from dynamics.errors import ParameterError
from dynamics.features import FloatArray
from dynamics.network.batches import Batches
from dynamics.network.crossings import Crossings
from dynamics.network.gradients import Gradients, product
from dynamics.network.observables import Observer
from dynamics.network.optimisers import OPTIMISERS
from dynamics.network.outcome import Ending, Outcome
from dynamics.regime import Regime

LONGEST_CHUNK, CHUNK_WORK = 1024, 1e10
"""Steps between two looks at the network, and multiplications, about a second of them; fewer where something moves."""

RECENT = 256
"""Amplitudes looked back on at the end, one a step."""

OSCILLATION, LASTING = 1e-3, 0.75
"""A feature oscillates if it swings by more than the one share of its way, and later swings are the other of earlier ones."""

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
        Share of the last step that is taken again, in [0, 1). The time counts a step for 1 / (1 - momentum) learning rates;
        that is the speed-up of growth at a rate h as long as learning_rate * h is small against (1 - momentum)^2. The exact
        factor z by which a step makes grow is the larger root of z^2 - (1 + momentum + learning_rate * h) z + momentum = 0.
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


class Descent:
    """The network under gradient descent: `differentiate` and `move` make a step.

    Weight decay shrinks the layers beside the optimiser's step (decoupled), as the flow does in the time of the step.
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
        rates = np.full(len(layers), training.learning_rate)
        rates[objective.depth :] *= regime.predictor_rate
        self._optimiser = OPTIMISERS[training.optimiser](rates, training.momentum, layers.shape)
        self._kept = exp(-float(regime.weight_decay) * training.time_step)
        self._batches = batches
        self.exact = batches is None

    def differentiate(self) -> None:
        """The descent direction where the network is; on a fresh minibatch, if it has any."""
        if self._batches is not None:
            self.gradients.renew(self._batches.draw())
        self.gradients(self._views, self.target())

    def move(self) -> None:
        """One step along it, and the teacher's."""
        if self._kept < 1.0:
            self.layers *= self._kept
        self._optimiser.step(self.layers, self.gradients.descent)
        if self.teacher is not None:
            self.teacher += self._followed * (self.layers[: len(self.teacher)] - self.teacher)

    def target(self) -> FloatArray | None:
        """The teacher's product, or None for the encoder itself."""
        return None if self.teacher is None else product(self.teacher)

    def seen(self) -> tuple[FloatArray, FloatArray | None]:
        """Layers and target as they are now, whatever moves later."""
        target = self.target()
        return self.layers.copy(), None if target is None else target.copy()


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
    state = (0, *network.seen())
    length, longest = 1, min(_longest_chunk(network.layers), ceil(observer.resolution * steps))
    recent = np.empty((0, len(observer.scale)))
    observer.offer(0.0, *state[1:])
    ending = Ending(Outcome.COMPLETED)
    try:
        while (done := state[0]) < steps:
            length = min(length, steps - done)
            history = _chunk(network, observer, length)
            if not _bounded(history, observer.scale):
                ending = Ending(Outcome.DIVERGED, f"Between the steps {done} and {done + length}")
                break
            recent = np.concatenate([recent[:-1], history])[-RECENT:]
            crossings.found_in(history, time_step * np.arange(done, done + length + 1, dtype=np.float64))
            state = (done + length, *network.seen())
            observer.offer(time_step * state[0], *state[1:])
            watch(time_step * state[0])
            length = _next_length(length, observer.way(history[0], history[-1]), longest)
        else:
            if network.exact and _oscillates(recent / observer.scale):
                ending = Ending(Outcome.OSCILLATING)
    except KeyboardInterrupt:
        ending = Ending(Outcome.INTERRUPTED, f"After {state[0]} of {steps} steps")
    observer.keep(time_step * state[0], *state[1:])
    return ending, state[1]


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


def _longest_chunk(layers: FloatArray) -> int:
    """In steps; a bound in seconds would make the points of the curves depend on how busy the machine is."""
    return int(min(max(CHUNK_WORK / (layers.size * len(layers[0])), 1), LONGEST_CHUNK))


def _next_length(length: int, moved: float, longest: int) -> int:
    if moved > 1.0:
        return max(1, length // 2)
    return min(2 * length, longest) if moved < 0.5 else length


def _oscillates(paths: FloatArray) -> bool:
    """Whether a feature, in units of its way, goes forth and back in the last steps, and does not settle.

    Its swings are the ways between turning points. They must be more than tiny, go on to the last quarter of the steps, and
    not shrink much from the first half of them to the second.
    """
    steps = np.diff(paths, axis=0)
    turns = np.zeros(paths.shape, dtype=bool)
    turns[1:-1] = steps[1:] * steps[:-1] < 0.0
    latest = np.maximum.accumulate(np.where(turns, np.arange(len(paths))[:, None], 0))
    before = np.concatenate([np.zeros_like(latest[:1]), latest[:-1]])
    swings = np.where(turns & (before > 0), np.abs(paths - np.take_along_axis(paths, before, axis=0)), 0.0)
    second_half = 2 * np.cumsum(turns, axis=0) > 1 + turns.sum(axis=0)
    earlier, later = (np.where(half, swings, 0.0).max(axis=0) for half in (~second_half, second_half))
    lasting = (turns.sum(axis=0) > 2) & (latest[-1] >= 0.75 * len(paths)) & (later > LASTING * earlier)
    return bool((lasting & (later > OSCILLATION)).any())
