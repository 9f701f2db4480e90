"""What a loss pays for a feature that changes between views, and how few views mislead, against draws and brute force."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar

from dynamics import ParameterError
from dynamics.features import Features
from dynamics.multiview import (
    LOSSES,
    AugmentationGraph,
    Setup,
    activation,
    alignment_error,
    collinear_escape,
    collinear_threshold,
    collinear_threshold_of_barlow_twins,
    critical_modes,
    estimate_variance,
    four_nodes,
    invariances,
    mode_strengths,
    reversal,
    simulate_modes,
    water_filling,
)

# --- three forms ------------------------------------------------------------------------------------------------------------


def test_invariance_is_what_pairs_m_views_and_averaging_pay() -> None:
    features = Features(lam=[0.9, 0.5, 0.0], sigma=1.0)
    assert_allclose(invariances(features), [0.1, 0.5, 1.0], rtol=1e-14)
    assert_allclose(invariances(features, form="views", views=4), [0.3, 1.5, 3.0], rtol=1e-14)
    assert_allclose(invariances(features, form="averaging"), (1.0 - np.sqrt([0.9, 0.5, 0.0])) ** 2, rtol=1e-14)


def test_only_the_sum_over_m_views_counts_them_and_two_are_a_pair() -> None:
    features = Features(lam=[0.9, 0.5], sigma=1.0)
    assert_array_equal(invariances(features, form="views", views=2), invariances(features))
    for form in ("pairs", "averaging"):
        assert_array_equal(invariances(features, form=form, views=2), invariances(features, form=form, views=9))


def test_invariance_is_that_of_whitened_features() -> None:
    one, scaled = Features(lam=0.5, rho=0.8), Features(lam=50.0, rho=0.8)
    assert_allclose(invariances(one), invariances(scaled))


@pytest.mark.parametrize("views", [2, 3, 7])
def test_m_views_of_gaussian_features_lie_that_far_from_their_mean(views: int) -> None:
    """E sum_j (f_j - mean)^2 by draws, for rho .9, .4 and 0."""
    generator, rho = np.random.default_rng(views), np.array([0.9, 0.4, 0.0])
    signal = np.sqrt(rho) * generator.standard_normal((200_000, 1, 3))
    seen = signal + np.sqrt(1.0 - rho) * generator.standard_normal((200_000, views, 3))
    spread = ((seen - seen.mean(axis=1, keepdims=True)) ** 2).sum(axis=1).mean(axis=0)
    assert_allclose(invariances(Features(lam=rho, sigma=1.0), form="views", views=views), spread, rtol=0.02)


def test_averaging_over_a_graph_that_looks_alike_from_both_ends_is_its_operator_squared() -> None:
    """Images and views the same four nodes: T f = P f, and |f - T f|^2 is (1 - sqrt(rho))^2 on eigenfunctions of P^2."""
    operator = four_nodes(0.6, 0.2, 0.15, 0.05)
    graph = AugmentationGraph(operator)
    distance = np.eye(4) - operator
    paid = np.sort(np.linalg.eigvalsh(distance.T @ distance))
    assert_allclose(invariances(graph.features(), form="averaging"), paid, atol=1e-12)


@pytest.mark.parametrize(
    ("rho", "how", "named"),
    [
        (-0.1, {"form": "averaging"}, "rho"),
        (1.2, {}, "rho"),
        (0.5, {"form": "sum"}, "invariance"),
        (0.5, {"form": "views", "views": 1}, "views"),
    ],
    ids=str,
)
def test_an_invariance_that_is_none_is_refused(rho: float, how: dict, named: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        invariances(Features(rho=rho, sigma=1.0), **how)
    assert refusal.value.name == named


def test_a_negative_rho_pays_more_than_one() -> None:
    assert_allclose(invariances(Features(lam=-0.5, sigma=1.0)), 1.5)


# --- the span ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beta", [0.1, 2.0])
def test_the_penalty_changes_the_spectrum_of_outputs_and_not_their_span(beta: float) -> None:
    """The largest principal angle to e^(-2 K t) V(F_0) is 0: so relative weights of modes within the span are those."""
    rho = np.array([0.95, 0.8, 0.5, 0.2])
    weights = 0.3 / math.sqrt(2) * np.random.default_rng(5).standard_normal((2, 4))
    found = simulate_modes(
        LOSSES["penalised"],
        Features(lam=rho, sigma=1.0),
        setup=Setup(width=2, beta=beta),
        epsilon=0.3,
        seed=5,
        until=2.0,
        points=2,
    )
    moved = np.linalg.qr(np.exp(-2.0 * (1.0 - rho) * 2.0)[:, None] * weights.T)[0]
    # Sizes are the diagonal of F F' = Q A A' Q': three numbers A A' for four sizes.
    columns = np.stack([moved[:, 0] ** 2, 2.0 * moved[:, 0] * moved[:, 1], moved[:, 1] ** 2], axis=1)
    inside = np.linalg.lstsq(columns, found.final, rcond=None)[0]
    assert_allclose(columns @ inside, found.final, atol=1e-9)


# --- strengths --------------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(
    lam=st.floats(0.05, 3.0),
    other=st.floats(0.05, 3.0),
    noise=st.floats(1e-3, 5.0),
    other_noise=st.floats(1e-3, 5.0),
)
def test_few_views_reverse_the_order_exactly_below_the_crossing(
    lam: float, other: float, noise: float, other_noise: float
) -> None:
    first, second = sorted([(lam, noise), (other, other_noise)], reverse=True)
    one, two = (Features(lam=c, sigma=math.sqrt(c + n)) for c, n in (first, second))
    crossing = reversal(one, two)
    for views in (2, 3, 5, 10, 100):
        gap = first[0] - second[0] + (first[1] - second[1]) / views
        if abs(gap) > 1e-9:
            reversed_order = bool(
                mode_strengths(one, kernel="view-mean", views=views) < mode_strengths(two, kernel="view-mean", views=views)
            )
            assert reversed_order == (gap < 0.0)
            assert reversed_order == (views < crossing)  # nan: never


@pytest.mark.parametrize("kernel", ["view-mean", "whitened"])
def test_a_feature_without_noise_may_be_given_by_its_deviation(kernel: str) -> None:
    """Sigma sqrt(.75), whose square is a rounding below .75."""
    assert_allclose(
        mode_strengths(Features(lam=0.75, sigma=math.sqrt(0.75)), kernel=kernel), {"whitened": 1.0}.get(kernel, 0.75)
    )


def test_the_crossing_of_the_theory_flips_learning_between_four_and_eight_views() -> None:
    """Noise .2 and 4 on covariance 1 and .3: m_c = 5.43."""
    features = Features(lam=[1.0, 0.3], sigma=[math.sqrt(1.2), math.sqrt(4.3)])
    assert reversal(features[[0]], features[[1]]) == pytest.approx(5.43, abs=0.005)
    first = {
        views: int(
            critical_modes(
                LOSSES["barlow-twins"], features, epsilon=1e-6, setup=Setup(kernel="view-mean", views=views)
            ).sequence[0]
        )
        for views in (2, 4, 8, 16)
    }
    assert first == {2: 1, 4: 1, 8: 0, 16: 0}


# --- how many views ---------------------------------------------------------------------------------------------------------

SPECTRA = st.lists(st.floats(0.02, 0.97), min_size=3, max_size=8, unique=True).filter(
    lambda rho: min(np.diff(np.sort(rho))) > 0.01
)


def by_sums(rho: list[float], width: int, images: float, views: float) -> float:
    """The expected error, mode by mode."""
    values, total = sorted(rho, reverse=True), 0.0
    for k in values[:width]:
        for j in values[width:]:
            a = (1 - k) ** 2 * j * k
            b = (1 - k) ** 2 * (j * (1 - k) + k * (1 - j)) + k**2 * (1 - j) * (1 - k)
            c = (1 - j) * (1 - k)
            total += (a + b / views + c / (views * (views - 1))) / (k - j) ** 2
    return total / width / images


@settings(max_examples=30)
@given(SPECTRA, st.integers(1, 2))
def test_the_error_is_the_sum_over_pairs_of_modes(rho: list[float], width: int) -> None:
    law = alignment_error(rho, width)
    for images, views in ((100, 2), (5000, 16)):
        assert law.expected(images, views) == pytest.approx(by_sums(rho, width, images, views), rel=1e-10)


@settings(max_examples=30)
@given(SPECTRA, st.integers(1, 2))
def test_the_best_number_of_views_of_a_budget_is_the_one_of_least_error(rho: list[float], width: int) -> None:
    found = minimize_scalar(
        lambda s: math.log(by_sums(rho, width, 1.0 / (1.0 + math.exp(s)), 1.0 + math.exp(s))),
        bounds=(-12.0, 20.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert alignment_error(rho, width).best_views == pytest.approx(1.0 + math.exp(found.x), rel=1e-3)


def test_without_an_error_of_images_more_views_are_always_better() -> None:
    assert alignment_error([0.9, 0.0], 1).best_views == math.inf


def test_the_order_in_which_modes_are_given_does_not_matter() -> None:
    one, other = alignment_error([0.9, 0.5, 0.2], 1), alignment_error([0.2, 0.9, 0.5], 1)
    assert one == other


def test_ties_within_the_leading_modes_or_the_rest_are_none() -> None:
    assert alignment_error([0.9, 0.9, 0.2, 0.2], 2).expected(1000, 2) > 0.0


def test_an_error_is_never_negative() -> None:
    """A rho of -.5 allows three exchangeable views of an image at most."""
    try:
        error = alignment_error([0.9, -0.5], 1).expected(1000, 64)
    except ParameterError:
        return
    assert error >= 0.0


@pytest.mark.parametrize("views", [2, 3])
def test_a_mode_of_negative_rho_counts_with_its_noise(views: int) -> None:
    """As drawn: views of correlation -.4 from a Gaussian with that covariance."""
    rho, images = np.array([0.8, -0.4]), 800
    generator, errors = np.random.default_rng(0), []
    roots = [np.linalg.cholesky((1 - r) * np.eye(views) + r + 1e-15 * np.eye(views)) for r in rho]
    for _ in range(300):
        x = np.stack([generator.standard_normal((images, views)) @ root.T for root in roots], axis=2)
        summed = x.sum(axis=1)
        same = np.einsum("nvi,nvj->ij", x, x)
        cross = (summed.T @ summed - same) / (images * views * (views - 1))
        values, vectors = np.linalg.eigh(
            np.linalg.inv(np.linalg.cholesky(same / (images * views)))
            @ cross
            @ np.linalg.inv(np.linalg.cholesky(same / (images * views))).T
        )
        top = np.linalg.inv(np.linalg.cholesky(same / (images * views))).T @ vectors[:, np.argmax(values)]
        errors.append(1.0 - top[0] ** 2 / (top @ top))
    assert np.mean(errors) == pytest.approx(alignment_error(rho, 1).expected(images, views), rel=0.2)


@settings(max_examples=10)
@given(lam=st.floats(0.1, 2.0), noise=st.floats(0.0, 2.0), views=st.integers(2, 6))
def test_the_variance_of_an_estimate_knows_signal_and_noise(lam: float, noise: float, views: int) -> None:
    """Two modes alike: (lam^2 + 2 lam nu / m + nu^2 / (m (m - 1))) / n, and no diagonal."""
    found = estimate_variance([lam, lam], [noise, noise], images=50, views=views)
    expected = (lam**2 + 2 * lam * noise / views + noise**2 / (views * (views - 1))) / 50
    assert_allclose(found[0, 1], expected, rtol=1e-12)
    assert_allclose(found[1, 0], expected, rtol=1e-12)
    assert np.isnan(np.diag(found)).all()


@pytest.mark.parametrize(
    ("images", "views", "named"), [(3, 4, "images"), (0, 2, "images"), (100, 1, "views"), (100, 2.5, "views")]
)
def test_fewer_images_than_views_or_one_view_are_refused(images: int, views: int, named: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        alignment_error([0.9, 0.5], 1).expected(images, views)
    assert refusal.value.name == named


@pytest.mark.parametrize(
    ("rho", "width", "named"),
    [
        ([0.9, 0.5], 0, "width"),
        ([0.9, 0.5], 2, "width"),
        ([0.9, 0.5, 0.5], 2, "width"),
        ([0.9, -0.5, -0.6], 2, "width"),
        ([0.9], 1, "rho"),
        ([0.9, math.nan], 1, "rho"),
        ([1.2, 0.5], 1, "rho"),
        ([1.0, 0.5], 1, "rho"),
    ],
    ids=str,
)
def test_leading_modes_that_are_none_are_refused(rho: list[float], width: int, named: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        alignment_error(rho, width)
    assert refusal.value.name == named


# --- the water level and collinear outputs ----------------------------------------------------------------------------------

KAPPAS = st.lists(st.floats(0.0, 1.0), min_size=2, max_size=8).map(np.array)


@settings(max_examples=40)
@given(kappa=KAPPAS, product=st.floats(0.01, 5.0), width=st.integers(8, 300))
def test_the_filling_over_the_width_is_that_of_the_product_and_minimises_the_loss(
    kappa: np.ndarray, product: float, width: int
) -> None:
    """<S, K> + beta |S|^2 over S >= 0 of trace d: all slopes alike where S > 0, none lower where S = 0."""
    beta = product / width
    found = water_filling(kappa, beta=beta, width=width)
    slope = kappa + 2.0 * beta * found.energy
    inside = found.energy > 0.0
    assert found.energy.sum() == pytest.approx(width, rel=1e-12)
    assert_allclose(slope[inside], found.level, rtol=1e-9)
    assert (slope[~inside] >= found.level - 1e-12).all()
    other = water_filling(kappa, beta=beta / 2.0, width=2 * width)
    assert_allclose(found.energy / width, other.energy / (2 * width), rtol=1e-9, atol=1e-12)


@settings(max_examples=40)
@given(KAPPAS)
def test_a_mode_is_filled_from_its_activation_on(kappa: np.ndarray) -> None:
    thresholds = activation(kappa)
    for mode, threshold in enumerate(thresholds):
        lower = kappa[kappa < kappa[mode]]
        assert threshold == pytest.approx(0.5 * (kappa[mode] - lower).sum(), abs=1e-12)
        if threshold > 1e-6:
            for factor, filled in ((0.999, False), (1.001, True)):
                found = water_filling(kappa, beta=factor * threshold / 50, width=50)
                assert (found.energy[mode] > 0.0) == filled


def test_a_projector_narrower_than_the_modes_fills_its_width() -> None:
    found = water_filling([0.0, 0.1, 0.2, 0.3], beta=10.0, width=2)
    assert found.active == 2
    assert_array_equal(found.energy[2:], 0.0)


@pytest.mark.parametrize("width", [1, 2, 6, 200])
def test_collinear_thresholds_fall_like_one_over_the_width(width: int) -> None:
    assert collinear_threshold([0.5, 0.1, 0.3], width) == pytest.approx(0.2 / (2 * width))
    assert collinear_escape([0.5, 0.1, 0.3], beta=0.2 / (2 * width), width=width) == pytest.approx(0.0, abs=1e-14)
    assert collinear_escape([0.5, 0.1, 0.3], beta=1.0, width=width) == pytest.approx(4 * width - 0.4)
    assert collinear_threshold_of_barlow_twins([0.5, 0.8], width) == pytest.approx(
        0.2 * 0.3 / (0.8 * ((width - 1) * 0.8 + 0.5))
    )


@pytest.mark.parametrize("rho", [[0.5], [1.2, 0.5], [0.0, 0.0], [0.5, -0.1]], ids=str)
def test_eigenvalues_that_are_none_have_no_collinear_threshold(rho: list[float]) -> None:
    with pytest.raises(ParameterError) as refusal:
        collinear_threshold_of_barlow_twins(rho, 4)
    assert refusal.value.name == "rho"
