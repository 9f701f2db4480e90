"""Time by partial fractions: proved by differentiation, compared with quadrature."""

import time

import mpmath as mp
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sympy import Poly, Rational, RootSum, S, log

from derivations.notation import lam, rho, u
from derivations.partial_fractions import antiderivative, is_antiderivative
from derivations.rates import polynomial
from tests.derivations.rates import DECAY, JEPA, at, quadrature, rate_of, terms_of

EXPRESSIONS = [
    u**2 * (1 - u) ** 2 * (u - 3),
    (1 - u) ** 3,
    u * (u**2 - 2) ** 2 * (u - 1),
    (u**3 + u + 1) ** 2 * u**3,
    u**-3 * (2 - u),
    u**-1 * (u**2 + 1) ** 3,
    1 + u + u**2,
    u**4,
    -u,
    u * (1 - u**4),
    u**5 * (1 - u**4 / rho),
    lam * u * (1 - u / rho) ** 2,
    lam * u**3 * (rho - u**2) ** 2 * (u + lam),
    lam * u**4 * (1 - u / rho) - u / 100,
    -3 * u**8 / 4 - 2 * u**7 - 4 * u**5,
    lam * u**3 - lam**2 * u**2 * rho - u**6,
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_antiderivatives_are_proved_by_differentiation_and_altered_ones_refused(expression):
    rate = rate_of(expression.expand())
    found = antiderivative(rate)
    assert is_antiderivative(found, 1 / expression)
    for altered in (found.expression + u, 2 * found.expression, found.expression + log(1 + u), -found.expression):
        assert not is_antiderivative(altered, 1 / expression)
    assert not is_antiderivative(found, 1 / expression + 1)


coefficients = st.fractions(-9, 9, max_denominator=9).map(lambda value: Rational(value.numerator, value.denominator))


@settings(max_examples=60)
@given(st.dictionaries(st.integers(-3, 7), coefficients, min_size=1, max_size=5))
def test_random_rates_have_proved_antiderivatives(terms):
    assume(any(terms.values()))
    rate = polynomial({S(exponent): coefficient for exponent, coefficient in terms.items()})
    found = antiderivative(rate)
    assert is_antiderivative(found, 1 / rate.expression)
    assert not is_antiderivative(found.expression + u, 1 / rate.expression)


def test_a_known_antiderivative_term_by_term():
    """JEPA at L = 2, as the theory page writes it."""
    found = antiderivative(polynomial(terms_of(JEPA), at(2)))
    expected = (-1 / (3 * u**3) - 1 / (2 * rho * u**2) - 1 / (rho**2 * u) + (log(u) - log(1 - u / rho)) / rho**3) / lam
    assert (found.expression - expected).expand() == 0


def test_repeated_zeros_are_told():
    assert antiderivative(rate_of((u * (1 - u) ** 2).expand())).is_repeated
    assert not antiderivative(rate_of((u**2 * (1 - u)).expand())).is_repeated


def test_residues_altered_at_the_roots_are_refused():
    rate = rate_of(u * (3 - u - u**5))
    expression = antiderivative(rate).expression
    (logarithms,) = expression.atoms(RootSum)
    assert is_antiderivative(expression, 1 / rate.expression)
    assert not is_antiderivative(expression - logarithms, 1 / rate.expression)
    shifted = RootSum(logarithms.poly.as_expr() + 1, logarithms.fun, x=logarithms.poly.gen, auto=False)
    assert not is_antiderivative(expression.xreplace({logarithms: shifted}), 1 / rate.expression)


def by_roots(rate, start, end):
    """The antiderivative between two rational amplitudes, the roots in it found by mpmath."""
    found = antiderivative(rate)
    low, high = (mp.mpf(int(at.p)) / int(at.q) for at in (start, end))
    total = mp.mpf(str((found.rational.subs(u, end) - found.rational.subs(u, start)).evalf(50)))
    total += horner(found.at_zero, 1) * mp.log(high / low)
    for part in found.sums:
        numerator, denominator = part.residue(u).as_numer_denom()
        for r in mp.polyroots([horner(c, 1) for c in part.polynomial.all_coeffs()], maxsteps=500, extraprec=400):
            total += horner(numerator, r) / horner(denominator, r) * mp.log((1 - high / r) / (1 - low / r))
    return mp.mpc(total)


def horner(expression, at):
    """The value of a polynomial in u with rational coefficients."""
    return mp.polyval([mp.mpf(int(c.p)) / int(c.q) for c in Poly(expression, u).all_coeffs()], at)


@pytest.mark.parametrize(
    ("rate", "start", "end"),
    [
        (rate_of(u**4 * (1 - u / Rational(3, 5)) - u / 100), Rational(3, 10), Rational(1, 2)),
        (rate_of(u**2 + u**4 - 2 * u**5), Rational(1, 1000), Rational(9, 10)),
        (rate_of(u * (3 - u - u**5)), Rational(1, 10), Rational(1)),
        (rate_of((u * (u**2 - 2) ** 2 * (u + 1)).expand()), Rational(1, 10), Rational(1)),
        (rate_of(u**-2 * (3 - u) * (u**2 + 1)), Rational(1, 10), Rational(2)),
    ],
    ids=lambda value: str(getattr(value, "expression", value)),
)
def test_partial_fractions_agree_with_quadrature(rate, start, end):
    with mp.workdps(50):
        integral = quadrature(rate, *(mp.mpf(int(x.p)) / int(x.q) for x in (start, end)))
        closed = by_roots(rate, start, end)
        assert abs(closed.imag) < mp.mpf(10) ** -38
        assert abs(closed.real / integral - 1) < mp.mpf(10) ** -38


def with_absolute_values(rate, at):
    """The antiderivative with ln|X| for the ln(X) of a real X."""
    found = antiderivative(rate)
    x = mp.mpf(int(at.p)) / int(at.q)
    total = mp.mpf(str(found.rational.subs(u, at).evalf(50))) + horner(found.at_zero, 1) * mp.log(x)
    for part in found.sums:
        numerator, denominator = part.residue(u).as_numer_denom()
        for r in mp.polyroots([horner(c, 1) for c in part.polynomial.all_coeffs()], maxsteps=500, extraprec=400):
            inside = 1 - x / r
            real = abs(inside.imag) < mp.mpf(10) ** -45
            total += horner(numerator, r) / horner(denominator, r) * mp.log(abs(inside) if real else inside)
    return mp.mpc(total)


@pytest.mark.parametrize(
    ("start", "end"),
    [(Rational(1, 10), Rational(1, 5)), (Rational(3, 10), Rational(1, 2)), (Rational(7, 10), Rational(2))],
    ids=["below", "between", "above"],
)
def test_absolute_values_carry_the_antiderivative_beyond_the_first_fixed_point(start, end):
    """Weight decay, with fixed points near 0.281 and 0.560."""
    rate = rate_of(u**4 * (1 - u / Rational(3, 5)) - u / 85)
    with mp.workdps(50):
        integral = quadrature(rate, *(mp.mpf(int(x.p)) / int(x.q) for x in (start, end)))
        closed = with_absolute_values(rate, end) - with_absolute_values(rate, start)
        assert abs(closed.imag) < mp.mpf(10) ** -38
        assert abs(closed.real / integral - 1) < mp.mpf(10) ** -38


@pytest.mark.slow
@pytest.mark.timed
def test_symbolic_partial_fractions_stay_fast_in_depth():
    rate = polynomial(terms_of(f"{JEPA} + 0.01{DECAY}"), at(8))
    began = time.perf_counter()
    assert is_antiderivative(antiderivative(rate), 1 / rate.expression)
    assert time.perf_counter() - began < 3.0
