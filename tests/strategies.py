"""Random objectives, features and starts inside the ranges the design promises, for Hypothesis and for NumPy."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from dynamics import Features, Objective, jepa, mae, supervised

MAX_DEPTH = 64
MAX_PREDICTOR_DEPTH = 8
LOG10_LAM = (-6.0, 6.0)
LOG10_RHO = (-6.0, 1.0)
LOG10_EPSILON = (-300.0, math.log10(0.5))
LOGIT_FRACTION = (-math.log(1e6 - 1), -math.log(1e-9 / (1 - 1e-9)))


@dataclass(frozen=True)
class Point:
    """One feature under one objective, from one start to one fraction of its asymptote."""

    objective: Objective
    lam: float
    rho: float
    epsilon: float
    fraction: float

    @property
    def features(self) -> Features:
        return Features(lam=self.lam, rho=self.rho)

    @property
    def log_asymptote(self) -> float:
        return math.log(self.rho) * self.objective.depth / self.objective.b


def _between(bounds: tuple[float, float], share: float) -> float:
    low, high = bounds
    return low + (high - low) * share


def _power_of_ten(bounds: tuple[float, float], share: float) -> float:
    return float(min(max(10.0 ** _between(bounds, share), 10.0 ** bounds[0]), 10.0 ** bounds[1]))


def _fraction(share: float) -> float:
    return min(max(1.0 / (1.0 + math.exp(-_between(LOGIT_FRACTION, share))), 1e-6), 1.0 - 1e-9)


def growing_point(
    objective: Objective, lam: float, rho: float, epsilon: float, fraction: float, *, resolved: bool = False
) -> Point:
    """The point at these shares (0 to 1) of the ranges left when ``epsilon`` is at most half of ``fraction * asymptote``.

    ``resolved`` narrows them to times below 1e296 that grow by no more than 10 decades on the way, so that a time held in a
    double still tells where the curve is.
    """
    p = _fraction(fraction)
    growth = (objective.a - 1) / objective.depth  # decades of time a decade of epsilon
    lowest = max(LOG10_EPSILON[0], -290 / growth) if resolved and growth else LOG10_EPSILON[0]
    per_decade = objective.depth / objective.b
    room = (lowest + math.log10(2.0) - math.log10(p)) / per_decade
    reach = 10 / growth if resolved and growth else math.inf
    ceiling = (LOG10_EPSILON[1] + reach - math.log10(p)) / per_decade
    log10_rho = _between((max(LOG10_RHO[0], room), min(LOG10_RHO[1], ceiling)), rho)
    highest = max(lowest, min(LOG10_EPSILON[1], math.log10(p / 2) + per_decade * log10_rho))
    lowest = max(lowest, math.log10(p) + per_decade * log10_rho - reach)
    log10_epsilon = _between((lowest, highest), epsilon)
    return Point(objective, _power_of_ten(LOG10_LAM, lam), 10.0**log10_rho, 10.0**log10_epsilon, p)


def random_points(seed: int, count: int, *, resolved: bool = False) -> Iterator[Point]:
    """Points over the whole ranges with ``epsilon <= fraction * asymptote / 2``; one in eight has every share at an end."""
    rng = np.random.default_rng(seed)
    for index in range(count):
        depth, predictor_depth = int(rng.integers(1, MAX_DEPTH + 1)), int(rng.integers(1, MAX_PREDICTOR_DEPTH + 1))
        objective = (jepa if rng.random() < 0.5 else mae)(depth, predictor_depth)
        shares = rng.random(4).round() if index % 8 == 0 else rng.random(4)
        yield growing_point(objective, *(float(share) for share in shares), resolved=resolved)


def depths(max_value: int = MAX_DEPTH) -> st.SearchStrategy[int]:
    return st.integers(1, max_value)


@st.composite
def objectives(
    draw: st.DrawFn, max_depth: int = MAX_DEPTH, max_predictor_depth: int = MAX_PREDICTOR_DEPTH, min_depth: int = 1
) -> Objective:
    kind = draw(st.sampled_from(["jepa", "mae", "supervised"]))
    depth = draw(st.integers(min_depth, max_depth))
    if kind == "supervised":
        return supervised(depth + 1)
    return (jepa if kind == "jepa" else mae)(depth, draw(st.integers(1, max_predictor_depth)))


def shares() -> st.SearchStrategy[float]:
    return st.floats(0.0, 1.0)


def lams() -> st.SearchStrategy[float]:
    return shares().map(lambda share: _power_of_ten(LOG10_LAM, share))


def rhos() -> st.SearchStrategy[float]:
    return shares().map(lambda share: _power_of_ten(LOG10_RHO, share))


def sigmas() -> st.SearchStrategy[float]:
    return shares().map(lambda share: _power_of_ten((-3.0, 3.0), share))


def epsilons() -> st.SearchStrategy[float]:
    return shares().map(lambda share: _power_of_ten(LOG10_EPSILON, share))


def fractions() -> st.SearchStrategy[float]:
    return shares().map(_fraction)


def features() -> st.SearchStrategy[Features]:
    """One feature with positive lambda."""
    return st.builds(lambda lam, rho: Features(lam=lam, rho=rho), lams(), rhos())


@st.composite
def growing_points(draw: st.DrawFn, *, resolved: bool = False) -> Point:
    """A point that starts at or below half of ``fraction * asymptote``, without rejection."""
    return growing_point(draw(objectives()), *(draw(shares()) for _ in range(4)), resolved=resolved)
