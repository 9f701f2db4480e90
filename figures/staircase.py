"""How Barlow Twins learns modes from a tiny start: step by step, and later the weaker its orthogonality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.checks import check_positive, whole_number
from dynamics.multiview.flows import barlow_twins_flow, trajectory
from dynamics.multiview.ladder import check_shared, ladder_times, plateau, residual_starts
from dynamics.table import Columns, Table, stacked
from figures.drawing import Drawing, bound
from figures.plotting import draw_ticks, features_of, groups, label_outside, legend_below, log_axis
from figures.rows import first_time, spread
from figures.style import NEUTRAL, PALETTE, Style, shades

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dynamics.features import FloatArray

TOLERANCE = 1e-8
"""Relative tolerance a step of the integrator; the picture shows less."""

MARGIN = 1.3
"""How long the flow is followed, over the last predicted step."""

TINIEST = 1e-140
"""Start of which a double still holds the energies."""

SMALL = 0.01
"""Variance of all features that a start may bring along in one mode, at most."""


def draw(
    style: Style,
    *,
    beta: Sequence[float] = (1.0, 0.1, 0.01),
    strength: Sequence[float] = (4.0, 2.5, 1.5, 0.9),
    width: int = 16,
    epsilon: float = 1e-12,
    points: int = 600,
    seed: int = 0,
) -> Drawing:
    """Staircase of Barlow Twins: energies of modes from a tiny random start, for several weights of orthogonality.

    The flow of whole matrices, with the predicted steps, by leading logarithms in the start, and the predicted plateaus between
    them.

    Parameters
    ----------
    beta
        Weights of the off-diagonal part of the loss, above 0 and at most 1; a panel each.
    strength
        Strength gamma of every mode, positive and falling: the covariance between views for the loss on two of them.
    width
        Features d of the projector.
    epsilon
        Standard deviation of the weights at the start.
    points
        Times at which the flow is drawn and its steps are measured.
    """
    start = tiny_start(strength, width, epsilon, seed)
    whole_number("points", points, 50, 10_000)
    for one in beta:
        check_shared(one)
    table = stacked(_panel(float(one), np.array(strength), start, epsilon, points) for one in dict.fromkeys(beta))
    caption = (
        f"Energy of each mode over training time in Barlow Twins of width {width}, gaussian start of epsilon {epsilon:g}, one"
        f" panel a beta; darker means larger strength ({', '.join(f'{one:g}' for one in strength)}). Lines: gradient flow of"
        " the matrices; broad: predicted energy of a mode while r modes are active, d/(beta d + (1 - beta) r); ticks: predicted"
        f" times of half of the first such energy. {_errors(table)}"
    )
    return Drawing(_picture(style, table), table, caption)


def tiny_start(strength: Sequence[float], width: int, epsilon: float, seed: int) -> FloatArray:
    """A Gaussian start of shape ``(width, modes)``; raises a `ParameterError` for what has no staircase."""
    gamma = np.array(strength, dtype=np.float64)
    if not (np.isfinite(gamma) & (gamma > 0.0)).all() or (np.diff(gamma) >= 0.0).any():
        raise dyn.ParameterError("strength", ", ".join(map(str, strength)), "a falling list of positive numbers")
    check_positive("epsilon", epsilon)
    if epsilon < TINIEST:
        raise dyn.ParameterError("epsilon", epsilon, f"at least {TINIEST:g}, so that a double holds the energies")
    generator = np.random.default_rng(whole_number("seed", seed, 0))
    start: FloatArray = epsilon * generator.standard_normal((whole_number("width", width, 2), len(gamma)))
    if (gamma * (start**2).sum(axis=0)).max() > SMALL:
        raise dyn.ParameterError("epsilon", epsilon, f"small: {np.sqrt(SMALL / (width * gamma.max())):.2g} or less, about")
    return start


def _panel(beta: float, strength: FloatArray, start: FloatArray, epsilon: float, points: int) -> Table:
    """Curves, predicted and measured steps, and plateaus at one beta; modes beyond the width are never learned."""
    width, learned = len(start), min(start.shape)
    steps = ladder_times(strength, residual_starts(start, beta=beta), width=width, beta=beta)[:learned]
    end = MARGIN * steps[-1]
    time = np.geomspace(0.5 * steps[0], end, points)
    seen = trajectory(barlow_twins_flow(strength, beta=beta), start, time, tolerance=TOLERANCE)
    energy = ((seen**2).sum(axis=1) * strength)[:, :learned].T
    levels = np.array([plateau(count + 1, width=width, beta=beta).mode_energy for count in range(learned)])
    between = np.column_stack([steps, [*steps[1:], end]])
    kinds: dict[str, Columns] = {
        "simulated": {"time": time[None, :], "energy": energy},
        "plateau": {"time": between, "energy": levels[:, None]},
        "critical-time": {"time": steps[:, None], "energy": 0.5 * levels[:, None]},
        "simulated-time": {"time": first_time(time, energy, 0.5 * levels)[:, None], "energy": 0.5 * levels[:, None]},
    }
    marks: Columns = {"beta": beta, "width": width, "epsilon": epsilon}
    modes = {"feature": np.arange(1, learned + 1).astype(str).astype(object), "strength": strength[:learned]}
    return stacked(spread(kind, marks, modes, points) for kind, points in kinds.items())


def _errors(table: Table) -> str:
    """How far the predicted steps are off at every beta."""
    frame = table.to_dataframe()
    told = []
    for beta, shown in groups(frame, "beta"):
        predicted, measured = (
            shown.loc[shown["kind"] == kind, "time"].to_numpy() for kind in ("critical-time", "simulated-time")
        )
        met = np.isfinite(measured)
        late = f" ({(~met).sum()} of them not before the end)" if not met.all() else ""
        told.append(f"{bound(np.abs(predicted[met] / measured[met] - 1.0).max(initial=0.0))}{late} at beta {beta:g}")
    return f"Greatest relative error of these: {', '.join(told)}."


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    names = features_of(frame)
    colours = dict(zip(reversed(names), shades(PALETTE[0], len(names)), strict=True))
    broad: dict[str, Any] = {"color": NEUTRAL} | style.broad
    with style.context():
        figure, panels = style.panels(1, frame["beta"].nunique(), aspect=0.95)
        for axes, (beta, shown) in zip(panels.flat, groups(frame, "beta"), strict=True):
            stairs = shown[shown["kind"] == "plateau"]
            axes.plot(stairs["time"], stairs["energy"], **broad)
            for feature, curve in groups(shown[shown["kind"] == "simulated"], "feature"):
                axes.plot(curve["time"], curve["energy"], color=colours[feature])
            draw_ticks(axes, shown[shown["kind"] == "critical-time"], colours)
            axes.set(
                title=rf"$\beta={beta:g}$", xlim=(shown["time"].min(), shown.loc[shown["kind"] == "simulated", "time"].max())
            )
            log_axis(axes.xaxis)
            axes.set_ylim(bottom=0.0)
        label_outside(panels, "", "energy of a mode")
        for axes in panels.flat:
            axes.set_xlabel("training time $t$")
        legend_below(
            figure,
            [
                ("gradient flow", {}),
                ("predicted plateaus", broad),
                ("predicted steps", {"linestyle": "none", "marker": "|", "markersize": style.size}),
            ],
        )
    return figure
