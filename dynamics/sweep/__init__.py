"""Sweeps: grids of runs, on the cores of one machine or on a Dask cluster, kept in a store and resumed where they stopped.

    >>> from functools import partial
    >>> from pathlib import Path
    >>> from dynamics.sweep import Store, gathered, processes, read_sweep, run_sweep
    >>> store = Store(Path("order"))
    >>> tally = run_sweep(read_sweep("examples/order.toml"), store, partial(processes, workers=2))  # doctest: +SKIP
    >>> gathered(store).head(1000).to_dataframe()  # doctest: +SKIP

A script that runs one does so under ``if __name__ == "__main__"``, as new processes import it.
"""

from dynamics.sweep.configuration import read_sweep, sweep_of
from dynamics.sweep.engines import EngineError, cluster, processes
from dynamics.sweep.gathering import Gathered, failures_table, gathered, remarks_table
from dynamics.sweep.plan import Cell, Sweep, sweep_in
from dynamics.sweep.running import Tally, counted, run_sweep
from dynamics.sweep.store import Failure, Store, StoreError, WriteError
from dynamics.sweep.studies import STUDIES

__all__ = [
    "STUDIES",
    "Cell",
    "EngineError",
    "Failure",
    "Gathered",
    "Store",
    "StoreError",
    "Sweep",
    "Tally",
    "WriteError",
    "cluster",
    "counted",
    "failures_table",
    "gathered",
    "processes",
    "read_sweep",
    "remarks_table",
    "run_sweep",
    "sweep_in",
    "sweep_of",
]
