"""Refusals: one sentence that says what to do, and nothing is computed."""

import signal
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import LINDYN, complaint, refused, run
from tests.cli.sweeping import GRID, TIMES, TOY, cells, complaint_of, swept, table, written

REFUSED = {
    "unknown key": 'extra = 1\n',
    "unknown table": 'table = "runs"\n',
    "table of another type": "table = 1\n",
    "unknown observable": 'observables = ["nope"]\n',
    "observables of another type": 'observables = "status"\n',
    "no observables": "observables = []\n",
    "settings of another type": "settings = 1\n",
    "axes of another type": "axes = [1]\n",
}  # fmt: skip
SETTINGS = {
    "unknown": "depht = 1\n",
    "of another command": "start = 'gaussian'\n",
    "list": "depth = [1, 2]\n",
    "whole": "depth = 1.5\n",
    "text": "depth = 'two'\n",
    "truth": "depth = true\n",
    "number for truth": "elasticities = 1\n",
    "number": "epsilon = '0.1'\n",
    "not finite": "epsilon = inf\n",
    "nan": "epsilon = nan\n",
    "choice": "objective = 'supervised'\n",
    "none": "depth = 'none'\n",
    "date": "depth = 1979-05-27\n",
    "table": "depth = {from = 1, to = 2}\n",
}
AXES = {
    "unknown": "depht = [1]",
    "empty": "depth = []",
    "twice": "depth = [1, 2, 1]",
    "twice by value": "epsilon = [0.1, 1e-1]",
    "twice as numbers": "epsilon = [1, 1.0]",
    "twice none": "teacher_rate = ['none', 'none']",
    "twice by rounding": "epsilon = {from = 0.1, to = 0.10000000000000001, points = 2}",
    "scalar": "depth = 1",
    "text": "depth = '1,2'",
    "mixed": "depth = [1, 'two']",
    "fraction": "depth = [1, 1.5]",
    "truth": "depth = [true]",
    "nested": "depth = [[1, 2]]",
    "nan": "epsilon = [nan]",
    "none": "depth = ['none']",
    "half a range": "depth = {from = 1}",
    "no start": "depth = {to = 1}",
    "no range": "depth = {}",
    "unknown key": "depth = {from = 1, to = 2, stride = 1}",
    "two spacings": "epsilon = {from = 1, to = 2, step = 1, points = 2}",
    "both points": "epsilon = {from = 1, to = 2, log_points = 2, points = 2}",
    "zero step": "depth = {from = 1, to = 2, step = 0}",
    "negative step": "depth = {from = 2, to = 1, step = -1}",
    "backwards": "depth = {from = 2, to = 1}",
    "no points": "epsilon = {from = 0.1, to = 0.2, points = 0}",
    "points of another type": "epsilon = {from = 0.1, to = 0.2, points = 'two'}",
    "half a point": "epsilon = {from = 0.1, to = 0.2, points = 2.5}",
    "logarithm of nothing": "epsilon = {from = 0, to = 1, log_points = 3}",
    "logarithm below": "epsilon = {from = -1, to = 1, log_points = 3}",
    "text in a range": "epsilon = {from = 'a', to = 1}",
    "endless": "epsilon = {from = 1, to = inf}",
    "too many": "depth = {from = 1, to = 1e15}",
    "too fine": "epsilon = {from = 0, to = 1, step = 1e-300}",
    "range of words": "objective = {from = 1, to = 2}",
    "unknown source": "source = ['nope']",
}
SOURCES = {
    "none": "",
    "no table": "[sources]\ntoy = 1\n",
    "empty": "[sources.toy]\n",
    "one of three": "[sources.toy]\nlambda = [1.0]\n",
    "unknown key": "[sources.toy]\nlambda = [1.0]\nrho = [0.6]\nmu = [1.0]\n",
    "text": "[sources.toy]\nlambda = ['a']\nrho = [0.6]\n",
    "no features": "[sources.toy]\nlambda = []\nrho = []\n",
    "not finite": "[sources.toy]\nlambda = [nan]\nrho = [0.6]\n",
    "lengths": "[sources.toy]\nlambda = [1.0, 0.9, 0.8]\nrho = [0.6, 0.5]\n",
    "names": "[sources.toy]\nlambda = [1.0]\nrho = [0.6]\nname = ['a', 'b']\n",
    "missing table": "[sources.toy]\nfeatures = 'nope.csv'\n",
    "missing data": "[sources.toy]\nx = 'nope.npy'\nmask = 0.5\n",
    "missing view": "[sources.toy]\nx = 'x.npy'\ny = 'nope.npy'\n",
    "one view": "[sources.toy]\nx = 'x.npy'\n",
    "two views twice": "[sources.toy]\nx = 'x.npy'\nmask = 0.5\nlag = 1\n",
    "mask": "[sources.toy]\nx = 'x.npy'\nmask = 2.0\n",
    "target": "[sources.toy]\nx = 'x.npy'\nmask = 0.5\ntarget = 'nope'\n",
    "lag": "[sources.toy]\nx = 'x.npy'\nlag = 1.5\n",
    "long lag": "[sources.toy]\nx = 'x.npy'\nlag = 1000\n",
    "two kinds": "[sources.toy]\nx = 'x.npy'\nmask = 0.5\nlambda = [1.0]\nrho = [0.6]\n",
    "two files": "[sources.toy]\nx = 'x.npy'\nmask = 0.5\nfeatures = 'f.csv'\n",
    "graph elsewhere": "[sources.toy]\ngraph = 'x.npy'\n",
    "no features in a file": "[sources.toy]\nfeatures = 'broken.csv'\n",
    "file of another type": "[sources.toy]\nfeatures = 3\n",
    "folder": "[sources.toy]\nx = '.'\nmask = 0.5\n",
    "columns": "[sources.toy]\nx = 'x.npy'\nmask = 0.5\ncolumns = ['nope']\n",
    "truth": "[sources.toy]\nx = 'x.npy'\nmask = 0.5\nstandardise = 'yes'\n",
    "one of two": TOY + "[sources.other]\nfeatures = 'nope.csv'\n",
}
WHOLE = {
    "empty": b"",
    "no command": b"[axes]\ndepth = [1]\n",
    "unknown command": b'command = "figure"\n' + TOY.encode(),
    "command of another type": b"command = 3\n" + TOY.encode(),
    "close command": b'command = "simulat"\n' + TOY.encode(),
    "no TOML": b"command = \n",
    "open text": b'command = "critical-time\n',
    "not UTF-8": b"\xff\xfe\x00",
    "zero bytes": b"command = 'critical-time'\x00",
    "key twice": b'command = "critical-time"\ncommand = "simulate"\n' + TOY.encode(),
    "sources where there are none": b'command = "attention phases"\n' + TOY.encode(),
    "axis and setting": b'command = "critical-time"\n[settings]\ndepth = 1\n[axes]\ndepth = [1, 2]\n' + TOY.encode(),
}
CASES = [
    *(
        (f"key: {name}", f"{TIMES}{text}{'' if 'axes' in name or 'settings' in name else TOY}".encode())
        for name, text in REFUSED.items()
    ),
    *((f"setting: {name}", f"{TIMES}[settings]\n{text}{TOY}".encode()) for name, text in SETTINGS.items()),
    *((f"axis: {name}", f"{TIMES}[axes]\n{text}\n{TOY}".encode()) for name, text in AXES.items()),
    *((f"source: {name}", f"{TIMES}[axes]\ndepth = [1, 2]\n{text}".encode()) for name, text in SOURCES.items()),
    *WHOLE.items(),
]


@pytest.mark.parametrize("content", [content for _, content in CASES], ids=[name for name, _ in CASES])
def test_a_configuration_that_means_nothing_is_refused_in_one_sentence(tmp_path: Path, content: bytes) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(30, 2)))
    (tmp_path / "broken.csv").write_text("a,b\n1,2\n")
    (tmp_path / "f.csv").write_text("lambda,rho\n1,0.6\n")
    path = tmp_path / "sweep.toml"
    path.write_bytes(content)
    store = tmp_path / "store"
    assert refused("sweep", path, "--store", store)
    assert not store.exists()


def test_unknown_names_are_answered_with_the_known_ones(tmp_path: Path) -> None:
    said = refused("sweep", written(tmp_path, f"{TIMES}[axes]\nzzz = [1]\n{TOY}"), "--store", tmp_path / "store")
    assert all(name in said for name in ("objective", "depth", "predictor_depth", "epsilon", "fraction"))
    said = refused("sweep", written(tmp_path, f"{TIMES}observables = ['zzz']\n{TOY}"), "--store", tmp_path / "store")
    assert all(name in said for name in ("critical_time", "status"))


def test_what_was_finished_outlives_a_configuration_that_broke(tmp_path: Path) -> None:
    config, store = written(tmp_path, GRID), tmp_path / "store"
    swept(config, store, "--limit", 3)
    whole = cells(store)
    for text in ("command = \n", GRID + "\n[nope]\n", GRID.replace("depth", "depht")):
        config.write_text(text)
        refused("sweep", config, "--store", store)
        assert cells(store) == whole
    config.write_text(GRID)
    assert swept(config, store).exit_code == 0
    assert {name: cells(store)[name] for name in whole} == whole


def test_comments_and_spaces_of_a_configuration_mean_nothing(grid: tuple[Path, Path]) -> None:
    config, store = grid
    whole = cells(store)
    config.write_text("# a remark\n" + GRID.replace("[1, 2, 3]", "{from = 1, to = 3, step = 1}  # all"))
    assert tomllib.loads(config.read_text())
    assert swept(config, store).exit_code == 0
    assert cells(store) == whole


def test_folders_that_are_no_store(tmp_path: Path) -> None:
    config = written(tmp_path, GRID)
    other = tmp_path / "other"
    other.mkdir()
    (other / "mine.txt").write_text("precious")
    for place in (other, tmp_path / "nowhere", config):
        assert refused("sweep-table", place)
        assert refused("sweep", "--status", place)
    assert complaint_of(config, other)
    assert [path.name for path in other.iterdir()] == ["mine.txt"]
    assert complaint_of(config, config)
    assert config.read_text() == GRID
    empty = tmp_path / "empty"
    empty.mkdir()
    assert swept(config, empty).exit_code == 0


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", "null", '{"command": "critical-time"}', '{"command": 3, "axes": []}', "\x00"]
)
def test_a_store_whose_description_broke(tmp_path: Path, content: str) -> None:
    config, store = written(tmp_path, GRID), tmp_path / "store"
    store.mkdir()
    (store / "sweep.json").write_text(content)
    assert complaint_of(config, store)
    assert refused("sweep-table", store)
    assert refused("sweep", "--status", store)
    assert (store / "sweep.json").read_text() == content


def test_places_that_cannot_be_written(grid: tuple[Path, Path]) -> None:
    config, store = grid
    assert complaint_of(config, Path("/proc/nope/store"))
    assert complaint_of(config, config / "store")
    done = run("sweep-table", store, "--output", "/proc/nope/table.csv")
    assert done.exit_code in (1, 2)
    assert complaint(done.stderr)


@pytest.mark.parametrize(
    "args",
    [
        (),
        ("--store", "s"),
        ("CONFIG",),
        ("CONFIG", "--store", "s", "--workers", "0"),
        ("CONFIG", "--store", "s", "--limit", "0"),
        ("CONFIG", "--store", "s", "--workers", "2", "--scheduler", "tcp://127.0.0.1:1"),
        ("CONFIG", "--store", "s", "--status", "s"),
        ("--status", "s", "--retry-failed"),
        ("nope.toml", "--store", "s"),
        (".", "--store", "s"),
    ],
)
def test_options_that_do_not_go_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]) -> None:
    monkeypatch.chdir(tmp_path)
    config = written(tmp_path, GRID)
    assert refused("sweep", *(config if arg == "CONFIG" else arg for arg in args))
    assert not (tmp_path / "s").exists()


def test_the_installed_command_says_the_same_and_warns_of_nothing(tmp_path: Path) -> None:
    """As a process of its own, with its real workers, every warning an error."""
    config, store = written(tmp_path, GRID), tmp_path / "store"
    command = [LINDYN, "sweep", config, "--store", store]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PYTHONWARNINGS": "error"})
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr
    alone = tmp_path / "alone"
    swept(config, alone)
    assert table(store) == table(alone)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
