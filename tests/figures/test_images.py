"""The pictures without their text look as they did: `python -m tests.figures.test_images` draws what they are held to anew.

Text is taken out before anything is laid out, and panels stand where matplotlib puts them on a page of one size, so that fonts
have no say. Pictures are grey, small and slightly blurred before they are compared, a window at a time.
"""

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.transforms import ScaledTranslation
from PIL import Image
from scipy.ndimage import gaussian_filter, uniform_filter

from figures import NAMES, STYLES
from tests.figures.quick import quick

FloatArray = npt.NDArray[np.float64]

BASELINE = Path(__file__).parent / "baseline"
PAGE = (4.5, 3.5)
DOTS = 64
BLUR, WINDOW = 1.0, 15
SHORTEST = 5.0
"""Pixels of a line within its panel, below which it is not looked for."""

TOLERANCE = 2.0
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


def difference(one: FloatArray, other: FloatArray, blur: float = BLUR, window: int = WINDOW) -> float:
    """How far two pictures are apart where they differ most."""
    assert one.shape == other.shape
    apart = gaussian_filter(one, blur) - gaussian_filter(other, blur)
    return float(np.sqrt(uniform_filter(apart**2, window).max()))


@cache
def today(name: str) -> FloatArray:
    return grey(bare(quick(name)))


def drawn(figure: Figure) -> list[Artist]:
    """The lines of a figure that are seen, from the shortest to the longest; where there are none, its bars."""
    found = []
    for axes in figure.axes:
        for artist in axes.lines or axes.patches or axes.collections:
            paths = artist.get_paths() if isinstance(artist, Collection) else [artist.get_path()]
            ends = [np.clip(artist.get_transform().transform_path(path).vertices, *axes.bbox.get_points()) for path in paths]
            found.append((sum(float(np.hypot(*np.diff(line, axis=0).T).sum()) for line in ends), artist))
    return [artist for length, artist in sorted(found, key=lambda pair: pair[0]) if length > SHORTEST]


def displace(artist: Artist, share: float) -> None:
    """Move it up by a share of its panel's height."""
    figure = artist.axes.figure
    up = ScaledTranslation(0.0, share * artist.axes.get_position().height * figure.get_figheight(), figure.dpi_scale_trans)
    own = artist.get_data_transform() if isinstance(artist, Patch) else artist.get_transform()
    artist.set_transform(own + up)


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_looks_as_it_did(name: str) -> None:
    assert difference(today(name), stored(name)) < TOLERANCE


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_line_is_seen(name: str) -> None:
    figure = bare(quick(name))
    choice = drawn(figure)
    choice[len(choice) // 2].remove()
    assert difference(grey(figure), stored(name)) > TOLERANCE


@pytest.mark.parametrize("name", ["greedy", "crossover", "network", "collapse", "spectrum"])
def test_a_displaced_line_is_seen(name: str) -> None:
    figure = bare(quick(name))
    displace(drawn(figure)[-1], 0.05)
    assert difference(grey(figure), stored(name)) > TOLERANCE


def test_fonts_have_no_say() -> None:
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 20, "font.family": "monospace"}):
        assert np.array_equal(grey(bare(quick("spectrum"))), stored("spectrum"))


def test_baselines_are_small_and_of_known_figures() -> None:
    assert {path.stem for path in BASELINE.iterdir()} == set(NAMES)
    assert all(path.stat().st_size < 15_000 for path in BASELINE.iterdir())


def draw_baselines() -> None:
    BASELINE.mkdir(exist_ok=True)
    for old in BASELINE.glob("*.png"):
        old.unlink()
    for name in NAMES:
        Image.fromarray(today(name).astype(np.uint8)).save(BASELINE / f"{name}.png", optimize=True)


if __name__ == "__main__":
    draw_baselines()
