"""A masked autoencoder of one softmax layer: which entries of the attention matrix move, and by what gradient.

Patch p of area j shows z_j v_j beside its position e_p, or if hidden its position alone; a query scores patches by the matrix Q
and sums what they show by the softmax of the scores over all patches. Features and positions are orthonormal.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from sympy import Add, Expr, S, Symbol, exp, log, symbols

from derivations.notation import s, w
from derivations.proof import Identity, Proof, Step
from derivations.statement import statements_from

VIT_PAPER = "Huang et al. 2025"

statement = statements_from(f"{VIT_PAPER}, gradients of masked reconstruction")

z_j, z_m, a_j, a_m, e_j, e_jm = symbols("z_j z_m a_j a_m e_j e_jm", positive=True)
"""Strengths of the query's area and of another, attention on their shown patches, squared errors on all areas but these."""

Phi, Upsilon = symbols("Phi Upsilon", positive=True)

MASKED = (
    "the query p is hidden, of area j; m is another area",
    "the loss of p is |F_p - X_p|^2/2",
    "a_n is the attention on the shown patches of area n",
)
ERRORS = ("e_j sums z_n^2 a_n^2 over all areas n but j, e_jm over all but j and m",)


# An image of five patches in three areas, written out.
AREA = (1, 1, 2, 2, 3)
HIDDEN = (0, 2)
Z: tuple[Expr, ...] = symbols("z_1:4", positive=True)
WRITTEN_OUT = "5 patches in 3 areas, 2 hidden"

Token = Mapping[str, Expr]


def entry(row: str, column: str) -> Symbol:
    """Of Q, between coordinates: e0, e1, ... are the positions, v1, v2, v3 the features."""
    return Symbol(f"Q_{row}{column}", positive=True)


def _token(q: int, mask: Expr = S.Zero) -> Token:
    """A patch by its coordinates; one that is hidden shows the strength ``mask`` in place of its own."""
    return {f"e{q}": S.One, f"v{AREA[q]}": mask if q in HIDDEN else Z[AREA[q] - 1]}


def _score(p: int, q: int, mask: Expr = S.Zero) -> Expr:
    query, key = _token(p, mask).items(), _token(q, mask).items()
    return Add(*(one * other * entry(row, column) for (row, one), (column, other) in product(query, key)))


def _attention(p: int, mask: Expr = S.Zero) -> list[Expr]:
    """Of a query, on the shown patches of each area."""
    weights = [exp(_score(p, q, mask)) for q in range(len(AREA))]
    return [
        Add(*(weight for q, weight in enumerate(weights) if AREA[q] == area and q not in HIDDEN)) / Add(*weights)
        for area in (1, 2, 3)
    ]


def _squared_error(p: int, mask: Expr = S.Zero) -> Expr:
    """Half the squared distance of the output from the patch."""
    on = enumerate(zip(Z, _attention(p, mask), strict=True), start=1)
    return Add(*((z * (mass - int(area == AREA[p]))) ** 2 for area, (z, mass) in on)) / 2


def _by_weights(expression: Expr, p: int, mask: Expr = S.Zero) -> Expr:
    """With w_q for e^score: entries by positions give way to what scores are."""
    scores = {entry(f"e{p}", f"e{q}"): _score(p, q, mask) for q in range(len(AREA))}
    weights = symbols(f"w_0:{len(AREA)}", positive=True)
    return expression.subs(
        {each: log(weight) - (score - each) for (each, score), weight in zip(scores.items(), weights, strict=True)}
    )


COORDINATES = (*(f"e{q}" for q in range(len(AREA))), *(f"v{area}" for area in (1, 2, 3)))


@statement(
    "attention-masked-query-is-its-position",
    claim="With a mask token that shows {mask}, a hidden query scores a shown patch by {shown} and a hidden one by {hidden}, "
    "Phi = e_p^T Q v_m and Upsilon = e_p^T Q e_q. The loss has the slope {feature} by every row v^T Q, and the mixed second "
    "slope {between} by the rows of two positions: feature rows stay at 0 and positions never interact.",
    source=f"derived here, after {VIT_PAPER}, masked reconstruction",
    hypotheses=("the loss sums over hidden queries",),
)
def masked_query(
    mask: Expr = S.Zero,
    shown: Expr = z_m * Phi + Upsilon,
    hidden: Expr = Upsilon,
    feature: Expr = S.Zero,
    between: Expr = S.Zero,
) -> Proof:
    first, second = HIDDEN
    loss = Add(*(_squared_error(p, mask) for p in HIDDEN))
    squares = Add(
        *(loss.diff(entry(f"e{first}", one), entry(f"e{second}", other)) ** 2 for one, other in product(COORDINATES, repeat=2))
    )

    def by_features(p: int) -> Expr:
        error = _squared_error(p, mask)
        ways = ((f"v{area}", column) for area in (1, 2, 3) for column in COORDINATES)
        return _by_weights(
            Add(*(Symbol(f"D_{row}{to}", positive=True) * error.diff(entry(row, to)) for row, to in ways)), p, mask
        )

    def told(score: Expr, q: int) -> Expr:
        row, area = f"e{first}", AREA[q]
        return score.subs({z_m: Z[area - 1], Phi: entry(row, f"v{area}"), Upsilon: entry(row, f"e{q}")})

    return (
        Identity("A shown patch.", _score(first, 3, mask), told(shown, 3), scope=WRITTEN_OUT),
        Identity(
            "A hidden patch, not of the query's area.", _score(first, second, mask), told(hidden, second), scope=WRITTEN_OUT
        ),
        *(
            Identity("The slope along any change D of the rows of features.", by_features(p), feature, scope=WRITTEN_OUT)
            for p in HIDDEN
        ),
        Identity("Mixed second slopes by rows of two positions, squared and summed.", squares, between**2, scope=WRITTEN_OUT),
    )


masked_query.mutant("a mask token that shows something", mask=S.Half)
masked_query.mutant("hidden patches score by their feature", hidden=z_m * Phi + Upsilon)
masked_query.mutant("strength forgotten", shown=Phi + Upsilon)
masked_query.mutant("feature rows move", feature=Phi * z_m)
masked_query.mutant("positions interact", between=Upsilon)


# Any number of areas and patches: summed weights e^score of areas j and m, of all other areas, and of hidden patches.
own, other, rest, unseen = symbols("A_j A_m B H", positive=True)
spread = Symbol("V", positive=True)
"""Sum of z_n^2 A_n^2 over the other areas."""

TOTAL = own + other + rest + unseen
LOSS = (z_j**2 * (1 - own / TOTAL) ** 2 + (z_m**2 * other**2 + spread) / TOTAL**2) / 2
READ = {
    a_j: own / TOTAL,
    a_m: other / TOTAL,
    e_j: (z_m**2 * other**2 + spread) / TOTAL**2,
    e_jm: spread / TOTAL**2,
    s: w / TOTAL,
}


def _written_out(area: int, p: int) -> Mapping[Expr, Expr]:
    """What the symbols stand for in the image written out: m is this area, or another if this is the query's."""
    masses, j = _attention(p), AREA[p]
    m = area if area != j else next(each for each in (1, 2, 3) if each != j)
    squares = {each: (Z[each - 1] * masses[each - 1]) ** 2 for each in (1, 2, 3) if each != j}
    errors = {e_j: Add(*squares.values()), e_jm: Add(*(square for each, square in squares.items() if each != m))}
    return {z_j: Z[j - 1], z_m: Z[m - 1], a_j: masses[j - 1], a_m: masses[m - 1], **errors}


@statement(
    "attention-gradient-by-features",
    claim="Minus the slope of the loss by Phi = e_p^T Q v is {target} for v = v_j, the feature of the query's own area, and "
    "{others} for v = v_m.",
    hypotheses=(*MASKED, *ERRORS),
)
def gradient_by_features(
    target: Expr = z_j * a_j * (z_j**2 * (1 - a_j) ** 2 + e_j),
    others: Expr = z_m * a_m * (e_jm - z_j**2 * a_j * (1 - a_j) - z_m**2 * a_m * (1 - a_m)),
) -> Proof:
    def drawn(area: int, p: int) -> Step:
        formula = target if area == AREA[p] else others
        slope = -_squared_error(p).diff(entry(f"e{p}", f"v{area}"))
        sides = (_by_weights(side, p) for side in (slope, formula.subs(_written_out(area, p))))
        return Identity("Patches written out, by an entry of Q.", *sides, scope=WRITTEN_OUT)

    return (
        Identity("By v_j every shown weight of area j has the slope z_j.", -z_j * own * LOSS.diff(own), target.subs(READ)),
        Identity("By v_m, those of area m have z_m.", -z_m * other * LOSS.diff(other), others.subs(READ)),
        *(drawn(area, HIDDEN[0]) for area in (1, 2)),
    )


gradient_by_features.mutant("descent", target=-gradient_by_features.formulas["target"])
gradient_by_features.mutant("one factor of the error", target=z_j * a_j * (z_j**2 * (1 - a_j) + e_j))
gradient_by_features.mutant("without strength", target=a_j * (z_j**2 * (1 - a_j) ** 2 + e_j))
gradient_by_features.mutant(
    "all others in the sum", others=z_m * a_m * (e_j - z_j**2 * a_j * (1 - a_j) - z_m**2 * a_m * (1 - a_m))
)
gradient_by_features.mutant("pushed by its own mass only", others=-z_m * a_m * z_m**2 * a_m * (1 - a_m))
gradient_by_features.mutant(
    "pulled by the target", others=z_m * a_m * (e_jm + z_j**2 * a_j * (1 - a_j) - z_m**2 * a_m * (1 - a_m))
)


@statement(
    "attention-gradient-by-positions",
    claim="Minus the slope of the loss by Upsilon = e_p^T Q e_q, at the attention s on q, is {target} for a shown q of area "
    "j, {others} for one of area m, and {hidden} for a hidden q, wherever it is. Over all q it sums to {total}.",
    hypotheses=(*MASKED, *ERRORS),
)
def gradient_by_positions(
    target: Expr = s * (z_j**2 * (1 - a_j) ** 2 + e_j),
    others: Expr = s * (e_jm - z_j**2 * a_j * (1 - a_j) - z_m**2 * a_m * (1 - a_m)),
    hidden: Expr = s * (e_j - z_j**2 * a_j * (1 - a_j)),
    total: Expr = S.Zero,
) -> Proof:
    kinds = {"shown, of area j": (own, target), "shown, of area m": (other, others), "hidden": (unseen, hidden)}

    def step(kind: str, weight: Expr, formula: Expr) -> Step:
        return Identity(f"One weight w of its kind moves: {kind}.", -w * LOSS.diff(weight), formula.subs(READ))

    everything = target.subs(s, a_j) + hidden.subs(s, 1 - a_j) - e_j
    features = gradient_by_features.formulas
    return (
        *(step(kind, *pair) for kind, pair in kinds.items()),
        Identity(
            "One of area m is a hidden one less this.", hidden - others.subs(e_jm, e_j - (z_m * a_m) ** 2), s * z_m**2 * a_m
        ),
        Identity("That sums to e_j over all areas m, and s to 1.", everything, total),
        Identity(
            "Over the shown patches of area j, times z_j: the slope by its feature.",
            z_j * target.subs(s, a_j),
            features["target"],
        ),
        Identity("The same in area m.", z_m * others.subs(s, a_m), features["others"]),
    )


gradient_by_positions.mutant("hidden patches stand still", hidden=S.Zero)
gradient_by_positions.mutant("hidden patches as shown ones of m", hidden=gradient_by_positions.formulas["others"])
gradient_by_positions.mutant("the strength of features", target=z_j * gradient_by_positions.formulas["target"])
gradient_by_positions.mutant("the sum of the errors", total=e_j)
gradient_by_positions.mutant("only the own area pulls", others=s * (e_jm - z_j**2 * a_j * (1 - a_j)))
