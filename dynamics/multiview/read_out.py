"""How well slow modes are read from normalised features trained from random starts, and which beta is best for that.

A ridge read-out with noise proportional to the width scores the mean share of the slow modes, those of least kappa, that it
recovers. Of S = sum_i f_i f_i' alone: the diagonal of S (S + noise d)^-1, as F (F'F + noise d)^-1 F' is the same matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt

from dynamics.checks import check_positive, whole_number
from dynamics.errors import ParameterError
from dynamics.features import FloatArray
from dynamics.multiview.water_filling import water_filling

Score = Callable[[FloatArray], FloatArray]

TRIED = 9
"""Values of beta that are scored at once; each round of a search looks between the neighbours of the best of them."""

FALL = 1e-3
"""Share of the highest score that must be lost at both ends of a range for a summit within it."""


@dataclass(frozen=True, eq=False)
class ReadOut:
    """The read-out of some slow modes.

    Attributes
    ----------
    kappa
        Invariance eigenvalue of every mode, 0 or more, in rising order.
    slow
        How many modes are to be read, those of least kappa.
    noise
        Ridge penalty over the width.
    """

    kappa: FloatArray
    slow: int
    noise: float

    def __post_init__(self) -> None:
        values = np.atleast_1d(np.array(self.kappa, dtype=np.float64))
        if values.ndim != 1 or not np.isfinite(values).all() or (values < 0.0).any() or (np.diff(values) < 0.0).any():
            raise ParameterError("kappa", self.kappa, "a rising list of numbers, 0 or more")
        object.__setattr__(self, "kappa", values)
        whole_number("slow", self.slow, 1, len(values))
        check_positive("noise", self.noise)

    def predicted(self, beta: npt.ArrayLike, width: int) -> FloatArray:
        """Score, in (0, 1), of the minimum that `water_filling` fills, one entry a beta."""
        energy = np.array([water_filling(self.kappa, beta=one, width=width).energy for one in _betas(beta)])[:, : self.slow]
        score: FloatArray = (energy / (energy + self.noise * width)).mean(axis=1)
        return score

    def trained(self, beta: npt.ArrayLike, width: int, *, steps: int, seed: int) -> FloatArray:
        """Score of features that are trained from a random start, one entry a beta."""
        gram = trained_gram(self.kappa, beta, width=width, steps=steps, seed=seed)
        read = np.linalg.solve(gram + self.noise * width * np.eye(len(self.kappa)), gram)
        score: FloatArray = np.diagonal(read, axis1=1, axis2=2)[:, : self.slow].mean(axis=1)
        return score


def trained_gram(kappa: npt.ArrayLike, beta: npt.ArrayLike, *, width: int, steps: int, seed: int) -> FloatArray:
    """S = F F' of unit features after gradient descent on sum_i f_i' K f_i + beta sum_(i != j) (f_i' f_j)^2.

    Each step goes down the gradient and back to unit norm, for all beta at once, from one Gaussian start. The step is one over
    the curvature at the minimum, 2 (kappa_max - kappa_min) + 4 (level - kappa_min). A few hundred steps settle all modes but
    those whose kappa is at the water level; projectors narrower than the modes they could fill are slower.

    Returns
    -------
    FloatArray
        Shape ``(len(beta), modes, modes)``.
    """
    values, betas = np.atleast_1d(np.array(kappa, dtype=np.float64)), _betas(beta)
    whole_number("steps", steps, 1)
    generator = np.random.default_rng(whole_number("seed", seed, 0))
    level = np.array([water_filling(values, beta=one, width=width).level for one in betas])
    step = 0.5 / (np.ptp(values) + 2.0 * (level - values.min()))
    pull = (4.0 * betas * step)[:, None, None]
    plain = (1.0 + pull) * np.eye(len(values)) - 2.0 * step[:, None, None] * np.diag(values)
    features = _unit(np.tile(generator.standard_normal((len(values), width)), (len(betas), 1, 1)))
    for _ in range(steps):
        features = _unit((plain - pull * _gram(features)) @ features)
    return _gram(features)


@dataclass(frozen=True)
class BestBeta:
    """The beta of the highest score in a range.

    Attributes
    ----------
    interior
        Whether the score falls towards both ends of the range, by a thousandth. If not, it is flat or still rises there, and
        the beta means little.
    """

    beta: float
    score: float
    interior: bool


def best_beta(score: Score, *, lowest: float, highest: float, tolerance: float = 0.01) -> BestBeta:
    """Search a range for the beta of the highest score, taken to have one summit, as finely as ``tolerance`` in ln beta.

    Raises
    ------
    ParameterError
        If the ends are not positive and in ascending order, or ``tolerance`` is not positive.
    """
    for name, value in (("lowest", lowest), ("highest", highest), ("tolerance", tolerance)):
        check_positive(name, value)
    if not lowest < highest:
        raise ParameterError("highest", highest, f"above {lowest:g}, the lowest beta")
    low, high, ends = lowest, highest, score(np.array([lowest, highest]))
    while True:
        tried = np.geomspace(low, high, TRIED)
        found = score(tried)
        best = int(np.argmax(found))
        if log(high / low) <= tolerance * (TRIED - 1):
            return BestBeta(float(tried[best]), float(found[best]), bool(ends.max() < (1.0 - FALL) * found[best]))
        low, high = tried[max(best - 1, 0)], tried[min(best + 1, TRIED - 1)]


def _gram(features: FloatArray) -> FloatArray:
    gram: FloatArray = features @ features.swapaxes(-1, -2)
    return gram


def _unit(features: FloatArray) -> FloatArray:
    unit: FloatArray = features / np.sqrt(np.einsum("...kd,...kd->...d", features, features))[..., None, :]
    return unit


def _betas(beta: npt.ArrayLike) -> FloatArray:
    return np.atleast_1d(np.array(beta, dtype=np.float64))
