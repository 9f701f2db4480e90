"""How far a sweep is: the table, and what to say beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import compress

import numpy as np

from dynamics.sweep.gathering import Gathered, failures_table
from dynamics.sweep.plan import JOINT, Point, Sweep, sweep_in
from dynamics.sweep.running import NUMBER, Tally, counted
from dynamics.sweep.store import Store, WriteError
from dynamics.table import Table

MANY = 8
"""Values of an axis that are told, at most."""

NAMED = 5
"""Errors, or remarks, that are told, at most."""


def plan_table(sweep: Sweep, store: Store | None, *, extend: bool = False) -> Table:
    """One row: how many cells a sweep has, and how many of them a store has; raises what a run with that store would."""
    if store is None:
        return _table(Tally(len(sweep)))
    store.refuse_strange(sweep, extend=extend)
    return _table(counted(sweep, store))


def status_table(store: Store) -> Table:
    """One row: how many cells are finished, failed and missing, and how many of the last some process has taken on."""
    sweep = sweep_in(store.about())
    return _table(counted(sweep, store), _taken(sweep, store))


def tally_table(tally: Tally) -> Table:
    """One row: what became of the cells of a run."""
    return _table(tally)


def axes_remarks(sweep: Sweep) -> list[str]:
    """What is kept of which cells."""
    kept = ", ".join(sweep.observables) or "all observables"
    axes = [(axis, points) for axis, points in sweep.axes.items() if set(axis.split(JOINT)) <= set(sweep.shown)]
    return [f"{sweep.study.name}, one row {sweep.kept.rows}: {kept}.", *(_axis(*axis) for axis in axes)]


def _axis(axis: str, points: Sequence[Point]) -> str:
    """An axis with its values, the first and last of many."""
    values = [" ".join("none" if value is None else str(value) for value in point) for point in points]
    shown = values if len(values) <= MANY else [*values[: MANY // 2], "...", values[-1]]
    return f"{axis} ({len(values)}): {', '.join(shown)}."


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
    for text, count in tally.remarks.most_common(NAMED):
        differ = ", with numbers of the first" if count > 1 and NUMBER.search(text) else ""
        told.append(f"{count} of {tally.done} cells{differ}: {text}")
    if len(tally.remarks) > NAMED:
        told.append(f"And {len(tally.remarks) - NAMED} more remarks; lindyn sweep-table {store.path} --remarks lists all.")
    told += failure_remarks(store)
    if finished:
        told.append(f"lindyn sweep-table {store.path} gathers them.")
    return told


def failure_remarks(store: Store) -> list[str]:
    """What failed and why, each error once with a cell that has it."""
    table = failures_table(store)
    records = list(table.records())
    errors = Counter(record["message"] for record in records)
    told = []
    for message, count in errors.most_common(NAMED):
        first = next(record for record in records if record["message"] == message)
        axes = {name: "none" if value is None else value for name, value in first.items() if name not in ("error", "message")}
        where = ", ".join(f"{name} {value}" for name, value in axes.items())
        told.append(f"{count} failed{f', such as {where}' if where else ''}: {message}")
    if len(errors) > NAMED:
        told.append(f"{len(records)} failed in all, with {len(errors)} different errors.")
    if errors:
        told.append(
            f"lindyn sweep-table {store.path} --failed lists them; --retry-failed computes them again, once the reason is gone."
        )
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


def _taken(sweep: Sweep, store: Store) -> int | None:
    """Cells that some process has taken on: it computes them, or will next; None in a store that this one must not lock."""
    missing = (cell.key for cell in sweep.cells() if not store.is_finished(cell.key))
    try:
        with store.claims() as claims:
            return sum(not claims.is_free(key) for key in missing)
    except WriteError:
        return None


def _table(tally: Tally, taken: int | None = None) -> Table:
    finished = tally.before + tally.done + tally.elsewhere
    told = {"cells": tally.total, "finished": finished, "failed": tally.failed, "missing": tally.missing}
    if taken is not None:
        told["taken"] = taken
    return Table({name: np.array([count]) for name, count in told.items()})
