"""Who is first at equal lambda: JEPA by rho, MAE hardly, and what the depths of encoder and predictor do to it."""

from __future__ import annotations

from sympy import Expr, Integer, S, Symbol, log

from derivations.gradient_flow import Member, mode
from derivations.integrals import Tail
from derivations.notation import (
    Integers,
    L,
    M,
    epsilon,
    lam,
    p,
    rho,
    rho_A,
    rho_B,
    u,
    ustar,
    x,
    x1,
)
from derivations.proof import Identity, Limit, Positive, Proof
from derivations.statement import JEPA_PAPER, statements_from
from derivations.statements.dominant_terms import (
    DEEP,
    DISTINCT,
    SMALL_START,
    at,
    dominates,
    knows_rho,
    star_A,
    star_B,
)
from derivations.statements.expansions import mae_constant
from derivations.statements.modes import BALANCED, ONE_PREDICTOR_LAYER

statement = statements_from(f"{JEPA_PAPER}, order of features at equal covariance; the ratios derived here")

gap = Symbol("delta", positive=True)
EQUAL_LAMBDA = ("equal lambda", "rho_A and rho_B differ")


@statement(
    "jepa-equal-lambda-ratio",
    claim="For L > 1 JEPA's t(rho_A)/t(rho_B) is 1 + {correction} to leading order: for a small enough start higher rho comes "
    "first, and the more so the deeper the encoder.",
    hypotheses=(*BALANCED, "L > 1", *EQUAL_LAMBDA, *SMALL_START),
    domain={**DEEP, **DISTINCT},
)
def jepa_equal_lambda_ratio(
    correction: Expr = (2 * L + M - 2) / (2 * L - 2) * (1 / rho_A - 1 / rho_B) * epsilon ** (M / L),
) -> Proof:
    leading = epsilon ** (-(2 * L + M - 2) / L) / ((2 * L + M - 2) * lam)
    return (
        dominates(at("jepa", star_B), leading, "The second time over its dominant term tends to 1."),
        knows_rho((at("jepa", star_A), at("jepa", star_B)), leading * correction),
        Positive("It is positive where rho_B exceeds rho_A.", correction.subs(rho_B, rho_A + gap)),
        Limit("Over that of one layer more it vanishes with epsilon = x^(L(L+1)).", _against_deeper(correction), x, S.Zero),
    )


def _against_deeper(correction: Expr) -> Expr:
    """The correction over that of an encoder of one layer more, from the same epsilon."""
    return (correction / correction.subs(L, L + 1)).subs(epsilon, x ** (L * (L + 1)))


jepa_equal_lambda_ratio.mutant(
    "a deeper predictor gives more robust features",
    correction=(2 * L + M - 2) / (2 * L - 2) * (1 / rho_A - 1 / rho_B) * epsilon ** (1 / (L * M)) * M,
)
jepa_equal_lambda_ratio.mutant(
    "the n = 1 term knows rho",
    correction=(2 * L - 1) * (rho_A ** -(2 * L - 2) - rho_B ** -(2 * L - 2)) * epsilon ** (2 - 2 / L),
)
jepa_equal_lambda_ratio.mutant("coefficient one", correction=(1 / rho_A - 1 / rho_B) * epsilon ** (M / L))
jepa_equal_lambda_ratio.mutant(
    "lower rho first", correction=(2 * L + M - 2) / (2 * L - 2) * (1 / rho_B - 1 / rho_A) * epsilon ** (M / L)
)


@statement(
    "deeper-predictor-weakens-the-bias",
    claim="One more predictor layer multiplies JEPA's correction {correction} by {factor}, which tends to 0 with epsilon.",
    hypotheses=(*BALANCED, "L > 1", *EQUAL_LAMBDA, *SMALL_START),
    domain={**DEEP, **DISTINCT},
)
def deeper_predictor_weakens(
    correction: Expr = (2 * L + M - 2) / (2 * L - 2) * (1 / rho_A - 1 / rho_B) * epsilon ** (M / L),
    factor: Expr = (2 * L + M - 1) / (2 * L + M - 2) * epsilon ** (1 / L),
) -> Proof:
    return (
        *jepa_equal_lambda_ratio.prove(correction),
        Identity("The corrections at M + 1 and at M.", correction.subs(M, M + 1), correction * factor),
        Limit("The factor.", factor.subs(epsilon, x**L), x, S.Zero),
    )


deeper_predictor_weakens.mutant("it strengthens the bias", factor=(2 * L + M - 1) / (2 * L + M - 2) * epsilon ** (-1 / L))
deeper_predictor_weakens.mutant("depth of the predictor does not matter", factor=S.One)
deeper_predictor_weakens.mutant(
    "order epsilon^(1/(L M))",
    correction=(1 / rho_A - 1 / rho_B) * epsilon ** (1 / (L * M)),
    factor=epsilon ** (-1 / (L * M * (M + 1))),
)


@statement(
    "jepa-equal-lambda-ratio-one-layer",
    claim="For L = 1 JEPA's t(rho_A)/t(rho_B) is 1 - {correction} to leading order.",
    hypotheses=(*BALANCED, "L = 1", *EQUAL_LAMBDA, *SMALL_START),
    domain={M: Integers(1, 3), **DISTINCT},
)
def jepa_equal_lambda_ratio_one_layer(
    correction: Expr = M * (1 / rho_A - 1 / rho_B) * epsilon**M * log(epsilon),
) -> Proof:
    leading = epsilon**-M / (M * lam)
    one, other = (Member(lam, M + 1, M, star**M) for star in (star_A, star_B))
    return (
        dominates(other, leading.subs(epsilon, epsilon ** (1 / L)), "The second time over its dominant term tends to 1."),
        knows_rho((one, other), (-leading * correction).subs(epsilon, epsilon ** (1 / L))),
    )


jepa_equal_lambda_ratio_one_layer.mutant("no logarithm", correction=-M * (1 / rho_A - 1 / rho_B) * epsilon**M)
jepa_equal_lambda_ratio_one_layer.mutant("half", correction=M * (1 / rho_A - 1 / rho_B) * epsilon**M * log(epsilon) / 2)
jepa_equal_lambda_ratio_one_layer.mutant("lower rho first", correction=-M * (1 / rho_A - 1 / rho_B) * epsilon**M * log(epsilon))

_shift = rho_A ** (-(L - 1) / (L + 1)) - rho_B ** (-(L - 1) / (L + 1))


@statement(
    "mae-equal-lambda-ratio",
    claim="For L > 1 MAE's t(rho_A)/t(rho_B) is 1 + K_L(p) {correction} to leading order, of a power of epsilon that "
    "rises with depth.",
    hypotheses=(*ONE_PREDICTOR_LAYER, "L > 1", "K_L(p) as in mae-expansion, not 0", *EQUAL_LAMBDA, *SMALL_START),
    domain={L: Integers(2, 5)},
)
def mae_equal_lambda_ratio(correction: Expr = (L - 1) * _shift * epsilon ** ((L - 1) / L)) -> Proof:
    leading = epsilon ** (-(L - 1) / L) / ((L - 1) * lam)

    def exact(star: Expr) -> Expr:
        def primitive(layer: Expr) -> Expr:
            return -(layer ** (1 - L)) / (L - 1) + Tail(Integer(2), L + 1, layer)

        return star ** (1 - L) / lam * (primitive(x1) - primitive(x / star))

    claimed = (leading * correction).subs({epsilon: x**L, rho_A: star_A ** (L + 1), rho_B: star_B ** (L + 1)})
    return (
        dominates(Member(lam, L, L + 1, star_B ** (L + 1)), leading, "The second time over its dominant term tends to 1."),
        Limit(
            "The difference of the times, K_L(p) times the claim over it, tends to 0.",
            exact(star_A) - exact(star_B) - claimed * mae_constant(x1**L),
            x,
            S.Zero,
        ),
        Limit(
            "Its power of epsilon: that of one layer more, over it, vanishes with epsilon = x^(L(L+1)).",
            1 / _against_deeper(correction / _shift),
            x,
            S.Zero,
        ),
    )


mae_equal_lambda_ratio.mutant("JEPA's order", correction=(L - 1) * _shift * epsilon ** (1 / L))
mae_equal_lambda_ratio.mutant("the other way round", correction=-(L - 1) * _shift * epsilon ** ((L - 1) / L))
mae_equal_lambda_ratio.mutant("1/rho", correction=(L - 1) * (1 / rho_A - 1 / rho_B) * epsilon ** ((L - 1) / L))


@statement(
    "mae-equal-lambda-ratio-one-layer",
    claim="With one encoder and one decoder layer MAE's t(rho_A)/t(rho_B) is 1 + {correction} to leading order.",
    hypotheses=(*BALANCED, *EQUAL_LAMBDA, *SMALL_START),
)
def mae_equal_lambda_ratio_one_layer(correction: Expr = (log(rho_B) - log(rho_A)) / (2 * log(epsilon))) -> Proof:
    def exact(share: Expr) -> Expr:
        return (2 * log(p) + log(share) + log(1 - x**2 / share) - 2 * log(x) - log(1 - p**2)) / (2 * lam)

    leading = -log(x) / lam
    lost = -1 / mode("mae").rate.subs({L: 1, M: 1, u: x})
    return (
        Identity("The exact time loses what passes at the start.", exact(rho).diff(x), lost),
        Identity("It is 0 on the threshold p rho^(1/2).", exact(ustar**2).subs(x, p * ustar), S.Zero),
        Limit("The second time over |ln epsilon|/lambda tends to 1.", exact(rho_B) / leading, x, S.One),
        Limit(
            "The difference of the times less the claim tends to 0.",
            exact(rho_A) - exact(rho_B) - leading * correction.subs(epsilon, x),
            x,
            S.Zero,
        ),
    )


mae_equal_lambda_ratio_one_layer.mutant("without 1/2", correction=(log(rho_B) - log(rho_A)) / log(epsilon))
mae_equal_lambda_ratio_one_layer.mutant("higher rho first", correction=(log(rho_A) - log(rho_B)) / (2 * log(epsilon)))
mae_equal_lambda_ratio_one_layer.mutant("1/rho", correction=(1 / rho_B - 1 / rho_A) / (2 * log(epsilon)))
