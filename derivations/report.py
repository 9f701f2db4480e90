"""What was proved, for a terminal, a paper, a repository or a program."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from platform import python_version
from typing import Any

from derivations.balls import DIGITS
from derivations.formulas import displayed, inline, tex
from derivations.latex import document, escaped, prose
from derivations.statement import Statement, Verdict
from derivations.verification import Result

COLUMNS = ("statement", "what was proved", "method", "numeric check", "mutants", "seconds", "verdict")


def versions() -> dict[str, str]:
    """The software that a certificate rests on."""
    return {"Python": python_version()} | {name: version(name) for name in ("lindyn", "sympy", "python-flint")}


def summary(results: Sequence[Result]) -> str:
    """How many statements hold and how many mutants were rejected, in a sentence or two."""
    mutants = [mutant for result in results for mutant in result.mutants]
    proved = sum(result.verdict.proved for result in results)
    text = f"{proved} of {len(results)} statements proved."
    if mutants:
        text += f" {sum(not mutant.proved for mutant in mutants)} of {len(mutants)} mutants rejected."
    return text


def failures(results: Sequence[Result]) -> list[str]:
    """One line for each statement that is not proved and each mutant that survives."""
    lines = [
        f"{result.verdict.statement}: not proved. {result.verdict.failure}" for result in results if not result.verdict.proved
    ]
    return lines + [
        f"{mutant.statement}: the mutant '{mutant.mutant}' survives." for result in results for mutant in result.survivors
    ]


def rows(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """The cells of the table, in the order of ``COLUMNS``."""
    return [
        (
            result.verdict.statement,
            result.verdict.claim,
            result.verdict.method,
            _numeric(result.verdict),
            _mutants(result),
            f"{result.seconds:.2f}",
            _verdict(result),
        )
        for result in results
    ]


def _numeric(verdict: Verdict) -> str:
    return "refuted" if verdict.refuted else f"{verdict.points} points"


def _mutants(result: Result) -> str:
    rejected = len(result.mutants) - len(result.survivors)
    return f"{rejected} of {len(result.mutants)} rejected" if result.mutants else "not run"


def _verdict(result: Result) -> str:
    return "proved" if result.verdict.proved else "NOT PROVED"


def _joined(table: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The first two columns in one, which a terminal is wide enough for."""
    return [(f"{name}\n{sentence}", *others) for name, sentence, *others in table]


Renderings = dict[str, Callable[[], str]]
"""A text for each format, made only when it is asked for."""

Drawer = Callable[[Sequence[str], Sequence[Sequence[str]]], str]
"""Draws headings and rows for a terminal."""


def written(results: Sequence[Result], statements: Sequence[Statement], draw: Drawer) -> Renderings:
    """The results as a table, and as certificates with every proof."""
    return {
        "table": lambda: draw(("statement, what was proved", *COLUMNS[2:]), _joined(rows(results))),
        "markdown": lambda: as_markdown(results, statements),
        "latex": lambda: as_latex(results, statements),
        "json": lambda: as_json(results, statements),
    }


def listed(statements: Sequence[Statement], draw: Drawer) -> Renderings:
    """Name, claim, hypotheses and source of each statement, unproved."""
    names = ("statement", "claim", "hypotheses", "source")
    entries = [(each.name, each.sentence(), "; ".join(each.hypotheses), each.source) for each in statements]
    return {
        "table": lambda: draw(("statement, claim", *names[2:]), _joined(entries)),
        "markdown": lambda: "\n".join(_markdown_table(names, entries)) + "\n",
        "latex": lambda: document(
            [
                r"\begin{description}",
                *(rf"\item[{escaped(each.name)}] {prose(each.claim, each.formulas)}" for each in statements),
                r"\end{description}",
            ]
        ),
        "json": lambda: _dumped([dict(zip(names, entry, strict=True)) for entry in entries]),
    }


def _dumped(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _markdown_table(headings: Sequence[str], entries: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)]
    return lines + [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in entry)} |" for entry in entries]


PREAMBLE = (
    "Each step is reduced to an exact identity, sign or limit by SymPy (normal forms, never `integrate` or `dsolve`) and, "
    f"apart from that, evaluated at random rational points in ball arithmetic to {DIGITS} digits. A step that cannot be "
    "reduced counts as a failure. A mutant is a false variant of a claim that the same proof must reject."
)


def as_markdown(results: Sequence[Result], statements: Sequence[Statement]) -> str:
    """A certificate in Markdown: versions, the table, and every proof step by step."""
    lines = ["# Statements verified by lindyn", "", summary(results), "", PREAMBLE, ""]
    lines += [f"- {name} {number}" for name, number in versions().items()]
    lines += ["", *_markdown_table(COLUMNS, rows(results))]
    for result, statement in zip(results, statements, strict=True):
        lines += ["", *_markdown_proof(result, statement)]
    return "\n".join(lines) + "\n"


def _markdown_proof(result: Result, statement: Statement) -> list[str]:
    verdict = result.verdict
    lines = [f"## {statement.name}", "", statement.sentence(latex=True), "", f"Source: {statement.source}."]
    if statement.hypotheses:
        lines.append(f"Hypotheses: {'; '.join(statement.hypotheses)}.")
    lines += ["", *(f"{number}. {text}" for number, text in enumerate(_steps(verdict, lambda formula: f"${tex(formula)}$"), 1))]
    if verdict.failure:
        lines += ["", f"**Not proved.** {verdict.failure}"]
    lines += (
        ["", *(f"- Mutant '{mutant.mutant}': {_mutant_verdict(mutant)}" for mutant in result.mutants)] if result.mutants else []
    )
    return lines


def _steps(verdict: Verdict, show: Callable[[object], str]) -> list[str]:
    return [
        f"{step.sentence} {show(step.formula)}" + (f" ({step.method}, {step.scope})" if step.scope else f" ({step.method})")
        for step in verdict.steps
    ]


def _mutant_verdict(mutant: Verdict) -> str:
    return "**survives**." if mutant.proved else f"rejected. {mutant.failure}"


def as_latex(results: Sequence[Result], statements: Sequence[Statement]) -> str:
    """The same certificate as a standalone LaTeX document."""
    body = [r"\section*{Statements verified by lindyn}", escaped(summary(results)), "", escaped(PREAMBLE), ""]
    body.append(escaped(", ".join(f"{name} {number}" for name, number in versions().items()) + "."))
    for result, statement in zip(results, statements, strict=True):
        body += _latex_proof(result, statement)
    return document(body)


def _latex_proof(result: Result, statement: Statement) -> list[str]:
    verdict = result.verdict
    about = [f"Method: {verdict.method}; {_numeric(verdict)}; {result.seconds:.2f} s.", f"Source: {statement.source}."]
    if statement.hypotheses:
        about.append(f"Hypotheses: {'; '.join(statement.hypotheses)}.")
    if verdict.failure:
        about.append(f"Not proved: {verdict.failure}")
    return [
        rf"\subsection*{{{escaped(statement.name)}: {escaped(_verdict(result))}}}",
        prose(statement.claim, statement.formulas),
        "",
        escaped(" ".join(about)),
        *_latex_list("enumerate", [f"{escaped(step.sentence)} {displayed(step.formula)}" for step in verdict.steps]),
        *_latex_list(
            "itemize",
            [escaped(f"Mutant '{each.mutant}': {'survives' if each.proved else 'rejected'}.") for each in result.mutants],
        ),
    ]


def _latex_list(kind: str, items: Sequence[str]) -> list[str]:
    return [rf"\begin{{{kind}}}", *(rf"\item {item}" for item in items), rf"\end{{{kind}}}"] if items else []


def as_json(results: Sequence[Result], statements: Sequence[Statement]) -> str:
    """Versions, and each statement with its steps and mutants, as JSON."""
    content = {
        "versions": versions(),
        "proved": all(result.holds for result in results),
        "statements": [_entry(result, statement) for result, statement in zip(results, statements, strict=True)],
    }
    return _dumped(content)


def _entry(result: Result, statement: Statement) -> dict[str, Any]:
    verdict = result.verdict
    return {
        "statement": statement.name,
        "claim": verdict.claim,
        "hypotheses": list(statement.hypotheses),
        "source": statement.source,
        "proved": verdict.proved,
        "method": verdict.method,
        "points": verdict.points,
        "seconds": round(result.seconds, 3),
        "failure": verdict.failure,
        "steps": [
            {
                "sentence": step.sentence,
                "formula": inline(step.formula),
                "latex": tex(step.formula),
                "method": step.method,
                "scope": step.scope,
                "holds": finding.holds,
            }
            for step, finding in zip(verdict.steps, verdict.findings, strict=True)
        ],
        "mutants": [
            {
                "mutant": mutant.mutant,
                "claim": mutant.claim,
                "rejected": not mutant.proved,
                "refuted": mutant.refuted,
                "why": mutant.failure,
            }
            for mutant in result.mutants
        ],
    }
