"""The same features learned in three orders, by what a loss sees of several views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.checks import whole_number
from dynamics.multiview.critical_time import CriticalModes, critical_modes
from dynamics.multiview.flows import barlow_twins_flow, trajectory
from dynamics.multiview.losses import Setup, loss_of
from dynamics.multiview.members import barlow_twins
from dynamics.multiview.strengths import KERNELS
from dynamics.status import words
from dynamics.table import Columns, Table, stacked
from figures.drawing import Drawing, bound
from figures.plotting import draw_ticks, features_of, groups, label_outside, legend_below, share_axis
from figures.rows import NAMED, spread
from figures.style import PALETTE, Style, shades, threshold

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = dict(zip(KERNELS, (PALETTE[0], PALETTE[1], PALETTE[2]), strict=True))

ORDERS = {1: "The order is the same in all three.", 2: "Two of the three orders agree.", 3: "All three orders differ."}

POINTS = 240
"""Times of a curve."""

MARGIN = 1.25
"""How long the modes are followed, over the last critical time."""


def draw(
    style: Style,
    *,
    features: dyn.Features | None = None,
    views: int = 2,
    epsilon: float = 1e-6,
    fraction: float = 0.5,
    seed: int = 0,
) -> Drawing:
    """The same features in three orders: Barlow Twins on the covariance across views, on whitened views, on the mean of views.

    Energies of modes in closed form, for full orthogonality (beta = 1), over the gradient flow of the matrices. Features of rho
    from -1 to 1 can be given.

    Parameters
    ----------
    views
        Views m of an image, at least 2; only their mean knows the number.
    epsilon
        Singular value of the weights of every feature at the start.
    fraction
        Share of the unit energy that counts as learned.
    """
    features = features if features is not None else dyn.Features(lam=[1.0, 0.8, 0.7], rho=[0.6, 0.8, 0.3])
    start = whole_number("seed", seed, 0)
    found = {kernel: _critical(features, kernel, views, epsilon, fraction) for kernel in KERNELS}
    table = stacked(_panel(one, start) for one in found.values())
    caption = (
        f"Energy of each feature over training time in Barlow Twins (beta = 1) of {views} views from epsilon {epsilon:g};"
        f" darker means larger rho. {_listed(features)} Broad: closed form; thin: gradient flow, within"
        f" {bound(_agreement(table))}; ticks: critical times, to {fraction:g} of the unit energy."
        f" {' '.join(map(_in_order, found.values()))} {ORDERS[len({_ranks(one) for one in found.values()})]}"
    )
    return Drawing(_picture(style, table, fraction), table, caption)


def _listed(features: dyn.Features) -> str:
    """Lambda and rho of the features, the first of them."""
    columns = zip(features.labels(), features.lam, features.rho, strict=True)
    told = [f"{label} ({lam:.3g}, {rho:.3g})" for label, lam, rho in columns][:NAMED]
    return f"Features and their (lambda, rho): {', '.join(told)}{' ...' if len(features) > NAMED else '.'}"


def _critical(features: dyn.Features, kernel: str, views: int, epsilon: float, fraction: float) -> CriticalModes:
    setup = Setup(width=len(features), kernel=kernel, views=views)
    found = critical_modes(loss_of("barlow-twins"), features, epsilon=epsilon, fraction=fraction, setup=setup)
    if not (np.isfinite(found.time) & (found.time > 0.0)).any():
        raise dyn.LindynError(f"Barlow Twins on {kernel} covariances learns no feature after the start, so there is no curve.")
    return found


def _panel(found: CriticalModes, seed: int) -> Table:
    """Curves and critical times under one kernel, from a start of orthogonal columns that mixes the outputs."""
    strength, count = found.eigenvalue, len(found.features)
    time = np.linspace(0.0, MARGIN * found.time[np.isfinite(found.time)].max(), POINTS)
    start = found.epsilon * np.linalg.qr(np.random.default_rng(seed).standard_normal((count, count)))[0]
    seen = trajectory(barlow_twins_flow(strength, beta=1.0), start, time)
    exact = barlow_twins(strength).size(strength * found.epsilon**2, time[:, None]).T
    kinds: dict[str, Columns] = {
        "exact": {"time": time[None, :], "energy": exact},
        "simulated": {"time": time[None, :], "energy": (seen**2).sum(axis=1).T * strength[:, None]},
        "critical-time": {"time": found.time[:, None], "energy": np.full((1, 1), found.fraction)},
    }
    features, setup = found.features, found.setup
    marks: Columns = {"kernel": setup.kernel, "views": setup.views, "epsilon": found.epsilon[0]}
    each: Columns = {
        "feature": np.array(features.labels(), dtype=object),
        "lambda": features.lam,
        "rho": features.rho,
        "sigma": features.sigma,
        "strength": strength,
        "status": words(found.status),
    }
    return stacked(spread(kind, marks, each, points) for kind, points in kinds.items())


def _agreement(table: Table) -> float:
    """Greatest distance between the energies of the flow and of the closed form."""
    frame = table.to_dataframe()
    exact, simulated = (frame.loc[frame["kind"] == kind, "energy"].to_numpy() for kind in ("exact", "simulated"))
    return float(np.abs(simulated - exact).max())


def _title(kernel: str, views: int) -> str:
    return f"{kernel}, $m={views}$" if kernel == "view-mean" else kernel


def _in_order(found: CriticalModes) -> str:
    """The order of learning under one kernel, with the times; one sentence."""
    labels = found.features.labels()
    told = [f"{labels[row]} ({found.time[row]:.4g})" for row in found.sequence[:NAMED]]
    more = len(found.sequence) - NAMED
    never = [label for label, time in zip(labels, found.time, strict=True) if not np.isfinite(time)]
    ends = [f" and {more} more" if more > 0 else "", f"; never {', '.join(never[:NAMED])}" if never else ""]
    return f"{found.setup.kernel.capitalize()}: {', '.join(told)}{''.join(ends)}."


def _ranks(found: CriticalModes) -> tuple[int, ...]:
    """The place of every feature in the order of learning; the same for times that agree in nine digits."""
    return tuple(np.unique([float(f"{time:.9g}") for time in found.time], return_inverse=True)[1].tolist())


def _picture(style: Style, table: Table, fraction: float) -> Figure:
    frame = table.to_dataframe()
    ranked = features_of(frame.sort_values("rho", kind="stable"))
    looks: dict[str, dict[str, Any]] = {"exact": style.broad, "simulated": style.thin}
    with style.context():
        figure, panels = style.panels(1, len(KERNELS), aspect=0.95)
        for axes, (kernel, shown) in zip(panels.flat, groups(frame, "kernel"), strict=True):
            colours = dict(zip(ranked, shades(COLOURS[kernel], len(ranked)), strict=True))
            for (kind, feature), curve in groups(shown[shown["kind"].isin(looks)], "kind", "feature"):
                axes.plot(curve["time"], curve["energy"], color=colours[feature], **looks[kind])
            draw_ticks(axes, shown[shown["kind"] == "critical-time"], colours)
            threshold(axes, fraction)
            share_axis(axes)
            axes.set(
                title=_title(kernel, shown["views"].iloc[0]), xlim=(0.0, shown.loc[shown["kind"] == "exact", "time"].max())
            )
        label_outside(panels, "", "energy")
        for axes in panels.flat:
            axes.set_xlabel("training time $t$")
        legend_below(figure, [("closed form", looks["exact"]), ("gradient flow", looks["simulated"])])
    return figure
