"""Linear generative models: lambda, sigma and rho of masked pixels and of slow noisy signals; which mode is worth keeping."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import product

import numpy as np
from sympy import Add, Expr, MatrixExpr, Mul, Rational, S, Symbol, symbols
from sympy import Identity as IdentityMatrix

from derivations.matrices import SIZED, SIZES, Symmetric, d, symbolic
from derivations.notation import UNIT, eta, lam, lam_A, lam_B, rho, rho_A, rho_B, s, tau, w, z
from derivations.proof import CertifiedPositive, Identity, Positive, Proof, Step, Telescoping
from derivations.statement import JEPA_PAPER, statements_from

statement = statements_from(f"derived here, after the linear generative models of {JEPA_PAPER}")

q, kappa, gamma = symbols("q kappa gamma", positive=True)
k = Symbol("k", integer=True, positive=True)

Mask = tuple[bool, ...]
Way = tuple[Expr, Mask, Mask]
"""A probability, the mask of y and the mask of x."""


class Pixels(Symmetric):
    """A covariance matrix of pixels that all have the variance s."""

    def cell(self, i: int, j: int) -> Expr:
        return s if i == j else super().cell(i, j)


C, ONE = Pixels("C", d, d), IdentityMatrix(d)

VARIANCE = q**2 * kappa + q * (1 - q) * s
"""Of a masked image along an eigenvector of C."""

MASKED = (
    "pixels with covariance C, all of variance s",
    "each pixel of x is kept with probability 0 < q < 1 on its own, else 0",
    "kappa is an eigenvalue of C",
)
MASKING = {q: UNIT}


def _masks(size: int) -> list[tuple[Expr, Mask]]:
    """All masks with their probabilities."""
    kept = product((True, False), repeat=size)
    return [(Mul(*(q if pixel else 1 - q for pixel in mask)), mask) for mask in kept]


def _own(size: int) -> Iterable[Way]:
    return ((chance, mask, mask) for chance, mask in _masks(size))


def _independent(size: int) -> Iterable[Way]:
    return ((first * second, other, mask) for first, other in _masks(size) for second, mask in _masks(size))


def _full(size: int) -> Iterable[Way]:
    return ((chance, (True,) * size, mask) for chance, mask in _masks(size))


def _complementary(size: int) -> Iterable[Way]:
    return ((chance, tuple(not pixel for pixel in mask), mask) for chance, mask in _masks(size))


def _moment(ways: Iterable[Way], left: tuple[Expr, ...], right: tuple[Expr, ...]) -> Expr:
    """left^T E[y x^T] right over all ways to mask the two views."""
    size = len(left)
    pixels = symbolic(size).matrix(C)
    return Add(
        *(
            chance * left[i] * right[j] * pixels[i, j]
            for chance, seen, mask in ways
            for i, j in product(range(size), repeat=2)
            if seen[i] and mask[j]
        )
    )


def _moments(name: str, ways: Callable[[int], Iterable[Way]], claimed: MatrixExpr) -> Proof:
    def step(size: int) -> Step:
        left, right = (symbols(f"{letter}_1:{size + 1}", positive=True) for letter in "ab")
        matrix = symbolic(size).matrix(claimed)
        value = Add(*(left[i] * right[j] * matrix[i, j] for i, j in product(range(size), repeat=2)))
        sentence = f"a^T {name} b over all masks of {size} pixels, whatever a and b."
        return Identity(sentence, _moment(ways(size), left, right), value, scope=SIZED)

    return tuple(map(step, SIZES))


def _eigenvalue(sentence: str, matrix: MatrixExpr, claimed: Expr) -> Step:
    """A combination of C and the identity acts on an eigenvector of C as the same combination of kappa and 1."""
    acting = replace(symbolic(1), known={C: np.array([[kappa]])})
    return Identity(sentence, acting.matrix(matrix)[0, 0], claimed)


def _target(ways: Callable[[int], Iterable[Way]], cross: MatrixExpr, covariance: Expr, influence: Expr) -> Proof:
    return (
        *_moments("E[y x^T]", ways, cross),
        _eigenvalue("On an eigenvector of C.", cross, covariance),
        Identity("rho = lambda/sigma^2.", covariance / VARIANCE, influence),
    )


@statement(
    "independent-mask-moments",
    claim="With independent masks of both views, E[x x^T] = {second} and E[y x^T] = {cross}. So sigma^2 = {variance}, "
    "lambda = {covariance} and rho = {influence}.",
    hypotheses=(*MASKED, "y is masked alike, independently"),
    domain=MASKING,
)
def independent_mask_moments(
    second: MatrixExpr = q**2 * C + q * (1 - q) * s * ONE,
    cross: MatrixExpr = q**2 * C,
    variance: Expr = VARIANCE,
    covariance: Expr = q**2 * kappa,
    influence: Expr = q * kappa / (q * kappa + (1 - q) * s),
) -> Proof:
    return (
        *_moments("E[x x^T]", _own, second),
        _eigenvalue("The variance on an eigenvector of C.", second, variance),
        *_target(_independent, cross, covariance, influence),
    )


independent_mask_moments.mutant("the variance without the masks' own", second=q**2 * C)
independent_mask_moments.mutant("q for q^2", cross=q * C)
independent_mask_moments.mutant("the diagonal masked twice", second=q**2 * C + q**2 * (1 - q) * s * ONE)
independent_mask_moments.mutant("both views behind one mask", cross=q**2 * C + q * (1 - q) * s * ONE)
independent_mask_moments.mutant("rho without the pixels' variance", influence=q * kappa / (q * kappa + 1 - q))


@statement(
    "full-target-moments",
    claim="With y unmasked, E[y x^T] = {cross}, so lambda = {covariance} and rho = {influence}.",
    hypotheses=(*MASKED, "y is the whole image"),
    domain=MASKING,
)
def full_target_moments(
    cross: MatrixExpr = q * C, covariance: Expr = q * kappa, influence: Expr = kappa / (q * kappa + (1 - q) * s)
) -> Proof:
    return _target(_full, cross, covariance, influence)


full_target_moments.mutant("q^2 for q", cross=q**2 * C)
full_target_moments.mutant("lambda as if nothing were masked", covariance=kappa)
full_target_moments.mutant("rho as if x were not masked", influence=q)
full_target_moments.mutant("rho of independent masks", influence=q * kappa / (q * kappa + (1 - q) * s))


@statement(
    "complementary-target-moments",
    claim="With y the pixels that x lacks, E[y x^T] = {cross}, so lambda = {covariance}, which is negative where kappa < "
    "s, and rho = {influence}.",
    hypotheses=(*MASKED, "y keeps what x drops"),
    domain=MASKING,
)
def complementary_target_moments(
    cross: MatrixExpr = q * (1 - q) * (C - s * ONE),
    covariance: Expr = q * (1 - q) * (kappa - s),
    influence: Expr = (1 - q) * (kappa - s) / (q * kappa + (1 - q) * s),
) -> Proof:
    # The eigenvector (1, -1) of C = [[1, 1/2], [1/2, 1]] belongs to the eigenvalue 1/2.
    contrast = (S.One, S.NegativeOne)
    correlated = {C.cell(0, 1): Rational(1, 2), s: 1, q: Rational(1, 2)}
    lowest = _moment(_complementary(2), contrast, contrast).subs(correlated) / 2
    return (
        *_target(_complementary, cross, covariance, influence),
        Positive("Below s, written kappa = z s with z < 1, minus lambda is positive.", -covariance.subs(kappa, z * s)),
        Identity("Two pixels of variance 1 and correlation 1/2, half of them kept: their difference.", lowest, -Rational(1, 8)),
        Identity("It is the formula's at kappa = 1/2.", covariance.subs({kappa: Rational(1, 2), **correlated}), lowest),
        CertifiedPositive("So lambda can be negative.", -lowest),
    )


complementary_target_moments.mutant("the diagonal stays", cross=q * (1 - q) * C)
complementary_target_moments.mutant("never negative", covariance=q * (1 - q) * (kappa + s))
complementary_target_moments.mutant("q^2 for q (1-q)", cross=q**2 * (C - s * ONE))
complementary_target_moments.mutant("rho of the full target", influence=(kappa - s) / (q * kappa + (1 - q) * s))


@statement(
    "masked-lambda-and-rho-rise-together",
    claim="With sigma^2 = {variance}, both lambda and rho = lambda/sigma^2 rise with kappa, be lambda = {independent} "
    "for independent masks, {full} for a full target or {complementary} for a complementary one. So both rank features "
    "alike.",
    hypotheses=MASKED,
    domain=MASKING,
)
def masked_lambda_and_rho_rise_together(
    variance: Expr = VARIANCE,
    independent: Expr = q**2 * kappa,
    full: Expr = q * kappa,
    complementary: Expr = q * (1 - q) * (kappa - s),
) -> Proof:
    covariances = {"independent masks": independent, "a full target": full, "a complementary target": complementary}
    slopes = {
        f"{quantity}, {target}.": value.diff(kappa)
        for target, covariance in covariances.items()
        for quantity, value in (("lambda", covariance), ("rho", covariance / variance))
    }
    derived = (
        ("sigma^2 is that of masked pixels.", variance, independent_mask_moments.formulas["variance"]),
        ("lambda for independent masks.", independent, independent_mask_moments.formulas["covariance"]),
        ("lambda for a full target.", full, full_target_moments.formulas["covariance"]),
        ("lambda for a complementary target.", complementary, complementary_target_moments.formulas["covariance"]),
    )
    return (
        *(Identity(*each) for each in derived),
        *(Positive(f"The slope of {sentence}", slope) for sentence, slope in slopes.items()),
    )


masked_lambda_and_rho_rise_together.mutant("the variance without the masks' own", variance=q**2 * kappa)
masked_lambda_and_rho_rise_together.mutant("a variance that grows faster than lambda", variance=q**2 * kappa**2)
masked_lambda_and_rho_rise_together.mutant("a target that shrinks", independent=q**2 * (s - kappa))
masked_lambda_and_rho_rise_together.mutant("complement by the wrong sign", complementary=q * (1 - q) * (s - kappa))

SLOW = (
    "the amplitude obeys z' = gamma z + innovation, 0 < gamma < 1, stationary with variance tau^2",
    "each view is the amplitude plus independent noise of variance eta^2",
    "the views are k >= 1 steps apart",
)
SIGNAL = {gamma: UNIT}
LAGGED = gamma**k * tau**2
NOISY = tau**2 + eta**2


def _covariance(one: Mapping[str, Expr], other: Mapping[str, Expr], variances: Mapping[str, Expr]) -> Expr:
    """Of two sums over independent sources."""
    return Add(*(one[source] * other[source] * variances[source] for source in one if source in other))


@statement(
    "ar1-moments",
    claim="Stationarity takes innovations of variance {innovation}; then lambda = {covariance}, sigma^2 = {variance} for "
    "either view, and rho = {influence}.",
    hypotheses=SLOW,
    domain=SIGNAL,
)
def ar1_moments(
    innovation: Expr = (1 - gamma**2) * tau**2,
    covariance: Expr = LAGGED,
    variance: Expr = NOISY,
    influence: Expr = LAGGED / NOISY,
) -> Proof:
    shocks = tau**2 * (1 - gamma ** (2 * k))
    variances = {"start": tau**2, "shocks": shocks, "noise now": eta**2, "noise later": eta**2}
    x = {"start": S.One, "noise now": S.One}
    y = {"start": gamma**k, "shocks": S.One, "noise later": S.One}
    return (
        Identity("One step keeps the variance.", gamma**2 * tau**2 + innovation, tau**2),
        Telescoping("What k innovations add to the variance.", innovation * gamma ** (2 * (k - 1)), shocks, k),
        Identity("At lag 0 the covariance is the signal's variance.", covariance.subs(k, 0), tau**2),
        Identity("One more step of lag multiplies it by gamma.", covariance.subs(k, k + 1), gamma * covariance),
        Identity("The views share the amplitude at the start and no noise.", _covariance(y, x, variances), covariance),
        Identity("The variance of x.", _covariance(x, x, variances), variance),
        Identity("The variance of y.", _covariance(y, y, variances), variance),
        Identity("rho = lambda/sigma^2.", covariance / variance, influence),
    )


ar1_moments.mutant("innovations as large as the signal", innovation=tau**2)
ar1_moments.mutant("1 - gamma for 1 - gamma^2", innovation=(1 - gamma) * tau**2)
ar1_moments.mutant("one step more", covariance=gamma ** (k + 1) * tau**2)
ar1_moments.mutant("the views share their noise", covariance=LAGGED + eta**2)
ar1_moments.mutant("the noise counted twice", variance=tau**2 + 2 * eta**2)


@statement(
    "ar1-noise-moves-rho-not-lambda",
    claim="Observation noise leaves lambda = {covariance} alone and lowers rho = {influence}. So the order by lambda and "
    "that by rho can differ.",
    hypotheses=SLOW,
    domain=SIGNAL,
)
def ar1_noise_moves_rho_not_lambda(covariance: Expr = LAGGED, influence: Expr = LAGGED / NOISY) -> Proof:
    slow, clean = (
        {k: 1, tau: 1, gamma: Rational(9, 10), eta: Rational(3, 2)},
        {k: 1, tau: 1, gamma: Rational(1, 2), eta: Rational(1, 3)},
    )
    moments = ar1_moments.formulas
    return (
        Identity("lambda is that of the moments.", covariance, moments["covariance"]),
        Identity("So is rho.", influence, moments["influence"]),
        Identity("The slope of lambda in eta^2.", covariance.diff(eta) / (2 * eta), S.Zero),
        Positive("Minus the slope of rho in eta^2.", -influence.diff(eta) / (2 * eta)),
        CertifiedPositive(
            "At lag 1, tau = 1: gamma = 9/10, eta = 3/2 has the larger lambda than gamma = 1/2, eta = 1/3.",
            covariance.subs(slow) - covariance.subs(clean),
        ),
        CertifiedPositive("It has the smaller rho.", influence.subs(clean) - influence.subs(slow)),
    )


ar1_noise_moves_rho_not_lambda.mutant("lambda with noise", covariance=LAGGED + eta**2)
ar1_noise_moves_rho_not_lambda.mutant("lambda of the noisy view", covariance=gamma**k * NOISY)
ar1_noise_moves_rho_not_lambda.mutant("rho without noise", influence=gamma**k)
ar1_noise_moves_rho_not_lambda.mutant("rho that rises with noise", influence=gamma**k * NOISY / tau**2)


@statement(
    "rank-k-optimum-orders-by-lambda-rho",
    claim="The loss sigma^2 w^2/2 - lambda w of a mode is least at w = {optimum}, by {gain} below that of a mode left "
    "out. So the best k modes to keep are those of the largest {score}, which is the order neither of lambda nor of rho.",
    hypotheses=("independent modes, each with an amplitude of its own", "sigma^2 = lambda/rho"),
)
def rank_k_optimum_orders_by_lambda_rho(optimum: Expr = rho, gain: Expr = lam * rho / 2, score: Expr = lam * rho) -> Proof:
    def of(formula: Expr, covariance: Expr, influence: Expr) -> Expr:
        return formula.xreplace({lam: covariance, rho: influence})

    loss = lam / rho * w**2 / 2 - lam * w
    loud, best, clean = ((S.One, Rational(3, 10)), (Rational(3, 5), Rational(9, 10)), (Rational(1, 5), Rational(6, 5)))
    return (
        Identity("The slope of the loss vanishes there.", loss.diff(w).subs(w, optimum), S.Zero),
        Positive("The loss is convex.", loss.diff(w, 2)),
        Identity("What keeping the mode gains.", -loss.subs(w, optimum), gain),
        Identity(
            "Keeping A in place of B gains half the difference of their scores.",
            of(gain, lam_A, rho_A) - of(gain, lam_B, rho_B),
            (of(score, lam_A, rho_A) - of(score, lam_B, rho_B)) / 2,
        ),
        CertifiedPositive(
            "lambda, rho = 3/5, 9/10 scores above 1, 3/10, whose lambda is larger.", of(score, *best) - of(score, *loud)
        ),
        CertifiedPositive("It scores above 1/5, 6/5, whose rho is larger.", of(score, *best) - of(score, *clean)),
    )


rank_k_optimum_orders_by_lambda_rho.mutant("least at lambda", optimum=lam)
rank_k_optimum_orders_by_lambda_rho.mutant("a gain without its half", gain=lam * rho)
rank_k_optimum_orders_by_lambda_rho.mutant("the order of lambda", score=lam)
rank_k_optimum_orders_by_lambda_rho.mutant("the order of rho", score=rho)
