"""The commands of the third system: where attention goes under masked reconstruction and under contrastive learning."""

from __future__ import annotations

import sys
from functools import wraps
from itertools import product
from typing import TYPE_CHECKING, Any

import click

from cli.commands import TRAINING_TIME, Lindyn, main, refuse_unused
from cli.options import Command, output_options, several
from cli.progress import Percentage, progress
from cli.rendering import Output, note

if TYPE_CHECKING:
    from dynamics.attention import Contrast, ImageModel

EXPONENTS, SIZES = ("kappa_c", "kappa_s"), ("global_size", "local_size")


@main.group(cls=Lindyn, short_help="MAE against contrastive learning in a one-layer ViT.")
def attention() -> None:
    """Where attention goes in a one-layer softmax ViT: masked reconstruction against contrastive learning.

    Images of P patches have one global area of P^kappa_c patches and local areas of P^kappa_s. A masked autoencoder learns to
    attend to the area of each patch; contrastive learning collapses onto the global area. The information gap
    (1 - kappa_s) - 2 (1 - kappa_c) says which area a masked autoencoder moves first.

    \b
    lindyn attention phases --patches 196 --global-size 106 --local-size 9
    lindyn attention phases --patches 1e4,1e8 --kappa-c 0.9 --kappa-s 0.4
    lindyn attention simulate --patches 36 --global-size 16 --local-size 5 --steps 50
    """


def model_options(command: Command) -> Command:
    """Pass ``models``: every combination of sizes, and the rest of the image model."""

    @several("--patches", float, "Patches P of an image.", [196])
    @several("--global-size", float, "Patches of the global area; with --local-size, in place of exponents.")
    @several("--local-size", float, "Patches of each local area.")
    @several("--kappa-c", float, "Exponent of the global area, from 0.5 to 1.")
    @several("--kappa-s", float, "Exponent of a local area, from 0.001 to 0.5.")
    @click.option(
        "--masked", type=float, default=0.5, show_default=True, metavar="GAMMA", help="Share of patches that a mask hides."
    )
    @click.option("--clusters", type=int, default=1, show_default=True, metavar="K", help="Clusters of images.")
    @click.option(
        "--latent",
        type=float,
        nargs=2,
        default=(1.0, 1.0),
        metavar="LOW HIGH",
        help="Interval of an area's strength, uniform.  [default: 1 1]",
    )
    @wraps(command)
    def wrapped(masked: float, clusters: int, latent: tuple[float, float], **options: Any) -> None:
        sizes = {name: options.pop(name) for name in ("patches", *SIZES, *EXPONENTS)}
        from dynamics.attention.images import ImageModel, uniform

        law = uniform(*latent)
        command(models=[ImageModel(areas, masked, clusters, law) for areas in _areas(**sizes)], **options)

    return wrapped


def _areas(patches: Any, global_size: Any, local_size: Any, kappa_c: Any, kappa_s: Any) -> list[Any]:
    from dynamics.attention.images import Areas

    by_size, by_exponent = (global_size, local_size), (kappa_c, kappa_s)
    if any(by_size) == any(by_exponent):
        raise click.UsageError("Give --global-size and --local-size, or --kappa-c and --kappa-s.")
    if not (all(by_size) or all(by_exponent)):
        raise click.UsageError("--global-size goes with --local-size, and --kappa-c with --kappa-s.")
    if any(by_size):
        return [Areas(*sizes) for sizes in dict.fromkeys(product(patches, *by_size))]
    return [Areas.of_exponents(*sizes) for sizes in dict.fromkeys(product(patches, *by_exponent))]


def contrast_options(command: Command) -> Command:
    """Pass ``contrast``."""

    @click.option("--temperature", type=float, default=0.5, show_default=True, metavar="TAU", help="Of contrastive learning.")
    @click.option(
        "--weight-decay", type=float, default=0.0, metavar="LAMBDA", help="Of contrastive learning, per unit of training time."
    )
    @wraps(command)
    def wrapped(temperature: float, weight_decay: float, **options: Any) -> None:
        from dynamics.attention.cl_flow import Contrast

        command(contrast=Contrast(temperature, None, weight_decay), **options)

    return wrapped


@attention.command(short_help="When each phase ends, by a few ODEs.")
@model_options
@contrast_options
@click.option(
    "--counts",
    type=click.Choice(["exact", "mean"]),
    help="Shown patches of an area: by their exact law, or the mean.  [default: exact for whole areas of up to 20000 patches]",
)
@click.option("--no-positions", is_flag=True, help="Leave position-position correlations out, as is right for many patches.")
@output_options
def phases(output: Output, models: list[ImageModel], contrast: Contrast, counts: str | None, no_positions: bool) -> None:
    """When the phases of a masked autoencoder end, and when contrastive learning collapses, from the reduced flows.

    One row for every size. Times are those of a masked patch of a local area; second_leading and phi_G_leading are the closed
    forms to leading order, collapse_position and collapse_full the times at which queries that see their position, or their
    patch as well, put half of their attention on the global area.

    \b
    lindyn attention phases --patches 196 --global-size 106,26 --local-size 10
    lindyn attention phases --patches 1e8 --kappa-c 0.9 --kappa-s 0.4 --clusters 8 --no-positions
    """
    from dynamics.reports.attention import phases_remarks, phases_table

    if all(model.clusters < 2 for model in models):
        refuse_unused("one cluster", "temperature", "weight_decay", remedy="add --clusters")
    table = phases_table(models, contrast, counts=counts, positions=not no_positions)
    output.write(table, TRAINING_TIME)
    for line in phases_remarks(table):
        note(line)


@attention.command(short_help="Trains the network itself.")
@model_options
@contrast_options
@click.option("--objective", type=click.Choice(["mae", "cl"]), default="mae", show_default=True, help="What is minimised.")
@click.option(
    "--query",
    type=click.Choice(["full", "position"]),
    default="full",
    show_default=True,
    help="Of contrastive learning: queries see their patch as well, or their position only.",
)
@click.option("--shared-partition", is_flag=True, help="All clusters share one partition into areas.")
@click.option("--steps", type=int, help="Steps of gradient descent.  [default: 900, cl 400]")
@click.option("--batch", type=int, metavar="N", help="Images a step.  [default: 64, cl 32]")
@click.option("--learning-rate", type=float, help="By default such that the run lasts a few of its predicted times.")
@click.option(
    "--optimiser", type=click.Choice(["plain", "momentum", "adam"]), default="plain", show_default=True, help="How to step."
)
@click.option("--momentum", type=float, default=0.9, show_default=True, help="With --optimiser momentum.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of partitions, images and masks.")
@click.option("--looks", type=click.IntRange(1, 10_000), default=60, show_default=True, help="Points of the curves.")
@click.option("--attention", "keep", type=click.Path(dir_okay=False), metavar="FILE.npy", help="Keep the final attention map.")
@output_options
def simulate(
    output: Output,
    models: list[ImageModel],
    contrast: Contrast,
    objective: str,
    steps: int | None,
    batch: int | None,
    learning_rate: float | None,
    optimiser: str,
    momentum: float,
    keep: str | None,
    **how: Any,
) -> None:
    """Train the full attention matrix by gradient descent on images that are drawn, and lay it beside the reduced flow.

    Areas must be whole. The table has the metrics of the attention map at the end; --output keeps the curves. The exit code is
    1 if a run diverged.

    \b
    lindyn attention simulate --patches 36 --global-size 16 --local-size 5 --steps 50
    lindyn attention simulate --patches 36 --global-size 16 --local-size 5 --objective cl --clusters 4 --steps 50 --batch 16
    """
    from dynamics.attention.simulation import USUAL, Training, simulate_attention
    from dynamics.reports.attention import run_row
    from dynamics.table import stacked

    if objective == "mae":
        refuse_unused("masked reconstruction", "query", "temperature", "weight_decay")
    if optimiser != "momentum":
        refuse_unused(f"--optimiser {optimiser}", "momentum", remedy="add --optimiser momentum")
    if keep and len(models) > 1:
        raise click.UsageError("--attention keeps the map of one run; give one size.")
    output.check()
    if keep:
        _check_map(keep)
    usual_steps, usual_batch = USUAL[objective]
    size = usual_steps if steps is None else steps, usual_batch if batch is None else batch
    training = Training(*size, learning_rate, optimiser, momentum)
    runs = []
    with progress(100 * len(models), "Training") as done:
        percent = Percentage(done)
        for model in models:
            runs.append(simulate_attention(objective, model, training=training, contrasted=contrast, watch=percent, **how))
            percent.next()
    output.summarise(stacked(map(run_row, runs)), TRAINING_TIME)
    for line in run_remarks(runs):
        note(line)
    if output.path:
        output.keep(stacked(run.curves_table() for run in runs))
    if keep:
        import numpy as np

        np.save(keep, runs[0].attention())
        note(f"The attention map was written to {keep}.")
    if any(run.diverged for run in runs):
        sys.exit(1)


def _check_map(path: str) -> None:
    from dynamics.files import refuse_unwritable

    if not path.endswith(".npy"):
        raise click.UsageError(f"--attention {path} keeps a NumPy array; let its name end in .npy.")
    refuse_unwritable(path)


def run_remarks(runs: list[Any]) -> list[str]:
    """What to know of runs."""
    told = [
        "predicted_half and simulated_half: half of the attention of local patches is on their own area (MAE) or on the global"
        " one (CL). Read the diversity beside the mass on the global area: an untrained map has none either."
    ]
    told += ["A run diverged; lower --learning-rate."] if any(run.diverged for run in runs) else []
    return told


@attention.command(short_help="Metrics of an attention map.")
@click.argument("attention_map", metavar="MAP")
@click.option("--areas", metavar="FILE", help="Area of every patch, one number a row, 0 for the global one.")
@click.option("--global-size", type=int, help="Areas as runs of patches instead: the first so many are the global area ...")
@click.option("--local-size", type=int, help="... and so many each local one.")
@output_options
def metrics(output: Output, attention_map: str, areas: str | None, global_size: int | None, local_size: int | None) -> None:
    """Metrics of an attention MAP: diversity, information and distance, and with areas the mass on each.

    MAP is a square table, one row a query, each summing to 1 (.npy, .npz or .npz:KEY, CSV, TSV, Parquet), such as one head of a
    ViT without its class token, or what simulate keeps with --attention.

    \b
    lindyn attention metrics map.npy
    lindyn attention metrics map.npy --global-size 16 --local-size 5
    """
    from dynamics.attention.metrics import areas_of, attention_metrics
    from dynamics.matrices import read_matrix
    from dynamics.reports.attention import metrics_table

    if areas and (global_size or local_size):
        raise click.UsageError("Give either --areas or --global-size and --local-size.")
    if (global_size is None) != (local_size is None):
        raise click.UsageError("--global-size goes with --local-size.")
    rows = read_matrix(attention_map).values
    where = areas_of(len(rows), global_size, local_size) if global_size is not None and local_size is not None else None
    if areas:
        where = read_matrix(areas).values.ravel()
    output.write(metrics_table(attention_metrics(rows, where)))
