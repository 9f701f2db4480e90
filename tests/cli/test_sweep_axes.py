"""Axes: the values that were asked for, in the order of the grid."""

import itertools
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.cli.running import answered, exact_time, strict
from tests.cli.sweeping import GRID, PAIR, TIMES, TOY, result, swept, written


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
