"""What an EMA teacher does to the critical times of JEPA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.checks import whole_number
from dynamics.grid import Setting
from dynamics.table import Table, stacked
from figures.drawing import Drawing, bound
from figures.plotting import features_of, groups, legend_below, log_axis
from figures.rows import log_range, rows
from figures.style import COLOURS, NEUTRAL, Style, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dynamics.features import FloatArray

LOOKS: dict[str, dict[str, Any]] = {
    "predicted": {"linestyle": "-"},
    "simulated": {"linestyle": "none", "marker": "o"},
    "no teacher": {"linestyle": ":"},
}
LABELS = {"predicted": "mode equation", "simulated": "network", "no teacher": "no teacher (exact)"}


def draw(
    style: Style,
    *,
    features: dyn.Features | None = None,
    depth: int = 3,
    predictor_depth: int = 1,
    epsilon: float = 0.02,
    fraction: float = 0.5,
    slowest: float = 1e-4,
    fastest: float = 100.0,
    points: int = 31,
    networks: int = 5,
) -> Drawing:
    """Critical time under JEPA against the rate of an EMA teacher.

    Mode equations integrated by SciPy, and the real network at some of the rates; dotted, the exact time without a teacher.

    Parameters
    ----------
    slowest, fastest
        Ends of the range of teacher rates, per unit of training time: (1 - EMA) over the learning rate.
    points, networks
        Rates at which the equations are integrated, and at which a network is trained.
    """
    features = features if features is not None else dyn.Features(lam=[1.0, 0.9, 0.8], rho=[0.7, 0.9, 1.2])
    setting = Setting(dyn.jepa(depth, predictor_depth), epsilon, fraction)
    rates = log_range(points, slowest=slowest, fastest=fastest)
    trained = np.geomspace(slowest, fastest, whole_number("networks", networks, 0, points))
    exact = dyn.critical_times(setting.objective, features, epsilon=epsilon, fraction=fraction)
    exact.require_reached()
    predicted, simulated = _predicted(setting, features, rates), _simulated(setting, features, trained)
    table = stacked(
        [
            _at(setting, features, "predicted", rates, predicted),
            _at(setting, features, "simulated", trained, simulated),
            _at(setting, features, "no teacher", rates[[0, -1]], np.repeat(exact.time[:, None], 2, axis=1)),
        ]
    )
    caption = (
        f"Critical time (to {fraction} of the asymptote) of JEPA, depth {depth}, predictor depth {predictor_depth}, epsilon"
        f" {epsilon:g}, against the rate at which an EMA teacher follows the encoder; darker means larger rho. Lines: mode"
        f" equations; dotted: no teacher. {_delays(features, rates[0], predicted[:, 0], exact.time)}"
        f" {_delays(features, rates[-1], predicted[:, -1], exact.time)}"
    )
    if networks:
        off = np.abs(simulated / _predicted(setting, features, trained) - 1.0).max()
        caption += f" Circles: the real network, within {bound(off)} of the mode equations."
    return Drawing(_picture(style, table), table, caption)


def _predicted(setting: Setting, features: dyn.Features, rates: FloatArray) -> FloatArray:
    """Of every feature at every rate, all in one call."""
    repeated = dyn.Features(lam=np.repeat(features.lam, len(rates)), rho=np.repeat(features.rho, len(rates)))
    regime = dyn.Regime(teacher_rate=np.tile(rates, len(features)))
    how: dict[str, Any] = {"epsilon": setting.epsilon, "fraction": setting.fraction}
    return dyn.mode_times(setting.objective, repeated, regime=regime, **how).time.reshape(len(features), len(rates))


def _simulated(setting: Setting, features: dyn.Features, rates: FloatArray) -> FloatArray:
    how: dict[str, Any] = {"epsilon": setting.epsilon, "fraction": setting.fraction, "points": 2}
    runs = [dyn.simulate(setting.objective, features, regime=dyn.Regime(teacher_rate=float(rate)), **how) for rate in rates]
    return np.array([run.time for run in runs]).reshape(len(rates), len(features)).T


def _at(setting: Setting, features: dyn.Features, kind: str, rates: FloatArray, time: FloatArray) -> Table:
    return rows(kind, setting, features, {"teacher_rate": rates[None, :], "time": time})


def _delays(features: dyn.Features, rate: float, time: FloatArray, exact: FloatArray) -> str:
    """How late the features are at a rate, first learned first."""
    told = ", ".join(f"rho {features.rho[row]:g} ({time[row] / exact[row]:.3g})" for row in np.argsort(time, kind="stable"))
    return f"At a rate of {rate:g} they are learned in the order {told}; in brackets, how many times as late as without."


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    ranked = features_of(frame.sort_values("rho", kind="stable"))
    colours = dict(zip(ranked, shades(COLOURS["jepa"], len(ranked)), strict=True))
    with style.context():
        figure, panels = style.panels(1, 1, aspect=0.9)
        axes = panels[0, 0]
        for (kind, feature), line in groups(frame, "kind", "feature"):
            axes.plot(line["teacher_rate"], line["time"], color=colours[feature], **LOOKS[kind])
        log_axis(axes.xaxis)
        log_axis(axes.yaxis)
        axes.set(xlabel=r"teacher rate $\beta$", ylabel="critical time")
        legend_below(figure, [(LABELS[kind], {"color": NEUTRAL} | look) for kind, look in LOOKS.items()])
    return figure
