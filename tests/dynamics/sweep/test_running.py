"""Running a sweep: what is missing is computed once, and nothing stops the rest."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dynamics.sweep.configuration import sweep_of
from dynamics.sweep.engines import ProcessLostError
from dynamics.sweep.gathering import failures_table, gathered
from dynamics.sweep.parameters import Values
from dynamics.sweep.plan import Sweep
from dynamics.sweep.running import LOST, Tally, run_sweep
from dynamics.sweep.store import Failure, Store, WriteError
from dynamics.sweep.work import Answer, Job, Rows
from dynamics.table import Table

DEPTHS = 7


def planned(**more: Any) -> Sweep:
    axes = {"depth": {"from": 1, "to": DEPTHS}}
    return sweep_of({"command": "critical-time", "axes": axes, "sources": {"a": {"lambda": [1.0], "rho": [0.5]}}} | more)


class Here:
    """An engine that answers in this process, by a function of the depth; the last cell given is answered first."""

    window = 3

    def __init__(self, answer: Callable[[int], Answer]) -> None:
        self.by, self.computed, self.out, self.renewed = answer, list[int](), list[Future[Any]](), 0
        self.most = 0

    def submit(self, values: Values) -> Future[Any]:
        promise: Future[Any] = Future()
        self.computed.append(values["depth"])
        promise.depth = values["depth"]  # type: ignore[attr-defined]
        promise.set_result(None)
        self.most = max(self.most, 1)
        return promise

    def answer(self, promise: Any) -> Answer:
        return self.by(promise.depth)

    def renew(self) -> None:
        self.renewed += 1

    @contextmanager
    def __call__(self, job: Job, contents: Any) -> Iterator["Here"]:
        self.job = job
        yield self


def rows(depth: int) -> Answer:
    return Rows(Table({"feature": np.array(["1"]), "critical_time": np.array([float(depth)])}), 0.5)


def depths(store: Store) -> list[int]:
    whole = gathered(store)
    return [int(depth) for depth in whole.head(100).columns["depth"]] if whole.finished else []


def test_every_cell_is_computed_once_and_kept(tmp_path: Path) -> None:
    engine, store = Here(rows), Store(tmp_path)
    tally = run_sweep(planned(), store, engine)
    assert engine.computed == list(range(1, DEPTHS + 1))
    assert (tally.done, tally.failed, tally.missing, tally.seconds) == (DEPTHS, 0, 0, 0.5 * DEPTHS)
    assert depths(store) == list(range(1, DEPTHS + 1))


def test_a_second_run_computes_what_is_missing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert run_sweep(planned(), store, Here(rows), limit=3).missing == DEPTHS - 3
    engine = Here(rows)
    tally = run_sweep(planned(), store, engine)
    assert engine.computed == [4, 5, 6, 7]
    assert (tally.before, tally.done) == (3, 4)
    third = Here(rows)
    assert run_sweep(planned(), store, third).before == DEPTHS
    assert third.computed == []


def test_a_cell_that_fails_does_not_stop_the_others_and_is_tried_again_on_demand(tmp_path: Path) -> None:
    def sometimes(depth: int) -> Answer:
        return Failure("ValueError", f"depth {depth}") if depth % 3 == 0 else rows(depth)

    store = Store(tmp_path)
    tally = run_sweep(planned(), store, Here(sometimes))
    assert (tally.done, tally.failed, tally.missing) == (5, 2, 0)
    assert failures_table(store).columns["message"].tolist() == ["depth 3", "depth 6"]
    again = Here(rows)
    assert run_sweep(planned(), store, again).failed == 2
    assert again.computed == []
    retried = run_sweep(planned(), store, again, retry_failed=True)
    assert again.computed == [3, 6]
    assert (retried.before, retried.done, retried.failed) == (5, 2, 0)
    assert depths(store) == list(range(1, DEPTHS + 1))


def test_a_cell_that_ends_its_process_twice_has_failed_and_its_neighbours_have_not(tmp_path: Path) -> None:
    lost_once = {5}

    def losing(depth: int) -> Answer:
        if depth == 2 or depth in lost_once:
            lost_once.discard(depth)
            raise ProcessLostError
        return rows(depth)

    engine, store = Here(losing), Store(tmp_path)
    tally = run_sweep(planned(), store, engine)
    assert (tally.done, tally.failed) == (DEPTHS - 1, 1)
    assert failures_table(store).columns["error"].tolist() == [LOST.kind]
    assert failures_table(store).columns["depth"].tolist() == [2]
    assert engine.renewed == 3


def test_what_is_finished_stays_when_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, keep = Store(tmp_path), Store.keep

    def full_after_three(self: Store, key: str, *what: Any) -> None:
        if len(list(tmp_path.glob("cells/*/*"))) == 3:
            raise WriteError("no space left on device")
        keep(self, key, *what)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "keep", full_after_three)
        with pytest.raises(WriteError):
            run_sweep(planned(), store, Here(rows))
    assert depths(store) == [1, 2, 3]
    assert run_sweep(planned(), store, Here(rows)).before == 3


def test_ctrl_c_ends_a_sweep_and_keeps_what_is_finished(tmp_path: Path) -> None:
    def interrupted(depth: int) -> Answer:
        if depth == 4:
            raise KeyboardInterrupt
        return rows(depth)

    store = Store(tmp_path)
    tally = run_sweep(planned(), store, Here(interrupted))
    assert tally.interrupted
    assert depths(store) == [1, 2, 3]


def test_the_watcher_sees_every_cell(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def watch(tally: Tally) -> None:
        seen.append((tally.done, tally.missing))

    run_sweep(planned(), Store(tmp_path), Here(rows), watch=watch)
    assert seen[0] == (0, DEPTHS)
    assert [done for done, _ in seen[1 : DEPTHS + 1]] == list(range(1, DEPTHS + 1))
    assert seen[-1] == (DEPTHS, 0)


def test_cells_that_another_process_has_are_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other keeps its cell while this one waits."""
    sweep, store = planned(), Store(tmp_path).opened(planned())
    third = list(sweep.cells())[2]
    take = "dynamics.sweep.claims.Claims.take"
    monkeypatch.setattr(take, lambda self, key: key != third.key)

    def other_process(_: float) -> None:
        store.keep(third.key, rows(3).table, sweep.resolved(third))  # type: ignore[union-attr]

    monkeypatch.setattr("dynamics.sweep.running.time.sleep", other_process)
    engine = Here(rows)
    tally = run_sweep(sweep, store, engine)
    assert 3 not in engine.computed
    assert (tally.done, tally.elsewhere, tally.missing) == (DEPTHS - 1, 1, 0)
    assert depths(store) == list(range(1, DEPTHS + 1))


def test_a_cell_that_another_process_finished_a_moment_before_is_not_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the store and the claim."""
    sweep, store = planned(), Store(tmp_path).opened(planned())
    third = list(sweep.cells())[2]

    def take(self: Any, key: str) -> bool:
        if key == third.key:
            store.keep(key, rows(3).table, sweep.resolved(third))  # type: ignore[union-attr]
        return True

    monkeypatch.setattr("dynamics.sweep.claims.Claims.take", take)
    engine = Here(rows)
    tally = run_sweep(sweep, store, engine)
    assert 3 not in engine.computed
    assert (tally.done, tally.elsewhere, tally.missing) == (DEPTHS - 1, 1, 0)


def test_a_cell_whose_process_ended_is_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = planned()
    third, taken = list(sweep.cells())[2], [False]
    monkeypatch.setattr("dynamics.sweep.claims.Claims.take", lambda self, key: key != third.key or taken[0])
    monkeypatch.setattr("dynamics.sweep.running.time.sleep", lambda seconds: taken.__setitem__(0, True))
    engine = Here(rows)
    tally = run_sweep(sweep, Store(tmp_path), engine)
    assert engine.computed == [1, 2, 4, 5, 6, 7, 3]
    assert (tally.done, tally.elsewhere) == (DEPTHS, 0)
