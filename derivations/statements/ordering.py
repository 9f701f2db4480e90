"""Which feature is first, lambda against rho, and what depth does to the order."""

from __future__ import annotations

from sympy import Expr, Integer, Rational, S, log

from derivations.closed_form import critical_time
from derivations.gradient_flow import Member
from derivations.integrals import Duration
from derivations.notation import (
    UNIT,
    Integers,
    L,
    M,
    Reals,
    a,
    b,
    epsilon,
    eta,
    lam,
    lam_A,
    lam_B,
    n,
    p,
    rho,
    rho_A,
    rho_B,
    s,
    sigma_A,
    sigma_B,
    t,
    u,
    ustar,
    x,
    z,
)
from derivations.proof import Bracket, CertifiedPositive, Identity, Limit, Positive, Proof, RatioLimit, Step
from derivations.statement import JEPA_PAPER, statements_from
from derivations.statements.closed_forms import FEW_LAYERS
from derivations.statements.dominant_terms import (
    FROM_ONE_LAYER,
    SMALL_START,
    star_A,
    star_B,
    time_from,
)
from derivations.statements.modes import BALANCED, FAMILY, ONE_PREDICTOR_LAYER

statement = statements_from(f"derived here from the critical times of {JEPA_PAPER}")


@statement(
    "lambda-decides-for-a-small-start",
    claim="As epsilon tends to 0, t_A/t_B tends to {ratio} for every a >= 1: where lambda_A and lambda_B differ they "
    "decide, not rho.",
    hypotheses=(*BALANCED, *FAMILY, *SMALL_START),
    domain=FROM_ONE_LAYER,
)
def lambda_decides(ratio: Expr = lam_B / lam_A) -> Proof:
    def times(exponent: Expr) -> tuple[Expr, Expr]:
        pair = Member(lam_A, exponent, b, star_A**b), Member(lam_B, exponent, b, star_B**b)
        return time_from(pair[0]), time_from(pair[1])

    shown = ratio.subs({rho_A: star_A**b, rho_B: star_B**b})
    return (
        RatioLimit("For a > 1.", *times(a), x, shown),
        RatioLimit("For a = 1.", *times(S.One), x, shown),
    )


lambda_decides.mutant("rho decides", ratio=rho_B / rho_A)
lambda_decides.mutant("lambda rho decides", ratio=lam_B * rho_B / (lam_A * rho_A))
lambda_decides.mutant("higher lambda later", ratio=lam_A / lam_B)


def _score(lam: Expr, sigma: Expr, at_layer: Expr) -> Expr:
    """Growth over u^a at z = u^b."""
    return lam - sigma**2 * at_layer


@statement(
    "two-times-cross-at-most-twice",
    claim="As epsilon varies, t_A - t_B turns only where epsilon^(b/L) = {turn}; so two features change places at most twice.",
    hypotheses=(*BALANCED, *FAMILY, "sigma_A and sigma_B differ", "one p", "epsilon below both thresholds p w*"),
    domain={z: Reals(), sigma_B: Reals(sampled=(Rational(5, 2), Rational(4))), **FEW_LAYERS},
)
def two_times_cross_at_most_twice(turn: Expr = (lam_A - lam_B) / (sigma_A**2 - sigma_B**2)) -> Proof:
    def loss_of_time(lam: Expr, sigma: Expr) -> Expr:
        return 1 / (epsilon ** (a / L) * _score(lam, sigma, epsilon ** (b / L)))

    time = critical_time(Member(lam, a, b, ustar**b))
    return (
        Identity(
            "dt/d epsilon is minus du/d epsilon over the rate at the start.",
            time.diff(epsilon),
            -(epsilon ** (1 / L)).diff(epsilon) * loss_of_time(lam, sigma_A).subs(sigma_A, (lam / ustar**b) ** S.Half),
        ),
        Identity(
            "The two rates differ by a linear function of z = epsilon^(b/L) with the claimed zero.",
            _score(lam_A, sigma_A, z) - _score(lam_B, sigma_B, z),
            (sigma_B**2 - sigma_A**2) * (z - turn),
        ),
    )


two_times_cross_at_most_twice.mutant("at the ratio of the lambdas", turn=lam_A / lam_B)
two_times_cross_at_most_twice.mutant("standard deviations", turn=(lam_A - lam_B) / (sigma_A - sigma_B))
two_times_cross_at_most_twice.mutant("the sum of the variances", turn=(lam_A - lam_B) / (sigma_A**2 + sigma_B**2))


@statement(
    "depth-crossover",
    claim="In the limit of depth two features change places at epsilon^(1/L) = {crossover}.",
    hypotheses=(
        *ONE_PREDICTOR_LAYER,
        "L tends to infinity at fixed x = epsilon^(1/L)",
        "sigma_A and sigma_B differ, and 0 < crossover < rho_A, rho_B",
    ),
    domain={sigma_B: Reals(sampled=(Rational(5, 2), Rational(4)))},
)
def depth_crossover(crossover: Expr = (lam_A - lam_B) / (sigma_A**2 - sigma_B**2)) -> Proof:
    return (
        Identity(
            "The limiting times, each over lambda (1 - x/rho) = lambda - sigma^2 x, are equal there.",
            _score(lam_A, sigma_A, crossover),
            _score(lam_B, sigma_B, crossover),
        ),
        Identity(
            "For lambda = 0.8, rho = 1.2 against lambda = 1, rho = 0.6 that is 0.2.",
            crossover.subs(
                {
                    lam_A: Rational(4, 5),
                    lam_B: S.One,
                    sigma_A: (Rational(4, 5) / Rational(6, 5)) ** S.Half,
                    sigma_B: (1 / Rational(3, 5)) ** S.Half,
                }
            ),
            Rational(1, 5),
        ),
    )


depth_crossover.mutant("standard deviations", crossover=(lam_A - lam_B) / (sigma_A - sigma_B))
depth_crossover.mutant("difference of rho", crossover=(lam_A - lam_B) / (1 / sigma_A**2 - 1 / sigma_B**2))
depth_crossover.mutant("inverse", crossover=(sigma_A**2 - sigma_B**2) / (lam_A - lam_B))


@statement(
    "depth-limit",
    claim="As L tends to infinity at fixed x = epsilon^(1/L) < rho, lambda t {factor} tends to 1 under JEPA.",
    hypotheses=(*ONE_PREDICTOR_LAYER, "p fixed in (0, 1)"),
    domain={n: Integers(1, 12)},
)
def depth_limit(factor: Expr = (1 - x / rho) * (2 * L - 1) * x ** (2 * L - 1)) -> Proof:
    layers, h, q, shallow = 2 * L - 1, t, eta, s  # N, (m - x)/x, |ln p|/L or |ln p|, 1/L

    def g(layer: Expr) -> Expr:
        return 1 / (1 - layer / rho)

    bound = 1 + n * h + n * (n - 1) * h**2 / 2

    def miss(depth: int) -> Expr:
        duration = Duration(Integer(2 * depth), S.One, Rational(1, 5), Rational(1, 2) ** Rational(1, depth))
        return duration * factor.subs({L: depth, x: Rational(1, 5), rho: 1}) - 1

    return (
        Identity(
            "By parts, with N = 2L-1 and g = 1/(1 - u/rho): u^(-N-1) g is the derivative of -u^-N g/N, plus u^-N g'/N.",
            (-(u**-n) * g(u) / n).diff(u) + u**-n * g(u).diff(u) / n,
            u ** (-n - 1) * g(u),
        ),
        Identity("The boundary at the start, times the factor, is 1.", factor * x**-layers * g(x) / layers, S.One),
        Positive(
            "g and g' rise, so the rest is at most g'(m) x^(1-N)/(N-1) up to a fixed m < rho and m^-N g(u1) beyond.",
            g(u).diff(u, 2).subs(u, rho * z),
        ),
        Limit("Times x^N the first vanishes like 1/(N-1), written in 1/L.", 1 / (2 / shallow - 2), shallow, S.Zero),
        Identity(
            "(m/x)^N = (1+h)^N >= 1 + N h + N(N-1) h^2/2, by induction: (1+h) times the bound exceeds the next by N(N-1) "
            "h^3/2.",
            (1 + h) * bound - bound.subs(n, n + 1),
            n * (n - 1) * h**3 / 2,
        ),
        Identity("ln(1+q) < q for q > 0: both start at 0, and the slopes differ by", (q - log(1 + q)).diff(q), q / (1 + q)),
        Positive("which is positive; so with q = |ln p|/L, g(u1) = 1/(1 - e^-q) < 1 + L/|ln p|.", q / (1 + q)),
        Limit(
            "Times x^N the second, and the boundary at the end, vanish like (1 + L/|ln p|) over that bound.",
            (1 + 1 / (q * shallow)) / bound.subs(n, 2 / shallow - 1),
            shallow,
            S.Zero,
        ),
        CertifiedPositive(
            "At rho = 1, x = 0.2, p = 0.5 the miss at L = 160 is below a third of that at L = 40.",
            miss(40) ** 2 - 9 * miss(160) ** 2,
        ),
    )


depth_limit.mutant("without saturation", factor=(2 * L - 1) * x ** (2 * L - 1))
depth_limit.mutant("exponent 2L", factor=(1 - x / rho) * (2 * L - 1) * x ** (2 * L))
depth_limit.mutant("without 2L-1", factor=(1 - x / rho) * x ** (2 * L - 1))


@statement(
    "depth-at-which-the-asymptote-falls-below-the-start",
    claim="JEPA's asymptote lies below epsilon, so that nothing is left to learn, once L exceeds {depth}.",
    hypotheses=(*BALANCED, "rho < 1", "epsilon < 1"),
    domain={rho: UNIT, epsilon: UNIT},
)
def depth_needed(depth: Expr = M * log(epsilon) / log(rho)) -> Proof:
    asymptote = L / M * log(rho)
    return (
        Identity("At that depth ln w* = (L/M) ln rho is ln epsilon.", asymptote.subs(L, depth), log(epsilon)),
        Positive("Every further layer lowers it.", -asymptote.diff(L)),
    )


depth_needed.mutant("M in the denominator", depth=log(epsilon) / (M * log(rho)))
depth_needed.mutant("MAE's asymptote", depth=M * log(epsilon) / (log(rho) - log(epsilon)))
depth_needed.mutant("inverse", depth=M * log(rho) / log(epsilon))


LAMBDAS = (Rational(4, 5), S.One)
RHOS = (Rational(6, 5), Rational(3, 5))


def _lead(depth: int, start: Expr) -> Expr:
    """t_A - t_B for lambda = 0.8, rho = 1.2 against lambda = 1, rho = 0.6 under JEPA, p = 1/2."""
    one, other = (
        critical_time(Member(lam, Integer(2 * depth), S.One, rho)).subs({L: depth, p: Rational(1, 2), epsilon: start})
        for lam, rho in zip(LAMBDAS, RHOS, strict=True)
    )
    return one - other


@statement(
    "rho-beats-lambda-in-a-window",
    claim="Under JEPA, p = 1/2, a feature of lambda = 0.8, rho = 1.2 comes before one of lambda = 1, rho = 0.6 for no "
    "start at L = 1 and 2; between {low_three} and {high_three} at L = 3, {low_four} and {high_four} at L = 4, "
    "{low_eight} and {high_eight} at L = 8.",
    hypotheses=ONE_PREDICTOR_LAYER,
)
def rho_beats_lambda_in_a_window(
    low_three: Expr = Rational("0.003846"),
    high_three: Expr = Rational("0.062786"),
    low_four: Expr = Rational("0.00078951"),
    high_four: Expr = Rational("0.046019"),
    low_eight: Expr = Rational("0.0000014277"),
    high_eight: Expr = Rational("0.0073532"),
) -> Proof:
    fifth = Rational(1, 5)
    ends = ((3, low_three, 6), (3, high_three, 6), (4, low_four, 8), (4, high_four, 6), (8, low_eight, 10), (8, high_eight, 7))
    return (
        CertifiedPositive("The second has the greater lambda, so it is first for a small start.", LAMBDAS[1] - LAMBDAS[0]),
        Identity(
            "Both grow alike at x = epsilon^(1/L) = 0.2, and there only; so the lead turns once.",
            LAMBDAS[0] * (1 - fifth / RHOS[0]),
            LAMBDAS[1] * (1 - fifth / RHOS[1]),
        ),
        *(CertifiedPositive(f"At L = {depth} the second is ahead even there.", _lead(depth, fifth**depth)) for depth in (1, 2)),
        *(CertifiedPositive(f"At L = {depth} the first is ahead there.", -_lead(depth, fifth**depth)) for depth in (3, 4, 8)),
        *(_changes_place(depth, end, places) for depth, end, places in ends),
    )


def _changes_place(depth: int, end: Expr, places: int) -> Step:
    half = Rational(1, 2 * 10**places)
    sentence = f"At L = {depth} they change places at {float(end):.5g}, rounded to {places} decimal places."
    return Bracket(sentence, _lead(depth, epsilon), epsilon, end - half, end + half)


rho_beats_lambda_in_a_window.mutant("one window for all depths", low_four=Rational("0.003846"), high_four=Rational("0.062786"))
rho_beats_lambda_in_a_window.mutant("no lower end", low_three=Rational(1, 10**6))
rho_beats_lambda_in_a_window.mutant("window up to the crossover of infinite depth", high_eight=Rational(1, 5) ** 8)
