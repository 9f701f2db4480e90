"""Finite augmentation graphs: images, the views drawn from each, and the exact kernels of their losses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dynamics.checks import whole_number
from dynamics.errors import ParameterError
from dynamics.features import Features, FloatArray

ROUNDING = 1e-9
"""By how much probabilities may miss their sum."""

ZERO = 1e-12
"""Distance from 0 or 1 that is rounding of an eigenvalue."""


@dataclass(frozen=True, eq=False)
class AugmentationGraph:
    """Images x and the views a of each: p(a | x), and p(x).

    Parameters
    ----------
    probabilities
        p(a | x), shape ``(images, views)``, every row a distribution.
    images
        p(x); by default all images alike.

    Raises
    ------
    ParameterError
        If a row or ``images`` is not a distribution, or a view never occurs.
    """

    probabilities: FloatArray
    images: FloatArray

    def __init__(self, probabilities: npt.ArrayLike, images: npt.ArrayLike | None = None) -> None:
        table = np.array(probabilities, dtype=np.float64)
        if table.ndim != 2 or not table.size:
            raise ParameterError("graph", f"an array of shape {table.shape}", "a table, one row an image and one column a view")
        _require_distributions("graph", table)
        weights = np.full(len(table), 1.0 / len(table)) if images is None else np.array(images, dtype=np.float64)
        if weights.shape != (len(table),):
            raise ParameterError("images", f"an array of shape {weights.shape}", f"{len(table)} probabilities, one an image")
        _require_distributions("images", weights[None, :])
        unseen = np.flatnonzero(weights @ table == 0.0)
        if len(unseen):
            raise ParameterError("graph", f"0 throughout column {unseen[0] + 1}", "a table whose every view occurs")
        object.__setattr__(self, "probabilities", table)
        object.__setattr__(self, "images", weights)

    @property
    def views(self) -> FloatArray:
        """p(a), how often each view occurs."""
        occurrence: FloatArray = self.images @ self.probabilities
        return occurrence

    @cached_property
    def kernel(self) -> FloatArray:
        """The kernel of two views of an image, p(a, b) / sqrt(p(a) p(b)), shape ``(views, views)``.

        In the coordinates sqrt(p(a)) f(a) of functions f of views, in which their inner product is plain; its eigenvalues lie
        between 0 and 1, and the constant function has 1.
        """
        joint = (self.probabilities.T * self.images) @ self.probabilities
        root = np.sqrt(self.views)
        kernel: FloatArray = joint / np.outer(root, root)
        return (kernel + kernel.T) / 2.0

    @cached_property
    def spectrum(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues of the kernel, largest first, and its eigenvectors as columns; 0 and 1 are exact."""
        values, vectors = np.linalg.eigh(self.kernel)
        exact = np.select([np.abs(values) < ZERO, np.abs(values - 1.0) < ZERO], [0.0, 1.0], values)
        return exact[::-1], vectors[:, ::-1]

    def features(self) -> Features:
        """One feature an eigenfunction, of unit variance, its rho the eigenvalue; the first, of rho 1, is the constant."""
        values = self.spectrum[0]
        return Features(lam=values, sigma=np.ones(len(values)))

    def pair_distance(self, functions: FloatArray) -> float:
        """Half the expected squared distance of two views of an image; functions of views as columns."""
        functions = np.asarray(functions, dtype=np.float64)
        weighted = np.sqrt(self.views)[:, None] * functions
        return float(np.trace(weighted.T @ (weighted - self.kernel @ weighted)))

    def distance_from_mean(self, functions: FloatArray, count: int) -> float:
        """Expected sum of the squared distances of m views of an image from their mean: the practical loss of several views.

        By the variance within images; it is m - 1 times `pair_distance`.
        """
        m = whole_number("views", count, 2)
        functions = np.asarray(functions, dtype=np.float64)
        means = self.probabilities @ functions
        within = self.probabilities @ functions**2 - means**2
        return float((m - 1) * (self.images @ within).sum())


def four_nodes(same: float, first: float, second: float, both: float) -> FloatArray:
    """The toy graph of two binary attributes: weight of a node to itself, to those that differ in one attribute, and in both.

    Its eigenvalues are the sums of the weights with signs by attribute: + + + +, + + - -, + - + -, + - - +.
    """
    rows = [
        [same, first, second, both],
        [first, same, both, second],
        [second, both, same, first],
        [both, second, first, same],
    ]
    return np.array(rows, dtype=np.float64)


def _require_distributions(name: str, rows: FloatArray) -> None:
    if not (np.isfinite(rows).all() and (rows >= 0.0).all()):
        row, column = np.argwhere(~(np.isfinite(rows) & (rows >= 0.0)))[0]
        where = f" in row {row + 1}, column {column + 1}"
        raise ParameterError(name, f"{rows[row, column]}{where}", "a probability, 0 or more")
    total = rows.sum(axis=1)
    wrong = np.flatnonzero(np.abs(total - 1.0) > ROUNDING)
    if len(wrong):
        place = f" in row {wrong[0] + 1}" if len(rows) > 1 else ""
        raise ParameterError(name, f"a table that sums to {total[wrong[0]]:.6g}{place}", "stochastic: every row sums to 1")
