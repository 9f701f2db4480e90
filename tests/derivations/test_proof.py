"""Every kind of step accepts what is true and rejects what is not, by reduction and, apart from it, in numbers."""

from random import Random

import pytest
from sympy import Expr, I, Integer, Integral, Rational, S, Symbol, log, sqrt

import derivations.statements  # noqa: F401 - registers them
from derivations.balls import DIGITS, NotANumberError
from derivations.integrals import Duration, Tail
from derivations.notation import UNIT, Domain, Integers, L, M, Reals, a, b, lam, n, p, range_of, rho, u, v, x, x0, x1
from derivations.proof import (
    POINTS,
    Bracket,
    CertifiedPositive,
    Finding,
    Identity,
    Limit,
    Positive,
    RatioLimit,
    Sampled,
    Step,
    Telescoping,
    approaches,
    zero_at,
)
from derivations.reduction import UndecidedError
from derivations.statement import STATEMENTS, statement

DOMAIN: Domain = {a: Integers(2, 6), b: Integers(1, 4), L: Integers(2, 4), n: Integers(3, 6)}
CLOSE = Rational(1, 10**30)
y = Symbol("y", positive=True)


def points(step: Step, count: int = 4) -> list[dict[Symbol, Rational]]:
    random, names = Random(0), sorted(step.symbols(), key=str)
    return [{symbol: range_of(symbol, DOMAIN).sample(random) for symbol in names} for _ in range(count)]


def by_reduction(step: Step) -> bool:
    try:
        return step.reduce(DOMAIN) == ""
    except UndecidedError:
        return False


def in_numbers(step: Step) -> list[bool]:
    return [step.holds_at(point, DOMAIN) for point in points(step)]


def found(step: Step) -> Finding:
    return step.check(DOMAIN, Random(0))


TRUE = {
    "identity": Identity("", (u**L - 1) / (u - 1) * (u - 1), u**L - 1),
    "identity with logarithms": Identity("", log(u**L / rho), L * log(u) - log(rho)),
    "identity of integrals": Identity("", Tail(a, b, x).diff(x), x ** (a - 1) / (1 - x**b)),
    "identity of numbers": Identity("", S(2) ** 10, Integer(1024)),
    "positive": Positive("", (1 - x) * rho),
    "positive, symbolic power": Positive("", u ** (L - 1) / (1 - x)),
    "certified": CertifiedPositive("", log(Integer(2)) - Rational(69, 100)),
    "telescoping": Telescoping("", n, n * (n + 1) / 2, n),
    "telescoping, geometric": Telescoping("", u**-n, (u**-n - 1) / (1 - u), n),
    "telescoping from 3": Telescoping("", 2 * n, n * (n + 1) - 6, n, Integer(3)),
    "limit": Limit("", (rho + u * x**L) / (1 - x), x, rho),
    "limit with logarithm": Limit("", (2 * log(x) + rho) / log(x), x, Integer(2)),
    "limit of a tail": Limit("", Tail(a, b, x) / x**a, x, 1 / a),
    "ratio of infinities": RatioLimit("", Duration(a, b, x, x1), x ** (1 - a) / (a - 1), x, S.One),
    "ratio of zeros": RatioLimit("", Tail(a, b, x), x**a / a, x, S.One),
    "ratio of logarithms": RatioLimit("", Duration(1, b, x, x1), log(x), x, -S.One),
    "bracket": Bracket("", p**2 - Rational(1, 2), p, Rational(7, 10), Rational(71, 100)),
    "quadrature": Sampled("", Integral(y ** (b - 1) / (1 - y**b), (y, x0 / 2, x0)), Tail(b, b, x0) - Tail(b, b, x0 / 2)),
}

FALSE = {
    "identity": Identity("", (u**L - 1) / (u - 1) * (u - 1), u**L + 1),
    "identity at one depth only": Identity("", u ** (L - 2) * v, v),
    "identity off by little": Identity("", u, u + CLOSE),
    "identity off by 1e-60": Identity("", u, u + CLOSE**2),
    "identity with logarithms": Identity("", log(u**L / rho), L * log(u) + log(rho)),
    "identity of integrals": Identity("", Tail(a, b, x).diff(x), x**a / (1 - x**b)),
    "identity of numbers": Identity("", S(2) ** 10, Integer(1000)),
    "negative": Positive("", (x - 1) * rho),
    "positive somewhere": Positive("", rho - 1),
    "zero": Positive("", u ** (L + 1) - u * u**L),
    "positive beyond the least depth": Positive("", L - 2),
    "telescoping, growth": Telescoping("", n, n**2, n),
    "telescoping, start": Telescoping("", n, n * (n + 1) / 2 + 1, n),
    "telescoping, one term": Telescoping("", n, n, n),
    "telescoping from the wrong start": Telescoping("", 2 * n, n * (n + 1), n, Integer(3)),
    "limit, constant": Limit("", (rho + u * x**L) / (1 - x), x, rho + Rational(1, 10**6)),
    "limit, zero": Limit("", Tail(a, b, x) / x**a, x, S.Zero),
    "limit, sign": Limit("", (2 * log(x) + rho) / log(x), x, -Integer(2)),
    "limit of what diverges": Limit("", 1 / x, x, S.One),
    "limit of what diverges slowly": Limit("", log(x), x, S.Zero),
    "ratio, constant": RatioLimit("", Duration(a, b, x, x1), x ** (1 - a) / a, x, S.One),
    "ratio, order": RatioLimit("", Duration(a, b, x, x1), x**-a / (a - 1), x, S.One),
    "ratio of zeros, constant": RatioLimit("", Tail(a, b, x), x**a, x, S.One),
    "bracket beside the zero": Bracket("", p**2 - Rational(1, 2), p, Rational(71, 100), Rational(72, 100)),
    "bracket of no zero": Bracket("", p**2 + 1, p, Rational(1, 10), Rational(9, 10)),
}


@pytest.mark.parametrize("step", TRUE.values(), ids=TRUE)
def test_a_true_step_holds_in_both_halves(step: Step) -> None:
    assert step.reduce(DOMAIN) == ""
    assert all(in_numbers(step))
    finding = found(step)
    assert finding.holds
    assert (finding.reduced, finding.refuted, finding.reason) == (True, False, "")
    assert finding.points == (POINTS if step.symbols() else 1)


CERTIFIED_BY_NUMBERS = ("bracket beside the zero", "bracket of no zero")


@pytest.mark.parametrize("step", [step for name, step in FALSE.items() if name not in CERTIFIED_BY_NUMBERS], ids=str)
def test_a_false_step_is_not_reduced(step: Step) -> None:
    assert not by_reduction(step)
    finding = found(step)
    assert not finding.reduced
    assert finding.reason


@pytest.mark.parametrize("step", FALSE.values(), ids=FALSE)
def test_a_false_step_is_refuted_in_numbers(step: Step) -> None:
    assert not all(in_numbers(step))
    finding = found(step)
    assert finding.refuted
    assert not finding.holds
    assert "fails" in finding.reason


FALSE_NUMBERS = [
    CertifiedPositive("", log(Integer(2)) - Rational(7, 10)),
    CertifiedPositive("", S.Zero),
    Sampled("", Integral(y**2, (y, 0, x0)), x0**3 / 2),
    Sampled("", Integral(y ** (b - 1) / (1 - y**b), (y, x0 / 2, x0)), Tail(b, b, x0)),
]


@pytest.mark.parametrize("step", FALSE_NUMBERS, ids=str)
def test_what_rests_on_numbers_alone_is_refuted_by_them(step: Step) -> None:
    assert not all(in_numbers(step))
    assert found(step).refuted


# --- what one half cannot do without the other ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [
        Identity("", log((1 - x) * (1 - x0)), log(1 - x) + log(1 - x0)),
        Positive("", (rho - u) ** 2 + CLOSE),
        Limit("", ((1 + x) ** L - 1) / x, x, L),
    ],
    ids=str,
)
def test_numbers_alone_prove_nothing(step: Step) -> None:
    assert not by_reduction(step)
    assert all(in_numbers(step))
    finding = found(step)
    assert not finding.holds
    assert not finding.refuted
    assert finding.points == POINTS
    assert finding.reason


def test_steps_that_numbers_decide_have_no_parameters() -> None:
    assert CertifiedPositive("", rho).reduce(DOMAIN) == "It has parameters."
    assert Bracket("", p - x * rho, p, S.Zero, S.One).reduce(DOMAIN) == "It has parameters."
    assert not found(CertifiedPositive("", rho)).holds


@pytest.mark.parametrize(
    "step",
    [
        Identity("", 1 / (u - u**L * u ** (1 - L)), S.One),
        Identity("", log(-u), log(-u)),
        Positive("", sqrt(-1 - rho)),
        CertifiedPositive("", Tail(1, 1, 2)),
        CertifiedPositive("", Duration(2, 1, Rational(1, 2), Integer(2))),
        Limit("", log(-x), x, S.Zero),
    ],
    ids=str,
)
def test_a_step_without_a_point_never_holds(step: Step) -> None:
    finding = found(step)
    assert finding.points == 0
    assert not finding.holds
    assert finding.reason


def test_a_finding_needs_points() -> None:
    assert not Finding(True, False, 0).holds
    assert Finding(True, False, 1).holds
    assert not Finding(False, False, 12).holds
    assert not Finding(True, True, 12).holds


@pytest.mark.parametrize(
    ("numerator", "denominator", "slopes"),
    [(rho + x, 1 + x, S.One), (x, 1 + x, S.One), (1 + 2 * x, x, S(2)), (1, rho + x, S.Zero)],
)
def test_l_hopital_is_refused_where_neither_the_denominator_diverges_nor_both_sides_vanish(
    numerator: Expr, denominator: Expr, slopes: Expr
) -> None:
    """The ratio of the slopes is another limit."""
    step = RatioLimit("", S.One * numerator, denominator, x, slopes)
    assert step.reduce(DOMAIN) == "Neither does the denominator diverge, nor do both sides vanish."
    assert not all(in_numbers(step))


def test_l_hopital_needs_only_the_denominator_to_diverge() -> None:
    assert RatioLimit("", rho + x, 1 / x, x, S.Zero).reduce(DOMAIN) == ""
    assert RatioLimit("", 1 / (rho + x), log(x), x, S.Zero).reduce(DOMAIN) == ""


@pytest.mark.parametrize("off", [1, -1, Rational(1, 10), Rational(-1, 100)])
@pytest.mark.parametrize("expression", [rho + x, rho + 1 / log(x), rho + x**L * log(x), rho + x ** (1 / L)], ids=str)
def test_a_wrong_constant_is_not_approached(expression: Expr, off: Rational) -> None:
    point = {rho: Rational(3, 7), L: Integer(2)}
    assert approaches(expression, rho, x, point)
    assert not approaches(expression, rho + off, x, point)


def test_a_difference_beyond_forty_digits_is_still_a_difference() -> None:
    assert not zero_at(u, u + Rational(1, 10**100), {u: Rational(1, 3)})
    assert not zero_at(log(u), log(u) + Rational(1, 10**60), {u: Rational(1, 3)})
    assert zero_at(log(u**2), 2 * log(u), {u: Rational(1, 3)})


def test_what_no_precision_separates_agrees_to_forty_digits() -> None:
    assert DIGITS == 40
    assert zero_at(log(u), log(u) + Rational(1, 10**90), {u: Rational(1, 3)})


def test_complex_values_are_compared_as_they_are() -> None:
    with pytest.raises(NotANumberError):
        zero_at(log(-u), log(u), {u: Rational(1, 3)})


def test_a_mutant_that_cannot_be_set_up_is_not_proved() -> None:
    @statement("nothing-of-the-kind", claim="{value} holds.", source="nowhere")
    def nothing(value: Expr = S.One):
        raise UndecidedError("No step.")

    try:
        verdict = nothing.examine()
        assert (verdict.proved, verdict.refuted, verdict.failure) == (False, False, "No step.")
    finally:
        del STATEMENTS["nothing-of-the-kind"]


# --- traps ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "step",
    [
        Limit("", x / (L - 7 + x), x, S.Zero),
        Limit("", 1 / (1 + (L - 7) * log(x)), x, S.Zero),
        RatioLimit("", rho + x, (L - 7) / x + 1, x, S.Zero),
        Limit("", x / (rho - 1 + x), x, S.Zero),
    ],
    ids=str,
)
def test_a_limit_that_is_another_at_one_point_of_the_domain_does_not_hold(step: Step) -> None:
    """At L = 7, or rho = 1, the limit is 1 or rho."""
    assert not found(step).holds


@pytest.mark.parametrize("symbol", [Symbol("r", real=True), Symbol("k", integer=True)], ids=str)
def test_a_symbol_of_unknown_range_is_not_positive(symbol: Symbol) -> None:
    assert not found(Positive("", symbol)).holds


def test_a_bracket_with_parameters_fails_and_does_not_stop_the_run() -> None:
    assert not found(Bracket("", p - x * rho, p, S.Zero, S.One)).holds


def test_a_tiny_positive_number_is_not_refuted() -> None:
    assert not found(CertifiedPositive("", sqrt(1 + Rational(1, 10**80)) - 1)).refuted


@pytest.mark.parametrize("expression", [1 / sqrt(-log(x)), x ** Rational(1, 1000)], ids=str)
def test_a_true_limit_that_is_approached_slowly_is_not_refuted(expression: Expr) -> None:
    assert not found(Limit("", expression, x, S.Zero)).refuted


def test_a_pole_is_no_zero() -> None:
    assert not found(Bracket("", 1 / (p - S.Half), p, Rational(1, 4), Rational(3, 4))).holds


@pytest.mark.parametrize("expression", [S.ComplexInfinity, S.NaN, S.Exp1 * u, I * u, abs(rho - u)], ids=str)
def test_what_has_no_enclosure_fails_its_step_and_not_the_run(expression: Expr) -> None:
    assert not found(Identity("", expression, S.One)).holds


# --- what others got wrong ------------------------------------------------------------------------------------------------

ERRORS = {
    "1a: the n = 1 term leads": ("jepa-dominant-term-is-blind-to-rho", "the n = 1 term leads"),
    "1b: the n = 1 term alone knows rho": ("jepa-first-term-that-knows-rho", "the n = 1 term"),
    "1c: and it makes the ratio": ("jepa-equal-lambda-ratio", "the n = 1 term knows rho"),
    "2a: L in the equation and in the time": ("one-curve-two-clocks", "an L in the equation and in its time"),
    "2b: L in the critical time": ("jepa-critical-time", "an L in the equation and in its time"),
    "2c: for any objective": ("critical-time", "an L in the equation and in its time"),
    "3a: JEPA regressed on y": ("jepa-asymptote", "regressed on y: MAE's asymptote"),
    "3b: regressing on y is JEPA": ("regressing-on-y-is-mae", "the asymptote of JEPA"),
    "4a: sigma is the amplitude, JEPA": ("jepa-product-mode", "sigma read as the amplitude"),
    "4b: sigma is the amplitude, MAE": ("mae-product-mode", "sigma read as the amplitude"),
    "6a: any constant will do": ("expansion-with-logarithm", "some other constant"),
    "6b: no constant will do": ("expansion", "the constant does not know the end"),
    "7a: a deeper predictor, more robust features": (
        "jepa-equal-lambda-ratio",
        "a deeper predictor gives more robust features",
    ),
    "7b: one more layer strengthens the bias": ("deeper-predictor-weakens-the-bias", "it strengthens the bias"),
    "8: the time tells rho": ("rho-elasticity-vanishes-with-the-start", "order one"),
}
"""Section 7 of the theory; its error 5, a sentinel for never, is no formula and is tested with the numbers."""


@pytest.mark.parametrize(("name", "mutant"), ERRORS.values(), ids=ERRORS)
def test_what_others_got_wrong_is_rejected(name: str, mutant: str) -> None:
    (wrong,) = (candidate for candidate in STATEMENTS[name].mutants if candidate.name == mutant)
    verdict = STATEMENTS[name].examine(wrong)
    assert not verdict.proved
    assert verdict.refuted


def test_samples_of_a_step_stay_inside_its_domain() -> None:
    step = Positive("", rho + x + L + M + lam)
    domain: Domain = {rho: Reals(1, 3, (Rational(1), Rational(3))), x: UNIT, L: Integers(2, 3)}

    class Seen(Positive):
        def holds_at(self, point, domain):
            assert 1 < point[rho] < 3
            assert 0 < point[x] < 1
            assert point[L] in (2, 3)
            return super().holds_at(point, domain)

    assert Seen("", step.expression).check(domain, Random(0)).holds
