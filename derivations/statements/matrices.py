"""From the loss of matrices to the loss of one feature: gradients entry by entry, and when features stay apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import mul
from typing import Any

from sympy import (
    Expr,
    ImmutableDenseMatrix,
    MatrixExpr,
    MatrixSymbol,
    Symbol,
    Trace,
    cancel,
    diag,
    expand,
    eye,
    symbols,
)
from sympy import Identity as IdentityMatrix

from derivations.gradient_flow import LOSSES, gradient_flow
from derivations.matrices import (
    DEPTHS,
    LAYERED,
    SIZED,
    Diagonal,
    Gradients,
    Square,
    Symmetric,
    TraceIdentity,
    d,
)
from derivations.notation import L, M, lam, released, sigma, u, v
from derivations.proof import Identity, Positive, Proof, Step
from derivations.statement import JEPA_PAPER, statements_from

statement = statements_from(f"{JEPA_PAPER}, gradients and diagonal dynamics")

V, W = Square("V", d, d), Square("W", d, d)
A, X, B = (Square(name, d, d) for name in "AXB")
Sxx, Syx, Syy = Symmetric("S_xx", d, d), Square("S_yx", d, d), Symmetric("S_yy", d, d)
T = Square("sg(W)", d, d)
INPUT = IdentityMatrix(d)
U_DIAGONAL, V_DIAGONAL, SECOND, CROSS = (Diagonal(entry) for entry in (u, v, sigma**2, lam))

TARGETS: dict[str, MatrixExpr] = {"jepa": T, "mae": INPUT}
"""What each objective makes of the second view y; under a stop-gradient where it is the encoder."""


def matrix_loss(student: MatrixExpr, target: MatrixExpr, second: MatrixExpr = Sxx, cross: MatrixExpr = Syx) -> Expr:
    """1/2 E|student x - target y|^2 in second moments, up to what does not depend on the student."""
    return Trace(student * second * student.T) / 2 - Trace(student * cross.T * target.T)


@dataclass(frozen=True)
class Network:
    """A predictor of some layers on an encoder of some layers; the last layer of each comes first."""

    encoder: tuple[MatrixExpr, ...]
    predictor: tuple[MatrixExpr, ...]

    @classmethod
    def of(cls, depth: int, predictor_depth: int, encoder: Any = W, predictor: Any = V) -> Network:
        """Layers numbered from the input on."""
        counts = ((encoder, depth), (predictor, predictor_depth))
        return cls(*(tuple(layer.numbered(k) for k in range(count, 0, -1)) for layer, count in counts))

    @property
    def layers(self) -> tuple[MatrixExpr, ...]:
        """All of them, in the order of the product."""
        return (*self.predictor, *self.encoder)

    def loss(self, objective: str, second: MatrixExpr = Sxx, cross: MatrixExpr = Syx) -> Expr:
        """The loss with the target frozen."""
        return matrix_loss(product(self.layers), TARGETS[objective], second, cross)

    def gradients(self, by_layer: MatrixExpr) -> dict[MatrixSymbol, MatrixExpr]:
        """The formula in A, X, B and W, for every layer X between what is left and right of it."""
        whole = product(self.encoder)
        return {
            layer: by_layer.xreplace({A: product(self.layers[:k]), X: layer, B: product(self.layers[k + 1 :]), W: whole}).doit()
            for k, layer in enumerate(self.layers)
        }


def product(factors: tuple[MatrixExpr, ...]) -> MatrixExpr:
    """The product, the identity if there is nothing to multiply."""
    return reduce(mul, factors) if factors else INPUT


def _moments(target: MatrixExpr) -> Step:
    x, y = Square("x", d, d), Square("y", d, d)
    error = V * x - target * y
    moments = {Sxx: x * x.T, Syx: y * x.T}
    return TraceIdentity(
        "With samples as the columns of x and y, half the squared error is the loss in moments and a part of the target's.",
        Trace(error * error.T) / 2,
        matrix_loss(V, target).xreplace(moments) + Trace(target * y * y.T * target.T) / 2,
        scope=SIZED,
    )


def _gradients(objective: str, by_layer: MatrixExpr, encoder: MatrixExpr, predictor: MatrixExpr) -> Proof:
    def step(sentence: str, loss: Expr, claimed: dict[MatrixSymbol, MatrixExpr], student: MatrixExpr = W) -> Step:
        return Gradients(sentence, loss, claimed, frozen={T: student}, scope=SIZED)

    def layered(depth: int, predictor_depth: int) -> Step:
        network = Network.of(depth, predictor_depth)
        sentence = f"L = {depth}, M = {predictor_depth}: every layer."
        return step(sentence, network.loss(objective), network.gradients(by_layer), product(network.encoder))

    target = TARGETS[objective]
    return (
        _moments(target),
        # A and B stand for any number of layers, so this is every L and M.
        step("One layer X, whatever stands left and right of it.", matrix_loss(A * X * B, target), {X: by_layer}),
        step("One layer of each kind.", matrix_loss(V * W, target), {W: encoder, V: predictor}),
        *(layered(*depths) for depths in DEPTHS),
    )


@statement(
    "jepa-matrix-gradients",
    claim="The gradient of JEPA's loss by a layer X, where V W = A X B, is {by_layer}, the target frozen. With one layer "
    "of each kind it is {encoder} by the encoder and {predictor} by the predictor.",
    hypotheses=("V and W are the products of the predictor's and of the encoder's layers", "S_xx = E[x x^T], S_yx = E[y x^T]"),
)
def jepa_matrix_gradients(
    by_layer: MatrixExpr = A.T * (A * X * B * Sxx - W * Syx) * B.T,
    encoder: MatrixExpr = V.T * (V * W * Sxx - W * Syx),
    predictor: MatrixExpr = (V * W * Sxx - W * Syx) * W.T,
) -> Proof:
    return _gradients("jepa", by_layer, encoder, predictor)


jepa_matrix_gradients.mutant("a transpose is missing", by_layer=A * (A * X * B * Sxx - W * Syx) * B.T)
jepa_matrix_gradients.mutant("the views are exchanged", by_layer=A.T * (A * X * B * Sxx - W * Syx.T) * B.T)
jepa_matrix_gradients.mutant("the target is the input's", encoder=V.T * (V * W * Sxx - Syx))
jepa_matrix_gradients.mutant(
    "the target is differentiated too", encoder=V.T * (V * W * Sxx - W * Syx) - V * W * Syx.T + W * Syy
)
jepa_matrix_gradients.mutant("the predictor sees the input", predictor=V * W * Sxx - W * Syx)


@statement(
    "mae-matrix-gradients",
    claim="The gradient of MAE's loss by a layer X, where V W = A X B, is {by_layer}. With one layer of each kind it is "
    "{encoder} by the encoder and {predictor} by the decoder.",
    hypotheses=("V and W are the products of the decoder's and of the encoder's layers", "S_xx = E[x x^T], S_yx = E[y x^T]"),
)
def mae_matrix_gradients(
    by_layer: MatrixExpr = A.T * (A * X * B * Sxx - Syx) * B.T,
    encoder: MatrixExpr = V.T * (V * W * Sxx - Syx),
    predictor: MatrixExpr = (V * W * Sxx - Syx) * W.T,
) -> Proof:
    return _gradients("mae", by_layer, encoder, predictor)


mae_matrix_gradients.mutant("the factors around the error are exchanged", by_layer=B.T * (A * X * B * Sxx - Syx) * A.T)
mae_matrix_gradients.mutant("the views are exchanged", predictor=(V * W * Sxx - Syx.T) * W.T)
mae_matrix_gradients.mutant("the target is the encoder's", encoder=V.T * (V * W * Sxx - W * Syx))
mae_matrix_gradients.mutant("the error is counted twice", by_layer=2 * A.T * (A * X * B * Sxx - Syx) * B.T)


@statement(
    "diagonal-stays-diagonal",
    claim="With encoder layers {encoder}, predictor layers {predictor}, E[x x^T] = {second} and E[y x^T] = {cross}, "
    "every gradient of JEPA and of MAE vanishes off the diagonal.",
    hypotheses=("each layer has entries of its own",),
)
def diagonal_stays_diagonal(
    encoder: MatrixExpr = U_DIAGONAL,
    predictor: MatrixExpr = V_DIAGONAL,
    second: MatrixExpr = SECOND,
    cross: MatrixExpr = CROSS,
) -> Proof:
    def step(objective: str, depths: tuple[int, int]) -> Step:
        general, special = Network.of(*depths), Network.of(*depths, encoder, predictor)
        return Gradients(
            f"{objective.upper()}, L = {depths[0]}, M = {depths[1]}: every layer, off the diagonal.",
            general.loss(objective, second, cross),
            dict.fromkeys(general.layers, Diagonal(Symbol("g"))),
            frozen={T: product(general.encoder)},
            at=dict(zip(general.layers, special.layers, strict=True)),
            off_diagonal=True,
            scope=LAYERED,
        )

    return tuple(step(objective, depths) for objective in TARGETS for depths in DEPTHS)


diagonal_stays_diagonal.mutant("the features of one view are correlated", second=Sxx)
diagonal_stays_diagonal.mutant("different features of the two views are correlated", cross=Syx)
diagonal_stays_diagonal.mutant("a predictor that is not aligned", predictor=V)
diagonal_stays_diagonal.mutant("an encoder that is not aligned", encoder=W)


@statement(
    "diagonal-entries-obey-the-scalar-system",
    claim="Among diagonal matrices with equal layers, each entry of each layer follows the flow of one scalar loss: "
    "{jepa} for JEPA, {mae} for MAE.",
    hypotheses=("diagonal second moments", "layers of each kind share their amplitudes"),
)
def diagonal_entries_obey_the_scalar_system(jepa: Expr = LOSSES["jepa"], mae: Expr = LOSSES["mae"]) -> Proof:
    def step(objective: str, loss: Expr, depths: tuple[int, int]) -> Step:
        general, flow = Network.of(*depths), gradient_flow(loss)
        rates = {U_DIAGONAL: flow.encoder, V_DIAGONAL: flow.predictor}
        at = {layer: V_DIAGONAL if layer in general.predictor else U_DIAGONAL for layer in general.layers}
        return Gradients(
            f"{objective.upper()}, L = {depths[0]}, M = {depths[1]}: every layer.",
            general.loss(objective, SECOND, CROSS),
            {layer: Diagonal(expand(-rates[held].subs({L: depths[0], M: depths[1]}))) for layer, held in at.items()},
            frozen={T: product(general.encoder)},
            at=at,
            scope=LAYERED,
        )

    return tuple(step(objective, loss, depths) for objective, loss in (("jepa", jepa), ("mae", mae)) for depths in DEPTHS)


diagonal_entries_obey_the_scalar_system.mutant("JEPA's target is differentiated", jepa=released(LOSSES["jepa"]))
diagonal_entries_obey_the_scalar_system.mutant("a spread that is not squared", mae=LOSSES["mae"].subs(sigma**2, sigma))
diagonal_entries_obey_the_scalar_system.mutant("the loss without its half", mae=2 * LOSSES["mae"])
diagonal_entries_obey_the_scalar_system.mutant("JEPA with the target of MAE", jepa=LOSSES["mae"])


q, r = symbols("q r", positive=True)
w1, w2, v1, v2, lam1, lam2, sigma1, sigma2 = symbols("w_1 w_2 v_1 v_2 lambda_1 lambda_2 sigma_1 sigma_2", positive=True)


def rotation(half: Expr) -> ImmutableDenseMatrix:
    """The rotation of the plane by an angle whose half has this tangent."""
    return ImmutableDenseMatrix([[1 - half**2, -2 * half], [2 * half, 1 - half**2]]) / (1 + half**2)


def _couplings(objective: str) -> ImmutableDenseMatrix:
    """The error V W S_xx - target S_yx in the frame of the layers, where all else is diagonal."""
    frame, predictor_factor = rotation(r), rotation(q)
    encoder = frame * diag(w1, w2)
    predictor = predictor_factor * frame * diag(v1, v2) * frame.T
    target = encoder if objective == "jepa" else eye(2)
    error = predictor * encoder * diag(sigma1**2, sigma2**2) - target * diag(lam1, lam2)
    return (predictor_factor * frame).T * error


@statement(
    "alignment-decides-decoupling",
    claim="For two features, with encoder R diag(w) and predictor Q R diag(v) R^T, Q and R rotations by angles whose "
    "halves have the tangents q and r, the error feeds feature 2 into feature 1 at the rate {jepa} in JEPA and {mae} in "
    "MAE. So JEPA decouples only if Q = 1, whatever R, and MAE only if Q R = 1; half turns apart.",
    hypotheses=("diagonal second moments", "q and r of either sign"),
)
def alignment_decides_decoupling(
    jepa: Expr = -lam2 * w2 * 2 * q / (1 + q**2),
    mae: Expr = -lam2 * 2 * (q + r) * (1 - q * r) / ((1 + q**2) * (1 + r**2)),
) -> Proof:
    exchanged = {w1: w2, w2: w1, lam1: lam2, lam2: lam1}
    steps: list[Step] = []
    for objective, coupling in (("jepa", jepa), ("mae", mae)):
        found, name = _couplings(objective), objective.upper()
        steps += [
            Identity(f"{name}: feature 2 in the error of feature 1.", found[0, 1], coupling),
            Identity(
                f"{name}: feature 1 in the error of feature 2, with the other sign.", found[1, 0], -coupling.xreplace(exchanged)
            ),
        ]
    return (
        *steps,
        Positive("JEPA: whatever R, the coupling divided by -q has no zero.", -jepa / q),
        Positive("MAE: the coupling divided by -(q + r)(1 - q r) has no zero.", cancel(-mae / (q + r) / (1 - q * r))),
    )


alignment_decides_decoupling.mutant("JEPA is decided by the encoder's frame", jepa=-lam2 * w2 * 2 * r / (1 + r**2))
alignment_decides_decoupling.mutant("MAE is decided by the predictor alone", mae=-lam2 * 2 * q / (1 + q**2))
alignment_decides_decoupling.mutant("the tangent of the half angle for the sine", jepa=-lam2 * w2 * q)
alignment_decides_decoupling.mutant("JEPA forgets its target's amplitude", jepa=-lam2 * 2 * q / (1 + q**2))


first, second, rest, slope = symbols("u_1 u_2 R slope", positive=True)


@statement(
    "layers-stay-equal",
    claim="If the loss sees the amplitudes of some layers only through their product, {invariant} is conserved for any two.",
    hypotheses=("all layers have the same learning rate",),
)
def layers_stay_equal(invariant: Expr = first**2 - second**2) -> Proof:
    whole = first * second * rest
    gain, drop = (-slope * whole.diff(layer) * invariant.diff(layer) for layer in (first, second))
    return (
        Identity("Whatever the slope of the loss in the product u_1 u_2 R, what one layer adds the other takes.", gain, -drop),
    )


layers_stay_equal.mutant("a sum", invariant=first**2 + second**2)
layers_stay_equal.mutant("first powers", invariant=first - second)
layers_stay_equal.mutant("cubes", invariant=first**3 - second**3)
layers_stay_equal.mutant("weighted", invariant=first**2 - 2 * second**2)
