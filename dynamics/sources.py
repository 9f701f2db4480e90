"""Views from files: which of the three kinds a user's files and options ask for."""

from __future__ import annotations

from dynamics.errors import LindynError
from dynamics.matrices import read_matrix
from dynamics.views import Views, lagged, masked, paired, standardised


def read_views(
    x: str,
    y: str | None = None,
    *,
    mask: float | None = None,
    target: str = "full",
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
    names = tuple(name.strip() for name in columns.split(",")) if columns else ()
    first = read_matrix(x, names)
    if y is not None:
        views = paired(first.values, read_matrix(y, names).values, columns=first.columns)
    elif mask is not None:
        views = masked(first.values, keep=mask, target=target, columns=first.columns)
    else:
        assert lag is not None
        views = lagged(first.values, lag=lag, columns=first.columns)
    return standardised(views) if standardise else views
