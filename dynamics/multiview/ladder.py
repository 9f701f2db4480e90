"""The staircase of Barlow Twins: from a tiny start modes are learned one after the other, and features share them.

Features Z (width x modes) follow dZ/dt = -4 M Z diag(gamma); M = (1 - beta)(diag C - 1) + beta (C - 1), C = Z diag(gamma) Z'.
Between two steps r modes are active and the features are a tight frame of equal norms; only beta d / (1 - beta) enters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.checks import check_positive, whole_number
from dynamics.errors import ParameterError
from dynamics.features import FloatArray

LOST = 1e-24
"""Share of a column's square below which what is left of it is rounding."""


@dataclass(frozen=True)
class Plateau:
    """What features are while a number of modes is active and the next one is still small.

    Attributes
    ----------
    modes
        Active modes r; also the effective rank (tr C)^2 / |C|^2.
    feature_variance, mode_energy
        Variance of every feature, r/D, and gamma_k |u_k|^2 of every active mode, d/D, with D = beta d + (1 - beta) r.
    redundancy
        Mean squared correlation between features, (d - r) / (r (d - 1)): 1 where all are collinear.
    loss
        beta d (d - r) / D.
    growth
        Rate of the next mode over that from an empty start, beta d / D.
    """

    modes: int
    feature_variance: float
    mode_energy: float
    redundancy: float
    loss: float
    growth: float


def plateau(modes: int, *, width: int, beta: float) -> Plateau:
    """The plateau of a number of active modes.

    Raises
    ------
    ParameterError
        If ``width`` is not a whole number from 1, ``modes`` not one from 0 to the width, or ``beta`` not positive. Above 1 the
        plateau exists but is not stable: features part, each to a mode of its own.
    """
    check_positive("beta", beta)
    d, r = whole_number("width", width, 1), whole_number("modes", modes, 0, width)
    scale = beta * d + (1.0 - beta) * r
    redundancy = (d - r) / (r * (d - 1)) if r and d > 1 else float("nan") if not r else 0.0
    return Plateau(r, r / scale, d / scale, redundancy, beta * d * (d - r) / scale, beta * d / scale)


def ladder_times(strength: npt.ArrayLike, start: npt.ArrayLike, *, width: int, beta: float) -> FloatArray:
    """When each mode is half learned, from a tiny start, for beta up to 1.

    Leading logarithms in the scale of the start: t_k is the sum over plateaus of the time that the mode would take alone,
    -ln(gamma a^2) / (8 gamma), over how fast that plateau lets it grow. Where neighbouring strengths differ by a quarter or
    more it is right within some per cent at scales of 1e-24 and within 20 per cent at 1e-6; exact at beta = 1 as the scale
    tends to 0. Modes are taken to be learned in this order.

    Parameters
    ----------
    strength
        Gamma of every mode.
    start
        a^2 of every mode: squared norm of its column of Z at the start, less what lies along columns that are learned before.

    Returns
    -------
    FloatArray
        One time a mode; ``inf`` where gamma is not positive, and for modes beyond the width.

    Raises
    ------
    ParameterError
        If ``beta`` is not positive or above 1, ``width`` is not a whole number from 1, or a start is not small.
    """
    check_shared(beta)
    whole_number("width", width, 1)
    gamma, square = (np.atleast_1d(np.array(values, dtype=np.float64)) for values in (strength, start))
    if gamma.shape != square.shape or gamma.ndim != 1:
        raise ParameterError("start", f"an array of shape {square.shape}", f"{gamma.shape}, as strength")
    learned = gamma > 0.0
    if not ((square > 0.0) & np.where(learned, gamma * square < 1.0, True)).all():
        raise ParameterError("start", square, "positive and small: gamma a^2 below 1")
    alone = np.full(len(gamma), np.inf)
    alone[learned] = -np.log(gamma[learned] * square[learned]) / (8.0 * gamma[learned])
    times, order = np.full(len(gamma), np.inf), np.argsort(alone, kind="stable")[: min(width, int(learned.sum()))]
    times[order] = shared(alone[order], width=width, beta=beta)
    return times


def shared(alone: FloatArray, *, width: int, beta: float) -> FloatArray:
    """Times of modes that share a projector, in the order learned, from the times that each would take alone.

    Each stretch from one mode to the next takes as long as the plateau between them slows it.
    """
    stretches = np.diff(alone, prepend=0.0)
    growth = [plateau(modes, width=width, beta=beta).growth for modes in range(len(alone))]
    times: FloatArray = np.cumsum(stretches / growth)
    return times


def check_shared(beta: float) -> None:
    """Raise unless ``beta`` is positive and at most 1: above, features part instead of sharing plateaus."""
    check_positive("beta", beta)
    if beta > 1.0:
        raise ParameterError("beta", beta, "at most 1, above which features part, one to a mode, and no plateau is shared")


def residual_starts(features: FloatArray, *, beta: float, wait: Callable[[FloatArray], FloatArray] | None = None) -> FloatArray:
    """a^2 of every mode from a start Z, shape ``(width, modes)``.

    Each column less what lies along those that are learned before it; for beta below 1 the first mode is first shared evenly by
    all features, each keeping its sign. A mode beyond the width keeps its whole column.

    Parameters
    ----------
    wait
        From squares to the times at which modes would come out; the next to be learned is the one of the least. By default they
        are learned in the order of the columns.
    """
    rest = features.copy()
    squares: FloatArray = (features**2).sum(axis=0)
    whole, waiting = squares.copy(), np.ones(features.shape[1], dtype=bool)
    for step in range(min(features.shape)):
        square = np.maximum((rest**2).sum(axis=0), LOST * whole)
        times = np.arange(len(square), dtype=np.float64) if wait is None else np.nan_to_num(wait(square), nan=np.inf)
        times = np.where(waiting, times, np.inf)
        mode = int(np.argmin(times))
        if times[mode] == np.inf:
            break
        squares[mode], waiting[mode] = square[mode], False
        ahead = np.sign(rest[:, mode]) if step == 0 and beta < 1.0 else rest[:, mode]
        direction = ahead / np.sqrt(ahead @ ahead)
        rest -= np.outer(direction, direction @ rest)
    return squares
