"""Runs as one row each: how much was learned, in which order, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics.comparison import Simulation
from dynamics.features import FloatArray
from dynamics.multiview.simulation import ModeRun
from dynamics.reports.conditions import regime_columns, training_columns
from dynamics.reports.times import in_convention
from dynamics.table import Columns, Table, anything, known


def network_run(run: Simulation, *, time: str = "training") -> Table:
    """One row: a network after its run, over the features that are shown (`Experiment.first`).

    ``predicted`` counts the features that theory has learned by the end of the run, ``learned`` those that the run learned, and
    ``already_reached`` those that start above their thresholds: these are in both, but in nothing that is about the order.
    ``order_correlation`` is Spearman's, over features with both times; ``pairs_in_order`` as for `pairs_in_order`;
    ``median_ratio`` of simulated over predicted times.
    """
    experiment, shown = run.experiment, slice(run.experiment.first)
    predicted, simulated, ratio = experiment.predicted.time[shown], run.time[shown], run.ratio[shown]
    labels = experiment.features.labels()[shown]
    setting = experiment.setting.columns(experiment.features[:1])
    for name in ("feature", "lambda", "rho", "sigma"):
        del setting[name]
    curves, ahead = run.curves, predicted > 0.0
    order = predicted[ahead], simulated[ahead]
    names = [label for label, counts in zip(labels, ahead, strict=True) if counts]
    told: Columns = setting | _row(
        seed=experiment.seed,
        features=len(predicted),
        predicted=int((predicted <= experiment.horizon).sum()),
        learned=int(np.isfinite(simulated).sum()),
        already_reached=int((~ahead).sum()),
        order_correlation=_spearman(*order),
        pairs_in_order=pairs_in_order(*order, experiment.horizon),
        first_feature=_first(names, order[1]),
        predicted_first=_first(names, order[0]),
        median_ratio=_median(ratio),
        end_time=float(curves.time[-1]),
        final_loss=float(curves.loss[-1]),
        off_diagonal=float(curves.off_diagonal[-1]),
        polar_off_diagonal=float(curves.polar_off_diagonal[-1]),
        imbalance=float(curves.imbalance[-1]),
        outcome=run.ending.outcome.value,
    )
    told |= training_columns(experiment.start, experiment.training, 1) | regime_columns(experiment.regime, 1)
    return Table(in_convention(told, experiment.objective.depth, time))


def mode_run(run: ModeRun) -> Table:
    """One row: the matrices of a loss after their run; columns as for `network_run` and `ModeRun.columns`."""
    predicted = np.full_like(run.time, np.nan) if run.predicted is None else run.predicted.time
    simulated = np.where(np.isnan(run.time), np.inf, run.time)
    ahead = ~(predicted == 0.0)
    curves, end = run.curves, float(run.curves.time[-1])
    settings: Columns = {name: np.array([value]) for name, value in run.settings.items()}
    return Table(
        settings
        | _row(
            features=len(simulated),
            predicted=int((predicted <= end).sum()),
            learned=int(np.isfinite(simulated).sum()),
            pairs_in_order=pairs_in_order(predicted[ahead], simulated[ahead], end),
            median_ratio=_median(np.array([np.nan if ratio is None else ratio for ratio in run.columns()["ratio"]])),
            effective_rank=float(curves.effective_rank[-1]),
            redundancy=float(curves.redundancy[-1]),
            final_loss=float(curves.loss[-1]),
            end_time=end,
            diverged=run.diverged,
        )
    )


def steps_columns(run: Simulation) -> Columns:
    """Steps of gradient descent to each critical time, predicted and taken; nothing where training counts no flow time.

    The prediction is to first order in the learning rate: the time of the flow over the time that a step counts for.
    """
    training, shown = run.experiment.training, slice(run.experiment.first)
    if training is None or not training.has_flow_time:
        return {}
    step = training.time_step
    predicted, simulated = run.experiment.predicted.time[shown] / step, run.time[shown] / step
    return {"predicted_steps": known(predicted), "simulated_steps": known(simulated)}


def pairs_in_order(predicted: FloatArray, simulated: FloatArray, end: float = np.inf) -> float:
    """Share of the pairs that theory orders which a run learned in that order; nan where there are none.

    Counted are pairs with different predicted times of which theory has one at least learned by the ``end`` of the run; kept is
    the order of a pair whose first was learned, and before the other if that was learned at all. So features that a run does
    not learn count against the theory, unlike in a correlation.
    """
    first, second = np.triu_indices(len(predicted), 1)
    earlier, later = predicted[first] < predicted[second], predicted[first] > predicted[second]
    counted = (earlier & (predicted[first] <= end)) | (later & (predicted[second] <= end))
    kept = (earlier & (simulated[first] < simulated[second])) | (later & (simulated[second] < simulated[first]))
    return float((counted & kept).sum() / counted.sum()) if counted.any() else float("nan")


def _spearman(predicted: FloatArray, simulated: FloatArray) -> float:
    """Rank correlation over features that have both times; nan where fewer than two have, or all are alike."""
    from scipy.stats import spearmanr

    both = np.isfinite(predicted) & np.isfinite(simulated)
    if both.sum() < 2 or np.ptp(predicted[both]) == 0.0 or np.ptp(simulated[both]) == 0.0:
        return float("nan")
    return round(float(spearmanr(predicted[both], simulated[both]).statistic), 12)  # 1 for the same order, not 1 - 1e-16


def _first(labels: Sequence[str], time: FloatArray) -> str | None:
    """The feature that is learned first; None where none is."""
    return labels[int(np.argmin(time))] if np.isfinite(time).any() else None


def _median(ratio: FloatArray) -> float:
    finite = ratio[np.isfinite(ratio)]
    return float(np.median(finite)) if finite.size else float("nan")


def _row(**values: Any) -> Columns:
    """One row, with an empty cell for nan and None."""
    return {name: _cell(value) for name, value in values.items()}


def _cell(value: Any) -> NDArray[Any]:
    if isinstance(value, float):
        return known(np.array([value]))
    return anything([None]) if value is None else np.array([value])
