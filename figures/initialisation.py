"""The order of learning from starts that the theory does not cover, over many seeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.checks import whole_number
from dynamics.grid import OBJECTIVES, Setting
from dynamics.network.population import population_of
from dynamics.table import Table, stacked
from figures.drawing import Drawing
from figures.plotting import groups, label_outside, log_axis
from figures.rows import predicted, rows
from figures.style import COLOURS, MARKERS, NAMES, NEUTRAL, Style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {"balanced": "balanced", "orthogonal": "aligned", "haar": "not aligned", "gaussian": "Gaussian"}


def draw(
    style: Style,
    *,
    features: dyn.Features | None = None,
    start: Sequence[str] = ("orthogonal", "haar", "gaussian"),
    depth: int = 2,
    predictor_depth: int = 1,
    epsilon: float = 0.02,
    fraction: float = 0.5,
    seeds: int = 10,
    seed: int = 0,
) -> Drawing:
    """Order of learning against theory from random starts, many seeds.

    Networks trained by gradient flow from orthogonal layers with a predictor that undoes their turn (aligned) or does not,
    and from Gaussian layers; every seed is shown, also those that never learn a feature.

    Parameters
    ----------
    seeds, seed
        How many seeds, from which on.
    """
    features = features if features is not None else dyn.Features(lam=[1.0, 0.85, 0.7, 0.6, 0.5], rho=[0.7, 1.1, 0.8, 1.2, 1.0])
    whole_number("seeds", seeds, 1, 10_000)
    settings = [Setting(OBJECTIVES[name](depth, predictor_depth), epsilon, fraction) for name in OBJECTIVES]
    if all(np.all(predicted(one, features).status != dyn.Status.REACHED) for one in settings):
        predicted(settings[0], features).require_reached()
    table = stacked(
        _run(setting, features, kind, number) for setting in settings for kind in start for number in range(seed, seed + seeds)
    )
    compared = _compared(table)
    caption = (
        f"Simulated against predicted critical times (to {fraction} of the predicted asymptote) of those features that are"
        f" predicted to be learned, {compared['feature'].nunique()} of {len(features)},"
        f" in networks of {depth} encoder and {predictor_depth} predictor layers, epsilon {epsilon:g}, gradient flow from"
        f" {seeds} random starts each: orthogonal layers with a predictor that is aligned with them or not, and Gaussian"
        " layers; one marker a seed and feature, on the line where the theory is exact. Markers on the upper edge: not"
        " learned in a run four times (aligned: 1.3 times) as long as the theory needs for all features to come within a tenth"
        f" of their asymptotes. {_agreement(compared)} The theory is that of"
        " aligned starts; from others the order holds on average at best."
    )
    return Drawing(_picture(style, compared), table, caption)


def _compared(table: Table) -> pd.DataFrame:
    """The rows of features that are predicted to be learned after the start; the networks have the others too."""
    frame = table.to_dataframe()
    compared: pd.DataFrame = frame[np.isfinite(frame["predicted_time"]) & (frame["predicted_time"] > 0.0)]
    return compared


def _run(setting: Setting, features: dyn.Features, start: str, seed: int) -> Table:
    experiment = dyn.Experiment.of(setting, population_of(features), start=start, seed=seed, points=2)
    run = replace(experiment, until=experiment.horizon).run()
    times = {"predicted_time": experiment.predicted.time[:, None], "time": run.time[:, None]}
    return rows("run", setting, features, times, start=start, seed=seed)


def _agreement(compared: pd.DataFrame) -> str:
    """Spearman correlations over seeds, features that are not learned coming last, and how many these are."""
    from scipy.stats import spearmanr

    told = []
    for (objective, start), runs in groups(compared, "objective", "start"):
        values = [
            float(spearmanr(run["predicted_time"], run["time"].rank()).statistic)
            for _, run in groups(runs, "seed")
            if run["time"].nunique() > 1
        ]
        learned = np.isfinite(runs["time"]).mean()
        spread = f"{np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})" if values else "undefined"
        told.append(f"{NAMES[objective]}, {TITLES.get(start, start)}: {spread}, {learned:.0%} learned")
    return f"Spearman correlation of the two, mean and range over seeds, features not learned ranked last: {'; '.join(told)}."


def _picture(style: Style, frame: pd.DataFrame) -> Figure:
    starts, objectives = list(dict.fromkeys(frame["start"])), list(dict.fromkeys(frame["objective"]))
    with style.context():
        figure, panels = style.panels(len(objectives), len(starts), aspect=0.9, turn=True)
        for row, objective in enumerate(objectives):
            shown = frame[frame["objective"] == objective]
            for column, start in enumerate(starts):
                axes = panels[row, column]
                _scatter(axes, shown[shown["start"] == start], shown, COLOURS[objective], MARKERS[objective])
                axes.set_title(f"{NAMES[objective]}: {TITLES.get(start, start)}")
        label_outside(panels, "predicted time", "simulated time")
    return figure


def _scatter(axes: Axes, runs: pd.DataFrame, all_runs: pd.DataFrame, colour: str, marker: str) -> None:
    """One marker a seed and feature, those never learned on the upper edge; the limits are those of all starts."""
    learned = np.isfinite(runs["time"])
    predicted = all_runs["predicted_time"]
    seen = all_runs["time"][np.isfinite(all_runs["time"])]
    low, high = 0.8 * min(predicted.min(), seen.min()), 1.5 * max(predicted.max(), seen.max())
    look: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": "none", "alpha": 0.4, "markeredgewidth": 0.0}
    axes.plot(runs["predicted_time"][learned], runs["time"][learned], **look)
    lost = runs["predicted_time"][~learned]
    axes.plot(lost, np.full(len(lost), high), **(look | {"marker": "^", "clip_on": False, "in_layout": False}))
    exact = np.linspace(low, high, 200)
    axes.plot(exact, exact, color=NEUTRAL, linewidth=axes.spines["left"].get_linewidth(), zorder=0)
    axes.set(ylim=(low, high), xlim=(0.9 * predicted.min(), 1.1 * predicted.max()))
    axes.locator_params(axis="x", nbins=4)
    log_axis(axes.yaxis)
