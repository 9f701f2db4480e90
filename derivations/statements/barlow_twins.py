"""Linear Barlow Twins: the gradient of its loss, one feature a mode, and features that do not see each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sympy import Expr, ImmutableDenseMatrix, MatrixExpr, S, Symbol, Trace, exp, log, sqrt, symbols
from sympy import Identity as IdentityMatrix

from derivations.matrices import SIZED, Diagonal, DiagonalPart, Gradients, Square, Symmetric, d, symbolic
from derivations.notation import UNIT, beta, gamma, kappa, s, t, tau, x, x0, z, z0
from derivations.proof import CertifiedPositive, Identity, Limit, Positive, Proof
from derivations.statement import statements_from
from derivations.statements.matrices import W, rotation

BARLOW_PAPER = "Agrawal et al. 2024, dynamics of Barlow Twins"
SIMON_PAPER = "Simon et al. 2023, stepwise learning"

statement = statements_from(BARLOW_PAPER)

C, P, T, ONE = Square("C", d, d), Square("P", d, d), Symmetric("T", d, d), IdentityMatrix(d)
ANY = Square("T", d, d)
s0 = Symbol("s_0", positive=True)
h, elapsed, z1, z2, a1, a2, gamma1, gamma2 = symbols("h I z_1 z_2 a_1 a_2 gamma_1 gamma_2", positive=True)

LOSS = Trace((DiagonalPart(C) - ONE) ** 2) + beta * Trace((C - DiagonalPart(C)) * (C - DiagonalPart(C)).T)
"""Sum over i of (C_ii - 1)^2, plus beta times the sum of all C_ij^2 with i != j."""

PULL = (1 - beta) * (DiagonalPart(C) - ONE) + beta * (C - ONE)

KERNEL = ("f = W x", "C = W T W^T", "T is the symmetric cross-view covariance of x")
ALIGNED = ("every feature is one eigenvector of T with eigenvalue gamma", "s is its singular value of W")
ALONE = ("beta = 0", "z is the amplitude of one feature along an eigenvector of T with eigenvalue gamma")


def of_network(formula: Expr, kernel: MatrixExpr = T) -> Expr:
    """The formula with the covariance of a linear network for C, and with the pull on it for P."""
    return formula.xreplace({P: PULL}).xreplace({C: W * kernel * W.T})


def grows_logistically(rate: Expr, level: Expr, start: Expr, half_time: Expr) -> Proof:
    """An energy x that grows at this rate along a logistic curve to this level, half of which it has after the half time."""
    curve = level / (1 + (level / start - 1) * exp(-rate.diff(x).subs(x, 0) * t))
    return (
        Identity("A logistic curve obeys the equation.", curve.diff(t), rate.subs(x, curve)),
        Identity("It starts where the mode does.", curve.subs(t, 0), start),
        Identity("It rests at the level.", rate.subs(x, level), S.Zero),
        Identity("At the half time it has half of that.", curve.subs(t, half_time), level / 2),
    )


@statement(
    "barlow-twins-matrix-gradient",
    claim="The gradient of the Barlow Twins loss {loss} by W is {gradient}, with P = {pull}.",
    hypotheses=KERNEL,
)
def barlow_twins_matrix_gradient(loss: Expr = LOSS, gradient: MatrixExpr = 4 * P * W * T, pull: MatrixExpr = PULL) -> Proof:
    claimed = of_network(gradient.xreplace({P: pull}))
    return (Gradients("By every entry of W.", of_network(loss), {W: claimed}, scope=SIZED),)


barlow_twins_matrix_gradient.mutant("2 for 4", gradient=2 * P * W * T)
barlow_twins_matrix_gradient.mutant("the weights exchanged", pull=beta * (DiagonalPart(C) - ONE) + (1 - beta) * (C - ONE))
barlow_twins_matrix_gradient.mutant("the diagonal counted twice", pull=DiagonalPart(C) - ONE + beta * (C - ONE))
barlow_twins_matrix_gradient.mutant("without the kernel", gradient=4 * P * W)
barlow_twins_matrix_gradient.mutant("a loss of the whole covariance", loss=Trace((C - ONE) * (C - ONE).T))


@statement(
    "barlow-twins-gradient-of-any-kernel",
    claim="If T is not symmetric, the gradient of the Barlow Twins loss by W is {gradient}, with P = {pull}.",
    hypotheses=("f = W x", "C = W T W^T, whatever T"),
)
def barlow_twins_gradient_of_any_kernel(
    gradient: MatrixExpr = 2 * (P * W * T.T + P.T * W * T), pull: MatrixExpr = PULL
) -> Proof:
    general = gradient.xreplace({P: pull}).xreplace({T: ANY})
    return (Gradients("By every entry of W.", of_network(LOSS, ANY), {W: of_network(general, ANY)}, scope=SIZED),)


barlow_twins_gradient_of_any_kernel.mutant("as for symmetric T", gradient=4 * P * W * T)
barlow_twins_gradient_of_any_kernel.mutant("the transposes exchanged", gradient=2 * (P * W * T + P.T * W * T.T))
barlow_twins_gradient_of_any_kernel.mutant("T made symmetric alone", gradient=2 * P * W * (T + T.T))


@statement(
    "barlow-twins-mode",
    claim="A mode of Barlow Twins moves as ds/dt = {amplitude}, whatever beta, so its energy x = {energy} as dx/dt = {rate}.",
    source=SIMON_PAPER,
    hypotheses=ALIGNED,
)
def barlow_twins_mode(
    amplitude: Expr = 4 * gamma * s * (1 - gamma * s**2), energy: Expr = gamma * s**2, rate: Expr = 8 * gamma * x * (1 - x)
) -> Proof:
    return (
        Gradients(
            "W and T diagonal: minus the gradient, every entry.",
            of_network(LOSS, Diagonal(gamma)),
            {W: Diagonal(-amplitude)},
            at={W: Diagonal(s)},
            scope=SIZED,
        ),
        Identity("The energy, by the chain rule.", energy.diff(s) * amplitude, rate.subs(x, energy)),
    )


barlow_twins_mode.mutant("2 for 4", amplitude=2 * gamma * s * (1 - gamma * s**2), rate=4 * gamma * x * (1 - x))
barlow_twins_mode.mutant("saturation at 1 for gamma^(-1/2)", amplitude=4 * gamma * s * (1 - s**2))
barlow_twins_mode.mutant("the rate of the amplitude", rate=4 * gamma * x * (1 - x))
barlow_twins_mode.mutant("the energy of unit variance", energy=s**2)


@statement(
    "barlow-twins-mode-curve",
    claim="A mode of Barlow Twins is at s = {curve}, which tends to {end}.",
    source=SIMON_PAPER,
    hypotheses=(*ALIGNED, "gamma > 0"),
)
def barlow_twins_mode_curve(
    curve: Expr = exp(4 * gamma * t) / sqrt(s0**-2 + (exp(8 * gamma * t) - 1) * gamma), end: Expr = 1 / sqrt(gamma)
) -> Proof:
    rate = barlow_twins_mode.formulas["amplitude"]
    grown = Symbol("grown", positive=True)
    late = curve.subs(t, -log(grown) / (4 * gamma))
    return (
        Identity("It obeys the equation of the mode.", curve.diff(t) / curve, (rate / s).subs(s, curve)),
        Identity("It starts at s_0.", curve.subs(t, 0), s0),
        Limit("In e^(-4 gamma t), which tends to 0.", late, grown, end),
    )


barlow_twins_mode_curve.mutant("half the rate", curve=exp(2 * gamma * t) / sqrt(s0**-2 + (exp(4 * gamma * t) - 1) * gamma))
barlow_twins_mode_curve.mutant(
    "the start not squared", curve=exp(4 * gamma * t) / sqrt(1 / s0 + (exp(8 * gamma * t) - 1) * gamma)
)
barlow_twins_mode_curve.mutant("no -1", curve=exp(4 * gamma * t) / sqrt(s0**-2 + exp(8 * gamma * t) * gamma))
barlow_twins_mode_curve.mutant("unit amplitude", end=S.One)


@statement(
    "barlow-twins-half-time",
    claim="The energy of a mode of Barlow Twins is half its final one at t = {half_time}, where its slope is {slope}. As s_0 "
    "tends to 0, the difference to {early} vanishes.",
    source=SIMON_PAPER,
    hypotheses=(*ALIGNED, "gamma > 0", "x0 = gamma s_0^2 < 1 at the start"),
    domain={x0: UNIT},
)
def barlow_twins_half_time(
    half_time: Expr = log((1 - x0) / x0) / (8 * gamma),
    slope: Expr = 2 * gamma,
    early: Expr = -log(s0 * sqrt(gamma)) / (4 * gamma),
) -> Proof:
    rate = barlow_twins_mode.formulas["rate"]
    return (
        *grows_logistically(rate, S.One, x0, half_time),
        Identity("The slope at half the final energy.", rate.subs(x, S.Half), slope),
        Limit("The difference for a small start.", half_time.subs(x0, gamma * s0**2) - early, s0, S.Zero),
    )


barlow_twins_half_time.mutant("a small start without sqrt(gamma)", early=-log(s0) / (4 * gamma))
barlow_twins_half_time.mutant("the rate of the amplitude", half_time=log((1 - x0) / x0) / (4 * gamma))
barlow_twins_half_time.mutant("a small start taken for exact", half_time=-log(x0) / (8 * gamma))
barlow_twins_half_time.mutant("the slope of a unit rate", slope=gamma / 4)


@statement(
    "barlow-twins-needs-positive-covariance",
    claim="With gamma = -kappa < 0, an amplitude of Barlow Twins moves as ds/dt = {negative} < 0, and with gamma = 0 as "
    "{zero}: neither is learned.",
    hypotheses=ALIGNED,
)
def barlow_twins_needs_positive_covariance(negative: Expr = -4 * kappa * s * (1 + kappa * s**2), zero: Expr = S.Zero) -> Proof:
    rate = barlow_twins_mode.formulas["amplitude"]
    return (
        Identity("The equation of the mode at gamma = -kappa.", rate.subs(gamma, -kappa), negative),
        Positive("It is negative.", -negative),
        Identity("The equation at gamma = 0.", rate.subs(gamma, 0), zero),
    )


barlow_twins_needs_positive_covariance.mutant("it saturates", negative=-4 * kappa * s * (1 - kappa * s**2))
barlow_twins_needs_positive_covariance.mutant("it is learned mirrored", negative=4 * kappa * s * (1 + kappa * s**2))
barlow_twins_needs_positive_covariance.mutant("gamma = 0 decays", zero=-4 * s**3)


@statement(
    "barlow-twins-without-decorrelation",
    claim="With beta = 0 the gradient is {gradient}: a feature's amplitudes move as d ln z/dt = {pace}, with one h = 1 - sum "
    "of gamma z^2 for all of them. So z = {curve} with dtau/dt = {clock}, and ln(z_2/z_2(0)) = {power} ln(z_1/z_1(0)).",
    hypotheses=ALONE,
)
def barlow_twins_without_decorrelation(
    gradient: MatrixExpr = 4 * (DiagonalPart(C) - ONE) * W * T,
    pace: Expr = 4 * gamma * h,
    curve: Expr = z0 * exp(gamma * tau),
    clock: Expr = 4 * h,
    power: Expr = gamma2 / gamma1,
) -> Proof:
    first, second = (curve.subs(gamma, each) / z0 for each in (gamma1, gamma2))
    # One feature of two modes; further ones add terms to h alone.
    alone = (1 - gamma1 * z1**2 - gamma2 * z2**2) ** 2
    return (
        Gradients("By every entry of W.", of_network(LOSS.subs(beta, 0)), {W: of_network(gradient)}, scope=SIZED),
        Identity(
            "The loss of one feature: its first amplitude.",
            -alone.diff(z1) / z1,
            pace.subs({gamma: gamma1, h: 1 - gamma1 * z1**2 - gamma2 * z2**2}),
        ),
        Identity("The curve, by the chain rule.", curve.diff(tau) * clock, pace * curve),
        Identity("It starts at z(0).", curve.subs(tau, 0), z0),
        Identity("Two amplitudes at one tau.", log(second), power * log(first)),
    )


barlow_twins_without_decorrelation.mutant("the power inverted", power=gamma1 / gamma2)
barlow_twins_without_decorrelation.mutant("all modes alike", power=S.One)
barlow_twins_without_decorrelation.mutant("twice the clock", clock=8 * h)
barlow_twins_without_decorrelation.mutant("an energy for an amplitude", curve=z0 * exp(2 * gamma * tau))
barlow_twins_without_decorrelation.mutant("features see each other", gradient=4 * (C - ONE) * W * T)


@statement(
    "feature-without-decorrelation-stays-below-its-variance",
    claim="With beta = 0 each amplitude takes from h = 1 - sum of gamma z^2 at the rate {share}, so dh/dt = -I' h with I' = "
    "8 sum of gamma^2 z^2 and h = h_0 e^-I stays positive: an amplitude grows if gamma > 0 and shrinks if gamma < 0, forever.",
    hypotheses=ALONE,
)
def feature_without_decorrelation_stays_below_its_variance(share: Expr = 8 * gamma**2 * z**2 * h) -> Proof:
    pace = barlow_twins_without_decorrelation.formulas["pace"]
    h0, slope = symbols("h_0 slope", positive=True)
    remaining = h0 * exp(-elapsed)
    return (
        Identity("What one amplitude adds to the sum.", (gamma * z**2).diff(z) * pace * z, share),
        Identity("The slope of h_0 e^-I.", remaining.diff(elapsed) * slope, -slope * remaining),
        Identity("One amplitude's part of I'.", share / h, (8 * gamma**2 * z**2)),
        Positive("h stays positive.", remaining),
        Positive("The pace of a positive gamma.", pace),
        Positive("Minus that of a negative one.", -pace.subs(gamma, -kappa)),
    )


feature_without_decorrelation_stays_below_its_variance.mutant("gamma for its square", share=8 * gamma * z**2 * h)
feature_without_decorrelation_stays_below_its_variance.mutant("half of it", share=4 * gamma**2 * z**2 * h)
feature_without_decorrelation_stays_below_its_variance.mutant("h squared", share=8 * gamma**2 * z**2 * h**2)


@statement(
    "tilt-of-a-feature-from-a-small-start",
    claim="With beta = 0, a feature that starts at small amplitudes a_1, a_2 and ends along the first mode, at z_1 = {end}, "
    "has grown to z_2/z_1 = {tilt}.",
    hypotheses=(*ALONE, "gamma_1 > gamma_2 > 0", "to leading order in a small start"),
)
def tilt_of_a_feature_from_a_small_start(
    end: Expr = 1 / sqrt(gamma1), tilt: Expr = a2 / a1 * (a1 * sqrt(gamma1)) ** (1 - gamma2 / gamma1)
) -> Proof:
    curve = barlow_twins_without_decorrelation.formulas["curve"]
    time = log(end / a1) / gamma1
    first, second = (curve.subs({gamma: rate, z0: start, tau: time}) for rate, start in ((gamma1, a1), (gamma2, a2)))
    return (
        Identity("The mode alone rests where gamma z^2 = 1.", gamma1 * end**2, S.One),
        Identity("It has got there after this tau.", first, end),
        Identity("The second mode by then.", log(second / first), log(tilt)),
    )


_tilt = tilt_of_a_feature_from_a_small_start
_tilt.mutant("without gamma_1", tilt=a2 / a1 * a1 ** (1 - gamma2 / gamma1))
_tilt.mutant("as at the start", tilt=a2 / a1)
_tilt.mutant("the power of the second mode", tilt=a2 / a1 * (a1 * sqrt(gamma1)) ** (gamma2 / gamma1))
_tilt.mutant("a unit amplitude", end=S.One)


SYMMETRIC = ImmutableDenseMatrix([[C.cell(0, 0), C.cell(0, 1)], [C.cell(0, 1), C.cell(1, 1)]])


def _loss(covariance: ImmutableDenseMatrix) -> Expr:
    return replace(symbolic(2), known={C: np.array(covariance.tolist())}).scalar(LOSS)


@statement(
    "rotation-symmetry-only-at-beta-one",
    claim="As printed, a rotation of the features leaves the Barlow Twins loss unchanged. Its slope in the angle is {slope}: "
    "at beta = 1, where every rotation does, it is {shown}, but at beta = 0, C = [2, 1; 1, 1] it is {true}.",
    hypotheses=("two features with covariance C",),
)
def rotation_symmetry(
    slope: Expr = 4 * (beta - 1) * C.cell(0, 1) * (C.cell(0, 0) - C.cell(1, 1)), shown: Expr = S.Zero, true: Expr = S(-4)
) -> Proof:
    turned = _loss(rotation(x) * SYMMETRIC * rotation(x).T)
    found = turned.diff(x).subs(x, 0) / 2
    point = {C.cell(0, 0): 2, C.cell(0, 1): 1, C.cell(1, 1): 1}
    return (
        Identity("The slope in the angle, twice the tangent x of its half to first order.", found, slope),
        Identity("At beta = 1, any rotation.", turned.subs(beta, 1), _loss(SYMMETRIC).subs(beta, 1)),
        Identity("Its slope there.", slope.subs(beta, 1), shown),
        Identity("The slope at beta = 0, at the point.", slope.subs(point).subs(beta, 0), true),
        CertifiedPositive("They differ.", (shown - true) ** 2),
    )


rotation_symmetry.mutant("symmetric for every beta", slope=S.Zero)
rotation_symmetry.mutant("half the slope", slope=rotation_symmetry.formulas["slope"] / 2, true=S(-2))
rotation_symmetry.mutant("symmetric at beta = 0", slope=4 * beta * C.cell(0, 1) * (C.cell(0, 0) - C.cell(1, 1)))
rotation_symmetry.mutant("it stays there", true=S.Zero)
