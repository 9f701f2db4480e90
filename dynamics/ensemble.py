"""Many runs side by side on all cores, and their means and spreads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from os import cpu_count
from typing import Any

import numpy as np
import numpy.typing as npt

from dynamics.checks import whole_number
from dynamics.features import FloatArray
from dynamics.network.outcome import Outcome
from dynamics.simulation import Experiment, Simulation
from dynamics.table import Columns, Tabular, cells
from dynamics.workers import WorkerError, processes, stop, submitted

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

    Ctrl-C ends the runs: one in this process is returned as far as it came, those in other processes are not.

    Raises
    ------
    ParameterError
        If ``workers`` is not a whole number, at least 1.
    WorkerError
        If a process is killed.
    """
    few = len(experiments) <= FEW
    count = whole_number("workers", workers, 1) if workers is not None else 1 if few else cpu_count() or 1
    if count == 1 or not experiments:
        return _one_by_one(experiments, done, watch)
    return _side_by_side(experiments, min(count, len(experiments)), done)


def _one_by_one(
    experiments: Sequence[Experiment], done: Callable[[Simulation], None], watch: Callable[[float], None]
) -> list[Simulation]:
    finished: list[Simulation] = []
    for experiment in experiments:
        finished.append(experiment.run(watch))
        done(finished[-1])
        if finished[-1].ending.outcome is Outcome.INTERRUPTED:
            break
    return finished


def _side_by_side(experiments: Sequence[Experiment], count: int, done: Callable[[Simulation], None]) -> list[Simulation]:
    finished: dict[Future[Simulation], Simulation] = {}
    with processes(count) as pool:
        answers = submitted(pool, _run, [experiment.light() for experiment in experiments])
        try:
            for answer in as_completed(answers):
                finished[answer] = answer.result()
                done(finished[answer])
        except BrokenProcessPool:
            raise WorkerError("A process that trained networks was killed; run again, perhaps with fewer workers.") from None
        except KeyboardInterrupt:
            stop(pool)
    return [finished[answer] for answer in answers if answer in finished]


def _run(experiment: Experiment) -> Simulation:
    return experiment.run()


@dataclass(frozen=True, eq=False)
class Ensemble(Tabular):
    """Runs of one setting with different seeds: means and spreads over those in which a feature was learned.

    Attributes
    ----------
    runs
        At least one, all of one objective, start and source.
    """

    runs: Sequence[Simulation]

    def columns(self) -> Columns:
        """The columns of a run, with means in place of its numbers, standard deviations, and how many runs count."""
        told = self.runs[0].columns()
        beside = {name: told.pop(name) for name in ("asymptote", "critical_time", "status")}
        for name in ("final_amplitude", "simulated_time", "ratio", "simulated_status"):
            del told[name]
        amplitude, time, ratio = (
            np.stack([getattr(run, name) for run in self.runs]) for name in ("amplitude", "time", "ratio")
        )
        reached = np.isfinite(time)
        time = np.where(reached, time, np.nan)
        return told | {
            "asymptote": beside["asymptote"],
            "final_amplitude": amplitude.mean(axis=0),
            "final_amplitude_sd": _spread(amplitude),
            "critical_time": beside["critical_time"],
            "simulated_time": _mean(time),
            "simulated_time_sd": _spread(time),
            "ratio": _mean(ratio),
            "status": beside["status"],
            "reached": reached.sum(axis=0),
            "runs": np.full(len(beside["status"]), len(self.runs)),
        }


def _mean(values: FloatArray) -> npt.NDArray[Any]:
    """Over the runs that have a value; an empty cell where none has."""
    return cells([column[np.isfinite(column)].mean() if np.isfinite(column).any() else None for column in values.T])


def _spread(values: FloatArray) -> npt.NDArray[Any]:
    """Standard deviation over the runs that have a value; an empty cell where fewer than two have."""
    return cells([column[np.isfinite(column)].std(ddof=1) if np.isfinite(column).sum() > 1 else None for column in values.T])
