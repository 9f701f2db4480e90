"""Redundancy within one mode: how the outputs of a projector share it out among themselves.

With x_p the variance of output p in a mode of strength gamma, dx_p/dt = 8 gamma x_p (1 - (1 - beta) x_p - beta sum x), the
equations of competing species: below beta = 1 all outputs end alike, at 1 they keep their ratios, above one takes all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.checks import check_positive, check_times
from dynamics.errors import LindynError, ParameterError
from dynamics.features import FloatArray
from dynamics.multiview.logistic import Logistic


@dataclass(frozen=True)
class Sharing:
    """Outputs that share one mode of this strength under a penalty of this weight; both positive."""

    strength: float
    beta: float

    def __post_init__(self) -> None:
        check_positive("strength", self.strength)
        check_positive("beta", self.beta)

    def rate(self, shares: FloatArray) -> FloatArray:
        """dx/dt of the outputs' variances."""
        held: FloatArray = 1.0 - (1.0 - self.beta) * shares - self.beta * shares.sum()
        return 8.0 * self.strength * shares * held

    def end(self, start: npt.ArrayLike) -> FloatArray:
        """The variances that the outputs tend to from this start.

        All 1 / (1 + beta (d - 1)) below beta = 1; the start over its sum at 1; above, 1 for the strongest at the start (shared
        evenly by outputs that tie) and 0 for the others.
        """
        shares = _shares(start)
        if self.beta < 1.0:
            return np.full(len(shares), 1.0 / (1.0 + self.beta * (len(shares) - 1)))
        if self.beta == 1.0:
            ended: FloatArray = shares / shares.sum()
            return ended
        first = shares == shares.max()
        return np.where(first, 1.0 / (1.0 + self.beta * (first.sum() - 1)), 0.0)

    def trajectory(self, start: npt.ArrayLike, times: npt.ArrayLike) -> FloatArray:
        """Variances of the outputs at the times, shape ``(times, outputs)``: exact at beta = 1, by SciPy otherwise."""
        shares, at = _shares(start), check_times(times, 0.0)
        if self.beta == 1.0:
            total = Logistic(np.array(8.0 * self.strength), np.array(1.0)).size(np.full(len(at), shares.sum()), at)
            exact: FloatArray = np.outer(total, shares / shares.sum())
            return exact
        from scipy.integrate import solve_ivp

        found = solve_ivp(
            lambda _, logarithm: self.rate(np.exp(logarithm)) / np.exp(logarithm),
            (0.0, float(at.max())),
            np.log(shares),
            method="LSODA",
            t_eval=at,
            rtol=1e-10,
            atol=1e-10,
        )
        if not found.success:
            raise LindynError(f"The shares could not be integrated: {found.message}")
        seen: FloatArray = np.exp(found.y.T)
        return seen


def _shares(start: npt.ArrayLike) -> FloatArray:
    shares = np.atleast_1d(np.array(start, dtype=np.float64))
    if shares.ndim != 1 or not (np.isfinite(shares) & (shares > 0.0)).all():
        raise ParameterError("start", start, "a list of positive numbers, one an output")
    return shares
