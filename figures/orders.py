"""Many figures at once, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool

from dynamics.checks import whole_number
from dynamics.workers import WorkerError, cores, interrupted_once, processes, submitted
from figures.saving import Order


def make(orders: Sequence[Order], done: Callable[[Order, dict[str, bytes]], None], *, workers: int | None = None) -> None:
    """Make every figure, and hand over the files of each as soon as it is finished.

    Parameters
    ----------
    done
        Called with each order and its files, in any order.
    workers
        Processes; by default one a core. One figure, or one worker, is made in this process.

    Raises
    ------
    LindynError
        The first thing that a figure refuses; what was finished before has been handed over.
    WorkerError
        If a process is killed.
    """
    count = min(whole_number("workers", workers, 1) if workers is not None else cores(), len(orders))
    if count <= 1:
        for order in orders:
            done(order, _files(order))
        return
    with interrupted_once(), processes(count) as pool:
        answers = dict(zip(submitted(pool, _files, orders), orders, strict=True))
        try:
            for answer in as_completed(answers):
                done(answers[answer], answer.result())
        except BrokenProcessPool:
            raise WorkerError("A process that drew figures was killed; run again, perhaps with fewer workers.") from None


def _files(order: Order) -> dict[str, bytes]:
    return order.files()
