"""The whole matrices of every loss, against the equations of their modes, the staircase and the water level."""

import functools
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp

from dynamics import LindynError, ParameterError
from dynamics.features import Features
from dynamics.multiview import (
    LOSSES,
    AugmentationGraph,
    ModeRun,
    Setup,
    barlow_twins_flow,
    collinear_threshold_of_barlow_twins,
    effective_rank,
    redundancy,
    simulate_modes,
    trajectory,
)
from dynamics.multiview.population import sample_of
from tests.dynamics.multiview.test_critical_modes import growth, waited

LAM, RHO = np.array([1.0, 0.7, 0.4]), np.array([0.9, 0.6, 0.75])
STRENGTHS = [4.0, 2.5, 1.5, 0.9, 0.5]

EXACT = [
    ("barlow-twins", 1e-3, {}),
    ("barlow-twins", 1e-12, {"kernel": "view-mean", "views": 3}),
    ("barlow-twins", 1e-3, {"kernel": "whitened"}),
    ("penalised", 1e-3, {"beta": 0.3}),
    ("penalised", 1e-3, {"beta": 0.9, "invariance": "views", "views": 4}),
    ("penalised", 1e-12, {"beta": 0.05, "invariance": "averaging"}),
    ("spectral-contrastive", 1e-3, {}),
    ("byol", 0.1, {}),
    ("byol", 0.2, {"weight_decay": 0.02}),
    ("direct-copy", 0.3, {}),
    ("direct-copy", 0.5, {"weight_decay": 0.02}),
    ("iso-loss", 1e-3, {}),
    ("two-layers", 1e-6, {}),
]


def run(name: str, *, lam: object = LAM, rho: object = RHO, width: int = 5, epsilon: float = 1e-3, **how: object) -> ModeRun:
    settings = {
        key: how.pop(key) for key in ("beta", "kernel", "views", "invariance", "weight_decay", "teacher_rate") if key in how
    }
    return simulate_modes(
        LOSSES[name], Features(lam=lam, rho=rho), setup=Setup(width=width, **settings), epsilon=epsilon, **how
    )


def told(found: ModeRun) -> list[str]:
    return [status.value for status in found.status]


# --- aligned starts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "epsilon", "how"), EXACT, ids=lambda value: str(value))
def test_from_an_orthogonal_start_matrices_follow_the_equation_of_each_mode(name: str, epsilon: float, how: dict) -> None:
    found = run(name, epsilon=epsilon, start="orthogonal", points=9, **how)
    for mode, (lam, rho) in enumerate(zip(LAM, RHO, strict=True)):
        rate, power, scale = growth(name, lam, rho, Setup(**how))
        start = scale * epsilon**power
        exact = solve_ivp(
            lambda _, s, rate=rate: [rate(math.exp(min(s[0], 3.0)))],
            (0.0, found.curves.time[-1]),
            [math.log(start)],
            method="DOP853",
            t_eval=found.curves.time,
            rtol=1e-11,
            atol=1e-11,
        )
        assert_allclose(found.curves.sizes[:, mode], np.exp(exact.y[0]), rtol=0.0, atol=1e-8)
        end = 0.5 * {"barlow-twins": 1.0}.get(name, float(found.asymptote[mode]))
        assert_allclose(found.time[mode], waited(rate, start, end), rtol=1e-8)
    assert told(found) == ["reached"] * 3
    assert_allclose(found.predicted.time, found.time, rtol=1e-8)


def test_byol_with_a_teacher_follows_its_three_variables() -> None:
    """Student w = p at first, teacher and student apart: p' = w (lam v - sigma^2 p w), w' = p (same), v' = rate (w - v)."""
    rate, epsilon = 0.4, 0.2
    found = run("byol", epsilon=epsilon, start="orthogonal", teacher_rate=rate, points=9)
    for mode, (lam, rho) in enumerate(zip(LAM, RHO, strict=True)):

        def flow(_: float, state: np.ndarray, lam: float = lam, square: float = lam / rho) -> list[float]:
            p, w, v = state
            error = lam * v - square * p * w
            return [w * error, p * error, rate * (w - v)]

        exact = solve_ivp(
            flow,
            (0.0, found.curves.time[-1]),
            [epsilon] * 3,
            method="DOP853",
            t_eval=found.curves.time,
            rtol=1e-11,
            atol=1e-13,
        )
        assert_allclose(found.curves.sizes[:, mode], exact.y[1], rtol=0.0, atol=1e-8)
    assert_allclose(found.predicted.time, found.time, rtol=1e-7)


def test_full_orthogonality_from_any_start_is_the_same_equation_after_a_projection() -> None:
    found = run("barlow-twins", lam=STRENGTHS, rho=0.5, width=7, epsilon=1e-8, seed=4)
    assert_allclose(found.time, found.predicted.time, rtol=3e-3)


def test_weight_decay_kills_shaken_modes_of_the_matrices_too() -> None:
    found = run(
        "direct-copy", lam=[1.0, 1.0], rho=[1.0, 1 / 1.5], epsilon=0.7, weight_decay=0.2, start="orthogonal", until=60.0
    )
    assert told(found) == ["already-reached", "collapses"]
    assert_allclose(found.final, [(1 + math.sqrt(0.2)) / 2, 0.0], atol=1e-4)


# --- gradient descent -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "epsilon", "how"),
    [entry for entry in EXACT if entry[1] > 1e-5 and "views" not in entry[2]],
    ids=lambda value: str(value),
)
def test_half_the_learning_rate_halves_the_difference_from_the_flow(name: str, epsilon: float, how: dict) -> None:
    flow = run(name, epsilon=epsilon, start="orthogonal", points=2, **how)
    step = float(flow.time.max()) / 500.0
    late = [
        run(name, epsilon=epsilon, start="orthogonal", points=2, learning_rate=rate, **how).time - flow.time
        for rate in (step, step / 2.0)
    ]
    assert_allclose(late[0] / late[1], 2.0, rtol=0.1)
    assert (np.abs(late[1]) < 0.05 * flow.time).all()


def test_descent_takes_the_steps_of_its_recurrence_and_crosses_on_a_line_between_two() -> None:
    """One output and mode: z += 4 rate gamma z (1 - gamma z^2)."""
    gamma, rate, weight = 0.7, 0.05, abs(float(columns_at_the_start(1, 1, 0.1, 3)[0, 0]))
    sizes = [gamma * weight**2]
    while len(sizes) < 101:
        weight += 4.0 * rate * gamma * weight * (1.0 - gamma * weight**2)
        sizes.append(gamma * weight**2)
    found = run("barlow-twins", lam=gamma, rho=0.5, width=1, epsilon=0.1, seed=3, learning_rate=rate, until=5.0, points=101)
    assert_allclose(found.curves.sizes[:, 0], sizes, rtol=1e-10)
    assert_allclose(found.time, np.interp(0.5, sizes, rate * np.arange(101)), rtol=1e-10)


def test_descent_of_normalised_features_keeps_their_norms() -> None:
    found = run("normalised", width=4, beta=0.1, learning_rate=0.1, until=20.0, points=5)
    assert_allclose(found.curves.sizes.sum(axis=1), 4.0, rtol=1e-12)


def test_a_step_that_is_too_long_diverges_and_keeps_what_came_before() -> None:
    found = run("barlow-twins", learning_rate=5.0, until=200.0)
    assert found.diverged
    assert len(found.curves.time) == len(found.curves.sizes) >= 1
    assert np.isfinite(found.curves.sizes).all()


def test_too_many_steps_are_refused() -> None:
    with pytest.raises(LindynError, match="steps"):
        run("barlow-twins", learning_rate=1e-12)


# --- the staircase ----------------------------------------------------------------------------------------------------------


def staircase(found: ModeRun, start: np.ndarray, width: int, beta: float) -> np.ndarray:
    """t_k from the columns at the start, each less what lies along the columns before it."""
    gamma = found.features.lam
    spread = np.column_stack([np.sign(start[:, 0]) if beta < 1 else start[:, 0], start[:, 1:]])
    basis = np.linalg.qr(spread)[0]
    rest = [column - basis[:, :k] @ (basis[:, :k].T @ column) for k, column in enumerate(start.T)]
    alone = np.array([-math.log(g * (r @ r)) / (8 * g) for g, r in zip(gamma, rest, strict=True)])
    before = np.concatenate([[0.0], np.cumsum(alone)[:-1]])
    return alone + (1 - beta) / (beta * width) * (np.arange(len(gamma)) * alone - before)


def columns_at_the_start(width: int, modes: int, epsilon: float, seed: int) -> np.ndarray:
    return epsilon / math.sqrt(width) * np.random.default_rng(seed).standard_normal((width, modes))


@pytest.mark.parametrize("beta", [1.0, 0.5, 0.1])
@pytest.mark.parametrize("seed", [0, 1])
def test_steps_lie_within_a_fifth_from_a_millionth_and_five_per_cent_from_1e_24(beta: float, seed: int) -> None:
    for epsilon, allowed in ((1e-6, 0.2), (1e-24, 0.05)):
        found = run("barlow-twins", lam=STRENGTHS[:4], rho=0.5, width=16, beta=beta, epsilon=epsilon, seed=seed, points=2)
        expected = staircase(found, columns_at_the_start(16, 4, epsilon, seed), 16, beta)
        assert_allclose(found.predicted.time, expected, rtol=1e-6)
        assert_allclose(found.time, expected, rtol=allowed)


@pytest.mark.slow
@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("strengths", [STRENGTHS, [1.0, 0.8, 0.5], [1.0, 0.5, 0.25, 0.125]], ids=str)
@pytest.mark.parametrize("weight", [0.08, 1.0, 16.0])
def test_steps_of_many_spectra_widths_and_weights(strengths: list[float], width: int, weight: float) -> None:
    """Strengths that are apart; beta times the width is the weight."""
    beta = min(weight / width, 1.0)
    for seed in range(3):
        for epsilon, allowed in ((1e-6, 0.2), (1e-24, 0.05)):
            how = {"lam": strengths, "rho": 0.5, "width": width, "beta": beta, "epsilon": epsilon, "seed": seed, "points": 2}
            found = run("barlow-twins", **how)
            assert_allclose(found.time, found.predicted.time, rtol=allowed)


def test_the_smaller_the_start_the_better_the_steps() -> None:
    """Like 1 / ln(1 / epsilon)."""
    errors = []
    for epsilon in (1e-6, 1e-12, 1e-24, 1e-48):
        found = run("barlow-twins", lam=[1.0], rho=0.5, width=16, beta=0.05, epsilon=epsilon, points=2)
        errors.append(abs(float(found.time[0] / found.predicted.time[0]) - 1.0))
    assert_allclose(np.array(errors[:-1]) / errors[1:], 2.0, rtol=0.15)


@pytest.mark.parametrize(("width", "beta"), [(8, 1 / 9), (16, 1 / 17)], ids=str)
def test_in_the_middle_of_a_plateau_matrices_are_its_frame(width: int, beta: float) -> None:
    """D = beta d + (1 - beta) r: rank r, redundancy (d - r) / (r (d - 1)), loss beta d (d - r) / D, mode d / D."""
    found = run("barlow-twins", lam=[4.0, 1.5, 0.5], rho=0.5, width=width, beta=beta, epsilon=1e-24, points=400)
    curves, ends = found.curves, [*found.time[1:], None]
    for r, (begin, end) in enumerate(zip(found.time, ends, strict=True), start=1):
        at = len(curves.time) - 1 if end is None else int(np.searchsorted(curves.time, (begin + end) / 2.0))
        scale = beta * width + (1 - beta) * r
        assert_allclose(curves.effective_rank[at], r, rtol=0.02)
        assert_allclose(curves.redundancy[at], (width - r) / (r * (width - 1)), rtol=0.05)
        assert_allclose(curves.loss[at], beta * width * (width - r) / scale, rtol=0.02)
        assert_allclose(curves.sizes[at, :r], width / scale, rtol=0.03)
        assert (curves.sizes[at, r:] < 1e-3).all()


def test_what_counts_as_learned_is_half_of_the_plateau_that_a_mode_opens() -> None:
    found = run("barlow-twins", lam=STRENGTHS[:3], rho=0.5, width=8, beta=0.1, epsilon=1e-6, points=2)
    assert_allclose(found.threshold, 0.5 * 8 / (0.8 + 0.9 * np.array([1, 2, 3])), rtol=1e-12)


def test_tied_modes_of_the_matrices_share_their_time() -> None:
    found = run("barlow-twins", lam=[1.0, 1.0, 0.3], rho=0.5, width=8, epsilon=1e-6, start="orthogonal", points=2)
    assert found.time[0] == pytest.approx(found.time[1], rel=1e-6)
    assert found.time[2] > found.time[0]


def test_a_narrow_projector_learns_the_fastest_modes_and_leaves_the_rest() -> None:
    found = run("barlow-twins", lam=[0.3, 1.0, 0.6], rho=0.5, width=2, epsilon=1e-6, until=60.0, points=2)
    assert told(found) == ["beyond-width", "reached", "reached"]
    assert_allclose(found.final, [0.0, 1.0, 1.0], atol=1e-4)


def test_above_one_outputs_part_and_nothing_is_predicted() -> None:
    found = run("barlow-twins", lam=[1.0, 0.6], rho=0.5, width=2, beta=2.0, epsilon=1e-3, until=100.0, points=2)
    assert found.predicted is None
    assert found.curves.redundancy[-1] == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(LindynError, match="--until"):
        run("barlow-twins", beta=2.0)


# --- normalised features ----------------------------------------------------------------------------------------------------

KAPPA = np.array([0.02, 0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 0.9])


@functools.cache
def filled(width: int, product: float) -> ModeRun:
    how = {"beta": product / width, "learning_rate": 0.2, "until": 500.0, "points": 2, "seed": 1}
    return run("normalised", lam=1 - KAPPA, rho=1 - KAPPA, width=width, **how)


@pytest.mark.parametrize(
    ("width", "product"),
    [
        pytest.param(width, product, marks=() if (width, product) in {(4, 0.2), (8, 0.7)} else pytest.mark.slow)
        for width in (4, 8, 16)
        for product in (0.05, 0.2, 0.45, 0.7, 1.25, 2.2)
    ],
)
def test_descent_fills_as_many_modes_as_the_product_of_beta_and_width(width: int, product: float) -> None:
    """Mode r as soon as beta d exceeds half the sum of its distances above lower modes, up to the width."""
    thresholds = [0.5 * sum(KAPPA[r] - KAPPA[:r]) for r in range(len(KAPPA))]
    active = min(sum(product > threshold for threshold in thresholds), width)
    level = (2 * product + KAPPA[:active].sum()) / active
    energy = np.maximum(level - KAPPA, 0.0) * width / (2 * product)
    energy[active:] = 0.0
    found = filled(width, product)
    assert_allclose(found.final, energy, atol=2e-3 * width)
    assert (found.final > 1e-3 * width).sum() == active


@pytest.mark.slow
def test_what_is_filled_over_the_width_knows_only_the_product() -> None:
    assert_allclose(filled(8, 0.7).final / 8, filled(16, 0.7).final / 16, atol=1e-3)


@pytest.mark.parametrize(("factor", "leaves"), [(0.9, False), (1.1, True)])
def test_normalised_outputs_leave_the_first_mode_just_above_the_threshold(factor: float, leaves: bool) -> None:
    """Beta (kappa_2 - kappa_1) / (2 d), by the gradient of the loss on the sphere itself, written out."""
    width = 5
    beta = factor * (KAPPA[1] - KAPPA[0]) / (2 * width)
    tilt = 1e-4 * np.array([1.0, -1.0, 0.5, -0.5, 0.0])

    def loss(angles: np.ndarray) -> float:
        outputs = np.array([np.cos(angles), np.sin(angles)])
        gram = outputs.T @ outputs
        return float(KAPPA[0] * (outputs[0] ** 2).sum() + KAPPA[1] * (outputs[1] ** 2).sum() + beta * ((gram**2).sum() - width))

    assert (loss(tilt) < loss(np.zeros(width))) == leaves


@pytest.mark.parametrize("rho", [(0.8, 0.5), (0.95, 0.9), (0.4, 0.0)], ids=str)
@pytest.mark.parametrize("width", [2, 7])
def test_standardised_outputs_leave_the_first_mode_just_above_their_threshold(rho: tuple[float, float], width: int) -> None:
    """(1 - C_ii)^2 + beta C_ij^2 of outputs of unit variance in two modes, C = F' diag(rho) F."""
    threshold = collinear_threshold_of_barlow_twins(rho, width)
    tilt = 1e-3 * np.resize([1.0, -1.0], width)
    tilt -= tilt.mean()

    def loss(angles: np.ndarray, beta: float) -> float:
        outputs = np.array([np.cos(angles), np.sin(angles)])
        cross = outputs.T @ (np.array(rho)[:, None] * outputs)
        return float(((1 - np.diag(cross)) ** 2).sum() + beta * ((cross**2).sum() - (np.diag(cross) ** 2).sum()))

    def leaves(beta: float) -> bool:
        return loss(tilt, beta) < loss(np.zeros(width), beta)

    assert leaves(1.01 * threshold)
    assert not leaves(0.99 * threshold)


# --- what is read off -------------------------------------------------------------------------------------------------------


def test_rank_and_redundancy_of_known_moments() -> None:
    assert effective_rank(np.eye(5)) == pytest.approx(5.0)
    assert effective_rank(np.ones((5, 5))) == pytest.approx(1.0)
    assert effective_rank(np.diag([3.0, 1.0])) == pytest.approx(16 / 10)
    assert redundancy(np.diag([3.0, 1.0])) == pytest.approx(0.0)
    assert redundancy(np.ones((5, 5))) == pytest.approx(1.0)
    assert redundancy(np.array([[4.0, 1.0], [1.0, 1.0]])) == pytest.approx(0.25)


def test_no_penalty_repeats_what_a_narrow_projector_learns() -> None:
    """Nearly without a penalty the effective rank of a wide projector is no more than that of a narrow one."""
    ranks = []
    for width in (8, 64):
        found = run("barlow-twins", lam=[1.0, 0.8], rho=0.5, width=width, beta=1e-9, epsilon=1e-3, until=15.0, points=2)
        ranks.append(found.curves.effective_rank[-1])
    assert max(ranks) < 1.3


# --- sources ----------------------------------------------------------------------------------------------------------------


def test_a_graph_is_trained_on_its_exact_kernel() -> None:
    graph = AugmentationGraph([[0.6, 0.4, 0.0], [0.1, 0.6, 0.3], [0.0, 0.2, 0.8]])
    found = simulate_modes(LOSSES["spectral-contrastive"], graph, setup=Setup(width=3), start="orthogonal", points=2)
    eigenvalues = np.sort(np.linalg.eigvalsh(graph.kernel))[::-1]
    assert_allclose(found.time, np.log(eigenvalues / 1e-6 - 1) / (8 * eigenvalues), rtol=1e-8)


def test_a_run_is_that_of_its_seed() -> None:
    one, same, other = (run("barlow-twins", seed=seed, points=2, beta=0.5) for seed in (1, 1, 2))
    assert_array_equal(one.time, same.time)
    assert (one.time != other.time).all()


def test_the_start_is_the_one_that_is_told() -> None:
    weights = columns_at_the_start(5, 3, 1e-3, 7)
    found = run("barlow-twins", seed=7, points=3, beta=0.3, until=2.0)
    assert_allclose(found.curves.sizes[0], LAM * (weights**2).sum(axis=0), rtol=1e-12)
    seen = trajectory(barlow_twins_flow(LAM, beta=0.3), weights, [0.0, 1.0, 2.0])[-1]
    assert_allclose(found.final, LAM * (seen**2).sum(axis=0), rtol=1e-7)


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"fraction": 1.0}, "fraction"),
        ({"start": "zero"}, "start"),
        ({"until": 0.0}, "until"),
        ({"until": math.nan}, "until"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"points": 1}, "points"),
        ({"seed": -1}, "seed"),
    ],
    ids=str,
)
def test_what_is_outside_is_refused_by_name(how: dict, named: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        run("barlow-twins", **how)
    assert refusal.value.name == named


def test_a_sample_is_another_for_every_seed_and_not_that_of_the_start() -> None:
    """Entries of the sample and of the start, over seeds, have nothing to do with each other."""
    features = Features(rho=[0.6, 0.4], sigma=1.0)
    drawn = [sample_of(features, images=40, views=2, seed=seed).covariance[1, 0] for seed in range(300)]
    starts = [np.random.default_rng(seed).standard_normal((2, 2))[1, 0] for seed in range(300)]
    assert len(set(drawn)) == 300
    assert abs(np.corrcoef(drawn, starts)[0, 1]) < 0.2


def test_a_flow_that_leaves_the_doubles_ends_with_one_sentence() -> None:
    with pytest.raises(LindynError, match="leaves the numbers"):
        trajectory(lambda state: np.full_like(state, np.nan), np.ones((1, 1)), [0.0, 1.0])
