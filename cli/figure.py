"""The command that draws the figures."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cli.commands import main
from cli.progress import progress
from cli.rendering import note, wrapped

if TYPE_CHECKING:
    from dynamics.errors import LindynError
    from figures.catalogue import Entry
    from figures.saving import Order


COMMON = """depth and predictor_depth are the layers of the encoder and of the predictor or decoder, epsilon is the amplitude
of the encoder product at the start, and fraction the share of the asymptote that counts as learned, as for critical-time.
"""


def _names(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    from figures.catalogue import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


@main.command(short_help="Draws the figures, with the data behind them.")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=_names)
@click.option("--all", "everything", is_flag=True, help="Draw every figure.")
@click.option("--list", "listed", is_flag=True, help="Say what there is to draw; with a NAME, what its parameters mean.")
@click.option(
    "--format", "formats", default="pdf", show_default=True, metavar="F,...", help="Formats of the pictures: pdf, svg, png."
)
@click.option(
    "--output-dir", "folder", default=".", show_default=True, metavar="DIR", help="Where files go; made where it is missing."
)
@click.option(
    "--style",
    default="neurips",
    show_default=True,
    help="Width and type size for a venue: neurips, iclr, icml, icml-wide or talk.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="A parameter of the figure, such as depth=4; repeatable."
)
@click.option(
    "--features",
    "source",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="A table of features, as for critical-time, to draw in place of the figure's own scenario.",
)
@click.option("--latex", is_flag=True, help="Let LaTeX set the text; it must be installed.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes that draw side by side; by default one a core.")
def figure(
    names: tuple[str, ...],
    everything: bool,
    listed: bool,
    formats: str,
    folder: str,
    style: str,
    settings: tuple[str, ...],
    source: str | None,
    latex: bool,
    workers: int | None,
) -> None:
    """Draw figures of the theory: analytic critical times over simulated networks.

    Beside each picture NAME.pdf go its data, NAME.csv, and its caption and parameters, NAME.json. The names of the files are
    written to standard output. The same versions make the same bytes.

    \b
    lindyn figure --list
    lindyn figure greedy depth --format pdf,png --output-dir figures --set depth=4
    lindyn figure network --features features.csv --style icml
    """
    from figures.catalogue import NAMES, entry_of

    entries = [entry_of(name) for name in (NAMES if everything or (listed and not names) else dict.fromkeys(names))]
    if listed:
        click.echo(_described(entries) if names else _listed(entries), nl=False)
        return
    if not entries:
        raise click.UsageError("Name a figure, or add --all; --list says what there is.")
    if names and everything:
        raise click.UsageError("Give either names or --all, not both.")
    orders = _orders(entries, style, latex, formats, settings, source)
    _prepare(folder)
    _draw(orders, folder, workers)


def _orders(
    entries: Sequence[Entry], style: str, latex: bool, formats: str, settings: Sequence[str], source: str | None
) -> list[Order]:
    from dynamics.errors import LindynError
    from figures.parameters import overrides
    from figures.saving import FORMATS, Order
    from figures.style import style_of

    chosen = style_of(style, latex=latex)
    kinds = list(dict.fromkeys(kind.strip() for kind in formats.split(",")))
    for kind in kinds:
        if kind not in FORMATS:
            raise LindynError(f"There is no format {kind or '(empty)'}; there are {', '.join(FORMATS)}.")
    features = None
    if source is not None:
        from dynamics.feature_table import read_features

        for entry in entries:
            entry.require_features()
        features = read_features(sys.stdin.buffer if source == "-" else source)
    return [
        Order(entry, chosen, kinds, parameters, features, source)
        for entry, parameters in zip(entries, overrides(entries, settings), strict=True)
    ]


def _prepare(folder: str) -> None:
    """Make the folder, or say why files cannot go there, before anything is computed."""
    from dynamics.errors import TableError
    from dynamics.files import reason, refuse_unwritable

    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TableError(f"The folder {folder} cannot be made: {reason(error)}.") from None
    refuse_unwritable(Path(folder) / "figure.csv")


def _draw(orders: Sequence[Order], folder: str, workers: int | None) -> None:
    """Draw and write; what one figure refuses does not keep the others from being drawn."""
    from dynamics.workers import WorkerError
    from figures.orders import make
    from figures.saving import write

    complaints: list[str] = []
    with progress(len(orders), "Drawing") as done:

        def keep(order: Order, files: dict[str, bytes]) -> None:
            for path in write(files, folder):
                click.echo(path)
            done(order.entry.name)

        def refuse(order: Order, error: LindynError) -> None:
            if len(orders) == 1:
                raise error
            complaints.append(f"{order.entry.name}: {error}")
            done(order.entry.name)

        try:
            make(orders, keep, refuse, workers=workers)
        except WorkerError as error:
            raise click.ClickException(str(error)) from None
    for complaint in complaints:
        note(complaint)
    if complaints:
        sys.exit(1)


def _listed(entries: Sequence[Entry]) -> str:
    """Every figure with its title and its parameters."""
    from figures.parameters import shown

    rows = [(f"{entry.name}\n{entry.title}\n{shown(entry.parameters)}",) for entry in entries]
    return wrapped(("figure, what it shows, and its parameters",), rows)


def _described(entries: Sequence[Entry]) -> str:
    """Some figures in full."""
    from figures.parameters import shown

    told = [f"{entry.name}: {entry.description}\n\nDefaults: {shown(entry.parameters)}\n" for entry in entries]
    layered = any("depth" in name for entry in entries for name in entry.parameters)
    return "\n".join([*told, *([COMMON] if layered else [])])
