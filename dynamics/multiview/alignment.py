"""How far the modes that are learned from n images and m views of each are off, to first order in 1/n."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from dynamics.checks import whole_number
from dynamics.errors import ParameterError
from dynamics.features import FloatArray
from dynamics.multiview.strengths import ROUNDING

TIED = 1e-9
"""Distance of two rho up to which they count as one."""


@dataclass(frozen=True)
class AlignmentError:
    """1 - alignment of the leading modes of whitened views with the true ones: (a + b/m + c/(m (m - 1))) / n.

    Attributes
    ----------
    images, views, pairs
        a, b and c: what images, views and pairs of views contribute.
    least
        The smallest rho: m views of an image cannot all have one below -1 / (m - 1).
    """

    images: float
    views: float
    pairs: float
    least: float = 0.0

    def expected(self, images: int, views: int) -> float:
        """Expected error with n images and m views of each, n at least m; right to first order in 1/n."""
        m = whole_number("views", views, 2)
        if self.least * (m - 1) < -1.0:
            raise ParameterError("views", m, f"at most {int(1.0 - 1.0 / self.least)} for a rho of {self.least:g}")
        n = whole_number("images", images, 1)
        if n < m:
            raise ParameterError("images", n, f"at least the number of views, {m}, as the error is known for many images only")
        return (self.images + self.views / m + self.pairs / (m * (m - 1))) / n

    @property
    def best_views(self) -> float:
        """Views m at which the error is least for a fixed budget n m: 1 + sqrt(c / a); it need not be whole.

        ``inf`` where more views are always better, as images alone contribute no error.
        """
        return 1.0 + sqrt(self.pairs / self.images) if self.images > 0.0 else inf


def alignment_error(rho: npt.ArrayLike, width: int) -> AlignmentError:
    """The error of the ``width`` modes of largest rho.

    Parameters
    ----------
    rho
        Regression coefficient between whitened views, the eigenvalues of the kernel; from -1 to 1, and positive for the leading
        modes. A negative one counts with its noise like any other.

    Raises
    ------
    ParameterError
        If ``width`` does not leave at least one mode, or the modes on either side of it tie.
    """
    values = np.sort(np.array(rho, dtype=np.float64))[::-1]
    good = np.abs(values) <= 1.0
    if values.ndim != 1 or not good.all():
        raise ParameterError("rho", values[~good][0] if values.ndim == 1 else rho, "between -1 and 1")
    d = whole_number("width", width, 1, max(len(values) - 1, 1))
    if len(values) == 1:
        raise ParameterError("rho", values[0], "two numbers or more, for a mode to be mistaken for another")
    if not values[d - 1] > 0.0:
        raise ParameterError("width", width, f"at most {int((values > 0.0).sum())}, the number of modes of positive rho")
    if values[d - 1] >= 1.0 - ROUNDING:
        raise ParameterError("rho", values[d - 1], f"below 1 in one of the {d} leading modes, for an error at all")
    if values[d - 1] - values[d] <= TIED:
        raise ParameterError("width", width, f"one that does not part modes of equal rho, {values[d]:g}")
    k, j = values[:d, None], values[None, d:]
    noise_k, noise_j, gap = 1.0 - k, 1.0 - j, (k - j) ** 2
    images = noise_k**2 * j * k / gap
    views = (noise_k**2 * (j * noise_k + k * noise_j) + k**2 * noise_j * noise_k) / gap
    pairs = noise_j * noise_k / gap
    by_images, by_views, by_pairs = (float(part.sum() / d) for part in (images, views, pairs))
    return AlignmentError(by_images, by_views, by_pairs, float(values[-1]))


def estimate_variance(covariance: npt.ArrayLike, noise: npt.ArrayLike, *, images: int, views: int) -> FloatArray:
    """Variance of the all-pairs estimate of the cross-view covariance of modes j and k, j != k, shape ``(modes, modes)``.

    ``covariance`` is lam and ``noise`` sigma^2 (1 - rho) of every mode; the diagonal of the result means nothing and is nan.
    """
    n, m = whole_number("images", images, 1), whole_number("views", views, 2)
    lam, nu = np.array(covariance, dtype=np.float64), np.array(noise, dtype=np.float64)
    mixed = np.outer(lam, nu)
    variance: FloatArray = (np.outer(lam, lam) + (mixed + mixed.T) / m + np.outer(nu, nu) / (m * (m - 1))) / n
    np.fill_diagonal(variance, np.nan)
    return variance
