"""The staircase of Barlow Twins from a tiny start: what features are between two steps, when steps come, who shares a mode."""

from __future__ import annotations

from sympy import Add, Expr, S, exp, log, symbols

from derivations.matrices import d
from derivations.notation import UNIT, Integers, beta, gamma, gap, t
from derivations.proof import Identity, Positive, Proof
from derivations.statement import statements_from
from derivations.statements.barlow_twins import BARLOW_PAPER

statement = statements_from(f"derived here, after {BARLOW_PAPER}")

D, ratio, a = symbols("D b a", positive=True)
r, k = symbols("r k", integer=True, positive=True)
now, later, earlier = symbols("T T_next S", positive=True)

WIDTH = {d: Integers(7, 12)}  # sampled above every r
SCALE = beta * d + (1 - beta) * r

PLATEAU = (
    "d features of equal variance share r <= d active modes",
    "as a tight frame: C has r equal eigenvalues, the energy of a mode, and else 0",
)


def _at_plateau(formula: Expr, scale: Expr) -> Expr:
    return formula.subs(D, scale)


@statement(
    "plateau-of-equal-norm-features",
    claim="With D = {scale}, features of variance {variance} at the mode energy {energy} rest. Their effective rank (tr "
    "C)^2/|C|^2 is {rank}.",
    hypotheses=PLATEAU,
    domain=WIDTH,
)
def plateau_of_equal_norm_features(scale: Expr = SCALE, variance: Expr = r / D, energy: Expr = d / D, rank: Expr = r) -> Proof:
    c, e = (_at_plateau(formula, scale) for formula in (variance, energy))
    return (
        Identity("The trace of C, by features and by modes.", d * c, r * e),
        Identity(
            "On active modes C is its eigenvalue, so the pull P on them vanishes.",
            (1 - beta) * (c - 1) + beta * (e - 1),
            S.Zero,
        ),
        Identity("The square of the trace over the sum of the squared eigenvalues.", (r * e) ** 2 / (r * e**2), rank),
    )


plateau_of_equal_norm_features.mutant("unit variance", variance=S.One, energy=d / r)
plateau_of_equal_norm_features.mutant("unit energy", variance=r / d, energy=S.One)
plateau_of_equal_norm_features.mutant("beta exchanged with 1 - beta", scale=beta * r + (1 - beta) * d)
plateau_of_equal_norm_features.mutant("the rank of the width", rank=d)


@statement(
    "plateau-redundancy-and-loss",
    claim="With r active modes the mean squared correlation of two features is {redundancy} and the loss is {loss}, with D = "
    "{scale}; at beta = 1 it is {staircase}. The loss falls with every mode.",
    hypotheses=PLATEAU,
    domain=WIDTH,
)
def plateau_redundancy_and_loss(
    redundancy: Expr = (d - r) / (r * (d - 1)),
    loss: Expr = beta * d * (d - r) / D,
    scale: Expr = SCALE,
    staircase: Expr = d - r,
) -> Proof:
    plateau = plateau_of_equal_norm_features.formulas
    c, e, height = (_at_plateau(formula, scale) for formula in (plateau["variance"], plateau["energy"], loss))
    off_diagonal = r * e**2 - d * c**2
    fall = (height - height.subs(r, r + 1)).subs(d, r + 1 + gap)
    return (
        Identity(
            "Squares off the diagonal, a pair, over the squared variance.", off_diagonal / (d * (d - 1) * c**2), redundancy
        ),
        Identity("The loss, on and off the diagonal.", d * (c - 1) ** 2 + beta * off_diagonal, height),
        Identity("At beta = 1.", height.subs(beta, 1), staircase),
        Positive("What the next mode takes off it, d = r + 1 + gap.", fall),
    )


plateau_redundancy_and_loss.mutant("no correlation", redundancy=S.Zero)
plateau_redundancy_and_loss.mutant("d for d - 1", redundancy=(d - r) / (r * d))
plateau_redundancy_and_loss.mutant("the loss without beta", loss=d * (d - r) / D)
plateau_redundancy_and_loss.mutant("r for d", loss=beta * r * (d - r) / D)
plateau_redundancy_and_loss.mutant("steps of two", staircase=2 * (d - r))


@statement(
    "plateau-growth-knows-beta-and-width-by-one-number",
    claim="While r modes are active a small one grows at the rate 4 gamma times {growth}, with D = {scale}. With b = "
    "{number} that is {known}: neither beta nor d enters else.",
    hypotheses=(*PLATEAU, "the small mode is orthogonal to the active ones", "0 < beta < 1 for b"),
    domain={**WIDTH, beta: UNIT},
)
def plateau_growth(
    growth: Expr = beta * d / D,
    scale: Expr = SCALE,
    number: Expr = beta * d / (1 - beta),
    known: Expr = ratio / (ratio + r),
) -> Proof:
    variance, found = (_at_plateau(each, scale) for each in (plateau_of_equal_norm_features.formulas["variance"], growth))
    return (
        Identity(
            "C does nothing to it, so minus the pull P on it is 1 - (1 - beta) times the variance.",
            (1 - beta) * (1 - variance) + beta,
            found,
        ),
        Identity("The same in b.", found, known.subs(ratio, number)),
        Positive("Every further active mode slows it.", known - known.subs(r, r + 1)),
        Identity("At beta = 1 it is 1.", found.subs(beta, 1), S.One),
    )


plateau_growth.mutant("as from an empty start", growth=S.One)
plateau_growth.mutant("r for d", growth=beta * r / D)
plateau_growth.mutant("beta d alone", number=beta * d)
plateau_growth.mutant("modes that help", known=(ratio + r) / ratio)


@statement(
    "ladder-times",
    claim="A mode alone takes {alone} from a tiny amplitude a, T_k say for mode k. As j active modes slow it by 1 + j/b, it "
    "is learned at t_k = {time}, where T = T_k and S is the sum of all T_j with j < k.",
    hypotheses=(
        "T_1 < T_2 < ...",
        "b = beta d/(1 - beta)",
        "to leading order in ln(1/a)",
    ),
    domain={beta: UNIT, **WIDTH},
)
def ladder_times(time: Expr = now + ((k - 1) * now - earlier) / ratio, alone: Expr = -log(gamma * a**2) / (8 * gamma)) -> Proof:
    growth = plateau_growth.formulas
    after = time.subs({k: k + 1, now: later, earlier: earlier + now}, simultaneous=True)
    energy = gamma * a**2 * exp(8 * gamma * t)
    return (
        Identity("An energy gamma a^2 that grows by e^(8 gamma t) is 1 by then.", energy.subs(t, alone), S.One),
        Identity("A step lasts 1/growth times as long as at beta = 1.", 1 / growth["known"].subs(r, k), 1 + k / ratio),
        Identity("The first mode finds nothing active.", time.subs({k: 1, earlier: 0}), now),
        Identity("By induction, the step from k to k + 1 with k active modes.", after - time, (later - now) * (1 + k / ratio)),
    )


ladder_times.mutant("as at beta = 1", time=now)
ladder_times.mutant("k for k - 1", time=now + (k * now - earlier) / ratio)
ladder_times.mutant("waiting for the modes below", time=now + ((k - 1) * now + earlier) / ratio)
ladder_times.mutant("the amplitude's rate", alone=-log(gamma * a**2) / (4 * gamma))
ladder_times.mutant("b on top", time=now + ((k - 1) * now - earlier) * ratio)


SHARING = ("one mode, features that lie along it", "x_p = gamma u_p^2 is the share of feature p")
share, other, rest = symbols("x_p x_q R", positive=True)


def _loss_along_a_mode(amplitudes: tuple[Expr, ...]) -> Expr:
    """The Barlow Twins loss of features whose covariance is gamma u u^T."""
    on = Add(*((gamma * each**2 - 1) ** 2 for each in amplitudes))
    pairs = Add(*((gamma * one * two) ** 2 for one in amplitudes for two in amplitudes if one != two))
    return on + beta * pairs


@statement(
    "features-compete-within-a-mode",
    claim="Along one mode features compete as dx_p/dt = {rate}, where R is the sum of all other shares. Equal shares rest at "
    "{equal}, the variance of the plateau with r = 1.",
    hypotheses=SHARING,
    domain=WIDTH,
)
def features_compete_within_a_mode(
    rate: Expr = 8 * gamma * share * (1 - share - beta * rest), equal: Expr = 1 / (1 + beta * (d - 1))
) -> Proof:
    variance = plateau_of_equal_norm_features.formulas["variance"].subs(D, SCALE)

    def step(size: int) -> Identity:
        first, *others = symbols(f"u_1:{size + 1}", positive=True)
        moved = -2 * gamma * first * _loss_along_a_mode((first, *others)).diff(first)
        shares = {share: gamma * first**2, rest: gamma * Add(*(each**2 for each in others))}
        return Identity("Minus the gradient of the loss, by the chain rule.", moved, rate.subs(shares), scope=f"d = {size}")

    return (
        *(step(size) for size in (2, 3, 4)),
        Identity("Equal shares rest.", rate.subs({share: equal, rest: (d - 1) * equal}), S.Zero),
        Identity("They are the first plateau.", equal, variance.subs(r, 1)),
    )


_compete = features_compete_within_a_mode
_compete.mutant("no competition", rate=8 * gamma * share * (1 - share))
_compete.mutant("a feature counted twice", rate=8 * gamma * share * (1 - share - beta * (share + rest)))
_compete.mutant("half the rate", rate=4 * gamma * share * (1 - share - beta * rest))
_compete.mutant("d for d - 1", equal=1 / (1 + beta * d))


@statement(
    "beta-decides-whether-features-share-a-mode",
    claim="Two shares of one mode part as d ln(x_p/x_q)/dt = {parting}: below beta = 1 the larger loses ground and all "
    "features come to share the mode, at beta = 1 ratios stay, above it the larger one wins.",
    hypotheses=SHARING,
)
def beta_decides(parting: Expr = -8 * gamma * (1 - beta) * (share - other)) -> Proof:
    pace = _compete.formulas["rate"] / share
    exchanged = {share: other, rest: rest + share}
    found = pace.subs(rest, rest + other) - pace.subs(exchanged, simultaneous=True)
    larger = {share: other + gap}
    return (
        Identity("The paces of the two, R now without both.", found, parting),
        Positive("The larger share loses ground below, beta = 1/(1 + b).", -parting.subs(larger).subs(beta, 1 / (1 + ratio))),
        Identity("At beta = 1 nothing moves.", parting.subs(beta, 1), S.Zero),
        Positive("It gains above, beta = 1 + b.", parting.subs(larger).subs(beta, 1 + ratio)),
    )


beta_decides.mutant("the larger always wins", parting=8 * gamma * (share - other))
beta_decides.mutant("beta for 1 - beta", parting=-8 * gamma * beta * (share - other))
beta_decides.mutant("the sum of the shares", parting=-8 * gamma * (1 - beta) * (share + other))
beta_decides.mutant("half as fast", parting=-4 * gamma * (1 - beta) * (share - other))
