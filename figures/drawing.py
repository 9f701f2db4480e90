"""A figure with what it was drawn from."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dynamics.table import Table


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture, and the table and the words that belong to it.

    Attributes
    ----------
    figure
        Drawn from the table alone.
    table
        Every number in the picture, one row a point; ``kind`` says what a row is.
    caption
        What is seen, with the numbers of this very picture.
    """

    figure: Figure
    table: Table
    caption: str


TRUSTED = 1e-8
"""Relative error up to which numbers of a run are not told apart."""


def bound(value: float) -> str:
    """One digit that the number does not exceed, and never less than an integrator is trusted to."""
    digit, power = f"{max(value, TRUSTED):.6e}".split("e")
    raised = ceil(float(digit)) * 10.0 ** int(power)
    return f"{raised:.0e}".replace("e-0", "e-") if raised < 1e-3 else f"{raised:.1g}"
