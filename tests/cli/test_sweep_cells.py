"""Cells: what a sweep computes is what the commands say."""

import csv
import io
import itertools
import json
import math
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import spearmanr

from tests.cli.running import answered, exact_time, strict
from tests.cli.sweeping import (
    PAIR,
    TIMES,
    TOY,
    result,
    same,
)


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
