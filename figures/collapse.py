"""Which features are lost to unbalanced starts and to weight decay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.checks import check_positive, whole_number
from dynamics.grid import Setting
from dynamics.table import Table, stacked
from figures.drawing import Drawing, bound
from figures.plotting import groups, legend_below, log_axis
from figures.rows import rows
from figures.style import COLOURS, DASH_CYCLE, NEUTRAL, Style, shades

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dynamics.features import FloatArray

SETTLED = 0.995
"""Share of the asymptote at which a network is taken to have come to its end, in predicted time."""

AT_LEAST = 100.0
"""Training time that a network of which nothing is learned is given, at least."""

TITLES = {"predictor_start": "unbalanced start", "weight_decay": "weight decay"}


def draw(
    style: Style,
    *,
    depth: int = 2,
    epsilon: float = 0.02,
    predictor_start: Sequence[float] = (0.3, 0.5, 0.7),
    decay_epsilon: Sequence[float] = (0.02, 0.1, 0.4),
    rho: float = 1.0,
    points: int = 201,
    networks: int = 11,
) -> Drawing:
    """Features that JEPA loses: to unbalanced starts and to weight decay.

    Amplitude at the end, by the mode equations and of the real network, against rho for predictors that start stronger than the
    encoder, and against weight decay for several starts; lambda is 1 and the predictor has one layer.

    Parameters
    ----------
    epsilon, predictor_start
        Amplitude of the encoder, and of the predictor's layer, at the unbalanced starts.
    decay_epsilon, rho
        Balanced starts under weight decay, and the feature that is learned from them.
    points, networks
        Values of rho and of the weight decay on the lines, and at which a network is trained.
    """
    check_positive("rho", rho)
    check_positive("epsilon", epsilon)
    objective = dyn.jepa(depth)
    for start in predictor_start:
        if not start > epsilon ** (1.0 / depth):
            raise dyn.ParameterError("predictor_start", start, "above epsilon^(1/depth), the layers of the encoder")
    whole_number("points", points, 2, 10_000)
    whole_number("networks", networks, 1, 100)
    fold = float(dyn.weight_decay_fold(objective, dyn.Features(lam=1.0, rho=rho))[0])
    parts = [
        _ends(Setting(objective, epsilon, 0.5), kind, features, dyn.Regime(predictor_start=start), "predictor_start")
        for start in predictor_start
        for kind, features in _range_of_rho(points, networks)
    ]
    parts += [
        _ends(
            Setting(objective, start, 0.5), kind, dyn.Features(lam=1.0, rho=rho), dyn.Regime(weight_decay=decay), "weight_decay"
        )
        for start in decay_epsilon
        for kind, decays in _range_of_decay(fold, points, networks)
        for decay in decays
    ]
    table = stacked(parts)
    layer = epsilon ** (1.0 / depth)
    lost = ", ".join(f"{np.sqrt(max(start**2 - layer**2, 0.0)):.3g} (v0 = {start:g})" for start in predictor_start)
    fading = ", ".join(f"{_unheld(objective, rho, start, fold):.3g} (epsilon = {start:g})" for start in decay_epsilon)
    caption = (
        f"Amplitude at the end under JEPA, depth {depth}, predictor depth 1, lambda 1. Lines: mode equations; circles: the"
        f" real network ({_agreement(table)}). Unbalanced start, epsilon {epsilon:g}: a predictor layer that starts at v0"
        f" loses every feature of rho below {lost}, the root of v0^2 - epsilon^(2/L). Weight decay, rho {rho:g}: the feature"
        f" is lost from a decay of {fading} on, and from any start at decays above {fold:.3g}, where the two fixed points meet"
        " (dotted)."
    )
    return Drawing(_picture(style, table, fold), table, caption)


def _range_of_rho(points: int, networks: int) -> list[tuple[str, dyn.Features]]:
    return [
        (kind, dyn.Features(lam=1.0, rho=np.linspace(0.2, 1.2, count)))
        for kind, count in (("predicted", points), ("simulated", networks))
    ]


def _range_of_decay(fold: float, points: int, networks: int) -> list[tuple[str, FloatArray]]:
    return [
        (kind, np.geomspace(1e-3 * fold, 2.0 * fold, count)) for kind, count in (("predicted", points), ("simulated", networks))
    ]


def _ends(setting: Setting, kind: str, features: dyn.Features, regime: dyn.Regime, cause: str) -> Table:
    predicted = _predicted(setting, features, regime)
    end = predicted if kind == "predicted" else _simulated(setting, features, regime)
    columns = {"final_amplitude": end[:, None], "predicted_amplitude": predicted[:, None]}
    return rows(kind, setting, features, columns, cause=cause, value=getattr(regime, cause))


def _predicted(setting: Setting, features: dyn.Features, regime: dyn.Regime) -> FloatArray:
    return dyn.mode_times(setting.objective, features, epsilon=setting.epsilon, regime=regime).asymptote


def _simulated(setting: Setting, features: dyn.Features, regime: dyn.Regime) -> FloatArray:
    """Amplitudes of one network that learns all features at once, long after the last one is predicted to have settled."""
    how: dict[str, Any] = {"epsilon": setting.epsilon, "regime": regime}
    settled = dyn.mode_times(setting.objective, features, fraction=SETTLED, **how).time
    until = 2.0 * settled[np.isfinite(settled)].max(initial=AT_LEAST)
    return dyn.simulate(setting.objective, features, until=until, points=2, **how).amplitude


def _unheld(objective: dyn.Objective, rho: float, epsilon: float, fold: float) -> float:
    """Weight decay from which on a balanced feature of lambda 1 is lost: from below the peak of its rate it must grow."""
    layer, a, b = epsilon ** (1.0 / objective.depth), objective.a, objective.b
    peak = (rho * (a - 1) / (a - 1 + b)) ** (1.0 / b)
    return fold if layer >= peak else float(layer ** (a - 1) * (1.0 - layer**b / rho))


def _agreement(table: Table) -> str:
    """How far the networks end from the mode equations."""
    frame = table.to_dataframe()
    held = frame[(frame["kind"] == "simulated") & (frame["predicted_amplitude"] > 0.0)]
    gap = np.abs(held["final_amplitude"] - held["predicted_amplitude"]).max() if len(held) else 0.0
    return f"within {bound(float(gap))} where the feature is held; crosses: lost"


def _picture(style: Style, table: Table, fold: float) -> Figure:
    frame = table.to_dataframe()
    with style.context():
        figure, panels = style.panels(1, 2, wide=1.4)
        starts, decays = (frame[frame["cause"] == cause] for cause in TITLES)
        plain = starts[starts["kind"] == "predicted"].drop_duplicates("rho")
        panels[0, 0].plot(plain["rho"], plain["asymptote"], color=NEUTRAL, linestyle=":", label="balanced")
        _draw_ends(panels[0, 0], starts, "rho", "value", "v_0")
        panels[0, 1].axvline(fold, color=NEUTRAL, linestyle=":", label="fold")
        _draw_ends(panels[0, 1], decays, "value", "epsilon", r"\epsilon")
        log_axis(panels[0, 1].xaxis)
        for axes, cause, label in zip(panels.flat, TITLES, (r"$\rho$", r"weight decay $\eta$"), strict=True):
            axes.set(title=TITLES[cause], xlabel=label, ylabel="final amplitude $w$")
            axes.set_ylim(top=1.35 * axes.get_ylim()[1])
            axes.legend(loc="upper center", ncols=2, handlelength=1.4, columnspacing=0.8)
        marks = [(label, {"linestyle": "none", "marker": marker}) for label, marker in (("network", "o"), ("lost", "x"))]
        legend_below(figure, [("mode equation", {}), *marks])
    return figure


def _draw_ends(axes: Axes, frame: pd.DataFrame, along: str, by: str, symbol: str) -> None:
    """Amplitude at the end along one column, a line for each value of another."""
    parts = list(groups(frame, by))
    for (value, shown), dashes, colour in zip(parts, DASH_CYCLE, shades(COLOURS["jepa"], len(parts)), strict=False):
        line, network = (shown[shown["kind"] == kind] for kind in ("predicted", "simulated"))
        axes.plot(line[along], line["final_amplitude"], color=colour, linestyle=dashes, label=f"${symbol}={value:g}$")
        held = network["predicted_amplitude"] > 0.0
        for part, marker in ((network[held], "o"), (network[~held], "x")):
            axes.plot(part[along], part["final_amplitude"], color=colour, linestyle="none", marker=marker)
