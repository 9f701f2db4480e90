"""Templates: configurations that can be computed as they stand and say what every parameter is by default."""

import re
import tomllib

import pytest

from dynamics.sweep.configuration import sweep_of
from dynamics.sweep.studies import STUDIES
from dynamics.sweep.template import template


@pytest.mark.parametrize("command", STUDIES)
def test_a_template_is_a_sweep_that_can_be_computed(command: str) -> None:
    sweep = sweep_of(tomllib.loads(template(STUDIES[command])))
    sweep.check()
    assert sweep.study.name == command
    assert len(sweep) > 1


@pytest.mark.parametrize("command", STUDIES)
def test_what_is_commented_out_is_the_default(command: str) -> None:
    """With every comment of a setting taken away it is the same sweep, where all of them are read."""
    study, text = STUDIES[command], template(STUDIES[command])
    for name, parameter in study.parameters.items():
        line = re.search(rf"^(?:# )?{name} = (.*)$", text, re.MULTILINE)
        assert line is not None, name
        value = tomllib.loads(f"it = {line[1]}")["it"]
        if name not in study.needed:
            assert parameter.read(name, value) == parameter.default
        assert all(choice in line[0] for choice in parameter.choices)


@pytest.mark.parametrize("command", STUDIES)
def test_all_tables_and_observables_are_named(command: str) -> None:
    text = re.sub(r"\n#\s+", " ", template(STUDIES[command]))
    for name, kept in STUDIES[command].tables.items():
        assert f"{name}, one row {kept.rows}: {', '.join(kept.columns)}" in text
