"""Errors travel between processes."""

import pickle

import pytest

from dynamics.errors import LindynError, ParameterError, TableError


@pytest.mark.parametrize("value", [1.5, "a word", None])
def test_a_parameter_error_says_the_same_in_another_process(value: object) -> None:
    error = ParameterError("fraction", value, "strictly between 0 and 1")
    other = pickle.loads(pickle.dumps(error))
    assert (type(other), str(other), other.sentence("--fraction")) == (ParameterError, str(error), error.sentence("--fraction"))


@pytest.mark.parametrize("kind", [LindynError, TableError])
def test_other_errors_travel_too(kind: type[LindynError]) -> None:
    assert str(pickle.loads(pickle.dumps(kind("What is wrong.")))) == "What is wrong."
