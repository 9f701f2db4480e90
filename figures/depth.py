"""Critical times against depth: what depth does to JEPA and to MAE at equal lambda."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.checks import whole_number
from dynamics.grid import Setting
from dynamics.table import Table, stacked
from figures.drawing import Drawing
from figures.plotting import groups, legend_below, log_axis
from figures.rows import predicted, rows
from figures.style import COLOURS, DASHES, MARKERS, NAMES, Style, shades

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS: dict[str, dict[str, Any]] = {
    "exact": {"linestyle": "none", "marker": "o"},
    "expansion": {"linestyle": "-"},
    "dominant": {"linestyle": ":", "color": "black"},
}
LABELS = {"exact": "exact", "expansion": "expansion", "dominant": "dominant term, whatever rho"}


def draw(
    style: Style,
    *,
    rho: Sequence[float] = (0.6, 0.8, 1.0),
    predictor_depth: int = 1,
    epsilon: float = 1e-3,
    fraction: float = 0.5,
    max_depth: int = 10,
) -> Drawing:
    """Critical time against depth at equal lambda: exact, dominant term and expansion.

    Lambda is 1; the dominant term of the expansion for a small start does not know rho.

    Parameters
    ----------
    rho
        Features, all of lambda 1.
    max_depth
        Depths from 1 to this one.
    """
    depths = range(1, whole_number("max_depth", max_depth, 2, 64) + 1)
    features = dyn.Features(lam=1.0, rho=rho)
    if len(set(rho)) < 2:
        raise dyn.ParameterError("rho", ", ".join(map(str, rho)), "at least two different values")
    table = stacked(
        _times(Setting(objective(depth, predictor_depth), epsilon, fraction), features)
        for objective in (dyn.jepa, dyn.mae)
        for depth in depths
    )
    if not np.isfinite(table.columns["time"]).all():
        raise dyn.ParameterError("epsilon", epsilon, "large enough for a double to hold the times at every depth")
    slower = _slower(table)
    if len(slower) < 2:
        raise dyn.LindynError("From this start features are learned at once at every depth; lower epsilon.")
    told = ", ".join(
        f"{NAMES[objective]} {ratio.iloc[0]:.3g} at depth {ratio.index[0]} and {ratio.iloc[-1]:.3g} at depth {ratio.index[-1]}"
        for objective, ratio in slower.items()
    )
    caption = (
        f"Critical time (to {fraction} of the asymptote) against the depth of the encoder for features of equal lambda = 1,"
        f" epsilon {epsilon:g}, predictor depth {predictor_depth}; darker means larger rho. Circles: exact. Lines: all terms"
        " of the expansion for a small start. Dotted: its dominant term alone, which does not depend on rho. Last panel: how"
        f" many times as long the lowest rho takes as the highest, where both start below their thresholds: {told}."
    )
    return Drawing(_picture(style, table), table, caption)


def _times(setting: Setting, features: dyn.Features) -> Table:
    small_start = dyn.expansion(setting.objective, features, epsilon=setting.epsilon, fraction=setting.fraction)
    times = {
        "exact": predicted(setting, features).time,
        "expansion": small_start.total,
        "dominant": small_start.dominant,
    }
    return stacked(rows(kind, setting, features, {"time": time[:, None]}) for kind, time in times.items())


def _slower(table: Table) -> dict[str, pd.Series[float]]:
    """How many times as long the lowest rho takes as the highest, by depth, wherever both are learned after the start."""
    frame = table.to_dataframe()
    exact = frame[(frame["kind"] == "exact") & (frame["time"] > 0.0)]
    ends = [frame["rho"].min(), frame["rho"].max()]
    ratios = {}
    for objective, shown in groups(exact[exact["rho"].isin(ends)], "objective"):
        low, high = (shown[shown["rho"] == rho].set_index("depth")["time"] for rho in ends)
        ratios[objective] = (low / high).dropna()
    return {objective: ratio for objective, ratio in ratios.items() if len(ratio)}


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    frame = frame[frame["time"] > 0.0]
    with style.context():
        figure, panels = style.panels(1, 3, aspect=0.95)
        for axes, objective in zip(panels.flat, dict.fromkeys(frame["objective"]), strict=False):
            _draw_times(axes, frame[frame["objective"] == objective], objective)
        _draw_ratios(panels.flat[-1], _slower(table))
        for axes in panels.flat:
            axes.set_xlabel("depth $L$")
            axes.xaxis.get_major_locator().set_params(integer=True)
        legend_below(figure, [(LABELS[kind], look) for kind, look in LOOKS.items()])
    return figure


def _draw_times(axes: Axes, frame: pd.DataFrame, objective: str) -> None:
    ranked = sorted(set(frame["rho"]))
    colours = dict(zip(ranked, shades(COLOURS[objective], len(ranked)), strict=True))
    for kind, look in LOOKS.items():
        for rho, line in groups(frame[frame["kind"] == kind], "rho"):
            axes.plot(line["depth"], line["time"], **({"color": colours[rho]} | look))
    log_axis(axes.yaxis)
    axes.set_title(f"{NAMES[objective]}: critical time")


def _draw_ratios(axes: Axes, slower: dict[str, pd.Series[float]]) -> None:
    for objective, ratio in slower.items():
        look: dict[str, Any] = {"color": COLOURS[objective], "linestyle": DASHES[objective], "marker": MARKERS[objective]}
        axes.plot(ratio.index, ratio, label=NAMES[objective], **look)
    axes.set_title("lowest over highest rho")
    axes.legend()
