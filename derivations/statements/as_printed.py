"""Claims that do not hold as printed, each with a point at which it fails and what holds in its place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sympy import Expr, ImmutableDenseMatrix, MatrixExpr, Rational, S, Symbol, diag, eye, ones, symbols

from derivations.matrices import symbolic
from derivations.notation import UNIT, Integers, beta, gap, s, x
from derivations.proof import CertifiedPositive, Identity, Limit, Positive, Proof
from derivations.statement import statements_from
from derivations.statements.augmentations import (
    AUGMENTATIONS_PAPER,
    WEIGHTS,
    eigenvalues_of_invariance_and_variance,
    m,
    mean_of_views_shrinks_the_graph,
    mu,
    toy_graph_of_views,
)
from derivations.statements.barlow_twins import (
    ANY,
    BARLOW_PAPER,
    LOSS,
    PULL,
    P,
    T,
    barlow_twins_matrix_gradient,
    of_network,
)
from derivations.statements.matrices import W

statement = statements_from(f"against {AUGMENTATIONS_PAPER}")

q = Symbol("q", positive=True)
d = Symbol("d", integer=True, positive=True)

PLANE = symbolic(2)


def against(printed: Expr, shown: Expr, true: Expr, found: Expr) -> Proof:
    """What is printed gives one number at the point, the truth another."""
    return (
        Identity("As printed, at the point.", printed, shown),
        Identity("In truth, at the point.", true, found),
        CertifiedPositive("They differ.", (shown - found) ** 2),
    )


@statement(
    "printed-gradient-needs-a-symmetric-kernel",
    claim="As printed, the gradient of the Barlow Twins loss by W is {printed}, for any T. At W = 1, beta = 1, T = [1, "
    "{corner}; 0, 1] its entry at (1, 2) is {shown} against the true {true}.",
    source=f"against {BARLOW_PAPER}",
    hypotheses=("C = W T W^T", "P is the pull (1 - beta)(diag C - 1) + beta (C - 1)"),
)
def printed_gradient(
    printed: MatrixExpr = barlow_twins_matrix_gradient.formulas["gradient"],
    corner: Expr = S.One,
    shown: Expr = S(4),
    true: Expr = S(2),
) -> Proof:
    kernel, network = np.array([[S.One, corner], [S.Zero, S.One]]), PLANE.matrix(W)
    at_one = dict(zip(network.ravel(), eye(2), strict=True)) | {beta: S.One}
    known = {ANY: kernel, W: network}
    formula = of_network(printed.xreplace({P: PULL, T: ANY}), ANY)
    entry = replace(PLANE, known=known).matrix(formula)[0, 1].subs(at_one)
    slope = replace(PLANE, known=known).scalar(of_network(LOSS, ANY)).diff(network[0, 1]).subs(at_one)
    return against(entry, shown, slope, true)


printed_gradient.mutant("it holds there", corner=S.Zero)
printed_gradient.mutant("the printed entry is right", true=S(4))
printed_gradient.mutant("half the printed form", shown=S(2))
printed_gradient.mutant("the form that holds", printed=2 * (P * W * T.T + P.T * W * T))


CLASSES = ImmutableDenseMatrix([1, -1])


def _eigenvalue(matrix: ImmutableDenseMatrix) -> Expr:
    """Of a symmetric chain on two states, for the difference of both."""
    return (CLASSES.T * matrix * CLASSES)[0] / 2


@statement(
    "printed-eigenvalue-map-fails",
    claim="As printed, (T_M - 1)*(T_M - 1) has the eigenvalue (sqrt(lambda) - 1)^2 where T_M* T_M has lambda. On two states "
    "that exchange places with probability {exchange} T_M has the eigenvalue {eigenvalue}: that gives {shown} against the "
    "true {true}.",
    hypotheses=("T_M f is the mean of f over a transition of a chain, symmetric on two states of equal probability",),
)
def printed_eigenvalue_map(
    exchange: Expr = Rational(9, 10),
    eigenvalue: Expr = Rational(-4, 5),
    shown: Expr = Rational(1, 25),
    true: Expr = Rational(81, 25),
) -> Proof:
    chain = ImmutableDenseMatrix([[1 - exchange, exchange], [exchange, 1 - exchange]])
    invariance = (chain - eye(2)).T * (chain - eye(2))
    printed = (_eigenvalue(chain.T * chain) ** S.Half - 1) ** 2
    general = eigenvalues_of_invariance_and_variance.formulas["invariance"]
    return (
        Identity("The eigenvalue of T_M.", _eigenvalue(chain), eigenvalue),
        CertifiedPositive("It is negative.", -eigenvalue),
        *against(printed, shown, _eigenvalue(invariance), true),
        Identity("What holds in general.", general.subs(mu, eigenvalue), true),
    )


printed_eigenvalue_map.mutant("a chain that stays", exchange=Rational(1, 10))
printed_eigenvalue_map.mutant("the map holds", true=Rational(1, 25))
printed_eigenvalue_map.mutant("another value", shown=Rational(1, 5))
printed_eigenvalue_map.mutant("the positive eigenvalue", eigenvalue=Rational(4, 5))


SKEWED = ImmutableDenseMatrix([[2, 2, 0], [1, 1, 2], [1, 1, 2]]) / 4
"""Transitions of three images of equal probability, not normal; the adjoint is the transpose."""

CHAIN = (
    "three images with transitions [1/2, 1/2, 0; 1/4, 1/4, 1/2; 1/4, 1/4, 1/2]",
    "T_M f is the mean of f over a transition",
)
UNIFORM = Rational(1, 3)


def _stays_uniform() -> Proof:
    chances = enumerate(ones(1, 3) * SKEWED * UNIFORM)
    return tuple(Identity(f"Image {place + 1} stays as probable.", chance, UNIFORM) for place, chance in chances)


@statement(
    "printed-kernel-names-are-exchanged",
    claim="As printed, the kernel E[p(x|x0) p(z|x0)]/(p(x) p(z)) has the operator T_M T_M*. At the first image the kernel is "
    "{kernel} and its operator has the entry {true}, as T_M* T_M has, against {shown}.",
    hypotheses=CHAIN,
)
def printed_kernel_names(kernel: Expr = Rational(9, 8), shown: Expr = Rational(1, 2), true: Expr = Rational(3, 8)) -> Proof:
    pairs = SKEWED.T * SKEWED * UNIFORM
    return (
        *_stays_uniform(),
        Identity("The kernel there.", pairs[0, 0] / UNIFORM**2, kernel),
        *against((SKEWED * SKEWED.T)[0, 0], shown, kernel * UNIFORM, true),
        Identity("That is T_M* T_M.", (SKEWED.T * SKEWED)[0, 0], true),
    )


printed_kernel_names.mutant("the other kernel", kernel=Rational(3, 2))
printed_kernel_names.mutant("both agree", true=Rational(1, 2))
printed_kernel_names.mutant("exchanged", shown=Rational(3, 8), true=Rational(1, 2))


@statement(
    "invariance-and-variance-need-not-share-eigenfunctions",
    claim="As printed, (T_M - 1)*(T_M - 1) and T_M* T_M share their eigenfunctions, and so commute. Between the first image "
    "and the second their commutator has the entry {true} against {shown}; that of the mean of T_M and T_M*, which is "
    "self-adjoint, is 0.",
    hypotheses=CHAIN,
)
def printed_eigenfunctions(shown: Expr = S.Zero, true: Expr = Rational(1, 16)) -> Proof:
    def commutator(chain: ImmutableDenseMatrix) -> ImmutableDenseMatrix:
        variance, invariance = chain.T * chain, (chain - eye(3)).T * (chain - eye(3))
        return variance * invariance - invariance * variance

    alike = commutator((SKEWED + SKEWED.T) / 2)
    return (
        *_stays_uniform(),
        *(Identity(f"Entry {place + 1} of the self-adjoint chain's.", entry, S.Zero) for place, entry in enumerate(alike)),
        *against(alike[0, 1], shown, commutator(SKEWED)[0, 1], true),
    )


printed_eigenfunctions.mutant("they commute", true=S.Zero)
printed_eigenfunctions.mutant("not even if self-adjoint", shown=Rational(1, 16))
printed_eigenfunctions.mutant("another sign", true=Rational(-1, 16))


@statement(
    "restated-loss-is-not-the-kernel-loss",
    claim="As printed, |K - F F^T|^2 is restated as <F, (1 - K) F>. With K = diag(1, 1/2), one feature of amplitude {small} "
    "and one of {large} along the first mode both have the restated loss {shown}, but their losses differ by {true}.",
    hypotheses=("K is a kernel as a matrix, F has features as columns",),
)
def restated_loss(small: Expr = S.One, large: Expr = S(2), shown: Expr = S.Zero, true: Expr = S(9)) -> Proof:
    kernel = diag(1, Rational(1, 2))

    def losses(amplitude: Expr) -> tuple[Expr, Expr]:
        feature = ImmutableDenseMatrix([amplitude, 0])
        left = kernel - feature * feature.T
        return (feature.T * (eye(2) - kernel) * feature)[0], sum(entry**2 for entry in left)

    (first, before), (second, after) = losses(small), losses(large)
    return (
        Identity("The restated loss of the second is that of the first.", second, first),
        *against(second, shown, after - before, true),
    )


restated_loss.mutant("both of unit norm", large=-S.One)
restated_loss.mutant("a constant apart", true=S.Zero)
restated_loss.mutant("amplitudes for energies", true=S.One)
restated_loss.mutant("the restated loss tells them apart", shown=S(9))


@statement(
    "printed-sign-picks-the-last-eigenfunctions",
    claim="As printed, minimising the sum of (T f, T f) over unit f finds the leading eigenfunction. With the eigenvalues "
    "{leading} and {last} of T* T it is {along} where the last has the share s: least at the last.",
    hypotheses=("T f is the mean of f over views, T* its adjoint; f lies in the span of the two eigenfunctions",),
)
def printed_sign(leading: Expr = S.One, last: Expr = Rational(1, 4), along: Expr = 1 - Rational(3, 4) * s) -> Proof:
    feature = ImmutableDenseMatrix([(1 - s) ** S.Half, s**S.Half])
    value = (feature.T * diag(1, Rational(1, 4)) * feature)[0]
    return (
        Identity("The value of a mixture.", value, along),
        Positive("It falls with the share of the last.", -along.diff(s)),
        *against(along.subs(s, 0), leading, along.subs(s, 1), last),
    )


printed_sign.mutant("minus the sum, which is meant", along=-(1 - Rational(3, 4) * s))
printed_sign.mutant("the leading one is least", leading=Rational(1, 4), last=S.One)
printed_sign.mutant("singular values for their squares", last=Rational(1, 2), along=1 - s / 2)
printed_sign.mutant("no difference", along=S.One)


NEGATIVE = ("beta = 0, one feature", "two modes, gamma_1 = 1 and gamma_2 = -1")
z1, z2 = symbols("z_1 z_2", positive=True)


@statement(
    "negative-modes-do-not-vanish",
    claim="As printed, the amplitude of a mode with negative gamma tends to {shown}. With gamma = 1 and -1, z_1 z_2 is "
    "conserved, and from z = ({first}, {second}) the flow ends at ({first_end}, {true}).",
    source=f"against {BARLOW_PAPER}",
    hypotheses=NEGATIVE,
)
def negative_modes(
    shown: Expr = S.Zero,
    first: Expr = S.One,
    second: Expr = Rational(15, 16),
    first_end: Expr = Rational(5, 4),
    true: Expr = Rational(3, 4),
) -> Proof:
    left = 1 - z1**2 + z2**2
    rates = 4 * z1 * left, -4 * z2 * left
    conserved = z1 * z2
    start, end = {z1: first, z2: second}, {z1: first_end, z2: true}
    along = conserved.diff(z1) * rates[0] + conserved.diff(z2) * rates[1]
    return (
        Identity("The product is conserved, as d ln z/gamma is the same for both.", along, S.Zero),
        Identity("It is at the end what it is at the start.", conserved.subs(end), conserved.subs(start)),
        CertifiedPositive("The first mode grows at the start.", left.subs(start)),
        Identity("The flow rests at the end.", left.subs(end), S.Zero),
        Positive("On the way 1 - z_1^2 + z_2^2 falls as z_1 grows: it rests nowhere before.", -left.subs(z2, q / z1).diff(z1)),
        CertifiedPositive("The end lies ahead.", first_end - first),
        Identity("As printed it would vanish.", shown, S.Zero),
        CertifiedPositive("The second mode does not.", true - shown),
    )


negative_modes.mutant("it vanishes", first_end=S.One, true=S.Zero)
negative_modes.mutant("it stays", true=Rational(15, 16))
negative_modes.mutant("another start", second=Rational(3, 4))
negative_modes.mutant("the end of a shorter way", first_end=Rational(9, 8), true=Rational(5, 6))


@statement(
    "width-alone-does-not-remove-redundancy",
    claim="As printed, a large projector removes redundancy at beta = 0. But features do not see each other: with the mean "
    "squared correlation q of two of them, whatever d, the effective rank is {rank}, never above {bound}. At q = 1/2, d = 9 "
    "it is {true} against {shown}.",
    source=f"against {BARLOW_PAPER}",
    hypotheses=(
        "beta = 0",
        "features of equal variance, started independently from one distribution",
        "the effective rank is (tr C)^2/|C|^2, both in means",
    ),
    domain={q: UNIT, d: Integers(2, 12)},
)
def width_alone(
    rank: Expr = d / (1 + (d - 1) * q), bound: Expr = 1 / q, shown: Expr = S(9), true: Expr = Rational(9, 5)
) -> Proof:
    amplitudes = [symbols(f"z_{p}1:{p}3", positive=True) for p in (1, 2)]
    energies = [sum(strength * z**2 for strength, z in zip(symbols("gamma_1:3"), row, strict=True)) for row in amplitudes]
    loss = sum((energy - 1) ** 2 for energy in energies)
    variance, inverse = symbols("variance inverse", positive=True)
    squares = d * variance**2 + d * (d - 1) * q * variance**2
    return (
        Identity("No force on one feature depends on another.", loss.diff(amplitudes[0][0], amplitudes[1][0]), S.Zero),
        Identity("The effective rank.", (d * variance) ** 2 / squares, rank),
        Positive("It stays below the bound, q = 1/(1 + gap).", (bound - rank).subs(q, 1 / (1 + gap)).subs(d, 1 + x)),
        Limit("Which it tends to with the width.", rank.subs(d, 1 / inverse), inverse, bound),
        *against(d.subs(d, 9), shown, rank.subs({q: S.Half, d: 9}), true),
    )


width_alone.mutant("full rank", rank=d, true=S(9))
width_alone.mutant("it grows with the width", bound=d * q)
width_alone.mutant("amplitudes for squares", rank=d / (1 + (d - 1) * q**2))
width_alone.mutant("another value", true=Rational(9, 2))


@statement(
    "few-views-do-not-remove-classes",
    claim="As printed, few views send mu - nu to {shown}. For the augmentation weights {own}, {alike}, {across} and {apart} "
    "its mean over draws of two views is {true}, half of what it is with all views.",
    hypotheses=("the four-node graph", "the view-mean estimate, same-view pairs included"),
)
def few_views(
    own: Expr = Rational(3, 5),
    alike: Expr = Rational(1, 5),
    across: Expr = Rational(3, 20),
    apart: Expr = Rational(1, 20),
    shown: Expr = S.Zero,
    true: Expr = Rational(11, 400),
) -> Proof:
    weights = dict(zip(WEIGHTS, (own, alike, across, apart), strict=True))
    graph = toy_graph_of_views.formulas
    gap_of_all = (graph["same_class"] - graph["same_pixel"]).subs(weights, simultaneous=True)
    share = mean_of_views_shrinks_the_graph.formulas["shrinkage"].subs(m, 2)
    return (
        Identity("The weights are probabilities.", own + alike + across + apart, S.One),
        *against(S.Zero, shown, share * gap_of_all, true),
    )


few_views.mutant("as printed", true=S.Zero)
few_views.mutant("no shrinkage", true=Rational(11, 200))
few_views.mutant("weights of one step", true=Rational(1, 40))
few_views.mutant("weights that do not sum to 1", own=Rational(1, 2))
