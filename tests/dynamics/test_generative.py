"""The linear generative models: features against explicit covariances and samples, their limits, and what is refused."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import solve_discrete_lyapunov

from dynamics import LindynError, ParameterError, jepa, mae, order_features, simulate
from dynamics.features import FloatArray
from dynamics.generative import MaskedPixels, NoisyAutoregression, sampled
from dynamics.views import masked, second_moments

TARGETS = ("full", "independent", "complementary")
SPECTRUM = 2.0 * 0.7 ** np.arange(8)
SLOW_AND_CLEAN = NoisyAutoregression([0.9, 0.8, 0.7, 0.6], [0.9, 1.1, 1.35, 1.7], [0.0, 0.1, 0.2, 0.4])
MODELS: dict[str, MaskedPixels | NoisyAutoregression] = {
    "masked": MaskedPixels(SPECTRUM, 0.4, "independent"),
    "autoregressive": NoisyAutoregression([0.8, 0.5, 0.2], [2.0, 1.0, 1.0], [0.5, 0.0, 1.0], lag=2),
}

eigenvalues = st.integers(0, 4).flatmap(lambda power: st.lists(st.floats(0.01, 100.0), min_size=2**power, max_size=2**power))


def along(moment: FloatArray, directions: FloatArray) -> FloatArray:
    """The moment in the frame of the directions."""
    return directions.T @ moment @ directions


# Masked pixels


@pytest.mark.parametrize("target", TARGETS)
@given(kappa=eigenvalues, keep=st.floats(0.01, 0.99))
def test_masked_features_are_those_of_rows_with_that_covariance(target: str, kappa: list[float], keep: float) -> None:
    model = MaskedPixels(kappa, keep, target)
    half = np.sqrt(len(kappa) * model.eigenvalues)[:, None] * model.directions.T
    moments = second_moments(masked(np.vstack([half, -half]), keep=keep, target=target))
    scale, found = keep * max(kappa), model.features()
    assert_allclose(along(moments.input_covariance, model.directions), np.diag(found.sigma**2), rtol=1e-12, atol=1e-12 * scale)
    assert_allclose(along(moments.cross_covariance, model.directions), np.diag(found.lam), rtol=1e-12, atol=1e-12 * scale)


@given(kappa=eigenvalues)
def test_walsh_patterns_give_all_pixels_the_mean_variance(kappa: list[float]) -> None:
    model = MaskedPixels(kappa, 0.5)
    turn = model.directions
    assert_allclose(turn.T @ turn, np.eye(len(kappa)), atol=1e-14)
    assert_allclose(np.diagonal(turn * model.eigenvalues @ turn.T), model.variance, rtol=1e-13)


@pytest.mark.parametrize("target", TARGETS)
@given(kappa=st.lists(st.floats(0.01, 100.0), min_size=2, max_size=9, unique=True), keep=st.floats(0.01, 0.99))
def test_lambda_and_rho_rise_together(target: str, kappa: list[float], keep: float) -> None:
    found = MaskedPixels(sorted(kappa), keep, target).features()
    for column in (found.lam, found.rho):
        assert (np.diff(column) >= -1e-12 * np.abs(column).max()).all()


@pytest.mark.parametrize("target", ["full", "independent"])
def test_masks_that_keep_everything_leave_the_eigenvalues(target: str) -> None:
    found = MaskedPixels(SPECTRUM, 1.0, target).features()
    assert_allclose(found.lam, SPECTRUM)
    assert_allclose(found.sigma**2, SPECTRUM)
    nearly = MaskedPixels(SPECTRUM, 1.0 - 1e-9, target).features()
    assert_allclose(nearly.rho, 1.0, atol=1e-7)


def test_a_complement_shows_nothing_of_the_average_feature_and_the_opposite_of_a_weaker_one() -> None:
    found = MaskedPixels([3.0, 2.0, 1.0], 0.5, "complementary").features()
    assert_allclose(found.lam, [0.25, 0.0, -0.25])


# Noisy autoregression


@given(gamma=st.floats(-0.99, 0.99), variance=st.floats(0.01, 100.0), noise=st.floats(0.0, 100.0), lag=st.integers(1, 5))
def test_lagged_features_are_those_of_the_stationary_state(gamma: float, variance: float, noise: float, lag: int) -> None:
    # The state holds the amplitude at the last lag + 1 times.
    step = np.eye(lag + 1, k=-1)
    step[0, 0] = gamma
    shocks = np.zeros_like(step)
    shocks[0, 0] = (1.0 - gamma**2) * variance
    state = solve_discrete_lyapunov(step, shocks)
    found = NoisyAutoregression(gamma, variance, noise, lag).features()
    assert_allclose(found.lam[0], state[0, lag], rtol=1e-9, atol=1e-12 * variance)
    assert_allclose(found.sigma[0] ** 2, state[0, 0] + noise, rtol=1e-9)


def test_without_noise_rho_is_what_the_lag_leaves() -> None:
    assert_allclose(NoisyAutoregression([0.9, -0.5], 2.0, 0.0, lag=3).features().rho, [0.729, -0.125])


def test_a_long_lag_leaves_nothing() -> None:
    found = NoisyAutoregression([0.9, 0.0], 1.0, 1.0, lag=10_000).features()
    assert_array_equal(found.lam, 0.0)
    assert_allclose(found.sigma**2, 2.0)


def test_noise_moves_rho_and_not_lambda() -> None:
    quiet, loud = (NoisyAutoregression(0.8, 1.0, noise).features() for noise in (0.1, 10.0))
    assert quiet.lam == loud.lam
    assert quiet.rho > loud.rho


def test_one_value_serves_all_features() -> None:
    found = NoisyAutoregression([0.9, 0.8], 2.0).features()
    assert_allclose(found.lam, [1.8, 1.6])
    assert_allclose(found.sigma**2, 2.0)


@pytest.mark.parametrize("count", [1, 2, 5, 8])
def test_amplitudes_are_mixed_without_being_stretched(count: int) -> None:
    turn = NoisyAutoregression(np.full(count, 0.5)).directions
    assert_allclose(turn.T @ turn, np.eye(count), atol=1e-14)


# Samples


def test_sampled_images_have_the_covariance_of_the_model() -> None:
    model, count = MaskedPixels(SPECTRUM, 0.5), 50_000
    images = model.sample(count, np.random.default_rng(1))
    off = along(images.T @ images / count, model.directions) - np.diag(SPECTRUM)
    spread = np.sqrt(np.outer(SPECTRUM, SPECTRUM) * (1.0 + np.eye(8)) / count)
    assert (np.abs(off) < 5.0 * spread).all()


def test_a_sampled_series_is_stationary_and_remembers_as_the_model_says() -> None:
    model, count, repeats = NoisyAutoregression([0.9, -0.6], [2.0, 1.0], [0.5, 0.0]), 4, 20_000
    generator = np.random.default_rng(2)
    series = np.array([model.sample(count, generator) for _ in range(repeats)]) @ model.directions
    moments = np.einsum("rsi,rti->ist", series, series) / repeats
    for feature, (gamma, variance, noise) in enumerate(zip(model.coefficient, model.variance, model.noise, strict=True)):
        apart = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
        expected = variance * gamma**apart + noise * np.eye(count)
        assert np.abs(moments[feature] - expected).max() < 6.0 * expected.max() * math.sqrt(2.0 / repeats)


@pytest.mark.parametrize("name", MODELS)
def test_a_sample_has_the_features_of_its_model_one_by_one(name: str) -> None:
    model = MODELS[name]
    data, expected = sampled(model, 40_000, np.random.default_rng(3)), model.features()
    for found, truth in ((data.basis.features.lam, expected.lam), (data.basis.features.sigma**2, expected.sigma**2)):
        assert (np.abs(found - truth) < 0.05 * expected.sigma**2).all()
    assert (np.einsum("ij,ij->j", data.basis.directions, model.directions) > 0.95).all()


@pytest.mark.parametrize("name", MODELS)
def test_the_same_seed_gives_the_same_sample(name: str) -> None:
    draws = [MODELS[name].sample(50, np.random.default_rng(seed)) for seed in (4, 4, 5)]
    assert_array_equal(draws[0], draws[1])
    assert np.abs(draws[0] - draws[2]).max() > 0.1


def test_networks_trained_on_a_sample_learn_in_the_two_orders_of_the_model() -> None:
    data = sampled(SLOW_AND_CLEAN, 100_000, np.random.default_rng(0))
    for objective, order in ((jepa(4), [0, 1, 2, 3]), (mae(4), [3, 2, 1, 0])):
        predicted = order_features(objective, SLOW_AND_CLEAN.features(), epsilon=0.01)
        assert predicted.sequence.tolist() == order
        curves = simulate(objective, data, epsilon=0.01, until=1.1 * predicted.times.time.max(), points=400).curves
        learned = curves.polar_amplitude >= 0.5 * predicted.times.asymptote[:, None]
        assert np.argsort(curves.time[learned.argmax(axis=1)]).tolist() == order


# What is refused


REFUSED: tuple[tuple[str, Callable[[], Any]], ...] = (
    ("eigenvalues is -1.0; it must be finite and positive.", lambda: MaskedPixels([1.0, -1.0], 0.5)),
    ("eigenvalues is 0.0;", lambda: MaskedPixels([1.0, 0.0], 0.5)),
    ("eigenvalues is nan;", lambda: MaskedPixels([1.0, math.nan], 0.5)),
    ("eigenvalues is an array of shape (0,);", lambda: MaskedPixels([], 0.5)),
    ("eigenvalues is 'many';", lambda: MaskedPixels("many", 0.5)),
    ("eigenvalues is a list of 3; it must be as many as a power of two", lambda: MaskedPixels([3, 2, 1], 0.5).directions),
    ("keep is 0;", lambda: MaskedPixels([1.0], 0)),
    ("keep is 1.5;", lambda: MaskedPixels([1.0], 1.5)),
    ("keep is 1;", lambda: MaskedPixels([1.0], 1, "complementary")),
    ("target is half;", lambda: MaskedPixels([1.0], 0.5, "half")),
    ("coefficient is 1.0; it must be finite and between -1 and 1.", lambda: NoisyAutoregression([0.5, 1.0])),
    ("coefficient is -1.2;", lambda: NoisyAutoregression(-1.2)),
    ("variance is 0.0;", lambda: NoisyAutoregression(0.5, 0.0)),
    ("variance is -2.0;", lambda: NoisyAutoregression(0.5, -2.0)),
    ("noise is -0.1; it must be finite and 0 or more.", lambda: NoisyAutoregression(0.5, 1.0, -0.1)),
    ("noise is inf;", lambda: NoisyAutoregression(0.5, 1.0, math.inf)),
    (
        "coefficient is a list of 2 numbers; it must be a list of 3 or a single",
        lambda: NoisyAutoregression([0.5, 0.6], [1, 2, 3]),
    ),
    ("lag is 0;", lambda: NoisyAutoregression(0.5, lag=0)),
    ("lag is 1.5;", lambda: NoisyAutoregression(0.5, lag=1.5)),  # type: ignore[arg-type]
    ("count is 1;", lambda: SLOW_AND_CLEAN.sample(1, np.random.default_rng(0))),
    ("count is 4; it must be large enough to show 4 features.", lambda: sampled(SLOW_AND_CLEAN, 4, np.random.default_rng(0))),
)


@pytest.mark.parametrize(("message", "asked"), REFUSED, ids=[message.split(";")[0] for message, _ in REFUSED])
def test_what_no_model_can_be_is_refused_by_name(message: str, asked: Callable[[], Any]) -> None:
    with pytest.raises(ParameterError) as caught:
        asked()
    assert str(caught.value).startswith(message)


def test_a_series_shorter_than_its_lag_is_refused() -> None:
    with pytest.raises(LindynError, match="lag is 9"):
        sampled(NoisyAutoregression(0.5, lag=9), 5, np.random.default_rng(0))
