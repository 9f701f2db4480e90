"""Normalised features: how many modes a projector of a width fills, and how evenly.

With every feature of unit norm, the loss sum_i f_i' K f_i + beta sum_(i != j) (f_i' f_j)^2 depends on S = sum_i f_i f_i' alone,
and its minimum fills modes to a common water level: S_k = (level - kappa_k) / (2 beta).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.checks import check_positive, whole_number
from dynamics.errors import ParameterError
from dynamics.features import FloatArray


@dataclass(frozen=True, eq=False)
class Filling:
    """The minimum over features of unit norm.

    Attributes
    ----------
    energy
        S_k of every mode, in the order given; 0 where a mode is not active. The sum is the width.
    level
        The water level; a mode is active if its kappa is below it.
    active
        How many modes are.
    """

    energy: FloatArray
    level: float
    active: int


def water_filling(kappa: npt.ArrayLike, *, beta: float, width: int) -> Filling:
    """Fill modes of invariance eigenvalues kappa with the energy of ``width`` unit features.

    S over the width, and the modes that are active, depend on beta and the width only by their product, as long as the width is
    at least the number of active modes: the best beta is one over the width, and a small projector loses nothing.

    Raises
    ------
    ParameterError
        If ``beta`` is not positive or ``width`` is not a whole number from 1.
    """
    check_positive("beta", beta)
    whole_number("width", width, 1)
    values = eigenvalues_of(kappa)
    order = np.argsort(values, kind="stable")
    rising = values[order]
    most = min(width, len(values))
    count = np.arange(1, most + 1)
    levels = (2.0 * beta * width + np.cumsum(rising)[:most]) / count
    active = int(count[levels > rising[:most]][-1])
    energy = np.zeros(len(values))
    energy[order[:active]] = (levels[active - 1] - rising[:active]) / (2.0 * beta)
    return Filling(energy, float(levels[active - 1]), active)


def activation(kappa: npt.ArrayLike) -> FloatArray:
    """The product of beta and the width from which on each mode is active: half the sum of its distances above lower modes."""
    values = eigenvalues_of(kappa)
    order = np.argsort(values, kind="stable")
    rising = values[order]
    thresholds = np.empty(len(values))
    thresholds[order] = 0.5 * (np.arange(len(values)) * rising - np.concatenate([[0.0], np.cumsum(rising)[:-1]]))
    return thresholds


def eigenvalues_of(kappa: npt.ArrayLike) -> FloatArray:
    """The eigenvalues as an array; raise unless they are finite and not negative."""
    values = np.atleast_1d(np.array(kappa, dtype=np.float64))
    if values.ndim != 1 or not np.isfinite(values).all() or (values < 0.0).any():
        raise ParameterError("kappa", kappa, "a list of numbers, 0 or more")
    return values
