"""Standalone LaTeX documents that compile without further files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from derivations.formulas import tex

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
\begin{document}"""


def escaped(text: str) -> str:
    """Text without special characters."""
    return "".join(_SPECIAL.get(character, character) for character in text)


def prose(template: str, formulas: Mapping[str, Any]) -> str:
    """A sentence with formulas in braces, the formulas in mathematics and the rest as text."""
    parts = re.split(r"\{(\w+)\}", template)
    return "".join(f"${tex(formulas[part])}$" if place % 2 else escaped(part) for place, part in enumerate(parts))


def document(body: Sequence[str]) -> str:
    """The body in a document of its own."""
    return "\n".join([HEAD, *body, r"\end{document}"]) + "\n"
