"""Files: the same bytes whoever makes them and wherever, small, and all that a journal asks for."""

import csv
import json
import os
import re
import subprocess
import sys
from functools import cache
from io import BytesIO, StringIO
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

import dynamics as dyn
from figures import NAMES, STYLES, Drawing, entry_of, style_of
from figures.orders import make
from figures.saving import FORMATS, UNITS, Order, write
from tests.figures.quick import QUICK, computed, quick

STYLE = STYLES["neurips"]
ROOT = Path(__file__).parents[2]
SOME = ("crossover", "spectrum", "predictor-depth")

RC = """font.size: 20
axes.grid: True
axes.prop_cycle: cycler("color", ["ff00ff"])
lines.linewidth: 7
figure.facecolor: red
savefig.bbox: tight
savefig.transparent: True
pdf.fonttype: 3
axes.formatter.use_locale: True
image.cmap: jet
"""

DIGESTS = """
import json, sys
from hashlib import sha256
from tests.figures.test_saving import ordered
files = {name: content for figure in sys.argv[1:] for name, content in ordered(figure, "pdf").items()}
print(json.dumps({name: sha256(content).hexdigest() for name, content in files.items()}))
"""


def ordered(name: str, *kinds: str) -> dict[str, bytes]:
    """Every file of a figure, computed and drawn from the start."""
    return Order(entry_of(name), STYLE, kinds or tuple(FORMATS), QUICK[name]).files()


def known(value: object) -> object:
    """A value of a table, nothing in place of nan."""
    return None if value != value else value


def read(text: str, value: object) -> object:
    """The text of a cell as what it should be."""
    return None if text == "" else type(value)(text)


@cache
def saved(name: str, *kinds: str) -> dict[str, bytes]:
    """The files of a figure, its picture as PDF unless another kind is asked for, of numbers that were computed once."""
    drawing = Drawing(quick(name), computed(name).table, computed(name).caption)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("figures.catalogue.Entry.draw", lambda *_, **__: drawing)
        return ordered(name, *(kinds or ("pdf",)))


def digests(folder: Path, *names: str, **environment: str) -> subprocess.Popen[str]:
    given = {**os.environ, "PYTHONWARNINGS": "error", "PYTHONPATH": str(ROOT), **environment}
    return subprocess.Popen([sys.executable, "-c", DIGESTS, *names], stdout=subprocess.PIPE, text=True, env=given, cwd=folder)


def elsewhere(folder: Path, *names: str) -> list[dict[str, str]]:
    """What two processes make of figures, at two places, in two time zones and languages, for users of two tastes."""
    (folder / "matplotlibrc").write_text(RC)
    here = digests(ROOT, *names, PYTHONHASHSEED="1", LC_ALL="C", TZ="UTC", OMP_NUM_THREADS="2")
    there = digests(
        folder,
        *names,
        PYTHONHASHSEED="2",
        LC_ALL="C.utf8",
        TZ="Asia/Kathmandu",
        MATPLOTLIBRC=str(folder / "matplotlibrc"),
        SOURCE_DATE_EPOCH="86400",
        COLUMNS="40",
    )
    found = [json.loads(child.communicate(timeout=120)[0]) for child in (here, there)]
    assert here.returncode == there.returncode == 0
    return found


@pytest.mark.slow
def test_the_same_bytes_of_every_figure_in_another_process_place_and_time_for_another_user(tmp_path: Path) -> None:
    one, other = elsewhere(tmp_path, *NAMES)
    assert len(one) == len(NAMES) * 3
    assert one == other


@pytest.mark.parametrize("name", ["predictor-depth", "temporal"])
def test_the_same_bytes_twice(name: str) -> None:
    assert ordered(name, "pdf") == saved(name)


def test_what_was_drawn_before_has_no_say() -> None:
    saved("spectrum")
    Order(entry_of("crossover"), STYLES["talk"], ("pdf",)).files()
    assert ordered("spectrum", "pdf") == saved("spectrum")


def refuse(order: Order, error: dyn.LindynError) -> None:
    raise error


def test_the_same_bytes_from_any_number_of_workers() -> None:
    made: dict[str, bytes] = {}
    orders = [Order(entry_of(name), STYLE, ("pdf",), QUICK[name]) for name in SOME]
    make(orders, lambda order, files: made.update(files), refuse, workers=2)
    assert len(made) == len(SOME) * 3
    assert made == {name: content for figure in SOME for name, content in saved(figure).items()}


@pytest.mark.parametrize("workers", [1, 2])
def test_what_one_figure_refuses_does_not_keep_others_from_being_made(workers: int) -> None:
    made, complaints = [], []
    orders = [
        Order(entry_of("depth"), STYLE, ("svg",), {"epsilon": -1.0}),
        Order(entry_of("spectrum"), STYLE, ("svg",)),
        Order(entry_of("crossover"), STYLE, ("svg",), features=dyn.Features(lam=1.0, rho=1.0)),
    ]
    make(
        orders,
        lambda order, files: made.append(order.entry.name),
        lambda order, error: complaints.append((order.entry.name, str(error))),
        workers=workers,
    )
    assert made == ["spectrum"]
    assert dict(complaints)["depth"] == "epsilon is -1.0; it must be a positive finite number."
    assert dict(complaints)["crossover"].startswith("The figure crossover takes two features")


def test_the_user_s_settings_have_no_say_in_this_process() -> None:
    saved("spectrum")
    with mpl.rc_context({"font.size": 20, "axes.grid": True, "savefig.bbox": "tight", "path.sketch": (3, 9, 2)}):
        assert ordered("spectrum", "pdf") == saved("spectrum")


@pytest.mark.parametrize("name", NAMES)
class TestEveryFigure:
    def test_has_a_pdf_with_whole_fonts_and_no_date(self, name: str) -> None:
        content = saved(name)[f"{name}.pdf"]
        assert content.startswith(b"%PDF-")
        assert b"/Subtype /Type3" not in content
        assert b"/FontFile2" in content
        assert set(re.findall(rb"/BaseFont /([A-Z]{6}\+)?(\w+)", content))
        assert b"CreationDate" not in content
        assert b"/Creator (lindyn)" in content

    def test_has_a_pdf_of_the_width_of_the_style(self, name: str) -> None:
        box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", saved(name)[f"{name}.pdf"])
        assert box
        assert float(box[1]) == pytest.approx(72.0 * STYLE.width, abs=0.01)

    def test_has_its_table_as_csv(self, name: str) -> None:
        columns, *rows = csv.reader(StringIO(saved(name)[f"{name}.csv"].decode(), newline=""))
        table = computed(name).table
        assert columns == list(table.columns)
        assert len(rows) == len(table)
        for column, found in zip(columns, zip(*rows, strict=True), strict=True):
            given = np.asarray(table.columns[column]).tolist()
            assert [read(text, value) for text, value in zip(found, given, strict=True)] == list(map(known, given)), column

    def test_has_a_record_that_is_strict_json(self, name: str) -> None:
        def constant(text: str) -> None:
            raise AssertionError(f"{text} is not JSON")

        record = json.loads(saved(name)[f"{name}.json"], parse_constant=constant)
        entry, table = entry_of(name), computed(name).table
        assert record["figure"] == name
        assert record["title"] == entry.title
        assert record["caption"] == computed(name).caption
        assert record["parameters"] == json.loads(json.dumps(entry.resolved(QUICK[name])))
        assert record["features"] is None
        assert record["style"] == {"name": "neurips", "width_inches": 5.5, "type_size_points": 8.6}
        assert record["units"] == UNITS
        assert (record["rows"], record["columns"]) == (len(table), list(table.columns))
        assert set(record["made_with"]) == {"lindyn", "matplotlib", "numpy", "scipy"}

    def test_has_a_caption_of_whole_sentences(self, name: str) -> None:
        caption = computed(name).caption
        assert caption[0].isupper()
        assert caption.endswith(".")
        assert not re.search(r"\s\s|\.\.|\bnan\b|\bNone\b|\n", caption), caption


@pytest.mark.parametrize("name", SOME)
def test_an_svg_has_the_width_of_the_style_and_needs_no_fonts(name: str) -> None:
    content = saved(name, "svg")[f"{name}.svg"]
    assert float(ElementTree.fromstring(content).attrib["width"].removesuffix("pt")) == pytest.approx(72.0 * STYLE.width)
    assert b"<text" not in content
    assert b"<dc:date>" not in content
    assert entry_of(name).title.encode() in content


@pytest.mark.parametrize("name", SOME)
def test_a_png_has_the_width_of_the_style_and_its_resolution(name: str) -> None:
    with Image.open(BytesIO(saved(name, "png")[f"{name}.png"])) as picture:
        assert picture.size[0] == round(STYLE.width * STYLE.dots_per_inch)
        assert picture.info["Title"] == entry_of(name).title


def test_dots_per_inch_are_the_style_s() -> None:
    files = Order(entry_of("spectrum"), style_of("icml", dots_per_inch=100), ("png",)).files()
    with Image.open(BytesIO(files["spectrum.png"])) as picture:
        assert picture.size[0] == 325


def test_files_are_written_where_they_should_and_told(tmp_path: Path) -> None:
    assert write({"a.csv": b"1", "a.pdf": b"2"}, tmp_path) == [tmp_path / "a.csv", tmp_path / "a.pdf"]
    assert [path.read_bytes() for path in sorted(tmp_path.iterdir())] == [b"1", b"2"]


def test_a_file_that_cannot_be_written_is_refused_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(dyn.LindynError, match=r"a\.csv cannot be written: "):
        write({"a.csv": b"1"}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
