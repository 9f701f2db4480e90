"""Many figures at once, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool

from dynamics.checks import whole_number
from dynamics.errors import LindynError
from dynamics.workers import WorkerError, cores, interrupted_once, processes, submitted
from figures.saving import Order


def make(
    orders: Sequence[Order],
    done: Callable[[Order, dict[str, bytes]], None],
    refused: Callable[[Order, LindynError], None],
    *,
    workers: int | None = None,
) -> None:
    """Make every figure, and hand over the files of each as soon as it is finished.

    Parameters
    ----------
    done
        Called with each order and its files, in any order.
    refused
        Called with each order that its figure refuses, and why; the others are made all the same.
    workers
        Processes; by default one a core. One figure, or one worker, is made in this process.

    Raises
    ------
    WorkerError
        If a process is killed.
    """
    count = min(whole_number("workers", workers, 1) if workers is not None else cores(), len(orders))
    if count <= 1:
        for order in orders:
            _hand_over(order, order.files, done, refused)
        return
    with interrupted_once(), processes(count) as pool:
        answers = dict(zip(submitted(pool, _files, orders), orders, strict=True))
        try:
            for answer in as_completed(answers):
                _hand_over(answers[answer], answer.result, done, refused)
        except BrokenProcessPool:
            raise WorkerError("A process that drew figures was killed; run again, perhaps with fewer workers.") from None


def _hand_over(
    order: Order,
    finish: Callable[[], dict[str, bytes]],
    done: Callable[[Order, dict[str, bytes]], None],
    refused: Callable[[Order, LindynError], None],
) -> None:
    try:
        files = finish()
    except LindynError as error:
        refused(order, error)
    else:
        done(order, files)


def _files(order: Order) -> dict[str, bytes]:
    return order.files()
