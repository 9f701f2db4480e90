"""Processes that work side by side, end when told to or when their parent ends, and leave Ctrl-C to it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from threading import Thread, current_thread, main_thread
from types import FrameType
from typing import Any, TypeVar

Task = TypeVar("Task")
Answer = TypeVar("Answer")

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
"""What linear algebra reads its number of threads from."""


MOST = 61
"""Processes that every system can wait for."""


class WorkerError(RuntimeError):
    """A process ended before it answered."""


def cores() -> int:
    """Cores that this process may use."""
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST)


@contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block: their work done, or at once where the block fails."""
    pool = started(count)
    try:
        yield pool
    except BaseException:
        stop(pool)
        raise
    pool.shutdown()


def started(count: int, prepare: Callable[..., None] | None = None, *given: object) -> ProcessPoolExecutor:
    """Processes that `stop` or a shutdown ends; each first calls ``prepare`` with what is given."""
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_begin, initargs=(prepare, given))


def stop(pool: ProcessPoolExecutor) -> None:
    """End the processes at once, whatever they are doing."""
    children = list((pool._processes or {}).values())  # Python 3.14 has kill_workers() for this
    pool.shutdown(wait=False, cancel_futures=True)
    for child in children:
        child.kill()


@contextmanager
def interrupted_once() -> Iterator[None]:
    """Let Ctrl-C, or a request of the system to end, raise once; what the block then does to end well goes on."""
    usual: dict[signal.Signals, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    ours = [number for number, handler in usual.items() if signal.getsignal(number) is handler]
    if signal.SIGINT not in ours or current_thread() is not main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in ours:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in ours:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, usual[number])


def submitted(pool: ProcessPoolExecutor, work: Callable[[Task], Answer], tasks: Iterable[Task]) -> list[Future[Answer]]:
    """Hand out the tasks; the answers that will come, in their order.

    Processes that this starts never see Ctrl-C, not even before their first line, and compute with one thread each.
    """
    with _uninterrupted(), _single_threaded():
        return [pool.submit(work, task) for task in tasks]


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Let the libraries of linear algebra that load meanwhile use one thread, unless the user says otherwise."""
    added = [name for name in THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _begin(prepare: Callable[..., None] | None, given: tuple[object, ...]) -> None:
    """In a new process: leave Ctrl-C to the parent, and end when the parent does, however it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()
    if prepare is not None:
        prepare(*given)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
