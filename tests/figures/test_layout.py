"""At the printed size all text can be read: large enough, whole, and clear of everything else."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.mathtext import MathTextParser
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from figures import NAMES, STYLES
from tests.figures.quick import quick

WIDTHS = ["neurips", "icml", *(pytest.param(name, marks=pytest.mark.slow) for name in ("icml-wide", "talk"))]
SMALLEST = 6.0
PIXEL = 1.0


class Laid(NamedTuple):
    """A picture as it is drawn, and every text in it that is seen, with its box in pixels."""

    figure: Figure
    texts: list[tuple[Text, Bbox]]

    @property
    def legends(self) -> list[Legend]:
        inside = [axes.get_legend() for axes in self.figure.axes]
        return [*self.figure.legends, *(legend for legend in inside if legend is not None)]


@contextmanager
def watched(drawn: list[Text]) -> Iterator[None]:
    """Note every text that is drawn: tick labels out of view are not, nor is what is hidden."""
    draw = Text.draw

    def note(text: Text, renderer: object, *args: object, **options: object) -> None:
        if text.get_visible() and text.get_text().strip():
            drawn.append(text)
        draw(text, renderer, *args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Text, "draw", note)
        yield


def lay_out(figure: Figure, style: str) -> Laid:
    drawn: list[Text] = []
    with STYLES[style].context(), watched(drawn):
        figure.draw_without_rendering()
        return Laid(figure, [(text, text.get_window_extent()) for text in drawn])


@cache
def laid(name: str, style: str) -> Laid:
    return lay_out(quick(name, style), style)


def glyph_sizes(text: Text) -> list[float]:
    """Size in points of every glyph, sub- and superscripts as they are set."""
    if "$" not in text.get_text():
        return [text.get_fontsize()]
    lines = [line for line in text.get_text().splitlines() if line]
    return [glyph[1] for line in lines for glyph in MathTextParser("path").parse(line, 72, text.get_fontproperties()).glyphs]


def small(found: Laid) -> list[str]:
    return [text.get_text() for text, _ in found.texts if min(glyph_sizes(text)) < SMALLEST]


def cut(found: Laid) -> list[str]:
    page = found.figure.bbox.padded(PIXEL)
    return [
        text.get_text()
        for text, box in found.texts
        if not (page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1)
    ]


def overlap(one: Bbox, other: Bbox) -> bool:
    return all(min(one.max[side], other.max[side]) - max(one.min[side], other.min[side]) > PIXEL for side in (0, 1))


def overlapping(found: Laid) -> list[tuple[str, str]]:
    return [
        (one.get_text(), other.get_text())
        for (one, here), (other, there) in combinations(found.texts, 2)
        if overlap(here, there)
    ]


def covered(found: Laid) -> list[str]:
    """What a legend lies over: a text that is not its own, or a line."""
    told = []
    for legend in found.legends:
        box, own = legend.get_window_extent(), set(legend.get_texts())
        told += [text.get_text() for text, there in found.texts if text not in own and overlap(box, there)]
        for axes in found.figure.axes:
            for line in axes.lines:
                path = line.get_path().transformed(line.get_transform())
                seen = line.get_visible() and len(path.vertices) > 0
                if seen and overlap(box, axes.bbox) and path.intersects_bbox(box.padded(-PIXEL), filled=False):
                    told.append(str(line))
    return told


def faults(found: Laid) -> list[object]:
    """All that keeps text from being read."""
    return [*small(found), *cut(found), *overlapping(found), *covered(found)]


@pytest.mark.parametrize("style", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
class TestEveryFigureInEveryStyle:
    def test_has_the_width_of_the_style(self, name: str, style: str) -> None:
        assert laid(name, style).figure.get_figwidth() == STYLES[style].width

    def test_has_no_text_under_six_points(self, name: str, style: str) -> None:
        assert laid(name, style).texts
        assert small(laid(name, style)) == []

    def test_cuts_no_text_off(self, name: str, style: str) -> None:
        assert cut(laid(name, style)) == []

    def test_sets_no_text_over_another(self, name: str, style: str) -> None:
        assert overlapping(laid(name, style)) == []

    def test_has_legends_that_cover_nothing(self, name: str, style: str) -> None:
        assert covered(laid(name, style)) == []

    def test_keeps_every_panel_on_the_page(self, name: str, style: str) -> None:
        page = laid(name, style).figure.bbox.padded(PIXEL)
        for axes in laid(name, style).figure.axes:
            assert axes.bbox.width > 10.0
            assert axes.bbox.height > 10.0
            assert np.all(page.min <= axes.bbox.min)
            assert np.all(axes.bbox.max <= page.max)


def test_iclr_is_laid_out_as_neurips() -> None:
    assert replace(STYLES["iclr"], name="neurips") == STYLES["neurips"]


@pytest.fixture
def page() -> Figure:
    figure = Figure(figsize=(3.0, 2.0))
    axes = figure.add_axes((0.2, 0.2, 0.7, 0.7))
    axes.plot([0.0, 1.0], [0.0, 1.0], label="a line")
    return figure


def test_a_plain_page_has_no_faults(page: Figure) -> None:
    assert faults(lay_out(page, "neurips")) == []


def test_small_exponents_are_found(page: Figure) -> None:
    page.axes[0].set_title("$x^{2^2}$", fontsize=8.6)
    page.axes[0].set_xlabel("5.9 points", fontsize=5.9)
    assert sorted(small(lay_out(page, "neurips"))) == ["$x^{2^2}$", "5.9 points"]


def test_text_over_the_edge_is_found(page: Figure) -> None:
    page.text(0.9, 0.99, "off the page")
    assert cut(lay_out(page, "neurips")) == ["off the page"]


def test_text_over_text_is_found(page: Figure) -> None:
    page.axes[0].text(0.1, 0.8, "one")
    page.axes[0].text(0.12, 0.8, "other")
    assert overlapping(lay_out(page, "neurips")) == [("one", "other")]


def test_crowded_tick_labels_are_found(page: Figure) -> None:
    page.axes[0].set_xticks([0.0, 0.01], ["0.00", "0.01"])
    assert overlapping(lay_out(page, "neurips")) == [("0.00", "0.01")]


def test_tick_labels_out_of_view_are_not_minded(page: Figure) -> None:
    page.axes[0].set_xticks([0.5, 2.0, 2.01])
    page.axes[0].set_xlim(0.0, 1.0)
    assert faults(lay_out(page, "neurips")) == []


def test_legends_over_lines_and_text_are_found(page: Figure) -> None:
    page.axes[0].text(0.75, 0.1, "text")
    page.axes[0].legend(loc="lower right")
    assert covered(lay_out(page, "neurips"))[0] == "text"
    page.axes[0].legend(loc="upper left")
    assert covered(lay_out(page, "neurips")) == []
    page.axes[0].legend(loc="center")
    assert covered(lay_out(page, "neurips")) == ["Line2D(a line)"]
