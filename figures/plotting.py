"""How rows of a table are drawn: curves by feature, critical times as ticks, limits and legends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from figures.style import NEUTRAL

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import XAxis, YAxis
    from matplotlib.figure import Figure

TICK = 0.12
"""Height of a critical time's tick, over that of its panel."""


def features_of(frame: pd.DataFrame) -> list[str]:
    """The features in the order of the table."""
    return list(dict.fromkeys(frame["feature"]))


def groups(frame: pd.DataFrame, *names: str) -> Iterator[tuple[Any, pd.DataFrame]]:
    """The rows that agree in these columns, in the order of the table, each after what they agree in."""
    return iter(frame.groupby(names[0] if len(names) == 1 else list(names), sort=False))


def draw_curves(axes: Axes, frame: pd.DataFrame, colours: Mapping[str, str], **line: Any) -> None:
    """Amplitude over asymptote against time, a line a feature; features that have no asymptote to reach are left out."""
    for feature, curve in groups(frame[frame["asymptote"] > 0.0], "feature"):
        axes.plot(curve["time"], curve["amplitude"] / curve["asymptote"], color=colours[str(feature)], **line)


def draw_ticks(axes: Axes, frame: pd.DataFrame, colours: Mapping[str, str]) -> None:
    """Critical times as ticks that stand on the time axis."""
    for _, row in frame[np.isfinite(frame["time"])].iterrows():
        axes.axvline(row["time"], 0.0, TICK, color=colours[row["feature"]], zorder=3)


def share_axis(axes: Axes) -> None:
    """The limits of a panel of amplitudes over asymptotes."""
    axes.set_ylim(-0.03, 1.08)
    axes.set_yticks([0.0, 0.5, 1.0])


def handles(entries: Iterable[tuple[str, Mapping[str, Any]]]) -> tuple[list[Any], list[str]]:
    """Legend handles for lines that are told by their look, not by a plotted artist."""
    from matplotlib.lines import Line2D

    named = [(Line2D([], [], **{"color": NEUTRAL, **look}), label) for label, look in entries]
    return [handle for handle, _ in named], [label for _, label in named]


def legend_below(figure: Figure, entries: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
    """One legend for all panels, in room added below them, in as many columns as fit."""
    for columns in range(len(entries), 0, -1):
        legend = figure.legend(*handles(entries), loc="outside lower center", ncols=columns)
        box = legend.get_window_extent()
        if columns == 1 or box.width <= figure.bbox.width:
            figure.set_figheight(figure.get_figheight() + box.height / figure.dpi)
            return
        legend.remove()


def label_outside(panels: npt.NDArray[Any], x: str, y: str) -> None:
    """Axis labels below the last row and beside the first column, however the panels are laid out."""
    for axes in panels.flat:
        place = axes.get_subplotspec()
        if place.is_last_row():
            axes.set_xlabel(x)
        if place.is_first_col():
            axes.set_ylabel(y)


def log_axis(axis: XAxis | YAxis) -> None:
    """A logarithmic axis for what is drawn: labelled at decades, or at 1, 2 and 5 where it spans less than two of them."""
    from matplotlib.ticker import LogFormatterMathtext, LogLocator, NullFormatter, StrMethodFormatter

    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    low, high = axis.get_view_interval()
    if high < 100.0 * low and 1e-3 < low < high < 1e4:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    else:
        axis.set_major_locator(LogLocator(numticks=5))
        axis.set_major_formatter(LogFormatterMathtext())
    axis.set_minor_formatter(NullFormatter())


def double_axis(axes: Axes) -> None:
    """A logarithmic horizontal axis labelled at powers of two."""
    from matplotlib.ticker import NullLocator, StrMethodFormatter

    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
