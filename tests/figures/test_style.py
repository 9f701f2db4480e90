"""Styles: what a page is like, and that nothing of it outlives a picture."""

from dataclasses import FrozenInstanceError

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb

import dynamics as dyn
from figures import STYLES, draw, style_of
from figures.style import COLOURS, DASHES, MARKERS, PALETTE, shades


def test_styles_and_their_widths() -> None:
    assert {name: style.width for name, style in STYLES.items()} == {
        "neurips": 5.5,
        "icml": 3.25,
        "icml-wide": 6.75,
        "iclr": 5.5,
        "talk": 12.0,
    }
    assert all(style.name == name for name, style in STYLES.items())


def test_only_the_type_of_a_talk_is_larger() -> None:
    assert {name: style.size for name, style in STYLES.items() if style.size != 8.6} == {"talk": 20.0}


@pytest.mark.parametrize("name", STYLES)
def test_subscripts_of_every_style_have_six_points(name: str) -> None:
    assert 0.7 * STYLES[name].size >= 6.0


@pytest.mark.parametrize("name", STYLES)
def test_the_context_sets_what_the_style_says_and_undoes_it(name: str) -> None:
    before = dict(mpl.rcParams)
    with STYLES[name].context():
        assert mpl.rcParams["font.size"] == STYLES[name].size
        assert mpl.rcParams["pdf.fonttype"] == 42
    assert dict(mpl.rcParams) == before


def test_the_context_is_undone_after_an_error() -> None:
    before = dict(mpl.rcParams)
    with pytest.raises(ZeroDivisionError), STYLES["talk"].context():
        1 / 0  # noqa: B018
    assert dict(mpl.rcParams) == before


def test_drawing_undoes_the_context() -> None:
    before = dict(mpl.rcParams)
    draw("spectrum", "talk")
    assert dict(mpl.rcParams) == before


def test_the_user_s_settings_have_no_say() -> None:
    with STYLES["icml"].context():
        plain = dict(mpl.rcParams)
    with mpl.rc_context({"font.size": 30, "axes.grid": True, "lines.linewidth": 9, "savefig.bbox": "tight"}):
        with STYLES["icml"].context():
            assert dict(mpl.rcParams) == plain
        assert mpl.rcParams["font.size"] == 30


def test_pyplot_is_not_told_of_a_figure() -> None:
    from matplotlib import pyplot

    draw("spectrum")
    assert pyplot.get_fignums() == []


def test_a_style_is_changed_in_a_copy() -> None:
    assert style_of("icml", latex=True).latex
    assert not STYLES["icml"].latex
    with pytest.raises(FrozenInstanceError):
        STYLES["icml"].width = 1.0  # type: ignore[misc]


def test_an_unknown_style_is_refused_with_all_names() -> None:
    with pytest.raises(dyn.ParameterError, match=r"style is Nature; it must be one of neurips, icml, icml-wide, iclr, talk\."):
        style_of("Nature")


@pytest.mark.parametrize("turn", [False, True], ids=["flow", "turn"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (1, 6), (3, 1)], ids=lambda shape: f"{shape[0]}x{shape[1]}")
@pytest.mark.parametrize("name", STYLES)
def test_panels_keep_their_shape_and_the_page_its_width(name: str, shape: tuple[int, int], turn: bool) -> None:
    with STYLES[name].context():
        figure, panels = STYLES[name].panels(*shape, turn=turn)
    assert panels.shape == shape
    assert sorted(map(id, panels.flat)) == sorted(map(id, figure.axes))
    assert figure.get_figwidth() == STYLES[name].width


def test_a_column_lays_panels_out_below_each_other() -> None:
    with STYLES["icml"].context():
        narrow, panels = STYLES["icml"].panels(1, 3)
    rows = {axes.get_subplotspec().rowspan.start for axes in panels.flat}
    assert rows == {0, 1}
    with STYLES["icml-wide"].context():
        wide, panels = STYLES["icml-wide"].panels(1, 3)
    assert {axes.get_subplotspec().rowspan.start for axes in panels.flat} == {0}
    assert narrow.get_figheight() > wide.get_figheight()


def luminance(colour: str) -> float:
    return float(np.dot(to_rgb(colour), (0.2126, 0.7152, 0.0722)))


@pytest.mark.parametrize("count", [1, 2, 5, 12])
@pytest.mark.parametrize("colour", PALETTE)
def test_shades_darken(colour: str, count: int) -> None:
    found = [luminance(shade) for shade in shades(colour, count)]
    assert len(found) == count
    assert all(np.diff(found) < 0.0)


def test_one_shade_is_the_colour_itself() -> None:
    assert shades(PALETTE[0], 1) == [PALETTE[0].lower()]


def test_objectives_are_told_apart_without_colour() -> None:
    assert set(COLOURS) == set(DASHES) == set(MARKERS) == {"jepa", "mae", "supervised"}
    for looks in (COLOURS, DASHES, MARKERS):
        assert len(set(looks.values())) == 3
