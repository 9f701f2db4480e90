"""The features of paired views: the basis that diagonalises Sxx and Syx best, and how far the views are from the theory.

The theory of `critical_times` is exact where Sxx and the symmetric Syx share an orthogonal eigenbasis. Data never do quite:
`diagonalise` finds the closest basis and says beside the features how far it is off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.errors import LindynError
from dynamics.features import Features, FloatArray
from dynamics.joint_diagonalisation import joint_diagonaliser, of_unit_norm
from dynamics.views import SecondMoments

LARGE = 0.1
"""Distance from the theory above which `FeatureBasis.advice` speaks."""


@dataclass(frozen=True, eq=False)
class FeatureBasis:
    """Features of paired views in the basis that diagonalises Sxx and the symmetric part of Syx best.

    Attributes
    ----------
    features
        lambda_i = u_i' Syx u_i and sigma_i^2 = u_i' Sxx u_i, by decreasing lambda, named from 1.
    directions
        Orthonormal u_i as columns, shape ``(kept columns, features)``; the largest entry of each is positive.
    moments
        What was diagonalised.
    input_off_diagonal, cross_off_diagonal
        Off-diagonal share of the Frobenius norm of Sxx and of the symmetric part of Syx in this basis, 0 to 1.
    commutator
        ``|Sxx Syx - Syx Sxx| / (|Sxx| |Syx|)`` in Frobenius norms, whatever the basis.
    asymmetry
        ``|Syx - Syx'| / |Syx + Syx'|``; 0 if Syx is symmetric, ``inf`` if it is antisymmetric.
    leakage
        For each feature the share of the norm of its row of Sxx or of Syx, the larger of the two, that lies off the diagonal:
        how strongly it is coupled to the others, 0 to 1.
    notes
        One sentence for each thing that was left out or left unfinished.
    """

    features: Features
    directions: FloatArray
    moments: SecondMoments
    input_off_diagonal: float
    cross_off_diagonal: float
    commutator: float
    asymmetry: float
    leakage: FloatArray
    notes: tuple[str, ...]

    @property
    def advice(self) -> str | None:
        """One sentence if the views are far from the theory in any respect, else None."""
        distances = {
            "off-diagonal share of Sxx": self.input_off_diagonal,
            "off-diagonal share of Syx": self.cross_off_diagonal,
            "commutator of Sxx and Syx": self.commutator,
            "asymmetry of Syx": self.asymmetry,
        }
        large = [f"{name} {value:.2g}" for name, value in distances.items() if value > LARGE]
        if not large:
            return None
        return (
            f"These views are far from the theory, in which features do not mix ({', '.join(large)}): "
            "take times and order as a guide and check them by simulation."
        )


def diagonalise(moments: SecondMoments) -> FeatureBasis:
    """The features of paired views, in the orthogonal basis that best diagonalises Sxx and the symmetric part of Syx together.

    Both matrices count equally, each divided by its Frobenius norm; see `joint_diagonaliser`. Directions in which the variance
    of x is rounding (rank-deficient data, or more columns than rows) have no rho and are left out, with a note. If columns
    differ by many orders of magnitude in scale, standardise them first: the small ones look like rounding.

    Raises
    ------
    LindynError
        If x does not vary beyond rounding in any direction.
    """
    input_covariance, cross_covariance = moments.input_covariance, moments.cross_covariance
    span = _span(moments)
    inside, across = span.T @ input_covariance @ span, span.T @ cross_covariance @ span
    rotation, finished = joint_diagonaliser(inside, (across + across.T) / 2)
    directions = _in_order(span @ rotation, cross_covariance)
    inside, across = (directions.T @ moment @ directions for moment in (input_covariance, cross_covariance))
    notes = (*moments.notes, *_null_note(*span.shape), *(() if finished else (_UNFINISHED,)))
    return FeatureBasis(
        Features(lam=np.diagonal(across), sigma=np.sqrt(np.diagonal(inside))),
        directions,
        moments,
        input_off_diagonal=off_diagonal_share(inside),
        cross_off_diagonal=off_diagonal_share(across + across.T),
        commutator=_commutator(input_covariance, cross_covariance),
        asymmetry=_asymmetry(cross_covariance),
        leakage=np.maximum(_row_shares(inside), _row_shares(across)),
        notes=notes,
    )


_UNFINISHED = "The search for the basis ended at its limit of steps; strongly mixed features may still turn."


def _span(moments: SecondMoments) -> FloatArray:
    """Orthonormal columns that span the directions in which x varies beyond the rounding of eigenvalues and of its entries."""
    covariance = moments.input_covariance
    variances, directions = np.linalg.eigh(covariance)
    solver = 8 * len(variances) * float(np.finfo(np.float64).eps) * variances[-1]
    entries = moments.precision**2 * (moments.means[0] ** 2 + np.diagonal(covariance))
    varies = variances > np.maximum(solver, entries @ directions**2)
    if not varies.any():
        raise LindynError("x does not vary beyond rounding in any direction, so it has no features.")
    return np.eye(len(variances)) if varies.all() else np.ascontiguousarray(directions[:, varies])


def _null_note(columns: int, features: int) -> tuple[str, ...]:
    if features == columns:
        return ()
    null = columns - features
    return (f"x does not vary beyond rounding in {null} of {columns} directions; left out.",)


def _in_order(directions: FloatArray, cross_covariance: FloatArray) -> FloatArray:
    """The directions by decreasing lambda, the first of the largest entries of each positive."""
    lam = np.einsum("ji,jk,ki->i", directions, cross_covariance, directions, optimize=True)
    ordered = directions[:, np.argsort(-lam, kind="stable")]
    size = np.abs(ordered)
    first_largest = np.argmax(size > (1 - 1e-8) * size.max(axis=0), axis=0)
    signed: FloatArray = ordered * np.sign(ordered[first_largest, np.arange(ordered.shape[1])])
    return signed


def _off_diagonal(matrix: FloatArray) -> FloatArray:
    return matrix - np.diag(np.diagonal(matrix))


def off_diagonal_share(matrix: FloatArray) -> float:
    """Share of the Frobenius norm that lies off the diagonal, 0 to 1."""
    norm = float(np.linalg.norm(matrix))
    return float(np.linalg.norm(_off_diagonal(matrix))) / norm if norm else 0.0


def _row_shares(matrix: FloatArray) -> FloatArray:
    norms = np.linalg.norm(matrix, axis=1)
    shares: FloatArray = np.linalg.norm(_off_diagonal(matrix), axis=1) / np.where(norms > 0, norms, 1.0)
    return shares


def _commutator(first: FloatArray, second: FloatArray) -> float:
    first, second = of_unit_norm(first), of_unit_norm(second)
    return float(np.linalg.norm(first @ second - second @ first))


def _asymmetry(matrix: FloatArray) -> float:
    difference, total = float(np.linalg.norm(matrix - matrix.T)), float(np.linalg.norm(matrix + matrix.T))
    if difference == 0:
        return 0.0
    return difference / total if total else float("inf")
