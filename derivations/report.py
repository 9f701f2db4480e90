"""What was proved, for a terminal, a paper, a repository or a program."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from platform import python_version
from typing import Any

from derivations.balls import DIGITS
from derivations.formulas import inline, tex
from derivations.latex import document, escaped, fitted, prose, typeset
from derivations.proof import Step
from derivations.statement import Statement, Verdict
from derivations.verification import Result

COLUMNS = ("statement", "what was proved", "verdict", "method", "numeric check", "mutants", "seconds")

CONVENTIONS = "All symbols are positive unless a hypothesis says otherwise; L, M and other counts are whole numbers from 1 on."


def versions() -> dict[str, str]:
    """The software that a certificate rests on."""
    return {"Python": python_version()} | {name: version(name) for name in ("lindyn", "sympy", "python-flint")}


def summary(results: Sequence[Result]) -> str:
    """How many statements hold and how many mutants were rejected, in a sentence or two."""
    mutants = [mutant for result in results for mutant in result.mutants]
    proved = sum(result.verdict.proved for result in results)
    text = f"{proved} of {len(results)} statements proved."
    if mutants:
        text += f" {sum(mutant.rejected for mutant in mutants)} of {len(mutants)} mutants rejected."
    return text


def failures(results: Sequence[Result]) -> list[str]:
    """One line for each statement that is not proved and each mutant that is not rejected."""
    lines = [
        f"{result.verdict.statement}: not proved. {result.verdict.failure}" for result in results if not result.verdict.proved
    ]
    return lines + [
        f"{mutant.statement}: the mutant '{mutant.mutant}' is {_fate(mutant)}. {mutant.failure}".rstrip()
        if not mutant.proved
        else f"{mutant.statement}: the mutant '{mutant.mutant}' survives."
        for result in results
        for mutant in result.mutants
        if not mutant.rejected
    ]


def rows(results: Sequence[Result]) -> list[tuple[str, ...]]:
    """The cells of the table, in the order of ``COLUMNS``."""
    return [
        (
            result.verdict.statement,
            result.verdict.claim,
            _verdict(result),
            result.verdict.method,
            _numeric(result.verdict),
            _mutants(result),
            f"{result.seconds:.2f}",
        )
        for result in results
    ]


def _numeric(verdict: Verdict) -> str:
    return "refuted" if verdict.refuted else f"{verdict.points} points"


def _mutants(result: Result) -> str:
    rejected = sum(mutant.rejected for mutant in result.mutants)
    return f"{rejected} of {len(result.mutants)} rejected" if result.mutants else "not run"


def _fate(mutant: Verdict) -> str:
    return "survives" if mutant.proved else "rejected" if mutant.rejected else "not examined"


def _verdict(result: Result) -> str:
    return "proved" if result.verdict.proved else "NOT PROVED"


def _joined(table: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """The first two columns in one, which a terminal is wide enough for."""
    return [(f"{name}\n{sentence}", *others) for name, sentence, *others in table]


Renderings = dict[str, Callable[[], str]]
"""A text for each format, made only when it is asked for."""

Drawer = Callable[[Sequence[str], Sequence[Sequence[str]], str], str]
"""Draws headings, rows and a caption for a terminal."""


def written(results: Sequence[Result], statements: Sequence[Statement], draw: Drawer) -> Renderings:
    """The results as a table, and as certificates with every proof."""
    return {
        "table": lambda: draw(("statement, what was proved", *COLUMNS[2:]), _joined(rows(results)), ""),
        "markdown": lambda: as_markdown(results, statements),
        "latex": lambda: as_latex(results, statements),
        "json": lambda: as_json(results, statements),
    }


def listed(statements: Sequence[Statement], draw: Drawer) -> Renderings:
    """Name, claim, hypotheses and source of each statement, unproved."""
    names = ("statement", "claim", "hypotheses", "source")
    entries = [(each.name, each.sentence(), "; ".join(each.hypotheses), each.source) for each in statements]
    return {
        "table": lambda: draw(("statement, claim", *names[2:]), _joined(entries), CONVENTIONS),
        "markdown": lambda: "\n".join([*_markdown_table(names, entries), "", CONVENTIONS]) + "\n",
        "latex": lambda: document(
            [
                r"\begin{description}",
                *(rf"\item[{escaped(each.name)}] {prose(each.claim, each.formulas)}" for each in statements),
                r"\end{description}",
                CONVENTIONS,
            ]
        ),
        "json": lambda: _dumped(
            {"conventions": CONVENTIONS, "statements": [dict(zip(names, entry, strict=True)) for entry in entries]}
        ),
    }


def _dumped(content: object) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _markdown_table(headings: Sequence[str], entries: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)]
    return lines + [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in entry)} |" for entry in entries]


PREAMBLE = (
    "Each step names its method. A step that is exact or a limit is reduced by SymPy to an exact identity, sign or limit "
    "(normal forms, never `integrate` or `dsolve`), where a range of depths or sizes is named for those only; apart from that, "
    f"it is evaluated at random rational points: identities to {DIGITS} digits and signs in ball arithmetic, matrices exactly, "
    "limits by how the distance shrinks. A step that is certified is about given numbers, and its sign is proved by rigorous "
    "ball arithmetic alone. A step by ball quadrature proves nothing by itself: it compares a rigorously enclosed integral at "
    "random points with the closed form that the other steps prove. A step that is not decided counts as a failure. A mutant "
    "is a false variant of a claim that the same proof must reject."
)


def as_markdown(results: Sequence[Result], statements: Sequence[Statement]) -> str:
    """A certificate in Markdown: versions, the table, and every proof step by step."""
    lines = ["# Statements verified by lindyn", "", summary(results), "", PREAMBLE, "", CONVENTIONS, ""]
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
    return [f"{step.sentence} {show(step.formula)} ({_way(step)})" for step in verdict.steps]


def _way(step: Step) -> str:
    return f"{step.method}, {step.scope}" if step.scope else step.method


def _mutant_verdict(mutant: Verdict) -> str:
    return f"{_fate(mutant)}. {mutant.failure}" if mutant.rejected else f"**{_fate(mutant)}**. {mutant.failure}".rstrip()


def as_latex(results: Sequence[Result], statements: Sequence[Statement]) -> str:
    """The same certificate as a standalone LaTeX document."""
    body = [r"\section*{Statements verified by lindyn}", escaped(summary(results)), ""]
    body += [typeset(PREAMBLE), "", CONVENTIONS, ""]
    body.append(escaped(", ".join(f"{name} {number}" for name, number in versions().items()) + "."))
    for result, statement in zip(results, statements, strict=True):
        body += _latex_proof(result, statement)
    return document(body)


def _latex_proof(result: Result, statement: Statement) -> list[str]:
    verdict = result.verdict
    about = [escaped(f"Method: {verdict.method}; {_numeric(verdict)}; {result.seconds:.2f} s. Source: {statement.source}.")]
    if statement.hypotheses:
        about.append(f"Hypotheses: {'; '.join(map(typeset, statement.hypotheses))}.")
    if verdict.failure:
        about.append(typeset(f"Not proved: {verdict.failure}"))
    steps = [f"{typeset(step.sentence)} ({escaped(_way(step))}) {fitted(tex(step.formula))}" for step in verdict.steps]
    return [
        rf"\subsection*{{{escaped(statement.name)}: {escaped(_verdict(result))}}}",
        prose(statement.claim, statement.formulas),
        "",
        *(f"{line}\n" for line in about),
        *_latex_list("enumerate", steps),
        *_latex_list("itemize", [escaped(f"Mutant '{each.mutant}': {_fate(each)}.") for each in result.mutants]),
    ]


def _latex_list(kind: str, items: Sequence[str]) -> list[str]:
    return [rf"\begin{{{kind}}}", *(rf"\item {item}" for item in items), rf"\end{{{kind}}}"] if items else []


def as_json(results: Sequence[Result], statements: Sequence[Statement]) -> str:
    """Versions, and each statement with its steps and mutants, as JSON."""
    content = {
        "versions": versions(),
        "conventions": CONVENTIONS,
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
                "rejected": mutant.rejected,
                "refuted": mutant.refuted,
                "why": mutant.failure,
            }
            for mutant in result.mutants
        ],
    }
