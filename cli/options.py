"""The options that commands share, each read and validated once."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cli.rendering import Document, Output

if TYPE_CHECKING:
    from dynamics.features import Features
    from dynamics.network.population import Data

Command = Callable[..., None]

DATA_ENDINGS = (".npy", ".npz")
"""Of files that hold data, never a table of features."""
Value = TypeVar("Value")


class NumberList(click.ParamType[Any]):
    """Numbers separated by commas; each option that takes them may also be repeated. Decimals keep every digit written."""

    def __init__(self, kind: type[int] | type[float] | type[Decimal]) -> None:
        self.kind = kind
        self.name = "integers" if kind is int else "numbers"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """How the option's value is shown in help."""
        return "N[,N...]" if self.kind is int else "X[,X...]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int | float | Decimal, ...]:
        """Parse one occurrence of the option."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self.kind(part) for part in str(value).split(","))
        except (ValueError, InvalidOperation):
            wanted = "a whole number" if self.kind is int else "a number"
            self.fail(f"{value!r} is not {wanted} (or several, separated by commas).", param, ctx)


def several(
    name: str, kind: type[int] | type[float] | type[Decimal], help_text: str, default: Sequence[float | Decimal] = ()
) -> Callable[[Command], Command]:
    """A repeatable option of numbers whose occurrences are joined into one tuple."""

    def join(_context: click.Context, _param: click.Parameter, values: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
        return tuple(value for group in values for value in group)

    return click.option(
        name,
        type=NumberList(kind),
        multiple=True,
        callback=join,
        help=f"{help_text}  [default: {', '.join(map(str, default))}]" if default else help_text,
        default=[tuple(default)] if default else None,
    )


def features_input(command: Command) -> Command:
    """Pass ``features``: a table named by the argument FEATURES (- for standard input), or --lambda, --rho and --sigma."""

    @click.argument("features", required=False, metavar="[FEATURES]", type=click.Path(allow_dash=True))
    @several("--lambda", float, "Covariance of each feature between the views.")
    @several("--rho", float, "Regression coefficient, lambda / sigma^2.")
    @several("--sigma", float, "Standard deviation of each feature.")
    @wraps(command)
    def wrapped(features: str | None, **options: Any) -> None:
        lam, rho, sigma = (options.pop(name) for name in ("lambda", "rho", "sigma"))
        command(features=_features(features, lam, rho, sigma), **options)

    return wrapped


def _features(source: str | None, lam: Sequence[float], rho: Sequence[float], sigma: Sequence[float]) -> Features:
    if source is None and not (lam or rho or sigma):
        raise click.UsageError("Give a table of features (- for standard input), or two of --lambda, --rho and --sigma.")
    if source is not None and (lam or rho or sigma):
        raise click.UsageError("Give either a FEATURES table or --lambda, --rho and --sigma, not both.")
    if source is None and sum(map(bool, (lam, rho, sigma))) < 2:
        raise click.UsageError("Two of --lambda, --rho and --sigma are needed.")
    if source is None:
        from dynamics.features import Features

        return Features(lam=lam or None, rho=rho or None, sigma=sigma or None)
    from dynamics.feature_table import read_features

    return read_features(sys.stdin.buffer if source == "-" else source)


def method_option(command: Command) -> Command:
    """Pass ``method``."""
    option = click.option(
        "--method",
        type=click.Choice(["exact", "scipy"]),
        default="exact",
        show_default=True,
        help="The closed form, or the mode equation integrated by SciPy; the latter adds its relative difference.",
    )
    return option(command)


def views_options(command: Command) -> Command:
    """Pass ``how``: what makes paired views of files, for `dynamics.sources.read_views`."""

    @click.option(
        "--mask", type=float, metavar="Q", help="Make the views from one file: each entry of x is kept with probability Q."
    )
    @click.option(
        "--target",
        type=click.Choice(["full", "independent", "complementary"]),
        help="With --mask: y is the whole row, another mask of it, or what x hides.  [default: full]",
    )
    @click.option("--lag", type=int, metavar="K", help="Make the views from one file: y is K rows after x.")
    @click.option("--columns", metavar="A,B,...", help="Columns of a table to use; by default all.")
    @click.option("--standardise", is_flag=True, help="Divide each column by its standard deviation in x.")
    @wraps(command)
    def wrapped(
        mask: float | None, target: str | None, lag: int | None, columns: str | None, standardise: bool, **options: Any
    ) -> None:
        how = {"mask": mask, "target": target, "lag": lag, "columns": columns, "standardise": standardise}
        command(how=how, **options)

    return wrapped


def source_input(command: Command) -> Command:
    """Pass ``source``: features, from a table or from --lambda, --rho and --sigma, or data as for `features`."""

    @click.argument("source", required=False, metavar="[SOURCE]", type=click.Path(allow_dash=True))
    @click.argument("y", required=False, metavar="[Y]")
    @several("--lambda", float, "Covariance of each feature between the views.")
    @several("--rho", float, "Regression coefficient, lambda / sigma^2.")
    @several("--sigma", float, "Standard deviation of each feature.")
    @views_options
    @wraps(command)
    def wrapped(source: str | None, y: str | None, how: dict[str, Any], **options: Any) -> None:
        lam, rho, sigma = (options.pop(name) for name in ("lambda", "rho", "sigma"))
        refuse_overwriting(options["path"], source, y)
        if y is None and how["mask"] is None and how["lag"] is None:
            _refuse_data_options(source, how)
            command(source=_features(source, lam, rho, sigma), **options)
            return
        if source is None or lam or rho or sigma:
            raise click.UsageError(
                "--mask, --lag and a file Y go with a file SOURCE of data, without --lambda, --rho and --sigma."
            )
        command(source=_data(source, y, how), **options)

    return wrapped


def refuse_overwriting(path: str | None, *sources: str | None) -> None:
    """Refuse to write over a file that is read."""
    for source in sources:
        if path and source and os.path.realpath(source) == os.path.realpath(path):
            raise click.UsageError(f"--output {path} would replace what is read; name another file.")


def _refuse_data_options(source: str | None, how: dict[str, Any]) -> None:
    if source is not None and source.lower().endswith(DATA_ENDINGS):
        raise click.UsageError(f"{source} is data, not a table of features: add --mask, --lag or a second file Y.")
    for name, value in how.items():
        if value:
            raise click.UsageError(f"--{name} goes with data: add a second file Y, --mask or --lag.")


def _data(source: str, y: str | None, how: dict[str, Any]) -> Data:
    from dynamics.feature_basis import diagonalise
    from dynamics.network.population import Data
    from dynamics.sources import read_views
    from dynamics.views import second_moments

    views = read_views(source, y, **how)
    return Data(views, diagonalise(second_moments(views)))


def regime_options(command: Command) -> Command:
    """Pass ``regime``: what departs from plain training."""

    @click.option(
        "--predictor-start", type=float, metavar="V", help="Amplitude of a predictor layer at the start (unbalanced)."
    )
    @click.option(
        "--predictor-rate",
        type=float,
        default=1.0,
        show_default=True,
        metavar="K",
        help="Learning rate of the predictor over the encoder's.",
    )
    @click.option(
        "--teacher-rate",
        type=float,
        metavar="BETA",
        help="Rate at which an EMA teacher follows the encoder, per unit of training time: (1 - EMA) / learning rate.",
    )
    @click.option(
        "--weight-decay",
        type=float,
        default=0.0,
        metavar="ETA",
        help="Rate at which every layer decays, per unit of training time: weight_decay of plain SGD.",
    )
    @wraps(command)
    def wrapped(
        predictor_start: float | None, predictor_rate: float, teacher_rate: float | None, weight_decay: float, **options: Any
    ) -> None:
        from dynamics.regime import Regime

        command(regime=Regime(predictor_start, predictor_rate, teacher_rate, weight_decay), **options)

    return wrapped


def grid_options(command: Command) -> Command:
    """Pass ``grid``: every combination of objectives, depths, starts and fractions."""

    @click.option(
        "--objective",
        multiple=True,
        type=click.Choice(["jepa", "mae"]),
        default=["jepa", "mae"],
        help="Objective; repeatable.  [default: both]",
    )
    @several("--depth", int, "Layers L of the encoder.", [2])
    @several("--predictor-depth", int, "Layers M of the predictor or decoder.", [1])
    @several("--epsilon", float, "Amplitude of the encoder product at the start.", [0.01])
    @several("--fraction", float, "Fraction p of the feature's own asymptote that counts as learned.", [0.5])
    @wraps(command)
    def wrapped(
        objective: tuple[str, ...],
        depth: tuple[int, ...],
        predictor_depth: tuple[int, ...],
        epsilon: tuple[float, ...],
        fraction: tuple[float, ...],
        **options: Any,
    ) -> None:
        from dynamics.grid import Grid

        axes = _distinct(objective), _distinct(depth), _distinct(predictor_depth), _distinct(epsilon), _distinct(fraction)
        command(grid=Grid(*axes), **options)

    return wrapped


def _distinct(values: tuple[Value, ...]) -> tuple[Value, ...]:
    return tuple(dict.fromkeys(values))


def time_option(command: Command) -> Command:
    """Pass ``time``, the convention that times are given in."""
    return click.option(
        "--time",
        type=click.Choice(["training", "paper"]),
        default="training",
        show_default=True,
        help="Unit of time: training (unit learning rate per layer) or paper (the depth times that).",
    )(command)


def output_options(command: Command) -> Command:
    """Pass ``output``, which writes a table in the chosen format to the chosen place."""

    @click.option(
        "--format",
        "table_format",
        type=click.Choice(["table", "csv", "tsv", "json", "jsonl", "parquet"]),
        help="Output format; by default what the ending of --output says, else table (rounded for reading).",
    )
    @click.option(
        "--output", "path", type=click.Path(allow_dash=True), help="File to write; it is replaced whole or not at all."
    )
    @wraps(command)
    def wrapped(table_format: str | None, path: str | None, **options: Any) -> None:
        command(output=Output(table_format, None if path == "-" else path), **options)

    return wrapped


def document_options(*formats: str) -> Callable[[Command], Command]:
    """Pass ``document``, which writes a text in one of these formats, the first by default, to the chosen place."""

    def decorate(command: Command) -> Command:
        @click.option(
            "--format",
            "text_format",
            type=click.Choice(formats),
            help=f"Output format; by default what the ending of --output says, else {formats[0]}.",
        )
        @click.option(
            "--output", "path", type=click.Path(allow_dash=True), help="File to write; it is replaced whole or not at all."
        )
        @wraps(command)
        def wrapped(text_format: str | None, path: str | None, **options: Any) -> None:
            document = Document(formats, text_format, None if path == "-" else path)
            document.check()
            command(document=document, **options)

        return wrapped

    return decorate
