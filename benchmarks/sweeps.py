"""What a sweep costs beside its cells: overhead, two workers against one, memory against the number of cells.

    python benchmarks/sweeps.py [--cells 400] [--seconds 0.05] [--repeats 3]

Cells are runs of gradient descent that take about ``--seconds`` each. Overhead is what passes times the workers, over the time
that the cells themselves computed, less 1; starting the processes is in it. Memory is the greatest of the command.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from dynamics.sweep import Store, Sweep, processes, run_sweep, sweep_of

LINDYN = str(Path(sys.executable).parent / "lindyn")
CLOSED_FORMS = """
command = "critical-time"
observables = ["critical_time"]
[axes]
objective = ["jepa", "mae"]
depth = {from = 1, to = 5}
epsilon = {from = 1e-6, to = 1e-1, log_points = 10}
fraction = {from = 0.001, to = %s, step = 0.001}
[sources.two]
lambda = [1.0, 0.8]
rho = [0.5, 1.2]
"""


def descent(cells: int, until: float) -> Sweep:
    """Runs of gradient descent that take a time in proportion to ``until``."""
    return sweep_of(
        {
            "command": "simulate",
            "settings": {"objective": "mae", "epsilon": 0.05, "start": "orthogonal", "learning_rate": 0.05, "until": until},
            "axes": {"seed": {"from": 0, "to": cells - 1}},
            "sources": {"two": {"lambda": [1.0, 0.8], "rho": [0.6, 1.2]}},
        }
    )


def timed(sweep: Sweep, workers: int) -> tuple[float, float]:
    """Seconds that passed, and those of computing."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        tally = run_sweep(sweep, Store(Path(folder) / "store"), partial(processes, workers=workers))
        return time.perf_counter() - begun, tally.seconds


def workers(cells: int, seconds: float, repeats: int) -> None:
    """Print the overhead with one and two workers, and how much faster two are."""
    passed, computed = timed(descent(20, 20.0), 1)
    until = 20.0 * seconds / (computed / 20)
    ratios = []
    for _ in range(repeats):
        one, two = (timed(descent(cells, until), count) for count in (1, 2))
        ratios.append(one[0] / two[0])
        for count, (passed, computed) in ((1, one), (2, two)):
            each, overhead = 1000 * computed / cells, 100 * (count * passed / computed - 1)
            print(f"{cells} cells of {each:.0f} ms, {count} workers: {passed:6.2f} s, overhead {overhead:.1f} %")
        print(f"two workers against one: {ratios[-1]:.2f}")
    print(f"median: {statistics.median(ratios):.2f}")


def memory() -> None:
    """Print seconds and memory of 1,000 and of 10,000 cells of closed forms."""
    folder = Path(tempfile.mkdtemp())
    try:
        for cells in (1_000, 10_000):
            config, store = folder / f"{cells}.toml", folder / str(cells)
            config.write_text(CLOSED_FORMS % (cells / 100 / 1000))
            for name, command in (
                ("dry run", [LINDYN, "sweep", str(config), "--dry-run"]),
                ("sweep", [LINDYN, "sweep", str(config), "--store", str(store)]),
                ("again", [LINDYN, "sweep", str(config), "--store", str(store)]),
                ("sweep-table", [LINDYN, "sweep-table", str(store), "--output", str(folder / "all.parquet")]),
            ):
                begun = time.perf_counter()
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                _, code, usage = os.wait4(process.pid, 0)
                if code:
                    raise RuntimeError(f"{' '.join(command)} ended with {code}")
                print(f"{cells} cells, {name}: {time.perf_counter() - begun:.2f} s, {usage.ru_maxrss / 1e3:.0f} MB")
    finally:
        shutil.rmtree(folder)


def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    workers(given.cells, given.seconds, given.repeats)
    memory()


if __name__ == "__main__":
    main()
