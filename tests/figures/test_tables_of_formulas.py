"""Figures of closed forms: every number in their tables, and in their captions, against the theory written again."""

import math
import re

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

import dynamics as dyn
from tests.figures.drawn import (
    OBJECTIVES,
    TITLES,
    asymptote,
    critical_time,
    drawn,
    excess,
    exponents,
    features_of,
    objective_of,
    of_kind,
    small,
    table,
    tells,
    time_of,
    times_of,
)


def small_start_time(objective: str, depth: int, rho: float, epsilon: float, p: float) -> tuple[float, float]:
    """Dominant term and all terms of section 4 for lambda = 1 and M = 1."""
    if objective == "jepa":
        last, u1 = 2 * depth - 1, p ** (1 / depth) * rho
        terms = [1 / (n * rho ** (last - n) * epsilon ** (n / depth)) for n in range(1, last + 1)]
        constant = rho**-last * (math.log(u1) - math.log1p(-u1 / rho))
        constant -= sum(1 / (n * rho ** (last - n) * u1**n) for n in range(1, last + 1))
        return terms[-1], sum(terms) + abs(math.log(epsilon)) / (depth * rho**last) + constant
    if depth == 1:
        return abs(math.log(epsilon)), abs(math.log(epsilon)) + math.log(p**2 * rho / (1 - p**2)) / 2
    s, dominant = p ** (1 / depth), epsilon ** (-(depth - 1) / depth) / (depth - 1)
    k = -(s ** (1 - depth)) / (depth - 1) + quad(lambda x: x / (1 - x ** (depth + 1)), 0.0, s, epsabs=1e-13)[0]
    return dominant, dominant + rho ** (-(depth - 1) / (depth + 1)) * k


# --- greedy -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("predictor_depth", [1, 2])
def test_greedy_ticks_are_critical_times(predictor_depth: int) -> None:
    ticks = of_kind(table("greedy", predictor_depth=predictor_depth), "critical-time")
    assert len(ticks) == 2 * 3 * 5
    assert_allclose(ticks["time"], times_of(ticks), rtol=1e-12)
    ends = [asymptote(row["objective"], 5, predictor_depth, row["rho"]) for _, row in ticks.iterrows()]
    assert_allclose(ticks["asymptote"], ends, rtol=1e-13)
    assert_allclose(ticks["amplitude"], 0.5 * np.array(ends), rtol=1e-13)


def test_greedy_curves_pass_through_every_fraction_at_its_critical_time() -> None:
    curves = of_kind(table("greedy"), "exact")
    share = curves["amplitude"] / curves["asymptote"]
    growing = curves[(curves["amplitude"] > 1.2 * curves["epsilon"]) & (share < 0.9)]
    assert growing.groupby(["scenario", "objective", "feature"]).size().min() > 20
    for _, row in growing.iloc[::29].iterrows():
        assert_allclose(row["time"], time_of(row, fraction=row["amplitude"] / row["asymptote"]), rtol=1e-9)
    for _, curve in curves.groupby(["scenario", "objective", "feature"]):
        first = curve.iloc[0]
        assert (first["time"], first["amplitude"]) == (0.0, pytest.approx(0.01))
        seen = dyn.amplitude(objective_of(first), features_of(curve[:1]), epsilon=0.01, time=curve["time"].to_numpy())
        assert_allclose(curve["amplitude"], seen[0], rtol=1e-12)


def test_greedy_scenarios_vary_what_their_titles_say() -> None:
    ticks = of_kind(table("greedy"), "critical-time")
    lam, rho = ({name: part[key].to_list() for name, part in ticks.groupby("scenario")} for key in ("lambda", "rho"))
    rising_lam, rising_rho = np.linspace(0.8, 1.0, 5), np.linspace(0.6, 1.2, 5)
    for scenario, lams, rhos in (
        ("lambda", rising_lam, np.ones(5)),
        ("rho", np.ones(5), rising_rho),
        ("opposed", rising_lam, rising_rho[::-1]),
    ):
        assert_allclose(lam[scenario], [*lams, *lams])
        assert_allclose(rho[scenario], [*rhos, *rhos])


@pytest.mark.parametrize(
    ("objective", "scenario", "first_by"),
    [
        ("jepa", "lambda", "lambda"),
        ("mae", "lambda", "lambda"),
        ("jepa", "rho", "rho"),
        ("jepa", "opposed", "rho"),
        ("mae", "opposed", "lambda"),
    ],
)
def test_greedy_order_of_learning(objective: str, scenario: str, first_by: str) -> None:
    ticks = of_kind(table("greedy"), "critical-time", objective=objective, scenario=scenario)
    assert np.all(np.diff(ticks.sort_values("time")[first_by]) < 0)


def depths_told(text: str) -> list[int]:
    """``depth 3``, ``depths 2, 3, 7`` or ``depths 4 to 6`` as numbers."""
    run = re.fullmatch(r"(\d+) to (\d+)", text)
    return list(range(int(run[1]), int(run[2]) + 1)) if run else [int(number) for number in text.split(", ")]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    ("epsilon", "predictor_depth", "fraction"),
    [(0.01, 1, 0.5), (1e-3, 1, 0.5), (1e-4, 1, 0.5), (0.01, 2, 0.5), (0.01, 1, 0.999)],
)
def test_greedy_caption_names_the_depths_of_the_inversion(
    objective: str, epsilon: float, predictor_depth: int, fraction: float
) -> None:
    lams, rhos = np.linspace(0.8, 1.0, 5), np.linspace(1.2, 0.6, 5)
    found: dict[str, list[int]] = {"complete": [], "partial": []}
    compared = 0
    for depth in range(1, 33):
        if not all(epsilon < fraction * asymptote(objective, depth, predictor_depth, rho) for rho in rhos):
            break
        compared, pairs = depth, zip(lams, rhos, strict=True)
        later = np.diff([critical_time(objective, depth, *pair, epsilon, fraction, predictor_depth) for pair in pairs])
        if (later > 0).any():
            found["complete" if (later > 0).all() else "partial"].append(depth)
    caption = drawn("greedy", epsilon=epsilon, predictor_depth=predictor_depth, fraction=fraction).caption
    mine = re.search(rf"{objective.upper()}'s is ([^(]*)\(depths up to (\d+) compared\)", caption)
    assert mine is not None
    told = {word: re.search(rf"{word} at depths? (\d+ to \d+|[\d, ]*\d)", mine[1]) for word in found}
    assert {word: depths_told(match[1]) if match else [] for word, match in told.items()} == found
    assert ("absent" in mine[1]) == (not any(found.values()))
    assert int(mine[2]) == compared


# --- depth ------------------------------------------------------------------------------------------------------------------


def test_depth_times_are_exact_dominant_and_expanded() -> None:
    frame = table("depth")
    assert list(frame["depth"].unique()) == list(range(1, 11))
    exact = of_kind(frame, "exact")
    assert_allclose(exact["time"], times_of(exact), rtol=1e-12)
    for column, kind in enumerate(("dominant", "expansion")):
        shown = of_kind(frame, kind)
        known = [small_start_time(row["objective"], row["depth"], row["rho"], 1e-3, 0.5)[column] for _, row in shown.iterrows()]
        assert_allclose(shown["time"], known, rtol=1e-9)


def test_depth_dominant_term_does_not_know_rho() -> None:
    dominant = of_kind(table("depth"), "dominant")
    assert set(dominant["rho"]) == {0.6, 0.8, 1.0}
    assert (dominant.groupby(["objective", "depth"])["time"].nunique() == 1).all()
    jepa = dominant[dominant["objective"] == "jepa"]
    last = 2 * jepa["depth"] - 1
    assert_allclose(jepa["time"], 1.0 / (last * 1e-3 ** (last / jepa["depth"])), rtol=1e-13)


def test_depth_caption_compares_the_lowest_rho_with_the_highest() -> None:
    told = []
    for objective in OBJECTIVES:
        first, last = (
            critical_time(objective, d, 1.0, 0.6, 1e-3) / critical_time(objective, d, 1.0, 1.0, 1e-3) for d in (1, 10)
        )
        told.append(f"{first:.3g} at depth 1 and {last:.3g} at depth 10")
    assert tells(small("depth").caption, *told)


# --- expansion-error --------------------------------------------------------------------------------------------------------


def test_expansion_errors_are_those_of_the_theory() -> None:
    for _, row in table("expansion-error").iterrows():
        known = small_start_time(row["objective"], row["depth"], 1.0, row["epsilon"], 0.5)[row["kind"] == "expansion"]
        exact = time_of(row)
        assert_allclose(row["time"], known, rtol=1e-9)
        assert_allclose(row["relative_error"], abs(known / exact - 1), rtol=1e-6, atol=1e-11)


def test_the_dominant_term_alone_is_off_by_tens_of_per_cent() -> None:
    quoted = of_kind(table("expansion-error"), "dominant", epsilon=1e-2, objective="jepa").set_index("depth")["relative_error"]
    assert quoted[2] == pytest.approx(0.15, abs=0.005)
    assert quoted[3] == pytest.approx(0.28, abs=0.005)
    assert quoted[5] == pytest.approx(0.46, abs=0.01)


def test_expansion_error_caption_quotes_the_errors_at_one_per_cent() -> None:
    told = {}
    for objective in OBJECTIVES:
        errors = [
            abs(small_start_time(objective, depth, 1.0, 1e-2, 0.5)[0] / critical_time(objective, depth, 1.0, 1.0, 1e-2) - 1)
            for depth in (1, 2, 3, 5)
        ]
        told[objective] = f"{', '.join(f'{error:.0%}' for error in errors)} ({TITLES[objective]})"
    assert tells(small("expansion-error").caption, "0.01", "dominant term alone", told["jepa"], told["mae"])


def test_the_whole_expansion_is_better_the_smaller_the_start() -> None:
    for _, line in of_kind(table("expansion-error"), "expansion").groupby(["objective", "depth"]):
        by_start = line.sort_values("epsilon")["relative_error"].to_numpy()
        assert by_start[0] < by_start[-1] / 5


# --- map --------------------------------------------------------------------------------------------------------------------


def test_map_shows_critical_times_over_that_of_the_unit_feature() -> None:
    grid = of_kind(table("map"), "grid")
    for (objective, depth), panel in grid.groupby(["objective", "depth"]):
        unit = critical_time(objective, depth, 1.0, 1.0, 1e-2)
        assert_allclose(panel["relative_time"][::3], times_of(panel[::3]) / unit, rtol=1e-11)
        assert_allclose(panel["relative_time"], panel["time"] / unit, rtol=1e-11)
        assert panel["lambda"].min() == panel["rho"].min() == pytest.approx(0.4)
        assert panel["lambda"].max() == panel["rho"].max() == pytest.approx(1.6)


def test_on_the_map_lambda_times_time_depends_on_rho_alone() -> None:
    grid = of_kind(table("map"), "grid")
    product = (grid["lambda"] * grid["time"]).groupby([grid["objective"], grid["depth"], grid["rho"]])
    assert product.ngroups == 2 * 3 * 7
    assert_allclose(product.max(), product.min(), rtol=1e-12)


def test_on_the_map_what_starts_learned_has_time_zero() -> None:
    grid = of_kind(table("map", depth=(8,), points=5), "grid", objective="jepa")
    assert set(grid["time"] == 0.0) == {True, False}
    assert ((grid["time"] == 0.0) == (0.5 * grid["rho"] ** 8 <= 0.01)).all()


def test_map_caption_tells_the_elasticity_in_rho() -> None:
    caption = small("map").caption
    for objective in OBJECTIVES:
        for depth in (1, 2, 4):
            a, b = exponents(objective, depth, 1)
            x0, whole = 1e-2 ** (1 / depth), critical_time(objective, depth, 1.0, 1.0, 1e-2)
            elasticity = ((1 - a) + x0 ** (1 - a) / ((1 - x0**b) * whole)) / b
            assert tells(caption, f"{TITLES[objective]} {depth}: {elasticity:.3f}")


# --- crossover --------------------------------------------------------------------------------------------------------------

WINDOWS = {3: (0.003846, 0.062786), 4: (0.00078951, 0.046019), 8: (1.4277e-6, 0.0073532)}


def test_crossover_windows_open_at_depth_three_under_jepa_and_never_under_mae() -> None:
    windows = of_kind(table("crossover"), "window").set_index(["objective", "depth"])[["epsilon_lower", "epsilon_upper"]]
    for depth, window in WINDOWS.items():
        assert_allclose(windows.loc["jepa", depth].astype(float), window, rtol=1e-4)
    assert windows.loc["jepa"].notna().all(axis=1).to_list() == [False, False, *[True] * 10]
    assert windows.loc["mae"].isna().all(axis=None)


def test_at_the_ends_of_a_crossover_window_the_two_times_agree() -> None:
    frame = table("crossover")

    def lead(row: dict, epsilon: float) -> float:
        times = [critical_time(row["objective"], row["depth"], row[f"lambda_{x}"], row[f"rho_{x}"], epsilon) for x in "ab"]
        return times[0] / times[1] - 1

    open_ = frame[frame["epsilon_lower"].notna()]
    for row in open_.to_dict("records"):
        lower, upper = row["epsilon_lower"], row["epsilon_upper"]
        assert lead(row, lower) == pytest.approx(0.0, abs=1e-12)
        assert lead(row, upper) == pytest.approx(0.0, abs=1e-12)
        assert lead(row, math.sqrt(lower * upper)) < -1e-3  # inside, the larger rho is first
        assert lead(row, lower / 2) > 1e-4
        assert upper < row["epsilon_threshold"]


def test_crossover_thresholds_are_where_a_feature_starts_learned() -> None:
    frame = table("crossover")
    known = [0.5 * min(asymptote(name, depth, 1, rho) for rho in (1.2, 0.6)) for name in OBJECTIVES for depth in range(1, 13)]
    assert_allclose(frame["epsilon_threshold"], known, rtol=1e-13)


def test_crossover_tells_of_the_feature_of_larger_rho_first_whatever_their_order() -> None:
    pair = dyn.Features(lam=[0.9, 1.1], rho=[1.0, 0.5])
    window = dyn.crossovers(dyn.jepa(4), pair[:1], pair[1:])
    for features in (pair, dyn.Features(lam=[1.1, 0.9], rho=[0.5, 1.0])):
        frame = table("crossover", features=features, max_depth=4)
        row = of_kind(frame, "window", objective="jepa", depth=4).iloc[0]
        told = ["lambda_a", "rho_a", "lambda_b", "rho_b", "epsilon_lower", "epsilon_upper"]
        assert row[told].to_list() == [0.9, 1.0, 1.1, 0.5, *window]


def test_crossover_caption_quotes_its_first_and_last_window() -> None:
    caption = small("crossover", max_depth=8).caption
    assert tells(caption, "JEPA", "depth 3", "0.0038 to 0.063", "depth 8", "1.4e-06 to 0.0074", "MAE", "none")


# --- predictor-depth --------------------------------------------------------------------------------------------------------


def test_predictor_depth_delays_are_ratios_of_critical_times() -> None:
    exact = of_kind(table("predictor-depth"), "exact")
    assert len(exact) == 2 * 3 * 6
    for _, row in exact.iterrows():
        low, high = (
            critical_time(row["objective"], row["depth"], 1.0, rho, 1e-3, 0.5, row["predictor_depth"]) for rho in (0.5, 1.0)
        )
        assert_allclose([row["time_lower"], row["time_higher"]], [low, high], rtol=1e-12)
        known = float(excess(row["objective"], row["depth"], row["predictor_depth"], (0.5, 1.0), 1e-3))
        assert row["delay"] == pytest.approx(known, rel=1e-12)


def test_predictor_depth_delays_far_below_the_rounding_of_a_double() -> None:
    """At L = 2, M = 6 and epsilon 1e-12 the leading correction is 4e-36."""
    frame = table("predictor-depth", epsilon=1e-12, depth=(2,))
    deepest = frame.query("objective == 'jepa' and predictor_depth == 6").set_index("kind")["delay"]
    assert deepest["leading"] == pytest.approx(4e-36, rel=1e-12)
    assert deepest["exact"] == pytest.approx(deepest["leading"], rel=1e-5)


def test_predictor_depth_leading_correction_is_that_of_the_theory() -> None:
    leading = of_kind(table("predictor-depth"), "leading")
    assert set(leading["objective"]) == {"jepa"}
    for _, row in leading.iterrows():
        L, M = row["depth"], row["predictor_depth"]  # noqa: N806
        assert row["delay"] == pytest.approx((2 * L + M - 2) / (2 * L - 2) * (1 / 0.5 - 1 / 1.0) * 1e-3 ** (M / L), rel=1e-13)


def test_the_exact_delay_tends_to_its_leading_correction() -> None:
    off = []
    for epsilon in (1e-3, 1e-6, 1e-9):
        frame = table("predictor-depth", epsilon=epsilon, depth=(2, 3), max_predictor_depth=2)
        by_kind = [
            of_kind(frame, kind, objective="jepa").set_index(["depth", "predictor_depth"])["delay"]
            for kind in ("exact", "leading")
        ]
        off.append((by_kind[0] / by_kind[1] - 1).abs().to_numpy())
    assert len(off[0]) == 4
    assert np.all((off[1] < off[0] / 5) & (off[2] < off[1] / 5))
    assert off[2].max() < 0.01


def test_a_deeper_predictor_weakens_the_preference_for_rho() -> None:
    jepa = of_kind(table("predictor-depth"), "exact", objective="jepa")
    told = []
    for depth, line in jepa.groupby("depth"):
        delay = line.sort_values("predictor_depth")["delay"].to_numpy()
        assert np.all(np.diff(delay) < 0)
        told.append(f"{delay[0]:.3g} to {delay[-1]:.3g} at L = {depth}")
    assert tells(small("predictor-depth").caption, "M = 1 to 6", *told)


# --- spectrum ---------------------------------------------------------------------------------------------------------------


def test_spectrum_points_are_the_exponents_of_the_family() -> None:
    frame = table("spectrum")
    assert len(frame) == len(frame.drop_duplicates(["objective", "depth", "predictor_depth"])) == 2 * 4 * 2
    for _, row in frame.iterrows():
        a, b = exponents(row["objective"], row["depth"], row["predictor_depth"])
        assert (row["a"], row["b"]) == (a, b)
        assert row["order"] == pytest.approx(min(b, a - 1) / row["depth"])
        assert row["order_of_growth"] == pytest.approx(b / row["depth"])
        if row["objective"] == "jepa":
            assert row["order"] == pytest.approx(row["predictor_depth"] / row["depth"])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_rho_enters_the_critical_time_at_the_order_of_the_spectrum(objective: str) -> None:
    starts = (1e-8, 1e-12)
    for _, row in of_kind(table("spectrum"), "objective", objective=objective).iterrows():
        depth, layers = row["depth"], row["predictor_depth"]
        shares = [
            abs(excess(objective, depth, layers, (0.5, 1.0), epsilon)) / abs(math.log(epsilon)) ** row["logarithm"]
            for epsilon in starts
        ]
        slope = float(mpmath.log(shares[0] / shares[1]) / math.log(starts[0] / starts[1]))
        assert slope == pytest.approx(row["order"], abs=0.02), (depth, layers)
        assert row["weight_of_rho"] == pytest.approx(1e-3 ** row["order"] * math.log(1e3) ** row["logarithm"])


def test_spectrum_caption_tells_the_weight_of_rho_at_the_greatest_depth() -> None:
    caption = small("spectrum").caption
    assert tells(caption, f"{1e-3 ** (1 / 4):.2g} for JEPA", f"{1e-3 ** (3 / 4):.2g} for MAE", "depth 4")
