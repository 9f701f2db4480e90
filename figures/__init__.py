"""Figures of the theory: analytic critical times over simulated trajectories, with the data behind them.

    >>> import figures
    >>> drawing = figures.draw("spectrum", style="icml")
    >>> drawing.figure.get_figwidth()
    3.25

Every figure is drawn from ``drawing.table``, which the library computed, and ``drawing.caption`` says what is seen.
"""

from figures.catalogue import NAMES, Entry, draw, entry_of
from figures.drawing import Drawing
from figures.style import STYLES, Style, style_of

__all__ = ["NAMES", "STYLES", "Drawing", "Entry", "Style", "draw", "entry_of", "style_of"]
