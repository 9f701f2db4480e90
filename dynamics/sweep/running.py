"""Running a sweep: hand out the cells that are missing, keep each as it comes, and go on where any of them fails."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from dynamics.sweep.claims import Claims
from dynamics.sweep.engines import Engine, EngineError, ProcessLostError, Promise
from dynamics.sweep.plan import Cell, Sweep
from dynamics.sweep.store import Failure, Store
from dynamics.sweep.work import Answer, Job, Rows, Stranger
from dynamics.tables import require_parquet
from dynamics.workers import interrupted_once

WAIT = 0.5
"""Seconds between two looks at cells that another process computes."""

MOST_REMARKS = 100
"""Remarks that are told apart."""

NUMBER = re.compile(r"\d[\w.+-]*")

LOST = Failure(
    "ProcessLostError",
    "The process that computed this cell ended twice before it answered; perhaps it needs more memory than there is.",
)


@dataclass
class Tally:
    """What became of the cells of a run.

    Attributes
    ----------
    total
        Cells of the sweep.
    before
        Finished before.
    done, failed
        Finished and failed now; ``failed`` counts those that failed before and were not tried again.
    elsewhere
        Finished meanwhile by other processes.
    seconds
        Computing time of the cells that were finished now, over all processes.
    interrupted
        Whether Ctrl-C or a request of the system ended it.
    remarks
        What a reader should know of cells that were finished now, each once with its number of cells.
    """

    total: int
    before: int = 0
    done: int = 0
    failed: int = 0
    elsewhere: int = 0
    seconds: float = 0.0
    interrupted: bool = False
    remarks: Counter[str] = field(default_factory=Counter)

    @property
    def missing(self) -> int:
        """Cells that are neither finished nor failed."""
        return self.total - self.before - self.done - self.failed - self.elsewhere


EngineOf = Callable[[Job, dict[str, Any]], AbstractContextManager[Engine]]


def run_sweep(
    sweep: Sweep,
    store: Store,
    engine: EngineOf,
    *,
    retry_failed: bool = False,
    limit: int | None = None,
    extend: bool = False,
    watch: Callable[[Tally], None] = lambda tally: None,
) -> Tally:
    """Compute the cells that are missing in a store, and keep each as it comes.

    Parameters
    ----------
    engine
        `processes` or `cluster` of `dynamics.sweep.engines`, with what they need besides the job and its contents.
    retry_failed
        Compute also the cells that failed before.
    limit
        Compute so many cells at most.
    extend
        Go on in a store of another configuration.
    watch
        Called after each cell with the tally, which goes on changing.

    Ctrl-C ends it; cells that are finished stay.

    Raises
    ------
    LindynError
        If the store is that of another sweep, or pyarrow is not installed.
    WriteError
        If the store cannot be written; what was finished stays.
    EngineError
        If there is nothing to compute on.
    """
    require_parquet("")
    store.opened(sweep, extend=extend)
    tally = counted(sweep, store)
    if retry_failed:
        tally.failed = 0
    watch(tally)
    job = Job(sweep.study.name, sweep.table, sweep.observables, sweep.version)
    if not tally.missing:
        return tally
    with interrupted_once():
        try:
            with store.claims() as claims, engine(job, sweep.contents) as computing:
                store.prepare()  # while processes start
                _Run(sweep, store, claims, computing, tally, watch, limit).to_the_end(retry_failed)
        except KeyboardInterrupt:
            tally.interrupted = True
    return tally


def counted(sweep: Sweep, store: Store) -> Tally:
    """How many cells are finished and how many failed."""
    tally = Tally(len(sweep))
    for cell in sweep.cells():
        if store.is_finished(cell.key):
            tally.before += 1
        elif store.has_failed(cell.key):
            tally.failed += 1
    return tally


@dataclass
class _Run:
    """A sweep on its way."""

    sweep: Sweep
    store: Store
    claims: Claims
    engine: Engine
    tally: Tally
    watch: Callable[[Tally], None]
    limit: int | None

    def __post_init__(self) -> None:
        self.out: dict[int, tuple[Promise, Cell]] = {}
        self.answered: SimpleQueue[int] = SimpleQueue()
        self.suspects: list[Cell] = []
        self.given = 0
        self.told: dict[str, str] = {}

    def to_the_end(self, retry_failed: bool) -> None:
        """Until every cell is finished or failed, here or in another process."""
        while self._pass(retry_failed):
            self._count_others()
            time.sleep(WAIT)
            retry_failed = False
        self._count_others()

    def _pass(self, retry_failed: bool) -> bool:
        """Compute every missing cell that no other process has; whether some are left to others."""
        left = False
        for cell in self.sweep.cells():
            if self.given == self.limit:
                break
            if self._is_settled(cell, retry_failed):
                continue
            if not self.claims.take(cell.key):
                left = True
            elif self._is_settled(cell, retry_failed):  # by another process, just now
                self.claims.release(cell.key)
            else:
                self._hand_out(cell)
                self._settle(self.engine.window - 1)
        self._settle(0)
        return left and self.given != self.limit

    def _is_settled(self, cell: Cell, retry_failed: bool) -> bool:
        return self.store.is_finished(cell.key) or (self.store.has_failed(cell.key) and not retry_failed)

    def _hand_out(self, cell: Cell) -> None:
        self.given += 1
        token, promise = self.given, self.engine.submit(cell.values)
        self.out[token] = promise, cell
        promise.add_done_callback(lambda _: self.answered.put(token))

    def _settle(self, most: int) -> None:
        """Wait for answers until so many cells are out at most."""
        while len(self.out) > most:
            promise, cell = self.out.pop(self.answered.get())
            try:
                self._keep(cell, self.engine.answer(promise))
            except ProcessLostError:
                self.suspects.append(cell)
                most = 0
        if self.suspects:
            self._try_alone()

    def _try_alone(self) -> None:
        """Compute one by one the cells that were out when a process was lost: only one that loses it again has failed."""
        self.engine.renew()
        for cell in self.suspects:
            try:
                answer = self.engine.answer(self.engine.submit(cell.values))
            except ProcessLostError:
                self.engine.renew()
                answer = LOST
            self._keep(cell, answer)
        self.suspects.clear()

    def _keep(self, cell: Cell, answer: Answer) -> None:
        resolved = self.sweep.resolved(cell)
        if isinstance(answer, Rows):
            self.store.keep(cell.key, answer.table, resolved | {"seconds": answer.seconds, "remarks": answer.remarks})
            self.tally.done += 1
            self.tally.seconds += answer.seconds
            self._remember(answer.remarks)
        elif isinstance(answer, Stranger):
            raise EngineError(
                f"A process runs {answer.version}, and this is {self.sweep.version}; install the same everywhere and repeat the"
                " command."
            )
        else:
            self.store.keep_failure(cell.key, answer, resolved)
            self.tally.failed += 1
        self.claims.release(cell.key)
        self.watch(self.tally)

    def _remember(self, remarks: tuple[str, ...]) -> None:
        """Count remarks that differ in their numbers as one, by the first of them."""
        for text in remarks:
            known = self.told.setdefault(NUMBER.sub("#", text), text) if len(self.told) < MOST_REMARKS else None
            if known is not None:
                self.tally.remarks[known] += 1

    def _count_others(self) -> None:
        """See what other processes have done."""
        found = counted(self.sweep, self.store)
        self.tally.elsewhere = found.before - self.tally.before - self.tally.done
        self.tally.failed = found.failed
        self.watch(self.tally)
