"""Barlow Twins without a penalty, beta = 0: every output by itself, exactly.

An output z in the coordinates of the modes follows dz_k/dt = 4 gamma_k h z_k with h = 1 - sum gamma z^2, so that in its own
clock, d tau = 4 h dt, it is z_k(0) e^(gamma_k tau): all modes obey one power law, and one of negative strength does not vanish.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dynamics.errors import ParameterError
from dynamics.features import FloatArray


def unpenalised_limit(strength: npt.ArrayLike, start: npt.ArrayLike) -> FloatArray:
    """Where an output ends: z_k(0) e^(gamma_k tau), with tau the root of sum gamma z(0)^2 e^(2 gamma tau) = 1.

    Outputs do not see each other, so that a wide projector repeats what a narrow one learns.

    Parameters
    ----------
    strength
        Gamma of every mode, of either sign; the largest positive.
    start
        z_k(0), shape ``(modes,)``; the mode of a positive strength is not all 0.

    Raises
    ------
    ParameterError
        If no mode with a positive strength starts away from 0.
    """
    from scipy.optimize import brentq

    gamma, z = (np.array(values, dtype=np.float64) for values in (strength, start))
    moving = z != 0.0
    if gamma.shape != z.shape or not (gamma[moving] > 0.0).any():
        raise ParameterError("start", start, "as many numbers as strengths, not 0 in every mode of positive strength")
    weight, speed = gamma[moving] * z[moving] ** 2, 2.0 * gamma[moving]

    def excess(tau: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.arctan((weight * np.exp(speed * tau)).sum()) - np.pi / 4.0)

    reach = 1.0 / speed.max()
    while excess(-reach) > 0.0 or excess(reach) < 0.0:
        reach *= 2.0
    tau = brentq(excess, -reach, reach, xtol=1e-14, rtol=4.0 * np.finfo(np.float64).eps)
    ended: FloatArray = z * np.exp(gamma * tau)
    return ended


def tilt(strength: npt.ArrayLike, start: npt.ArrayLike) -> float:
    """z_2 / z_1 at the end for a small start: (z_2(0) / z_1(0)) (z_1(0) sqrt(gamma_1))^(1 - gamma_2 / gamma_1).

    How far an output leans from the first of two modes towards the second; right as z(0) tends to 0.
    """
    (first, second), (z_first, z_second) = np.asarray(strength, dtype=np.float64), np.asarray(start, dtype=np.float64)
    return float(z_second / z_first * (abs(z_first) * np.sqrt(first)) ** (1.0 - second / first))
