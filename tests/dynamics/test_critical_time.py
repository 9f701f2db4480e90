"""Critical times against quadrature, textbook closed forms and the statements of section 4 of the theory."""

import math
import time as clock
from collections.abc import Iterable

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from dynamics import Features, LindynError, Objective, ParameterError, Status, critical_times, jepa, mae, supervised
from tests import reference
from tests.strategies import Point, features, fractions, growing_points, objectives, random_points


def time_of(objective: Objective, *, lam: float = 1.0, rho: float, epsilon: float, fraction: float = 0.5) -> float:
    result = critical_times(objective, Features(lam=lam, rho=rho), epsilon=epsilon, fraction=fraction)
    assert result.status[0] is Status.REACHED
    return float(result.time[0])


def quadrature(point: Point) -> reference.arb:
    return reference.critical_time(
        point.objective, lam=point.lam, rho=point.rho, epsilon=point.epsilon, fraction=point.fraction
    )


# --- agreement with independent numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "objective", [jepa(1), jepa(2), jepa(3, 2), jepa(6), mae(1), mae(2), mae(3, 2), mae(1, 4), mae(7)], ids=str
)
@pytest.mark.parametrize("fraction", [0.02, 0.5, 0.999])
def test_two_unrelated_quadratures_agree(objective: Objective, fraction: float) -> None:
    point = {"lam": 0.7, "rho": 0.85, "epsilon": 1e-3, "fraction": fraction}
    ball = reference.critical_time(objective, **point)
    with mpmath.workdps(50):
        plain = reference.plain_critical_time(objective, **point)
        assert abs(plain / mpmath.mpf(ball.str(45, radius=False)) - 1) < mpmath.mpf(10) ** -30
    between = reference.time_between(
        objective, lam=0.7, rho=0.85, start=1e-3, end=fraction * 0.85 ** (objective.depth / reference.exponents(objective)[1])
    )
    assert abs(float(between / ball) - 1) < 1e-12


def assert_agrees_with_quadrature(points: Iterable[Point]) -> None:
    finite = overflowed = 0
    for point in points:
        result = critical_times(point.objective, point.features, epsilon=point.epsilon, fraction=point.fraction)
        expected = quadrature(point)
        assert result.status[0] is Status.REACHED, point
        if math.isfinite(result.time[0]):
            finite += 1
            assert reference.relative_error(result.time[0], expected) <= reference.time_tolerance(expected), point
            with reference.precision():
                log_error = abs(float(reference.arb(result.log10_time[0]) - reference.log10(expected)))
            assert log_error <= reference.time_tolerance(expected) + 4 * math.ulp(result.log10_time[0]), point
        else:
            overflowed += 1
            assert reference.log10(expected) > 308.25, point
            assert reference.error_in_ulps(result.log10_time[0], reference.log10(expected)) <= 4, point
    assert finite > 0
    assert overflowed > 0


def test_time_agrees_with_quadrature_over_the_whole_ranges() -> None:
    assert_agrees_with_quadrature(random_points(seed=1, count=300))


@pytest.mark.exhaustive
def test_time_agrees_with_quadrature_at_20000_points() -> None:
    assert_agrees_with_quadrature(random_points(seed=2, count=20_000))


@given(growing_points())
def test_time_agrees_with_quadrature_where_hypothesis_looks(point: Point) -> None:
    result = critical_times(point.objective, point.features, epsilon=point.epsilon, fraction=point.fraction)
    expected = quadrature(point)
    if math.isfinite(result.time[0]):
        assert reference.relative_error(result.time[0], expected) <= reference.time_tolerance(expected)
    else:
        assert reference.error_in_ulps(result.log10_time[0], reference.log10(expected)) <= 4


@pytest.mark.parametrize("depth", range(1, 21))
@pytest.mark.parametrize("fraction", [1e-6, 0.5, 0.99, 1 - 1e-9])
def test_special_function_corners_of_mae(depth: int, fraction: float) -> None:
    for rho, epsilon in ((1e-6, 1e-12), (0.5, 1e-9), (0.9, 1e-300), (10.0, 4e-7)):
        point = Point(mae(depth), 1.3, rho, epsilon, fraction)
        if math.log(epsilon) > math.log(fraction / 2) + point.log_asymptote:
            continue
        result = critical_times(point.objective, point.features, epsilon=epsilon, fraction=fraction)
        assert reference.relative_error(result.time[0], quadrature(point)) <= 1e-12


# --- closed forms written out ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", range(1, 11))
@pytest.mark.parametrize(
    ("rho", "epsilon", "fraction"), [(0.6, 1e-5, 0.5), (1.2, 1e-2, 0.9), (3.0, 1e-30, 0.1), (0.9, 1e-9, 1 - 1e-9)]
)
def test_jepa_time_is_the_finite_sum(depth: int, rho: float, epsilon: float, fraction: float) -> None:
    lam, powers = 0.7, range(1, 2 * depth)
    with mpmath.workdps(60):
        influence, layer = mpmath.mpf(rho), mpmath.mpf(1) / depth
        u0, u1 = mpmath.mpf(epsilon) ** layer, mpmath.mpf(fraction) ** layer * influence
        total = mpmath.fsum((u0**-n - u1**-n) / (n * influence ** (2 * depth - 1 - n)) for n in powers)
        total += influence ** -(2 * depth - 1) * (mpmath.log(u1 / u0) - mpmath.log((1 - u1 / influence) / (1 - u0 / influence)))
        expected = float(total / mpmath.mpf(lam))
    assert_allclose(time_of(jepa(depth), lam=lam, rho=rho, epsilon=epsilon, fraction=fraction), expected, rtol=1e-13)


@given(rho=st.floats(1e-3, 10), epsilon=st.floats(1e-300, 1e-3), fraction=st.floats(0.1, 1 - 1e-6))
def test_mae_with_one_layer_each_is_a_logarithm(rho: float, epsilon: float, fraction: float) -> None:
    assume(epsilon <= fraction * math.sqrt(rho) / 2)
    with mpmath.workdps(40):
        r, e, p = (mpmath.mpf(value) for value in (rho, epsilon, fraction))
        expected = float(mpmath.log(p**2 * (r - e**2) / (e**2 * (1 - p**2))) / (2 * mpmath.mpf(0.3)))
    assert_allclose(time_of(mae(1), lam=0.3, rho=rho, epsilon=epsilon, fraction=fraction), expected, rtol=1e-13)


@pytest.mark.parametrize(("strength", "start", "end"), [(1.0, 1e-6, 0.25), (2.5, 1e-3, 2.0), (0.04, 1e-8, 0.0396)])
def test_two_layer_supervised_mode_is_the_sigmoid_of_saxe(strength: float, start: float, end: float) -> None:
    """Mode strength s = u**2 in white inputs: t = ln(s1 (s* - s0) / (s0 (s* - s1))) / (2 s*)."""
    with mpmath.workdps(40):
        s, s0, s1 = (mpmath.mpf(value) for value in (strength, start, end))
        expected = float(mpmath.log(s1 * (s - s0) / (s0 * (s - s1))) / (2 * s))
    white = Features(lam=strength, sigma=1.0)
    result = critical_times(supervised(2), white, epsilon=math.sqrt(start), fraction=math.sqrt(end / strength))
    assert_allclose(result.time[0], expected, rtol=1e-12)


@given(lam=st.floats(1e-6, 1e6), rho=st.floats(1e-2, 10), epsilon=st.floats(1e-12, 1e-4), fraction=st.floats(0.1, 0.999))
def test_one_layer_jepa_is_the_textbook_integral(lam: float, rho: float, epsilon: float, fraction: float) -> None:
    """dw/dt = lam w**2 (1 - w / rho)."""
    with mpmath.workdps(40):
        r, w0 = mpmath.mpf(rho), mpmath.mpf(epsilon)
        w1 = mpmath.mpf(fraction) * r
        expected = float((1 / w0 - 1 / w1 + mpmath.log(w1 * (r - w0) / (w0 * (r - w1))) / r) / mpmath.mpf(lam))
    assert_allclose(time_of(jepa(1), lam=lam, rho=rho, epsilon=epsilon, fraction=fraction), expected, rtol=1e-13)


@given(total=st.integers(2, 64), rho=st.floats(1e-2, 10), epsilon=st.floats(1e-300, 1e-4), fraction=st.floats(0.1, 0.999))
def test_supervised_network_is_mae_whose_last_layer_decodes(total: int, rho: float, epsilon: float, fraction: float) -> None:
    feature = Features(lam=1.0, rho=rho)
    network = critical_times(supervised(total), feature, epsilon=epsilon, fraction=fraction)
    autoencoder = critical_times(mae(total - 1), feature, epsilon=epsilon, fraction=fraction)
    assert network.log10_time[0] == autoencoder.log10_time[0]
    assert network.asymptote[0] == autoencoder.asymptote[0]


# --- scaling and monotonicity -----------------------------------------------------------------------------------------------


@given(growing_points(), st.integers(-12, 12))
def test_time_is_inverse_in_lambda(point: Point, power: int) -> None:
    scaled = Features(lam=point.lam * 10.0**power, rho=point.rho)
    arguments = {"epsilon": point.epsilon, "fraction": point.fraction}
    before = critical_times(point.objective, point.features, **arguments)
    after = critical_times(point.objective, scaled, **arguments)
    if math.isfinite(before.time[0]) and math.isfinite(after.time[0]):
        assert_allclose(after.time * (scaled.lam / point.lam), before.time, rtol=8 * 2.0**-53)
    decades = math.log10(scaled.lam[0] / point.lam)
    assert_allclose(after.log10_time, before.log10_time - decades, rtol=4 * 2.0**-52, atol=1e-14)


@given(growing_points(), st.floats(1.01, 1e6))
def test_time_falls_as_lambda_grows(point: Point, factor: float) -> None:
    stronger = Features(lam=point.lam * factor, rho=point.rho)
    slow = critical_times(point.objective, point.features, epsilon=point.epsilon, fraction=point.fraction)
    fast = critical_times(point.objective, stronger, epsilon=point.epsilon, fraction=point.fraction)
    assert fast.log10_time[0] < slow.log10_time[0]


@given(growing_points(), st.floats(1e-12, 0.9))
def test_time_grows_as_the_start_falls(point: Point, factor: float) -> None:
    assume(point.epsilon * factor >= 1e-300)
    later = critical_times(point.objective, point.features, epsilon=point.epsilon * factor, fraction=point.fraction)
    sooner = critical_times(point.objective, point.features, epsilon=point.epsilon, fraction=point.fraction)
    assert later.log10_time[0] > sooner.log10_time[0]


@given(growing_points(), fractions())
def test_time_grows_with_the_fraction(point: Point, other: float) -> None:
    """Strictly wherever the exact times differ by more than a double of the promised accuracy can blur."""
    low, high = sorted((point.fraction, other))
    assume(low < high)
    assume(math.log(point.epsilon) <= math.log(low / 2) + point.log_asymptote)
    sooner = critical_times(point.objective, point.features, epsilon=point.epsilon, fraction=low)
    later = critical_times(point.objective, point.features, epsilon=point.epsilon, fraction=high)
    first, second = (
        reference.critical_time(point.objective, lam=point.lam, rho=point.rho, epsilon=point.epsilon, fraction=p)
        for p in (low, high)
    )
    blur = 2 * reference.time_tolerance(second)
    if math.isfinite(later.time[0]):
        assert later.time[0] >= sooner.time[0] * (1 - blur)
        if float((second - first) / second) > blur:
            assert later.time[0] > sooner.time[0]


@pytest.mark.parametrize("objective", [jepa(1), jepa(3), jepa(5, 3), mae(1), mae(4), mae(2, 5)], ids=str)
def test_time_is_strictly_monotone_on_a_fine_grid(objective: Objective) -> None:
    strong = Features(lam=1.0, rho=0.9)
    by_fraction = [critical_times(objective, strong, epsilon=1e-2, fraction=p).time[0] for p in np.linspace(0.05, 0.999, 400)]
    by_start = [critical_times(objective, strong, epsilon=e).time[0] for e in np.geomspace(0.2, 1e-6, 400)]
    by_lam = critical_times(objective, Features(lam=np.geomspace(1e6, 1e-6, 400), rho=0.9), epsilon=1e-2).time
    for times in (by_fraction, by_start, by_lam):
        assert np.all(np.diff(times) > 0)


def test_one_tenth_comes_before_half_before_nine_tenths() -> None:
    for objective in (jepa(2), mae(2)):
        times = [time_of(objective, rho=0.8, epsilon=1e-4, fraction=p) for p in (0.1, 0.5, 0.9)]
        expected = [float(quadrature(Point(objective, 1.0, 0.8, 1e-4, p))) for p in (0.1, 0.5, 0.9)]
        assert times == sorted(times)
        assert_allclose(times, expected, rtol=1e-13)


# --- vectorisation --------------------------------------------------------------------------------------------------------


def mixed_features(count: int, seed: int = 5) -> Features:
    """Growing features with fading, sinking and (for deep JEPA) already reached ones strewn among them."""
    rng = np.random.default_rng(seed)
    sigma = 10.0 ** rng.uniform(-2, 2, count)
    rho = 10.0 ** rng.uniform(-6, 1, count)
    sign = rng.choice([1.0, 1.0, 1.0, 1.0, 0.0, -1.0], count)
    return Features(lam=sign * rho * sigma**2, sigma=sigma)


@pytest.mark.parametrize(
    ("objective", "epsilon", "fraction"),
    [
        (jepa(1), 1e-4, 0.5),
        (jepa(3), 1e-3, 0.9),
        (jepa(4, 3), 1e-7, 0.3),
        (jepa(20), 1e-300, 0.5),
        (mae(1), 1e-4, 0.5),
        (mae(2), 1e-1, 1 - 1e-9),
        (mae(3), 1e-5, 0.5),
        (mae(5, 3), 1e-5, 1e-2),
        (mae(40, 8), 1e-200, 0.7),
        (mae(1, 2), 0.4, 0.99),
    ],
    ids=str,
)
def test_a_feature_does_not_see_its_neighbours(objective: Objective, epsilon: float, fraction: float) -> None:
    """Alone, in a slice of any length or in any position, every output is the same to the last bit."""
    whole = mixed_features(3 * 8192 + 5)
    result = critical_times(objective, whole, epsilon=epsilon, fraction=fraction)
    columns = ("time", "log10_time", "asymptote", "status")

    def assert_same(part: object, which: slice | np.ndarray | list[int]) -> None:
        for column in columns:
            assert_array_equal(getattr(part, column), getattr(result, column)[which], strict=True)

    alone = [0, 1, 2, 3, 4, 5, 6, 7, 8, 4095, 4096, 8190, 8191, 8192, 8193, 16383, 16384, 16385, 24575, 24576, len(whole) - 1]
    for index in alone:
        assert_same(critical_times(objective, whole[index : index + 1], epsilon=epsilon, fraction=fraction), [index])
    short = [(start, length) for length in (2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 1000) for start in (0, 1, 3, 8185)]
    for start, length in [*short, (0, 8191), (1, 8192), (2, 8193), (8192, 8192), (0, 16385)]:
        which = slice(start, start + length)
        assert_same(critical_times(objective, whole[which], epsilon=epsilon, fraction=fraction), which)
    shuffled = np.random.default_rng(0).permutation(len(whole))
    assert_same(critical_times(objective, whole[shuffled], epsilon=epsilon, fraction=fraction), shuffled)
    growing = np.flatnonzero(whole.lam > 0)
    assert_same(critical_times(objective, whole[growing], epsilon=epsilon, fraction=fraction), growing)


def test_integers_are_numbers() -> None:
    whole = critical_times(jepa(2), Features(lam=[1, 2], rho=[1, 1]), epsilon=1e-3)
    decimal = critical_times(jepa(2), Features(lam=[1.0, 2.0], rho=[1.0, 1.0]), epsilon=1e-3)
    assert_array_equal(whole.time, decimal.time)


# --- statuses and errors ----------------------------------------------------------------------------------------------------


@given(growing_points())
def test_a_growing_feature_is_reached(point: Point) -> None:
    result = critical_times(point.objective, point.features, epsilon=point.epsilon, fraction=point.fraction)
    assert result.status[0] is Status.REACHED
    assert result.time[0] > 0
    assert math.isfinite(result.log10_time[0])
    if math.isfinite(result.time[0]):
        assert_allclose(np.log10(result.time), result.log10_time, rtol=1e-15, atol=1e-15)


@given(objectives(), features(), st.floats(1.0001, 100), fractions())
def test_a_start_above_the_threshold_counts_as_learned_at_once(
    objective: Objective, feature: Features, factor: float, fraction: float
) -> None:
    threshold = fraction * float(feature.rho[0]) ** (objective.depth / objective.b)
    assume(threshold * factor > 1e-300)
    result = critical_times(objective, feature, epsilon=threshold * factor, fraction=fraction)
    assert result.status[0] is Status.ALREADY_REACHED
    assert result.time[0] == 0.0
    assert result.log10_time[0] == -math.inf


def test_a_deep_jepa_encoder_can_start_above_where_it_ends() -> None:
    result = critical_times(jepa(12), Features(lam=1.0, rho=0.3), epsilon=1e-3)
    assert result.asymptote[0] < 1e-3
    assert result.status[0] is Status.ALREADY_REACHED


def test_a_start_exactly_at_the_threshold_is_already_reached() -> None:
    result = critical_times(jepa(1), Features(lam=1.0, rho=0.5), epsilon=0.25, fraction=0.5)
    assert result.status[0] is Status.ALREADY_REACHED
    assert result.time[0] == 0.0


@given(objectives(), st.floats(-1e6, 0), st.floats(1e-3, 1e3), fractions())
def test_a_feature_without_positive_covariance_is_never_learned(
    objective: Objective, lam: float, sigma: float, fraction: float
) -> None:
    """Whatever the start: its asymptote is 0, but it is never already reached."""
    feature = Features(lam=lam, sigma=sigma)
    for epsilon in (1e-300, 1e-3, 0.5):
        result = critical_times(objective, feature, epsilon=epsilon, fraction=fraction)
        assert result.status[0] is Status.NEVER
        assert result.time[0] == math.inf
        assert result.log10_time[0] == math.inf
        assert result.asymptote[0] == 0.0


def test_one_table_holds_every_status() -> None:
    feature = Features(lam=[1.0, 1.0, 0.0, -1.0], sigma=[1.0, 5.0, 1.0, 1.0])
    result = critical_times(jepa(3), feature, epsilon=1e-3)
    assert [status.value for status in result.status] == ["reached", "already-reached", "never", "never"]
    assert_array_equal(np.isfinite(result.time), [True, True, False, False])
    assert len({status.message for status in Status}) == len(Status)


@pytest.mark.parametrize("fraction", [0.0, 1.0, 1.5, -0.1, math.nan, math.inf])
def test_a_fraction_outside_zero_to_one_is_refused(fraction: float) -> None:
    with pytest.raises(ParameterError, match=r"^fraction is .*; it must be strictly between 0 and 1\.$"):
        critical_times(jepa(2), Features(lam=1.0, rho=1.0), epsilon=1e-3, fraction=fraction)


def test_an_error_names_parameter_value_and_what_is_allowed() -> None:
    with pytest.raises(ParameterError) as caught:
        critical_times(jepa(2), Features(lam=1.0, rho=1.0), epsilon=1e-3, fraction=1.5)
    assert str(caught.value) == "fraction is 1.5; it must be strictly between 0 and 1."
    assert isinstance(caught.value, LindynError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("epsilon", [0.0, -1e-3, math.nan, math.inf, -math.inf])
def test_a_start_that_is_not_positive_and_finite_is_refused(epsilon: float) -> None:
    with pytest.raises(ParameterError, match=r"^epsilon is .*; it must be .*positive.*\.$"):
        critical_times(mae(2), Features(lam=1.0, rho=1.0), epsilon=epsilon)


@pytest.mark.parametrize("bad", ["0.1", [0.1, 0.2], None], ids=str)
@pytest.mark.parametrize("name", ["epsilon", "fraction"])
def test_what_is_not_a_number_is_refused_by_name(name: str, bad: object) -> None:
    arguments = {"epsilon": 1e-3, "fraction": 0.5, name: bad}
    with pytest.raises(ParameterError, match=f"^{name} is "):
        critical_times(jepa(2), Features(lam=1.0, rho=1.0), **arguments)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.timed
def test_absurd_parameters_end_at_once() -> None:
    start = clock.perf_counter()
    for objective in (jepa(64), jepa(64, 8), mae(64), mae(64, 8), jepa(1, 8), mae(1, 8)):
        for fraction in (1e-6, 0.5, 1 - 1e-9):
            result = critical_times(objective, Features(lam=1e-6, rho=[1e-6, 10.0]), epsilon=1e-300, fraction=fraction)
            assert not np.isnan(result.log10_time).any()
            assert not np.isnan(result.time).any()
    assert clock.perf_counter() - start < 2


@given(growing_points())
def test_log10_time_carries_on_where_time_overflows(point: Point) -> None:
    result = critical_times(point.objective, point.features, epsilon=point.epsilon, fraction=point.fraction)
    assert (result.time[0] == math.inf) == (result.log10_time[0] > math.log10(np.finfo(float).max))


# --- the numbers of section 4 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "short"), [(2, 0.152), (3, 0.275), (5, 0.455)])
def test_the_dominant_term_alone_falls_short(depth: int, short: float) -> None:
    """At epsilon = 1e-2 and rho = 1 it misses 15 %, 28 % and 45 % of the exact time to half of the asymptote."""
    dominant = 1e-2 ** (-(2 * depth - 1) / depth) / (2 * depth - 1)
    exact = time_of(jepa(depth), rho=1.0, epsilon=1e-2)
    assert abs((1 - dominant / exact) - short) < 0.0006


def mae_limit(depth: int, fraction: float) -> float:
    """K_L(p) = -s**(1-L) / (L-1) + integral_0^s x / (1 - x**(L+1)) dx with s = p**(1/L)."""
    s = mpmath.mpf(fraction) ** (mpmath.mpf(1) / depth)
    return float(-(s ** (1 - depth)) / (depth - 1) + mpmath.quad(lambda x: x / (1 - x ** (depth + 1)), [0, s / 2, s]))


@pytest.mark.parametrize(("depth", "turn"), [(2, 0.938), (3, 0.761), (4, 0.611), (5, 0.500), (6, 0.419), (8, 0.312)])
def test_mae_learns_low_rho_first_below_a_fraction_and_high_rho_first_above(depth: int, turn: float) -> None:
    """Exactly at the sign change of K_L as epsilon -> 0, and visibly so at the starts at which a double resolves it."""
    assert mae_limit(depth, turn - 0.0005) < 0 < mae_limit(depth, turn + 0.0005)

    def lead_of_low_rho(fraction: float, epsilon: float) -> float:
        low, high = (
            reference.critical_time(mae(depth), lam=1.0, rho=rho, epsilon=epsilon, fraction=fraction, bits=500)
            for rho in (0.4, 0.9)
        )
        with reference.precision(600):
            return float(high - low)

    assert lead_of_low_rho(turn - 0.0006, 1e-40) > 0 > lead_of_low_rho(turn + 0.0006, 1e-40)
    for fraction, first in ((turn - 0.05, 0), (turn + 0.05, 1)):
        times = critical_times(mae(depth), Features(lam=1.0, rho=[0.4, 0.9]), epsilon=1e-8, fraction=fraction).time
        assert np.argmin(times) == first


@pytest.mark.parametrize(
    ("depth", "window"), [(1, None), (2, None), (3, (-2.415, -1.202)), (4, (-3.103, -1.337)), (8, (-5.845, -2.134))]
)
def test_high_rho_wins_against_high_lambda_only_in_a_window_of_starts(depth: int, window: tuple[float, float] | None) -> None:
    """lambda .8, rho 1.2 against lambda 1, rho .6, in log10 epsilon."""
    pair = Features(lam=[0.8, 1.0], rho=[1.2, 0.6])

    def high_rho_is_first(log10_epsilon: float) -> bool:
        result = critical_times(jepa(depth), pair, epsilon=10**log10_epsilon)
        return bool(result.log10_time[0] < result.log10_time[1])

    grid = np.linspace(-20, math.log10(0.5) + depth * math.log10(0.6) - 1e-3, 2000)
    low, high = window or (0, 0)
    far_from_the_edges = [x for x in grid if min(abs(x - low), abs(x - high)) > 0.001]
    assert [high_rho_is_first(x) for x in far_from_the_edges] == [low < x < high for x in far_from_the_edges]
    if window:
        assert [high_rho_is_first(x) for x in (low - 0.001, low + 0.001)] == [False, True]
        assert [high_rho_is_first(x) for x in (high - 0.001, high + 0.001)] == [True, False]


def test_learning_order_at_vanishing_starts_is_decided_by_lambda() -> None:
    for objective in (jepa(2), jepa(5), mae(2), mae(5)):
        high_lam, high_rho = critical_times(objective, Features(lam=[1.01, 1.0], rho=[0.3, 3.0]), epsilon=1e-30).time
        assert high_lam < high_rho


@pytest.mark.parametrize(
    ("objective", "asymptote"),
    [(jepa(3), 0.7**3), (jepa(5, 2), 0.7**2.5), (mae(3), 0.7**0.75), (mae(2, 4), 0.7 ** (1 / 3)), (supervised(4), 0.7**0.75)],
    ids=str,
)
def test_each_objective_has_the_asymptote_of_section_2(objective: Objective, asymptote: float) -> None:
    result = critical_times(objective, Features(lam=[0.2, -0.2], rho=[0.7, -0.7]), epsilon=1e-3)
    assert_allclose(result.asymptote, [asymptote, 0.0], rtol=4e-16)
