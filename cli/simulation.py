"""The command that trains the real network."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from cli.commands import main, refuse_unused, unit_of
from cli.options import grid_options, output_options, regime_options, source_input, time_option
from cli.progress import Percentage, progress
from cli.rendering import Output, note

if TYPE_CHECKING:
    from dynamics.comparison import Simulation
    from dynamics.simulation import Experiment


def training_options(command: Any) -> Any:
    """Options of how a network is trained, passed as ``training`` (None for gradient flow)."""

    @click.option("--learning-rate", type=float, help="Train by gradient descent with this step, in place of gradient flow.")
    @click.option(
        "--optimiser",
        type=click.Choice(["plain", "momentum", "adam"]),
        default="plain",
        show_default=True,
        help="With --learning-rate: how a gradient becomes a step.",
    )
    @click.option(
        "--momentum",
        type=float,
        default=0.9,
        show_default=True,
        help="With --optimiser momentum: share of the last step; a step counts learning rate / (1 - momentum) of time.",
    )
    @click.option(
        "--batch", type=int, metavar="N", help="With --learning-rate: draw N samples a step in place of exact moments."
    )
    @wraps(command)
    def wrapped(learning_rate: float | None, optimiser: str, momentum: float, batch: int | None, **options: Any) -> None:
        if learning_rate is None:
            refuse_unused("gradient flow", "optimiser", "momentum", "batch", remedy="add --learning-rate")
            command(training=None, **options)
            return
        if optimiser != "momentum":
            refuse_unused(f"--optimiser {optimiser}", "momentum", remedy="add --optimiser momentum")
        from dynamics.network.descent import GradientDescent

        command(training=GradientDescent(learning_rate, optimiser, momentum, batch), **options)

    return wrapped


@main.command(short_help="Trains the real network, beside the exact theory.")
@source_input
@grid_options
@click.option(
    "--start",
    type=click.Choice(["balanced", "orthogonal", "haar", "gaussian"]),
    default="balanced",
    show_default=True,
    help="Layers at the start: multiples of the identity; random orthogonal, aligned; the same, not aligned; normal entries.",
)
@training_options
@regime_options
@click.option(
    "--no-stop-gradient", is_flag=True, help="Differentiate the target as well (a control: the encoder only shrinks)."
)
@click.option(
    "--until",
    type=float,
    metavar="T",
    help="Time at which to end, in the unit of --time; by default a little after the predicted times.",
)
@click.option(
    "--first",
    type=click.IntRange(min=1),
    metavar="N",
    help="Show only the first N features, and by default end when they are learned.",
)
@click.option("--runs", type=click.IntRange(min=1), default=1, show_default=True, help="Runs, with seeds from --seed on.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of random starts and minibatches.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes to run; by default one a core for more than two runs.")
@click.option(
    "--points", type=click.IntRange(2, 100_000), default=200, show_default=True, help="Points of the curves, roughly."
)
@time_option
@output_options
def simulate(
    output: Output,
    source: Any,
    grid: Any,
    regime: Any,
    no_stop_gradient: bool,
    until: float | None,
    runs: int,
    workers: int | None,
    time: str,
    **how: Any,
) -> None:
    """Train the real network, matrices and all, and lay what it learns beside the exact theory.

    SOURCE is a table of features as for critical-time, or data as for features (with Y, --mask or --lag); or give --lambda and
    --rho. The table goes to standard output; --output keeps the curves. The exit code is 1 if a run did not go to its end.

    \b
    lindyn simulate --lambda 1,0.8 --rho 0.5,1.2 --depth 3
    lindyn simulate digits.npz --mask 0.5 --depth 3 --epsilon 0.02 --first 20 --output curves.csv
    lindyn simulate features.csv --start gaussian --learning-rate 0.05 --runs 8
    """
    from dynamics.reports.simulation import experiments, finished_well
    from dynamics.workers import interrupted_once

    output.check()
    how["regime"] = replace(regime, stop_gradient=not no_stop_gradient)
    planned = experiments(grid.settings(), source, runs=runs, time=time, until=until, **how)
    with interrupted_once():
        finished = _trained(planned, workers)
        _write(output, source, finished, len(planned), time)
    if len(finished) < len(planned) or not finished_well(finished):
        sys.exit(1)


def _trained(planned: Sequence[Experiment], workers: int | None) -> list[Simulation]:
    """The runs that finished, with a progress bar; at least one."""
    from dynamics.ensemble import run_all
    from dynamics.workers import WorkerError

    try:
        with progress(100 * len(planned), "Training") as done:
            percent = Percentage(done)
            finished = run_all(planned, workers=workers, watch=percent, done=lambda _: percent.next())
    except WorkerError as error:
        raise click.ClickException(str(error)) from None
    if not finished:
        raise click.ClickException("Interrupted before a run finished.")
    return finished


def _write(output: Output, source: Any, finished: Sequence[Simulation], asked: int, time: str) -> None:
    """The summary to standard output, what is to be known to standard error, and the curves to the file."""
    from dynamics.reports.simulation import curves_table, simulation_remarks, summary_table

    table = summary_table(finished, time=time)
    output.summarise(table, unit_of(time))
    for line in simulation_remarks(source, finished, asked=asked, table=table):
        note(line)
    if output.path:
        output.keep(curves_table(finished, time=time))
