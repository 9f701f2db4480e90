"""Panels of the figures of attention: what is drawn is what their tables say."""

import numpy as np
import pytest
from matplotlib.contour import QuadContourSet
from numpy.testing import assert_allclose, assert_array_equal

from tests.figures.drawn import drawn, lines_through, of_kind, small, table, ticks

CORRELATIONS = ("phi_T", "phi_G", "phi_O")


def test_phases_panels_draw_flow_network_and_events() -> None:
    panels = small("phases").figure.axes
    assert panels[0].get_ylim() == panels[1].get_ylim()
    for axes, (_, shown) in zip(panels, table("phases").groupby("global_size", sort=False), strict=True):
        colours = {}
        for name in CORRELATIONS:
            line, network = (of_kind(shown, kind, correlation=name) for kind in ("reduced", "simulated"))
            (curve,), (marks,) = (lines_through(axes, one["time"], one["value"]) for one in (line, network))
            assert (curve.get_marker(), marks.get_marker(), marks.get_linestyle()) == ("None", "o", "None")
            assert curve.get_color() == marks.get_color()
            colours[name] = curve.get_color()
        assert len(set(colours.values())) == 3
        events = [of_kind(shown, kind)["time"].iloc[0] for kind in ("onset", "first-phase", "second-phase")]
        assert_array_equal(ticks(axes), sorted(time for time in events if time > 0))
        assert len(axes.lines) == 6 + len(ticks(axes))
        low, high = axes.get_xlim()
        assert low < min(ticks(axes)) < max(ticks(axes)) < high
    assert [len(ticks(axes)) for axes in panels] == [3, 2]


def test_exponents_panels_draw_times_over_leading_orders_and_slopes_over_limits() -> None:
    times, slopes = small("exponents").figure.axes
    markers = set()
    for _, shown in table("exponents").groupby("kind"):
        for axes, column, line in ((times, "time", "leading"), (slopes, "slope", "limit")):
            (marks,) = lines_through(axes, shown["patches"], shown[column])
            assert marks.get_linestyle() == "None"
            markers.add(marks.get_marker())
            assert {one.get_linestyle() for one in lines_through(axes, shown["patches"], shown[line])} == {"-"}
    assert len(markers) == 3
    assert [len(axes.lines) for axes in (times, slopes)] == [6, 6]
    assert slopes.get_ylim()[0] == 0.0


def test_collapse_map_draws_flows_as_lines_and_networks_as_open_markers() -> None:
    (axes,) = small("collapse-map").figure.axes
    for (kind, name), shown in table("collapse-map").groupby(["kind", "objective"]):
        (line,) = lines_through(axes, shown["gap"], shown["on_global"])
        assert (line.get_linestyle() == "None") == (kind == "simulated"), name
        assert (line.get_marker() == "None") == (kind == "reduced")
    assert ticks(axes) == [0.0]
    assert len(axes.lines) == 4 + 3 + 1


def test_attention_maps_show_the_table_on_one_scale_with_the_ends_of_areas() -> None:
    *panels, bar = small("attention-maps").figure.axes
    assert bar.get_ylabel() == "attention"
    groups = table("attention-maps").groupby(["global_size", "objective"], sort=False)
    names, scales = {"untrained": "untrained", "mae": "MAE", "cl": "CL"}, set()
    for axes, ((size, name), shown) in zip(panels, groups, strict=True):
        cells = of_kind(shown, "attention").astype({"attention": float})
        (image,) = axes.images
        assert_allclose(image.get_array(), cells.pivot(index="query", columns="key", values="attention").to_numpy())
        scales.add(image.get_clim())
        (metrics,) = [row for _, row in of_kind(shown, "metrics").iterrows()]
        first, second, third = axes.get_title().splitlines()
        assert first == rf"{names[str(name)]}, $\Delta={metrics['gap']:+.2f}$"
        assert (second, third) == (
            f"diversity {metrics['diversity']:.2f}",
            f"on global {metrics['local_to_global']:.2f}",
        )
        ends = np.arange(size, 25, 3) - 0.5
        assert ticks(axes) == list(ends)
        assert len(axes.lines) == 2 * len(ends)
    assert scales == {(0.0, of_kind(table("attention-maps"), "attention")["attention"].max())}
    assert [axes.get_ylabel() for axes in panels] == ["query", "", ""] * 2
    assert [axes.get_xlabel() for axes in panels] == [""] * 3 + ["key"] * 3


def test_gap_sign_draws_where_both_are_equally_fast_between_the_lines_of_the_rules() -> None:
    *maps, bar = small("gap-sign").figure.axes
    assert list(bar.get_yticks()) == [-0.6, 0.0, 0.6]
    for axes, (P, shown) in zip(maps, table("gap-sign").groupby("patches", sort=False), strict=True):
        (equal,) = (one for one in axes.collections if isinstance(one, QuadContourSet) and not one.filled)
        grid = of_kind(shown, "grid").copy()
        grid["power"] = np.log(grid["ratio"]) / np.log(P)
        field = grid.pivot(index="kappa_s", columns="kappa_c", values="power")
        (path,) = equal.get_paths()
        for x, y in path.vertices:
            near = field.iloc[np.abs(field.index - y).argsort()[:2], np.abs(field.columns - x).argsort()[:2]].to_numpy()
            assert near.min() <= 0.0 <= near.max() or np.abs(near).min() < 0.03
        for rule, look in (("gap", "--"), ("finite_gap", ":")):
            line = of_kind(shown, rule)
            assert [one.get_linestyle() for one in lines_through(axes, line["kappa_c"], line["kappa_s"])] == [look]
        assert axes.get_xlim() == (0.5, 0.95)
        assert axes.get_ylim() == (0.05, 0.5)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("phases", {"patches": 16, "global_size": (8,), "local_size": 4, "steps": 20, "batch": 4}),
        ("attention-maps", {"patches": 12, "global_size": (4,), "steps": 10, "batch": 4}),
        ("gap-sign", {"patches": (1e5,), "points": 4}),
    ],
    ids=lambda value: value if isinstance(value, str) else "one",
)
def test_one_panel_is_enough(name: str, parameters: dict[str, object]) -> None:
    axes = drawn(name, "icml", **parameters).figure.axes
    assert len([one for one in axes if one.get_title()]) in (1, 3)
