"""Formats, files and the readable table."""

import csv
import io
import json
import math
import os
import stat
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as parquet
import pytest

from tests.cli.running import COLUMNS, answered, refused, strict

MIXED = ("critical-time", "--lambda", "1,0,0.8", "--sigma", "1.5", "--depth", "1,2")
TEXT = {"feature", "objective", "status"}
WHOLE = {"depth", "predictor_depth"}


def canonical(record: dict[str, Any]) -> dict[str, object]:
    """A row whose values have one type whatever the format."""
    kinds = {name: str if name in TEXT else int if name in WHOLE else float for name in record}
    return {name: kinds[name](value) for name, value in record.items()}


def test_every_machine_format_holds_the_same_table() -> None:
    held = {name: answered(*MIXED, "--format", name) for name in ("csv", "tsv", "json", "jsonl", "parquet")}
    tables = [
        list(csv.DictReader(io.StringIO(held["csv"].stdout))),
        list(csv.DictReader(io.StringIO(held["tsv"].stdout), delimiter="\t")),
        strict(held["json"].stdout),
        [strict(line) for line in held["jsonl"].stdout.splitlines()],
        pd.read_parquet(io.BytesIO(held["parquet"].stdout_bytes)).to_dict("records"),
    ]
    first = [canonical(row) for row in tables[0]]
    assert len(first) == 12
    for table in tables:
        assert [list(row) for row in table] == [COLUMNS] * 12
        assert [canonical(row) for row in table] == first


def test_floats_are_written_by_repr() -> None:
    for row in csv.DictReader(io.StringIO(answered(*MIXED, "--format", "csv").stdout)):
        for name in set(COLUMNS) - TEXT - WHOLE:
            assert row[name] == repr(float(row[name]))


def test_json_has_numbers_as_numbers_and_infinities_as_strings() -> None:
    found = strict(answered(*MIXED, "--format", "json").stdout)
    never = [row for row in found if row["status"] == "never"]
    assert never
    assert all(row["critical_time"] == "inf" and row["log10_critical_time"] == "inf" for row in never)
    assert all(isinstance(row["critical_time"], float) for row in found if row["status"] == "reached")
    assert all(isinstance(row["depth"], int) for row in found)
    already = strict(answered("critical-time", "--lambda", "1", "--rho", "0.01", "--format", "json").stdout)
    assert already[0]["log10_critical_time"] == "-inf"


def test_names_beyond_ascii_survive_in_every_format(tmp_path: Path) -> None:
    table = tmp_path / "names.csv"
    table.write_text("name,lambda,rho\nβ-Ström 🌊,1,1\n", encoding="utf-8")
    assert "β-Ström 🌊" in answered("critical-time", table).stdout
    for name in ("csv", "tsv", "json", "jsonl"):
        assert "β-Ström 🌊" in answered("critical-time", table, "--format", name).stdout_bytes.decode()


def test_names_that_look_like_markup_are_shown_as_written(tmp_path: Path) -> None:
    table = tmp_path / "names.csv"
    table.write_text("name,lambda,rho\n[red]x[/red],1,1\n:smile:,2,1\n")
    shown = answered("critical-time", table).stdout
    assert "[red]x[/red]" in shown
    assert ":smile:" in shown


@pytest.mark.parametrize("ending", ["csv", "tsv", "json", "jsonl", "parquet", "CSV"])
def test_the_ending_of_the_output_says_the_format(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"table.{ending}"
    result = answered(*MIXED, "--output", path)
    assert result.stdout == ""
    assert path.read_bytes() == answered(*MIXED, "--format", ending.lower()).stdout_bytes


def test_the_format_option_beats_the_ending(tmp_path: Path) -> None:
    answered(*MIXED, "--output", tmp_path / "table.csv", "--format", "json")
    assert len(json.loads((tmp_path / "table.csv").read_text())) == 12


def test_a_dash_is_standard_output() -> None:
    assert answered(*MIXED, "--format", "csv", "--output", "-").stdout == answered(*MIXED, "--format", "csv").stdout
    assert not Path("-").exists()


def test_output_replaces_the_old_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old" * 10_000)
    answered(*MIXED, "--output", path)
    assert path.read_text() == answered(*MIXED, "--format", "csv").stdout
    assert os.listdir(tmp_path) == ["table.csv"]


def test_a_refused_question_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    refused(*MIXED, "--epsilon", "0", "--output", path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_output_into_a_missing_directory_or_over_a_directory_is_refused(tmp_path: Path) -> None:
    assert "missing" in refused(*MIXED, "--output", tmp_path / "missing" / "table.csv")
    assert "directory" in refused(*MIXED, "--output", tmp_path)
    assert os.listdir(tmp_path) == []


def test_output_through_a_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "target.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("target.csv")
    answered(*MIXED, "--output", tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "target.csv").read_text() == answered(*MIXED, "--format", "csv").stdout


def test_output_to_a_pipe_or_device_is_written_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        answered(*MIXED, "--format", "csv", "--output", pipe)
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        assert os.read(reader, 65536).decode() == answered(*MIXED, "--format", "csv").stdout
    finally:
        os.close(reader)


def test_output_keeps_the_permissions_of_the_file_it_replaces(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")
    path.chmod(0o600)
    answered(*MIXED, "--output", path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_data_go_to_stdout_and_remarks_to_stderr() -> None:
    result = answered(*MIXED, "--format", "csv")
    assert "lambda <= 0" in result.stderr
    assert len(result.stdout.splitlines()) == 13
    assert "lambda <= 0" not in result.stdout


def test_the_readable_table_rounds_and_tells_the_shared_settings_once() -> None:
    shown = answered("critical-time", "--lambda", "1,0.8", "--rho", "0.5").stdout
    assert "464.618" in shown
    assert "464.6184960868" not in shown
    assert shown.count("predictor_depth 1") == 1


def test_the_readable_table_of_one_row_tells_its_settings_below_as_well() -> None:
    one = answered("critical-time", "--lambda", "1", "--rho", "0.5", "--objective", "jepa").stdout
    assert "objective jepa, depth 2, predictor_depth 1, epsilon 0.01, fraction 0.5" in one


def test_a_setting_told_below_the_table_holds_for_hidden_rows_too(tmp_path: Path) -> None:
    table = tmp_path / "many.csv"
    table.write_text("lambda,rho\n" + "".join(f"{1 + 0.001 * k},0.5\n" for k in range(1001)))
    shown = answered("critical-time", table, "--objective", "jepa", "--depth", "2,3").stdout
    assert ", depth 2," not in shown


@pytest.mark.parametrize("table_format", ["csv", "json", "jsonl", "parquet"])
def test_no_machine_format_says_nan(table_format: str) -> None:
    question = ("order", "--lambda", "1,0,0.5", "--sigma", "1", "--format", table_format)
    result = answered(*question)
    if table_format == "parquet":
        columns = parquet.read_table(io.BytesIO(result.stdout_bytes)).to_pydict().values()
        assert not any(isinstance(value, float) and math.isnan(value) for column in columns for value in column)
    else:
        assert "nan" not in result.stdout.lower()
