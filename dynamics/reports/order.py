"""The tables of learning orders: ranks, agreement between objectives, and crossings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, cycle

import numpy as np

from dynamics.errors import ParameterError
from dynamics.features import Features
from dynamics.grid import Grid, Setting
from dynamics.learning_order import SMALLEST_EPSILON, Certainty, LearningOrder, crossovers, kendall_tau, order_features
from dynamics.reports.critical_time import elasticity_columns
from dynamics.reports.times import check_convention, in_convention
from dynamics.table import Columns, Table, stacked


@dataclass(frozen=True, eq=False)
class OrderReport:
    """The learning orders of all features at every setting of a grid, computed once."""

    features: Features
    grid: Grid

    @cached_property
    def orders(self) -> dict[Setting, LearningOrder]:
        """The order at each setting."""
        return {
            setting: order_features(setting.objective, self.features, epsilon=setting.epsilon, fraction=setting.fraction)
            for setting in self.grid.settings()
        }

    def ranks(self, *, time: str = "training", first: int | None = None) -> Table:
        """Every feature's place at every setting, first learned first: rank, certainty of the next gap, and elasticities.

        ``first`` keeps only so many features a setting; all are ranked all the same.
        """
        check_convention(time)
        tables = []
        for setting, order in self.orders.items():
            columns = order.columns() | elasticity_columns(self.features, setting, order.times)
            columns = in_convention(columns, setting.objective.depth, time)
            tables.append(Table({name: np.asarray(column)[order.sequence[:first]] for name, column in columns.items()}))
        return stacked(tables)

    def agreement(self) -> Table:
        """How far each pair of objectives agrees on the order, at every setting they share.

        Raises
        ------
        ParameterError
            If the grid has a single objective.
        """
        if len(set(self.grid.objectives)) < 2:
            raise ParameterError("objective", ", ".join(self.grid.objectives), "two different ones, to compare their orders")
        records = [self._agreement_of(*pair) for pair in self._pairs()]
        return Table({name: [record[name] for record in records] for name in records[0]})

    def remarks(self) -> list[str]:
        """The agreement in sentences, one a pair of objectives and setting; none for a single objective."""
        if len(set(self.grid.objectives)) < 2:
            return []
        return [
            f"Kendall tau between {row['objective']} and {row['other_objective']}: {_rounded(row['kendall_tau'])} at depth"
            f" {row['depth']}, predictor depth {row['predictor_depth']}, epsilon {row['epsilon']:g}, fraction"
            f" {row['fraction']:g}. Of {row['features'] - 1} neighbouring pairs, {row['objective']} has"
            f" {row['certified_pairs']} certified and {row['ties']} tied, {row['other_objective']}"
            f" {row['other_certified_pairs']} certified and {row['other_ties']} tied."
            for row in self.agreement().records()
        ]

    def _pairs(self) -> Iterator[tuple[Setting, Setting]]:
        names = dict.fromkeys(self.grid.objectives)
        for alike in zip(*(replace(self.grid, objectives=(name,)).settings() for name in names), strict=True):
            yield from combinations(alike, 2)

    def _agreement_of(self, one: Setting, other: Setting) -> Columns:
        first, second = self.orders[one], self.orders[other]
        tau = kendall_tau(first, second)
        return {
            "objective": one.objective.name,
            "other_objective": other.objective.name,
            "depth": one.objective.depth,
            "predictor_depth": one.objective.predictor_depth,
            "epsilon": one.epsilon,
            "fraction": one.fraction,
            "features": len(self.features),
            "kendall_tau": "undefined" if tau is None else tau,
            "certified_pairs": _count(first, Certainty.CERTIFIED),
            "ties": _count(first, Certainty.TIE),
            "other_certified_pairs": _count(second, Certainty.CERTIFIED),
            "other_ties": _count(second, Certainty.TIE),
        }


def crossing_table(features: Features, grid: Grid, first: str, second: str) -> Table:
    """The starts at which two features trade places at every setting; one row a crossing, none where there is none."""
    if first == second:
        raise ParameterError("pair", f"{first} {second}", "two different features")
    pair = _single(features, first).joined(_single(features, second))
    names = ("objective", "depth", "predictor_depth", "fraction", "feature", "other_feature", "crossing_epsilon", "first_below")
    columns: Columns = {name: [] for name in names}
    for setting in replace(grid, epsilons=(SMALLEST_EPSILON,)).settings():
        objective = setting.objective
        # They trade places at each crossing, so who is first below the lowest, certified, tells the rest.
        leaders = cycle((first, second) if _leader(setting, pair) == 0 else (second, first))
        found = crossovers(objective, pair[:1], pair[1:], fraction=setting.fraction).tolist()
        for epsilon, leader in zip(found, leaders, strict=False):
            row = (objective.name, objective.depth, objective.predictor_depth, setting.fraction, first, second, epsilon, leader)
            for name, value in zip(names, row, strict=True):
                columns[name].append(value)
    return Table(columns)


def crossing_remarks(features: Features, grid: Grid, first: str, second: str, crossings: Table) -> list[str]:
    """Who is first at the settings that have no crossing; one sentence a setting."""
    pair = _single(features, first).joined(_single(features, second))
    found = set(zip(*(crossings.columns[name] for name in ("objective", "depth", "predictor_depth", "fraction")), strict=True))
    remarks = []
    for setting in replace(grid, epsilons=(SMALLEST_EPSILON,)).settings():
        objective = setting.objective
        if (objective.name, objective.depth, objective.predictor_depth, setting.fraction) in found:
            continue
        place = _leader(setting, pair)
        leader = "neither" if place is None else (first, second)[place]
        remarks.append(
            f"No crossing under {objective.name} at depth {objective.depth}, predictor depth {objective.predictor_depth},"
            f" fraction {setting.fraction:g}: {leader} is first wherever both start below their thresholds."
        )
    return remarks


def _leader(setting: Setting, pair: Features) -> int | None:
    """Which of two features is certified to be first, if one is."""
    order = order_features(setting.objective, pair, epsilon=setting.epsilon, fraction=setting.fraction)
    first = int(order.sequence[0])
    return first if order.certainty[first] is Certainty.CERTIFIED else None


def _rounded(tau: object) -> str:
    return f"{tau:.4f}" if isinstance(tau, float) else str(tau)


def _count(order: LearningOrder, certainty: Certainty) -> int:
    return int(np.count_nonzero(order.certainty == certainty))


def _single(features: Features, name: str) -> Features:
    labels = features.labels()
    if name not in labels:
        raise ParameterError(
            "pair", name, f"the name of a feature: {', '.join(labels[:8])}{', ...' if len(labels) > 8 else ''}"
        )
    return features[[labels.index(name)]]
