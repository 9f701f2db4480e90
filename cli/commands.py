"""The commands."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from cli.options import (
    features_input,
    grid_options,
    method_option,
    output_options,
    regime_options,
    several,
    time_option,
    views_options,
)
from cli.rendering import Output, note

if TYPE_CHECKING:
    from dynamics.regime import Regime
    from dynamics.table import Table

TRAINING_TIME = "Times are gradient-flow times at unit learning rate per layer."
PAPER_TIME = "Times are depth times the gradient-flow time at unit learning rate per layer."

OPTION_NAMES = {"keep": "mask", "replicates": "bootstrap", "time": "times"}
"""Options that are not called like the library's parameter."""


class Lindyn(click.Group):
    """A group whose commands turn what the library refuses into one sentence and exit code 2."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the whole program; a standard output that cannot be written ends it with one sentence and exit code 1."""
        if sys.stderr is None:  # closed: remarks and errors must not go to standard output instead
            sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
        try:
            return super().main(*args, **kwargs)
        except OSError as error:
            click.echo(f"Error: Standard output cannot be written: {error.strerror}.", err=True)
            # The interpreter would fail on the same stream once more at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            error.ctx = None  # one sentence, without the usage lines before it
            raise
        except ValueError as error:
            from dynamics.errors import LindynError, ParameterError

            if not isinstance(error, LindynError):
                raise
            text = str(error)
            if isinstance(error, ParameterError):
                command = self.commands.get(ctx.invoked_subcommand or "")
                options = {flag for parameter in command.params for flag in parameter.opts} if command else set()
                names = (OPTION_NAMES.get(error.name, error.name), error.name)
                written = ["--" + name.replace("_", "-") for name in names]
                text = error.sentence(next((option for option in written if option in options), error.name))
            raise click.UsageError(text) from None


@click.group(cls=Lindyn, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lindyn", message="lindyn %(version)s")
def main() -> None:
    """When deep linear self-supervised networks learn which feature, exactly.

    A feature is (lambda, rho, sigma): covariance between the two views, regression coefficient lambda / sigma^2, and standard
    deviation. JEPA predicts the encoding of the other view, MAE the view itself.

    \b
    lindyn critical-time --lambda 1 --rho 0.5
    lindyn features DATA.npy --mask 0.5 --output features.csv
    lindyn order features.csv
    """


@main.command("critical-time", short_help="When each feature is learned, exactly.")
@features_input
@grid_options
@method_option
@click.option("--learning-rate", type=float, help="Adds steps: gradient-descent steps to first order in the learning rate.")
@click.option("--digits", type=int, help="Adds certified lower and upper bounds that share at least this many digits.")
@click.option("--elasticities", "sensitivities", is_flag=True, help="Adds d ln t / d ln of lambda, rho, epsilon and fraction.")
@click.option("--expansion", "small_start", is_flag=True, help="Adds the dominant term and the expansion for a small start.")
@regime_options
@time_option
@output_options
def critical_time(output: Output, time: str, digits: int | None, regime: Regime, **question: Any) -> None:
    """When each feature is learned, exactly.

    Give a table FEATURES (CSV, TSV, JSON, JSON lines or Parquet; - for standard input) with two of the columns lambda, rho and
    sigma and optionally name, or --lambda, --rho and --sigma. Repeated values pair up in order, a single one serves all. All
    combinations of the repeatable settings are computed. A teacher, weight decay or a predictor of its own start or rate has no
    closed form; then SciPy integrates the mode equations.

    \b
    lindyn critical-time --lambda 1,0.8 --rho 0.5,1.2 --depth 1,2,3
    lindyn critical-time features.csv --objective jepa --digits 50
    lindyn critical-time features.csv --objective jepa --teacher-rate 0.01
    """
    from dynamics.reports.conditions import regime_remarks
    from dynamics.reports.critical_time import critical_time_table

    if not regime.plain:
        refuse_unused("a regime without a closed form", "digits", "sensitivities", "small_start")
        if question["method"] == "exact":
            refuse_unused("a regime without a closed form", "method", remedy="leave it out or ask for scipy")
    answer(output, critical_time_table(time=time, digits=digits, regime=regime, **question), time)
    for line in regime_remarks(regime, [setting.objective for setting in question["grid"].settings()]):
        note(line)
    if digits is not None:
        note("Certified for the double nearest to each number given, as printed by --format csv.")


@main.command(short_help="The exact curve of each feature.")
@features_input
@grid_options
@several("--times", float, "Times at which to give the curve; by default --points spread where it moves.")
@method_option
@click.option("--from-critical", is_flag=True, help="Count --times from each feature's critical time; they may be negative.")
@click.option("--points", type=click.IntRange(2, 1_000_000), help="Points a curve where no --times are given.  [default: 50]")
@time_option
@output_options
def trajectory(
    output: Output, times: tuple[float, ...], from_critical: bool, points: int | None, time: str, **question: Any
) -> None:
    """The exact amplitude of each feature against time, as a long table.

    FEATURES is a table as for critical-time. The column time_from_critical resolves the transition even where time itself
    cannot: at JEPA depth 2, epsilon 1e-12, neighbouring doubles are 64 apart in time and the transition lasts about 1.

    \b
    lindyn trajectory --lambda 1 --rho 0.5 --points 20
    lindyn trajectory --lambda 1 --rho 0.5 --times=-1,0,1 --from-critical --epsilon 1e-12
    """
    from dynamics.reports.trajectory import trajectory_table

    if from_critical and not times:
        raise click.UsageError("--from-critical goes with --times.")
    if points and times:
        raise click.UsageError("Give either --times or --points, not both.")
    table = trajectory_table(times=times or None, points=points or 50, from_critical=from_critical, time=time, **question)
    answer(output, table, time)


@main.command(short_help="Who is learned first, and how sure that is.")
@features_input
@grid_options
@click.option("--pair", nargs=2, metavar="A B", help="Give instead the epsilons at which A and B trade places.")
@click.option(
    "--first", type=click.IntRange(min=1), metavar="N", help="Show only the first N features learned at each setting."
)
@click.option("--agreement", is_flag=True, help="Give instead Kendall's tau between the objectives' orders.")
@time_option
@output_options
def order(
    output: Output, pair: tuple[str, str] | None, agreement: bool, first: int | None, time: str, features: Any, grid: Any
) -> None:
    """Who is learned first under each objective, how sure that is, and where two features trade places.

    FEATURES is a table as for critical-time. The column next says how sure it is that the following feature comes later:
    certified (disjoint enclosures), tie, or unresolved. The elasticities say by how many per cent the critical time moves per
    per cent of lambda (rho held), rho (lambda held), epsilon and fraction.

    \b
    lindyn order features.csv --depth 3
    lindyn order --lambda 0.8,1 --rho 1.2,0.6 --depth 3 --pair 1 2
    """
    from dynamics.reports.order import OrderReport, crossing_remarks, crossing_table

    if pair and agreement:
        raise click.UsageError("Give either --pair or --agreement, not both.")
    if pair:
        refuse_unused("--pair", "epsilon", "first", "time")
    if agreement:
        refuse_unused("--agreement", "first", "time")
    if pair:
        crossings = crossing_table(features, grid, *pair)
        output.write(crossings)
        for line in crossing_remarks(features, grid, *pair, crossings):
            note(line)
        return
    report = OrderReport(features, grid)
    if agreement:
        output.write(report.agreement())
        return
    answer(output, report.ranks(time=time, first=first), time)
    for line in report.remarks():
        note(line)


@main.command(short_help="The features of your own data.")
@click.argument("x", metavar="X")
@click.argument("y", metavar="[Y]", required=False)
@views_options
@click.option(
    "--bootstrap", type=int, metavar="B", help="Adds standard errors of lambda, rho and the ranks from B resamplings."
)
@click.option("--seed", type=int, help="With --bootstrap: its seed.  [default: 0]")
@click.option(
    "--block-length",
    type=int,
    help="With --bootstrap: rows drawn together; by default 1, or the cube root of their number with --lag.",
)
@grid_options
@output_options
def features(
    output: Output,
    x: str,
    y: str | None,
    how: dict[str, Any],
    bootstrap: int | None,
    seed: int | None,
    block_length: int | None,
    grid: Any,
) -> None:
    """The features (lambda, rho, sigma) of paired views: your own data.

    X and Y are arrays with one row a sample (.npy, .npz or .npz:KEY, CSV, TSV, Parquet); row i of Y is the other view of row i
    of X. --mask and --lag make both views from X: random masks, averaged over exactly, or consecutive rows of a time series.
    An .npy file may be larger than memory, and so may folders: Zarr arrays (FOLDER.zarr:KEY of a group) and sets of Parquet
    files, in the order of their names. The settings of an objective are used for the ranks of --bootstrap only.

    \b
    lindyn features pixels.npy --mask 0.5 --output features.csv
    lindyn features series.csv --lag 1 --columns wind,temp_max --bootstrap 200
    """
    from dynamics.feature_basis import diagonalise
    from dynamics.reports.features import distances, features_table, features_table_with_errors
    from dynamics.sources import read_views
    from dynamics.views import second_moments

    if bootstrap is None and (seed, block_length) != (None, None):
        raise click.UsageError("--seed and --block-length go with --bootstrap.")
    if bootstrap is None:
        refuse_unused("features without --bootstrap", "objective", "depth", "predictor_depth", "epsilon", "fraction")
    views = read_views(x, y, **how)
    basis = diagonalise(second_moments(views))
    if bootstrap is None:
        table = features_table(basis)
    else:
        table = features_table_with_errors(views, basis, grid, replicates=bootstrap, seed=seed or 0, block_length=block_length)
    output.write(table)
    for line in distances(basis):
        note(line)


@main.command(short_help="BibTeX of lindyn and what it rests on.")
@click.argument("command", required=False, metavar="[COMMAND]")
def cite(command: str | None) -> None:
    """BibTeX of lindyn and of the papers behind a command (all without COMMAND).

    \b
    lindyn cite critical-time
    """
    from cli.citations import bibtex

    known = [name for name in main.commands if name != "cite"]
    if command is not None and command not in known:
        raise click.UsageError(f"There is no command {command}; the commands are {', '.join(known)}.")
    click.echo(bibtex(command))


@main.command(short_help="Completion script for a shell.")
@click.argument("shell", required=False, metavar="SHELL", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str | None) -> None:
    """The script that completes lindyn commands in a SHELL: bash, zsh or fish.

    \b
    bash: eval "$(lindyn completion bash)"
    zsh:  eval "$(lindyn completion zsh)"
    fish: lindyn completion fish | source
    """
    from click.shell_completion import get_completion_class

    if shell is None:
        raise click.UsageError("Name a SHELL: bash, zsh or fish.")
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(main, {}, "lindyn", "_LINDYN_COMPLETE").source())


def refuse_unused(by: str, *names: str, remedy: str = "leave it out") -> None:
    """Refuse options that the user wrote and the answer would not use."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{_option(context.command, name)} is not used by {by}; {remedy}.")


def refuse_others(by: str, *used: str) -> None:
    """Refuse everything that the user wrote except what the answer uses."""
    context = click.get_current_context()
    for parameter in context.command.params:
        given = context.get_parameter_source(str(parameter.name)) is click.core.ParameterSource.COMMANDLINE
        if given and parameter.name not in used:
            written = parameter.opts[0] if isinstance(parameter, click.Option) else parameter.make_metavar(context).strip("[]")
            raise click.UsageError(f"{written} is not used by {by}; leave it out.")


def _option(command: click.Command, name: str) -> str:
    """How a parameter is written on the command line."""
    return next(parameter.opts[0] for parameter in command.params if parameter.name == name)


def answer(output: Output, table: Table, time: str) -> None:
    """Write a table of times, and beside it what its status words mean."""
    from dynamics.status import remarks

    output.write(table, unit_of(time))
    for line in remarks(table.columns["status"]):
        note(line)


def unit_of(time: str) -> str:
    """The sentence that says what times are counted in."""
    return TRAINING_TIME if time == "training" else PAPER_TIME
