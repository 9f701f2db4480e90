"""Figures of attention under masked reconstruction and contrastive learning, held against the theory, written again here."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp
from scipy.stats import hypergeom

import dynamics as dyn
import figures
from tests.figures.drawn import drawn, of_kind, small, table, tells


def gap_of(frame: pd.DataFrame) -> np.ndarray:
    """Delta = (1 - kappa_s) - 2 (1 - kappa_c), from exponents or from sizes."""
    if "kappa_c" in frame:
        return (1 - frame["kappa_s"]) - 2 * (1 - frame["kappa_c"])
    kappa_c, kappa_s = (np.log(frame[size]) / np.log(frame["patches"]) for size in ("global_size", "local_size"))
    return (1 - kappa_s) - 2 * (1 - kappa_c)


class Masked:
    """The seven equations of a masked patch of a local area at z = 1, one value of B after the other.

    B is the number of shown patches of its area but itself: by its law, or at its mean where sizes are not whole.
    """

    def __init__(
        self, P: float, C_G: float, C: float, *, gamma: float, K: int = 1, exact: bool = False, positions: bool = True
    ) -> None:
        self.P, self.C_G, self.C, self.N, self.c = P, C_G, C, (P - C_G) / C - 1, gamma / K
        self.rho, self.positions = (1 - gamma) * P / (P - 1), positions
        self.law, self.m = [(self.rho * (C - 1), 1.0)], [(self.rho * C) ** power for power in (1, 2, 3)]
        if exact:
            shown = round((1 - gamma) * P)
            self.law = [(b, hypergeom.pmf(b, P - 1, C - 1, shown)) for b in range(int(C))]
            self.m = [sum(hypergeom.pmf(b, P - 1, C, shown) * b**power for b in range(int(C) + 1)) for power in (1, 2, 3)]

    def parts(self, state: np.ndarray, B: float) -> tuple[float, float, float, float]:
        """Z, attention on the own and on the global area, and the squares of it on the others."""
        phi_T, phi_G, phi_O, u_T, u_G, u_O, u_self = state
        shown = B * math.exp(phi_T + u_T) + self.rho * self.C_G * math.exp(phi_G + u_G)
        hidden = (self.C - 1 - B) * math.exp(u_T) + (1 - self.rho) * self.C_G * math.exp(u_G) + math.exp(u_self)
        others = self.N * (self.m[0] * math.exp(phi_O + u_O) + (self.C - self.m[0]) * math.exp(u_O))
        Z = shown + hidden + others
        squares = self.N * self.m[1] * math.exp(2 * (phi_O + u_O)) / Z**2
        return Z, B * math.exp(phi_T + u_T) / Z, self.rho * self.C_G * math.exp(phi_G + u_G) / Z, squares

    def rates(self, _: float, state: np.ndarray) -> np.ndarray:
        _phi_T, _phi_G, phi_O, u_T, u_G, u_O, u_self = state
        total = np.zeros(7)
        for B, chance in self.law:
            Z, a_T, a_G, S2 = self.parts(state, B)
            R2, g0 = (1 - a_T) ** 2 + a_G**2 + S2, -a_T * (1 - a_T)
            g_G, g_M = g0 - a_G * (1 - a_G) + S2, g0 + a_G**2 + S2
            e = math.exp(phi_O + u_O) / Z
            one = g0 + a_G**2 + S2 * (self.N - 1) / self.N
            other = self.m[0] * e * one - self.m[1] * e**2 + self.m[2] * e**3
            hidden = [(self.C - 1 - B) * math.exp(u_T), (1 - self.rho) * self.C_G * math.exp(u_G)]
            hidden_O = math.exp(u_O) / Z * ((self.C - self.m[0]) * one + (self.C * self.m[1] - self.m[2]) * e**2)
            moved = [a_T * R2, a_G * g_G, other]
            sizes = [self.C - 1, self.C_G]
            by_place = [(move + count / Z * g_M) / size for move, count, size in zip(moved[:2], hidden, sizes, strict=True)]
            by_place += [(other + hidden_O) / self.C, math.exp(u_self) / Z * g_M]
            total += chance * np.array([*moved, *(by_place if self.positions else [0.0] * 4)])
        return self.c * total

    def attention(self, state: np.ndarray) -> tuple[float, float]:
        """On the own area and on the global one."""
        own, glob = (sum(chance * self.parts(state, B)[place] for B, chance in self.law) for place in (1, 2))
        return own, glob

    def states(self, time: Any) -> np.ndarray:
        """At ascending times, shape ``(7, times)``."""
        end = float(np.max(time))
        return solve_ivp(self.rates, (0, end), np.zeros(7), method="LSODA", t_eval=time, rtol=1e-9, atol=1e-11).y


# --- phases -----------------------------------------------------------------------------------------------------------------

EVENTS = ("onset", "first-phase", "second-phase")


def correlation(frame: pd.DataFrame, kind: str, name: str) -> pd.DataFrame:
    return of_kind(frame, kind, correlation=name)


@pytest.mark.parametrize("size", [34, 10])
def test_phases_lines_are_the_flow_of_the_seven_equations(size: int) -> None:
    shown = table("phases")[lambda frame: frame["global_size"] == size]
    flow = Masked(64, size, 6, gamma=0.5, exact=True)
    assert_allclose(shown["gap"], gap_of(shown), rtol=1e-12)
    rates = flow.rates(0, np.zeros(7))
    assert_allclose(shown["initial_ratio"], -rates[1] / rates[0], rtol=1e-10)
    curves = [correlation(shown, "reduced", name) for name in ("phi_T", "phi_G", "phi_O")]
    assert_allclose([curve["value"] for curve in curves], flow.states(curves[0]["time"])[:3], atol=2e-6)


@pytest.mark.parametrize("size", [34, 10])
def test_phases_events_are_where_their_definitions_say(size: int) -> None:
    shown = table("phases")[lambda frame: frame["global_size"] == size]
    flow = Masked(64, size, 6, gamma=0.5, exact=True)
    times = {kind: of_kind(shown, kind)["time"].iloc[0] for kind in EVENTS}
    assert correlation(shown, "onset", "phi_G")["value"].iloc[0] == pytest.approx(-0.1, abs=1e-7)
    assert flow.attention(flow.states([times["second-phase"]])[:, 0])[0] == pytest.approx(0.5, abs=1e-5)
    if size == 10:
        assert times["first-phase"] == 0.0
        assert shown["gap"].iloc[0] < 0 < 1 - shown["initial_ratio"].iloc[0]
    else:
        rates = flow.rates(0, flow.states([times["first-phase"]])[:, 0])
        assert rates[0] == pytest.approx(-rates[1], rel=1e-5)
        assert shown["gap"].iloc[0] > 0 > 1 - shown["initial_ratio"].iloc[0]
        assert times["onset"] < times["first-phase"] < times["second-phase"]


def test_phases_networks_follow_the_flow_and_the_caption_says_how_closely() -> None:
    caption = small("phases").caption
    for _, shown in table("phases").groupby("global_size", sort=False):
        told = []
        for name, least in (("phi_T", 0.08), ("phi_G", 0.04), ("phi_O", 0.04)):
            network, line = (correlation(shown, kind, name) for kind in ("simulated", "reduced"))
            rms = np.sqrt(((network["value"] - np.interp(network["time"], line["time"], line["value"])) ** 2).mean())
            assert rms < least
            told += [f"{rms:.2g} in {name}"]
        reduced, simulated = (of_kind(shown, kind)["time"].iloc[0] for kind in ("second-phase", "simulated-second-phase"))
        assert simulated == pytest.approx(reduced, rel=0.05)
        first = f"T1 = {of_kind(shown, 'first-phase')['time'].iloc[0]:.3g}" if shown["gap"].iloc[0] > 0 else "the local area"
        times = f"T2 = {reduced:.4g}", f"{simulated / reduced:.3f} times that"
        assert tells(caption, f"{shown['gap'].iloc[0]:+.3f}", first, *times, *told[:2])


def test_phases_know_several_clusters_masks_and_strengths() -> None:
    how: dict[str, Any] = {"patches": 16, "global_size": (8,), "local_size": 4, "steps": 30, "batch": 4}
    drawing = drawn("phases", clusters=2, masked=0.25, **how)
    curve = correlation(drawing.table.to_dataframe(), "reduced", "phi_T")
    flow = Masked(16, 8, 4, gamma=0.25, K=2, exact=True)
    assert_allclose(curve["value"], flow.states(curve["time"])[0], atol=2e-6)
    assert "gamma = 0.25, K = 2, z = 1." in drawing.caption
    assert "z uniform on 0.5 to 1.5." in drawn("phases", latent=(0.5, 1.5), **how).caption


def test_phases_without_another_local_area_have_no_correlation_with_one() -> None:
    drawing = drawn("phases", patches=12, global_size=(8,), local_size=4, steps=30, batch=4)
    assert set(drawing.table.to_dataframe()["correlation"]) == {"phi_T", "phi_G"}
    labels = [text.get_text() for text in drawing.figure.legends[0].get_texts()]
    assert not any("others" in label for label in labels)


def test_phases_refuse_masks_that_hide_too_much() -> None:
    with pytest.raises(dyn.LindynError, match="masks hide too much"):
        figures.draw("phases", patches=16, global_size=(8,), local_size=4, masked=0.875)


# --- exponents --------------------------------------------------------------------------------------------------------------


def test_exponents_limits_and_leading_orders_are_those_of_the_theory() -> None:
    frame = table("exponents")
    assert_allclose(frame["gap"], gap_of(frame), rtol=1e-12)
    P = frame["patches"]
    t_T = P ** (1 - 0.4) / (0.5 * 0.5)
    a_G = 0.5 * P ** (0.9 - 1)
    laws = {"second-phase": (0.6, t_T), "first-phase": (0.6, t_T / 3), "onset": (0.2, math.expm1(0.2) / (2 * 0.5 * a_G**2))}
    for kind, shown in frame.groupby("kind"):
        limit, leading = laws[str(kind)]
        assert_allclose(shown["limit"], limit, rtol=1e-12)
        assert_allclose(shown["leading"], leading[shown.index], rtol=1e-12)
        assert_allclose(shown["patches"], 10 ** np.linspace(2, 12, 5), rtol=1e-12)
    assert set(frame["kind"]) == set(laws)


def test_exponents_times_are_events_of_the_mean_field() -> None:
    for P in (1e2, 10**4.5):
        shown = table("exponents")[lambda frame, P=P: np.isclose(frame["patches"], P)].set_index("kind")["time"]
        flow = Masked(P, P**0.9, P**0.4, gamma=0.5, positions=False)
        onset, first, second = (flow.states([shown[kind]])[:, 0] for kind in ("onset", "first-phase", "second-phase"))
        assert onset[1] == pytest.approx(-0.1, abs=1e-7)
        rates = flow.rates(0, first)
        assert rates[0] == pytest.approx(-rates[1], rel=1e-5)
        assert flow.attention(second)[0] == pytest.approx(0.5, abs=1e-5)


def test_exponents_slopes_are_local_and_come_to_their_limits() -> None:
    drawing, told = small("exponents"), []
    for kind, shown in table("exponents").groupby("kind", sort=False):
        x, y = np.log(shown["patches"].to_numpy()), np.log(shown["time"].to_numpy())
        assert_allclose(shown["slope"].to_numpy()[1:-1], (y[2:] - y[:-2]) / (x[2:] - x[:-2]), rtol=1e-9)
        assert_allclose(shown["slope"].to_numpy()[[0, -1]], [(y[1] - y[0]) / (x[1] - x[0]), (y[-1] - y[-2]) / (x[-1] - x[-2])])
        assert abs(shown["slope"].iloc[-1] - shown["limit"].iloc[-1]) < 0.02
        word = {"second-phase": "T2", "first-phase": "T1", "onset": "onset"}[str(kind)]
        told += [f"{word} {shown['slope'].iloc[-1]:.3f} ({shown['limit'].iloc[-1]:g})"]
    assert tells(drawing.caption, "kappa_c = 0.9, kappa_s = 0.4", *told)


def test_exponents_leave_out_what_does_not_come() -> None:
    """For Delta < 0 the global area never leads, and phi_G falls ever less."""
    frame = drawn("exponents", kappa_c=(0.55,), kappa_s=(0.5,), points=3, smallest=1e6).table.to_dataframe()
    assert set(frame["kind"]) == {"second-phase"}


# --- where attention ends ---------------------------------------------------------------------------------------------------


def test_collapse_map_networks_and_flows_end_apart_on_both_sides() -> None:
    frame = table("collapse-map")
    assert_allclose(frame["gap"], gap_of(frame), rtol=1e-12, atol=1e-14)
    sides = {"reduced": (1e-3, 0.98), "simulated": (0.1, 0.9)}
    for (kind, name, side), shown in frame.assign(side=frame["gap"] > 0).groupby(["kind", "objective", "side"]):
        low, high = sides[str(kind)]
        if name == "untrained":
            assert_allclose(shown["on_global"], 0.5 * 1e4 ** (shown["kappa_c"] - 1), rtol=1e-12)
        elif name == "mae":
            assert shown["on_global"].max() < low, side
        else:
            assert shown["on_global"].min() > high, side
    assert len(frame) == 4 * 4 + 2 * 3
    assert set(frame["gap"] > 0) == {True, False}


@pytest.mark.parametrize("place", [0, -1])
def test_collapse_map_masked_reconstruction_is_integrated_that_long(place: int) -> None:
    row = of_kind(table("collapse-map"), "reduced", objective="mae").iloc[place]
    flow = Masked(1e4, 1e4 ** row["kappa_c"], 1e4**0.4, gamma=0.5, K=4)
    end = flow.states([50 * 4 * 1e4**0.6 / 0.25])[:, 0]
    assert row["on_global"] == pytest.approx(flow.attention(end)[1], rel=1e-3)


@pytest.mark.parametrize("place", [0, -1])
def test_collapse_map_contrastive_learning_of_positions_is_its_four_equations(place: int) -> None:
    row = of_kind(table("collapse-map"), "reduced", objective="cl-position").iloc[place]
    P, K, tau = 1e4, 4, 0.5
    C = np.array([P ** row["kappa_c"], P**0.4])
    number = np.array([1.0, (P - C[0]) / C[1]])

    def masses(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        shown, hidden = 0.5 * C * np.exp(state[:2] + state[2:]), 0.5 * C * np.exp(state[2:])
        Z = number @ (shown + hidden)
        return shown / Z, hidden / Z

    def force(S: float) -> float:
        return (1 - 1 / K) / (math.exp(S / tau) / K + 1 - 1 / K)

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        a, mu = masses(state)
        S = number @ a**2
        return force(S) / (P * K) * np.concatenate([a * (a - S), (a * (a - S) - mu * S) / C])

    end = 60 * K * P / (2 * (1 - 1 / K) * 0.25 * (C[0] / P) ** 2) * force(0.0) / force(0.3)
    found = solve_ivp(rates, (0, end), np.zeros(4), method="LSODA", rtol=1e-9, atol=1e-12).y[:, -1]
    assert row["on_global"] == pytest.approx(masses(found)[0][0], rel=1e-3)


def test_collapse_map_says_the_most_and_the_least() -> None:
    frame, caption = table("collapse-map"), small("collapse-map").caption
    for kind, word in (("reduced", "Reduced flows"), ("simulated", "Networks")):
        for sign, side in (("< 0", frame["gap"] < 0), ("> 0", frame["gap"] > 0)):
            told = caption.split(f"{word} at Delta {sign}: ")[1].split(". ")[0].rstrip(".").split("; ")
            for name, one in zip(("mae", "cl-position", "cl-full"), told, strict=True):
                number, shown = float(one.split()[-1]), of_kind(frame[side], kind, objective=name)["on_global"]
                if name == "mae":
                    assert shown.max() <= number <= 2.0 * shown.max()
                else:
                    assert 0.0 <= shown.min() - number <= 0.001


# --- attention maps ---------------------------------------------------------------------------------------------------------


def maps() -> list[tuple[str, pd.Series, np.ndarray, np.ndarray]]:
    """What each is of, its metrics, the map and the areas."""
    found = []
    for (_, name), shown in table("attention-maps").groupby(["global_size", "objective"], sort=False):
        cells = of_kind(shown, "attention").astype({"attention": float, "key": int, "query": int, "key_area": int})
        area = cells[cells["query"] == 0].sort_values("key")["key_area"].to_numpy()
        field = cells.pivot(index="query", columns="key", values="attention").to_numpy()
        (metrics,) = [row for _, row in of_kind(shown, "metrics").iterrows()]
        found.append((str(name), metrics, field, area))
    return found


def test_attention_maps_are_distributions_over_areas_in_order() -> None:
    assert [name for name, *_ in maps()] == ["untrained", "mae", "cl"] * 2
    frame = table("attention-maps")
    assert_allclose(frame["gap"], gap_of(frame), rtol=1e-12)
    assert set(frame["gap"] > 0) == {True, False}
    for name, metrics, field, area in maps():
        assert_allclose(field.sum(axis=1), 1.0, atol=1e-12)
        local = (25 - metrics["global_size"]) // 3
        assert_array_equal(area, [0] * metrics["global_size"] + [1 + place // 3 for place in range(3 * local)])
        if name == "untrained":
            assert_allclose(field, 1 / 25)
    cells = of_kind(frame, "attention", global_size=16, objective="mae")
    by_query = cells[cells["key"] == 0].sort_values("query")["query_area"]
    assert_array_equal(by_query.to_numpy(dtype=int), maps()[0][3])


def test_attention_maps_metrics_are_those_of_the_maps() -> None:
    for _, metrics, field, area in maps():
        mean, local = field.mean(axis=0), area > 0
        cosines = [row @ mean / math.sqrt((row @ row) * (mean @ mean)) for row in field]
        assert metrics["diversity"] == pytest.approx(1 - np.mean(cosines), abs=1e-12)
        own = [field[p, area == area[p]].sum() for p in np.flatnonzero(local)]
        assert metrics["local_to_own"] == pytest.approx(np.mean(own))
        assert metrics["local_to_global"] == pytest.approx(field[local][:, ~local].sum(axis=1).mean())
        assert metrics["global_to_global"] == pytest.approx(field[~local][:, ~local].sum(axis=1).mean())
        joint = field / 25
        shared = (joint * np.log(joint / (mean * np.full((25, 1), 1 / 25)))).sum()
        assert metrics["information"] == pytest.approx(shared / math.sqrt(-(mean @ np.log(mean)) * math.log(25)), abs=1e-9)
        apart = [[math.dist(divmod(p, 5), divmod(q, 5)) for q in range(25)] for p in range(25)]
        assert metrics["distance"] == pytest.approx((field * apart).sum(axis=1).mean())
        assert metrics["local_distance"] == pytest.approx((field * apart).sum(axis=1)[local].mean())


def test_attention_maps_of_masked_reconstruction_are_local_and_of_contrastive_learning_collapsed() -> None:
    for name, metrics, *_ in maps():
        own, glob, diversity = (metrics[column] for column in ("local_to_own", "local_to_global", "diversity"))
        if name == "mae":
            assert own > 0.9
            assert glob < 0.05
            assert diversity > 0.3
        elif name == "cl":
            assert own < 0.05
            assert glob > 0.9
            assert diversity < 0.02
        else:
            assert diversity == pytest.approx(0.0, abs=1e-12)
        told = f"{diversity:.3f}, {own:.3f} and {glob:.3f}"
        word = {"untrained": "untrained", "mae": "MAE", "cl": "CL"}[name]
        assert tells(small("attention-maps").caption, f"{metrics['gap']:+.2f}", f"{word} {told}")


def test_attention_maps_of_positions_have_one_row() -> None:
    how: dict[str, Any] = {"patches": 16, "global_size": (8,), "steps": 30, "batch": 8}
    drawing = drawn("attention-maps", query="position", **how)
    (metrics,) = [row for _, row in of_kind(drawing.table.to_dataframe(), "metrics", objective="cl").iterrows()]
    assert metrics["diversity"] == pytest.approx(0.0, abs=1e-6)
    assert "position queries" in drawing.caption
    assert "-0.00" not in drawing.caption


# --- the sign of the gap ----------------------------------------------------------------------------------------------------


def test_gap_sign_ratios_are_those_of_the_gradients_at_the_start() -> None:
    frame = table("gap-sign")
    P, C_G, C = frame["patches"], frame["patches"] ** frame["kappa_c"], frame["patches"] ** frame["kappa_s"]
    rho = 0.5 * P / (P - 1)
    a_T, a_G, S2 = rho * (C - 1) / P, rho * C_G / P, ((P - C_G) / C - 1) * (rho * C / P) ** 2
    pull = -a_T * (1 - a_T) - a_G * (1 - a_G) + S2
    assert_allclose(frame["ratio"], a_G * np.abs(pull) / (a_T * ((1 - a_T) ** 2 + a_G**2 + S2)), rtol=1e-9)
    assert_allclose(frame["gap"], gap_of(frame), atol=1e-14)
    assert_allclose(frame["finite_gap"], frame["gap"] + np.log(0.5) / np.log(P), atol=1e-14)


def test_gap_sign_lines_are_where_their_gap_is_0_and_the_grid_is_whole() -> None:
    frame = table("gap-sign")
    for rule in ("gap", "finite_gap"):
        assert_allclose(of_kind(frame, rule)[rule], 0.0, atol=1e-14)
        assert of_kind(frame, rule)["kappa_c"].between(0.5, 0.95).all()
    for _, grid in of_kind(frame, "grid").groupby("patches"):
        assert_allclose(np.unique(grid["kappa_c"]), np.linspace(0.5, 0.95, 16))
        assert_allclose(np.unique(grid["kappa_s"]), np.linspace(0.05, 0.5, 16))
        assert len(grid) == 16**2


def test_gap_sign_counts_points_on_which_a_rule_is_wrong() -> None:
    told = []
    for P, grid in of_kind(table("gap-sign"), "grid").groupby("patches"):
        first = grid["ratio"] > 1
        wrong = [((grid[rule] > 0) != first).sum() for rule in ("gap", "finite_gap")]
        told.append((*wrong, f"P = {P:g}: {wrong[0]} and {wrong[1]} of 256"))
    by_gap, by_finite, words = zip(*told, strict=True)
    assert tells(small("gap-sign").caption, *words)
    assert list(by_gap) == sorted(by_gap, reverse=True)
    assert all(finite < plain for plain, finite in zip(by_gap, by_finite, strict=True))
    assert by_finite[-1] == 0


def test_gap_sign_without_a_line_in_the_range_is_drawn() -> None:
    drawing = drawn("gap-sign", kappa_c=(0.9, 0.95), kappa_s=(0.1, 0.2), points=3, patches=(1e6,))
    assert set(drawing.table.to_dataframe()["kind"]) == {"grid"}
    assert "0 and 0 of 9" in drawing.caption


# --- what is refused --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("phases", "patches", 2),
        ("phases", "global_size", (0,)),
        ("phases", "local_size", 0),
        ("phases", "masked", 1.0),
        ("phases", "clusters", 0),
        ("phases", "latent", (1.0,)),
        ("phases", "latent", (2.0, 1.0)),
        ("phases", "steps", 1),
        ("phases", "batch", 1),
        ("phases", "seed", -1),
        ("exponents", "kappa_c", (0.4, 0.8)),
        ("exponents", "kappa_s", (0.4,)),
        ("exponents", "kappa_s", (0.4, 0.7)),
        ("exponents", "masked", 0.0),
        ("exponents", "smallest", 1.0),
        ("exponents", "largest", 50.0),
        ("exponents", "points", 1),
        ("collapse-map", "patches", -1.0),
        ("collapse-map", "kappa_s", 0.6),
        ("collapse-map", "largest", 0.5),
        ("collapse-map", "points", 1),
        ("collapse-map", "masked", 1.5),
        ("collapse-map", "clusters", 1),
        ("collapse-map", "temperature", 0.0),
        ("collapse-map", "length", 0.0),
        ("collapse-map", "network_patches", 1000),
        ("collapse-map", "network_local", 0),
        ("collapse-map", "network_global", (0,)),
        ("collapse-map", "steps", 0),
        ("collapse-map", "batch", 1),
        ("attention-maps", "patches", 1000),
        ("attention-maps", "global_size", (0,)),
        ("attention-maps", "local_size", 0),
        ("attention-maps", "clusters", 1),
        ("attention-maps", "temperature", -1.0),
        ("attention-maps", "query", "patch"),
        ("attention-maps", "steps", 0),
        ("gap-sign", "patches", (1.0,)),
        ("gap-sign", "kappa_c", (0.9, 0.5)),
        ("gap-sign", "kappa_s", (0.1, 0.6)),
        ("gap-sign", "masked", 1.0),
        ("gap-sign", "masked", 0.0),
        ("gap-sign", "points", 1),
    ],
    ids=lambda value: value if isinstance(value, str) else f"{value}",
)
def test_what_cannot_be_is_refused_by_its_name(name: str, parameter: str, value: Any) -> None:
    with pytest.raises(dyn.ParameterError) as error:
        figures.draw(name, **{parameter: value})
    assert error.value.name == parameter


@pytest.mark.parametrize("name", ["phases", "attention-maps"])
def test_areas_that_do_not_fill_the_patches_are_refused_with_those_that_do(name: str) -> None:
    with pytest.raises(dyn.LindynError, match="the nearest that do are"):
        figures.draw(name, global_size=(5,), patches=20, local_size=4)
