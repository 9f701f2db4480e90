"""Processes end with their block, with an error, and with their parent."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from dynamics.workers import processes, stop, submitted

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


def lives(process: int) -> bool:
    """Whether a process still runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def all_end(children: list[int], within: float = 10.0) -> bool:
    deadline = time.monotonic() + within
    while any(map(lives, children)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(lives, children))


def who(_: int) -> int:
    time.sleep(0.1)
    return os.getpid()


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def threads(_: int) -> int:
    import numpy as np

    matrix = np.ones((300, 300))
    assert (matrix @ matrix).shape == (300, 300)
    return len(os.listdir("/proc/self/task"))


def leave(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt_oneself(_: int) -> str:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.1)
    return "still here"


def test_work_is_done_before_the_block_ends_and_then_the_processes_end() -> None:
    with processes(2) as pool:
        answers = submitted(pool, who, range(4))
    children = [answer.result() for answer in answers]
    assert os.getpid() not in children
    assert not any(map(lives, children))


def test_answers_come_in_the_order_of_the_tasks() -> None:
    with processes(2) as pool:
        assert [answer.result() for answer in submitted(pool, abs, [-3, 2, -1])] == [3, 2, 1]


def test_an_error_in_the_block_ends_processes_at_once() -> None:
    begun = time.monotonic()
    children: list[int] = []

    def fail() -> None:
        with processes(2) as pool:
            children.extend({answer.result() for answer in submitted(pool, who, range(4))})
            submitted(pool, sleep, [60.0] * 4)
            raise RuntimeError("of the block")

    with pytest.raises(RuntimeError, match="of the block"):
        fail()
    assert all_end(children)
    assert time.monotonic() - begun < 15


def test_stopped_processes_end_at_once_and_the_block_goes_on() -> None:
    with processes(1) as pool:
        (child,) = (answer.result() for answer in submitted(pool, who, [0]))
        (endless,) = submitted(pool, sleep, [60.0])
        stop(pool)
        assert all_end([child])
    assert endless.done() or endless.cancelled() or endless.exception(timeout=10)


def test_a_process_that_is_killed_breaks_the_pool() -> None:
    with processes(1) as pool:
        (answer,) = submitted(pool, leave, [0])
        with pytest.raises(BrokenProcessPool):
            answer.result()


def test_ctrl_c_is_left_to_the_parent() -> None:
    with processes(1) as pool:
        (answer,) = submitted(pool, interrupt_oneself, [0])
        assert answer.result() == "still here"


def test_linear_algebra_has_one_thread_a_process_and_the_environment_is_as_before() -> None:
    before = dict(os.environ)
    with processes(1) as pool:
        (answer,) = submitted(pool, threads, [0])
        few = answer.result()
    assert dict(os.environ) == before
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    alone = {**os.environ, **dict.fromkeys(names, "1")}
    code = "from tests.dynamics.test_workers import threads; print(threads(0))"
    root = Path(__file__).parents[2]
    single = subprocess.run([sys.executable, "-c", code], env=alone, cwd=root, capture_output=True, text=True, check=True)
    assert few <= int(single.stdout) + 2  # one that waits for the parent's end, one that the executor may add


PARENT = """
import os, time
from dynamics.workers import processes, submitted

def who(_):
    time.sleep(0.1)
    return os.getpid()

if __name__ == "__main__":
    with processes(2) as pool:
        print(*{answer.result() for answer in submitted(pool, who, range(8))}, flush=True)
        submitted(pool, time.sleep, [60.0] * 2)
        time.sleep(60.0)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_processes_end_when_their_parent_dies(how: signal.Signals, tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        children = [int(word) for word in parent.stdout.readline().split()]
        assert children
        assert all(map(lives, children))
        parent.send_signal(how)
        parent.wait(timeout=10)
    assert all_end(children)
