"""A derivation as text for a terminal, as a LaTeX document, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal, localcontext
from textwrap import fill, indent
from typing import Any

from flint import arb
from sympy import Rational

from derivations.derivation import Derivation
from derivations.expression import MOST_DIGITS
from derivations.formulas import drawn, inline, tex
from derivations.latex import displayed, document, escaped, typeset
from derivations.lines import Line
from derivations.numbers import Answer

MARGIN = "    "
NARROWEST = 60
MOST_OF_AMPLITUDE = 15
READING = "Numbers are read as the decimals written; the digits shown are certified."


def as_text(derivation: Derivation, answers: Sequence[Answer] = (), width: int = 120) -> str:
    """Numbered lines, their formulas drawn in Unicode; the numbers of the answers below."""
    width = max(width, NARROWEST)
    blocks = [heading(derivation)]
    blocks += [_block(number, line, width) for number, line in enumerate(derivation.lines, 1)]
    blocks += [fill(_answered(answer), width, subsequent_indent=MARGIN) for answer in answers]
    blocks += [fill(READING, width)] if answers else []
    return "\n\n".join(blocks) + "\n"


def heading(derivation: Derivation) -> str:
    """What is derived, for which depths."""
    given = [
        f"{name} = {count}" for name, count in (("L", derivation.depth), ("M", derivation.predictor_depth)) if count is not None
    ]
    return derivation.title + (f", {', '.join(given)}" if given else "")


def _block(number: int, line: Line, width: int) -> str:
    sentence = fill(f"{number}. {line.title}. {line.sentence}", width, subsequent_indent="   ")
    formulas = [indent(drawn(formula, width - len(MARGIN)), MARGIN) for formula in line.formulas]
    checked = [f"{MARGIN}checked: {_checked(line)}"] if line.checks else []
    return "\n".join([sentence, *(f"\n{formula}" for formula in formulas), *(f"\n{text}" for text in checked)])


def _checked(line: Line) -> str:
    methods = ", ".join(dict.fromkeys(step.method for step in line.checks))
    return f"{len(line.checks)} step{'s' if len(line.checks) > 1 else ''}, {methods}, and at random points"


def _answered(answer: Answer) -> str:
    """An answer as a sentence."""
    told = numbers(answer)
    given = ", ".join(f"{name} {told[name]}" for name in ("lambda", "rho", "epsilon", "fraction"))
    time, asymptote, status = told["critical_time"], told["asymptote"], told["status"]
    sentence = f"At {given}: critical time {time} (training time), asymptote {asymptote}, {status}."
    if status != "reached":
        sentence += f" {told['message']}"
    points = ", ".join(f"{point['amplitude']} ({point['stability']})" for point in told["fixed_points"])
    return f"{sentence} Positive fixed points of w: {points}." if points else sentence


def numbers(answer: Answer) -> dict[str, Any]:
    """An answer as strings: as many certified digits of the time as were asked for, up to 15 of the asymptote."""
    setting, found = answer.setting, answer.found
    few = min(answer.digits, MOST_OF_AMPLITUDE)
    given = {"lambda": setting.lam, "rho": setting.rho, "epsilon": setting.epsilon, "fraction": setting.fraction}
    return {name: _decimal(value) for name, value in given.items()} | {
        "asymptote": _digits(found.asymptote, few),
        "critical_time": _digits(found.time, answer.digits),
        "status": found.status,
        "message": found.sentence,
        "fixed_points": [
            {"amplitude": _digits(point.product(setting.depth), few), "stability": point.stability}
            for point in answer.fixed_points
        ],
    }


def _digits(ball: arb, digits: int) -> str:
    return "inf" if not ball.is_finite() else str(ball.str(digits, radius=False))


def _decimal(value: Rational) -> str:
    """The decimal as it was written, up to the way of writing it."""
    short = repr(float(value))
    if short != "inf" and Rational(short) == value:
        return short
    with localcontext(prec=MOST_DIGITS):
        return str(Decimal(int(value.p)) / Decimal(int(value.q)))


def as_latex(derivation: Derivation, answers: Sequence[Answer] = ()) -> str:
    """A standalone LaTeX document."""
    body = [rf"\section*{{{escaped(heading(derivation))}}}", r"\begin{enumerate}"]
    for line in derivation.lines:
        body.append(rf"\item \textbf{{{escaped(line.title)}.}} {typeset(line.sentence)}")
        body += [displayed(formula) for formula in line.formulas]
    told = [*map(_answered, answers), READING] if answers else []
    return document([*body, r"\end{enumerate}", *(typeset(sentence) + r"\par" for sentence in told)])


def as_json(derivation: Derivation, answers: Sequence[Answer] = ()) -> str:
    """The lines with their formulas in one line of Unicode and in LaTeX; a and b if the mode is of the family."""
    member = derivation.member
    content = {
        "title": derivation.title,
        "depth": derivation.depth,
        "predictor_depth": derivation.predictor_depth,
        "family": None
        if member is None
        else {
            "a": inline(member.a),
            "b": inline(member.b),
            "growth": inline(member.growth),
            "capacity": inline(member.capacity),
        },
        "lines": [
            {
                "number": number,
                "title": line.title,
                "sentence": line.sentence,
                "formulas": [{"text": inline(formula), "latex": tex(formula)} for formula in line.formulas],
                "checks": [{"sentence": step.sentence, "method": step.method} for step in line.checks],
            }
            for number, line in enumerate(derivation.lines, 1)
        ],
        "time_convention": "training",
        "reading": READING,
        "numbers": [numbers(answer) for answer in answers],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
