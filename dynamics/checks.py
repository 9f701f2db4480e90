"""What every entry point asks of epsilon, fraction and times, said once."""

from __future__ import annotations

from math import inf, isfinite
from operator import index

import numpy as np
import numpy.typing as npt

from dynamics.errors import ParameterError
from dynamics.features import FloatArray


def check_epsilon(epsilon: float) -> None:
    """Raise unless ``epsilon`` is a positive finite number."""
    check_positive("epsilon", epsilon)


def check_positive(name: str, value: float) -> None:
    """Raise unless the value is a positive finite number."""
    if not (_is_number(value) and isfinite(value) and value > 0):
        raise ParameterError(name, value, "a positive finite number")


def check_fraction(fraction: float) -> None:
    """Raise unless ``fraction`` lies strictly between 0 and 1."""
    if not (_is_number(fraction) and 0 < fraction < 1):
        raise ParameterError("fraction", fraction, "strictly between 0 and 1")


def check_share(name: str, value: float) -> None:
    """Raise unless the value is at least 0 and below 1."""
    if not (_is_number(value) and 0 <= value < 1):
        raise ParameterError(name, value, "at least 0 and below 1")


def check_times(times: npt.ArrayLike, least: float = -np.inf) -> FloatArray:
    """The times as an array with at least one axis; raise if one is not a finite number or lies below ``least``."""
    try:
        column = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError):
        raise ParameterError("time", repr(times), "a number or an array of numbers") from None
    good = np.isfinite(column) & (column >= least)
    if not good.all():
        raise ParameterError("time", column[~good][0], "finite" if least == -np.inf else f"finite and at least {least:g}")
    return column


def whole_number(name: str, value: int, least: int, most: float = inf) -> int:
    """The value as an int; raises a `ParameterError` unless it is a whole number from ``least`` to ``most``."""
    allowed = f"a whole number from {least} to {most}" if most < inf else f"a whole number, at least {least}"
    try:
        number = index(value)
    except TypeError:
        raise ParameterError(name, value, allowed) from None
    if isinstance(value, bool) or not least <= number <= most:
        raise ParameterError(name, value, allowed)
    return number


def spread_times(times: FloatArray, count: int) -> FloatArray:
    """The times as one row for each of ``count`` features; raise if they have another number of rows."""
    if times.ndim > 2 or (times.ndim == 2 and len(times) not in (1, count)):
        raise ParameterError("time", f"an array of shape {times.shape}", f"one list for all features, or {count} rows")
    return np.broadcast_to(times, (count, times.shape[-1]))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.floating | np.integer) and not isinstance(value, bool)
