"""Held to a time: what a sweep costs beside its cells, and how busy it keeps its processes."""

import time
import tracemalloc
from functools import partial
from pathlib import Path

import pytest

from dynamics.sweep.configuration import sweep_of
from dynamics.sweep.engines import processes
from dynamics.sweep.plan import Sweep
from dynamics.sweep.running import Tally, run_sweep
from dynamics.sweep.store import Store
from tests.dynamics.sweep.test_running import Here, rows

CELLS, CELL = 400, 0.05
"""Cells, and about the seconds that each takes."""


@pytest.fixture(scope="module")
def steps() -> float:
    """Time until which a cell must train to take as long as that here and now."""
    sweep = planned(3, until=20.0)
    cells = list(sweep.cells())
    sweep.study.prepared(sweep.contents["toy"], cells[0].values)()
    begun = time.perf_counter()
    for cell in cells:
        sweep.study.prepared(sweep.contents["toy"], cell.values)()
    return 20.0 * CELL / ((time.perf_counter() - begun) / len(cells))


def planned(cells: int, until: float) -> Sweep:
    settings = {"objective": "mae", "epsilon": 0.05, "start": "orthogonal", "learning_rate": 0.05, "until": until}
    sources = {"toy": {"lambda": [1.0, 0.8], "rho": [0.6, 1.2]}}
    axes = {"seed": {"from": 0, "to": cells - 1}}
    return sweep_of({"command": "simulate", "settings": settings, "axes": axes, "sources": sources})


def timed(sweep: Sweep, store: Path, workers: int) -> tuple[Tally, float]:
    begun = time.perf_counter()
    tally = run_sweep(sweep, Store(store), partial(processes, workers=workers))
    return tally, time.perf_counter() - begun


@pytest.mark.slow
@pytest.mark.timed
def test_a_sweep_costs_less_than_a_twentieth_of_its_cells(steps: float, tmp_path: Path) -> None:
    tally, elapsed = timed(planned(CELLS, steps), tmp_path, 1)
    assert (tally.done, tally.failed) == (CELLS, 0)
    assert 0.3 * CELL < tally.seconds / CELLS < 3.0 * CELL
    assert elapsed / tally.seconds - 1.0 < 0.05


@pytest.mark.slow
@pytest.mark.timed
def test_two_workers_are_kept_busy(steps: float, tmp_path: Path) -> None:
    """Seconds of computing for each second that passed: how fast a core is beside another is the machine's affair."""
    tally, elapsed = timed(planned(CELLS, steps), tmp_path, 2)
    assert (tally.done, tally.failed) == (CELLS, 0)
    assert tally.seconds / elapsed > 1.7


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_cells(tmp_path: Path) -> None:
    def most(cells: int) -> int:
        sweep = sweep_of(
            {
                "command": "critical-time",
                "axes": {"depth": {"from": 1, "to": cells}},
                "sources": {"a": {"lambda": [1.0], "rho": [0.5]}},
            }
        )
        tracemalloc.start()
        run_sweep(sweep, Store(tmp_path / str(cells)), Here(rows))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    most(20)  # imports
    few, many = most(200), most(4000)
    assert many - few < 4000 * 500, "a few words a cell are the values of the axis and what this test notes"
