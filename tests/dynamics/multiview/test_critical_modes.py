"""When modes are learned, against quadrature and integration of the mode equations that every loss is known for."""

import math
from collections.abc import Callable
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mpmath import mpf
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad, solve_ivp

from dynamics import LindynError, ParameterError
from dynamics.features import Features
from dynamics.multiview import LOSSES, CriticalModes, Setup, critical_modes, loss_of

CLOSED = sorted(set(LOSSES) - {"normalised"})
Rate = Callable[[float], float]


def growth(name: str, lam: float, rho: float, setup: Setup) -> tuple[Rate, int, float]:
    """d ln(size) / dt of a mode by its size; which power of the amplitude the size is; and that size over the power."""
    square, decay = lam / rho, setup.weight_decay
    if name == "barlow-twins":  # share of a unit variance
        gamma = {
            "cross-view": lam,
            "view-mean": square * (rho + (1.0 - rho) / setup.views),
            "whitened": rho,
        }[setup.kernel]
        return lambda x: 8.0 * gamma * (1.0 - x), 2, gamma
    if name == "penalised":
        kappa = {
            "pairs": 1.0 - rho,
            "views": (setup.views - 1) * (1.0 - rho),
            "averaging": (1.0 - math.sqrt(rho)) ** 2,
        }[setup.invariance]
        return lambda x: 8.0 * setup.beta * (1.0 - kappa / (2.0 * setup.beta) - x), 2, 1.0
    if name == "spectral-contrastive":
        return lambda x: 8.0 * (rho - x), 2, 1.0
    if name == "byol":
        return lambda p: p * (lam - square * p) - decay, 1, 1.0
    if name == "direct-copy":
        return lambda x: 2.0 * (lam * x - square * x * x - decay), 2, 1.0
    if name == "iso-loss":
        return lambda x: 2.0 * (lam - square * x), 2, 1.0
    assert name == "two-layers"
    return lambda x: 2.0 * (lam - square * x), 1, 1.0


def waited(rate: Rate, start: float, end: float) -> float:
    """Time from one size to another, by quadrature in the logarithm of the size."""
    ends = np.linspace(math.log(start), math.log(end), 2 + int(math.log(end / start) / 0.7))
    pieces = [quad(lambda s: 1.0 / rate(math.exp(s)), low, high, epsabs=0.0, epsrel=1e-12)[0] for low, high in pairwise(ends)]
    return math.fsum(pieces)


def asked(name: str, lam: float, rho: float, epsilon: float, **how: object) -> CriticalModes:
    fraction = how.pop("fraction", 0.5)
    return critical_modes(
        loss_of(name), Features(lam=lam, rho=rho), epsilon=epsilon, fraction=fraction, setup=Setup(width=1, **how)
    )


def told(found: CriticalModes) -> list[str]:
    return [status.value for status in found.status]


def number(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(math.log(low), math.log(high)).map(math.exp)


FEATURES = {
    "lam": number(0.03, 30.0),
    "rho": number(0.03, 1.0),
    "epsilon": number(1e-12, 1e-2),
    "fraction": st.floats(0.02, 0.98),
}


# --- times ------------------------------------------------------------------------------------------------------------------


def check(name: str, lam: float, rho: float, epsilon: float, fraction: float, asymptote: float, **how: object) -> None:
    rate, power, scale = growth(name, lam, rho, Setup(**how))
    start, end = scale * epsilon**power, fraction * asymptote
    assume(start < 0.9 * end)
    found = asked(name, lam, rho, epsilon, fraction=fraction, **how)
    assert told(found) == ["reached"]
    assert_allclose(found.asymptote, asymptote, rtol=1e-12)
    assert_allclose(rate(found.asymptote[0]), 0.0, atol=1e-12 * max(1.0, lam, how.get("beta", 1.0)) * 8.0 / rho)
    assert_allclose(found.time, waited(rate, start, end), rtol=1e-9)
    assert_allclose(found.log10_time, np.log10(found.time), rtol=1e-15)
    assert found.accuracy == "exact"


@settings(max_examples=40)
@given(**FEATURES, kernel=st.sampled_from(["cross-view", "view-mean", "whitened"]), views=st.integers(2, 9))
def test_barlow_twins_of_full_orthogonality(
    lam: float, rho: float, epsilon: float, fraction: float, kernel: str, views: int
) -> None:
    check("barlow-twins", lam, rho, epsilon, fraction, 1.0, kernel=kernel, views=views)


@settings(max_examples=40)
@given(
    **FEATURES,
    invariance=st.sampled_from(["pairs", "views", "averaging"]),
    views=st.integers(2, 9),
    excess=number(1.05, 50.0),
)
def test_the_penalised_loss(
    lam: float, rho: float, epsilon: float, fraction: float, invariance: str, views: int, excess: float
) -> None:
    kappa = {"pairs": 1 - rho, "views": (views - 1) * (1 - rho), "averaging": (1 - math.sqrt(rho)) ** 2}[invariance]
    beta = max(excess * kappa / 2.0, 0.01)
    asymptote = 1.0 - kappa / (2.0 * beta)
    check("penalised", lam, rho, epsilon, fraction, asymptote, beta=beta, invariance=invariance, views=views)


@settings(max_examples=25)
@given(**FEATURES)
def test_the_spectral_contrastive_loss(lam: float, rho: float, epsilon: float, fraction: float) -> None:
    check("spectral-contrastive", lam, rho, epsilon, fraction, rho)


@pytest.mark.parametrize("name", ["iso-loss", "two-layers"])
@settings(max_examples=20)
@given(**FEATURES)
def test_losses_without_a_threshold_end_at_rho(name: str, lam: float, rho: float, epsilon: float, fraction: float) -> None:
    check(name, lam, rho, epsilon, fraction, rho)


@pytest.mark.parametrize("name", ["byol", "direct-copy"])
@settings(max_examples=25)
@given(**FEATURES)
def test_losses_of_a_set_or_trained_predictor_without_decay(
    name: str, lam: float, rho: float, epsilon: float, fraction: float
) -> None:
    check(name, lam, rho, epsilon, fraction, rho)


@pytest.mark.parametrize("name", ["byol", "direct-copy"])
@settings(max_examples=40)
@given(
    lam=number(0.03, 30.0),
    rho=number(0.03, 1.0),
    above=number(1.02, 5.0),
    share=st.floats(1e-3, 0.97),
    fraction=st.floats(0.3, 0.98),
)
def test_losses_of_a_set_or_trained_predictor_with_decay(
    name: str, lam: float, rho: float, above: float, share: float, fraction: float
) -> None:
    """Decay a share of the lam^2 / (4 sigma^2) that takes every mode; the start a little above the lower fixed point."""
    square = lam / rho
    decay = share * lam**2 / (4.0 * square)
    root = math.sqrt(lam**2 - 4.0 * square * decay)
    low, high = 2.0 * decay / (lam + root), (lam + root) / (2.0 * square)
    epsilon = (above * low) ** (1.0 if name == "byol" else 0.5)
    check(name, lam, rho, epsilon, fraction, high, weight_decay=decay)


@pytest.mark.parametrize("name", ["byol", "direct-copy"])
@pytest.mark.parametrize(
    "decay",
    [
        1e-3,
        1e-5,
        1e-9,
        1e-13,
        1e-30,
    ],
    ids=str,
)
def test_a_little_decay_changes_little(name: str, decay: float) -> None:
    found = asked(name, 1.0, 0.8, 0.5, weight_decay=decay, fraction=0.9)
    rate, power, _ = growth(name, 1.0, 0.8, Setup(weight_decay=decay))
    assert_allclose(found.time, waited(rate, 0.5**power, 0.9 * float(found.asymptote[0])), rtol=1e-9)


@pytest.mark.parametrize(("lam", "rho", "teacher"), [(1.0, 0.6, 0.05), (0.7, 1.0, 1.0), (3.0, 0.6, 0.3), (1.0, 0.8, 100.0)])
def test_byol_with_an_ema_teacher(lam: float, rho: float, teacher: float) -> None:
    """p, s = w^2 and tau, the teacher over the student: p' = s g, s' = 2 p s g, tau' = beta (1 - tau) - tau p g."""
    square, epsilon, fraction = lam / rho, 0.05, 0.6

    def flow(_: float, state: np.ndarray) -> list[float]:
        p, s, tau = state
        drive = lam * tau - square * p
        return [s * drive, 2.0 * p * s * drive, teacher * (1.0 - tau) - tau * p * drive]

    def learned(_: float, state: np.ndarray) -> float:
        return float(state[0] - fraction * rho)

    learned.terminal = True
    seen = solve_ivp(flow, (0.0, 1e5), [epsilon, epsilon**2, 1.0], method="Radau", events=learned, rtol=1e-10, atol=1e-13)
    found = asked("byol", lam, rho, epsilon, fraction=fraction, teacher_rate=teacher)
    assert_allclose(found.time, seen.t_events[0][0], rtol=1e-6)
    assert_allclose(found.asymptote, rho, rtol=1e-12)
    alone = asked("byol", lam, rho, epsilon, fraction=fraction).time
    assert found.time > alone
    if teacher == 100.0:
        assert_allclose(found.time, alone, rtol=0.02)


# --- special cases of the literature ----------------------------------------------------------------------------------------


def test_the_half_time_of_barlow_twins() -> None:
    """ln((1 - l) / l) / (8 gamma) exactly, -ln(s sqrt(gamma)) / (4 gamma) for a small start s."""
    gamma = np.array([2.0, 0.5, 0.1])
    found = critical_modes(LOSSES["barlow-twins"], Features(lam=gamma, rho=0.5), epsilon=1e-3)
    size = gamma * 1e-6
    assert_allclose(found.time, np.log((1.0 - size) / size) / (8.0 * gamma), rtol=1e-13)
    assert_allclose(found.time, -np.log(1e-3 * np.sqrt(gamma)) / (4.0 * gamma), rtol=1e-6)


def test_the_half_time_of_spectral_contrastive_learning() -> None:
    found = critical_modes(LOSSES["spectral-contrastive"], Features(lam=[3.0, 0.2], rho=[0.9, 0.2]), epsilon=1e-4)
    rho = np.array([0.9, 0.2])
    assert_allclose(found.time, np.log(rho / 1e-8 - 1.0) / (8.0 * rho), rtol=1e-13)


def test_closed_form_predictors_without_noise() -> None:
    """u = 1/l - 1: half times (u - 1 + ln u) / 2 of DirectCopy and ln(u) / 2 of IsoLoss."""
    u = 1.0 / 1e-4 - 1.0
    assert_allclose(asked("direct-copy", 1.0, 1.0, 1e-2).time, (u - 1.0 + math.log(u)) / 2.0, rtol=1e-12)
    assert_allclose(asked("iso-loss", 1.0, 1.0, 1e-2).time, math.log(u) / 2.0, rtol=1e-12)


def test_byol_waits_algebraically_for_its_start_and_the_others_logarithmically() -> None:
    byol, barlow = ([float(asked(name, 1.0, 0.8, eps).time[0]) for eps in (1e-8, 1e-10)] for name in ("byol", "barlow-twins"))
    assert byol[1] / byol[0] == pytest.approx(100.0, rel=1e-4)
    assert barlow[1] - barlow[0] == pytest.approx(math.log(100.0) / 4.0, rel=1e-9)


def test_weight_decay_keeps_invariant_modes_and_kills_shaken_ones() -> None:
    """Decay .2, view variance 1 and 1.5: l+ = (1 + sqrt(1 - 4 x .2)) / 2 and death, as 1 / (4 x 1.5) is less."""
    features = Features(lam=[1.0, 1.0], sigma=[1.0, math.sqrt(1.5)])
    found = critical_modes(LOSSES["direct-copy"], features, epsilon=0.6, fraction=0.9, setup=Setup(weight_decay=0.2))
    assert told(found) == ["reached", "collapses"]
    assert_allclose(found.asymptote, [(1.0 + math.sqrt(0.2)) / 2.0, 0.0], rtol=1e-12)


def test_the_same_covariance_at_two_noises() -> None:
    """lam .8, rho .8 and .2: cross-view both at 4.35 / 1, whitened 4.35 and about 18, the mean of two views noisy first."""
    features = Features(lam=0.8, rho=[0.8, 0.2])

    def times(kernel: str) -> np.ndarray:
        return critical_modes(LOSSES["barlow-twins"], features, epsilon=1e-6, setup=Setup(kernel=kernel)).time

    assert_allclose(*times("cross-view"), rtol=1e-14)
    assert times("cross-view")[0] == pytest.approx(4.35, abs=0.01)
    assert_allclose(times("whitened"), [4.35, 18.3], rtol=0.1)
    assert_allclose(times("view-mean"), [3.85, 1.39], rtol=0.02)


# --- what becomes of modes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLOSED)
def test_a_start_beyond_the_goal_is_already_there_at_time_zero(name: str) -> None:
    found = asked(name, 1.0, 0.8, 3.0)
    assert (told(found), found.time[0], found.log10_time[0]) == (["already-reached"], 0.0, -np.inf)


@pytest.mark.parametrize("name", sorted(set(CLOSED) - {"penalised"}))
@pytest.mark.parametrize("lam", [0.0, -0.4])
def test_what_does_not_covary_is_never_learned(name: str, lam: float) -> None:
    features = Features(lam=[1.0, lam], sigma=1.0)
    found = critical_modes(LOSSES[name], features, epsilon=0.1)
    assert told(found) == ["reached", "never"]
    assert (found.time[1], found.log10_time[1], found.asymptote[1]) == (np.inf, np.inf, 0.0)
    assert_array_equal(found.time[:1], critical_modes(LOSSES[name], features[[0]], epsilon=0.1).time)
    assert_array_equal(found.sequence, [0])


@pytest.mark.parametrize("name", ["byol"])
def test_what_does_not_covary_is_never_learned_from_a_teacher_either(name: str) -> None:
    found = critical_modes(LOSSES[name], Features(lam=[1.0, -0.4], sigma=1.0), epsilon=0.1, setup=Setup(teacher_rate=0.1))
    assert told(found) == ["reached", "never"]


@pytest.mark.parametrize("form", ["pairs", "views", "averaging"])
@given(rho=st.floats(0.05, 0.95))
@settings(max_examples=15)
def test_a_penalised_mode_is_alive_from_half_of_kappa_on(form: str, rho: float) -> None:
    threshold = {"pairs": 1 - rho, "views": 4 * (1 - rho), "averaging": (1 - math.sqrt(rho)) ** 2}[form] / 2.0
    for width in (1, 64):
        for beta, word in ((threshold * (1 - 1e-9), "never"), (threshold * (1 + 1e-6), "reached")):
            setup = Setup(width=width, beta=beta, invariance=form, views=5)
            found = critical_modes(LOSSES["penalised"], Features(lam=1.0, rho=rho), epsilon=1e-6, setup=setup)
            assert told(found) == [word]
            assert (found.asymptote[0] > 0.0) == (word == "reached")


@pytest.mark.parametrize("name", ["byol", "direct-copy"])
@pytest.mark.parametrize(("lam", "rho"), [(1.0, 1.0), (2.0, 0.4), (0.3, 0.8)])
def test_decay_takes_every_mode_beyond_a_quarter_of_the_square_over_the_variance(name: str, lam: float, rho: float) -> None:
    limit = lam * rho / 4.0
    for decay, word in ((limit * (1 + 1e-9), "collapses"), (limit * (1 - 1e-6), "already-reached")):
        found = asked(name, lam, rho, 2.0, weight_decay=decay)
        assert told(found) == [word]
        assert_allclose(found.asymptote, 0.0 if word == "collapses" else rho / 2.0, rtol=2e-3)


@pytest.mark.parametrize("name", ["byol", "direct-copy"])
def test_at_the_limit_itself_what_starts_above_the_double_point_tends_to_it(name: str) -> None:
    found = asked(name, 1.0, 1.0, 0.9, weight_decay=0.25)
    assert_allclose(found.asymptote, 0.5)
    assert told(found) == ["already-reached"]


@pytest.mark.parametrize("name", ["byol", "direct-copy"])
def test_a_start_dies_below_the_lower_fixed_point_and_grows_above(name: str) -> None:
    low = (1.0 - math.sqrt(1.0 - 4.0 * 0.1)) / 2.0
    power = 1.0 if name == "byol" else 0.5
    assert told(asked(name, 1.0, 1.0, (low * (1 - 1e-9)) ** power, weight_decay=0.1)) == ["collapses"]
    near = asked(name, 1.0, 1.0, (low * (1 + 1e-9)) ** power, weight_decay=0.1)
    assert told(near) == ["reached"]
    far = asked(name, 1.0, 1.0, (low * (1 + 1e-6)) ** power, weight_decay=0.1)
    # Close to the fixed point, where d/dx of x (x - x^2 - decay) times the number of predictors is the rate of leaving it.
    leaving = (2.0 * low - 3.0 * low**2 - 0.1) * (1.0 if name == "byol" else 2.0)
    assert near.time[0] - far.time[0] == pytest.approx(math.log(1e3) / leaving, rel=1e-4)


@pytest.mark.parametrize("name", CLOSED)
def test_a_projector_holds_the_fastest_of_the_modes(name: str) -> None:
    """Whatever their order in the table."""
    features = Features(lam=[0.3, 1.0, 0.5, 0.8], rho=[0.3, 0.9, 0.5, 0.8])
    found = critical_modes(LOSSES[name], features, epsilon=0.01, setup=Setup(width=2))
    assert told(found) == ["beyond-width", "reached", "beyond-width", "reached"]
    assert_array_equal(np.isinf(found.time), [True, False, True, False])
    assert_array_equal(found.asymptote[[0, 2]], 0.0)
    assert_array_equal(found.sequence, [1, 3])


def test_a_slow_mode_is_beyond_the_width_only_if_as_many_faster_ones_live() -> None:
    features = Features(lam=[1.0, -1.0, 0.2], sigma=1.0)
    found = critical_modes(LOSSES["barlow-twins"], features, epsilon=1e-3, setup=Setup(width=2))
    assert told(found) == ["reached", "never", "reached"]


# --- the staircase ----------------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    lam=st.lists(st.floats(0.05, 5.0), min_size=1, max_size=6),
    epsilon=number(1e-30, 1e-6),
    beta=number(1e-3, 1.0),
    width=st.integers(6, 500),
    fraction=st.floats(0.1, 0.9),
)
def test_each_mode_waits_for_those_before_it(
    lam: list[float], epsilon: float, beta: float, width: int, fraction: float
) -> None:
    """t_k = T_k + (1 - beta) / (beta d) ((k - 1) T_k - sum over j < k of T_j)."""
    strength = np.array(lam)
    how = {"epsilon": epsilon, "fraction": fraction}
    found = critical_modes(LOSSES["barlow-twins"], Features(lam=strength, rho=0.5), setup=Setup(width=width, beta=beta), **how)
    size = strength * epsilon**2
    alone = (math.log(fraction / (1 - fraction)) + np.log((1 - size) / size)) / (8.0 * strength)
    order = np.argsort(alone, kind="stable")
    rising = alone[order]
    before = np.concatenate([[0.0], np.cumsum(rising)[:-1]])
    expected = rising + (1 - beta) / (beta * width) * (np.arange(len(lam)) * rising - before)
    assert_allclose(found.time[order], expected, rtol=1e-9)
    assert found.accuracy == ("exact" if beta == 1.0 else "leading-log")
    assert_allclose(found.asymptote, width / (beta * width + (1 - beta) * len(lam)), rtol=1e-12)
    plateaus = width / (beta * width + (1 - beta) * np.arange(1, len(lam) + 1))
    assert_allclose(found.threshold[order], fraction * plateaus, rtol=1e-12)


@settings(max_examples=15)
@given(weight=number(0.01, 100.0), width=st.integers(3, 60), other=st.integers(3, 600))
def test_weight_and_width_enter_by_one_number(weight: float, width: int, other: int) -> None:
    """beta d / (1 - beta) = weight at both widths."""
    features = Features(lam=[1.0, 0.7, 0.2], rho=0.5)
    one, two = (
        critical_modes(LOSSES["barlow-twins"], features, epsilon=1e-9, setup=Setup(width=d, beta=weight / (d + weight))).time
        for d in (width, other)
    )
    assert_allclose(one, two, rtol=1e-11)


def test_tied_modes_are_learned_together_at_every_weight() -> None:
    for beta in (0.01, 1.0):
        features = Features(lam=[0.5, 1.0, 0.5], rho=0.5)
        found = critical_modes(LOSSES["barlow-twins"], features, epsilon=1e-9, setup=Setup(width=8, beta=beta))
        assert found.time[0] == pytest.approx(found.time[2], rel=1e-13)
        assert found.time[1] < found.time[0]


# --- what is refused --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "how", "named"),
    [
        ("barlow-twins", {"epsilon": 0.0}, "epsilon"),
        ("barlow-twins", {"epsilon": -1e-3}, "epsilon"),
        ("barlow-twins", {"epsilon": np.nan}, "epsilon"),
        ("barlow-twins", {"epsilon": np.inf}, "epsilon"),
        ("barlow-twins", {"epsilon": 1e-200}, "epsilon"),
        ("byol", {"epsilon": 0.1, "fraction": 1.0}, "fraction"),
        ("byol", {"epsilon": 0.1, "fraction": 0.0}, "fraction"),
        ("byol", {"epsilon": [0.1, 0.2], "setup": Setup(teacher_rate=1.0)}, "epsilon"),
        ("barlow-twins", {"epsilon": 1e-3, "setup": Setup(beta=1.5)}, "beta"),
        ("spectral-contrastive", {"epsilon": 1e-3}, "rho"),
        ("penalised", {"epsilon": 1e-3}, "rho"),
        ("barlow-twins", {"epsilon": 1e-3, "setup": Setup(kernel="whitened")}, "rho"),
    ],
    ids=str,
)
def test_what_is_outside_is_refused_by_name(name: str, how: dict, named: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        critical_modes(LOSSES[name], Features(lam=[1.0, 0.8], rho=[0.5, 1.2]), **how)
    assert refusal.value.name == named


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ({"width": 0}, "width"),
        ({"width": 2.5}, "width"),
        ({"beta": 0.0}, "beta"),
        ({"beta": np.nan}, "beta"),
        ({"views": 1}, "views"),
        ({"kernel": "nearest"}, "kernel"),
        ({"invariance": "none"}, "invariance"),
        ({"weight_decay": -0.1}, "weight_decay"),
        ({"weight_decay": np.inf}, "weight_decay"),
        ({"teacher_rate": 0.0}, "teacher_rate"),
    ],
    ids=str,
)
def test_a_setup_that_is_none_is_refused_by_name(how: dict, named: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        Setup(**how)
    assert refusal.value.name == named


def test_an_amplitude_whose_square_is_no_double_is_already_there_or_refused() -> None:
    try:
        found = asked("barlow-twins", 1.0, 0.5, 1e200)
    except ParameterError:
        return
    assert told(found) == ["already-reached"]


def test_an_amplitude_whose_square_times_the_strength_is_no_double_is_answered_or_refused() -> None:
    try:
        found = asked("barlow-twins", 1e-20, 0.5, 2e-154)
    except ParameterError:
        return
    with mpmath.workdps(40):
        size = mpf(1e-20) * mpf(2e-154) ** 2
        expected = float(mpmath.log((1 - size) / size) / (8 * mpf(1e-20)))
    assert_allclose(found.time, expected, rtol=1e-12)


def test_an_unknown_loss_is_refused_with_those_that_exist() -> None:
    with pytest.raises(ParameterError, match="byol"):
        loss_of("simclr")


def test_a_loss_without_closed_form_says_what_trains_it() -> None:
    with pytest.raises(LindynError, match="simulate"):
        critical_modes(LOSSES["normalised"], Features(lam=1.0, rho=0.5), epsilon=1e-3)


# --- tables -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLOSED)
def test_columns_are_the_standard_ones_with_what_the_loss_reads(name: str) -> None:
    settings_of = {
        "barlow-twins": ["beta", "kernel"],
        "penalised": ["beta", "invariance"],
        "byol": ["weight_decay"],
        "direct-copy": ["weight_decay"],
    }.get(name, [])
    eigenvalue = "kappa" if name == "penalised" else "strength"
    assert list(asked(name, 1.0, 0.8, 1e-3).columns()) == [
        *("feature", "loss", "width", *settings_of, "epsilon", "fraction", "lambda", "rho", "sigma"),
        *(eigenvalue, "asymptote", "threshold", "critical_time", "log10_critical_time", "accuracy", "status"),
    ]


def test_a_teacher_stands_in_the_table() -> None:
    assert "teacher_rate" in asked("byol", 1.0, 0.8, 0.1, teacher_rate=0.5).columns()
