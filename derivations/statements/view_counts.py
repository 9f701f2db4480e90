"""How many views of an image: what a loss sees of each feature, when the order turns, and how a budget is best spent."""

from __future__ import annotations

from itertools import product

from sympy import Add, Expr, Rational, S, Symbol, sqrt, symbols

from derivations.notation import UNIT, Reals, gap, lam, rho, sigma
from derivations.proof import CertifiedPositive, Identity, Positive, Proof, Step
from derivations.statement import statements_from
from derivations.statements.augmentations import SEVERAL, m

statement = statements_from("derived here, after Agrawal et al. 2024, number of views")

lam1, lam2, nu1, nu2 = symbols("lambda_1 lambda_2 nu_1 nu_2", positive=True)
rho1, rho2 = symbols("rho_1 rho_2", positive=True)
a, b, c, n, budget = symbols("a b c n N", positive=True)
VIEWS = Symbol("m", positive=True)
"""The number of views where it need not be whole."""

EXCHANGEABLE = (
    "m views of an image, exchangeable",
    "a feature has variance sigma^2 and covariance lambda = sigma^2 rho of two views",
)
MEAN = sigma**2 * (rho + (1 - rho) / m)


@statement(
    "strengths-by-number-of-views",
    claim="The mean of m views has the variance {mean} of a feature, which is its strength in a loss of that mean; two "
    "different views have the covariance {pairs} for every m. Whitened, the first is {whitened}, so that the gap between two "
    "features is {gap_share} of that at infinitely many views.",
    hypotheses=EXCHANGEABLE,
    domain={**SEVERAL, rho: UNIT},
)
def strengths_by_number_of_views(
    mean: Expr = MEAN,
    pairs: Expr = sigma**2 * rho,
    whitened: Expr = rho + (1 - rho) / m,
    gap_share: Expr = 1 - 1 / m,
) -> Proof:
    shown = {rho: lam / sigma**2}
    gap_at_m = whitened.subs(rho, rho1) - whitened.subs(rho, rho2)
    return (
        Identity("m variances, m (m - 1) covariances, over m^2.", (m * sigma**2 + m * (m - 1) * lam) / m**2, mean.subs(shown)),
        Identity("m (m - 1) equal covariances, over their number.", m * (m - 1) * lam / (m * (m - 1)), pairs.subs(shown)),
        Identity("At unit variance.", mean.subs(sigma, 1), whitened),
        Identity("The difference of two features.", gap_at_m, gap_share * (rho1 - rho2)),
        Positive("The mean of views sees more than the covariance: within-image noise.", mean - pairs),
    )


strengths_by_number_of_views.mutant("no noise", mean=sigma**2 * rho, whitened=rho, gap_share=S.One)
strengths_by_number_of_views.mutant("m - 1 for m", mean=sigma**2 * (rho + (1 - rho) / (m - 1)))
strengths_by_number_of_views.mutant("pairs with noise", pairs=MEAN)
strengths_by_number_of_views.mutant("the gap over m", gap_share=1 / m)


@statement(
    "few-views-reverse-the-order",
    claim="In a loss of the mean of m views two features have equal strengths at m = {crossing}, nu = sigma^2 (1 - rho) the "
    "noise within an image. With fewer views the one of more noise is first, with more the one of larger lambda.",
    hypotheses=(*EXCHANGEABLE, "lambda_1 > lambda_2, nu_2 > nu_1"),
    domain={lam1: Reals(), VIEWS: Reals(sampled=(S(2), S(8)))},
)
def few_views_reverse_the_order(crossing: Expr = (nu2 - nu1) / (lam1 - lam2)) -> Proof:
    def strength(covariance: Expr, noise: Expr) -> Expr:
        return MEAN.subs(m, VIEWS).subs(rho, covariance / sigma**2).subs(sigma, sqrt(covariance + noise))

    larger = {lam1: lam2 + gap, nu2: nu1 + c}
    lead = strength(lam1, nu1) - strength(lam2, nu2)
    fewer, more = (lead.subs(VIEWS, crossing * share).subs(larger) for share in (1 / (1 + b), 1 + b))
    return (
        Identity("The strength in lambda and nu.", strength(lam, c), lam + c / VIEWS),
        Identity("Both are equal there.", lead.subs(VIEWS, crossing), S.Zero),
        Positive("With fewer views the second leads, m = crossing/(1 + b).", -fewer),
        Positive("With more views the first does, m = crossing (1 + b).", more),
    )


few_views_reverse_the_order.mutant("inverse", crossing=(lam1 - lam2) / (nu2 - nu1))
few_views_reverse_the_order.mutant("ratios", crossing=nu2 / lam1)
few_views_reverse_the_order.mutant("one view less", crossing=(nu2 - nu1) / (lam1 - lam2) - 1)
few_views_reverse_the_order.mutant("noise of the wrong sign", crossing=(nu2 + nu1) / (lam1 - lam2))


@statement(
    "equal-lambda-three-orders",
    claim="Two features of lambda = {both}, rho = {high} and {low}, have equal strengths across two views. Whitened, that of "
    "high rho is the stronger; in the mean of two views that of low rho is, {mean_low} against {mean_high}.",
    hypotheses=EXCHANGEABLE,
)
def equal_lambda_three_orders(
    both: Expr = Rational(4, 5),
    high: Expr = Rational(4, 5),
    low: Expr = Rational(1, 5),
    mean_high: Expr = Rational(9, 10),
    mean_low: Expr = Rational(12, 5),
) -> Proof:
    def strength(kernel: str, influence: Expr) -> Expr:
        proved: Expr = strengths_by_number_of_views.formulas[kernel]
        return proved.subs({m: 2, sigma: sqrt(both / influence), rho: influence})

    return (
        Identity("Across two views they are equal.", strength("pairs", high), strength("pairs", low)),
        CertifiedPositive("Whitened, the high rho leads.", high - low),
        Identity("In the mean of two views, high rho.", strength("mean", high), mean_high),
        Identity("In the mean of two views, low rho.", strength("mean", low), mean_low),
        CertifiedPositive("There the low rho leads.", mean_low - mean_high),
    )


equal_lambda_three_orders.mutant("rho exchanged", high=Rational(1, 5), low=Rational(4, 5))
equal_lambda_three_orders.mutant("another lambda", both=Rational(2, 5))
equal_lambda_three_orders.mutant("the mean without noise", mean_high=Rational(4, 5), mean_low=Rational(4, 5))


@statement(
    "best-number-of-views",
    claim="With n images of m views, n m = N, the error (a + b/m + c/(m (m - 1)))/n is {error}, which has its only minimum "
    "over m > 1 at m = {best}.",
    hypotheses=("a, b and c do not depend on n and m", "m need not be whole"),
    domain={VIEWS: Reals(1, sampled=(S(3) / 2, S(8)))},
)
def best_number_of_views(error: Expr = (a * VIEWS + b + c / (VIEWS - 1)) / budget, best: Expr = 1 + sqrt(c / a)) -> Proof:
    images = budget / VIEWS
    return (
        Identity("The error at a fixed budget.", (a + b / VIEWS + c / (VIEWS * (VIEWS - 1))) / images, error),
        Identity("Its slope vanishes there.", error.diff(VIEWS).subs(VIEWS, best), S.Zero),
        Positive("It is convex: there is one minimum.", error.diff(VIEWS, 2)),
        Positive("It lies beyond 1.", best - 1),
    )


best_number_of_views.mutant("inverse", best=1 + sqrt(a / c))
best_number_of_views.mutant("no root", best=1 + c / a)
best_number_of_views.mutant("without the 1", best=sqrt(c / a))
best_number_of_views.mutant("the budget in images", error=(a + b / VIEWS + c / (VIEWS * (VIEWS - 1))) / budget)


@statement(
    "variance-of-the-all-pairs-estimate",
    claim="The covariance between two features, 0 in truth, has the variance {variance} if it is estimated from all pairs of "
    "different views of n images.",
    hypotheses=(
        "two independent features, nu_1 and nu_2 their noise within an image",
        "two views share lambda, and one has lambda + nu",
    ),
    domain=SEVERAL,
)
def variance_of_the_all_pairs_estimate(
    variance: Expr = (lam1 * lam2 + (lam1 * nu2 + nu1 * lam2) / m + nu1 * nu2 / (m * (m - 1))) / n,
) -> Proof:
    def step(views: int) -> Step:
        pairs = [(i, j) for i, j in product(range(views), repeat=2) if i != j]
        moments = (
            (lam1 + nu1 * int(i == k)) * (lam2 + nu2 * int(j == other)) for (i, j), (k, other) in product(pairs, repeat=2)
        )
        return Identity(
            "All pairs of pairs.", Add(*moments) / len(pairs) ** 2 / n, variance.subs(m, views), scope=f"m = {views}"
        )

    pairs = m * (m - 1)
    counted = lam1 * lam2 * pairs**2 + (lam1 * nu2 + nu1 * lam2) * m * (m - 1) ** 2 + nu1 * nu2 * pairs
    return (
        Identity(
            "Of the (m (m - 1))^2 pairs of pairs, m (m - 1)^2 share their first view, as many their second, m (m - 1) both.",
            counted / pairs**2 / n,
            variance,
        ),
        *map(step, (2, 3, 4)),
    )


_estimate = variance_of_the_all_pairs_estimate
_estimate.mutant("independent pairs", variance=(lam1 + nu1) * (lam2 + nu2) / (n * m * (m - 1)))
_estimate.mutant("no shared views", variance=(lam1 * lam2 + nu1 * nu2 / (m * (m - 1))) / n)
_estimate.mutant("m for m - 1", variance=(lam1 * lam2 + (lam1 * nu2 + nu1 * lam2) / m + nu1 * nu2 / m**2) / n)
