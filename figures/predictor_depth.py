"""What a deeper predictor does to JEPA's preference for rho."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.checks import check_positive, whole_number
from dynamics.grid import OBJECTIVES
from dynamics.table import Table, known
from figures.drawing import Drawing
from figures.plotting import groups, legend_below, log_axis
from figures.style import COLOURS, MARKER_CYCLE, NAMES, Style, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(
    style: Style,
    *,
    lower: float = 0.5,
    higher: float = 1.0,
    depth: Sequence[int] = (2, 3, 5),
    max_predictor_depth: int = 6,
    epsilon: float = 1e-3,
    fraction: float = 0.5,
) -> Drawing:
    """How much later the lower rho is learned at equal lambda, against the depth of the predictor.

    Exact, beside the leading correction for a small start, which a deeper predictor weakens under JEPA.

    Parameters
    ----------
    lower, higher
        Rho of the two features, both of lambda 1.
    max_predictor_depth
        Predictor (decoder) depths M from 1 to this one.
    """
    predictors = range(1, whole_number("max_predictor_depth", max_predictor_depth, 2, 64) + 1)
    check_positive("lower", lower)
    check_positive("higher", higher)
    pair = dyn.Features(lam=1.0, rho=[lower, higher])
    table = _delays(pair, depth, predictors, epsilon, fraction)
    frame = table.to_dataframe()
    jepa = frame[(frame["objective"] == "jepa") & (frame["kind"] == "exact")].set_index(["depth", "predictor_depth"])["delay"]
    told = "; ".join(f"{jepa[layers, 1]:.3g} to {jepa[layers, predictors[-1]]:.3g} at L = {layers}" for layers in depth)
    caption = (
        f"Excess t(rho = {lower:g}) / t(rho = {higher:g}) - 1 of the critical times (to {fraction:g} of the asymptote) of two"
        f" features of lambda 1, against the depth M of the predictor or decoder; epsilon {epsilon:g}. Markers: exact; lines:"
        " JEPA's leading correction (2L+M-2)/(2L-2) (1/rho - 1/rho') epsilon^(M/L) for a small start. A deeper predictor"
        f" weakens JEPA's preference: from M = 1 to {predictors[-1]} the excess falls from {told}. For MAE its size is shown;"
        " open markers are negative, the lower rho is then first."
    )
    return Drawing(_picture(style, table), table, caption)


def _delays(pair: dyn.Features, depths: Sequence[int], predictors: range, epsilon: float, fraction: float) -> Table:
    """One row an objective, depth and predictor depth: the exact excess, and for JEPA its leading correction."""
    records = []
    for name in OBJECTIVES:
        for depth in depths:
            for layers in predictors:
                found = dyn.critical_times(OBJECTIVES[name](depth, layers), pair, epsilon=epsilon, fraction=fraction)
                found.require_reached()
                records.append(
                    ("exact", name, depth, layers, found.time[0], found.time[1], found.time[0] / found.time[1] - 1.0)
                )
                if name == "jepa" and depth > 1:
                    gap = 1.0 / pair.rho[0] - 1.0 / pair.rho[1]
                    leading = (2 * depth + layers - 2) / (2 * depth - 2) * gap * epsilon ** (layers / depth)
                    records.append(("leading", name, depth, layers, np.nan, np.nan, leading))
    kind, objective, depths_, layers_, low, high, delay = map(np.array, zip(*records, strict=True))
    constant = {"epsilon": epsilon, "fraction": fraction, "lambda": 1.0, "rho_lower": pair.rho[0], "rho_higher": pair.rho[1]}
    return Table(
        {"kind": kind, "objective": objective, "depth": depths_, "predictor_depth": layers_}
        | {key: np.full(len(kind), value) for key, value in constant.items()}
        | {"time_lower": known(low), "time_higher": known(high), "delay": delay}
    )


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    depths = sorted(set(frame["depth"]))
    markers = dict(zip(depths, MARKER_CYCLE, strict=False))
    with style.context():
        figure, panels = style.panels(1, 2, sharey=True)
        for axes, (objective, shown) in zip(panels.flat, groups(frame, "objective"), strict=True):
            colours = dict(zip(depths, shades(COLOURS[objective], len(depths)), strict=True))
            for (depth, kind), line in groups(shown, "depth", "kind"):
                if kind == "leading":
                    axes.plot(line["predictor_depth"], line["delay"], color=colours[depth])
                    continue
                for sign, face in ((1.0, colours[depth]), (-1.0, "none")):
                    part = line[sign * line["delay"] > 0.0]
                    look: dict[str, Any] = {"linestyle": "none", "marker": markers[depth], "markerfacecolor": face}
                    axes.plot(part["predictor_depth"], np.abs(part["delay"]), color=colours[depth], **look)
            log_axis(axes.yaxis)
            axes.set_title(NAMES[objective])
            axes.set_xlabel("predictor depth $M$")
            axes.xaxis.get_major_locator().set_params(integer=True)
        panels.flat[0].set_ylabel(r"$t(\rho)/t(\rho')-1$")
        legend_below(figure, [(f"$L={depth}$", {"marker": markers[depth], "linestyle": "none"}) for depth in depths])
    return figure
