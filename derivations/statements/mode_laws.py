"""Modes of linear self-distillation with one view against another: BYOL, DirectCopy, and what their stop-gradient is for.

The papers' units are lambda = 1 and sigma^2 = 1 plus the variance that augmentation adds.
"""

from __future__ import annotations

from collections.abc import Callable

from sympy import Add, Expr, Rational, S, log, sqrt, symbols

from derivations.gradient_flow import LOSSES, Flow, gradient_flow
from derivations.notation import L, M, Reals, beta, eta, gap, lam, nu, released, rho, sg, sigma, tau, u, v, x
from derivations.proof import Identity, Positive, Proof, Step
from derivations.statement import statements_from

TIAN_PAPER = "Tian et al. 2021, dynamics without contrastive pairs"
WANG_PAPER = "Wang et al. 2021, DirectCopy"
HALVAGAL_PAPER = "Halvagal et al. 2023, implicit variance regularisation"

statement = statements_from(TIAN_PAPER)

alpha, low, high, y0, square = symbols("alpha low high y_0 square", positive=True)

STUDENT = (
    "one layer u and one predictor v, aligned",
    "views of variance sigma^2 and covariance lambda, rho = lambda/sigma^2",
    "weight decay eta",
)
BYOL = (*STUDENT, "the teacher is tau u, its rate beta", "the predictor learns at alpha times the encoder's rate")
ON_LINE = (*BYOL, "u^2 = v^2/alpha, tau held")
LITTLE_DECAY = {eta: Reals(sampled=(Rational(1, 1000), Rational(1, 300)))}


def _student(target: Expr = u) -> Flow:
    """The flow of one layer and one predictor towards a frozen target, without decay."""
    flow = gradient_flow(LOSSES["jepa"].subs(sg(u**L), sg(target)))
    return Flow(*(rate.subs({L: 1, M: 1}) for rate in (flow.encoder, flow.predictor)))


@statement(
    "byol-mode",
    claim="A mode of linear BYOL moves as du/dt = {encoder}, dv/dt = {predictor} and dtau/dt = {teacher}.",
    hypotheses=BYOL,
)
def byol_mode(
    encoder: Expr = u * v * (lam * tau - sigma**2 * v) - eta * u,
    predictor: Expr = alpha * u**2 * (lam * tau - sigma**2 * v) - eta * v,
    teacher: Expr = beta * (1 - tau) - tau * (v * (lam * tau - sigma**2 * v) - eta),
) -> Proof:
    flow = _student(tau * u)
    ubar = tau * u
    return (
        Identity("The encoder, its decay beside the gradient.", flow.encoder - eta * u, encoder),
        Identity("The predictor.", alpha * flow.predictor - eta * v, predictor),
        Identity("The quotient tau of teacher and student.", beta * (u - ubar) / u - ubar * encoder / u**2, teacher),
    )


byol_mode.mutant("the student is its own target", encoder=u * v * (lam * u - sigma**2 * v) - eta * u)
byol_mode.mutant("the rate of the predictor forgotten", predictor=u**2 * (lam * tau - sigma**2 * v) - eta * v)
byol_mode.mutant("amplitude for energy", predictor=alpha * u * (lam * tau - sigma**2 * v) - eta * v)
byol_mode.mutant("a teacher that does not wait", teacher=beta * (1 - tau))


@statement(
    "byol-invariant-line",
    claim="{difference} decays as e^(-{decay} t), so modes come to the line where it is 0. There a mode moves as dv/dt = "
    "{rate}, whatever alpha.",
    hypotheses=BYOL,
)
def byol_invariant_line(
    difference: Expr = u**2 - v**2 / alpha,
    decay: Expr = 2 * eta,
    rate: Expr = v**2 * (lam * tau - sigma**2 * v) - eta * v,
) -> Proof:
    mode = byol_mode.formulas
    moved = difference.diff(u) * mode["encoder"] + difference.diff(v) * mode["predictor"]
    return (
        Identity("Its slope along the flow, tau as it may be.", moved, -decay * difference),
        Identity("It is 0 on the line.", difference.subs(u, v / sqrt(alpha)), S.Zero),
        Identity("The predictor on the line.", mode["predictor"].subs(u, v / sqrt(alpha)), rate),
    )


byol_invariant_line.mutant("amplitudes", difference=u - v / alpha)
byol_invariant_line.mutant("alpha on the other side", difference=u**2 - alpha * v**2)
byol_invariant_line.mutant("decay at eta", decay=eta)
byol_invariant_line.mutant("a power less", rate=v * (lam * tau - sigma**2 * v) - eta * v)


@statement(
    "byol-collapse",
    claim="On that line a mode rests, v > 0, at {lower} and {upper}: the first repels, the second attracts. Both are there "
    "if eta is below {threshold} = lambda rho tau^2/4; above it every mode dies.",
    hypotheses=ON_LINE,
    domain=LITTLE_DECAY,
)
def byol_collapse(
    lower: Expr = (lam * tau - sqrt(lam**2 * tau**2 - 4 * eta * sigma**2)) / (2 * sigma**2),
    upper: Expr = (lam * tau + sqrt(lam**2 * tau**2 - 4 * eta * sigma**2)) / (2 * sigma**2),
    threshold: Expr = lam**2 * tau**2 / (4 * sigma**2),
) -> Proof:
    rate = byol_invariant_line.formulas["rate"]
    ends = {lam: sigma**2 * (low + high) / tau, eta: sigma**2 * low * high}
    slope = rate.subs(ends).diff(v)
    apart = {high: low + gap}
    roots = (end.subs({eta: (lam**2 * tau**2 - square**2) / (4 * sigma**2)}) for end in (lower, upper))
    exact = ((lam * tau + turn * square) / (2 * sigma**2) for turn in (-1, 1))
    above = -(rate / v).subs(eta, threshold + gap)
    offset = v - lam * tau / (2 * sigma**2)
    return (
        *(Identity("With the discriminant written as a square.", *pair) for pair in zip(roots, exact, strict=True)),
        Identity("The product of the two, from eta.", (lower * upper).expand(), eta / sigma**2),
        Identity("Their sum, from lambda tau.", lower + upper, lam * tau / sigma**2),
        Identity("So the rate has no other zero.", rate.subs(ends), -(sigma**2) * v * (v - low) * (v - high)),
        Positive("The lower one repels.", slope.subs(v, low).subs(apart)),
        Positive("The upper one attracts.", -slope.subs(v, high).subs(apart)),
        Identity("At eta = threshold + gap, minus the rate over v is gap and a square.", above, gap + sigma**2 * offset**2),
        Identity("The threshold in lambda and rho.", threshold.subs(sigma, sqrt(lam / rho)), lam * rho * tau**2 / 4),
    )


byol_collapse.mutant("without the 4", threshold=lam**2 * tau**2 / sigma**2)
byol_collapse.mutant("lambda for its square", threshold=lam * tau**2 / (4 * sigma**2))
byol_collapse.mutant("the ends of eta = 0", lower=S.Zero, upper=lam * tau / sigma**2)
byol_collapse.mutant("half of the upper end", upper=(lam * tau + sqrt(lam**2 * tau**2 - 4 * eta * sigma**2)) / (4 * sigma**2))


@statement(
    "byol-time",
    claim="Between the two, called low and high, the time is {time} up to a constant. No small start takes a long time: what "
    "starts below low dies.",
    hypotheses=ON_LINE,
)
def byol_time(
    time: Expr = -(log(v) / (low * high) + log(v - low) / (low * (low - high)) + log(high - v) / (high * (high - low)))
    / sigma**2,
) -> Proof:
    rate = byol_invariant_line.formulas["rate"].subs({lam: sigma**2 * (low + high) / tau, eta: sigma**2 * low * high})
    below = rate.subs(high, (1 + y0) * low).subs(low, (1 + gap) * v)
    return (
        Identity("Its slope is the inverse of the rate.", time.diff(v), 1 / rate),
        Positive("Below low = (1 + gap) v, with high = (1 + y0) low, a mode shrinks.", -below),
    )


byol_time.mutant("the other sign", time=-byol_time.formulas["time"])
byol_time.mutant("one weight for all", time=-(log(v) + log(v - low) + log(high - v)) / (low * high * sigma**2))
byol_time.mutant("the ends exchanged", time=byol_time.formulas["time"].subs({low: high, high: low}, simultaneous=True) * 2)


@statement(
    "direct-copy-mode",
    claim="If the predictor is set to the covariance of the representation, v = u^2 = x, a mode moves as dx/dt = {rate}: it "
    "tends to x = {upper}, and dies from every start if eta exceeds {threshold}.",
    source=WANG_PAPER,
    hypotheses=(*STUDENT, "the teacher is the student"),
    domain=LITTLE_DECAY,
)
def direct_copy_mode(
    rate: Expr = 2 * x * (lam * x - sigma**2 * x**2 - eta),
    upper: Expr = (lam + sqrt(lam**2 - 4 * eta * sigma**2)) / (2 * sigma**2),
    threshold: Expr = lam**2 / (4 * sigma**2),
) -> Proof:
    encoder = _student().encoder.subs(v, u**2) - eta * u
    byol = byol_collapse.formulas
    above = -(rate / (2 * x)).subs(eta, threshold + gap)
    return (
        Identity("The encoder's layer, by the chain rule.", 2 * u * encoder, rate.subs(x, u**2)),
        Identity("It rests there.", rate.subs(x, upper), S.Zero),
        Identity("That is where BYOL rests at tau = 1.", upper, byol["upper"].subs(tau, 1)),
        Identity(
            "At eta = threshold + gap, minus the rate is gap and a square, times 2 x.",
            above,
            gap + sigma**2 * (x - lam / (2 * sigma**2)) ** 2,
        ),
        Positive("At equal lambda, decay kills noisy modes first.", -threshold.diff(sigma)),
    )


direct_copy_mode.mutant("the rate of the amplitude", rate=x * (lam * x - sigma**2 * x**2 - eta))
direct_copy_mode.mutant("a power less", rate=2 * x * (lam - sigma**2 * x - eta))
direct_copy_mode.mutant("the end without decay", upper=lam / sigma**2)
direct_copy_mode.mutant("twice the threshold", threshold=lam**2 / (2 * sigma**2))


@statement(
    "what-the-stop-gradient-is-for",
    claim="Without decay, energies of modes under DirectCopy move as {euclidean} with the squared loss and {iso} with "
    "IsoLoss. Without the stop-gradient they move as {moving} < 0, without the predictor as {plain} < 0, nu = sigma^2 - "
    "lambda: they die.",
    source=HALVAGAL_PAPER,
    hypotheses=("the predictor is v = u^2 = x, not trained", "nu > 0 is the noise within an image"),
)
def what_the_stop_gradient_is_for(
    euclidean: Expr = 2 * x**2 * (lam - sigma**2 * x),
    iso: Expr = 2 * x * (lam - sigma**2 * x),
    moving: Expr = 2 * x * (2 * lam * x - sigma**2 * (1 + x**2)),
    plain: Expr = -2 * nu * x,
) -> Proof:
    frozen = sigma**2 * (v * u) ** 2 / 2 - lam * v * u * sg(u)
    losses: dict[str, tuple[Expr, Expr, Expr]] = {
        "The squared loss with a frozen target": (frozen, u**2, euclidean),
        "IsoLoss, its error as that of the representation itself": (-u * sg(lam * u - sigma**2 * v * u), u**2, iso),
        "The squared loss whose target moves": (released(frozen) + sigma**2 * u**2 / 2, u**2, moving),
        "No predictor, the target frozen": (frozen, S.One, plain.subs(nu, sigma**2 - lam)),
    }

    def step(sentence: str, loss: Expr, predictor: Expr, rate: Expr) -> Step:
        return Identity(f"{sentence}.", -2 * u * released(loss.diff(u)).subs(v, predictor), rate.subs(x, u**2))

    moved = moving.subs(lam, sigma**2 - nu) / (2 * x)
    dying = -(sigma**2) * (1 - x) ** 2 - 2 * nu * x
    return (
        *(step(sentence, *given) for sentence, given in losses.items()),
        Identity("The moving target's rate over 2 x, with lambda = sigma^2 - nu.", moved, dying),
        Positive("Minus that, (1 - x)^2 a square, is positive.", sigma**2 * square + 2 * nu * x),
        Positive("Without the predictor modes shrink.", -plain),
    )


_needed = what_the_stop_gradient_is_for
_needed.mutant("losses exchanged", euclidean=2 * x * (lam - sigma**2 * x), iso=2 * x**2 * (lam - sigma**2 * x))
_needed.mutant("a moving target only doubles the pace", moving=2 * x * (2 * lam * x - 2 * sigma**2 * x**2))
_needed.mutant("nothing dies", plain=2 * nu * x)
_needed.mutant("the variance, not the noise", plain=-2 * sigma**2 * x)


@statement(
    "direct-copy-half-times",
    claim="With y_0 = rho/x_0 - 1 at the start, a mode of DirectCopy has half its final energy rho at t = {euclidean} with "
    "the squared loss and at {iso} with IsoLoss: from a small start the one takes long in proportion to 1/x_0, the other to "
    "its logarithm.",
    source=HALVAGAL_PAPER,
    hypotheses=("no decay", "sigma^2 = lambda/rho"),
)
def direct_copy_half_times(euclidean: Expr = (y0 - 1 + log(y0)) / (2 * lam * rho), iso: Expr = log(y0) / (2 * lam)) -> Proof:
    left = rho / x - 1

    def step(name: str, rate: Expr, half_time: Expr) -> Proof:
        moved = (left.diff(x) * rate.subs(sigma, sqrt(lam / rho))).subs(x, rho / (1 + y0))
        left_at_half = half_time.subs(y0, left.subs(x, rho / 2))
        return (
            Identity(f"{name}: the time left falls by 1 a unit of time.", half_time.diff(y0) * moved, -S.One),
            Identity(f"{name}: at half the final energy y = 1 and none is left.", left_at_half, S.Zero),
        )

    rates = _needed.formulas
    return (*step("Squared loss", rates["euclidean"], euclidean), *step("IsoLoss", rates["iso"], iso))


direct_copy_half_times.mutant("both by a logarithm", euclidean=log(y0) / (2 * lam * rho))
direct_copy_half_times.mutant("without the logarithm", euclidean=(y0 - 1) / (2 * lam * rho))
direct_copy_half_times.mutant("rho forgotten", euclidean=(y0 - 1 + log(y0)) / (2 * lam))
direct_copy_half_times.mutant("rho in both", iso=log(y0) / (2 * lam * rho))


MODES = 3
z = symbols(f"z_1:{MODES + 1}", positive=True)
values = symbols(f"lambda_1:{MODES + 1}", positive=True)
image, student = symbols("N_D N", positive=True)


def _over_modes(term: Callable[[Expr, Expr], Expr]) -> Expr:
    return Add(*map(term, values, z))


@statement(
    "cosine-loss-couples-modes",
    claim="Under the cosine loss -(D z)^T sg(z)/(|D z| |z|) the first amplitude moves as dz_1/dt = {rate}, N_D = |D z| and N "
    "= |z|: a mode shrinks while others have a smaller predictor eigenvalue.",
    source=HALVAGAL_PAPER,
    hypotheses=("D = diag(lambda_1, ..., lambda_3) is the predictor, not trained",),
)
def cosine_loss_couples_modes(
    rate: Expr = values[0] * z[0] * _over_modes(lambda each, one: each * (each - values[0]) * one**2) / (image**3 * student),
) -> Proof:
    inner, squared = _over_modes(lambda each, one: each * one * sg(one)), _over_modes(lambda each, one: (each * one) ** 2)
    # |D z| enters as a symbol: its slope is that of its square over twice itself.
    slope = released(inner.diff(z[0])) * image - released(inner) * squared.diff(z[0]) / (2 * image)
    return (
        Identity(
            "The slope times |z| |D z|^3, with |D z|^2 for the square of its symbol.",
            (slope * image).expand().subs(image**2, squared),
            rate * image**3 * student,
            scope=f"{MODES} modes",
        ),
    )


cosine_loss_couples_modes.mutant("the other sign", rate=-cosine_loss_couples_modes.formulas["rate"])
cosine_loss_couples_modes.mutant("no norm", rate=cosine_loss_couples_modes.formulas["rate"] * image**2)
cosine_loss_couples_modes.mutant("modes apart", rate=values[0] * z[0] / (image * student))
