"""Generative models: masks, signals and regressions counted out in numbers."""

from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from derivations.statement import STATEMENTS
from derivations.statements import generative  # noqa: F401


def claimed(name: str, formula: str, **values: float) -> float:
    """A formula of a statement at a point."""
    expression = STATEMENTS[name].formulas[formula]
    return float(expression.subs({symbol: values[symbol.name] for symbol in expression.free_symbols}))


Q, S = 0.35, 1.3
COVARIANCE = S * np.array(
    [[1, 0.6, 0.2, -0.1], [0.6, 1, 0.5, 0.3], [0.2, 0.5, 1, 0.4], [-0.1, 0.3, 0.4, 1]]
)  # four pixels of one variance, more than the proofs enumerate


def masks(size: int):
    """Every mask with its probability."""
    for kept in product((0.0, 1.0), repeat=size):
        mask = np.array(kept)
        yield np.prod(np.where(mask == 1, Q, 1 - Q)), mask


def enumerated(target: str) -> tuple[np.ndarray, np.ndarray]:
    """E[x x^T] and E[y x^T] over all masks."""
    second, cross = np.zeros((2, 4, 4))
    for chance, mask in masks(4):
        second += chance * np.outer(mask, mask) * COVARIANCE
        seen = {"full": np.ones(4), "complementary": 1 - mask, "independent": None}[target]
        if seen is not None:
            cross += chance * np.outer(seen, mask) * COVARIANCE
            continue
        for other_chance, other in masks(4):
            cross += chance * other_chance * np.outer(other, mask) * COVARIANCE
    return second, cross


@pytest.mark.parametrize(
    ("target", "lam"),
    [
        ("independent", lambda kappa: Q**2 * kappa),
        ("full", lambda kappa: Q * kappa),
        ("complementary", lambda kappa: Q * (1 - Q) * (kappa - S)),
    ],
)
def test_masks_of_four_pixels(target, lam):
    second, cross = enumerated(target)
    kappas, vectors = np.linalg.eigh(COVARIANCE)
    variance = Q**2 * kappas + Q * (1 - Q) * S
    assert_allclose(vectors.T @ second @ vectors, np.diag(variance), atol=1e-12)
    assert_allclose(vectors.T @ cross @ vectors, np.diag(lam(kappas)), atol=1e-12)
    name = "independent-mask-moments" if target == "independent" else f"{target}-target-moments"
    for kappa, spread in zip(kappas, variance, strict=True):
        point = {"kappa": kappa, "q": Q, "s": S}
        assert_allclose(claimed(name, "covariance", **point), lam(kappa), rtol=1e-12)
        assert_allclose(claimed(name, "influence", **point), lam(kappa) / spread, rtol=1e-12)


def test_complementary_target_can_have_negative_lambda():
    _, cross = enumerated("complementary")
    assert np.linalg.eigvalsh(cross)[0] < -0.1


def test_without_a_constant_diagonal_masking_mixes_the_features():
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    second = sum(chance * np.outer(mask, mask) * covariance for chance, mask in masks(2))
    assert np.abs(second @ covariance - covariance @ second).max() > 0.01


GAMMA, TAU, ETA, STEPS = 0.8, 1.5, 0.6, 5


def test_covariance_of_a_simulated_recursion():
    """z_0 of variance tau^2, then z' = gamma z + innovation, as one linear map of independent sources."""
    innovation = claimed("ar1-moments", "innovation", gamma=GAMMA, tau=TAU)
    recursion = np.eye(STEPS + 1) - GAMMA * np.eye(STEPS + 1, k=-1)
    response = np.linalg.inv(recursion)
    signal = response @ np.diag([TAU**2] + [innovation] * STEPS) @ response.T
    lags = np.abs(np.subtract.outer(np.arange(STEPS + 1), np.arange(STEPS + 1)))
    assert_allclose(signal, TAU**2 * GAMMA**lags, rtol=1e-12)
    seen = signal + ETA**2 * np.eye(STEPS + 1)
    for lag in range(1, STEPS + 1):
        point = {"gamma": GAMMA, "tau": TAU, "eta": ETA, "k": lag}
        assert_allclose(claimed("ar1-moments", "covariance", **point), seen[lag, 0], rtol=1e-12)
        assert_allclose(claimed("ar1-moments", "variance", **point), seen[0, 0], rtol=1e-12)
        assert_allclose(claimed("ar1-moments", "influence", **point), seen[lag, 0] / seen[0, 0], rtol=1e-12)


def test_a_slow_noisy_signal_leads_by_lambda_and_trails_by_rho():
    slow, clean = {"gamma": 0.9, "tau": 1, "eta": 1.5, "k": 1}, {"gamma": 0.5, "tau": 1, "eta": 1 / 3, "k": 1}
    lam = [claimed("ar1-moments", "covariance", **signal) for signal in (slow, clean)]
    rho = [claimed("ar1-moments", "influence", **signal) for signal in (slow, clean)]
    assert lam[0] > lam[1]
    assert rho[0] < rho[1]


LAM = np.array([1.0, 0.6, 0.2, 0.5])
RHO = np.array([0.3, 0.9, 1.2, 0.7])


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_reduced_rank_regression_keeps_the_largest_lambda_rho(rank):
    sigma = np.sqrt(LAM / RHO)
    left, values, right = np.linalg.svd(np.diag(LAM / sigma))
    fit = left[:, :rank] @ np.diag(values[:rank]) @ right[:rank] @ np.diag(1 / sigma)
    kept = np.sort(np.argsort(-LAM * RHO)[:rank])
    assert_allclose(np.flatnonzero(np.diag(fit)), kept)
    assert_allclose(np.diag(fit)[kept], RHO[kept], rtol=1e-12)

    gain = [
        claimed("rank-k-optimum-orders-by-lambda-rho", "gain", **{"lambda": lam, "rho": rho})
        for lam, rho in zip(LAM, RHO, strict=True)
    ]
    best = max(combinations(range(len(LAM)), rank), key=lambda modes: sum(gain[mode] for mode in modes))
    assert_allclose(best, kept)


def test_the_order_of_the_optimum_is_a_third_one():
    orders = {tuple(np.argsort(-score)) for score in (LAM, RHO, LAM * RHO)}
    assert len(orders) == 3
