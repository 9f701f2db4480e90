"""From the loss to the equation of one feature, its fixed points and its clocks."""

from __future__ import annotations

from sympy import Expr, S, log

from derivations.gradient_flow import LOSSES, Member, balanced_rate, gradient_flow, mode
from derivations.gradient_flow import conserved as separated
from derivations.notation import L, M, N, a, b, epsilon, lam, rho, s, sigma, t, u, ustar, v, w, x, z
from derivations.proof import Identity, Limit, Positive, Proof, Step
from derivations.reduction import UndecidedError
from derivations.statement import JEPA_PAPER, SAXE_PAPER, statements_from

statement = statements_from(f"{JEPA_PAPER}, feature dynamics of JEPA and MAE")

SHARED = ("the layers of each kind share their amplitude",)
BALANCED = ("balanced, aligned start: v = u",)
ONE_PREDICTOR_LAYER = (*BALANCED, "one predictor layer")
LEARNABLE = (*BALANCED, "lambda > 0 and rho > 0")
FAMILY = ("du/dt = lambda u^a (1 - u^b/rho)",)
MEMBER = Member(lam, a, b, rho)


def _rates(objective: str, encoder: Expr, predictor: Expr) -> Proof:
    flow = gradient_flow(LOSSES[objective])
    return (
        Identity("One encoder layer moves at 1/L of minus the derivative of the loss by the shared u.", flow.encoder, encoder),
        Identity("One predictor layer moves at 1/M of minus the derivative by the shared v.", flow.predictor, predictor),
    )


_jepa_error = lam * u**L - sigma**2 * v**M * u**L
_mae_error = lam - sigma**2 * v**M * u**L


@statement(
    "jepa-gradients",
    claim="A feature of JEPA moves as du/dt = {encoder}, dv/dt = {predictor}, the target frozen.",
    hypotheses=SHARED,
)
def jepa_gradients(
    encoder: Expr = v**M * u ** (L - 1) * _jepa_error, predictor: Expr = v ** (M - 1) * u**L * _jepa_error
) -> Proof:
    return _rates("jepa", encoder, predictor)


jepa_gradients.mutant("the target is trained too", encoder=v**M * u ** (L - 1) * (2 * lam * u**L - sigma**2 * v**M * u**L))
jepa_gradients.mutant("the target is the input's", encoder=v**M * u ** (L - 1) * _mae_error)
jepa_gradients.mutant("all layers move as one", encoder=L * v**M * u ** (L - 1) * _jepa_error)
jepa_gradients.mutant("ascent", predictor=-(v ** (M - 1)) * u**L * _jepa_error)


@statement(
    "mae-gradients",
    claim="A feature of MAE moves as du/dt = {encoder}, dv/dt = {predictor}.",
    hypotheses=SHARED,
)
def mae_gradients(
    encoder: Expr = v**M * u ** (L - 1) * _mae_error, predictor: Expr = v ** (M - 1) * u**L * _mae_error
) -> Proof:
    return _rates("mae", encoder, predictor)


mae_gradients.mutant("the target is the latent's", encoder=v**M * u ** (L - 1) * _jepa_error)
mae_gradients.mutant("standard deviation for variance", encoder=v**M * u ** (L - 1) * (lam - sigma * v**M * u**L))
mae_gradients.mutant("all layers move as one", predictor=M * v ** (M - 1) * u**L * _mae_error)


def _conservation(objective: str, conserved: Expr) -> Proof:
    flow = gradient_flow(LOSSES[objective])
    by_encoder, by_predictor = conserved.diff(u) * flow.encoder, conserved.diff(v) * flow.predictor
    return (
        Identity("What the predictor adds to it along the flow, the encoder takes away.", by_predictor, -by_encoder),
        Identity("It is what separating du and dv finds.", conserved, separated(flow) or S.Zero),
    )


@statement("jepa-conserves-balance", claim="JEPA conserves {conserved} for every L and M.", hypotheses=SHARED)
def jepa_conserves_balance(conserved: Expr = v**2 - u**2) -> Proof:
    return _conservation("jepa", conserved)


@statement("mae-conserves-balance", claim="MAE conserves {conserved} for every L and M.", hypotheses=SHARED)
def mae_conserves_balance(conserved: Expr = v**2 - u**2) -> Proof:
    return _conservation("mae", conserved)


for _balance in (jepa_conserves_balance, mae_conserves_balance):
    _balance.mutant("sum of squares", conserved=v**2 + u**2)
    _balance.mutant("difference of amplitudes", conserved=v - u)
    _balance.mutant("weighted by the layers", conserved=M * v**2 - L * u**2)
    _balance.mutant("product against predictor", conserved=v**2 - u ** (2 * L))


def _mode(objective: str, rate: Expr) -> Proof:
    flow = gradient_flow(LOSSES[objective])
    found = balanced_rate(flow)
    if found is None:
        raise UndecidedError("The flow leaves the balanced line.")
    return (
        Identity(
            "On v = u both layers move alike, so the flow stays there.", flow.encoder.subs(v, u), flow.predictor.subs(v, u)
        ),
        Identity("There one layer moves as claimed, with sigma^2 = lambda/rho.", _with_rho(found), rate),
    )


def _with_rho(expression: Expr) -> Expr:
    return expression.subs(sigma**2, lam / rho)


@statement("jepa-mode", claim="Under JEPA du/dt = {rate}.", hypotheses=BALANCED)
def jepa_mode(rate: Expr = lam * u ** (2 * L + M - 1) * (1 - u**M / rho)) -> Proof:
    return _mode("jepa", rate)


jepa_mode.mutant("exponent 2L+M-2", rate=lam * u ** (2 * L + M - 2) * (1 - u**M / rho))
jepa_mode.mutant("MAE's saturation", rate=lam * u ** (2 * L + M - 1) * (1 - u ** (L + M) / rho))
jepa_mode.mutant("MAE's growth", rate=lam * u ** (L + M - 1) * (1 - u**M / rho))
jepa_mode.mutant("factor L", rate=L * lam * u ** (2 * L + M - 1) * (1 - u**M / rho))


@statement("mae-mode", claim="Under MAE du/dt = {rate}.", hypotheses=BALANCED)
def mae_mode(rate: Expr = lam * u ** (L + M - 1) * (1 - u ** (L + M) / rho)) -> Proof:
    return _mode("mae", rate)


mae_mode.mutant("exponent L+M", rate=lam * u ** (L + M) * (1 - u ** (L + M) / rho))
mae_mode.mutant("JEPA's saturation", rate=lam * u ** (L + M - 1) * (1 - u**M / rho))
mae_mode.mutant("sigma for rho", rate=lam * u ** (L + M - 1) * (1 - u ** (L + M) / sigma))


@statement(
    "supervised-is-mae",
    claim="A supervised network of N layers, product s = u^N, moves as du/dt = {rate}: the mode of MAE whose {layers} is N.",
    source=SAXE_PAPER,
    hypotheses=("all layers share their amplitude",),
)
def supervised_is_mae(rate: Expr = lam * u ** (N - 1) * (1 - u**N / rho), layers: Expr = L + M) -> Proof:
    loss = sigma**2 * u ** (2 * N) / 2 - lam * u**N
    return (
        Identity("One of N layers moves at 1/N of minus the derivative of the loss.", _with_rho(-loss.diff(u) / N), rate),
        Identity(
            "With as many layers as encoder and decoder have, this is the mode of MAE.", rate.subs(N, layers), mode("mae").rate
        ),
    )


supervised_is_mae.mutant("exponent N", rate=lam * u**N * (1 - u**N / rho))
supervised_is_mae.mutant("the decoder does not count", layers=L)
supervised_is_mae.mutant("the encoder counts twice", layers=2 * L + M)


def _product(objective: str, rate: Expr) -> Proof:
    return (
        Identity(
            "By the chain rule dw/dt = L u^(L-1) du/dt at w = u^L.",
            L * u ** (L - 1) * mode(objective).rate.subs(M, 1),
            _with_rho(rate).subs(w, u**L),
        ),
    )


@statement("jepa-product-mode", claim="Under JEPA the product w = u^L moves as dw/dt = {rate}.", hypotheses=ONE_PREDICTOR_LAYER)
def jepa_product_mode(rate: Expr = L * (lam * w ** (3 - 1 / L) - sigma**2 * w**3)) -> Proof:
    return _product("jepa", rate)


@statement("mae-product-mode", claim="Under MAE the product w = u^L moves as dw/dt = {rate}.", hypotheses=ONE_PREDICTOR_LAYER)
def mae_product_mode(rate: Expr = L * (lam * w ** (2 - 1 / L) - sigma**2 * w**3)) -> Proof:
    return _product("mae", rate)


for _statement, _power in ((jepa_product_mode, 3), (mae_product_mode, 2)):
    _statement.mutant("no factor L", rate=lam * w ** (_power - 1 / L) - sigma**2 * w**3)
    _statement.mutant("exponent off by 1/L", rate=L * (lam * w**_power - sigma**2 * w**3))
    _statement.mutant("sigma read as the amplitude", rate=L * (lam * w ** (_power - 1 / L) - w**2 * w**3))
    _statement.mutant("the other objective", rate=L * (lam * w ** (5 - _power - 1 / L) - sigma**2 * w**3))


@statement(
    "one-curve-two-clocks",
    claim="JEPA's product moves as dw/dt = {training} in training time and as dw/dtau = {paper} in paper time tau = {clock}.",
    hypotheses=ONE_PREDICTOR_LAYER,
)
def one_curve_two_clocks(
    training: Expr = L * (lam * w ** (3 - 1 / L) - sigma**2 * w**3),
    paper: Expr = lam * w ** (3 - 1 / L) - sigma**2 * w**3,
    clock: Expr = L * t,
) -> Proof:
    return (
        *_product("jepa", training),
        Identity("By the chain rule dw/dt = (dw/dtau) (dtau/dt).", training, paper * clock.diff(t)),
        Identity("Both clocks start at 0.", clock.subs(t, 0), S.Zero),
        Identity("With one layer they agree.", clock.subs(L, 1), t),
    )


one_curve_two_clocks.mutant("an L in the equation and in its time", paper=L * (lam * w ** (3 - 1 / L) - sigma**2 * w**3))
one_curve_two_clocks.mutant("one clock for both", clock=t)
one_curve_two_clocks.mutant("the clock runs the other way", clock=t / L)
one_curve_two_clocks.mutant("no L in training time", training=lam * w ** (3 - 1 / L) - sigma**2 * w**3, clock=t)


def _asymptote(objective: str, layer: Expr, product: Expr) -> Proof:
    member = mode(objective)
    return (
        Identity("One layer stands still there.", member.rate.subs(u, layer), S.Zero),
        Identity("Its power b is rho.", layer**member.b, rho),
        Identity("The encoder's product is its power L.", layer**L, product),
        *_one_attractor(),
    )


def _one_attractor() -> tuple[Step, ...]:
    """In z = u^b / rho."""
    growth = MEMBER.rate.subs(rho, u**b / z)
    return (
        Positive("Below it, z = u^b/rho < 1, the layer grows.", growth),
        Positive("Above it, at 1/z > 1, the layer shrinks; so there is no other positive fixed point.", -growth.subs(z, 1 / z)),
    )


@statement(
    "jepa-asymptote",
    claim="Under JEPA a layer tends to u* = {layer} and the encoder to w* = {product}, from every positive start.",
    hypotheses=LEARNABLE,
)
def jepa_asymptote(layer: Expr = rho ** (1 / M), product: Expr = rho ** (L / M)) -> Proof:
    return _asymptote("jepa", layer, product)


jepa_asymptote.mutant("regressed on y: MAE's asymptote", layer=rho ** (1 / (L + M)), product=rho ** (L / (L + M)))
jepa_asymptote.mutant("product rho^L whatever M", product=rho**L)
jepa_asymptote.mutant("layer rho^(1/L)", layer=rho ** (1 / L), product=rho)


@statement(
    "mae-asymptote",
    claim="Under MAE a layer tends to u* = {layer} and the encoder to w* = {product}, from every positive start.",
    hypotheses=LEARNABLE,
)
def mae_asymptote(layer: Expr = rho ** (1 / (L + M)), product: Expr = rho ** (L / (L + M))) -> Proof:
    return _asymptote("mae", layer, product)


mae_asymptote.mutant("JEPA's asymptote", layer=rho ** (1 / M), product=rho ** (L / M))
mae_asymptote.mutant("the encoder's layers alone", layer=rho ** (1 / L), product=rho)
mae_asymptote.mutant("the product carries M", product=rho ** (M / (L + M)))


@statement(
    "approach-rate",
    claim="Near its fixed point u* a layer approaches at the rate {rate}.",
    hypotheses=(*FAMILY, "u*^b = rho"),
)
def approach_rate(rate: Expr = lam * b * ustar ** (a - 1)) -> Proof:
    slope = MEMBER.rate.subs(rho, ustar**b).diff(u).subs(u, ustar)
    return (Identity("Minus the derivative of the right-hand side at u*.", -slope, rate), Positive("It is stable.", rate))


approach_rate.mutant("without b", rate=lam * ustar ** (a - 1))
approach_rate.mutant("exponent a", rate=lam * b * ustar**a)
approach_rate.mutant("unstable", rate=-lam * b * ustar ** (a - 1))


@statement(
    "fixed-points-form-a-stable-line",
    claim="At JEPA's fixed points v^M = rho, u > 0, the rates have trace {trace} and determinant {determinant}: neutral "
    "along the line of fixed points, attracting across it.",
    hypotheses=(*SHARED, "any balance v^2 - u^2"),
)
def fixed_points_form_a_stable_line(trace: Expr = -lam * M * u ** (2 * L) * v ** (M - 2), determinant: Expr = S.Zero) -> Proof:
    flow = gradient_flow(LOSSES["jepa"])
    at_rest = {sigma**2: lam / v**M}
    entries = [[rate.diff(layer).subs(at_rest) for layer in (u, v)] for rate in (flow.encoder, flow.predictor)]
    return (
        Identity("The encoder rests there.", flow.encoder.subs(at_rest), S.Zero),
        Identity("So does the predictor.", flow.predictor.subs(at_rest), S.Zero),
        Identity("Trace of the Jacobian.", entries[0][0] + entries[1][1], trace),
        Identity("Determinant.", entries[0][0] * entries[1][1], entries[0][1] * entries[1][0] + determinant),
        Positive("The trace is negative.", -trace),
    )


fixed_points_form_a_stable_line.mutant("the encoder pulls too", trace=-lam * u ** (2 * L - 2) * v**M * (L + M * u**2 / v**2))
fixed_points_form_a_stable_line.mutant("isolated", determinant=lam**2 * u ** (4 * L - 2))
fixed_points_form_a_stable_line.mutant("without M", trace=-lam * u ** (2 * L) * v ** (M - 2))


@statement(
    "small-start-growth",
    claim="A start of product amplitude epsilon moves at du/dt = u^(2L) ({jepa}) under JEPA and u^L ({mae}) under MAE: "
    "covariance minus a variance penalty. Its strength is {strength} under JEPA, which depth drives to {full}, and "
    "epsilon times that under MAE.",
    hypotheses=(*ONE_PREDICTOR_LAYER, "epsilon < 1"),
)
def small_start_growth(
    jepa: Expr = lam - sigma**2 * epsilon ** (1 / L),
    mae: Expr = lam - sigma**2 * epsilon ** (1 + 1 / L),
    strength: Expr = epsilon ** (1 / L),
    full: Expr = S.One,
) -> Proof:
    scores = (
        Identity(
            f"The rate of {name} over u^a, at epsilon = u^L.",
            (mode(objective).rate / u ** mode(objective).a).subs(M, 1),
            _with_rho(score).subs(epsilon, u**L),
        )
        for objective, name, score in (("jepa", "JEPA", jepa), ("mae", "MAE", mae))
    )
    bound = -log(strength)
    excess = -log(x) - (full - x)
    return (
        *scores,
        Identity("JEPA's penalty is the variance times the strength.", jepa, lam - sigma**2 * strength),
        Identity("MAE's is epsilon times that.", mae, lam - sigma**2 * epsilon * strength),
        Positive("A strength x < 1 falls short of full strength.", full - x),
        Identity("Beside |ln x|, what it lacks is equal at x = 1.", excess.subs(x, 1), S.Zero),
        Positive("And smaller before: |ln x| minus it falls up to there.", -excess.diff(x)),
        Limit("|ln x| tends to 0 as s = 1/L does, and with it what is lacking.", bound.subs(L, 1 / s), s, S.Zero),
    )


small_start_growth.mutant("penalty of strength epsilon", jepa=lam - sigma**2 * epsilon)
small_start_growth.mutant("one score for both", mae=lam - sigma**2 * epsilon ** (1 / L))
small_start_growth.mutant("standard deviation", jepa=lam - sigma * epsilon ** (1 / L))
small_start_growth.mutant("depth drives it to half", full=S.Half)
small_start_growth.mutant("MAE's strength for JEPA's", strength=epsilon ** (1 + 1 / L))
