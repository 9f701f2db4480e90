"""Critical times of a derivation in numbers, as they are asked for and as they are told."""

import json
import time

import pytest
from flint import arb
from sympy import S, sqrt

from derivations.balls import precision
from derivations.certified_time import Setting, critical_time
from derivations.derivation import derive, derive_loss
from derivations.exposition import READING, as_json, as_latex, as_text
from derivations.lines import other_lines
from derivations.notation import L, M, lam, rho
from derivations.numbers import answers, settings
from dynamics.errors import LindynError, ParameterError
from tests.derivations.rates import DECAY, JEPA, MAE


def sentences(*terms):
    return [line.sentence for line in other_lines(dict(terms))]


@pytest.mark.parametrize(
    ("numbers", "told"),
    [
        (([1.0], [float("inf")], [0.1], [0.5]), "rho is inf; it must be a finite decimal number"),
        (([1e400], [1.0], [0.1], [0.5]), "lambda is inf; it must be a finite decimal number"),
        (([1.0], [1.0], [0.1, float("nan")], [0.5]), "epsilon is nan"),
        (([1.0], [1.0], [0.1, -0.1], [0.5]), "epsilon is -0.1; it must be a positive decimal number"),
        (([1.0], [1.0], [0.1], [0.5, 1.0]), "fraction is 1; it must be strictly between 0 and 1"),
        (([1.0, -1.0], [0.5], [0.1], [0.5]), "rho is 0.5; it must be a negative decimal number"),
        (([0.0], [0.0], [0.1], [0.5]), "lambda is 0; it must be other than 0"),
    ],
)
def test_numbers_are_refused_before_anything_is_derived(numbers, told):
    with pytest.raises(ParameterError) as refused:
        settings(*numbers)
    assert told in str(refused.value)


def test_one_start_on_a_fixed_point_does_not_cost_the_other_rows():
    found = answers(derive("jepa", 2, 1), settings([1.0], [1.0, 0.5], [1.0, 0.1], [0.5]))
    assert [answer.found.status for answer in found] == ["already-reached", "already-reached", "reached", "reached"]
    assert found[0].found.time == 0


@pytest.mark.parametrize("digits", [2, 5, 30, 200, 1000])
def test_as_many_digits_as_asked_for_are_shown(digits):
    derivation = derive("mae", 1, 1)
    told = json.loads(as_json(derivation, answers(derivation, settings([0.5], [1.0], [0.1], [0.5]), digits)))
    shown = told["numbers"][0]["critical_time"]
    assert len(shown.replace(".", "")) == digits
    with precision(4000):
        assert abs(arb(shown) - arb(33).log()) < 0.6 * arb(10) ** (1 - digits)


@pytest.mark.parametrize("digits", [0, -1, 1001, 1.5, True])
def test_digits_out_of_range_are_refused(digits):
    with pytest.raises(ParameterError, match="a whole number from 1 to 1000"):
        answers(derive("mae", 1, 1), [], digits)


def test_every_format_tells_how_numbers_are_read():
    derivation = derive("mae", 1, 1)
    found = answers(derivation, settings([1.0], [1.0], [0.1], [0.5]))
    assert READING == "Numbers are read as the decimals written; the digits shown are certified."
    assert as_text(derivation, found).endswith(f"{READING}\n")
    assert READING in as_latex(derivation, found)
    assert READING not in as_text(derivation)
    content = json.loads(as_json(derivation, found))
    assert (content["reading"], content["time_convention"]) == (READING, "training")


def test_long_decimals_are_shown_as_they_were_written():
    derivation = derive("mae", 1, 1)
    found = answers(derivation, settings(["1.00000000000000000001"], ["1"], ["1e-400"], ["0.5"]))
    assert "lambda 1.00000000000000000001, rho 1.0, epsilon 1E-400," in as_text(derivation, found).replace("\n    ", " ")


def test_negative_lambda_needs_a_balance_that_does_not_depend_on_it():
    plain = derive("jepa", 2, 1)
    assert [answer.found.status for answer in answers(plain, settings([-1.0], [-1.0], [0.1], [0.5]))] == ["never"]
    loss = "-u*sg(v**2)*(1 - sg(u)) - lam*v*sg(u*v)*(1 - sg(u))"
    derivation = derive_loss(loss, 1, 1)
    assert any(line.title == "Conserved quantity" for line in derivation.lines)
    with pytest.raises(ParameterError, match="takes roots of it"):
        answers(derivation, settings([-1.0], [-1.0], [0.1], [0.5]))


def test_numbers_name_the_depth_that_is_missing():
    with pytest.raises(LindynError, match="need a --predictor-depth"):
        answers(derive("jepa", 2), settings([1.0], [1.0], [0.1], [0.5]))


@pytest.mark.parametrize("depth", [50, 120, 190, 1000])
@pytest.mark.parametrize("loss", [f"0.5*({JEPA}) + 0.5*({MAE})", f"{JEPA} + 0.01{DECAY}"], ids=["mixture", "decay"])
@pytest.mark.slow
@pytest.mark.timed
def test_a_loss_outside_the_family_is_derived_in_seconds_at_any_depth(loss, depth):
    began = time.perf_counter()
    derivation = derive_loss(loss, depth, 7)
    as_text(derivation)
    if depth < 1000:
        answers(derivation, settings([1.0], [0.9], [0.01], [0.5]))
    assert time.perf_counter() - began < 5.0
    assert ("left out because the polynomial du/dt has degree" in derivation.lines[-1].sentence) == (depth > 50)


def test_the_fixed_points_of_numbers_alone_are_left_out_at_large_degree():
    derivation = derive_loss(f"({JEPA} + {DECAY[1:]}/50)".replace("lam", "1").replace("sigma", "1"), 900, 1)
    assert "too large to isolate them" in derivation.lines[-2].sentence


def test_where_the_antiderivative_is_real_is_said():
    (_, decay) = sentences((S(1), -rho), (S(4), lam), (S(5), -lam / rho))
    assert "below the first positive fixed point (everywhere, if there is none); above that read ln(X) as ln|X|" in decay
    assert decay.endswith("A sum over roots runs over the zeros r of the polynomial named.")
    (_, single) = sentences((S(2), lam), (S(3), lam), (S(4), -lam / rho))
    assert "below the positive fixed point; above" in single
    fixed, one = sentences((S(1), lam - lam / rho))
    assert "There is no positive fixed point" in fixed
    assert one.endswith("It is real for all u > 0.")
    assert "sum over roots" not in one


def test_only_the_depths_that_are_missing_are_asked_for():
    (both,) = sentences((L + M, lam), (L, -rho), (L + 2, lam))
    (deep,) = sentences((L + 1, lam), (L, -rho), (L + 2, lam))
    assert both.endswith("need --depth and --predictor-depth.")
    assert deep.endswith("need --depth.")


def test_fractional_exponents_get_fixed_points_and_partial_fractions():
    derivation = derive_loss("lam*u**2/2 - rho*u**1.5 + u**3/5", 1)
    assert [line.title for line in derivation.lines[-2:]] == ["Fixed points", "Time by partial fractions"]
    assert "proved by differentiation in y = sqrt(u)" in derivation.lines[-1].sentence


def test_irrational_coefficients_leave_partial_fractions_out_and_numbers_in():
    terms = {S(1): -sqrt(2), S(2): 4 * lam, S(3): -rho}
    (_, left) = sentences(*terms.items())
    assert "left out because a coefficient is an irrational number. With --lambda and --rho" in left
    assert critical_time(terms, Setting(1, 1, "0.5")).status == "reached"


@pytest.mark.slow
@pytest.mark.timed
def test_too_many_terms_leave_partial_fractions_out():
    began = time.perf_counter()
    repeated = derive_loss("-lam*u*sg(u*(1 - u/rho)**12)", 1)
    long = derive_loss("(1+u)**100 - 200*u - lam*u**2", 1)
    assert "repeated zeros and " in repeated.lines[-1].sentence
    assert "has degree 99 and 100 terms" in long.lines[-1].sentence
    assert time.perf_counter() - began < 5.0
