"""One layer of softmax attention: a network of numbers does as the statements say, and so does the numeric half."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from sympy import Expr, Rational, S, log, sqrt

import derivations.statements  # noqa: F401 - registers them
from derivations.notation import K, gamma, s
from derivations.statement import STATEMENTS, Mutant
from derivations.statements.attention_gradients import Upsilon, a_j, a_m, e_j, e_jm, z_j, z_m
from derivations.statements.attention_optimum import C
from derivations.statements.attention_optimum import P as PATCHES
from derivations.statements.attention_phases import P, R, a_G, a_T, c, kappa_c, t_T
from dynamics.attention import (
    Areas,
    Contrast,
    ImageModel,
    LeadingOrder,
    attention_metrics,
    collapse_time,
    critical_weight_decay,
    least_loss,
)

Matrix = np.ndarray


def value(statement: str, name: str, **numbers: float) -> float:
    """A formula of a statement, with numbers for symbols of these names."""
    formula: Expr = STATEMENTS[statement].formulas[name]
    return float(formula.subs({symbol: numbers[symbol.name] for symbol in formula.free_symbols}))


def slope(function: Callable[[Matrix], float], at: Matrix, step: float = 1e-5) -> Matrix:
    """The gradient by central differences."""
    gradient = np.empty_like(at)
    for cell in np.ndindex(at.shape):
        nudge = np.zeros_like(at)
        nudge[cell] = step
        gradient[cell] = (function(at + nudge) - function(at - nudge)) / (2 * step)
    return gradient


# --- a network of nine patches ----------------------------------------------------------------------------------------------

AREA = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
SHOWN = np.array([0, 1, 1, 1, 0, 1, 1, 0, 1], dtype=bool)
STRENGTH = np.array([0.8, 1.3, 0.6])
COUNT, AREAS = len(AREA), len(STRENGTH)


def tokens(shown: Matrix, strength: Matrix = STRENGTH) -> Matrix:
    """Patches in coordinates, positions first, then features."""
    contents = np.zeros((COUNT, AREAS))
    contents[np.arange(COUNT), AREA] = strength[AREA] * shown
    return np.hstack([np.eye(COUNT), contents])


def attention(entries: Matrix, queries: Matrix, keys: Matrix) -> Matrix:
    weights = np.exp(queries @ entries @ keys.T)
    return weights / weights.sum(axis=1, keepdims=True)


def reconstruction(entries: Matrix) -> float:
    seen, whole = tokens(SHOWN), tokens(np.ones(COUNT))
    error = (attention(entries, seen, seen) @ seen - whole)[~SHOWN, COUNT:]
    return 0.5 * float((error**2).sum())


def network(seed: int) -> Matrix:
    return 0.7 * np.random.default_rng(seed).normal(size=(COUNT + AREAS, COUNT + AREAS))


def reading(entries: Matrix, p: int, m: int) -> dict[str, float]:
    """What the symbols of the gradient stand for at a query p and another area m."""
    seen = tokens(SHOWN)
    on = np.array([attention(entries, seen, seen)[p] @ (SHOWN & (area == AREA)) for area in range(AREAS)])
    j, squares = AREA[p], (STRENGTH * on) ** 2
    errors = {"e_j": squares.sum() - squares[j], "e_jm": squares.sum() - squares[j] - squares[m]}
    return {"a_j": on[j], "a_m": on[m], "z_j": STRENGTH[j], "z_m": STRENGTH[m], **errors}


@pytest.mark.parametrize("seed", [0, 1])
def test_gradients_of_reconstruction_are_the_slopes_of_the_loss(seed):
    entries = network(seed)
    found, seen = -slope(reconstruction, entries), tokens(SHOWN)
    weights = attention(entries, seen, seen)
    assert_allclose(found[COUNT:], 0, atol=1e-9)
    assert_allclose(found[:COUNT][SHOWN], 0, atol=1e-9)
    for p in np.flatnonzero(~SHOWN):
        for m in {0, 1, 2} - {AREA[p]}:
            numbers = reading(entries, p, m)
            for name, area in (("target", AREA[p]), ("others", m)):
                assert_allclose(found[p, COUNT + area], value("attention-gradient-by-features", name, **numbers), atol=1e-8)
            for q in range(COUNT):
                name = "hidden" if not SHOWN[q] else "target" if AREA[q] == AREA[p] else "others"
                if name != "others" or AREA[q] == m:
                    told = value("attention-gradient-by-positions", name, s=weights[p, q], **numbers)
                    assert_allclose(found[p, q], told, atol=1e-8)


@pytest.mark.parametrize("alike", [True, False])
def test_similarity_has_the_stated_slopes_and_equal_rows_stay_equal(alike):
    strength, random = np.ones(AREAS), np.random.default_rng(0)
    keys, positions = tokens(SHOWN, strength), tokens(np.zeros(COUNT))
    entries = network(2)
    entries[:COUNT] = entries[0] if alike else entries[:COUNT]
    target = attention(entries, positions, keys).mean(axis=0) @ keys[:, COUNT:] if alike else random.random(AREAS)

    def similarity(at: Matrix) -> float:
        return float((attention(at, positions, keys) @ keys[:, COUNT:]).mean(axis=0) @ target)

    found = slope(similarity, entries)[:COUNT, COUNT:]
    on = attention(entries, positions, keys) @ keys[:, COUNT:]
    for p, m in np.ndindex(found.shape):
        told = value("attention-rows-move-alike", "slope", a_m=on[p, m], b_m=target[m], ab=on[p] @ target, P=COUNT)
        assert_allclose(found[p, m], told, atol=1e-9)
        if alike:
            shared = value("attention-rows-move-alike", "shared", a_m=on[0, m], S=(on[0] ** 2).sum(), P=COUNT)
            assert_allclose(found[p, m], shared, atol=1e-9)


def test_feature_rows_learn_as_many_times_faster_as_queries_share_them():
    strength = np.ones(AREAS)
    keys, start = tokens(SHOWN, strength), np.zeros((COUNT + AREAS, COUNT + AREAS))
    target = np.array([0.5, 0.2, 0.1])
    found = slope(lambda at: float((attention(at, keys, keys) @ keys[:, COUNT:]).mean(axis=0) @ target), start)
    for area in range(AREAS):
        by_position, by_feature = found[np.flatnonzero(SHOWN & (area == AREA))[0], COUNT:], found[COUNT + area, COUNT:]
        assert_allclose(by_feature, value("attention-features-outrun-positions", "shown", C=2) * by_position, atol=1e-9)
        faster = value("attention-features-outrun-positions", "start", C=3, s=SHOWN.mean())
        assert_allclose(by_feature, faster * by_position, atol=1e-9)


# --- against the numeric half -----------------------------------------------------------------------------------------------

MODELS = [
    ImageModel(Areas.of_exponents(1e4, 0.9, 0.3), masked=0.6, clusters=3),
    ImageModel(Areas.of_exponents(1e6, 0.6, 0.4), masked=0.75),
]


def numbers_of(model: ImageModel) -> dict[str, float]:
    areas = model.areas
    starts = {"a_G": model.shown * areas.global_size / areas.patches, "a_T": model.shown * areas.local_size / areas.patches}
    exponents = {"kappa_c": areas.kappa_c, "kappa_s": areas.kappa_s, "Delta": areas.gap}
    rates = {"c": model.masked / model.clusters, "K": model.clusters, "gamma": model.masked, "s": model.shown}
    return {**starts, **exponents, **rates, "P": areas.patches}


@pytest.mark.parametrize("model", MODELS)
def test_leading_order_of_reconstruction_is_that_of_the_numeric_half(model):
    order, numbers = LeadingOrder(model), numbers_of(model)
    numbers |= {"t_T": order.local_time, "R": order.ratio, "epsilon": 0.1}
    times = np.array([0.1, 0.6]) * order.local_time
    assert_allclose(order.ratio, value("attention-information-gap", "ratio", **numbers))
    assert_allclose(numbers["Delta"], value("attention-information-gap", "exponent", **numbers))
    for name in ("end", "scaled"):
        assert_allclose(order.local_time, value("attention-finds-the-own-area", name, **numbers))
    for name in ("onset", "scaled"):
        assert_allclose(order.onset, value("attention-leaves-the-global-area", name, **numbers))
    assert_allclose(order.global_time, value("attention-finds-the-own-area", "everywhere", **numbers))
    assert_allclose(order.plateau, value("attention-plateau", "plateau", **numbers))
    assert_allclose(order.first_phase, max(value("attention-two-phases", "first", **numbers), 0))
    for curve, name in ((order.phi_G, "attention-leaves-the-global-area"), (order.phi_T, "attention-finds-the-own-area")):
        assert_allclose(curve(times), [value(name, "curve", t=time, **numbers) for time in times])


@pytest.mark.parametrize("model", MODELS)
def test_whichever_side_of_the_boundary_leads_at_the_start(model):
    numbers = numbers_of(model)
    ahead = value("attention-first-forces", "everywhere", **numbers) > value("attention-first-forces", "own", **numbers)
    assert ahead == (numbers["Delta"] > value("attention-information-gap", "boundary", **numbers))


@pytest.mark.parametrize("few", [True, False])
def test_contrastive_quantities_are_those_of_the_numeric_half(few):
    model, contrast = MODELS[0], Contrast(negatives=1 if few else None)
    numbers = numbers_of(model) | {"S": 0.3, "tau": contrast.temperature}
    if few:  # one negative, of another cluster with chance 1 - 1/K
        told = (1 - 1 / model.clusters) * value("attention-contrastive-force", "few", n=1, m=0, **numbers)
    else:
        told = value("attention-contrastive-force", "many", **numbers)
        assert_allclose(contrast.force(0.0, 3), value("attention-contrastive-force", "first", **numbers))
    assert_allclose(contrast.force(0.3, model.clusters), told)
    numbers["Lambda"] = contrast.force(0.0, model.clusters)
    for name in ("end", "scaled"):
        assert_allclose(collapse_time(model, contrast), value("attention-collapse-time", name, **numbers))
    assert_allclose(critical_weight_decay(model, contrast), value("attention-critical-weight-decay", "critical", **numbers))


@pytest.mark.parametrize(("patches", "size", "masked"), [(20, 3, 0.4), (30, 5, 0.5)])
def test_least_loss_is_that_of_drawn_masks_and_of_the_numeric_half(patches, size, masked):
    hidden = round(masked * patches)
    chance = np.prod([value("attention-least-loss", "factor", M=hidden, P=patches, i=i) for i in range(1, size)])
    floor = value("attention-least-loss", "floor", gamma=masked, z2=1, Pr=chance)
    assert_allclose(least_loss(ImageModel(Areas(patches, patches - 2 * size, size), masked=masked)), floor)
    masks = np.random.default_rng(0).random((400_000, patches)).argsort(axis=1)[:, :size] < hidden
    assert_allclose(masks.all(axis=1).mean() / masks[:, 0].mean(), chance, rtol=0.1)


@pytest.mark.parametrize("sizes", [(6, 2, 1), (4, 4, 4)])
def test_map_of_the_optimum_has_the_stated_metrics(sizes):
    area = np.repeat(range(len(sizes)), sizes)
    rows = (area[:, None] == area) / np.array(sizes)[area][:, None]
    found = attention_metrics(rows, area)
    term, loss = (
        sum(value("attention-of-the-optimum", name, C=size, P=len(area)) for size in sizes) for name in ("term", "loss")
    )
    assert_allclose([found.diversity, found.information], [1 - term, 1 - loss])


# --- flows ------------------------------------------------------------------------------------------------------------------


def test_tail_falls_as_one_over_time():
    rate, strength = 0.4, 1.3

    def moved(_: float, phi: Matrix) -> Matrix:
        own = np.exp(strength * phi) / (np.exp(strength * phi) + 50)
        return rate * strength * own * strength**2 * (1 - own) ** 2

    time = 1e9
    end = solve_ivp(moved, (0, time), [0.0], "LSODA", rtol=1e-10, atol=1e-12).y[0, -1]
    error = strength**2 * (50 / (np.exp(strength * end) + 50)) ** 2
    assert_allclose(error, value("attention-tail", "error", c=rate, z_j=strength, t=time), rtol=1e-3)
    assert_allclose(0.5 * 0.8 * error, value("attention-tail", "loss", K=2, z_j=strength, t=time), rtol=1e-3)


@pytest.mark.parametrize("share", [0.97, 1.03])
def test_weight_decay_above_the_critical_one_keeps_a_network_from_learning(share):
    numbers = {"Lambda": 0.9, "a_G": 0.05, "K": 4, "P": 10.0}
    growth, decay = 0.9 * 0.05**2 / 40, share * value("attention-critical-weight-decay", "critical", **numbers)

    def learned(_: float, phi: Matrix) -> float:
        return float(phi[0] - 1)

    learned.terminal = True  # type: ignore[attr-defined]
    flow = solve_ivp(lambda _, phi: growth * np.exp(2 * phi) - decay * phi, (0, 1e8), [0.0], "LSODA", events=learned)
    assert (flow.status == 1) == (share < 1)
    assert (flow.y[0, -1] > 0.5) == (share < 1)


# --- what must not be proved ------------------------------------------------------------------------------------------------

BROKEN = {
    "attention-masked-query-is-its-position": {"hidden": 2 * Upsilon},
    "attention-gradient-by-features": {"target": 2 * z_j * a_j * (z_j**2 * (1 - a_j) ** 2 + e_j)},
    "attention-gradient-by-positions": {"hidden": s * (e_jm - z_j**2 * a_j * (1 - a_j))},
    "attention-first-forces": {"own": a_T * (1 - a_T) ** 2},
    "attention-information-gap": {"boundary": -log(s) / (2 * log(P))},
    "attention-printed-information-gap-fails": {"true": Rational(-1, 5)},
    "attention-leaves-the-global-area": {"curve": -c * a_G**2},
    "attention-finds-the-own-area": {"scaled": K * P ** (1 - kappa_c) / (gamma * s)},
    "attention-two-phases": {"first": t_T / 3 * (1 + 1 / R)},
    "attention-plateau": {"height": -S.One},
    "attention-tail": {"loss": K / (4 * z_j * Rational(2))},
    "attention-least-loss": {"limit": gamma},
    "attention-of-the-optimum": {"cosine": sqrt(C / PATCHES) / 2},
    "attention-contrastive-force": {"first": 1 - 2 / K},
    "attention-rows-move-alike": {"shared": a_m * (1 - a_m) / P},
    "attention-collapse-time": {"end": K * P * a_G**2},
    "attention-critical-weight-decay": {"tangent": Rational(1, 3)},
    "attention-features-outrun-positions": {"time": K * P},
}
WRONG_SIGN = z_m * a_m * (e_jm - z_j**2 * a_j * (1 - a_j) + z_m**2 * a_m * (1 - a_m))


def test_every_statement_is_broken_once():
    assert set(BROKEN) == {name for name in STATEMENTS if name.startswith("attention-")}


@pytest.mark.parametrize(("name", "altered"), [*BROKEN.items(), ("attention-gradient-by-features", {"others": WRONG_SIGN})])
def test_a_broken_truth_is_refused_by_reduction_and_refuted_by_numbers(name, altered):
    verdict = STATEMENTS[name].examine(Mutant("broken", altered))
    assert verdict.rejected
    assert verdict.refuted
    assert not verdict.broken
    assert any(not finding.holds and not finding.reduced for finding in verdict.findings)
