"""Amplitude curves against times by quadrature, textbook curves, other integrators and the flow equation itself."""

import math
import time as clock
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import solve_ivp
from scipy.optimize import elementwise

from dynamics import (
    Features,
    LindynError,
    Objective,
    ParameterError,
    Status,
    amplitude,
    amplitude_around,
    critical_times,
    jepa,
    mae,
    supervised,
)
from tests import reference
from tests.strategies import Point, growing_points, objectives, random_points

FloatArray = npt.NDArray[np.float64]
ULP = 2.0**-52


@dataclass(frozen=True)
class Passage:
    """From amplitude ``start`` to ``end`` in a time known to 60 digits, and how far ``end`` is defined by a double of it."""

    time: reference.arb
    end: float
    blur: float


def passage(objective: Objective, *, lam: float, rho: float, start: float, end: float) -> Passage:
    time = reference.time_between(objective, lam=lam, rho=rho, start=start, end=end)
    sharpness = reference.sharpness(objective, lam=lam, rho=rho, time=time, end=end)
    return Passage(time, end, 1e-10 + resolution(float(time)) * sharpness)


def resolution(time: float) -> float:
    """Relative, of a time held in a double: 4 ulp, and those that the design grants for the size of ln t."""
    return 4 * ULP + 4 * 2.0**-53 * abs(math.log(time))


def layer_flow(objective: Objective, lam: float, sigma: float, u: FloatArray) -> FloatArray:
    """du/dt of section 2, with sigma**2 in place of lam / rho."""
    a, b = reference.exponents(objective)
    return lam * u**a - sigma**2 * u ** (a + b)


def encoder_flow(objective: Objective, lam: float, sigma: float, w: FloatArray) -> FloatArray:
    depth = objective.depth
    return depth * w ** (1 - 1 / depth) * layer_flow(objective, lam, sigma, w ** (1 / depth))


# --- the inverse of time --------------------------------------------------------------------------------------------------


def assert_amplitude_undoes_time(point: Point) -> None:
    target = point.fraction * math.exp(point.log_asymptote)
    leg = passage(point.objective, lam=point.lam, rho=point.rho, start=point.epsilon, end=target)
    found = amplitude(point.objective, point.features, epsilon=point.epsilon, time=float(leg.time))
    assert leg.blur < 1e-3
    assert_allclose(found[0, 0], target, rtol=leg.blur, err_msg=str(point))


@given(growing_points(resolved=True))
def test_amplitude_undoes_time(point: Point) -> None:
    """A growing feature, at any fraction of its asymptote, where the double that holds the time tells where the curve is."""
    assert_amplitude_undoes_time(point)


def test_amplitude_undoes_time_over_the_whole_ranges() -> None:
    for point in random_points(seed=3, count=150, resolved=True):
        assert_amplitude_undoes_time(point)


@pytest.mark.exhaustive
def test_amplitude_undoes_time_at_10000_points() -> None:
    for point in random_points(seed=4, count=10_000, resolved=True):
        assert_amplitude_undoes_time(point)


@given(growing_points(resolved=True))
def test_at_its_critical_time_a_feature_is_at_the_fraction(point: Point) -> None:
    result = critical_times(point.objective, point.features, epsilon=point.epsilon, fraction=point.fraction)
    target = point.fraction * float(result.asymptote[0])
    time = reference.arb(float(result.time[0]))
    sharpness = reference.sharpness(point.objective, lam=point.lam, rho=point.rho, time=time, end=target)
    found = amplitude(point.objective, point.features, epsilon=point.epsilon, time=result.time)
    assert_allclose(found[0, 0], target, rtol=1e-10 + reference.time_tolerance(time) * sharpness)


@given(objectives(), st.floats(-6, 6), st.floats(-3, 1), st.floats(-60, math.log10(0.5)), st.floats(0.01, 40))
def test_amplitude_undoes_the_time_of_a_sinking_feature(
    objective: Objective, log_lam: float, log_rho: float, log_epsilon: float, decades: float
) -> None:
    """lambda < 0: down from epsilon by up to 40 decades."""
    lam, rho, epsilon = -(10**log_lam), -(10**log_rho), 10**log_epsilon
    target = epsilon * 10**-decades
    leg = passage(objective, lam=lam, rho=rho, start=epsilon, end=target)
    assume(math.isfinite(float(leg.time)))
    found = amplitude(objective, Features(lam=lam, rho=rho), epsilon=epsilon, time=float(leg.time))
    assert_allclose(found[0, 0], target, rtol=leg.blur)


@given(objectives(), st.floats(-6, 6), st.floats(-6, 0), st.floats(1e-6, 1), st.floats(1e-9, 0.999999))
def test_amplitude_undoes_time_from_above_the_asymptote(
    objective: Objective, log_lam: float, log_rho: float, height: float, share: float
) -> None:
    """lambda > 0 and a start between rho**(L/b) and 2: down towards it; ``share`` of the logarithmic way is left."""
    log_asymptote = log_rho * objective.depth / objective.b
    assume(log_asymptote > -250)
    decades = height * (math.log10(2) - log_asymptote)
    epsilon, target = 10 ** (log_asymptote + decades), 10 ** (log_asymptote + decades * share)
    lam, rho = 10**log_lam, 10**log_rho
    assume(10**log_asymptote * (1 + 1e-12) < target < epsilon)
    leg = passage(objective, lam=lam, rho=rho, start=epsilon, end=target)
    assume(float(leg.time) < 1e300)
    found = amplitude(objective, Features(lam=lam, rho=rho), epsilon=epsilon, time=float(leg.time))
    assert_allclose(found[0, 0], target, rtol=leg.blur)


# --- curves with a name ----------------------------------------------------------------------------------------------------


@given(st.floats(0.01, 10), st.floats(0.01, 10), st.floats(1e-12, 0.5))
def test_mae_with_one_layer_each_is_logistic_in_its_square(lam: float, rho: float, epsilon: float) -> None:
    times = np.linspace(0, 20, 41) / lam
    z = rho / (1 + (rho / epsilon**2 - 1) * np.exp(-2 * lam * times))
    found = amplitude(mae(1), Features(lam=lam, rho=rho), epsilon=epsilon, time=times)
    assert_allclose(found[0], np.sqrt(z), rtol=1e-10)


def test_two_layer_supervised_mode_is_the_sigmoid_of_saxe() -> None:
    """s(t) = s* e^(2 s* t) / (e^(2 s* t) - 1 + s* / s0) for the mode strength s = w**2 in white inputs."""
    strength, start = np.array([3.0, 1.0, 0.2])[:, None], 1e-4
    times = np.linspace(0, 40, 81)
    growth = np.exp(2 * strength * times)
    expected = strength * growth / (growth - 1 + strength / start)
    found = amplitude(supervised(2), Features(lam=strength[:, 0], sigma=1.0), epsilon=math.sqrt(start), time=times)
    assert_allclose(found**2, expected, rtol=1e-10)


@given(st.floats(0.01, 10), st.floats(0.1, 3), st.floats(1e-6, 10), st.floats(0, 5))
def test_mae_with_one_layer_each_decays_exponentially_when_lambda_is_negative(
    lam: float, sigma: float, epsilon: float, elapsed: float
) -> None:
    """1 / w**2 obeys a linear equation."""
    time = elapsed / lam
    ratio = sigma**2 / lam
    inverse_square = (epsilon**-2 + ratio) * math.exp(2 * lam * time) - ratio
    found = amplitude(mae(1), Features(lam=-lam, sigma=sigma), epsilon=epsilon, time=time)
    assume(inverse_square > 1e-3 * ratio)
    assert_allclose(found[0, 0], inverse_square**-0.5, rtol=1e-10)


@given(st.integers(1, 64), st.floats(1e-3, 1e3), st.floats(1e-100, 0.5), st.floats(1e-6, 1e12))
def test_jepa_without_covariance_decays_like_the_inverse_root_of_time(
    depth: int, sigma: float, epsilon: float, time: float
) -> None:
    """lambda = 0, M = 1: w = (epsilon**-2 + 2 L sigma**2 t)**(-1/2)."""
    found = amplitude(jepa(depth), Features(lam=0.0, sigma=sigma), epsilon=epsilon, time=time)
    assert_allclose(found[0, 0], (epsilon**-2 + 2 * depth * sigma**2 * time) ** -0.5, rtol=1e-10)


@given(objectives(), st.floats(1e-3, 1e3), st.floats(1e-8, 0.5), st.floats(1e-6, 1e12))
def test_without_covariance_a_power_of_the_amplitude_is_linear_in_time(
    objective: Objective, sigma: float, epsilon: float, time: float
) -> None:
    """lambda = 0: u**-(a+b-1) = u0**-(a+b-1) + (a + b - 1) sigma**2 t."""
    a, b = reference.exponents(objective)
    power = a + b - 1
    log_start = -power / objective.depth * math.log(epsilon)
    log_end = np.logaddexp(log_start, math.log(power * sigma**2 * time))
    found = amplitude(objective, Features(lam=0.0, sigma=sigma), epsilon=epsilon, time=time)
    assert_allclose(found[0, 0], math.exp(-objective.depth / power * log_end), rtol=1e-10)


@pytest.mark.parametrize("depth", [1, 2, 3, 5, 10])
def test_a_sinking_jepa_feature_forgets_start_and_variance(depth: int) -> None:
    """lambda < 0: w tends to ((2L - 1) |lambda| t)**(-L / (2L - 1)), the slower the deeper."""
    times = 10.0 ** np.array([50.0, 100.0, 150.0])
    found = amplitude(jepa(depth), Features(lam=-2.0, sigma=[0.3, 1.0]), epsilon=1e-2, time=times)
    expected = ((2 * depth - 1) * 2.0 * times) ** (-depth / (2 * depth - 1))
    errors = np.abs(found / expected - 1)
    assert np.all(errors < 100 * times ** (-1 / (2 * depth - 1)) + 1e-10)


@given(objectives(max_depth=16), st.floats(-6, 6), st.floats(-1, 0), st.floats(0.001, 1))
def test_a_start_above_the_asymptote_falls_to_it_and_never_below(
    objective: Objective, log_lam: float, log_rho: float, height: float
) -> None:
    feature = Features(lam=10**log_lam, rho=10**log_rho)
    log_asymptote = log_rho * objective.depth / objective.b
    epsilon = 10 ** (log_asymptote + height * (math.log10(2) - log_asymptote))
    asymptote = float(critical_times(objective, feature, epsilon=epsilon).asymptote[0])
    times = np.concatenate([[0.0], np.geomspace(1e-300, 1e300, 601)])
    curve = amplitude(objective, feature, epsilon=epsilon, time=times)[0]
    assert curve[0] == epsilon
    assert np.all(np.diff(curve) <= 1e-13 * curve[1:])
    assert np.all(curve >= asymptote * (1 - 1e-13))
    assert_allclose(curve[-1], asymptote, rtol=1e-10)


# --- general behaviour -------------------------------------------------------------------------------------------------------


@given(objectives(), st.floats(-300, math.log10(0.5)))
def test_every_curve_starts_exactly_at_epsilon(objective: Objective, log_epsilon: float) -> None:
    epsilon = 10**log_epsilon
    feature = Features(lam=[1.0, 1e6, 1e-6, 0.0, -1.0, -1e6], sigma=[1.0, 1e3, 1e-2, 1.0, 1.0, 3.0])
    assert_array_equal(amplitude(objective, feature, epsilon=epsilon, time=0.0), np.full((6, 1), epsilon))


@given(objectives(), st.floats(-300, math.log10(0.5)))
def test_curves_are_monotone_in_time(objective: Objective, log_epsilon: float) -> None:
    epsilon = 10**log_epsilon
    feature = Features(lam=[1.0, 1e6, 1e-6, 0.0, -1.0, -1e6], sigma=[1.0, 1e3, 1e-2, 1.0, 1.0, 3.0])
    result = critical_times(objective, feature, epsilon=epsilon)
    times = np.concatenate([[0.0], np.geomspace(1e-10, 1e300, 901)])
    curves = amplitude(objective, feature, epsilon=epsilon, time=times)
    rises = (result.asymptote > epsilon)[:, None]
    steps = np.diff(curves, axis=1)
    slack = 1e-13 * curves[:, 1:]
    assert np.all(np.where(rises, steps, -steps) >= -slack)
    inside = curves <= np.where(rises, result.asymptote[:, None], epsilon) * (1 + 1e-13)
    assert inside.all()
    assert np.all(curves >= 0)


@given(growing_points(resolved=True))
def test_every_growing_curve_ends_at_its_asymptote(point: Point) -> None:
    late = critical_times(point.objective, point.features, epsilon=point.epsilon, fraction=1 - 1e-9)
    assume(late.log10_time[0] < 303)
    found = amplitude(point.objective, point.features, epsilon=point.epsilon, time=1e4 * late.time[0])
    assert_allclose(found[0, 0], late.asymptote[0], rtol=1e-10)


def test_times_may_be_one_number_a_shared_list_or_a_row_a_feature() -> None:
    pair = Features(lam=[1.0, 0.5], rho=[0.9, 0.4])
    arguments = {"epsilon": 1e-2}
    rows = np.array([[0.0, 3.0, 10.0], [0.0, 5.0, 40.0]])
    by_row = amplitude(mae(2), pair, time=rows, **arguments)
    assert by_row.shape == (2, 3)
    for index in range(2):
        assert_array_equal(by_row[index], amplitude(mae(2), pair, time=rows[index], **arguments)[index])
    assert amplitude(mae(2), pair, time=3, **arguments).shape == (2, 1)
    assert amplitude(mae(2), pair, time=3, **arguments)[0, 0] == by_row[0, 1]


def test_amplitudes_do_not_see_their_neighbours() -> None:
    """Every entry is the same to the last bit whatever else is asked for in the same call."""
    rng = np.random.default_rng(11)
    sigma = 10.0 ** rng.uniform(-1, 1, 400)
    rho = 10.0 ** rng.uniform(-2, 1, 400)
    whole = Features(lam=rng.choice([1.0, 1.0, 0.0, -1.0], 400) * rho * sigma**2, sigma=sigma)
    times = np.geomspace(1e-3, 1e9, 50)
    for objective in (jepa(1), jepa(3), mae(1), mae(3), mae(2, 3), jepa(2, 4)):
        curves = amplitude(objective, whole, epsilon=1e-3, time=times)
        for index in (0, 1, 2, 3, 5, 17, 200, 399):
            alone = amplitude(objective, whole[index : index + 1], epsilon=1e-3, time=times)
            assert_array_equal(alone, curves[index : index + 1])
        for column in (0, 1, 7, 31, 49):
            assert_array_equal(amplitude(objective, whole, epsilon=1e-3, time=times[column]), curves[:, column : column + 1])


@pytest.mark.parametrize("time", [-1.0, math.nan, math.inf, [0.0, -1e-300]], ids=str)
def test_a_time_before_the_start_or_not_finite_is_refused(time: float | list[float]) -> None:
    with pytest.raises(ParameterError, match=r"^time is .*; it must be .*\.$"):
        amplitude(jepa(2), Features(lam=1.0, rho=1.0), epsilon=1e-3, time=time)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf])
def test_an_amplitude_needs_a_positive_finite_start(epsilon: float) -> None:
    with pytest.raises(ParameterError, match=r"^epsilon is "):
        amplitude(jepa(2), Features(lam=1.0, rho=1.0), epsilon=epsilon, time=1.0)
    with pytest.raises(ParameterError, match=r"^epsilon is "):
        amplitude_around(jepa(2), Features(lam=1.0, rho=1.0), epsilon=epsilon, time=1.0)


def test_rows_of_times_must_match_the_features() -> None:
    with pytest.raises(LindynError, match="time"):
        amplitude(jepa(2), Features(lam=1.0, rho=[1.0, 0.5, 0.2]), epsilon=1e-3, time=np.zeros((2, 4)))


# --- against SciPy ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["DOP853", "Radau"])
@pytest.mark.parametrize("objective", [jepa(1), jepa(2), jepa(3), jepa(2, 3), mae(1), mae(2), mae(4), mae(2, 2)], ids=str)
def test_curves_agree_with_integration_of_the_layer_equation(objective: Objective, method: str) -> None:
    """Growing from below, falling from above, fading (lambda = 0) and sinking (lambda < 0) features."""
    rng = np.random.default_rng(7)
    growing = [(rng.uniform(0.5, 2), rng.uniform(0.7, 1.2)) for _ in range(3)]
    cases = [*growing, (rng.uniform(0.1, 0.3), rng.uniform(1.5, 2.0)), (0.0, 1.3), (-rng.uniform(0.3, 2), rng.uniform(0.5, 2))]
    for lam, sigma in cases:
        epsilon = float(rng.uniform(0.05, 0.3))
        feature = Features(lam=lam, sigma=sigma)
        result = critical_times(objective, feature, epsilon=epsilon, fraction=0.9)
        end = 1.5 * float(result.time[0]) if result.status[0] is Status.REACHED else 30.0
        times = np.linspace(0, end, 21)
        run = solve_ivp(
            lambda _, u, lam=lam, sigma=sigma: layer_flow(objective, lam, sigma, u),
            (0, end),
            [epsilon ** (1 / objective.depth)],
            method=method,
            t_eval=times,
            rtol=1e-12 if method == "DOP853" else 1e-11,
            atol=1e-30,
        )
        assert run.success
        found = amplitude(objective, feature, epsilon=epsilon, time=times)
        assert_allclose(found[0], run.y[0] ** objective.depth, rtol=1e-8, err_msg=str((objective, lam, sigma, epsilon)))


# --- around the critical time ------------------------------------------------------------------------------------------------


@given(growing_points())
def test_at_offset_zero_the_amplitude_is_the_fraction_of_the_asymptote(point: Point) -> None:
    """Over the whole ranges, also where the critical time overflows a double."""
    found = amplitude_around(point.objective, point.features, epsilon=point.epsilon, time=0.0, fraction=point.fraction)
    asymptote = critical_times(point.objective, point.features, epsilon=point.epsilon).asymptote
    assert_allclose(found[0], point.fraction * asymptote, rtol=1e-10)


@given(growing_points(), st.floats(0, 1))
def test_offsets_lead_from_one_fraction_to_another_and_back(point: Point, share: float) -> None:
    """However long the wait before: t(p1) - t(p2) by quadrature is an offset from either."""
    objective, lam, rho, high = point.objective, point.lam, point.rho, point.fraction
    lowest = math.log(2 * point.epsilon) - point.log_asymptote
    low = math.exp(math.log(high) + share * (max(lowest, math.log(1e-300)) - math.log(high)))
    assume(low < 0.99 * high)
    with reference.precision():
        asymptote = (reference.arb(rho).log() * objective.depth / objective.b).exp()
        ends = {fraction: fraction * asymptote for fraction in (low, high)}
        between = reference.time_between(objective, lam=lam, rho=rho, start=ends[low], end=ends[high])
        sharpness = {f: reference.sharpness(objective, lam=lam, rho=rho, time=between, end=end) for f, end in ends.items()}
    assume(math.isfinite(float(between)))
    for fraction, offset, target in ((low, float(between), high), (high, -float(between), low)):
        blur = 1e-10 + resolution(float(between)) * sharpness[target] + 16 * ULP * sharpness[target] / sharpness[fraction]
        if blur < 1e-3:
            found = amplitude_around(objective, point.features, epsilon=point.epsilon, time=offset, fraction=fraction)
            assert_allclose(found[0, 0], float(ends[target]), rtol=blur)


def test_a_transition_that_doubles_of_time_cannot_resolve_follows_the_flow() -> None:
    """JEPA, L = 2, epsilon = 1e-12: one ulp of the critical time is 64 and the transition lasts O(1)."""
    lam, sigma, objective = 1.0, 1.2, jepa(2)
    feature = Features(lam=lam, sigma=sigma)
    result = critical_times(objective, feature, epsilon=1e-12)
    assert math.ulp(result.time[0]) >= 16
    step = 1e-3
    offsets = np.arange(-12.0, 12.0, step)
    curve = amplitude_around(objective, feature, epsilon=1e-12, time=offsets)[0]
    assert np.all(np.diff(curve) > 0)
    assert curve[0] < 0.3 * result.asymptote[0] < 0.9 * result.asymptote[0] < curve[-1]
    slope = (curve[:-4] - 8 * curve[1:-3] + 8 * curve[3:-1] - curve[4:]) / (12 * step)
    assert_allclose(slope, encoder_flow(objective, lam, sigma, curve[2:-2]), rtol=1e-8)


@pytest.mark.parametrize(
    ("objective", "epsilon"),
    [(jepa(1), 1e-20), (jepa(4, 2), 1e-9), (jepa(10), 1e-250), (mae(3), 1e-30), (mae(1), 1e-300)],
    ids=str,
)
def test_curves_around_the_critical_time_follow_the_flow(objective: Objective, epsilon: float) -> None:
    lam, sigma, step = 1.3, 1.1, 1e-3
    feature = Features(lam=lam, sigma=sigma)
    offsets = np.arange(-2.0, 2.0, step)
    curve = amplitude_around(objective, feature, epsilon=epsilon, time=offsets, fraction=0.6)[0]
    slope = (curve[:-4] - 8 * curve[1:-3] + 8 * curve[3:-1] - curve[4:]) / (12 * step)
    assert_allclose(slope, encoder_flow(objective, lam, sigma, curve[2:-2]), rtol=1e-7)


@pytest.mark.parametrize("objective", [jepa(1), jepa(2), jepa(3, 2), mae(1), mae(2), mae(5, 2)], ids=str)
def test_offset_and_absolute_time_give_one_curve(objective: Objective) -> None:
    features = Features(lam=[1.0, 0.6, 2.0], rho=[0.9, 0.5, 1.4])
    result = critical_times(objective, features, epsilon=1e-2, fraction=0.3)
    times = result.time[:, None] * np.linspace(0.01, 3, 60)
    offsets = times - result.time[:, None]
    around = amplitude_around(objective, features, epsilon=1e-2, time=offsets, fraction=0.3)
    assert_allclose(around, amplitude(objective, features, epsilon=1e-2, time=times), rtol=1e-10)


def test_before_the_start_the_amplitude_is_epsilon() -> None:
    features = Features(lam=1.0, rho=[0.5, 1.0])
    time = critical_times(mae(2), features, epsilon=1e-3).time
    before = -time[:, None] * np.array([1.0 + 1e-9, 1.5, 1e6])
    assert_array_equal(amplitude_around(mae(2), features, epsilon=1e-3, time=before), np.full((2, 3), 1e-3))


@given(growing_points())
def test_curves_around_the_critical_time_are_monotone(point: Point) -> None:
    offsets = np.concatenate([-np.geomspace(1e300, 1e-30, 331), [0.0], np.geomspace(1e-30, 1e300, 331)])
    arguments = {"epsilon": point.epsilon, "fraction": point.fraction}
    curve = amplitude_around(point.objective, point.features, time=offsets, **arguments)[0]
    assert np.all(np.diff(curve) >= -1e-13 * curve[1:])
    assert np.all(curve >= point.epsilon * (1 - 1e-13))
    assert np.all(curve <= math.exp(point.log_asymptote) * (1 + 1e-12))


@pytest.mark.parametrize(
    ("lam", "sigma"), [(-1.0, 1.0), (0.0, 1.0), (1.0, 100.0)], ids=["sinking", "fading", "already reached"]
)
def test_a_feature_without_a_critical_time_has_nothing_around_it(lam: float, sigma: float) -> None:
    with pytest.raises(LindynError, match=r"[Ff]eature 2\b"):
        amplitude_around(jepa(3), Features(lam=[1.0, lam], sigma=[1.0, sigma]), epsilon=1e-3, time=0.0)


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf])
def test_an_offset_that_is_not_finite_is_refused(time: float) -> None:
    with pytest.raises(ParameterError, match=r"^time is "):
        amplitude_around(jepa(2), Features(lam=1.0, rho=1.0), epsilon=1e-3, time=time)


def test_equal_features_move_as_one() -> None:
    """A tie in every parameter is a tie in every number."""
    twins = Features(lam=[0.7, 0.7, 0.7], rho=[0.9, 0.9, 0.9])
    curves = amplitude(jepa(3), twins, epsilon=1e-3, time=np.geomspace(1, 1e8, 50))
    assert_array_equal(curves[0], curves[1])
    assert_array_equal(curves[0], curves[2])


def test_extreme_features_and_times_raise_no_warning() -> None:
    """Warnings are errors here: ranges, signs and times at their ends."""
    lam = np.array([1e-6, 1.0, 1e6, 0.0, -1e-6, -1e6])
    sigma = np.array([1e-3, 1.0, 1e3, 1.0, 1.0, 1e3])
    times = [0.0, 5e-324, 1e-300, 1.0, 1e300, 1.7e308]
    for objective in (jepa(1), jepa(64), jepa(64, 8), jepa(1, 8), mae(1), mae(64), mae(64, 8), mae(1, 8)):
        for epsilon in (1e-300, 1e-12, 0.5):
            curves = amplitude(objective, Features(lam=lam, sigma=sigma), epsilon=epsilon, time=times)
            assert np.isfinite(curves).all()
            assert (curves >= 0).all()


# --- many at once -------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("objective", [jepa(1), jepa(2), jepa(5, 2), mae(1), mae(3), mae(4, 3)], ids=str)
def test_a_million_amplitudes_of_growing_features_are_exact(objective: Objective) -> None:
    """1,000 features at 1,000 times each, taken where w / w* is known: a logit grid of fractions."""
    rng = np.random.default_rng(1)
    features = Features(lam=10.0 ** rng.uniform(-3, 3, 1000), rho=10.0 ** rng.uniform(-1, 1, 1000))
    lowest = float(features.rho.min()) ** (objective.depth / objective.b)
    epsilon = 1e-2 * lowest
    logits = np.linspace(math.log(0.02), -math.log(1e-6), 1000)
    fractions = 1 / (1 + np.exp(-logits))
    results = [critical_times(objective, features, epsilon=epsilon, fraction=p) for p in fractions]
    times = np.stack([result.time for result in results], axis=1)
    assert all(status is Status.REACHED for status in results[0].status)
    w = fractions * results[0].asymptote[:, None]
    u = w ** (1 / objective.depth)
    rate = (
        objective.depth
        * features.lam[:, None]
        * u ** (objective.a - 1)
        * -np.expm1(np.log(fractions) * objective.b / objective.depth)
    )
    tolerance = 1e-10 + 8 * ULP * times * rate
    assert np.mean(tolerance < 2e-10) > 0.2
    found = amplitude(objective, features, epsilon=epsilon, time=times)
    assert np.max(np.abs(found / w - 1) / tolerance) <= 1


@pytest.mark.slow
@pytest.mark.timed
def test_a_million_amplitudes_come_five_times_faster_than_by_root_finding() -> None:
    """Against SciPy's vectorised bracketing root finder on the written-out time of JEPA, L = 2, M = 1."""
    rng = np.random.default_rng(2)
    lam, rho = rng.uniform(0.5, 2, 1000), rng.uniform(0.5, 1.5, 1000)
    features, epsilon = Features(lam=lam, rho=rho), 1e-3
    half = critical_times(jepa(2), features, epsilon=epsilon).time
    times = half[:, None] * np.linspace(0.05, 1.5, 1000)

    def time_map(logit: FloatArray, time: FloatArray, lam: FloatArray, rho: FloatArray) -> FloatArray:
        x = 1 / (1 + np.exp(-logit))
        u, u0 = rho * x, math.sqrt(epsilon)
        head = (u0**-3 - u**-3) / 3 + (u0**-2 - u**-2) / (2 * rho) + (1 / u0 - 1 / u) / rho**2
        return (head + (logit - np.log(u0 / rho / (1 - u0 / rho))) / rho**3) / lam - time

    start = np.log(math.sqrt(epsilon) / rho / (1 - math.sqrt(epsilon) / rho))[:, None]
    latest = start + 1 + times * (lam * rho**3)[:, None]  # the head of the time is positive
    arguments = (times, lam[:, None], rho[:, None])

    def by_roots() -> FloatArray:
        low = np.broadcast_to(start, times.shape)
        root = elementwise.find_root(time_map, (low, latest), args=arguments)
        assert root.success.all()
        return (rho[:, None] / (1 + np.exp(-root.x))) ** 2

    def ours() -> FloatArray:
        return amplitude(jepa(2), features, epsilon=epsilon, time=times)

    def fastest(function: object, repeats: int) -> float:
        durations = []
        for _ in range(repeats):
            before = clock.perf_counter()
            function()  # type: ignore[operator]
            durations.append(clock.perf_counter() - before)
        return min(durations)

    assert_allclose(ours(), by_roots(), rtol=1e-8)
    assert 5 * fastest(ours, 5) < fastest(by_roots, 3)
