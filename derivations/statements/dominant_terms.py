"""The critical time for a small start to leading order: which term dominates, and which knows rho first."""

from __future__ import annotations

from sympy import Expr, S, Symbol, log

from derivations.closed_form import critical_time
from derivations.expansion import (
    dominant_term,
)
from derivations.gradient_flow import Member, mode
from derivations.integrals import Duration
from derivations.notation import (
    UNIT,
    Domain,
    Integers,
    L,
    M,
    NonZero,
    a,
    b,
    epsilon,
    lam,
    n,
    rho,
    rho_A,
    rho_B,
    ustar,
    x,
    x1,
)
from derivations.proof import Identity, Proof, RatioLimit, Step
from derivations.statement import JEPA_PAPER, statements_from
from derivations.statements.closed_forms import d
from derivations.statements.modes import BALANCED, FAMILY, MEMBER, ONE_PREDICTOR_LAYER

statement = statements_from(f"{JEPA_PAPER}, critical times for a small start")

star_A, star_B = (Symbol(f"u_*{name}", positive=True) for name in "AB")
SMALL_START = ("epsilon tends to 0",)
DEEP: Domain = {L: Integers(2, 4), M: Integers(1, 3), a: Integers(2, 6), b: Integers(1, 4), x: UNIT}
FROM_ONE_LAYER: Domain = {**DEEP, L: Integers(1, 4)}
DISTINCT: Domain = {star_A**b - star_B**b: NonZero(), star_A**M - star_B**M: NonZero()}
"""rho_A and rho_B differ."""


def time_from(member: Member, start: Expr = x) -> Expr:
    """The critical time from the layer amplitude ``start``, one encoder layer's share of epsilon."""
    return critical_time(member).subs(epsilon, start**L)


def at(objective: str, star: Expr) -> Member:
    """The mode of an objective whose layer's fixed point is ``star``."""
    member = mode(objective)
    return Member(member.growth, member.a, member.b, star**member.b)


def blind(term: Expr) -> Proof:
    """The term depends neither on rho nor on the fixed point."""
    return tuple(Identity("It does not know rho.", term.diff(symbol), S.Zero) for symbol in (rho, ustar))


def dominates(member: Member, term: Expr, what: str = "The critical time over the term tends to 1.") -> Step:
    """The time's leading term as the start tends to 0."""
    return RatioLimit(what, time_from(member), term.subs(epsilon, x**L), x, S.One)


def knows_rho(pair: tuple[Member, Member], term: Expr) -> Step:
    """The leading term of the difference that two values of rho make."""
    one, other = (time_from(member) for member in pair)
    shown = term.subs({epsilon: x**L, rho_A: star_A ** pair[0].b, rho_B: star_B ** pair[1].b})
    return RatioLimit("The difference of the times over the term tends to 1.", one - other, shown, x, S.One)


@statement(
    "dominant-term",
    claim="For a > 1 the critical time is {term} to leading order: it does not know rho.",
    hypotheses=(*BALANCED, *FAMILY, *SMALL_START),
    domain=FROM_ONE_LAYER,
)
def dominant_term_statement(term: Expr = dominant_term(MEMBER)) -> Proof:
    return (dominates(Member(lam, a, b, ustar**b), term), *blind(term))


dominant_term_statement.mutant("exponent a/L", term=epsilon ** (-a / L) / ((a - 1) * lam))
dominant_term_statement.mutant("coefficient 1/a", term=epsilon ** (-(a - 1) / L) / (a * lam))
dominant_term_statement.mutant("it knows rho in a smaller term", term=dominant_term(MEMBER) * (1 + rho * epsilon))
dominant_term_statement.mutant("it knows rho", term=epsilon ** (-(a - 1) / L) / ((a - 1) * lam * rho))


@statement(
    "jepa-dominant-term-is-blind-to-rho",
    claim="JEPA's critical time is {term} to leading order, whatever rho.",
    hypotheses=(*ONE_PREDICTOR_LAYER, *SMALL_START),
    domain={L: Integers(1, 4)},
)
def jepa_dominant_term(term: Expr = epsilon ** (-(2 * L - 1) / L) / ((2 * L - 1) * lam)) -> Proof:
    member = at("jepa", ustar)
    return (dominates(Member(lam, member.a.subs(M, 1), S.One, ustar), term), *blind(term))


jepa_dominant_term.mutant("exponent 2L-2", term=epsilon ** (-(2 * L - 2) / L) / ((2 * L - 1) * lam))
jepa_dominant_term.mutant("coefficient without 2L-1", term=epsilon ** (-(2 * L - 1) / L) / lam)
jepa_dominant_term.mutant("the n = 1 term leads", term=epsilon ** (-1 / L) / (lam * ustar ** (2 * L - 2)))


@statement(
    "mae-dominant-term-is-blind-to-rho",
    claim="MAE's critical time is {term} to leading order for L + M > 2, whatever rho; for L = M = 1 it is {logarithm}.",
    hypotheses=(*BALANCED, *SMALL_START),
    domain={L: Integers(2, 4), M: Integers(1, 3)},
)
def mae_dominant_term(
    term: Expr = epsilon ** (-(L + M - 2) / L) / ((L + M - 2) * lam), logarithm: Expr = -log(epsilon) / lam
) -> Proof:
    def with_one_encoder_layer(decoder_layers: Expr) -> Expr:
        exponent, saturation = (power.subs({L: 1, M: decoder_layers}) for power in (mode("mae").a, mode("mae").b))
        return time_from(Member(lam, exponent, saturation, ustar**saturation)).subs(L, 1)

    return (
        dominates(at("mae", ustar), term, "For L > 1 the time over the term tends to 1."),
        RatioLimit(
            "With one encoder layer and n + 1 decoder layers as well.",
            with_one_encoder_layer(n + 1),
            term.subs({L: 1, M: n + 1, epsilon: x}),
            x,
            S.One,
        ),
        RatioLimit(
            "With one layer each, the time over the logarithm tends to 1.",
            with_one_encoder_layer(S.One),
            logarithm.subs(epsilon, x),
            x,
            S.One,
        ),
        RatioLimit("For a = 1 and any b, T over -ln x0 tends to 1.", Duration(S.One, b, x, x1), -log(x), x, S.One),
        *blind(term),
        *blind(logarithm),
    )


mae_dominant_term.mutant("JEPA's exponent", term=epsilon ** (-(2 * L + M - 2) / L) / ((2 * L + M - 2) * lam))
mae_dominant_term.mutant("coefficient 1/(L+M-1)", term=epsilon ** (-(L + M - 2) / L) / ((L + M - 1) * lam))
mae_dominant_term.mutant("half the logarithm", logarithm=-log(epsilon) / (2 * lam))


@statement(
    "first-term-that-knows-rho",
    claim="For a - 1 > b the difference of the times of equal lambda is {term} to leading order: rho enters at the "
    "relative order epsilon^(b/L).",
    hypotheses=(*BALANCED, *FAMILY, "rho_A and rho_B differ", *SMALL_START),
    domain={**FROM_ONE_LAYER, **DISTINCT},
)
def first_term_that_knows_rho(
    term: Expr = epsilon ** (-(a - 1 - b) / L) / ((a - 1 - b) * lam) * (1 / rho_A - 1 / rho_B),
) -> Proof:
    above = b + 1 + d
    pair = Member(lam, above, b, star_A**b), Member(lam, above, b, star_B**b)
    relative = (a - 1) / (a - 1 - b) * (1 / rho_A - 1 / rho_B) * epsilon ** (b / L)
    return (
        knows_rho(pair, term.subs(a, above)),
        Identity(
            "It is of order epsilon^(b/L) beside the dominant term.",
            term.subs(a, above),
            (relative * dominant_term(MEMBER)).subs(a, above),
        ),
    )


first_term_that_knows_rho.mutant(
    "order of the dominant term", term=epsilon ** (-(a - 1) / L) / ((a - 1) * lam) * (1 / rho_A - 1 / rho_B)
)
first_term_that_knows_rho.mutant(
    "coefficient 1/(a-1)", term=epsilon ** (-(a - 1 - b) / L) / ((a - 1) * lam) * (1 / rho_A - 1 / rho_B)
)
first_term_that_knows_rho.mutant(
    "higher rho later", term=epsilon ** (-(a - 1 - b) / L) / ((a - 1 - b) * lam) * (1 / rho_B - 1 / rho_A)
)


@statement(
    "jepa-first-term-that-knows-rho",
    claim="For L > 1 JEPA's times of equal lambda differ by {term} to leading order: the second power of 1/epsilon is "
    "the first to know rho.",
    hypotheses=(*BALANCED, "L > 1", "rho_A and rho_B differ", *SMALL_START),
    domain={**DEEP, **DISTINCT},
)
def jepa_first_term(
    term: Expr = epsilon ** (-(2 * L - 2) / L) / ((2 * L - 2) * lam) * (1 / rho_A - 1 / rho_B),
) -> Proof:
    return (knows_rho((at("jepa", star_A), at("jepa", star_B)), term),)


jepa_first_term.mutant("the n = 1 term", term=epsilon ** (-1 / L) / lam * (rho_A ** -(2 * L - 2) - rho_B ** -(2 * L - 2)))
jepa_first_term.mutant("the dominant term", term=epsilon ** (-(2 * L - 1) / L) / ((2 * L - 1) * lam) * (1 / rho_A - 1 / rho_B))
jepa_first_term.mutant("coefficient one", term=epsilon ** (-(2 * L - 2) / L) / lam * (1 / rho_A - 1 / rho_B))
