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
}
"""Parameters with which a figure takes about a second; none where its own defaults do."""


class Computed(NamedTuple):
    """What a figure computes before it draws, and how it draws that in a style."""

    table: Table
    caption: str
    picture: Callable[[Style], Figure]


@cache
def computed(name: str, full: bool = False) -> Computed:
    """A figure's numbers, by its own defaults where ``full``, else by `QUICK`."""
    module = import_module(f"figures.{name.replace('-', '_')}")
    place = "_picture" if hasattr(module, "_picture") else "picture"
    draw, given = getattr(module, place), []

    def keep(style: Style, *what: Any) -> Figure:
        given.append(what)
        return Figure()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, place, keep)
        found = entry_of(name).draw(STYLES["neurips"], **({} if full else QUICK[name]))
    (what,) = given
    return Computed(found.table, found.caption, lambda style: draw(style, *what))


def quick(name: str, style: str = "neurips", *, full: bool = False) -> Figure:
    """A fresh picture of a figure, from numbers that were computed once."""
    return computed(name, full).picture(STYLES[style])
