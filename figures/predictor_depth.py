"""What a deeper predictor does to JEPA's preference for rho."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from math import ceil, log2
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.certificate import time_ball
from dynamics.checks import check_positive, whole_number
from dynamics.grid import OBJECTIVES, Setting
from dynamics.table import Table, known
from figures.drawing import Drawing
from figures.plotting import groups, legend_below, log_axis
from figures.rows import predicted
from figures.style import COLOURS, MARKER_CYCLE, NAMES, Style, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPARE = 256
"""Bits that the times are computed with, beside those that an excess of the order of epsilon^(b/L) needs."""


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
    if not lower < higher:
        raise dyn.ParameterError("higher", higher, f"above lower, {lower:g}")
    pair = dyn.Features(lam=1.0, rho=[lower, higher])
    table = _delays(pair, depth, predictors, epsilon, fraction)
    frame = table.to_dataframe()
    jepa = frame[(frame["objective"] == "jepa") & (frame["kind"] == "exact")].set_index(["depth", "predictor_depth"])["delay"]
    told = "; ".join(f"{jepa[layers, 1]:.3g} to {jepa[layers, predictors[-1]]:.3g} at L = {layers}" for layers in depth)
    leading = " (2L+M-2)/(2L-2) (1/rho - 1/rho') epsilon^(M/L)"
    weaker = all(jepa[layers, 1] > jepa[layers, predictors[-1]] > 0.0 for layers in depth)
    caption = (
        f"Excess t(rho = {lower:g}) / t(rho = {higher:g}) - 1 of the critical times (to {fraction} of the asymptote) of two"
        f" features of lambda 1, against the depth M of the predictor or decoder; epsilon {epsilon:g}. Markers: exact, open"
        f" where negative, so that the lower rho is first; lines (L > 1): JEPA's leading correction{leading} for a small"
        f" start.{' A deeper predictor weakens the preference of JEPA.' if weaker else ''} From M = 1 to {predictors[-1]} its"
        f" excess goes from {told}."
    )
    return Drawing(_picture(style, table), table, caption)


def _delays(pair: dyn.Features, depths: Sequence[int], predictors: range, epsilon: float, fraction: float) -> Table:
    """One row an objective, depth and predictor depth: the exact excess, and for JEPA its leading correction."""
    settings = [
        Setting(OBJECTIVES[name](depth, layers), epsilon, fraction)
        for name in OBJECTIVES
        for depth in depths
        for layers in predictors
    ]
    rows = [("exact", setting, *predicted(setting, pair).time, _excess(setting, pair)) for setting in settings]
    rows += [
        ("leading", setting, np.nan, np.nan, _leading(setting, pair))
        for setting in settings
        if setting.objective.name == "jepa" and setting.objective.depth > 1
    ]
    kind, row, low, high, delay = zip(*rows, strict=True)
    constant = {"epsilon": epsilon, "fraction": fraction, "lambda": 1.0, "rho_lower": pair.rho[0], "rho_higher": pair.rho[1]}
    return Table(
        {"kind": np.array(kind), "objective": np.array([setting.objective.name for setting in row])}
        | {name: np.array([getattr(setting.objective, name) for setting in row]) for name in ("depth", "predictor_depth")}
        | {key: np.full(len(rows), value) for key, value in constant.items()}
        | {"time_lower": known(np.array(low)), "time_higher": known(np.array(high)), "delay": np.array(delay)}
    )


def _excess(setting: Setting, pair: dyn.Features) -> float:
    """t(rho) / t(rho') - 1, of enclosures in which the two times differ however little of a double that is."""
    from flint import ctx

    predicted(setting, pair).require_reached()
    order = setting.objective.b / setting.objective.depth
    precision = SPARE + ceil(2.0 * order * abs(log2(setting.epsilon)))
    how: dict[str, Any] = {"epsilon": setting.epsilon, "fraction": setting.fraction, "precision": precision}
    low, high = (time_ball(setting.objective, 1.0, rho, **how) for rho in pair.rho.tolist())
    with ctx.workprec(precision):
        return float((low / high - 1).mid())


def _leading(setting: Setting, pair: dyn.Features) -> float:
    """JEPA's excess for a small start, to leading order."""
    depth, layers = setting.objective.depth, setting.objective.predictor_depth
    gap = 1.0 / pair.rho[0] - 1.0 / pair.rho[1]
    return float((2 * depth + layers - 2) / (2 * depth - 2) * gap * setting.epsilon ** (layers / depth))


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    depths = sorted(set(frame["depth"]))
    markers = dict(zip(depths, cycle(MARKER_CYCLE), strict=False))
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
