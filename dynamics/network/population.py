"""What a network is trained on: features, moments of one's own, or data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dynamics.feature_basis import FeatureBasis
from dynamics.features import Features
from dynamics.network.batches import Batches, GaussianBatches
from dynamics.network.data import DataBatches, moments_of_views
from dynamics.network.moments import Moments, moments_of_features
from dynamics.views import Views


@dataclass(frozen=True, eq=False)
class Data:
    """Paired views and the basis of their features, as `dynamics.feature_basis.diagonalise` finds it."""

    views: Views
    basis: FeatureBasis


@dataclass(frozen=True, eq=False)
class Population:
    """Features, and the moments of x and y in their coordinates; ``data`` where there are rows to draw from."""

    features: Features
    moments: Moments
    data: Data | None = None

    def batches(self, size: int, generator: np.random.Generator) -> Batches:
        """Minibatches: rows of the data, or normal samples with these moments."""
        if self.data is None:
            return GaussianBatches(self.moments, size, generator)
        return DataBatches(self.data.views, self.data.basis, size, generator)

    def without_rows(self) -> Population:
        """The same, light enough to be sent to another process."""
        return replace(self, data=None)


def population_of(source: Features | Moments | Data) -> Population:
    """Features become diagonal moments; moments and data keep what couples their features."""
    if isinstance(source, Features):
        return Population(source, moments_of_features(source))
    if isinstance(source, Moments):
        return Population(source.features(), source)
    return Population(source.basis.features, moments_of_views(source.views, source.basis), source)
