"""Studies: every table has the columns that it declares, and the numbers of the library."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from cli import main
from dynamics import Features, critical_times, jepa, simulate
from dynamics.multiview import LOSSES
from dynamics.sweep.configuration import sweep_of
from dynamics.sweep.of_modes import LOSSES as NAMES
from dynamics.sweep.studies import STUDIES
from dynamics.table import Table

TOY = {"toy": {"lambda": [1.0, 0.8, 0.7], "rho": [0.6, 0.95, 0.9]}}
DESCENT = {"learning_rate": 0.1, "until": 5.0}
SMALL = {"patches": 36, "global_size": 16, "local_size": 5, "clusters": 2, "batch": 4}
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "simulate": [
        {"until": 5.0},
        DESCENT | {"optimiser": "momentum", "batch": 4, "start": "gaussian", "time_convention": "paper"},
        {"until": 2.0, "teacher_rate": 0.1, "weight_decay": 0.01, "predictor_start": 0.3, "predictor_rate": 2.0},
        {"until": 2.0, "stop_gradient": False},
    ],
    "critical-time": [
        {"elasticities": True, "expansion": True, "digits": 20, "learning_rate": 0.1, "time_convention": "paper"},
        {"method": "scipy"},
        {"teacher_rate": 0.1, "weight_decay": 0.01, "predictor_start": 0.3, "predictor_rate": 2.0},
    ],
    "trajectory": [{"time_convention": "paper"}, {"method": "scipy"}],
    "multiview critical-time": [
        {"beta": 0.1, "kernel": "view-mean", "views": 4},
        {"loss": "penalised", "invariance": "views"},
        {"loss": "byol", "epsilon": 0.3, "weight_decay": 0.01, "teacher_rate": 0.5},
    ],
    "multiview simulate": [
        {"beta": 0.1, "kernel": "view-mean", "epsilon": 1e-2},
        {"loss": "penalised", "invariance": "views", "learning_rate": 0.05, "until": 5.0},
        {"loss": "byol", "epsilon": 0.3, "weight_decay": 0.01, "teacher_rate": 0.5, "until": 5.0},
        {"images": 50, "until": 5.0, "width": 4},
    ],
    "attention phases": [SMALL, SMALL | {"clusters": 1}],
    "attention simulate": [
        SMALL | {"steps": 2, "looks": 2},
        SMALL | {"steps": 2, "looks": 2, "objective": "cl"},
    ],
}


def made(command: str, settings: dict[str, Any], table: str) -> Table:
    """The table of the only cell of a sweep."""
    study = STUDIES[command]
    known = {name: value for name, value in settings.items() if name in study.parameters}
    document: dict[str, Any] = {"command": command, "table": table, "settings": known}
    sweep = sweep_of(document | ({"sources": TOY} if study.sources else {}))
    cell = next(sweep.cells())
    result = study.prepared(sweep.contents.get("toy"), cell.values)()
    return study.tables[table].of(result, cell.values)


@pytest.mark.parametrize("command", STUDIES)
def test_tables_have_the_columns_that_they_declare_and_no_others(command: str) -> None:
    for table, kept in STUDIES[command].tables.items():
        found: dict[str, None] = {}
        for settings in VARIANTS[command]:
            columns = made(command, settings, table).columns
            assert set(kept.keys) <= set(columns), table
            found |= dict.fromkeys(columns)
        assert set(found) == {*kept.keys, *kept.columns}, table


@pytest.mark.parametrize("command", STUDIES)
def test_defaults_are_values_that_their_parameters_take(command: str) -> None:
    for name, parameter in STUDIES[command].parameters.items():
        if parameter.default is not None:
            assert parameter.read(name, parameter.default) == parameter.default
        assert {other for other, _ in parameter.read_with} <= set(STUDIES[command].parameters)


def test_no_parameter_is_called_like_another_column_of_its_tables() -> None:
    """An axis takes the place of the column of its name, so that must mean the same: a time is no convention."""
    for study in STUDIES.values():
        for kept in study.tables.values():
            assert not set(kept.keys) & set(study.parameters)


def test_losses_are_those_of_the_library() -> None:
    assert set(NAMES) == set(LOSSES)


def test_every_study_is_a_command() -> None:
    for name in STUDIES:
        group: Any = main
        for word in name.split():
            group = group.commands[word]


CALLED = {
    "elasticities": "sensitivities",
    "expansion": "small_start",
    "loss": "name",
    "time_convention": "time",
}
"""Parameters that the command calls otherwise."""
HERE_ONLY = {"latent_low", "latent_high", "stop_gradient", "positions"}
"""Parameters that are two in one option, or the opposite of one."""


@pytest.mark.parametrize("command", STUDIES)
def test_parameters_have_the_defaults_of_the_command(command: str) -> None:
    group: Any = main
    for word in command.split():
        group = group.commands[word]
    context = group.make_context(command, [], resilient_parsing=True)
    defaults = {name: _first(value) for name, value in context.params.items()}
    if command == "trajectory":
        defaults["points"] = 50  # the option has none, so that it can be told whether someone gave it
    for name, parameter in STUDIES[command].parameters.items():
        if name not in HERE_ONLY:
            default = defaults[CALLED.get(name, name)]
            assert parameter.default == (None if default is None else parameter.kind(default)), name


def _first(default: Any) -> Any:
    """The first value of a repeatable option; None where it has no default."""
    while isinstance(default, list | tuple):
        default = default[0] if default else None
    return default


def test_cells_are_computed_by_the_library() -> None:
    features = Features(lam=[1.0, 0.8, 0.7], rho=[0.6, 0.95, 0.9])
    table = made("critical-time", {"depth": 3, "epsilon": 1e-3}, "features")
    expected = critical_times(jepa(depth=3), features, epsilon=1e-3)
    assert_array_equal(table.columns["critical_time"], expected.time)
    run = simulate(jepa(depth=2), features, epsilon=0.05, start="gaussian", seed=3, until=50.0)
    table = made("simulate", {"epsilon": 0.05, "start": "gaussian", "seed": 3, "until": 50.0}, "features")
    assert_array_equal(table.columns["simulated_time"], run.time)


def test_steps_are_the_time_of_the_flow_over_that_of_a_step() -> None:
    plain = made("simulate", {"learning_rate": 0.02, "epsilon": 0.05}, "features").columns
    assert_array_equal(plain["predicted_steps"], plain["critical_time"] / 0.02)
    assert_array_equal(plain["simulated_steps"], plain["simulated_time"] / 0.02)
    heavy = made("simulate", {"learning_rate": 0.02, "epsilon": 0.05, "optimiser": "momentum"}, "features").columns
    np.testing.assert_allclose(heavy["predicted_steps"], plain["predicted_steps"] * (1.0 - 0.9), rtol=1e-12)
    assert "predicted_steps" not in made("simulate", {"until": 1.0}, "features").columns
    adam = made("simulate", {"learning_rate": 0.02, "optimiser": "adam", "until": 1.0}, "features").columns
    assert "predicted_steps" not in adam
