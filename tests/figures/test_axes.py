"""Panels: titles, labels, limits and scales, and that what is drawn is what the table says."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from numpy.testing import assert_array_equal

from tests.figures.drawn import (
    ATTENTION,
    MIXED,
    MULTIVIEW,
    OWN,
    TITLES,
    drawn,
    is_tick,
    legend_labels,
    lines_through,
    of_kind,
    small,
    table,
    ticks,
)

TIME, SHARE = "training time $t$", "$w/w^*$"
CURVES = {
    "greedy": ("exact",),
    "network": ("exact", "flow", "descent"),
    "masking": ("exact", "simulated"),
    "temporal": ("exact", "simulated"),
    "digits": ("exact", "network"),
}
"""The figures of amplitudes against time, and which of their rows are curves."""

SCENARIOS = {
    r"$\rho=1$, $\lambda$ varies": "lambda",
    r"$\lambda=1$, $\rho$ varies": "rho",
    r"$\lambda$ up, $\rho$ down": "opposed",
}


def panels(name: str) -> list[Axes]:
    """The panels of amplitudes against time."""
    return [axes for axes in small(name).figure.axes if re.match("JEPA|MAE", axes.get_title())]


def rows_of(name: str, axes: Axes) -> pd.DataFrame:
    """The part of the table that a panel shows, by its title."""
    objective, _, scenario = axes.get_title().partition(": ")
    frame = table(name)
    shown = frame["objective"] == objective.lower()
    if scenario:
        shown &= frame["scenario"] == SCENARIOS[scenario]
    return frame[shown]


# --- amplitudes against time ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CURVES)
def test_panels_are_titled_by_objective_and_scenario(name: str) -> None:
    titles = [axes.get_title() for axes in panels(name)]
    wanted = [f"{objective}: {scenario}" for objective in ("JEPA", "MAE") for scenario in SCENARIOS]
    assert titles == (wanted if name == "greedy" else ["JEPA", "MAE"])


@pytest.mark.parametrize("name", CURVES)
def test_time_is_told_below_and_the_share_of_the_asymptote_beside(name: str) -> None:
    shown = panels(name)
    below, beside = (
        [axes for axes in shown if axes.get_subplotspec().is_last_row()],
        [axes for axes in shown if axes.get_subplotspec().is_first_col()],
    )
    assert {axes.get_xlabel() for axes in below} == {TIME}
    assert {axes.get_ylabel() for axes in beside} == {SHARE}
    assert {axes.get_xlabel() for axes in shown} <= {TIME, ""}
    assert {axes.get_ylabel() for axes in shown} <= {SHARE, ""}


@pytest.mark.parametrize("name", CURVES)
def test_share_axes_hold_0_to_1_and_time_axes_every_tick(name: str) -> None:
    for axes in panels(name):
        bottom, top = axes.get_ylim()
        assert -0.2 < bottom <= 0.0
        assert 1.0 < top < 1.2
        assert {0.0, 0.5, 1.0} <= set(axes.get_yticks())
        shown = rows_of(name, axes)
        start, end = axes.get_xlim()
        assert start == 0.0
        assert end == pytest.approx(of_kind(shown, "exact")["time"].max(), rel=1e-6)
        assert end > of_kind(shown, "critical-time")["time"].max()
        assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "linear")


@pytest.mark.parametrize("name", CURVES)
def test_ticks_stand_at_the_critical_times_of_the_table(name: str) -> None:
    for axes in panels(name):
        marked = of_kind(rows_of(name, axes), "critical-time")["time"]
        assert_array_equal(ticks(axes), sorted(marked))
        for line in filter(is_tick, axes.lines):
            assert_array_equal(line.get_ydata()[0], 0.0)
            assert 0.0 < line.get_ydata()[1] < 0.3


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_the_rows_of_the_table(name: str) -> None:
    for axes in panels(name):
        shown, count = rows_of(name, axes), 0
        for kind in CURVES[name]:
            for _, curve in of_kind(shown, kind).groupby("feature"):
                assert len(lines_through(axes, curve["time"], curve["amplitude"] / curve["asymptote"])) == 1
                count += 1
        features = shown["feature"].nunique()
        assert count == len(CURVES[name]) * features
        assert len(axes.lines) == count + features + 1  # curves, ticks, the threshold
        (threshold,) = (line for line in axes.lines if list(line.get_ydata()) == [0.5, 0.5])
        assert list(threshold.get_xdata()) == [0, 1]


@pytest.mark.parametrize("name", ["greedy", "network"])
def test_a_tick_has_the_colour_of_its_curve_and_darker_is_larger(name: str) -> None:
    for axes in panels(name):
        shown, colours = rows_of(name, axes), {}
        for feature, curve in of_kind(shown, "exact").groupby("feature"):
            (line,) = lines_through(axes, curve["time"], curve["amplitude"] / curve["asymptote"])
            colours[feature] = line.get_color()
        for _, row in of_kind(shown, "critical-time").iterrows():
            (line,) = (line for line in axes.lines if is_tick(line) and line.get_xdata()[0] == row["time"])
            assert line.get_color() == colours[row["feature"]]
        key = "rho" if "scenario" in shown and set(shown["scenario"]) == {"rho"} else "lambda"
        ranked = of_kind(shown, "critical-time").sort_values(key)["feature"]
        light = [sum(int(colours[feature][place : place + 2], 16) for place in (1, 3, 5)) for feature in ranked]
        assert light == sorted(light, reverse=True)
        assert len(set(light)) == len(light)


@pytest.mark.parametrize("name", ["greedy", "network"])
def test_what_is_never_learned_has_neither_curve_nor_tick(name: str) -> None:
    drawing = drawn(name, features=MIXED, **OWN.get(name, {}))
    titled = [axes for axes in drawing.figure.axes if axes.get_title() in TITLES.values()]
    assert len(titled) == 2
    for axes in titled:
        assert len(ticks(axes)) == 2
        assert len(axes.lines) == 2 * len(CURVES[name]) + 2 + 1
        assert np.isfinite(axes.get_xlim()).all()


@pytest.mark.parametrize("name", ["masking", "temporal"])
def test_the_last_panel_sets_the_times_of_both_objectives_against_each_other(name: str) -> None:
    axes = small(name).figure.axes[-1]
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("order", "critical time, MAE", "critical time, JEPA")
    points = {}
    for kind in ("critical-time", "simulated-time"):
        by_feature = of_kind(table(name), kind).pivot(index="feature", columns="objective", values="time").sort_values("mae")
        points[kind] = lines_through(axes, by_feature["mae"], by_feature["jepa"])
    assert sorted(line.get_marker() for line in points["critical-time"]) == ["None", "o"]
    assert [line.get_marker() for line in points["simulated-time"]] == ["x"]
    for low, high, time in (
        (*axes.get_xlim(), axes.lines[0].get_xdata()),
        (*axes.get_ylim(), axes.lines[0].get_ydata()),
    ):
        assert low < min(time) < max(time) < high


LEGENDS = {
    "depth": ["exact", "expansion", "dominant term, whatever rho"],
    "expansion-error": ["dominant term alone", "all terms"],
    "map": [r"equal $\sigma$"],
    "crossover": [r"JEPA: larger $\rho$ first", r"MAE: larger $\rho$ first", "above: one learned from the start"],
    "network": ["exact", "network, gradient flow", "network, gradient descent"],
    "teacher": ["mode equation", "network", "no teacher (exact)"],
    "predictor-depth": ["$L=2$", "$L=3$", "$L=5$"],
    "collapse": ["mode equation", "network", "lost"],
    "masking": ["exact, the model's formulas", "simulated on a sample"],
    "temporal": ["exact, the model's formulas", "simulated on a sample"],
    "spectrum": ["JEPA", "MAE", "number: order at which rho enters"],
    "digits": ["theory of features that do not mix", "network trained on the images"],
    "steps": ["time over learning rate", "measured", "third power"],
    "staircase": ["gradient flow", "predicted plateaus", "predicted steps"],
    "redundancy": ["$d=4$", "$d=16$", "predicted"],
    "projector": [
        "water-filling",
        "trained from random starts",
        r"its own best $\beta$",
        r"best $\beta$ of the widest",
        r"no best $\beta$",
    ],
    "views": ["first-order law", "samples", "best $m$"],
    "three-orders": ["closed form", "gradient flow"],
    "phases": [
        r"$\phi_T$, own area",
        r"$\phi_G$, global area",
        r"$\phi_O$, others",
        "reduced flow",
        "network",
        "onset",
        "$T_1$",
        "$T_2$",
    ],
    "exponents": ["$T_2$", "$T_1$", "onset", r"$\kappa_c=0.9$, $\kappa_s=0.4$", "leading order, limits"],
    "collapse-map": ["MAE", "CL, position queries", "CL, full queries", "untrained", "networks"],
    "gap-sign": ["equal", r"$\Delta=0$", r"$\Delta+\ln(1-\gamma)/\ln P=0$"],
}


@pytest.mark.parametrize("name", LEGENDS)
def test_legends_name_what_is_drawn(name: str) -> None:
    assert legend_labels(name) == LEGENDS[name]


def test_legend_handles_look_like_what_they_name() -> None:
    for name, kinds in (("network", CURVES["network"]), ("digits", CURVES["digits"])):
        (legend,), axes = small(name).figure.legends, panels(name)[0]
        for handle, kind in zip(legend.get_lines(), kinds, strict=True):
            curve = next(iter(of_kind(rows_of(name, axes), kind).groupby("feature")))[1]
            (line,) = lines_through(axes, curve["time"], curve["amplitude"] / curve["asymptote"])
            for look in ("get_linewidth", "get_linestyle", "get_alpha"):
                assert getattr(handle, look)() == getattr(line, look)(), (kind, look)


# --- scales and labels ------------------------------------------------------------------------------------------------------

DEPTH, START = "depth $L$", r"start $\epsilon$"
RATIO = r"$\beta d/(1-\beta)$"
KAPPA_C = r"global $\kappa_c$"
DELAY = r"$t(\rho)/t(\rho')-1$"
PLAIN: dict[str, list[tuple[str, str, str, str, str]]] = {
    "depth": [
        ("JEPA: critical time", DEPTH, "", "linear", "log"),
        ("MAE: critical time", DEPTH, "", "linear", "log"),
        ("lowest over highest rho", DEPTH, "", "linear", "linear"),
    ],
    "expansion-error": [("JEPA", START, "relative error", "log", "log"), ("MAE", START, "", "log", "log")],
    "crossover": [("", DEPTH, START, "linear", "log")],
    "teacher": [("", r"teacher rate $\beta$", "critical time", "log", "log")],
    "predictor-depth": [
        ("JEPA", "predictor depth $M$", DELAY, "linear", "log"),
        ("MAE", "predictor depth $M$", "", "linear", "log"),
    ],
    "collapse": [
        ("unbalanced start", r"$\rho$", "final amplitude $w$", "linear", "linear"),
        ("weight decay", r"weight decay $\eta$", "final amplitude $w$", "log", "linear"),
    ],
    "spectrum": [("", "growth exponent $a$", "saturation exponent $b$", "linear", "linear")],
    "steps": [
        ("JEPA", "", "steps", "log", "log"),
        ("MAE", "", "", "log", "log"),
        ("", "learning rate", "relative error", "log", "log"),
        ("", "learning rate", "", "log", "log"),
    ],
    "staircase": [
        (r"$\beta=1$", TIME, "energy of a mode", "log", "linear"),
        (r"$\beta=0.1$", TIME, "", "log", "linear"),
        (r"$\beta=0.01$", TIME, "", "log", "linear"),
    ],
    "redundancy": [("effective rank", RATIO, "", "log", "linear"), ("mean squared correlation", RATIO, "", "log", "linear")],
    "projector": [("best beta", "width $d$", r"$\beta$", "log", "log"), ("share read", "width $d$", "", "log", "linear")],
    "views": [("", "views of an image $m$", "error", "log", "linear")],
    "three-orders": [
        ("cross-view", TIME, "energy", "linear", "linear"),
        ("view-mean, $m=2$", TIME, "", "linear", "linear"),
        ("whitened", TIME, "", "linear", "linear"),
    ],
    "phases": [
        (r"$\Delta=+0.26$", TIME, "correlation", "log", "linear"),
        (r"$\Delta=-0.32$", TIME, "", "log", "linear"),
    ],
    "exponents": [
        ("times", "patches $P$", "time $t$", "log", "log"),
        ("local slopes", "patches $P$", r"$d\,\ln t/d\,\ln P$", "log", "linear"),
    ],
    "collapse-map": [("", r"information gap $\Delta$", "attention on the global area", "linear", "linear")],
    "gap-sign": [
        ("$P=256$", KAPPA_C, r"local $\kappa_s$", "linear", "linear"),
        ("$P=10^{4}$", KAPPA_C, "", "linear", "linear"),
        ("$P=10^{8}$", KAPPA_C, "", "linear", "linear"),
        ("", "", r"$\log_P(|\dot\phi_G|/\dot\phi_T)$", "linear", "function"),
    ],
}


@pytest.mark.parametrize("name", PLAIN)
def test_titles_labels_and_scales(name: str) -> None:
    found = [
        (axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), axes.get_xscale(), axes.get_yscale())
        for axes in small(name).figure.axes
    ]
    assert found == PLAIN[name]


@pytest.mark.parametrize(
    ("name", "axes_names", "few"),
    [
        ("depth", "x", {"max_depth": 3}),
        ("crossover", "x", {"max_depth": 3}),
        ("predictor-depth", "x", {"max_predictor_depth": 3}),
        ("spectrum", "xy", {"max_depth": 2, "max_predictor_depth": 2}),
    ],
)
def test_depths_and_exponents_have_whole_ticks_however_few(name: str, axes_names: str, few: dict[str, int]) -> None:
    for axes in drawn(name, **few).figure.axes:
        for axis in axes_names:
            low, high = sorted(getattr(axes, f"get_{axis}lim")())
            seen = [tick for tick in getattr(axes, f"get_{axis}ticks")() if low <= tick <= high]
            assert len(seen) > 1
            assert all(tick == round(tick) for tick in seen)


NO_POINT_OUTSIDE = [
    "depth",
    "expansion-error",
    "teacher",
    "collapse",
    "steps",
    "predictor-depth",
    "spectrum",
    *MULTIVIEW,
    *ATTENTION,
]


@pytest.mark.parametrize("name", NO_POINT_OUTSIDE)
def test_no_drawn_point_lies_outside_its_panel(name: str) -> None:
    for axes in small(name).figure.axes:
        for line in axes.lines:
            if line.get_transform() != axes.transData:
                continue
            floor = 1e-9 if name == "expansion-error" else -np.inf  # below it an error is rounding
            x, y = (np.asarray(data, dtype=float) for data in (line.get_xdata(), line.get_ydata()))
            shown = y > floor
            for values, (low, high) in ((x[shown], axes.get_xlim()), (y[shown], axes.get_ylim())):
                slack = 1e-9 * (high - low)
                assert np.all((values >= low - slack) & (values <= high + slack))
