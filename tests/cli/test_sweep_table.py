"""Tables: every format holds what the cells do."""

import csv
import io
from pathlib import Path

import pandas as pd
from numpy.testing import assert_allclose

from tests.cli.running import answered, exact_time, refused, strict
from tests.cli.sweeping import (
    GRID,
    TIMES,
    TOY,
    result,
    swept,
    written,
)


def test_all_formats_hold_the_same_numbers(tmp_path: Path) -> None:
    text = (
        f"{TIMES}[settings]\nexpansion = true\n[axes]\ndepth = [3, 1]\nepsilon = [1e-300, 0.03]\nteacher_rate = ['none']\n"
        '[sources.b]\nlambda = [0.7, -0.3]\nrho = [0.6, -0.9]\nname = ["a, \\"b\\"", "ρ"]\n'
    )
    text = text.replace("teacher_rate = ['none']\n", "")
    rows = result(tmp_path, text)
    store = tmp_path / "store"
    assert len(rows) == 8
    assert "inf" in [row["critical_time"] for row in rows]
    assert None in [row["dominant_time"] for row in rows], "a cell that is empty, or nothing was tested"
    lines = answered("sweep-table", store, "--format", "jsonl").stdout.splitlines()
    assert [strict(line) for line in lines] == rows
    for name, delimiter in (("csv", ","), ("tsv", "\t")):
        path = tmp_path / f"table.{name}"
        printed = answered("sweep-table", store, "--format", name).stdout
        answered("sweep-table", store, "--output", path)
        assert path.read_text() == printed
        read = list(csv.DictReader(io.StringIO(printed), delimiter=delimiter))
        assert [list(row) for row in read] == [list(row) for row in rows]
        for one, other in zip(read, rows, strict=True):
            for key, value in other.items():
                if value is None:
                    assert one[key] == ""
                elif isinstance(value, float):
                    assert float(one[key]) == value
                else:
                    assert one[key] == str(value)
    answered("sweep-table", store, "--output", tmp_path / "t.parquet")
    frame = pd.read_parquet(tmp_path / "t.parquet")
    assert list(frame) == list(rows[0])
    for one, other in zip(frame.to_dict("records"), rows, strict=True):
        for key, value in other.items():
            if value is None:
                assert pd.isna(one[key])
            else:
                assert one[key] == (float(value) if value in ("inf", "-inf") else value)
    assert answered("sweep-table", store).stdout


def test_columns_that_only_some_cells_have_are_empty_elsewhere(tmp_path: Path) -> None:
    rows = result(tmp_path, f'{TIMES}[axes]\nlearning_rate = [0.1, "none"]\nelasticities = [false, true]\n{TOY}')
    assert len(rows) == 8
    for row in rows:
        assert (row["elasticity_rho"] is None) == (not row["elasticities"])
        assert (row["learning_rate"] is None) or row["learning_rate"] == 0.1
    for row in rows:
        expected = exact_time("jepa", 2, 1, row["lambda"], row["rho"], 0.01, 0.5)
        assert_allclose(row["critical_time"], float(expected), rtol=1e-12)


def test_one_cell_without_axes_is_a_sweep(tmp_path: Path) -> None:
    rows = result(tmp_path, TIMES + TOY)
    assert [row["feature"] for row in rows] == ["1", "2"]


def test_a_table_of_an_unfinished_store(tmp_path: Path) -> None:
    config, store = written(tmp_path, GRID), tmp_path / "store"
    swept(config, store, "--limit", 1)
    done = answered("sweep-table", store, "--format", "json")
    assert len(strict(done.stdout)) == 2
    assert "5" in done.stderr
    assert strict(answered("sweep-table", store, "--failed", "--format", "json").stdout) == []


def test_a_file_that_was_there_is_replaced_whole_or_not_at_all(grid: tuple[Path, Path], tmp_path: Path) -> None:
    store, path = grid[1], tmp_path / "table.csv"
    path.write_text("older\n")
    answered("sweep-table", store, "--output", path)
    assert "older" not in path.read_text()
    refused("sweep-table", tmp_path / "nowhere", "--output", path)
    assert len(path.read_text().splitlines()) == 13
