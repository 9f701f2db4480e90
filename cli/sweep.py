"""The commands that run grids of cells and gather what came out."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cli.commands import main, refuse_others, refuse_unused
from cli.options import output_options
from cli.progress import countdown
from cli.rendering import Output, note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dynamics.sweep.plan import Sweep
    from dynamics.sweep.running import Tally
    from dynamics.sweep.store import Store


OF_TABLES = ("table_format", "path")
"""Options of where a table goes."""


@main.command(short_help="A grid of runs, on all cores or a cluster, resumed where it stopped.")
@click.argument("configuration", required=False, metavar="[CONFIG]")
@click.option("--store", "folder", metavar="DIR", help="Folder that keeps the finished cells; only missing ones are computed.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes to run; by default one a core.")
@click.option("--scheduler", metavar="ADDRESS", help="Compute on the workers of this Dask scheduler instead.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Compute N cells at most, to try a sweep out.")
@click.option("--retry-failed", is_flag=True, help="Compute also the cells that failed before.")
@click.option("--extend", is_flag=True, help="Go on in the store of another configuration, and keep the cells that both have.")
@click.option("--dry-run", is_flag=True, help="Only say what would be computed, or why nothing would be.")
@click.option("--status", "inspected", metavar="DIR", help="Only say how far the sweep of a store is, and what failed.")
@click.option(
    "--template",
    "begun",
    metavar="COMMAND",
    help="Only write a configuration to begin with, with every parameter of this command.",
)
@output_options
def sweep(
    output: Output,
    configuration: str | None,
    folder: str | None,
    workers: int | None,
    scheduler: str | None,
    dry_run: bool,
    inspected: str | None,
    begun: str | None,
    **how: Any,
) -> None:
    """Run a simulation or a prediction at every point of a grid, and keep each cell as it is finished.

    CONFIG is a TOML file with the command, its settings and sources, and axes: lists, ranges {from, to, step} or {from, to,
    points}, and logarithmic ranges {from, to, log_points}; --template writes one to begin with. Killed at any moment and
    started again, a sweep goes on where it stopped; several processes may share a store. A cell that fails keeps its error. The
    exit code is 1 if a cell has failed, now or before, or after an interruption.

    \b
    lindyn sweep --template simulate
    lindyn sweep order.toml --store results --dry-run
    lindyn sweep order.toml --store results
    lindyn sweep --status results
    """
    if begun is not None:
        _write_template(output, begun)
        return
    output.check()
    if inspected is not None:
        refuse_others("--status", "inspected", *OF_TABLES)
        _tell_status(output, inspected)
        return
    if configuration is None:
        raise click.UsageError("Name a CONFIG, the TOML file of a sweep (--template begins one), or a store with --status.")
    from dynamics.sweep.configuration import read_sweep

    planned = read_sweep(configuration)
    if dry_run:
        refuse_others("--dry-run", "dry_run", "configuration", "folder", "extend", *OF_TABLES)
        _tell_plan(output, planned, folder, how["extend"])
        return
    if folder is None:
        raise click.UsageError("Name the folder that keeps the cells with --store.")
    if scheduler is not None:
        refuse_unused("--scheduler", "workers")
    _run(output, planned, folder, _engine(workers, scheduler), how)


def _write_template(output: Output, command: str) -> None:
    from dynamics.files import replaced
    from dynamics.sweep.studies import STUDIES
    from dynamics.sweep.template import template

    if command not in STUDIES:
        raise click.UsageError(f"--template {command} is no command of a sweep; name one of {', '.join(STUDIES)}, in quotes.")
    refuse_others("--template", "begun", "path")
    text = template(STUDIES[command])
    if output.path is None:
        click.echo(text)
        return
    with replaced(output.path) as stream:
        stream.write(text.encode())
    note(f"{output.path} written.")


def _engine(workers: int | None, scheduler: str | None) -> Any:
    from dynamics.sweep.engines import cluster, processes

    return partial(processes, workers=workers) if scheduler is None else partial(cluster, address=scheduler, tell=note)


def _run(output: Output, planned: Sweep, folder: str, engine: Any, how: dict[str, Any]) -> None:
    from dynamics.reports.sweep import tally_remarks, tally_table
    from dynamics.sweep.running import run_sweep

    store, begun = _store(folder), time.monotonic()
    with _failing(), countdown("Cells") as bar:
        tally = run_sweep(planned, store, engine, watch=lambda now: _show(now, bar), **how)
    output.write(tally_table(tally))
    for line in tally_remarks(tally, store, time.monotonic() - begun):
        note(line)
    if tally.failed or tally.interrupted:
        sys.exit(1)


def _show(tally: Tally, bar: Any) -> None:
    finished = tally.before + tally.done + tally.elsewhere
    bar(finished + tally.failed, tally.total, f"{tally.failed} failed,")


def _tell_plan(output: Output, planned: Sweep, folder: str | None, extend: bool) -> None:
    from dynamics.reports.sweep import axes_remarks, plan_table

    output.write(plan_table(planned, None if folder is None else _store(folder), extend=extend))
    for line in axes_remarks(planned):
        note(line)


def _tell_status(output: Output, folder: str) -> None:
    from dynamics.reports.sweep import axes_remarks, failure_remarks, status_table
    from dynamics.sweep.plan import sweep_in

    store = _store(folder)
    table = status_table(store)
    output.write(table)
    for line in (*axes_remarks(sweep_in(store.about())), *failure_remarks(store)):
        note(line)


@contextmanager
def _failing() -> Iterator[None]:
    """Turn what stops a sweep on its way into one sentence and exit code 1."""
    from dynamics.sweep.engines import EngineError
    from dynamics.sweep.store import WriteError

    try:
        yield
    except (EngineError, WriteError) as error:
        raise click.ClickException(str(error)) from None


def _store(folder: str) -> Store:
    from dynamics.sweep.store import Store

    return Store(Path(folder))


@main.command("sweep-table", short_help="What a sweep found, as one table.")
@click.argument("folder", metavar="DIR")
@click.option("--failed", is_flag=True, help="Give instead the cells that failed, with their errors.")
@click.option("--remarks", is_flag=True, help="Give instead what should be known of single cells, one row a remark.")
@output_options
def sweep_table(output: Output, folder: str, failed: bool, remarks: bool) -> None:
    """Gather the finished cells of the store DIR into one table, in the order of the grid.

    The axes come first, then what was observed. Also while the sweep runs: how many cells are missing is reported.

    \b
    lindyn sweep-table results --format csv
    lindyn sweep-table results --failed
    """
    from dynamics.reports.sweep import gathered_remarks
    from dynamics.sweep.gathering import failures_table, gathered, remarks_table

    output.check()
    store = _store(folder)
    if failed and remarks:
        raise click.UsageError("Give either --failed or --remarks, not both.")
    if failed or remarks:
        output.write(failures_table(store) if failed else remarks_table(store))
        return
    whole = gathered(store)
    output.write_long(whole, whole.sweep.shown)
    for line in gathered_remarks(whole):
        note(line)
