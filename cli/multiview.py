"""The commands of the second system: projectors, views and the modes that they learn."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from cli.commands import TRAINING_TIME, Lindyn, main, refuse_unused
from cli.options import Command, output_options, refuse_overwriting, several, source_input
from cli.progress import progress
from cli.rendering import Output, note

if TYPE_CHECKING:
    from dynamics.multiview.losses import Loss
    from dynamics.reports.multiview import SetupGrid

LOSSES = (
    "barlow-twins",
    "penalised",
    "normalised",
    "spectral-contrastive",
    "byol",
    "direct-copy",
    "iso-loss",
    "two-layers",
)
SETTINGS = ("beta", "kernel", "invariance", "views", "weight_decay", "teacher_rate")
ELSEWHERE = ("y", "lambda", "rho", "sigma", "mask", "target", "lag", "standardise")
"""What says what the features are where there is no graph."""


@main.group(cls=Lindyn, short_help="Projectors, views and non-contrastive losses.")
def multiview() -> None:
    """Non-contrastive learning with small projectors and several views: which modes are learned when.

    A linear projector of width d is trained on views of images: Barlow Twins and its kin, with weight beta on what keeps
    outputs apart. A feature is (lambda, rho, sigma) as everywhere: covariance between two views, lambda / sigma^2, and standard
    deviation in one view.

    \b
    lindyn multiview critical-time --lambda 1,0.8,0.5 --rho 0.9,0.8,0.5 --beta 0.1,1
    lindyn multiview redundancy features.csv --width 8 --beta 0.05
    lindyn multiview views --lambda 0.9,0.8,0.3 --rho 0.9,0.8,0.3 --width 2 --budget 8000
    """


def learned_from(command: Command) -> Command:
    """Pass ``source``: what `source_input` gives, or an augmentation graph."""
    from_features_or_data = source_input(command)

    @click.option(
        "--graph",
        is_flag=True,
        help="SOURCE is an augmentation graph: a table of p(view | image), one row an image, each summing to 1.",
    )
    @wraps(from_features_or_data)
    def wrapped(graph: bool, **options: Any) -> None:
        if not graph:
            from_features_or_data(**options)
            return
        refuse_unused("--graph", *ELSEWHERE)
        source, columns = options.pop("source"), options.pop("columns")
        if source is None:
            raise click.UsageError("--graph goes with a file SOURCE, a table of p(view | image), or - for standard input.")
        refuse_overwriting(options["path"], source)
        from dynamics.matrices import read_matrix
        from dynamics.multiview.graph import AugmentationGraph

        rest = {name: value for name, value in options.items() if name not in ELSEWHERE}
        chances = read_matrix(source, columns.split(",") if columns else ()).values
        command(source=AugmentationGraph(chances), **rest)
        note(
            "A function that is constant on each connected part has rho 1 (feature 1, of a connected graph); it counts as a"
            " mode here, and batch normalisation takes it out."
        )

    return wrapped


def loss_options(*losses: str) -> Callable[[Command], Command]:
    """Pass ``loss`` and ``grid``: one of these losses, and every combination of its settings."""

    def decorate(command: Command) -> Command:
        @click.option(
            "--loss", "name", type=click.Choice(losses), default=losses[0], show_default=True, help="What is minimised."
        )
        @several("--width", int, "Width d of the projector.", [16])
        @several("--beta", float, "Weight of the penalty that keeps outputs apart.", [1.0])
        @click.option(
            "--kernel",
            type=click.Choice(["cross-view", "view-mean", "whitened"]),
            default="cross-view",
            show_default=True,
            help="Which second moments Barlow Twins sees: of two views, of the mean of all views, of two whitened views.",
        )
        @click.option(
            "--invariance",
            type=click.Choice(["pairs", "views", "averaging"]),
            default="pairs",
            show_default=True,
            help="Form of the invariance term: kappa is 1 - rho, (m - 1)(1 - rho) or (1 - sqrt(rho))^2.",
        )
        @several("--views", int, "Views m of an image.", [2])
        @wraps(command)
        def wrapped(name: str, **options: Any) -> None:
            from dynamics.multiview.losses import LOSSES as KNOWN
            from dynamics.reports.multiview import SetupGrid

            loss = KNOWN[name]
            settings = {setting: options.pop(setting) for setting in ("width", *SETTINGS) if setting in options}
            _refuse_settings(loss, settings, drawn=options.get("images") is not None)
            command(loss=loss, grid=SetupGrid(**_distinct(settings)), **_distinct(options))

        return decay_options(wrapped) if "byol" in losses else wrapped

    return decorate


def decay_options(command: Command) -> Command:
    """What losses with a predictor read: weight decay and a teacher."""
    options = (
        click.option(
            "--weight-decay", type=float, default=0.0, metavar="ETA", help="Rate at which weights decay (byol, direct-copy)."
        ),
        click.option(
            "--teacher-rate",
            type=float,
            metavar="RATE",
            help="Rate at which an EMA teacher follows, (1 - EMA) / learning rate (byol); by default there is none.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _refuse_settings(loss: Loss, settings: dict[str, Any], drawn: bool) -> None:
    """Refuse settings that the loss would not read; the views of images that are drawn always count."""
    unused = [name for name in settings if name in SETTINGS and name not in loss.uses and not (drawn and name == "views")]
    refuse_unused(loss.name, *unused)
    if drawn:
        return
    if "kernel" in loss.uses and settings["kernel"] != "view-mean":
        refuse_unused(f"the {settings['kernel']} kernel", "views", remedy="add --kernel view-mean")
    if "invariance" in loss.uses and settings["invariance"] != "views":
        refuse_unused(f"the invariance of {settings['invariance']}", "views", remedy="add --invariance views")


def _distinct(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(dict.fromkeys(value)) if isinstance(value, tuple) else value for name, value in settings.items()}


@multiview.command("critical-time", short_help="When each mode is learned.")
@learned_from
@loss_options(*(name for name in LOSSES if name != "normalised"))
@several("--epsilon", float, "Amplitude of each mode at the start: the norm of its column in the projector.", [1e-3])
@several(
    "--fraction",
    float,
    "Share of the mode's asymptote (on a staircase, of the plateau that it opens) that counts as learned.",
    [0.5],
)
@output_options
def critical_time(
    output: Output, source: Any, loss: Loss, grid: SetupGrid, epsilon: tuple[float, ...], fraction: tuple[float, ...]
) -> None:
    """When each mode is learned, and to what size.

    SOURCE is a table of features as for lindyn critical-time, data as for features (with Y, --mask or --lag), or with --graph a
    table of p(view | image); or give --lambda and --rho. With beta below 1 outputs of Barlow Twins share modes, and modes wait
    for one another: the staircase. Otherwise each mode has a closed form of its own. A projector of width d learns d modes.

    \b
    lindyn multiview critical-time --lambda 1,0.8,0.5 --rho 0.9,0.8,0.5 --beta 0.1,1 --epsilon 1e-12
    lindyn multiview critical-time features.csv --loss byol --epsilon 0.1 --weight-decay 0.02
    lindyn multiview critical-time --lambda 0.8,0.8 --rho 0.8,0.2 --kernel view-mean --views 2,8
    """
    from dynamics.multiview.population import views_of
    from dynamics.reports.multiview import mode_remarks, mode_table, mode_times

    features = views_of(source).features
    results = mode_times(loss, features, grid, epsilon=epsilon, fraction=fraction)
    table = mode_table(results)
    output.write(table, TRAINING_TIME)
    for line in (*mode_remarks(features, results), *_meanings(table.columns["status"])):
        note(line)


@multiview.command(short_help="How alike the outputs of a projector become.")
@learned_from
@loss_options("barlow-twins", "normalised", "penalised")
@several("--epsilon", float, "Amplitude of each mode at the start (barlow-twins).", [1e-3])
@output_options
def redundancy(output: Output, source: Any, loss: Loss, grid: SetupGrid, epsilon: tuple[float, ...]) -> None:
    """How many modes a projector fills, when, and how alike its outputs are: what weak and strong beta mean.

    SOURCE and Y are as for critical-time. Barlow Twins: one plateau after each mode, with the effective rank of the outputs and
    their mean squared correlation. Normalised outputs, as after batch normalisation: which modes beta d fills, from which beta
    on, and when all outputs collapse onto the first mode. Penalised ones: which modes are alive.

    \b
    lindyn multiview redundancy --lambda 1,0.8,0.5 --rho 0.9,0.8,0.5 --width 8 --beta 0.01,0.1,1
    lindyn multiview redundancy --lambda 1,0.8,0.5 --rho 0.9,0.8,0.5 --loss normalised --width 8,64 --beta 0.05
    """
    from dynamics.multiview.graph import AugmentationGraph
    from dynamics.multiview.population import views_of
    from dynamics.reports.redundancy import redundancy_remarks, redundancy_table

    if loss.name != "barlow-twins":
        refuse_unused(loss.name, "epsilon")
    features = views_of(source).features
    table = redundancy_table(loss, features, grid, epsilon=epsilon)
    output.write(table, TRAINING_TIME if loss.name == "barlow-twins" else "")
    constants = int(isinstance(source, AugmentationGraph))
    for line in (*redundancy_remarks(loss, features, grid, constants=constants), *_meanings(table.columns["status"])):
        note(line)


@multiview.command(short_help="How many views of an image are best.")
@source_input
@click.option("--width", type=int, default=1, show_default=True, help="How many leading modes are to be found.")
@several("--views", int, "Views m of an image.", [2, 4, 8, 16])
@several("--images", int, "Images n.")
@several("--budget", int, "Samples n m in all, shared out over each number of views.")
@click.option(
    "--replicates", type=click.IntRange(0, 100_000), default=0, metavar="R", help="Adds the mean error of R drawn samples."
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="With --replicates: its seed.")
@output_options
def views(
    output: Output,
    source: Any,
    width: int,
    views: tuple[int, ...],
    images: tuple[int, ...],
    budget: tuple[int, ...],
    replicates: int,
    seed: int,
) -> None:
    """How far the leading modes that n images and m views of each determine are off, and which m is best.

    SOURCE and Y are as for critical-time, without --graph. The error is 1 - alignment of the leading modes of whitened Gaussian
    views with the true ones.

    \b
    lindyn multiview views --lambda 0.9,0.8,0.3 --rho 0.9,0.8,0.3 --width 2 --budget 8000
    lindyn multiview views --lambda 0.9,0.8,0.3 --rho 0.9,0.8,0.3 --images 500,2000 --views 2,8 --replicates 200
    """
    from dynamics.multiview.population import views_of
    from dynamics.reports.view_errors import designs_of, view_errors_table, view_remarks

    if not images and not budget:
        raise click.UsageError("Give --images, or --budget for a fixed number of samples n m.")
    if not replicates:
        refuse_unused("a table without --replicates", "seed")
    features = views_of(source).features
    designs = list(dict.fromkeys(designs_of(views, images=images, budget=budget)))
    table = view_errors_table(features, width=width, designs=designs, replicates=replicates, seed=seed)
    output.write(table)
    for line in view_remarks(features, width, table):
        note(line)


@multiview.command(short_help="Trains the matrices of a loss.")
@learned_from
@loss_options(*LOSSES)
@several("--epsilon", float, "Amplitude of each mode at the start: the norm of its column in the projector.", [1e-3])
@click.option(
    "--fraction", type=float, default=0.5, show_default=True, help="Fraction of the asymptote that counts as learned."
)
@click.option(
    "--start",
    type=click.Choice(["gaussian", "orthogonal"]),
    default="gaussian",
    show_default=True,
    help="Weights at the start: independent normal entries, or orthonormal columns (then all but staircases are exact).",
)
@click.option("--learning-rate", type=float, help="Train by gradient descent with this step, in place of gradient flow.")
@click.option(
    "--images", type=int, metavar="N", help="Draw N images and --views of each, and train on the moments that they estimate."
)
@click.option("--until", type=float, metavar="T", help="Time at which to end; by default a little after the predicted times.")
@click.option("--runs", type=click.IntRange(min=1), default=1, show_default=True, help="Runs, with seeds from --seed on.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the random start, and of the images drawn."
)
@click.option("--points", type=click.IntRange(2, 100_000), default=200, show_default=True, help="Points of the curves.")
@output_options
def simulate(
    output: Output, source: Any, loss: Loss, grid: SetupGrid, epsilon: tuple[float, ...], runs: int, seed: int, **how: Any
) -> None:
    """Train the whole matrices of a loss from a small random start, and lay what they learn beside the law of their modes.

    SOURCE and Y are as for critical-time; data keep what couples their features, a graph its exact kernel. The table goes to
    standard output; --output keeps the curves: sizes of modes, effective rank, redundancy and loss against time. The exit code
    is 1 if a run diverged.

    \b
    lindyn multiview simulate --lambda 1,0.8,0.5 --rho 0.9,0.8,0.5 --width 8 --beta 0.1 --epsilon 1e-6
    lindyn multiview simulate features.csv --loss direct-copy --epsilon 0.3 --start orthogonal
    lindyn multiview simulate --lambda 1,0.8 --rho 0.9,0.8 --loss normalised --learning-rate 0.05 --output curves.csv
    """
    from dynamics.reports.mode_simulation import mode_simulation_remarks, run_curves, run_table, trained

    output.check()
    if loss.name == "normalised":
        refuse_unused("the loss normalised, whose outputs start at unit variance", "epsilon")
    cases = list(product(grid.setups(), epsilon, range(seed, seed + runs)))
    with progress(len(cases), "Training") as done:
        finished = trained(loss, source, cases, done, **how)
    table = run_table(finished)
    output.summarise(table, TRAINING_TIME)
    for line in (*mode_simulation_remarks(finished), *_meanings(_statuses(table))):
        note(line)
    if output.path:
        output.keep(run_curves(finished))
    if any(run.diverged for run in finished):
        sys.exit(1)


def _statuses(table: Any) -> list[str]:
    return [*table.columns["status"], *table.columns["simulated_status"]]


def _meanings(told: Any) -> list[str]:
    from dynamics.multiview.status import ModeStatus
    from dynamics.status import remarks

    return remarks(told, ModeStatus)
