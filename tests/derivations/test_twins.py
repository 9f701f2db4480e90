"""Every number the library computes has a symbolic twin, derived from the loss and enclosed in balls, that it agrees with.

Doubles enter the twins as the rational numbers they are, so that what differs is the library's rounding alone.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from flint import arb
from sympy import Add, Expr, Integer, Rational, S, Symbol

import derivations.statements  # noqa: F401 - registers them
from derivations import elasticity
from derivations import expansion as expansions
from derivations.balls import Point, enclosed, precision
from derivations.closed_form import critical_time, layer_fixed_point, written_out_time
from derivations.gradient_flow import Member, mode
from derivations.integrals import Duration
from derivations.notation import L, M, a, b, epsilon, lam, p, rho, t, u, x0, x1
from derivations.statement import STATEMENTS
from dynamics import (
    Features,
    Objective,
    Status,
    amplitude,
    critical_times,
    elasticities,
    enclosures,
    expansion,
    jepa,
    mae,
    supervised,
)
from dynamics.clock import dimensionless_time
from dynamics.learning_order import crossovers
from dynamics.power_law import growth_span

MAX_DEPTH, MAX_PREDICTOR_DEPTH, AT_ONCE = 8, 4, 5
ULP = 2.0**-52
COUNTS = pytest.mark.parametrize("count", [1000, pytest.param(3_000, marks=pytest.mark.slow)])


@dataclass(frozen=True)
class Draw:
    """Features that one objective learns from one start, all of them at or below half of their thresholds."""

    objective: Objective
    features: Features
    epsilon: float
    fraction: float

    @property
    def setting(self) -> dict[str, float]:
        return {"epsilon": self.epsilon, "fraction": self.fraction}

    @property
    def points(self) -> Iterator[dict[Symbol, Rational]]:
        """What the symbols stand for, a feature at a time."""
        for growth, capacity in zip(self.features.lam.tolist(), self.features.rho.tolist(), strict=True):
            yield {
                L: Integer(self.objective.depth),
                M: Integer(self.objective.predictor_depth),
                a: Integer(self.objective.a),
                b: Integer(self.objective.b),
                lam: exact(growth),
                rho: exact(capacity),
                epsilon: exact(self.epsilon),
                p: exact(self.fraction),
            }


def exact(value: float) -> Rational:
    return Rational(*value.as_integer_ratio())


def _objective(rng: np.random.Generator) -> Objective:
    depth, predictor_depth = int(rng.integers(1, MAX_DEPTH + 1)), int(rng.integers(1, MAX_PREDICTOR_DEPTH + 1))
    kind = rng.integers(5)
    if kind == 4:
        return supervised(depth + 1)
    return (jepa if kind < 2 else mae)(depth, predictor_depth)


def draws(seed: int, count: int) -> Iterator[Draw]:
    """Random objectives, starts and fractions, a few features each, ``count`` features altogether."""
    rng = np.random.default_rng(seed)
    while count > 0:
        objective = _objective(rng)
        start = float(10.0 ** rng.uniform(-12.0, math.log10(0.3)))
        fraction = float(1.0 / (1.0 + math.exp(-rng.uniform(-4.0, 7.0))))
        growth, capacity = 10.0 ** rng.uniform(-2.0, 1.0, AT_ONCE), rng.uniform(0.05, 3.0, AT_ONCE)
        low = start <= fraction * capacity ** (objective.depth / objective.b) / 2
        low &= np.cumsum(low) <= count
        if low.any():
            count -= int(low.sum())
            yield Draw(objective, Features(lam=growth[low], rho=capacity[low]), start, fraction)


def test_the_draws_are_as_many_as_asked_and_of_every_kind() -> None:
    drawn = list(draws(seed=1, count=1000))
    assert sum(len(draw.features) for draw in drawn) == 1000
    assert {draw.objective.name for draw in drawn} == {"jepa", "mae", "supervised"}
    assert {draw.objective.depth for draw in drawn} == set(range(1, MAX_DEPTH + 1))
    assert {draw.objective.predictor_depth for draw in drawn} == set(range(1, MAX_PREDICTOR_DEPTH + 1))
    for draw in drawn:
        status = critical_times(draw.objective, draw.features, **draw.setting).status
        assert (status == Status.REACHED).all()


@cache
def member(objective: Objective) -> Member:
    """The derived mode of an objective with its layers filled in."""
    found = mode(objective.name)
    layers = {L: objective.depth, M: objective.predictor_depth}
    return Member(*(part.subs(layers) for part in (found.growth, found.a, found.b, found.capacity)))


@cache
def time_by_terms(objective: Objective) -> Expr:
    return Add(*written_out_time(member(objective)))


@cache
def time_by_integral(objective: Objective) -> Expr:
    """With symbolic numbers of layers."""
    return critical_time(mode(objective.name))


def balls(draw: Draw, expression: Expr) -> list[arb]:
    return [enclosed(expression, point) for point in draw.points]


def errors(found: np.ndarray, twins: list[arb], tolerance: np.ndarray | float, scale: list[arb] | None = None) -> np.ndarray:
    """|found - twin| over the scale (the twin itself by default), as multiples of the tolerance."""
    with precision(256):
        sizes = [abs(size) for size in (scale or twins)]
        parts = zip(found.tolist(), twins, sizes, strict=True)
        off = [float(abs(arb(value) - twin) / size) if size != 0 else abs(value) for value, twin, size in parts]
    return np.array(off) / tolerance


def time_tolerance(twins: list[arb]) -> np.ndarray:
    """The design's promise, relative."""
    return np.array([1e-13 + 4 * 2.0**-53 * abs(float(twin.log())) for twin in twins])


Check = Callable[[Draw], np.ndarray]


def worst(check: Check, seed: int, count: int) -> float:
    return float(max(check(draw).max() for draw in draws(seed, count)))


# --- times ----------------------------------------------------------------------------------------------------------------


def errors_of_time(draw: Draw, twin: Expr) -> np.ndarray:
    found = critical_times(draw.objective, draw.features, **draw.setting)
    twins = balls(draw, twin)
    return errors(found.time, twins, time_tolerance(twins))


@COUNTS
def test_critical_times_are_the_derived_integral(count: int) -> None:
    assert worst(lambda draw: errors_of_time(draw, time_by_integral(draw.objective)), 11, count) <= 1


def test_times_off_by_a_part_in_ten_to_the_eleven_would_show() -> None:
    for draw in draws(11, 100):
        assert errors_of_time(draw, time_by_integral(draw.objective) * (1 + Rational(1, 10**11))).min() > 1


@COUNTS
def test_critical_times_are_the_sum_written_out(count: int) -> None:
    assert worst(lambda draw: errors_of_time(draw, time_by_terms(draw.objective)), 12, count) <= 1


def errors_of_logarithm(draw: Draw) -> np.ndarray:
    """In what the promise leaves of a decimal logarithm: the relative error of the time over ln 10, and 4 ulp."""
    found = critical_times(draw.objective, draw.features, **draw.setting).log10_time
    times = balls(draw, time_by_integral(draw.objective))
    tolerance = time_tolerance(times) / math.log(10.0) + 4 * np.spacing(np.abs(found))
    with precision(256):
        twins = [time.log() / arb(10).log() for time in times]
    return errors(found, twins, tolerance, [arb(1)] * len(twins))


@COUNTS
def test_logarithms_of_critical_times_are_those_of_the_twin(count: int) -> None:
    assert worst(errors_of_logarithm, 13, count) <= 1


def assert_holds_the_twin(draw: Draw) -> None:
    found = enclosures(draw.objective, draw.features, **draw.setting, digits=20)
    for lower, upper, twin in zip(found.lower, found.upper, balls(draw, time_by_terms(draw.objective)), strict=True):
        mantissa, binary = twin.mid().man_exp()
        low, high = Fraction(lower), Fraction(upper)
        assert low <= Fraction(int(mantissa)) * Fraction(2) ** int(binary) <= high, draw
        assert high - low <= low / 10**19, draw


@COUNTS
def test_certified_bounds_hold_the_twin(count: int) -> None:
    for draw in draws(14, count):
        assert_holds_the_twin(draw)


def errors_of_the_clock(draw: Draw) -> np.ndarray:
    """Q_alpha = b x0^(a-1) T_(a,b)(x0, x1): the closed form's integral in units of the growth time at the start."""
    found, _ = dimensionless_time(
        draw.objective.alpha, growth_span(draw.objective, draw.features.rho, draw.epsilon, draw.fraction)
    )
    start, end = epsilon ** (1 / L) / rho ** (1 / b), p ** (1 / L)
    twins = balls(draw, b * start ** (a - 1) * Duration(a, b, start, end))
    return errors(found, twins, 1e-13)


@COUNTS
def test_the_clock_is_the_closed_form_in_its_own_unit(count: int) -> None:
    assert worst(errors_of_the_clock, 15, count) <= 1


# --- a small start --------------------------------------------------------------------------------------------------------


def errors_of_the_expansion(draw: Draw) -> dict[str, np.ndarray]:
    """Each part relative to itself; the constant, a difference, and the total relative to the size of their parts."""
    found = expansion(draw.objective, draw.features, **draw.setting)
    derived = member(draw.objective)
    count, whole = math.ceil(draw.objective.alpha), draw.objective.alpha.denominator == 1
    orders = [Integer(n) for n in range(1, count + 1)]
    terms = [balls(draw, expansions.singular_term(derived, n)) for n in orders]
    logarithm = balls(draw, expansions.logarithm(derived) if whole else S.Zero)
    ends = balls(draw, Add(*(expansions.end_term(derived, n) for n in orders)))
    excess = count * derived.b - (derived.a - 1)
    rest = balls(draw, expansions.constant_beside_logarithm(derived) if whole else expansions.constant_of_tail(derived, excess))
    assert found.terms.shape == (len(draw.features), count)
    with precision(256):
        constant = [one - other for one, other in zip(rest, ends, strict=True)]
        size = [abs(one) + other for one, other in zip(rest, ends, strict=True)]
        whole_size = [sum((abs(part) for part in parts), arb(0)) for parts in zip(*terms, logarithm, size, strict=True)]
    return {
        **{f"term {n}": errors(found.terms[:, n], twins, 1e-13) for n, twins in enumerate(terms)},
        "logarithm": errors(found.logarithm, logarithm, 1e-13),
        "constant": errors(found.constant, constant, 1e-13, size),
        "dominant": errors(found.dominant, balls(draw, expansions.dominant_term(derived)), 1e-13),
        "total": errors(found.total, balls(draw, Add(*expansions.expansion(derived))), 1e-13, whole_size),
    }


@COUNTS
def test_every_part_of_the_expansion_is_the_derived_one(count: int) -> None:
    for draw in draws(21, count):
        for part, off in errors_of_the_expansion(draw).items():
            assert off.max() <= 1, (part, draw)


# --- elasticities ---------------------------------------------------------------------------------------------------------


PARTS_BY_RHO = (x0**b + (x0 / x1) ** (a - 1)) / (b * x0 ** (a - 1) * elasticity.DURATION)
"""What saturation at the start and growth at the end each make of the elasticity by rho, up to their signs."""


def errors_of_elasticities(draw: Draw) -> dict[str, np.ndarray]:
    """Relative, but for the one by rho, which changes sign: over the parts that make it up."""
    found = elasticities(draw.objective, draw.features, **draw.setting)
    amplitudes = {x0: epsilon ** (1 / L) / rho ** (1 / b), x1: p ** (1 / L)}
    by_rho, by_epsilon, by_fraction, parts = (
        balls(draw, formula.subs(amplitudes))
        for formula in (elasticity.BY_RHO, elasticity.BY_EPSILON, elasticity.BY_FRACTION, PARTS_BY_RHO)
    )
    with precision(256):
        scale = [abs(twin) + part for twin, part in zip(by_rho, parts, strict=True)]
    return {
        "lam": errors(found.lam, balls(draw, elasticity.BY_LAMBDA), 1e-13),
        "rho": errors(found.rho, by_rho, 1e-13, scale),
        "epsilon": errors(found.epsilon, by_epsilon, 1e-13),
        "fraction": errors(found.fraction, by_fraction, 1e-13),
    }


@COUNTS
def test_elasticities_are_the_derived_ones(count: int) -> None:
    for draw in draws(31, count):
        for name, off in errors_of_elasticities(draw).items():
            assert off.max() <= 1, (name, draw)


def test_the_elasticity_by_lambda_is_exactly_minus_one() -> None:
    assert elasticity.BY_LAMBDA == -1
    assert (elasticities(jepa(3), Features(lam=[0.3, 2.0], rho=0.9), epsilon=1e-4).lam == -1).all()


# --- trajectories ---------------------------------------------------------------------------------------------------------

reached = Symbol("w", positive=True)


@cache
def time_to(objective: Objective) -> Expr:
    """The derived time at which the product is ``reached``."""
    found = mode(objective.name)
    return critical_time(found).subs(p, reached / layer_fixed_point(found) ** L)


@cache
def growth_of_logarithm(objective: Objective) -> Expr:
    """d ln w / dt at the same place, from the derived mode."""
    return (L * mode(objective.name).rate / u).subs(u, reached ** (1 / L))


def errors_of_amplitude(draw: Draw, shares: np.ndarray) -> np.ndarray:
    """The time that the twin gives an amplitude, less the time it was asked for, as an error of the amplitude."""
    whole = critical_times(draw.objective, draw.features, **draw.setting).time
    times = (shares[: len(whole)] * whole)[:, None]
    found = amplitude(draw.objective, draw.features, epsilon=draw.epsilon, time=times)[:, 0]
    off = []
    for point, time, value in zip(draw.points, times[:, 0].tolist(), found.tolist(), strict=True):
        there: Point = {**point, reached: exact(value)}
        twin, pace = (enclosed(make(draw.objective), there) for make in (time_to, growth_of_logarithm))
        with precision(256):
            moved = float(abs(twin - arb(time)) * pace)
        off.append(moved / (1e-10 + 8 * ULP * time * float(pace)))
    return np.array(off)


@COUNTS
def test_an_amplitude_put_into_the_derived_time_gives_the_time_back(count: int) -> None:
    rng = np.random.default_rng(count)
    assert worst(lambda draw: errors_of_amplitude(draw, rng.uniform(0.01, 1.0, AT_ONCE)), 41, count) <= 1


@COUNTS
@pytest.mark.parametrize("objective", [mae(1), supervised(2)], ids=lambda objective: objective.name)
def test_two_layers_follow_the_proved_sigmoid(objective: Objective, count: int) -> None:
    """There w is one layer's amplitude u, and the product of both is u^2."""
    rng = np.random.default_rng(count)
    curve = STATEMENTS["two-layer-sigmoid"].formulas["curve"]
    (start,) = curve.free_symbols - {lam, rho, t}
    growth, capacity = 10.0 ** rng.uniform(-1, 1, count), rng.uniform(0.05, 3.0, count)
    first = 1e-3
    times = (rng.uniform(0.0, 12.0, count) / growth)[:, None]
    found = amplitude(objective, Features(lam=growth, rho=capacity), epsilon=first, time=times)[:, 0]
    rows = zip(growth.tolist(), capacity.tolist(), times[:, 0].tolist(), strict=True)
    twins = [
        enclosed(curve, {lam: exact(one), rho: exact(other), t: exact(time), start: exact(first) ** 2}).sqrt()
        for one, other, time in rows
    ]
    assert errors(found, twins, 1e-10).max() <= 1


# --- who comes first ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "word"), [(3, "three"), (4, "four"), (8, "eight")])
def test_crossovers_lie_in_the_certified_windows(depth: int, word: str) -> None:
    ends = STATEMENTS["rho-beats-lambda-in-a-window"].formulas
    found = crossovers(jepa(depth), Features(lam=0.8, rho=1.2), Features(lam=1.0, rho=0.6))
    assert len(found) == 2
    for value, side in zip(found.tolist(), ("low", "high"), strict=True):
        assert abs(Fraction(value) / Fraction(str(ends[f"{side}_{word}"])) - 1) < Fraction(1, 1000)


@pytest.mark.parametrize("depth", [1, 2])
def test_shallow_pairs_never_change_places_as_proved(depth: int) -> None:
    assert crossovers(jepa(depth), Features(lam=0.8, rho=1.2), Features(lam=1.0, rho=0.6)).size == 0


@pytest.mark.parametrize("depth", [3, 4, 8])
def test_at_a_crossover_the_derived_times_of_both_features_agree(depth: int) -> None:
    for start in crossovers(jepa(depth), Features(lam=0.8, rho=1.2), Features(lam=1.0, rho=0.6)).tolist():
        draw = Draw(jepa(depth), Features(lam=[0.8, 1.0], rho=[1.2, 0.6]), start, 0.5)
        one, other = balls(draw, time_by_integral(draw.objective))
        assert abs(float(one / other) - 1) < 1e-14


# --- what no formula says -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("growth", [0.0, -0.5])
@pytest.mark.parametrize("objective", [jepa(1), jepa(4, 2), mae(3)], ids=str)
def test_never_is_infinity_with_a_status_and_no_sentinel(objective: Objective, growth: float) -> None:
    """Section 7 of the theory, error 5."""
    feature = Features(lam=growth, sigma=1.0)
    found = critical_times(objective, feature, epsilon=1e-3)
    assert found.time.tolist() == found.log10_time.tolist() == [math.inf]
    assert found.status.tolist() == [Status.NEVER]
    bounds = enclosures(objective, feature, epsilon=1e-3)
    assert (bounds.lower, bounds.upper, bounds.status) == (("inf",), ("inf",), (Status.NEVER,))
