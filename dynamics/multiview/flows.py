"""The losses themselves, by gradient flow of whole matrices: what the closed forms are compared with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dynamics.errors import LindynError
from dynamics.features import FloatArray
from dynamics.intrinsic_time import Method

Gradient = Callable[[FloatArray], FloatArray]


def barlow_twins_flow(strength: npt.ArrayLike, *, beta: float) -> Gradient:
    """dZ/dt of Barlow Twins in the coordinates of the modes, Z of shape ``(width, modes)``."""
    gamma = np.asarray(strength, dtype=np.float64)

    def flow(features: FloatArray) -> FloatArray:
        weighted = features * gamma
        excess = weighted @ features.T - np.eye(len(features))
        pull = beta * excess + (1.0 - beta) * np.diag(np.diagonal(excess))
        moved: FloatArray = -4.0 * pull @ weighted
        return moved

    return flow


def penalised_flow(invariance: FloatArray, *, beta: float) -> Gradient:
    """dF/dt of <F, K F> + beta |F'F - 1|^2, F of shape ``(states, width)``."""

    def flow(features: FloatArray) -> FloatArray:
        excess = features.T @ features - np.eye(features.shape[1])
        moved: FloatArray = -2.0 * invariance @ features - 4.0 * beta * features @ excess
        return moved

    return flow


def normalised_flow(kappa: npt.ArrayLike, *, beta: float) -> Gradient:
    """dF/dt of sum_i f_i' K f_i + beta sum_(i != j) (f_i' f_j)^2 on unit columns, F of shape ``(modes, width)``."""
    values = np.asarray(kappa, dtype=np.float64)[:, None]

    def flow(features: FloatArray) -> FloatArray:
        unit = features / np.sqrt((features**2).sum(axis=0))
        slope = 2.0 * values * unit + 4.0 * beta * (unit @ (unit.T @ unit) - unit)
        moved: FloatArray = unit * (unit * slope).sum(axis=0) - slope
        return moved

    return flow


def trajectory(
    flow: Gradient, start: FloatArray, times: npt.ArrayLike, *, method: Method = "DOP853", tolerance: float = 1e-10
) -> FloatArray:
    """The matrices of a gradient flow at the given times, shape ``(times, *start.shape)``, by ``scipy.integrate.solve_ivp``.

    The absolute tolerance is relative to the least entry of the start, so that tiny starts keep their digits.

    Raises
    ------
    LindynError
        If the integrator gives up; the sentence is SciPy's.
    """
    from scipy.integrate import solve_ivp

    at = np.atleast_1d(np.asarray(times, dtype=np.float64))
    least = float(np.abs(start[start != 0.0]).min(initial=1.0))
    found = solve_ivp(
        lambda _, state: flow(state.reshape(start.shape)).ravel(),
        (0.0, float(at[-1])),
        start.ravel(),
        method=method,
        t_eval=at,
        rtol=tolerance,
        atol=tolerance * least,
    )
    if not found.success:
        raise LindynError(f"The flow could not be integrated: {found.message}")
    seen: FloatArray = found.y.T.reshape(-1, *start.shape)
    return seen
