"""What the figures of the generative models share: a model's predictions, and networks trained on a sample of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.grid import Setting
from dynamics.table import Table, stacked
from figures.plotting import draw_curves, draw_ticks, features_of, groups, legend_below, share_axis
from figures.rows import critical, exact, first_time, last_time, predicted, rows
from figures.style import COLOURS, NAMES, NEUTRAL, Style, shades, threshold

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dynamics.generative import MaskedPixels, NoisyAutoregression
    from dynamics.network.population import Data

CIRCLE: dict[str, Any] = {"marker": "o", "markerfacecolor": "none", "markeredgecolor": "black"}
CROSS: dict[str, Any] = {"marker": "x"}
"""Predicted and simulated critical times."""

DRAWN = (
    "Broad: exact curves of the model's formulas, with their critical times as ticks; dashed: simulated, the polar amplitude,"
    " because data turn the encoder in a frame that neither objective sees. Both are over the predicted asymptote; darker means"
    " larger lambda. Last panel: critical times, predicted (circles) and simulated (crosses)."
)


def how(depth: int, predictor_depth: int, epsilon: float) -> str:
    """How the networks were trained, up to the data."""
    network = f"Networks of depth {depth}, predictor depth {predictor_depth}, epsilon {epsilon:g}"
    return f"{network}, trained by gradient flow on one sample of"


def predicted_and_simulated(settings: Sequence[Setting], features: dyn.Features, data: Data) -> Table:
    """Exact curves and critical times of a model's features, and those of networks trained on a sample of it.

    Features that no network learns, of lambda 0 or less, are left out. Simulated amplitudes are polar, and learned is what
    reaches the share of the asymptote that the *model* predicts.
    """
    shown = np.flatnonzero(features.lam > 0.0)
    if not len(shown):
        raise dyn.LindynError("No feature of this model has a positive lambda, so none is ever learned.")
    return stacked(part for setting in settings for part in _parts(setting, features[shown], data, shown))


def _parts(setting: Setting, features: dyn.Features, data: Data, shown: Any) -> tuple[Table, ...]:
    end = last_time(setting, features, margin=1.5)
    objective, epsilon, fraction = setting.objective, setting.epsilon, setting.fraction
    curves = dyn.simulate(objective, data, epsilon=epsilon, fraction=fraction, until=end).curves
    seen = curves.polar_amplitude[shown]
    level = fraction * predicted(setting, features).asymptote
    learned = {"time": first_time(curves.time, seen, level)[:, None], "amplitude": level[:, None]}
    return (
        exact(setting, features, end=end),
        critical(setting, features),
        rows("simulated", setting, features, {"time": curves.time[None, :], "amplitude": seen}),
        rows("simulated-time", setting, features, learned),
    )


def outcome(table: Table, objective: str) -> str:
    """How the simulated times of one objective compare with the predicted ones, in a sentence."""
    from scipy.stats import spearmanr

    kind, mine = np.asarray(table.columns["kind"]), np.asarray(table.columns["objective"]) == objective
    time = np.asarray(table.columns["time"], dtype=np.float64)
    predicted, simulated = (time[mine & (kind == name)] for name in ("critical-time", "simulated-time"))
    learned = np.isfinite(simulated) & np.isfinite(predicted) & (predicted > 0.0)
    told = f"{NAMES[objective]} learned {learned.sum()} of {len(learned)} in the run"
    if len(set(predicted[learned])) < 2:
        return f"{told}."
    correlation = spearmanr(predicted[learned], simulated[learned]).statistic
    furthest = np.abs(simulated[learned] / predicted[learned] - 1.0).max()
    return f"{told}: Spearman {correlation:.3f} against prediction, times within {100.0 * furthest:.2g}%."


def departure(model: MaskedPixels | NoisyAutoregression, data: Data) -> str:
    """How far a sample is from the model that it was drawn from, in a sentence."""
    features, estimated = model.features(), data.basis.features
    shown = features.lam != 0.0
    lam, rho = (
        100.0 * np.abs(found[shown] / given[shown] - 1.0).max()
        for found, given in ((estimated.lam, features.lam), (estimated.rho, features.rho))
    )
    overlap = np.abs(np.einsum("ij,ij->j", model.directions, data.basis.directions)).min()
    return (
        f"The sample's features, matched to the model's by overlap (at least {overlap:.4f}), have lambda within {lam:.2g}%"
        f" and rho within {rho:.2g}% of the model's; relative commutator {data.basis.commutator:.1g}."
    )


def picture(style: Style, table: Table) -> Figure:
    """JEPA, MAE, and the critical times of both against each other."""
    frame = table.to_dataframe()
    broad, thin = style.broad, style.thin | {"linestyle": "--"}
    with style.context():
        figure, panels = style.panels(1, 3, aspect=0.95)
        *curves, last = panels[0]
        for axes, (objective, run) in zip(curves, groups(frame, "objective"), strict=True):
            ranked = features_of(run.sort_values("lambda", kind="stable"))
            colours = dict(zip(ranked, shades(COLOURS[objective], len(ranked)), strict=True))
            threshold(axes, run["fraction"].iloc[0])
            draw_curves(axes, run[run.kind == "exact"], colours, **broad)
            draw_curves(axes, run[run.kind == "simulated"], dict.fromkeys(ranked, "black"), **thin)
            draw_ticks(axes, run[run.kind == "critical-time"], colours)
            share_axis(axes)
            axes.set_xlim(0.0, run.loc[run.kind == "exact", "time"].max())
            axes.locator_params(axis="x", nbins=4)
            axes.set(title=NAMES[objective], xlabel="training time $t$")
        curves[0].set_ylabel("$w/w^*$")
        _draw_times(last, frame, broad)
        predicted, simulated = CIRCLE | broad, {"color": "black"} | CROSS | thin
        legend_below(figure, [("exact, the model's formulas", predicted), ("simulated on a sample", simulated)])
    return figure


def _draw_times(axes: Axes, frame: pd.DataFrame, broad: Mapping[str, Any]) -> None:
    """A point a feature that both objectives learn."""
    for kind, look in (("critical-time", CIRCLE), ("simulated-time", CROSS)):
        shown = frame[(frame.kind == kind) & np.isfinite(frame.time)].set_index("feature")
        jepa, mae = (shown.loc[shown.objective == objective, "time"] for objective in ("jepa", "mae"))
        both = mae[mae.index.isin(jepa.index)].sort_values()
        if kind == "critical-time":
            axes.plot(both, jepa[both.index], color=NEUTRAL, **broad)
        axes.plot(both, jepa[both.index], color="black", linestyle="none", **look)
    axes.margins(0.12)
    axes.locator_params(nbins=4)
    axes.set(xlabel="critical time, MAE", ylabel="critical time, JEPA", title="order")
