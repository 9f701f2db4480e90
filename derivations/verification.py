"""Run the statements, in parallel processes, and gather what became of them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import filter as matching

from derivations.statement import STATEMENTS, Statement, Verdict
from dynamics.errors import LindynError
from dynamics.workers import WorkerError, cores, processes, submitted

Task = tuple[str, int | None]
"""A statement's name and, for one of its mutants, which."""

FEW = 3
"""Tasks that are run at once where they are: new processes would take longer."""

LONGEST_NAME = 100
"""Characters of a name that fits nothing up to which the nearest are looked for."""


@dataclass(frozen=True)
class Result:
    """A statement's verdict and those of its mutants."""

    verdict: Verdict
    mutants: tuple[Verdict, ...] = ()

    @property
    def survivors(self) -> tuple[Verdict, ...]:
        """Mutants that the proof accepted: each is a defect of the checker."""
        return tuple(mutant for mutant in self.mutants if mutant.proved)

    @property
    def holds(self) -> bool:
        """Whether the statement is proved and every mutant rejected."""
        return self.verdict.proved and all(mutant.rejected for mutant in self.mutants)

    @property
    def seconds(self) -> float:
        """Time it all took."""
        return sum(verdict.seconds for verdict in (self.verdict, *self.mutants))


def selected(names: Sequence[str] = ()) -> list[Statement]:
    """The statements of these names (or patterns such as ``jepa-*``), in the order of the theory; all without names.

    Raises
    ------
    LindynError
        If a name fits none; the sentence gives the nearest.
    """
    import derivations.statements

    known = list(derivations.statements.STATEMENTS)
    chosen: set[str] = set()
    for name in names:
        found = matching(known, name)
        if not found:
            raise LindynError(_unknown(name, known))
        chosen.update(found)
    return [STATEMENTS[name] for name in known if not names or name in chosen]


def _unknown(name: str, known: Sequence[str]) -> str:
    shown = repr(name[:LONGEST_NAME]) + ("..." if len(name) > LONGEST_NAME else "")
    near = get_close_matches(name[:LONGEST_NAME], known, n=3, cutoff=0.3)
    hint = f"the nearest are {', '.join(near)}" if near else "lindyn verify --list shows them all"
    return f"There is no statement {shown}; {hint}."


def verify(
    statements: Sequence[Statement],
    *,
    mutants: bool = False,
    workers: int | None = None,
    done: Callable[[Verdict], None] = lambda verdict: None,
) -> list[Result]:
    """Check the statements, and with ``mutants`` that every mutant is rejected.

    Parameters
    ----------
    workers
        Processes; as many as there are cores by default. A script that wants more than one calls this under
        ``if __name__ == "__main__"``, as new processes import it.
    done
        Called with each verdict as it arrives, in any order.

    Raises
    ------
    WorkerError
        If a process is killed. Whatever interrupts, the other processes are stopped at once.
    """
    tasks = _tasks(statements, mutants)
    verdicts: dict[Task, Verdict] = {}
    with closing(_examined(tasks, workers or cores())) as examined:
        for task, verdict in examined:
            verdicts[task] = verdict
            done(verdict)
    return [
        Result(
            verdicts[statement.name, None],
            tuple(verdicts[task] for task in tasks if task[0] == statement.name and task[1] is not None),
        )
        for statement in statements
    ]


def count_tasks(statements: Sequence[Statement], *, mutants: bool) -> int:
    """How many verdicts `verify` will arrive at."""
    return len(_tasks(statements, mutants))


def _tasks(statements: Sequence[Statement], mutants: bool) -> list[Task]:
    return [
        (statement.name, which)
        for statement in statements
        for which in (None, *(range(len(statement.mutants)) if mutants else ()))
    ]


def _examined(tasks: list[Task], workers: int) -> Generator[tuple[Task, Verdict], None, None]:
    if workers == 1 or len(tasks) <= FEW:
        yield from ((task, examine(task)) for task in tasks)
        return
    with processes(min(workers, len(tasks))) as pool:
        ordered = _longest_first(tasks)
        try:
            running = dict(zip(submitted(pool, examine, ordered), ordered, strict=True))
            for future in as_completed(running):
                yield running[future], future.result()
        except BrokenProcessPool:
            raise WorkerError("A process that checked statements was killed; run again, perhaps with fewer workers.") from None


def _longest_first(tasks: Iterable[Task]) -> list[Task]:
    """Matrix statements take longest; started last they would leave the other cores idle."""
    return sorted(tasks, key=lambda task: "matrix" not in task[0] and "diagonal" not in task[0])


def examine(task: Task) -> Verdict:
    """One verdict; the unit of work of a process."""
    import derivations.statements

    name, which = task
    found = derivations.statements.STATEMENTS[name]
    return found.examine(None if which is None else found.mutants[which])
