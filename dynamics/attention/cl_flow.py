"""The reduced gradient flow of contrastive learning: how mean-pooled attention moves on the areas of an image, at z = 1.

Two masked views of an image attract, those of other images repel (InfoNCE at temperature tau). Negatives of other clusters are
orthogonal, so that the force depends on the attention pooled over patches alone: b_n on area n, S = sum b_n^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dynamics.attention.images import ImageModel
from dynamics.checks import check_positive, whole_number
from dynamics.errors import ParameterError
from dynamics.features import FloatArray


@dataclass(frozen=True)
class Contrast:
    """The loss: temperature tau, negatives of an image (None for infinitely many), and weight decay.

    Raises
    ------
    ParameterError
        If the temperature is not positive, negatives are fewer than 1, or weight decay is negative.
    """

    temperature: float = 0.5
    negatives: int | None = None
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        check_positive("temperature", self.temperature)
        if self.negatives is not None:
            whole_number("negatives", self.negatives, 1)
        if not 0.0 <= self.weight_decay < np.inf:
            raise ParameterError("weight_decay", self.weight_decay, "a finite number, at least 0")

    def force(self, similarity: float, clusters: int) -> float:
        """Lambda(S): expected weight of negatives of other clusters beside the positive and those of the same cluster."""
        attraction = float(np.exp(similarity / self.temperature))
        alike = 1.0 / clusters
        if self.negatives is None:
            return (1.0 - alike) / (alike * attraction + 1.0 - alike)
        from scipy.stats import binom

        same = np.arange(self.negatives + 1)
        other = self.negatives - same
        chances = binom(self.negatives, alike).pmf(same)
        return float((chances * other / (other + (1.0 + same) * attraction)).sum())


class PositionFlow:
    """Queries that see their position only: all rows of the attention matrix are then one and the same for all time.

    State: phi_G, phi_L, u_G, u_L, correlations with the global and with each local area, by feature and by position.
    """

    states = ("phi_G", "phi_L", "u_G", "u_L")

    def __init__(self, model: ImageModel, contrast: Contrast | None = None) -> None:
        require_clusters(model)
        self.model, self.contrast = model, contrast or Contrast()
        areas = model.areas
        self.P, self.sizes = float(areas.patches), np.array([areas.global_size, areas.local_size], dtype=np.float64)
        self.number = np.array([1.0, areas.local_areas])

    def attention(self, state: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mass on the shown and on the hidden patches of the global area and of one local area."""
        phi, u = state[:2], state[2:]
        largest = float(max((phi + u).max(), u.max()))
        shown = self.model.shown * self.sizes * np.exp(phi + u - largest)
        hidden = self.model.masked * self.sizes * np.exp(u - largest)
        total = float((self.number * (shown + hidden)).sum())
        return shown / total, hidden / total

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """The four rates, at unit learning rate."""
        shown, hidden = self.attention(state)
        similarity = float(self.number @ shown**2)
        speed = self.contrast.force(similarity, self.model.clusters) / (self.P * self.model.clusters)
        pull = shown * (shown - similarity)
        rates = np.concatenate([pull, (pull - hidden * similarity) / self.sizes])
        moved: FloatArray = speed * rates - self.contrast.weight_decay * state
        return moved

    def on_global(self, state: FloatArray) -> float:
        """Attention of every patch on the shown patches of the global area."""
        return float(self.attention(state)[0][0])


class FullFlow:
    """Queries that see their patch as well: feature-feature correlations psi learn C times faster than feature-position ones.

    State: phi by query and key (G to G, G to O; L to G, L to its own area T, L to other local areas O), then psi likewise.
    Position-position correlations and those of features with positions are left out: small as P grows.
    """

    states = tuple(f"{kind}_{pair}" for kind in ("phi", "psi") for pair in ("GG", "GO", "LG", "LT", "LO"))

    def __init__(self, model: ImageModel, contrast: Contrast | None = None) -> None:
        require_clusters(model)
        self.model, self.contrast = model, contrast or Contrast()
        areas = model.areas
        self.P, self.N = float(areas.patches), areas.local_areas
        self.C_G, self.C_L = float(areas.global_size), float(areas.local_size)

    def attention(self, state: FloatArray) -> dict[str, tuple[FloatArray, FloatArray]]:
        """By query area, of its shown and of its hidden patches: mass on the shown patches of each kind of area.

        From G: (G, one local area); from L: (G, its own area, one other local area).
        """
        phi, psi, shown = state[:5], state[5:], self.model.shown
        told: dict[str, tuple[FloatArray, FloatArray]] = {}
        for query, part, sizes, number in (
            ("G", slice(0, 2), np.array([self.C_G, self.C_L]), np.array([1.0, self.N])),
            ("L", slice(2, 5), np.array([self.C_G, self.C_L, self.C_L]), np.array([1.0, 1.0, self.N - 1.0])),
        ):
            told[query] = (
                self._masses(phi[part] + psi[part], shown * sizes, number),
                self._masses(phi[part], shown * sizes, number),
            )
        return told

    def _masses(self, scores: FloatArray, shown: FloatArray, number: FloatArray) -> FloatArray:
        largest = max(float(scores.max()), 0.0)
        weights = shown * np.exp(scores - largest)
        masses: FloatArray = weights / (float(number @ weights) + self.model.masked * self.P * np.exp(-largest))
        return masses

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """The ten rates, at unit learning rate."""
        told, gamma = self.attention(state), self.model.masked
        of_G, of_L = ((1.0 - gamma) * told[query][0] + gamma * told[query][1] for query in "GL")
        share_G, share_L = self.C_G / self.P, self.C_L / self.P
        pooled_G = share_G * of_G[0] + self.N * share_L * of_L[0]
        pooled_L = share_G * of_G[1] + share_L * of_L[1] + (self.N - 1.0) * share_L * of_L[2]
        similarity = pooled_G**2 + self.N * pooled_L**2
        speed = self.contrast.force(similarity, self.model.clusters) / (self.P * self.model.clusters)
        rates_phi, rates_psi = [], []
        for query, size, pull, number in (
            ("G", self.C_G, np.array([pooled_G, pooled_L]), np.array([1.0, self.N])),
            ("L", self.C_L, np.array([pooled_G, pooled_L, pooled_L]), np.array([1.0, 1.0, self.N - 1.0])),
        ):
            shown, hidden = (masses * (pull - float((number * masses) @ pull)) for masses in told[query])
            rates_phi.append((1.0 - gamma) * shown + gamma * hidden)
            rates_psi.append((1.0 - gamma) * size * shown)
        moved: FloatArray = speed * np.concatenate([*rates_phi, *rates_psi]) - self.contrast.weight_decay * state
        return moved

    def on_global(self, state: FloatArray) -> float:
        """Attention of a shown patch of a local area on the shown patches of the global area."""
        return float(self.attention(state)["L"][0][0])


def require_clusters(model: ImageModel) -> None:
    """Raise unless there is another cluster, for negatives to be of."""
    if model.clusters < 2:
        raise ParameterError(
            "clusters", model.clusters, "at least 2 for contrastive learning, whose negatives are of other clusters"
        )
