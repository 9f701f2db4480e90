"""Beyond the balanced student that is its own teacher: moving averages, unequal layers and rates, weight decay."""

from __future__ import annotations

from sympy import Expr, Rational, S, Symbol, exp, sqrt, symbols

from derivations.gradient_flow import LOSSES, Flow, conserved, gradient_flow, mode
from derivations.notation import L, M, a, b, eta, lam, rho, sg, sigma, t, u, u0, v
from derivations.proof import CertifiedPositive, Identity, Limit, Positive, Proof
from derivations.reduction import normal
from derivations.statement import JEPA_PAPER, statements_from

statement = statements_from(f"derived here, beyond the balanced start of {JEPA_PAPER}")

beta, kappa, gap, ubar = symbols("beta kappa gap ubar", positive=True)
m = Symbol("m", integer=True, positive=True)
c = Symbol("c", real=True)

ONE_PREDICTOR = "one predictor layer"
UNBALANCED = ("aligned start with u, v > 0", ONE_PREDICTOR, "c is v^2 - u^2 at the start, of either sign")


def along(quantity: Expr, flow: Flow) -> Expr:
    """The time derivative of a quantity along a flow."""
    return quantity.diff(u) * flow.encoder + quantity.diff(v) * flow.predictor


def one_predictor(objective: str) -> Flow:
    """The flow of a named objective with one predictor layer, in rho and sigma."""
    flow = gradient_flow(LOSSES[objective])
    return Flow(*(rate.subs({M: 1, lam: sigma**2 * rho}) for rate in (flow.encoder, flow.predictor)))


def _teacher_flow(teacher: Expr = ubar) -> Flow:
    return gradient_flow(LOSSES["jepa"].subs(sg(u**L), sg(teacher**L)))


@statement(
    "ema-keeps-balance",
    claim="With a teacher that follows as d{mean}/dt = {teacher}, {constant} stays conserved, and a layer of the "
    "balanced student moves as du/dt = {student}.",
    hypotheses=("aligned start", "the target is the teacher's product, frozen", "one predictor layer for du/dt"),
)
def ema_keeps_balance(
    mean: Expr = ubar,
    teacher: Expr = beta * (u - ubar),
    constant: Expr = v**2 - u**2,
    student: Expr = u**L * (lam * ubar**L - sigma**2 * u ** (L + 1)),
) -> Proof:
    flow = _teacher_flow(mean)
    moved = (1 - beta * t) * mean + beta * t * u
    return (
        Identity("A moving average over a time t shifts the teacher by t times its rate.", moved - mean, t * teacher),
        Identity("The constant does not change along the flow, whatever the teacher.", along(constant, flow), S.Zero),
        Identity("It is what separating du and dv finds.", constant, conserved(flow) or S.Zero),
        Identity("On the line v = u an encoder layer moves as claimed.", flow.encoder.subs({M: 1, v: u}), student),
        Identity("So does the predictor layer: the line is never left.", flow.predictor.subs({M: 1, v: u}), student),
    )


ema_keeps_balance.mutant("the student is its own target", student=u**L * (lam * u**L - sigma**2 * u ** (L + 1)))
ema_keeps_balance.mutant("the teacher's layer for its product", student=u**L * (lam * ubar - sigma**2 * u ** (L + 1)))
ema_keeps_balance.mutant("the sum of squares", constant=v**2 + u**2)
ema_keeps_balance.mutant("a teacher that flees", teacher=beta * (ubar - u))
ema_keeps_balance.mutant("the teacher is the student", mean=u)


@statement(
    "ema-fixed-point",
    claim="With a teacher at rate beta, student and teacher layers rest, u > 0, at u = {rest} only, so w* = {asymptote}; the "
    "trace {trace} of the Jacobian there is negative and its determinant {determinant} positive: stable for every beta.",
    hypotheses=("balanced, aligned start", ONE_PREDICTOR),
)
def ema_fixed_point(
    rest: Expr = rho,
    asymptote: Expr = rho**L,
    trace: Expr = -(sigma**2) * (L + 1) * rho ** (2 * L) - beta,
    determinant: Expr = beta * sigma**2 * rho ** (2 * L),
) -> Proof:
    student = _teacher_flow().encoder.subs({M: 1, v: u, lam: sigma**2 * rho})
    teacher = beta * (u - ubar)
    slopes = [rate.diff(by).subs({ubar: rest, u: rest}) for rate in (student, teacher) for by in (u, ubar)]
    return (
        Identity(
            "The teacher rests only at ubar = u; there the student has one positive zero.",
            student.subs(ubar, u),
            sigma**2 * u ** (2 * L) * (rest - u),
        ),
        Identity("The encoder's product of L layers.", asymptote, rest**L),
        Identity("Trace of the Jacobian.", slopes[0] + slopes[3], trace),
        Identity("Determinant of the Jacobian.", slopes[0] * slopes[3] - slopes[1] * slopes[2], determinant),
        Positive("The trace is negative.", -trace),
        Positive("The determinant is positive.", determinant),
    )


ema_fixed_point.mutant("a slow teacher lowers the asymptote", rest=rho * beta / (1 + beta))
ema_fixed_point.mutant("the asymptote of MAE", asymptote=rho ** (L / (L + 1)))
ema_fixed_point.mutant("trace of a student without a teacher", trace=-(sigma**2) * rho ** (2 * L) - beta)
ema_fixed_point.mutant("a saddle", determinant=-beta * sigma**2 * rho ** (2 * L))


@statement(
    "unbalanced-asymptote",
    claim="An unbalanced feature of JEPA keeps c = {constant} and rests, u > 0, at u^2 = {square}, so w* = {asymptote}, "
    "where the flow has the slope {slope}: it exists, and attracts every such start, if rho^2 > c.",
    hypotheses=UNBALANCED,
)
def unbalanced_asymptote(
    constant: Expr = v**2 - u**2,
    square: Expr = rho**2 - c,
    asymptote: Expr = (rho**2 - c) ** (L / 2),
    slope: Expr = -(sigma**2) * (rho**2 - c) ** L,
) -> Proof:
    flow = one_predictor("jepa")
    towards_rest = sigma**2 * u ** (2 * L - 1) * v * (rho - v)
    at_rest = {c: constant.subs(v, rho)}
    curved = along(flow.encoder, Flow(S.One, u / v)).subs(v, rho)
    return (
        Identity("The constant does not change along the flow.", along(constant, flow), S.Zero),
        Identity("An encoder layer rests, u > 0, only where v = rho.", flow.encoder, towards_rest),
        Identity("There the constant gives u^2.", square.subs(at_rest), u**2),
        Identity("The encoder's product of L layers.", asymptote.subs(at_rest), u**L),
        Identity("Slope along the conserved curve, dv/du = u/v, at rest.", curved, slope.subs(at_rest)),
        Positive("The slope is negative.", -slope.subs(at_rest)),
        Positive("It grows while v < rho.", flow.encoder.subs(rho, v + gap)),
        Positive("It shrinks while v > rho.", -flow.encoder.subs(v, rho + gap)),
    )


unbalanced_asymptote.mutant("the balanced asymptote", square=rho**2, asymptote=rho**L)
unbalanced_asymptote.mutant("c with the other sign", square=rho**2 + c, asymptote=(rho**2 + c) ** (L / 2))
unbalanced_asymptote.mutant("the square of the asymptote", asymptote=(rho**2 - c) ** L)
unbalanced_asymptote.mutant("the difference of the layers", constant=v - u)
unbalanced_asymptote.mutant("slope of one layer", slope=-(sigma**2) * (rho**2 - c))


_DYING, _SURVIVING = Rational(9, 20), Rational(11, 20)


@statement(
    "unbalanced-collapse",
    claim="If c > rho^2, JEPA moves as (v + rho) du/dt = {decay} < 0 for every u > 0, and the feature dies. So from v = "
    "{start} and u -> 0, rho = {dying} dies and rho = {surviving} survives.",
    hypotheses=UNBALANCED,
)
def unbalanced_collapse(
    decay: Expr = -(sigma**2) * u ** (2 * L - 1) * v * (u**2 + c - rho**2),
    start: Expr = S.Half,
    dying: Expr = _DYING,
    surviving: Expr = _SURVIVING,
) -> Proof:
    rate = one_predictor("jepa").encoder * (v + rho)
    return (
        Identity("The flow, with c = v^2 - u^2.", rate, decay.subs(c, v**2 - u**2)),
        Positive("It is negative when c exceeds rho^2.", -decay.subs(c, rho**2 + gap)),
        CertifiedPositive("The dying feature has a positive rho.", dying),
        CertifiedPositive("v exceeds it, so c -> v^2 exceeds rho^2.", start - dying),
        CertifiedPositive("The surviving rho exceeds v, so rho^2 exceeds c and there is a fixed point.", surviving - start),
    )


unbalanced_collapse.mutant("rho for its square", decay=-(sigma**2) * u ** (2 * L - 1) * v * (u**2 + c - rho))
unbalanced_collapse.mutant("growth", decay=sigma**2 * u ** (2 * L - 1) * v * (u**2 + c - rho**2))
unbalanced_collapse.mutant("rho = .55 dies", dying=_SURVIVING)
unbalanced_collapse.mutant("rho = .45 survives", surviving=_DYING)
unbalanced_collapse.mutant("a smaller predictor kills as well", start=Rational(2, 5))


_predictor = sqrt(u**2 + c)


@statement(
    "unbalanced-time-is-a-quadrature",
    claim="The time of an unbalanced feature of JEPA is the integral of {slowness} over u; at c = 0 it is the balanced one.",
    hypotheses=UNBALANCED,
)
def unbalanced_time(
    slowness: Expr = 1 / (u ** (2 * L - 1) * _predictor * (lam - sigma**2 * _predictor)),
) -> Proof:
    flow = one_predictor("jepa")
    rate = flow.encoder.subs(rho, lam / sigma**2)
    balanced = mode("jepa").rate.subs({M: 1, rho: lam / sigma**2})
    return (
        Identity("c = v^2 - u^2 does not change, so v is the root of u^2 + c.", along(v**2 - u**2, flow), S.Zero),
        Identity("On that curve dt/du is the inverse of the encoder's rate.", slowness.subs(c, v**2 - u**2), 1 / rate),
        Identity("At c = 0 the rate is the balanced one.", slowness.subs(c, 0), 1 / balanced),
    )


unbalanced_time.mutant("the balanced integrand", slowness=1 / (u ** (2 * L) * (lam - sigma**2 * u)))
unbalanced_time.mutant("u and v exchanged", slowness=1 / (u * _predictor ** (2 * L - 1) * (lam - sigma**2 * _predictor)))
unbalanced_time.mutant("the power 2L", slowness=1 / (u ** (2 * L) * _predictor * (lam - sigma**2 * _predictor)))
unbalanced_time.mutant("c with the other sign", slowness=unbalanced_time.formulas["slowness"].subs(c, -c))


def _faster_predictor(flow: Flow) -> Flow:
    return Flow(flow.encoder, kappa * flow.predictor)


@statement(
    "predictor-rate-conservation",
    claim="If the predictor learns at kappa times the encoder's rate, JEPA and MAE conserve {constant}, for every L and M.",
    hypotheses=("aligned start", "layers of each kind share their amplitude"),
)
def predictor_rate_conservation(constant: Expr = v**2 / kappa - u**2) -> Proof:
    flows = {name.upper(): _faster_predictor(gradient_flow(LOSSES[name])) for name in ("jepa", "mae")}
    changes = (Identity(f"It does not change along {name}.", along(constant, flow), S.Zero) for name, flow in flows.items())
    found = conserved(flows["JEPA"]) or S.Zero
    return (*changes, Identity("It is kappa times smaller than what separating du and dv finds.", kappa * constant, found))


predictor_rate_conservation.mutant("as at equal rates", constant=v**2 - u**2)
predictor_rate_conservation.mutant("kappa on the other side", constant=kappa * v**2 - u**2)
predictor_rate_conservation.mutant("kappa squared", constant=v**2 / kappa**2 - u**2)
predictor_rate_conservation.mutant("amplitudes for squares", constant=v / kappa - u)


@statement(
    "predictor-rate-asymptote",
    claim="With a predictor at kappa times the encoder's rate, JEPA started at u = v = u0 ends at w* = {asymptote}, "
    "which attracts: the slope there, in the encoder layer's final amplitude u, is {slope}.",
    hypotheses=("balanced, aligned start with u0 < rho, so that u0^2 + (rho^2 - u0^2)/kappa > 0", ONE_PREDICTOR),
)
def predictor_rate_asymptote(
    asymptote: Expr = (u0**2 + (rho**2 - u0**2) / kappa) ** (L / 2),
    slope: Expr = -kappa * sigma**2 * u ** (2 * L),
) -> Proof:
    flow = _faster_predictor(one_predictor("jepa"))
    constant = v**2 / kappa - u**2
    above_start = {rho: sqrt(u0**2 + gap)}
    end = {u: asymptote.subs(above_start) ** (1 / L), v: rho.subs(above_start)}
    curved = along(flow.encoder, Flow(S.One, kappa * u / v)).subs(v, rho)
    return (
        Identity("An encoder layer rests, u > 0, only at v = rho.", flow.encoder, sigma**2 * u ** (2 * L - 1) * v * (rho - v)),
        Identity("v^2/kappa - u^2 does not change along the flow.", along(constant, flow), S.Zero),
        Identity("It is the same there as at the start.", constant.xreplace(end), constant.subs({u: u0, v: u0})),
        Positive("The encoder layer that it gives is positive, as rho > u0.", end[u]),
        Identity("Slope along the conserved curve, dv/du = kappa u/v.", curved, slope),
        Positive("The slope is negative.", -slope),
        Positive("It grows while v < rho, as at the start.", flow.encoder.subs(rho, v + gap)),
        Positive("It shrinks while v > rho.", -flow.encoder.subs(v, rho + gap)),
    )


predictor_rate_asymptote.mutant("as at equal rates", asymptote=rho**L)
predictor_rate_asymptote.mutant("kappa multiplies", asymptote=(u0**2 + (rho**2 - u0**2) * kappa) ** (L / 2))
predictor_rate_asymptote.mutant("the start forgotten", asymptote=(rho**2 / kappa) ** (L / 2))
predictor_rate_asymptote.mutant("a slope without kappa", slope=-(sigma**2) * u ** (2 * L))


_shrinking = exp(-eta * t)


@statement(
    "weight-decay-mode",
    claim="Weight decay eta on every layer makes the balanced mode du/dt = {jepa} for JEPA and {mae} for MAE. "
    "{difference} is no longer conserved: it follows {imbalance}, so the balanced line stays invariant and attracts.",
    hypotheses=(
        "aligned start",
        "eta/2 times the square of every encoder and predictor layer is added to the loss",
        "c is v^2 - u^2 at the start",
    ),
)
def weight_decay_mode(
    jepa: Expr = lam * u ** (2 * L + M - 1) * (1 - u**M / rho) - eta * u,
    mae: Expr = lam * u ** (L + M - 1) * (1 - u ** (L + M) / rho) - eta * u,
    difference: Expr = v**2 - u**2,
    imbalance: Expr = c * _shrinking**2,
) -> Proof:
    steps = []
    for name, claimed in (("jepa", jepa), ("mae", mae)):
        flow = gradient_flow(LOSSES[name] + L * eta * u**2 / 2 + M * eta * v**2 / 2)
        rate = claimed.subs(rho, lam / sigma**2)
        pace = imbalance.diff(t) / imbalance
        steps += [
            Identity(f"{name.upper()}: an encoder layer on the line v = u.", flow.encoder.subs(v, u), rate),
            Identity(f"{name.upper()}: a predictor layer on that line.", flow.predictor.subs(v, u), rate),
            Identity(f"{name.upper()}: the imbalance decays at this pace.", along(difference, flow), pace * difference),
        ]
    start = difference.subs(v, sqrt(u**2 + c))
    return (*steps, Identity("It starts at c = v^2 - u^2.", imbalance.subs(t, 0), start))


_decays = weight_decay_mode.formulas
weight_decay_mode.mutant("decay counted per product", jepa=_decays["jepa"] + eta * u - L * eta * u)
weight_decay_mode.mutant("decay twice", mae=_decays["mae"] - eta * u)
weight_decay_mode.mutant("still conserved", imbalance=c)
weight_decay_mode.mutant("decay at eta", imbalance=c * _shrinking)
weight_decay_mode.mutant("the difference of the layers", difference=v - u)


@statement(
    "weight-decay-fold",
    claim="With weight decay, a > 1, the positive fixed points are where {level} = eta. The left side rises until u^b = "
    "{summit} and falls beyond, to 0 at u^b = rho; its height is {fold}. Below it there are two fixed points, the lower "
    "unstable and the upper stable; above it none.",
    hypotheses=("balanced, aligned start", "eta/2 times the square of every encoder and predictor layer is added to the loss"),
)
def weight_decay_fold(
    level: Expr = lam * u ** (a - 1) * (1 - u**b / rho),
    summit: Expr = rho * (a - 1) / (a - 1 + b),
    fold: Expr = lam * (rho * (a - 1) / (a - 1 + b)) ** ((a - 1) / b) * b / (a - 1 + b),
) -> Proof:
    # a = m + 1, so that SymPy knows a - 1 to be positive.
    level, summit, fold = (formula.subs(a, m + 1) for formula in (level, summit, fold))
    rate = lam * u ** (m + 1) * (1 - u**b / rho) - eta * u
    slope, share = level.diff(u), summit / rho
    below, beyond = (normal(slope.subs(rho, u**b * part / share)) for part in (1 + gap, 1 / (1 + gap)))
    return (
        Identity("The rate is u times what exceeds eta.", rate, u * (level - eta)),
        Identity("At a fixed point its slope is u times that of the left side.", rate.diff(u).subs(eta, level), u * slope),
        Limit("The left side starts at 0.", level, u, S.Zero),
        Positive("It rises below the summit: a fixed point there is unstable.", below),
        Positive("It falls beyond: a fixed point there is stable.", -beyond),
        Identity("Its height.", level.subs(u, summit ** (1 / b)), fold),
        Identity("It is 0 at u^b = rho.", level.subs(rho, u**b), S.Zero),
        Positive("It is negative from there on.", -level.subs(rho, u**b / (1 + gap))),
    )


_folds = weight_decay_fold.formulas
weight_decay_fold.mutant("the summit of the rate without decay", summit=rho * a / (a + b))
weight_decay_fold.mutant("height without the saturation", fold=_folds["fold"] * (a - 1 + b) / b)
weight_decay_fold.mutant("exponent without 1/b", fold=lam * _folds["summit"] ** (a - 1) * b / (a - 1 + b))
weight_decay_fold.mutant("a for a - 1", level=lam * u**a * (1 - u**b / rho))
