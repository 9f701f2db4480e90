"""Where attention ends: on the global area under contrastive learning, away from it under masked reconstruction."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.attention import Areas, Contrast, ImageModel, LeadingOrder, MaeFlow, Training, collapse, simulate_attention
from dynamics.attention.images import GLOBAL_EXPONENTS
from dynamics.attention.mae_flow import STATES
from dynamics.checks import check_positive, whole_number
from dynamics.table import Columns, Table, stacked
from figures.drawing import Drawing, bound
from figures.plotting import groups, legend_below
from figures.rows import spread
from figures.style import NEUTRAL, PALETTE, Style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


LABELS = {"mae": "MAE", "cl-position": "CL, position queries", "cl-full": "CL, full queries", "untrained": "untrained"}
LOOKS: dict[str, dict[str, Any]] = {
    "mae": {"color": PALETTE[1], "linestyle": "--"},
    "cl-position": {"color": PALETTE[0]},
    "cl-full": {"color": PALETTE[4], "linestyle": "-."},
    "untrained": {"color": NEUTRAL, "linestyle": ":"},
}
HOLLOW: dict[str, Any] = {"linestyle": "none", "markerfacecolor": "none"}
MARKERS = {"mae": ("s", 0.45), "cl-position": ("o", 0.75), "cl-full": ("D", 0.35)}
"""Of networks, with their sizes over that of the type: one within the other where they agree."""

LEAST, LARGEST = 10, 144
"""Patches of an image, at least, and of a network, at most."""


def draw(
    style: Style,
    *,
    patches: float = 1e4,
    kappa_s: float = 0.4,
    smallest: float = 0.55,
    largest: float = 0.95,
    points: int = 13,
    masked: float = 0.5,
    clusters: int = 4,
    temperature: float = 0.5,
    length: float = 50.0,
    network_patches: int = 36,
    network_local: int = 4,
    network_global: Sequence[int] = (8, 16, 24),
    steps: int = 150,
    batch: int = 32,
    seed: int = 0,
) -> Drawing:
    """Attention on the global area at the end, against the information gap: masked reconstruction and contrastive learning.

    Reduced flows at one large number of patches, and a few networks at a small one; contrastive learning with queries that see
    their position only, and with those that see their patch as well.

    Parameters
    ----------
    patches
        P of the reduced flows.
    kappa_s
        Exponent of their local areas.
    smallest, largest
        Ends of the range of kappa_c, the exponent of their global area.
    points
        Values of kappa_c.
    masked
        Share gamma of the patches that a mask hides.
    clusters
        Clusters K of images, 2 or more.
    temperature
        Of the contrastive loss.
    length
        How long masked reconstruction is followed, in units of the time at which phi_T diverges to leading order.
    network_patches, network_local, network_global
        Patches of the networks, of their local areas, and of their global area, a network each.
    steps, batch
        Of the networks.
    """
    if not GLOBAL_EXPONENTS[0] <= smallest < largest <= GLOBAL_EXPONENTS[1]:
        low, high = GLOBAL_EXPONENTS
        raise dyn.ParameterError("largest", largest, f"above smallest ({smallest:g}), both from {low:g} to {high:g}")
    check_positive("length", length)
    if not LEAST <= patches < np.inf:
        raise dyn.ParameterError("patches", patches, f"a finite number, at least {LEAST}")
    whole_number("network_patches", network_patches, LEAST, LARGEST)
    whole_number("network_local", network_local, 1)
    network_sizes = [whole_number("network_global", size, 1) for size in dict.fromkeys(network_global)]
    contrast = Contrast(temperature)
    exponents = np.linspace(smallest, largest, whole_number("points", points, 2, 10_000)).tolist()
    models = [ImageModel(Areas.of_exponents(patches, one, kappa_s), masked, clusters) for one in exponents]
    trained = [ImageModel(Areas(network_patches, size, network_local).whole(), masked, clusters) for size in network_sizes]
    training = Training(steps=steps, batch=batch)
    table = stacked(
        [*(_reduced(model, contrast, length) for model in models), *(_networks(m, contrast, training, seed) for m in trained)]
    )
    caption = (
        "Attention of a patch of a local area on the global area at the end of training, against Delta. Lines: reduced flows,"
        f" on the patches that a mask shows, at P = {patches:g}, kappa_s = {kappa_s:g}, gamma = {masked:g}, K = {clusters}:"
        f" masked reconstruction (MAE) up to {length:g} leading-order times; contrastive learning (CL, temperature"
        f" {temperature:g}) to its end, of queries that see their position, or their patch as well (full). Markers: networks of"
        f" P = {network_patches} after {steps} steps of {batch} images, on an image that nothing hides."
        f" {_told(table.to_dataframe())}"
    )
    return Drawing(_picture(style, table), table, caption)


def _reduced(model: ImageModel, contrast: Contrast, length: float) -> Table:
    """Where the reduced flows end, and where they start."""
    from scipy.integrate import solve_ivp

    flow = MaeFlow(model, counts="mean")
    end = length * LeadingOrder(model).local_time
    found = solve_ivp(flow, (0.0, end), np.zeros(len(STATES)), method="LSODA", rtol=1e-9, atol=1e-11)
    if not found.success:
        raise dyn.LindynError(f"The reduced flow could not be integrated: {found.message}")
    ends = {"mae": flow.read(found.y[:, -1]).glob}
    ends |= {f"cl-{query}": collapse(model, contrast, query=query).on_global for query in ("position", "full")}
    return _rows("reduced", model, ends | {"untrained": LeadingOrder(model).global_start})


def _networks(model: ImageModel, contrast: Contrast, training: Training, seed: int) -> Table:
    """Where networks end."""
    ways = {"mae": ("mae", "full"), "cl-position": ("cl", "position"), "cl-full": ("cl", "full")}
    ends = {}
    for name, (objective, query) in ways.items():
        run = simulate_attention(objective, model, training=training, contrasted=contrast, query=query, seed=seed, looks=1)
        ends[name] = run.final.local_to_global
    return _rows("simulated", model, ends)


def _rows(kind: str, model: ImageModel, ends: dict[str, float]) -> Table:
    areas = model.areas
    marks: Columns = {
        "patches": float(areas.patches),
        "kappa_c": areas.kappa_c,
        "kappa_s": areas.kappa_s,
        "gap": areas.gap,
    }
    each: Columns = {"objective": np.array(list(ends), dtype=object), "on_global": np.array(list(ends.values()))}
    return spread(kind, marks, each, {})


def _told(frame: pd.DataFrame) -> str:
    """The most that masked reconstruction leaves on the global area, and the least that contrastive learning has there."""
    told = []
    for kind, word in (("reduced", "Reduced flows"), ("simulated", "Networks")):
        shown = frame[(frame["kind"] == kind) & (frame["objective"] != "untrained")]
        for sign, side in (("< 0", shown["gap"] < 0.0), ("> 0", shown["gap"] > 0.0)):
            ends = [_range(str(name), one["on_global"]) for name, one in groups(shown[side], "objective")]
            told += [f"{word} at Delta {sign}: {'; '.join(ends)}."] if ends else []
    return " ".join(told)


def _range(name: str, mass: pd.Series[float]) -> str:
    if name == "mae":
        return f"{LABELS[name]}, at most {bound(mass.max())}"
    return f"{LABELS[name]}, at least {floor(1e3 * mass.min()) / 1e3:g}"


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    with style.context():
        figure, panels = style.panels(1, 1, aspect=0.9)
        axes = panels[0, 0]
        for name, shown in groups(frame[frame["kind"] == "reduced"], "objective"):
            axes.plot(shown["gap"], shown["on_global"], **LOOKS[str(name)])
        for name, shown in groups(frame[frame["kind"] == "simulated"], "objective"):
            marker, size = MARKERS[str(name)]
            look = LOOKS[str(name)] | HOLLOW | {"marker": marker, "markersize": size * style.size}
            axes.plot(shown["gap"], shown["on_global"], **look)
        axes.axvline(0.0, color=NEUTRAL, linewidth=style.hair, zorder=0)
        axes.set(xlabel=r"information gap $\Delta$", ylabel="attention on the global area", ylim=(-0.03, 1.03))
        entries = [(LABELS[name], look) for name, look in LOOKS.items()]
        legend_below(figure, [*entries, ("networks", HOLLOW | {"marker": "o"})])
    return figure
