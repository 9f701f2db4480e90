"""When the phases of a masked autoencoder end: the numbers of the theory, and its exponents where patches are many."""

import time
from functools import cache
from math import log

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from dynamics.attention import Areas, ImageModel, Latent, LeadingOrder, MaeFlow, Phases, phases, uniform
from dynamics.errors import LindynError, ParameterError
from dynamics.reports.attention import local_exponent

POS, NEG = Areas(196, 106, 9), Areas(196, 26, 10)
SLOWLY = [pytest.param(*kappas, marks=pytest.mark.slow) for kappas in ((0.95, 0.2), (0.7, 0.2))]


@cache
def many(patches: float, kappa_c: float, kappa_s: float) -> Phases:
    return phases(ImageModel(Areas.of_exponents(patches, kappa_c, kappa_s)), counts="mean", positions=False)


def slope(name: str, kappa_c: float, kappa_s: float) -> float:
    one, two = (getattr(many(patches, kappa_c, kappa_s), name).time for patches in (1e11, 1e12))
    return log(two / one) / log(10.0)


@pytest.mark.parametrize(
    ("model", "exact", "mean", "without"),
    [
        (ImageModel(POS), 96.8, 93.9, 105.0),
        (ImageModel(NEG), 100.2, 97.7, 108.3),
        pytest.param(ImageModel(POS, clusters=3), 290.4, 281.5, 315.1, marks=pytest.mark.slow),
        (ImageModel(POS, latent=uniform(0.5, 1.5)), 77.7, 75.2, 83.2),
    ],
)
def test_the_second_phase_of_the_sizes_that_are_simulated(model: ImageModel, exact: float, mean: float, without: float) -> None:
    found = [phases(model).second.time, *(phases(model, counts="mean", positions=one).second.time for one in (True, False))]
    assert found == pytest.approx([exact, mean, without], rel=2e-3)


@pytest.mark.parametrize(("kappa_c", "kappa_s"), [(0.9, 0.4), (0.8, 0.3), *SLOWLY])
def test_exponents_of_many_patches(kappa_c: float, kappa_s: float) -> None:
    assert slope("second", kappa_c, kappa_s) == pytest.approx(1.0 - kappa_s, abs=0.02)
    assert slope("onset", kappa_c, kappa_s) == pytest.approx(2.0 * (1.0 - kappa_c), abs=0.02)


@pytest.mark.parametrize(("kappa_c", "kappa_s"), [(0.9, 0.4), (0.8, 0.3), SLOWLY[0]])
def test_where_the_global_area_leads_its_phase_takes_a_third(kappa_c: float, kappa_s: float) -> None:
    found = many(1e12, kappa_c, kappa_s)
    gap = (1.0 - kappa_s) - 2.0 * (1.0 - kappa_c)
    assert found.leader == "global"
    assert found.first.time / found.second.time == pytest.approx(1.0 / 3.0, abs=0.005)
    assert slope("first", kappa_c, kappa_s) == pytest.approx(1.0 - kappa_s, abs=0.02)
    plateau = -0.5 * log(1.0 + 2.0 * 0.5 * 1e12**gap)
    assert found.second.state[1] == pytest.approx(plateau, rel=0.02)
    assert found.second.state[1] / log(1e12) == pytest.approx(-gap / 2.0, abs=0.005)
    assert found.second.state[1] - found.first.state[1] == pytest.approx(-0.5 * log(3.0), abs=0.02)
    assert found.first.state[0] == pytest.approx(log(1.5), abs=0.02)


@pytest.mark.parametrize(("kappa_c", "kappa_s"), [(0.6, 0.45), (0.55, 0.4)])
def test_where_the_own_area_leads_there_is_no_first_phase(kappa_c: float, kappa_s: float) -> None:
    found = many(1e12, kappa_c, kappa_s)
    assert (found.leader, found.first.time) == ("local", 0.0)
    assert abs(found.second.state[1]) < 1e-3
    assert found.second.state[0] / log(1e12) == pytest.approx(1.0 - kappa_s, abs=0.03)
    assert slope("second", kappa_c, kappa_s) == pytest.approx(1.0 - kappa_s, abs=0.01)
    assert np.isnan(found.onset.time)


def test_the_second_phase_tends_to_its_leading_order() -> None:
    for kappas, off in (((0.9, 0.4), 0.04), ((0.8, 0.3), 0.002), ((0.6, 0.45), 1e-4)):
        theory = LeadingOrder(many(1e12, *kappas).flow.model)
        assert many(1e12, *kappas).second.time == pytest.approx(theory.local_time, rel=off)
    found, theory = many(1e12, 0.9, 0.4), LeadingOrder(many(1e12, 0.9, 0.4).flow.model)
    assert found.first.time == pytest.approx(theory.first_phase, rel=0.04)
    assert found.onset.time == pytest.approx(theory.onset, rel=0.03)


def test_who_leads_is_the_sign_of_the_gap_with_what_masks_take() -> None:
    """Delta + log(1 - gamma) / log P, on a grid at P = 1e8, where own areas are more than the patch itself."""
    for kappa_c in np.linspace(0.52, 0.98, 14):
        for kappa_s in np.linspace(0.2, 0.49, 16):
            areas = Areas.of_exponents(1e8, kappa_c, kappa_s)
            rates = MaeFlow(ImageModel(areas), counts="mean")(0.0, np.zeros(7))
            sharp = areas.gap + log(0.5) / log(1e8)
            assert abs(sharp) < 2e-3 or (-rates[1] > rates[0]) == (sharp > 0.0)


def test_a_gap_with_strengths_leaves_the_plateau_in_its_band() -> None:
    areas = Areas.of_exponents(1e12, 0.9, 0.4)
    found = phases(ImageModel(areas, latent=uniform(0.5, 1.5)), counts="mean", positions=False)
    assert -0.4 < found.second.state[1] / log(1e12) < -0.133
    assert found.second.state[1] / log(1e12) == pytest.approx(-0.222, abs=0.003)


@pytest.mark.parametrize("kappa_s", [0.4, pytest.param(0.3, marks=pytest.mark.slow)])
def test_rare_weak_images_take_the_worst_case(kappa_s: float) -> None:
    """P^(2 (U/L - 1)(1 - kappa_s)) at U/L = 2.5 where z = L comes once in P^3, but for a logarithm."""
    reached = []
    for patches in (1e4, 1e6):
        law = Latent(np.array([0.4, 1.0]), np.array([patches**-3.0, 1.0 - patches**-3.0]))
        flow = MaeFlow(ImageModel(Areas.of_exponents(patches, 0.9, kappa_s), latent=law), counts="mean", positions=False)
        needed = log(patches ** (1.0 - kappa_s)) / 0.4

        def learned(_: float, state: np.ndarray, needed: float = needed) -> float:
            return float(state[0]) - needed

        learned.terminal = True  # type: ignore[attr-defined]
        found = solve_ivp(flow, (0.0, 1e30), np.zeros(7), method="LSODA", rtol=1e-8, atol=1e-10, events=learned)
        reached.append(found.t_events[0][0])
    assert log(reached[1] / reached[0]) / log(100.0) == pytest.approx(2.0 * 1.5 * (1.0 - kappa_s), abs=0.08)


@pytest.mark.parametrize("model", [ImageModel(POS), ImageModel(NEG, 0.75, clusters=2)], ids=["global", "local"])
def test_events_are_where_another_integrator_has_them(model: ImageModel) -> None:
    found, flow = phases(model), MaeFlow(model)
    events = [found.onset, found.second, found.settled, *([found.first] if found.first.time else [])]
    times = sorted(event.time for event in events)
    seen = solve_ivp(flow, (0.0, times[-1]), np.zeros(7), method="Radau", t_eval=times, rtol=1e-9, atol=1e-11)
    at = dict(zip(times, seen.y.T, strict=True))
    assert at[found.onset.time][1] == pytest.approx(-0.1, abs=1e-6)
    assert flow.read(at[found.second.time]).own == pytest.approx(0.5, abs=1e-5)
    assert flow.read(at[found.settled.time]).own == pytest.approx(0.9, abs=1e-5)
    for event in events:
        assert event.state == pytest.approx(at[event.time], abs=1e-5)
    if found.first.time:
        rates = flow(0.0, at[found.first.time])
        assert rates[0] == pytest.approx(-rates[1], rel=1e-5)


def test_clusters_slow_everything_in_proportion() -> None:
    one, three = (phases(ImageModel(POS, clusters=clusters)) for clusters in (1, 3))
    for name in ("onset", "first", "second", "settled"):
        assert getattr(three, name).time == pytest.approx(3.0 * getattr(one, name).time, rel=1e-6)


def test_laptop_sizes_do_not_show_the_exponent() -> None:
    """.82 of 1 - kappa_s or so between 64 and 324 patches."""
    areas = Areas(196, 106, 9)
    shown = local_exponent(ImageModel(areas), True)
    assert shown < 1.0 - areas.kappa_s - 0.05
    assert shown / (1.0 - areas.kappa_s) == pytest.approx(0.85, abs=0.06)


def test_parameters_are_those_of_the_flow() -> None:
    with pytest.raises(ParameterError, match="counts"):
        phases(ImageModel(POS), counts="none")
    with pytest.raises(LindynError, match="whole"):
        phases(ImageModel(Areas(196, 100, 9)))


def test_weak_areas_take_the_longer() -> None:
    """phi z moves with z^4: a tenth of the strength takes ten thousand times as long."""
    models = (ImageModel(POS, latent=uniform(value, value)) for value in (0.1, 1.0))
    weak, strong = (phases(model, positions=False).second.time for model in models)
    assert weak == pytest.approx(1e4 * strong, rel=0.05)


def test_areas_of_one_patch_are_not_learned_and_that_is_said() -> None:
    with pytest.raises(LindynError):
        phases(ImageModel(Areas(196, 186, 1)))


@pytest.mark.slow
@pytest.mark.timed
def test_a_reduced_solve_takes_less_than_a_second() -> None:
    for model, how in (
        (ImageModel(POS), {}),
        (ImageModel(POS, latent=uniform(0.5, 1.5)), {}),
        (ImageModel(Areas.of_exponents(1e12, 0.9, 0.4)), {"counts": "mean"}),
    ):
        started = time.process_time()
        phases(model, **how)
        assert time.process_time() - started < 1.0
