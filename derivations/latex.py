"""Standalone LaTeX documents that compile without further files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from unicodedata import name

from sympy import Add, Eq, Expr

from derivations.formulas import Series, signed, terms_of, tex

_SPECIAL = {
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_SPECIAL |= {"\\": r"\textbackslash{}", "<": r"$<$", ">": r"$>$", "|": r"$|$"}

HEAD = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage{amsmath,amssymb}
\usepackage[margin=2.5cm]{geometry}
\setlength{\parindent}{0pt}
\allowdisplaybreaks
"""

FITTING = r"""\usepackage{graphicx}
\newsavebox{\measured}
\newcommand{\formula}[2]{\sbox{\measured}{$\displaystyle #1$}%
  \ifdim\wd\measured<0.95\linewidth\[#1\]\else\par{\raggedright #2\par}\fi}
\newcommand{\piece}[1]{\sbox{\measured}{$\displaystyle #1$}%
  \ifdim\wd\measured<\linewidth\usebox{\measured}\else\resizebox{\linewidth}{!}{\usebox{\measured}}\fi}
\AtBeginDocument{\sloppy}
"""
"""A formula is displayed, or where that is too wide, set piece by piece like words; a piece too wide itself is shrunk."""

LONGEST_LINE = 4
"""Terms of a sum on one line."""

_GREEK = {ord(letter): name(letter).split()[-1].lower().replace("lamda", "lambda") for letter in "αβγδεζηθικλμνξπρστυφχψω"}
_NOTATION = re.compile(
    rf"(?<![\w-])(?P<letter>{'|'.join(_GREEK.values())}|[A-Za-z])"
    r"(?:_(?P<index>\w+|\([^()]*\))|(?P<number>(?<=[uvwxyz])(?:[0-9]|\*)))?(?:\^(?P<power>\w+|\([^()]*\)))?(?![\w-])"
    r"|(?P<relation><=|>=)"
)
"""What sentences write for letters, indices, powers and relations."""

TOKEN = re.compile(r"\\(?:left|right)(?![a-zA-Z])\.?|\\[a-zA-Z]+|\\.|.", re.DOTALL)
SIGNS = {"+", "-", "=", "<", ">", r"\leq", r"\geq", r"\neq"}


def fitted(formula: str) -> str:
    """The formula in LaTeX, so that it is displayed no wider than the line."""
    broken = r"\allowbreak ".join(rf"\piece{{{piece}}}" for piece in pieces(formula))
    return rf"\formula{{{formula}}}{{{broken}}}"


def pieces(formula: str) -> list[str]:
    """A formula broken before signs and relations and after commas, outside of braces."""
    if r"\begin" in formula:
        return [formula]
    depth, found = 0, [""]
    for token in TOKEN.findall(formula):
        depth += {"{": 1, "}": -1}.get(token, 0)
        if depth == 0 and token.startswith((r"\left", r"\right")) and token.rstrip(".") in {r"\left", r"\right"}:
            continue  # both of a pair must stand in one piece, plain parentheses need not
        if depth == 0 and token in SIGNS and found[-1].endswith(" ") and found[-1].strip(" +-=<>"):
            found.append("{} ")
        found[-1] += token
        if depth == 0 and token == ",":
            found.append("")
    return [piece for piece in found if piece.strip()]


def displayed(equation: Expr) -> str:
    """A formula on lines of its own, no wider than they are; a long sum goes over several."""
    terms = terms_of(equation.rhs) if isinstance(equation, Eq) and isinstance(equation.rhs, (Add, Series)) else ()
    if len(terms) <= LONGEST_LINE:
        return fitted(tex(equation))
    groups = [terms[place : place + LONGEST_LINE] for place in range(0, len(terms), LONGEST_LINE)]
    lines = [signed([tex(term) for term in group]) for group in groups]
    begun = [lines[0], *(line if line.startswith("-") else f"+ {line}" for line in lines[1:])]
    return "\\begin{align*}\n" + f"{tex(equation.lhs)} ={{}}& " + " \\\\\n& ".join(begun) + "\n\\end{align*}"


def escaped(text: str) -> str:
    """Text without special characters."""
    return "".join(_SPECIAL.get(character, character) for character in text.translate(_GREEK))


def typeset(sentence: str) -> str:
    """A sentence in LaTeX, what it writes of letters, indices, powers and relations as mathematics."""
    sentence = sentence.translate(_GREEK)
    parts, end = [], 0
    for found in _NOTATION.finditer(sentence):
        shown = _mathematics(found)
        if shown:
            parts += [escaped(sentence[end : found.start()]), f"${shown}$"]
            end = found.end()
    return "".join([*parts, escaped(sentence[end:])])


def _mathematics(found: re.Match[str]) -> str:
    """The notation found; empty for a lone Latin letter, which may be a word."""
    if found["relation"]:
        return r"\le" if found["relation"] == "<=" else r"\ge"
    letter, index, power = found["letter"], found["index"] or found["number"], found["power"]
    if len(letter) == 1 and not index and not power:
        return ""
    base = letter if len(letter) == 1 else rf"\{letter}"
    return base + "".join(f"{sign}{{{part.strip('()')}}}" for sign, part in (("_", index), ("^", power)) if part)


def prose(template: str, formulas: Mapping[str, Any]) -> str:
    """A sentence with formulas in braces, the formulas in mathematics and the rest as text."""
    parts = re.split(r"\{(\w+)\}", template)
    return "".join(f"${tex(formulas[part])}$" if place % 2 else typeset(part) for place, part in enumerate(parts))


def document(body: Sequence[str]) -> str:
    """The body in a document of its own."""
    return "\n".join([HEAD + FITTING + r"\begin{document}", *body, r"\end{document}"]) + "\n"
