"""Figures of small projectors and several views, held against the theory, which is written again here."""

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

import dynamics as dyn
import figures
from tests.figures.drawn import drawn, of_kind, small, table, tells

# --- the staircase ----------------------------------------------------------------------------------------------------------


def ladder(start: np.ndarray, strength: np.ndarray, beta: float) -> np.ndarray:
    """t_k = T_k + (1 - beta)/(beta d) [(k - 1) T_k - sum_(j<k) T_j], T_k = -ln(gamma_k a_k^2)/(8 gamma_k)."""
    width, modes = start.shape
    ahead = np.column_stack([np.sign(start[:, 0]) if beta < 1 else start[:, 0], start[:, 1:]])
    alone: list[float] = []
    for k in range(min(width, modes)):
        rest = start[:, k] - ahead[:, :k] @ np.linalg.lstsq(ahead[:, :k], start[:, k], rcond=None)[0] if k else start[:, 0]
        alone.append(-math.log(strength[k] * rest @ rest) / (8 * strength[k]))
    slow = (1 - beta) / (beta * width)
    return np.array([time + slow * (k * time - sum(alone[:k])) for k, time in enumerate(alone)])


def gaussian(width: int, modes: int, epsilon: float) -> np.ndarray:
    return epsilon * np.random.default_rng(0).standard_normal((width, modes))


STRENGTH = np.array([4.0, 2.5, 1.5, 0.9])


@pytest.mark.parametrize("width", [16, 3])
def test_staircase_steps_and_plateaus_are_those_of_the_theory(width: int) -> None:
    frame = table("staircase", width=width)
    for beta, shown in frame.groupby("beta"):
        steps = of_kind(shown, "critical-time")
        assert_allclose(steps["time"], ladder(gaussian(width, 4, 1e-12), STRENGTH, beta), rtol=1e-10)
        r = np.arange(1, len(steps) + 1)
        level = width / (beta * width + (1 - beta) * r)
        assert_allclose(steps["energy"], level / 2, rtol=1e-12)
        assert_array_equal(steps["strength"], STRENGTH[: len(steps)])
        stairs = of_kind(shown, "plateau")
        assert_allclose(stairs["energy"], np.repeat(level, 2), rtol=1e-12)
        ends = np.append(steps["time"], of_kind(shown, "simulated")["time"].max())
        assert_allclose(stairs["time"], np.column_stack([ends[:-1], ends[1:]]).ravel(), rtol=1e-12)


def test_staircase_matrices_follow_the_steps_and_rest_on_the_plateaus() -> None:
    frame = table("staircase")
    for beta, shown in frame.groupby("beta"):
        predicted, measured = (of_kind(shown, kind)["time"].to_numpy() for kind in ("critical-time", "simulated-time"))
        assert_allclose(measured, predicted, rtol=1e-4 if beta == 1 else 0.09)
        curves = of_kind(shown, "simulated").pivot(index="time", columns="feature", values="energy")
        for r, (one, other) in enumerate(pairwise(measured), start=1):
            between = curves.iloc[np.abs(curves.index - one - 0.55 * (other - one)).argmin()].to_numpy()
            assert_allclose(between[:r], 16 / (beta * 16 + (1 - beta) * r), rtol=0.08)
            assert between[r:].max() < 0.2


def test_staircase_predictions_improve_with_smaller_starts_and_the_caption_says_by_how_much() -> None:
    off = {}
    for epsilon in (1e-6, 1e-24):
        drawing = drawn("staircase", epsilon=epsilon, beta=(0.05,))
        times = drawing.table.to_dataframe().groupby("kind", sort=False)["time"]
        predicted, measured = (times.get_group(kind).to_numpy() for kind in ("critical-time", "simulated-time"))
        off[epsilon] = np.abs(predicted / measured - 1).max()
        told = float(drawing.caption.split("error of these: ")[1].split()[0])
        assert off[epsilon] <= told <= 2.0 * off[epsilon]
    assert off[1e-24] < 0.4 * off[1e-6] < 0.1


def test_staircase_start_is_the_seed_s() -> None:
    one, other = (table("staircase", beta=(1.0,), seed=seed, points=50) for seed in (0, 1))
    assert not np.allclose(one["time"], other["time"], rtol=1e-4)


# --- redundancy -------------------------------------------------------------------------------------------------------------

SIX = np.array([4.0, 2.5, 1.6, 1.0, 0.6, 0.4])


def test_redundancy_is_predicted_by_the_modes_that_are_learned_in_time() -> None:
    frame = table("redundancy")
    assert set(frame["width"]) == {4, 16}
    assert_allclose(frame["beta"] * frame["width"] / (1 - frame["beta"]), frame["ratio"], rtol=1e-12)
    for row in frame.iloc[::13].to_dict("records"):
        times = ladder(gaussian(row["width"], 6, 1e-12), SIX, row["beta"])
        assert row["modes"] == (times < 10.0).sum()
    predicted = of_kind(frame, "predicted")
    r, d = predicted["modes"], predicted["width"]
    assert_array_equal(predicted["effective_rank"], r)
    assert_allclose(predicted["mean_squared_correlation"], (d - r) / (r * (d - 1)), atol=1e-14)
    assert set(r) == {1, 2, 3, 4}


def test_redundancy_of_the_matrices_is_that_of_their_covariance() -> None:
    """One point integrated again, as the loss is written: dW/dt = -4 ((1 - beta)(diag C - 1) + beta (C - 1)) W gamma."""
    row = of_kind(table("redundancy"), "simulated", width=4).iloc[4]

    def flow(_: float, state: np.ndarray) -> np.ndarray:
        weights = state.reshape(4, 6)
        covariance = weights @ np.diag(SIX) @ weights.T
        off = (1 - row["beta"]) * (np.diag(np.diag(covariance)) - np.eye(4)) + row["beta"] * (covariance - np.eye(4))
        return (-4 * off @ weights @ np.diag(SIX)).ravel()

    end = solve_ivp(flow, (0, 10), gaussian(4, 6, 1e-12).ravel(), method="LSODA", rtol=1e-8, atol=1e-22).y[:, -1].reshape(4, 6)
    eigenvalues = np.linalg.eigvalsh(end @ np.diag(SIX) @ end.T)
    assert row["effective_rank"] == pytest.approx(eigenvalues.sum() ** 2 / (eigenvalues**2).sum(), rel=1e-3)
    outputs = end * np.sqrt(SIX)
    cosines = outputs @ outputs.T / np.linalg.norm(outputs, axis=1) / np.linalg.norm(outputs, axis=1)[:, None]
    assert row["mean_squared_correlation"] == pytest.approx((cosines[np.triu_indices(4, 1)] ** 2).mean(), rel=1e-3)


def test_redundancy_depends_on_beta_and_the_width_by_one_number() -> None:
    ranks = of_kind(table("redundancy"), "simulated").pivot(index="ratio", columns="width", values="effective_rank")
    apart = (ranks[4] - ranks[16]).abs()
    assert apart.median() < 0.02
    assert (apart < 0.05).sum() >= 6
    assert ranks.iloc[-1].to_list() == pytest.approx([4.0, 4.0], abs=0.02)


def test_redundancy_before_the_first_mode_is_refused() -> None:
    with pytest.raises(dyn.ParameterError, match=r"time is 1\.0; it must be long enough"):
        figures.draw("redundancy", time=1.0, points=2, width=(4,))


# --- projector --------------------------------------------------------------------------------------------------------------

KAPPA = np.concatenate([np.linspace(0.05, 0.3, 6), np.linspace(0.6, 0.95, 26)])
KINK = 3 * 0.6 - KAPPA[:6].sum() / 2
"""Half the sum of the distances of the first fast mode above the slow ones, where it is about to be filled: 1.275."""


def shares(product: float, width: int) -> np.ndarray:
    """S/d of the slow modes at a minimum with r modes filled, the r for which all of them and no others lie below the level."""
    for r in range(1, width + 1):
        level = (2 * product + KAPPA[:r].sum()) / r
        if level > KAPPA[r - 1] and (r == min(width, 32) or level <= KAPPA[r]):
            return np.maximum(level - KAPPA[:6], 0.0)[: min(r, 6)] / (2 * product)
    raise AssertionError(product)


def score(product: float, width: int) -> float:
    share = shares(product, width)
    return float((share / (share + 0.03)).sum() / 6)


def test_projector_predictions_are_those_of_filled_modes() -> None:
    predicted = of_kind(table("projector"), "predicted")
    inside = of_kind(predicted, "predicted", place="inside")
    assert_array_equal(inside["width"], [8, 16, 64])
    assert_allclose(inside["beta"] * inside["width"], KINK, rtol=0.003)
    for row in predicted.to_dict("records"):
        assert row["score"] == pytest.approx(score(row["beta"] * row["width"], row["width"]), rel=1e-9)
        assert row["reused_score"] == pytest.approx(score(row["reused_beta"] * row["width"], row["width"]), rel=1e-9)
    assert set(predicted["reused_beta"]) == set(predicted.loc[predicted["width"] == 64, "beta"])


def test_projector_features_agree_with_their_predictions_and_fall_as_one_over_the_width() -> None:
    both = table("projector")
    assert_array_equal(of_kind(both, "predicted")["place"], of_kind(both, "simulated")["place"])
    inside = of_kind(both, "simulated", place="inside")
    assert np.polyfit(np.log(inside["width"]), np.log(inside["beta"]), 1)[0] == pytest.approx(-1.0, abs=0.02)
    assert_allclose(inside["beta"] * inside["width"], KINK, rtol=0.03)
    for column in ("score", "reused_score"):
        assert_allclose(of_kind(both, "simulated")[column], of_kind(both, "predicted")[column], atol=5e-3)


def test_projector_narrower_than_the_slow_modes_reads_as_many_as_it_has_features() -> None:
    (narrow,) = of_kind(table("projector"), "simulated", place="at the edge").to_dict("records")
    assert narrow["width"] == 4
    assert narrow["score"] == pytest.approx(4 / 6 * 0.25 / 0.28, abs=1e-3)
    assert tells(small("projector").caption, "Open triangles", "0.595 at width 4")


def test_projector_caption_tells_the_slope_and_what_the_wide_beta_costs() -> None:
    inside = of_kind(table("projector"), "simulated", place="inside")
    slope = np.polyfit(np.log(inside["width"]), np.log(inside["beta"]), 1)[0]
    narrow, wide = inside.iloc[0], inside.iloc[-1]
    told = [f"slope {slope:.3f}", "1.275", f"{wide['beta']:.3g}", f"{wide['score']:.3g}", f"{narrow['reused_score']:.3g}"]
    assert tells(small("projector").caption, "trained from random starts", *told, "at width 8", f"{narrow['score']:.3g}")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"slow_kappa": (0.3, 0.1)}, "slow_kappa"),
        ({"slow_kappa": (0.3,)}, "slow_kappa"),
        ({"fast_kappa": (0.2, 0.9)}, "fast_kappa"),
        ({"fast_kappa": (0.6, np.inf)}, "fast_kappa"),
        ({"slow": 0}, "slow"),
        ({"fast": 0}, "fast"),
        ({"noise": 0.0}, "noise"),
        ({"width": (0, 8)}, "width"),
        ({"width": (2, 4)}, "width"),
        ({"smallest": 0.0}, "smallest"),
        ({"largest": 1e-5}, "largest"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_projector_names_what_it_refuses(given: dict, named: str) -> None:
    with pytest.raises(dyn.ParameterError) as error:
        figures.draw("projector", **given)
    assert error.value.name == named


# --- views ------------------------------------------------------------------------------------------------------------------

RHO = np.array([0.9, 0.8, 0.7, 0.55, 0.4, 0.3, 0.2, 0.1])


def parts() -> tuple[float, float, float]:
    """a, b and c of the error (a + b/m + c/(m(m - 1)))/n of the three leading modes."""
    k, j = RHO[:3, None], RHO[None, 3:]
    g = (k - j) ** 2
    a = (1 - k) ** 2 * j * k / g
    b = ((1 - k) ** 2 * (j * (1 - k) + k * (1 - j)) + k**2 * (1 - j) * (1 - k)) / g
    c = (1 - j) * (1 - k) / g
    return tuple(part.sum() / 3 for part in (a, b, c))


def test_views_law_is_the_first_order_error_at_the_budget() -> None:
    a, b, c = parts()
    law = of_kind(table("views"), "law")
    m = law["views"]
    assert_allclose(law["images"] * m, 8000.0)
    assert_allclose(law["error"], (a + b / m + c / (m * (m - 1))) * m / 8000, rtol=1e-12)
    assert (m.min(), m.max()) == pytest.approx((2.0, 32.0))
    (best,) = set(table("views")["best_views"])
    assert best == pytest.approx(1 + math.sqrt(c / a))
    assert law.loc[law["error"].idxmin(), "views"] == pytest.approx(best, rel=0.03)


def test_views_samples_lie_on_the_law_within_their_errors() -> None:
    a, b, c = parts()
    samples = of_kind(table("views"), "simulated")
    m, n = samples["views"], samples["images"]
    assert_array_equal(m, [2, 3, 4, 5, 8, 16, 32])
    assert_array_equal(n, 8000 // m)
    known = (a + b / m + c / (m * (m - 1))) / n
    off = np.abs(samples["error"] - known)
    assert (off < 3.5 * samples["standard_error"] + 0.05 * known).all()  # the law is right to first order in 1/n
    assert (samples["standard_error"] < 0.05 * samples["error"]).all()
    assert samples.loc[samples["error"].idxmin(), "views"] in (3, 4)


def test_views_caption_tells_the_best_number() -> None:
    samples = of_kind(table("views"), "simulated")
    least = samples.loc[samples["error"].idxmin()]
    told = [f"{part:.3g}" for part in parts()]
    assert tells(small("views").caption, *told, "3.51", f"{samples['error'].iloc[-1] / least['error']:.3g} times the least")
    assert tells(small("views").caption, "within two standard errors", f"{least['views']:g}")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"rho": (0.5, 0.5), "width": 1}, "width"),
        ({"rho": (1.0, 0.5), "width": 1}, "rho"),
        ({"width": 8}, "width"),
        ({"budget": 1000}, "budget"),
        ({"views": (1, 4)}, "views"),
        ({"views": (4,)}, "views"),
        ({"replicates": 1}, "replicates"),
        ({"seed": -5}, "seed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_views_names_what_it_refuses(given: dict, named: str) -> None:
    with pytest.raises(dyn.ParameterError) as error:
        figures.draw("views", **given)
    assert error.value.name == named


# --- three-orders -----------------------------------------------------------------------------------------------------------


def strengths(lam: float, rho: float, views: int) -> dict[str, float]:
    return {"cross-view": lam, "whitened": rho, "view-mean": lam + lam / rho * (1 - rho) / views}


def learned(frame: pd.DataFrame) -> dict[str, list[str]]:
    """The features in the order in which they are learned, by what the loss sees."""
    ticks = of_kind(frame, "critical-time").sort_values("time")
    return {str(kernel): shown["feature"].to_list() for kernel, shown in ticks.groupby("kernel")}


@pytest.mark.parametrize("views", [2, 5])
def test_three_orders_times_and_curves_are_logistic(views: int) -> None:
    frame = table("three-orders", views=views)
    gamma = np.array([strengths(*row[:2], views)[row[2]] for row in frame[["lambda", "rho", "kernel"]].to_numpy()], dtype=float)
    assert_allclose(frame["strength"], gamma, rtol=1e-12)
    ticks = frame["kind"] == "critical-time"
    alone = (math.log(0.5 / 0.5) - np.log(gamma * 1e-12 / (1 - gamma * 1e-12))) / (8 * gamma)
    assert_allclose(frame["time"][ticks], alone[ticks], rtol=1e-12)
    time = frame["time"].to_numpy()
    amplitude = np.exp(4 * gamma * time) / np.sqrt(1e12 + np.expm1(8 * gamma * time) * gamma)
    for kind, within in (("exact", 1e-12), ("simulated", 1e-7)):
        rows = frame["kind"] == kind
        assert_allclose(frame["energy"][rows], (gamma * amplitude**2)[rows], rtol=0.0, atol=within)


def test_three_orders_are_three() -> None:
    assert learned(table("three-orders")) == {
        "cross-view": ["1", "2", "3"],
        "whitened": ["2", "1", "3"],
        "view-mean": ["3", "1", "2"],
    }
    caption = small("three-orders").caption
    assert tells(caption, "2 views", "Cross-view: 1", "2", "3", "View-mean: 3", "1", "2", "Whitened: 2", "1", "3")
    assert caption.endswith("All three orders differ.")


def test_features_of_equal_covariance_are_reversed_by_the_mean_of_two_views() -> None:
    pair = dyn.Features(lam=0.8, rho=[0.8, 0.2], names=["steady", "noisy"])
    drawing = drawn("three-orders", features=pair)
    frame = drawing.table.to_dataframe()
    assert set(zip(frame["feature"], frame["lambda"], frame["rho"], strict=True)) == {("steady", 0.8, 0.8), ("noisy", 0.8, 0.2)}
    times = of_kind(frame, "critical-time").pivot(index="kernel", columns="feature", values="time")
    assert_allclose(times.loc["cross-view"], 4.35, atol=0.005)
    assert_allclose(times.loc["whitened", ["steady", "noisy"]], [4.35, 18.3], atol=0.03)
    assert_allclose(times.loc["view-mean", ["steady", "noisy"]], [3.85, 1.39], atol=0.01)
    assert tells(drawing.caption, "View-mean: noisy", "steady", "Whitened: steady", "noisy")


def test_three_orders_tell_what_is_never_learned_and_when_orders_agree() -> None:
    mixed = dyn.Features(lam=[1.0, 0.5, 0.0, -0.3], sigma=[1.2, 1.0, 1.0, 1.0], names=["strong", "weak", "none", "opposed"])
    drawing = drawn("three-orders", features=mixed)
    ticks = of_kind(drawing.table.to_dataframe(), "critical-time").set_index(["kernel", "feature"])["time"]
    for kernel in ("cross-view", "whitened"):
        assert np.isinf(ticks.loc[kernel, ["none", "opposed"]]).all()
    assert np.isfinite(ticks.loc["view-mean"]).all()
    assert tells(drawing.caption, "Cross-view: strong", "never none, opposed", "Whitened: strong", "never none, opposed")
    one = drawn("three-orders", features=dyn.Features(lam=1.0, rho=0.5))
    assert one.caption.endswith("The order is the same in all three.")


def test_three_orders_refuse_a_rho_that_views_cannot_have() -> None:
    with pytest.raises(dyn.ParameterError) as error:
        figures.draw("three-orders", features=dyn.Features(lam=1.0, rho=1.2))
    assert error.value.name == "rho"


@pytest.mark.parametrize(
    ("name", "given", "named"),
    [
        ("staircase", {"beta": (2.0,)}, "beta"),
        ("staircase", {"beta": (0.5, 0.0)}, "beta"),
        ("staircase", {"strength": (1.0, 2.0)}, "strength"),
        ("staircase", {"strength": (1.0, -2.0)}, "strength"),
        ("staircase", {"width": 1}, "width"),
        ("staircase", {"epsilon": 0.5}, "epsilon"),
        ("staircase", {"epsilon": 1e-200}, "epsilon"),
        ("staircase", {"seed": -1}, "seed"),
        ("redundancy", {"width": (1, 4)}, "width"),
        ("redundancy", {"time": -1.0}, "time"),
        ("redundancy", {"smallest": 0.0}, "smallest"),
        ("redundancy", {"largest": 0.01}, "largest"),
        ("three-orders", {"views": 1}, "views"),
        ("three-orders", {"seed": -1}, "seed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_has_no_staircase_or_views_is_refused_by_name(name: str, given: dict, named: str) -> None:
    with pytest.raises(dyn.ParameterError) as error:
        figures.draw(name, **given)
    assert error.value.name == named
