"""Stores: what is finished is not computed again, and belongs to one sweep."""

import json
import shutil
from pathlib import Path

import pytest
from numpy.testing import assert_allclose

from tests.cli.running import answered, complaint, exact_time, refused, run, strict
from tests.cli.sweeping import (
    FAILING,
    GRID,
    PAIR,
    QUICK_FAILING,
    TIMES,
    TOY,
    cells,
    complaint_of,
    counts,
    finished,
    swept,
    table,
    written,
)


def test_a_second_run_computes_only_what_is_missing(grid: tuple[Path, Path]) -> None:
    config, store = grid
    whole, expected = cells(store), answered("sweep-table", store, "--format", "csv").stdout
    assert finished(store) == 6
    assert swept(config, store).exit_code == 0
    assert cells(store) == whole
    gone = sorted((store / "cells").glob("*/*"))[2]
    shutil.rmtree(gone)
    assert counts("--status", store) == {"cells": 6, "finished": 5, "failed": 0, "missing": 1}
    missing = answered("sweep-table", store, "--format", "csv")
    assert "1 of 6 cells" in missing.stderr
    lines = expected.splitlines()
    part = missing.stdout.splitlines()
    assert len(part) == len(lines) - 2
    assert [line for line in lines if line in part] == part
    again = swept(config, store)
    assert again.exit_code == 0
    assert "1 now" in again.stderr
    after = cells(store)
    key = str(gone.relative_to(store))
    assert {name: seen for name, seen in after.items() if not name.startswith(key)} == {
        name: seen for name, seen in whole.items() if not name.startswith(key)
    }
    assert answered("sweep-table", store, "--format", "csv").stdout == expected


def test_a_limit_computes_so_many_and_the_rest_comes_later(tmp_path: Path) -> None:
    config, store = written(tmp_path, GRID), tmp_path / "store"
    swept(config, store, "--limit", 2)
    first = cells(store)
    assert finished(store) == 2
    assert counts("--status", store) == {"cells": 6, "finished": 2, "failed": 0, "missing": 4}
    swept(config, store, "--limit", 3)
    assert finished(store) == 5
    assert swept(config, store, "--limit", 3).exit_code == 0
    assert finished(store) == 6
    assert {name: cells(store)[name] for name in first} == first
    direct = tmp_path / "direct"
    assert swept(config, direct).exit_code == 0
    assert table(direct) == table(store)


def test_a_dry_run_counts_and_leaves_no_trace(tmp_path: Path) -> None:
    config, store = written(tmp_path, GRID), tmp_path / "store"
    assert counts(config, "--store", store, "--dry-run") == {"cells": 6, "finished": 0, "failed": 0, "missing": 6}
    assert not store.exists()
    swept(config, store, "--limit", 2)
    before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in store.rglob("*")}
    assert counts(config, "--store", store, "--dry-run") == {"cells": 6, "finished": 2, "failed": 0, "missing": 4}
    assert {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in store.rglob("*")} == before


@pytest.mark.slow
def test_a_cell_of_attention_fails_alone(tmp_path: Path) -> None:
    config, store = written(tmp_path, FAILING), tmp_path / "store"
    done = swept(config, store)
    assert done.exit_code == 1
    assert "Traceback" not in done.stderr
    assert finished(store) == 3
    whole = cells(store)
    assert counts("--status", store) == {"cells": 4, "finished": 3, "failed": 1, "missing": 0}
    (failed,) = strict(answered("sweep-table", store, "--failed", "--format", "json").stdout)
    assert (failed["objective"], failed["clusters"]) == ("cl", 1)
    assert "clusters is 1" in failed["message"]
    assert "clusters is 1" in answered("sweep", "--status", store).stderr
    (record,) = (store / "failed").glob("*.json")
    before = record.stat().st_mtime_ns
    again = swept(config, store)
    assert (again.exit_code, record.stat().st_mtime_ns) == (1, before), "a failed cell is computed again when asked to"
    retried = swept(config, store, "--retry-failed")
    assert retried.exit_code == 1
    assert record.stat().st_mtime_ns > before
    assert cells(store) == whole
    rows = table(store)
    assert [(row["objective"], row["clusters"]) for row in rows] == [("mae", 1), ("mae", 2), ("cl", 2)]


def test_a_retried_cell_that_succeeds_is_no_failure_any_more(tmp_path: Path) -> None:
    """A record of failure laid over a cell that succeeds: only --retry-failed computes it."""
    config, store = written(tmp_path, QUICK_FAILING), tmp_path / "store"
    swept(config, store)
    records = sorted((store / "failed").glob("*.json"))
    assert len(records) == 2
    cell = sorted((store / "cells").glob("*/*"))[0]
    fake = {**json.loads(records[0].read_text()), "parameters": json.loads((cell / "cell.json").read_text())["parameters"]}
    kept = (cell / "table.parquet").read_bytes()
    shutil.rmtree(cell)
    (store / "failed" / f"{cell.name}.json").write_text(json.dumps(fake))
    assert swept(config, store).exit_code == 1
    assert counts("--status", store) == {"cells": 4, "finished": 1, "failed": 3, "missing": 0}
    assert swept(config, store, "--retry-failed").exit_code == 1
    assert counts("--status", store) == {"cells": 4, "finished": 2, "failed": 2, "missing": 0}
    assert (cell / "table.parquet").read_bytes() == kept
    assert sorted((store / "failed").glob("*.json")) == records


def test_a_failed_cell_keeps_its_error_and_stops_no_other(tmp_path: Path) -> None:
    """Digits need the closed form, which an unbalanced start has not."""
    config, store = written(tmp_path, QUICK_FAILING), tmp_path / "store"
    done = swept(config, store)
    assert done.exit_code == 1
    assert "Traceback" not in done.stderr
    assert counts("--status", store) == {"cells": 4, "finished": 2, "failed": 2, "missing": 0}
    failed = strict(answered("sweep-table", store, "--failed", "--format", "json").stdout)
    assert [(row["fraction"], row["digits"]) for row in failed] == [(0.4, 5), (0.5, 5)]
    said = refused("critical-time", *PAIR, "--predictor-start", "0.5", "--digits", "5")
    assert all("closed form" in row["message"] for row in failed), said
    assert "closed form" in answered("sweep", "--status", store).stderr
    records = sorted((store / "failed").glob("*.json"))
    whole, before = cells(store), [path.stat().st_mtime_ns for path in records]
    assert swept(config, store).exit_code == 1
    assert [path.stat().st_mtime_ns for path in records] == before, "a failed cell is computed again when asked to"
    assert swept(config, store, "--retry-failed").exit_code == 1
    assert all(path.stat().st_mtime_ns > then for path, then in zip(records, before, strict=True))
    assert cells(store) == whole
    assert [(row["fraction"], row["digits"]) for row in table(store)] == [(0.4, None)] * 2 + [(0.5, None)] * 2


def test_values_that_no_cell_can_have_are_refused_before_any_is_computed(tmp_path: Path) -> None:
    config, store = written(tmp_path, f"{TIMES}[axes]\nfraction = [0.5, 1.5]\n{TOY}"), tmp_path / "store"
    assert "fraction is 1.5" in refused("sweep", config, "--store", store)
    assert "fraction is 1.5" in refused("sweep", config, "--store", store, "--dry-run"), "a rehearsal says what the run will"
    assert not store.exists()


def test_a_store_that_was_moved_goes_on(tmp_path: Path) -> None:
    config, store, moved = written(tmp_path, GRID), tmp_path / "store", tmp_path / "deeper" / "moved"
    swept(config, store, "--limit", 2)
    moved.parent.mkdir()
    shutil.copytree(store, moved, copy_function=shutil.copy2)
    shutil.rmtree(store)
    first = cells(moved)
    assert swept(config, moved).exit_code == 0
    assert {name: cells(moved)[name] for name in first} == first
    assert len(table(moved)) == 12


def test_extend_keeps_the_cells_of_both_configurations(grid: tuple[Path, Path], tmp_path: Path) -> None:
    _, store = grid
    first = cells(store)
    wider = written(tmp_path, GRID.replace("[1, 2, 3]", "[4, 3, 2]"), "wider.toml")
    assert "extend" in complaint_of(wider, store)
    assert cells(store) == first
    done = swept(wider, store, "--extend")
    assert done.exit_code == 0
    assert "2 now" in done.stderr
    assert {name: cells(store)[name] for name in first} == first
    assert [row["depth"] for row in table(store)] == [4, 4, 3, 3, 2, 2] * 2
    direct = tmp_path / "direct"
    swept(wider, direct)
    assert table(direct) == table(store)
    assert counts(wider, "--store", store, "--dry-run")["missing"] == 0


def test_an_axis_named_and_a_setting_of_the_same_value_share_cells(grid: tuple[Path, Path], tmp_path: Path) -> None:
    """A setting made an axis is the same cell where its value is the same: seeds added to a sweep without any."""
    _, store = grid
    first = cells(store)
    more = written(tmp_path, GRID.replace("[axes]", "[axes]\nepsilon = [0.01, 0.02]"), "more.toml")
    done = swept(more, store, "--extend")
    assert done.exit_code == 0
    assert {name: cells(store)[name] for name in first} == first
    assert finished(store) == 12


def test_another_configuration_is_refused(tmp_path: Path) -> None:
    config, store = written(tmp_path, GRID), tmp_path / "store"
    swept(config, store, "--limit", 1)
    whole = cells(store)
    for old, new in (
        ("[1, 2, 3]", "[1, 2]"),
        ("0.6", "0.61"),
        ("[axes]", "[settings]\nepsilon = 0.02\n[axes]"),
        ("[axes]", 'observables = ["status"]\n[axes]'),
        ("critical-time", "trajectory"),
    ):
        complaint_of(written(tmp_path, GRID.replace(old, new), "other.toml"), store)
        assert cells(store) == whole
    assert swept(config, store).exit_code == 0


def test_the_order_of_axes_is_part_of_the_table_and_no_part_of_a_cell(grid: tuple[Path, Path], tmp_path: Path) -> None:
    _, store = grid
    first = cells(store)
    turned = written(tmp_path, f'{TIMES}[axes]\ndepth = [1, 2, 3]\nobjective = ["jepa", "mae"]\n{TOY}', "turned.toml")
    assert swept(turned, store, "--extend").exit_code == 0
    assert cells(store) == first
    assert [row["objective"] for row in table(store)] == ["jepa", "jepa", "mae", "mae"] * 3


def test_another_content_of_a_source_is_another_cell(tmp_path: Path) -> None:
    data = tmp_path / "f.csv"
    data.write_text("feature,lambda,rho\none,1.0,0.6\n")
    config, store = written(tmp_path, f'{TIMES}[axes]\ndepth = [1, 2]\n[sources.f]\nfeatures = "f.csv"\n'), tmp_path / "store"
    assert swept(config, store).exit_code == 0
    whole = cells(store)
    data.write_text("feature,lambda,rho\none,1.0,0.7\n")
    complaint_of(config, store)
    assert cells(store) == whole
    assert swept(config, store, "--extend").exit_code == 0
    assert [row["rho"] for row in table(store)] == [0.7, 0.7]
    for row in table(store):
        assert_allclose(row["critical_time"], float(exact_time("jepa", row["depth"], 1, 1.0, 0.7, 0.01, 0.5)), rtol=1e-12)
    data.write_text("feature,lambda,rho\none,1.0,0.6\n")
    assert swept(config, store, "--extend").exit_code == 0
    assert [row["rho"] for row in table(store)] == [0.6, 0.6]
    assert {name: cells(store)[name] for name in whole} == whole


def test_another_version_is_refused(tmp_path: Path) -> None:
    config, store = written(tmp_path, GRID), tmp_path / "store"
    swept(config, store, "--limit", 1)
    whole = cells(store)
    about = json.loads((store / "sweep.json").read_text())
    other = json.dumps({**about, "version": "lindyn 0.0.1 (code 000000000000)"})
    (store / "sweep.json").write_text(other)
    for how in ((), ("--retry-failed",), ("--extend",)):
        assert "0.0.1" in complaint_of(config, store, *how), "--extend is for another configuration, not another version"
        assert cells(store) == whole
        assert (store / "sweep.json").read_text() == other


def test_a_cell_without_its_record_is_no_cell(grid: tuple[Path, Path]) -> None:
    """Half of a cell, as only a broken copy leaves it: it is computed again, or said, and never taken for whole."""
    config, store = grid
    expected = table(store)
    cell = sorted((store / "cells").glob("*/*"))[0]
    (cell / "table.parquet").write_bytes((cell / "table.parquet").read_bytes()[:50])
    got = run("sweep-table", store, "--format", "json")
    assert "Traceback" not in got.stderr
    if got.exit_code:
        assert got.stdout == ""
        assert cell.name in complaint(got.stderr)
    else:
        assert len(strict(got.stdout)) == len(expected) - 2
    shutil.rmtree(cell)
    assert swept(config, store).exit_code == 0
    assert table(store) == expected
