"""What a process does with one cell: prepare it, compute it, and select what is kept."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from dynamics.errors import LindynError
from dynamics.sweep.parameters import Values
from dynamics.sweep.plan import SOURCE
from dynamics.sweep.store import Failure
from dynamics.sweep.studies import STUDIES
from dynamics.sweep.study import Kept
from dynamics.sweep.version import code_version
from dynamics.table import Table


@dataclass(frozen=True)
class Job:
    """What all cells of a sweep share, light enough to be sent with each."""

    study: str
    table: str
    observables: tuple[str, ...]
    version: str


@dataclass(frozen=True)
class Rows:
    """The rows of a cell, the seconds that they took, and what a reader should know beside them."""

    table: Table
    seconds: float
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stranger:
    """A process of another version of the code, which computes nothing."""

    version: str


Answer = Rows | Failure | Stranger


def computed(job: Job, contents: Mapping[str, Any], values: Values) -> Answer:
    """The rows of a cell, or why there are none. The same cell gives the same rows, whichever process computes it."""
    begun = time.perf_counter()
    try:
        if job.version != code_version():
            return Stranger(code_version())
        _one_thread()
        study = STUDIES[job.study]
        kept = study.tables[job.table]
        result = study.prepared(contents.get(values.get(SOURCE, "")), values)()
        table = selected(kept.of(result, values), kept, job.observables)
        remarks = tuple(text.replace("--", "") for text in study.remarks(result, values))  # parameters, not options
    except Exception as error:
        return Failure(type(error).__name__, str(error), traceback.format_exc())
    return Rows(table, time.perf_counter() - begun, remarks)


def selected(table: Table, kept: Kept, observables: tuple[str, ...]) -> Table:
    """Of a table the columns that tell its rows apart and the observables, in the table's order; all without observables.

    An observable that this cell does not have is left out.
    """
    if not observables:
        return table
    wanted = {*kept.keys, *observables}
    columns = {name: column for name, column in table.columns.items() if name in wanted}
    if not columns:
        raise LindynError(f"There is none of {', '.join(observables)} here; the columns are {', '.join(table.columns)}.")
    return Table(columns)


@cache
def _one_thread() -> None:
    """Let linear algebra use one thread from now on: more would change the last digits, and compete with other cells."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")
