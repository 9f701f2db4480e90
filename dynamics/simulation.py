"""One run of the real network, from its start to its end, laid beside what the theory predicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.checks import check_epsilon, check_fraction, check_positive, whole_number
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
from dynamics.network.observables import Curves, Observer
from dynamics.network.outcome import Ending, Outcome
from dynamics.network.population import Data, Population, population_of
from dynamics.network.stability import stable_learning_rate
from dynamics.network.starts import ALIGNED, Start, start_from
from dynamics.network.threads import threads_for
from dynamics.objectives import Objective
from dynamics.regime import PLAIN, Regime
from dynamics.status import Status, StatusArray, words
from dynamics.table import Columns, Tabular, known
from dynamics.trajectory import trajectories

if TYPE_CHECKING:
    from dynamics.reduced import ModeTimes

FIRST_LEARNED = 20
"""A run lasts by default until so many features are learned: those of tiny lambda would take forever."""

LEARNED, MARGIN = 0.9, 1.3
"""Share of its asymptote that the last of these is predicted to reach, and how much longer than that a run lasts by default."""

MIXED = 0.01
"""Off-diagonal share of the encoder at the end above which features have mixed enough to be said."""

NAMED = 8
"""Features named in a remark, at most."""

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
    points: int = 400
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
            raise LindynError(f"{self.objective.name} predicts the input itself, so there is no gradient of a target to stop.")
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
        return MARGIN * float(times[: self.first or FIRST_LEARNED][-1])

    def run(self, watch: Callable[[float], None] = lambda share: None) -> Simulation:
        """Train the network; ``watch`` is called with the share of the time that has passed."""
        generator = np.random.default_rng(self.seed)
        start = self._start(generator)
        gradients = Gradients(self.objective, self.population.moments, stop_gradient=self.regime.stop_gradient)
        observer = self._observer(start, gradients)
        first = observer.amplitude(product(start.layers[: self.objective.depth]))
        asymptote = self.predicted.asymptote
        crossings = Crossings(self.fraction * (np.abs(asymptote) if start.by_norm else asymptote), first)
        with threads_for(len(self.features)):
            ending, layers = self._train(
                gradients, observer, crossings, start, generator, lambda t: watch(min(t / self.horizon, 1.0))
            )
        return Simulation(self, start, observer.curves(), crossings.time, layers, ending)

    def light(self) -> Experiment:
        """The same, without the rows that it has no use for, to be sent to another process."""
        uses_rows = self.training is not None and self.training.batch is not None
        return self if uses_rows else replace(self, population=self.population.without_rows())

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
        return Observer(start, gradients, scale, self.horizon, resolution=max(1, expected) / self.points)

    def _train(
        self,
        gradients: Gradients,
        observer: Observer,
        crossings: Crossings,
        start: Start,
        generator: np.random.Generator,
        watch: Callable[[float], None],
    ) -> tuple[Ending, FloatArray]:
        if self.training is None:
            flow = Flow(gradients, self.regime, start.layers, self.horizon)
            return integrate(
                flow,
                observer,
                crossings,
                until=self.horizon,
                shortest=self._shortest(),
                watch=watch,
            )
        network = Descent(gradients, self.regime, self.training, start.layers, self._batches(generator))
        time_step = self.training.time_step
        return descend(network, observer, crossings, steps=self._steps(), time_step=time_step, watch=watch)

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


@dataclass(frozen=True, eq=False)
class Simulation(Tabular):
    """A network after its run, beside what was predicted; arrays of shape ``(features,)``.

    Attributes
    ----------
    experiment
        What was run; ``experiment.predicted`` holds the predicted times, asymptotes and their status.
    start
        Where it started, and how amplitudes were read.
    curves
        What was seen on the way.
    time
        Training time at which each feature first reached ``fraction`` of its *predicted* asymptote, found between the steps;
        ``inf`` if it did not within the run. Under gradient descent it is steps times the learning rate (and by momentum).
    layers
        The last layers, shape ``(depth + predictor_depth, d, d)``.
    ending
        How the run ended.
    """

    experiment: Experiment
    start: Start
    curves: Curves
    time: FloatArray
    layers: FloatArray
    ending: Ending

    @cached_property
    def amplitude(self) -> FloatArray:
        """Encoder amplitude of every feature at the end, as the start has it read."""
        curves = self.curves
        last: FloatArray = (curves.norm if self.start.by_norm else curves.amplitude)[:, -1]
        return last

    @cached_property
    def status(self) -> StatusArray:
        """A `Status` a feature: what became of it in the run."""
        expected = self.experiment.predicted
        status = np.full(len(self.time), Status.REACHED, dtype=object)
        status[self.time == 0.0] = Status.ALREADY_REACHED
        status[np.isinf(self.time)] = Status.NOT_REACHED
        hopeless = expected.asymptote == 0.0
        status[hopeless] = expected.status[hopeless]
        return status

    @cached_property
    def ratio(self) -> FloatArray:
        """Simulated over predicted critical time; nan where there are no two of them, or no flow time to compare."""
        training, predicted = self.experiment.training, self.experiment.predicted.time
        both = np.isfinite(self.time) & np.isfinite(predicted) & (predicted > 0.0)
        if training is not None and not training.has_flow_time:
            both[:] = False
        ratio: FloatArray = np.where(both, self.time, np.nan) / np.where(both, predicted, 1.0)
        return ratio

    def columns(self) -> Columns:
        """The standard columns of the prediction, and beside each of its numbers what the run gave."""
        told = self.experiment.predicted.columns()
        status = told.pop("status")
        del told["log10_critical_time"]
        asymptote, critical_time = told.pop("asymptote"), told.pop("critical_time")
        return told | {
            "asymptote": asymptote,
            "final_amplitude": self.amplitude,
            "critical_time": critical_time,
            "simulated_time": self.time,
            "ratio": known(self.ratio),
            "status": status,
            "simulated_status": words(self.status),
        }

    def remarks(self) -> list[str]:
        """What a reader should know beside the table; one sentence each."""
        found = (self._end(), self._stability(), self._alignment(), self._mixing(), self._losses(), self._comparison())
        return [text for text in found if text]

    def _end(self) -> str:
        return "" if self.ending.outcome is Outcome.COMPLETED else f"{self.ending.outcome.value}: {self.ending.sentence}"

    def _stability(self) -> str:
        run = self.experiment
        if run.training is None or not run.training.has_flow_time or not run.regime.stop_gradient:
            return ""
        gradients = Gradients(run.objective, run.population.moments)
        limit = stable_learning_rate(
            gradients, replace(run.regime, teacher_rate=None), run.features.rho, run.predicted.asymptote
        )
        if run.training.time_step < limit:
            return ""
        return (
            f"Beyond a learning rate of about {limit:.3g} gradient descent is unstable at the predicted end in some direction"
            " of the matrices, and may end elsewhere."
        )

    def _alignment(self) -> str:
        if self.start.by_norm:
            return (
                "A Gaussian start is neither balanced nor aligned: amplitudes are norms of columns of W, and the predictions"
                " are those of a balanced, aligned start of the same epsilon."
            )
        if self.start.misalignment <= ALIGNED:
            return ""
        return (
            "The predictor does not undo the encoder's directions at the start: features mix, and some may never be learned."
            " The predictions are those of an aligned start, such as balanced."
        )

    def _mixing(self) -> str:
        if self.start.by_norm or self.curves.off_diagonal[-1] <= MIXED:
            return ""
        return (
            "Features have mixed by the end (off_diagonal in the curves), so final amplitudes can lie far from the asymptotes,"
            " which are those of features that stay apart."
        )

    def _losses(self) -> str:
        learned = np.isfinite(self.time)
        below = np.abs(self.amplitude) < self.experiment.fraction * np.abs(self.experiment.predicted.asymptote)
        labels = np.array(self.experiment.features.labels(), dtype=object)[learned & below]
        if not len(labels):
            return ""
        named = ", ".join(labels[:NAMED]) + (", ..." if len(labels) > NAMED else "")
        return f"Learned, and below the threshold again at the end: {len(labels)} ({named})."

    def _comparison(self) -> str:
        run = self.experiment
        if not run.regime.stop_gradient:
            return (
                "The target is differentiated as well (a control): the predictions are those of training with a stop-gradient."
            )
        if run.training is not None and not run.training.has_flow_time:
            return "Adam has no gradient-flow time: its times are steps times the learning rate; compare the order."
        return ""


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
    points: int = 400,
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
        matter reaches 0.9 of its asymptote.
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
