"""Augmentations as Markov chains: what kernel a loss of several views sees, and the graph that few views draw."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product

from sympy import Add, Expr, ImmutableDenseMatrix, MatrixExpr, Mul, Rational, S, Symbol, Trace, sqrt, symbols
from sympy import Identity as IdentityMatrix

from derivations.matrices import SIZED, Square, Symmetric, TraceIdentity, d, in_one_mode
from derivations.notation import Integers, kappa
from derivations.proof import Identity, Positive, Proof, Step
from derivations.statement import statements_from

AUGMENTATIONS_PAPER = "Agrawal et al. 2024, augmentation kernels and losses of several views"

statement = statements_from(AUGMENTATIONS_PAPER)

m = Symbol("m", integer=True, positive=True)
square, cross, mu = symbols("q c mu", positive=True)

SEVERAL = {m: Integers(2, 6)}
IMAGES, VIEWS = 2, 3
SCOPE = f"{IMAGES} images, {VIEWS} views"

Row = tuple[Expr, ...]

TOTAL, SQUARES = symbols("s_1 s_2", real=True)


@statement(
    "m-view-loss",
    claim="Over m views of an image, E sum over j of |f_mean - f_j|^2 = {loss} with q = E|f|^2 and c = E[f_1^T f_2]: the "
    "number of views is a weight.",
    hypotheses=("m >= 2 exchangeable views", "f_mean is the mean of f over them"),
    domain=SEVERAL,
)
def m_view_loss(loss: Expr = (m - 1) * (square - cross)) -> Proof:
    spread = SQUARES - TOTAL**2 / m
    expected = m * square - (m * square + m * (m - 1) * cross) / m

    def drawn(size: int) -> Step:
        views = range(size)
        weights = [[Rational(1, size) - int(i == j) for i in views] for j in views]
        moments = (row[a] * row[b] * (square if a == b else cross) for row in weights for a in views for b in views)
        return Identity("All pairs of views written out.", Add(*moments), loss.subs(m, size), scope=f"m = {size}")

    return (
        Identity(
            "In one component, with s_1 the sum of f and s_2 that of f^2: (s_1/m - f)^2 summed over the views.",
            m * (TOTAL / m) ** 2 - 2 * (TOTAL / m) * TOTAL + SQUARES,
            spread,
        ),
        Identity("E s_2 = m q, and s_1^2 has m squares and m (m - 1) products of two views.", expected, loss),
        *map(drawn, (2, 3, 4)),
    )


m_view_loss.mutant("m for m - 1", loss=m * (square - cross))
m_view_loss.mutant("the mean over views", loss=(1 - 1 / m) * (square - cross))
m_view_loss.mutant("all pairs", loss=m * (m - 1) * (square - cross))
m_view_loss.mutant("the sum", loss=(m - 1) * (square + cross))


@statement(
    "distances-from-the-mean-are-all-pairs",
    claim="For any m numbers, of sum s_1 and sum of squares s_2, the squared distances from their mean sum to {mean}, and the "
    "squared distances of all pairs to {pairs}: {ratio} times the first. A loss of order m is the loss of order m^2 over m, "
    "sample by sample.",
    hypotheses=("m >= 2 views of an image, component by component of f",),
    domain=SEVERAL,
)
def distances_from_the_mean_are_all_pairs(
    mean: Expr = SQUARES - TOTAL**2 / m, pairs: Expr = m * SQUARES - TOTAL**2, ratio: Expr = m
) -> Proof:
    def drawn(size: int) -> Step:
        numbers = symbols(f"x_1:{size + 1}", real=True)
        sums = {TOTAL: Add(*numbers), SQUARES: Add(*(number**2 for number in numbers)), m: size}
        apart = Add(*((one - other) ** 2 for one, other in combinations(numbers, 2)))
        return Identity("All pairs written out.", apart, pairs.subs(sums), scope=f"m = {size}")

    return (
        Identity("(x - s_1/m)^2, summed.", SQUARES - 2 * (TOTAL / m) * TOTAL + m * (TOTAL / m) ** 2, mean),
        Identity(
            "Every square is in m - 1 pairs, every product of two in one, twice.",
            (m - 1) * SQUARES - (TOTAL**2 - SQUARES),
            pairs,
        ),
        Identity("One is the other times this.", mean * ratio, pairs),
        *map(drawn, (2, 3, 4)),
    )


distances_from_the_mean_are_all_pairs.mutant("m - 1 times", ratio=m - 1)
distances_from_the_mean_are_all_pairs.mutant("ordered pairs", pairs=2 * (m * SQUARES - TOTAL**2))
distances_from_the_mean_are_all_pairs.mutant("the mean of squares", mean=SQUARES / m - TOTAL**2 / m**2)


def _names(letter: str, *counts: int) -> list[Row]:
    """Positive symbols in rows."""
    rows, columns = counts
    return [tuple(Symbol(f"{letter}_{i + 1}{j + 1}", positive=True) for j in range(columns)) for i in range(rows)]


PI: Row = symbols(f"pi_1:{IMAGES + 1}", positive=True)
SEEN = _names("p", IMAGES, VIEWS)
"""Probability of an image, and of a view given the image. The identities do not need that they sum to 1."""

f: Row = symbols(f"f_1:{VIEWS + 1}", positive=True)
g: Row = symbols(f"g_1:{IMAGES + 1}", positive=True)
joint, px, pz = symbols("p_xz p_x p_z", positive=True)


def _of_view(x: int) -> Expr:
    """Its probability."""
    return Add(*(chance * row[x] for chance, row in zip(PI, SEEN, strict=True)))


def _of_pair(x: int, z: int) -> Expr:
    """The probability of two views of one image."""
    return Add(*(chance * row[x] * row[z] for chance, row in zip(PI, SEEN, strict=True)))


def _averaged(values: Row) -> Row:
    """T_M: the mean over the views of every image."""
    return tuple(Add(*map(Mul, row, values)) for row in SEEN)


def _returned(values: Row) -> Row:
    """Its adjoint: the mean over the images that a view may come from."""
    return tuple(
        Add(*(chance * row[x] * value for chance, row, value in zip(PI, SEEN, values, strict=True))) / _of_view(x)
        for x in range(VIEWS)
    )


@statement(
    "cross-view-kernel-operator",
    claim="With p_xz the probability of two views of one image, the kernel {kernel} has the operator T_k = T_M* T_M, where T_M "
    "f is the mean of f over the views of an image. So <f, (1 - T_k) f> = {form}, q = E f^2, c = E[f_1 f_2].",
    hypotheses=("finitely many images and views",),
)
def cross_view_kernel_operator(kernel: Expr = joint / (px * pz), form: Expr = square - cross) -> Proof:
    def acting(x: int) -> Expr:
        values = (kernel.subs({joint: _of_pair(x, z), px: _of_view(x), pz: _of_view(z)}) for z in range(VIEWS))
        return Add(*(_of_view(z) * value * f[z] for z, value in enumerate(values)))

    def over_views(one: Iterable[Expr], other: Iterable[Expr]) -> Expr:
        return Add(*(_of_view(x) * a * b for x, (a, b) in enumerate(zip(one, other, strict=True))))

    pairs = Add(*(_of_pair(x, z) * f[x] * f[z] for x, z in product(range(VIEWS), repeat=2)))
    through = Add(*map(Mul, PI, g, _averaged(f)))
    moments = {square: over_views(f, f), cross: pairs}
    back = _returned(_averaged(f))
    return (
        Identity("T_M* is the adjoint of T_M.", over_views(_returned(g), f), through, scope=SCOPE),
        *(Identity(f"The operator, at view {x + 1}.", acting(x), back[x], scope=SCOPE) for x in range(VIEWS)),
        Identity(
            "The quadratic form.", over_views(f, f) - over_views(f, map(acting, range(VIEWS))), form.subs(moments), scope=SCOPE
        ),
    )


cross_view_kernel_operator.mutant("one marginal", kernel=joint / px)
cross_view_kernel_operator.mutant("the joint probability alone", kernel=joint)
cross_view_kernel_operator.mutant("marginals squared", kernel=joint / (px * pz) ** 2)
cross_view_kernel_operator.mutant("twice the covariance", form=square - 2 * cross)


def _chain(values: list[Row], steps: Row) -> Row:
    return tuple(Add(*map(Mul, row, steps)) for row in values)


@statement(
    "backward-kernel-operator",
    claim="On one space of images, the kernel summed over x0, p(x0|x) = M(x, x0), of {kernel} has the operator M M*, with M* "
    "the adjoint of M.",
    hypotheses=("finitely many images", "p_0 is the probability of x0"),
)
def backward_kernel_operator(
    kernel: Expr = Symbol("M_x", positive=True) * Symbol("M_z", positive=True) / Symbol("p_0", positive=True),
) -> Proof:
    first, second, p0 = symbols("M_x M_z p_0", positive=True)
    chain, chances = _names("M", VIEWS, VIEWS), symbols(f"pi_1:{VIEWS + 1}", positive=True)
    states = range(VIEWS)
    adjoint = [tuple(chances[x] * chain[x][y] / chances[y] for x in states) for y in states]
    there = _chain(chain, _chain(adjoint, f))

    def acting(x: int) -> Expr:
        sums = (
            kernel.subs({first: chain[x][y], second: chain[z][y], p0: chances[y]}) * f[z] * chances[z]
            for y in states
            for z in states
        )
        return Add(*sums)

    values: Row = symbols(f"g_1:{VIEWS + 1}", positive=True)
    inner = Add(*map(Mul, chances, values, _chain(chain, f)))
    return (
        Identity("M* is the adjoint.", Add(*map(Mul, chances, _chain(adjoint, values), f)), inner, scope=f"{VIEWS} images"),
        *(Identity(f"The operator, at image {x + 1}.", acting(x), there[x], scope=f"{VIEWS} images") for x in states),
    )


_M_x, _M_z, _p_0 = symbols("M_x M_z p_0", positive=True)
backward_kernel_operator.mutant("the other kernel's marginals", kernel=_M_x * _M_z)
backward_kernel_operator.mutant("a marginal squared", kernel=_M_x * _M_z / _p_0**2)
backward_kernel_operator.mutant("one image seen twice", kernel=_M_x**2 / _p_0)


M, Y, ONE = Symmetric("M", d, d), Square("Y", d, d), IdentityMatrix(d)


@statement(
    "eigenvalues-of-invariance-and-variance",
    claim="If T_M is self-adjoint, (T_M - 1)*(T_M - 1) = {expanded} has the eigenvalue {invariance} where T_M* T_M has "
    "{variance}: that is (sqrt({variance}) - 1)^2 for mu >= 0, and {excess} more at mu = -kappa < 0.",
    hypotheses=("mu is an eigenvalue of T_M, symmetric in an orthonormal frame, where it is M",),
)
def eigenvalues_of_invariance_and_variance(
    expanded: MatrixExpr = M * M - 2 * M + ONE,
    invariance: Expr = (1 - mu) ** 2,
    variance: Expr = mu**2,
    excess: Expr = 4 * kappa,
) -> Proof:
    printed = (sqrt(variance) - 1) ** 2
    return (
        TraceIdentity("Against any matrix Y.", Trace(Y * (M - ONE).T * (M - ONE)), Trace(Y * expanded), scope=SIZED),
        Identity("On an eigenvector of T_M.", in_one_mode(expanded, {M: mu}), invariance),
        Identity("T_M* T_M on it.", in_one_mode(M.T * M, {M: mu}), variance),
        Identity("For mu > 0 the one is a function of the other.", invariance, printed),
        Identity("For mu = -kappa it exceeds that.", (invariance.subs(mu, -kappa) - printed.subs(mu, kappa)), excess),
        Positive("The excess is not 0.", excess),
    )


_map = eigenvalues_of_invariance_and_variance
_map.mutant("mu for its square", variance=mu)
_map.mutant("no cross term", expanded=M * M + ONE, invariance=1 + mu**2)
_map.mutant("the gap, not squared", invariance=1 - mu)
_map.mutant("half the excess", excess=2 * kappa)


alike, across, apart = symbols("mu nu delta", positive=True)
own = Symbol("rho", positive=True)
WEIGHTS: Row = (own, alike, across, apart)
NODES = 4
CONTRASTS: tuple[Row, ...] = ((1, 1, 1, 1), (1, 1, -1, -1), (1, -1, 1, -1), (1, -1, -1, 1))
"""All nodes; one class against the other; one pixel against the other; the product of both."""

TOY = (
    "four nodes: two classes, each seen in two pixels",
    "rho, mu, nu and delta weigh a node with itself, the other of its class, the other of its pixel, and the fourth",
)


def toy_graph(weights: Row) -> ImmutableDenseMatrix:
    """The weights of all pairs of nodes: node i with node i XOR j has weight j."""
    return ImmutableDenseMatrix(NODES, NODES, lambda i, j: weights[i ^ j])


@statement(
    "toy-graph-spectrum",
    claim="The graph has the eigenvalues {all_nodes} (all nodes alike), {classes} (class against class), {pixels} (pixel "
    "against pixel) and {both} (their product).",
    hypotheses=TOY,
)
def toy_graph_spectrum(
    all_nodes: Expr = own + alike + across + apart,
    classes: Expr = own + alike - across - apart,
    pixels: Expr = own - alike + across - apart,
    both: Expr = own - alike - across + apart,
) -> Proof:
    against = ImmutableDenseMatrix([symbols(f"y_1:{NODES + 1}", positive=True)])

    def step(vector: Row, value: Expr) -> Step:
        column = ImmutableDenseMatrix(vector)
        sides = (against * side for side in (toy_graph(WEIGHTS) * column, value * column))
        return Identity(f"On the vector {vector}, against any other.", *(side[0] for side in sides))

    return tuple(map(step, CONTRASTS, (all_nodes, classes, pixels, both)))


toy_graph_spectrum.mutant("delta with the sign of its class", classes=own + alike - across + apart)
toy_graph_spectrum.mutant(
    "classes and pixels exchanged", classes=own - alike + across - apart, pixels=own + alike - across - apart
)
toy_graph_spectrum.mutant("delta taken off the product", both=own - alike - across - apart)
toy_graph_spectrum.mutant("delta forgotten", all_nodes=own + alike + across)


@statement(
    "toy-graph-of-views-of-one-image",
    claim="If augmentation moves between nodes with the weights rho, mu, nu and delta, two views of one image are joined "
    "with the weights {same}, {same_class}, {same_pixel} and {fourth} in that order.",
    hypotheses=TOY,
)
def toy_graph_of_views(
    same: Expr = own**2 + alike**2 + across**2 + apart**2,
    same_class: Expr = 2 * (own * alike + across * apart),
    same_pixel: Expr = 2 * (own * across + alike * apart),
    fourth: Expr = 2 * (own * apart + alike * across),
) -> Proof:
    graph = toy_graph(WEIGHTS)
    found, claimed = graph.T * graph, toy_graph((same, same_class, same_pixel, fourth))
    left, right = (ImmutableDenseMatrix([symbols(f"{letter}_1:{NODES + 1}", positive=True)]) for letter in "xy")
    return (
        Identity(
            "All pairs of nodes, x^T A^T A y whatever x and y.", *((left * side * right.T)[0] for side in (found, claimed))
        ),
    )


toy_graph_of_views.mutant("one step for two", same_class=alike, same_pixel=across)
toy_graph_of_views.mutant("half the ways", same_pixel=own * across + alike * apart)
toy_graph_of_views.mutant("classes and pixels exchanged", same_class=2 * (own * across + alike * apart))
toy_graph_of_views.mutant("no way around", fourth=2 * own * apart)


@statement(
    "mean-of-views-shrinks-the-graph",
    claim="The graph that m views draw, same-view pairs included, has the expected weight {drawn} between two nodes that an "
    "image reaches with probabilities p_x and p_z; so mu - nu and delta shrink by {shrinkage}, by {half} at m = 2.",
    hypotheses=("m independent views of every image", "pairs of views are counted with weight 1/m^2"),
    domain=SEVERAL,
)
def mean_of_views_shrinks_the_graph(
    drawn: Expr = (1 - 1 / m) * px * pz, shrinkage: Expr = 1 - 1 / m, half: Expr = S.Half
) -> Proof:
    def step(views: int) -> Step:
        nodes = (px, pz, Symbol("rest", positive=True))
        draws = product(range(len(nodes)), repeat=views)
        seen = ((Mul(*(nodes[node] for node in draw)), draw.count(0) * draw.count(1)) for draw in draws)
        found = Add(*(chance * count for chance, count in seen)) / views**2
        total = Add(*nodes)
        sentence = "Over all draws of these nodes and the rest, whose probabilities need not sum to 1."
        return Identity(sentence, found, drawn.subs(m, views) * total ** (views - 2), scope=f"m = {views}")

    shrunk = drawn / (px * pz)
    return (
        Identity(
            "m (m - 1) of the m^2 pairs are of two views; the others join a node with itself.",
            m * (m - 1) * px * pz / m**2,
            drawn,
        ),
        *map(step, (2, 3, 4)),
        Identity("All weights between two nodes, and so their differences, shrink alike.", shrunk, shrinkage),
        Identity("At m = 2.", shrinkage.subs(m, 2), half),
    )


_shrinks = mean_of_views_shrinks_the_graph
_shrinks.mutant("no shrinkage", drawn=px * pz, shrinkage=S.One)
_shrinks.mutant("it vanishes at m = 2", shrinkage=1 - 2 / m, half=S.Zero)
_shrinks.mutant("1/m", shrinkage=1 / m)
_shrinks.mutant("shrunk twice", drawn=(1 - 1 / m) ** 2 * px * pz, shrinkage=(1 - 1 / m) ** 2)
