"""The real network, matrices and all, over the exact curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.grid import OBJECTIVES, Setting
from dynamics.table import Table, stacked
from figures.drawing import Drawing, bound
from figures.plotting import draw_curves, draw_ticks, features_of, groups, label_outside, legend_below, share_axis
from figures.rows import critical, exact, in_order, last_time, simulated
from figures.style import COLOURS, NAMES, Style, shades, threshold

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dynamics.comparison import Simulation

LABELS = {"exact": "exact", "flow": "network, gradient flow", "descent": "network, gradient descent"}


def draw(
    style: Style,
    *,
    features: dyn.Features | None = None,
    depth: int = 3,
    predictor_depth: int = 1,
    epsilon: float = 0.02,
    fraction: float = 0.5,
    start: str = "orthogonal",
    learning_rate: float = 0.05,
    seed: int = 0,
) -> Drawing:
    """The trained network, by gradient flow and gradient descent, over the exact curves.

    Amplitude over its asymptote, read from the product of the encoder's matrices; ticks are the exact critical times.

    Parameters
    ----------
    start
        balanced, orthogonal, haar or gaussian, as for the command simulate.
    learning_rate
        Step of gradient descent.
    """
    features = features if features is not None else dyn.Features(lam=[1.0, 0.8, 0.65, 0.5], rho=[0.8, 1.1, 0.9, 1.2])
    how: dict[str, Any] = {"epsilon": epsilon, "fraction": fraction, "start": start, "seed": seed}
    parts, told = [], []
    for name in OBJECTIVES:
        setting = Setting(OBJECTIVES[name](depth, predictor_depth), epsilon, fraction)
        end = last_time(setting, features)
        runs = {
            "flow": dyn.simulate(setting.objective, features, until=end, **how),
            "descent": dyn.simulate(setting.objective, features, until=end, training=dyn.GradientDescent(learning_rate), **how),
        }
        parts += [exact(setting, features, end=end), critical(setting, features)]
        parts += [simulated(kind, run) for kind, run in runs.items()]
        told.append(in_order(setting, features))
        told += [f"{NAMES[name]}, {LABELS[kind]}: {_agreement(run)}" for kind, run in runs.items()]
    table = stacked(parts)
    caption = (
        f"Amplitude over its asymptote of a network of {depth} encoder and {predictor_depth} predictor layers,"
        f" {len(features)} x {len(features)} matrices from a start that is {start}, epsilon {epsilon:g}, learning rate"
        f" {learning_rate:g}; darker means larger lambda. Ticks: exact critical times, to {fraction} of the asymptote."
        f" {' '.join(told)}"
    )
    return Drawing(_picture(style, table), table, caption)


def _agreement(run: Simulation) -> str:
    """How far the simulated critical times are from the exact ones."""
    ratio = run.ratio[np.isfinite(run.ratio)]
    missing = int((np.isinf(run.time) & np.isfinite(run.experiment.predicted.time)).sum())
    lost = f", {missing} not learned within the run" if missing else ""
    remarks = "".join(f" {text}" for text in run.remarks())
    return f"critical times within {bound(np.abs(ratio - 1.0).max(initial=0.0))}{lost}.{remarks}"


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    ranked = features_of(frame.sort_values("lambda", kind="stable"))
    looks = {"exact": style.broad, "flow": style.thin, "descent": style.thin | {"linestyle": (0, (3, 2))}}
    with style.context():
        figure, panels = style.panels(1, 2, wide=1.4, sharey=True)
        for axes, (objective, shown) in zip(panels.flat, groups(frame, "objective"), strict=True):
            colours = dict(zip(ranked, shades(COLOURS[objective], len(ranked)), strict=True))
            threshold(axes, shown["fraction"].iloc[0])
            for kind, look in looks.items():
                own = dict.fromkeys(colours, "black") if kind == "descent" else colours
                draw_curves(axes, shown[shown["kind"] == kind], own, **look)
            draw_ticks(axes, shown[shown["kind"] == "critical-time"], colours)
            share_axis(axes)
            axes.set_xlim(0.0, shown["time"].where(shown["kind"] == "exact").max())
            axes.locator_params(axis="x", nbins=4)
            axes.set_title(NAMES[objective])
        label_outside(panels, "training time $t$", "$w/w^*$")
        legend_below(figure, [(LABELS[kind], look) for kind, look in looks.items()])
    return figure
