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


def reversals(features: Features) -> FloatArray:
    """Views m below which the view-mean kernel learns a feature before one of larger covariance, shape ``(modes, modes)``.

    The strengths lam + sigma^2 (1 - rho) / m of two features meet at this m; it need not be whole. Rows have the larger
    covariance; ``nan`` where a column has, or never comes first.
    """
    noise = features.sigma**2 - features.lam
    lead = features.lam[:, None] - features.lam[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        views: FloatArray = (noise[None, :] - noise[:, None]) / lead
    return np.where((lead > 0.0) & (views > 0.0), views, np.nan)


def reversal(first: Features, second: Features) -> float:
    """The same for two features, whichever has the larger covariance; ``nan`` if few views keep their order."""
    both = reversals(first.joined(second))
    return float(both[0, 1] if np.isfinite(both[0, 1]) else both[1, 0])
