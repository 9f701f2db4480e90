"""Images drawn from the model: which area each patch is in, how strong it is, and which patches a mask shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.attention.images import ImageModel
from dynamics.attention.metrics import areas_of
from dynamics.features import FloatArray

Integers = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Batch:
    """Some images seen through masks; arrays with one row an image.

    Attributes
    ----------
    cluster
        Cluster of each, shape ``(images,)``.
    area
        Area of every patch, 0 the global one, shape ``(images, patches)``.
    strength
        Strength z of every patch, of its area.
    shown
        Which patches the mask shows, as many in every image.
    """

    cluster: Integers
    area: Integers
    strength: FloatArray
    shown: npt.NDArray[np.bool_]


class Sampler:
    """Draws images of a model whose areas are whole.

    Parameters
    ----------
    shared_partition
        Whether all clusters share one partition; by default each has a random one of its own, but the first, whose areas are
        runs of patches.
    """

    def __init__(self, model: ImageModel, *, seed: int, shared_partition: bool = False) -> None:
        areas = model.areas.whole()
        self.model, self.patches = model, int(areas.patches)
        self.areas = 1 + int(areas.local_areas)
        self.shown = model.shown_patches
        runs = areas_of(self.patches, int(areas.global_size), int(areas.local_size))
        layout, self._generator = (np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(2))
        alike = [shared_partition or cluster == 0 for cluster in range(model.clusters)]
        self.partition = np.stack([runs if same else layout.permutation(runs) for same in alike])

    def draw(self, images: int) -> Batch:
        """New images, each with a mask."""
        cluster = self._generator.integers(self.model.clusters, size=images)
        area = self.partition[cluster]
        strength = np.take_along_axis(self.model.latent.sample((images, self.areas), self._generator), area, axis=1)
        return self.masked_again(Batch(cluster, area, strength, np.zeros_like(area, dtype=bool)))

    def masked_again(self, batch: Batch) -> Batch:
        """The same images under new masks."""
        order = self._generator.random(batch.area.shape).argpartition(self.shown, axis=1)[:, : self.shown]
        shown = np.zeros(batch.area.shape, dtype=bool)
        np.put_along_axis(shown, order, True, axis=1)
        return Batch(batch.cluster, batch.area, batch.strength, shown)
