"""Equal critical times in the plane of lambda and rho."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.grid import OBJECTIVES, Setting
from dynamics.table import Table, stacked
from figures.drawing import Drawing
from figures.plotting import label_outside, legend_below, log_axis
from figures.rows import critical, log_range, predicted
from figures.style import NAMES, Style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.contour import ContourSet
    from matplotlib.figure import Figure

DARKEST = 0.7
"""Where the colour map ends, so that black lines are seen on all of it."""

SIGMA: dict[str, Any] = {"color": "black", "linestyle": ":"}
SIGMA_SQUARED = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Variances of the lines of equal sigma."""

LEVELS = np.arange(-1.0, 1.01, 0.2)
"""log2 of the time over that of lambda = rho = 1 at which contours are drawn, one colour a step."""


def draw(
    style: Style,
    *,
    features: dyn.Features | None = None,
    depth: Sequence[int] = (1, 2, 4),
    predictor_depth: int = 1,
    epsilon: float = 1e-2,
    fraction: float = 0.5,
    smallest: float = 0.4,
    largest: float = 1.6,
    points: int = 31,
) -> Drawing:
    """Contours of equal critical time over lambda and rho, with lines of equal sigma.

    A vertical contour means that lambda alone decides; a tilted one that rho has a say. Features that are given are drawn as
    points on the map.

    Parameters
    ----------
    smallest, largest
        Ends of the range of both lambda and rho.
    points
        Points a side of the grid.
    """
    axis = log_range(points, smallest=smallest, largest=largest)
    lam, rho = (grid.ravel() for grid in np.meshgrid(axis, axis, indexing="ij"))
    settings = [
        Setting(OBJECTIVES[name](layers, predictor_depth), epsilon, fraction) for name in OBJECTIVES for layers in depth
    ]
    tables = [_times("grid", setting, dyn.Features(lam=lam, rho=rho)) for setting in settings]
    if features is not None:
        tables += [_times("feature", setting, features) for setting in settings]
    table = stacked(tables)
    crossed = ", ".join(f"{value:g}" for value in SIGMA_SQUARED if smallest / largest < value < largest / smallest)
    caption = (
        "Critical time in the plane of lambda and rho, in units of that of lambda = rho = 1 (colour; contours a fifth of a"
        f" power of 2 apart), epsilon {epsilon:g}, fraction {fraction}, predictor depth {predictor_depth}. Dotted: lines of"
        f" equal sigma, sigma^2 = {crossed or 'none'} from the top left.{_remarks(table, features, smallest, largest)}"
        + _tilts(settings)
    )
    return Drawing(_picture(style, table), table, caption)


def _times(kind: str, setting: Setting, features: dyn.Features) -> Table:
    unit = predicted(setting, dyn.Features(lam=1.0, rho=1.0))
    unit.require_reached()
    table = critical(setting, features).columns
    return Table(table | {"kind": np.full(len(features), kind), "relative_time": table["time"] / unit.time[0]})


def _remarks(table: Table, features: dyn.Features | None, smallest: float, largest: float) -> str:
    """What is white, and how many of the features given are on the map."""
    times = np.asarray(table.columns["time"])[np.asarray(table.columns["kind"]) == "grid"]
    white = " White areas: learned from the start." if (times == 0.0).any() else ""
    if features is None:
        return white
    inside = [(smallest <= values) & (values <= largest) for values in (features.lam, features.rho)]
    return f"{white} Dots: the features given, {int(np.logical_and(*inside).sum())} of {len(features)} on the map."


def _tilts(settings: Sequence[Setting]) -> str:
    """How much a per cent of rho moves the time at the middle of each panel."""
    middle = dyn.Features(lam=1.0, rho=1.0)
    told = []
    for setting in settings:
        change = dyn.elasticities(setting.objective, middle, epsilon=setting.epsilon, fraction=setting.fraction).rho[0]
        told.append(f"{NAMES[setting.objective.name]} {setting.objective.depth}: {change:.3f}")
    return f" d ln t / d ln rho at lambda = rho = 1, by objective and depth: {'; '.join(told)}."


def _picture(style: Style, table: Table) -> Figure:
    from matplotlib import colormaps
    from matplotlib.colors import BoundaryNorm, ListedColormap

    frame = table.to_dataframe()
    objectives, depths = list(dict.fromkeys(frame["objective"])), list(dict.fromkeys(frame["depth"]))
    colours = ListedColormap(colormaps["YlGnBu"](np.linspace(0.0, DARKEST, 256)))
    norm = BoundaryNorm(LEVELS, colours.N, extend="both")
    with style.context():
        figure, panels = style.panels(len(objectives), len(depths), aspect=1.0, turn=True, sharex=True, sharey=True)
        for row, objective in enumerate(objectives):
            for column, depth in enumerate(depths):
                axes, shown = panels[row, column], frame[(frame["objective"] == objective) & (frame["depth"] == depth)]
                image = _contours(axes, shown[shown["kind"] == "grid"], style.hair, norm=norm, cmap=colours)
                given = shown[shown["kind"] == "feature"]
                axes.plot(given["lambda"], given["rho"], "ow", markeredgecolor="black", linestyle="none")
                axes.set_title(f"{NAMES[objective]}, $L={depth}$")
        bar = figure.colorbar(image, ax=panels.ravel().tolist(), ticks=[-1.0, 0.0, 1.0], extend="both")
        bar.ax.set_yticklabels(["1/2", "1", "2"])
        bar.set_label("time over that of $\\lambda=\\rho=1$")
        label_outside(panels, r"covariance $\lambda$", r"regression $\rho$")
        legend_below(figure, [(r"equal $\sigma$", SIGMA)])
    return figure


def _contours(axes: Axes, grid: pd.DataFrame, hair: float, **colours: Any) -> ContourSet:
    field = grid.pivot(index="rho", columns="lambda", values="relative_time")
    with np.errstate(divide="ignore"):
        levels = np.ma.masked_invalid(np.log2(field.to_numpy()))
    lam, rho = field.columns.to_numpy(), field.index.to_numpy()
    image = axes.contourf(lam, rho, levels, LEVELS, extend="both", **colours)
    axes.contour(lam, rho, levels, LEVELS, colors="black", linewidths=hair, linestyles="solid")
    for variance in SIGMA_SQUARED:
        axes.plot(lam, lam / variance, **SIGMA)
    for axis, values in ((axes.xaxis, lam), (axes.yaxis, rho)):
        log_axis(axis)
        axis.set_ticks([value for value in (0.1, 0.2, 0.5, 1.0, 2.0, 5.0) if values[0] <= value <= values[-1]])
        axis.set_major_formatter("{x:g}")
    axes.set(xlim=(lam[0], lam[-1]), ylim=(rho[0], rho[-1]))
    return image
