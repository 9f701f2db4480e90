"""The reduced flows of contrastive learning, the time of collapse and the weight decay that prevents it."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from dynamics.attention import (
    Areas,
    Contrast,
    FullFlow,
    ImageModel,
    PositionFlow,
    collapse,
    collapse_time,
    critical_weight_decay,
)
from dynamics.errors import ParameterError

MODEL = ImageModel(Areas(100, 52, 6), 0.6, clusters=8)
OTHER = ImageModel(Areas(100, 16, 6), 0.25, clusters=3)
MODELS = st.sampled_from([MODEL, OTHER])


def of_exponents(patches: float, kappa_c: float, kappa_s: float) -> ImageModel:
    return ImageModel(Areas.of_exponents(patches, kappa_c, kappa_s), clusters=8)


def force(similarity: float, negatives: int | None, clusters: int, tau: float) -> float:
    """E[other / (other + (1 + same) e^(S / tau))], same ~ Bin(N, 1/K), term by term."""
    grown = math.exp(similarity / tau)
    if negatives is None:
        return (1 - 1 / clusters) / (grown / clusters + 1 - 1 / clusters)
    total = 0.0
    for same in range(negatives + 1):
        chance = math.comb(negatives, same) * (clusters - 1) ** (negatives - same) / clusters**negatives
        total += chance * (negatives - same) / (negatives - same + (1 + same) * grown)
    return total


# --- the force of negatives -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("negatives", [None, 1, 2, 63])
@pytest.mark.parametrize("similarity", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("tau", [0.5, 0.1])
def test_the_force_is_the_weight_of_negatives_of_other_clusters(negatives: int | None, similarity: float, tau: float) -> None:
    for clusters in (2, 8):
        told = Contrast(tau, negatives).force(similarity, clusters)
        assert told == pytest.approx(force(similarity, negatives, clusters, tau), rel=1e-12)


def test_many_negatives_pull_as_infinitely_many() -> None:
    assert Contrast(0.5, 100_000).force(0.4, 8) == pytest.approx(Contrast(0.5).force(0.4, 8), rel=1e-3)


def test_at_the_start_infinitely_many_negatives_pull_by_their_share_of_other_clusters() -> None:
    assert Contrast(0.2).force(0.0, 8) == pytest.approx(7.0 / 8.0)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_temperatures_are_positive(temperature: float) -> None:
    with pytest.raises(ParameterError, match="temperature"):
        Contrast(temperature)


@pytest.mark.parametrize("decay", [-1e-9, math.nan, math.inf])
def test_weight_decay_is_not_negative(decay: float) -> None:
    with pytest.raises(ParameterError, match="weight_decay"):
        Contrast(weight_decay=decay)


@pytest.mark.parametrize("negatives", [0, -3, 1.5])
def test_negatives_are_counted(negatives: float) -> None:
    with pytest.raises(ParameterError, match="negatives"):
        Contrast(negatives=negatives)  # type: ignore[arg-type]


@pytest.mark.parametrize("flow", [PositionFlow, FullFlow])
def test_contrast_needs_another_cluster(flow: type) -> None:
    with pytest.raises(ParameterError, match=r"clusters .* at least 2"):
        flow(ImageModel(Areas(100, 52, 6)))
    with pytest.raises(ParameterError, match="clusters"):
        collapse(ImageModel(Areas(100, 52, 6)))


def test_the_leading_order_of_collapse_needs_another_cluster() -> None:
    with pytest.raises(ParameterError, match="clusters"):
        collapse_time(ImageModel(Areas(100, 52, 6)))


# --- flows ------------------------------------------------------------------------------------------------------------------

FOUR, TEN = (st.lists(st.floats(-1.5, 2.5), min_size=size, max_size=size).map(np.array) for size in (4, 10))


@settings(max_examples=30)
@given(FOUR, MODELS)
def test_queries_by_position_move_by_the_equations_written_out(state: np.ndarray, model: ImageModel) -> None:
    areas, gamma = model.areas, model.masked
    sizes, number = (areas.global_size, areas.local_size), (1.0, areas.local_areas)
    weights = [
        [(1 - gamma) * C * math.exp(state[m] + state[2 + m]), gamma * C * math.exp(state[2 + m])] for m, C in enumerate(sizes)
    ]
    Z = sum(n * (shown + hidden) for n, (shown, hidden) in zip(number, weights, strict=True))
    a, mu = ([part[which] / Z for part in weights] for which in (0, 1))
    S = a[0] ** 2 + number[1] * a[1] ** 2
    speed = force(S, 5, model.clusters, 0.3) / (areas.patches * model.clusters)
    told = [speed * a[m] * (a[m] - S) - 0.02 * state[m] for m in (0, 1)]
    told += [speed * (a[m] * (a[m] - S) - mu[m] * S) / sizes[m] - 0.02 * state[2 + m] for m in (0, 1)]
    flow = PositionFlow(model, Contrast(0.3, 5, 0.02))
    assert_allclose(flow(0.0, state), told, rtol=1e-10, atol=1e-17)
    assert flow.on_global(state) == pytest.approx(a[0])


def pooled(model: ImageModel, state: np.ndarray) -> tuple[complex, complex, dict[str, complex]]:
    """Mean attention on the global and on one local area of queries that see their patch, and masses by query and key."""
    areas, gamma = model.areas, model.masked
    P, G, L, N = areas.patches, areas.global_size, areas.local_size, areas.local_areas
    phi, psi = state[:5], state[5:]
    masses: dict[str, complex] = {}
    for kind, scores in (("shown", phi + psi), ("hidden", phi)):
        GG, GO, LG, LT, LO = np.exp(scores) * (1 - gamma) * np.array([G, L, G, L, L])
        of_G, of_L = GG + N * GO + gamma * P, LG + LT + (N - 1) * LO + gamma * P
        told = {"GG": GG / of_G, "GO": GO / of_G, "LG": LG / of_L, "LT": LT / of_L, "LO": LO / of_L}
        masses |= {f"{kind} {pair}": mass for pair, mass in told.items()}
    mean = {
        pair: (1 - gamma) * masses[f"shown {pair}"] + gamma * masses[f"hidden {pair}"]
        for pair in ("GG", "GO", "LG", "LT", "LO")
    }
    on_G = (G * mean["GG"] + N * L * mean["LG"]) / P
    on_L = (G * mean["GO"] + L * mean["LT"] + (N - 1) * L * mean["LO"]) / P
    return on_G, on_L, masses


@settings(max_examples=30)
@given(TEN, MODELS)
def test_queries_by_patch_climb_the_similarity_to_a_still_image(state: np.ndarray, model: ImageModel) -> None:
    """Slopes of <b, b'> at still b' by complex steps, over how many patches and areas share a state: phi is one a patch."""
    areas = model.areas
    P, G, L, N = areas.patches, areas.global_size, areas.local_size, areas.local_areas
    still_G, still_L, masses = pooled(model, state)
    pairs = np.array([1.0, N, N, N, N * (N - 1.0)])
    sharing = np.concatenate([pairs * np.array([G, G, L, L, L]), pairs])
    slope = np.empty(10)
    for place in range(10):
        moved = state.astype(complex)
        moved[place] += 1e-30j
        on_G, on_L, _ = pooled(model, moved)
        slope[place] = (on_G * still_G + N * on_L * still_L).imag / 1e-30
    speed = force(still_G**2 + N * still_L**2, 5, model.clusters, 0.3) / model.clusters
    flow = FullFlow(model, Contrast(0.3, 5, 0.02))
    assert_allclose(flow(0.0, state), speed * slope / sharing - 0.02 * state, rtol=1e-9, atol=1e-17)
    assert flow.on_global(state) == pytest.approx(masses["shown LG"])
    assert P == 100


def test_features_learn_as_many_times_faster_as_an_area_has_patches() -> None:
    """Psi' = C Phi' at the start, but that only shown patches have features."""
    rates = FullFlow(MODEL)(0.0, np.zeros(10))
    assert_allclose(rates[5:] / rates[:5], 0.4 * np.array([52, 52, 6, 6, 6]), rtol=1e-12)


@pytest.mark.parametrize("patches", [100.0, 1e4])
def test_queries_by_position_climb_their_similarity(patches: float) -> None:
    """The four rates are slopes of sum b_n b'_n at still b', over the areas and patches that share a state."""
    model = of_exponents(patches, 0.8, 0.3)
    flow, state = PositionFlow(model), np.array([0.7, -0.2, 0.1, -0.3])
    still, areas = flow.attention(state)[0], model.areas
    number = np.array([1.0, areas.local_areas])
    sharing = np.concatenate([number, number * [areas.global_size, areas.local_size]])
    ends = [[(number * flow.attention(state + sign * h)[0]) @ still for h in 1e-5 * np.eye(4)] for sign in (1, -1)]
    speed = Contrast().force(float(number @ still**2), 8) / (8 * patches)
    assert_allclose(flow(0.0, state), speed * (np.array(ends[0]) - ends[1]) / 2e-5 / sharing, rtol=1e-6)


# --- collapse ---------------------------------------------------------------------------------------------------------------


@cache
def slope(query: str, kappa_c: float, kappa_s: float) -> float:
    one, two = (collapse(of_exponents(patches, kappa_c, kappa_s), query=query).time / patches for patches in (1e8, 1e9))
    return math.log10(two / one)


@pytest.mark.parametrize(("kappa_c", "kappa_s", "seen"), [(0.8, 0.3, 0.39), (0.6, 0.45, 0.8), (0.55, 0.4, 0.895)])
def test_the_exponent_of_collapse_is_twice_what_the_global_area_leaves(kappa_c: float, kappa_s: float, seen: float) -> None:
    """Of T / P, for either sign of the gap."""
    assert slope("position", kappa_c, kappa_s) == pytest.approx(2.0 * (1.0 - kappa_c), abs=0.02)
    assert slope("position", kappa_c, kappa_s) == pytest.approx(seen, abs=0.01)


@pytest.mark.parametrize(("kappa_c", "kappa_s"), [(0.8, 0.3), (0.6, 0.45)])
def test_features_make_collapse_faster_by_the_size_of_a_local_area(kappa_c: float, kappa_s: float) -> None:
    assert slope("full", kappa_c, kappa_s) == pytest.approx(2.0 * (1.0 - kappa_c) - kappa_s, abs=0.06)


def test_to_leading_order_collapse_diverges_at_its_time() -> None:
    """phi' = Lambda a^2 e^(2 phi) / (P K), from 0."""
    model = of_exponents(1e6, 0.8, 0.3)
    a = 0.5 * 1e6**-0.2
    speed = 7.0 / 8.0 * a**2 / (1e6 * 8)
    end = collapse_time(model)
    assert end == pytest.approx(8 * 1e6 ** (1 + 0.4) / (2 * 7.0 / 8.0 * 0.25), rel=1e-12)
    found = solve_ivp(
        lambda _, y: [speed * math.exp(2 * y[0])], (0.0, 0.99 * end), [0.0], method="LSODA", rtol=1e-11, atol=1e-13
    )
    assert found.y[0, -1] == pytest.approx(-0.5 * math.log(0.01), rel=1e-6)


def test_collapse_tends_to_its_leading_order() -> None:
    near, far = (
        collapse(of_exponents(patches, 0.6, 0.45)).time / collapse_time(of_exponents(patches, 0.6, 0.45))
        for patches in (1e6, 1e9)
    )
    assert abs(far - 1.0) < abs(near - 1.0)
    assert far == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("query", ["position", "full"])
@pytest.mark.parametrize("model", [MODEL, OTHER], ids=["gap above 0", "gap below 0"])
def test_attention_ends_on_the_global_area_whatever_the_gap(query: str, model: ImageModel) -> None:
    found = collapse(model, query=query)
    assert found.on_global > 0.97
    assert found.flow.on_global(found.state) == pytest.approx(0.5, abs=1e-6)
    again = solve_ivp(found.flow, (0.0, found.time), np.zeros(len(found.flow.states)), method="DOP853", rtol=1e-8, atol=1e-11)
    assert found.flow.on_global(again.y[:, -1]) == pytest.approx(0.5, abs=1e-5)


def test_equal_areas_do_not_collapse() -> None:
    found = collapse(ImageModel(Areas(36, 6, 6), clusters=4))
    assert (found.time, found.on_global < 0.2) == (math.inf, True)


@pytest.mark.parametrize("ratio", [2.0, 1.02])
def test_a_small_lead_of_the_global_area_suffices(ratio: float) -> None:
    local = 1e4**0.4
    assert math.isfinite(collapse(ImageModel(Areas(1e4, ratio * local, local), clusters=8)).time)


def test_cold_contrast_collapses_late_and_not_never() -> None:
    found = collapse(ImageModel(Areas(196, 106, 9), clusters=8), Contrast(temperature=0.03))
    assert found.time == pytest.approx(1.178743e6, rel=1e-3)


def test_what_a_query_sees_is_its_position_or_its_patch_too() -> None:
    with pytest.raises(ParameterError, match="query"):
        collapse(MODEL, query="feature")


# --- weight decay -----------------------------------------------------------------------------------------------------------


def test_the_critical_decay_is_where_growth_at_phi_of_a_half_just_balances() -> None:
    """max over phi of Lambda a^2 e^(2 phi) / (K P) - lambda phi touches 0 at phi = 1/2."""
    model = of_exponents(1e6, 0.8, 0.3)
    a = 0.5 * 1e6**-0.2
    told = critical_weight_decay(model)
    assert told == pytest.approx(2 * math.e * 7 / 8 * a**2 / (8 * 1e6), rel=1e-12)
    phi = np.linspace(0.01, 3.0, 3000)
    assert (7 / 8 * a**2 / (8 * 1e6) * np.exp(2 * phi) / phi).min() == pytest.approx(told, rel=1e-5)


@pytest.mark.parametrize(("share", "learned"), [(0.9, True), (1.0, False)])
def test_decay_decides_whether_anything_is_learned(share: float, learned: bool) -> None:
    model = of_exponents(1e6, 0.8, 0.4)
    found = collapse(model, Contrast(weight_decay=share * critical_weight_decay(model)))
    assert math.isfinite(found.time) == learned
    assert (found.on_global > 0.5) == learned


def test_at_ten_thousand_patches_the_decay_is_smeared() -> None:
    model = of_exponents(1e4, 0.8, 0.4)
    times = [collapse(model, Contrast(weight_decay=share * critical_weight_decay(model))).time for share in (0.5, 0.8)]
    assert [math.isfinite(time) for time in times] == [True, False]
