"""How figures look: widths of venues, one type size, colours that survive colour blindness and print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.errors import ParameterError

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
"""Okabe and Ito's colours, told apart by all kinds of colour vision."""

COLOURS = {"jepa": PALETTE[0], "mae": PALETTE[1], "supervised": PALETTE[2]}
DASHES = {"jepa": "-", "mae": "--", "supervised": ":"}
MARKERS = {"jepa": "o", "mae": "s", "supervised": "^"}
NAMES = {"jepa": "JEPA", "mae": "MAE", "supervised": "supervised"}
"""What an objective is drawn with, wherever objectives share a panel."""

DASH_CYCLE = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 2)))
MARKER_CYCLE = ("o", "s", "^", "D", "v", "P")

NEUTRAL = "#555555"
"""For thresholds, guides and what belongs to no objective."""

LABELS = 5.5
"""Room for the labels of a panel on either axis, in heights of the type."""

HIGHEST = 1.4
"""Height of a panel of aspect 1, over the narrowest width, that none exceeds."""

SMALLEST_SHARE = 0.7
"""Size of sub- and superscripts in mathtext, over that of the text."""


@dataclass(frozen=True)
class Style:
    """A page that figures are made for.

    Attributes
    ----------
    width
        Printed width in inches: a column or the text block.
    size
        Type size in points, the same everywhere; sub- and superscripts have 0.7 of it, at least 6 points.
    narrowest
        Width in inches that a panel needs for its labels.
    latex
        Whether text is set by LaTeX, which must then be installed; by default matplotlib sets it.
    dots_per_inch
        Of PNG pictures.
    """

    name: str
    width: float
    size: float = 8.6
    narrowest: float = 1.5
    latex: bool = False
    dots_per_inch: int = 300

    @property
    def line(self) -> float:
        """Width of a data line in points."""
        return self.size / 7.0

    @property
    def broad(self) -> dict[str, Any]:
        """The look of an exact curve that a run is laid over."""
        return {"linewidth": 2.6 * self.line, "alpha": 0.4, "solid_capstyle": "butt"}

    @property
    def thin(self) -> dict[str, Any]:
        """The look of a run over an exact curve."""
        return {"linewidth": 0.7 * self.line}

    @property
    def hair(self) -> float:
        """Width of guides and outlines in points."""
        return 0.4 * self.line

    def rc(self) -> dict[Any, Any]:
        """Settings of matplotlib, for `matplotlib.rc_context`."""
        return {
            "font.family": "serif",
            "font.serif": ["STIXGeneral"],
            "mathtext.fontset": "stix",
            "text.usetex": self.latex,
            **dict.fromkeys(
                ("font.size", "axes.titlesize", "axes.labelsize", "xtick.labelsize", "ytick.labelsize", "legend.fontsize"),
                self.size,
            ),
            "figure.titlesize": self.size,
            "figure.labelsize": self.size,
            "axes.linewidth": self.line / 2.0,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.unicode_minus": False,
            "lines.linewidth": self.line,
            "lines.markersize": 0.45 * self.size,
            "xtick.major.width": self.line / 2.0,
            "ytick.major.width": self.line / 2.0,
            "xtick.minor.width": self.line / 3.0,
            "ytick.minor.width": self.line / 3.0,
            "legend.frameon": False,
            "legend.handlelength": 1.8,
            "legend.columnspacing": 1.2,
            "legend.borderaxespad": 0.2,
            "savefig.dpi": self.dots_per_inch,
            "figure.dpi": 100,
            "pdf.fonttype": 42,
            "svg.fonttype": "path",
            "svg.hashsalt": "lindyn",
            "path.simplify": False,
        }

    @contextmanager
    def context(self) -> Iterator[None]:
        """Matplotlib with these settings on top of its own defaults, whatever the user's; undone at the end of the block."""
        from matplotlib import rc_context
        from matplotlib.style import context

        with context("default"), rc_context(self.rc()):
            yield

    def panels(
        self, rows: int, columns: int, *, aspect: float = 0.8, wide: float = 1.0, turn: bool = False, **options: Any
    ) -> tuple[Figure, npt.NDArray[Any]]:
        """A figure of this width with its axes, an array of shape ``(rows, columns)``.

        Where the columns do not fit side by side the panels are laid out anew, as many a row as fit; with ``turn`` rows and
        columns trade places instead. The array keeps its shape either way.

        Parameters
        ----------
        aspect
            Height of a panel over its width, labels apart.
        wide
            Width that a panel needs, over the narrowest.
        options
            As for ``matplotlib.figure.Figure.subplots``.
        """
        from matplotlib.figure import Figure

        fit = max(1, int(self.width / (wide * self.narrowest)))
        shape = (rows, columns)
        if columns > fit:
            shape = (columns, rows) if turn else (-(-rows * columns // fit), fit)
        labels = LABELS * self.size / 72.0
        panel = aspect * min(self.width / shape[1] - labels, HIGHEST * self.narrowest) + labels
        figure = Figure(figsize=(self.width, shape[0] * panel), layout="constrained")
        axes = figure.subplots(*shape, squeeze=False, **options)
        if shape == (rows, columns):
            return figure, axes
        if turn:
            return figure, axes.T
        for spare in axes.flat[rows * columns :]:
            spare.remove()
        return figure, axes.ravel()[: rows * columns].reshape(rows, columns)


STYLES = {
    style.name: style
    for style in (
        Style("neurips", 5.5),
        Style("icml", 3.25),
        Style("icml-wide", 6.75),
        Style("iclr", 5.5),
        Style("talk", 12.0, size=20.0, narrowest=3.4),
    )
}
"""NeurIPS and ICLR: the text block; ICML: a column, and the text block; a talk: a slide of 16:9."""


def style_of(name: str, **changes: Any) -> Style:
    """The style of a name, with some of its attributes changed; raises a `ParameterError` that lists the names."""
    if name not in STYLES:
        raise ParameterError("style", name, f"one of {', '.join(STYLES)}")
    return replace(STYLES[name], **changes)


def shades(colour: str, count: int) -> list[str]:
    """Tints and shades of a colour from light to dark: darker is larger."""
    from matplotlib.colors import to_hex, to_rgb

    base = np.array(to_rgb(colour))
    places = np.linspace(-0.55, 0.5, count) if count > 1 else np.zeros(1)
    return [to_hex(base + (1.0 - base) * -place if place < 0 else base * (1.0 - place)) for place in places]


def threshold(axes: Axes, level: float) -> None:
    """A thin line across a panel at the level that counts as learned."""
    axes.axhline(level, color=NEUTRAL, linewidth=axes.spines["left"].get_linewidth(), linestyle=(0, (1, 2)), zorder=0)
