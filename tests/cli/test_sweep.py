import csv
import io
import itertools
import json
import math
import shutil
import signal
import statistics
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import spearmanr

from tests.cli.running import LINDYN, answered, complaint, exact_time, refused, run, strict

TOY = "[sources.toy]\nlambda = [1.0, 0.8]\nrho = [0.6, 1.2]\n"
TIMES = 'command = "critical-time"\n'
GRID = TIMES + '[axes]\nobjective = ["jepa", "mae"]\ndepth = [1, 2, 3]\n' + TOY
SHORT = 'command = "attention simulate"\n[settings]\npatches = 16\nglobal_size = 8\nlocal_size = 2\nsteps = 2\nbatch = 4\n'
QUICK_FAILING = f"{TIMES}[settings]\npredictor_start = 0.5\n[axes]\nfraction = [0.4, 0.5]\ndigits = ['none', 5]\n{TOY}"
FAILING = SHORT + '[axes]\nobjective = ["mae", "cl"]\nclusters = [1, 2]\n'


def written(folder: Path, text: str, name: str = "sweep.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def swept(config: Path, store: Path, *how: object) -> Any:
    return run("sweep", config, "--store", store, "--workers", 1, *how)


def table(store: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = strict(answered("sweep-table", store, "--format", "json").stdout)
    return found


def result(folder: Path, text: str, *how: object) -> list[dict[str, Any]]:
    """The table of a configuration whose every cell succeeds."""
    store = folder / "store"
    done = swept(written(folder, text), store, *how)
    assert done.exit_code == 0, done.stderr
    return table(store)


def cells(store: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file of the finished cells: inode, time of writing and content."""
    return {
        str(path.relative_to(store)): (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted((store / "cells").rglob("*"))
        if path.is_file()
    }


def finished(store: Path) -> int:
    return len(list(store.glob("cells/*/*/cell.json")))


def counts(*args: object) -> dict[str, int]:
    answer = run("sweep", *args, "--format", "json")
    (row,) = strict(answer.stdout)
    return {name: row[name] for name in ("cells", "finished", "failed", "missing")}


def same(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Every column of the command stands in the row of the sweep, with the same value."""
    for name, value in expected.items():
        assert name in found, name
        assert found[name] == value, name


@pytest.fixture(scope="module")
def whole_grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished store of GRID, to be copied."""
    folder = tmp_path_factory.mktemp("grid")
    assert swept(written(folder, GRID), folder / "store").exit_code == 0
    return folder / "store"


@pytest.fixture
def grid(whole_grid: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The configuration GRID and its finished store, this test's own."""
    return written(tmp_path, GRID), Path(shutil.copytree(whole_grid, tmp_path / "store", copy_function=shutil.copy2))


# What a cell is


@pytest.mark.parametrize("objective", ["jepa", "mae"])
def test_cells_are_the_closed_forms(tmp_path: Path, objective: str) -> None:
    kept = f'{TIMES}[settings]\nobjective = "{objective}"\n'
    text = f"{kept}[axes]\npredictor_depth = [1, 2]\ndepth = [1, 3]\nepsilon = [1e-2, 1e-6]\n"
    rows = result(tmp_path, text + TOY)
    assert [tuple(row[name] for name in ("predictor_depth", "depth", "epsilon", "feature")) for row in rows] == list(
        itertools.product([1, 2], [1, 3], [1e-2, 1e-6], ["1", "2"])
    )
    for row in rows:
        at = (objective, row["depth"], row["predictor_depth"], row["lambda"], row["rho"], row["epsilon"], 0.5)
        assert_allclose(row["critical_time"], float(exact_time(*at)), rtol=1e-12)
        assert (row["lambda"], row["rho"]) == {"1": (1.0, 0.6), "2": (0.8, 1.2)}[row["feature"]]
        exponent = row["predictor_depth"] + (row["depth"] if objective == "mae" else 0)
        assert_allclose(row["asymptote"], row["rho"] ** (row["depth"] / exponent), rtol=1e-12)


PAIR = ("--lambda", "1,0.8", "--rho", "0.6,1.2")
GRADUAL = 'learning_rate = 0.01\nweight_decay = 0.001\nteacher_rate = 0.5\ntime_convention = "paper"\n'
AREAS = ("--patches", "16", "--global-size", "8", "--local-size", "2")
COMMANDS = [
    (
        "critical-time",
        "features",
        "epsilon = 1e-6\nfraction = 0.3\nelasticities = true\nexpansion = true\n",
        {"depth": [2, 3], "objective": ["jepa", "mae"]},
        (*PAIR, "--epsilon", "1e-6", "--fraction", "0.3", "--elasticities", "--expansion"),
        TOY,
    ),
    ("critical-time", "features", GRADUAL, {"objective": ["jepa"], "predictor_rate": [0.5, 1.0]}, (
        *PAIR, "--learning-rate", "0.01", "--weight-decay", "0.001", "--teacher-rate", "0.5", "--time", "paper",
    ), TOY),
    ("trajectory", "curves", "points = 4\n", {"objective": ["mae", "jepa"], "depth": [2, 1]}, (*PAIR, "--points", "4"), TOY),
    pytest.param(
        "simulate",
        "features",
        'objective = "mae"\nstart = "gaussian"\nepsilon = 0.1\n',
        {"seed": [3, 1], "depth": [1]},
        (*PAIR, "--objective", "mae", "--start", "gaussian", "--epsilon", "0.1"),
        TOY,
        marks=pytest.mark.slow,
    ),
    (
        "simulate",
        "features",
        'objective = "jepa"\ndepth = 1\nstop_gradient = false\nuntil = 20\nlearning_rate = 0.02\n',
        {"optimiser": ["plain", "momentum"]},
        (*PAIR, "--objective", "jepa", "--depth", "1", "--no-stop-gradient", "--until", "20", "--learning-rate", "0.02"),
        TOY,
    ),
    (
        "multiview critical-time",
        "features",
        "epsilon = 1e-9\n",
        {"beta": [0.1, 1.0], "width": [1, 4]},
        ("--lambda", "1,0.8", "--rho", "0.9,0.8", "--epsilon", "1e-9"),
        "[sources.toy]\nlambda = [1.0, 0.8]\nrho = [0.9, 0.8]\n",
    ),
    (
        "multiview simulate",
        "features",
        "width = 2\nepsilon = 0.1\n",
        {"seed": [2, 0]},
        ("--lambda", "1,0.8", "--rho", "0.9,0.8", "--epsilon", "0.1", "--width", "2"),
        "[sources.toy]\nlambda = [1.0, 0.8]\nrho = [0.9, 0.8]\n",
    ),
    pytest.param(
        "attention phases",
        "sizes",
        "patches = 36\nlatent_low = 0.5\nlatent_high = 1.5\npositions = false\n",
        {"local_size": [5], "global_size": [16, 6]},
        ("--patches", "36", "--latent", "0.5", "1.5", "--no-positions"),
        "",
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "attention simulate",
        "runs",
        "patches = 16\nglobal_size = 8\nlocal_size = 2\nsteps = 3\nbatch = 4\nclusters = 2\n",
        {"objective": ["cl", "mae"], "seed": [1]},
        (*AREAS, "--steps", "3", "--batch", "4", "--clusters", "2"),
        "",
        marks=pytest.mark.slow,
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("command", "kept", "settings_", "axes", "options", "sources"),
    COMMANDS,
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_cell_is_what_the_command_says(
    tmp_path: Path,
    command: str,
    kept: str,
    settings_: str,
    axes: dict[str, Sequence[object]],
    options: tuple[str, ...],
    sources: str,
) -> None:
    text = "".join(f"{name} = {json.dumps(many)}\n" for name, many in axes.items())
    rows = result(tmp_path, f'command = "{command}"\ntable = "{kept}"\n[settings]\n{settings_}[axes]\n{text}{sources}')
    expected = []
    for point in itertools.product(*axes.values()):
        here = itertools.chain.from_iterable((f"--{n.replace('_', '-')}", str(v)) for n, v in zip(axes, point, strict=True))
        answer = strict(answered(*command.split(), *options, *here, "--format", "json").stdout)
        expected += [{**dict(zip(axes, point, strict=True)), **row} for row in answer]
    assert len(rows) == len(expected)
    for found, row in zip(rows, expected, strict=True):
        same(found, row)
    assert list(rows[0])[: len(axes)] == list(axes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "settings_", "options", "sources"),
    [
        ("simulate", 'objective = "mae"\ndepth = 1\npoints = 5\n', (*PAIR, "--objective=mae", "--depth=1", "--points=5"), TOY),
        (
            "multiview simulate",
            "width = 2\nepsilon = 0.1\npoints = 5\n",
            (*PAIR, "--width=2", "--epsilon=0.1", "--points=5"),
            TOY,
        ),
        (
            "attention simulate",
            "patches = 16\nglobal_size = 8\nlocal_size = 2\nsteps = 5\nbatch = 4\nlooks = 5\n",
            (*AREAS, "--steps=5", "--batch=4", "--looks=5"),
            "",
        ),
    ],
)
def test_curves_are_what_the_command_writes(
    tmp_path: Path, command: str, settings_: str, options: tuple[str, ...], sources: str
) -> None:
    path = tmp_path / "curves.jsonl"
    answered(*command.split(), *options, "--output", path, "--format", "jsonl")
    expected = [strict(line) for line in path.read_text().splitlines()] if path.read_text().startswith("{") else None
    if expected is None:
        expected = list(csv.DictReader(io.StringIO(path.read_text())))
    rows = result(tmp_path, f'command = "{command}"\ntable = "curves"\n[settings]\n{settings_}{sources}')
    assert len(rows) == len(expected)
    for found, row in zip(rows, expected, strict=True):
        same(found, row)


def both_tables(folder: Path, until: float, seeds: list[int]) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each row of `runs`, and beside it the features of the same run."""
    body = (
        '[settings]\nobjective = "mae"\nstart = "gaussian"\nepsilon = 0.05\npoints = 5\n'
        f"until = {until}\n[axes]\nseed = {seeds}\n"
        "[sources.toy]\nlambda = [1.0, 0.8, 0.9]\nsigma = [1.0, 0.9, 1.2]\n"
    )
    tables = []
    for name in ("features", "runs"):
        (folder / name).mkdir()
        tables.append(result(folder / name, f'command = "simulate"\ntable = "{name}"\n{body}'))
    features, runs = tables
    assert [row["seed"] for row in runs] == seeds
    return [(row, [other for other in features if other["seed"] == row["seed"]]) for row in runs]


def share_in_order(features: list[dict[str, Any]]) -> float:
    """By the words of the documentation: of the pairs that theory orders, those learned in that order; never comes last."""
    theory, learned = ([float(row[name]) for row in features] for name in ("critical_time", "simulated_time"))
    pairs = [(i, j) for i, j in itertools.permutations(range(len(theory)), 2) if theory[i] < theory[j]]
    return statistics.mean(learned[i] < learned[j] for i, j in pairs)


@pytest.mark.slow
def test_runs_say_in_what_order_features_were_learned(tmp_path: Path) -> None:
    """At most one of three features is missing, so that all are ordered."""
    seen = set()
    for found, here in both_tables(tmp_path, 9.0, [2, 3, 6]):
        theory, learned = ([float(row[name]) for row in here] for name in ("critical_time", "simulated_time"))
        assert_allclose(found["pairs_in_order"], share_in_order(here))
        both = [(t, s) for t, s in zip(theory, learned, strict=True) if math.isfinite(t) and math.isfinite(s)]
        assert_allclose(found["order_correlation"], spearmanr(*zip(*both, strict=True)).statistic)
        assert_allclose(found["median_ratio"], statistics.median(s / t for t, s in both))
        assert found["learned"] == sum(map(math.isfinite, learned))
        assert found["predicted"] == found["features"] == 3
        assert found["first_feature"] == here[int(np.argmin(learned))]["feature"]
        assert found["predicted_first"] == here[int(np.argmin(theory))]["feature"]
        seen.add((found["pairs_in_order"], found["learned"]))
    assert len(seen) == 3, "the runs differ, or nothing was tested"


@pytest.mark.slow
def test_features_that_were_never_learned_count_in_the_share(tmp_path: Path) -> None:
    """Two or all of three are missing: their pair was not learned in its order, so that losing features is no merit."""
    for found, here in both_tables(tmp_path, 6.0, [3, 5]):
        assert found["learned"] == 1
        assert_allclose(found["pairs_in_order"], share_in_order(here))


def test_what_is_not_set_has_the_default_of_the_option(tmp_path: Path) -> None:
    rows = result(tmp_path, TIMES + TOY)
    expected = strict(answered("critical-time", *PAIR, "--objective", "jepa", "--format", "json").stdout)
    for found, row in zip(rows, expected, strict=True):
        same(found, row)


def test_data_are_read_beside_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    x = generator.normal(size=(60, 3)) * [3.0, 2.0, 1.0]
    np.save(folder / "x.npy", x)
    np.save(folder / "y.npy", x + generator.normal(size=x.shape))
    pd.DataFrame(x, columns=["a", "b", "c"]).to_csv(folder / "x.csv", index=False)
    (folder / "f.csv").write_text("feature,lambda,rho\none,1.0,0.6\ntwo,0.8,1.2\n")
    sources = {
        "masked": ('x = "x.npy"\nmask = 0.5\n', ("x.npy", "--mask", "0.5")),
        "hidden": (
            'x = "x.npy"\nmask = 0.3\ntarget = "complementary"\n',
            ("x.npy", "--mask", "0.3", "--target", "complementary"),
        ),
        "lagged": ('x = "x.npy"\nlag = 2\n', ("x.npy", "--lag", "2")),
        "paired": ('x = "x.npy"\ny = "y.npy"\n', ("x.npy", "y.npy")),
        "some": (
            'x = "x.csv"\nmask = 0.5\ncolumns = ["c", "a"]\nstandardise = true\n',
            ("x.csv", "--mask", "0.5", "--columns", "c,a", "--standardise"),
        ),
        "table": ('features = "f.csv"\n', ("f.csv",)),
    }
    text = TIMES + "[axes]\ndepth = [1, 2]\n" + "".join(f"[sources.{name}]\n{lines}" for name, (lines, _) in sources.items())
    rows = result(folder, text)
    monkeypatch.chdir(folder)
    for name, (_, source) in sources.items():
        path = folder / "f.csv" if name == "table" else tmp_path / f"{name}.csv"
        if name != "table":
            answered("features", *source, "--output", path)
        expected = strict(answered("critical-time", path, "--objective", "jepa", "--depth", "1,2", "--format", "json").stdout)
        mine = [row for row in rows if row["source"] == name]
        assert len(mine) == len(expected) > 0
        for found in mine:
            assert any(all(found.get(key) == value for key, value in row.items()) for row in expected), (name, found)
        assert len({(row["depth"], row["feature"]) for row in mine}) == len(mine)


def test_a_graph_is_a_source_of_multiview(tmp_path: Path) -> None:
    (tmp_path / "g.csv").write_text("a,b,c\n0.8,0.2,0.0\n0.1,0.6,0.3\n0.0,0.3,0.7\n")
    rows = result(tmp_path, 'command = "multiview critical-time"\n[axes]\nwidth = [1, 2]\n[sources.g]\ngraph = "g.csv"\n')
    expected = []
    for width in ("1", "2"):
        answer = answered("multiview", "critical-time", tmp_path / "g.csv", "--graph", "--width", width, "--format", "json")
        expected += strict(answer.stdout)
    for found, row in zip(rows, expected, strict=True):
        same(found, row)


# What an axis is


@st.composite
def steps(draw: st.DrawFn) -> tuple[str, list[Decimal]]:
    """A range by its step, and its exact values in decimals; the end may be missed."""
    places = draw(st.integers(2, 4))
    unit = Decimal(1).scaleb(-places)
    first, step, count = draw(st.integers(1, 30)), draw(st.integers(1, 9)), draw(st.integers(1, 6))
    short = draw(st.integers(0, step - 1))
    last = first + step * (count - 1) + short
    many = [unit * (first + step * index) for index in range(count)]
    return f"{{from = {unit * first}, to = {unit * last}, step = {unit * step}}}", many


@st.composite
def spreads(draw: st.DrawFn) -> tuple[str, float, float, int]:
    low = draw(st.integers(-9, -1)) * draw(st.sampled_from([1.0, 0.5, 0.3]))
    high = low + draw(st.sampled_from([0.1, 0.7, 2.0, 3.3]))
    start, end, count = float(f"{10**low:.4g}"), float(f"{10**high:.4g}"), draw(st.integers(2, 6))
    return f"{{from = {start!r}, to = {end!r}, log_points = {count}}}", start, end, count


@st.composite
def grids(draw: st.DrawFn) -> tuple[str, float, float, int]:
    start, width, count = draw(st.integers(1, 90)), draw(st.integers(1, 90)), draw(st.integers(2, 6))
    low, high = start / 100, (start + width) / 100
    return f"{{from = {low!r}, to = {high!r}, points = {count}}}", low, high, count


@settings(max_examples=4)
@given(steps(), spreads(), grids())
def test_ranges_have_the_values_that_were_asked_for(
    tmp_path_factory: pytest.TempPathFactory,
    step: tuple[str, list[Decimal]],
    spread: tuple[str, float, float, int],
    grid: tuple[str, float, float, int],
) -> None:
    text = f"{TIMES}observables = ['status']\n[axes]\nfraction = {step[0]}\nepsilon = {spread[0]}\nlearning_rate = {grid[0]}\n"
    config = written(tmp_path_factory.mktemp("ranges"), text + "[sources.one]\nlambda = [1.0]\nrho = [0.6]\n")
    done = swept(config, config.parent / "store", "--limit", 1)
    assert done.exit_code in (0, 1), done.stderr
    axes = json.loads((config.parent / "store" / "sweep.json").read_text())["axes"]
    assert axes["fraction"] == [float(value) for value in step[1]]
    _, start, end, count = spread
    assert (axes["epsilon"][0], axes["epsilon"][-1], len(axes["epsilon"])) == (start, end, count)
    expected = [start * (end / start) ** (index / (count - 1)) for index in range(count)]
    assert_allclose(axes["epsilon"], expected, rtol=1e-13)
    _, start, end, count = grid
    assert (axes["learning_rate"][0], axes["learning_rate"][-1], len(axes["learning_rate"])) == (start, end, count)
    assert_allclose(axes["learning_rate"], [start + (end - start) * index / (count - 1) for index in range(count)], rtol=1e-13)
    for name in ("fraction", "epsilon", "learning_rate"):
        assert axes[name] == [float(f"{value:.15g}") for value in axes[name]]


@pytest.mark.parametrize(
    "axes",
    [
        {
            "fraction": ("{from = 0.1, to = 0.3, step = 0.1}", [0.1, 0.2, 0.3]),
            "depth": ("{from = 1, to = 6, step = 2}", [1, 3, 5]),
            "epsilon": ("{from = 1e-3, to = 1e-1, log_points = 3}", [1e-3, 1e-2, 1e-1]),
        },
        {
            "fraction": ("{from = 0.1, to = 0.9, points = 5}", [0.1, 0.3, 0.5, 0.7, 0.9]),
            "depth": ("{from = 1, to = 3}", [1, 2, 3]),
            "predictor_depth": ("{from = 2, to = 2}", [2]),
        },
        {
            "depth": ("[3, 1, 2]", [3, 1, 2]),
            "learning_rate": ('["none", 0.01, 0.1]', [None, 0.01, 0.1]),
            "fraction": ("{from = 0.1, to = 0.7, step = 0.1}", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]),
        },
    ],
)
def test_values_of_axes(tmp_path: Path, axes: dict[str, tuple[str, list[Any]]]) -> None:
    text = "".join(f"{name} = {axis}\n" for name, (axis, _) in axes.items())
    rows = result(tmp_path, f"{TIMES}[axes]\n{text}[sources.one]\nlambda = [1.0]\nrho = [0.6]\n")
    found = [tuple(row[name] for name in axes) for row in rows]
    assert found == list(itertools.product(*(expected for _, expected in axes.values())))
    for name, (_, expected) in axes.items():
        assert {type(row[name]) for row in rows} == {type(value) for value in expected}


def test_none_stands_for_no_value_in_the_result_also(tmp_path: Path) -> None:
    rows = result(tmp_path, f'{TIMES}[axes]\nteacher_rate = [0.01, "none"]\n{TOY}')
    plain = strict(answered("critical-time", *PAIR, "--objective", "jepa", "--format", "json").stdout)
    assert [row["teacher_rate"] for row in rows] == [0.01, 0.01, None, None]
    for found, row in zip(rows[2:], plain, strict=True):
        assert_allclose(found["critical_time"], row["critical_time"])
        assert rows[int(row["feature"]) - 1]["critical_time"] > found["critical_time"]


def test_the_last_axis_varies_fastest_and_the_grid_is_the_whole_product(tmp_path: Path) -> None:
    axes = 'epsilon = [1e-3, 1e-2]\nobjective = ["mae", "jepa"]\ndepth = {from = 1, to = 3}\n'
    rows = result(tmp_path, f"{TIMES}[axes]\n{axes}{TOY}", "--workers", 2)
    expected = [
        (*point, feature)
        for point in itertools.product([1e-3, 1e-2], ["mae", "jepa"], [1, 2, 3])
        for feature in ("1", "2")
    ]  # fmt: skip
    assert [(row["epsilon"], row["objective"], row["depth"], row["feature"]) for row in rows] == expected
    assert list(rows[0])[:3] == ["epsilon", "objective", "depth"]


def test_several_sources_are_an_axis(tmp_path: Path) -> None:
    late, early = (f"[sources.{name}]\nlambda = [1.0]\nrho = [{rho}]\n" for name, rho in (("late", 0.6), ("early", 0.7)))
    rows = result(tmp_path, f"{TIMES}[axes]\ndepth = [2, 1]\n{late}{early}")
    assert {(row["source"], row["depth"]) for row in rows} == set(itertools.product(["late", "early"], [1, 2]))
    assert list(dict.fromkeys(row["source"] for row in rows)) == ["late", "early"]
    assert {row["rho"] for row in rows if row["source"] == "early"} == {0.7}
    for row in rows:
        at = ("jepa", row["depth"], 1, 1.0, row["rho"], 0.01, 0.5)
        assert_allclose(row["critical_time"], float(exact_time(*at)), rtol=1e-12)


def test_observables_are_the_columns_that_are_kept(tmp_path: Path) -> None:
    text = GRID.replace("[axes]", 'observables = ["status", "critical_time"]\n[axes]')
    full, kept = tmp_path / "full", tmp_path / "kept"
    full.mkdir()
    kept.mkdir()
    every, some = result(full, GRID), result(kept, text)
    assert set(some[0]) == {"objective", "depth", "feature", "status", "critical_time"}
    assert some == [{name: row[name] for name in some[0]} for row in every]


# What a store is


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


def complaint_of(config: Path, store: Path, *how: object) -> str:
    """Exit 2 or 1, nothing on stdout, one sentence."""
    done = run("sweep", config, "--store", store, *how)
    assert done.exit_code in (1, 2), done.stderr
    assert done.stdout == ""
    return complaint(done.stderr)


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


# The table


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


# What is refused

REFUSED = {
    "unknown key": 'extra = 1\n',
    "unknown table": 'table = "runs"\n',
    "table of another type": "table = 1\n",
    "unknown observable": 'observables = ["nope"]\n',
    "observables of another type": 'observables = "status"\n',
    "no observables": "observables = []\n",
    "settings of another type": "settings = 1\n",
    "axes of another type": "axes = [1]\n",
}  # fmt: skip
SETTINGS = {
    "unknown": "depht = 1\n",
    "of another command": "start = 'gaussian'\n",
    "list": "depth = [1, 2]\n",
    "whole": "depth = 1.5\n",
    "text": "depth = 'two'\n",
    "truth": "depth = true\n",
    "number for truth": "elasticities = 1\n",
    "number": "epsilon = '0.1'\n",
    "not finite": "epsilon = inf\n",
    "nan": "epsilon = nan\n",
    "choice": "objective = 'supervised'\n",
    "none": "depth = 'none'\n",
    "date": "depth = 1979-05-27\n",
    "table": "depth = {from = 1, to = 2}\n",
}
AXES = {
    "unknown": "depht = [1]",
    "empty": "depth = []",
    "twice": "depth = [1, 2, 1]",
    "twice by value": "epsilon = [0.1, 1e-1]",
    "twice as numbers": "epsilon = [1, 1.0]",
    "twice none": "teacher_rate = ['none', 'none']",
    "twice by rounding": "epsilon = {from = 0.1, to = 0.10000000000000001, points = 2}",
    "scalar": "depth = 1",
    "text": "depth = '1,2'",
    "mixed": "depth = [1, 'two']",
    "fraction": "depth = [1, 1.5]",
    "truth": "depth = [true]",
    "nested": "depth = [[1, 2]]",
    "nan": "epsilon = [nan]",
    "none": "depth = ['none']",
    "half a range": "depth = {from = 1}",
    "no start": "depth = {to = 1}",
    "no range": "depth = {}",
    "unknown key": "depth = {from = 1, to = 2, stride = 1}",
    "two spacings": "epsilon = {from = 1, to = 2, step = 1, points = 2}",
    "both points": "epsilon = {from = 1, to = 2, log_points = 2, points = 2}",
    "zero step": "depth = {from = 1, to = 2, step = 0}",
    "negative step": "depth = {from = 2, to = 1, step = -1}",
    "backwards": "depth = {from = 2, to = 1}",
    "no points": "epsilon = {from = 0.1, to = 0.2, points = 0}",
    "points of another type": "epsilon = {from = 0.1, to = 0.2, points = 'two'}",
    "half a point": "epsilon = {from = 0.1, to = 0.2, points = 2.5}",
    "logarithm of nothing": "epsilon = {from = 0, to = 1, log_points = 3}",
    "logarithm below": "epsilon = {from = -1, to = 1, log_points = 3}",
    "text in a range": "epsilon = {from = 'a', to = 1}",
    "endless": "epsilon = {from = 1, to = inf}",
    "too many": "depth = {from = 1, to = 1e15}",
    "too fine": "epsilon = {from = 0, to = 1, step = 1e-300}",
    "range of words": "objective = {from = 1, to = 2}",
    "unknown source": "source = ['nope']",
}
SOURCES = {
    "none": "",
    "no table": "[sources]\ntoy = 1\n",
    "empty": "[sources.toy]\n",
    "one of three": "[sources.toy]\nlambda = [1.0]\n",
    "unknown key": "[sources.toy]\nlambda = [1.0]\nrho = [0.6]\nmu = [1.0]\n",
    "text": "[sources.toy]\nlambda = ['a']\nrho = [0.6]\n",
    "no features": "[sources.toy]\nlambda = []\nrho = []\n",
    "not finite": "[sources.toy]\nlambda = [nan]\nrho = [0.6]\n",
    "lengths": "[sources.toy]\nlambda = [1.0, 0.9, 0.8]\nrho = [0.6, 0.5]\n",
    "names": "[sources.toy]\nlambda = [1.0]\nrho = [0.6]\nname = ['a', 'b']\n",
    "missing table": "[sources.toy]\nfeatures = 'nope.csv'\n",
    "missing data": "[sources.toy]\nx = 'nope.npy'\nmask = 0.5\n",
    "missing view": "[sources.toy]\nx = 'x.npy'\ny = 'nope.npy'\n",
    "one view": "[sources.toy]\nx = 'x.npy'\n",
    "two views twice": "[sources.toy]\nx = 'x.npy'\nmask = 0.5\nlag = 1\n",
    "mask": "[sources.toy]\nx = 'x.npy'\nmask = 2.0\n",
    "target": "[sources.toy]\nx = 'x.npy'\nmask = 0.5\ntarget = 'nope'\n",
    "lag": "[sources.toy]\nx = 'x.npy'\nlag = 1.5\n",
    "long lag": "[sources.toy]\nx = 'x.npy'\nlag = 1000\n",
    "two kinds": "[sources.toy]\nx = 'x.npy'\nmask = 0.5\nlambda = [1.0]\nrho = [0.6]\n",
    "two files": "[sources.toy]\nx = 'x.npy'\nmask = 0.5\nfeatures = 'f.csv'\n",
    "graph elsewhere": "[sources.toy]\ngraph = 'x.npy'\n",
    "no features in a file": "[sources.toy]\nfeatures = 'broken.csv'\n",
    "file of another type": "[sources.toy]\nfeatures = 3\n",
    "folder": "[sources.toy]\nx = '.'\nmask = 0.5\n",
    "columns": "[sources.toy]\nx = 'x.npy'\nmask = 0.5\ncolumns = ['nope']\n",
    "truth": "[sources.toy]\nx = 'x.npy'\nmask = 0.5\nstandardise = 'yes'\n",
    "one of two": TOY + "[sources.other]\nfeatures = 'nope.csv'\n",
}
WHOLE = {
    "empty": b"",
    "no command": b"[axes]\ndepth = [1]\n",
    "unknown command": b'command = "figure"\n' + TOY.encode(),
    "command of another type": b"command = 3\n" + TOY.encode(),
    "close command": b'command = "simulat"\n' + TOY.encode(),
    "no TOML": b"command = \n",
    "open text": b'command = "critical-time\n',
    "not UTF-8": b"\xff\xfe\x00",
    "zero bytes": b"command = 'critical-time'\x00",
    "key twice": b'command = "critical-time"\ncommand = "simulate"\n' + TOY.encode(),
    "sources where there are none": b'command = "attention phases"\n' + TOY.encode(),
    "axis and setting": b'command = "critical-time"\n[settings]\ndepth = 1\n[axes]\ndepth = [1, 2]\n' + TOY.encode(),
}
CASES = [
    *(
        (f"key: {name}", f"{TIMES}{text}{'' if 'axes' in name or 'settings' in name else TOY}".encode())
        for name, text in REFUSED.items()
    ),
    *((f"setting: {name}", f"{TIMES}[settings]\n{text}{TOY}".encode()) for name, text in SETTINGS.items()),
    *((f"axis: {name}", f"{TIMES}[axes]\n{text}\n{TOY}".encode()) for name, text in AXES.items()),
    *((f"source: {name}", f"{TIMES}[axes]\ndepth = [1, 2]\n{text}".encode()) for name, text in SOURCES.items()),
    *WHOLE.items(),
]


@pytest.mark.parametrize("content", [content for _, content in CASES], ids=[name for name, _ in CASES])
def test_a_configuration_that_means_nothing_is_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(30, 2)))
    (tmp_path / "broken.csv").write_text("a,b\n1,2\n")
    (tmp_path / "f.csv").write_text("lambda,rho\n1,0.6\n")
    path = tmp_path / "sweep.toml"
    path.write_bytes(content)
    store = tmp_path / "store"
    assert refused("sweep", path, "--store", store)
    assert not store.exists()


def test_unknown_names_are_answered_with_the_known_ones(tmp_path: Path) -> None:
    said = refused("sweep", written(tmp_path, f"{TIMES}[axes]\nzzz = [1]\n{TOY}"), "--store", tmp_path / "store")
    assert all(name in said for name in ("objective", "depth", "predictor_depth", "epsilon", "fraction"))
    said = refused("sweep", written(tmp_path, f"{TIMES}observables = ['zzz']\n{TOY}"), "--store", tmp_path / "store")
    assert all(name in said for name in ("critical_time", "status"))


def test_what_was_finished_outlives_a_configuration_that_broke(tmp_path: Path) -> None:
    config, store = written(tmp_path, GRID), tmp_path / "store"
    swept(config, store, "--limit", 3)
    whole = cells(store)
    for text in ("command = \n", GRID + "\n[nope]\n", GRID.replace("depth", "depht")):
        config.write_text(text)
        refused("sweep", config, "--store", store)
        assert cells(store) == whole
    config.write_text(GRID)
    assert swept(config, store).exit_code == 0
    assert {name: cells(store)[name] for name in whole} == whole


def test_comments_and_spaces_of_a_configuration_mean_nothing(grid: tuple[Path, Path]) -> None:
    config, store = grid
    whole = cells(store)
    config.write_text("# a remark\n" + GRID.replace("[1, 2, 3]", "{from = 1, to = 3, step = 1}  # all"))
    assert tomllib.loads(config.read_text())
    assert swept(config, store).exit_code == 0
    assert cells(store) == whole


def test_folders_that_are_no_store(tmp_path: Path) -> None:
    config = written(tmp_path, GRID)
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("precious")
    for place in (other, tmp_path / "nowhere", config):
        assert refused("sweep-table", place)
        assert refused("sweep", "--status", place)
    assert complaint_of(config, other)
    assert [path.name for path in other.iterdir()] == ["mine.txt"]
    assert complaint_of(config, config)
    assert config.read_text() == GRID
    empty = tmp_path / "empty"
    empty.mkdir()
    assert swept(config, empty).exit_code == 0


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", "null", '{"command": "critical-time"}', '{"command": 3, "axes": []}', "\x00"]
)
def test_a_store_whose_description_broke(tmp_path: Path, content: str) -> None:
    config, store = written(tmp_path, GRID), tmp_path / "store"
    store.mkdir()
    (store / "sweep.json").write_text(content)
    assert complaint_of(config, store)
    assert refused("sweep-table", store)
    assert refused("sweep", "--status", store)
    assert (store / "sweep.json").read_text() == content


def test_places_that_cannot_be_written(grid: tuple[Path, Path]) -> None:
    config, store = grid
    assert complaint_of(config, Path("/proc/nope/store"))
    assert complaint_of(config, config / "store")
    done = run("sweep-table", store, "--output", "/proc/nope/table.csv")
    assert done.exit_code in (1, 2)
    assert complaint(done.stderr)


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--store", "s"),
        ("CONFIG",),
        ("CONFIG", "--store", "s", "--workers", "0"),
        ("CONFIG", "--store", "s", "--limit", "0"),
        ("CONFIG", "--store", "s", "--workers", "2", "--scheduler", "tcp://127.0.0.1:1"),
        ("CONFIG", "--store", "s", "--status", "s"),
        ("--status", "s", "--retry-failed"),
        ("nope.toml", "--store", "s"),
        (".", "--store", "s"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]) -> None:
    monkeypatch.chdir(tmp_path)
    config = written(tmp_path, GRID)
    assert refused("sweep", *(config if arg == "CONFIG" else arg for arg in args))
    assert not (tmp_path / "s").exists()


def test_the_installed_command_says_the_same_and_warns_of_nothing(tmp_path: Path) -> None:
    """As a process of its own, with its real workers, every warning an error."""
    config, store = written(tmp_path, GRID), tmp_path / "store"
    command = [LINDYN, "sweep", config, "--store", store]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PYTHONWARNINGS": "error"})
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    alone = tmp_path / "alone"
    swept(config, alone)
    assert table(store) == table(alone)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
