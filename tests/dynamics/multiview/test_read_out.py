"""Read-outs of slow modes: the score, features trained for it, and the best beta of a width."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.errors import ParameterError
from dynamics.multiview.flows import normalised_flow
from dynamics.multiview.read_out import ReadOut, best_beta, trained_gram

KAPPA = np.concatenate([np.linspace(0.05, 0.3, 6), np.linspace(0.6, 0.95, 26)])
READ_OUT = ReadOut(KAPPA, 6, 0.03)
KINK = 0.5 * (6 * 0.6 - KAPPA[:6].sum())
"""Beta d from which on the first fast mode is filled, 1.275."""


def filled(beta: float, width: int) -> np.ndarray:
    """The minimum of the loss, by bisection of the water level; at most as many modes as features."""
    kappa = KAPPA[:width]
    low, high = kappa.min(), kappa.max() + 2.0 * beta * width
    for _ in range(200):
        level = 0.5 * (low + high)
        low, high = (level, high) if np.maximum(level - kappa, 0.0).sum() < 2.0 * beta * width else (low, level)
    energy = np.zeros(len(KAPPA))
    energy[:width] = np.maximum(level - kappa, 0.0) / (2.0 * beta)
    return energy


def score(beta: float, width: int) -> float:
    energy = filled(beta, width)[:6] / width
    return float((energy / (energy + 0.03)).mean())


def descended(beta: float, width: int, steps: int, seed: int, step: float) -> np.ndarray:
    """Features trained one beta at a time, by steps along the projected gradient."""
    features = np.random.default_rng(seed).standard_normal((len(KAPPA), width))
    features /= np.linalg.norm(features, axis=0)
    flow = normalised_flow(KAPPA, beta=beta)
    for _ in range(steps):
        features = features + step * flow(features)
        features /= np.linalg.norm(features, axis=0)
    return features


@pytest.mark.parametrize("width", [4, 8, 32])
def test_predicted_scores_are_those_of_filled_modes(width: int) -> None:
    betas = np.array([0.2, 1.0, 1.5, 10.0]) / width
    assert_allclose(READ_OUT.predicted(betas, width), [score(beta, width) for beta in betas], rtol=1e-9)


@pytest.mark.parametrize("width", [4, 8, 32])
def test_features_trained_from_a_random_start_come_to_the_filled_modes(width: int) -> None:
    betas = np.array([0.8, 3.0]) / width
    for gram, beta in zip(trained_gram(KAPPA, betas, width=width, steps=3000, seed=1), betas, strict=True):
        assert_allclose(gram / width, np.diag(filled(beta, width)) / width, atol=2e-3 if width == 4 else 1e-4)


def test_training_many_betas_at_once_ends_where_each_alone_does() -> None:
    betas = np.array([0.05, 0.2])
    both = trained_gram(KAPPA, betas, width=8, steps=3000, seed=2)
    for gram, beta in zip(both, betas, strict=True):
        features = descended(float(beta), 8, 3000, seed=2, step=0.1)
        assert_allclose(gram, features @ features.T, atol=3e-4)
        assert_allclose(np.trace(gram), 8.0)


def test_the_score_is_a_ridge_read_out() -> None:
    """F (F'F + noise d)^-1 F' of the features, where the library has S (S + noise d)^-1."""
    found = READ_OUT.trained(0.2, 8, steps=3000, seed=2)
    features = descended(0.2, 8, 3000, seed=2, step=0.1)
    read = features @ np.linalg.solve(features.T @ features + 0.03 * 8 * np.eye(8), features.T)
    assert_allclose(found, [np.diagonal(read)[:6].mean()], rtol=1e-7)


def test_the_best_beta_falls_as_one_over_the_width() -> None:
    widths = np.array([8, 16, 64])
    found = [
        best_beta(lambda beta, d=d: READ_OUT.trained(beta, d, steps=400, seed=d), lowest=1e-3, highest=3.0)
        for d in widths.tolist()
    ]
    betas = np.array([one.beta for one in found])
    assert np.polyfit(np.log(widths), np.log(betas), 1)[0] == pytest.approx(-1.0, abs=0.02)
    assert_allclose(betas * widths, KINK, rtol=0.03)
    assert_allclose([one.score for one in found], score(KINK / 64, 64), atol=2e-4)
    assert all(one.interior for one in found)


def test_a_projector_narrower_than_the_slow_modes_reads_fewer_and_has_no_best_beta() -> None:
    found = best_beta(lambda beta: READ_OUT.trained(beta, 4, steps=400, seed=0), lowest=1e-3, highest=3.0)
    assert not found.interior
    assert found.score == pytest.approx(4 / 6 * 0.25 / 0.28, abs=1e-3)


@pytest.mark.parametrize("summit", [0.003, 0.2, 7.0])
def test_a_summit_is_found_to_the_tolerance(summit: float) -> None:
    found = best_beta(lambda beta: 1.0 - 0.1 * np.abs(np.log(beta / summit)), lowest=1e-4, highest=10.0, tolerance=0.003)
    assert found.beta == pytest.approx(summit, rel=0.003)
    assert found.interior
    assert found.score == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("slope", [1.0, -1.0, 0.0], ids=["rising", "falling", "flat"])
def test_without_a_summit_the_best_is_not_inside(slope: float) -> None:
    found = best_beta(lambda beta: 2.0 + 0.1 * slope * np.log(beta), lowest=0.1, highest=10.0)
    assert not found.interior
    if slope:
        assert found.beta == pytest.approx(10.0**slope)


def test_the_same_seed_trains_the_same_features() -> None:
    one, two = (READ_OUT.trained([0.1, 0.3], 5, steps=3, seed=4) for _ in range(2))
    assert_array_equal(one, two)
    assert not np.array_equal(one, READ_OUT.trained([0.1, 0.3], 5, steps=3, seed=5))


@pytest.mark.parametrize(
    ("how", "named"),
    [
        ({"kappa": [0.3, 0.1]}, "kappa"),
        ({"kappa": [-0.1, 0.1]}, "kappa"),
        ({"kappa": [0.1, np.nan]}, "kappa"),
        ({"slow": 0}, "slow"),
        ({"slow": 3}, "slow"),
        ({"noise": 0.0}, "noise"),
    ],
    ids=["falling", "negative", "nan", "none", "more than all", "no noise"],
)
def test_read_outs_that_mean_nothing_are_refused(how: dict, named: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        ReadOut(**({"kappa": [0.1, 0.3], "slow": 1, "noise": 0.1} | how))
    assert refusal.value.name == named


@pytest.mark.parametrize(
    ("how", "named"),
    [({"width": 0}, "width"), ({"steps": 0}, "steps"), ({"seed": -1}, "seed"), ({"beta": -1.0}, "beta")],
    ids=["width", "steps", "seed", "beta"],
)
def test_training_that_cannot_be_is_refused(how: dict, named: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        trained_gram([0.1, 0.3], **({"beta": 0.1, "width": 2, "steps": 1, "seed": 0} | how))
    assert refusal.value.name == named


@pytest.mark.parametrize(
    ("how", "named"),
    [({"lowest": 0.0}, "lowest"), ({"highest": 0.1}, "highest"), ({"tolerance": 0.0}, "tolerance")],
    ids=["lowest", "highest", "tolerance"],
)
def test_ranges_without_an_inside_are_refused(how: dict, named: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        best_beta(np.log, **({"lowest": 0.1, "highest": 1.0, "tolerance": 0.1} | how))
    assert refusal.value.name == named
