"""How strongly a loss sees each feature across views: the eigenvalues that its dynamics run on.

A linear feature of variance sigma^2 in one view and covariance lam between two views of an image has rho = lam / sigma^2; the
rest, sigma^2 (1 - rho), is noise within the image.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dynamics.checks import whole_number
from dynamics.errors import ParameterError
from dynamics.features import Features, FloatArray

ROUNDING = 1e-12
"""By how much a rho may exceed 1."""

KERNELS: dict[str, Callable[[Features, int], FloatArray]] = {
    "cross-view": lambda features, views: features.lam,
    "view-mean": lambda features, views: features.sigma**2 * (features.rho + (1.0 - features.rho) / views),
    "whitened": lambda features, views: features.rho,
}
"""Strengths by the kernel behind the loss: covariance of two different views (Barlow Twins on two views, or all pairs of more),
autocorrelation of the mean of m views (what practical losses on more than two views use), and covariance of whitened views."""


def mode_strengths(features: Features, *, kernel: str = "cross-view", views: int = 2) -> FloatArray:
    """Strength gamma of every feature; those that are not positive are never learned.

    Parameters
    ----------
    kernel
        One of `KERNELS`.
    views
        Views m of an image, at least 2. Only the view-mean kernel knows it: its strengths carry within-image noise of weight
        1/m, which can reverse the order of features.

    Raises
    ------
    ParameterError
        If there is no such kernel, fewer than two views, or, for a kernel that sees the variance in one view, a rho beyond 1,
        which exchangeable views cannot have.
    """
    if kernel not in KERNELS:
        raise ParameterError("kernel", kernel, f"one of {', '.join(KERNELS)}")
    whole_number("views", views, 2)
    largest = features.rho[np.argmax(np.abs(features.rho))]
    if kernel != "cross-view" and abs(largest) > 1.0 + ROUNDING:
        raise ParameterError(
            "rho", largest, f"between -1 and 1 for {kernel} views, which vary alike (masked data: with the target independent)"
        )
    strengths = KERNELS[kernel](features, views)
    return np.clip(strengths, -1.0, 1.0) if kernel == "whitened" else strengths


def reversal(first: Features, second: Features) -> float:
    """Views m below which the view-mean kernel learns the feature of smaller covariance first; ``nan`` if it never does.

    The strengths lam + sigma^2 (1 - rho) / m of the two features meet at this m; it need not be whole.
    """
    covariance_gap = float(first.lam[0] - second.lam[0])
    noise = [float(one.sigma[0] ** 2 - one.lam[0]) for one in (first, second)]
    crossing = (noise[1] - noise[0]) / covariance_gap if covariance_gap else np.nan
    return crossing if crossing > 0.0 else np.nan
