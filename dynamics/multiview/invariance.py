"""How little a loss likes each feature to change between views: the eigenvalues kappa of its invariance term."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dynamics.errors import ParameterError
from dynamics.features import Features, FloatArray
from dynamics.multiview.strengths import mode_strengths

INVARIANCES: dict[str, Callable[[FloatArray, int], FloatArray]] = {
    "pairs": lambda rho, views: 1.0 - rho,
    "views": lambda rho, views: (views - 1) * (1.0 - rho),
    "averaging": lambda rho, views: (1.0 - np.sqrt(rho)) ** 2,
}
"""Kappa by the form of the term: half the squared distance of two views; the squared distances of m views from their mean,
m - 1 times that in expectation (Agrawal et al. 2024, practical loss); and the distance of a feature from its average over
neighbouring images, whose operator has the eigenvalues sqrt(rho)."""


def invariances(features: Features, *, form: str = "pairs", views: int = 2) -> FloatArray:
    """Kappa of every feature on whitened views, where rho is the eigenvalue of the kernel.

    Raises
    ------
    ParameterError
        If there is no such form, or it is ``averaging`` and a rho is negative: a kernel that averages twice has none.
    """
    return kappa_of(mode_strengths(features, kernel="whitened", views=views), form, views)


def kappa_of(rho: FloatArray, form: str, views: int) -> FloatArray:
    """Kappa from the eigenvalues of a kernel; raises as `invariances` does."""
    if form not in INVARIANCES:
        raise ParameterError("invariance", form, f"one of {', '.join(INVARIANCES)}")
    if form == "averaging" and (rho < 0.0).any():
        raise ParameterError(
            "rho", float(rho.min()), "at least 0 where invariance is averaging, by an operator of eigenvalues sqrt(rho)"
        )
    return INVARIANCES[form](rho, views)
