"""A progress bar beside the data: on standard error, and only where someone watches."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@contextmanager
def progress(total: int, task: str) -> Iterator[Callable[[str], None]]:
    """Yield a function that counts one piece of work as done and says which."""
    if not _watched():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        counted = bar.add_task(task, total=total, last="")
        yield lambda done: bar.update(counted, advance=1, last=done)


@contextmanager
def countdown(task: str) -> Iterator[Callable[[int, int, str], None]]:
    """Yield a function that takes how much is done, of how much, and a word beside it; the bar says how long the rest takes."""
    if not _watched():
        yield lambda done, total, beside: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[beside]}"),
        TimeElapsedColumn(),
        TextColumn("passed,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, speed_estimate_period=300) as bar:
        counted = bar.add_task(task, total=None, beside="")
        yield lambda done, total, beside: bar.update(counted, completed=done, total=total, beside=beside)


def _watched() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


@dataclass
class Percentage:
    """Counts the per cent of one piece of work after the other as pieces of their own."""

    done: Callable[[str], None]
    counted: int = 0

    def __call__(self, share: float, name: str = "") -> None:
        """So much of the current piece is done."""
        while self.counted < min(100, int(100 * share)):
            self.counted += 1
            self.done(name)

    def next(self, name: str = "") -> None:
        """The current piece is done, and the next begins."""
        self(1.0, name)
        self.counted = 0
