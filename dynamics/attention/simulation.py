"""The network trained on drawn images, and the correlations and attention that it comes to, class by class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dynamics.attention.cl_flow import Contrast
from dynamics.attention.collapse import QUERIES, collapse_time
from dynamics.attention.images import ImageModel
from dynamics.attention.leading_order import LeadingOrder
from dynamics.attention.metrics import AttentionMetrics, attention_metrics
from dynamics.attention.network import Slope, clean_attention, contrast, reconstruction, size_of
from dynamics.attention.sampling import Sampler
from dynamics.checks import check_positive, check_share, whole_number
from dynamics.errors import LindynError, ParameterError
from dynamics.features import FloatArray
from dynamics.network.optimisers import OPTIMISERS
from dynamics.table import Columns, Table, known

OBJECTIVES = ("mae", "cl")
"""Masked reconstruction, and contrastive learning."""

WAYS = {"mae": 6.0, "cl": 8.0}
"""How long a run lasts, in units of the leading-order time of its objective; full queries take a quarter of that."""

USUAL = {"mae": (900, 64), "cl": (400, 32)}
"""Steps, and images in each, that show where attention ends in less than a minute at 196 patches."""

EXPLODED = 1e4
"""Entry of Q beyond which a run has diverged."""


@dataclass(frozen=True)
class Training:
    """How the network is trained.

    Attributes
    ----------
    steps, batch
        Steps, and images in each.
    learning_rate
        None for the one at which a run lasts a few of its leading-order times.
    optimiser, momentum
        As for `dynamics.network.descent.GradientDescent`; Adam has no gradient-flow time.
    """

    steps: int
    batch: int
    learning_rate: float | None = None
    optimiser: str = "plain"
    momentum: float = 0.9

    def __post_init__(self) -> None:
        whole_number("steps", self.steps, 1)
        whole_number("batch", self.batch, 2)
        if self.learning_rate is not None:
            check_positive("learning_rate", self.learning_rate)
        if self.optimiser not in OPTIMISERS:
            raise ParameterError("optimiser", self.optimiser, f"one of {', '.join(OPTIMISERS)}")
        check_share("momentum", self.momentum)


class Look(NamedTuple):
    """The network at one time.

    Attributes
    ----------
    time
        Gradient-flow time at unit learning rate: steps times the learning rate (over 1 - momentum).
    phi_T, phi_G, phi_O
        Feature-position correlations of the patches of local areas of the first cluster with their own area, the global one and
        the others: means over patches; ``phi_G_sd`` is the spread of the second.
    own, glob
        Attention in the batch of patches of local areas (hidden ones for MAE, shown ones for CL) on the shown patches of their
        own and of the global area; what the reduced flows call a_T and a_G.
    diversity
        Of the map of an image that nothing hides; see `AttentionMetrics`.
    loss
        Of the batch: summed over the hidden patches of an image (MAE), or temperature times cross-entropy (CL).
    """

    time: float
    phi_T: float
    phi_G: float
    phi_G_sd: float
    phi_O: float
    own: float
    glob: float
    diversity: float
    loss: float


@dataclass(frozen=True, eq=False)
class AttentionRun:
    """One run of the network.

    Attributes
    ----------
    contrast
        The loss of contrastive learning; its negatives are the other images of a batch.
    learning_rate
        Of every step.
    sampler
        Whose images it saw, with the partition of every cluster.
    looks
        What was seen on the way.
    final
        Metrics of the attention map at the end.
    matrix
        Q at the end: rows and columns are positions, then features cluster by cluster.
    diverged
        Whether it did.
    """

    objective: str
    query: str
    model: ImageModel
    training: Training
    contrast: Contrast
    seed: int
    shared_partition: bool
    learning_rate: float
    sampler: Sampler
    looks: tuple[Look, ...]
    final: AttentionMetrics
    matrix: FloatArray
    diverged: bool

    def curve(self, name: str) -> FloatArray:
        """One of the quantities of `Look` at all times, shape ``(looks,)``."""
        return np.array([getattr(look, name) for look in self.looks])

    def attention(self, cluster: int = 0) -> FloatArray:
        """The attention map of an image of a cluster that nothing hides, shape ``(patches, patches)``."""
        return clean_attention(self.matrix, self.sampler, cluster=cluster, query=self.query)

    def crossing(self, level: float) -> float:
        """When attention on the target reaches a level: the own area for MAE, the global one for CL; ``nan`` if it does not.

        On a straight line between two looks.
        """
        seen, time = self.curve("own" if self.objective == "mae" else "glob"), self.curve("time")
        above = np.flatnonzero(seen >= level)
        if not len(above):
            return float("nan")
        place = int(above[0])
        if place == 0:
            return float(time[0])
        share = (level - seen[place - 1]) / (seen[place] - seen[place - 1])
        return float(time[place - 1] + share * (time[place] - time[place - 1]))

    def curves_table(self) -> Table:
        """One row a look."""
        areas = self.model.areas
        sizes = {name: float(getattr(areas, name)) for name in ("patches", "global_size", "local_size")}
        columns: Columns = {"objective": np.full(len(self.looks), self.objective)}
        columns |= {name: np.full(len(self.looks), size) for name, size in sizes.items()}
        return Table(columns | {name: known(self.curve(name)) for name in Look._fields})


def _look(time: float, Q: FloatArray, sampler: Sampler, query: str, found: Slope) -> Look:
    """Read the correlations of the first cluster, and its attention."""
    patches, areas, area = sampler.patches, sampler.areas, sampler.partition[0]
    local = np.flatnonzero(area > 0)
    phi = Q[local, patches : patches + areas]
    rows = np.arange(len(local))
    others = np.ones(phi.shape, dtype=bool)
    others[:, 0], others[rows, area[local]] = False, False
    rest = float(phi[others].mean()) if others.any() else np.nan
    seen = attention_metrics(clean_attention(Q, sampler, query=query), area)
    correlations = (float(phi[rows, area[local]].mean()), float(phi[:, 0].mean()), float(phi[:, 0].std()), rest)
    return Look(time, *correlations, found.own, found.glob, seen.diversity, found.loss)


def simulate_attention(
    objective: str,
    model: ImageModel,
    *,
    training: Training | None = None,
    contrasted: Contrast | None = None,
    query: str = "full",
    shared_partition: bool = False,
    seed: int = 0,
    looks: int = 60,
    watch: Callable[[float], None] = lambda share: None,
) -> AttentionRun:
    """Train the full matrix Q from 0 on images drawn from the model.

    Parameters
    ----------
    objective
        ``mae`` or ``cl``.
    contrasted, query
        Of contrastive learning: temperature and weight decay (the negatives are the other images of a batch), and what queries
        see: their ``position``, or their patch as well (``full``).
    shared_partition
        Whether all clusters share one partition.
    looks
        Times at which the network is looked at, evenly spread.
    watch
        Called with the share that is done.

    Raises
    ------
    ParameterError
        If a parameter is outside what is allowed.
    LindynError
        If areas are not whole.
    """
    if objective not in OBJECTIVES:
        raise ParameterError("objective", objective, " or ".join(OBJECTIVES))
    if objective == "cl" and model.clusters < 2:
        raise ParameterError("clusters", model.clusters, "at least 2 for contrastive learning")
    if query not in QUERIES:
        raise ParameterError("query", query, " or ".join(QUERIES))
    training, contrasted = training or Training(*USUAL[objective]), contrasted or Contrast()
    sampler = Sampler(model, seed=whole_number("seed", seed, 0), shared_partition=shared_partition)
    rate = training.learning_rate or _learning_rate(objective, model, training, contrasted, query)
    slope = _slope(objective, sampler, contrasted, query)
    seen: list[Look] = []
    Q = np.zeros((size_of(sampler),) * 2)
    optimiser = OPTIMISERS[training.optimiser](np.array([rate]), training.momentum, (1, *Q.shape))
    decay = contrasted.weight_decay if objective == "cl" else 0.0
    every = max(1, training.steps // max(whole_number("looks", looks, 1), 1))
    per_step = rate / (1.0 - training.momentum) if training.optimiser == "momentum" else rate
    diverged = False
    for step in range(training.steps + 1):
        found = slope(Q, training.batch)
        if step % every == 0 or step == training.steps:
            seen.append(_look(per_step * step, Q, sampler, query, found))
            watch(step / training.steps)
        if step < training.steps:
            optimiser.step(Q[None], -(found.gradient + decay * Q)[None])
        if not np.abs(Q).max() < EXPLODED:
            diverged = True
            break
    final = attention_metrics(clean_attention(np.nan_to_num(Q), sampler, query=query), sampler.partition[0])
    return AttentionRun(
        objective, query, model, training, contrasted, seed, shared_partition, rate, sampler, tuple(seen), final, Q, diverged
    )


def _slope(objective: str, sampler: Sampler, contrasted: Contrast, query: str) -> Callable[[FloatArray, int], Slope]:
    """The loss and its gradient on a fresh batch."""
    if objective == "mae":
        return lambda Q, images: reconstruction(Q, sampler, sampler.draw(images))

    def contrastive(Q: FloatArray, images: int) -> Slope:
        batch = sampler.draw(images)
        return contrast(Q, sampler, batch, sampler.masked_again(batch), temperature=contrasted.temperature, query=query)

    return contrastive


def _learning_rate(objective: str, model: ImageModel, training: Training, contrasted: Contrast, query: str) -> float:
    """Such that the run lasts a few leading-order times."""
    if training.optimiser == "adam":
        raise LindynError("Adam has no gradient-flow time to set the learning rate by; give --learning-rate.")
    if objective == "mae":
        length = WAYS["mae"] * LeadingOrder(model).local_time
    else:
        length = WAYS["cl"] * collapse_time(model, contrasted) * (0.25 if query == "full" else 1.0)
    rate = length / training.steps
    return rate * (1.0 - training.momentum) if training.optimiser == "momentum" else rate
