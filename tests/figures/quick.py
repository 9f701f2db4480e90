"""Figures drawn from little: each computed once with few points and short runs, then laid out in any style."""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import pytest
from matplotlib.figure import Figure

from dynamics.table import Table
from figures import STYLES, Style, entry_of

QUICK: dict[str, dict[str, Any]] = {
    "greedy": {},
    "depth": {},
    "expansion-error": {},
    "map": {},
    "crossover": {},
    "network": {"depth": 2, "epsilon": 0.1},
    "initialisation": {"seeds": 1, "epsilon": 0.1},
    "teacher": {"points": 3, "networks": 1, "depth": 2, "epsilon": 0.1, "slowest": 0.1, "fastest": 1.0},
    "predictor-depth": {},
    "collapse": {"points": 5, "networks": 1},
    "masking": {"count": 4, "images": 500},
    "temporal": {"steps": 2000},
    "spectrum": {},
    "digits": {"count": 2, "depth": 2, "epsilon": 0.2},
    "steps": {"learning_rate": (0.03, 0.1), "epsilon": 0.05},
    "staircase": {"beta": (1.0, 0.1), "points": 120, "width": 8},
    "redundancy": {"points": 5, "width": (4, 8)},
    "projector": {"width": (4, 8), "steps": 50},
    "views": {"replicates": 200},
    "three-orders": {},
    "phases": {"patches": 36, "global_size": (20, 8), "local_size": 4, "steps": 60, "batch": 8},
    "exponents": {"points": 2, "largest": 1e6},
    "collapse-map": {"points": 3, "network_global": (8, 24), "steps": 20, "batch": 8},
    "attention-maps": {"patches": 16, "global_size": (8, 4), "steps": 40, "batch": 8},
    "gap-sign": {"points": 8},
}
"""Parameters with which a figure takes about a second; none where its own defaults do."""


class Computed(NamedTuple):
    """What a figure computes before it draws, and how it draws that in a style."""

    table: Table
    caption: str
    picture: Callable[[Style, Table | None], Figure]


@cache
def computed(name: str) -> Computed:
    """A figure's numbers, once."""
    module = import_module(f"figures.{name.replace('-', '_')}")
    place = "_picture" if hasattr(module, "_picture") else "picture"
    draw, given = getattr(module, place), []

    def keep(style: Style, *what: Any) -> Figure:
        given.append(what)
        return Figure()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, place, keep)
        found = entry_of(name).draw(STYLES["neurips"], **QUICK[name])
    first, *rest = given[0]

    def picture(style: Style, table: Table | None) -> Figure:
        other = table if table is None or isinstance(first, Table) else table.to_dataframe()
        figure: Figure = draw(style, first if other is None else other, *rest)
        return figure

    return Computed(found.table, found.caption, picture)


def quick(name: str, style: str = "neurips", *, table: Table | None = None) -> Figure:
    """A fresh picture of a figure, from numbers that were computed once, or from another table of the kind."""
    return computed(name).picture(STYLES[style], table)
