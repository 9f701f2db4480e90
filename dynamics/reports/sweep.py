"""How far a sweep is: the table, and what to say beside it."""

from __future__ import annotations

from collections import Counter
from itertools import compress

import numpy as np

from dynamics.sweep.configuration import Sweep, sweep_in
from dynamics.sweep.gathering import Gathered, failures_table
from dynamics.sweep.running import Tally, counted
from dynamics.sweep.store import Store
from dynamics.table import Table

NAMED = 5
"""Errors named in a remark, at most."""


def plan_table(sweep: Sweep, store: Store | None) -> Table:
    """One row: how many cells a sweep has, and how many of them a store has."""
    known = store is not None and store.exists()
    return _table(counted(sweep, store) if known and store is not None else Tally(len(sweep)))


def status_table(store: Store) -> Table:
    """One row: how many cells are finished, failed, being computed by some process, and missing."""
    sweep = sweep_in(store.about())
    return _table(counted(sweep, store), _running(sweep, store))


def tally_table(tally: Tally) -> Table:
    """One row: what became of the cells of a run."""
    return _table(tally)


def axes_remarks(sweep: Sweep) -> list[str]:
    """The axes of a sweep, with how many values each has."""
    axes = " x ".join(f"{name} ({len(sweep.axes[name])})" for name in sweep.shown) or "none"
    kept = ", ".join(sweep.observables) or "all observables"
    return [f"{sweep.study.name}, one row {sweep.kept.rows}: {kept}.", f"Axes, the last fastest: {axes}."]


def tally_remarks(tally: Tally, store: Store, elapsed: float) -> list[str]:
    """How a run went, and what to do next."""
    told = []
    if tally.interrupted:
        told.append("Interrupted; what is finished stays, and the same command goes on from here.")
    parts = [(tally.before, "before"), (tally.done, "now"), (tally.elsewhere, "meanwhile by other processes")]
    how = ", ".join(f"{count} {when}" for count, when in parts if count)
    finished = tally.before + tally.done + tally.elsewhere
    took = f" in {elapsed:.3g} s, {tally.seconds:.3g} s of computing" if tally.done else ""
    told.append(f"{finished} of {tally.total} cells are finished{f' ({how})' if how else ''}{took}.")
    told += failure_remarks(store)
    if finished:
        told.append(f"lindyn sweep-table {store.path} gathers them.")
    return told


def failure_remarks(store: Store) -> list[str]:
    """What failed and why, each error once."""
    table = failures_table(store)
    errors = Counter(table.columns["message"].tolist())
    told = [f"{count} failed: {message}" for message, count in errors.most_common(NAMED)]
    if len(errors) > NAMED:
        told.append(f"{sum(errors.values())} failed in all, with {len(errors)} different errors.")
    if errors:
        told.append(f"lindyn sweep-table {store.path} --failed lists them, and --retry-failed computes them again.")
    return told


def gathered_remarks(table: Gathered) -> list[str]:
    """What a table leaves out."""
    left = len(table.mask) - table.finished
    if not left:
        return []
    absent = compress(table.sweep.cells(), (not kept for kept in table.mask))
    failed = sum(table.store.has_failed(cell.key) for cell in absent)
    missing = f"{left - failed} were not finished; the sweep computes them when it is run again" if left > failed else ""
    told = "; ".join(part for part in (f"{failed} failed" if failed else "", missing) if part)
    return [f"{left} of {len(table.mask)} cells are not in the table: {told}."]


def _running(sweep: Sweep, store: Store) -> int:
    """Cells that some process computes at this moment."""
    missing = (cell.key for cell in sweep.cells() if not store.is_finished(cell.key))
    with store.claims() as claims:
        return sum(not claims.is_free(key) for key in missing)


def _table(tally: Tally, running: int | None = None) -> Table:
    finished = tally.before + tally.done + tally.elsewhere
    told = {"cells": tally.total, "finished": finished, "failed": tally.failed, "missing": tally.missing}
    if running is not None:
        told["running"] = running
    return Table({name: np.array([count]) for name, count in told.items()})
