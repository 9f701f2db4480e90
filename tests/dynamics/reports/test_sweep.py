"""What is said of a sweep: the axes, what became of the cells, and what to do next."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynamics.reports.sweep import axes_remarks, failure_remarks, plan_table, status_table, tally_remarks
from dynamics.sweep import Failure, Store, StoreError, Sweep, Tally, WriteError, sweep_of
from dynamics.table import Table


def planned(**more: Any) -> Sweep:
    axes = {"depth": {"from": 1, "to": 20}, "teacher_rate": ["none", 0.1]}
    return sweep_of({"command": "critical-time", "axes": axes, "sources": {"a": {"lambda": [1.0], "rho": [0.5]}}} | more)


def row(table: Table) -> dict[str, int]:
    return {name: int(column[0]) for name, column in table.columns.items()}


def test_axes_are_told_with_their_values_and_long_ones_with_their_ends() -> None:
    assert axes_remarks(planned()) == [
        "critical-time, one row a feature: all observables.",
        "depth (20): 1, 2, 3, 4, ..., 20.",
        "teacher_rate (2): none, 0.1.",
    ]


def test_a_plan_counts_what_a_store_has_and_refuses_what_a_run_would(tmp_path: Path) -> None:
    sweep, store = planned(), Store(tmp_path / "store")
    assert row(plan_table(sweep, None)) == {"cells": 40, "finished": 0, "failed": 0, "missing": 40}
    assert row(plan_table(sweep, store))["missing"] == 40
    assert not store.path.exists()
    store.opened(sweep)
    cell = next(sweep.cells())
    store.keep(cell.key, Table({"feature": np.array(["1"])}), sweep.resolved(cell))
    assert row(plan_table(sweep, store)) == {"cells": 40, "finished": 1, "failed": 0, "missing": 39}
    other = planned(axes={"depth": [1, 2]})
    with pytest.raises(StoreError, match=r"which has 1 of the 2 cells"):
        plan_table(other, store)
    assert row(plan_table(other, store, extend=True))["finished"] == 1


def test_failures_are_told_once_with_a_cell_that_has_them(tmp_path: Path) -> None:
    sweep = planned()
    store = Store(tmp_path).opened(sweep)
    for cell, message in zip(sweep.cells(), ["bad", "bad", "worse"], strict=False):
        store.keep_failure(cell.key, Failure("ValueError", message), sweep.resolved(cell))
    told = failure_remarks(store)
    assert told[:2] == [
        "2 failed, such as depth 1, teacher_rate none: bad",
        "1 failed, such as depth 2, teacher_rate none: worse",
    ]
    assert told[2].endswith("--retry-failed computes them again, once the reason is gone.")


def test_a_summary_says_how_many_when_and_what_to_know(tmp_path: Path) -> None:
    store = Store(tmp_path).opened(planned())
    remarks = Counter({"Nothing is random.": 3, "Beyond 0.5 it is unstable.": 2})
    told = tally_remarks(Tally(40, before=10, done=20, elsewhere=5, seconds=7.0, remarks=remarks), store, 4.0)
    assert told == [
        "35 of 40 cells are finished (10 before, 20 now, 5 meanwhile by other processes) in 4 s, 7 s of computing.",
        "3 of 20 cells: Nothing is random.",
        "2 of 20 cells, with numbers of the first: Beyond 0.5 it is unstable.",
        f"lindyn sweep-table {store.path} gathers them.",
    ]
    assert tally_remarks(Tally(40, interrupted=True), store, 1.0)[0].startswith("Interrupted; what is finished stays")


def test_a_store_that_must_not_be_locked_has_a_status_without_what_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path).opened(planned())
    assert row(status_table(store))["taken"] == 0

    def refused(self: Store) -> None:
        raise WriteError("read-only")

    monkeypatch.setattr(Store, "claims", refused)
    assert "taken" not in row(status_table(store))
