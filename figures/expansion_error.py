"""How far the expansion of the critical time for a small start is off, term by term."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.grid import OBJECTIVES, Setting
from dynamics.table import Table, stacked
from figures.drawing import Drawing
from figures.plotting import groups, legend_below, log_axis
from figures.rows import log_range, predicted, rows
from figures.style import COLOURS, NAMES, Style, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS: dict[str, dict[str, Any]] = {"dominant": {"linestyle": ":"}, "expansion": {"linestyle": "-"}}
LABELS = {"dominant": "dominant term alone", "expansion": "all terms"}
QUOTED = 1e-2
"""Epsilon at which the caption gives the errors."""


def draw(
    style: Style,
    *,
    rho: float = 1.0,
    depth: Sequence[int] = (1, 2, 3, 5),
    predictor_depth: int = 1,
    fraction: float = 0.5,
    smallest: float = 1e-8,
    largest: float = 0.1,
    points: int = 60,
) -> Drawing:
    """Relative error of the dominant term and of the whole expansion against epsilon.

    Against the exact critical time of one feature (lambda drops out), for several depths of JEPA and MAE.

    Parameters
    ----------
    smallest, largest
        Ends of the range of epsilon, which has ``points`` points, evenly spaced in the logarithm.
    """
    quoted = [QUOTED] if smallest < QUOTED < largest else []
    epsilons = sorted({*log_range(points, smallest=smallest, largest=largest).tolist(), *quoted})
    features = dyn.Features(lam=1.0, rho=rho)
    table = stacked(
        _errors(Setting(OBJECTIVES[name](layers, predictor_depth), epsilon, fraction), features)
        for name in OBJECTIVES
        for layers in depth
        for epsilon in epsilons
    )
    caption = (
        f"Relative error of the expansion of the critical time (to {fraction} of the asymptote) for a small start, against"
        f" epsilon; rho {rho:g}, predictor depth {predictor_depth}; darker means deeper (depth"
        f" {', '.join(map(str, depth))}). Dotted: the dominant term alone. Lines: all terms."
    )
    return Drawing(_picture(style, table), table, caption + _quoted(table))


def _errors(setting: Setting, features: dyn.Features) -> Table:
    exact = predicted(setting, features)
    exact.require_reached()
    small_start = dyn.expansion(setting.objective, features, epsilon=setting.epsilon, fraction=setting.fraction)
    return stacked(
        rows(kind, setting, features, {"time": time[:, None], "relative_error": np.abs(time / exact.time - 1.0)[:, None]})
        for kind, time in (("dominant", small_start.dominant), ("expansion", small_start.total))
    )


def _quoted(table: Table) -> str:
    frame = table.to_dataframe()
    there = frame[(frame["epsilon"] == QUOTED) & (frame["kind"] == "dominant")]
    told = [
        f"{', '.join(f'{error:.0%}' for error in part['relative_error'])} ({NAMES[objective]})"
        for objective, part in groups(there, "objective")
    ]
    return f" At epsilon {QUOTED:g} the dominant term alone is off by {' and '.join(told)}." if told else ""


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    depths = sorted(set(frame["depth"]))
    with style.context():
        figure, panels = style.panels(1, 2, sharey=True)
        for axes, (objective, shown) in zip(panels.flat, groups(frame, "objective"), strict=True):
            colours = dict(zip(depths, shades(COLOURS[objective], len(depths)), strict=True))
            for (depth, kind), line in groups(shown, "depth", "kind"):
                axes.plot(line["epsilon"], line["relative_error"], color=colours[depth], **LOOKS[kind])
            log_axis(axes.xaxis)
            log_axis(axes.yaxis)
            axes.set_ylim(bottom=max(1e-9, 0.5 * frame["relative_error"].min()))
            axes.set_title(NAMES[objective])
            axes.set_xlabel(r"start $\epsilon$")
        panels.flat[0].set_ylabel("relative error")
        legend_below(figure, [(LABELS[kind], look) for kind, look in LOOKS.items()])
    return figure
