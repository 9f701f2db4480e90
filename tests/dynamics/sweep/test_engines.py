"""Engines: processes and clusters compute cells, and say so when they are gone."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from dynamics import LindynError, ParameterError
from dynamics.sweep.configuration import sweep_of
from dynamics.sweep.engines import AHEAD, EngineError, Processes, ProcessLostError, cluster, processes
from dynamics.sweep.plan import Sweep
from dynamics.sweep.work import Job, Rows, computed

SLOW = {"start": "gaussian", "epsilon": 1e-3, "learning_rate": 1e-4, "until": 1e4}
"""Settings of a cell that takes longer than any test."""


def planned(**settings: Any) -> Sweep:
    sources = {"toy": {"lambda": [1.0, 0.8], "rho": [0.6, 1.2]}}
    return sweep_of({"command": "simulate", "settings": settings, "sources": sources})


def shared(sweep: Sweep) -> tuple[Job, dict[str, Any]]:
    return Job(sweep.study.name, sweep.table, sweep.observables, sweep.version), sweep.contents


@contextmanager
def started(sweep: Sweep, workers: int) -> Iterator[Processes]:
    with processes(*shared(sweep), workers) as engine:
        yield engine


def children(engine: Processes) -> list[int]:
    return list(engine._pool._processes)


def test_a_process_computes_what_this_one_does() -> None:
    sweep = planned(start="gaussian", until=3.0)
    cell = next(sweep.cells())
    here = computed(*shared(sweep), cell.values)
    with started(sweep, 1) as engine:
        there = engine.answer(engine.submit(cell.values))
    assert isinstance(here, Rows)
    assert isinstance(there, Rows)
    for name, column in here.table.columns.items():
        assert column.tolist() == there.table.columns[name].tolist()


def test_a_process_that_is_killed_is_noticed_and_replaced() -> None:
    slow, quick = planned(**SLOW), planned(until=3.0)
    with started(slow, 1) as engine:
        promise = engine.submit(next(slow.cells()).values)
        [child] = children(engine)
        os.kill(child, signal.SIGKILL)
        with pytest.raises(ProcessLostError):
            engine.answer(promise)
        engine.renew()
        assert isinstance(engine.answer(engine.submit(next(quick.cells()).values)), Rows)


def test_processes_that_broke_are_replaced_where_a_cell_is_handed_out() -> None:
    slow, quick = planned(**SLOW), planned(until=3.0)
    with started(slow, 1) as engine:
        lost = engine.submit(next(slow.cells()).values)
        os.kill(children(engine)[0], signal.SIGKILL)
        with pytest.raises(ProcessLostError):
            engine.answer(lost)
        assert isinstance(engine.answer(engine.submit(next(quick.cells()).values)), Rows)


def test_an_error_ends_the_processes_at_once() -> None:
    slow, pids = planned(**SLOW), list[int]()

    def broken() -> None:
        with started(slow, 1) as engine:
            engine.submit(next(slow.cells()).values)
            pids.extend(children(engine))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    with suppress(ChildProcessError):  # where its end was seen before
        os.waitpid(pids[0], 0)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_so_many_cells_are_handed_out_that_no_process_waits() -> None:
    with started(planned(), 3) as engine:
        assert engine.window == 3 * AHEAD
    with pytest.raises(ParameterError, match="workers is 0"), started(planned(), 0):
        pass


def test_a_scheduler_that_is_not_there_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("dynamics.sweep.engines.PATIENCE", 1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    with pytest.raises(EngineError, match=f"No scheduler answers at {address} within 1 s"):
        cluster(*shared(planned()), address).__enter__()


@pytest.mark.parametrize("address", ["nonsense://x:1", "tcp://:::", "foo", "tcp://foo", "127.0.0.1", "", "tcp://"])
def test_what_is_no_address_is_said_at_once(address: str) -> None:
    pytest.importorskip("distributed")
    with pytest.raises(LindynError, match=r"is no address of a scheduler; give one like tcp://127\.0\.0\.1:8786"):
        cluster(*shared(planned()), address).__enter__()


def test_without_dask_a_scheduler_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(LindynError, match=r"pip install 'lindyn\[distributed\]'"), cluster(*shared(planned()), "tcp://a:1"):
        pass
