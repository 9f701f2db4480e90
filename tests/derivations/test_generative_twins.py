"""The features of the generative models agree with the formulas that are proved of them."""

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from sympy import Expr, Integer, Rational, Symbol, sqrt

import derivations.statements  # noqa: F401 - registers them
from derivations.notation import eta, s, tau
from derivations.statement import STATEMENTS
from derivations.statements.generative import gamma, k, kappa, q
from dynamics.features import Features
from dynamics.generative import MaskedPixels, NoisyAutoregression

Point = Mapping[Symbol, Expr]

MASKS = {
    "full": "full-target-moments",
    "independent": "independent-mask-moments",
    "complementary": "complementary-target-moments",
}
PROMISED = 1e-14
DRAWS = 20


def exact(value: float) -> Rational:
    return Rational(*value.as_integer_ratio())


def off(found: float, formula: Expr, point: Point, scale: Expr | None = None) -> float:
    """Distance from the formula at a rational point, relative to the scale or to the formula itself."""
    value = formula.subs(point)
    size = value if scale is None else scale.subs(point)
    return abs(float((exact(found) - value) / size))


def assert_alike(found: Features, formulas: Mapping[str, Expr], points: Iterator[Point], cancels: Mapping[str, Expr]) -> None:
    columns = {"covariance": found.lam, "variance": found.sigma**2, "influence": found.rho}
    for row, point in enumerate(points):
        for name, column in columns.items():
            assert off(float(column[row]), formulas[name], point, cancels.get(name)) < PROMISED, (name, point)


@pytest.mark.parametrize("target", MASKS)
def test_masked_features_are_those_proved(target: str) -> None:
    formulas = dict(STATEMENTS["independent-mask-moments"].formulas) | dict(STATEMENTS[MASKS[target]].formulas)
    # Where y complements x, lambda is a difference: it is right to the rounding of its two parts.
    parts = {"covariance": q * (1 - q) * (kappa + s), "influence": (1 - q) * (kappa + s) / (q * kappa + (1 - q) * s)}
    rng = np.random.default_rng(1)
    for _ in range(DRAWS):
        model = MaskedPixels(10.0 ** rng.uniform(-3.0, 3.0, 5), float(rng.uniform(0.01, 0.99)), target)
        shared = {q: exact(model.keep), s: exact(model.variance)}
        points = (shared | {kappa: exact(value)} for value in model.eigenvalues.tolist())
        assert_alike(model.features(), formulas, points, parts if target == "complementary" else {})


def test_autoregressive_features_are_those_proved() -> None:
    formulas = STATEMENTS["ar1-moments"].formulas
    rng = np.random.default_rng(2)
    for _ in range(DRAWS):
        variance, noise = 10.0 ** rng.uniform(-3.0, 3.0, (2, 5))
        model = NoisyAutoregression(rng.uniform(0.01, 0.99, 5), variance, noise, lag=int(rng.integers(1, 6)))
        points = (
            {gamma: exact(one), tau: sqrt(exact(two)), eta: sqrt(exact(three)), k: Integer(model.lag)}
            for one, two, three in zip(model.coefficient.tolist(), variance.tolist(), noise.tolist(), strict=True)
        )
        assert_alike(model.features(), formulas, points, {})


def test_the_proved_reversal_of_orders_is_that_of_the_model() -> None:
    # At the points of ar1-noise-moves-rho-not-lambda: the slow one noisy, the fast one clean.
    found = NoisyAutoregression([0.9, 0.5], 1.0, [1.5**2, (1 / 3) ** 2]).features()
    assert found.lam[0] > found.lam[1]
    assert found.rho[0] < found.rho[1]


def test_a_formula_off_by_a_part_in_ten_to_the_twelve_would_show() -> None:
    model = MaskedPixels([1.0, 0.3], 0.7)
    point = {q: exact(model.keep), s: exact(model.variance), kappa: exact(1.0)}
    formula = STATEMENTS["independent-mask-moments"].formulas["variance"] * (1 + Rational(1, 10**12))
    assert off(float(model.features().sigma[0] ** 2), formula, point) > PROMISED
