"""Which beta is best for a projector of a width, and what a small one loses."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.checks import whole_number
from dynamics.multiview.read_out import ReadOut, Score, best_beta
from dynamics.multiview.water_filling import activation
from dynamics.table import Table, stacked
from figures.drawing import Drawing
from figures.plotting import double_axis, groups, legend_below, log_axis
from figures.rows import log_range
from figures.style import NEUTRAL, PALETTE, Style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dynamics.features import FloatArray

LOOKS: dict[str, dict[str, Any]] = {
    "predicted": {"linestyle": "-"},
    "simulated": {"linestyle": "none", "marker": "o"},
}
LABELS = {"predicted": "water-filling", "simulated": "trained from random starts"}
EDGE: dict[str, Any] = {"linestyle": "none", "marker": "^", "markerfacecolor": "white"}
INSIDE, RISING = "inside", "at the edge"
"""Where in the searched range the best beta is by water-filling."""

TOLERANCE = 0.002
"""Of the best beta, relative."""

SCORES = {"score": (r"its own best $\beta$", PALETTE[0]), "reused_score": (r"best $\beta$ of the widest", PALETTE[1])}


def draw(
    style: Style,
    *,
    slow_kappa: Sequence[float] = (0.05, 0.3),
    fast_kappa: Sequence[float] = (0.6, 0.95),
    slow: int = 6,
    fast: int = 26,
    noise: float = 0.03,
    width: Sequence[int] = (4, 8, 16, 32, 64, 128),
    smallest: float = 1e-4,
    largest: float = 10.0,
    steps: int = 500,
    seed: int = 0,
) -> Drawing:
    """Best beta against the width of the projector, and what is lost with the beta of a wide one.

    Features of unit norm are trained by gradient descent, and slow modes read by a ridge; the minimum of the loss fills modes
    like water.

    Parameters
    ----------
    slow_kappa, fast_kappa
        First and last invariance eigenvalue of the modes that are to be read, and of the others; spread evenly between them.
    slow, fast
        How many modes there are of either.
    noise
        Ridge penalty over the width.
    width
        Widths d of the projector.
    smallest, largest
        Range of beta that is searched, the same for every width.
    steps
        Steps of gradient descent.
    """
    kappa = [_spread("slow", slow_kappa, slow), _spread("fast", fast_kappa, fast)]
    if not slow_kappa[1] <= fast_kappa[0]:
        raise dyn.ParameterError(
            "fast_kappa", ", ".join(map(str, fast_kappa)), f"{slow_kappa[1]:g}, the last slow one, or more"
        )
    read_out = ReadOut(np.concatenate(kappa), slow, noise)
    widths = sorted({whole_number("width", one, 1) for one in width})
    ends = dict(zip(("lowest", "highest"), log_range(2, smallest=smallest, largest=largest).tolist(), strict=True))
    scores: dict[str, list[Score]] = {
        "predicted": [partial(read_out.predicted, width=d) for d in widths],
        "simulated": [partial(read_out.trained, width=d, steps=steps, seed=seed) for d in widths],
    }
    place = [INSIDE if best_beta(score, **ends).interior else RISING for score in scores["predicted"]]
    if place[-1] is not INSIDE:
        raise dyn.ParameterError("width", widths[-1], "at its greatest one whose best beta is inside the searched range")
    table = stacked(_best(kind, widths, place, by_width, **ends) for kind, by_width in scores.items())
    caption = (
        f"Best beta of a projector of width d, and the mean share of a slow mode that is read at it: {slow} slow of"
        f" {slow + fast} modes, ridge {noise:g} d. Lines: water-filling; markers: features of unit norm after {steps} steps of"
        f" gradient descent from random starts. {_slopes(table)} The next mode is filled from beta d ="
        f" {activation(read_out.kappa)[slow]:.4g} on. {_losses(table)}"
    )
    return Drawing(_picture(style, table), table, caption)


def _spread(which: str, ends: Sequence[float], count: int) -> FloatArray:
    """Invariance eigenvalues spread evenly between two ends."""
    if len(ends) != 2 or not 0.0 <= ends[0] <= ends[1] < np.inf:
        raise dyn.ParameterError(f"{which}_kappa", ", ".join(map(str, ends)), "two rising numbers, 0 or more")
    return np.linspace(ends[0], ends[1], whole_number(which, count, 1))


def _best(kind: str, widths: list[int], place: list[str], scores: list[Score], **ends: float) -> Table:
    """The best beta of every width, and the score at it and at that of the widest."""
    found = [best_beta(score, tolerance=TOLERANCE, **ends) for score in scores]
    reused = found[-1].beta
    columns = {
        "kind": [kind] * len(widths),
        "width": widths,
        "place": place,
        "beta": [one.beta for one in found],
        "score": [one.score for one in found],
        "reused_beta": [reused] * len(widths),
        "reused_score": [float(score(np.array([reused]))[0]) for score in scores],
    }
    return Table({name: np.array(column) for name, column in columns.items()})


def _slopes(table: Table) -> str:
    """How the best beta falls with the width, where it lies inside the range."""
    told = []
    for kind, found in groups(_inside(table.to_dataframe()), "kind"):
        product = found["beta"] * found["width"]
        width, beta = (np.log(found[column].to_numpy(dtype=np.float64)) for column in ("width", "beta"))
        fall = f"slope {np.polyfit(width, beta, 1)[0]:.3f}, " if len(found) > 1 else ""
        told.append(f"{LABELS[kind]}, {fall}beta d {product.min():.4g} to {product.max():.4g}")
    return f"Log best beta against log d: {'; '.join(told)}."


def _losses(table: Table) -> str:
    """What the beta of the widest costs the narrowest that has a best one, and how well those do that have none."""
    frame = table.to_dataframe()
    frame = frame[frame["kind"] == "simulated"]
    first, widest = _inside(frame).iloc[0], frame.iloc[-1]
    told = f"The best beta of width {widest['width']}, {widest['beta']:.3g}, gives {widest['score']:.3g} there"
    if first["width"] < widest["width"]:
        told += f" and {first['reused_score']:.3g} at width {first['width']}, whose own best gives {first['score']:.3g}"
    rising = [f"{row['score']:.3g} at width {row['width']}" for _, row in frame[frame["place"] == RISING].iterrows()]
    if rising:
        told += f". Open triangles: no best beta inside the searched range, where the score comes to {', '.join(rising)}"
    return f"{told}."


def _inside(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[frame["place"] == INSIDE]


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    with style.context():
        figure, panels = style.panels(1, 2, wide=1.4)
        betas, scores = panels.flat
        for kind, look in LOOKS.items():
            shown = frame[frame["kind"] == kind]
            inside = _inside(shown)
            betas.plot(inside["width"], inside["beta"], color=NEUTRAL, **look)
            for column, (_, colour) in SCORES.items():
                scores.plot(shown["width"], shown[column], color=colour, **look)
        for axes in panels.flat:
            axes.set_xlim(0.8 * frame["width"].min(), 1.25 * frame["width"].max())
            axes.set_xlabel("width $d$")
            double_axis(axes)
        log_axis(betas.yaxis)
        _mark_edges(betas, frame)
        betas.set(title="best beta", ylabel=r"$\beta$")
        scores.set(title="share read", ylim=(0.0, 1.0))
        entries = [(LABELS[kind], look) for kind, look in LOOKS.items()]
        entries += [(label, {"color": colour}) for label, colour in SCORES.values()]
        entries += [(r"no best $\beta$", EDGE)] if (frame["place"] == RISING).any() else []
        legend_below(figure, entries)
    return figure


def _mark_edges(axes: Axes, frame: pd.DataFrame) -> None:
    """Widths without a best beta inside the range, on the upper edge of the panel."""
    rising = frame[(frame["kind"] == "simulated") & (frame["place"] == RISING)]
    if len(rising):
        top = axes.get_ylim()[1]
        axes.plot(rising["width"], np.full(len(rising), top), color=NEUTRAL, clip_on=False, **EDGE)
        axes.set_ylim(top=top)
