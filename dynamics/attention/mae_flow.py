"""The reduced gradient flow of a masked autoencoder: one masked patch p of a local area, in seven numbers.

Rows of different patches never interact, so each has a closed equation of its own. T is the area of p, G the global one, O the
others; a query p scores a shown patch q of area m by z_m phi_m + u_m and a hidden one by u_m, itself by u_self.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dynamics.attention.images import ImageModel
from dynamics.errors import ParameterError
from dynamics.features import FloatArray

STATES = ("phi_T", "phi_G", "phi_O", "u_T", "u_G", "u_O", "u_self")
"""Feature-position correlations by area, and position-position correlations per patch of an area."""

COUNTS = ("exact", "mean")
"""How many patches of an area a mask shows: by the hypergeometric law (of p's area; moments of others), or the mean."""


class Reading(NamedTuple):
    """What the flow does to the network: attention of p on shown patches of its own area and of the global one, and the loss.

    The loss is that of one patch, masked with probability gamma, averaged over images and masks.
    """

    own: float
    glob: float
    loss: float


class MaeFlow:
    """d/dt of the seven `STATES`, at unit learning rate on the population loss (Huang et al. 2025, masked reconstruction).

    Parameters
    ----------
    model
        Images, whose area sizes need not be whole with mean counts.
    counts
        One of `COUNTS`.
    positions
        Whether position-position correlations move, as they do; without them they stay 0, which is right as P grows.
    shared_partition
        Whether all clusters share one partition; they then move positions together, K times as fast.

    Attributes
    ----------
    rate
        gamma / K, the unit of speed.

    Raises
    ------
    ParameterError
        If ``counts`` is none of these.
    LindynError
        If exact counts are asked for and areas are not whole.
    """

    def __init__(
        self, model: ImageModel, *, counts: str = "exact", positions: bool = True, shared_partition: bool = False
    ) -> None:
        if counts not in COUNTS:
            raise ParameterError("counts", counts, " or ".join(COUNTS))
        self.model, self.positions = model, positions
        self.together = model.clusters if shared_partition else 1
        areas = model.areas.whole() if counts == "exact" else model.areas
        self.P, self.C_T, self.C_G = float(areas.patches), float(areas.local_size), float(areas.global_size)
        self.C_O, self.N_O = self.C_T, max(areas.local_areas - 1.0, 0.0)
        hidden = 1.0 - model.shown_patches / areas.patches if counts == "exact" else model.masked
        self.rate = hidden / model.clusters
        self.z, self.weight = model.latent.values, model.latent.weights
        self.seen = (1.0 - hidden) * self.P / (self.P - 1.0)
        shown, chance, self.moments = self._exact_counts() if counts == "exact" else self._mean_counts()
        self.B, self.z_T, self.z_G = shown[:, None, None], self.z[None, :, None], self.z[None, None, :]
        self.chance = chance[:, None, None] * self.weight[None, :, None] * self.weight[None, None, :]

    def _mean_counts(self) -> tuple[FloatArray, FloatArray, tuple[float, float, float]]:
        other = self.seen * self.C_O
        return np.array([self.seen * (self.C_T - 1.0)]), np.ones(1), (other, other**2, other**3)

    def _exact_counts(self) -> tuple[FloatArray, FloatArray, tuple[float, float, float]]:
        from scipy.stats import hypergeom

        patches, own = int(self.P), int(self.C_T)
        shown = self.model.shown_patches
        counts, others = np.arange(own), np.arange(own + 1)
        chances = hypergeom(patches - 1, own - 1, shown).pmf(counts)
        law = hypergeom(patches - 1, own, shown).pmf(others)
        first, second, third = (float(law @ others.astype(np.float64) ** power) for power in (1, 2, 3))
        return counts.astype(np.float64), chances, (first, second, third)

    def __call__(self, time: float, state: FloatArray) -> FloatArray:
        """The seven rates."""
        m1, m2, m3 = self.moments
        z_T, z_G, N = self.z_T, self.z_G, self.N_O
        e_T, e_G, e_O, h_T, h_G, h_O, h_self, Z = self._scores(state)
        a_T, a_G = self.B * e_T / Z, self.seen * self.C_G * e_G / Z
        S2 = N * m2 * self._over_z(2, 2, e_O) / Z**2
        R2 = z_T**2 * (1.0 - a_T) ** 2 + z_G**2 * a_G**2 + S2
        g_0 = -(z_T**2) * a_T * (1.0 - a_T)
        bracket_G = g_0 - z_G**2 * a_G * (1.0 - a_G) + S2
        g_hidden = g_0 + z_G**2 * a_G**2 + S2
        spared = g_0 + z_G**2 * a_G**2 + (S2 * (N - 1.0) / N if N else 0.0)

        def others(power: int) -> FloatArray:
            """A sum over one of the other areas, weighted by z^power."""
            e1, e2, e3 = (self._over_z(part, count, e_O) for part, count in ((power, 1), (power + 2, 2), (power + 2, 3)))
            return m1 * e1 / Z * spared - m2 * e2 / Z**2 + m3 * e3 / Z**3

        rates = [self._mean(z_T * a_T * R2), self._mean(z_G * a_G * bracket_G), self._mean(others(1)) if N else 0.0]
        if not self.positions:
            return self.rate * np.array([*rates, 0.0, 0.0, 0.0, 0.0])
        hidden_T, hidden_G, hidden_O = self.C_T - 1.0 - self.B, self.C_G * (1.0 - self.seen), self.C_O - m1
        hidden_elsewhere = hidden_O * spared + (self.C_O * m2 - m3) * self._over_z(2, 2, e_O) / Z**2
        positions = [
            self._mean(a_T * R2 + hidden_T * h_T / Z * g_hidden) / (self.C_T - 1.0) if self.C_T > 1.0 else 0.0,
            self._mean(a_G * bracket_G + hidden_G * h_G / Z * g_hidden) / self.C_G,
            self._mean(others(0) + hidden_elsewhere * h_O / Z) / self.C_O if N else 0.0,
            self._mean(h_self / Z * g_hidden),
        ]
        return self.rate * np.array([*rates, *(self.together * rate for rate in positions)])

    def read(self, state: FloatArray) -> Reading:
        """Attention and loss at a state."""
        e_T, e_G, e_O, *_, Z = self._scores(state)
        a_T, a_G = self.B * e_T / Z, self.seen * self.C_G * e_G / Z
        S2 = self.N_O * self.moments[1] * self._over_z(2, 2, e_O) / Z**2
        R2 = self.z_T**2 * (1.0 - a_T) ** 2 + self.z_G**2 * a_G**2 + S2
        return Reading(self._mean(a_T), self._mean(a_G), 0.5 * self.model.masked * self._mean(R2))

    def _scores(self, state: FloatArray) -> tuple[FloatArray, ...]:
        """e^(z phi + u) of shown patches, e^u of hidden ones, and their sum over all patches, over the largest of them."""
        phi_T, phi_G, phi_O, u_T, u_G, u_O, u_self = state
        logs = (phi_T * self.z_T + u_T, phi_G * self.z_G + u_G, phi_O * self.z + u_O, u_T, u_G, u_O, u_self)
        largest = max(float(np.max(log)) for log in logs)
        e_T, e_G, e_O, h_T, h_G, h_O, h_self = (np.exp(log - largest) for log in logs)
        m1 = self.moments[0]
        others = m1 * float(self.weight @ e_O) + (self.C_O - m1) * h_O
        own = self.B * e_T + (self.C_T - 1.0 - self.B) * h_T
        everywhere = self.C_G * (self.seen * e_G + (1.0 - self.seen) * h_G)
        return e_T, e_G, e_O, h_T, h_G, h_O, h_self, own + everywhere + self.N_O * others + h_self

    def _over_z(self, power: int, count: int, e_O: FloatArray) -> float:
        """E_z[z^power e^(count (z phi_O + u_O))]."""
        return float(self.weight @ (self.z**power * e_O**count))

    def _mean(self, values: FloatArray) -> float:
        return float((self.chance * values).sum())
