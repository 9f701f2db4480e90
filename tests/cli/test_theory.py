"""lindyn derive and lindyn verify, as people run them."""

import json
import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from derivations.statement import STATEMENTS, Mutant
from tests.cli.running import LINDYN, answered, process, refused, run

FRACTION = "--fraction is 1; it must be strictly between 0 and 1."
JEPA = "sigma**2*(v*u**L)**2/2 - lam*v*u**L*sg(u**L)"


@pytest.mark.parametrize("objective", ["jepa", "mae", "supervised"])
def test_a_derivation_is_numbered_text(objective: str) -> None:
    text = answered("derive", objective, "--depth", 2).stdout
    assert "1. Loss." in text
    assert "11. Elasticities." in text


def test_the_promised_loss_runs_as_it_stands() -> None:
    own = answered("derive", "--loss", JEPA, "--depth", 2).stdout.split("\n", 1)[1]
    assert own == answered("derive", "jepa", "--depth", 2, "--predictor-depth", 1).stdout.split("\n", 1)[1]


def test_numbers_follow_the_derivation() -> None:
    text = answered("derive", "jepa", "--depth", 2, "--lambda", 1, "--rho", "0.5,0.6").stdout
    assert text.count("critical time 4") == 2
    content = json.loads(answered("derive", "jepa", "--depth", 2, "--lambda", 1, "--rho", 0.5, "--format", "json").stdout)
    exact = answered("critical-time", "--lambda", 1, "--rho", 0.5, "--objective", "jepa", "--format", "json").stdout
    assert float(content["numbers"][0]["critical_time"]) == pytest.approx(json.loads(exact)[0]["critical_time"], rel=1e-13)


@pytest.mark.parametrize(("ending", "begins"), [("tex", r"\documentclass"), ("json", "{"), ("txt", "MAE")])
def test_the_ending_of_the_output_names_the_format(ending: str, begins: str, tmp_path: Path) -> None:
    place = tmp_path / f"mae.{ending}"
    result = answered("derive", "mae", "--output", place)
    assert result.stdout == ""
    assert result.stderr == f"{place} written.\n"
    assert place.read_text().startswith(begins)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("jep",), "There is no objective jep; the nearest is jepa."),
        ((), "Give either an OBJECTIVE (jepa, mae, supervised) or --loss EXPRESSION."),
        (("jepa", "--loss", "u*v"), "Give either an OBJECTIVE (jepa, mae, supervised) or --loss EXPRESSION."),
        (("jepa", "--depth", "0"), "--depth is 0; it must be a whole number from 1 to 1000."),
        (("jepa", "--depth", "-3"), "--depth is -3; it must be a whole number from 1 to 1000."),
        (("jepa", "--depth", "two"), "Invalid value for '--depth': 'two' is not a valid integer."),
        (("jepa", "--predictor-depth", "0"), "--predictor-depth is 0; it must be a whole number from 1 to 1000."),
        (("jepa", "--lambda", "1"), "--lambda and --rho go together."),
        (("jepa", "--lambda", "1", "--rho", "1"), "--depth is needed for numbers: add --depth."),
        (("jepa", "--depth", "2", "--lambda", "1", "--rho", "1", "--fraction", "1"), FRACTION),
        (("jepa", "--epsilon", "0.1"), "--epsilon is not used by derive without --lambda and --rho; leave it out."),
        (("--loss", "u + x"), "The loss has the name 'x' at column 5; it may use u, v, L, M, lam, sigma, rho and sg(...)."),
        (
            ("--loss", "__import__('os').system('true')*u"),
            "The loss calls '__import__' at column 1; it may call nothing but sg(...).",
        ),
        (("--loss", "v*u**L"), "The loss has no positive fixed point: the one term of du/dt = -u^L is negative for u > 0."),
        (("jepa", "--output", "x.pdf"), "The ending of --output x.pdf names no format; add --format text, latex, json."),
    ],
)
def test_wrong_use_of_derive_is_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    assert refused("derive", *arguments) == sentence


@pytest.mark.parametrize(
    "loss", ["u" * 1_000_000, "u**" + "9" * 10_000, "u+" * 500_000 + "u", "(" * 10_000 + "u" + ")" * 10_000, "9**9**9**9*u"]
)
def test_a_huge_loss_is_refused_at_once(loss: str) -> None:
    if len(loss) > 100_000:  # longer than the operating system lets an argument be
        assert refused("derive", "--loss", loss).startswith("The loss has ")
        return
    result = process("derive", "--loss", loss, timeout=10)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert len(result.stderr) < 300


def test_named_statements_are_proved_and_tabled() -> None:
    result = answered("verify", "jepa-mode", "diagonal-stays-diagonal", "--mutants")
    assert "Under JEPA du/dt = λ u^(2 L + M - 1) (1 - u^M/ρ)." in result.stdout
    assert "4 of 4 rejected" in result.stdout
    assert "exact for L =" in result.stdout
    assert result.stderr == "2 of 2 statements proved. 8 of 8 mutants rejected.\n"


def test_the_list_is_shown_without_proving() -> None:
    result = answered("verify", "--list", "--format", "json")
    assert [entry["statement"] for entry in json.loads(result.stdout)["statements"]] == list(STATEMENTS)
    assert result.stderr == ""


@pytest.mark.parametrize("ending", ["md", "tex", "json"])
def test_a_certificate_is_written(ending: str, tmp_path: Path) -> None:
    place = tmp_path / f"report.{ending}"
    answered("verify", "jepa-mode", "--output", place)
    assert "jepa-mode" in place.read_text()
    assert "sympy" in place.read_text()


def test_a_statement_that_fails_ends_with_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    given = STATEMENTS["jepa-mode"]
    monkeypatch.setitem(
        STATEMENTS, "jepa-mode", type(given)(**{**vars(given), "prove": lambda: given.prove(given.formulas["rate"] * 2)})
    )
    result = run("verify", "jepa-mode")
    assert result.exit_code == 1
    assert "NOT PROVED" in result.stdout
    assert "jepa-mode: not proved. There one layer moves as claimed" in result.stderr


def test_a_surviving_mutant_ends_with_exit_code_1() -> None:
    given = STATEMENTS["elasticity-lambda"]
    given.mutants.append(Mutant("the truth", dict(given.formulas)))
    try:
        result = run("verify", "elasticity-lambda", "--mutants", "--workers", 1)
    finally:
        given.mutants.pop()
    assert result.exit_code == 1
    assert "elasticity-lambda: the mutant 'the truth' survives." in result.stderr


def test_an_unknown_statement_is_refused_with_the_nearest() -> None:
    assert refused("verify", "jepa-mod").startswith("There is no statement 'jepa-mod'; the nearest are jepa-mode")
    assert refused("verify", "--list", "--mutants") == "--mutants is not used by --list; leave it out."


@pytest.mark.parametrize("environment", [{"PYTHONIOENCODING": "ascii"}, {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_a_derivation_is_the_same_whatever_the_encoding_of_the_process(environment: dict[str, str]) -> None:
    known = process("derive", "jepa", "--depth", 50, PYTHONIOENCODING="utf-8")
    found = process("derive", "jepa", "--depth", 50, **environment)
    assert (found.returncode, found.stderr) == (0, b"")
    assert found.stdout == known.stdout
    assert "λ" in found.stdout.decode()


def test_a_table_is_the_same_whatever_the_encoding_of_the_process() -> None:
    found = process("verify", "--list", "jepa-mode", PYTHONIOENCODING="ascii")
    assert (found.returncode, found.stderr) == (0, b"")
    assert found.stdout == answered("verify", "--list", "jepa-mode").stdout_bytes


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which lindyn stands for the installed command."""
    line = command.replace("lindyn", shlex.quote(str(LINDYN)))
    return subprocess.run(
        ["sh", "-c", line], capture_output=True, text=True, timeout=30, env={**os.environ, **environment}, check=False
    )


@pytest.mark.parametrize("command", ["derive jepa", "verify", "verify --list", "derive jepa --lambda 1 --rho 1 --depth 2"])
def test_a_closed_standard_output_is_told_before_the_work(command: str) -> None:
    done = shell(f"lindyn {command} >&-")
    assert (done.returncode, done.stderr) == (1, "Error: Standard output is closed; add --output FILE.\n")


def test_a_file_is_written_although_both_streams_are_closed(tmp_path: Path) -> None:
    done = shell(f"lindyn verify jepa-mode --mutants --output {tmp_path}/report.md >&- 2>&-")
    assert done.returncode == 0
    assert "4 of 4 mutants rejected" in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize("command", ["derive jepa --depth 2", "verify jepa-mode mae-mode"])
def test_a_closed_standard_error_is_silent(command: str) -> None:
    done, known = shell(f"lindyn {command} 2>&-"), answered(*command.split())
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == known.stdout.splitlines()[0]
    assert (shell("lindyn derive jep 2>&-").returncode, shell("lindyn derive jep 2>&-").stdout) == (2, "")


@pytest.mark.slow
@pytest.mark.timed
def test_an_ending_that_names_no_format_is_told_before_the_work() -> None:
    begun = time.monotonic()
    assert refused("verify", "--output", "x.pdf").startswith("The ending of --output x.pdf names no format")
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "There is no statement ''; lindyn verify --list shows them all."),
        ("[", "There is no statement '['; lindyn verify --list shows them all."),
        ("[z-a]", "There is no statement '[z-a]'; lindyn verify --list shows them all."),
        ("a\nb", "There is no statement 'a\\nb'; lindyn verify --list shows them all."),
        ("9" * 100_000, f"There is no statement '{'9' * 100}'...; lindyn verify --list shows them all."),
    ],
)
def test_a_name_that_can_be_none_is_refused_in_one_sentence(name: str, sentence: str) -> None:
    assert refused("verify", name) == sentence


@pytest.mark.parametrize("numbers", ["--rho 0", "--lambda nan", "--lambda 1,2 --rho 1,2,3", "--fraction 1", "--epsilon 0"])
def test_bad_numbers_are_refused_before_the_derivation(numbers: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreached(*given: object) -> None:
        raise AssertionError("It was derived.")

    monkeypatch.setattr("derivations.numbers.derivation_of", unreached)
    name = numbers.split()[-2]
    given = [word for option in ("--lambda", "--rho") if option not in numbers for word in (option, "1")]
    assert refused("derive", "jepa", "--depth", 2, *given, *numbers.split()).startswith(f"{name} is ")


def screen(command: str, columns: int) -> str:
    """What a terminal of so many columns shows of a command's data."""
    pty = pytest.importorskip("pty")
    shown, behind = pty.openpty()
    with subprocess.Popen(
        [LINDYN, *command.split()], stdout=behind, stderr=subprocess.DEVNULL, env={**os.environ, "COLUMNS": str(columns)}
    ) as child:
        os.close(behind)
        text = b""
        while True:
            try:
                part = os.read(shown, 65536)
            except OSError:  # how Linux says that the other end is closed
                part = b""
            if not part:
                break
            text += part
    os.close(shown)
    assert child.returncode == 0
    return text.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("command", ["verify jepa-mode mae-mode", "verify --list jepa-mode mae-mode"])
def test_a_narrow_terminal_shows_statement_after_statement(command: str, columns: int) -> None:
    lines = screen(command, columns).splitlines()
    assert max(map(len, lines)) <= columns
    assert lines[0] == "jepa-mode"
    assert "mae-mode" in lines
    claim = next(line for line in lines if "Under JEPA" in line)
    assert claim.startswith("  Under JEPA du/dt = λ u^(2 L + M - 1)")
    assert ("verdict: proved" in lines[1]) == ("--list" not in command)


def test_a_wide_terminal_shows_a_table() -> None:
    lines = screen("verify --list jepa-mode", 120).splitlines()
    assert "hypotheses" in lines[0]
    assert lines[-1].startswith("All symbols are positive")


class Watched:
    """A run of many statements by two processes, behind a terminal for standard error."""

    def __init__(self) -> None:
        pty = pytest.importorskip("pty")
        self.terminal, behind = pty.openpty()
        self.child = subprocess.Popen(
            [LINDYN, "verify", "--mutants", "--workers", "2", "--format", "json"],
            stdout=subprocess.DEVNULL,
            stderr=behind,
            env={**os.environ, "TERM": "xterm"},
            start_new_session=True,
        )
        os.close(behind)
        self.said = b""
        while b"0/" not in self.said:
            self.said += os.read(self.terminal, 65536)

    def workers(self) -> list[int]:
        """Its processes that check statements, once both run."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            found = [int(place.parent.name) for place in Path("/proc").glob("[0-9]*/cmdline") if self._is_worker(place)]
            if len(found) == 2:
                return found
            time.sleep(0.05)
        raise AssertionError("There are no two workers.")

    def _is_worker(self, cmdline: Path) -> bool:
        try:
            parent = (cmdline.parent / "stat").read_text().rpartition(")")[2].split()[1]
            return int(parent) == self.child.pid and b"spawn_main" in cmdline.read_bytes()
        except OSError:
            return False

    def end(self) -> str:
        """What the terminal was told until the end."""
        while True:
            try:
                part = os.read(self.terminal, 65536)
            except OSError:
                part = b""
            if not part:
                break
            self.said += part
        os.close(self.terminal)
        self.child.wait(10)
        return self.said.decode()


def gone(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("seconds", [0.0, 2.0])
def test_an_interrupt_stops_every_process_at_once(seconds: float) -> None:
    watched = Watched()
    workers = watched.workers()
    time.sleep(seconds)
    os.killpg(watched.child.pid, signal.SIGINT)
    begun = time.monotonic()
    said = watched.end()
    assert time.monotonic() - begun < 5
    assert watched.child.returncode == 1
    assert said.endswith("Aborted!\r\n")
    assert "Traceback" not in said
    assert said.rindex("\x1b[?25h") > said.rindex("\x1b[?25l"), "the cursor is hidden"
    assert all(map(gone, workers))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_killed_worker_is_one_sentence() -> None:
    watched = Watched()
    first, second = watched.workers()
    os.kill(first, signal.SIGKILL)
    said = watched.end()
    assert watched.child.returncode == 1
    assert said.endswith("Error: A process that checked statements was killed; run again, perhaps with fewer workers.\r\n")
    assert "Traceback" not in said
    assert gone(second)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_workers_end_with_the_command_however_it_ends() -> None:
    watched = Watched()
    workers = watched.workers()
    time.sleep(2.0)
    watched.child.kill()
    watched.end()
    deadline = time.monotonic() + 5
    while not all(map(gone, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert all(map(gone, workers))


def test_every_digit_of_a_number_counts() -> None:
    """MAE, L = M = 1, lam = rho = 1: t = 1/2 ln(p^2 (1 - eps^2) / (eps^2 (1 - p^2))), eps = 0.01000000000000000000001."""
    arguments = ("mae", "--depth", 1, "--lambda", 1, "--rho", 1, "--epsilon", "0.01000000000000000000001", "--format", "json")
    (row,) = json.loads(answered("derive", *arguments).stdout)["numbers"]
    assert row["epsilon"] == "0.01000000000000000000001"
    assert row["critical_time"].startswith("4.055814039153869843169693")
