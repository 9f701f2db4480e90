"""Greedy learning under JEPA and MAE: which feature is learned first, in three scenarios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import dynamics as dyn
from dynamics.checks import check_positive, whole_number
from dynamics.grid import OBJECTIVES, Setting
from dynamics.table import Table, stacked
from figures.drawing import Drawing
from figures.plotting import draw_curves, draw_ticks, features_of, label_outside, share_axis
from figures.rows import critical, exact, in_order, last_time
from figures.style import COLOURS, NAMES, Style, shades, threshold

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {
    "lambda": r"$\rho=1$, $\lambda$ varies",
    "rho": r"$\lambda=1$, $\rho$ varies",
    "opposed": r"$\lambda$ up, $\rho$ down",
}
DEPTHS = range(1, 33)
"""Depths at which the caption may say how far the order is inverted."""


def draw(
    style: Style,
    *,
    features: dyn.Features | None = None,
    lowest: float = 0.6,
    highest: float = 1.2,
    weakest: float = 0.8,
    count: int = 5,
    depth: int = 5,
    predictor_depth: int = 1,
    epsilon: float = 0.01,
    fraction: float = 0.5,
) -> Drawing:
    """Which feature is learned first under JEPA and MAE: three scenarios.

    Exact curves of the amplitude over its asymptote, with the critical times as ticks. Lambda alone varies, rho alone varies,
    or lambda rises while rho falls; each under both objectives.

    Parameters
    ----------
    lowest, highest
        Rho of the first and last feature where rho varies.
    weakest
        Lambda of the first feature where lambda varies; the last has 1.
    count
        Features a scenario.
    """
    scenarios = _scenarios(lowest, highest, weakest, count) if features is None else {"given": features}
    objectives = (dyn.jepa(depth, predictor_depth), dyn.mae(depth, predictor_depth))
    settings = [Setting(objective, epsilon, fraction) for objective in objectives]
    table = stacked(_panel(setting, given, name) for name, given in scenarios.items() for setting in settings)
    caption = (
        f"Amplitude over its asymptote against time for JEPA and MAE, depth {depth}, predictor depth"
        f" {predictor_depth}, epsilon {epsilon:g}. Exact curves; ticks are the critical times, at which a feature reaches"
        f" {fraction} of its asymptote."
    )
    if features is None:
        caption += " Darker means larger lambda, or larger rho where rho alone varies. " + _inversion(
            scenarios["opposed"], predictor_depth, epsilon, fraction
        )
    else:
        caption += f" Darker means larger lambda. {' '.join(in_order(setting, features) for setting in settings)}"
    return Drawing(_picture(style, table), table, caption)


def _scenarios(lowest: float, highest: float, weakest: float, count: int) -> dict[str, dyn.Features]:
    for name, value in (("lowest", lowest), ("highest", highest), ("weakest", weakest)):
        check_positive(name, value)
    whole_number("count", count, 2, 100)
    if not lowest < highest:
        raise dyn.ParameterError("highest", highest, f"above lowest, {lowest:g}")
    if not weakest < 1.0:
        raise dyn.ParameterError("weakest", weakest, "below 1, the largest lambda")
    rising, lam = np.linspace(lowest, highest, count), np.linspace(weakest, 1.0, count)
    return {
        "lambda": dyn.Features(lam=lam, rho=1.0),
        "rho": dyn.Features(lam=1.0, rho=rising),
        "opposed": dyn.Features(lam=lam, rho=rising[::-1]),
    }


def _panel(setting: Setting, features: dyn.Features, scenario: str) -> Table:
    end = last_time(setting, features)
    return stacked([exact(setting, features, end=end, scenario=scenario), critical(setting, features, scenario=scenario)])


def _inversion(features: dyn.Features, predictor_depth: int, epsilon: float, fraction: float) -> str:
    """At which depths each objective follows rho throughout, or in part, where lambda and rho are opposed."""
    told = []
    for name, make in OBJECTIVES.items():
        complete, partial, last = [], [], 0
        for depth in DEPTHS:
            found = dyn.critical_times(make(depth, predictor_depth), features, epsilon=epsilon, fraction=fraction)
            if not np.all(found.status == dyn.Status.REACHED):
                break
            last, later = depth, np.diff(found.log10_time) > 0.0
            if later.all():
                complete.append(depth)
            elif later.any():
                partial.append(depth)
        kinds = (("complete", complete), ("partial", partial))
        inverted = " and ".join(f"{kind} at {_depths(depths)}" for kind, depths in kinds if depths)
        told.append(f"{NAMES[name]}'s is {inverted or 'absent'} (depths up to {last} compared)")
    return f"Where lambda rises while rho falls, the inversion of the order of lambda: {'; '.join(told)}."


def _depths(depths: Sequence[int]) -> str:
    """Depths in words: a run of three or more by its ends."""
    if len(depths) > 2 and depths[-1] - depths[0] == len(depths) - 1:
        return f"depths {depths[0]} to {depths[-1]}"
    named = ", ".join(map(str, depths))
    return f"depth {named}" if len(depths) == 1 else f"depths {named}"


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    scenarios, objectives = list(dict.fromkeys(frame["scenario"])), list(dict.fromkeys(frame["objective"]))
    with style.context():
        if len(scenarios) == 1:
            figure, side_by_side = style.panels(1, len(objectives), wide=1.4)
            panels = side_by_side.T
        else:
            figure, panels = style.panels(len(objectives), len(scenarios), aspect=0.85, turn=True)
        for row, objective in enumerate(objectives):
            for column, scenario in enumerate(scenarios):
                axes, shown = panels[row, column], frame[(frame.objective == objective) & (frame.scenario == scenario)]
                key = "rho" if scenario == "rho" else "lambda"
                ranked = features_of(shown.sort_values(key, kind="stable"))
                colours = dict(zip(ranked, shades(COLOURS[objective], len(ranked)), strict=True))
                threshold(axes, shown["fraction"].iloc[0])
                draw_curves(axes, shown[shown.kind == "exact"], colours)
                draw_ticks(axes, shown[shown.kind == "critical-time"], colours)
                share_axis(axes)
                axes.set_xlim(0.0, shown["time"].where(shown.kind == "exact").max())
                axes.locator_params(axis="x", nbins=3)
                axes.set_title(f"{NAMES[objective]}" + (f": {TITLES[scenario]}" if scenario in TITLES else ""))
        label_outside(panels, "training time $t$", "$w/w^*$")
    return figure
