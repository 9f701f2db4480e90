"""The table of errors of modes learned from finitely many images and views."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from dynamics.errors import ParameterError
from dynamics.features import Features
from dynamics.multiview.alignment import AlignmentError, alignment_error
from dynamics.multiview.strengths import mode_strengths
from dynamics.reports.multiview import tied
from dynamics.table import Table

LARGE = 0.1
"""Error above which its first order is not to be trusted."""


def view_errors_table(
    features: Features, *, width: int, designs: Sequence[tuple[int, int]], replicates: int = 0, seed: int = 0
) -> Table:
    """One row a design (images, views): the expected error of the ``width`` leading modes and what contributes to it.

    Parameters
    ----------
    replicates
        Samples to draw for each design; with 0 none. They add the simulated error and its standard error.

    Raises
    ------
    ParameterError
        If a rho or the width is not as for `alignment_error`, or there are fewer images than views.
    """
    law = _law(features, width)
    images, views = (np.array(column, dtype=np.int64) for column in zip(*designs, strict=True))
    error = np.array([law.expected(n, m) for n, m in designs])
    columns = (
        {"width": np.full(len(designs), width), "images": images, "views": views, "samples": images * views}
        | {"images_part": law.images / images, "views_part": law.views / (images * views)}
        | {"pairs_part": law.pairs / (images * views * (views - 1)), "error": error}
    )
    if replicates:
        from dynamics.multiview.sampled_views import simulated_error

        drawn = [simulated_error(features.rho, width, images=n, views=m, replicates=replicates, seed=seed) for n, m in designs]
        mean, spread = (np.array(column) for column in zip(*drawn, strict=True))
        columns |= {"simulated_error": mean, "simulated_error_se": spread, "ratio": mean / error}
    return Table(columns)


def designs_of(views: Sequence[int], *, images: Sequence[int] = (), budget: Sequence[int] = ()) -> list[tuple[int, int]]:
    """Every number of images with every number of views, and every budget n m shared out over each number of views."""
    if any(count < 2 for count in views):
        raise ParameterError("views", min(views), "a whole number, at least 2")
    for total, count in product(budget, views):
        if total < count**2:
            raise ParameterError("budget", total, f"at least {count**2} for {count} views of each of as many images")
    whole = [(total // count, count) for total, count in product(budget, views)]
    return [(count, number) for count in images for number in views] + whole


def view_remarks(features: Features, width: int, table: Table) -> list[str]:
    """The best number of views, what order few views give, and where the error is not to be trusted."""
    law = _law(features, width)
    best = law.best_views
    told = f"m* = 1 + sqrt(c/a) = {best:.4g} (a = {law.images:.4g}, b = {law.views:.4g}, c = {law.pairs:.4g})"
    lines = [
        "Error: 1 - alignment of the leading modes of whitened views, (a + b/m + c/(m (m - 1))) / n to first order in 1/n.",
        f"For a fixed number of samples n m it is least at {told}."
        if np.isfinite(best)
        else "For a fixed number of samples n m it falls with every further view.",
    ]
    if (table.columns["error"] > LARGE).any():
        lines.append(
            f"Errors above {LARGE:g} are beyond the first order; where they come near 1, the modes are not determined."
        )
    negative = [label for label, rho in zip(features.labels(), features.rho, strict=True) if rho < 0.0]
    if negative:
        shown = ", ".join(negative[:5]) + (", ..." if len(negative) > 5 else "")
        lines.append(f"Negative rho ({shown}): never among the leading modes; their noise counts.")
    return [*lines, *tied(features, features.rho, "rho")]


def _law(features: Features, width: int) -> AlignmentError:
    return alignment_error(mode_strengths(features, kernel="whitened"), width)
