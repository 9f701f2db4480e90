"""Losses whose flow is F' = K F - c F F^T F: invariance with a penalty, spectral contrastive, two layers; solved exactly."""

from __future__ import annotations

from sympy import Expr, MatrixExpr, Rational, S, Trace, exp, log, symbols
from sympy import Identity as IdentityMatrix

from derivations.matrices import SIZED, Gradients, Square, Symmetric, TraceIdentity, d, in_one_mode
from derivations.notation import beta, gamma, gap, kappa, s, t, x, z
from derivations.proof import Identity, Positive, Proof
from derivations.statement import statements_from
from derivations.statements.augmentations import AUGMENTATIONS_PAPER
from derivations.statements.barlow_twins import grows_logistically

HAOCHEN_PAPER = "HaoChen et al. 2021, spectral contrastive loss"

statement = statements_from(f"derived here, after {AUGMENTATIONS_PAPER}")

F, Y, X, H, P = (Square(name, d, d) for name in "FYXHP")
K, A, ONE = Symmetric("K", d, d), Symmetric("A", d, d), IdentityMatrix(d)
c, g, g0, level, start = symbols("c g g_0 x_* x_0", positive=True)

COLUMNS = ("the features are the columns of F; fewer of them are columns of 0",)
INVARIANCE = (*COLUMNS, "K is symmetric, kappa its eigenvalues: how much augmentation moves each mode")
ONE_MODE = ("the loss <F, K F> + beta |F^T F - 1|^2", "features aligned with the eigenvectors of K, x the energy of a mode")


def _squared(matrix: MatrixExpr) -> Expr:
    return Trace(matrix * matrix.T)


PENALISED = Trace(F.T * K * F) + beta * _squared(F.T * F - ONE)


@statement(
    "penalised-invariance-flow",
    claim="Gradient flow on {loss} is F' = {flow}.",
    hypotheses=INVARIANCE,
)
def penalised_invariance_flow(
    loss: Expr = PENALISED, flow: MatrixExpr = (4 * beta * ONE - 2 * K) * F - 4 * beta * F * F.T * F
) -> Proof:
    return (Gradients("Minus the gradient, by every entry of F.", loss, {F: -flow}, scope=SIZED),)


penalised_invariance_flow.mutant("half the penalty", flow=2 * beta * (F - F * F.T * F) - 2 * K * F)
penalised_invariance_flow.mutant("half the invariance", flow=4 * beta * (F - F * F.T * F) - K * F)
penalised_invariance_flow.mutant("ascent", flow=-4 * beta * (F - F * F.T * F) + 2 * K * F)
penalised_invariance_flow.mutant("without decay to unit norm", loss=Trace(F.T * K * F) + beta * _squared(F.T * F))


@statement(
    "penalised-mode",
    claim="A mode of the penalised loss moves as dx/dt = {rate}: it tends to x* = {end} and has half of that at t = "
    "{half_time}. It lives if beta exceeds {threshold}, whatever the width.",
    hypotheses=ONE_MODE,
)
def penalised_mode(
    rate: Expr = 8 * beta * x * (level - x),
    end: Expr = 1 - kappa / (2 * beta),
    half_time: Expr = log(level / start - 1) / (8 * beta * level),
    threshold: Expr = kappa / 2,
) -> Proof:
    moved = rate.subs(level, end)
    amplitude = in_one_mode(penalised_invariance_flow.formulas["flow"], {F: s, K: kappa})
    return (
        Identity("The matrix flow at diagonal F and K, by the chain rule for x = s^2.", 2 * s * amplitude, moved.subs(x, s**2)),
        *grows_logistically(rate, level, start, half_time),
        Identity("At the threshold nothing is left of it.", end.subs(beta, threshold), S.Zero),
        Positive("Above, beta = threshold + gap, it lives.", end.subs(beta, threshold + gap)),
        Positive("Below, beta = z threshold with z < 1, every energy shrinks.", -moved.subs(beta, z * threshold)),
    )


penalised_mode.mutant("the rate of the amplitude", rate=4 * beta * x * (level - x))
penalised_mode.mutant("kappa/beta", end=1 - kappa / beta, threshold=kappa)
penalised_mode.mutant("a half time at unit level", half_time=log(level / start - 1) / (8 * beta))
penalised_mode.mutant("twice the threshold", threshold=kappa)


@statement(
    "penalty-cannot-turn-the-span",
    claim="Whatever beta, F' + {generator} = F X with X = {inner}, a matrix on features. So the columns of F span e^(-2 K t) "
    "times what they span at the start: the penalty moves features within their span alone.",
    hypotheses=INVARIANCE,
)
def penalty_cannot_turn_the_span(generator: MatrixExpr = 2 * K * F, inner: MatrixExpr = 4 * beta * (ONE - F.T * F)) -> Proof:
    flow = penalised_invariance_flow.formulas["flow"]
    feature, slope = symbols("f slope", positive=True)
    frame = exp(2 * kappa * t)
    return (
        TraceIdentity("Against any matrix Y.", Trace(Y * (flow + generator)), Trace(Y * F * inner), scope=SIZED),
        Identity(
            "Along an eigenvector of K: the slope of e^(2 kappa t) f is e^(2 kappa t) times a combination of the features.",
            frame.diff(t) * feature + frame * slope,
            frame * (slope + in_one_mode(generator, {K: kappa, F: feature})),
        ),
    )


penalty_cannot_turn_the_span.mutant("half the generator", generator=K * F)
penalty_cannot_turn_the_span.mutant("the other way", generator=-2 * K * F)
penalty_cannot_turn_the_span.mutant("without F^T F", inner=4 * beta * ONE)
penalty_cannot_turn_the_span.mutant("twice the penalty", inner=8 * beta * (ONE - F.T * F))


@statement(
    "matrix-flow-closed-form",
    claim="Under F' = K F - c F F^T F, G = F F^T obeys G' = {flow}. With H = e^(K t) F_0, which has H' = {grown}, and P the "
    "inverse of 1 + 2 c F_0^T (integral of e^(2 K t)) F_0, which has P' = {inverse}, it is solved by G = {gram}.",
    hypotheses=(*COLUMNS, "K is symmetric", "P = 1 at the start"),
)
def matrix_flow_closed_form(
    flow: MatrixExpr = K * F * F.T + F * F.T * K - 2 * c * F * F.T * F * F.T,
    grown: MatrixExpr = K * H,
    inverse: MatrixExpr = -2 * c * P * H.T * H * P,
    gram: MatrixExpr = H * P * H.T,
) -> Proof:
    moved = K * F - c * F * F.T * F
    other = Square("N", d, d)
    slope = grown * P * H.T + H * inverse * H.T + H * P * grown.T
    solved = K * gram + gram * K - 2 * c * gram * gram
    return (
        TraceIdentity(
            "The product rule for F F^T, against any Y.", Trace(Y * (moved * F.T + F * moved.T)), Trace(Y * flow), scope=SIZED
        ),
        TraceIdentity(
            "P' N + P N' = 0 with P N = N P = 1, N' = 2 c H^T H: that is P' between any two matrices.",
            Trace(Y * P * (2 * c * H.T * H) * P * other),
            -Trace(Y * inverse * other),
            scope=SIZED,
        ),
        TraceIdentity("The product rule for the solution, against any Y.", Trace(Y * slope), Trace(Y * solved), scope=SIZED),
    )


matrix_flow_closed_form.mutant("c for 2 c", inverse=-c * P * H.T * H * P)
matrix_flow_closed_form.mutant("one side only", flow=2 * K * F * F.T - 2 * c * F * F.T * F * F.T)
matrix_flow_closed_form.mutant("growth at twice the rate", grown=2 * K * H)
matrix_flow_closed_form.mutant("not symmetric", gram=H * P.T * H)


@statement(
    "one-mode-of-the-matrix-flow",
    claim="Of one mode with K = kappa that is g = {curve}, the solution of g' = {rate}.",
    hypotheses=("g_0 at the start",),
)
def one_mode_of_the_matrix_flow(
    curve: Expr = g0 * exp(2 * kappa * t) / (1 + c * g0 * (exp(2 * kappa * t) - 1) / kappa),
    rate: Expr = 2 * kappa * g - 2 * c * g**2,
) -> Proof:
    integral = (exp(2 * kappa * t) - 1) / (2 * kappa)
    grown = g0 * exp(2 * kappa * t)
    return (
        Identity("It obeys the equation.", curve.diff(t), rate.subs(g, curve)),
        Identity("It starts at g_0.", curve.subs(t, 0), g0),
        Identity("The integral of e^(2 kappa t), by its slope.", integral.diff(t), exp(2 * kappa * t)),
        Identity("It is H P H.", curve, grown / (1 + 2 * c * g0 * integral)),
    )


one_mode_of_the_matrix_flow.mutant("the rate of the amplitude", rate=kappa * g - c * g**2)
one_mode_of_the_matrix_flow.mutant("no -1", curve=g0 * exp(2 * kappa * t) / (1 + c * g0 * exp(2 * kappa * t) / kappa))
one_mode_of_the_matrix_flow.mutant("c for c/kappa", curve=g0 * exp(2 * kappa * t) / (1 + c * g0 * (exp(2 * kappa * t) - 1)))
one_mode_of_the_matrix_flow.mutant("half the growth", curve=g0 * exp(kappa * t) / (1 + c * g0 * (exp(kappa * t) - 1) / kappa))


@statement(
    "spectral-contrastive-flow",
    claim="Gradient flow on |A - F F^T|^2 is F' = {flow}; a mode of A moves as dx/dt = {rate} and has half its energy at t = "
    "{half_time}.",
    source=HAOCHEN_PAPER,
    hypotheses=(*COLUMNS, "A is symmetric, gamma an eigenvalue of it", "x_0 at the start, for a mode aligned with A"),
)
def spectral_contrastive_flow(
    flow: MatrixExpr = 4 * A * F - 4 * F * F.T * F,
    rate: Expr = 8 * x * (gamma - x),
    half_time: Expr = log(gamma / start - 1) / (8 * gamma),
) -> Proof:
    return (
        Gradients("Minus the gradient, by every entry of F.", _squared(A - F * F.T), {F: -flow}, scope=SIZED),
        Identity(
            "At diagonal F and A, by the chain rule for x = s^2.",
            2 * s * in_one_mode(flow, {F: s, A: gamma}),
            rate.subs(x, s**2),
        ),
        *grows_logistically(rate, gamma, start, half_time),
    )


spectral_contrastive_flow.mutant("2 for 4", flow=2 * A * F - 2 * F * F.T * F)
spectral_contrastive_flow.mutant("a fourth power", flow=4 * A * F - 4 * F * F.T * F * F.T * F)
spectral_contrastive_flow.mutant("the modes of Barlow Twins", rate=8 * gamma * x * (1 - x))
spectral_contrastive_flow.mutant("half the pace", half_time=log(gamma / start - 1) / (4 * gamma))


W1, W2, T = Square("W_1", d, d), Square("W_2", d, d), Square("T", d, d)


@statement(
    "two-layers-are-a-matrix-flow",
    claim="Two layers on whitened input, on 1/2 |W_2 W_1 - T|^2, move as W_1' = {lower} and W_2' = {upper}. With W_2^T W_2 = "
    "W_1 W_1^T they are the flow of F = [W_1^T; W_2] with K = [0, T^T; T, 0] and c = {half}.",
    source="Fukumizu 1998, Saxe et al. 2014, Braun et al. 2022",
    hypotheses=("layers are balanced at the start, and so for ever",),
)
def two_layers_are_a_matrix_flow(
    lower: MatrixExpr = W2.T * (T - W2 * W1), upper: MatrixExpr = (T - W2 * W1) * W1.T, half: Expr = Rational(1, 2)
) -> Proof:
    norm, balance = W1 * W1.T + W2.T * W2, W1 * W1.T - W2.T * W2
    on_lower, on_upper = T.T * W2 - half * W1.T * norm, T * W1.T - half * W2 * norm
    return (
        Gradients("Minus the gradients, by every entry.", _squared(W2 * W1 - T) / 2, {W1: -lower, W2: -upper}, scope=SIZED),
        TraceIdentity(
            "The balance is conserved, against any Y.",
            Trace(Y * (lower * W1.T + W1 * lower.T)),
            Trace(Y * (upper.T * W2 + W2.T * upper)),
            scope=SIZED,
        ),
        TraceIdentity(
            "The first block differs by what is balanced, against any Y.",
            Trace(Y * (on_lower - lower.T)),
            -Trace(Y * W1.T * balance) / 2,
            scope=SIZED,
        ),
        TraceIdentity("So does the second.", Trace(Y * (on_upper - upper)), Trace(Y * W2 * balance) / 2, scope=SIZED),
    )


two_layers_are_a_matrix_flow.mutant("c = 1", half=S.One)
two_layers_are_a_matrix_flow.mutant("the layers exchanged", lower=W1.T * (T - W2 * W1))
two_layers_are_a_matrix_flow.mutant("the target transposed", upper=(T.T - W2 * W1) * W1.T)


@statement(
    "kernel-loss-is-invariance-and-orthonormality",
    claim="|K - F F^T|^2 = {right}. So the loss of the kernel and twice the invariance loss agree, up to a constant, on "
    "orthonormal features.",
    source=AUGMENTATIONS_PAPER,
    hypotheses=("K is a symmetric kernel as a matrix, F has features as columns", "the invariance loss is <F, (1 - K) F>"),
)
def kernel_loss(
    right: Expr = _squared(F.T * F - ONE) + 2 * Trace(F.T * (ONE - K) * F) + _squared(K) - Trace(ONE),
) -> Proof:
    return (TraceIdentity("As polynomials in the entries.", _squared(K - F * F.T), right, scope=SIZED),)


kernel_loss.mutant("invariance once", right=_squared(F.T * F - ONE) + Trace(F.T * (ONE - K) * F) + _squared(K) - Trace(ONE))
kernel_loss.mutant("without orthonormality", right=2 * Trace(F.T * (ONE - K) * F) + _squared(K) - Trace(ONE))
kernel_loss.mutant("without the constant", right=_squared(F.T * F - ONE) + 2 * Trace(F.T * (ONE - K) * F))
kernel_loss.mutant(
    "variance for invariance", right=_squared(F.T * F - ONE) - 2 * Trace(F.T * (ONE - K) * F) + _squared(K) - Trace(ONE)
)
