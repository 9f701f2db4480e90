"""One cell: rows or a reason, the same in every process."""

from typing import Any

import numpy as np
import pytest

from dynamics import LindynError
from dynamics.sweep.configuration import sweep_of
from dynamics.sweep.plan import Sweep
from dynamics.sweep.store import Failure
from dynamics.sweep.study import Kept
from dynamics.sweep.version import code_version
from dynamics.sweep.work import Job, Rows, Stranger, computed, selected
from dynamics.table import Table


def planned(**more: Any) -> Sweep:
    return sweep_of({"command": "critical-time", "sources": {"a": {"lambda": [1.0], "rho": [0.5]}}} | more)


def computed_first(sweep: Sweep, version: str | None = None) -> Any:
    job = Job(sweep.study.name, sweep.table, sweep.observables, version or sweep.version)
    return computed(job, sweep.contents, next(sweep.cells()).values)


def test_a_cell_is_the_rows_of_its_table() -> None:
    answer = computed_first(planned(observables=["critical_time"]))
    assert isinstance(answer, Rows)
    assert list(answer.table.columns) == ["feature", "critical_time"]
    assert answer.seconds > 0.0


def test_what_is_refused_is_a_failure_with_its_words() -> None:
    answer = computed_first(planned(settings={"epsilon": 1e-300, "depth": 1}, axes={"digits": [-1, 3]}))
    assert isinstance(answer, Failure)
    assert answer.kind == "ParameterError"
    assert answer.message.startswith("digits is -1; it must be")
    assert "Traceback" in answer.traceback


def test_any_error_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("dynamics.reports.critical_time.critical_time_table", broken)
    answer = computed_first(planned())
    assert isinstance(answer, Failure)
    assert (answer.kind, answer.message) == ("ZeroDivisionError", "division by zero")


def test_a_process_of_another_version_computes_nothing() -> None:
    answer = computed_first(planned(), version="lindyn 0.0.1")
    assert answer == Stranger(code_version())


def test_observables_that_a_cell_does_not_have_are_left_out() -> None:
    kept = Kept(lambda result, values: result, "a row", ("feature",), ("a", "b"))
    table = Table({"feature": np.array(["1"]), "a": np.array([1.0])})
    assert list(selected(table, kept, ("b", "a")).columns) == ["feature", "a"]
    assert selected(table, kept, ()) is table
    keyless = Kept(lambda result, values: result, "a row", (), ("a", "b"))
    with pytest.raises(LindynError, match="There is none of b here; the columns are feature, a"):
        selected(table, keyless, ("b",))
