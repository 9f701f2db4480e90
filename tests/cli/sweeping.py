"""Sweeps run as a process, and what they leave."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.cli.running import answered, complaint, run, strict

TOY = "[sources.toy]\nlambda = [1.0, 0.8]\nrho = [0.6, 1.2]\n"
TIMES = 'command = "critical-time"\n'
GRID = TIMES + '[axes]\nobjective = ["jepa", "mae"]\ndepth = [1, 2, 3]\n' + TOY
SHORT = 'command = "attention simulate"\n[settings]\npatches = 16\nglobal_size = 8\nlocal_size = 2\nsteps = 2\nbatch = 4\n'
QUICK_FAILING = f"{TIMES}[settings]\npredictor_start = 0.5\n[axes]\nfraction = [0.4, 0.5]\ndigits = ['none', 5]\n{TOY}"
PAIR = ("--lambda", "1,0.8", "--rho", "0.6,1.2")
"""The features of TOY on the command line."""
FAILING = SHORT + '[axes]\nobjective = ["mae", "cl"]\nclusters = [1, 2]\n'


def written(folder: Path, text: str, name: str = "sweep.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def swept(config: Path, store: Path, *how: object) -> Any:
    return run("sweep", config, "--store", store, "--workers", 1, *how)


def table(store: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = strict(answered("sweep-table", store, "--format", "json").stdout)
    return found


def result(folder: Path, text: str, *how: object) -> list[dict[str, Any]]:
    """The table of a configuration whose every cell succeeds."""
    store = folder / "store"
    done = swept(written(folder, text), store, *how)
    assert done.exit_code == 0, done.stderr
    return table(store)


def cells(store: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file of the finished cells: inode, time of writing and content."""
    return {
        str(path.relative_to(store)): (path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted((store / "cells").rglob("*"))
        if path.is_file()
    }


def finished(store: Path) -> int:
    return len(list(store.glob("cells/*/*/cell.json")))


def counts(*args: object) -> dict[str, int]:
    answer = run("sweep", *args, "--format", "json")
    (row,) = strict(answer.stdout)
    return {name: row[name] for name in ("cells", "finished", "failed", "missing")}


def same(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Every column of the command stands in the row of the sweep, with the same value."""
    for name, value in expected.items():
        assert name in found, name
        assert found[name] == value, name


def complaint_of(config: Path, store: Path, *how: object) -> str:
    """Exit 2 or 1, nothing on stdout, one sentence."""
    done = run("sweep", config, "--store", store, *how)
    assert done.exit_code in (1, 2), done.stderr
    assert done.stdout == ""
    return complaint(done.stderr)
