"""What each figure draws in its own way: lines, contours, bars, markers and images are the numbers of the table."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from matplotlib.collections import LineCollection
from matplotlib.contour import QuadContourSet
from numpy.testing import assert_allclose, assert_array_equal

import dynamics as dyn
import figures
from tests.figures.drawn import (
    OBJECTIVES,
    TITLES,
    critical_time,
    drawn,
    exponents,
    features_of,
    lines_through,
    of_kind,
    small,
    table,
    ticks,
)

# --- the others, one by one -------------------------------------------------------------------------------------------------


def test_depth_panels_draw_the_times_and_their_ratio() -> None:
    frame, (*times, ratios) = table("depth"), small("depth").figure.axes
    for axes, objective in zip(times, OBJECTIVES, strict=True):
        for kind, looks in (("exact", ("None", "o")), ("expansion", ("-", "None")), ("dominant", (":", "None"))):
            for _, line in of_kind(frame, kind, objective=objective).groupby("rho"):
                drawn_lines = lines_through(axes, line["depth"], line["time"])
                assert len(drawn_lines) == (3 if kind == "dominant" else 1)  # the dominant terms coincide
                assert {(one.get_linestyle(), one.get_marker()) for one in drawn_lines} == {looks}
    for objective in OBJECTIVES:
        share = [
            critical_time(objective, depth, 1.0, 0.6, 1e-3) / critical_time(objective, depth, 1.0, 1.0, 1e-3)
            for depth in range(1, 11)
        ]
        (line,) = (line for line in ratios.lines if line.get_label() == TITLES[objective])
        assert_allclose(line.get_ydata(), share, rtol=1e-12)
        assert_array_equal(line.get_xdata(), range(1, 11))
    assert [text.get_text() for text in ratios.get_legend().get_texts()] == ["JEPA", "MAE"]


def test_expansion_error_lines_are_the_rows_of_the_table() -> None:
    for axes, objective in zip(small("expansion-error").figure.axes, OBJECTIVES, strict=True):
        for kind, style in (("dominant", ":"), ("expansion", "-")):
            for _, line in of_kind(table("expansion-error"), kind, objective=objective).groupby("depth"):
                (found,) = lines_through(axes, line["epsilon"], line["relative_error"])
                assert found.get_linestyle() == style
        assert len(axes.lines) == 2 * 4


def test_map_contours_connect_equal_times() -> None:
    wanted = [(f"{TITLES[objective]}, $L={depth}$", objective, depth) for objective in OBJECTIVES for depth in (1, 2, 4)]
    *maps, bar = drawn("map").figure.axes
    assert [axes.get_title() for axes in maps] == [title for title, *_ in wanted]
    assert bar.get_ylabel() == "time over that of $\\lambda=\\rho=1$"
    assert [text.get_text() for text in bar.get_yticklabels()] == ["1/2", "1", "2"]
    for axes, (_, objective, depth) in zip(maps, wanted, strict=True):
        (lines,) = (one for one in axes.collections if isinstance(one, QuadContourSet) and not one.filled)
        unit, seen = critical_time(objective, depth, 1.0, 1.0, 1e-2), 0
        for level, path in zip(lines.levels, lines.get_paths(), strict=True):
            for lam, rho in path.vertices[:: max(1, len(path.vertices) // 3)]:
                time = critical_time(objective, depth, lam, rho, 1e-2)
                assert math.log2(time / unit) == pytest.approx(level, abs=0.01)
                seen += 1
        assert seen > 20


def test_map_axes_are_lambda_and_rho_over_the_whole_grid() -> None:
    *maps, _ = drawn("map").figure.axes
    for axes in maps:
        assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
        assert_allclose([*axes.get_xlim(), *axes.get_ylim()], [0.4, 1.6] * 2)
        guides = [line for line in axes.lines if line.get_linestyle() == ":"]
        assert_allclose(
            [np.asarray(line.get_xdata()) / line.get_ydata() for line in guides],
            np.repeat([[0.25], [0.5], [1.0], [2.0], [4.0]], 31, axis=1),
        )
    assert [axes.get_xlabel() for axes in maps[3:]] == [r"covariance $\lambda$"] * 3
    assert [axes.get_ylabel() for axes in maps[::3]] == [r"regression $\rho$"] * 2


def test_map_marks_given_features_where_they_are() -> None:
    own = dyn.Features(lam=[0.9, 0.7], rho=[0.7, 1.1])
    *maps, _ = drawn("map", features=own, points=3, depth=(2,)).figure.axes
    assert len(maps) == 2
    for axes in maps:
        (marks,) = lines_through(axes, own.lam, own.rho)
        assert marks.get_marker() == "o"


def test_crossover_bars_run_over_their_windows() -> None:
    (axes,) = small("crossover").figure.axes
    frame = table("crossover").astype({"epsilon_lower": float, "epsilon_upper": float})
    assert axes.get_xlim() == (0.5, 12.5)
    bars, marks = {}, {}
    for collection in axes.collections:
        assert isinstance(collection, LineCollection)
        for segment in collection.get_segments():
            if len(segment):  # an empty window has none
                (x0, y0), (x1, y1) = segment
                (bars if x0 == x1 else marks)[(x0 + x1) / 2] = (y0, y1)
    jepa = frame[(frame["objective"] == "jepa") & frame["epsilon_lower"].notna()]
    assert [round(place) for place in sorted(bars)] == list(jepa["depth"])
    assert_allclose([bars[place] for place in sorted(bars)], jepa[["epsilon_lower", "epsilon_upper"]])
    for objective, side in (("jepa", -1), ("mae", 1)):
        mine = sorted(place for place in marks if (place - round(place)) * side > 0)
        assert_allclose([marks[place][0] for place in mine], frame.loc[frame["objective"] == objective, "epsilon_threshold"])


def test_initialisation_panels_show_every_run_and_the_lost_ones_on_the_upper_edge() -> None:
    shown = small("initialisation").figure.axes
    assert [axes.get_title() for axes in shown] == [
        f"{objective}: {start}" for objective in ("JEPA", "MAE") for start in ("aligned", "not aligned", "Gaussian")
    ]
    assert [axes.get_xlabel() for axes in shown] == [""] * 3 + ["predicted time"] * 3
    assert [axes.get_ylabel() for axes in shown] == ["simulated time", "", ""] * 2
    runs = table("initialisation").groupby(["objective", "start"], sort=False)
    assert runs.ngroups == 6
    for axes, (_, run) in zip(shown, runs, strict=True):
        learned = run[np.isfinite(run["time"])]
        (points,) = lines_through(axes, learned["predicted_time"], learned["time"])
        assert points.get_linestyle() == "None"
        low, high = axes.get_ylim()
        assert axes.get_yscale() == "log"
        assert ((learned["time"] > low) & (learned["time"] < high)).all()
        (lost,) = (line for line in axes.lines if line.get_marker() == "^")
        assert_array_equal(lost.get_xdata(), run.loc[np.isinf(run["time"]), "predicted_time"])
        assert_allclose(lost.get_ydata(), high)
        left, right = axes.get_xlim()
        assert left < run["predicted_time"].min() < run["predicted_time"].max() < right
        (exact,) = (line for line in axes.lines if len(line.get_xdata()) > 100)
        assert_array_equal(exact.get_xdata(), exact.get_ydata())


def test_teacher_lines_and_circles_are_the_rows_of_the_table() -> None:
    (axes,) = small("teacher").figure.axes
    for kind, look in (("predicted", ("-", "None")), ("simulated", ("None", "o")), ("no teacher", (":", "None"))):
        for _, line in of_kind(table("teacher"), kind).groupby("feature"):
            (found,) = lines_through(axes, line["teacher_rate"], line["time"])
            assert (found.get_linestyle(), found.get_marker()) == look
    assert len(axes.lines) == 3 * 3


def test_predictor_depth_draws_sizes_with_open_markers_where_the_delay_is_negative() -> None:
    for axes, objective in zip(small("predictor-depth").figure.axes, OBJECTIVES, strict=True):
        for depth, line in of_kind(table("predictor-depth"), "exact", objective=objective).groupby("depth"):
            for negative in (False, True):
                part = line[(line["delay"] < 0) == negative]
                if part.empty:
                    continue
                found = lines_through(axes, part["predictor_depth"], part["delay"].abs())
                assert [one.get_markerfacecolor() == "none" for one in found] == [negative], (objective, depth)
    jepa = small("predictor-depth").figure.axes[0]
    for _, line in of_kind(table("predictor-depth"), "leading").groupby("depth"):
        (found,) = lines_through(jepa, line["predictor_depth"], line["delay"])
        assert (found.get_linestyle(), found.get_marker()) == ("-", "None")


def test_collapse_panels_draw_ends_and_the_fold() -> None:
    frame, (starts, decays) = table("collapse"), small("collapse").figure.axes
    for axes, cause, by, along in ((starts, "predictor_start", "value", "rho"), (decays, "weight_decay", "epsilon", "value")):
        for _, line in of_kind(frame, "predicted", cause=cause).groupby(by):
            assert [one.get_marker() for one in lines_through(axes, line[along], line["final_amplitude"])] == ["None"]
        for _, network in of_kind(frame, "simulated", cause=cause).groupby(by):
            held = network["predicted_amplitude"] > 0.0
            for part, marker in ((network[held], "o"), (network[~held], "x")):
                drawn = lines_through(axes, part[along], part["final_amplitude"]) if len(part) else []
                assert {one.get_marker() for one in drawn} == ({marker} if len(part) else set())
    assert ticks(decays) == [pytest.approx(0.75**3 * 0.25)]  # of u^3 (1 - u)
    (balanced,) = (line for line in starts.lines if line.get_label() == "balanced")
    assert_allclose(balanced.get_ydata(), np.asarray(balanced.get_xdata()) ** 2)
    labels = [[text.get_text() for text in axes.get_legend().get_texts()] for axes in (starts, decays)]
    assert labels == [["balanced", "$v_0=0.3$", "$v_0=0.5$"], ["fold", r"$\epsilon=0.02$", r"$\epsilon=0.4$"]]


def test_spectrum_writes_the_order_beside_every_point() -> None:
    (axes,) = small("spectrum").figure.axes
    known: dict[tuple[int, int], dict[str, set[Fraction]]] = {}
    for objective in OBJECTIVES:
        for predictor_depth in (1, 2):
            points = [exponents(objective, depth, predictor_depth) for depth in range(1, 5)]
            assert len(lines_through(axes, *zip(*points, strict=True))) == 1
            for depth, (a, b) in enumerate(points, start=1):
                known.setdefault((a, b), {}).setdefault(objective, set()).add(Fraction(min(b, a - 1), depth))
    written = sorted((*text.xy, sorted(map(Fraction, text.get_text().split(", ")))) for text in axes.texts)
    assert written == sorted((a, b, sorted(orders)) for (a, b), by in known.items() for orders in by.values())


def test_digit_images_are_those_of_the_table_with_zero_in_the_middle() -> None:
    images = [axes for axes in small("digits").figure.axes if axes.images]
    frame = table("digits")
    place: Any = iter(images)
    for objective in OBJECTIVES:
        for position, tick in enumerate(of_kind(frame, "critical-time", objective=objective).to_dict("records")):
            axes = next(place)
            pixels = of_kind(frame, "image", objective=objective, feature=tick["feature"]).sort_values("pixel")
            assert_array_equal(pixels["pixel"], range(64))
            (image,) = axes.images
            assert_allclose(image.get_array(), pixels["intensity"].to_numpy(dtype=float).reshape(8, 8))
            low, high = image.get_clim()
            assert low == -high
            assert high == np.abs(pixels["intensity"].to_numpy(dtype=float)).max()
            assert axes.get_title() == f"{tick['time']:.3g}"
            assert axes.get_ylabel() == (TITLES[objective] if position == 0 else "")
    assert next(place, None) is None


def test_steps_panels_draw_predicted_and_measured_numbers_and_their_errors() -> None:
    frame, axes = table("steps"), np.array(small("steps").figure.axes).reshape(2, 2)
    for column, objective in enumerate(OBJECTIVES):
        shown = of_kind(frame, "steps", objective=objective)
        for _, line in shown.groupby("feature"):
            rate = line["learning_rate"]
            steps, errors = axes[:, column]
            assert [one.get_linestyle() for one in lines_through(steps, rate, line["first_order_steps"])] == ["-"]
            assert [one.get_linestyle() for one in lines_through(steps, rate, line["measured_steps"])] == ["None"]
            assert len(lines_through(errors, rate, line["first_order_error"].abs())) == 1
            assert len(lines_through(errors, rate, line["refined_error"].abs())) == 1
        assert features_of(shown[:3]).lam.tolist() == [1.0, 0.7, 0.5]


@pytest.mark.parametrize("name", figures.NAMES)
def test_every_figure_has_the_width_of_its_style(name: str) -> None:
    assert small(name).figure.get_figwidth() == 5.5
