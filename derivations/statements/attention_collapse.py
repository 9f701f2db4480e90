"""Contrastive learning of one softmax layer: every patch comes to attend to the global area, whatever its own.

The image is represented by the mean of the attention outputs over its patches. Strengths are 1, views hide the share gamma.
"""

from __future__ import annotations

from sympy import Add, E, Expr, S, exp, log, symbols

from derivations.notation import Integers, K, gap, s, t, tau, x
from derivations.proof import Identity, Limit, Positive, Proof, Step
from derivations.statement import statements_from
from derivations.statements.attention_gradients import VIT_PAPER
from derivations.statements.attention_phases import PATCHES, P, a_G, a_T, g, kappa_c, kappa_s, phi

statement = statements_from(f"derived here, after {VIT_PAPER}, contrastive learning")

similarity, Lam, T = symbols("S Lambda T", positive=True)
negatives, alike = symbols("n m", positive=True)

CLUSTERS = {K: Integers(2, 8)}

CONTRAST = (
    "the loss is tau times InfoNCE, the other view behind a stop-gradient",
    "images of one cluster have the similarity S = sum b_n^2, b_n the mean attention on area n; those of others 0",
)
POSITIONS = (*CONTRAST, "a query sees its position alone", "the force Lambda is that of S")


@statement(
    "attention-contrastive-force",
    claim="With m negatives of the same cluster and n of others, the loss pulls on S by {few}. With infinitely many "
    "negatives, of K equal clusters, it pulls by {many}, which is {first} before anything is learned and falls as S grows.",
    hypotheses=CONTRAST,
    domain=CLUSTERS,
)
def contrastive_force(
    few: Expr = negatives / (negatives + (1 + alike) * exp(similarity / tau)),
    many: Expr = (1 - 1 / K) / (exp(similarity / tau) / K + 1 - 1 / K),
    first: Expr = 1 - 1 / K,
) -> Proof:
    own = exp(similarity / tau)
    loss = -similarity + tau * log((1 + alike) * own + negatives)
    crowd = {negatives: (1 - 1 / K) / x, alike: 1 / (K * x)}
    return (
        Identity("Minus the slope of the loss.", -loss.diff(similarity), few),
        Limit("With 1/x negatives, by their shares.", few.subs(crowd), x, many),
        Identity("At S = 0.", many.subs(similarity, 0), first),
        Positive("It falls.", -many.diff(similarity)),
        Positive("With few as well.", -few.diff(similarity)),
    )


contrastive_force.mutant("the positive counts twice", few=negatives / (negatives + (2 + alike) * exp(similarity / tau)))
contrastive_force.mutant(
    "negatives of the same cluster repel too", few=(negatives + alike) / (negatives + (1 + alike) * exp(similarity / tau))
)
contrastive_force.mutant("no temperature", many=(1 - 1 / K) / (exp(similarity) / K + 1 - 1 / K))
contrastive_force.mutant("all negatives repel", first=S.One)


# Any number of areas and patches: summed weights of the shown patches of one area, of all others, and of hidden patches.
area, rest, unseen, others = symbols("A_m B H O", positive=True)
a_m, b_m, b_2, a_b = symbols("a_m b_m b_2 ab", positive=True)
TOTAL = area + rest + unseen
ATTENTION = {a_m: area / TOTAL, a_b: (area * b_m + others) / TOTAL}
"""Of a query on area m, and summed over all areas with their b_n; O is the part of other areas, not yet over the total."""


def _rows(count: int) -> tuple[list[Expr], Expr]:
    """Weights of the first of two areas by row, and the similarity of the rows' mean with frozen b_1 and b_2."""
    first, second = symbols(f"A_1:{count + 1}", positive=True), symbols(f"B_1:{count + 1}", positive=True)
    outputs = ((one * b_m + two * b_2) / (one + two + unseen) for one, two in zip(first, second, strict=True))
    return list(first), Add(*outputs) / count


@statement(
    "attention-rows-move-alike",
    claim="The similarity has the slope {slope} by Phi = e_p^T Q v_m at any query p that sees its position alone, ab the sum "
    "of a_n b_n over areas. Rows that are equal move alike, then by {shared}: all patches come to attend to the same area.",
    hypotheses=POSITIONS,
    domain=PATCHES,
)
def rows_move_alike(slope: Expr = a_m * (b_m - a_b) / P, shared: Expr = a_m * (a_m - similarity) / P) -> Proof:
    pulled = (area * b_m + others) / (P * TOTAL)

    def drawn(row: int) -> Step:
        firsts, mean = _rows(3)
        alone = firsts[row] * mean.diff(firsts[row])
        equal = {symbols(f"{name}_{k}", positive=True): value for name, value in (("A", area), ("B", rest)) for k in (1, 2, 3)}
        found = slope.subs(ATTENTION).subs({P: 3, others: rest * b_2})
        return Identity("A row of three, all equal.", alone.subs(equal), found, scope="3 patches, 2 areas")

    return (
        Identity(
            "One query's part of the similarity, b frozen, by its shown weights of area m.",
            area * pulled.diff(area),
            slope.subs(ATTENTION),
        ),
        *map(drawn, (0, 1, 2)),
        Identity("If all rows are equal b_n = a_n, and ab is S.", slope.subs({b_m: a_m, a_b: similarity}), shared),
        Positive("Below a_m = S + gap there is growth.", shared.subs(a_m, similarity + gap)),
    )


rows_move_alike.mutant("no mean over patches", slope=a_m * (b_m - a_b), shared=a_m * (a_m - similarity))
rows_move_alike.mutant("the attention without its pull", slope=a_m * b_m / P)
rows_move_alike.mutant("the query's own attention", slope=a_m * (a_m - a_b) / P)
rows_move_alike.mutant("without the softmax", shared=a_m / P)


@statement(
    "attention-collapse-time",
    claim="While attention is small, phi_G grows as dphi_G/dt = Lambda/(K P) a_G^2 e^(2 phi_G), so that phi_G = {curve} with "
    "T = {end} = {scaled}, whatever the sign of Delta.",
    hypotheses=(
        *POSITIONS,
        "a_G is the attention on the global area at Q = 0",
        "to leading order in P, the force at rest",
        "kappa_s < kappa_c < 1",
    ),
    domain=PATCHES,
)
def collapse_time(
    curve: Expr = -log(1 - t / T) / 2,
    end: Expr = K * P / (2 * Lam * a_G**2),
    scaled: Expr = K * P ** (1 + 2 * (1 - kappa_c)) / (2 * Lam * s**2),
) -> Proof:
    pull = rows_move_alike.formulas["shared"].subs(similarity, a_m**2 + s * a_T) * P / a_m**2
    small = {a_m: s * x**g, a_T: s * x ** (g + gap)}
    grown = (Lam / (K * P) * a_G**2 * exp(2 * phi)).subs(phi, curve)
    return (
        Limit(
            "The pull over a_G^2/P, x = 1/P, g = 1 - kappa_c, gap = kappa_c - kappa_s; of S local areas make s a_T at most.",
            pull.expand().subs(small),
            x,
            S.One,
        ),
        Identity("The slope of phi_G.", curve.diff(t).subs(T, end), grown.subs(T, end)),
        Identity("It starts at 0.", curve.subs(t, 0), S.Zero),
        Identity("T in P.", end.subs(a_G, s * P ** (kappa_c - 1)), scaled),
    )


collapse_time.mutant("without the 2", end=K * P / (Lam * a_G**2))
collapse_time.mutant("as for reconstruction", curve=-log(1 - t / T))
collapse_time.mutant("no mean over patches", scaled=K * P ** (2 * (1 - kappa_c)) / (2 * Lam * s**2))
collapse_time.mutant("once the exponent", scaled=K * P ** (2 - kappa_c) / (2 * Lam * s**2))


@statement(
    "attention-critical-weight-decay",
    claim="With weight decay lambda dphi_G/dt = Lambda/(K P) a_G^2 e^(2 phi_G) - lambda phi_G. Below lambda = {critical}, E "
    "the base of ln, it never rests; there it rests at phi_G = {tangent} only; above, it stays below {tangent}: nothing is "
    "learned.",
    hypotheses=(*POSITIONS, "to leading order in P, the force at rest"),
    domain=PATCHES,
)
def critical_weight_decay(critical: Expr = 2 * E * Lam * a_G**2 / (K * P), tangent: Expr = S.Half) -> Proof:
    growth = Lam / (K * P) * a_G**2 * exp(2 * phi)
    rate = growth - critical * phi
    return (
        Identity("It rests there at the critical decay.", rate.subs(phi, tangent), S.Zero),
        Identity("The rest is double.", rate.diff(phi).subs(phi, tangent), S.Zero),
        Positive("The rate is convex: it is positive everywhere else.", rate.diff(phi, 2)),
        Positive("A decay that is smaller by gap adds to it.", (growth - (critical - gap) * phi) - rate),
        Positive(
            "One that is larger by gap makes it negative at the tangent.", -(growth - (critical + gap) * phi).subs(phi, tangent)
        ),
    )


critical_weight_decay.mutant("without e", critical=2 * Lam * a_G**2 / (K * P))
critical_weight_decay.mutant("without the 2", critical=E * Lam * a_G**2 / (K * P))
critical_weight_decay.mutant("at phi_G = 1", tangent=S.One)
critical_weight_decay.mutant("e^2 at 1", critical=E**2 * Lam * a_G**2 / (K * P), tangent=S.One)
critical_weight_decay.mutant("one power of the attention", critical=2 * E * Lam * a_G / (K * P))


size, pull = symbols("C G", positive=True)


@statement(
    "attention-features-outrun-positions",
    claim="If queries see their patch, Psi = v_l^T Q v_m learns {shown} times as fast as Phi = e_p^T Q v_m does from one "
    "shown query, C the number of shown patches of area l. At Q = 0 it is {start} times as fast as Phi from shown and hidden "
    "ones, for an area of C patches. So attention to the global area starts on the time {time}, for C = P^kappa_s.",
    source=f"derived here, after {VIT_PAPER}, contrastive learning with full queries",
    hypotheses=(*CONTRAST, "queries of an area score alike but for being shown", "the share s = 1 - gamma is shown"),
    domain={**PATCHES, size: Integers(1, 6)},
)
def features_outrun_positions(
    shown: Expr = size, start: Expr = s * size, time: Expr = K * P ** (1 + 2 * (1 - kappa_c) - kappa_s) / (Lam * s**3)
) -> Proof:
    psi = symbols("Psi", positive=True)

    def drawn(count: int) -> Step:
        entries = symbols(f"Phi_1:{count + 1}", positive=True)
        scores = [exp(entry + psi) * area for entry in entries]
        pooled = Add(*((score * b_m + others) / (score + rest + unseen) for score in scores)) / P
        equal = dict.fromkeys(entries, phi)
        by_feature, by_position = (pooled.diff(each).subs(equal) for each in (psi, entries[0]))
        return Identity("Queries written out, all alike.", by_feature, shown.subs(size, count) * by_position, scope="C = 1..3")

    rate = Lam / (K * P) * (s * P ** (kappa_c - 1)) ** 2
    return (
        *map(drawn, (1, 2, 3)),
        Identity(
            "At Q = 0 shown and hidden queries pull alike, by G; Psi has the share s of both the shown ones.",
            shown.subs(size, s * size) * pull,
            start * (s * pull + (1 - s) * pull),
        ),
        Identity("The inverse rate of Psi, the pull a_G^2.", 1 / (start * rate).subs(size, P**kappa_s), time),
    )


_outrun = features_outrun_positions
_outrun.mutant("as fast as positions", shown=S.One, start=s)
_outrun.mutant("hidden queries too", start=size)
_outrun.mutant("the root of the size", shown=size**S.Half)
_outrun.mutant("the time of positions", time=K * P ** (1 + 2 * (1 - kappa_c)) / (Lam * s**2))
_outrun.mutant("the other exponent", time=K * P ** (1 + 2 * (1 - kappa_c) + kappa_s) / (Lam * s**3))
