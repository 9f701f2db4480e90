"""The catalogue: names, what is told of them, and what is refused."""

from typing import Any

import numpy as np
import pytest

import dynamics as dyn
import figures
from figures.catalogue import Entry
from figures.saving import Order

TABLES = {"greedy", "map", "crossover", "network", "initialisation", "teacher", "steps", "three-orders"}
PAIR = dyn.Features(lam=[1.0, 0.8], rho=[0.6, 1.2])


def test_public_names() -> None:
    assert figures.__all__ == ["NAMES", "STYLES", "Drawing", "Entry", "Style", "draw", "entry_of", "style_of"]
    assert all(hasattr(figures, name) for name in figures.__all__)


def test_names() -> None:
    assert figures.NAMES == (
        "greedy",
        "depth",
        "expansion-error",
        "map",
        "crossover",
        "network",
        "initialisation",
        "teacher",
        "predictor-depth",
        "collapse",
        "masking",
        "temporal",
        "spectrum",
        "digits",
        "steps",
        "staircase",
        "redundancy",
        "projector",
        "views",
        "three-orders",
        "phases",
        "exponents",
        "collapse-map",
        "attention-maps",
        "gap-sign",
    )


@pytest.mark.parametrize("name", figures.NAMES)
def test_a_title_is_one_line_and_ends_with_a_full_stop(name: str) -> None:
    entry = figures.entry_of(name)
    assert entry.title.endswith(".")
    assert not entry.title.endswith("..")
    assert len(entry.title) <= 128
    assert entry.description.startswith(entry.title + "\n")


@pytest.mark.parametrize("name", figures.NAMES)
def test_every_default_is_of_a_kind_that_a_command_line_can_give(name: str) -> None:
    for default in figures.entry_of(name).parameters.values():
        values = default if isinstance(default, tuple) else (default,)
        assert values
        assert {type(value) for value in values} in ({int}, {float}, {str})


def test_which_figures_take_features() -> None:
    assert {name for name in figures.NAMES if Entry(name).takes_features} == TABLES
    assert not any("features" in Entry(name).parameters for name in figures.NAMES)


def test_the_entry_shows_what_is_drawn() -> None:
    drawing = figures.draw("spectrum", "icml", max_depth=2)
    assert isinstance(drawing, figures.Drawing)
    assert drawing.figure.get_figwidth() == 3.25
    assert max(drawing.table.columns["depth"]) == 2
    assert drawing.caption.endswith(".")


def test_features_take_the_place_of_the_scenario() -> None:
    drawing = figures.draw("greedy", features=PAIR)
    assert set(drawing.table.columns["lambda"]) == {1.0, 0.8}
    assert set(drawing.table.columns["rho"]) == {0.6, 1.2}


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        (("digit", "neurips", {}), "There is no figure digit; the nearest is digits."),
        (("tempor", "neurips", {}), "There is no figure tempor; there are temporal, steps."),
        (("zzz", "neurips", {}), f"There is no figure zzz; there are {', '.join(figures.NAMES)}."),
        (("depth", "nips", {}), "style is nips; it must be one of neurips, icml, icml-wide, iclr, talk."),
        (("depth", "neurips", {"max_dept": 3}), "The figure depth has no parameter max_dept; the nearest is max_depth."),
    ],
    ids=["figure", "two figures", "all figures", "style", "parameter"],
)
def test_unknown_names_are_refused_with_the_nearest(refused: tuple[str, str, dict[str, Any]], told: str) -> None:
    name, style, parameters = refused
    with pytest.raises(dyn.LindynError) as error:
        figures.draw(name, style, **parameters)
    assert str(error.value) == told


def test_features_are_refused_where_none_are_drawn() -> None:
    with pytest.raises(dyn.LindynError, match=r"The figure depth takes no features; those that do are greedy, map, crossover"):
        figures.draw("depth", features=PAIR)


COUNTS = ("depth", "predictor_depth", "max_depth", "max_predictor_depth", "points", "count", "seeds", "images")
WRONG = {"epsilon": -1.0, "fraction": 2.0, "keep": 2.0, **dict.fromkeys(COUNTS, 0)}


@pytest.mark.parametrize(
    ("name", "parameter"),
    [(name, parameter) for name in figures.NAMES for parameter in WRONG if parameter in figures.entry_of(name).parameters],
)
def test_what_the_theory_refuses_a_figure_refuses(name: str, parameter: str) -> None:
    value, default = WRONG[parameter], figures.entry_of(name).parameters[parameter]
    with pytest.raises(dyn.ParameterError) as error:
        figures.draw(name, **{parameter: (value,) if isinstance(default, tuple) else value})
    assert error.value.name == parameter


@pytest.mark.parametrize("name", sorted(TABLES - {"map"}))
def test_features_that_are_never_learned_are_refused_before_a_network_is_trained(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def simulate(*_: object, **__: object) -> None:
        raise AssertionError("trained a network first")

    monkeypatch.setattr(dyn, "simulate", simulate)
    monkeypatch.setattr(dyn.Experiment, "run", simulate)
    with pytest.raises(dyn.LindynError) as error:
        figures.draw(name, features=dyn.Features(lam=[-1.0, -0.5], sigma=1.0))
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


def test_resolved_parameters_are_all_of_them() -> None:
    entry = figures.entry_of("depth")
    assert entry.resolved({"epsilon": 0.5}) == entry.parameters | {"epsilon": 0.5}


def test_drawing_leaves_numpy_and_random_numbers_alone() -> None:
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    settings = np.geterr()
    Order(figures.entry_of("spectrum"), figures.STYLES["icml"], ("pdf", "svg", "png")).files()
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert np.geterr() == settings
