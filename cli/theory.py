"""The symbolic commands: derive and verify."""

from __future__ import annotations

import sys
from decimal import Decimal

import click

from cli.commands import main, refuse_unused
from cli.options import document_options, several
from cli.progress import progress
from cli.rendering import Document, note, terminal_width, wrapped


def _complete_statement(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from derivations.verification import selected

    return [statement.name for statement in selected() if statement.name.startswith(incomplete)]


def _complete_objective(_context: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from derivations.derivation import objectives

    return [name for name in objectives() if name.startswith(incomplete)]


@main.command(short_help="The derivation from the loss to the critical time.")
@click.argument("objective", required=False, metavar="[OBJECTIVE]", shell_complete=_complete_objective)
@click.option("--loss", metavar="EXPRESSION", help="Your own loss of one feature instead of an OBJECTIVE.")
@click.option(
    "--depth", type=int, help="Layers L of the encoder (all layers, for supervised); without it the symbol L, any depth."
)
@click.option(
    "--predictor-depth",
    type=int,
    help="Layers M of the predictor or decoder; without it the symbol M, any depth, but 1 with --lambda.",
)
@several("--lambda", Decimal, "Covariance of each feature: adds its critical time in numbers; goes with --rho and --depth.")
@several("--rho", Decimal, "Regression coefficient of each feature; pairs up with --lambda in order, a single one serves all.")
@several(
    "--epsilon", Decimal, "With --lambda: start of the encoder product; each is combined with each feature.", [Decimal("0.01")]
)
@several(
    "--fraction",
    Decimal,
    "With --lambda: share of the asymptote; each is combined with each feature and start.",
    [Decimal("0.5")],
)
@click.option("--digits", type=int, default=30, show_default=True, help="With --lambda: certified digits of the time.")
@document_options("text", "latex", "json")
def derive(
    document: Document,
    objective: str | None,
    loss: str | None,
    depth: int | None,
    predictor_depth: int | None,
    epsilon: tuple[Decimal, ...],
    fraction: tuple[Decimal, ...],
    digits: int,
    **feature: tuple[Decimal, ...],
) -> None:
    """From the loss to the critical time, in numbered lines that are checked while they are written.

    OBJECTIVE is jepa, mae or supervised. A loss of your own is an expression in u (amplitude of each encoder layer), v (of each
    predictor layer), L, M, lam, sigma, rho, numbers, + - * / ** and sg(...) around what is frozen while the loss is
    differentiated.

    \b
    lindyn derive jepa --depth 2 --predictor-depth 1
    lindyn derive mae --format latex --output mae.tex
    lindyn derive --loss "sigma**2*(v*u**L)**2/2 - lam*v*u**L*sg(u**L)" --depth 3 --predictor-depth 1 --lambda 1 --rho 0.5
    """
    from derivations.exposition import as_json, as_latex, as_text
    from derivations.numbers import answers, derivation_of, settings

    lam, rho = feature["lambda"], feature["rho"]
    _check_question(objective, loss, depth, numbers=(bool(lam), bool(rho)))
    if lam and predictor_depth is None:
        predictor_depth = 1
    points = settings(lam, rho, epsilon, fraction)
    derivation = derivation_of(objective, loss, depth, predictor_depth)
    found = answers(derivation, points, digits)
    document.write(
        text=lambda: as_text(derivation, found, terminal_width(120)),
        latex=lambda: as_latex(derivation, found),
        json=lambda: as_json(derivation, found),
    )


def _check_question(objective: str | None, loss: str | None, depth: int | None, *, numbers: tuple[bool, bool]) -> None:
    """Refuse a question to derive that is none, or two, or asks for numbers without what they need."""
    if (objective is None) == (loss is None):
        raise click.UsageError("Give either an OBJECTIVE (jepa, mae, supervised) or --loss EXPRESSION.")
    if numbers[0] != numbers[1]:
        raise click.UsageError("--lambda and --rho go together.")
    if not any(numbers):
        refuse_unused("derive without --lambda and --rho", "epsilon", "fraction", "digits")
    elif depth is None:
        raise click.UsageError("--depth is needed for numbers: add --depth.")


@main.command(short_help="Proves the statements of the theory.")
@click.argument("statements", nargs=-1, metavar="[STATEMENT]...", shell_complete=_complete_statement)
@click.option("--list", "listed", is_flag=True, help="Show the statements instead of proving them.")
@click.option("--mutants", is_flag=True, help="Also run the false variants of each statement, which its proof must reject.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes to run; by default one a core.")
@document_options("table", "markdown", "latex", "json")
def verify(document: Document, statements: tuple[str, ...], listed: bool, mutants: bool, workers: int | None) -> None:
    """Prove the statements of the theory: all, or each STATEMENT named (patterns such as 'jepa-*' too).

    Every step of a proof is reduced symbolically and, apart from that, evaluated at random points in ball arithmetic. The exit
    code is 1 if a statement is not proved or a mutant survives.

    \b
    lindyn verify
    lindyn verify 'jepa-*' --mutants
    lindyn verify --mutants --output report.md
    """
    from derivations import report
    from derivations.verification import count_tasks, selected
    from derivations.verification import verify as run
    from dynamics.workers import WorkerError

    chosen = selected(statements)
    if listed:
        refuse_unused("--list", "mutants", "workers")
        document.write(**report.listed(chosen, wrapped))
        return
    try:
        with progress(count_tasks(chosen, mutants=mutants), "Proving") as done:
            results = run(chosen, mutants=mutants, workers=workers, done=lambda verdict: done(verdict.statement))
    except WorkerError as error:
        raise click.ClickException(str(error)) from None
    document.write(**report.written(results, chosen, wrapped))
    for line in (*report.failures(results), report.summary(results)):
        note(line)
    if not all(result.holds for result in results):
        sys.exit(1)
