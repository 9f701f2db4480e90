"""How the critical time answers to its parameters."""

from __future__ import annotations

from sympy import Expr, S, log

from derivations.closed_form import critical_time
from derivations.elasticity import BRACKET, BY_EPSILON, BY_FRACTION, BY_LAMBDA, BY_RHO, DURATION
from derivations.gradient_flow import Member, mode
from derivations.notation import L, a, b, epsilon, lam, p, t, ustar, x, x0, x1, z, z1
from derivations.proof import Identity, Positive, Proof, RatioLimit, Step
from derivations.statement import JEPA_PAPER, statements_from
from derivations.statements.closed_forms import FEW_LAYERS, d
from derivations.statements.modes import BALANCED, FAMILY

statement = statements_from(f"derived here from the critical times of {JEPA_PAPER}")

INTEGRAL = "T_(a,b)(x0, x1) is the integral of x^-a/(1-x^b) over x0..x1"
EXACT = (*BALANCED, *FAMILY, "x0 = epsilon^(1/L)/u* < x1 = p^(1/L)", INTEGRAL)
TIME = critical_time(Member(lam, a, b, ustar**b))


def _in_amplitudes(expression: Expr) -> Expr:
    """epsilon and p written with the scaled layer amplitudes x0 and x1."""
    return expression.subs({epsilon: (x0 * ustar) ** L, p: x1**L})


def _elasticity(parameter: Expr, claimed: Expr, weight: Expr = S.One) -> Step:
    """d ln t / d ln of the parameter (to the given power: weight 1/b for rho = u*^b)."""
    moved = parameter * TIME.diff(parameter) * weight
    return Identity(f"The derivative of t by ln {parameter}, over t.", _in_amplitudes(moved), claimed * _in_amplitudes(TIME))


@statement(
    "elasticity-lambda",
    claim="d ln t / d ln lambda = {elasticity} at fixed rho.",
    hypotheses=EXACT,
    domain=FEW_LAYERS,
)
def elasticity_lambda(elasticity: Expr = BY_LAMBDA) -> Proof:
    return (_elasticity(lam, elasticity),)


elasticity_lambda.mutant("+1", elasticity=S.One)
elasticity_lambda.mutant("-1/L", elasticity=-1 / L)
elasticity_lambda.mutant("-2", elasticity=-2 * S.One)


@statement(
    "elasticity-rho",
    claim="d ln t / d ln rho = {elasticity} at fixed lambda.",
    hypotheses=EXACT,
    domain=FEW_LAYERS,
)
def elasticity_rho(elasticity: Expr = BY_RHO) -> Proof:
    return (_elasticity(ustar, elasticity, 1 / b),)


elasticity_rho.mutant("without 1/b", elasticity=BY_RHO * b)
elasticity_rho.mutant("no saturation", elasticity=((1 - a) + x0 ** (1 - a) / DURATION) / b)
elasticity_rho.mutant("the end moves too", elasticity=((1 - a) + x1 ** (1 - a) / ((1 - x1**b) * DURATION)) / b)
elasticity_rho.mutant("scaling alone", elasticity=(1 - a) / b)


@statement("elasticity-epsilon", claim="d ln t / d ln epsilon = {elasticity}.", hypotheses=EXACT, domain=FEW_LAYERS)
def elasticity_epsilon(elasticity: Expr = BY_EPSILON) -> Proof:
    return (_elasticity(epsilon, elasticity),)


elasticity_epsilon.mutant("without 1/L", elasticity=BY_EPSILON * L)
elasticity_epsilon.mutant("later for a larger start", elasticity=-BY_EPSILON)
elasticity_epsilon.mutant("the dominant term's", elasticity=-(a - 1) / L)


@statement("elasticity-fraction", claim="d ln t / d ln p = {elasticity}.", hypotheses=EXACT, domain=FEW_LAYERS)
def elasticity_fraction(elasticity: Expr = BY_FRACTION) -> Proof:
    return (_elasticity(p, elasticity),)


elasticity_fraction.mutant("without 1/L", elasticity=BY_FRACTION * L)
elasticity_fraction.mutant("no saturation", elasticity=x1 ** (1 - a) / (L * DURATION))
elasticity_fraction.mutant("earlier for a higher threshold", elasticity=-BY_FRACTION)


@statement(
    "critical-time-is-monotone",
    claim="The critical time rises with p at the rate {by_fraction}, falls with epsilon at {by_start} and with lambda, rho "
    "held, at -t/lambda; all three without exception.",
    hypotheses=EXACT,
    domain=FEW_LAYERS,
)
def critical_time_is_monotone(
    by_fraction: Expr = ustar ** (1 - a) / lam * x1 ** (1 - a) / (L * p * (1 - x1**b)),
    by_start: Expr = -(ustar ** (1 - a)) / lam * x0 ** (1 - a) / (L * epsilon * (1 - x0**b)),
) -> Proof:
    return (
        Identity("The derivative by p.", _in_amplitudes(TIME.diff(p)), _in_amplitudes(by_fraction)),
        Identity("The derivative by epsilon.", _in_amplitudes(TIME.diff(epsilon)), _in_amplitudes(by_start)),
        Identity("The derivative by lambda is -t/lambda.", TIME.diff(lam), -TIME / lam),
        Positive("The first is positive, z1 = x1^b < 1.", by_fraction.subs(x1**b, z1)),
        Positive("The second is negative, z = x0^b < 1.", -by_start.subs(x0**b, z)),
        Positive("The time itself is positive: its integrand is.", x**-a / (1 - z)),
    )


_rise = critical_time_is_monotone.formulas
critical_time_is_monotone.mutant("falls with p", by_fraction=-_rise["by_fraction"])
critical_time_is_monotone.mutant("rises with epsilon", by_start=-_rise["by_start"])
critical_time_is_monotone.mutant("does not depend on p", by_fraction=S.Zero)
critical_time_is_monotone.mutant("without 1/L", by_start=_rise["by_start"] * L)


@statement(
    "sharp-epsilon",
    claim="For a - 1 >= b (JEPA has a - 1 - b = {excess}) there is exactly one start x0 in (0, x1) where {bracket} = 0. "
    "A feature that starts below it is learned earlier with a little more rho at equal lambda, one that starts above it later. "
    "The left side rises at {slope} and falls to minus infinity like {lead} (a - 1 > b) or {logarithm} (a - 1 = b).",
    hypotheses=EXACT,
    domain=FEW_LAYERS,
)
def sharp_epsilon(
    bracket: Expr = BRACKET,
    slope: Expr = (a - 1) * b * x0 ** (b - 1) * DURATION,
    lead: Expr = -b / (a - 1 - b) * x0 ** (1 - a + b),
    logarithm: Expr = b * log(x0),
    excess: Expr = 2 * L - 2,
) -> Proof:
    above, equal = {a: b + 1 + d}, {a: b + 1}
    jepa = mode("jepa")
    return (
        Identity("JEPA's a - 1 - b, which is at least 0.", jepa.a - 1 - jepa.b, excess),
        Identity("The elasticity by rho is the bracket over b (1 - x0^b) I.", BY_RHO * b * (1 - x0**b) * DURATION, bracket),
        Identity("The slope of the bracket.", bracket.diff(x0), slope),
        Positive("It is positive with I, so there is at most one zero.", slope.subs(DURATION, t).subs(a, b + d)),
        Positive("At x0 = x1 the bracket is positive.", bracket.subs(x0, x1)),
        RatioLimit("For a - 1 > b it falls as claimed.", bracket.subs(above), lead.subs(above), x0, S.One),
        Positive("Where it falls it is negative.", (-lead).subs(above)),
        RatioLimit("For a - 1 = b it falls as claimed.", bracket.subs(equal), logarithm.subs(equal), x0, S.One),
    )


sharp_epsilon.mutant("the lower rho's saturation dropped", bracket=(1 - a) * DURATION + x0 ** (1 - a))
sharp_epsilon.mutant("bracket falls with the start", slope=-(a - 1) * b * x0 ** (b - 1) * DURATION)
sharp_epsilon.mutant("it stays positive for a small start", lead=b / (a - 1 - b) * x0 ** (1 - a + b))
sharp_epsilon.mutant("half the logarithm", logarithm=b * log(x0) / 2)


@statement(
    "rho-elasticity-vanishes-with-the-start",
    claim="For a - 1 > b, d ln t / d ln rho is {elasticity} to leading order: a small error of t, or a dropped term, "
    "hides rho.",
    hypotheses=(*EXACT, "epsilon tends to 0"),
    domain=FEW_LAYERS,
)
def rho_elasticity_vanishes(elasticity: Expr = -(a - 1) / (a - 1 - b) * x0**b) -> Proof:
    above = {a: b + 1 + d}
    dominant = x0 ** (1 - a) / (a - 1)
    return (
        RatioLimit("I over x0^(1-a)/(a-1) tends to 1.", DURATION.subs(above), dominant.subs(above), x0, S.One),
        RatioLimit(
            "So the elasticity, the bracket over b (1 - x0^b) I, over x0^b tends to what the claim is over x0^b.",
            BRACKET.subs(above),
            (b * (1 - x0**b) * dominant * x0**b).subs(above),
            x0,
            (elasticity / x0**b).subs(above),
        ),
    )


rho_elasticity_vanishes.mutant("order one", elasticity=-(a - 1) / (a - 1 - b))
rho_elasticity_vanishes.mutant("coefficient one", elasticity=-(x0**b))
rho_elasticity_vanishes.mutant("higher rho later", elasticity=(a - 1) / (a - 1 - b) * x0**b)
rho_elasticity_vanishes.mutant("none, as of the truncated sum", elasticity=S.Zero)
