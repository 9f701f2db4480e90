"""The losses themselves, by gradient flow of whole matrices: what the closed forms are compared with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from dynamics.errors import LindynError
from dynamics.features import FloatArray
from dynamics.intrinsic_time import Method

Gradient = Callable[[FloatArray], FloatArray]


def barlow_twins_flow(strength: npt.ArrayLike, *, beta: float) -> Gradient:
    """dZ/dt of Barlow Twins, Z of shape ``(width, modes)``; ``strength`` of every mode, or the whole kernel between them."""
    kernel = np.asarray(strength, dtype=np.float64)
    weigh: Gradient = (lambda features: features * kernel) if kernel.ndim == 1 else (lambda features: features @ kernel)

    def flow(features: FloatArray) -> FloatArray:
        weighted = weigh(features)
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
    """dF/dt of sum_i f_i' K f_i + beta sum_(i != j) (f_i' f_j)^2 on unit columns, F of shape ``(modes, width)``.

    ``kappa`` are the eigenvalues of K, or the whole of it.
    """
    values = np.asarray(kappa, dtype=np.float64)
    invariance = np.diag(values) if values.ndim == 1 else values

    def flow(features: FloatArray) -> FloatArray:
        unit = features / np.sqrt((features**2).sum(axis=0))
        slope = 2.0 * invariance @ unit + 4.0 * beta * (unit @ (unit.T @ unit) - unit)
        moved: FloatArray = unit * (unit * slope).sum(axis=0) - slope
        return moved

    return flow


def spectral_contrastive_flow(kernel: FloatArray) -> Gradient:
    """dF/dt of |A - F F'|^2, F of shape ``(states, width)``."""

    def flow(features: FloatArray) -> FloatArray:
        moved: FloatArray = 4.0 * (kernel @ features - features @ (features.T @ features))
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
    return watched(flow, start, times, (), method=method, tolerance=tolerance)[0]


def watched(
    flow: Gradient,
    start: FloatArray,
    times: npt.ArrayLike,
    events: Sequence[Callable[[FloatArray], float]],
    *,
    method: Method = "DOP853",
    tolerance: float = 1e-10,
) -> tuple[FloatArray, list[float]]:
    """The same, and for each function of the matrices the first time at which it rises through 0; ``nan`` where it does not."""
    from scipy.integrate import solve_ivp

    at = np.atleast_1d(np.asarray(times, dtype=np.float64))
    least = float(np.abs(start[start != 0.0]).min(initial=1.0))

    def rate(_: float, state: FloatArray) -> FloatArray:
        moved = flow(state.reshape(start.shape)).ravel()
        if not np.isfinite(moved).all():
            raise LindynError("The flow leaves the numbers that a double holds.")
        return moved

    found = solve_ivp(
        rate,
        (0.0, float(at[-1])),
        start.ravel(),
        method=method,
        t_eval=at,
        events=[_rising(event, start.shape) for event in events] or None,
        rtol=tolerance,
        atol=tolerance * least,
    )
    if not found.success:
        raise LindynError(f"The flow could not be integrated: {found.message}")
    seen: FloatArray = found.y.T.reshape(-1, *start.shape)
    return seen, [float(crossed[0]) if len(crossed) else np.nan for crossed in found.t_events or ()]


def _rising(event: Callable[[FloatArray], float], shape: tuple[int, ...]) -> Callable[[float, FloatArray], float]:
    def seen(_: float, state: FloatArray) -> float:
        return event(state.reshape(shape))

    seen.direction = 1.0  # type: ignore[attr-defined]
    return seen
