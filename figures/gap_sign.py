"""Which area a masked autoencoder learns of first, over the exponents of its areas."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.attention import Areas, ImageModel, MaeFlow
from dynamics.attention.images import GLOBAL_EXPONENTS, LOCAL_EXPONENTS
from dynamics.attention.mae_flow import STATES
from dynamics.attention.phases import PHI_G, PHI_T
from dynamics.checks import check_share, whole_number
from dynamics.table import Columns, Table, stacked
from figures.drawing import Drawing
from figures.plotting import groups, label_outside, legend_below
from figures.rows import spread
from figures.style import Style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.contour import ContourSet
    from matplotlib.figure import Figure

    from dynamics.features import FloatArray

LINES: dict[str, dict[str, Any]] = {
    "gap": {"color": "black", "linestyle": "--"},
    "finite_gap": {"color": "black", "linestyle": ":"},
}
"""Columns that are 0 on a line, and its look."""

LABELS = {"gap": r"$\Delta=0$", "finite_gap": r"$\Delta+\ln(1-\gamma)/\ln P=0$"}
EXACT: dict[str, Any] = {"color": "black"}

LEVELS = np.arange(-0.6, 0.61, 0.2)
"""log_P of the ratio of both speeds at which colours change."""

BAR = 0.5
"""Height of the colour bar over its width, in heights of the type on the page."""

LEAST = 10.0
"""Patches of an image, at least."""

ROUNDING = 1e-12
"""Of a product of logarithms: points on a line are on neither of its sides."""


def draw(
    style: Style,
    *,
    patches: Sequence[float] = (256.0, 1e4, 1e8),
    kappa_c: Sequence[float] = (0.5, 0.95),
    kappa_s: Sequence[float] = (0.05, 0.5),
    masked: float = 0.5,
    points: int = 16,
) -> Drawing:
    """Which area is learned first by a masked autoencoder, over both exponents, against the sign of the information gap.

    Speed of phi_G over that of phi_T at the start, of a patch of a local area, in the reduced flow with mean counts, and the
    lines on which theory has both equal: Delta = 0 as P grows, Delta + ln(1 - gamma) / ln P = 0 at a finite P.

    Parameters
    ----------
    patches
        P, a panel each.
    kappa_c, kappa_s
        First and last exponent of the global and of the local areas.
    masked
        Share gamma of the patches that a mask hides.
    points
        Points a side of the grid.
    """
    whole_number("points", points, 2, 1000)
    axis_c = _axis("kappa_c", kappa_c, GLOBAL_EXPONENTS, points)
    axis_s = _axis("kappa_s", kappa_s, LOCAL_EXPONENTS, points)
    check_share("masked", masked)
    sizes = list(dict.fromkeys(float(size) for size in patches))
    for size in sizes:
        if not LEAST <= size < np.inf:
            raise dyn.ParameterError("patches", size, f"a finite number, at least {LEAST:g}")
    table = stacked(part for size in sizes for part in _panel(size, axis_c, axis_s, masked))
    caption = (
        "Speed of phi_G over that of phi_T at the start, of a patch of a local area under masked reconstruction with gamma ="
        f" {masked:g}, as a power of P (colour): red where the global area moves first, blue where the local one does; solid:"
        f" equal. Dashed: Delta = 0; dotted: Delta + ln(1 - gamma)/ln P = 0. {_told(table.to_dataframe())}"
    )
    return Drawing(_picture(style, table), table, caption)


def _axis(name: str, ends: Sequence[float], allowed: tuple[float, float], points: int) -> FloatArray:
    if len(ends) != 2 or not allowed[0] <= ends[0] < ends[1] <= allowed[1]:
        raise dyn.ParameterError(name, ", ".join(map(str, ends)), f"two rising numbers from {allowed[0]:g} to {allowed[1]:g}")
    return np.linspace(ends[0], ends[1], points)


def _panel(patches: float, axis_c: FloatArray, axis_s: FloatArray, masked: float) -> list[Table]:
    """The grid at one number of patches, and what of both lines lies in it."""
    kappa_c, kappa_s = (grid.ravel() for grid in np.meshgrid(axis_c, axis_s, indexing="ij"))
    places = {"grid": (kappa_c, kappa_s)}
    for kind, shift in zip(LINES, (0.0, _shift(patches, masked)), strict=True):
        on_line = 0.5 * (1.0 + axis_s - shift)
        inside = (axis_c[0] <= on_line) & (on_line <= axis_c[-1])
        places[kind] = on_line[inside], axis_s[inside]
    return [_rows(kind, patches, *place, masked) for kind, place in places.items()]


def _shift(patches: float, masked: float) -> float:
    """What a finite number of patches adds to the gap."""
    return log(1.0 - masked) / log(patches)


def _rows(kind: str, patches: float, kappa_c: FloatArray, kappa_s: FloatArray, masked: float) -> Table:
    ratio = [_ratio(patches, *pair, masked) for pair in zip(kappa_c.tolist(), kappa_s.tolist(), strict=True)]
    gap = (1.0 - kappa_s) - 2.0 * (1.0 - kappa_c)
    each: Columns = {"kappa_c": kappa_c, "kappa_s": kappa_s, "gap": gap, "finite_gap": gap + _shift(patches, masked)}
    return spread(kind, {"patches": patches}, each | {"ratio": np.array(ratio, dtype=np.float64)}, {})


def _ratio(patches: float, kappa_c: float, kappa_s: float, masked: float) -> float:
    """Speed of phi_G over that of phi_T at the start."""
    flow = MaeFlow(ImageModel(Areas.of_exponents(patches, kappa_c, kappa_s), masked), counts="mean")
    rates = flow(0.0, np.zeros(len(STATES)))
    return float(abs(rates[PHI_G]) / rates[PHI_T])


def _told(frame: pd.DataFrame) -> str:
    """On how many points either rule is wrong."""
    told = []
    for patches, shown in groups(frame[frame["kind"] == "grid"], "patches"):
        first = np.log(shown["ratio"])
        wrong = [int((first * shown[rule] < -ROUNDING).sum()) for rule in LINES]
        told.append(f"P = {patches:g}: {wrong[0]} and {wrong[1]} of {len(shown)}")
    return (
        f"Points of the grid on which the sign of the one and of the other is wrong: {'; '.join(told)}. Both count the"
        " hidden patch as one that its area could show, which matters where local areas are small."
    )


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    with style.context():
        figure, panels = style.panels(1, frame["patches"].nunique(), aspect=1.0, sharey=True)
        for axes, (patches, shown) in zip(panels.flat, groups(frame, "patches"), strict=True):
            image = _contours(axes, shown[shown["kind"] == "grid"], patches)
            for kind, line in groups(shown[shown["kind"].isin(LINES)], "kind"):
                axes.plot(line["kappa_c"], line["kappa_s"], **LINES[str(kind)])
            axes.set_title(_title(patches))
        slender = BAR * figure.get_figheight() * 72.0 / style.size
        bar = figure.colorbar(image, ax=panels.ravel().tolist(), ticks=[-0.6, 0.0, 0.6], aspect=slender)
        bar.set_label(r"$\log_P(|\dot\phi_G|/\dot\phi_T)$")
        label_outside(panels, "", r"local $\kappa_s$")
        for axes in panels.flat:
            axes.set_xlabel(r"global $\kappa_c$")
        legend_below(figure, [("equal", EXACT), *((LABELS[kind], look) for kind, look in LINES.items())])
    return figure


def _contours(axes: Axes, grid: pd.DataFrame, patches: float) -> ContourSet:
    """The ratio as a power of P, and where it is 1."""
    field = grid.pivot(index="kappa_s", columns="kappa_c", values="ratio")
    power = np.log(field.to_numpy()) / log(patches)
    place = field.columns.to_numpy(), field.index.to_numpy()
    image = axes.contourf(*place, power, LEVELS, extend="both", cmap="RdBu_r")
    if power.min() < 0.0 < power.max():
        axes.contour(*place, power, [0.0], colors="black", linestyles="solid")
    axes.set(xlim=place[0][[0, -1]], ylim=place[1][[0, -1]])
    return image


def _title(patches: float) -> str:
    power = np.log10(patches)
    return rf"$P=10^{{{power:.0f}}}$" if power == round(power) else f"$P={patches:g}$"
