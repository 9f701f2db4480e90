"""The starts for which rho beats lambda, against depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import dynamics as dyn
from dynamics.checks import whole_number
from dynamics.grid import OBJECTIVES
from dynamics.table import Table, cells
from figures.drawing import Drawing
from figures.plotting import groups, legend_below, log_axis
from figures.style import COLOURS, NAMES, Style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OFFSET = {"jepa": -0.15, "mae": 0.15}
"""Where an objective's bar stands beside its depth."""


def draw(
    style: Style,
    *,
    features: dyn.Features | None = None,
    max_depth: int = 12,
    predictor_depth: int = 1,
    fraction: float = 0.5,
) -> Drawing:
    """The window of epsilon in which rho beats lambda, against depth.

    Of two features the one of smaller lambda and larger rho is learned first for starts within the window.

    Parameters
    ----------
    features
        Two features; by default lambda 0.8, rho 1.2 against lambda 1, rho 0.6.
    max_depth
        Depths from 1 to this one.
    """
    features = features if features is not None else dyn.Features(lam=[0.8, 1.0], rho=[1.2, 0.6])
    if len(features) != 2 or features.lam.min() <= 0.0 or np.diff(features.lam)[0] * np.diff(features.rho)[0] >= 0.0:
        raise dyn.LindynError(
            "The figure crossover takes two features of positive lambda: one with the larger lambda, one with the larger rho."
        )
    by_lambda = int(np.argmax(features.lam))
    pair = features[[1 - by_lambda, by_lambda]]
    depths = range(1, whole_number("max_depth", max_depth, 1, 64) + 1)
    table = _windows(pair, depths, predictor_depth, fraction)
    caption = (
        f"Starts epsilon for which the feature of lambda {pair.lam[0]:g}, rho {pair.rho[0]:g} is learned (reaches"
        f" {fraction} of its asymptote) before that of lambda {pair.lam[1]:g}, rho {pair.rho[1]:g}, against the depth of"
        " the encoder; predictor depth"
        f" {predictor_depth}. " + " ".join(_told(table, name) for name in OBJECTIVES) + " Below every window lambda decides."
    )
    return Drawing(_picture(style, table), table, caption)


def _windows(pair: dyn.Features, depths: range, predictor_depth: int, fraction: float) -> Table:
    """One row an objective and depth: the ends of the window, and where it is cut off because a feature starts learned."""
    ends = []
    for objective in (OBJECTIVES[name](depth, predictor_depth) for name in OBJECTIVES for depth in depths):
        highest = fraction * float(dyn.critical_times(objective, pair, epsilon=1.0).asymptote.min())
        found = [float(end) for end in dyn.crossovers(objective, pair[:1], pair[1:], fraction=fraction)]
        lower, upper = _window(found, highest)
        ends.append((objective.name, objective.depth, lower, upper, highest))
    names, deep, lowest, uppermost, thresholds = zip(*ends, strict=True)
    constant = {"predictor_depth": predictor_depth, "fraction": fraction}
    given = {
        f"{key}_{which}": values[row]
        for row, which in enumerate("ab")
        for key, values in (("lambda", pair.lam), ("rho", pair.rho))
    }
    return Table(
        {"kind": np.full(len(ends), "window"), "objective": np.array(names), "depth": np.array(deep)}
        | {key: np.full(len(ends), value) for key, value in (constant | given).items()}
        | {"epsilon_lower": cells(lowest), "epsilon_upper": cells(uppermost), "epsilon_threshold": np.array(thresholds)}
    )


def _window(crossings: list[float], highest: float) -> tuple[float | None, float | None]:
    """Between two crossings, or from a single one to where the first feature starts learned, or nowhere."""
    if not crossings:
        return None, None
    return crossings[0], crossings[1] if len(crossings) == 2 else highest


def _told(table: Table, name: str) -> str:
    frame = table.to_dataframe()
    open_ = frame[(frame["objective"] == name) & frame["epsilon_lower"].notna()]
    if open_.empty:
        return f"Under {NAMES[name]} there are none."
    told = [f"at depth {row['depth']} {row['epsilon_lower']:.2g} to {row['epsilon_upper']:.2g}" for _, row in open_.iterrows()]
    ends = ", ".join(dict.fromkeys([told[0], told[-1]]))
    return f"Under {NAMES[name]} there is one from depth {open_.iloc[0]['depth']} on: {ends}."


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe().astype({"epsilon_lower": float, "epsilon_upper": float})
    with style.context():
        figure, panels = style.panels(1, 1, aspect=0.9)
        axes, bar = panels[0, 0], 5.0 * style.line
        for objective, shown in groups(frame, "objective"):
            place = shown["depth"] + OFFSET[objective]
            axes.vlines(place, shown["epsilon_lower"], shown["epsilon_upper"], color=COLOURS[objective], linewidth=bar)
            axes.hlines(shown["epsilon_threshold"], place - 0.14, place + 0.14, color=COLOURS[objective])
        log_axis(axes.yaxis)
        axes.set(xlabel="depth $L$", ylabel=r"start $\epsilon$", xlim=(0.5, frame["depth"].max() + 0.5))
        axes.xaxis.get_major_locator().set_params(integer=True)
        thick = {"linewidth": bar, "solid_capstyle": "butt"}
        entries = [(rf"{NAMES[name]}: larger $\rho$ first", {"color": COLOURS[name]} | thick) for name in OFFSET]
        legend_below(figure, [*entries, ("above: one learned from the start", {})])
    return figure
