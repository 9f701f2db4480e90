"""Training the real network once: from what, how, and for how long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.checks import check_epsilon, check_fraction, check_positive, whole_number
from dynamics.comparison import Simulation
from dynamics.critical_time import CriticalTimes, critical_times
from dynamics.errors import LindynError, ParameterError
from dynamics.features import Features, FloatArray
from dynamics.grid import Setting
from dynamics.network.batches import Batches
from dynamics.network.crossings import Crossings
from dynamics.network.descent import Descent, GradientDescent, descend
from dynamics.network.flow import Flow
from dynamics.network.gradients import Gradients, product
from dynamics.network.integration import integrate
from dynamics.network.moments import Moments
from dynamics.network.observables import Observer
from dynamics.network.population import Data, Population, population_of
from dynamics.network.stability import stable_learning_rate
from dynamics.network.starts import Start, start_from
from dynamics.network.threads import threads_for
from dynamics.objectives import Objective
from dynamics.regime import PLAIN, Regime
from dynamics.trajectory import trajectories

if TYPE_CHECKING:
    from dynamics.reduced import ModeTimes

FIRST_LEARNED = 20
"""A run lasts by default until so many features are learned: those of tiny lambda would take forever."""

LEARNED = 0.9
"""Share of its asymptote that the last of these is predicted to reach."""

MARGIN = 1.3
"""How many times longer than that a run lasts by default."""

LOOSE, LOOSE_MARGIN = ("haar", "gaussian"), 4.0
"""Starts of which the predictions are only a guide, and how many times longer their runs last."""

ADAM_WAYS = 10.0
"""Default time of a run with Adam, which moves about one a unit of its time, over the greatest layer at the predicted end."""

MOST_STEPS = 1e10
"""Steps of gradient descent beyond which a run is refused: days, for the smallest network."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """A network, what it is trained on and how; `run` trains it. `simulate` says what the attributes mean."""

    objective: Objective
    population: Population
    epsilon: float
    fraction: float = 0.5
    start: str | FloatArray = "balanced"
    regime: Regime = PLAIN
    training: GradientDescent | None = None
    until: float | None = None
    seed: int = 0
    points: int = 200
    first: int | None = None

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_fraction(self.fraction)
        whole_number("seed", self.seed, 0)
        whole_number("points", self.points, 2)
        if self.first is not None:
            whole_number("first", self.first, 1)
        if self.until is not None:
            check_positive("until", self.until)
        for name, value in vars(self.regime).items():
            if np.ndim(value):
                raise ParameterError(name, f"an array of shape {np.shape(value)}", "one number for a network")
        if not self.regime.stop_gradient and not self.objective.target_depth:
            raise LindynError(
                f"{self.objective.name} predicts the input itself, so there is no gradient of a target to stop; without a"
                " stop-gradient ask for the objective jepa alone."
            )
        if not self.regime.stop_gradient and self.regime.teacher_rate is not None:
            raise LindynError("A teacher is never differentiated: no stop-gradient goes without teacher_rate.")

    @classmethod
    def of(cls, setting: Setting, population: Population, **how: Any) -> Experiment:
        """The experiment at a setting."""
        return cls(setting.objective, population, setting.epsilon, setting.fraction, **how)

    @property
    def features(self) -> Features:
        """The features in whose coordinates the network is trained."""
        return self.population.features

    @property
    def setting(self) -> Setting:
        """Objective, start and fraction."""
        return Setting(self.objective, self.epsilon, self.fraction)

    @cached_property
    def predicted(self) -> CriticalTimes | ModeTimes:
        """What the theory says of features that stay apart: the closed form, or the mode equation of the regime."""
        return self._predicted(self.fraction)

    @cached_property
    def horizon(self) -> float:
        """Training time at which the run ends."""
        if self.until is not None:
            return self.until
        if self.training is not None and not self.training.has_flow_time:
            largest = max(float(np.abs(self.predicted.asymptote).max()), self.epsilon)
            return float(ADAM_WAYS * largest ** (1.0 / self.objective.depth))
        return self._flow_horizon() * self._slowdown()

    @property
    def momentum(self) -> float:
        """Of the heavy ball; 0 without it."""
        return self.training.momentum if self.training is not None and self.training.optimiser == "momentum" else 0.0

    def stable_rate(self, momentum: float = 0.0) -> float:
        """Learning rate up to which gradient descent is stable at the predicted end; plain, 2 over the fastest rate there."""
        gradients, regime = Gradients(self.objective, self.population.moments), replace(self.regime, teacher_rate=None)
        rho, asymptote = self.features.rho, self.predicted.asymptote
        return stable_learning_rate(gradients, regime, rho, asymptote, momentum=momentum)

    def run(self, watch: Callable[[float], None] = lambda share: None) -> Simulation:
        """Train the network; ``watch`` is called with the share of the time that has passed."""
        with threads_for(len(self.features)):
            return self._run(np.random.default_rng(self.seed), lambda time: watch(min(time / self.horizon, 1.0)))

    def light(self) -> Experiment:
        """The same, without the rows that it has no use for, to be sent to another process."""
        uses_rows = self.training is not None and self.training.batch is not None
        return self if uses_rows else self.without_rows()

    def without_rows(self) -> Experiment:
        """The same, of the moments alone."""
        return replace(self, population=self.population.without_rows())

    def _run(self, generator: np.random.Generator, watch: Callable[[float], None]) -> Simulation:
        start = self._start(generator)
        gradients = Gradients(self.objective, self.population.moments, stop_gradient=self.regime.stop_gradient)
        observer = self._observer(start, gradients)
        asymptote = self.predicted.asymptote
        crossings = Crossings(
            self.fraction * (np.abs(asymptote) if start.by_norm else asymptote),
            observer.amplitude(product(start.layers[: self.objective.depth])),
        )
        if self.training is None:
            flow = Flow(gradients, self.regime, start.layers, self.horizon)
            ending, layers = integrate(flow, observer, crossings, until=self.horizon, shortest=self._shortest(), watch=watch)
        else:
            network = Descent(gradients, self.regime, self.training, start.layers, self._batches(generator))
            ending, layers = descend(
                network, observer, crossings, steps=self._steps(), time_step=self.training.time_step, watch=watch
            )
        return Simulation(self, start, observer.curves(), crossings.time, layers, ending)

    def _flow_horizon(self) -> float:
        """A little longer than the flow takes to learn the features that matter; or for as long as anything moves."""
        learned = self._predicted(max(self.fraction, LEARNED)).time[: self.first]
        times = np.sort(learned[np.isfinite(learned) & (learned > 0.0)])
        if not len(times):
            moving = trajectories(self.objective, self.features, epsilon=self.epsilon).time[: self.first, -1]
            times = np.sort(moving[np.isfinite(moving)])
        if not len(times):
            raise LindynError(
                "Every critical time exceeds what a double can hold, so a run would never end; raise epsilon, or ask"
                " critical-time, which answers in logarithms."
            )
        margin = LOOSE_MARGIN if isinstance(self.start, str) and self.start in LOOSE else MARGIN
        return margin * float(times[: self.first or FIRST_LEARNED][-1])

    def _slowdown(self) -> float:
        """How many times longer than the flow the heavy ball takes to grow at the fastest rate; 1 without momentum.

        The growth a step is the greater root z of z^2 - (1 + m + s) z + m, with s the rate times the learning rate.
        """
        if self.training is None or not self.momentum:
            return 1.0
        m, s = self.momentum, 2.0 * self.training.learning_rate / self.stable_rate()
        if not s:
            return 1.0
        whole = 1.0 + m + s
        return s / ((1.0 - m) * log((whole + sqrt(whole**2 - 4.0 * m)) / 2.0))

    def _predicted(self, fraction: float) -> CriticalTimes | ModeTimes:
        if self.regime.plain or not self.regime.stop_gradient:
            return critical_times(self.objective, self.features, epsilon=self.epsilon, fraction=fraction)
        from dynamics.reduced import mode_times

        return mode_times(self.objective, self.features, epsilon=self.epsilon, fraction=fraction, regime=self.regime)

    def _start(self, generator: np.random.Generator) -> Start:
        encoder = self.epsilon ** (1.0 / self.objective.depth)
        given = self.regime.predictor_start
        predictor = encoder if given is None else float(given)
        return start_from(
            self.start, self.objective, len(self.features), encoder=encoder, predictor=predictor, generator=generator
        )

    def _observer(self, start: Start, gradients: Gradients) -> Observer:
        expected = int((self.predicted.time <= self.horizon).sum())
        scale = np.maximum(np.abs(self.predicted.asymptote), self.epsilon)
        return Observer(start, gradients, scale, self.horizon, resolution=1.0 / self.points, ways=max(1, expected))

    def _steps(self) -> int:
        """Steps of gradient descent to the end of the run."""
        assert self.training is not None
        steps = self.horizon / self.training.time_step
        if steps > MOST_STEPS:
            least = self.horizon / MOST_STEPS * (self.training.learning_rate / self.training.time_step)
            allowed = f"at least {least:.3g} for a run of {MOST_STEPS:g} steps to end at time {self.horizon:.6g}"
            raise ParameterError("learning_rate", self.training.learning_rate, allowed)
        return ceil(steps)

    def _batches(self, generator: np.random.Generator) -> Batches | None:
        size = self.training.batch if self.training is not None else None
        return None if size is None else self.population.batches(size, generator)

    def _shortest(self) -> float:
        """A time below the first critical time."""
        times = self.predicted.time
        return 1e-3 * float(times[(times > 0.0) & np.isfinite(times)].min(initial=self.horizon))


def simulate(
    objective: Objective,
    source: Features | Moments | Data,
    *,
    epsilon: float,
    fraction: float = 0.5,
    start: str | FloatArray = "balanced",
    regime: Regime = PLAIN,
    training: GradientDescent | None = None,
    until: float | None = None,
    seed: int = 0,
    points: int = 200,
    first: int | None = None,
    watch: Callable[[float], None] = lambda share: None,
) -> Simulation:
    """Train the real network, matrices and all, and find when it learns each feature.

    Parameters
    ----------
    source
        `Features` (diagonal moments), `Data`, or `Moments` of one's own; the network lives in the coordinates of the features.
    epsilon, fraction
        As for `critical_times`: amplitude of the encoder *product* at the start, and the share of the predicted asymptote that
        counts as learned.
    start
        One of ``balanced`` (layers are multiples of the identity), ``orthogonal`` (random orthogonal layers, aligned), ``haar``
        (the same, the predictor not aligned), ``gaussian`` (independent normal entries), or the layers themselves, shape
        ``(depth + predictor_depth, d, d)``, the encoder's first.
    regime
        What departs from plain training.
    training
        `GradientDescent`, or None for gradient flow: an adaptive integration by SciPy, good to about 1e-8 relative in time.
    until
        Training time at which the run ends; by default 1.3 times the predicted time at which the last of the features that
        matter reaches 0.9 of its asymptote, 4 times from a start that is not aligned, longer with momentum. With Adam 10 times
        the greatest layer at the predicted end.
    seed
        Of ``numpy.random.default_rng``, for random starts and minibatches; the same seed gives the same numbers.
    points
        Points of the curves, roughly.
    first
        How many features matter for that time, in their order; by default those 20 that are learned first, or all.
    watch
        Called with the share of the time that has passed.

    Returns
    -------
    Simulation
        Also of a run that diverged, got stuck or was interrupted by Ctrl-C: ``ending`` says so, and what came before is kept.

    Raises
    ------
    ParameterError
        If a number is out of its range.
    LindynError
        If the question has no answer: no target to differentiate, or no time that a double can hold.
    """
    population = population_of(source)
    experiment = Experiment(objective, population, epsilon, fraction, start, regime, training, until, seed, points, first)
    return experiment.run(watch)
