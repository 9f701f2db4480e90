"""Gathering: one table of all finished cells, in the order of the grid, whatever each of them holds."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dynamics.reports.sweep import gathered_remarks
from dynamics.sweep import gathering
from dynamics.sweep.configuration import sweep_of
from dynamics.sweep.gathering import gathered
from dynamics.sweep.plan import Sweep
from dynamics.sweep.store import Store, StoreError
from dynamics.table import Table, anything

CELLS = 5


def planned(**more: Any) -> Sweep:
    axes = {"depth": {"from": 1, "to": CELLS}}
    return sweep_of({"command": "critical-time", "axes": axes, "sources": {"a": {"lambda": [1.0], "rho": [0.5]}}} | more)


def kept(store: Store, sweep: Sweep, tables: list[Table | None]) -> Store:
    for cell, table in zip(sweep.cells(), tables, strict=True):
        if table is not None:
            store.keep(cell.key, table, sweep.resolved(cell))
    return store


def one(time: float | None, **more: Any) -> Table:
    columns = {"feature": np.array(["1"]), "critical_time": anything([time])}
    return Table(columns | {name: anything([value]) for name, value in more.items()})


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path).opened(planned())


def frame(store: Store) -> pd.DataFrame:
    return gathered(store).head(10**6).to_dataframe()


def test_rows_come_in_the_order_of_the_grid_with_the_axes_first(store: Store) -> None:
    sweep = planned()
    kept(store, sweep, [one(float(depth)) for depth in range(1, CELLS + 1)])
    found = frame(store)
    assert found.columns.tolist() == ["depth", "feature", "critical_time"]
    assert found["depth"].tolist() == [1, 2, 3, 4, 5]
    assert found["critical_time"].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_missing_cells_are_left_out(store: Store) -> None:
    kept(store, planned(), [None, one(2.0), None, one(4.0), None])
    whole = gathered(store)
    assert (whole.finished, whole.rows) == (2, 2)
    assert frame(store)["depth"].tolist() == [2, 4]


def test_a_column_that_only_some_cells_have_is_empty_in_the_others(store: Store) -> None:
    kept(store, planned(), [one(1.0), one(2.0, steps=20.0), one(None), one(4.0, steps=None), one(5.0)])
    columns = gathered(store).head(10).columns
    assert columns["steps"].tolist() == [None, 20.0, None, None, None]
    assert columns["critical_time"].tolist() == [1.0, 2.0, None, 4.0, 5.0]


def test_cells_may_have_different_numbers_of_rows(store: Store) -> None:
    two = Table({"feature": np.array(["1", "2"]), "critical_time": np.array([1.0, np.inf])})
    kept(store, planned(), [two, one(2.0), two, None, None])
    assert frame(store)["depth"].tolist() == [1, 1, 2, 3, 3]
    assert frame(store)["critical_time"].tolist() == [1.0, np.inf, 2.0, 1.0, np.inf]


@pytest.mark.parametrize("part", [1, 2, 3, 500])
@pytest.mark.parametrize("table_format", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_every_format_holds_all_digits_whatever_the_parts(
    store: Store, part: int, table_format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = [0.1 + 0.2, np.inf, None, 1e-300, np.pi]
    kept(store, planned(), [one(time) for time in times])
    monkeypatch.setattr(gathering, "PART", part)
    stream = io.BytesIO()
    gathered(store).write(stream, table_format)
    stream.seek(0)
    if table_format == "parquet":
        found = pd.read_parquet(stream)["critical_time"].tolist()
    elif table_format in ("csv", "tsv"):
        separator = "\t" if table_format == "tsv" else ","
        found = pd.read_csv(stream, sep=separator)["critical_time"].tolist()
    else:
        text = stream.read().decode()
        records = json.loads(text) if table_format == "json" else [json.loads(line) for line in text.splitlines()]
        found = [float(record["critical_time"]) if record["critical_time"] is not None else None for record in records]
    assert [None if time is None or np.isnan(time) else time for time in found] == times


def test_text_does_not_depend_on_the_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(store, planned(), [one(1.0), one(None), one(3.0, steps=2.0), one(4.0), one(5.0)])
    texts = []
    for part in (1, 2, 500):
        monkeypatch.setattr(gathering, "PART", part)
        stream = io.BytesIO()
        gathered(store).write(stream, "csv")
        texts.append(stream.getvalue())
    assert texts[0] == texts[1] == texts[2]


def test_a_table_is_of_one_moment_although_cells_follow(store: Store) -> None:
    sweep = planned()
    kept(store, sweep, [one(1.0), None, None, None, None])
    whole = gathered(store)
    kept(store, sweep, [None, one(2.0, steps=1.0), None, None, None])
    assert (whole.finished, whole.rows, len(whole.head(10))) == (1, 1, 1)
    assert list(whole.head(10).columns) == ["depth", "feature", "critical_time"]
    assert gathered_remarks(whole) == [
        "4 of 5 cells are not in the table: 4 were not finished; the sweep computes them when it is run again."
    ]


def test_an_empty_store_is_an_empty_table(store: Store) -> None:
    whole = gathered(store)
    assert (whole.finished, whole.rows, len(whole.head(10))) == (0, 0, 0)
    for table_format in ("csv", "json", "jsonl", "parquet"):
        whole.write(io.BytesIO(), table_format)


def test_the_head_is_no_longer_than_it_must_be(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(store, planned(), [one(float(depth)) for depth in range(1, CELLS + 1)])
    monkeypatch.setattr(gathering, "PART", 2)
    whole = gathered(store)
    assert len(whole.head(3)) == 4
    assert whole.rows == 5


def test_observables_come_in_the_order_asked_for(tmp_path: Path) -> None:
    sweep = planned(observables=["status", "critical_time"])
    store = Store(tmp_path).opened(sweep)
    table = Table({"feature": np.array(["1"]), "critical_time": np.array([1.0]), "status": np.array(["reached"])})
    kept(store, sweep, [table] * CELLS)
    assert list(gathered(store).head(9).columns) == ["depth", "feature", "status", "critical_time"]


def test_an_axis_that_leaves_a_value_to_the_study_shows_what_it_took(tmp_path: Path) -> None:
    sizes = {"patches": 36, "global_size": 16, "local_size": 5}
    sweep = sweep_of({"command": "attention simulate", "settings": sizes, "axes": {"steps": ["none", 7]}})
    store = Store(tmp_path).opened(sweep)
    kept(store, sweep, [Table({"steps": np.array([steps])}) for steps in (900, 7)])
    assert gathered(store).head(9).columns["steps"].tolist() == [900, 7]


def test_a_damaged_cell_is_named_with_what_to_do(store: Store) -> None:
    kept(store, planned(), [one(1.0), None, None, None, None])
    path = store.table(next(planned().cells()).key)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(StoreError, match="is damaged; remove it and run the sweep again") as refusal:
        gathered(store)
    assert str(path.parent) in str(refusal.value)
