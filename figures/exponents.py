"""How the phases of a masked autoencoder's attention grow with the number of patches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.attention import Areas, ImageModel, LeadingOrder, phases
from dynamics.table import Columns, Table, stacked
from figures.drawing import Drawing
from figures.plotting import groups, legend_below, log_axis
from figures.rows import log_range, spread
from figures.style import NEUTRAL, PALETTE, Style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from dynamics.features import FloatArray

MARKERS = {"second-phase": "o", "first-phase": "s", "onset": "^"}
LABELS = {"second-phase": "$T_2$", "first-phase": "$T_1$", "onset": "onset"}
WORDS = {"second-phase": "T2", "first-phase": "T1", "onset": "onset"}

LEAST = 10.0
"""Patches of an image, at least."""

MOST = len(PALETTE)
"""Pairs of exponents, one colour each."""


def draw(
    style: Style,
    *,
    kappa_c: Sequence[float] = (0.9, 0.8),
    kappa_s: Sequence[float] = (0.4, 0.3),
    masked: float = 0.5,
    smallest: float = 1e2,
    largest: float = 1e12,
    points: int = 11,
) -> Drawing:
    """Exponents of a masked autoencoder's phases: times against the number of patches P, and their local slopes.

    The reduced flow without position-position correlations and with mean counts, whose events are found as roots, against the
    closed forms to leading order: T2 and three times T1 tend to K P^(1 - kappa_s) / (gamma (1 - gamma)), the onset grows as
    P^(2 (1 - kappa_c)).

    Parameters
    ----------
    kappa_c, kappa_s
        Exponents of the global and of the local areas, pairwise: one of each for every colour.
    masked
        Share gamma of the patches that a mask hides.
    smallest, largest
        Ends of the range of P.
    points
        Values of P.
    """
    pairs = list(zip(kappa_c, kappa_s, strict=False))
    if len(kappa_c) != len(kappa_s) or len(pairs) > MOST:
        raise dyn.ParameterError(
            "kappa_s", ", ".join(map(str, kappa_s)), f"as many numbers as kappa_c has, {MOST} at most, and each of a pair"
        )
    if smallest < LEAST:
        raise dyn.ParameterError("smallest", smallest, f"at least {LEAST:g}, so that all areas fit")
    patches = log_range(points, smallest=smallest, largest=largest)
    areas = [[Areas.of_exponents(one, *pair) for one in patches.tolist()] for pair in dict.fromkeys(pairs)]
    table = stacked(part for of_pair in areas for part in _of_pair([ImageModel(one, masked) for one in of_pair]))
    caption = (
        f"Times of a patch of a local area under masked reconstruction against the number of patches P, gamma = {masked:g}, in"
        " the reduced flow (markers), and leading order (lines): T2, at which half of the attention is on the own area; T1,"
        " until which the global area moves faster; onset, at which phi_G has fallen by 0.1. Second panel: local slopes, and"
        f" their limits 1 - kappa_s and 2(1 - kappa_c). {_told(table.to_dataframe())}"
    )
    return Drawing(_picture(style, table), table, caption)


def _of_pair(models: Sequence[ImageModel]) -> list[Table]:
    """The times of one pair of exponents; an event that comes at fewer than two values of P has no slope and is left out."""
    patches = np.array([model.areas.patches for model in models])
    found = [phases(model, counts="mean", positions=False) for model in models]
    theory = [LeadingOrder(model) for model in models]
    local, onset = ([getattr(law, name) for law in theory] for name in ("local_time", "onset"))
    kappa_c, kappa_s, gap = (getattr(models[-1].areas, name) for name in ("kappa_c", "kappa_s", "gap"))
    events: dict[str, tuple[float, list[float], FloatArray]] = {
        "second-phase": (1.0 - kappa_s, [one.second.time for one in found], np.array(local)),
        "first-phase": (1.0 - kappa_s, [one.first.time for one in found], np.array(local) / 3.0),
        "onset": (2.0 * (1.0 - kappa_c), [one.onset.time for one in found], np.array(onset)),
    }
    marks = {"kappa_c": kappa_c, "kappa_s": kappa_s, "gap": gap}
    return [
        _rows(kind, marks | {"limit": limit}, patches, np.array(time), leading)
        for kind, (limit, time, leading) in events.items()
        if (np.array(time) > 0.0).sum() > 1
    ]


def _rows(kind: str, marks: Columns, patches: FloatArray, time: FloatArray, leading: FloatArray) -> Table:
    """An event where it comes, after the start, with the local slope of its time."""
    come = time > 0.0
    columns: Columns = {"patches": patches[come], "time": time[come], "leading": leading[come]}
    slope = np.gradient(np.log(columns["time"]), np.log(columns["patches"]))
    return spread(kind, marks, columns | {"slope": slope}, {})


def _told(frame: pd.DataFrame) -> str:
    """The last local slopes beside their limits."""
    told = []
    for (kappa_c, kappa_s), shown in groups(frame, "kappa_c", "kappa_s"):
        last = [
            f"{WORDS[kind]} {one['slope'].iloc[-1]:.3f} ({one['limit'].iloc[-1]:.3g})" for kind, one in groups(shown, "kind")
        ]
        gap = shown["gap"].iloc[0]
        told.append(f"kappa_c = {kappa_c:g}, kappa_s = {kappa_s:g} (Delta = {gap:+.2g}): {', '.join(last)}")
    ends = frame.groupby(["kind", "kappa_c", "kappa_s"])[["slope", "limit"]].last()
    most = float((ends["slope"] - ends["limit"]).abs().max())
    return f"Last local slopes, and limits: {'; '.join(told)}; {most:.2g} apart at most."


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    pairs = list(dict.fromkeys(zip(frame["kappa_c"], frame["kappa_s"], strict=True)))
    colours = dict(zip(pairs, PALETTE, strict=False))
    with style.context():
        figure, panels = style.panels(1, 2, wide=1.4)
        times, slopes = panels.flat
        for (kind, *pair), shown in groups(frame, "kind", "kappa_c", "kappa_s"):
            colour: dict[str, Any] = {"color": colours[tuple(pair)]}
            mark = colour | {"linestyle": "none", "marker": MARKERS[kind]}
            times.plot(shown["patches"], shown["leading"], **colour, **style.thin)
            times.plot(shown["patches"], shown["time"], **mark)
            slopes.plot(shown["patches"], shown["limit"], **colour, **style.thin)
            slopes.plot(shown["patches"], shown["slope"], **mark)
        times.set(title="times", ylabel="time $t$")
        slopes.set(title="local slopes", ylabel=r"$d\,\ln t/d\,\ln P$")
        slopes.set_ylim(bottom=0.0)
        for axes in panels.flat:
            _patch_axis(axes, frame["patches"])
        log_axis(times.yaxis)
        events = [(LABELS[kind], {"linestyle": "none", "marker": MARKERS[kind]}) for kind in dict.fromkeys(frame["kind"])]
        named = [(rf"$\kappa_c={one:g}$, $\kappa_s={other:g}$", {"color": colours[one, other]}) for one, other in pairs]
        legend_below(figure, [*events, *named, ("leading order, limits", {"color": NEUTRAL} | style.thin)])
    return figure


def _patch_axis(axes: Axes, patches: pd.Series[float]) -> None:
    axes.set_xlabel("patches $P$")
    axes.set_xlim(patches.min() / 2.0, 2.0 * patches.max())
    log_axis(axes.xaxis)
