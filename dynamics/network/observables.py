"""What is seen of a network while it trains: amplitudes of the features, what leaks between them, spectra, balance, loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from dynamics.feature_basis import off_diagonal_share
from dynamics.features import FloatArray
from dynamics.network.gradients import Gradients, loss, product
from dynamics.network.starts import Start

Layers = Sequence[FloatArray] | FloatArray

CROWDED = 1.5
"""How many times the points asked for are kept before they are kept half as densely, and so on."""


@dataclass(frozen=True, eq=False)
class Curves:
    """What was seen at each recorded time; ``points`` of them.

    Attributes
    ----------
    time
        Training time, shape ``(points,)``.
    amplitude
        Encoder amplitude of every feature, ``(features, points)``: the diagonal of R' W in the feature basis, with R the
        orthogonal factor of the encoder at the start (the identity for a balanced start). Not an average of layer entries.
    polar_amplitude
        The same in the encoder's own frame, whichever way it has turned: the diagonal of (W'W)^(1/2). Neither objective sees a
        common turn of encoder and predictor, so where features couple but little this is what is learned.
    norm
        Norm of every feature's column of W, ``(features, points)``: what the encoder makes of the feature in any direction.
    singular_value
        Of the encoder's product, the largest first, ``(features, points)``; the k-th does not belong to the k-th feature.
    predictor_eigenvalue
        Real parts of the predictor's eigenvalues, the largest first, ``(features, points)``.
    off_diagonal, polar_off_diagonal
        Share of the norm of R' W, and of (W'W)^(1/2), off the diagonal, 0 to 1.
    imbalance
        Greatest Frobenius norm of A'A - B B' over neighbouring layers A after B. Gradient flow conserves each of these
        differences, with the stop-gradient, equal rates of encoder and predictor and no weight decay.
    loss
        1/2 E |V W x - T y|^2 over the population, with the target's own variance.
    """

    time: FloatArray
    amplitude: FloatArray
    polar_amplitude: FloatArray
    norm: FloatArray
    singular_value: FloatArray
    predictor_eigenvalue: FloatArray
    off_diagonal: FloatArray
    polar_off_diagonal: FloatArray
    imbalance: FloatArray
    loss: FloatArray


@dataclass(eq=False)
class Observer:
    """Reads a network, and keeps what it saw at the times when something had moved.

    Parameters
    ----------
    gradients
        Their moments are what the loss is taken over, whatever batches they see later.
    scale
        Amplitude of every feature that counts as a whole way, ``(features,)``.
    until
        Time at the end of the run.
    resolution
        Share of all ways together, and of ``until``, that is worth another point.
    ways
        How many features are expected to go their whole way.
    """

    start: Start
    gradients: Gradients
    scale: FloatArray
    until: float
    resolution: float
    ways: float = 1.0
    _rows: list[tuple[float, ...]] = field(default_factory=list)
    _last: FloatArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        self._moments, self._crowded = self.gradients.moments, CROWDED

    def amplitude(self, encoder: FloatArray) -> FloatArray:
        """Amplitude of every feature, by the start's way of reading it; ``(features,)``."""
        if self.start.by_norm:
            return _column_norms(encoder)
        inner: FloatArray = np.einsum("ij,ij->j", self.start.frame, encoder)
        return inner

    def way(self, before: FloatArray, after: FloatArray) -> float:
        """How far the features have gone together from one row of amplitudes to another, in points."""
        return float(np.abs((after - before) / self.scale).sum()) / (self.ways * self.resolution)

    def offer(self, time: float, layers: Layers, teacher: FloatArray | None = None) -> None:
        """Look, and keep what is seen if it is the first, or if features or the time have moved on."""
        amplitude = self.amplitude(product(layers[: self.gradients.objective.depth]))
        late = not self._rows or time - self._rows[-1][0] >= self.resolution * self.until
        if late or self.way(self._last, amplitude) >= 1.0:
            self.keep(time, layers, teacher)

    def keep(self, time: float, layers: Layers, teacher: FloatArray | None = None) -> None:
        """Look, and keep what is seen, unless it is the last point once more."""
        depth = self.gradients.objective.depth
        encoder, predictor = product(layers[:depth]), product(layers[depth:])
        inner, amplitude = self.start.frame.T @ encoder, self.amplitude(encoder)
        if self._rows and self._rows[-1][0] == time and np.array_equal(amplitude, self._last):
            return
        self._last = amplitude
        _, values, right = np.linalg.svd(encoder)
        polar = right.T * values @ right
        self._rows.append(
            (
                time,
                *amplitude,
                *np.diagonal(polar),
                *_column_norms(encoder),
                *values,
                *np.sort(np.linalg.eigvals(predictor).real)[::-1],
                off_diagonal_share(inner),
                off_diagonal_share(polar),
                _imbalance(layers),
                loss(self.gradients.objective, self._moments, layers, teacher),
            )
        )

        if len(self._rows) * self.resolution >= self._crowded:
            self.ways, self._crowded = 2.0 * self.ways, self._crowded + CROWDED

    def curves(self) -> Curves:
        """All that was kept."""
        table = np.array(self._rows).T
        features = len(self.scale)
        blocks = [table[1 + k * features : 1 + (k + 1) * features] for k in range(5)]
        return Curves(table[0], *blocks, *table[-4:])


def _column_norms(matrix: FloatArray) -> FloatArray:
    norms: FloatArray = np.sqrt(np.einsum("ij,ij->j", matrix, matrix))
    return norms


def _imbalance(layers: Layers) -> float:
    return max((float(np.linalg.norm(above.T @ above - below @ below.T)) for below, above in pairwise(layers)), default=0.0)
