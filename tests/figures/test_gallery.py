"""The page of all figures is what the figures are today."""

import math
import re
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.figure import Figure
from PIL import Image

from figures import NAMES, Entry, style_of
from figures.gallery import DOTS_PER_INCH, page
from figures.parameters import shown
from tests.figures.test_images import difference

DOCS = Path(__file__).parents[2] / "docs"
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
SHARE, ROUNDING = 0.05, 1e-6
BLUR, WINDOW, TOLERANCE = 3.0, 31, 10.0
"""As for the pictures without text, but so that letters and panels that stand a pixel elsewhere stay within it."""


def sections(text: str) -> dict[str, str]:
    """The sections of the page by their names."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def caption(section: str) -> str:
    """The paragraph after the picture."""
    paragraphs = section.strip().split("\n\n")
    assert paragraphs[1].startswith("![")
    return paragraphs[2]


def alike(one: str, other: str) -> bool:
    """Whether two texts are the same up to numbers that agree closely, or are both at the level of rounding."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    pairs = [(float(here), float(there)) for here, there in zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)]
    return all(math.isclose(here, there, rel_tol=SHARE) or max(abs(here), abs(there)) < ROUNDING for here, there in pairs)


def grey(source: Path | BytesIO) -> npt.NDArray[np.float64]:
    with Image.open(source) as picture:
        return np.asarray(picture.convert("L"), dtype=np.float64)


def small(figure: Figure) -> BytesIO:
    """The picture that the page has of a figure."""
    stream = BytesIO()
    with style_of("neurips", dots_per_inch=DOTS_PER_INCH).context():
        figure.savefig(stream, format="png")
    return stream


def differ(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> bool:
    return one.shape != other.shape or difference(one, other, BLUR, WINDOW) > TOLERANCE


def current(name: str, caption_now: str, figure: Figure) -> bool:
    """Whether the page shows a figure as it is drawn today."""
    then = grey(DOCS / "gallery" / f"{name}.png")
    text = sections((DOCS / "gallery.md").read_text(encoding="utf-8"))[name]
    return alike(caption_now, caption(text)) and not differ(grey(small(figure)), then)


def test_the_page_is_made_of_the_captions_in_it() -> None:
    text = (DOCS / "gallery.md").read_text(encoding="utf-8")
    assert page({name: caption(section) for name, section in sections(text).items()}) == text


def test_every_figure_has_its_section_picture_and_command() -> None:
    found = sections((DOCS / "gallery.md").read_text(encoding="utf-8"))
    assert tuple(found) == NAMES
    for name, section in found.items():
        entry = Entry(name)
        assert f"![{entry.title}](gallery/{name}.png)" in section
        assert f"`lindyn figure {name}`, with the defaults `{shown(entry.parameters)}`" in section
        assert (f"`lindyn figure {name} --features features.csv`" in section) == entry.takes_features
    assert {path.name for path in (DOCS / "gallery").iterdir()} == {f"{name}.png" for name in NAMES}


def test_pictures_of_the_page_are_small_and_readable() -> None:
    for name in NAMES:
        with Image.open(DOCS / "gallery" / f"{name}.png") as picture:
            assert picture.size[0] == 605
        assert (DOCS / "gallery" / f"{name}.png").stat().st_size < 150_000


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("within 3e-08.", "within 7e-09.", True),
        ("off by 3%, 15%", "off by 3%, 15.5%", True),
        ("off by 3%, 15%", "off by 3%, 16%", False),
        ("from 0.02 on", "from 0.025 on", False),
        ("depth 2", "depths 2", False),
        ("2 of 4 and -1", "2 of 4 and 1", False),
    ],
    ids=["rounding", "close", "apart", "small but apart", "words", "sign"],
)
def test_texts_are_alike_up_to_close_numbers(one: str, other: str, expected: bool) -> None:
    assert alike(one, other) is expected


def test_a_picture_without_one_of_its_panels_differs() -> None:
    whole = grey(DOCS / "gallery" / "greedy.png")
    part = whole.copy()
    part[: len(part) // 2, : len(part.T) // 3] = 255.0
    assert differ(part, whole)
    assert not differ(whole, whole)
