"""Features of data: the masked theory where it is exact, the distances where it is not, and directions that are not there."""

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import dynamics.joint_diagonalisation
from dynamics import LindynError
from dynamics.feature_basis import FeatureBasis, diagonalise
from dynamics.features import FloatArray
from dynamics.views import SecondMoments, masked, paired, second_moments

DIGITS = Path(__file__).parents[2] / "examples" / "digits.npz"
SEEDS = st.integers(0, 2**32)


def population(input_covariance: npt.ArrayLike, cross_covariance: npt.ArrayLike) -> SecondMoments:
    """Second moments given as such."""
    inside, across = np.array(input_covariance, dtype=float), np.array(cross_covariance, dtype=float)
    zeros = np.zeros(len(inside))
    return SecondMoments(inside, across, 100, np.arange(len(inside)), (zeros, zeros))


def rows_with_covariance(covariance: FloatArray, count: int, seed: int) -> FloatArray:
    """Rows whose own population covariance is the given one, to rounding."""
    width = len(covariance)
    noise = np.random.default_rng(seed).standard_normal((count, width))
    white = np.linalg.qr(noise - noise.mean(axis=0))[0] * np.sqrt(count)
    variances, directions = np.linalg.eigh(covariance)
    return white @ (directions * np.sqrt(np.maximum(variances, 0.0))).T


def circulant(kappa: FloatArray) -> FloatArray:
    """A covariance of constant diagonal with these eigenvalues, those of equal frequency averaged."""
    size = len(kappa)
    even = (kappa + np.roll(kappa[::-1], 1)) / 2
    first = np.fft.ifft(even).real
    return np.array([[first[(i - j) % size] for j in range(size)] for i in range(size)])


def rotation(seed: int, size: int) -> FloatArray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]


# Where the theory is exact


@pytest.mark.parametrize("target", ["full", "independent", "complementary"])
@given(seed=SEEDS, size=st.integers(2, 9), q=st.floats(0.05, 0.95))
def test_masked_pixels_of_constant_variance_have_the_features_of_the_theory(
    target: str, seed: int, size: int, q: float
) -> None:
    covariance = circulant(np.random.default_rng(seed).uniform(0.1, 2.0, size))
    kappa, s = np.linalg.eigvalsh(covariance)[::-1], covariance[0, 0]
    basis = diagonalise(second_moments(masked(rows_with_covariance(covariance, 40, seed), keep=q, target=target)))
    lam = {"full": q * kappa, "independent": q * q * kappa, "complementary": q * (1 - q) * (kappa - s)}[target]
    variance = q * q * kappa + q * (1 - q) * s
    assert_allclose(basis.features.lam, lam, atol=1e-12)
    assert_allclose(basis.features.sigma**2, variance, atol=1e-12)
    assert_allclose(basis.features.rho, lam / variance, atol=1e-11)
    assert max(basis.input_off_diagonal, basis.commutator, basis.asymmetry) < 1e-12
    assert basis.leakage.max() < 1e-9 or target == "complementary"  # where lambda is 0 all of its row is rounding
    assert (basis.advice, basis.notes) == (None, ())


@given(SEEDS, st.integers(1, 8))
def test_commuting_moments_give_back_their_features(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    planted, lam, variance = rotation(seed, size), generator.normal(size=size), generator.uniform(0.1, 3.0, size)
    basis = diagonalise(population((planted * variance) @ planted.T, (planted * lam) @ planted.T))
    order = np.argsort(-lam)
    assert_allclose(basis.features.lam, lam[order], atol=1e-12)
    assert_allclose(basis.features.sigma**2, variance[order], atol=1e-12)
    assert_allclose(np.abs((basis.directions * planted[:, order]).sum(axis=0)), 1.0, atol=1e-12)
    assert basis.features.labels() == tuple(str(number) for number in range(1, size + 1))


def test_uncorrelated_pixels_have_nothing_to_say_about_what_is_hidden() -> None:
    basis = diagonalise(second_moments(masked(rows_with_covariance(np.diag([3.0, 2.0, 1.0]), 20, 0), keep=0.5)))
    assert_allclose(basis.features.lam, [1.5, 1.0, 0.5])
    hidden = diagonalise(second_moments(masked(np.array([[1.0], [2.0], [4.0]]), keep=0.5, target="complementary")))
    assert_array_equal(hidden.features.lam, [0.0])
    assert_array_equal(hidden.features.rho, [0.0])
    assert hidden.cross_off_diagonal == hidden.commutator == hidden.asymmetry == hidden.leakage[0] == 0.0


# Definitions


@given(SEEDS, st.integers(1, 7))
def test_features_and_distances_are_what_they_are_defined_to_be(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    x, y = generator.standard_normal((2, 3 * size + 2, size))
    moments = second_moments(paired(x, x + y))
    basis = diagonalise(moments)
    inside, across, u = moments.input_covariance, moments.cross_covariance, basis.directions
    assert_allclose(u.T @ u, np.eye(size), atol=1e-13)
    assert_allclose(basis.features.lam, [v @ across @ v for v in u.T], atol=1e-13)
    assert_allclose(basis.features.sigma**2, [v @ inside @ v for v in u.T], atol=1e-13)
    assert (np.diff(basis.features.lam) <= 1e-13).all()
    assert all(v[np.argmax(np.abs(v))] > 0 for v in u.T)
    rotated = {"xx": u.T @ inside @ u, "yx": u.T @ across @ u}
    both = rotated["yx"] + rotated["yx"].T
    off = {name: matrix - np.diag(np.diag(matrix)) for name, matrix in (*rotated.items(), ("both", both))}
    norm = np.linalg.norm
    assert_allclose(basis.input_off_diagonal, norm(off["xx"]) / norm(inside), atol=1e-13)
    assert_allclose(basis.cross_off_diagonal, norm(off["both"]) / norm(both), atol=1e-13)
    assert_allclose(basis.commutator, norm(inside @ across - across @ inside) / norm(inside) / norm(across), atol=1e-13)
    assert_allclose(basis.asymmetry, norm(across - across.T) / norm(across + across.T), atol=1e-13)
    for feature in range(size):
        shares = [norm(off[name][feature]) / norm(rotated[name][feature]) for name in ("xx", "yx")]
        assert_allclose(basis.leakage[feature], max(shares), atol=1e-11)


def test_distances_of_two_by_two_moments_by_hand() -> None:
    swapped = diagonalise(population(np.diag([1.0, 2.0]), [[0.0, 1.0], [1.0, 0.0]]))
    assert_allclose(swapped.commutator, 1 / np.sqrt(5))
    assert swapped.asymmetry == 0.0
    turning = diagonalise(population(np.eye(2), [[1.0, -0.25], [0.25, 1.0]]))
    assert_allclose(turning.asymmetry, 0.25)
    assert_allclose(turning.leakage, 0.25 / np.hypot(1.0, 0.25))
    assert turning.cross_off_diagonal < 1e-15
    assert turning.commutator == 0.0
    antisymmetric = diagonalise(population(np.eye(2), [[0.0, -1.0], [1.0, 0.0]]))
    assert antisymmetric.asymmetry == float("inf")
    assert_array_equal(antisymmetric.features.lam, [0.0, 0.0])


def test_advice_names_what_is_large_and_nothing_else() -> None:
    turning = diagonalise(population(np.diag([2.0, 1.0]), [[1.0, -0.25], [0.25, 0.2]]))
    assert turning.advice is not None
    assert "asymmetry of Syx" in turning.advice
    assert "off-diagonal" not in turning.advice
    swapped = diagonalise(population(np.diag([1.0, 2.0]), [[0.0, 1.0], [1.0, 0.0]]))
    assert swapped.advice is not None
    assert "commutator of Sxx and Syx 0.45" in swapped.advice
    assert "asymmetry" not in swapped.advice
    assert swapped.advice.count(".") - swapped.advice.count("0.") == 1
    assert diagonalise(population(np.diag([1.0, 2.0]), np.diag([1.0, 1.0]))).advice is None


@given(SEEDS, st.integers(2, 5), st.floats(-20, 20))
def test_features_turn_with_the_space_and_scale_with_the_unit(seed: int, size: int, decades: float) -> None:
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((60, size)) * np.arange(1, size + 1)
    y = 0.7 * x + 0.3 * generator.standard_normal((60, size))
    turn, unit = rotation(seed, size), 10.0**decades
    here, there = (
        diagonalise(second_moments(paired(x, y))),
        diagonalise(second_moments(paired(unit * x @ turn, unit * y @ turn))),
    )
    assert_allclose(there.features.lam / unit**2, here.features.lam, rtol=1e-5, atol=1e-6)
    assert_allclose(there.features.rho, here.features.rho, rtol=1e-5, atol=1e-6)
    assert_allclose(there.input_off_diagonal, here.input_off_diagonal, atol=1e-6)
    assert_allclose(there.commutator, here.commutator, rtol=1e-9)
    assert_allclose(there.asymmetry, here.asymmetry, rtol=1e-9)


# The handwritten digits of the theory page


def test_digits_lie_as_far_from_the_theory_as_measured() -> None:
    pixels = np.load(DIGITS)["pixels"]
    moments = second_moments(masked(pixels, keep=0.5))
    basis = diagonalise(moments)
    assert len(basis.features) == 61
    assert basis.notes == ("x does not vary in 3 of the 64 columns, 1, 33, 40; left out of both views.",)
    assert_allclose(basis.commutator, 0.021, atol=0.0005)
    inside, own = moments.input_covariance, np.linalg.eigh(moments.cross_covariance).eigenvectors
    rotated = own.T @ inside @ own
    off = np.linalg.norm(rotated - np.diag(np.diag(rotated))) / np.linalg.norm(rotated)
    assert_allclose(off, 0.15, atol=0.005)
    assert basis.input_off_diagonal**2 + basis.cross_off_diagonal**2 < off**2 / 2
    assert basis.advice is None


@pytest.mark.parametrize("target", ["full", "independent", "complementary"])
def test_digits_take_a_few_dozen_steps(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamics.joint_diagonalisation, "MOST_STEPS", 60)
    pixels = np.load(DIGITS)["pixels"]
    assert len(diagonalise(second_moments(masked(pixels, keep=0.5, target=target))).notes) == 1


# Directions that are not there


@given(SEEDS, st.integers(1, 4), st.integers(5, 9), st.sampled_from([np.float64, np.float32]), st.sampled_from([0.0, 300.0]))
def test_rank_deficient_data_have_as_many_features_as_dimensions(
    seed: int, rank: int, width: int, dtype: npt.DTypeLike, offset: float
) -> None:
    generator = np.random.default_rng(seed)
    span = rotation(seed, width)[:, :rank]
    flat = generator.standard_normal((50, rank))
    moments = second_moments(paired((flat @ span.T + offset).astype(dtype), generator.standard_normal((50, width))))
    basis = diagonalise(moments)
    assert len(basis.features) == rank
    assert basis.directions.shape == (width, rank)
    assert_allclose(np.abs(np.linalg.svd(span.T @ basis.directions)[1]), 1.0, atol=1e-4)
    assert basis.notes == (f"x does not vary beyond rounding in {width - rank} of {width} directions; left out.",)


@given(SEEDS, st.integers(2, 6), st.integers(6, 30))
def test_more_columns_than_rows_leave_one_feature_less_than_rows(seed: int, rows: int, width: int) -> None:
    x = np.random.default_rng(seed).standard_normal((rows, width))
    basis = diagonalise(second_moments(paired(x, 0.5 * x)))
    assert len(basis.features) == rows - 1
    assert_allclose(basis.features.rho, 0.5, rtol=1e-9)


def test_duplicated_columns_count_once() -> None:
    x = np.random.default_rng(0).standard_normal((100, 3))
    basis = diagonalise(second_moments(paired(x[:, [0, 1, 2, 0]], x[:, [0, 1, 2, 0]])))
    assert len(basis.features) == 3
    assert_allclose(basis.features.lam, basis.features.sigma**2)


def test_masks_give_every_column_a_variance_of_its_own() -> None:
    x = np.random.default_rng(0).standard_normal((5, 20))
    assert len(diagonalise(second_moments(masked(x, keep=0.5))).features) == 20
    assert len(diagonalise(second_moments(masked(x, keep=1.0))).features) == 4


def test_what_y_does_where_x_is_still_shows_as_distance() -> None:
    generator = np.random.default_rng(0)
    flat = generator.standard_normal((2000, 1))
    x, y = flat @ [[1.0, 1.0, 0.0]], flat @ [[1.0, 1.0, 3.0]]
    x[:, 2] = x[:, 0]
    basis = diagonalise(second_moments(paired(x, y)))
    assert len(basis.features) == 1
    assert basis.commutator > 0.1
    assert basis.asymmetry > 0.1


def test_variation_that_is_all_rounding_is_refused() -> None:
    x = np.full((10_000, 1), 1.0)
    x[0] = 1 + 2.0**-49
    with pytest.raises(LindynError, match="beyond rounding in any direction"):
        diagonalise(second_moments(paired(x, x)))


def test_an_unfinished_search_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamics.joint_diagonalisation, "MOST_STEPS", 1)
    generator = np.random.default_rng(0)
    moments = second_moments(paired(*generator.standard_normal((2, 30, 6))))
    basis: FeatureBasis = diagonalise(moments)
    assert any("limit of steps" in note for note in basis.notes)
