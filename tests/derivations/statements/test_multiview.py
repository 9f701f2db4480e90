"""Small projectors and several views: real features, chains and draws do as the statements say, and not as printed."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm, subspace_angles
from scipy.optimize import minimize, minimize_scalar
from sympy import Expr, Rational, Symbol, lambdify, log

import derivations.statements  # noqa: F401 - registers them
from derivations.formulas import inline
from derivations.matrices import Square, Written
from derivations.notation import beta, eta, gamma, lam, sigma, tau, v, x
from derivations.statement import STATEMENTS, Mutant
from derivations.statements.barlow_twins import ANY, PULL, P, of_network
from derivations.statements.matrix_flows import H
from derivations.statements.mode_laws import high, low
from derivations.statements.plateaus import D, rest, share

Matrix = np.ndarray


def formula(statement: str, name: str) -> Expr:
    return STATEMENTS[statement].formulas[name]


def value(statement: str, name: str, **numbers: float) -> float:
    """A formula of a statement, with numbers for symbols of these names."""
    return float(
        formula(statement, name).subs({symbol: numbers[symbol.name] for symbol in formula(statement, name).free_symbols})
    )


def slope(function: Callable[[Matrix], float], at: Matrix, step: float = 1e-5) -> Matrix:
    """The gradient by central differences."""
    gradient = np.empty_like(at)
    for cell in np.ndindex(at.shape):
        ends = []
        for turn in (step, -step):
            moved = at.copy()
            moved[cell] += turn
            ends.append(function(moved))
        gradient[cell] = (ends[0] - ends[1]) / (2 * step)
    return gradient


def barlow(covariance: Matrix, weight: float) -> float:
    """The Barlow Twins loss as one writes it down."""
    on = np.diag(covariance)
    return float(((on - 1) ** 2).sum() + weight * ((covariance**2).sum() - (on**2).sum()))


def flow(rates: Callable[[Matrix], Matrix], start: Matrix, time: float) -> Matrix:
    run = solve_ivp(
        lambda _, y: rates(y.reshape(start.shape)).ravel(), (0, time), start.ravel(), "LSODA", rtol=1e-10, atol=1e-12
    )
    assert run.success
    return run.y[:, -1].reshape(start.shape)


@pytest.mark.parametrize(
    ("number", "shown"), [("81/25", "3.24"), ("1/25", "0.04"), ("1/3", "1/3"), ("-26/25", "-1.04"), ("0.003846", "0.003846")]
)
def test_decimals_are_shown_as_they_are(number, shown):
    assert inline(Rational(number)) == shown


# --- Barlow Twins -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0, 2.5])
@pytest.mark.parametrize("symmetric", [True, False])
def test_claimed_gradient_is_the_slope_of_the_loss_of_fewer_features_than_inputs(weight, symmetric):
    random = np.random.default_rng(0)
    network, kernel = random.normal(size=(3, 5)), random.normal(size=(5, 5))
    kernel = kernel + kernel.T if symmetric else kernel
    name = "barlow-twins-matrix-gradient" if symmetric else "barlow-twins-gradient-of-any-kernel"
    letters = {matrix.name: matrix for matrix in formula(name, "gradient").atoms(Square)}
    claimed = of_network(formula(name, "gradient").xreplace({P: PULL, letters["T"]: ANY}), ANY)
    known = {letters["W"]: network, ANY: kernel}
    found = Written(3, float, {beta: weight}.__getitem__, known).matrix(claimed).astype(float)
    assert_allclose(found, slope(lambda w: barlow(w @ kernel @ w.T, weight), network), rtol=1e-6, atol=1e-5)


def test_printed_gradient_misses_the_slope_at_a_skewed_kernel():
    kernel = np.array([[1.0, 1.0], [0.0, 1.0]])
    found = slope(lambda w: barlow(w @ kernel @ w.T, 1.0), np.eye(2))
    printed = 4 * (kernel - np.eye(2)) @ kernel
    assert_allclose(found, [[2, 2], [2, 2]], atol=1e-8)
    assert_allclose(printed, [[0, 4], [0, 0]])


def test_mode_half_time_and_slope():
    strength, start = 1.7, 0.02
    half = value("barlow-twins-half-time", "half_time", gamma=strength, x_0=strength * start**2)
    end = flow(lambda y: 4 * strength * y * (1 - strength * y**2), np.array([start]), half)
    assert_allclose(strength * end**2, 0.5, rtol=1e-8)
    assert_allclose(value("barlow-twins-mode-curve", "curve", gamma=strength, s_0=start, t=half), end, rtol=1e-8)
    early = value("barlow-twins-half-time", "early", gamma=strength, s_0=start)
    assert abs(early - half) < 1e-4
    assert abs(-np.log(start) / (4 * strength) - half) > 0.03


def test_negative_mode_of_a_real_feature_ends_above_zero():
    strengths = np.array([1.0, -1.0])
    end = flow(lambda z: -4 * (strengths @ z**2 - 1) * strengths * z, np.array([1.0, 15 / 16]), 40.0)
    assert_allclose(end, [5 / 4, 3 / 4], rtol=1e-8)
    power = value("barlow-twins-without-decorrelation", "power", gamma_1=1.0, gamma_2=-1.0)
    assert_allclose(end[1] / (15 / 16), end[0] ** power, rtol=1e-8)


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_rotation_changes_the_loss_unless_beta_is_one(weight):
    covariance = np.array([[2.0, 1.0], [1.0, 1.0]])

    def turned(angle: Matrix) -> float:
        ((c, s),) = ((np.cos(one), np.sin(one)) for one in angle)
        frame = np.array([[c, -s], [s, c]])
        return barlow(frame @ covariance @ frame.T, weight)

    told = value("rotation-symmetry-only-at-beta-one", "slope", beta=weight, C_11=2.0, C_12=1.0, C_22=1.0)
    assert_allclose(slope(turned, np.zeros(1)), told, atol=1e-8)
    assert (abs(turned(np.array([0.7])) - turned(np.zeros(1))) < 1e-12) == (weight == 1.0)


# --- plateaus ---------------------------------------------------------------------------------------------------------------


def test_a_tight_frame_on_a_pentagon_rests_as_the_plateau_says():
    width, modes, weight = 5, 2, 0.3
    sizes = {"beta": weight, "d": width, "r": modes}
    sizes["D"] = value("plateau-of-equal-norm-features", "scale", **sizes)
    variance = value("plateau-of-equal-norm-features", "variance", **sizes)
    loss, redundancy = (value("plateau-redundancy-and-loss", name, **sizes) for name in ("loss", "redundancy"))
    growth = value("plateau-growth-knows-beta-and-width-by-one-number", "growth", **sizes)
    angles = 2 * np.pi * np.arange(width) / width
    features = np.sqrt(variance) * np.column_stack([np.cos(angles), np.sin(angles)])
    covariance = features @ features.T
    pull = (1 - weight) * (np.diag(np.diag(covariance)) - np.eye(width)) + weight * (covariance - np.eye(width))
    assert_allclose(pull @ features, 0, atol=1e-12)
    assert_allclose(barlow(covariance, weight), loss)
    off = (covariance**2).sum() - (np.diag(covariance) ** 2).sum()
    assert_allclose(off / (width * (width - 1)) / variance**2, redundancy)
    assert_allclose(np.trace(covariance) ** 2 / (covariance**2).sum(), modes)
    orthogonal = np.linalg.svd(features.T)[2][2:]
    assert_allclose(pull @ orthogonal.T, -growth * orthogonal.T, atol=1e-12)


@pytest.mark.parametrize(("weight", "shares"), [(0.5, "even"), (1.0, "kept"), (2.0, "one")])
def test_features_share_a_mode_below_beta_one_and_one_wins_above(weight, shares):
    start = np.array([0.02, 0.03, 0.05])

    rate = formula("features-compete-within-a-mode", "rate").subs({gamma: 1, beta: weight})
    pace = lambdify([share, rest], rate)
    end = flow(lambda energies: pace(energies, energies.sum() - energies), start, 60.0)
    if shares == "even":
        assert_allclose(end, value("features-compete-within-a-mode", "equal", beta=weight, d=3), rtol=1e-4)
    elif shares == "kept":
        assert_allclose(end / end.sum(), start / start.sum(), rtol=1e-4)
    else:
        assert_allclose(end, [0, 0, 1], atol=1e-4)


def test_width_leaves_the_redundancy_of_independent_features():
    random = np.random.default_rng(0)
    strengths = np.array([2.0, 1.0])
    ranks, correlations = {}, {}
    for width in (4, 400):
        squares = []
        for _ in range(40):
            starts = 0.1 * random.normal(size=(width, 2))
            # One feature ends at unit variance on its curve z_i = a_i e^(gamma_i tau), whatever the others do.
            low_end, high_end = np.full(width, -3.0), np.full(width, 9.0)
            for _ in range(60):
                middle = (low_end + high_end) / 2
                above = (starts * np.exp(np.outer(middle, strengths))) ** 2 @ strengths > 1
                low_end, high_end = np.where(above, low_end, middle), np.where(above, middle, high_end)
            features = starts * np.exp(np.outer(middle, strengths))
            covariance = (features * strengths) @ features.T
            assert_allclose(np.diag(covariance), 1, rtol=1e-8)
            squares.append((covariance**2).sum())
        correlations[width] = (np.mean(squares) - width) / (width * (width - 1))
        ranks[width] = width**2 / np.mean(squares)
    assert_allclose(correlations[4], correlations[400], rtol=0.05)
    statement = "width-alone-does-not-remove-redundancy"
    for width, rank in ranks.items():
        assert_allclose(rank, value(statement, "rank", d=width, q=correlations[400]), rtol=0.05)
    assert ranks[400] < value(statement, "bound", q=correlations[400]) < 2


def test_water_is_filled_to_the_minimum():
    kappas, width, weight = np.array([0.1, 0.4, 2.5]), 5, 0.2
    found = minimize(
        lambda energy: kappas @ energy + weight * (energy**2).sum(),
        np.full(3, width / 3),
        bounds=[(0, None)] * 3,
        constraints={"type": "eq", "fun": lambda energy: energy.sum() - width},
    ).x
    level = value("water-filling", "water", beta=weight, d=width, r=2, Sigma=kappas[:2].sum())
    filled = [value("water-filling", "filled", nu=level, kappa=kappa, beta=weight) for kappa in kappas[:2]]
    assert_allclose(found, [*filled, 0], atol=1e-5)
    assert 2 * weight * width > value("water-filling", "threshold", r=2, kappa=kappas[1], Sigma=kappas[:2].sum())
    assert 2 * weight * width < value("water-filling", "threshold", r=3, kappa=kappas[2], Sigma=kappas.sum())


def curvatures(loss: Callable[[Matrix], float], count: int) -> Matrix:
    """Eigenvalues of the second derivative at 0."""
    second = np.empty((count, count))
    step = 1e-4
    for i, j in np.ndindex(count, count):
        ends = [
            turn * other * loss(step * (turn * np.eye(count)[i] + other * np.eye(count)[j]))
            for turn, other in product((1, -1), repeat=2)
        ]
        second[i, j] = sum(ends) / (4 * step**2)
    return np.linalg.eigvalsh(second)


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("scale", [0.9, 1.1])
def test_collinear_features_are_stuck_below_the_threshold_and_leave_at_the_rate_above(width, scale):
    kappas, rhos = (0.2, 0.9), (0.8, 0.5)

    def circle(angles: Matrix) -> Matrix:
        return np.column_stack([np.cos(angles), np.sin(angles)])

    def penalty(angles: Matrix) -> float:
        features = circle(angles)
        return float((features**2 @ kappas).sum() + weight * (((features @ features.T) ** 2).sum() - width))

    def twins(angles: Matrix) -> float:
        return barlow((circle(angles) * rhos) @ circle(angles).T, weight)

    modes = {"kappa_1": kappas[0], "kappa_2": kappas[1], "rho_1": rhos[0], "rho_2": rhos[1], "d": width}
    for name, loss in (("collinear-features-escape", penalty), ("normalised-barlow-twins-leaves-collinear-features", twins)):
        weight = scale * value(name, "threshold", **modes)
        lowest = curvatures(loss, width)[0]
        assert (lowest < 0) == (scale > 1)
        assert_allclose(-lowest, value(name, "rate", beta=weight, **modes), rtol=1e-3)


# --- chains and graphs ------------------------------------------------------------------------------------------------------


def chain(size: int, seed: int = 0) -> tuple[Matrix, Matrix]:
    """Transitions that are not reversible, and the distribution that they keep."""
    rows = np.random.default_rng(seed).random((size, size)) ** 4
    rows /= rows.sum(axis=1, keepdims=True)
    chances = np.linalg.matrix_power(rows, 2000)[0]
    return rows, chances


@pytest.mark.parametrize("views", [2, 3])
def test_loss_of_several_views_over_all_draws(views):
    rows, chances = chain(4)
    f = np.random.default_rng(1).normal(size=4)
    pair = np.einsum("i,ix,iy->xy", chances, rows, rows)
    square, cross = pair.sum(axis=0) @ f**2, f @ pair @ f
    expected = 0.0
    for draw in product(range(4), repeat=views):
        chance = chances @ np.prod(rows[:, draw], axis=1)
        expected += chance * ((f[list(draw)].mean() - f[list(draw)]) ** 2).sum()
    assert_allclose(expected, value("m-view-loss", "loss", m=views, q=square, c=cross))


def test_kernels_have_the_operators_that_are_stated_and_not_each_others():
    rows, chances = chain(5)
    adjoint = (rows.T * chances) / chances[:, None]
    forward = np.einsum("i,ix,iz->xz", chances, rows, rows) / np.outer(chances, chances)
    backward = np.einsum("i,xi,zi->xz", 1 / chances, rows, rows)
    assert_allclose(forward * chances, adjoint @ rows, rtol=1e-10)
    assert_allclose(backward * chances, rows @ adjoint, rtol=1e-10)
    assert np.abs(forward - backward).max() > 0.1


SKEWED = np.array([[0.5, 0.5, 0], [0.25, 0.25, 0.5], [0.25, 0.25, 0.5]])


def test_printed_names_and_shared_eigenfunctions_fail_on_three_images():
    assert_allclose(np.ones(3) @ SKEWED, 1)
    assert_allclose([(SKEWED.T @ SKEWED)[0, 0], (SKEWED @ SKEWED.T)[0, 0]], [3 / 8, 1 / 2])
    variance, invariance = SKEWED.T @ SKEWED, (SKEWED - np.eye(3)).T @ (SKEWED - np.eye(3))
    assert_allclose((variance @ invariance - invariance @ variance)[0], [0, 1 / 16, -1 / 16], atol=1e-15)


def test_printed_eigenvalue_map_fails_on_two_states():
    flip = np.array([[0.1, 0.9], [0.9, 0.1]])
    assert_allclose(np.linalg.eigvalsh(flip), [-0.8, 1])
    invariance = np.linalg.eigvalsh((flip - np.eye(2)) @ (flip - np.eye(2)))
    printed = (np.sqrt(np.linalg.eigvalsh(flip @ flip)) - 1) ** 2
    assert_allclose(np.sort(invariance), [0, 3.24], atol=1e-12)
    assert_allclose(np.sort(printed), [0, 0.04], atol=1e-12)


def toy(weights: Matrix) -> Matrix:
    return np.array([[weights[i ^ j] for j in range(4)] for i in range(4)])


WEIGHTS = np.array([0.6, 0.2, 0.15, 0.05])


def test_toy_graph_of_two_steps_and_its_spectrum():
    names = dict(zip(("rho", "mu", "nu", "delta"), WEIGHTS, strict=True))
    statement = "toy-graph-of-views-of-one-image"
    told = [value(statement, key, **names) for key in ("same", "same_class", "same_pixel", "fourth")]
    assert_allclose((toy(WEIGHTS).T @ toy(WEIGHTS))[0], told)
    spectrum = [value("toy-graph-spectrum", key, **names) for key in ("all_nodes", "classes", "pixels", "both")]
    assert_allclose(np.linalg.eigvalsh(toy(WEIGHTS)), np.sort(spectrum))


def test_mean_of_two_views_halves_the_graph_and_does_not_remove_it():
    augment, drawn = toy(WEIGHTS), np.zeros((4, 4))
    for image, first, second in product(range(4), repeat=3):
        seen = np.bincount([first, second], minlength=4) / 2
        drawn += augment[image, first] * augment[image, second] * np.outer(seen, seen)
    full = augment.T @ augment
    assert_allclose(drawn[0, 1] - drawn[0, 2], (full[0, 1] - full[0, 2]) / 2)
    assert_allclose([drawn[0, 1] - drawn[0, 2], drawn[0, 3]], [11 / 400, full[0, 3] / 2])


# --- numbers of views -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("views", [2, 4, 8])
def test_strength_of_the_mean_of_views_and_the_order_it_gives(views):
    lams, noises = np.array([0.5, 0.3]), np.array([0.2, 1.2])
    variances = lams + noises
    found = [float((one + noise * np.eye(views)).mean()) for one, noise in zip(lams, noises, strict=True)]
    told = [
        value("strengths-by-number-of-views", "mean", sigma=variance**0.5, rho=one / variance, m=views)
        for one, variance in zip(lams, variances, strict=True)
    ]
    assert_allclose(found, told)
    crossing = value("few-views-reverse-the-order", "crossing", lambda_1=0.5, lambda_2=0.3, nu_1=0.2, nu_2=1.2)
    assert_allclose(crossing, 5)
    assert (found[0] > found[1]) == (views > crossing)


def test_best_number_of_views_is_the_minimum():
    a, b, c = 0.3, 1.1, 1.9
    found = minimize_scalar(lambda m: (a + b / m + c / (m * (m - 1))) * m, bounds=(1.01, 40), method="bounded").x
    assert_allclose(found, value("best-number-of-views", "best", a=a, c=c), rtol=1e-4)


def test_all_pairs_estimate_of_real_draws_varies_as_stated():
    random = np.random.default_rng(0)
    views, images, draws = 3, 10, 40000
    lams, noises = (0.9, 0.5), (0.4, 1.5)
    first, second = (
        np.sqrt(one) * random.normal(size=(draws, images, 1)) + np.sqrt(noise) * random.normal(size=(draws, images, views))
        for one, noise in zip(lams, noises, strict=True)
    )
    pairs = first.sum(axis=2) * second.sum(axis=2) - (first * second).sum(axis=2)
    estimates = (pairs / (views * (views - 1))).mean(axis=1)
    told = value(
        "variance-of-the-all-pairs-estimate", "variance", lambda_1=0.9, lambda_2=0.5, nu_1=0.4, nu_2=1.5, m=views, n=images
    )
    assert_allclose(estimates.var(), told, rtol=0.04)


# --- matrix flows and mode laws ---------------------------------------------------------------------------------------------


def test_penalised_flow_of_fewer_features_keeps_its_span_and_the_closed_form():
    random = np.random.default_rng(0)
    kernel, start, weight, time = random.normal(size=(5, 5)), 0.4 * random.normal(size=(5, 2)), 0.7, 0.8
    kernel = kernel @ kernel.T / 5

    def loss(f: Matrix) -> float:
        return float(np.trace(f.T @ kernel @ f) + weight * ((f.T @ f - np.eye(2)) ** 2).sum())

    def rates(f: Matrix) -> Matrix:
        return 4 * weight * (f - f @ f.T @ f) - 2 * kernel @ f

    assert_allclose(rates(start), -slope(loss, start), rtol=1e-6, atol=1e-8)
    end = flow(rates, start, time)
    assert subspace_angles(end, expm(-2 * kernel * time) @ start).max() < 1e-7
    growth, c = 4 * weight * np.eye(5) - 2 * kernel, 4 * weight
    grown = expm(growth * time) @ start
    doubled = np.block([[2 * growth, np.eye(5)], [np.zeros((5, 10))]])
    integral = start.T @ expm(doubled * time)[:5, 5:] @ start
    inverse = np.linalg.inv(np.eye(2) + 2 * c * integral)
    letters = {matrix.name: matrix for matrix in formula("matrix-flow-closed-form", "gram").atoms(Square)}
    gram = Written(5, float, float, {H: grown, letters["P"]: inverse}).matrix(formula("matrix-flow-closed-form", "gram"))
    assert_allclose(gram, end @ end.T, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("weight", [0.2, 1.0])
def test_penalised_mode_lives_above_half_its_kappa(weight):
    kappa, start = 1.0, 0.01
    end = flow(lambda y: 8 * weight * y * (1 - y) - 4 * kappa * y, np.array([start]), 100.0)
    level = value("penalised-mode", "end", kappa=kappa, beta=weight)
    assert_allclose(end, max(level, 0), atol=1e-8)
    assert (weight > value("penalised-mode", "threshold", kappa=kappa)) == (level > 0)


def test_restated_loss_agrees_with_the_kernel_loss_on_orthonormal_features_alone():
    random = np.random.default_rng(0)
    kernel = random.normal(size=(4, 4))
    kernel = kernel + kernel.T

    def gap(f: Matrix) -> float:
        return float(((kernel - f @ f.T) ** 2).sum() - 2 * np.trace(f.T @ (np.eye(4) - kernel) @ f))

    frames = [np.linalg.qr(random.normal(size=(4, 2)))[0] for _ in range(2)]
    assert_allclose(gap(frames[0]), gap(frames[1]))
    assert_allclose(gap(frames[0]), (kernel**2).sum() - 2)
    assert_allclose(gap(2 * frames[0]) - gap(frames[0]), 2 * 9)


BYOL = {"alpha": 1.3, "lambda": 1.0, "sigma": 1.1, "tau": 1.0, "eta": 0.08}


def byol(start: Matrix, time: float) -> Matrix:
    """(u, v) of the student and its predictor, from the slopes of the loss of moments, the target frozen."""

    def loss(moving: Matrix, frozen: float) -> float:
        u, v = moving
        return 0.5 * BYOL["sigma"] ** 2 * (v * u) ** 2 - BYOL["lambda"] * v * u * frozen

    def rates(moving: Matrix) -> Matrix:
        down = -slope(lambda one: loss(one, moving[0]), moving)
        return down * [1, BYOL["alpha"]] - BYOL["eta"] * moving

    return flow(rates, start, time)


def test_byol_decides_by_its_lower_end_and_comes_to_the_line():
    lower, upper = (value("byol-collapse", key, **BYOL) for key in ("lower", "upper"))
    for scale, end in ((1.1, upper), (0.9, 0.0)):
        predictor = scale * lower
        u, v = byol(np.array([predictor / BYOL["alpha"] ** 0.5, predictor]), 300.0)
        assert_allclose(v, end, atol=1e-4)
        assert_allclose(u**2, v**2 / BYOL["alpha"], atol=1e-6)
    u, v = byol(np.array([0.9, 0.5]), 3.0)
    shrunk = (0.81 - 0.25 / BYOL["alpha"]) * np.exp(-2 * BYOL["eta"] * 3.0)
    assert_allclose(u**2 - v**2 / BYOL["alpha"], shrunk, rtol=1e-5)


def test_byol_time_is_the_quadrature():
    lower, upper = (value("byol-collapse", key, **BYOL) for key in ("lower", "upper"))
    clock = formula("byol-time", "time").subs({low: lower, high: upper, sigma: BYOL["sigma"]})
    rate = formula("byol-invariant-line", "rate").subs({lam: 1, tau: 1, sigma: BYOL["sigma"], eta: BYOL["eta"]})
    ends = 1.2 * lower, 0.9 * upper
    found = quad(lambda one: 1 / float(rate.subs(v, one)), *ends)[0]
    assert_allclose(float(clock.subs(v, ends[1]) - clock.subs(v, ends[0])), found, rtol=1e-8)


@pytest.mark.parametrize(("name", "law"), [("euclidean", "euclidean"), ("iso", "iso")])
def test_direct_copy_half_times(name, law):
    lam_, rho = 0.8, 0.6
    rate = formula("what-the-stop-gradient-is-for", law).subs({lam: lam_, sigma: (lam_ / rho) ** 0.5})
    time = value("direct-copy-half-times", name, **{"lambda": lam_, "rho": rho, "y_0": rho / 0.01 - 1})
    end = flow(lambda y: np.array([float(rate.subs(x, y[0]))]), np.array([0.01]), time)
    assert_allclose(end, rho / 2, rtol=1e-6)


# --- what must not be proved ------------------------------------------------------------------------------------------------

BROKEN = {
    "barlow-twins-mode": {"rate": 8 * gamma * x * (1 - x**2)},
    "barlow-twins-half-time": {"early": -log(Symbol("s_0", positive=True) * gamma) / (4 * gamma)},
    "plateau-of-equal-norm-features": {"variance": 1 / D},
    "ladder-times": {"alone": -log(gamma) / (8 * gamma)},
    "water-filling": {"threshold": Rational(1)},
    "collinear-features-escape": {"threshold": Rational(1, 2)},
    "m-view-loss": {"loss": Rational(0)},
    "cross-view-kernel-operator": {"form": Rational(0)},
    "toy-graph-spectrum": {"both": Rational(0)},
    "few-views-reverse-the-order": {"crossing": Rational(4)},
    "best-number-of-views": {"best": Rational(3)},
    "penalised-mode": {"threshold": Rational(1)},
    "matrix-flow-closed-form": {"gram": H * H.T},
    "byol-collapse": {"threshold": Rational(1)},
    "what-the-stop-gradient-is-for": {"plain": -x},
    "printed-eigenvalue-map-fails": {"true": Rational(4, 25)},
    "negative-modes-do-not-vanish": {"true": Rational(3, 5)},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_truth_is_refused_by_reduction_and_refuted_by_numbers(name):
    verdict = STATEMENTS[name].examine(Mutant("broken", BROKEN[name]))
    assert verdict.rejected
    assert verdict.refuted
    assert not verdict.broken


@pytest.mark.parametrize("name", [each for each, given in STATEMENTS.items() if given.claim.startswith("As printed")])
def test_a_claim_that_fails_as_printed_is_proved_to_fail(name):
    verdict = STATEMENTS[name].examine()
    assert verdict.proved, verdict.failure
    assert any("ruth" in step.sentence or "iffer" in step.sentence or "does not" in step.sentence for step in verdict.steps)
