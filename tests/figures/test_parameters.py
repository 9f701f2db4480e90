"""Parameters as text: what a setting means is decided by the default that it replaces."""

import pytest

import dynamics as dyn
from figures import NAMES, entry_of
from figures.parameters import overrides, shown


def read(name: str, *settings: str) -> dict[str, object]:
    return overrides([entry_of(name)], settings)[0]


@pytest.mark.parametrize("name", NAMES)
def test_defaults_as_shown_read_back(name: str) -> None:
    parameters = entry_of(name).parameters
    again = read(name, *shown(parameters).split(" "))
    assert again == parameters
    assert [type(value) for value in again.values()] == [type(value) for value in parameters.values()]


def test_a_value_has_the_kind_of_its_default() -> None:
    found = read("depth", "rho=1,2", "epsilon=1", "max_depth=4")
    assert found == {"rho": (1.0, 2.0), "epsilon": 1.0, "max_depth": 4}
    assert isinstance(found["epsilon"], float)
    assert all(isinstance(value, float) for value in found["rho"])  # type: ignore[attr-defined]


def test_a_single_value_is_a_list_of_one() -> None:
    assert read("initialisation", "start=haar") == {"start": ("haar",)}


def test_dashes_and_blanks_are_forgiven() -> None:
    assert read("depth", " max-depth = 4 ") == {"max_depth": 4}
    assert read("depth", "rho=0.5, 0.7") == {"rho": (0.5, 0.7)}


def test_the_last_of_two_settings_holds() -> None:
    assert read("depth", "max_depth=4", "max_depth=5") == {"max_depth": 5}


def test_text_may_hold_an_equals_sign() -> None:
    assert read("digits", "data=a=b.npy") == {"data": "a=b.npy"}


def test_a_setting_concerns_only_the_figures_that_know_it() -> None:
    entries = [entry_of("depth"), entry_of("spectrum"), entry_of("map")]
    assert overrides(entries, ["max_depth=3", "points=5"]) == [{"max_depth": 3}, {"max_depth": 3}, {"points": 5}]


def test_one_name_may_be_of_two_kinds() -> None:
    assert overrides([entry_of("greedy"), entry_of("map")], ["depth=3"]) == [{"depth": 3}, {"depth": (3,)}]


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("epsilon", "epsilon sets nothing; write name=value, such as depth=4."),
        ("epsilom=1", "The figure depth has no parameter epsilom; the nearest is epsilon."),
        ("max_depth=2.5", "max_depth is '2.5'; it must be a whole number."),
        ("max_depth=", "max_depth is ''; it must be a whole number."),
        ("epsilon=small", "epsilon is 'small'; it must be a number."),
        ("rho=1,,2", "rho is ''; it must be a number."),
    ],
    ids=["no equals sign", "unknown", "not whole", "empty", "text", "gap"],
)
def test_what_cannot_be_read_is_refused(setting: str, told: str) -> None:
    with pytest.raises(dyn.LindynError) as error:
        read("depth", setting)
    assert str(error.value) == told


def test_a_parameter_of_no_figure_is_refused() -> None:
    with pytest.raises(dyn.LindynError, match=r"None of these figures has the parameter imagess; the nearest is images\."):
        overrides([entry_of("depth"), entry_of("masking")], ["imagess=1"])
