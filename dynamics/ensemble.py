"""Many runs side by side on all cores, and their means and spreads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace

import numpy as np

from dynamics.checks import whole_number
from dynamics.comparison import Simulation
from dynamics.features import FloatArray
from dynamics.network.outcome import Outcome
from dynamics.simulation import Experiment
from dynamics.table import Columns, Tabular, known
from dynamics.workers import WorkerError, cores, interrupted_once, processes, stop, submitted

FEW = 2
"""Runs that are made one after the other in this process: new processes would take longer to start."""


def seeds(experiment: Experiment, runs: int) -> list[Experiment]:
    """The experiment with so many seeds, its own and the following."""
    return [replace(experiment, seed=experiment.seed + run) for run in range(runs)]


def run_all(
    experiments: Sequence[Experiment],
    *,
    workers: int | None = None,
    done: Callable[[Simulation], None] = lambda run: None,
    watch: Callable[[float], None] = lambda share: None,
) -> list[Simulation]:
    """Run experiments, whatever their seeds and settings, and return those that finished, in the order given.

    Parameters
    ----------
    workers
        Processes; by default one a core, or none for one or two runs. A script that wants more than one calls this under
        ``if __name__ == "__main__"``, as new processes import it. Each uses one thread.
    done
        Called with each run as it finishes, in any order.
    watch
        Called with the share of a run that has passed, where runs are made in this process.

    Ctrl-C ends the runs: those that finished are returned; of a single one what it computed.

    Raises
    ------
    ParameterError
        If ``workers`` is not a whole number, at least 1.
    WorkerError
        If a process is killed.
    """
    few = len(experiments) <= FEW
    count = whole_number("workers", workers, 1) if workers is not None else 1 if few else cores()
    with interrupted_once():
        if count == 1 or not experiments:
            return _one_by_one(experiments, done, watch)
        return _side_by_side(experiments, min(count, len(experiments)), done)


def _one_by_one(
    experiments: Sequence[Experiment], done: Callable[[Simulation], None], watch: Callable[[float], None]
) -> list[Simulation]:
    finished: list[Simulation] = []
    for experiment in experiments:
        run = experiment.run(watch)
        interrupted = run.ending.outcome is Outcome.INTERRUPTED
        if not interrupted or len(experiments) == 1:
            finished.append(run)
            done(run)
        if interrupted:
            break
    return finished


def _side_by_side(experiments: Sequence[Experiment], count: int, done: Callable[[Simulation], None]) -> list[Simulation]:
    finished: dict[Future[Simulation], Simulation] = {}
    with processes(count) as pool:
        answers = submitted(pool, _run, [experiment.light() for experiment in experiments])
        sent = dict(zip(answers, experiments, strict=True))
        try:
            for answer in as_completed(answers):
                finished[answer] = replace(answer.result(), experiment=sent[answer])
                done(finished[answer])
        except BrokenProcessPool:
            raise WorkerError("A process that trained networks was killed; run again, perhaps with fewer workers.") from None
        except KeyboardInterrupt:
            stop(pool)
    return [finished[answer] for answer in answers if answer in finished]


def _run(experiment: Experiment) -> Simulation:
    run = experiment.run()
    return replace(run, experiment=experiment.without_rows())


@dataclass(frozen=True, eq=False)
class Ensemble(Tabular):
    """Runs of one setting with different seeds: means and spreads over those in which a feature was learned.

    Attributes
    ----------
    runs
        At least one, all of one objective, start, training and source. Those that diverged count as ``diverged`` alone.
    """

    runs: Sequence[Simulation]

    def columns(self) -> Columns:
        """The columns of a run, with means in place of its numbers, standard deviations, and how many runs count."""
        told = self.runs[0].columns()
        beside = {name: told.pop(name) for name in ("asymptote", "critical_time", "status")}
        for name in ("final_amplitude", "polar_amplitude", "simulated_time", "ratio", "simulated_status"):
            del told[name]
        counted = [run for run in self.runs if run.ending.outcome is not Outcome.DIVERGED]
        features = len(self.runs[0].time)
        amplitude, time, ratio = (
            np.array([getattr(run, name) for run in counted]).reshape(-1, features) for name in ("amplitude", "time", "ratio")
        )
        return told | {
            "asymptote": beside["asymptote"],
            "final_amplitude": known(_mean(amplitude)),
            "final_amplitude_sd": known(_spread(amplitude)),
            "critical_time": beside["critical_time"],
            "simulated_time": known(_mean(time)),
            "simulated_time_sd": known(_spread(time)),
            "ratio": known(_mean(ratio)),
            "status": beside["status"],
            "reached": np.isfinite(time).sum(axis=0),
            "runs": np.full(features, len(counted)),
            "diverged": np.full(features, len(self.runs) - len(counted)),
        }


def _mean(values: FloatArray) -> FloatArray:
    """Over the runs that have a value; nan where none has."""
    counted = np.isfinite(values)
    count = counted.sum(axis=0)
    total = np.where(counted, values, 0.0).sum(axis=0)
    mean: FloatArray = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return mean


def _spread(values: FloatArray) -> FloatArray:
    """Standard deviation over the runs that have a value; nan where fewer than two have."""
    counted = np.isfinite(values)
    count = counted.sum(axis=0)
    distance = np.where(counted, values, 0.0) - np.where(counted, _mean(values), 0.0)
    spread: FloatArray = np.where(count > 1, np.sqrt((distance**2).sum(axis=0) / np.maximum(count - 1, 1)), np.nan)
    return spread
