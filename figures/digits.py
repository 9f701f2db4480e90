"""The first features that JEPA and MAE learn of handwritten digits, as images, and the real network on the same data."""

from __future__ import annotations

from importlib.resources import as_file, files
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.checks import whole_number
from dynamics.feature_basis import diagonalise
from dynamics.grid import OBJECTIVES, Setting
from dynamics.matrices import read_matrix
from dynamics.network.population import Data
from dynamics.table import Table, stacked
from dynamics.views import masked, second_moments
from figures.drawing import Drawing
from figures.plotting import draw_curves, draw_ticks, legend_below, share_axis
from figures.rows import critical, exact, first_time, predicted, rows
from figures.style import COLOURS, NAMES, Style, shades, threshold

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dynamics.comparison import Simulation

    IntArray = npt.NDArray[np.intp]

LABELS = {"exact": "theory of features that do not mix", "network": "network trained on the images"}
END = 1.4
"""How many times the last of the critical times the curves are followed."""


def draw(
    style: Style,
    *,
    data: str = "digits",
    keep: float = 0.5,
    count: int = 6,
    depth: int = 3,
    predictor_depth: int = 1,
    epsilon: float = 0.02,
    fraction: float = 0.5,
) -> Drawing:
    """The first features that JEPA and MAE learn of handwritten digits, and the network on that data.

    Images are the directions of the features, in the order in which they are predicted to be learned, with the predicted time
    above. Curves are amplitudes over the predicted asymptotes, of the theory and of the real network on the masked digits.

    Parameters
    ----------
    data
        ``digits`` for 1,797 handwritten digits, or a file of square images, one a row (.npy, .npz, CSV, TSV or Parquet).
    keep
        Probability that a pixel of x is seen; y is the whole image.
    count
        Features shown of each objective.
    """
    whole_number("count", count, 1, 12)
    views = masked(_images(data), keep=keep)
    found = Data(views, diagonalise(second_moments(views)))
    settings = [Setting(OBJECTIVES[name](depth, predictor_depth), epsilon, fraction) for name in OBJECTIVES]
    parts, told = [], []
    for setting in settings:
        first = _first(setting, found.basis.features, count)
        run = _trained(setting, found, first)
        parts.append(_of_objective(setting, found, first, run))
        told.append(f"{NAMES[setting.objective.name]}: {_agreement(setting, found, first, run)}")
    basis = found.basis
    caption = (
        f"The first features of {basis.moments.count} images that networks of depth {depth}, predictor depth"
        f" {predictor_depth}, epsilon {epsilon:g} learn; pixels of x are seen with probability {keep:g}, y is the whole"
        f" image. Images: directions of the features, with the predicted critical time (to {fraction} of the asymptote)."
        " Broad: the exact curve of features that do not mix; thin: the real network, the diagonal of (W'W)^(1/2) over the"
        f" predicted asymptote; ticks: predicted critical times; darker is earlier. {' '.join(told)} Off-diagonal share of"
        f" Sxx {basis.input_off_diagonal:.2g}, commutator {basis.commutator:.2g}: a feature that falls back mixes"
        " with those learned later."
    )
    table = stacked(parts)
    return Drawing(_picture(style, table), table, caption)


def _images(data: str) -> npt.NDArray[np.number]:
    """Rows of square images."""
    if data == "digits":
        with as_file(files("figures") / "digits.npz") as path:
            values = read_matrix(str(path), ()).values
    else:
        values = read_matrix(data, ()).values
    if isqrt(values.shape[1]) ** 2 != values.shape[1]:
        raise dyn.ParameterError("data", f"rows of {values.shape[1]} numbers", "rows of square images, such as 64 numbers")
    return np.asarray(values)


def _first(setting: Setting, features: dyn.Features, count: int) -> IntArray:
    """Positions of the features that are learned first."""
    found = predicted(setting, features)
    after = np.flatnonzero(found.status == dyn.Status.REACHED)
    if not len(after):
        found.require_reached()
    return after[np.argsort(found.log10_time[after], kind="stable")[:count]]


def _trained(setting: Setting, data: Data, first: IntArray) -> Simulation:
    times = predicted(setting, data.basis.features).time
    how: dict[str, Any] = {"epsilon": setting.epsilon, "fraction": setting.fraction, "until": END * float(times[first].max())}
    return dyn.simulate(setting.objective, data, **how)


def _of_objective(setting: Setting, data: Data, first: IntArray, run: Simulation) -> Table:
    """Curves and critical times of the first features, and their images, one row a pixel."""
    features, curves, blank = data.basis.features[first], run.curves, {"pixel": None, "intensity": None}
    images = np.zeros((len(first), data.views.width))
    images[:, data.basis.moments.columns_kept] = data.basis.directions[:, first].T
    seen = {"time": curves.time[None, :], "amplitude": curves.polar_amplitude[first]}
    pixels = {"time": np.nan, "amplitude": np.nan, "pixel": np.arange(images.shape[1])[None, :], "intensity": images}
    return stacked(
        [
            exact(setting, features, end=float(curves.time[-1]), **blank),
            critical(setting, features, **blank),
            rows("network", setting, features, seen, **blank),
            rows("image", setting, features, pixels),
        ]
    )


def _agreement(setting: Setting, data: Data, first: IntArray, run: Simulation) -> str:
    """How well the network's times, by polar amplitude, agree with the predicted ones."""
    found = predicted(setting, data.basis.features[first])
    level, amplitude = setting.fraction * found.asymptote, run.curves.polar_amplitude[first]
    time = first_time(run.curves.time, amplitude, level)
    learned = np.isfinite(time)
    off, kept = np.abs(time / found.time - 1.0)[learned], (amplitude[:, -1] >= level).sum()
    return (
        f"{learned.sum()} of {len(first)} reach the threshold, at times within {off.max(initial=0.0):.1%} of the predicted"
        f" ones, and {kept} are above it at the end."
    )


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    objectives, looks = list(dict.fromkeys(frame["objective"])), {"exact": style.broad, "network": style.thin}
    with style.context():
        figure, images, panels = _layout(style, len(objectives), frame.groupby("objective")["feature"].nunique().max())
        for objective, row, axes in zip(objectives, images, panels, strict=True):
            shown = frame[frame["objective"] == objective]
            order = list(shown[shown["kind"] == "critical-time"]["feature"])
            _draw_images(row, shown, order)
            row[0].set_ylabel(NAMES[objective])
            colours = dict(zip(order, reversed(shades(COLOURS[objective], len(order))), strict=True))
            threshold(axes, shown["fraction"].iloc[0])
            for kind, look in looks.items():
                draw_curves(axes, shown[shown["kind"] == kind], colours, **look)
            draw_ticks(axes, shown[shown["kind"] == "critical-time"], colours)
            share_axis(axes)
            axes.set_xlim(0.0, shown["time"].max())
            axes.locator_params(axis="x", nbins=4)
            axes.set(title=NAMES[objective], xlabel="training time $t$", ylabel="$w/w^*$")
        legend_below(figure, [(LABELS[kind], look) for kind, look in looks.items()])
    return figure


def _layout(style: Style, objectives: int, count: int) -> tuple[Figure, npt.NDArray[Any], list[Axes]]:
    """A row of images for each objective above a panel of curves for each."""
    from matplotlib.figure import Figure

    image = style.width / (count + 0.5)
    curves = 0.5 * style.width / objectives + 5.5 * style.size / 72.0
    heights = [image + 1.5 * style.size / 72.0] * objectives + [curves]
    figure = Figure(figsize=(style.width, sum(heights)), layout="constrained")
    grid = figure.add_gridspec(2, 1, height_ratios=[sum(heights[:-1]), heights[-1]])
    images = grid[0].subgridspec(objectives, count).subplots(squeeze=False)
    return figure, images, list(grid[1].subgridspec(1, objectives).subplots(squeeze=False).flat)


def _draw_images(row: npt.NDArray[Any], shown: pd.DataFrame, order: list[str]) -> None:
    """The directions of the features, zero in the middle of the grey scale, the predicted time above."""
    for axes, feature in zip(row, order, strict=False):
        own = shown[shown["feature"] == feature]
        pixels = own[own["kind"] == "image"]["intensity"].to_numpy(dtype=float)
        side, most = isqrt(len(pixels)), np.abs(pixels).max()
        axes.imshow(pixels.reshape(side, side), cmap="gray", vmin=-most, vmax=most, interpolation="nearest")
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_visible(False)
        axes.set_title(f"{own[own['kind'] == 'critical-time']['time'].iloc[0]:.3g}")
    for spare in row[len(order) :]:
        spare.set_axis_off()
