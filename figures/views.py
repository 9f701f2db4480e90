"""How many views of an image are best at a fixed number of views in all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.checks import whole_number
from dynamics.errors import ParameterError
from dynamics.multiview.alignment import AlignmentError, alignment_error
from dynamics.multiview.sampled_views import simulated_error
from dynamics.table import Columns, Table, stacked
from figures.drawing import Drawing
from figures.plotting import double_axis, legend_below
from figures.style import NEUTRAL, PALETTE, Style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dynamics.features import FloatArray

POINTS = 120
"""Points of the law's curve."""

LAW: dict[str, Any] = {"color": PALETTE[0]}
SAMPLES: dict[str, Any] = {"color": PALETTE[1], "linestyle": "none", "marker": "o"}


def draw(
    style: Style,
    *,
    rho: Sequence[float] = (0.9, 0.8, 0.7, 0.55, 0.4, 0.3, 0.2, 0.1),
    width: int = 3,
    budget: int = 8000,
    views: Sequence[int] = (2, 3, 4, 5, 8, 16, 32),
    replicates: int = 2000,
    seed: int = 0,
) -> Drawing:
    """Error of the learned modes against the number of views of an image, at a fixed number of views in all.

    The error is 1 - alignment of the leading modes of whitened Gaussian views with the true ones, to first order in one over
    the number of images, and of samples.

    Parameters
    ----------
    rho
        Regression coefficient between views of every mode, in (0, 1).
    width
        Leading modes that are learned.
    budget
        Views of all images together.
    views
        Views of an image at which samples are drawn; the law is drawn from the least of them to the most.
    replicates
        Samples over which the mean is taken.
    """
    law = alignment_error(rho, width)
    tried = np.array(sorted({whole_number("views", number, 2) for number in views}))
    if len(tried) < 2:
        raise ParameterError("views", ", ".join(map(str, views)), "at least two different numbers")
    most = int(tried[-1])
    whole_number("budget", budget, most * max(most, len(rho)))
    line = np.geomspace(tried[0], tried[-1], POINTS)
    at_budget = (law.images + law.views / line + law.pairs / (line * (line - 1.0))) * line / budget
    samples = np.array([_sampled(rho, width, budget, number, replicates, seed) for number in tried.tolist()])
    table = stacked(
        [
            _rows("law", width, law, {"views": line, "images": budget / line, "error": at_budget}),
            _rows("simulated", width, law, {"views": tried, "images": budget // tried, "error": samples[:, 0]}, samples[:, 1]),
        ]
    )
    return Drawing(_picture(style, table), table, _caption(table, law, len(rho), budget, replicates))


def _sampled(rho: Sequence[float], width: int, budget: int, views: int, replicates: int, seed: int) -> tuple[float, float]:
    how = {"images": budget // views, "views": views, "replicates": replicates, "seed": seed + views}
    return simulated_error(rho, width, **how)


def _rows(kind: str, width: int, law: AlignmentError, columns: Columns, standard_error: FloatArray | float = 0.0) -> Table:
    count = len(columns["views"])
    marks: Columns = {"kind": kind, "width": width, "best_views": law.best_views, "standard_error": standard_error}
    return Table({name: np.broadcast_to(value, count) for name, value in marks.items()} | columns)


def _caption(table: Table, law: AlignmentError, modes: int, budget: int, replicates: int) -> str:
    frame = table.to_dataframe()
    simulated = frame[frame["kind"] == "simulated"]
    number, error, deviation = (simulated[column].to_numpy() for column in ("views", "error", "standard_error"))
    ratio = error / [law.expected(budget // int(one), int(one)) for one in number]
    best = error.argmin()
    tied = number[error - error[best] <= 2.0 * np.hypot(deviation, deviation[best])]
    return (
        f"Error (1 - alignment with the true ones) of the {frame['width'].iloc[0]} leading of {modes} modes of whitened views"
        f" against the views m of an image, at {budget} views in all. Line: first-order law, (a + b/m + c/(m(m - 1)))/n with a"
        f" = {law.images:.3g}, b = {law.views:.3g}, c = {law.pairs:.3g} and n images; tick: its least at m = 1 + sqrt(c/a) ="
        f" {law.best_views:.3g}. Circles: all-pairs estimates of Gaussian samples, mean of {replicates} with two standard"
        f" errors, {ratio.min():.3g} to {ratio.max():.3g} times the law; least, within two standard errors, at m ="
        f" {', '.join(f'{one:g}' for one in tied)}, and at m = {number[-1]:g} {error[-1] / error[best]:.3g} times the least."
    )


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    frame["spread"] = 2.0 * frame["standard_error"]
    law, simulated = (frame[frame["kind"] == kind] for kind in ("law", "simulated"))
    with style.context():
        figure, panels = style.panels(1, 1, aspect=0.9)
        axes = panels[0, 0]
        axes.plot(law["views"], law["error"], **LAW)
        axes.errorbar(*(simulated[column] for column in ("views", "error", "spread")), elinewidth=style.hair, **SAMPLES)
        axes.axvline(frame["best_views"].iloc[0], 0.0, 0.12, color=NEUTRAL)
        double_axis(axes)
        axes.set(xlabel="views of an image $m$", ylabel="error", ylim=(0.0, None))
        legend_below(
            figure,
            [
                ("first-order law", LAW),
                ("samples", SAMPLES),
                ("best $m$", {"linestyle": "none", "marker": "|", "markersize": style.size}),
            ],
        )
    return figure
