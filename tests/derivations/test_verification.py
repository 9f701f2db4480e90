"""Choosing statements and running them."""

import os
import time
from multiprocessing import active_children
from signal import SIG_BLOCK, SIGINT, SIGKILL, pthread_sigmask

import psutil
import pytest

from derivations.statement import STATEMENTS, Mutant, Verdict
from derivations.verification import Result, count_tasks, selected, verify
from dynamics.errors import LindynError
from dynamics.workers import WorkerError


def test_all_statements_come_in_the_order_of_the_theory() -> None:
    names = [each.name for each in selected()]
    assert names[0] == "jepa-gradients"
    assert names.index("jepa-mode") < names.index("jepa-critical-time") < names.index("jepa-expansion")
    assert names.index("jepa-expansion") < names.index("jepa-equal-lambda-ratio")


def test_names_and_patterns_choose() -> None:
    assert [each.name for each in selected(["mae-mode", "jepa-mode", "jepa-mod*"])] == ["jepa-mode", "mae-mode"]


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(LindynError, match=r"There is no statement 'jepa-mod'; the nearest are jepa-mode, .*\.$"):
        selected(["jepa-mod"])
    with pytest.raises(LindynError, match="lindyn verify --list"):
        selected(["0000"])


def test_each_verdict_is_told_as_it_arrives() -> None:
    told: list[Verdict] = []
    chosen = selected(["jepa-mode"])
    (result,) = verify(chosen, mutants=True, workers=1, done=told.append)
    assert len(told) == count_tasks(chosen, mutants=True) == 1 + len(chosen[0].mutants)
    assert result.holds
    assert [mutant.mutant for mutant in result.mutants] == [mutant.name for mutant in chosen[0].mutants]


def test_several_processes_arrive_at_what_one_does() -> None:
    chosen = selected(["*-asymptote", "elasticity-*"])
    alone, together = (verify(chosen, mutants=True, workers=workers) for workers in (1, 2))

    def seen(results: list) -> list:
        verdicts = [verdict for result in results for verdict in (result.verdict, *result.mutants)]
        return [(verdict.statement, verdict.mutant, verdict.proved, verdict.points, verdict.failure) for verdict in verdicts]

    assert seen(alone) == seen(together)


def test_a_mutant_that_is_true_survives_and_is_told() -> None:
    guarded = STATEMENTS["jepa-mode"]
    guarded.mutants.append(Mutant("the truth", dict(guarded.formulas)))
    try:
        (result,) = verify([guarded], mutants=True, workers=1)
    finally:
        guarded.mutants.pop()
    assert result.verdict.proved
    assert not result.holds
    assert [survivor.mutant for survivor in result.survivors] == ["the truth"]


def test_a_mutant_that_could_not_be_examined_is_not_rejected() -> None:
    (sound,) = verify(selected(["jepa-mode"]), workers=1)
    broken = Verdict("jepa-mode", "", "broken", (), (), 0.0, "The check broke.", True)
    result = Result(sound.verdict, (broken,))
    assert not result.holds
    assert result.survivors == ()


def living() -> list[int]:
    """Children that run; where the pool's thread reaped one first, `active_children` would keep it for ever."""
    return [child.pid for child in active_children() if child.pid is not None and psutil.pid_exists(child.pid)]


def test_an_interrupted_run_leaves_no_process_and_no_blocked_signal() -> None:
    def interrupt(verdict: Verdict) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verify(selected(["elasticity-*"]), mutants=True, workers=2, done=interrupt)
    deadline = time.monotonic() + 20  # a process is reaped by the pool's own thread, in its own time
    while living() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert living() == []
    assert SIGINT not in pthread_sigmask(SIG_BLOCK, ())


def test_a_killed_process_is_told() -> None:
    def kill(verdict: Verdict) -> None:
        for child in living():
            os.kill(child, SIGKILL)

    with pytest.raises(WorkerError, match=r"^A process that checked statements was killed; .*\.$"):
        verify(selected(), workers=2, done=kill)
