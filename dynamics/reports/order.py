"""The tables of learning orders: ranks, agreement between objectives, and crossings."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np

from dynamics.critical_time import critical_times
from dynamics.errors import ParameterError
from dynamics.features import Features
from dynamics.grid import Grid, Setting
from dynamics.learning_order import LearningOrder, crossovers, kendall_tau, order_features
from dynamics.reports.critical_time import elasticity_columns
from dynamics.reports.times import check_convention, convention_column, time_columns
from dynamics.status import words
from dynamics.table import Columns, Table, stacked


def order_table(features: Features, grid: Grid, *, time: str = "training", first: int | None = None) -> Table:
    """Every feature's place at every setting, first learned first: rank, certainty of the next gap, and elasticities.

    ``first`` keeps only so many features a setting; all are ranked all the same.
    """
    check_convention(time)
    tables = []
    for setting in grid.settings():
        order = _order(features, setting)
        columns = setting.columns(features) | time_columns(order.times, time)
        columns |= {"rank": order.rank, "next": words(order.certainty)} | elasticity_columns(features, setting)
        columns |= convention_column(time, len(features))
        tables.append(Table({name: np.asarray(column)[order.sequence[:first]] for name, column in columns.items()}))
    return stacked(tables)


def agreement_table(features: Features, grid: Grid) -> Table:
    """How far each pair of objectives agrees on the order, at every setting they share."""
    records = []
    names = list(dict.fromkeys(grid.objectives))
    for settings in zip(*(replace(grid, objectives=(name,)).settings() for name in names), strict=True):
        orders = [_order(features, setting) for setting in settings]
        for (one, first), (other, second) in combinations(zip(settings, orders, strict=True), 2):
            tau = kendall_tau(first, second)
            records.append(
                {
                    "objective": one.objective.name,
                    "other_objective": other.objective.name,
                    "depth": one.objective.depth,
                    "predictor_depth": one.objective.predictor_depth,
                    "epsilon": one.epsilon,
                    "fraction": one.fraction,
                    "features": len(features),
                    "kendall_tau": "undefined" if tau is None else tau,
                    "certified_pairs": _count(first, "certified"),
                    "ties": _count(first, "tie"),
                    "other_certified_pairs": _count(second, "certified"),
                    "other_ties": _count(second, "tie"),
                }
            )
    if not records:
        raise ParameterError("objective", ", ".join(grid.objectives), "two different objectives to compare their orders")
    return Table({name: [record[name] for record in records] for name in records[0]})


def agreement_notes(features: Features, grid: Grid) -> list[str]:
    """One sentence a pair of objectives and setting: how far they agree and how much of each order is certified."""
    if len(set(grid.objectives)) < 2:
        return []
    return [
        f"Kendall tau between {row['objective']} and {row['other_objective']}: {_rounded(row['kendall_tau'])}"
        f" (depth {row['depth']}, predictor depth {row['predictor_depth']}, epsilon {row['epsilon']:g},"
        f" fraction {row['fraction']:g});"
        f" certified neighbours {row['certified_pairs']} and {row['other_certified_pairs']} of {row['features'] - 1},"
        f" ties {row['ties']} and {row['other_ties']}."
        for row in agreement_table(features, grid).records()
    ]


def crossing_table(features: Features, grid: Grid, first: str, second: str) -> Table:
    """The starts at which two features trade places at every setting; one row a crossing, none where there is none."""
    pair = [_single(features, name) for name in (first, second)]
    names = ("objective", "depth", "predictor_depth", "fraction", "feature", "other_feature", "crossing_epsilon", "first_below")
    columns: Columns = {name: [] for name in names}
    for setting in replace(grid, epsilons=(1.0,)).settings():
        objective = setting.objective
        for epsilon in crossovers(objective, *pair, fraction=setting.fraction).tolist():
            below = [critical_times(objective, one, epsilon=0.99 * epsilon, fraction=setting.fraction) for one in pair]
            leader = first if below[0].log10_time[0] < below[1].log10_time[0] else second
            row = (objective.name, objective.depth, objective.predictor_depth, setting.fraction, first, second, epsilon, leader)
            for name, value in zip(names, row, strict=True):
                columns[name].append(value)
    return Table(columns)


def _order(features: Features, setting: Setting) -> LearningOrder:
    return order_features(setting.objective, features, epsilon=setting.epsilon, fraction=setting.fraction)


def _rounded(tau: object) -> str:
    return f"{tau:.4f}" if isinstance(tau, float) else str(tau)


def _count(order: LearningOrder, word: str) -> int:
    return int(np.count_nonzero(words(order.certainty) == word))


def _single(features: Features, name: str) -> Features:
    labels = features.labels()
    if name not in labels:
        raise ParameterError(
            "pair", name, f"the name of a feature: {', '.join(labels[:8])}{', ...' if len(labels) > 8 else ''}"
        )
    return features[[labels.index(name)]]
