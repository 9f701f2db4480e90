"""Parameters: their types, what "none" means, and those that no cell would read."""

from typing import Any

import pytest

from dynamics import LindynError, ParameterError
from dynamics.sweep.parameters import Parameter, refuse_unread

OPTIONAL = Parameter(float, None)
LEARNING = {
    "learning_rate": Parameter(float, None),
    "optimiser": Parameter(str, "plain", ("plain", "momentum"), (("learning_rate", ()),)),
    "momentum": Parameter(float, 0.9, read_with=(("optimiser", ("momentum",)),)),
}


@pytest.mark.parametrize(
    ("parameter", "given", "value"),
    [
        (Parameter(float, 1.0), 2, 2.0),
        (Parameter(int, 1), 2, 2),
        (Parameter(bool, True), False, False),
        (Parameter(str, "a", ("a", "b")), "b", "b"),
        (OPTIONAL, "none", None),
        (OPTIONAL, 3, 3.0),
    ],
)
def test_values_are_of_the_type_of_their_parameter(parameter: Parameter, given: Any, value: Any) -> None:
    assert parameter.read("it", given) == value
    assert type(parameter.read("it", given)) is type(value)


@pytest.mark.parametrize(
    ("parameter", "given"),
    [
        (Parameter(float, 1.0), True),
        (Parameter(float, 1.0), "1"),
        (Parameter(float, 1.0), float("nan")),
        (Parameter(float, 1.0), float("inf")),
        (Parameter(float, 1.0), "none"),
        (Parameter(int, 1), 1.0),
        (Parameter(int, 1), False),
        (Parameter(bool, True), 1),
        (Parameter(str, "a", ("a", "b")), "c"),
        (OPTIONAL, "None"),
        (Parameter(float, 1.0), [1.0]),
    ],
)
def test_values_of_another_type_are_refused(parameter: Parameter, given: Any) -> None:
    with pytest.raises(ParameterError) as refusal:
        parameter.read("it", given)
    assert refusal.value.name == "it"


def test_an_optional_parameter_says_how_it_is_left_out() -> None:
    with pytest.raises(ParameterError, match='or "none"'):
        OPTIONAL.read("it", "nothing")


def test_a_parameter_that_no_cell_reads_is_refused() -> None:
    axes: dict[str, Any] = {"learning_rate": (0.1,), "optimiser": ("plain",), "momentum": (0.5,)}
    with pytest.raises(LindynError, match=r'momentum is read by no cell: it goes with optimiser = "momentum"'):
        refuse_unread(LEARNING, axes, ["momentum"])
    axes = {"learning_rate": (None,), "optimiser": ("momentum",), "momentum": (0.9,)}
    with pytest.raises(LindynError, match="optimiser is read by no cell: it goes with learning_rate = a value"):
        refuse_unread(LEARNING, axes, ["optimiser"])


def test_one_of_several_conditions_is_enough() -> None:
    seed = {"seed": Parameter(int, 0, read_with=(("start", ("gaussian",)), ("batch", ())))}
    for start, batch in (("gaussian", None), ("balanced", 4)):
        refuse_unread(seed, {"start": (start,), "batch": (batch,), "seed": (0, 1)}, ["seed"])
    with pytest.raises(LindynError, match='it goes with start = "gaussian", or batch = a value; set that'):
        refuse_unread(seed, {"start": ("balanced",), "batch": (None,), "seed": (0, 1)}, ["seed"])


def test_a_parameter_that_some_cell_reads_is_taken() -> None:
    axes: dict[str, Any] = {"learning_rate": (None, 0.1), "optimiser": ("plain", "momentum"), "momentum": (0.5, 0.9)}
    refuse_unread(LEARNING, axes, ["learning_rate", "optimiser", "momentum"])
