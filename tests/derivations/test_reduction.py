"""What the normal forms accept is true; what they cannot know they do not claim."""

from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sympy import (
    Add,
    Expr,
    I,
    Integer,
    Mul,
    Rational,
    S,
    Symbol,
    cos,
    exp,
    factor,
    log,
    oo,
    pi,
    powsimp,
    sin,
    sqrt,
    together,
    zoo,
)

from derivations.balls import enclosed, evaluate
from derivations.integrals import Duration, Tail
from derivations.notation import UNIT, Domain, Integers, L, M, Reals, a, b, n, range_of, rho, sigma, u, v, x, x0, x1, z
from derivations.reduction import (
    Germ,
    UndecidedError,
    diverges_at_zero,
    germ,
    is_positive,
    limit_at_zero,
    normal,
    sign,
    vanishes,
)

real = Symbol("r", real=True)
complex_number = Symbol("q")
DEEP: Domain = {L: Integers(2, 5), M: Integers(1, 4), a: Integers(2, 6), b: Integers(1, 4)}


# --- zero -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        u ** (L + 1) - u * u**L,
        (u**L) ** 2 - u ** (2 * L),
        (u ** (1 / L)) ** L - u,
        u ** (2 * L + M - 1) / u ** (L - 1) - u ** (L + M),
        (1 - u ** (2 * M)) / (1 - u**M) - 1 - u**M,
        u ** ((L - 1) / L) - u / u ** (1 / L),
        u ** ((L**2 - 1) / (L + 1)) - u ** (L - 1),
        log(u**L * rho) - L * log(u) - log(rho),
        log(rho / u) + log(u / rho),
        (L**2 - 1) / (L - 1) - L - 1,
        1 / (1 - u) - 1 / ((1 - u**2) / (1 + u)),
        exp(u) * exp(v) - exp(u + v),
        sqrt(2) * sqrt(3) - sqrt(6),
        Tail(a, b, x) - Tail(a, b, x),
        Duration(a, b, x, x),
        S.Zero,
    ],
    ids=str,
)
def test_what_is_zero_vanishes(expression: Expr) -> None:
    assert vanishes(expression)
    assert normal(expression) == 0


@pytest.mark.parametrize(
    "expression",
    [
        u**L - u,
        u ** (L - 1) - 1,
        L * M - L,
        u ** (2 * L - 2) - u ** (L - 1),
        u ** (1 / L) - u ** (1 / M),
        log(u * rho) - log(u) + log(rho),
        Tail(a, b, x) - Tail(b, a, x),
        u + S(10) ** -100,
        S(10) ** -100,
        zoo,
        S.NaN,
        oo,
    ],
    ids=str,
)
def test_what_vanishes_for_some_depth_only_or_never_does_not_vanish(expression: Expr) -> None:
    assert not vanishes(expression)


@pytest.mark.parametrize(
    "expression",
    [
        sqrt(real**2) - real,
        sqrt(complex_number**2) - complex_number,
        (real**2) ** (L / 2) - real**L,
        (real ** (2 * L)) ** (1 / (2 * L)) - real,
        sqrt((rho - u) ** 2) - (rho - u),
        ((rho - u) ** 2) ** (L / 2) - (rho - u) ** L,
        log(real**2) - 2 * log(real),
        log((rho - u) ** 2) - 2 * log(rho - u),
        log((x - 1) * (z - 1)) - log(x - 1) - log(z - 1),
        sqrt((x - 1) * (z - 1)) - sqrt(x - 1) * sqrt(z - 1),
        log(1 / (x - 1)) + log(x - 1),
        log(exp(complex_number)) - complex_number,
    ],
    ids=str,
)
def test_a_branch_is_never_chosen(expression: Expr) -> None:
    """True for one sign of what stands inside, false for the other."""
    assert not vanishes(expression)


def test_what_lies_beyond_the_normal_forms_is_not_reduced() -> None:
    assert not vanishes(sin(x) ** 2 + cos(x) ** 2 - 1)
    assert not vanishes(exp(L * log(x)) - x**L)


def test_logarithms_of_negative_numbers_keep_their_imaginary_part() -> None:
    assert vanishes(log(-x) - log(x) - I * pi)
    assert not vanishes(log(-x) - log(x))


coefficients = st.integers(-4, 4).filter(bool).map(Integer)
exponents = st.builds(lambda one, by_depth: one + by_depth * L, st.integers(-3, 3), st.integers(-2, 2))
monomials = st.builds(
    lambda c, i, j, k: c * u**i * rho**j * v ** (k * M), coefficients, exponents, exponents, st.integers(-2, 2)
)
sums = st.lists(monomials, min_size=1, max_size=3).map(lambda terms: Add(*terms))
REWRITTEN = {
    "expanded": lambda whole: whole.expand(power_exp=True),
    "one fraction": together,
    "factored": factor,
    "powers collected": powsimp,
    "by a common factor": lambda whole: ((u**L + rho) * whole).expand() / (u**L + rho),
    "in u = y^L": lambda whole: whole.subs(u, z**L).subs(z, u ** (1 / L)),
}


def at_random(expression: Expr, seed: int = 0) -> dict[Symbol, Rational]:
    random = Random(seed)
    return {symbol: range_of(symbol, {}).sample(random) for symbol in sorted(expression.free_symbols | {L, M}, key=str)}


@pytest.mark.parametrize("how", REWRITTEN)
@settings(max_examples=50)
@given(whole=sums)
def test_rewriting_changes_nothing(how: str, whole: Expr) -> None:
    assert vanishes(whole - REWRITTEN[how](whole))


@settings(max_examples=50)
@given(sums, sums)
def test_what_vanishes_is_zero_at_a_point_and_what_does_not_is_not(one: Expr, other: Expr) -> None:
    product = (one * other).expand() - one * other
    assert vanishes(product)
    difference = one - other
    values = [evaluate(difference, at_random(difference, seed)) for seed in range(3)]
    assert vanishes(difference) == all(value == 0 for value in values)


@given(sums, monomials)
def test_a_perturbed_identity_does_not_vanish(whole: Expr, extra: Expr) -> None:
    assert not vanishes(whole + extra - REWRITTEN["expanded"](whole))


@settings(max_examples=40)
@given(sums, sums)
def test_the_normal_form_has_the_same_value(one: Expr, other: Expr) -> None:
    point = at_random(u * v * rho)
    assume(evaluate(other, point) != 0)
    assert evaluate(normal(one / other), point) == evaluate(one / other, point)


# --- positive -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "domain"),
    [
        (1 - x, {}),
        (rho + u, {}),
        (1 / (1 - x) - 1, {}),
        (-log(x), {}),
        (log(1 + rho), {}),
        (u ** (L - 1) / L, {}),
        (L - Rational(1, 2), {}),
        (1 / (L - 1), {L: Integers(2)}),
        (L * M - 1, {L: Integers(2)}),
        (3 - real, {real: Reals(-1, 3)}),
        (real + 1, {real: Reals(-1, 3)}),
        (real**2 + 4 * real + 4, {real: Reals(-1, oo)}),
        (n + 1, {n: Integers(0)}),
        (exp(rho), {}),
        ((1 - x) * (1 - z), {}),
    ],
    ids=str,
)
def test_what_is_positive_everywhere_is_found_so_with_its_sign(expression: Expr, domain: Domain) -> None:
    assert is_positive(expression, domain)
    assert not is_positive(-expression, domain)
    assert (sign(expression, domain), sign(-expression, domain)) == (1, -1)


@pytest.mark.parametrize(
    ("expression", "domain"),
    [
        (x - 1, {}),
        (rho - x, {}),
        (rho - 1, {}),
        ((rho - 1) ** 2, {}),
        (L - 1, {}),
        (L + M - 2, {}),
        ((L - 1) * x + (M - 1) * z, {}),
        (L * M - 1, {}),
        (L - 2, {L: Integers(2)}),
        (1 / (L - 1), {}),
        (u ** (L - 1) - 1, {}),
        (1 - u**L, {}),
        (log(rho), {}),
        (log(x), {}),
        (log(rho) ** 2, {}),
        (real, {real: Reals(-1, 1)}),
        (real**2, {real: Reals(-1, 1)}),
        (n, {n: Integers(0)}),
        (n + 1, {n: Integers(-3)}),
        (-real, {real: Reals(-oo, oo)}),
        (sin(x), {}),
        (Duration(a, b, x0, x1), {}),
        (sqrt(1 - rho), {}),
        ((-1) ** L, {}),
        (S.Zero, {}),
        (zoo, {}),
        (S.NaN, {}),
    ],
    ids=str,
)
def test_what_fails_somewhere_or_is_not_known_is_not_positive(expression: Expr, domain: Domain) -> None:
    assert not is_positive(expression, domain)


@pytest.mark.parametrize("expression", [L - 1, rho - 1, x - z, L - M, log(rho), x - x**L], ids=str)
def test_a_sign_that_varies_is_undecided(expression: Expr) -> None:
    with pytest.raises(UndecidedError, match=r"sign of .* is not decided"):
        sign(expression, {})


def test_the_sign_of_zero_is_zero_in_any_form() -> None:
    assert sign(u ** (L + 1) - u * u**L, {}) == 0


@settings(max_examples=50)
@given(sums)
def test_a_decided_sign_is_that_of_the_numbers(whole: Expr) -> None:
    try:
        found = sign(whole, {})
    except UndecidedError:
        assume(False)
    values = [evaluate(whole, at_random(whole, seed)) for seed in range(5)]
    assert all((value > 0) - (value < 0) == found for value in values)


@pytest.mark.parametrize("symbol", [real, Symbol("k", integer=True), complex_number], ids=str)
def test_a_symbol_of_unknown_range_is_not_taken_to_be_positive(symbol: Symbol) -> None:
    with pytest.raises(UndecidedError, match=r"The range of . is not known"):
        is_positive(symbol, {})


# --- limits ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "limit"),
    [
        (x, 0),
        (rho + x**L, rho),
        (x * log(x), 0),
        (x**L * log(x) ** 5, 0),
        (x ** (1 / L) * log(x) ** M, 0),
        (1 / log(x), 0),
        (log(2 * x + x**2) / log(x), 1),
        (log(2 * x) - log(x), log(2)),
        (log(1 - x**b) / x**b, -1),
        (log(1 + x / rho) / x, 1 / rho),
        (log(rho + x), log(rho)),
        ((1 - x**L) / (1 - x), 1),
        (sqrt(x**2 + x**4) / x, 1),
        (x ** (2 * L - 1) / (x ** (2 * L - 1) + x ** (2 * L)), 1),
        ((x**-L + x ** (-L - 1)) * x ** (L + 1), 1),
        ((x ** (-2 * L) / rho + log(x)) * x ** (2 * L), 1 / rho),
        ((2 * log(x) + 1) / (3 * log(x) - x), Rational(2, 3)),
        (Tail(a, b, x), 0),
        (Tail(a, b, x) / x**a, 1 / a),
        (Duration(a, b, x, x1) * x ** (a - 1), 1 / (a - 1)),
        (Duration(1, b, x, x1) / log(x), -1),
        ((u ** (L + 1) - u * u**L) / x, 0),
        (rho, rho),
    ],
    ids=str,
)
def test_limits_are_those_of_the_textbook(expression: Expr, limit: Expr) -> None:
    assert vanishes(limit_at_zero(expression, x, DEEP) - limit)


@pytest.mark.parametrize(
    "expression",
    [1 / x, log(x), x**-L, x ** (1 / L - 1), log(x) / x**L, x ** (L - M) + 1, Duration(a, b, x, x1), rho / x + 1],
    ids=str,
)
def test_what_has_no_finite_limit_is_undecided(expression: Expr) -> None:
    with pytest.raises(UndecidedError):
        limit_at_zero(expression, x, DEEP)


@pytest.mark.parametrize(
    "expression",
    [
        ((1 + x) ** L - 1) / x,
        (sqrt(1 + x) - 1) / x,
        (log(1 + x) - x) / x**2,
        (x**a / a - Tail(a, b, x)) / x ** (a + b),
    ],
    ids=str,
)
def test_leading_terms_that_cancel_are_undecided(expression: Expr) -> None:
    with pytest.raises(UndecidedError, match="cancel"):
        limit_at_zero(expression, x, DEEP)


@pytest.mark.parametrize(
    "expression",
    [
        x**x,
        exp(-1 / x),
        sin(1 / x),
        (1 + x) ** (1 / x),
        1 / log(-log(x)),
        Duration(a, b, x0, x),
        Tail(x, b, x1),
        1 / (x ** (1 / L) + x ** (1 / M)),
        x ** (L - 2),
        abs(x - 1),
    ],
    ids=str,
)
def test_what_the_reducer_does_not_know_is_undecided(expression: Expr) -> None:
    with pytest.raises(UndecidedError):
        limit_at_zero(expression, x, {L: Integers(1), M: Integers(1)})


@pytest.mark.parametrize(
    ("expression", "exponent", "logs"),
    [
        (x**L * log(x), L, 1),
        (x**-L + x ** (-L - 1), -L - 1, 0),
        (log(x) ** 2 / x + 1 / x, -1, 2),
        (sqrt(x**L + x ** (2 * L)), L / 2, 0),
        (log(1 + x ** (1 / L)), 1 / L, 0),
    ],
    ids=str,
)
def test_leading_terms_have_their_order(expression: Expr, exponent: Expr, logs: Expr) -> None:
    found = germ(expression, x, DEEP)
    assert vanishes(found.exponent - exponent)
    assert vanishes(found.logs - logs)


def test_what_does_not_depend_on_the_variable_is_its_own_leading_term() -> None:
    assert germ(rho * u, x, DEEP) == Germ(rho * u)


@pytest.mark.parametrize("expression", [1 / x, log(x), x**-L - rho, log(x) / x, Duration(a, b, x, x1)], ids=str)
def test_divergence_is_seen(expression: Expr) -> None:
    assert diverges_at_zero(expression, x, DEEP)


@pytest.mark.parametrize("expression", [x, rho + x, 1 / log(x), x * log(x), Tail(a, b, x), sigma], ids=str)
def test_what_stays_bounded_does_not_diverge(expression: Expr) -> None:
    assert not diverges_at_zero(expression, x, DEEP)


TINY = Rational(1, 2**20_000)
steps = st.builds(
    lambda c, order, logs: c * x ** Rational(order, 2) * log(x) ** logs, coefficients, st.integers(-4, 4), st.integers(0, 1)
)
small_sums = st.lists(steps, min_size=1, max_size=3).map(lambda terms: Add(*terms))


@given(small_sums, small_sums)
def test_a_claimed_limit_is_what_tiny_values_come_near(one: Expr, other: Expr) -> None:
    assume(not vanishes(other))
    try:
        found = limit_at_zero(one / other, x, {})
    except UndecidedError:
        assume(False)
    assert abs(float(enclosed(one / other - found, {x: TINY}))) < 0.01


@given(small_sums, small_sums)
def test_what_is_called_unbounded_exceeds_any_bound_that_its_order_allows(one: Expr, other: Expr) -> None:
    assume(not vanishes(other))
    try:
        found = diverges_at_zero(one / other, x, {})
    except UndecidedError:
        assume(False)
    assume(found)
    assert abs(enclosed(one / other, {x: TINY})) > 100


# --- where the ends of the integrals do not tend to 0, and where a coefficient does ---------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        Tail(1, b, (1 + x) / 3),
        Duration(a, b, (1 + x) / 3, x1),
        Duration(a, b, 1 / x, x1),
        1 / Tail(1, b, 1 / x),
        Duration(0, 1, x, x1) / log(x),
        1 / Duration(0, 1, x, x1),
    ],
    ids=str,
)
def test_an_integral_whose_end_does_not_tend_to_zero_is_undecided(expression: Expr) -> None:
    with pytest.raises(UndecidedError):
        limit_at_zero(expression, x, DEEP)


@pytest.mark.parametrize(
    "expression",
    [
        x / (L - 1 + x),
        1 / (1 + (L - 1) * log(x)),
        1 / (1 + log(x ** (L - 1))),
        x / (L - M + x),
        x / (rho - 1 + x),
        x / log(rho + x),
    ],
    ids=str,
)
def test_a_limit_that_is_another_where_a_coefficient_vanishes_is_undecided(expression: Expr) -> None:
    """All of them are claimed to tend to 0; at L = 1, L = M or rho = 1 they tend to 1."""
    with pytest.raises(UndecidedError):
        limit_at_zero(expression, x, {x: UNIT})


def test_a_hidden_zero_does_not_diverge() -> None:
    assert not diverges_at_zero(Mul((rho + 1) ** 2 - rho**2 - 2 * rho - 1, 1 / x, evaluate=False), x, {})
