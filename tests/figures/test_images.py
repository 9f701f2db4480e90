"""The pictures without their text look as they did: `python -m tests.figures.test_images` draws what they are held to anew.

Text is taken out before anything is laid out, and panels stand where matplotlib puts them on a page of one size, so that fonts
have no say. Pictures are grey, small and slightly blurred before they are compared, a window at a time.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from PIL import Image
from scipy.ndimage import gaussian_filter, uniform_filter

from figures import NAMES, STYLES
from tests.figures.quick import quick

FloatArray = npt.NDArray[np.float64]

BASELINE = Path(__file__).parent / "baseline"
PAGE = (4.5, 3.5)
DOTS = 64
BLUR, WINDOW = 1.0, 15
TOLERANCE = 4.0
"""Largest root of the mean square within any window, of 255 grey levels."""


def bare(figure: Figure) -> Figure:
    """The figure on a page of one size, without text, legends and the layout that makes room for them."""
    figure.set_layout_engine("none")
    figure.set_size_inches(*PAGE)
    for text in figure.findobj(Text):
        text.set_visible(False)
    for axes in figure.axes:
        axes.tick_params(which="both", labelleft=False, labelbottom=False, labelright=False, labeltop=False)
    for legend in [*figure.legends, *(axes.get_legend() for axes in figure.axes)]:
        if legend is not None:
            legend.set_visible(False)
    return figure


def grey(figure: Figure) -> FloatArray:
    """What is drawn, as grey levels."""
    figure.set_dpi(DOTS)
    with STYLES["neurips"].context():
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        return np.asarray(Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("L"), dtype=np.float64)


def stored(name: str) -> FloatArray:
    with Image.open(BASELINE / f"{name}.png") as picture:
        return np.asarray(picture.convert("L"), dtype=np.float64)


def difference(one: FloatArray, other: FloatArray) -> float:
    """How far two pictures are apart where they differ most."""
    assert one.shape == other.shape
    apart = gaussian_filter(one, BLUR) - gaussian_filter(other, BLUR)
    return float(np.sqrt(uniform_filter(apart**2, WINDOW).max()))


@cache
def today(name: str) -> FloatArray:
    return grey(bare(quick(name)))


def lines(figure: Figure) -> list[tuple[Axes, Line2D]]:
    return [(axes, line) for axes in figure.axes for line in axes.lines if len(line.get_xydata()) > 1]


def remove(axes: Axes, line: Line2D) -> None:
    line.remove()


def shift(axes: Axes, line: Line2D) -> None:
    """Up by a twentieth of the panel."""
    from matplotlib.transforms import ScaledTranslation

    height = axes.get_position().height * PAGE[1]
    line.set_transform(line.get_transform() + ScaledTranslation(0.0, 0.05 * height, axes.figure.dpi_scale_trans))


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_looks_as_it_did(name: str) -> None:
    assert difference(today(name), stored(name)) < TOLERANCE
