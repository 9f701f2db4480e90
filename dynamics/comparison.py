"""A network after its run, laid beside what the theory predicts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dynamics.features import FloatArray
from dynamics.network.observables import Curves
from dynamics.network.outcome import Ending, Outcome
from dynamics.network.starts import ALIGNED, Start
from dynamics.status import Status, StatusArray, words
from dynamics.table import Columns, Tabular, known

if TYPE_CHECKING:
    from dynamics.simulation import Experiment

MIXED = 0.01
"""Off-diagonal share of the encoder at the end above which features have mixed enough to be said."""

SMALL_LAG = 0.05
"""Learning rate times rate over (1 - momentum)^2 up to which momentum keeps to the flow's time."""

UNLIKE = 1e-6
"""Relative difference of given layers from balanced ones of amplitude epsilon above which it is said."""

NAMED = 8
"""Features named in a remark, at most."""


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
        ``inf`` if it did not within the run. Under gradient descent it is steps times the learning rate, with momentum divided
        by 1 - momentum.
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
            "polar_amplitude": self.curves.polar_amplitude[:, -1],
            "critical_time": critical_time,
            "simulated_time": self.time,
            "ratio": known(self.ratio),
            "status": status,
            "simulated_status": words(self.status),
        }

    def remarks(self) -> list[str]:
        """What a reader should know beside the table; one sentence each."""
        completed = self.ending.outcome is Outcome.COMPLETED
        told = [] if completed else [f"{self.ending.outcome.value}: {self.ending.sentence}"]
        return [*told, *self.cautions(), *self._losses()]

    def cautions(self) -> list[str]:
        """Those of them that do not depend on how this very run went."""
        found = (
            *(self._stability(), self._momentum(), self._beginning()),
            *(self._alignment(), self._mixing(), self._comparison()),
        )
        return [text for text in found if text]

    def _stability(self) -> str:
        run = self.experiment
        if run.training is None or not run.training.has_flow_time or not run.regime.stop_gradient:
            return ""
        limit = run.stable_rate(run.momentum)
        if run.training.learning_rate < limit:
            return ""
        return (
            f"Beyond a learning rate of about {limit:.3g} gradient descent is unstable at the predicted end in some direction"
            " of the matrices, and may end elsewhere."
        )

    def _momentum(self) -> str:
        run = self.experiment
        if run.training is None or not run.momentum:
            return ""
        lag = 2.0 * run.training.learning_rate / (run.stable_rate() * (1.0 - run.momentum) ** 2)
        if lag <= SMALL_LAG:
            return ""
        return (
            "Momentum keeps to the time of the flow where learning rate times rate over (1 - momentum)^2 is small; here it is"
            f" up to {lag:.2g}, and features are learned later than that."
        )

    def _beginning(self) -> str:
        """Whether layers that were given are those that the predictions assume."""
        if isinstance(self.experiment.start, str):
            return ""
        first, epsilon = self.curves.amplitude[:, 0], self.experiment.epsilon
        layer = epsilon ** (2.0 / self.experiment.objective.depth)
        if np.abs(first / epsilon - 1.0).max() <= UNLIKE and self.curves.imbalance[0] <= UNLIKE * layer:
            return ""
        return (
            f"The layers given start at amplitudes from {first.min():.3g} to {first.max():.3g}, neighbours unlike by"
            f" {self.curves.imbalance[0]:.2g}; the predictions are those of balanced layers of amplitude epsilon."
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
        curves = self.curves
        if self.start.by_norm or curves.off_diagonal[-1] <= MIXED:
            return ""
        told = (
            "The encoder has turned since the start (off_diagonal in the curves), so final_amplitude can lie far from the"
            " asymptote."
        )
        if curves.polar_off_diagonal[-1] <= MIXED:
            return f"{told} polar_amplitude does not depend on such a turn, which neither objective sees."
        return (
            f"{told} polar_amplitude does not depend on such a turn, which neither objective sees; but features have also mixed"
            " (polar_off_diagonal), and the asymptotes are those of features that stay apart."
        )

    def _losses(self) -> list[str]:
        learned = np.isfinite(self.time)
        below = np.abs(self.amplitude) < self.experiment.fraction * np.abs(self.experiment.predicted.asymptote)
        labels = np.array(self.experiment.features.labels(), dtype=object)[learned & below]
        if not len(labels):
            return []
        named = ", ".join(labels[:NAMED]) + (", ..." if len(labels) > NAMED else "")
        return [f"Learned, and below the threshold again at the end: {len(labels)} ({named}), by final_amplitude."]

    def _comparison(self) -> str:
        run = self.experiment
        if not run.regime.stop_gradient:
            return (
                "The target is differentiated as well (a control): the predictions are those of training with a stop-gradient."
            )
        if run.training is not None and not run.training.has_flow_time:
            return "Simulated times with Adam are steps times the learning rate, not those of the flow: compare the order."
        return ""
