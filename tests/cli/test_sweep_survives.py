"""Sweeps that are killed, shared and spread: no finished cell is lost, changed or computed twice, and the table is the same."""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import psutil
import pytest

from tests.cli.running import LINDYN, answered, complaint, strict

pytestmark = pytest.mark.slow

SOURCE = "[sources.toy]\nlambda = [1.0]\nrho = [0.6]\n"
MANY = f'command = "critical-time"\n[axes]\ndepth = [1, 2, 3]\nfraction = {{from = 0.01, to = 0.99, points = 200}}\n{SOURCE}'
HEAVY = (
    'command = "simulate"\n[settings]\nobjective = "jepa"\n[axes]\npredictor_depth = [1, 2]\n'
    f"epsilon = {{from = 0.01, to = 0.1, points = 12}}\n{SOURCE}"
)
DASK = Path(sys.executable).parent / "dask"
Process = subprocess.Popen[str]


def until(condition: Callable[[], Any], what: str, seconds: float = 120.0) -> Any:
    """Wait for a condition and give its value; the time is a rescue, not a demand."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError(f"never: {what}")


def started(*args: object) -> Process:
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    return subprocess.Popen(
        [LINDYN, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )


def ended(process: Process, seconds: float = 240.0) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out, err


def swept(config: Path, store: Path, *how: object) -> tuple[int, str, str]:
    return ended(started("sweep", config, "--store", store, *how))


def finished(store: Path) -> int:
    return len(list(store.glob("cells/*/[!.]*/cell.json")))


def cells(store: Path) -> dict[str, tuple[int, int, bytes]]:
    """Inode, time of writing and content of every file of every finished cell; whole, or this fails."""
    found = {}
    for folder in sorted(store.glob("cells/*/[!.]*")):
        if not folder.is_dir() or not (folder / "cell.json").exists():
            continue
        assert {path.name for path in folder.iterdir()} == {"cell.json", "table.parquet"}
        assert json.loads((folder / "cell.json").read_text())["parameters"]
        assert len(pd.read_parquet(folder / "table.parquet")) == 1
        for path in folder.iterdir():
            stat = path.stat()
            found[str(path.relative_to(store))] = (stat.st_ino, stat.st_mtime_ns, path.read_bytes())
    return found


def tables(store: Path) -> tuple[bytes, bytes]:
    """The whole table, as text and as Parquet, byte by byte."""
    made = []
    for name in ("csv", "parquet"):
        path = store.parent / f"{store.name}.{name}"
        answered("sweep-table", store, "--output", path)
        made.append(path.read_bytes())
    return made[0], made[1]


def state(store: Path) -> dict[str, int]:
    (row,) = strict(answered("sweep", "--status", store, "--format", "json").stdout)
    return dict(row)


def descendants(process: Process) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def gone(family: list[psutil.Process]) -> bool:
    return not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in family)


def workers(process: Process) -> list[psutil.Process]:
    """The processes that compute: all below the command but what only tracks resources."""
    found = []
    for child in descendants(process):
        with contextlib.suppress(psutil.Error):
            if "resource_tracker" not in " ".join(child.cmdline()):
                found.append(child)
    return found


class Reference:
    def __init__(self, folder: Path, text: str) -> None:
        self.config = folder / "sweep.toml"
        self.config.write_text(text)
        self.store = folder / "whole"
        code, _, err = swept(self.config, self.store, "--workers", 1)
        assert code == 0, err
        self.count = finished(self.store)
        self.tables = tables(self.store)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return Reference(tmp_path_factory.mktemp("many"), MANY)


@pytest.fixture(scope="module")
def heavy(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    return Reference(tmp_path_factory.mktemp("heavy"), HEAVY)


def test_the_number_of_processes_is_not_seen_in_the_table(many: Reference, heavy: Reference, tmp_path: Path) -> None:
    for index, whole in enumerate((many, heavy)):
        store = tmp_path / str(index)
        assert swept(whole.config, store, "--workers", 3)[0] == 0
        assert tables(store) == whole.tables


@pytest.mark.parametrize("name", ["many", pytest.param("heavy", marks=pytest.mark.exhaustive)])
def test_killed_at_random_moments_nothing_finished_is_lost_or_done_again(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    whole: Reference = request.getfixturevalue(name)
    store = tmp_path / "store"
    draw = random.Random(len(name))
    kept: dict[str, tuple[int, int, bytes]] = {}
    kills = 0
    for _ in range(12):
        target = finished(store) + draw.randrange(1, max(whole.count // 6, 2))
        process = started("sweep", whole.config, "--store", store, "--workers", 2)
        until(lambda: process.poll() is not None or finished(store) >= target, "more cells")  # noqa: B023
        if process.poll() is None:
            time.sleep(draw.random() * 0.05)
        family = descendants(process)
        process.kill()
        code, _, err = ended(process)
        until(lambda: gone(family), "the end of the children")  # noqa: B023
        now = cells(store)
        assert {key: now[key] for key in kept} == kept, "a finished cell was changed or computed again"
        kept = now
        if code == 0:
            break
        kills += 1
        assert code == -signal.SIGKILL, err
        report = state(store)
        assert (report["finished"], report["failed"], report["taken"]) == (len(kept) // 2, 0, 0)
        rows = strict(answered("sweep-table", store, "--format", "json").stdout)
        assert len(rows) == len(kept) // 2
    assert kills >= 3, "the kills came too late to test anything"
    code, _, err = swept(whole.config, store)
    assert code == 0, err
    now = cells(store)
    assert {key: now[key] for key in kept} == kept
    assert finished(store) == whole.count
    assert tables(store) == whole.tables


def test_killed_at_its_start_a_sweep_starts_again(many: Reference, tmp_path: Path) -> None:
    """Before the first cell: while the store is being made, and soon after."""
    draw = random.Random(7)
    for index in range(8):
        store = tmp_path / str(index)
        process = started("sweep", many.config, "--store", store, "--limit", 5)
        until(lambda: process.poll() is not None or store.exists(), "a store")  # noqa: B023
        time.sleep(draw.random() * 0.02)
        process.kill()
        ended(process)
        code, _, err = swept(many.config, store, "--limit", 5)
        assert "Traceback" not in err
        assert code in (0, 1), err
        assert finished(store) >= 5


@pytest.mark.parametrize("signalled", [signal.SIGKILL, pytest.param(signal.SIGSEGV, marks=pytest.mark.exhaustive)])
def test_a_worker_that_dies_stops_nothing(heavy: Reference, tmp_path: Path, signalled: signal.Signals) -> None:
    store = tmp_path / "store"
    process = started("sweep", heavy.config, "--store", store, "--workers", 2)
    until(lambda: finished(store) >= 3, "three cells")
    kept = cells(store)
    victim = until(lambda: workers(process), "a worker")[0]
    victim.send_signal(signalled)
    code, _, err = ended(process)
    assert code == 0, err
    assert "Traceback" not in err
    now = cells(store)
    assert {key: now[key] for key in kept} == kept
    assert state(store)["failed"] == 0
    assert tables(store) == heavy.tables


def test_workers_that_die_one_after_the_other_stop_nothing_and_lose_nothing(many: Reference, tmp_path: Path) -> None:
    """Three deaths; what is left over is said, and another run ends it."""
    store = tmp_path / "store"
    process = started("sweep", many.config, "--store", store, "--workers", 2)
    for goal in (50, 400, 750):
        until(lambda: process.poll() is not None or finished(store) >= goal, "more cells")  # noqa: B023
        for victim in workers(process)[:1]:
            with contextlib.suppress(psutil.NoSuchProcess):
                victim.kill()
    code, _, err = ended(process)
    assert code in (0, 1), err
    assert "Traceback" not in err
    kept = cells(store)
    code, _, err = swept(many.config, store, "--retry-failed")
    assert code == 0, err
    now = cells(store)
    assert {key: now[key] for key in kept} == kept
    assert tables(store) == many.tables


def interrupted(err: str) -> bool:
    """One sentence of the interruption, beside the count of cells; nothing that Python or Dask says when it is cut off."""
    assert not any(word in err for word in ("Traceback", "KeyboardInterrupt", "Exception", "distributed."))
    lines = [line for line in err.splitlines() if line]
    said = [line for line in lines if line.removeprefix("Error: ").startswith("Interrupted")]
    return len(said) == 1 and said[0].endswith(".") and len(lines) <= 3


@pytest.mark.parametrize(
    "whom",
    ["ended", pytest.param("command", marks=pytest.mark.exhaustive), pytest.param("group", marks=pytest.mark.exhaustive)],
)
def test_interrupted_a_sweep_ends_with_one_sentence(heavy: Reference, tmp_path: Path, whom: str) -> None:
    """As Ctrl-C does, to all processes of the terminal, as kill -INT does, to one, and as kill and batch systems do."""
    store = tmp_path / "store"
    process = started("sweep", heavy.config, "--store", store, "--workers", 2)
    until(lambda: finished(store) >= 3, "three cells")
    family = descendants(process)
    kept = cells(store)
    if whom == "group":
        os.killpg(process.pid, signal.SIGINT)
    else:
        process.send_signal(signal.SIGTERM if whom == "ended" else signal.SIGINT)
    code, _, err = ended(process)
    assert code == 1, err
    assert interrupted(err)
    until(lambda: gone(family), "the end of the children")
    now = cells(store)
    assert {key: now[key] for key in kept} == kept
    assert len(now) < 2 * heavy.count, "the interruption came too late to test anything"
    report = state(store)
    assert (report["finished"], report["failed"], report["taken"]) == (len(now) // 2, 0, 0)
    assert swept(heavy.config, store)[0] == 0
    after = cells(store)
    assert {key: after[key] for key in now} == now
    assert tables(store) == heavy.tables


def now_of(err: str) -> int:
    """How many cells a run says that it computed itself."""
    said = next(line for line in err.splitlines() if " cells are finished" in line)
    return next((int(part.split()[0]) for part in said.split("(")[1].split(")")[0].split(", ") if part.endswith("now")), 0)


@pytest.mark.parametrize("name", ["many", pytest.param("heavy", marks=pytest.mark.exhaustive)])
def test_two_processes_share_a_store(name: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    whole: Reference = request.getfixturevalue(name)
    store = tmp_path / "store"
    both = [started("sweep", whole.config, "--store", store, "--workers", 1) for _ in range(2)]
    seen: dict[str, tuple[int, int]] = {}
    while any(process.poll() is None for process in both):
        for path in store.glob("cells/*/[!.]*/table.parquet"):
            stat = path.stat()
            assert seen.setdefault(str(path), (stat.st_ino, stat.st_mtime_ns)) == (stat.st_ino, stat.st_mtime_ns)
        time.sleep(0.2)
    answers = [ended(process) for process in both]
    assert [code for code, _, _ in answers] == [0, 0], answers
    shares = [now_of(err) for _, _, err in answers]
    assert min(shares) >= 1, "the work is shared"
    assert sum(shares) == whole.count, "no cell is computed twice"
    now = cells(store)
    assert {key: now[str(Path(key).relative_to(store))][:2] for key in seen} == seen
    assert tables(store) == whole.tables


def test_the_other_process_takes_over_what_a_killed_one_held(heavy: Reference, tmp_path: Path) -> None:
    store = tmp_path / "store"
    one, other = (started("sweep", heavy.config, "--store", store, "--workers", 1) for _ in range(2))
    until(lambda: finished(store) >= 4, "four cells")
    assert state(store)["taken"] >= 1
    family = descendants(one)
    one.kill()
    ended(one)
    until(lambda: gone(family), "the end of the children")
    code, _, err = ended(other)
    assert code == 0, err
    assert state(store)["failed"] == 0
    assert finished(store) == heavy.count
    assert tables(store) == heavy.tables


def test_a_table_of_a_store_in_use_holds_whole_cells(many: Reference, tmp_path: Path) -> None:
    """Every table in between has the rows of finished cells, whole, and says how many cells are not in it."""
    store = tmp_path / "store"
    process = started("sweep", many.config, "--store", store, "--workers", 1)
    until(lambda: (store / "sweep.json").exists(), "a store")
    lengths = []
    header, *rows = many.tables[0].decode().splitlines()
    whole = set(rows)
    wrong = []
    while process.poll() is None:
        before = finished(store)
        answer = answered("sweep-table", store, "--format", "csv")
        after = finished(store)
        printed = answer.stdout.splitlines()
        lengths.append(max(len(printed) - 1, 0))
        if len(printed) > 1 and (printed[0] != header or not set(printed[1:]) <= whole):
            wrong.append(f"rows that are not whole: {printed[:2]}")
        if not before <= lengths[-1] <= after:
            wrong.append(f"{lengths[-1]} rows of {before} to {after} finished cells")
        said = int(answer.stderr.split(" of ")[0]) if " of " in answer.stderr else 0
        if said != many.count - lengths[-1]:
            wrong.append(f"{said} cells are said not to be in a table of {lengths[-1]} rows of {many.count}")
    assert ended(process)[0] == 0
    assert len(lengths) > 1
    assert not wrong
    assert lengths == sorted(lengths)
    assert tables(store) == many.tables


# Places


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    made = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(place)], capture_output=True, check=False
    )
    if not made or made.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_said_and_what_was_finished_stays(many: Reference, small_disk: Path) -> None:
    store = small_disk / "store"
    code, out, err = swept(many.config, store, "--workers", 2)
    assert (code, out) == (1, ""), err
    assert complaint(err)
    kept = cells(store)
    assert 0 < len(kept) < 2 * many.count
    subprocess.run(["mount", "-o", "remount,size=100m", str(small_disk)], check=True)
    assert state(store)["failed"] == 0
    assert swept(many.config, store, "--workers", 2)[0] == 0
    now = cells(store)
    assert {key: now[key] for key in kept} == kept
    moved = many.config.parent / "moved"
    shutil.copytree(store, moved)
    assert tables(moved) == many.tables


# Dask


def port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Cluster:
    """A scheduler and two workers of one thread, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = f"tcp://127.0.0.1:{port()}"
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", self.address.split(":")[-1], "--no-dashboard"
        )
        until(self._listens, "a scheduler")
        self.workers = [
            self._start("worker", self.address, "--nthreads", "1", "--no-dashboard", "--no-nanny") for _ in range(2)
        ]
        from distributed import Client

        with Client(self.address, timeout=60) as client:
            client.wait_for_workers(2, timeout=120)

    def _start(self, *args: str) -> subprocess.Popen[bytes]:
        folder = self.folder / f"{args[0]}{time.monotonic_ns()}"
        folder.mkdir()
        with (folder / "log").open("wb") as log:
            return subprocess.Popen([DASK, *args], stdout=log, stderr=log, cwd=folder, stdin=subprocess.DEVNULL)

    def _listens(self) -> bool:
        with socket.socket() as caller:
            return caller.connect_ex(("127.0.0.1", int(self.address.split(":")[-1]))) == 0

    def close(self) -> None:
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait(timeout=60)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    made = Cluster(tmp_path)
    try:
        yield made
    finally:
        made.close()


def test_a_cluster_gives_the_bytes_of_this_machine(many: Reference, heavy: Reference, cluster: Cluster, tmp_path: Path) -> None:
    for name, whole in (("many", many), ("heavy", heavy)):
        store = tmp_path / name
        code, _, err = swept(whole.config, store, "--scheduler", cluster.address)
        assert code == 0, err
        assert "Traceback" not in err
        assert tables(store) == whole.tables
        kept = cells(store)
        assert len(kept) == 2 * whole.count
        code, _, err = swept(whole.config, store, "--scheduler", cluster.address)
        assert code == 0, err
        assert cells(store) == kept, "nothing is computed twice"
        for folder, cell in ((path, path / "table.parquet") for path in whole.store.glob("cells/*/[!.]*")):
            assert (store / cell.relative_to(whole.store)).read_bytes() == cell.read_bytes(), folder.name


def test_a_cell_that_fails_on_a_cluster_keeps_its_error(cluster: Cluster, tmp_path: Path) -> None:
    config, text = tmp_path / "failing.toml", 'command = "critical-time"\n[settings]\npredictor_start = 0.5\n'
    config.write_text(f'{text}[axes]\nfraction = [0.4, 0.5]\ndigits = ["none", 5]\n{SOURCE}')
    answers = []
    for name, how in (("there", ("--scheduler", cluster.address)), ("here", ("--workers", 1))):
        store = tmp_path / name
        code, _, err = swept(config, store, *how)
        assert code == 1, err
        assert "Traceback" not in err
        assert (state(store)["finished"], state(store)["failed"]) == (2, 2)
        answers.append((answered("sweep-table", store, "--failed", "--format", "csv").stdout, tables(store)))
    assert answers[0] == answers[1]


def test_a_worker_of_a_cluster_that_dies_loses_nothing(heavy: Reference, cluster: Cluster, tmp_path: Path) -> None:
    store = tmp_path / "store"
    process = started("sweep", heavy.config, "--store", store, "--scheduler", cluster.address)
    until(lambda: process.poll() is not None or finished(store) >= 4, "four cells")
    kept = cells(store)
    assert len(kept) < 2 * heavy.count, "the death came too late to test anything"
    cluster.workers[0].kill()
    code, _, err = ended(process)
    assert code == 0, err
    now = cells(store)
    assert {key: now[key] for key in kept} == kept
    assert state(store)["failed"] == 0
    assert tables(store) == heavy.tables


def test_a_scheduler_that_dies_is_said_and_the_sweep_goes_on_here(heavy: Reference, cluster: Cluster, tmp_path: Path) -> None:
    store = tmp_path / "store"
    process = started("sweep", heavy.config, "--store", store, "--scheduler", cluster.address)
    until(lambda: process.poll() is not None or finished(store) >= 4, "four cells")
    kept = cells(store)
    cluster.scheduler.kill()
    code, out, err = ended(process)
    assert (code, out) == (1, ""), err
    assert complaint(err)
    now = cells(store)
    assert {key: now[key] for key in kept} == kept
    assert len(now) < 2 * heavy.count
    assert state(store)["failed"] == 0
    code, _, err = swept(heavy.config, store)
    assert code == 0, err
    after = cells(store)
    assert {key: after[key] for key in now} == now
    assert tables(store) == heavy.tables


@pytest.mark.exhaustive
def test_interrupted_on_a_cluster_the_finished_cells_stay(heavy: Reference, cluster: Cluster, tmp_path: Path) -> None:
    store = tmp_path / "store"
    process = started("sweep", heavy.config, "--store", store, "--scheduler", cluster.address)
    until(lambda: process.poll() is not None or finished(store) >= 4, "four cells")
    os.killpg(process.pid, signal.SIGINT)
    code, _, err = ended(process)
    assert code == 1, err
    assert interrupted(err)
    kept = cells(store)
    assert 0 < len(kept) < 2 * heavy.count
    code, _, err = swept(heavy.config, store, "--scheduler", cluster.address)
    assert code == 0, err
    now = cells(store)
    assert {key: now[key] for key in kept} == kept
    assert tables(store) == heavy.tables


@pytest.mark.exhaustive
def test_killed_on_a_cluster_a_sweep_goes_on_there(heavy: Reference, cluster: Cluster, tmp_path: Path) -> None:
    store = tmp_path / "store"
    process = started("sweep", heavy.config, "--store", store, "--scheduler", cluster.address)
    until(lambda: process.poll() is not None or finished(store) >= 4, "four cells")
    process.kill()
    ended(process)
    kept = cells(store)
    assert 0 < len(kept) < 2 * heavy.count
    code, _, err = swept(heavy.config, store, "--scheduler", cluster.address)
    assert code == 0, err
    now = cells(store)
    assert {key: now[key] for key in kept} == kept
    assert tables(store) == heavy.tables


@pytest.mark.parametrize("address", ["closed", "foo://127.0.0.1:8786"])
def test_an_address_where_no_scheduler_is(many: Reference, tmp_path: Path, address: str) -> None:
    pytest.importorskip("distributed")
    store = tmp_path / "store"
    shutil.copytree(many.store, store, copy_function=shutil.copy2)
    gone_cell = sorted(store.glob("cells/*/[!.]*"))[0]
    shutil.rmtree(gone_cell)
    kept = cells(store)
    where = f"tcp://127.0.0.1:{port()}" if address == "closed" else address
    code, out, err = swept(many.config, store, "--scheduler", where)
    assert code in (1, 2), err
    assert out == ""
    assert complaint(err)
    assert cells(store) == kept
