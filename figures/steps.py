"""Predicted against measured numbers of gradient-descent steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.grid import OBJECTIVES, Setting
from dynamics.table import Table, stacked
from figures.drawing import Drawing, bound
from figures.plotting import features_of, groups, label_outside, legend_below, log_axis
from figures.rows import rows
from figures.style import COLOURS, MARKER_CYCLE, NAMES, Style, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(
    style: Style,
    *,
    features: dyn.Features | None = None,
    learning_rate: Sequence[float] = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2),
    depth: int = 2,
    predictor_depth: int = 1,
    epsilon: float = 0.02,
    fraction: float = 0.5,
) -> Drawing:
    """Steps of gradient descent: critical time over learning rate against the measured number.

    The first-order prediction above, its relative error below, with that of the equation of one feature to the third power of
    the learning rate.

    Parameters
    ----------
    learning_rate
        Steps of the gradient descent that is run.
    """
    features = features if features is not None else dyn.Features(lam=[1.0, 0.7, 0.5], rho=[0.8, 1.2, 0.9])
    settings = [Setting(OBJECTIVES[name](depth, predictor_depth), epsilon, fraction) for name in OBJECTIVES]
    table = stacked(_steps(setting, features, rate) for setting in settings for rate in learning_rate)
    frame = table.to_dataframe()
    told = []
    for objective, shown in groups(frame, "objective"):
        first, refined = (np.abs(shown[name]) for name in ("first_order_error", "refined_error"))
        told.append(f"{NAMES[objective]} {bound(first.max())} and {bound(refined.max())}")
    caption = (
        f"Steps until each feature reaches {fraction} of its asymptote in a network of {depth} encoder and"
        f" {predictor_depth} predictor layers, epsilon {epsilon:g}, against the learning rate; darker means larger lambda."
        " Lines: critical time over learning rate; markers: measured (between steps, where the line through two of them"
        " crosses). Error: relative to the measured number, of the first order (filled) and of the equation of one feature"
        f" to the third power of the learning rate (open). Greatest errors: {'; '.join(told)}."
    )
    return Drawing(_picture(style, table), table, caption)


def _steps(setting: Setting, features: dyn.Features, rate: float) -> Table:
    how: dict[str, Any] = {"epsilon": setting.epsilon, "fraction": setting.fraction}
    flow = dyn.critical_times(setting.objective, features, **how)
    flow.require_reached()
    refined = dyn.mode_times(setting.objective, features, learning_rate=rate, **how).time
    descent = dyn.GradientDescent(rate)
    measured = dyn.simulate(setting.objective, features, training=descent, points=2, **how).time
    steps = {"measured_steps": measured / rate, "first_order_steps": flow.time / rate, "refined_steps": refined / rate}
    errors = {"first_order_error": flow.time / measured - 1.0, "refined_error": refined / measured - 1.0}
    return rows(
        "steps", setting, features, {name: column[:, None] for name, column in (steps | errors).items()}, learning_rate=rate
    )


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    ranked = features_of(frame.sort_values("lambda", kind="stable"))
    with style.context():
        figure, panels = style.panels(2, 2, sharex=True, sharey="row")
        for column, (objective, shown) in enumerate(groups(frame, "objective")):
            colours = dict(zip(ranked, shades(COLOURS[objective], len(ranked)), strict=True))
            steps, errors = panels[:, column]
            for (feature, line), marker in zip(groups(shown, "feature"), MARKER_CYCLE, strict=False):
                look: dict[str, Any] = {"color": colours[str(feature)], "marker": marker}
                rate = line["learning_rate"]
                steps.plot(rate, line["first_order_steps"], color=colours[str(feature)])
                steps.plot(rate, line["measured_steps"], linestyle="none", **look)
                errors.plot(rate, np.abs(line["first_order_error"]), **look)
                errors.plot(rate, np.abs(line["refined_error"]), linestyle="--", markerfacecolor="white", **look)
            for axis in (steps.xaxis, steps.yaxis, errors.xaxis, errors.yaxis):
                log_axis(axis)
            steps.set_title(NAMES[objective])
        label_outside(panels, "learning rate", "")
        panels[0, 0].set_ylabel("steps")
        panels[1, 0].set_ylabel("relative error")
        entries = [("time over learning rate", {}), ("measured", {"linestyle": "none", "marker": "o"})]
        legend_below(figure, [*entries, ("third power", {"linestyle": "--", "marker": "o", "markerfacecolor": "white"})])
    return figure
