"""The tables of simulated networks: times and amplitudes beside the predicted ones, and curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from dynamics.ensemble import Ensemble
from dynamics.features import Features
from dynamics.network.outcome import Outcome
from dynamics.network.population import Data
from dynamics.reports.conditions import regime_columns, training_columns
from dynamics.reports.features import distances
from dynamics.reports.times import in_convention
from dynamics.simulation import Experiment, Simulation
from dynamics.status import remarks
from dynamics.table import Columns, Table, stacked
from dynamics.trajectory import amplitude


def summary_table(runs: Sequence[Simulation], *, time: str = "training") -> Table:
    """Each feature's simulated critical time and final amplitude beside the predicted ones.

    Runs of one setting with different seeds become one row a feature: means, standard deviations and how many were reached.
    """
    tables, groups = [], list(_settings(runs))
    single = all(len(group) == 1 for group in groups)
    for group in groups:
        result = group[0] if single else Ensemble(group)
        experiment = group[0].experiment
        columns = result.columns() | _conditions(experiment, len(experiment.features))
        told = in_convention(columns, experiment.objective.depth, time)
        tables.append(Table({name: column[: experiment.first] for name, column in told.items()}))
    return stacked(tables)


def curves_table(runs: Sequence[Simulation], *, time: str = "training") -> Table:
    """What was seen on the way, one row a run, feature and time.

    ``singular_value`` and ``predictor_eigenvalue`` are in descending order, not the feature's own; ``off_diagonal``,
    ``imbalance`` and ``loss`` are the network's. ``predicted_amplitude`` is the exact curve, under plain training.
    """
    return stacked([Table(in_convention(_curves(run), run.experiment.objective.depth, time)) for run in runs])


def source_remarks(source: Features | Data) -> list[str]:
    """How far data are from the theory; nothing of features."""
    return distances(source.basis) if isinstance(source, Data) else []


def status_remarks(table: Table) -> list[str]:
    """What the status words in a table mean, predicted and simulated."""
    return remarks(word for name in ("status", "simulated_status") for word in table.columns.get(name, ()))


def run_remarks(runs: Sequence[Simulation], *, asked: int) -> list[str]:
    """What a reader should know beside the tables: how runs ended, what mixed, how well the order was predicted."""
    told: dict[str, dict[str, None]] = {}
    for run in runs:
        for text in run.remarks():
            told.setdefault(text, {})[_name(run)] = None
    settings = len({_name(run) for run in runs})
    found = [text if len(names) == settings else f"{'; '.join(names)}: {text}" for text, names in told.items()]
    if len(runs) < asked:
        found.append(f"{len(runs)} of {asked} runs finished before the interruption; the others are not counted.")
    return found + [text for group in _settings(runs) for text in _agreement(group)]


def finished_well(runs: Sequence[Simulation]) -> bool:
    """Whether every run went to its end."""
    return all(run.ending.outcome is Outcome.COMPLETED for run in runs)


def _settings(runs: Sequence[Simulation]) -> Iterator[list[Simulation]]:
    """The runs of each setting, which differ by their seeds."""
    return (
        list(group)
        for _, group in groupby(
            runs, key=lambda run: (run.experiment.objective, run.experiment.epsilon, run.experiment.fraction)
        )
    )


def _name(run: Simulation) -> str:
    objective, epsilon = run.experiment.objective, run.experiment.epsilon
    return f"{objective.name} at depth {objective.depth}, predictor depth {objective.predictor_depth}, epsilon {epsilon:g}"


def _curves(run: Simulation) -> Columns:
    experiment, curves = run.experiment, run.curves
    features = experiment.features[: experiment.first]
    points = len(curves.time)
    rows = {name: np.repeat(np.asarray(column), points) for name, column in experiment.setting.columns(features).items()}
    count = len(features)
    columns: Columns = {"run": np.full(count * points, experiment.seed)} | rows | {"time": np.tile(curves.time, count)}
    if experiment.regime.plain:
        exact = amplitude(experiment.objective, features, epsilon=experiment.epsilon, time=curves.time)
        columns["predicted_amplitude"] = exact.ravel()
    for name in ("amplitude", "norm", "singular_value", "predictor_eigenvalue"):
        columns[name] = getattr(curves, name)[:count].ravel()
    for name in ("off_diagonal", "imbalance", "loss"):
        columns[name] = np.tile(getattr(curves, name), count)
    return columns | _conditions(experiment, count * points)


def _conditions(experiment: Experiment, count: int) -> Columns:
    return training_columns(experiment.start, experiment.training, count) | regime_columns(experiment.regime, count)


def _agreement(group: Sequence[Simulation]) -> list[str]:
    """How well the predicted order fits the simulated one."""
    found = [(value, count) for value, count in map(_spearman, group) if count > 2]
    if not found:
        return []
    values, counts = np.array(found).T
    told = f"{values[0]:.4g}" if len(values) == 1 else f"{values.mean():.3f} (sd {values.std(ddof=1):.3f}, {len(values)} runs)"
    fewest, most = int(counts.min()), int(counts.max())
    learned = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return [
        f"{_name(group[0])}: Spearman correlation of predicted and simulated times {told}, over {learned} features that reach"
        " their threshold after the start."
    ]


def _spearman(run: Simulation) -> tuple[float, int]:
    """Rank correlation over the shown features that have both times, and how many they are."""
    from scipy.stats import spearmanr

    shown = slice(run.experiment.first)
    predicted, simulated = run.experiment.predicted.time[shown], run.time[shown]
    both = np.isfinite(predicted) & np.isfinite(simulated) & (predicted > 0.0)
    if both.sum() < 3 or np.ptp(predicted[both]) == 0.0 or np.ptp(simulated[both]) == 0.0:
        return np.nan, 0
    return float(spearmanr(predicted[both], simulated[both]).statistic), int(both.sum())
