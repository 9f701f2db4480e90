"""The tables of simulated networks: times and amplitudes beside the predicted ones, and curves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dynamics.comparison import Simulation
from dynamics.ensemble import Ensemble, seeds
from dynamics.features import Features
from dynamics.grid import Setting
from dynamics.network.outcome import Outcome
from dynamics.network.population import Data, population_of
from dynamics.reports.conditions import regime_columns, regime_remarks, training_columns
from dynamics.reports.features import distances
from dynamics.reports.times import in_convention, in_training
from dynamics.simulation import Experiment
from dynamics.status import remarks
from dynamics.table import Columns, Table, stacked
from dynamics.trajectory import amplitude

IntArray = npt.NDArray[np.int_]

NAMED = 8
"""Seeds named in a remark, at most."""


def experiments(
    settings: Iterable[Setting], source: Features | Data, *, runs: int = 1, time: str = "training", **how: Any
) -> list[Experiment]:
    """One experiment a setting and seed, all on one source; ``how`` as for `Experiment`, but ``until`` in the convention."""
    population, until = population_of(source), how.pop("until", None)
    return [
        experiment
        for setting in settings
        for experiment in seeds(Experiment.of(setting, population, until=in_training(until, setting, time), **how), runs)
    ]


def summary_table(runs: Sequence[Simulation], *, time: str = "training") -> Table:
    """Each feature's simulated critical time and final amplitude beside the predicted ones.

    Runs of one setting with different seeds become one row a feature: means, standard deviations and how many were reached.
    """
    tables, groups = [], _settings(runs)
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
    ``polar_off_diagonal``, ``imbalance`` and ``loss`` are the network's. ``predicted_amplitude`` is the exact curve, where
    training is plain and in the time of the flow.
    """
    return stacked([Table(in_convention(_curves(run), run.experiment.objective.depth, time)) for run in runs])


def simulation_remarks(source: Features | Data, runs: Sequence[Simulation], *, asked: int, table: Table) -> list[str]:
    """What a reader should know beside the tables: of the source, of the runs, and of the status words in the summary."""
    distance = distances(source.basis) if isinstance(source, Data) else []
    words = [word for name in ("status", "simulated_status") for word in table.columns.get(name, ())]
    return [*distance, *run_remarks(runs, asked=asked), *remarks(words)]


def run_remarks(runs: Sequence[Simulation], *, asked: int) -> list[str]:
    """What a reader should know beside the tables: how runs ended, what mixed, how well the order was predicted."""
    single = asked <= len(_settings(runs))
    found = _once([(_name(run), run.remarks() if single else run.cautions()) for run in runs])
    if not single:
        found = [*_endings(runs), *found]
    if len(runs) < asked:
        found.append(f"{len(runs)} of {asked} runs finished before the interruption; the others are not counted.")
    first = runs[0].experiment
    if not single:
        found += _of_seeds(runs)
    return [
        *found,
        *regime_remarks(first.regime, [run.experiment.objective for run in runs]),
        *(text for group in _settings(runs) for text in _agreement(group)),
    ]


def finished_well(runs: Sequence[Simulation]) -> bool:
    """Whether every run went to its end."""
    return all(run.ending.outcome is Outcome.COMPLETED for run in runs)


def _endings(runs: Sequence[Simulation]) -> list[str]:
    """How runs ended that did not go to their end, once an outcome."""
    failed = [run for run in runs if run.ending.outcome is not Outcome.COMPLETED]
    found = []
    for outcome in dict.fromkeys(run.ending.outcome for run in failed):
        seeds = [run.experiment.seed for run in failed if run.ending.outcome is outcome]
        named = ", ".join(map(str, sorted(set(seeds))[:NAMED])) + (", ..." if len(set(seeds)) > NAMED else "")
        found.append(f"{outcome.value}: {len(seeds)} of {len(runs)} runs (seeds {named}). {outcome.message}")
    return found


def _of_seeds(runs: Sequence[Simulation]) -> list[str]:
    """What to know of means over seeds."""
    experiment = runs[0].experiment
    batches = experiment.training is not None and experiment.training.batch is not None
    if isinstance(experiment.start, str) and experiment.start == "balanced" and not batches:
        return ["A balanced start and exact moments have nothing random: all runs are the same. Add start or batch."]
    if all(np.isfinite(run.time[run.experiment.predicted.asymptote != 0.0]).all() for run in runs):
        return []
    return [
        "Times, ratios and their standard deviations are over the runs in which a feature was learned, as many as reached says;"
        " where that is less than runs, the others would have come later, or never."
    ]


def _once(remarks: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Each text once, after the names of those of whom it is told where it is not told of all."""
    told: dict[str, dict[str, None]] = {}
    for name, texts in remarks:
        for text in texts:
            told.setdefault(text, {})[name] = None
    everyone = len({name for name, _ in remarks})
    return [text if len(names) == everyone else f"{'; '.join(names)}: {text}" for text, names in told.items()]


def _settings(runs: Sequence[Simulation]) -> list[list[Simulation]]:
    """The runs of each setting, which differ by their seeds."""
    groups: dict[tuple[object, ...], list[Simulation]] = {}
    for run in runs:
        groups.setdefault(_setting(run.experiment), []).append(run)
    return list(groups.values())


def _setting(experiment: Experiment) -> tuple[object, ...]:
    """All that tells an experiment from others, but for its source and its seed."""
    start = experiment.start if isinstance(experiment.start, str) else np.asarray(experiment.start).tobytes()
    regime = tuple(vars(experiment.regime).items())
    length = (experiment.until, experiment.first, experiment.points)
    return (experiment.objective, experiment.epsilon, experiment.fraction, start, regime, experiment.training, *length)


def _name(run: Simulation) -> str:
    setting, objective = run.experiment.setting, run.experiment.objective
    return (
        f"{objective.name} at depth {objective.depth}, predictor depth {objective.predictor_depth}, epsilon"
        f" {setting.epsilon:g}, fraction {setting.fraction:g}"
    )


def _curves(run: Simulation) -> Columns:
    experiment, curves = run.experiment, run.curves
    features = experiment.features[: experiment.first]
    points = len(curves.time)
    rows = {name: np.repeat(np.asarray(column), points) for name, column in experiment.setting.columns(features).items()}
    count = len(features)
    columns: Columns = {"run": np.full(count * points, experiment.seed)} | rows | {"time": np.tile(curves.time, count)}
    if experiment.regime.plain and (experiment.training is None or experiment.training.has_flow_time):
        exact = amplitude(experiment.objective, features, epsilon=experiment.epsilon, time=curves.time)
        columns["predicted_amplitude"] = exact.ravel()
    for name in ("amplitude", "polar_amplitude", "norm", "singular_value", "predictor_eigenvalue"):
        columns[name] = getattr(curves, name)[:count].ravel()
    for name in ("off_diagonal", "polar_off_diagonal", "imbalance", "loss"):
        columns[name] = np.tile(getattr(curves, name), count)
    return columns | _conditions(experiment, count * points)


def _conditions(experiment: Experiment, count: int) -> Columns:
    return training_columns(experiment.start, experiment.training, count) | regime_columns(experiment.regime, count)


def _agreement(group: Sequence[Simulation]) -> list[str]:
    """How well the predicted order fits the simulated one, and over which features."""
    orders = [order for order in map(_order, group) if order]
    if not orders:
        return []
    values, counts, missing = (np.array(column) for column in zip(*orders, strict=True))
    told = f"{values[0]:.4g}" if len(values) == 1 else f"{values.mean():.3f} (sd {values.std(ddof=1):.3f}, {len(values)} runs)"
    late = f"; {_range(missing)} that were predicted to do so within the run do not" if missing.any() else ""
    return [
        f"{_name(group[0])}: Spearman correlation of predicted and simulated times {told}, over {_range(counts)} features that"
        f" reach their threshold after the start{late}."
    ]


def _range(counts: IntArray) -> str:
    return f"{counts.min()}" if np.ptp(counts) == 0 else f"{counts.min()} to {counts.max()}"


def _order(run: Simulation) -> tuple[float, int, int] | None:
    """Rank correlation over the shown features that have both times, how many they are, and how many were expected besides."""
    from scipy.stats import spearmanr

    shown = slice(run.experiment.first)
    predicted, simulated = run.experiment.predicted.time[shown], run.time[shown]
    both = np.isfinite(predicted) & np.isfinite(simulated) & (predicted > 0.0)
    if both.sum() < 3 or np.ptp(predicted[both]) == 0.0 or np.ptp(simulated[both]) == 0.0:
        return None
    missing = np.isinf(simulated) & (predicted <= run.experiment.horizon)
    return float(spearmanr(predicted[both], simulated[both]).statistic), int(both.sum()), int(missing.sum())
