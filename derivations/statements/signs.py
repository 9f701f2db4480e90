"""Covariances that are not positive, steps that are not small, and targets that are not the student's own, frozen."""

from __future__ import annotations

from sympy import Expr, S, Symbol, symbols

from derivations.gradient_flow import LOSSES, Flow, balanced_rate, gradient_flow, mode
from derivations.notation import L, M, a, b, epsilon, eta, lam, released, rho, s, sg, sigma, t, u, ustar, v, w
from derivations.proof import Identity, Limit, Positive, Proof
from derivations.reduction import normal
from derivations.statement import JEPA_PAPER, statements_from
from derivations.statements.beyond import ONE_PREDICTOR, along, gap, m

statement = statements_from(f"derived here, beside the setting of {JEPA_PAPER}")

k, r, sigma_y = symbols("k r sigma_y", positive=True)

BALANCED = "balanced, aligned start"
FAMILY = (BALANCED, "any member (a, b) of the power-law family")
OBJECTIVES = ("jepa", "mae")


def _balanced(loss: Expr) -> Expr:
    rate = balanced_rate(gradient_flow(loss))
    assert rate is not None, loss
    return rate


def _with_predictor(objective: str, layers: dict[Symbol, Expr]) -> Flow:
    flow = gradient_flow(LOSSES[objective])
    return Flow(flow.encoder.subs(layers), flow.predictor.subs(layers))


@statement(
    "zero-lambda-decay",
    claim="A feature without covariance, lambda = 0, decays as dw/dt = {rate} under JEPA and MAE alike: w = {curve}.",
    hypotheses=(BALANCED, ONE_PREDICTOR),
)
def zero_lambda_decay(
    rate: Expr = -L * sigma**2 * w**3,
    curve: Expr = (epsilon**-2 + 2 * L * sigma**2 * t) ** -S.Half,
) -> Proof:
    layers = {name: _balanced(LOSSES[name]).subs({M: 1, lam: 0}) for name in OBJECTIVES}
    products = (
        Identity(f"The product u^L under {name.upper()}.", (u**L).diff(u) * layer, rate.subs(w, u**L))
        for name, layer in layers.items()
    )
    return (
        *products,
        Identity("The curve obeys that equation.", curve.diff(t), rate.subs(w, curve)),
        Identity("It starts at epsilon.", curve.subs(t, 0), epsilon),
        Limit("It tends to 0.", curve.subs(t, 1 / s), s, S.Zero),
    )


_curve = zero_lambda_decay.formulas["curve"]
zero_lambda_decay.mutant("without the factor L", rate=-(sigma**2) * w**3, curve=_curve.subs(L, 1))
zero_lambda_decay.mutant("the power of one layer", rate=-L * sigma**2 * w ** (2 * L + 1))
zero_lambda_decay.mutant("the square forgotten", curve=1 / (1 / epsilon + 2 * L * sigma**2 * t))
zero_lambda_decay.mutant("a hyperbola", curve=epsilon / (1 + 2 * L * sigma**2 * t))


@statement(
    "negative-lambda-decay",
    claim="With lambda = -k < 0 and rho = -r, du/dt = {rate} < 0 for every u > 0: the feature is never learned by JEPA. "
    "u^-(2L-1) grows at the rate {growth}, which tends to {final} as u -> 0, so that w ~ {law}.",
    hypotheses=(BALANCED, "a positive predictor, v = u > 0", ONE_PREDICTOR),
)
def negative_lambda_decay(
    rate: Expr = -k * u ** (2 * L) * (1 + u / r),
    growth: Expr = (2 * L - 1) * k * (1 + u / r),
    final: Expr = (2 * L - 1) * k,
    law: Expr = ((2 * L - 1) * k * t) ** (-L / (2 * L - 1)),
) -> Proof:
    layer = _balanced(LOSSES["jepa"]).subs({M: 1, lam: -(sigma**2) * r})
    inverse = u ** (1 - 2 * L)
    return (
        Identity("The balanced flow, with rho = -r.", layer, rate.subs(k, sigma**2 * r)),
        Positive("It is negative.", -rate),
        Identity("The rate of u^-(2L-1).", inverse.diff(u) * rate, growth),
        Limit("That rate for small u.", growth, u, final),
        Positive("It stays above its limit: u^-(2L-1) grows without bound, and u -> 0.", growth - final),
        Positive("From any amplitude on it stays below its value there.", growth.subs(u, u + gap) - growth),
        Identity("Where u^-(2L-1) is its final rate times t, the law is u^L.", law.subs(t, inverse / final), u**L),
    )


negative_lambda_decay.mutant("saturation helps", rate=-k * u ** (2 * L) * (1 - u / r))
negative_lambda_decay.mutant("saturation slows it", growth=(2 * L - 1) * k * (1 - u / r))
negative_lambda_decay.mutant("a rate without 2L-1", final=k)
negative_lambda_decay.mutant("the law of one layer", law=((2 * L - 1) * k * t) ** (-1 / (2 * L - 1)))


@statement(
    "negative-lambda-needs-a-negative-predictor",
    claim="For odd M, (u, {predictor}) of a feature with covariance {covariance} moves as (u, v) with lambda, under JEPA "
    "and MAE. So on the lines |v| = u, JEPA learns a negative covariance from v(0) < 0 and from there only: in |lambda| "
    "and |rho|, v -> {end} and w* = {asymptote}.",
    hypotheses=("aligned start", "an odd number M of predictor layers"),
)
def negative_predictor(
    predictor: Expr = -v,
    covariance: Expr = -lam,
    end: Expr = -(rho ** (1 / M)),
    asymptote: Expr = rho ** (L / M),
) -> Proof:
    odd = {M: 2 * m - 1}
    mirror = {v: predictor, lam: covariance}
    steps: list[Identity] = []
    for name in OBJECTIVES:
        flow = _with_predictor(name, odd)
        encoder, mirrored = (rate.subs(mirror) for rate in (flow.encoder, flow.predictor))
        steps += [
            Identity(f"{name.upper()}: the encoder cannot tell.", encoder, flow.encoder),
            Identity(f"{name.upper()}: the predictor moves mirrored.", mirrored, predictor.diff(v) * flow.predictor),
        ]
    jepa = _with_predictor("jepa", odd).encoder
    negative = jepa.subs(lam, -(sigma**2) * rho)
    at_rest = {rho: u ** (2 * m - 1)}
    learning = mode("jepa").rate.subs(odd).subs(lam, sigma**2 * rho)
    return (
        *steps,
        Identity("On the line v = -u JEPA learns as with |lambda|.", negative.subs(v, predictor.subs(v, u)), learning),
        Identity(
            "It rests where v has reached its end, here with rho = u^M.",
            negative.subs({v: end.subs(odd).subs(at_rest), **at_rest}),
            S.Zero,
        ),
        Positive("That end is negative.", -end),
        Identity("There the encoder's product of L layers is the asymptote.", asymptote.subs(odd).subs(at_rest), u**L),
        Positive("With v > 0 the feature decays.", -negative),
    )


negative_predictor.mutant("a positive predictor", predictor=v)
negative_predictor.mutant("the same covariance", covariance=lam)
negative_predictor.mutant("a positive end", end=rho ** (1 / M))
negative_predictor.mutant("an end whatever M", end=-rho)
negative_predictor.mutant("the asymptote of MAE", asymptote=rho ** (L / (L + M)))


def _family_rate() -> Expr:
    return lam * u**a * (1 - u**b / rho)


@statement(
    "gradient-descent-stability",
    claim="One step of gradient descent of size eta multiplies a small distance from the fixed point u* by {multiplier}, "
    "along the balanced line; that shrinks it if and only if eta < {largest}.",
    hypotheses=(*FAMILY, "other directions of the network may be stiffer"),
)
def gradient_descent_stability(
    multiplier: Expr = 1 - eta * lam * b * ustar ** (a - 1),
    largest: Expr = 2 / (lam * b * ustar ** (a - 1)),
) -> Proof:
    step = (u + eta * _family_rate()).subs(rho, ustar**b)
    shorter, longer = (normal((multiplier**2).subs(eta, largest * part)) for part in (1 / (1 + gap), 1 + gap))
    return (
        Identity("The fixed point of the flow is one of the step.", step.subs(u, ustar), ustar),
        Identity("The slope of the step there.", step.diff(u).subs(u, ustar), multiplier),
        Identity("At the largest step the distance only changes side.", multiplier.subs(eta, largest), -S.One),
        Positive("A shorter step shrinks the distance.", 1 - shorter),
        Positive("A longer one stretches it.", longer - 1),
    )


gradient_descent_stability.mutant("a for b", multiplier=1 - eta * lam * a * ustar ** (a - 1))
gradient_descent_stability.mutant("power a", multiplier=1 - eta * lam * b * ustar**a)
gradient_descent_stability.mutant("half the step", largest=1 / (lam * b * ustar ** (a - 1)))
gradient_descent_stability.mutant("twice the step", largest=4 / (lam * b * ustar ** (a - 1)))


@statement(
    "gradient-descent-first-order",
    claim="One step of gradient descent of size eta follows the flow to first order; it misses eta^2 times {missing}. "
    "The flow takes eta - eta^2 times {lag} + O(eta^3) for the same move, so steps = t/eta to first order.",
    hypotheses=FAMILY,
)
def gradient_descent_first_order(
    missing: Expr = lam**2 * u ** (2 * a - 1) * (1 - u**b / rho) * (a - (a + b) * u**b / rho) / 2,
    lag: Expr = lam * u ** (a - 1) * (a - (a + b) * u**b / rho) / 2,
) -> Proof:
    rate = _family_rate()
    step = u + eta * rate
    spent = step.diff(eta) / rate.subs(u, step)
    return (
        Identity("First order: the step moves at the rate of the flow.", step.diff(eta).subs(eta, 0), rate),
        Identity(
            "Second order: half of d^2 u/dt^2, which the step lacks.", rate.diff(u) * rate / 2 - step.diff(eta, 2) / 2, missing
        ),
        Identity("The flow's time for the step, by eta: 1 at first.", spent.subs(eta, 0), S.One),
        Identity("And falling at twice the lag.", spent.diff(eta).subs(eta, 0), -2 * lag),
    )


_defect = gradient_descent_first_order.formulas
gradient_descent_first_order.mutant("without the half", missing=2 * _defect["missing"])
gradient_descent_first_order.mutant("ahead of the flow", missing=-_defect["missing"])
gradient_descent_first_order.mutant("saturation not differentiated", missing=_defect["missing"].subs(a + b, a))
gradient_descent_first_order.mutant("as much time as eta", lag=S.Zero)


@statement(
    "no-stop-gradient-control",
    claim="Without the stop-gradient, latent prediction with sigma_y^2 the variance of y moves as du/dt = {encoder}, "
    "dv/dt = {predictor}. {difference} is no longer conserved: it changes at {drift}, and the encoder only ever shrinks.",
    hypotheses=(
        "aligned start",
        "the target W y is differentiated too",
        "|lambda| < sigma sigma_y: Cauchy and Schwarz, y being no multiple of x",
    ),
)
def no_stop_gradient_control(
    encoder: Expr = u ** (2 * L - 1) * (2 * lam * v**M - sigma**2 * v ** (2 * M) - sigma_y**2),
    predictor: Expr = u ** (2 * L) * v ** (M - 1) * (lam - sigma**2 * v**M),
    difference: Expr = v**2 - u**2,
    drift: Expr = 2 * u ** (2 * L) * (sigma_y**2 - lam * v**M),
) -> Proof:
    flow = gradient_flow(released(LOSSES["jepa"]) + sigma_y**2 * u ** (2 * L) / 2)
    square = u ** (2 * L - 1) * (sigma * v**M - lam / sigma) ** 2
    excess = u ** (2 * L - 1) * (sigma_y**2 - lam**2 / sigma**2)
    return (
        Identity("One encoder layer, the target differentiated.", flow.encoder, encoder),
        Identity("One predictor layer.", flow.predictor, predictor),
        Identity("What was conserved changes.", along(difference, flow), drift),
        Positive("It grows while lambda v^M < sigma_y^2.", normal(drift.subs(lam, sigma_y**2 / (v**M + gap)))),
        Identity("du/dt is minus a square minus the excess of sigma_y^2.", encoder, -square - excess),
        Positive("The excess is positive when lambda^2 < sigma^2 sigma_y^2.", excess.subs(lam, sigma * sigma_y / (1 + gap))),
    )


no_stop_gradient_control.mutant("the target frozen", encoder=u ** (2 * L - 1) * (lam * v**M - sigma**2 * v ** (2 * M)))
no_stop_gradient_control.mutant(
    "the target's own moment forgotten", encoder=u ** (2 * L - 1) * (2 * lam * v**M - sigma**2 * v ** (2 * M))
)
no_stop_gradient_control.mutant(
    "the predictor sees it twice", predictor=u ** (2 * L) * v ** (M - 1) * (2 * lam - sigma**2 * v**M)
)
no_stop_gradient_control.mutant("still conserved", drift=S.Zero)
no_stop_gradient_control.mutant("the sum of squares", difference=v**2 + u**2)


@statement(
    "regressing-on-y-is-mae",
    claim="JEPA's loss with {target} for its frozen target u^L is MAE: the same flow, and the asymptote {asymptote}, not "
    "{latent}.",
    hypotheses=(BALANCED,),
)
def regressing_on_y(
    target: Expr = S.One,
    asymptote: Expr = rho ** (L / (L + M)),
    latent: Expr = rho ** (L / M),
) -> Proof:
    replaced = LOSSES["jepa"].subs(sg(u**L), sg(target))
    flow, mae = gradient_flow(replaced), gradient_flow(LOSSES["mae"])
    rest, latent_rest = asymptote ** (1 / L), latent ** (1 / L)
    rates = {name: _balanced(LOSSES[name]).subs(lam, sigma**2 * rho) for name in OBJECTIVES}
    return (
        Identity("The encoder moves as under MAE.", flow.encoder, mae.encoder),
        Identity("So does the predictor.", flow.predictor, mae.predictor),
        Identity(
            "MAE has one positive zero, u = rest.", rates["mae"], sigma**2 * u ** (L + M - 1) * (rest ** (L + M) - u ** (L + M))
        ),
        Identity("JEPA has another.", rates["jepa"], sigma**2 * u ** (2 * L + M - 1) * (latent_rest**M - u**M)),
    )


regressing_on_y.mutant("the student's own target", target=u**L)
regressing_on_y.mutant("half the target", target=S.Half)
regressing_on_y.mutant("the asymptote of JEPA", asymptote=rho ** (L / M))
regressing_on_y.mutant("JEPA ends where MAE does", latent=rho ** (L / (L + M)))
