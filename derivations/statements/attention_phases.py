"""Two phases of a masked autoencoder: attention leaves the global area, then finds the own one; what decides which comes first.

To leading order in the number P of patches, at strengths 1; T is the local area of the query, G the global area.
"""

from __future__ import annotations

from collections.abc import Mapping

from sympy import Expr, Rational, S, exp, log, symbols

from derivations.notation import UNIT, Domain, K, Reals, epsilon, gamma, gap, s, t, x
from derivations.proof import Identity, Limit, Positive, Proof, RatioLimit
from derivations.statement import statements_from
from derivations.statements.as_printed import against
from derivations.statements.attention_gradients import VIT_PAPER, a_j, a_m, e_j, e_jm, gradient_by_features, z_j, z_m

statement = statements_from(f"derived here, after {VIT_PAPER}, phases of masked reconstruction")

a_G, a_T, c, P, R, Delta, t_T = symbols("a_G a_T c P R Delta t_T", positive=True)
kappa_c, kappa_s, phi, g, N, e = symbols("kappa_c kappa_s phi g N e", positive=True)

PATCHES: Domain = {P: Reals(1, sampled=(2, 50)), s: UNIT}
"""Many patches, of which the share s is shown."""

AREAS = ("the global area has P^kappa_c patches, a local one P^kappa_s", "the share s = 1 - gamma of every area is shown")
START = (*AREAS, "a query of a local area, at Q = 0, strengths 1")
LEADING = (
    "to leading order in P, strengths 1",
    "c = gamma/K, and at Q = 0 attention is a_G on the global area, a_T on the own one",
)

IN_PATCHES: Mapping[Expr, Expr] = {a_G: s * P ** (kappa_c - 1), a_T: s * P ** (kappa_s - 1), c: gamma / K}


@statement(
    "attention-first-forces",
    claim="Before anything is learned, Phi of the own area grows at c times {own}, and that of the global area falls at c "
    "times {everywhere}.",
    hypotheses=(*START, "c = gamma/K", "N other local areas, each with the attention a_T, share what remains of s"),
    domain={s: UNIT},
)
def first_forces(
    own: Expr = a_T * (1 - (2 - s) * a_T - a_G * a_T + a_G**2),
    everywhere: Expr = a_G * (a_G * (1 - a_G + a_T) + (1 - s) * a_T),
) -> Proof:
    others = N * a_T**2
    count = {N: (s - a_G - a_T) / a_T}
    at_start = {z_j: 1, z_m: 1, a_j: a_T, a_m: a_G, e_j: a_G**2 + others, e_jm: others}
    target, away = (gradient_by_features.formulas[name].subs(at_start).subs(count) for name in ("target", "others"))
    return (
        Identity("The gradient by the own feature.", target, own),
        Identity("Minus the gradient by the global feature.", -away, everywhere),
        Identity("Attention on shown patches.", (a_T + a_G + N * a_T).subs(count), s),
    )


first_forces.mutant("others do not push", own=a_T * ((1 - a_T) ** 2 + a_G**2))
first_forces.mutant("no attention on hidden patches", everywhere=a_G * a_G * (1 - a_G + a_T))
first_forces.mutant("the share shown for the share hidden", everywhere=a_G * (a_G * (1 - a_G + a_T) + s * a_T))
first_forces.mutant("linear in the global area", everywhere=a_G * (1 - a_G))


@statement(
    "attention-information-gap",
    claim="As P grows, the global area is left R = {ratio} times as fast as the own area is found, where Delta = (1 - "
    "kappa_s) - 2 (1 - kappa_c) = {exponent}. Both are as fast at Delta = {boundary}: to leading order that, not 0, is the "
    "boundary at finite P.",
    hypotheses=(*START, "kappa_s < kappa_c < 1"),
    domain=PATCHES,
)
def information_gap(
    ratio: Expr = s * P**Delta,
    exponent: Expr = (1 - kappa_s) - 2 * (1 - kappa_c),
    boundary: Expr = -log(s) / log(P),
) -> Proof:
    forces = first_forces.formulas
    small = {a_G: s * x**g, a_T: s * x ** (g + gap)}
    own, everywhere = (forces["own"] / a_T).expand(), (forces["everywhere"] / a_G**2).expand()
    return (
        Limit(
            "The rate by the own area over a_T, x = 1/P, g = 1 - kappa_c, gap = kappa_c - kappa_s.", own.subs(small), x, S.One
        ),
        Limit("That by the global area over a_G^2.", everywhere.subs(small), x, S.One),
        Identity("a_G^2 over a_T.", (a_G**2 / a_T).subs(IN_PATCHES), ratio.subs(Delta, exponent)),
        Identity("So ln R has the sign of what Delta exceeds the boundary by.", log(ratio), (Delta - boundary) * log(P)),
    )


information_gap.mutant("as if the area were all", ratio=P**Delta)
information_gap.mutant("once the global exponent", exponent=(1 - kappa_s) - (1 - kappa_c))
information_gap.mutant("the difference of exponents", exponent=kappa_c - kappa_s)
information_gap.mutant("the boundary at 0", boundary=S.Zero)
information_gap.mutant("the other side", boundary=log(s) / log(P))


@statement(
    "attention-printed-information-gap-fails",
    claim="As printed in a public answer, Delta is about {printed}. At kappa_c = {c_at} and kappa_s = {s_at} that is {shown} "
    "against the true {true}, of the other sign. It is too large by {excess}.",
    source=f"against {VIT_PAPER}, the information gap in the authors' answers",
)
def printed_information_gap(
    printed: Expr = kappa_c - kappa_s,
    c_at: Expr = Rational(3, 5),
    s_at: Expr = Rational(9, 20),
    shown: Expr = Rational(3, 20),
    true: Expr = Rational(-1, 4),
    excess: Expr = 1 - kappa_c,
) -> Proof:
    point = {kappa_c: c_at, kappa_s: s_at}
    exact = information_gap.formulas["exponent"]
    return (
        *against(printed.subs(point), shown, exact.subs(point), true),
        Identity("The difference, which vanishes at kappa_c = 1 only.", printed - exact, excess),
        Positive("The truth has the other sign there.", -(printed * exact).subs(point)),
    )


printed_information_gap.mutant("a global area of almost all", c_at=S.One)
printed_information_gap.mutant("what is printed is true", true=Rational(3, 20))
printed_information_gap.mutant("it is exact", excess=S.Zero)
printed_information_gap.mutant("a smaller global exponent", c_at=Rational(1, 2))


@statement(
    "attention-leaves-the-global-area",
    claim="While other entries are small, dphi_G/dt = -c a_G^2 e^(2 phi_G), so that phi_G = {curve}. It has fallen by "
    "epsilon at t = {onset}, that is {scaled}.",
    hypotheses=(*LEADING, *AREAS),
    domain=PATCHES,
)
def leaves_the_global_area(
    curve: Expr = -log(1 + 2 * c * a_G**2 * t) / 2,
    onset: Expr = (exp(2 * epsilon) - 1) / (2 * c * a_G**2),
    scaled: Expr = K * P ** (2 * (1 - kappa_c)) * (exp(2 * epsilon) - 1) / (2 * gamma * s**2),
) -> Proof:
    return (
        Identity("Its slope.", curve.diff(t), -c * a_G**2 * exp(2 * curve)),
        Identity("It starts at 0.", curve.subs(t, 0), S.Zero),
        Identity("e^(-2 phi_G) at the onset.", exp(-2 * curve).subs(t, onset), exp(2 * epsilon)),
        Identity("The onset in P.", onset.subs(IN_PATCHES), scaled),
    )


leaves_the_global_area.mutant("without the 2", curve=-log(1 + c * a_G**2 * t) / 2)
leaves_the_global_area.mutant("a full logarithm", curve=-log(1 + 2 * c * a_G**2 * t))
leaves_the_global_area.mutant("growth", curve=log(1 + 2 * c * a_G**2 * t) / 2)
leaves_the_global_area.mutant("one power of the attention", onset=(exp(2 * epsilon) - 1) / (2 * c * a_G))
leaves_the_global_area.mutant("half the exponent", scaled=K * P ** (1 - kappa_c) * (exp(2 * epsilon) - 1) / (2 * gamma * s**2))


@statement(
    "attention-finds-the-own-area",
    claim="While attention on it is small, dphi_T/dt = c a_T e^phi_T, so that phi_T = {curve} with t_T = {end} = {scaled}. "
    "Carried on, attention is a half at t = {half}. A query of the global area takes {everywhere} likewise.",
    hypotheses=(*LEADING, *AREAS),
    domain=PATCHES,
)
def finds_the_own_area(
    curve: Expr = -log(1 - t / t_T),
    end: Expr = 1 / (c * a_T),
    scaled: Expr = K * P ** (1 - kappa_s) / (gamma * s),
    half: Expr = t_T * (1 - 2 * a_T),
    everywhere: Expr = K * P ** (1 - kappa_c) / (gamma * s),
) -> Proof:
    return (
        Identity("Its slope.", curve.diff(t).subs(t_T, end), (c * a_T * exp(curve)).subs(t_T, end)),
        Identity("It starts at 0.", curve.subs(t, 0), S.Zero),
        Identity("t_T in P.", end.subs(IN_PATCHES), scaled),
        Identity("a_T e^phi_T at a half.", (a_T * exp(curve)).subs(t, half), S.Half),
        Limit("That time over t_T, as a_T vanishes.", half / t_T, a_T, S.One),
        Identity("The own area may be the global one.", end.subs(a_T, a_G).subs(IN_PATCHES), everywhere),
    )


finds_the_own_area.mutant("exponential growth", curve=t / t_T)
finds_the_own_area.mutant("the rate squared", end=1 / (c * a_T**2))
finds_the_own_area.mutant("the size for the number of areas", scaled=K * P**kappa_s / (gamma * s))
finds_the_own_area.mutant("half the time", half=t_T / 2)
finds_the_own_area.mutant("the exponent of the onset", everywhere=K * P ** (2 * (1 - kappa_c)) / (gamma * s))


def _falling(time: Expr) -> Expr:
    """phi_G by R = a_G^2/a_T and the time in units of t_T."""
    return leaves_the_global_area.formulas["curve"].subs({t: time / (c * a_T), a_G: (R * a_T) ** S.Half})


def _growing(time: Expr) -> Expr:
    """phi_T by the time in units of t_T."""
    return finds_the_own_area.formulas["curve"].subs(t, time * t_T)


@statement(
    "attention-two-phases",
    claim="phi_G moves faster than phi_T until T1 = {first}, if R > 1. As R grows T1/t_T tends to {third} and phi_T(T1) to "
    "{lag}: the phases overlap. From T1 to t_T phi_G still moves by {fall}, whatever R.",
    hypotheses=(*LEADING, "R = a_G^2/a_T"),
)
def two_phases(
    first: Expr = t_T / 3 * (1 - 1 / R),
    third: Expr = Rational(1, 3),
    lag: Expr = log(Rational(3, 2)),
    fall: Expr = -log(3) / 2,
) -> Proof:
    y = t / t_T
    share = first / t_T
    slower = (_falling(y) + _growing(y)).diff(t)
    return (
        Identity("Both slopes there, one falling.", slower.subs(t, first), S.Zero),
        Positive("It comes after the start if R = 1 + gap.", first.subs(R, 1 + gap)),
        Positive("Before it, at t = x T1, phi_G is faster.", -slower.subs(t, x * first).subs(R, 1 + gap)),
        Limit("Its share of t_T, x = 1/R.", share.subs(R, 1 / x), x, third),
        Limit("e^(-phi_T) there.", exp(-_growing(share.subs(R, 1 / x))), x, exp(-lag)),
        Identity("e^(-2 phi_G) at t_T and at T1.", exp(-2 * _falling(S.One)), exp(-2 * _falling(share)) * exp(-2 * fall)),
    )


two_phases.mutant("phases apart", first=t_T * (1 - 1 / R))
two_phases.mutant("a first phase without R", first=t_T / 3)
two_phases.mutant("half of the time", third=S.Half)
two_phases.mutant("nothing grows in the first phase", lag=S.Zero)
two_phases.mutant("phi_G has settled by T1", fall=S.Zero)
two_phases.mutant("a full logarithm", fall=-log(3))


@statement(
    "attention-plateau",
    claim="At t_T phi_G is at {plateau}. As P grows it tends to {height} ln P where Delta > 0, and to {low} where Delta < 0.",
    hypotheses=(*LEADING, "R = s P^Delta"),
    domain=PATCHES,
)
def plateau(plateau: Expr = -log(1 + 2 * R) / 2, height: Expr = -Delta / 2, low: Expr = S.Zero) -> Proof:
    ratio = information_gap.formulas["ratio"].subs(P, 1 / x)
    return (
        Identity("e^(-2 phi_G) at t_T.", exp(-2 * _falling(S.One)), exp(-2 * plateau)),
        RatioLimit("Over ln P, x = 1/P.", plateau.subs(R, ratio), -log(x), x, height),
        Limit("With Delta of the other sign.", plateau.subs(R, ratio.subs(Delta, -Delta)), x, low),
    )


plateau.mutant("the whole gap", height=-Delta)
plateau.mutant("an order of 1 only", height=S.Zero)
plateau.mutant("without the 2", plateau=-log(1 + R) / 2)
plateau.mutant("a dip that stays", low=-log(3) / 2)


@statement(
    "attention-tail",
    claim="Late, e = |X_p - F_p|^2 falls as de/dt = {rate} at the attention a_j on the own area. So 1/e grows at {growth} in "
    "the end, e comes to {error}, and the loss of a patch above its least value to {loss}, which is {unit} at z_j = 1.",
    hypotheses=(
        "only phi_T still moves: dphi_T/dt = c z_j a_j e with e = z_j^2 (1 - a_j)^2, c = gamma/K",
        "the same strength z_j in all images",
    ),
    domain={a_j: UNIT},
)
def tail(
    rate: Expr = -2 * c * z_j**2 * a_j**2 * e**2,
    growth: Expr = 2 * c * z_j**2,
    error: Expr = 1 / (2 * c * z_j**2 * t),
    loss: Expr = K / (4 * z_j**2 * t),
    unit: Expr = K / (4 * t),
) -> Proof:
    own, background = symbols("A B", positive=True)
    share = exp(z_j * phi) * own / (exp(z_j * phi) * own + background)
    left = z_j**2 * (1 - a_j) ** 2
    moved = left.diff(a_j) * z_j * a_j * (1 - a_j) * c * gradient_by_features.formulas["target"].subs(e_j, 0)
    return (
        Identity("How attention follows phi_T, all else at rest.", share.diff(phi), z_j * share * (1 - share)),
        Identity("The error by the chain rule.", moved, rate.subs(e, left)),
        Limit("The rate of 1/e as x = 1 - a_j vanishes.", (-rate / e**2).subs(a_j, 1 - x), x, growth),
        Identity("At that rate.", (1 / error).diff(t), growth),
        Identity("Half the error, if p is hidden.", (gamma * error / 2).subs(c, gamma / K), loss),
        Identity("At z_j = 1.", loss.subs(z_j, 1), unit),
    )


tail.mutant("the first power of the error", rate=-2 * c * z_j**2 * a_j**2 * e)
tail.mutant("without the 2", rate=-c * z_j**2 * a_j**2 * e**2)
tail.mutant("exponential", error=exp(-2 * c * z_j**2 * t))
tail.mutant("twice the loss", loss=K / (2 * z_j**2 * t))
tail.mutant("the share masked stays", unit=gamma * K / (4 * t))
tail.mutant("strength cancels", growth=2 * c)
