"""What every entry point asks of epsilon, fraction and times, said once."""

from __future__ import annotations

from math import isfinite

import numpy as np
import numpy.typing as npt

from dynamics.errors import ParameterError
from dynamics.features import FloatArray


def check_epsilon(epsilon: float) -> None:
    """Raise unless ``epsilon`` is a positive finite number."""
    if not (isfinite(epsilon) and epsilon > 0):
        raise ParameterError("epsilon", epsilon, "a positive finite number")


def check_fraction(fraction: float) -> None:
    """Raise unless ``fraction`` lies strictly between 0 and 1."""
    if not 0 < fraction < 1:
        raise ParameterError("fraction", fraction, "strictly between 0 and 1")


def check_times(times: npt.ArrayLike, least: float = -np.inf) -> FloatArray:
    """The times as an array with at least one axis; raise if one is not a finite number or lies below ``least``."""
    column = np.atleast_1d(np.asarray(times, dtype=np.float64))
    good = np.isfinite(column) & (column >= least)
    if not good.all():
        raise ParameterError("time", column[~good][0], "finite" if least == -np.inf else f"finite and at least {least:g}")
    return column
