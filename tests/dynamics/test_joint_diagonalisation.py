"""The common basis of two symmetric matrices: exact where there is one, of least off-diagonal mass where there is none."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import dynamics.joint_diagonalisation
from dynamics.features import FloatArray
from dynamics.joint_diagonalisation import joint_diagonaliser

SEEDS = st.integers(0, 2**32)


def rotation(generator: np.random.Generator, size: int) -> FloatArray:
    return np.linalg.qr(generator.standard_normal((size, size)))[0]


def symmetric(generator: np.random.Generator, size: int) -> FloatArray:
    matrix = generator.standard_normal((size, size))
    return matrix + matrix.T


def with_eigenvalues(basis: FloatArray, eigenvalues: npt.NDArray[Any]) -> FloatArray:
    matrix = (basis * eigenvalues) @ basis.T
    result: FloatArray = (matrix + matrix.T) / 2
    return result


def mass(first: FloatArray, second: FloatArray, basis: FloatArray) -> float:
    """What the basis is to minimise, from its definition."""
    total = 0.0
    for matrix in (first, second):
        inside = basis.T @ matrix @ basis
        total += float(np.sum((inside - np.diag(np.diag(inside))) ** 2) / np.sum(matrix**2))
    return total


def turned(basis: FloatArray, pair: tuple[int, int], angle: float) -> FloatArray:
    result = basis.copy()
    i, j = pair
    result[:, i] = np.cos(angle) * basis[:, i] + np.sin(angle) * basis[:, j]
    result[:, j] = np.cos(angle) * basis[:, j] - np.sin(angle) * basis[:, i]
    return result


def by_cyclic_sweeps(first: FloatArray, second: FloatArray, basis: FloatArray, sweeps: int) -> FloatArray:
    """Cardoso and Souloumiac's algorithm as published: the closed-form angle, one pair after the other."""
    unit = [matrix / np.linalg.norm(matrix) for matrix in (first, second)]
    for _ in range(sweeps):
        for i, j in itertools.combinations(range(len(first)), 2):
            inside = [basis[:, [i, j]].T @ matrix @ basis[:, [i, j]] for matrix in unit]
            h = np.array([[m[0, 0] - m[1, 1], m[0, 1] + m[1, 0]] for m in inside])
            on, off = h[:, 0] @ h[:, 0] - h[:, 1] @ h[:, 1], 2 * h[:, 0] @ h[:, 1]
            basis = turned(basis, (i, j), 0.5 * np.arctan2(off, on + np.hypot(on, off)))
    return basis


# Matrices that commute


@given(SEEDS, st.integers(1, 12))
def test_a_planted_basis_is_recovered(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    planted = rotation(generator, size)
    values = generator.permutation(np.arange(1.0, size + 1)), generator.normal(size=size)
    basis, finished = joint_diagonaliser(*(with_eigenvalues(planted, value) for value in values))
    overlap = np.abs(planted.T @ basis)
    assert finished
    assert_allclose(np.sort(overlap.ravel())[-size:], 1.0, atol=1e-12)
    assert_allclose(np.sort(overlap.ravel())[:-size], 0.0, atol=1e-11)


@given(SEEDS, st.integers(1, 12), st.integers(1, 3), st.floats(-8, 8))
def test_degenerate_commuting_matrices_come_out_diagonal(seed: int, size: int, levels: int, decades: float) -> None:
    generator = np.random.default_rng(seed)
    planted = rotation(generator, size)
    first, second = (with_eigenvalues(planted, generator.integers(-levels, levels + 1, size) * 1.0) for _ in range(2))
    first, second = first + np.eye(size) * (levels + 1), second * 10.0**decades
    basis, _ = joint_diagonaliser(first, second)
    assert_allclose(basis.T @ basis, np.eye(size), atol=1e-13)
    for matrix in (first, second):
        inside = basis.T @ matrix @ basis
        assert_allclose(inside - np.diag(np.diag(inside)), 0.0, atol=1e-12 * float(np.linalg.norm(matrix)))


@pytest.mark.parametrize("size", [2, 3, 6])
def test_matrices_whose_sum_is_degenerate_come_out_diagonal(size: int) -> None:
    generator = np.random.default_rng(size)
    planted = rotation(generator, size)
    values = np.arange(size) - (size - 1) / 2
    first, second = with_eigenvalues(planted, values), with_eigenvalues(planted, -values)
    basis, _ = joint_diagonaliser(first, second)
    assert mass(first, second, basis) < 1e-24


def test_points_without_slope_are_no_trap() -> None:
    # Axes that are eigenvectors of the first matrix, of the second and of their sum, one plane each, and of both in none.
    level, rising, falling = 2 * np.eye(2), np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[2.0, -1.0], [-1.0, 2.0]])
    first, second = np.zeros((6, 6)), np.zeros((6, 6))
    for plane, (one, other) in enumerate([(level, rising), (rising, level), (rising, falling)]):
        where = slice(2 * plane, 2 * plane + 2)
        first[where, where], second[where, where] = one, other
    for size in (2, 4, 6):
        part = slice(6 - size, 6)
        basis, _ = joint_diagonaliser(first[part, part], second[part, part])
        assert mass(first[part, part], second[part, part], basis) < 1e-24


def test_multiples_of_the_identity_and_zeros_have_no_say() -> None:
    matrix = symmetric(np.random.default_rng(0), 5)
    for silent in (np.zeros((5, 5)), 3.0 * np.eye(5)):
        for pair in ((matrix, silent), (silent, matrix)):
            basis, finished = joint_diagonaliser(*pair)
            inside = basis.T @ matrix @ basis
            assert finished
            assert_allclose(inside - np.diag(np.diag(inside)), 0.0, atol=1e-12)


# Matrices that do not


@given(SEEDS, st.integers(2, 10))
def test_no_eigenbasis_has_less_off_diagonal_mass(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = symmetric(generator, size), symmetric(generator, size)
    basis, finished = joint_diagonaliser(first, second)
    assert finished
    assert_allclose(basis.T @ basis, np.eye(size), atol=1e-13)
    for eigenbasis in (np.linalg.eigh(matrix).eigenvectors for matrix in (first, second)):
        assert mass(first, second, basis) <= mass(first, second, eigenbasis) + 1e-14


@given(SEEDS, st.integers(2, 6))
def test_no_turn_of_any_pair_lowers_the_mass(seed: int, size: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = symmetric(generator, size), symmetric(generator, size)
    basis, _ = joint_diagonaliser(first, second)
    least = mass(first, second, basis)
    for pair in itertools.combinations(range(size), 2):
        for angle in np.linspace(-np.pi / 4, np.pi / 4, 41):
            assert mass(first, second, turned(basis, pair, angle)) >= least - 1e-12


@given(SEEDS)
def test_in_the_plane_the_minimum_is_global(seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = symmetric(generator, 2), symmetric(generator, 2)
    basis, _ = joint_diagonaliser(first, second)
    everywhere = [mass(first, second, turned(np.eye(2), (0, 1), angle)) for angle in np.linspace(0, np.pi / 2, 200)]
    assert mass(first, second, basis) <= min(everywhere) + 1e-14


@given(SEEDS, st.integers(2, 8), st.floats(0.01, 0.1))
def test_nearly_commuting_matrices_end_where_cyclic_sweeps_end(seed: int, size: int, noise: float) -> None:
    generator = np.random.default_rng(seed)
    planted = rotation(generator, size)
    first, second = (with_eigenvalues(planted, generator.permutation(size) * 1.0) for _ in range(2))
    second = second + noise * symmetric(generator, size)
    basis, _ = joint_diagonaliser(first, second)
    assert_allclose(mass(first, second, basis), mass(first, second, by_cyclic_sweeps(first, second, planted, 30)), rtol=1e-7)


@given(SEEDS, st.integers(2, 8), st.floats(-5, 5))
def test_the_basis_turns_with_the_space_and_does_not_see_units(seed: int, size: int, decades: float) -> None:
    generator = np.random.default_rng(seed)
    planted, turn = rotation(generator, size), rotation(generator, size)
    first, second = (with_eigenvalues(planted, generator.permutation(size) * 1.0) for _ in range(2))
    second = second + 0.05 * symmetric(generator, size)
    here, _ = joint_diagonaliser(first, second)
    there, _ = joint_diagonaliser(10.0**decades * turn @ first @ turn.T, turn @ second @ turn.T)
    overlap = np.abs(here.T @ turn.T @ there)
    assert_allclose(overlap.max(axis=0), 1.0, atol=1e-8)
    assert_allclose(np.sort(overlap, axis=0)[:-1], 0.0, atol=1e-5)


def test_a_search_cut_short_says_so_and_has_not_gone_uphill(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(1)
    first, second = symmetric(generator, 20), symmetric(generator, 20)
    masses = []
    for steps in (0, 1, 2, 5, 20, 500):
        monkeypatch.setattr(dynamics.joint_diagonalisation, "MOST_STEPS", steps)
        basis, finished = joint_diagonaliser(first, second)
        assert finished == (steps == 500)
        masses.append(mass(first, second, basis))
    assert masses == sorted(masses, reverse=True)
    assert masses[0] > 1.2 * masses[-1]


@pytest.mark.slow
@pytest.mark.timed
def test_512_directions_are_within_reach() -> None:
    generator = np.random.default_rng(2)
    factor = generator.standard_normal((512, 2000)) * np.arange(1, 513)[:, None] ** -0.5
    first = rotation(generator, 512) @ factor
    first = first @ first.T / 2000 + np.diag(generator.uniform(0.01, 0.1, 512))
    second = first + np.diag(np.diag(first))
    basis, finished = joint_diagonaliser(first, second)
    assert finished
    assert_allclose(basis.T @ basis, np.eye(512), atol=1e-12)
    assert mass(first, second, basis) < mass(first, second, np.linalg.eigh(first).eigenvectors)
