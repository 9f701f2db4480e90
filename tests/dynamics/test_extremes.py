"""Doubles at their ends: a number, an infinity with its meaning, or one sentence; never nan, never a warning."""

import random

import numpy as np
import pytest

from dynamics import (
    Features,
    LindynError,
    Objective,
    Status,
    amplitude,
    critical_times,
    elasticities,
    expansion,
    jepa,
    mae,
    trajectories,
)

SIZES = [5e-324, 1e-310, 1e-300, 1e-100, 1e-12, 0.1, 0.5, 1 - 2**-53, 1.0, 1 + 2**-52, 1e3, 1e100, 1e300, 1.7e308]
FRACTIONS = [5e-324, 1e-300, 1e-6, 0.5, 1 - 1e-9, 1 - 2**-53]


def point(seed: int) -> tuple[Objective, float, float, float, float]:
    draw = random.Random(seed)
    objective = draw.choice([jepa, mae])(draw.choice([1, 2, 3, 7, 64]), draw.choice([1, 2, 3, 8]))
    sign = draw.choice([1, 1, 1, -1])
    return objective, sign * draw.choice(SIZES), sign * draw.choice(SIZES), draw.choice(SIZES), draw.choice(FRACTIONS)


@pytest.mark.parametrize("start", range(0, 2000, 100))
def test_every_answer_is_a_number(start: int) -> None:
    refusals: list[str] = []
    for seed in range(start, start + 100):
        objective, lam, rho, epsilon, fraction = point(seed)
        try:
            feature = Features(lam=lam, rho=rho)
        except LindynError as refusal:
            refusals.append(str(refusal))
            continue
        result = critical_times(objective, feature, epsilon=epsilon, fraction=fraction)
        assert not np.isnan([result.time, result.log10_time, result.asymptote]).any()
        curve = trajectories(objective, feature, epsilon=epsilon, fraction=fraction, points=7)
        assert not np.isnan([curve.time, curve.time_from_critical, curve.amplitude]).any()
        assert not np.isnan(amplitude(objective, feature, epsilon=epsilon, time=[0.0, 1e-300, 1.0, 1e10, 1e300])).any()
        if result.status[0] is Status.REACHED:
            change = elasticities(objective, feature, epsilon=epsilon, fraction=fraction)
            assert np.isfinite([change.lam, change.rho, change.epsilon, change.fraction]).all()
            try:
                assert not np.isnan(expansion(objective, feature, epsilon=epsilon, fraction=fraction).total).any()
            except LindynError as refusal:
                refusals.append(str(refusal))
    assert all("a double cannot hold" in refusal for refusal in refusals)
