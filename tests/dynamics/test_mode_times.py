from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Features, LindynError, Objective, ParameterError, Status, critical_times, jepa, mae
from dynamics.reduced import mode_times
from dynamics.regime import Regime
from dynamics.simulation import simulate
from tests.dynamics.mode_twin import twin_time

FEATURES = Features(lam=[1.0, 0.7], rho=[0.8, 1.2])
OPPOSED = Features(lam=[-1.0, -0.7], rho=[-0.8, -1.2])
EPSILON = 0.03
BEYOND: dict[str, tuple[Callable[[float], Regime], Features]] = {
    "stronger": (lambda u: Regime(predictor_start=1.4 * u), FEATURES),
    "weaker": (lambda u: Regime(predictor_start=0.6 * u), FEATURES),
    "wrong sign": (lambda u: Regime(predictor_start=-0.6 * u), FEATURES),
    "negative lambda": (lambda u: Regime(predictor_start=-u), OPPOSED),
    "negative lambda, stronger": (lambda u: Regime(predictor_start=-1.3 * u), OPPOSED),
    "negative lambda, positive and weaker": (lambda u: Regime(predictor_start=0.5 * u), OPPOSED),
    "slow predictor": (lambda u: Regime(predictor_rate=0.3), FEATURES),
    "fast predictor": (lambda u: Regime(predictor_rate=4.0), FEATURES),
    "slow teacher": (lambda u: Regime(teacher_rate=1e-3), FEATURES),
    "teacher": (lambda u: Regime(teacher_rate=0.1), FEATURES),
    "fast teacher": (lambda u: Regime(teacher_rate=10.0), FEATURES),
    "teacher, weaker": (lambda u: Regime(teacher_rate=0.01, predictor_start=0.5 * u), FEATURES),
    "teacher, stronger": (lambda u: Regime(teacher_rate=0.01, predictor_start=1.5 * u), FEATURES),
    "teacher, wrong sign": (lambda u: Regime(teacher_rate=0.01, predictor_start=-0.5 * u), FEATURES),
    "weight decay": (lambda u: Regime(weight_decay=1e-4), FEATURES),
    "weight decay and rate": (lambda u: Regime(weight_decay=1e-4, predictor_rate=2.0), FEATURES),
    "weight decay, weaker": (lambda u: Regime(weight_decay=1e-4, predictor_start=0.8 * u), FEATURES),
    "weight decay and teacher": (lambda u: Regime(weight_decay=1e-4, teacher_rate=0.01), FEATURES),
}


def case(name: str, objective: Objective) -> tuple[Regime, Features]:
    regime, features = BEYOND[name]
    return regime(EPSILON ** (1.0 / objective.depth)), features


@pytest.mark.parametrize("objective", [jepa(1), jepa(2), jepa(3), mae(1), mae(2), mae(3)], ids=lambda o: f"{o.name}{o.depth}")
@pytest.mark.parametrize("name", [name for name in BEYOND if "teacher" not in name])
def test_times_are_those_of_the_equations_in_plain_time(name: str, objective: Objective) -> None:
    agree(name, objective)


@pytest.mark.slow
@pytest.mark.parametrize("objective", [jepa(1), jepa(2), jepa(3)], ids=lambda o: f"{o.name}{o.depth}")
@pytest.mark.parametrize("name", [name for name in BEYOND if "teacher" in name])
def test_times_with_a_teacher_are_those_of_the_equations_in_plain_time(name: str, objective: Objective) -> None:
    agree(name, objective)


def agree(name: str, objective: Objective) -> None:
    regime, features = case(name, objective)
    result = mode_times(objective, features, epsilon=EPSILON, regime=regime)
    assert_array_equal(result.status, [Status.REACHED] * 2)
    for row in range(2):
        expected = twin_time(
            objective, features.lam[row], features.rho[row], EPSILON, regime, asymptote=float(result.asymptote[row])
        )
        assert result.time[row] == pytest.approx(expected, rel=1e-7 if regime.teacher_rate else 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("objective", [jepa(1), jepa(2), jepa(3), mae(1), mae(2)], ids=lambda o: f"{o.name}{o.depth}")
@pytest.mark.parametrize("name", ["stronger", "weaker", "negative lambda", "slow predictor", "teacher", "weight decay"])
def test_the_matrix_network_follows_the_mode_equations(name: str, objective: Objective) -> None:
    regime, features = case(name, objective)
    start = "orthogonal" if objective.depth == 2 else "balanced"
    run = simulate(objective, features, epsilon=EPSILON, regime=regime, start=start)
    expected = mode_times(objective, features, epsilon=EPSILON, regime=regime)
    assert_allclose(run.time, expected.time, rtol=1e-6)


@given(st.integers(1, 5), st.integers(1, 3), st.floats(-6, -1), st.floats(-2, 2), st.floats(-1, 1))
@settings(max_examples=40)
def test_a_predictor_rate_is_a_change_of_units(
    depth: int, layers: int, log_epsilon: float, log_rate: float, log_share: float
) -> None:
    """v = sqrt(kappa) n obeys the equations of kappa = 1 with lam kappa^(M/2) and rho kappa^(-M/2)."""
    rate, epsilon = 10.0**log_rate, 10.0**log_epsilon
    unit = rate ** (layers / 2)
    start = 10.0**log_share * epsilon ** (1.0 / depth)
    for objective in (jepa(depth, layers), mae(depth, layers)):
        scaled = mode_times(
            objective,
            Features(lam=0.7 * unit, rho=0.9 / unit),
            epsilon=epsilon,
            regime=Regime(predictor_start=start / np.sqrt(rate)),
        )
        direct = mode_times(
            objective,
            Features(lam=0.7, rho=0.9),
            epsilon=epsilon,
            regime=Regime(predictor_start=start, predictor_rate=rate),
        )
        assert_array_equal(direct.status, scaled.status)
        assert_allclose(direct.log10_time, scaled.log10_time, rtol=1e-9)
        assert_allclose(direct.asymptote, scaled.asymptote, rtol=1e-9)


def test_a_slower_teacher_only_delays() -> None:
    rates = np.logspace(4, -6, 41)
    features = Features(lam=np.ones(41), rho=0.8)
    for depth in (1, 2, 4):
        taught = mode_times(jepa(depth), features, epsilon=1e-2, regime=Regime(teacher_rate=rates))
        plain = critical_times(jepa(depth), features, epsilon=1e-2)
        assert (np.diff(taught.time) > 0).all()
        assert (taught.time > plain.time).all()
        assert_allclose(taught.asymptote, plain.asymptote, rtol=1e-15)
        fast = mode_times(jepa(depth), features, epsilon=1e-2, regime=Regime(teacher_rate=1e9))
        assert_allclose(fast.time, plain.time, rtol=1e-7)


def test_a_masked_autoencoder_has_no_teacher() -> None:
    plain = critical_times(mae(2), FEATURES, epsilon=EPSILON)
    assert_allclose(mode_times(mae(2), FEATURES, epsilon=EPSILON, regime=Regime(teacher_rate=0.1)).time, plain.time, rtol=1e-9)


@pytest.mark.parametrize("regime", [Regime(predictor_start=0.1), Regime(teacher_rate=0.1), Regime(weight_decay=1e-6)], ids=repr)
def test_more_covariance_is_learned_earlier(regime: Regime) -> None:
    features = Features(lam=np.linspace(0.3, 3.0, 30), rho=0.9)
    times = mode_times(jepa(2), features, epsilon=1e-2, regime=regime).time
    assert (np.diff(times) < 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@pytest.mark.timed
def test_a_thousand_teachers_at_once(depth: int) -> None:
    rng = np.random.default_rng(1)
    features, rates = (
        Features(lam=10 ** rng.uniform(-1, 1, 1000), rho=10 ** rng.uniform(-0.5, 0.3, 1000)),
        np.logspace(-6, 0, 1000),
    )
    result = mode_times(jepa(depth), features, epsilon=1e-2, regime=Regime(teacher_rate=rates))
    sample = [row for row in (0, 200, 500, 800, 999) if result.status[row] is Status.REACHED]
    assert len(sample) >= 3
    for row in sample:
        lam, rho = features.lam[row], features.rho[row]
        regime = Regime(teacher_rate=float(rates[row]))
        expected = twin_time(jepa(depth), lam, rho, 1e-2, regime, asymptote=float(rho**depth))
        assert result.time[row] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "regime",
    [
        Regime(),
        Regime(predictor_start=0.1),
        Regime(predictor_start=1e-3),
        Regime(predictor_rate=2.0),
        Regime(weight_decay=1e-7),
    ],
)
def test_ten_thousand_features_are_one_call(regime: Regime, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    true = scipy.integrate.quad_vec

    def counted(*args: Any, **options: Any) -> Any:
        times, error, run = true(*args, **options, full_output=True)
        calls.append(run.neval)
        return times, error

    monkeypatch.setattr(scipy.integrate, "quad_vec", counted)
    rng = np.random.default_rng(0)
    features = Features(lam=rng.uniform(0.1, 1, 10_000), rho=rng.uniform(0.3, 1.2, 10_000))
    result = mode_times(jepa(2), features, epsilon=1e-3, regime=regime)
    assert (result.status == Status.REACHED).all()
    (evaluations,) = calls
    assert evaluations < 200


def descent_time(objective: Objective, lam: float, rho: float, epsilon: float, step: float, target: float) -> float:
    """Steps times the step of u += h f(u), the crossing interpolated by the flow between two steps to fourth order."""
    u, count, path = epsilon ** (1.0 / objective.depth), 0, []
    while len(path) < 8 or path[-4] < target:
        path.append(u)
        u += step * lam * u**objective.a * (1.0 - u**objective.b / rho)
        count += 1
    near = np.array(path[-8:])
    steps = np.arange(count - 8, count)
    others = [np.prod([(target - x) / (y - x) for x in near if x != y]) for y in near]
    return step * float(np.dot(others, steps))


@pytest.mark.parametrize("objective", [jepa(1), jepa(2), mae(1), mae(2)], ids=lambda o: f"{o.name}{o.depth}")
def test_a_finite_step_is_right_to_its_third_power(objective: Objective) -> None:
    feature, errors = Features(lam=1.0, rho=0.9), []
    target = (0.5 * 0.9 ** (objective.depth / objective.b)) ** (1.0 / objective.depth)
    for step in (0.4, 0.2, 0.1):
        predicted = mode_times(objective, feature, epsilon=0.1, learning_rate=step).time[0]
        errors.append(abs(predicted - descent_time(objective, 1.0, 0.9, 0.1, step, target)))
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert orders[-1] == pytest.approx(3.0, abs=0.4)


def test_a_start_beyond_the_fraction_is_already_reached() -> None:
    """Also where a negative predictor first makes the encoder fall: w = 0.5 at the start, and w* = sqrt(.1^2 + .5^2 - .4^2)."""
    result = mode_times(jepa(1), Features(lam=1.0, rho=0.1), epsilon=0.5, regime=Regime(predictor_start=-0.4))
    assert (result.status[0], result.time[0]) == (Status.ALREADY_REACHED, 0.0)


@pytest.mark.parametrize(
    ("epsilon", "status"), [(0.3, "collapses"), (0.4, "collapses"), (0.45, "already-reached"), (0.7, "already-reached")]
)
def test_weight_decay_takes_what_starts_below_the_unstable_fixed_point_whatever_the_threshold(
    epsilon: float, status: str
) -> None:
    """u^3 (1 - u) = eta has its lower root at u^2 = .42; the threshold, half of the upper w*, is w = .34."""
    decay = Regime(weight_decay=0.0986394847312921)
    result = mode_times(jepa(2), Features(lam=1.0, rho=1.0), epsilon=epsilon, regime=decay)
    assert result.status[0].value == status
    growth = epsilon**1.5 * (1.0 - epsilon**0.5) - 0.0986394847312921
    assert (growth < 0.0) == (status == "collapses" or epsilon > result.asymptote[0])


def test_what_is_never_learned() -> None:
    features = Features(lam=[0.0, -1.0, 1.0], sigma=1.0)
    result = mode_times(jepa(2), features, epsilon=0.1, regime=Regime(predictor_start=2.0))
    assert_array_equal(result.status, [Status.NEVER, Status.NEVER, Status.COLLAPSES])
    assert_array_equal(result.time, np.inf)
    assert_array_equal(result.asymptote, 0.0)


def test_an_even_predictor_does_not_know_its_sign() -> None:
    features = Features(lam=[1.0, -1.0], sigma=1.0)
    one, other = (
        mode_times(jepa(2, 2), features, epsilon=0.1, regime=Regime(predictor_start=sign * 0.5)) for sign in (1.0, -1.0)
    )
    assert_array_equal(one.time, other.time)
    assert_array_equal(one.status, [Status.REACHED, Status.NEVER])


@given(st.integers(0, 10**6))
@settings(max_examples=60)
def test_every_answer_is_a_number(seed: int) -> None:
    rng = np.random.default_rng(seed)
    objective = (jepa, mae)[rng.integers(2)](int(rng.integers(1, 9)), int(rng.integers(1, 4)))
    features = Features(lam=10 ** rng.uniform(-3, 3, 4) * rng.choice([1, 1, -1], 4), sigma=10 ** rng.uniform(-3, 3, 4))
    start, rate = rng.choice([-1, 1]) * 10 ** rng.uniform(-6, 0, 4), 10 ** rng.uniform(-3, 3)
    epsilon = float(rng.choice([0.5, 1e-2, 1e-12, 1e-300]))
    result = mode_times(objective, features, epsilon=epsilon, regime=Regime(predictor_start=start, predictor_rate=rate))
    assert not np.isnan([result.time, result.log10_time, result.asymptote]).any()
    assert_array_equal(result.status == Status.REACHED, np.isfinite(result.log10_time))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"regime": Regime(teacher_rate=np.ones(3))}, r"teacher_rate is an array of shape \(3,\); it must be one number or 2"),
        ({"learning_rate": -1.0}, "learning_rate is -1.0; it must be a positive finite number"),
        ({"learning_rate": 1e6}, "learning_rate is 1000000.0; it must be below .* feature [12] becomes unstable"),
        ({"method": "Euler"}, "method is Euler; it must be one of RK23"),
        ({"method": "RK45", "regime": Regime(teacher_rate=1.0)}, "method is RK45; it must be Radau, BDF or LSODA"),
    ],
)
def test_what_is_not_allowed_is_named(options: Any, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        mode_times(jepa(2), FEATURES, epsilon=0.1, **options)


@pytest.mark.parametrize(
    "options",
    [
        {"regime": Regime(stop_gradient=False)},
        {"regime": Regime(teacher_rate=1.0), "learning_rate": 0.1},
        {"regime": Regime(predictor_start=0.1), "learning_rate": 0.1},
    ],
)
def test_what_has_no_mode_equation_is_to_be_simulated(options: Any) -> None:
    with pytest.raises(LindynError, match=r"simulate the network instead \(lindyn simulate\)"):
        mode_times(jepa(1), Features(lam=4.0, rho=4.0), epsilon=0.5, **options)


@pytest.mark.parametrize(
    ("objective", "regime"),
    [
        (jepa(1), Regime(predictor_start=0.1, teacher_rate=1.0, weight_decay=1e-3)),
        (mae(1), Regime(predictor_start=np.array([-0.09, 0.3]), weight_decay=1e-4)),
    ],
    ids=["teacher", "wrong-sign"],
)
def test_without_a_monotone_variable_a_feature_is_not_predicted_and_others_are(objective: Objective, regime: Regime) -> None:
    features = Features(lam=[0.34, 1.0], rho=[0.3, 1.0])
    found = mode_times(objective, features, epsilon=8e-3, regime=regime)
    assert found.status[0] is Status.NOT_PREDICTED
    assert np.isnan(found.time[0])
    assert found.columns()["critical_time"][0] is None
    if regime.teacher_rate is None:
        alone = Regime(predictor_start=0.3, weight_decay=1e-4)
        assert_allclose(found.time[1], mode_times(mae(1), features[1:], epsilon=8e-3, regime=alone).time, rtol=1e-9)


def test_a_feature_that_turns_back_on_the_way_is_left_out_of_the_call() -> None:
    """Weight decay lets the decoder's lead fade before the encoder has grown: it falls, and grows again later, or never."""
    features = Features(lam=[1.0, 1.0, 1.0], rho=[1.0, 1.0, 1.0])
    regime = Regime(predictor_start=0.5, weight_decay=np.array([1e-4, 4e-2, 2e-4]))
    found = mode_times(jepa(2), features, epsilon=1e-3, regime=regime)
    kept = [0, 2]
    alone = Regime(predictor_start=0.5, weight_decay=np.array([1e-4, 2e-4]))
    assert [status.value for status in found.status] == ["reached", "not-predicted", "reached"]
    assert_allclose(found.time[kept], mode_times(jepa(2), features[kept], epsilon=1e-3, regime=alone).time, rtol=1e-8)


@pytest.mark.slow
def test_where_one_method_gives_up_on_the_teacher_another_answers() -> None:
    """Rates over six decades at once can be too much for LSODA, each alone is not."""
    features = Features(lam=[0.01124, 8.758, 1.4921, 0.42918], rho=[0.03378, 76.07, 0.97015, 0.0754])
    rates = np.array([6.3373, 73.534, 6.3946e-4, 3.9008e-5])
    together = mode_times(jepa(2, 3), features, epsilon=1.06e-5, regime=Regime(teacher_rate=rates))
    alone = [
        mode_times(jepa(2, 3), features[row : row + 1], epsilon=1.06e-5, regime=Regime(teacher_rate=float(rates[row])))
        for row in range(4)
    ]
    assert_allclose(together.time, np.concatenate([one.time for one in alone]), rtol=1e-7)
