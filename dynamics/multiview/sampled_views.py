"""What a sample says of the modes: n images, m Gaussian views of each, and the leading modes that are read off them.

All estimates are functions of two scatter matrices: of the means of the images, and of the views about their mean. For as many
views of every image the two are independent and Wishart, with n and n (m - 1) degrees of freedom, so they are drawn as such, by
Bartlett's decomposition: the law is that of drawing all n m views, and the work does not grow with n and m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.checks import whole_number
from dynamics.errors import ParameterError
from dynamics.features import Features, FloatArray
from dynamics.multiview.strengths import mode_strengths


@dataclass(frozen=True, eq=False)
class SampledViews:
    """Second moments of samples, arrays of shape ``(replicates, modes, modes)``; the truth of all three is diagonal.

    Attributes
    ----------
    all_pairs
        Cross-view covariance estimated from all pairs of different views of an image; its mean is lam.
    view_mean
        Covariance of the mean of the views of an image; its mean is lam + (sigma^2 - lam) / m.
    total
        Second moment of one view; its mean is sigma^2.
    """

    all_pairs: FloatArray
    view_mean: FloatArray
    total: FloatArray


def sampled_views(features: Features, *, images: int, views: int, replicates: int, seed: int) -> SampledViews:
    """Draw samples of Gaussian views, of mean 0, of which each feature has variance sigma^2 and covariance lam between two.

    Parameters
    ----------
    images, views
        Images n, at least as many as there are features, and views m of each, at least 2.
    replicates
        Independent samples.

    Raises
    ------
    ParameterError
        If ``images``, ``views`` or ``replicates`` is too small, ``seed`` is negative, or a rho is beyond 1 or too far below 0
        for m views.
    """
    modes = len(features)
    n, m = whole_number("images", images, modes), whole_number("views", views, 2)
    whole_number("replicates", replicates, 1)
    of_means = mode_strengths(features, kernel="view-mean", views=m)
    if (of_means < 0.0).any():
        raise ParameterError("rho", features.rho[np.argmin(of_means)], f"at least -1/{m - 1} for {m} views of one image")
    generator = np.random.default_rng(whole_number("seed", seed, 0))
    between = _scatter(of_means, n, replicates, generator)
    within = _scatter(features.sigma**2 - features.lam, n * (m - 1), replicates, generator)
    view_mean = between / n
    return SampledViews(view_mean - within / (n * m * (m - 1)), view_mean, view_mean + within / (n * m))


def leading_modes(covariance: FloatArray, total: FloatArray, width: int) -> FloatArray:
    """Orthonormal bases of the ``width`` leading modes of whitened views, shape ``(..., modes, width)``.

    They solve covariance w = rho total w for the largest rho; ``total`` must be positive definite.
    """
    root = np.linalg.cholesky(total)
    half = np.linalg.solve(root, covariance)
    whitened = np.linalg.solve(root, half.swapaxes(-1, -2))
    top = np.linalg.eigh(0.5 * (whitened + whitened.swapaxes(-1, -2)))[1][..., -width:]
    basis: FloatArray = np.linalg.qr(np.linalg.solve(root.swapaxes(-1, -2), top))[0]
    return basis


def simulated_error(
    rho: npt.ArrayLike, width: int, *, images: int, views: int, replicates: int, seed: int
) -> tuple[float, float]:
    """1 - alignment with the true ones of the ``width`` leading modes by the all-pairs estimate: mean and standard error.

    The alignment of two spans is the mean squared cosine of their principal angles. To first order in 1/n it is what
    `dynamics.multiview.alignment_error` says.

    Parameters
    ----------
    rho
        Regression coefficient between views of every mode, as for `alignment_error`; all have variance 1.
    replicates
        Samples, at least 2, over which the mean is taken.
    """
    features = Features(rho=rho, sigma=1.0)
    d = whole_number("width", width, 1, len(features) - 1)
    whole_number("replicates", replicates, 2)
    drawn = sampled_views(features, images=images, views=views, replicates=replicates, seed=seed)
    true = np.argsort(-features.rho, kind="stable")[:d]
    error = 1.0 - (leading_modes(drawn.all_pairs, drawn.total, d)[:, true] ** 2).sum(axis=(1, 2)) / d
    return float(error.mean()), float(error.std(ddof=1) / np.sqrt(replicates))


def _scatter(variance: FloatArray, freedom: int, replicates: int, generator: np.random.Generator) -> FloatArray:
    """Wishart matrices of a diagonal covariance: L A A' L', A lower triangular with a chi on the diagonal."""
    modes = len(variance)
    triangle = np.tril(generator.standard_normal((replicates, modes, modes)), -1)
    diagonal = np.arange(modes)
    triangle[:, diagonal, diagonal] = np.sqrt(generator.chisquare(freedom - diagonal, size=(replicates, modes)))
    root = np.sqrt(variance)[:, None] * triangle
    scatter: FloatArray = root @ root.swapaxes(-1, -2)
    return scatter
