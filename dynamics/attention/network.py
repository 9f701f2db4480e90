"""The network itself: one layer of softmax attention with one matrix Q, and the gradients of its losses, written by hand.

Tokens are e_p + X_p, positions orthonormal and orthogonal to the features; a hidden patch has X_p = 0. A query p scores a patch
q by its token, times Q, times that of q, and sums the shown patches by the softmax of the scores over all patches. In the basis
of P positions and of a feature for every area of every cluster a token has two entries at most, which is all that is used here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.attention.sampling import Batch, Sampler
from dynamics.features import FloatArray

Numbers = npt.NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Slope:
    """A loss and its gradient by Q, averaged over images, and what attention was like.

    ``own`` and ``glob`` are the attention of patches of local areas (of hidden ones for reconstruction, of shown ones for
    contrast) on the shown patches of their own and of the global area.
    """

    loss: float
    gradient: FloatArray
    own: float
    glob: float


def size_of(sampler: Sampler) -> int:
    """Rows of Q: positions, and features of all clusters."""
    return sampler.patches + sampler.model.clusters * sampler.areas


def _softmax(scores: Numbers) -> Numbers:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    softmax: Numbers = weights / weights.sum(axis=-1, keepdims=True)
    return softmax


def _contents(batch: Batch, areas: int) -> Numbers:
    """What patches show, in the features of their own cluster: shape ``(images, patches, areas)``."""
    contents = np.zeros((*batch.area.shape, areas))
    np.put_along_axis(contents, batch.area[:, :, None], (batch.strength * batch.shown)[:, :, None], axis=2)
    return contents


def _scores_by_position(Q: Numbers, rows: npt.NDArray[np.intp], batch: Batch, image: int, areas: int) -> Numbers:
    """Scores of queries that know their positions (rows) only."""
    patches = batch.area.shape[1]
    columns = patches + batch.cluster[image] * areas + batch.area[image]
    seen = batch.strength[image] * batch.shown[image]
    scores: Numbers = Q[rows, :patches] + Q[rows[:, None], columns[None, :]] * seen
    return scores


def _masses(attention: Numbers, batch: Batch, image: int, queries: npt.NDArray[np.intp]) -> Numbers:
    """Sums over the queries of local areas: their number, and their attention on the own and on the global area, if shown."""
    area, shown = batch.area[image], batch.shown[image]
    local = np.flatnonzero(area[queries] > 0)
    rows, own = attention[local], area[queries[local], None] == area[None, :]
    return np.array([len(local), (rows * (own & shown)).sum(), rows[:, shown & (area == 0)].sum()])


def _back(attention: Numbers, pull: Numbers) -> Numbers:
    """From the slope by attention to the slope by scores."""
    back: Numbers = attention * (pull - (attention * pull).sum(axis=-1, keepdims=True))
    return back


def reconstruction(Q: FloatArray, sampler: Sampler, batch: Batch, dtype: npt.DTypeLike = np.float32) -> Slope:
    """Masked autoencoder: half the squared error of the hidden patches of an image.

    A hidden query is its position alone, so that only those rows of Q move.
    """
    patches, areas = sampler.patches, sampler.areas
    contents, weights = _contents(batch, areas).astype(dtype), Q[:patches].astype(dtype)
    gradient, loss, masses = np.zeros_like(Q), 0.0, np.zeros(3)
    for image, shown in enumerate(batch.shown):
        hidden = np.flatnonzero(~shown)
        attention = _softmax(_scores_by_position(weights, hidden, batch, image, areas))
        masses += _masses(attention, batch, image, hidden)
        error = attention @ contents[image]
        error[np.arange(len(hidden)), batch.area[image, hidden]] -= batch.strength[image, hidden]
        loss += 0.5 * float((error**2).sum())
        slope = _back(attention, error @ contents[image].T)
        first = patches + batch.cluster[image] * areas
        gradient[hidden, :patches] += slope
        gradient[hidden, first : first + areas] += slope @ contents[image]
    count, own, glob = masses
    return Slope(loss / len(batch.shown), gradient / len(batch.shown), own / count, glob / count)


def contrast(
    Q: FloatArray,
    sampler: Sampler,
    batch: Batch,
    other: Batch,
    *,
    temperature: float,
    query: str = "full",
    dtype: npt.DTypeLike = np.float32,
) -> Slope:
    """Contrastive learning: InfoNCE of the mean attention outputs of two masked views, the second behind a stop-gradient.

    Negatives are the other images of the batch. Queries see their ``position``, or their patch as well (``full``).
    """
    weights = Q.astype(dtype)
    first, second = (_View(weights, sampler, part, query, dtype) for part in (batch, other))
    targets = second.pooled
    chances = _softmax(first.pooled @ targets.T / temperature)
    loss = -temperature * float(np.log(np.maximum(np.diagonal(chances), np.finfo(np.float64).tiny)).mean())
    masses = [
        _masses(seen[shown], batch, image, np.flatnonzero(shown))
        for image, (seen, shown) in enumerate(zip(first.attention, batch.shown, strict=True))
    ]
    count, own, glob = np.sum(masses, axis=0)
    return Slope(loss, first.gradient(chances @ targets - targets, Q.shape), own / count, glob / count)


class _View:
    """Images under one mask: attention, and the mean output of every image in the features of all clusters."""

    def __init__(self, weights: Numbers, sampler: Sampler, batch: Batch, query: str, dtype: npt.DTypeLike) -> None:
        self.sampler, self.batch, self.query = sampler, batch, query
        self.contents = _contents(batch, sampler.areas).astype(dtype)
        self.attention = np.stack([_softmax(self._scores(weights, image)) for image in range(len(batch.shown))])
        means = np.einsum("bpq,bqn->bn", self.attention, self.contents) / sampler.patches
        self.pooled = np.zeros((len(means), sampler.model.clusters * sampler.areas))
        np.put_along_axis(self.pooled, self._columns, means.astype(np.float64), axis=1)

    @property
    def _columns(self) -> npt.NDArray[np.intp]:
        areas = self.sampler.areas
        columns: npt.NDArray[np.intp] = self.batch.cluster[:, None] * areas + np.arange(areas)
        return columns

    def _scores(self, weights: Numbers, image: int) -> Numbers:
        patches, areas = self.sampler.patches, self.sampler.areas
        scores = _scores_by_position(weights, np.arange(patches), self.batch, image, areas)
        if self.query == "position":
            return scores
        features = patches + self._columns[image]
        by_feature = weights[features, :patches] + weights[np.ix_(features, features)] @ self.contents[image].T
        full: Numbers = scores + self.contents[image] @ by_feature
        return full

    def gradient(self, pull: FloatArray, shape: tuple[int, int]) -> FloatArray:
        """Of the loss by Q, from its slope by every pooled output, averaged over images."""
        patches, images = self.sampler.patches, len(self.contents)
        gradient = np.zeros(shape)
        own = np.take_along_axis(pull, self._columns, axis=1).astype(self.contents.dtype)
        for image in range(images):
            worth = (self.contents[image] @ own[image]) / patches
            slope = _back(self.attention[image], worth[None, :])
            features, contents = patches + self._columns[image], self.contents[image]
            gradient[:patches, :patches] += slope
            gradient[:patches, features] += slope @ contents
            if self.query == "full":
                gradient[features, :patches] += contents.T @ slope
                gradient[np.ix_(features, features)] += contents.T @ slope @ contents
        return gradient / images


def clean_attention(Q: FloatArray, sampler: Sampler, *, cluster: int = 0, query: str = "full") -> FloatArray:
    """Attention of every patch on every patch of an image that nothing hides, every area of its mean strength.

    Queries see their position, or their patch as well; for a masked autoencoder both are the same: it leaves feature rows at 0.
    """
    area = sampler.partition[[cluster]]
    strength = np.full(area.shape, sampler.model.latent.mean())
    image = Batch(np.array([cluster]), area, strength, np.ones(area.shape, dtype=bool))
    seen: FloatArray = _View(Q, sampler, image, query, np.float64).attention[0]
    return seen
