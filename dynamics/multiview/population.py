"""What a loss is trained on: the second moments of views in the coordinates of their features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dynamics.errors import LindynError
from dynamics.features import Features, FloatArray
from dynamics.multiview.graph import AugmentationGraph

if TYPE_CHECKING:
    from dynamics.network.population import Data


@dataclass(frozen=True, eq=False)
class Views:
    """Second moments of exchangeable views, shape ``(n, n)``, in the coordinates of ``features``.

    Attributes
    ----------
    features
        Lam, rho and sigma of every coordinate: the diagonals.
    variance
        E[x x'] of one view.
    covariance
        E[x x'] of two views of an image, symmetric.
    """

    features: Features
    variance: FloatArray
    covariance: FloatArray

    @property
    def count(self) -> int:
        """Number of features n."""
        return len(self.features)

    def kernel(self, name: str, views: int) -> FloatArray:
        """The matrix behind the mode strengths of that name, one of `KERNELS`."""
        return MATRICES[name](self, views)

    @property
    def whitener(self) -> FloatArray:
        """The symmetric inverse square root of the variance, which whitens."""
        values, vectors = np.linalg.eigh(self.variance)
        if not values[0] > 0.0:
            raise LindynError("The variance of the views has directions of variance 0, which cannot be whitened.")
        root: FloatArray = (vectors / np.sqrt(values)) @ vectors.T
        return root


MATRICES: dict[str, Callable[[Views, int], FloatArray]] = {
    "cross-view": lambda moments, views: moments.covariance,
    "view-mean": lambda moments, views: moments.covariance + (moments.variance - moments.covariance) / views,
    "whitened": lambda moments, views: moments.whitener @ moments.covariance @ moments.whitener,
}
"""The kernels of `dynamics.multiview.strengths.KERNELS` between features."""


def sample_of(features: Features, *, images: int, views: int, seed: int) -> Views:
    """Moments as one sample estimates them: n images and m Gaussian views of each, whose features come out mixed.

    Parameters and errors are those of `dynamics.multiview.sampled_views.sampled_views`.
    """
    from dynamics.multiview.sampled_views import sampled_views

    apart = int(
        np.random.SeedSequence([seed, images, views]).generate_state(1)[0]
    )  # not the numbers that a start is drawn from
    drawn = sampled_views(features, images=images, views=views, replicates=1, seed=apart)
    return Views(features, drawn.total[0], drawn.all_pairs[0])


def views_of(source: Features | AugmentationGraph | Data | Views) -> Views:
    """Moments of features, which are diagonal; of a graph, in its eigenfunctions; of data, in the basis of their features.

    Moments themselves stay as they are.
    A cross-covariance that is not symmetric counts as its symmetric part, which is all that exchangeable views have.
    """
    if isinstance(source, Views):
        return source
    if isinstance(source, AugmentationGraph):
        source = source.features()
    if isinstance(source, Features):
        return Views(source, np.diag(source.sigma**2), np.diag(source.lam))
    from dynamics.network.data import moments_of_views

    moments = moments_of_views(source.views, source.basis)
    cross = moments.cross_covariance
    return Views(source.basis.features, moments.input_covariance, (cross + cross.T) / 2.0)
