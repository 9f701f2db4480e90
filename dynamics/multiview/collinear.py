"""Collapse to collinear features: when all outputs of a normalised projector stay on the leading mode."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dynamics.checks import whole_number
from dynamics.errors import ParameterError
from dynamics.multiview.water_filling import eigenvalues_of


def collinear_threshold(kappa: npt.ArrayLike, width: int) -> float:
    """Beta below which all features on the lowest mode are a stable minimum: collapse to collinear features."""
    lowest, second = _lowest(kappa)
    return float((second - lowest) / (2.0 * whole_number("width", width, 1)))


def collinear_escape(kappa: npt.ArrayLike, *, beta: float, width: int) -> float:
    """Rate at which features leave the collinear state for the second mode; negative where it is stable."""
    lowest, second = _lowest(kappa)
    return float(4.0 * beta * width - 2.0 * (second - lowest))


def collinear_threshold_of_barlow_twins(rho: npt.ArrayLike, width: int) -> float:
    """The same threshold for Barlow Twins on outputs of unit variance, as batch normalisation leaves them.

    ``rho`` are the eigenvalues of the kernel without that of the constant; only the two largest matter, in (0, 1].
    """
    d = whole_number("width", width, 1)
    values = np.sort(np.atleast_1d(np.asarray(rho, dtype=np.float64)))[::-1]
    if len(values) < 2 or not (0.0 < values[0] <= 1.0 and values[1] >= 0.0):
        raise ParameterError("rho", rho, "two numbers or more, the largest above 0 and at most 1, the second not negative")
    first, second = values[:2]
    return float((1.0 - first) * (first - second) / (first * ((d - 1) * first + second)))


def _lowest(kappa: npt.ArrayLike) -> tuple[float, float]:
    values = np.sort(eigenvalues_of(kappa))
    if len(values) < 2:
        raise ParameterError("kappa", kappa, "two eigenvalues or more, for one mode to be left for another")
    return float(values[0]), float(values[1])
