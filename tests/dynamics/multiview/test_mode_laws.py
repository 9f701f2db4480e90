"""Modes of every loss with a closed form, against the flow of the whole matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad, solve_ivp

from dynamics.errors import ParameterError
from dynamics.features import Features
from dynamics.multiview import (
    Bistable,
    Logistic,
    ModeStatus,
    Riccati,
    barlow_twins,
    barlow_twins_flow,
    byol,
    direct_copy,
    mode_strengths,
    penalised,
    penalised_flow,
    reversal,
    spectral_contrastive,
    trajectory,
    two_layers,
)


def orthogonal(size: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]


# --- strengths --------------------------------------------------------------------------------------------------------------


def test_strengths_are_covariances_of_two_views_of_their_mean_and_of_whitened_ones() -> None:
    """Signal s ~ (lam), noise e_v ~ (sigma^2 - lam): Cov(x_1, x_2) = lam, Var(mean of m) = lam + noise / m."""
    features = Features(lam=[0.8, 0.8], rho=[0.8, 0.2])
    assert_allclose(mode_strengths(features), [0.8, 0.8])
    assert_allclose(mode_strengths(features, kernel="view-mean", views=4), [0.8 + 0.2 / 4, 0.8 + 3.2 / 4])
    assert_allclose(mode_strengths(features, kernel="whitened"), [0.8, 0.2])


def test_few_views_put_the_noisy_feature_first() -> None:
    """Signal (1, noise .2) against nuisance (.3, noise 4): m_c = 3.8 / .7."""
    signal, nuisance = Features(lam=1.0, sigma=np.sqrt(1.2)), Features(lam=0.3, sigma=np.sqrt(4.3))
    assert reversal(signal, nuisance) == pytest.approx(3.8 / 0.7)
    for views in (4, 8):
        first, second = (float(mode_strengths(one, kernel="view-mean", views=views)[0]) for one in (signal, nuisance))
        assert (second > first) == (views < reversal(signal, nuisance))
    assert np.isnan(reversal(signal, Features(lam=0.3, sigma=np.sqrt(0.4))))


@pytest.mark.parametrize(
    ("how", "named"), [({"kernel": "nearest"}, "kernel"), ({"views": 1}, "views")], ids=["kernel", "views"]
)
def test_a_kernel_or_number_of_views_that_is_none_is_refused(how: dict, named: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        mode_strengths(Features(lam=1.0, rho=0.5), **how)
    assert refusal.value.name == named


@pytest.mark.parametrize("kernel", ["whitened", "view-mean"])
def test_views_of_an_image_have_no_rho_beyond_one(kernel: str) -> None:
    with pytest.raises(ParameterError, match="rho is 1"):
        mode_strengths(Features(lam=[1.0, 0.8], rho=[0.5, 1.2]), kernel=kernel)


# --- logistic modes ---------------------------------------------------------------------------------------------------------


def test_a_logistic_mode_solves_its_equation() -> None:
    law = Logistic(np.array([3.0, -1.0, 0.0]), np.array([0.5, 0.5, 0.5]))
    start = np.array([1e-6, 0.1, 0.1])
    found = solve_ivp(
        lambda _, x: law.rate * x * (1 - x / law.capacity), (0.0, 7.0), start, method="DOP853", rtol=1e-12, atol=1e-18
    )
    assert_allclose(law.size(start, np.float64(7.0)), found.y[:, -1], rtol=1e-9)
    assert_array_equal(law.asymptote, [0.5, 0.0, 0.0])
    assert [status.value for status in law.status(start, 0.5 * law.asymptote)] == ["reached", "never", "never"]


def test_time_is_the_inverse_of_energy() -> None:
    law = spectral_contrastive([1.0, 0.3])
    start, end = np.full(2, 1e-9), 0.7 * law.capacity
    assert_allclose(law.size(start, law.time(start, end)), end, rtol=1e-12)


def test_aligned_barlow_twins_learns_each_mode_logistically() -> None:
    gamma, start = np.array([3.0, 2.0, 1.2, 0.7]), np.array([1e-3, 2e-3, 5e-4, 1e-3])
    times = np.linspace(0.0, 6.0, 40)
    seen = trajectory(barlow_twins_flow(gamma, beta=1.0), np.diag(start), times, tolerance=1e-12)
    law = barlow_twins(gamma)
    energy = gamma * np.diagonal(seen, axis1=1, axis2=2) ** 2
    assert_allclose(energy, [law.size(gamma * start**2, time) for time in times], rtol=0.0, atol=1e-8)
    half = law.time(gamma * start**2, np.full(4, 0.5))
    assert_allclose(half, -np.log(start * np.sqrt(gamma)) / (4.0 * gamma), rtol=1e-5)


def test_penalised_modes_end_at_one_minus_kappa_over_two_beta_and_die_from_beta_half_kappa_on() -> None:
    kappa, start = np.array([0.02, 0.3, 0.9]), np.array([1e-4, 1e-4, 1e-4])
    times = np.linspace(0.0, 30.0, 20)
    seen = trajectory(penalised_flow(np.diag(kappa), beta=0.3), np.diag(np.sqrt(start)), times, tolerance=1e-12)
    law = penalised(kappa, 0.3)
    energy = np.diagonal(seen, axis1=1, axis2=2) ** 2
    assert_allclose(energy, [law.size(start, time) for time in times], rtol=0.0, atol=1e-8)
    assert_allclose(law.asymptote, [1 - 0.02 / 0.6, 1 - 0.3 / 0.6, 0.0], rtol=1e-14)


def test_a_supervised_mode_of_two_layers_is_saxes() -> None:
    law, start, times = two_layers([2.0], [1.0]), np.array([1e-3]), np.linspace(0.0, 5.0, 9)
    grown = np.exp(2 * 2.0 * times)
    assert_allclose([law.size(start, time)[0] for time in times], 2.0 * grown / (grown - 1 + 2.0 / 1e-3), rtol=1e-12)


# --- bistable modes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [byol, direct_copy], ids=["byol", "direct_copy"])
@pytest.mark.parametrize("decay", [0.0, 0.02, 0.15], ids=str)
def test_the_time_of_a_bistable_mode_is_its_integral(make: type, decay: float) -> None:
    law = make([1.0], [1.25], decay)
    low, high = max(float(law.threshold[0]), 0.0), float(law.asymptote[0])
    start, end = low + 0.2 * (high - low), low + 0.9 * (high - low)
    rate = {byol: 1.0, direct_copy: 2.0}[make]
    expected = quad(lambda x: 1.0 / (rate * x * (x - 1.25 * x * x - decay)), start, end, epsabs=0.0, epsrel=1e-12)[0]
    assert law.time(np.array([start]), np.array([end]))[0] == pytest.approx(expected, rel=1e-9)


def test_matrices_of_byol_follow_the_mode_of_its_predictor() -> None:
    """Student and teacher the same, on the invariant line s = p^2."""
    bend, decay, p = 1.25, 0.02, np.array([0.6, 0.3, 0.05])
    turn = orthogonal(3, 1)

    def flow(_: float, state: np.ndarray) -> np.ndarray:
        predictor, encoder = state.reshape(2, 3, 3)
        error = encoder - bend * predictor @ encoder
        return np.concatenate(
            [(error @ encoder.T - decay * predictor).ravel(), (predictor.T @ error - decay * encoder).ravel()]
        )

    both = turn @ np.diag(p) @ turn.T
    found = solve_ivp(flow, (0.0, 400.0), np.concatenate([both.ravel(), both.ravel()]), method="DOP853", rtol=1e-11, atol=1e-14)
    end = np.diag(turn.T @ found.y[:9, -1].reshape(3, 3) @ turn)
    law = byol(np.ones(3), np.full(3, bend), decay)
    lost = law.status(p, np.full(3, 0.7)) == ModeStatus.COLLAPSES
    assert_array_equal(lost, p <= (1 - np.sqrt(1 - 4 * decay * bend)) / (2 * bend))
    assert_allclose(end, np.where(lost, 0.0, law.asymptote), atol=1e-6)


def test_weight_decay_keeps_what_augmentation_leaves_alone() -> None:
    """DirectCopy, decay .2, noise 0 and .5: 1 / (4 (1 + v)) is .25 and .167."""
    law = direct_copy([1.0, 1.0], [1.0, 1.5], 0.2)
    assert_allclose(law.asymptote, [(1 + np.sqrt(0.2)) / 2, 0.0], rtol=1e-12)
    assert [status.value for status in law.status(np.full(2, 0.3), np.full(2, 0.5))] == ["reached", "collapses"]


@pytest.mark.parametrize("decay", [-1.0, np.nan], ids=["negative", "nan"])
def test_a_weight_decay_that_is_none_is_refused(decay: float) -> None:
    with pytest.raises(ParameterError, match="decay"):
        byol([1.0], [1.1], decay)
    assert isinstance(byol([1.0], [1.1], 0.0), Bistable)


# --- whole matrices, exactly ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [1.0, 0.1, 0.02], ids=str)
def test_the_penalised_loss_is_solved_exactly_from_any_start(beta: float) -> None:
    basis = orthogonal(12, 3)
    kappa = np.sort(np.random.default_rng(4).uniform(0.0, 0.8, 12))
    invariance = basis @ np.diag(kappa) @ basis.T
    start, times = 0.3 * np.random.default_rng(5).standard_normal((12, 4)), np.array([0.0, 5.0, 60.0])
    seen = trajectory(penalised_flow(invariance, beta=beta), start, times, tolerance=1e-12)
    exact = Riccati(4.0 * beta * np.eye(12) - 2.0 * invariance, 4.0 * beta)
    for features, time in zip(seen, times, strict=True):
        assert_allclose(exact.gram(start, time), features @ features.T, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("beta", [2.0, 0.05], ids=str)
def test_the_span_moves_by_the_invariance_alone_whatever_beta(beta: float) -> None:
    """V(F_t) = e^(-2 K t) V(F_0): the penalty changes the spectrum, never the span."""
    kappa, start = np.diag([0.0, 0.1, 0.3, 0.7, 0.9]), np.random.default_rng(6).standard_normal((5, 2))
    factor = Riccati(4.0 * beta * np.eye(5) - 2.0 * kappa, 4.0 * beta).factor(start, 3.0)
    moved = np.exp(-2.0 * np.diagonal(kappa) * 3.0)[:, None] * start
    inside = np.linalg.qr(moved)[0]
    assert_allclose(inside @ (inside.T @ factor), factor, rtol=0.0, atol=1e-10)


def test_spectral_contrastive_learning_is_the_same_flow() -> None:
    basis = orthogonal(6, 7)
    kernel = basis @ np.diag([1.0, 0.8, 0.5, 0.2, 0.0, -0.1]) @ basis.T
    start = 1e-3 * np.random.default_rng(8).standard_normal((6, 3))
    seen = trajectory(lambda f: 4.0 * (kernel - f @ f.T) @ f, start, [0.0, 10.0], tolerance=1e-12)[-1]
    assert_allclose(Riccati(4.0 * kernel, 4.0).gram(start, 10.0), seen @ seen.T, rtol=0.0, atol=1e-8)


def test_a_kernel_that_is_not_symmetric_is_refused() -> None:
    with pytest.raises(ParameterError, match="kernel"):
        Riccati(np.array([[0.0, 1.0], [0.0, 0.0]]), 1.0)
