"""Panels of the figures of small projectors and several views: what is drawn is what their tables say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tests.figures.drawn import is_tick, lines_through, of_kind, small, table, ticks


def test_staircase_panels_draw_curves_stairs_and_steps() -> None:
    for axes, (beta, shown) in zip(small("staircase").figure.axes, table("staircase").groupby("beta", sort=False), strict=True):
        assert axes.get_title() == rf"$\beta={beta:g}$"
        stairs, curves = of_kind(shown, "plateau"), of_kind(shown, "simulated")
        (broad,) = lines_through(axes, stairs["time"], stairs["energy"])
        drawn = [lines_through(axes, curve["time"], curve["energy"]) for _, curve in curves.groupby("feature", sort=False)]
        assert [len(lines) for lines in drawn] == [1] * 4
        assert broad.get_linewidth() > 2 * drawn[0][0].get_linewidth()
        marks = of_kind(shown, "critical-time")
        assert_array_equal(ticks(axes), marks["time"])
        colours = [lines[0].get_color() for lines in drawn]
        assert [line.get_color() for line in filter(is_tick, axes.lines)] == colours
        assert len(axes.lines) == 1 + 4 + 4
        low, high = axes.get_xlim()
        assert low < marks["time"].min() < marks["time"].max() < high
        assert axes.get_ylim()[0] == 0.0


def test_staircase_strengths_darken() -> None:
    axes = small("staircase").figure.axes[0]
    colours = [line.get_color() for line in filter(is_tick, axes.lines)]
    light = [sum(int(colour[place : place + 2], 16) for place in (1, 3, 5)) for colour in colours]
    assert light == sorted(light)  # the strongest first


def test_redundancy_panels_draw_predictions_and_points() -> None:
    columns = ("effective_rank", "mean_squared_correlation")
    for axes, column in zip(small("redundancy").figure.axes, columns, strict=True):
        for (kind, _), shown in table("redundancy").groupby(["kind", "width"]):
            (line,) = lines_through(axes, shown["ratio"], shown[column])
            assert (line.get_linestyle() == "None") == (kind == "simulated")
        assert len(axes.lines) == 4
        assert axes.get_ylim()[0] == 0.0


def test_projector_panels_draw_best_betas_and_both_scores() -> None:
    betas, scores = small("projector").figure.axes
    for kind, look in (("predicted", ("-", "None")), ("simulated", ("None", "o"))):
        shown = of_kind(table("projector"), kind)
        inside = shown[shown["place"] == "inside"]
        (line,) = lines_through(betas, inside["width"], inside["beta"])
        assert (line.get_linestyle(), line.get_marker()) == look
        for column in ("score", "reused_score"):
            (line,) = lines_through(scores, shown["width"], shown[column])
            assert (line.get_linestyle(), line.get_marker()) == look
    (edge,) = (line for line in betas.lines if line.get_marker() == "^")
    assert_array_equal(edge.get_xdata(), [4])
    assert_allclose(edge.get_ydata(), betas.get_ylim()[1])
    assert scores.get_ylim() == (0.0, 1.0)


@pytest.mark.parametrize("name", ["projector", "views"])
def test_widths_and_views_are_labelled_at_powers_of_two(name: str) -> None:
    for axes in small(name).figure.axes:
        low, high = axes.get_xlim()
        seen = [tick for tick in axes.get_xticks() if low <= tick <= high]
        assert len(seen) >= 3
        assert_array_equal(np.log2(seen), np.round(np.log2(seen)))


def test_views_panel_draws_the_law_the_samples_and_the_best_number() -> None:
    (axes,) = small("views").figure.axes
    law, samples = (of_kind(table("views"), kind) for kind in ("law", "simulated"))
    assert [line.get_linestyle() for line in lines_through(axes, law["views"], law["error"])] == ["-"]
    assert [line.get_marker() for line in lines_through(axes, samples["views"], samples["error"])] == ["o"]
    assert ticks(axes) == [table("views")["best_views"].iloc[0]]
    (bars,) = axes.collections
    reach = 2 * samples["standard_error"].to_numpy()
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    assert_allclose(ends, samples["error"].to_numpy()[:, None] + np.outer(reach, [-1, 1]))
    assert axes.get_ylim()[0] == 0.0


def test_three_orders_panels_draw_both_curves_and_the_times() -> None:
    frame, shades = table("three-orders"), set()
    for axes, (kernel, shown) in zip(small("three-orders").figure.axes, frame.groupby("kernel", sort=False), strict=True):
        assert axes.get_title().startswith(kernel)
        for kind in ("exact", "simulated"):
            for _, curve in of_kind(shown, kind).groupby("feature"):
                assert len(lines_through(axes, curve["time"], curve["energy"])) == 1
        marks = of_kind(shown, "critical-time")
        assert_array_equal(ticks(axes), sorted(marks["time"]))
        for row in marks.to_dict("records"):
            (line,) = (line for line in filter(is_tick, axes.lines) if line.get_xdata()[0] == row["time"])
            shades.add((row["rho"], sum(int(line.get_color()[place : place + 2], 16) for place in (1, 3, 5)), kernel))
        assert len(axes.lines) == 3 * 3 + 1
        assert (axes.get_xlim()[0], axes.get_xlim()[1]) == (0.0, pytest.approx(of_kind(shown, "exact")["time"].max()))
    for kernel in set(frame["kernel"]):
        light = [shade for _, shade, mine in sorted(shades) if mine == kernel]
        assert light == sorted(light, reverse=True)  # darker is larger rho
