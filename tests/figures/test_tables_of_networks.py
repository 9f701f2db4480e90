"""Figures of trained networks: their runs against the exact curves, scalar twins and raw pixels, within what they state."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.optimize import minimize_scalar

import dynamics as dyn
from tests.figures.drawn import (
    OBJECTIVES,
    PAIR,
    TITLES,
    descent,
    drawn,
    exponents,
    features_of,
    objective_of,
    of_kind,
    small,
    spearman,
    table,
    tells,
    time_of,
    times_of,
)

# --- network ----------------------------------------------------------------------------------------------------------------


def off_the_exact_curve(curve: pd.DataFrame) -> np.ndarray:
    first = curve.iloc[0]
    seen = dyn.amplitude(objective_of(first), features_of(curve[:1]), epsilon=first["epsilon"], time=curve["time"].to_numpy())
    return np.asarray((curve["amplitude"] - seen[0]) / curve["asymptote"])


def test_network_ticks_are_critical_times() -> None:
    ticks = of_kind(table("network"), "critical-time")
    assert len(ticks) == 2 * 4
    assert_allclose(ticks["time"], times_of(ticks), rtol=1e-12)


def test_the_gradient_flow_of_the_network_lies_on_the_exact_curves() -> None:
    flow = of_kind(table("network"), "flow")
    assert flow.groupby(["objective", "feature"]).ngroups == 2 * 4
    for _, curve in flow.groupby(["objective", "feature"]):
        assert np.abs(off_the_exact_curve(curve)).max() < 1e-6
        assert curve["amplitude"].iloc[-1] > 0.5 * curve["asymptote"].iloc[-1]
    growing = flow[(flow["amplitude"] > 0.1 * flow["asymptote"]) & (flow["amplitude"] < 0.9 * flow["asymptote"])]
    for _, row in growing.iloc[::23].iterrows():
        assert_allclose(row["time"], time_of(row, fraction=row["amplitude"] / row["asymptote"]), rtol=1e-6)


def test_the_gradient_descent_of_the_network_is_that_of_its_features() -> None:
    for _, curve in of_kind(table("network"), "descent").groupby(["objective", "feature"]):
        step = (curve["time"] / 0.05).round().astype(int)
        assert_allclose(curve["time"], 0.05 * step, rtol=1e-12)
        assert_allclose(curve["amplitude"], descent(curve.iloc[0], 0.05, step.max())[step], rtol=1e-9)


def test_halving_the_learning_rate_halves_how_far_descent_is_off() -> None:
    off = [
        np.array(
            [
                np.abs(off_the_exact_curve(curve)).max()
                for _, curve in of_kind(table("network", learning_rate=rate, depth=1, features=PAIR), "descent").groupby(
                    ["objective", "feature"]
                )
            ]
        )
        for rate in (0.05, 0.025)
    ]
    assert len(off[0]) == 2 * 2
    assert_allclose(off[0] / off[1], 2.0, atol=0.15)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_network_caption_bounds_its_critical_times(objective: str) -> None:
    said = [
        re.search(
            rf"{TITLES[objective]}, network, gradient {kind}: critical times within ([\de.-]*\d)", small("network").caption
        )
        for kind in ("flow", "descent")
    ]
    flow, descended = (float(match[1]) for match in said if match)
    assert flow <= 1e-6
    off = []
    for _, row in of_kind(table("network"), "critical-time", objective=objective).iterrows():
        amplitudes = descent(row, 0.05, int(1.1 * row["time"] / 0.05))
        after = int(np.argmax(amplitudes >= row["amplitude"]))
        share = (row["amplitude"] - amplitudes[after - 1]) / (amplitudes[after] - amplitudes[after - 1])
        off.append(abs(0.05 * (after - 1 + share) / row["time"] - 1))
    assert 0.4 * descended < max(off) <= descended


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_network_caption_tells_the_order_of_learning(objective: str) -> None:
    ticks = of_kind(table("network"), "critical-time", objective=objective)
    exact = sorted((time_of(row), row["feature"]) for _, row in ticks.iterrows())
    told = ", ".join(f"{feature} ({time:.4g})" for time, feature in exact)
    assert tells(small("network").caption, TITLES[objective], told)


# --- initialisation ---------------------------------------------------------------------------------------------------------

STARTS = ("orthogonal", "haar", "gaussian")
CALLED = {"orthogonal": "aligned", "haar": "not aligned", "gaussian": "Gaussian"}


def test_every_seed_and_feature_is_shown_also_what_is_never_learned() -> None:
    runs = of_kind(table("initialisation"), "run")
    assert len(runs) == 2 * 3 * 2 * 5
    for objective in OBJECTIVES:
        for start in STARTS:
            shown = runs[(runs["objective"] == objective) & (runs["start"] == start)]
            assert list(zip(shown["seed"], shown["feature"], strict=True)) == [
                (s, str(f)) for s in range(2) for f in range(1, 6)
            ]
    assert not runs["time"].isna().any()
    assert np.isinf(runs["time"]).any()
    assert_allclose(runs["predicted_time"], times_of(runs), rtol=1e-12)


def test_aligned_starts_learn_at_the_exact_times() -> None:
    aligned = of_kind(table("initialisation"), "run", start="orthogonal")
    assert len(aligned) == 2 * 2 * 5
    assert_allclose(aligned["time"], times_of(aligned), rtol=1e-6)


def test_starts_that_are_not_aligned_do_not() -> None:
    runs = of_kind(table("initialisation"), "run")
    for start in ("haar", "gaussian"):
        shown = runs[runs["start"] == start]
        assert (np.abs(shown["time"] / shown["predicted_time"] - 1) > 0.01).mean() > 0.5


def test_initialisation_caption_tells_correlations_and_shares_of_its_own_rows() -> None:
    told = []
    for (objective, start), runs in table("initialisation").groupby(["objective", "start"], sort=False):
        values = [spearman(run["predicted_time"], run["time"]) for _, run in runs.groupby("seed") if run["time"].nunique() > 1]
        share = f"{np.isfinite(runs['time']).mean():.0%}"
        numbers = f"{np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})"
        told += [f"{TITLES[objective]}, {CALLED[start]}", numbers, f"{share} learned"]
    assert len(told) == 3 * 6
    assert tells(small("initialisation").caption, *told)


def test_initialisation_runs_are_those_of_their_seeds() -> None:
    runs = of_kind(table("initialisation"), "run", start="gaussian", objective="mae", seed=1)
    found = dyn.simulate(dyn.mae(2), features_of(runs), epsilon=0.2, start="gaussian", seed=1, points=2).time
    assert_allclose(runs["time"], found, rtol=1e-6)
    later = table("initialisation", seed=1, seeds=1, start=("gaussian",))
    assert_allclose(of_kind(later, "run", objective="mae", seed=1)["time"], runs["time"], rtol=1e-12)


# --- teacher ----------------------------------------------------------------------------------------------------------------


def test_without_a_teacher_the_time_is_the_exact_one() -> None:
    plain = of_kind(table("teacher"), "no teacher")
    assert_allclose(plain["time"], times_of(plain), rtol=1e-12)


def test_the_network_with_a_teacher_follows_the_mode_equations() -> None:
    frame, keys = table("teacher"), ["feature", "teacher_rate"]
    predicted, simulated = (of_kind(frame, kind).set_index(keys)["time"] for kind in ("predicted", "simulated"))
    assert len(simulated) == 3 * 2
    assert_allclose(simulated, predicted[simulated.index], rtol=1e-6)


def test_a_faster_teacher_only_shortens_the_delay_down_to_none() -> None:
    for _, line in of_kind(table("teacher"), "predicted").groupby("feature"):
        delay = (line["time"] / times_of(line) - 1).to_numpy()
        assert list(line["teacher_rate"]) == sorted(line["teacher_rate"])
        assert np.all(np.diff(delay) < 0)
        assert 0 < delay[-1] < 1e-3
        assert delay[0] > 10


@pytest.mark.parametrize("rate", [0.1, 10.0])
def test_teacher_times_solve_the_equations_of_student_and_teacher(rate: float) -> None:
    at = of_kind(table("teacher"), "predicted")
    at = at[np.isclose(at["teacher_rate"], rate)]
    assert len(at) == 3
    for _, row in at.iterrows():
        lam, variance, layer = row["lambda"], row["lambda"] / row["rho"], 0.02 ** (1 / 3)

        def rates(_: float, state: np.ndarray, lam: float = lam, variance: float = variance) -> list[float]:
            student, teacher = state
            return [student**3 * (lam * teacher**3 - variance * student**4), rate * (student - teacher)]

        def learned(_: float, state: np.ndarray, level: float = (0.5 ** (1 / 3)) * row["rho"]) -> float:
            return float(state[0] - level)

        found = solve_ivp(rates, (0.0, 1e4), [layer, layer], "LSODA", events=learned, rtol=1e-10, atol=1e-13)
        assert row["time"] == pytest.approx(found.t_events[0][0], rel=1e-6)


def test_teacher_caption_ranks_features_at_either_end() -> None:
    caption, frame = small("teacher").caption, of_kind(table("teacher"), "predicted")
    for rate in (1e-3, 100.0):
        shown = frame[np.isclose(frame["teacher_rate"], rate)].sort_values("time")
        told = [(f"rho {row['rho']:g}", f"{row['time'] / time_of(row):.3g}") for _, row in shown.iterrows()]
        assert tells(caption, f"rate of {rate:g}", *(text for pair in told for text in pair))


# --- collapse ---------------------------------------------------------------------------------------------------------------


def test_unbalanced_starts_end_where_the_theory_says() -> None:
    ends = table("collapse")
    ends = ends[ends["cause"] == "predictor_start"]
    surplus = ends["value"] ** 2 - 0.02
    known, lost = np.maximum(ends["rho"] ** 2 - surplus, 0.0), ends["rho"] ** 2 < surplus  # the power L/2 is 1 at L = 2
    for kind, which, tolerance in (("predicted", ~lost, 1e-9), ("predicted", lost, 0.0), ("simulated", ~lost, 1e-6)):
        mine = which & (ends["kind"] == kind)
        assert mine.any()
        assert_allclose(ends["final_amplitude"][mine], known[mine], rtol=tolerance, atol=tolerance)
    # What is lost dies no faster than u^3: with v = sqrt(u^2 + c), du/dt = v u^3 (lambda - sigma^2 v) at lambda = 1.
    still = ends[lost & (ends["kind"] == "simulated")]
    assert set(still["value"]) == {0.3, 0.5}
    assert ((still["final_amplitude"] > 0) & (still["final_amplitude"] < 0.5 * 0.02)).all()
    assert set(ends["value"]) == {0.3, 0.5}


def test_a_strong_predictor_loses_a_rho_of_045_and_keeps_one_of_055() -> None:
    line = of_kind(
        table("collapse", points=21, networks=1, decay_epsilon=(0.4,)), "predicted", cause="predictor_start", value=0.5
    )
    end = line.set_index(line["rho"].round(6))["final_amplitude"]
    assert end[0.45] == 0.0
    assert end[0.55] == pytest.approx(0.55**2 - 0.5**2 + 0.02)


def test_under_weight_decay_features_end_at_the_upper_fixed_point_or_are_lost() -> None:
    def growth(layer: float) -> float:
        return layer**3 * (1 - layer)  # u^(a-1) (1 - u^b/rho) of JEPA, L = 2, M = 1, rho = 1

    ends = table("collapse")
    ends = ends[ends["cause"] == "weight_decay"]
    fold, top = growth(0.75), 0.75
    assert_allclose(dyn.weight_decay_fold(dyn.jepa(2), dyn.Features(lam=1.0, rho=1.0)), fold)
    assert_allclose([ends["value"].min(), ends["value"].max()], [1e-3 * fold, 2 * fold])
    fates = set()
    for _, row in ends.iterrows():
        start, decay, layer = row["epsilon"] ** 0.5, row["value"], row["final_amplitude"] ** 0.5
        held = decay < fold and (growth(start) > decay or start > top)
        fates.add((row["epsilon"], held))
        if held:
            assert layer > top
            assert growth(layer) == pytest.approx(decay, rel=1e-6, abs=1e-7)
        else:
            assert row["final_amplitude"] == pytest.approx(0.0, abs=1e-9)
    assert len(fates) == 4


def test_collapse_caption_tells_where_features_are_lost() -> None:
    caption, a, b = small("collapse").caption, *exponents("jepa", 2, 1)
    fold = -minimize_scalar(lambda u: -(u ** (a - 1)) * (1 - u**b), bounds=(0, 1), options={"xatol": 1e-10}).fun
    starts = [f"{(v**2 - 0.02) ** 0.5:.3g} (v0 = {v:g})" for v in (0.3, 0.5)]
    fading = [f"{e ** ((a - 1) / 2) * (1 - e ** (b / 2)):.3g} (epsilon = {e:g})" for e in (0.02, 0.4)]
    assert tells(caption, *starts, "Weight decay", *fading, f"{fold:.3g}")
    assert float(re.search(r"the real network \(within ([\de.-]+)", caption)[1]) <= 1e-6


# --- steps ------------------------------------------------------------------------------------------------------------------


def test_first_order_steps_are_the_critical_time_over_the_learning_rate() -> None:
    frame = of_kind(table("steps"), "steps")
    assert len(frame) == 2 * 2 * 3
    assert_allclose(frame["first_order_steps"], times_of(frame) / frame["learning_rate"], rtol=1e-12)


def test_measured_steps_are_those_of_each_features_own_descent() -> None:
    for _, row in of_kind(table("steps"), "steps").iterrows():
        amplitudes, level = descent(row, row["learning_rate"], int(1.1 * row["measured_steps"]) + 2), 0.5 * row["asymptote"]
        after = int(np.argmax(amplitudes >= level))
        share = (level - amplitudes[after - 1]) / (amplitudes[after] - amplitudes[after - 1])
        assert row["measured_steps"] == pytest.approx(after - 1 + share, rel=1e-8)


def test_step_errors_are_relative_to_the_measured_number() -> None:
    frame = table("steps")
    for kind in ("first_order", "refined"):
        assert_allclose(frame[f"{kind}_error"], frame[f"{kind}_steps"] / frame["measured_steps"] - 1, rtol=1e-6, atol=1e-13)


def test_first_order_errors_halve_with_the_learning_rate_and_third_order_ones_are_far_smaller() -> None:
    frame = table("steps").set_index(["objective", "feature", "learning_rate"])
    for _, errors in frame[["first_order_error", "refined_error"]].groupby(["objective", "feature"]):
        fine, coarse = errors.xs(0.05, level=2).iloc[0], errors.xs(0.1, level=2).iloc[0]
        assert coarse["first_order_error"] / fine["first_order_error"] == pytest.approx(2.0, abs=0.05)
        assert np.all(np.abs(errors["refined_error"]) < np.abs(errors["first_order_error"]) / 100)
        assert abs(coarse["refined_error"]) > abs(fine["refined_error"])


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_steps_caption_bounds_the_greatest_errors(objective: str) -> None:
    frame = of_kind(table("steps"), "steps", objective=objective)
    said = re.search(rf"{TITLES[objective]} ([\de.-]+) and ([\de.-]+?)(?:;|\.$)", small("steps").caption)
    assert said is not None
    for text, column in zip(said.groups(), ("first_order_error", "refined_error"), strict=True):
        greatest = frame[column].abs().max()
        assert greatest <= float(text) <= max(2 * greatest, 1e-8)


@pytest.mark.parametrize(("rho", "start"), [(1.0, 0.02), (1.0, 0.4), (1.0, 0.9), (0.3, 0.02), (0.3, 0.4)])
def test_collapse_says_from_which_weight_decay_on_a_start_is_lost(rho: float, start: float) -> None:
    """Depth 2: du/dt = u (u^3 (1 - u/rho) - eta); every start ends at 0 or at the upper root, here found by integration."""
    caption = drawn("collapse", rho=rho, decay_epsilon=(start,), points=2, networks=1).caption
    told = re.search(r"is lost from a decay of ([\d.e-]+)", caption)
    assert told is not None
    limit = float(told[1])
    for decay, lost in ((0.97 * limit, False), (1.03 * limit, True)):

        def flow(_: float, layer: np.ndarray, eta: float = decay) -> np.ndarray:
            return layer * (layer**3 * (1 - layer / rho) - eta)

        end = solve_ivp(flow, (0.0, 1e6), [np.sqrt(start)], method="LSODA").y[0, -1]
        assert (end < 1e-3) == lost
