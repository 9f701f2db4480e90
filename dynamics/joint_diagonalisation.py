"""The orthogonal basis in which two symmetric matrices come closest to diagonal together.

Each matrix is divided by its Frobenius norm; what is minimised is the sum of their squared off-diagonal entries (Cardoso and
Souloumiac 1996, Jacobi angles for simultaneous diagonalisation). Their closed-form angle for one pair of directions is
computed here for all pairs at once, and the steps are made conjugate: when the matrices do not commute, sweeps over the pairs
one after the other converge only linearly, and this takes a small part of their time.
"""

from __future__ import annotations

import numpy as np

from dynamics.features import FloatArray

MOST_STEPS = 500
"""Steps after which the search ends unfinished; a few dozen are the rule."""

TOLERANCE = 1e-14
"""The search ends when a step is expected to lower the off-diagonal mass by less than this share of it."""

ROUNDING = float(np.finfo(np.float64).eps)


def joint_diagonaliser(first: FloatArray, second: FloatArray) -> tuple[FloatArray, bool]:
    """The best common basis of two symmetric matrices of one shape, as columns, and whether the search came to its end.

    Matrices that commute come out diagonal to rounding, degenerate eigenvalues included. For others the result is a local
    minimum, at or below the off-diagonal mass in the eigenbasis of either matrix. Signs and order are arbitrary; in a plane
    in which both matrices are multiples of the identity so is the basis. A matrix of zeros has no say.
    """
    pair = np.stack([of_unit_norm(first), of_unit_norm(second)])
    basis = _best_eigenbasis(pair)
    matrices = basis.T @ pair @ basis
    gradient, angles, direction = (np.zeros(first.shape) for _ in range(3))
    for _ in range(MOST_STEPS):
        previous, before = gradient, angles
        gradient, angles = _gradient_and_angles(matrices)
        expected = -float(np.vdot(gradient, angles))
        if expected <= TOLERANCE * _mass(_off_diagonal(matrices)) + len(first) * (16 * ROUNDING) ** 2:
            return basis, True
        direction = _conjugate(direction, gradient, angles, previous, before)
        step = _rotate_along(direction, matrices)
        if step is None:
            return basis, True
        rotation, matrices = step
        basis = basis @ rotation
    return basis, False


def _best_eigenbasis(pair: FloatArray) -> FloatArray:
    """The eigenvectors of the sum, unless those of either matrix or of a generic combination start lower.

    A generic combination of commuting matrices is degenerate only where both are, so its eigenvectors serve both.
    """
    combinations = (pair[0] + pair[1], pair[0], pair[1], pair[0] + pair[1] / np.sqrt(2.0))
    candidates = [np.linalg.eigh(combination).eigenvectors for combination in combinations]
    return min(candidates, key=lambda basis: _mass(_off_diagonal(basis.T @ pair @ basis)))


def _gradient_and_angles(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Gradient of the off-diagonal mass in the rotation of every pair of directions, and the pair's own best angle.

    Both antisymmetric. Turning the pair (i, j) alone moves (m_ii - m_jj, 2 m_ij) of each matrix on a circle; the best angle
    brings the sum of their squares to the first entry. Pairs with nothing but rounding in either entry stay.
    """
    gap = _gaps(matrices)
    sine, cosine = 4 * (gap * matrices).sum(axis=0), (gap**2 - 4 * matrices**2).sum(axis=0)
    angles = np.where(np.hypot(sine, cosine) > (8 * ROUNDING) ** 2, -np.arctan2(sine, cosine) / 4, 0.0)
    upper = np.triu(angles, 1)
    return sine, upper - upper.T


def _conjugate(
    direction: FloatArray, gradient: FloatArray, angles: FloatArray, previous: FloatArray, before: FloatArray
) -> FloatArray:
    """Polak and Ribiere's direction with the angles as the preconditioned descent; the angles alone where it leads uphill."""
    last = float(np.vdot(previous, before))
    memory = max(0.0, float(np.vdot(gradient - previous, angles)) / last) if last else 0.0
    conjugate = angles + memory * direction
    return conjugate if np.vdot(gradient, conjugate) < 0 else angles


def _rotate_along(direction: FloatArray, matrices: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Rotation exp(t direction), in its Cayley form, at the best t to second order, and the matrices after it.

    None if no t lowers the mass beyond rounding.
    """
    mass, identity = _mass(_off_diagonal(matrices)), np.eye(len(direction))
    slack = 16 * ROUNDING * (np.sqrt(mass) + 16 * ROUNDING)
    step = _newton_step(direction, matrices)
    for _ in range(20):
        half = step / 2 * direction
        rotation = np.asarray(np.linalg.solve(identity - half, identity + half), dtype=np.float64)
        rotated = rotation.T @ matrices @ rotation
        if _mass(_off_diagonal(rotated)) <= mass + slack:
            return rotation, rotated
        step /= 4
    return None


def _newton_step(direction: FloatArray, matrices: FloatArray) -> float:
    """Where the parabola through mass, slope and curvature at t = 0 is lowest; no pair turns by more than 45 degrees.

    Along M(t) = exp(-t K) M exp(t K), M' = M K - K M and M'' = M' K - K M'; with E the off-diagonal part of M the mass |E|^2
    has slope 2 <E, M'> and curvature 2 |off-diagonal M'|^2 - 4 <E K, M'>, free of cancellation where E is small.
    """
    rest = _off_diagonal(matrices)
    product = rest @ direction
    change = _gaps(matrices) * direction + product + np.swapaxes(product, 1, 2)
    slope = 2 * float(np.vdot(rest, change))
    curvature = 2 * _mass(_off_diagonal(change)) - 4 * float(np.vdot(product, change))
    limit = np.pi / 4 / float(np.abs(direction).max())
    return min(-slope / curvature if curvature > 0 else 1.0, limit)


def _gaps(matrices: FloatArray) -> FloatArray:
    """m_ii - m_jj of each matrix."""
    diagonal = np.diagonal(matrices, axis1=1, axis2=2)
    return diagonal[:, :, None] - diagonal[:, None, :]


def _off_diagonal(matrices: FloatArray) -> FloatArray:
    rest = matrices.copy()
    np.einsum("kii->ki", rest)[...] = 0.0
    return rest


def _mass(entries: FloatArray) -> float:
    return float(np.vdot(entries, entries))


def of_unit_norm(matrix: FloatArray) -> FloatArray:
    """The matrix divided by its Frobenius norm; zeros stay zeros."""
    largest = float(np.abs(matrix).max())
    if largest == 0:
        return matrix
    scaled = matrix / largest
    return scaled / float(np.linalg.norm(scaled))
