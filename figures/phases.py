"""The phases of a masked autoencoder's attention: what a patch learns of the global area and of its own, and when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.attention import Areas, AttentionRun, ImageModel, Phases, Training, phases, simulate_attention, uniform
from dynamics.attention.mae_flow import STATES
from dynamics.checks import whole_number
from dynamics.table import Columns, Table, stacked
from figures.drawing import Drawing
from figures.plotting import groups, label_outside, legend_below, log_axis
from figures.rows import spread
from figures.style import NEUTRAL, PALETTE, Style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from dynamics.features import FloatArray

LABELS = {"phi_T": r"$\phi_T$, own area", "phi_G": r"$\phi_G$, global area", "phi_O": r"$\phi_O$, others"}
COLOURS = dict(zip(LABELS, (PALETTE[0], PALETTE[1], PALETTE[2]), strict=True))

EVENTS: dict[str, dict[str, Any]] = {
    "onset": {"linestyle": ":"},
    "first-phase": {"linestyle": "--"},
    "second-phase": {"linestyle": "-"},
}
EVENT_LABELS = {"onset": "onset", "first-phase": "$T_1$", "second-phase": "$T_2$"}

LARGEST = 1000
"""Patches of a network whose matrix is trained in a minute."""

LONGEST = 2.0
"""How long the network is trained, in units of the reduced flow's T2."""

POINTS = 160
"""Times of a curve."""

LOOKS, SEEN = 100, 28
"""Times at which the network is looked at, evenly spread, and those of them that are drawn, spread in the logarithm."""


def draw(
    style: Style,
    *,
    patches: int = 100,
    global_size: Sequence[int] = (52, 16),
    local_size: int = 6,
    masked: float = 0.5,
    clusters: int = 1,
    latent: Sequence[float] = (1.0, 1.0),
    steps: int = 400,
    batch: int = 32,
    seed: int = 0,
) -> Drawing:
    """Phases of a masked autoencoder in a one-layer ViT: the real network over the reduced flow, for both signs of Delta.

    Correlations of the position of a patch of a local area with the feature of its own area (T), of the global area (G) and of
    other local areas (O). Times are steps of gradient descent times the learning rate.

    Parameters
    ----------
    patches
        P.
    global_size
        Patches of the global area, a panel each; with the local areas it must fill the P patches.
    local_size
        Patches of every local area.
    masked
        Share gamma of the patches that a mask hides.
    clusters
        Clusters K of images, each with a partition of its own.
    latent
        Ends of the interval of strengths z of an area.
    steps, batch
        Of gradient descent on drawn images, up to twice the reduced flow's T2.
    """
    if len(latent) != 2:
        raise dyn.ParameterError("latent", ", ".join(map(str, latent)), "two numbers, the ends of an interval")
    whole_number("patches", patches, 4, LARGEST)
    whole_number("steps", steps, 20)
    whole_number("batch", batch, 2)
    whole_number("seed", seed, 0)
    law = uniform(*latent)
    sizes = list(dict.fromkeys(global_size))
    models = [ImageModel(Areas(patches, size, local_size).whole(), masked, clusters, law) for size in sizes]
    found = [_phases(model) for model in models]
    parts = [_panel(model, one, steps, batch, seed) for model, one in zip(models, found, strict=True)]
    table = stacked(parts)
    strengths = f"z uniform on {latent[0]:g} to {latent[1]:g}" if latent[0] < latent[1] else f"z = {latent[0]:g}"
    caption = (
        f"Feature-position correlations of a patch of a local area under masked reconstruction: P = {patches}, local areas of"
        f" {local_size}, gamma = {masked:g}, K = {clusters}, {strengths}. Lines: reduced flow; markers: network, {steps} steps"
        f" of {batch} images. Onset: phi_G has fallen by 0.1; T1: |phi_G'| = phi_T'; T2: half of the attention is on the own"
        f" area. {' '.join(_told(shown) for _, shown in groups(table.to_dataframe(), 'global_size'))}"
    )
    return Drawing(_picture(style, table), table, caption)


def _phases(model: ImageModel) -> Phases:
    found = phases(model)
    if not np.isfinite(found.second.time):
        raise dyn.LindynError("Half of the attention never comes to be on the own area at these settings: masks hide too much.")
    return found


def _panel(model: ImageModel, found: Phases, steps: int, batch: int, seed: int) -> Table:
    """The reduced flow, its events, and the network, for one size of the global area."""
    end = LONGEST * found.second.time
    training = Training(steps=steps, batch=batch, learning_rate=end / steps)
    run = simulate_attention("mae", model, training=training, seed=seed, looks=LOOKS)
    shown = np.unique(np.geomspace(1, len(run.looks) - 1, SEEN).astype(int))
    seen = run.curve("time")[shown]
    place = np.array([run.crossing(0.5)])
    kinds: dict[str, tuple[FloatArray, FloatArray]] = {
        "reduced": _reduced(found, np.geomspace(seen[0], end, POINTS)),
        "simulated": (seen, _correlations(run)[:, shown]),
        "simulated-second-phase": (place, np.array([np.interp(place, run.curve("time"), one) for one in _correlations(run)])),
    }
    for name, event in zip(EVENTS, (found.onset, found.first, found.second), strict=True):
        kinds[name] = np.array([event.time]), event.state[: len(LABELS), None]
    areas = model.areas
    marks: Columns = {
        "patches": areas.patches,
        "global_size": areas.global_size,
        "local_size": areas.local_size,
        "gap": areas.gap,
        "initial_ratio": found.initial_ratio,
    }
    known = len(LABELS) if areas.local_areas > 1 else len(LABELS) - 1  # there may be no other area
    each: Columns = {"correlation": np.array(list(LABELS)[:known], dtype=object)}
    return stacked(
        spread(kind, marks, each, {"time": time[None, :], "value": values[:known]})
        for kind, (time, values) in kinds.items()
        if np.isfinite(time).all()
    )


def _reduced(found: Phases, time: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The correlations of the reduced flow at some times, which ascend."""
    from scipy.integrate import solve_ivp

    start, end = np.zeros(len(STATES)), float(time[-1])
    flow = solve_ivp(found.flow, (0.0, end), start, method="LSODA", t_eval=time, rtol=1e-9, atol=1e-11)
    return time, flow.y[: len(LABELS)]


def _correlations(run: AttentionRun) -> FloatArray:
    return np.array([run.curve(name) for name in LABELS])


def _told(frame: pd.DataFrame) -> str:
    """What happens at one size of the global area, and how far the network is off."""
    gap, ratio = frame["gap"].iloc[0], frame["initial_ratio"].iloc[0]
    times = frame.groupby("kind")["time"].first()
    off = {}
    for name in ("phi_T", "phi_G"):
        one = frame[frame["correlation"] == name]
        reduced, simulated = (one[one["kind"] == kind] for kind in ("reduced", "simulated"))
        expected = np.interp(simulated["time"], reduced["time"], reduced["value"])
        off[name] = float(np.sqrt(((simulated["value"] - expected) ** 2).mean()))
    first = "the local area leads from the start" if ratio <= 1.0 else f"T1 = {times['first-phase']:.3g}"
    ratio_of_times = times.get("simulated-second-phase", np.nan) / times["second-phase"]
    met = f"that of the network {ratio_of_times:.3f} times that" if np.isfinite(ratio_of_times) else "not met by the network"
    return (
        f"Delta = {gap:+.3f} (global area of {frame['global_size'].iloc[0]:g}): phi_G moves {ratio:.3g} times as fast as phi_T"
        f" at first, {first}, T2 = {times['second-phase']:.4g}, {met}; rms between network and flow {off['phi_T']:.2g} in"
        f" phi_T, {off['phi_G']:.2g} in phi_G."
    )


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    looks: dict[str, dict[str, Any]] = {
        "reduced": style.broad,
        "simulated": {"linestyle": "none", "marker": "o", "markersize": 0.3 * style.size},
    }
    names = [name for name in LABELS if (frame["correlation"] == name).any()]
    with style.context():
        figure, panels = style.panels(1, frame["global_size"].nunique(), aspect=0.85, wide=1.4, sharey=True)
        for axes, (_, shown) in zip(panels.flat, groups(frame, "global_size"), strict=True):
            for (kind, name), curve in groups(shown[shown["kind"].isin(looks)], "kind", "correlation"):
                axes.plot(curve["time"], curve["value"], color=COLOURS[str(name)], **looks[kind])
            for kind, event in groups(shown[shown["kind"].isin(EVENTS) & (shown["time"] > 0.0)], "kind"):
                axes.axvline(event["time"].iloc[0], color=NEUTRAL, linewidth=1.5 * style.hair, zorder=0, **EVENTS[kind])
            curves = shown.loc[shown["kind"] == "reduced", "time"]
            axes.set(title=rf"$\Delta={shown['gap'].iloc[0]:+.2f}$", xlim=(curves.min(), curves.max()))
            log_axis(axes.xaxis)
        label_outside(panels, "", "correlation")
        for axes in panels.flat:
            axes.set_xlabel("training time $t$")
        entries = [(LABELS[name], {"color": COLOURS[name]}) for name in names]
        entries += [("reduced flow", style.broad), ("network", looks["simulated"])]
        legend_below(figure, [*entries, *((EVENT_LABELS[kind], look) for kind, look in EVENTS.items())])
    return figure
