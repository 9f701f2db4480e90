"""Processes that work side by side, end when told to or when their parent ends, and leave Ctrl-C to it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from os import _exit
from threading import Thread


class WorkerError(RuntimeError):
    """A process ended before it answered."""


@contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end with the block: their work done, or at once where the block fails."""
    pool = ProcessPoolExecutor(count, mp_context=get_context("spawn"), initializer=_follow_parent)
    try:
        yield pool
    except BaseException:
        stop(pool)
        raise
    pool.shutdown()


def stop(pool: ProcessPoolExecutor) -> None:
    """End the processes at once, whatever they are doing."""
    children = list((pool._processes or {}).values())  # Python 3.14 has kill_workers() for this
    pool.shutdown(wait=False, cancel_futures=True)
    for child in children:
        child.kill()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back; processes started meanwhile never see it, not even before their first line."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _follow_parent() -> None:
    """In a new process: leave Ctrl-C to the parent, and end when the parent does, however it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        _exit(1)
