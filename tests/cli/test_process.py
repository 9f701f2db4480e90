"""What only the installed command can show: exit codes, pipes, imports, bytes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import LINDYN, process, run

ONE = ("critical-time", "--lambda", "1", "--rho", "0.5")


@pytest.mark.parametrize(
    "question",
    [
        (*ONE, "--format", "json", "--depth", "1,2", "--fraction", "0.1,0.9", "--digits", "20"),
        ("order", "--lambda", "1,0", "--sigma", "1"),
        (*ONE, "--epsilon", "0"),
    ],
)
def test_the_process_says_what_the_runner_says(question: tuple[str, ...]) -> None:
    done, here = process(*question), run(*question)
    assert (done.returncode, done.stdout, done.stderr) == (here.exit_code, here.stdout_bytes, here.stderr_bytes)


def test_standard_input_and_output_are_pipes() -> None:
    found = process("order", "-", "--format", "csv", "--objective", "mae", stdin=b"lambda,rho\n1,0.5\n2,0.5\n")
    assert found.returncode == 0
    assert found.stderr == b""
    again = process("critical-time", "-", "--format", "csv", "--objective", "mae", stdin=found.stdout)
    assert again.returncode == 0
    assert again.stdout.startswith(b"feature,objective,depth")


@pytest.mark.parametrize("table_format", ["csv", "table"])
def test_a_closed_pipe_is_silent(table_format: str) -> None:
    question = (
        "trajectory",
        "--lambda",
        "1",
        "--rho",
        "0.5",
        "--points",
        "20000",
        "--format",
        table_format,
        "--fraction",
        "0.1,0.9",
    )
    with subprocess.Popen([LINDYN, *question], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline()
        child.stdout.close()
        assert child.stderr.read() == b""


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output_is_one_sentence() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run([LINDYN, *ONE, "--format", "csv"], stdout=full, stderr=subprocess.PIPE, check=False, timeout=20)
    assert done.returncode in {1, 2}
    assert b"Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_write_that_fails_midway_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    path = tmp_path / "table.csv"
    path.write_text("old")
    done = subprocess.run(
        [LINDYN, "trajectory", "--lambda", "1", "--rho", "0.5", "--points", "500", "--output", path],
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
        check=False,
        timeout=20,
    )
    assert done.returncode in {1, 2}
    assert b"table.csv" in done.stderr
    assert b"Traceback" not in done.stderr
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["table.csv"]


def test_the_same_question_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(60, 3)) * [3.0, 2.0, 1.0])
    question = ("features", tmp_path / "x.npy", "--lag", "1", "--bootstrap", "10", "--seed", "7", "--format", "csv")
    first, second = process(*question), process(*question)
    assert (first.returncode, first.stdout, first.stderr) == (second.returncode, second.stdout, second.stderr)
    assert first.returncode == 0


HEAVY = {"pandas", "scipy", "sympy", "matplotlib", "flint", "pyarrow"}


def imported(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True, timeout=20)
    return set(done.stderr.split())


def test_a_critical_time_is_answered_without_the_heavy_libraries() -> None:
    loaded = imported("from cli import main\nmain(['critical-time', '--lambda', '1', '--rho', '0.5'], standalone_mode=False)")
    assert "dynamics.critical_time" in loaded
    assert not loaded & HEAVY


def test_importing_the_library_imports_none_of_the_heavy_libraries() -> None:
    loaded = imported("import dynamics\nfrom dynamics import Features, critical_times, jepa, mae")
    assert "dynamics.critical_time" in loaded
    assert not loaded & HEAVY


def test_help_does_not_even_import_numpy() -> None:
    assert "numpy" not in imported("from cli import main\nmain(['critical-time', '--help'], standalone_mode=False)")


@pytest.mark.parametrize(
    "question",
    [
        (*ONE, "--objective", "jepa"),
        ("order", "--lambda", "1,0.8", "--rho", "0.5"),
        ("trajectory", "--lambda", "1", "--rho", "0.5", "--points", "3"),
    ],
)
def test_a_terminal_of_eighty_columns_never_cuts_a_number(question: tuple[str, ...]) -> None:
    pty = pytest.importorskip("pty")
    screen, behind = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "dumb"}
    done = subprocess.run([LINDYN, *question], stdout=behind, stderr=subprocess.PIPE, env=environment, check=False, timeout=20)
    os.close(behind)
    shown = os.read(screen, 65536).decode()
    os.close(screen)
    assert done.returncode == 0
    assert "\N{HORIZONTAL ELLIPSIS}" not in shown
    assert "464.618" in shown
