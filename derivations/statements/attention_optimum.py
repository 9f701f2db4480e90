"""Where a masked autoencoder of one softmax layer ends: the least loss that masks allow, and what its attention looks like."""

from __future__ import annotations

from itertools import combinations

from sympy import Add, Expr, ImmutableDenseMatrix, Mul, Rational, S, diag, log, ones, sqrt, symbols

from derivations.notation import UNIT, Integers, gamma, x
from derivations.proof import Identity, Limit, Positive, Proof, Step
from derivations.statement import statements_from
from derivations.statements.attention_gradients import LOSS, VIT_PAPER, a_j, e_j, other, own, rest, spread, z_j

statement = statements_from(f"derived here, after {VIT_PAPER}, optimum of masked reconstruction")

i, C, M, P = symbols("i C M P", integer=True, positive=True)
second, Pr = symbols("z2 Pr", positive=True)

COUNTS = {P: Integers(12, 20), M: Integers(6, 11), i: Integers(1, 4), C: Integers(1, 6)}


def _all_hidden(factor: Expr, size: int) -> Expr:
    """The chance that an area of this many patches is hidden, one of them given, as a product."""
    return Mul(*(factor.subs(i, known) for known in range(1, size)))


def _counted(patches: int, masked: int, size: int) -> Rational:
    """The same chance, all masks written out; the area is patches 0, 1, ..., of which 0 is hidden."""
    masks = [mask for mask in combinations(range(patches), masked) if 0 in mask]
    return Rational(sum(set(range(size)) <= set(mask) for mask in masks), len(masks))


@statement(
    "attention-least-loss",
    claim="A hidden patch costs {least} at least if its area shows nothing, and nothing in the end if it does. So the least "
    "loss of a patch is {floor}, where z2 = E z_j^2 and Pr is the chance that the rest of its area is hidden as well: the "
    "product of {factor} over i = 1..C - 1 for M masked patches of P, which tends to {limit} as P grows.",
    hypotheses=("M = gamma P", "the area has C patches"),
    domain={**COUNTS, gamma: UNIT},
)
def least_loss(
    least: Expr = z_j**2 / 2,
    floor: Expr = gamma * second * Pr / 2,
    factor: Expr = (M - i) / (P - i),
    limit: Expr = gamma ** (C - 1),
) -> Proof:
    cost = (z_j**2 * (1 - a_j) ** 2 + e_j) / 2
    numbers = {M: gamma / x, P: 1 / x}
    shared = LOSS.subs({own: own / x, other: other * x, rest: rest * x, spread: spread * x**2}, simultaneous=True)

    def counted(patches: int, masked: int, size: int) -> Step:
        chance = _all_hidden(factor, size).subs({M: masked, P: patches})
        return Identity("All masks written out.", _counted(patches, masked, size), chance, scope="P = 5, 6")

    def grown(size: int) -> Step:
        product = _all_hidden(factor, size).subs(numbers)
        return Limit("The product, x = 1/P.", product, x, limit.subs(C, size), scope="C = 2..4")

    return (
        Positive("Nothing shown in the area: what is shown elsewhere costs.", cost.subs(a_j, 0) - least),
        Identity("Attention on hidden patches alone costs no more.", cost.subs({a_j: 0, e_j: 0}), least),
        Limit("One Q serves all masks: other areas weigh in proportion to x, the own one to 1/x.", shared, x, S.Zero),
        Limit("The same Q if the own area shows nothing.", shared.subs(own, 0), x, least),
        Identity("Hidden, and with all of its area.", gamma * Pr * least.subs(z_j, sqrt(second)), floor),
        Identity("A mask of i given patches holds M - i of the P - i others, each as often.", (P - i) * factor, M - i),
        *(counted(*sizes) for sizes in ((5, 3, 2), (5, 3, 3), (6, 4, 3), (6, 4, 4))),
        *map(grown, (2, 3, 4)),
    )


least_loss.mutant("patches hidden independently", factor=M / P)
least_loss.mutant("one off", factor=(M - i + 1) / (P - i + 1))
least_loss.mutant("the query counted again", limit=gamma**C)
least_loss.mutant("every patch costs", floor=second * Pr / 2)
least_loss.mutant("both squares", least=z_j**2)


@statement(
    "attention-of-the-optimum",
    claim="If every query attends evenly to its own area of C patches, its row has the cosine {cosine} with the mean row, "
    "and tells {told} of where it looks, as a share of ln P. So the diversity of the map is 1 less the sum of {term} over "
    "areas, and the mutual information 1 less the sum of {loss}.",
    hypotheses=("nothing is hidden", "areas fill the P patches"),
    domain={P: Integers(12, 20)},
)
def attention_of_the_optimum(
    cosine: Expr = (C / P) ** S.Half,
    told: Expr = 1 - log(C) / log(P),
    term: Expr = (C / P) ** Rational(3, 2),
    loss: Expr = C / P * log(C) / log(P),
) -> Proof:
    row, mean = 1 / C, C * (1 / C) / P

    def drawn(*sizes: int) -> Proof:
        scope, patches = "areas of 1, 2, 3", sum(sizes)
        rows = diag(*(ones(size, size) / size for size in sizes))
        told_by = {
            name: Add(*(part.subs({C: size, P: patches}) for size in sizes)) for name, part in (("d", term), ("i", loss))
        }
        return (
            Identity("The diversity of the map written out.", _diversity(rows), 1 - told_by["d"], scope=scope),
            Identity("Its mutual information.", _information(rows), 1 - told_by["i"], scope=scope),
        )

    return (
        Identity("C patches of the row meet the mean row.", C * row * mean / sqrt(C * row**2 * P * mean**2), cosine),
        Identity("ln P less the entropy of the row, over ln P.", (log(P) + C * row * log(row)) / log(P), told),
        Identity("C of P rows: the cosine.", C / P * cosine, term),
        Identity("And what they do not tell.", C / P * (1 - told), loss),
        *drawn(1, 2, 3),
    )


def _diversity(rows: ImmutableDenseMatrix) -> Expr:
    """1 less the mean cosine of rows and the mean row."""
    count = rows.shape[0]
    mean = ones(1, count) * rows / count
    cosines = ((row * mean.T)[0] / sqrt((row * row.T)[0] * (mean * mean.T)[0]) for row in map(rows.row, range(count)))
    return 1 - Add(*cosines) / count


def _information(rows: ImmutableDenseMatrix) -> Expr:
    """Of a query drawn evenly and its key, over the entropy of the queries; keys are as even."""
    count = rows.shape[0]
    inner = Add(*(_entropy(rows.row(p)) for p in range(count))) / count
    return (_entropy(ones(1, count) * rows / count) - inner) / log(count)


def _entropy(chances: ImmutableDenseMatrix) -> Expr:
    return -Add(*(chance * log(chance) for chance in chances if chance))


attention_of_the_optimum.mutant("the share of the area", cosine=C / P)
attention_of_the_optimum.mutant("each area once", term=(C / P) ** S.Half)
attention_of_the_optimum.mutant("squares", term=(C / P) ** 2)
attention_of_the_optimum.mutant("rows tell everything", told=S.One)
attention_of_the_optimum.mutant("the entropy of all keys", loss=log(C) / log(P))
