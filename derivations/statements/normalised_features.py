"""Features of unit norm: how a projector fills modes, and when all features are stuck on one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sympy import Expr, MatrixExpr, S, Symbol, Trace, symbols
from sympy import Identity as IdentityMatrix

from derivations.matrices import SIZED, DiagonalPart, Square, Symmetric, TraceIdentity, d
from derivations.notation import UNIT, Integers, beta, gap, kappa, x, z
from derivations.proof import Identity, Positive, Proof
from derivations.statement import statements_from
from derivations.statements.barlow_twins import BARLOW_PAPER
from derivations.statements.plateaus import r

statement = statements_from(f"derived here, after {BARLOW_PAPER}")

F, K = Square("F", d, d), Symmetric("K", d, d)
C, G = Square("C", d, d), Square("S", d, d)
B, level, total, energy, kappa1, kappa2 = symbols("B nu Sigma S_k kappa_1 kappa_2", positive=True)
q = Symbol("q", real=True)
rho1, rho2 = symbols("rho_1 rho_2", positive=True)

UNIT_NORM = ("every feature f_i has unit norm", "K is symmetric, kappa its eigenvalues, in rising order")
"""Invariance eigenvalues: small where augmentation leaves a mode alone."""


@statement(
    "normalised-loss-sees-the-gram-matrix-alone",
    claim="The loss sum of f_i^T K f_i + beta sum over i != j of (f_i^T f_j)^2 is {loss} with S = {gram}.",
    hypotheses=UNIT_NORM,
)
def normalised_loss(
    loss: Expr = Trace(K * G) + beta * (Trace(G * G) - Trace(IdentityMatrix(d))), gram: MatrixExpr = F * F.T
) -> Proof:
    inner = F.T * F
    pairs = (inner - DiagonalPart(inner)) * (inner - DiagonalPart(inner))
    norms = DiagonalPart(inner) * DiagonalPart(inner)
    return (
        TraceIdentity(
            "The features are the columns of F; the squared norms are 1, so that their part is that of the identity.",
            Trace(F.T * K * F) + beta * (Trace(pairs) + Trace(norms) - Trace(IdentityMatrix(d))),
            loss.xreplace({G: gram}),
            scope=SIZED,
        ),
    )


normalised_loss.mutant("the squared norms stay", loss=Trace(K * G) + beta * Trace(G * G))
normalised_loss.mutant("pairs counted once", loss=Trace(K * G) + beta * (Trace(G * G) - Trace(IdentityMatrix(d))) / 2)
normalised_loss.mutant("the trace squared", loss=Trace(K * G) + beta * (Trace(G) ** 2 - Trace(IdentityMatrix(d))))
normalised_loss.mutant("the matrix of the features", gram=F.T * F)


@statement(
    "water-filling",
    claim="Of all energies S_k of modes that sum to d, the loss is least where S_k = {filled} for the r modes below the "
    "level nu = {water}, Sigma the sum of their kappa. Mode r is among them if 2 beta d exceeds {threshold}, the sum of its "
    "distances above the modes below.",
    hypotheses=UNIT_NORM,
    domain={d: Integers(7, 12)},
)
def water_filling(
    filled: Expr = (level - kappa) / (2 * beta),
    water: Expr = (2 * beta * d + total) / r,
    threshold: Expr = r * kappa - total,
) -> Proof:
    loss = kappa * energy + beta * energy**2
    highest = filled.subs(level, water)
    below = Symbol("Sigma_below", positive=True)
    return (
        Identity("The slope of the loss is the level in every filled mode.", loss.diff(energy).subs(energy, filled), level),
        Positive("The loss is convex: that is its minimum.", loss.diff(energy, 2)),
        Positive(
            "In a mode above the level, an empty one, the slope exceeds it.", loss.diff(energy).subs(kappa, level + gap) - level
        ),
        Identity("The energies of r filled modes sum to d.", (r * level - total).subs(level, water) / (2 * beta), d),
        Identity("The energy of the highest filled mode.", 2 * beta * r * highest, 2 * beta * d - threshold),
        Identity(
            "Its distances above the r - 1 modes below, whose kappa sum to Sigma_below.",
            threshold.subs(total, below + kappa),
            (r - 1) * kappa - below,
        ),
    )


water_filling.mutant("without the 2", filled=(level - kappa) / beta)
water_filling.mutant("a level for one feature", water=(2 * beta + total) / r)
water_filling.mutant("beta d for 2 beta d", water=(beta * d + total) / r)
water_filling.mutant("the sum of all distances, own mode twice", threshold=(r + 1) * kappa - total)


@statement(
    "water-filling-knows-beta-times-width",
    claim="With beta = B/d a filled mode has the share {share} of all energy, and the condition for mode r to be filled is 2 "
    "B > {threshold}: the width enters by B only. So what is best for these shares is a beta in proportion to 1/d.",
    hypotheses=(*UNIT_NORM, "d is at least the number of filled modes"),
    domain={d: Integers(7, 12)},
)
def water_filling_knows_beta_times_width(
    share: Expr = ((2 * B + total) / r - kappa) / (2 * B), threshold: Expr = r * kappa - total
) -> Proof:
    proved = water_filling.formulas
    filled = proved["filled"].subs(level, proved["water"]).subs(beta, B / d)
    return (
        Identity("Energy over the width.", filled / d, share),
        Identity("The width does not enter.", (filled / d).diff(d), S.Zero),
        Identity("The share of the highest filled mode.", 2 * B * r * share, 2 * B - threshold),
    )


_share = water_filling_knows_beta_times_width
_share.mutant("energy for its share", share=d * ((2 * B + total) / r - kappa) / (2 * B))
_share.mutant("without the 2", share=((2 * B + total) / r - kappa) / B)
_share.mutant("the level of one mode", share=(2 * B + total - kappa) / (2 * B))
_share.mutant("a threshold that grows with width", threshold=d * (r * kappa - total))


COLLINEAR = (
    "d >= 2 features of unit norm along the lowest mode",
    "turned by a small angle h towards the second: two of them by h and -h, or all by h; by symmetry other turns add nothing",
)
TURNED = (1 - q**2) / (1 + q**2), 2 * q / (1 + q**2)
"""Cosine and sine of h in the tangent q of h/2."""

STILL = S.One, S.Zero
SECOND = {kappa2: kappa1 + B, rho2: x * rho1}
"""The second mode has the larger kappa, the smaller rho."""


def _curvature(loss: Expr) -> Expr:
    """The second derivative by h at 0 of what is written in q: h = 2 q to second order."""
    return loss.diff(q, 2).subs(q, 0) / 4


@dataclass(frozen=True)
class Collinear:
    """A loss of d features in the plane of two modes, from what one feature and what one ordered pair give it."""

    own: Callable[[Expr, Expr], Expr]
    pair: Callable[[Expr, Expr, Expr, Expr], Expr]

    @property
    def turned_apart(self) -> Expr:
        """Two features turned by h and -h, the others still."""
        cosine, sine = TURNED
        apart, mixed, still = self.pair(cosine, sine, cosine, -sine), self.pair(*TURNED, *STILL), self.pair(*STILL, *STILL)
        pairs = 2 * apart + 4 * (d - 2) * mixed + (d - 2) * (d - 3) * still
        return 2 * self.own(*TURNED) + (d - 2) * self.own(*STILL) + pairs

    @property
    def turned_together(self) -> Expr:
        """All features turned by h."""
        return d * self.own(*TURNED) + d * (d - 1) * self.pair(*TURNED, *TURNED)

    def escape(self, rate: Expr, threshold: Expr) -> Proof:
        """Features part at this rate, which is positive above the threshold; below it turning all together costs as well."""
        loss = self.turned_apart
        stiff = _curvature(self.turned_together).subs(beta, z * threshold)
        return (
            Identity("The slope of the loss vanishes there.", loss.diff(q).subs(q, 0), S.Zero),
            Identity("The flow moves either feature by minus half the curvature times h.", -_curvature(loss) / 2, rate),
            Identity("The rate changes its sign at the threshold.", rate.subs(beta, threshold), S.Zero),
            Positive("It rises with beta, d = 1 + gap.", rate.diff(beta).subs(d, 1 + gap)),
            Positive("At z < 1 times the threshold turning all together costs.", stiff.subs(SECOND).subs(d, 1 + gap)),
        )


@statement(
    "collinear-features-escape",
    claim="Features that all lie along the lowest mode leave it at the rate {rate}: they are stuck there if beta is below "
    "{threshold}.",
    hypotheses=(*UNIT_NORM, *COLLINEAR),
    domain={d: Integers(2, 12)},
)
def collinear_features_escape(
    rate: Expr = 4 * beta * d - 2 * (kappa2 - kappa1), threshold: Expr = (kappa2 - kappa1) / (2 * d)
) -> Proof:
    loss = Collinear(
        lambda cosine, sine: kappa1 * cosine**2 + kappa2 * sine**2,
        lambda c1, s1, c2, s2: beta * (c1 * c2 + s1 * s2) ** 2,
    )
    return loss.escape(rate, threshold)


collinear_features_escape.mutant("whatever the width", rate=4 * beta - 2 * (kappa2 - kappa1), threshold=(kappa2 - kappa1) / 2)
collinear_features_escape.mutant("the other features only", rate=4 * beta * (d - 1) - 2 * (kappa2 - kappa1))
collinear_features_escape.mutant("half the rate", rate=2 * beta * d - (kappa2 - kappa1))
collinear_features_escape.mutant("a threshold without the 2", threshold=(kappa2 - kappa1) / d)


@statement(
    "normalised-barlow-twins-leaves-collinear-features",
    claim="Barlow Twins on centred features of unit variance leaves features that all lie along the first mode at the rate "
    "{rate}: they are stuck there if beta is below {threshold}.",
    hypotheses=("rho_1 > rho_2 are the eigenvalues of the whitened kernel", *COLLINEAR),
    domain={d: Integers(2, 12), rho1: UNIT, rho2: UNIT},
)
def normalised_barlow_twins(
    rate: Expr = 4 * (beta * rho1 * ((d - 1) * rho1 + rho2) - (1 - rho1) * (rho1 - rho2)),
    threshold: Expr = (1 - rho1) * (rho1 - rho2) / (rho1 * ((d - 1) * rho1 + rho2)),
) -> Proof:
    loss = Collinear(
        lambda cosine, sine: (rho1 * cosine**2 + rho2 * sine**2 - 1) ** 2,
        lambda c1, s1, c2, s2: beta * (rho1 * c1 * c2 + rho2 * s1 * s2) ** 2,
    )
    return loss.escape(rate, threshold)


normalised_barlow_twins.mutant("d for d - 1", threshold=(1 - rho1) * (rho1 - rho2) / (rho1 * (d * rho1 + rho2)))
normalised_barlow_twins.mutant("the threshold of another penalty", threshold=(rho1 - rho2) / (2 * d))
normalised_barlow_twins.mutant("the loss of correlation forgotten", threshold=(rho1 - rho2) / (rho1 * ((d - 1) * rho1 + rho2)))
normalised_barlow_twins.mutant("half the rate", rate=2 * (beta * rho1 * ((d - 1) * rho1 + rho2) - (1 - rho1) * (rho1 - rho2)))
