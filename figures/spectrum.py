"""Self-supervised objectives as points (a, b) of one family."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.checks import check_epsilon, whole_number
from dynamics.table import Table
from figures.drawing import Drawing
from figures.plotting import groups, legend_below
from figures.style import COLOURS, MARKERS, NAMES, NEUTRAL, Style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACES: dict[str, Callable[[float], dict[str, Any]]] = {
    "jepa": lambda gap: {"xytext": (0.0, gap), "ha": "center", "va": "bottom"},
    "mae": lambda gap: {"xytext": (-1.6 * gap, 0.3 * gap), "ha": "right", "va": "center"},
}
"""Where the orders stand beside a point."""


def draw(style: Style, *, max_depth: int = 4, max_predictor_depth: int = 2, epsilon: float = 1e-3) -> Drawing:
    """Objectives as points (a, b), with the order in epsilon at which rho enters the critical time.

    The layer amplitude of a feature grows as lambda u^a (1 - u^b/rho). Rho enters the growth at the start at relative order
    epsilon^(b/L), and the critical time at relative order epsilon^(min(b, a - 1)/L): with a term of the expansion, or with its
    constant where that comes first. A logarithm of epsilon multiplies it where b = a - 1, and takes its place where a = 1.

    Parameters
    ----------
    max_depth, max_predictor_depth
        Encoder depths L and predictor depths M from 1 to these.
    epsilon
        Start at which the caption gives the size of rho's share.
    """
    check_epsilon(epsilon)
    if not epsilon < 1.0:
        raise dyn.ParameterError("epsilon", epsilon, "below 1")
    depths = range(1, whole_number("max_depth", max_depth, 1, 12) + 1)
    predictors = range(1, whole_number("max_predictor_depth", max_predictor_depth, 1, 12) + 1)
    objectives = [make(depth, layers) for make in (dyn.jepa, dyn.mae) for layers in predictors for depth in depths]
    numbers = {name: np.array([getattr(one, name) for one in objectives]) for name in ("depth", "predictor_depth", "a", "b")}
    numerator = np.minimum(numbers["b"], numbers["a"] - 1)
    order = numerator / numbers["depth"]
    logarithm = np.select([numbers["a"] == 1, numbers["b"] == numbers["a"] - 1], [-1, 1], 0)
    table = Table(
        {"kind": np.full(len(order), "objective"), "objective": np.array([one.name for one in objectives])}
        | numbers
        | {"order": order, "order_of_growth": numbers["b"] / numbers["depth"], "logarithm": logarithm}
        | {"epsilon": np.full(len(order), epsilon), "weight_of_rho": epsilon**order * np.abs(np.log(epsilon)) ** logarithm}
    )
    return Drawing(_picture(style, table), table, _caption(table, depths[-1], predictors[-1], epsilon))


def _caption(table: Table, depth: int, predictor_depth: int, epsilon: float) -> str:
    frame = table.to_dataframe().set_index(["objective", "depth", "predictor_depth"])["weight_of_rho"]
    return (
        "Objectives as points of one family, du/dt = lambda u^a (1 - u^b/rho): one line a predictor depth M = 1 to"
        f" {predictor_depth}, encoder depths L = 1 to {depth} from left to right. At a point: min(b, a - 1)/L (of every L"
        " there): rho enters the critical time at relative order epsilon to this power (times a logarithm where b = a - 1;"
        " 0: one over it). It is M/L for latent prediction (JEPA), and (L + M - 2)/L for reconstruction of the input (MAE)."
        f" At M = 1 and epsilon {epsilon:g} that is {frame['jepa', depth, 1]:.2g} for JEPA and {frame['mae', depth, 1]:.2g}"
        f" for MAE of depth {depth}. A supervised network of N layers is the MAE of L + M = N."
    )


def _picture(style: Style, table: Table) -> Figure:
    from fractions import Fraction

    frame = table.to_dataframe()
    with style.context():
        figure, panels = style.panels(1, 1, aspect=1.0)
        axes = panels[0, 0]
        for (objective, _), line in groups(frame, "objective", "predictor_depth"):
            axes.plot(line["a"], line["b"], linewidth=style.hair, color=COLOURS[objective], marker=MARKERS[objective])
        for (objective, a, b), alike in groups(frame, "objective", "a", "b"):
            orders = ", ".join(str(Fraction(min(b, a - 1), depth)) for depth in sorted(alike["depth"]))
            axes.annotate(orders, (a, b), **PLACES[objective](0.5 * style.size), textcoords="offset points", color=NEUTRAL)
        axes.margins(0.12, 0.12)
        axes.set(xlabel="growth exponent $a$", ylabel="saturation exponent $b$")
        for axis in (axes.xaxis, axes.yaxis):
            axis.get_major_locator().set_params(integer=True)
        entries = [
            (NAMES[name], {"color": COLOURS[name], "marker": MARKERS[name], "linestyle": "none"}) for name in ("jepa", "mae")
        ]
        legend_below(figure, [*entries, ("number: order at which rho enters", {"linestyle": "none"})])
    return figure
