"""The reduced flow of a masked autoencoder, against the equations written out in loops, and where its loss ends."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp

from dynamics.attention import Areas, ImageModel, Latent, LeadingOrder, MaeFlow, constant, least_loss, uniform
from dynamics.errors import LindynError, ParameterError

POS, NEG = Areas(196, 106, 9), Areas(196, 26, 10)
TWO = Latent(np.array([0.6, 1.4]), np.array([0.3, 0.7]))


def chances(patches: int, marked: int, drawn: int) -> dict[int, float]:
    """How many of the marked patches are among those drawn: by binomial coefficients."""
    ways = math.comb(patches, drawn)
    return {
        k: math.comb(marked, k) * math.comb(patches - marked, drawn - k) / ways
        for k in range(max(0, drawn - patches + marked), min(marked, drawn) + 1)
    }


def written_out(model: ImageModel, counts: str, state: np.ndarray) -> tuple[list[float], float, float, float]:
    """The seven rates, a_T, a_G and the loss: sums over shown patches of the own area and over strengths."""
    areas, gamma = model.areas, model.masked
    P, C_T, C_G = areas.patches, areas.local_size, areas.global_size
    N_O = (P - C_G) / C_T - 1
    rho = (1 - gamma) * P / (P - 1)
    if counts == "exact":
        shown = round((1 - gamma) * P)
        law_T = chances(P - 1, C_T - 1, shown)
        law_O = chances(P - 1, C_T, shown)
        m1, m2, m3 = (sum(chance * k**power for k, chance in law_O.items()) for power in (1, 2, 3))
    else:
        law_T = {rho * (C_T - 1): 1.0}
        m1, m2, m3 = ((rho * C_T) ** power for power in (1, 2, 3))
    z, w = model.latent.values, model.latent.weights
    f_T, f_G, f_O, u_T, u_G, u_O, u_s = state
    e = {
        (a, b): sum(wi * zi**a * math.exp(b * (zi * f_O + u_O)) for zi, wi in zip(z, w, strict=True))
        for a, b in product(range(4), range(4))
    }
    sums = np.zeros(10)
    for (B, pB), (zT, wT), (zG, wG) in product(law_T.items(), zip(z, w, strict=True), zip(z, w, strict=True)):
        BG = rho * C_G
        eT, eG = math.exp(zT * f_T + u_T), math.exp(zG * f_G + u_G)
        Z = B * eT + (C_T - 1 - B) * math.exp(u_T) + BG * eG + (C_G - BG) * math.exp(u_G)
        Z += N_O * (m1 * e[0, 1] + (C_T - m1) * math.exp(u_O)) + math.exp(u_s)
        aT, aG, S2 = B * eT / Z, BG * eG / Z, N_O * m2 * e[2, 2] / Z**2
        R2 = zT**2 * (1 - aT) ** 2 + zG**2 * aG**2 + S2
        g0 = -(zT**2) * aT * (1 - aT)
        brG = g0 - zG**2 * aG * (1 - aG) + S2
        gM = g0 + zG**2 * aG**2 + S2
        spared = g0 + zG**2 * aG**2 + (S2 * (N_O - 1) / N_O if N_O else 0.0)
        others = [m1 * e[k, 1] / Z * spared - m2 * e[k + 2, 2] / Z**2 + m3 * e[k + 2, 3] / Z**3 for k in (1, 0)]
        sums += (
            pB
            * wT
            * wG
            * np.array(
                [
                    zT * aT * R2,
                    zG * aG * brG,
                    others[0] if N_O else 0.0,
                    (aT * R2 + (C_T - 1 - B) * math.exp(u_T) / Z * gM) / (C_T - 1),
                    (aG * brG + (C_G - BG) * math.exp(u_G) / Z * gM) / C_G,
                    (others[1] + ((C_T - m1) * spared + (C_T * m2 - m3) * e[2, 2] / Z**2) * math.exp(u_O) / Z) / C_T
                    if N_O
                    else 0.0,
                    math.exp(u_s) / Z * gM,
                    aT,
                    aG,
                    R2,
                ]
            )
        )
    return [float(x) * gamma / model.clusters for x in sums[:7]], sums[7], sums[8], 0.5 * gamma * sums[9]


STATES = st.lists(st.floats(-1.5, 2.5), min_size=7, max_size=7).map(np.array)


@settings(max_examples=25)
@given(
    STATES, st.sampled_from(["exact", "mean"]), st.sampled_from([constant(), constant(1.3), TWO]), st.sampled_from([0.5, 0.75])
)
def test_the_flow_is_that_of_the_equations_written_out(state: np.ndarray, counts: str, latent: Latent, masked: float) -> None:
    for areas in (Areas(24, 12, 4), Areas(24, 20, 4), Areas(24, 6, 3)):
        model = ImageModel(areas, masked, clusters=3, latent=latent)
        flow = MaeFlow(model, counts=counts)
        told, own, glob, loss = written_out(model, counts, state)
        assert_allclose(flow(0.0, state), told, rtol=1e-11, atol=1e-15)
        assert_allclose(flow.read(state), [own, glob, loss], rtol=1e-11)


@pytest.mark.parametrize("counts", ["exact", "mean"])
def test_without_positions_only_features_move(counts: str) -> None:
    state = np.array([1.0, -0.5, 0.2, 0.0, 0.0, 0.0, 0.0])
    with_them, without = (MaeFlow(ImageModel(POS), counts=counts, positions=one)(0.0, state) for one in (True, False))
    assert_allclose(without[:3], with_them[:3])
    assert (without[3:] == 0.0).all()


@settings(max_examples=25)
@given(STATES)
def test_position_correlations_of_all_keys_sum_to_nothing(state: np.ndarray) -> None:
    """At their mean counts, at which no shown patch fluctuates."""
    areas = Areas.of_exponents(256, 0.9, 0.4)
    rates = MaeFlow(ImageModel(areas), counts="mean")(0.0, state)
    keys = [areas.local_size - 1, areas.global_size, areas.local_size * (areas.local_areas - 1), 1.0]
    assert abs(rates[3:] @ keys) < 1e-14


@settings(max_examples=15)
@given(STATES, st.sampled_from(["exact", "mean"]), st.sampled_from([constant(), TWO]))
def test_the_flow_descends_its_own_loss(state: np.ndarray, counts: str, latent: Latent) -> None:
    """Rates are -1/K of the slope of the loss of a patch, per key; those of other areas where counts do not fluctuate."""
    model = ImageModel(Areas(24, 12, 4), 0.5, clusters=2, latent=latent)
    flow = MaeFlow(model, counts=counts)
    keys = np.array([1.0, 1.0, 2.0, 3.0, 12.0, 8.0, 1.0])
    slope = np.array([(flow.read(state + h).loss - flow.read(state - h).loss) / 2e-5 for h in 1e-5 * np.eye(7)])
    places = range(7) if counts == "mean" and latent is not TWO else (0, 1, 3, 4, 6)
    for place in places:
        assert flow(0.0, state)[place] * keys[place] == pytest.approx(-slope[place] / 2.0, abs=1e-9)


@pytest.mark.parametrize(("areas", "masked"), [(POS, 0.5), (NEG, 0.75), (Areas(36, 16, 5), 0.5)])
def test_moments_of_counts_are_hypergeometric(areas: Areas, masked: float) -> None:
    law = chances(areas.patches - 1, areas.local_size, round((1 - masked) * areas.patches))
    flow = MaeFlow(ImageModel(areas, masked))
    assert_allclose(flow.moments, [sum(p * k**n for k, p in law.items()) for n in (1, 2, 3)], rtol=1e-12)
    assert flow.moments[0] == pytest.approx((1 - masked) * areas.patches / (areas.patches - 1) * areas.local_size)


def test_mean_counts_have_the_mean_of_the_exact_ones() -> None:
    exact, mean = (MaeFlow(ImageModel(POS), counts=counts) for counts in ("exact", "mean"))
    assert exact.moments[0] == pytest.approx(mean.moments[0])
    assert float((exact.chance * exact.B).sum()) == pytest.approx(float((mean.chance * mean.B).sum()))


def test_counts_are_of_the_patches_that_a_mask_shows() -> None:
    """49 patches, half of them: 24 are shown, and the global area has its share of those."""
    flow = MaeFlow(ImageModel(Areas(49, 25, 4)))
    assert flow.seen * flow.C_O == pytest.approx(flow.moments[0])


def test_counts_are_exact_or_mean() -> None:
    with pytest.raises(ParameterError, match="counts"):
        MaeFlow(ImageModel(POS), counts="some")
    with pytest.raises(LindynError, match="whole areas"):
        MaeFlow(ImageModel(Areas(196, 105, 9)))
    MaeFlow(ImageModel(Areas(196, 105, 9.5)), counts="mean")


# --- where the loss ends ----------------------------------------------------------------------------------------------------


def far(flow: MaeFlow, times: np.ndarray) -> np.ndarray:
    found = solve_ivp(flow, (0.0, times[-1]), np.zeros(7), method="LSODA", t_eval=times, rtol=1e-11, atol=1e-13)
    return np.array([flow.read(state).loss for state in found.y.T])


@pytest.mark.parametrize(("masked", "floor"), [(0.5, 0.0008059), (0.75, 0.035237)])
def test_the_loss_ends_at_its_least_value(masked: float, floor: float) -> None:
    model = ImageModel(POS, masked)
    assert least_loss(model) == pytest.approx(floor, rel=3e-5)
    ended = far(MaeFlow(model), np.array([1e6, 1e8]))
    assert ended[1] == pytest.approx(least_loss(model), rel=1e-4)
    assert (ended > least_loss(model)).all()


@pytest.mark.parametrize("masked", [0.5, 0.25])
def test_the_least_loss_is_that_of_masks_that_hide_the_whole_area(masked: float) -> None:
    """gamma/2 E z^2 times the chance that the other patches of the area are hidden too, by counting masks."""
    model = ImageModel(Areas(36, 16, 5), masked, latent=uniform(0.5, 1.5))
    hidden = round(masked * 36)
    chance = math.comb(31, hidden - 5) / math.comb(35, hidden - 1)
    assert least_loss(model) == pytest.approx(masked / 2 * (1 + 1 / 12) * chance, rel=1e-12)


def test_masks_too_small_to_hide_an_area_leave_no_loss() -> None:
    assert least_loss(ImageModel(Areas(36, 16, 5), 0.1)) == 0.0


def test_areas_that_are_not_whole_are_hidden_one_patch_at_a_time() -> None:
    areas = Areas.of_exponents(1e6, 0.9, 0.1)
    assert least_loss(ImageModel(areas)) == pytest.approx(0.5 * 0.5**areas.local_size)


def test_at_mean_counts_the_excess_falls_as_one_over_time_with_its_constant() -> None:
    """2 c t |X - F|^2 -> 1: the loss of a patch is K / (4 t)."""
    model = ImageModel(Areas.of_exponents(1e6, 0.9, 0.4))
    times = np.array([1e7, 1e8])
    loss = far(MaeFlow(model, counts="mean", positions=False), times)
    assert np.log(loss[1] / loss[0]) / np.log(10.0) == pytest.approx(-1.0, abs=0.01)
    assert 4.0 * times[1] * loss[1] == pytest.approx(1.0, abs=1e-3)
    assert LeadingOrder(model).tail(loss[1]) == pytest.approx(times[1], rel=1e-3)


def test_under_exact_masks_the_excess_falls_as_one_over_time_too() -> None:
    """Masks that hide the own area unlearn the other ones, each with K / (4 t) of its own, beside that of the own area."""
    model, times = ImageModel(POS), np.array([1e11, 1e12])
    excess = far(MaeFlow(model, positions=False), times) - least_loss(model)
    assert np.log(excess[1] / excess[0]) / np.log(10.0) == pytest.approx(-1.0, abs=0.01)
    assert 4.0 * times[1] * excess[1] == pytest.approx(2.0 + 9.0, rel=0.02)


# --- closed forms -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kappa_c", "kappa_s"), [(0.9, 0.4), (0.6, 0.45)])
@pytest.mark.parametrize("masked", [0.5, 0.75])
def test_closed_forms_solve_their_equations(kappa_c: float, kappa_s: float, masked: float) -> None:
    patches, clusters = 1e5, 3
    theory = LeadingOrder(ImageModel(Areas.of_exponents(patches, kappa_c, kappa_s), masked, clusters))
    c, a_G, a_T = masked / clusters, (1 - masked) * patches ** (kappa_c - 1), (1 - masked) * patches ** (kappa_s - 1)
    assert_allclose([theory.rate, theory.global_start, theory.own_start], [c, a_G, a_T], rtol=1e-12)
    t_T = clusters * patches ** (1 - kappa_s) / (masked * (1 - masked))
    assert theory.local_time == pytest.approx(t_T, rel=1e-12)
    times = t_T * np.array([0.0, 0.2, 0.7])
    found = solve_ivp(
        lambda _, y: [-c * a_G**2 * math.exp(2 * y[0]), c * a_T * math.exp(y[1])],
        (0.0, times[-1]),
        [0.0, 0.0],
        t_eval=times,
        method="LSODA",
        rtol=1e-11,
        atol=1e-13,
    )
    assert_allclose(theory.phi_G(times), found.y[0], atol=1e-8)
    assert_allclose(theory.phi_T(times), found.y[1], atol=1e-8)
    assert float(theory.phi_G(theory.onset)[0]) == pytest.approx(-0.1)
    R = (1 - masked) * patches ** ((1 - kappa_s) - 2 * (1 - kappa_c))
    assert theory.ratio == pytest.approx(R, rel=1e-11)
    assert theory.plateau == pytest.approx(-0.5 * math.log(1 + 2 * R), rel=1e-11)
    assert theory.plateau == pytest.approx(float(theory.phi_G(t_T)[0]), rel=1e-9)
    assert theory.global_time == pytest.approx(1 / (c * a_G), rel=1e-12)


def test_the_first_phase_ends_where_both_move_alike() -> None:
    theory = LeadingOrder(ImageModel(Areas.of_exponents(1e8, 0.9, 0.4)))
    T1 = theory.first_phase
    assert pytest.approx(theory.local_time / 3 * (1 - 1 / theory.ratio)) == T1
    fall = theory.global_start**2 * math.exp(2 * float(theory.phi_G(T1)[0]))
    growth = theory.own_start * math.exp(float(theory.phi_T(T1)[0]))
    assert fall == pytest.approx(growth, rel=1e-9)
    limit = LeadingOrder(ImageModel(Areas.of_exponents(1e40, 0.9, 0.4)))
    assert float(limit.phi_T(limit.first_phase)[0]) == pytest.approx(math.log(1.5), abs=1e-6)
    assert limit.plateau - float(limit.phi_G(limit.first_phase)[0]) == pytest.approx(-0.5 * math.log(3), abs=1e-6)
    assert LeadingOrder(ImageModel(NEG)).first_phase == 0.0


def test_the_own_correlation_diverges_at_its_time() -> None:
    theory = LeadingOrder(ImageModel(POS))
    assert np.isinf(theory.phi_T([theory.local_time, 2 * theory.local_time])).all()


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_times_of_closed_forms_are_finite_and_not_negative(bad: float) -> None:
    theory = LeadingOrder(ImageModel(POS))
    for form in (theory.phi_T, theory.phi_G):
        with pytest.raises(ParameterError, match="time"):
            form(bad)
    with pytest.raises(ParameterError, match="excess"):
        theory.tail(bad if bad != -1.0 else 0.0)


def test_clusters_that_share_a_partition_move_positions_together() -> None:
    """Position-position rates are K times those of clusters with partitions of their own; the others are the same."""
    model, state = ImageModel(Areas(36, 16, 5), clusters=4), np.linspace(-0.5, 0.6, 7)
    apart, together = (MaeFlow(model, shared_partition=shared)(0.0, state) for shared in (False, True))
    assert_allclose(together, apart * [1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0], rtol=1e-13)
