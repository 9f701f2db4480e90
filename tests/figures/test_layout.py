"""At the printed size all text can be read: large enough, whole, and clear of everything else."""

from collections.abc import Iterator
from contextlib import contextmanager
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
from tests.figures.quick import QUICK, quick

SLOW = pytest.mark.slow
CASES = [(name, False) for name in NAMES] + [pytest.param(name, True, marks=SLOW) for name in NAMES if QUICK[name]]
WIDTHS = [name for name in STYLES if name != "iclr"]
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
def laid(name: str, style: str, full: bool) -> Laid:
    return lay_out(quick(name, style, full=full), style)


def glyph_sizes(text: Text) -> list[float]:
    """Size in points of every glyph, sub- and superscripts as they are set."""
    if "$" not in text.get_text():
        return [text.get_fontsize()]
    lines = [line for line in text.get_text().splitlines() if line]
    return [
        glyph[1] for line in lines for glyph in MathTextParser("path").parse(line, 72, text.get_fontproperties()).glyphs
    ]


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
    return all(
        min(one.max[side], other.max[side]) - max(one.min[side], other.min[side]) > PIXEL for side in (0, 1)
    )


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


@pytest.mark.parametrize("style", WIDTHS)
@pytest.mark.parametrize(("name", "full"), CASES)
class TestEveryFigureInEveryStyle:
    def test_has_the_width_of_the_style(self, name: str, full: bool, style: str) -> None:
        assert laid(name, style, full).figure.get_figwidth() == STYLES[style].width

    def test_has_no_text_under_six_points(self, name: str, full: bool, style: str) -> None:
        assert laid(name, style, full).texts
        assert small(laid(name, style, full)) == []

    def test_cuts_no_text_off(self, name: str, full: bool, style: str) -> None:
        assert cut(laid(name, style, full)) == []

    def test_sets_no_text_over_another(self, name: str, full: bool, style: str) -> None:
        assert overlapping(laid(name, style, full)) == []

    def test_has_legends_that_cover_nothing(self, name: str, full: bool, style: str) -> None:
        assert covered(laid(name, style, full)) == []

    def test_keeps_every_panel_on_the_page(self, name: str, full: bool, style: str) -> None:
        page = laid(name, style, full).figure.bbox.padded(PIXEL)
        for axes in laid(name, style, full).figure.axes:
            assert axes.bbox.width > 10.0
            assert axes.bbox.height > 10.0
            assert np.all(page.min <= axes.bbox.min)
            assert np.all(axes.bbox.max <= page.max)


def test_iclr_is_laid_out_as_neurips() -> None:
    from dataclasses import replace

    assert replace(STYLES["iclr"], name="neurips") == STYLES["neurips"]
