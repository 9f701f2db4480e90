"""Closed forms of the masked autoencoder's phases to leading order in the number of patches, at unit strengths z = 1.

With c = gamma / K and attention a_G = (1 - gamma) P^(kappa_c - 1), a_T = (1 - gamma) P^(kappa_s - 1) at the start, the two
correlations of a patch of a local area follow phi_G' = -c a_G^2 e^(2 phi_G) and phi_T' = c a_T e^phi_T (Huang et al. 2025).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log1p

import numpy as np
import numpy.typing as npt

from dynamics.attention.images import ImageModel
from dynamics.checks import check_positive, check_times
from dynamics.features import FloatArray

ONSET = 0.1
"""Fall of phi_G that counts as the onset of decoupling."""


@dataclass(frozen=True)
class LeadingOrder:
    """The phases of one image model; times are gradient-flow times at unit learning rate (steps times the learning rate)."""

    model: ImageModel

    @property
    def rate(self) -> float:
        """c = gamma / K."""
        return self.model.masked / self.model.clusters

    @property
    def own_start(self) -> float:
        """a_T at the start: attention on the shown patches of a local area."""
        return self.model.shown * self.model.areas.local_size / self.model.areas.patches

    @property
    def global_start(self) -> float:
        """a_G at the start: attention on the shown patches of the global area."""
        return self.model.shown * self.model.areas.global_size / self.model.areas.patches

    @property
    def ratio(self) -> float:
        """R = a_G^2 / a_T = (1 - gamma) P^Delta: how much faster phi_G falls than phi_T grows at the start."""
        return self.global_start**2 / self.own_start

    @property
    def local_time(self) -> float:
        """t_T = K P^(1 - kappa_s) / (gamma (1 - gamma)), at which phi_T diverges; T2, at which a_T is a half, tends to it."""
        return 1.0 / (self.rate * self.own_start)

    @property
    def onset(self) -> float:
        """When phi_G has fallen by `ONSET`: of order P^(2 (1 - kappa_c))."""
        return (exp(2.0 * ONSET) - 1.0) / (2.0 * self.rate * self.global_start**2)

    @property
    def first_phase(self) -> float:
        """T1, until which phi_G moves faster than phi_T: (t_T / 3)(1 - 1/R), 0 where the local area leads from the start."""
        return max(self.local_time / 3.0 * (1.0 - 1.0 / self.ratio), 0.0)

    @property
    def plateau(self) -> float:
        """phi_G at t_T: -1/2 ln(1 + 2 R), which tends to -(Delta / 2) ln P where Delta > 0 and to 0 where Delta < 0."""
        return -0.5 * log1p(2.0 * self.ratio)

    @property
    def global_time(self) -> float:
        """The same as `local_time` for a patch of the global area: of order P^(1 - kappa_c)."""
        return 1.0 / (self.rate * self.global_start)

    def phi_G(self, time: npt.ArrayLike) -> FloatArray:
        """Feature-position correlation with the global area."""
        falling: FloatArray = -0.5 * np.log1p(2.0 * self.rate * self.global_start**2 * check_times(time, 0.0))
        return falling

    def phi_T(self, time: npt.ArrayLike) -> FloatArray:
        """Feature-position correlation with the own area; ``inf`` from `local_time` on."""
        share = np.minimum(check_times(time, 0.0) / self.local_time, 1.0)
        with np.errstate(divide="ignore"):
            growing: FloatArray = -np.log1p(-share)
        return growing

    def tail(self, excess: float) -> float:
        """When the loss of a patch is within ``excess`` of its least value: K / (4 excess), after the phases.

        For mean counts; masks that hide all of an area make it longer, by about the number of local areas.
        """
        check_positive("excess", excess)
        return self.model.clusters / (4.0 * excess)


def least_loss(model: ImageModel) -> float:
    """The least loss of one patch of a local area: of masks that hide all its area, gamma E[z^2] / 2 times their chance.

    The chance is exact, by counts, for areas that are whole: (M - 1)! / (M - C)! over (P - 1)! / (P - C)! with M masked of P.
    Otherwise it is gamma^(C - 1).
    """
    areas, size = model.areas, model.areas.local_size
    patches, hidden = areas.patches, areas.patches - round(model.shown * areas.patches)
    if float(size) != round(size) or float(patches) != round(patches):
        return float(0.5 * model.masked * model.latent.mean(2) * model.masked ** (size - 1.0))
    if hidden < size:
        return 0.0
    chance = exp(lgamma(hidden) - lgamma(hidden - size + 1.0) - lgamma(patches) + lgamma(patches - size + 1.0))
    return 0.5 * model.masked * model.latent.mean(2) * chance
