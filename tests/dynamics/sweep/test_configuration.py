"""Configurations: the grid, its keys, and what is refused before anything is computed."""

import time
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dynamics import LindynError, ParameterError, TableError
from dynamics.sweep.configuration import read_sweep, sweep_of
from dynamics.sweep.plan import Sweep, sweep_in

TOY = {"toy": {"lambda": [1.0, 0.8], "rho": [0.5, 1.2]}}


def configured(**more: Any) -> dict[str, Any]:
    return {"command": "critical-time", "sources": TOY} | more


def keys(document: dict[str, Any]) -> list[str]:
    return [cell.key for cell in sweep_of(document).cells()]


def test_the_grid_is_every_combination_and_the_last_axis_varies_fastest() -> None:
    sweep = sweep_of(configured(axes={"depth": {"from": 1, "to": 3}, "objective": ["mae", "jepa"], "epsilon": [0.1, 0.01]}))
    points = [(cell.values["depth"], cell.values["objective"], cell.values["epsilon"]) for cell in sweep.cells()]
    assert points == list(product((1, 2, 3), ("mae", "jepa"), (0.1, 0.01)))
    assert len(sweep) == 12
    assert sweep.shown == ("depth", "objective", "epsilon")


def test_every_cell_has_every_parameter_with_the_defaults_of_the_command() -> None:
    cell = next(sweep_of(configured(settings={"depth": 3})).cells())
    assert cell.values["depth"] == 3
    assert cell.values["epsilon"] == 1e-2
    assert cell.values["fraction"] == 0.5
    assert cell.values["teacher_rate"] is None


def test_parameters_that_go_together_are_one_axis() -> None:
    sweep = sweep_of(configured(axes={"depth, epsilon": [[1, 0.1], [3, 1]], "objective": ["jepa", "mae"]}))
    points = [(cell.values["depth"], cell.values["epsilon"], cell.values["objective"]) for cell in sweep.cells()]
    assert points == [(1, 0.1, "jepa"), (1, 0.1, "mae"), (3, 1.0, "jepa"), (3, 1.0, "mae")]
    assert len(sweep) == 4
    assert sweep.shown == ("depth", "epsilon", "objective")
    assert sweep.values["depth"] == (1, 3)
    alone = {
        cell.key for cell in sweep_of(configured(axes={"objective": ["jepa", "mae"], "depth": [1], "epsilon": [0.1]})).cells()
    }
    assert alone == {cell.key for cell in list(sweep.cells())[:2]}
    again = sweep_in(sweep.described())
    assert [cell.key for cell in again.cells()] == [cell.key for cell in sweep.cells()]


def test_a_value_that_makes_no_sense_is_refused_on_a_joint_axis_as_well() -> None:
    with pytest.raises(ParameterError, match=r"epsilon is -1\.0"):
        sweep_of(configured(axes={"depth,epsilon": [[1, 0.1], [2, -1.0]]}))


def test_several_sources_are_an_axis_and_a_single_one_is_not() -> None:
    other = {"other": {"lambda": [0.5], "rho": [1.0]}}
    assert sweep_of(configured()).shown == ()
    both = sweep_of(configured(sources=TOY | other, axes={"depth": [1, 2]}))
    assert both.shown == ("source", "depth")
    assert [cell.values["source"] for cell in both.cells()] == ["toy", "toy", "other", "other"]
    named = sweep_of(configured(sources=TOY | other, axes={"source": ["other"]}))
    assert [cell.values["source"] for cell in named.cells()] == ["other"]


def test_no_two_cells_share_a_key_and_keys_do_not_change() -> None:
    document = configured(axes={"depth": {"from": 1, "to": 20}, "epsilon": {"from": 1e-6, "to": 1e-1, "log_points": 20}})
    assert len(set(keys(document))) == 400
    assert keys(document) == keys(document)


@pytest.mark.parametrize(
    "change",
    [
        {"settings": {"epsilon": 0.02}},
        {"settings": {"fraction": 0.4}},
        {"settings": {"teacher_rate": 0.1}},
        {"observables": ["critical_time"]},
        {"sources": {"toy": {"lambda": [1.0, 0.8], "rho": [0.5, 1.3]}}},
        {"command": "trajectory"},
    ],
)
def test_a_key_depends_on_all_that_the_result_does(change: dict[str, Any]) -> None:
    assert keys(configured()) != keys(configured() | change)


def test_a_key_does_not_depend_on_names_of_sources_and_on_other_cells() -> None:
    assert keys(configured()) == keys(configured(sources={"renamed": TOY["toy"]}))
    assert set(keys(configured(axes={"depth": [1, 2]}))) < set(keys(configured(axes={"depth": [1, 2, 3]})))
    assert keys(configured(settings={"depth": 3})) == keys(configured(axes={"depth": [3]}))


def test_a_key_depends_on_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    before = keys(configured())
    monkeypatch.setattr("dynamics.sweep.configuration.code_version", lambda: "another")
    assert keys(configured()) != before


def test_a_key_depends_on_the_content_of_a_file_and_not_on_its_name(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("lambda,rho\n1,0.5\n")
    (tmp_path / "two.csv").write_text("lambda,rho\n1,0.5\n")
    first, second = (
        [cell.key for cell in sweep_of(configured(sources={"f": {"features": name}}), tmp_path).cells()]
        for name in ("one.csv", "two.csv")
    )
    assert first == second
    (tmp_path / "two.csv").write_text("lambda,rho\n1,0.6\n")
    changed = sweep_of(configured(sources={"f": {"features": "two.csv"}}), tmp_path)
    assert [cell.key for cell in changed.cells()] != first


def test_a_sweep_is_made_again_from_its_description() -> None:
    other = {"other": {"lambda": [0.5], "rho": [1.0]}}
    sweep = sweep_of(configured(sources=TOY | other, axes={"depth": [1, 2], "teacher_rate": ["none", 0.1]}))
    again = sweep_in(sweep.described())
    assert [(cell.key, dict(cell.values)) for cell in again.cells()] == [
        (cell.key, dict(cell.values)) for cell in sweep.cells()
    ]
    assert again.described() == sweep.described()


SQUARE: dict[str, Any] = {
    "depth": {"from": 1, "to": 10},
    "epsilon": {"from": 1e-6, "to": 1e-1, "log_points": 10},
    "fraction": {"from": 0.001, "to": 0.1, "step": 0.001},
}


@pytest.mark.parametrize("axes", [SQUARE, {"epsilon": {"from": 1e-6, "to": 1e-1, "log_points": 10_000}}], ids=["three", "one"])
def test_ten_thousand_cells_are_planned_in_less_than_two_seconds(axes: dict[str, Any]) -> None:
    begun = time.monotonic()
    sweep = sweep_of(configured(axes=axes))
    assert len({cell.key for cell in sweep.cells()}) == 10_000
    assert time.monotonic() - begun < 2.0


def test_a_long_axis_is_checked_at_its_ends_alone() -> None:
    begun = time.monotonic()
    sweep = sweep_of(configured(axes={"epsilon": {"from": 1e-6, "to": 1e-1, "log_points": 100_000}}))
    assert len(sweep) == 100_000
    assert time.monotonic() - begun < 5.0


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("epsilon", [0.1, -0.1]),
        ("fraction", [0.5, 1.0]),
        ("depth", [0, 1]),
        ("teacher_rate", ["none", -1.0]),
        ("weight_decay", [0.0, -0.1]),
        ("learning_rate", [0.1, 0.0]),
    ],
)
def test_values_that_make_no_sense_anywhere_are_refused_before_the_start(name: str, values: list[Any]) -> None:
    with pytest.raises(ParameterError) as refusal:
        sweep_of(configured(axes={name: values}))
    assert refusal.value.name == name


def test_a_combination_that_makes_no_sense_is_left_to_its_cell() -> None:
    sizes = {"patches": 36, "global_size": 16, "local_size": 5, "steps": 2, "batch": 2}
    sweep_of({"command": "attention simulate", "settings": sizes, "axes": {"objective": ["mae", "cl"], "clusters": [1, 2]}})


def test_a_sweep_of_which_no_cell_makes_sense_is_refused() -> None:
    with pytest.raises(LindynError, match="Areas are global_size with local_size"):
        sweep_of({"command": "attention phases", "axes": {"patches": [100, 196]}})


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"sources": TOY}, "command is missing"),
        (configured(command="simulat"), "command is simulat; it must be one of"),
        (configured(comand="simulate"), "A configuration has no key comand; did you mean command"),
        (configured(table="curves"), "table is curves; it must be features"),
        (
            configured(observables=["critical_tim"]),
            "features has no observable critical_tim; did you mean critical_time",
        ),
        (configured(observables=[]), "observables is empty"),
        (configured(observables=["status", "status"]), "observables has status twice"),
        (configured(axes={"depth": {"from": 1, "to": 10_000}, "epsilon": {"from": 1.0, "to": 2001.0}}), "The grid has"),
        (configured(sources={"a": {"x": "x.npy", "mask": "half"}}), 'sources.a.mask is "half"; it must be a finite number'),
        (configured(sources={"a": {"x": "x.npy", "standardise": "yes"}}), 'sources.a.standardise is "yes"; it must be true'),
        (configured(sources={"a": {"x": "x.npy", "lag": 1.0}}), "sources.a.lag is 1.0; it must be a whole number"),
        (configured(sources={"a": {"x": "x.npy", "target": "all"}}), "sources.a.target is"),
        (configured(observables="status"), "observables is status; it must be a list"),
        (configured(settings={"epsilom": 1}), "critical-time has no parameter epsilom; did you mean epsilon"),
        (configured(axes={"widht": [1]}), "critical-time has no parameter widht; known are"),
        (configured(axes={"depth": []}), "The axis depth is empty"),
        (configured(axes=[1]), "axes is .* it must be a table"),
        (configured(settings={"depth": 1}, axes={"depth": [2]}), "depth stands twice in settings and axes"),
        (configured(settings={"depth": "2"}), 'depth is "2"; it must be a whole number'),
        (configured(axes={"depth,epsilon": [[1, 0.1]], "depth": [2]}), "depth stands twice"),
        (configured(axes={"depth,epsilon": []}), "The axis depth,epsilon is empty"),
        (configured(axes={"depth,epsilon": [[1]]}), "must be a list of lists, each with depth, epsilon"),
        (configured(axes={"depth,epsilon": [1, 2]}), "must be a list of lists, each with depth, epsilon"),
        (configured(axes={"depth,epsilon": [[1, 0.1], [1, 0.1]]}), "twice"),
        (configured(axes={"depth,epsilon": [[1, "x"]]}), 'epsilon is "x"; it must be a finite number'),
        (configured(axes={"depth,epsilom": [[1, 0.1]]}), "has no parameter epsilom; did you mean epsilon"),
        (configured(sources={}), "needs something to learn"),
        (configured(sources={"a": {}}), "The source a is empty"),
        (configured(sources={"a": 1}), "sources.a is 1; it must be a table"),
        (configured(sources={"a": {"lambda": [1.0], "rh": [1.0]}}), "The source a has the unknown key rh"),
        (configured(sources={"a": {"lambda": [1.0]}}), "The source a is refused"),
        (configured(sources={"a": {"lambda": 1.0, "rho": 1.0}}), "The source a is refused: lambda"),
        (configured(sources={"a": {"features": "missing.csv"}}), "missing.csv cannot be read"),
        (configured(sources={"a": {"features": 3}}), "must be the name of a file"),
        (configured(axes={"source": ["other"]}), "source is"),
        ({"command": "attention phases", "sources": TOY}, "leave the sources out"),
    ],
)
def test_what_is_no_sweep_is_refused_in_one_sentence(document: dict[str, Any], told: str) -> None:
    with pytest.raises(LindynError, match=told) as refusal:
        sweep_of(document)
    assert "\n" not in str(refusal.value)


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sweep.toml"
    with pytest.raises(TableError, match="cannot be read: no such file"):
        read_sweep(path)
    path.write_text("command = ")
    with pytest.raises(TableError, match="is not valid TOML"):
        read_sweep(path)
    path.write_bytes(b"command = '\xff'")
    with pytest.raises(TableError, match="is not UTF-8"):
        read_sweep(path)


def test_files_are_looked_for_beside_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "f.csv").write_text("lambda,rho\n1,0.5\n")
    (tmp_path / "here" / "sweep.toml").write_text('command = "critical-time"\n[sources.f]\nfeatures = "f.csv"\n')
    monkeypatch.chdir(tmp_path)
    sweep: Sweep = read_sweep("here/sweep.toml")
    assert len(sweep) == 1
