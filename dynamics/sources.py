"""Views from files: which of the three kinds a user's files and options ask for."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from dynamics.errors import LindynError
from dynamics.matrices import Matrix, read_matrix
from dynamics.views import Views, lagged, masked, paired, standardised


def read_views(
    x: str,
    y: str | None = None,
    *,
    mask: float | None = None,
    target: str | None = None,
    lag: int | None = None,
    columns: str | None = None,
    standardise: bool = False,
) -> Views:
    """Views from a file and either another file, ``mask`` or ``lag``.

    Parameters
    ----------
    x, y
        Files as for `read_matrix`; ``y`` only where neither ``mask`` nor ``lag`` is given.
    mask, target
        As ``keep`` and ``target`` of `masked`.
    lag
        As for `lagged`.
    columns
        Names of the columns of a table to use, separated by commas.
    standardise
        Divide every column by its standard deviation in x.

    Raises
    ------
    LindynError
        If not exactly one of ``y``, ``mask`` and ``lag`` is given, or a file or option is refused.
    """
    if sum(given is not None for given in (y, mask, lag)) != 1:
        raise LindynError("Give exactly one of a second file Y, --mask and --lag, to say what the two views are.")
    if target is not None and mask is None:
        raise LindynError("--target goes with --mask.")
    names = tuple(name.strip() for name in columns.split(",")) if columns is not None else ()
    if not all(names):
        raise LindynError(f"--columns is {columns!r}; it must be names of columns, separated by commas.")
    first = read_matrix(x, names)
    if y is not None:
        views = paired(first.values, _alike(first, read_matrix(y, names), y), columns=first.columns)
    elif mask is not None:
        views = masked(first.values, keep=mask, target=target or "full", columns=first.columns)
    else:
        assert lag is not None
        views = lagged(first.values, lag=lag, columns=first.columns)
    return standardised(views) if standardise else views


def _alike(first: Matrix, second: Matrix, name: str) -> npt.NDArray[Any]:
    """The second table with its columns in the order of the first, where both name them."""
    if first.columns is None or second.columns is None or first.columns == second.columns:
        return second.values
    strange = [*(set(second.columns) ^ set(first.columns))]
    if strange:
        raise LindynError(f"{name} and the first file do not have the same columns: only one of them has {min(strange)}.")
    return second.values[:, [second.columns.index(column) for column in first.columns]]
