"""The staircase, the width of the projector and the number of views."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dynamics.errors import ParameterError
from dynamics.multiview import (
    activation,
    alignment_error,
    barlow_twins,
    barlow_twins_flow,
    collinear_escape,
    collinear_threshold,
    estimate_variance,
    ladder_times,
    normalised_flow,
    plateau,
    residual_starts,
    trajectory,
    water_filling,
)

STRENGTHS = np.array([4.0, 2.5, 1.5, 0.9, 0.5])
KAPPA = np.array([0.02, 0.08, 0.15, 0.25, 0.4, 0.6, 0.8, 0.9])


# --- plateaus ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("modes", "width", "beta"), [(1, 4, 0.3), (3, 8, 0.01), (4, 4, 1.0)], ids=str)
def test_a_plateau_is_an_equal_norm_tight_frame_that_does_not_move(modes: int, width: int, beta: float) -> None:
    """Rows of a Hadamard matrix, scaled to the energy of a mode; everything read off the matrix."""
    told = plateau(modes, width=width, beta=beta)
    signs = np.array([[1.0]])
    while len(signs) < width:
        signs = np.block([[signs, signs], [signs, -signs]])
    gamma = STRENGTHS[:modes]
    features = signs[:, :modes] * np.sqrt(told.mode_energy / (width * gamma))
    covariance = (features * gamma) @ features.T
    assert_allclose(np.diagonal(covariance), told.feature_variance, rtol=1e-12)
    assert np.trace(covariance) ** 2 / (covariance**2).sum() == pytest.approx(modes)
    off = covariance - np.diag(np.diagonal(covariance))
    assert (off**2).sum() / told.feature_variance**2 / (width * (width - 1)) == pytest.approx(told.redundancy, abs=1e-12)
    assert ((np.diagonal(covariance) - 1) ** 2).sum() + beta * (off**2).sum() == pytest.approx(told.loss, abs=1e-12)
    assert_allclose(barlow_twins_flow(gamma, beta=beta)(features), 0.0, atol=1e-12)


@pytest.mark.parametrize("beta", [0.3, 0.05], ids=str)
def test_the_next_mode_grows_as_the_plateau_says(beta: float) -> None:
    """A small column beside one shared mode: d ln|u|/dt = 4 gamma g_1, where it is orthogonal to the first."""
    width, gamma = 4, STRENGTHS[:2]
    told = plateau(1, width=width, beta=beta)
    features = np.column_stack(
        [np.full(width, np.sqrt(told.mode_energy / (width * gamma[0]))), 1e-7 * np.array([1.0, -1.0, 1.0, -1.0])]
    )
    speed = barlow_twins_flow(gamma, beta=beta)(features)[:, 1] / features[:, 1]
    assert_allclose(speed, 4.0 * gamma[1] * told.growth, rtol=1e-9)


# --- the ladder -------------------------------------------------------------------------------------------------------------


def half_times(width: int, beta: float, scale: float, seed: int, modes: int) -> tuple[np.ndarray, np.ndarray]:
    """Simulated and predicted times at which each mode has half the energy of the plateau that it opens."""
    start = scale * np.random.default_rng(seed).standard_normal((width, len(STRENGTHS)))
    predicted = ladder_times(STRENGTHS, residual_starts(start, beta=beta), width=width, beta=beta)[:modes]
    times = np.linspace(0.0, 1.4 * predicted[-1], 3000)
    seen = trajectory(barlow_twins_flow(STRENGTHS, beta=beta), start, times, method="LSODA", tolerance=1e-8)
    energy = (seen**2).sum(axis=1) * STRENGTHS
    reached = [times[np.argmax(energy[:, k] >= 0.5 * plateau(k + 1, width=width, beta=beta).mode_energy)] for k in range(modes)]
    return np.array(reached), predicted


@pytest.mark.parametrize("beta", [1.0, 0.1, 0.01], ids=str)
def test_steps_come_within_a_fifth_from_a_millionth_and_within_five_per_cent_from_1e_24(beta: float) -> None:
    """Leading logarithms: the tinier the start the better."""
    for scale, allowed in ((1e-6, 0.2), (1e-24, 0.05)):
        simulated, predicted = half_times(16, beta, scale, seed=3, modes=2)
        assert_allclose(simulated, predicted, rtol=allowed)


def test_at_full_orthogonality_the_ladder_is_each_mode_alone() -> None:
    squares = np.full(3, 1e-20)
    alone = barlow_twins(STRENGTHS[:3]).time(STRENGTHS[:3] * squares, np.full(3, 0.5))
    assert_allclose(ladder_times(STRENGTHS[:3], squares, width=8, beta=1.0), alone, rtol=1e-12)


def test_beta_and_width_enter_by_one_number() -> None:
    """beta d / (1 - beta) = 1 both times."""
    squares = np.full(5, 1e-20)
    one, other = (ladder_times(STRENGTHS, squares, width=d, beta=1.0 / (d + 1.0)) for d in (8, 32))
    assert_allclose(one, other, rtol=1e-12)


def test_modes_that_are_not_positive_or_beyond_the_width_are_never_learned() -> None:
    times = ladder_times([2.0, -1.0, 0.0, 1.0, 0.5], np.full(5, 1e-20), width=2, beta=0.5)
    assert_array_equal(np.isfinite(times), [True, False, False, True, False])


@pytest.mark.parametrize(
    ("how", "named"),
    [({"width": 0, "beta": 0.5}, "width"), ({"width": 4, "beta": 0.0}, "beta"), ({"width": 4, "beta": -1.0}, "beta")],
    ids=["width", "zero", "negative"],
)
def test_a_projector_without_width_or_penalty_is_refused(how: dict, named: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        ladder_times([1.0], [1e-9], **how)
    assert refusal.value.name == named


# --- normalised features ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("product", [0.02, 0.05, 0.2, 0.6, 1.5, 3.0], ids=str)
@pytest.mark.parametrize("width", [4, 8, 32])
def test_active_modes_are_those_whose_threshold_the_product_exceeds(product: float, width: int) -> None:
    found = water_filling(KAPPA, beta=product / width, width=width)
    assert found.active == min(width, int((activation(KAPPA) < product).sum()))
    assert found.energy.sum() == pytest.approx(width)
    assert_allclose(found.energy[: found.active] * 2.0 * product / width + KAPPA[: found.active], found.level, rtol=1e-12)


@pytest.mark.parametrize("product", [0.2, 1.5], ids=str)
def test_the_flow_of_normalised_features_ends_where_the_water_stands(product: float) -> None:
    width = 8
    start = np.random.default_rng(2).standard_normal((8, width))
    seen = trajectory(
        normalised_flow(KAPPA, beta=product / width),
        start / np.linalg.norm(start, axis=0),
        [0.0, 600.0],
        method="LSODA",
        tolerance=1e-10,
    )
    unit = seen[-1] / np.linalg.norm(seen[-1], axis=0)
    found = water_filling(KAPPA, beta=product / width, width=width)
    assert_allclose(unit @ unit.T, np.diag(found.energy), atol=1e-6)


def test_the_filling_over_the_width_knows_only_the_product() -> None:
    shares = [water_filling(KAPPA, beta=1.285 / width, width=width).energy / width for width in (8, 64, 256)]
    assert_allclose(shares[0], shares[1], rtol=1e-12)
    assert_allclose(shares[0], shares[2], rtol=1e-12)


def test_collinear_features_leave_at_the_rate_of_the_theory() -> None:
    width, beta = 6, 0.02
    tilt = np.random.default_rng(3).standard_normal(width)
    start = np.zeros((8, width))
    start[0], start[1] = 1.0, 1e-6 * (tilt - tilt.mean())
    seen = trajectory(normalised_flow(KAPPA, beta=beta), start, [0.0, 5.0, 15.0], tolerance=1e-12)
    rate = np.log(np.linalg.norm(seen[2][1]) / np.linalg.norm(seen[1][1])) / 10.0
    assert rate == pytest.approx(collinear_escape(KAPPA, beta=beta, width=width), rel=1e-3)
    assert collinear_escape(KAPPA, beta=collinear_threshold(KAPPA, width), width=width) == pytest.approx(0.0, abs=1e-15)


# --- views ------------------------------------------------------------------------------------------------------------------

RHO = np.array([0.9, 0.8, 0.7, 0.55, 0.4, 0.3, 0.2, 0.1])


def views(images: int, number: int, generator: np.random.Generator) -> np.ndarray:
    signal = generator.standard_normal((images, 1, len(RHO))) * np.sqrt(RHO)
    return signal + generator.standard_normal((images, number, len(RHO))) * np.sqrt(1 - RHO)


def all_pairs(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cross-view covariance over all pairs of views of an image, and covariance of one view."""
    images, number, _ = x.shape
    total = np.einsum("nai,naj->ij", x, x) / (images * number)
    summed = x.sum(axis=1)
    return (summed.T @ summed - images * number * total) / (images * number * (number - 1)), total


def test_the_variance_of_the_all_pairs_estimate_is_that_of_the_formula() -> None:
    generator = np.random.default_rng(1)
    estimates = np.array([all_pairs(views(200, 4, generator))[0] for _ in range(400)])
    ratio = estimates.var(axis=0) / estimate_variance(RHO, 1 - RHO, images=200, views=4)
    assert np.nanmean(ratio) == pytest.approx(1.0, abs=0.03)


def test_the_best_number_of_views_of_a_fixed_budget_is_where_the_error_is_least() -> None:
    error, budget = alignment_error(RHO, 3), 8000
    assert error.best_views == pytest.approx(3.51, abs=0.01)
    by_views = {number: error.expected(budget // number, number) for number in (2, 3, 4, 5, 8, 16, 32)}
    assert min(by_views, key=by_views.__getitem__) == 4
    assert by_views[32] / by_views[4] > 3.0


def test_the_alignment_error_of_samples_is_the_expected_one() -> None:
    from scipy.linalg import eigh

    generator, errors = np.random.default_rng(2), []
    for _ in range(60):
        cross, total = all_pairs(views(2000, 4, generator))
        top = np.linalg.qr(eigh(cross, total)[1][:, ::-1][:, :3])[0]
        errors.append(1 - np.linalg.norm(top[:3]) ** 2 / 3)
    assert np.mean(errors) == pytest.approx(alignment_error(RHO, 3).expected(2000, 4), rel=0.15)


@pytest.mark.parametrize(
    ("width", "rho"), [(0, RHO), (8, RHO), (1, [0.5, 0.5]), (1, [1.5, 0.5])], ids=["none", "all", "tie", "beyond one"]
)
def test_modes_that_cannot_be_told_apart_are_refused(width: int, rho: np.ndarray) -> None:
    with pytest.raises(ParameterError):
        alignment_error(rho, width)


def test_fewer_than_two_views_are_refused() -> None:
    with pytest.raises(ParameterError, match="views"):
        alignment_error(RHO, 3).expected(100, 1)
