"""Critical times of any loss, enclosed."""

import time
from fractions import Fraction

import mpmath as mp
import pytest
from flint import arb
from sympy import Rational, S, sqrt

import dynamics as dyn
from derivations.balls import NotANumberError, precision
from derivations.certified_time import Setting, critical_time, exact, time_between
from derivations.fixed_points import fixed_points
from derivations.gradient_flow import powers_of_layer
from derivations.notation import lam, rho, sigma, u
from derivations.rates import polynomial
from dynamics.errors import ParameterError
from tests.derivations.rates import DECAY, JEPA, MAE, at, number, quadrature, rate_of, terms_of


@pytest.mark.parametrize("loss", [f"{JEPA} + 0.01{DECAY}", f"{JEPA} + {MAE}", f"0.3*({JEPA}) + 0.7*({MAE}) + 1e-4{DECAY}"])
@pytest.mark.parametrize(
    ("depth", "predictor_depth", "epsilon"), [(1, 1, "0.05"), (2, 1, "0.12"), (2, 2, "0.2"), (3, 1, "0.1")]
)
def test_critical_times_agree_with_quadrature(loss, depth, predictor_depth, epsilon):
    setting = Setting("1.2", "0.9", epsilon, "0.5", depth, predictor_depth)
    terms = terms_of(loss)
    found = critical_time(terms, setting)
    assert found.status == "reached"
    with mp.workdps(45):
        rate = polynomial(terms, setting.point)
        goal = number(found.goal.ball())
        assert abs(number(found.asymptote) - goal**depth) < mp.mpf(10) ** -38
        start, end = mp.root(mp.mpf(epsilon), depth), mp.root(mp.mpf("0.5"), depth) * goal
        assert abs(number(found.time) / quadrature(rate, start, end) - 1) < mp.mpf(10) ** -30
    assert found.time.rad() <= found.time.lower() * arb("1e-30")


@pytest.mark.parametrize("epsilon", [1e-12, 1e-3, 0.1, 0.3, 0.9])
@pytest.mark.parametrize(("loss", "objective"), [(JEPA, dyn.jepa), (MAE, dyn.mae)])
@pytest.mark.parametrize(("depth", "predictor_depth"), [(1, 1), (2, 1), (3, 2), (8, 1)])
def test_without_an_extra_term_it_is_the_family(loss, objective, depth, predictor_depth, epsilon):
    found = critical_time(terms_of(loss), Setting(0.7, 0.6, epsilon, 0.4, depth, predictor_depth))
    twin = dyn.critical_times(objective(depth, predictor_depth), dyn.Features(lam=0.7, rho=0.6), epsilon=epsilon, fraction=0.4)
    assert found.status == twin.status[0].value
    assert float(found.time.mid()) == pytest.approx(twin.time[0], rel=1e-12)
    assert float(found.asymptote.mid()) == pytest.approx(twin.asymptote[0], rel=1e-12)


def test_a_small_decay_tends_to_the_family():
    """d t / d eta is finite at eta = 0, so a decay of 1e-40 changes 30 digits of a time of order 1e3 by nothing."""
    plain, decayed = (
        critical_time(terms_of(loss), Setting(1, "0.6", "1e-3", depth=2)) for loss in (JEPA, f"{JEPA} + 1e-40{DECAY}")
    )
    with precision(256):
        assert abs(plain.time / decayed.time - 1) < arb("1e-30")


def test_below_the_unstable_fixed_point_a_feature_dies():
    terms = terms_of(f"{JEPA} + 0.01{DECAY}")
    low, high = fixed_points(polynomial(terms, at(2, lam=S(1), rho=Rational(3, 5))))
    threshold = number(low.ball()) ** 2
    below, above = (Setting(1, "0.6", mp.nstr(threshold * (1 + turn * mp.mpf(10) ** -12), 30), depth=2) for turn in (-1, 1))
    dead = critical_time(terms, below)
    assert (dead.status, dead.goal) == ("never", None)
    assert dead.time == arb("inf")
    assert dead.asymptote == 0
    assert "sinks to 0" in dead.sentence
    assert "it must start above 0.0678446" in dead.sentence
    alive = critical_time(terms, above)
    assert alive.status == "reached"
    assert abs(number(alive.goal.ball()) - number(high.ball())) < mp.mpf(10) ** -15


@pytest.mark.parametrize(
    ("expression", "epsilon", "status", "told"),
    [
        (u * (u - 1) * (2 - u), "0.5", "never", "sinks to 0"),
        (u * (u - 1) * (2 - u), "1.2", "already-reached", "at or above fraction"),
        (u * (u - 1) * (2 - u), "3", "already-reached", "to which the amplitude sinks"),
        (u * (1 - u) * (2 - u), "1.5", "already-reached", "to which the amplitude sinks"),
        (u * (1 - u) * (2 - u), "3", "never", "grows without bound"),
        (u**2 * (1 - u) ** 2, "0.2", "reached", "reaches"),
        (u**2 * (1 - u) ** 2, "1.5", "never", "grows without bound"),
        (-u * (1 - u) ** 2, "1.5", "already-reached", "sinks"),
        (-u * (1 - u) ** 2, "0.5", "never", "no fixed point is stable, and 1.00000 attracts from above only"),
        (u * (u - 2), "0.5", "never", "no fixed point is stable, and from above 2.00000 it grows without bound"),
        (u * (u - 1) * (u - 2) ** 2, "0.5", "never", "from above 1.00000 it tends to 2.00000, which attracts from below only"),
        (u * (u - 1) * (u - 2) ** 2 * (3 - u), "0.5", "never", "above 2.00000 to tend to the stable fixed point 3.00000."),
        (-u * (1 - u) ** 2 * (u - 2) * (u - 3), "0.5", "never", "above 2.00000 to tend to the stable fixed point 3.00000."),
        (u * (u - 1) * (2 - u) * (3 - u), "0.5", "never", "above 1.00000 and below 3.00000 to tend to the stable fixed point"),
        (-(u**3), "0.5", "never", "no positive fixed point holds it"),
        (u, "0.5", "never", "grows without bound"),
        (u * (1 - u), "0.5", "already-reached", "at or above fraction"),
        (u * (1 - u), "0.499999999999999999999999999999", "reached", "reaches"),
    ],
)
def test_status_of_every_course(expression, epsilon, status, told):
    found = critical_time(powers_of_layer(expression.expand()), Setting(1, 1, epsilon))
    assert found.status == status
    assert told in found.sentence
    assert (found.time > 0) == (status != "already-reached")
    assert found.time.is_finite() == (status != "never")


def test_logistic_growth_has_a_logarithm_for_its_time():
    """du/dt = u (1 - u) from 1/10 to 1/2: ln 9."""
    found = critical_time({S(1): S(1), S(2): S(-1)}, Setting(1, 1, "0.1"), digits=100)
    with precision(400):
        assert found.time.overlaps(arb(9).log())
        assert found.time.rad() < arb("1e-99")


def test_an_enclosure_holds_for_all_of_its_ends():
    """du/dt = u (1 - u): ln of the odds, from anywhere in one ball to anywhere in another."""
    rate = rate_of(u * (1 - u))
    with precision(256):
        start, end = arb("0.1", "1e-3"), arb("0.5", "1e-2")
        whole = time_between(rate, start, end)
        for one in (start.lower(), start.mid(), start.upper()):
            for other in (end.lower(), end.mid(), end.upper()):
                exact_time = (other / (1 - other)).log() - (one / (1 - one)).log()
                assert whole.contains(exact_time)
                assert time_between(rate, one, other).overlaps(exact_time)
                assert time_between(rate, other, one).overlaps(-exact_time)


def test_no_time_leads_across_a_fixed_point():
    with pytest.raises(NotANumberError):
        time_between(rate_of(u * (1 - u)), arb("0.5"), arb(2), 128)


@pytest.mark.parametrize(
    ("epsilon", "depth", "status", "told"),
    [
        ("1", 1, "never", "exactly an unstable fixed point"),
        ("1", 7, "never", "exactly an unstable fixed point"),
        ("2", 1, "already-reached", "is the asymptote itself, a stable fixed point"),
        ("8", 3, "already-reached", "is the asymptote itself, a stable fixed point"),
    ],
)
def test_a_start_on_a_fixed_point_stays_there(epsilon, depth, status, told):
    terms = powers_of_layer((u * (u - 1) * (2 - u)).expand())
    found = critical_time(terms, Setting(1, 1, epsilon, depth=depth))
    assert found.status == status
    assert told in found.sentence
    assert found.asymptote.contains(int(epsilon))
    assert found.time == arb("inf" if status == "never" else 0)


def test_a_start_on_a_half_stable_fixed_point_counts_as_learned():
    found = critical_time(powers_of_layer((u * (u - 1) ** 2).expand()), Setting(1, 1, 1))
    assert found.status == "already-reached"
    assert "which attracts from one side only" in found.sentence


@pytest.mark.parametrize(("epsilon", "depth"), [("0.5", 2), ("0.25", 4), ("0.125", 6)])
@pytest.mark.parametrize("factor", [S.One, sqrt(3), sqrt(2) + 1])
def test_an_irrational_start_on_a_fixed_point_is_recognised(epsilon, depth, factor):
    """Every one of these layers starts at 1 / sqrt(2)."""
    found = critical_time({S(1): factor, S(3): -2 * factor}, Setting(1, 1, epsilon, depth=depth))
    assert (found.status, found.time) == ("already-reached", 0)


def test_terms_that_cancel_leave_the_start_where_it_is():
    found = critical_time({S(1): lam - lam / rho}, Setting(1, 1, "0.1"))
    assert (found.status, found.goal) == ("never", None)
    assert found.asymptote.overlaps(arb("0.1"))
    assert "du/dt = 0" in found.sentence


@pytest.mark.parametrize(("loss", "objective"), [(JEPA, dyn.jepa), (MAE, dyn.mae)])
def test_a_negative_lambda_is_never_learned(loss, objective):
    found = critical_time(terms_of(loss), Setting("-0.7", "-0.6", "0.1", depth=2))
    twin = dyn.critical_times(objective(2, 1), dyn.Features(lam=-0.7, rho=-0.6), epsilon=0.1)
    assert found.status == twin.status[0].value == "never"
    assert found.time == arb("inf")
    assert found.asymptote == 0
    assert "no positive fixed point holds it" in found.sentence


def test_a_negative_lambda_below_a_root_is_refused_with_a_way_out():
    with pytest.raises(ParameterError, match="takes roots of it; lindyn critical-time answers"):
        critical_time({S(1): sqrt(lam), S(3): -S.One}, Setting(-1, -1, "0.1"))


def test_sigma_is_the_positive_root_of_a_quotient_of_negatives():
    """du/dt = sigma u - u^2 with lambda/rho = 4: u* = 2."""
    found = critical_time({S(1): sigma, S(2): -S.One}, Setting(-4, -1, "0.1"))
    assert found.asymptote.contains(2)


@pytest.mark.parametrize(
    ("terms", "depth"),
    [
        ({Rational(1, 2): S.One, Rational(3, 2): -S.One}, 1),
        ({Rational(1, 2): S(2), S.One: S.One, Rational(5, 3): -S.One}, 3),
        ({S(1): sigma, S(2): lam, Rational(7, 2): -S.One}, 2),
        ({S(1): sqrt(2), S(2): -sqrt(3), S(3): S.One / 5}, 2),
    ],
    ids=str,
)
def test_fractional_exponents_and_irrational_coefficients_agree_with_quadrature(terms, depth):
    setting = Setting(1, 2, "0.05", depth=depth)
    found = critical_time(terms, setting)
    assert found.status == "reached"
    with mp.workdps(45):
        values = {lam: S(1), rho: S(2), sigma: sqrt(2) / 2}
        numbers = [(mp.mpf(int(e.p)) / int(e.q), mp.mpf(str(S(c).subs(values).evalf(50)))) for e, c in terms.items()]
        goal = number(found.goal.ball())
        assert abs(mp.fsum(c * goal**e for e, c in numbers)) < mp.mpf(10) ** -38
        start, end = mp.root(mp.mpf("0.05"), depth), mp.root(mp.mpf("0.5"), depth) * goal
        middle = [start * (end / start) ** (mp.mpf(k) / 24) for k in range(25)]
        integral = mp.quad(lambda x: 1 / mp.fsum(c * x**e for e, c in numbers), middle)
        assert abs(number(found.time) / integral - 1) < mp.mpf(10) ** -30


@pytest.mark.parametrize(("epsilon", "depth"), [("1e-12", 2), ("1e-300", 1), ("0.5", 64)])
@pytest.mark.slow
@pytest.mark.timed
def test_extreme_starts_stay_fast(epsilon, depth):
    began = time.perf_counter()
    found = critical_time(terms_of(f"{JEPA} + 1e-305{DECAY}"), Setting(1, "0.99", epsilon, depth=depth))
    assert found.status in ("reached", "already-reached", "never")
    assert time.perf_counter() - began < 3.0


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"lam": -1}, "rho is 1; it must be a negative decimal number like lambda, as rho = lambda/sigma^2."),
        ({"rho": -0.5}, "rho is -0.5; it must be a positive decimal number like lambda"),
        ({"lam": 0}, "lambda is 0; it must be other than 0, as lambda and rho do not tell sigma there; lindyn critical-time"),
        ({"lam": float("inf")}, "lambda is inf; it must be a finite decimal number."),
        ({"lam": float("nan")}, "lambda is nan; it must be a decimal number of up to 50 digits."),
        ({"rho": 0}, "rho is 0; it must be"),
        ({"rho": "1/2"}, "rho is 1/2; it must be"),
        ({"epsilon": float("nan")}, "epsilon is nan; it must be"),
        ({"epsilon": float("inf")}, "epsilon is inf; it must be"),
        ({"epsilon": "1e-1000000000"}, "epsilon is 1e-1000000000; it must be"),
        ({"fraction": "1"}, "fraction is 1; it must be strictly between 0 and 1."),
        ({"fraction": True}, "fraction is True; it must be"),
        ({"depth": 0}, "depth is 0; it must be"),
        ({"predictor_depth": 1.5}, "predictor_depth is 1.5; it must be"),
    ],
)
def test_numbers_out_of_range_are_named(wrong, told):
    with pytest.raises(ParameterError) as refused:
        Setting(**({"lam": 1, "rho": 1, "epsilon": "0.1"} | wrong))
    assert told in str(refused.value)


def test_numbers_are_what_was_written():
    assert exact("epsilon", 0.1) == exact("epsilon", "0.1") == Rational(1, 10)
    assert exact("epsilon", 1e-300) == Rational(1, 10**300)
    assert exact("epsilon", Fraction(1, 3)) == Rational(1, 3)
    assert exact("epsilon", 5e-324) == Rational(5, 10**324)
