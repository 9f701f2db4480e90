"""Data as a network is trained on them: their moments in the basis of their features, and minibatches of their rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from dynamics.feature_basis import FeatureBasis
from dynamics.features import FloatArray
from dynamics.network.batches import Batches
from dynamics.network.moments import Moments
from dynamics.views import Masking, Views

Mask = npt.NDArray[np.bool_]

SHOWN: dict[str, Callable[[Mask, Callable[[], Mask]], Mask]] = {
    "full": lambda mask, draw: np.ones_like(mask),
    "independent": lambda mask, draw: draw(),
    "complementary": lambda mask, draw: ~mask,
}
"""What y shows, by the name of the target: from the mask of x, and another one of the same probability if it is drawn."""


def moments_of_views(views: Views, basis: FeatureBasis) -> Moments:
    """The moments of the views, turned into the basis of their features; off the diagonal is what the theory leaves out."""
    turn, data = basis.directions, basis.moments
    target = _target_masking(views).moment(_covariance_of_y(views, basis))
    inputs, cross, target = (turn.T @ matrix @ turn for matrix in (data.input_covariance, data.cross_covariance, target))
    return Moments((inputs + inputs.T) / 2, cross, (target + target.T) / 2)


def _covariance_of_y(views: Views, basis: FeatureBasis) -> FloatArray:
    """Of y before masking, in the kept columns."""
    kept, means = basis.moments.columns_kept, basis.moments.means

    def square(part: slice) -> FloatArray:
        _, y = views.centred(part, kept, means)
        product: FloatArray = y.T @ y / views.count
        return product

    return sum(views.over_blocks(square), np.zeros((len(kept), len(kept))))


def _target_masking(views: Views) -> Masking:
    """What the masks of y make of its second moment: from the share of all pairs of masks in which y shows an entry."""
    hidden_shown, probability = np.array([False, True]), np.array([1.0 - views.keep, views.keep])
    mask, other = np.meshgrid(hidden_shown, hidden_shown)
    share = float(np.outer(probability, probability)[SHOWN[views.target](mask, lambda: other)].sum())
    return Masking(share * share, share * (1.0 - share))


class DataBatches(Batches):
    """Rows of the data drawn with replacement, with fresh masks where the views are masked."""

    def __init__(self, views: Views, basis: FeatureBasis, size: int, generator: np.random.Generator) -> None:
        super().__init__(size, generator)
        self._views, self._basis = views, basis

    def _pairs(self) -> tuple[FloatArray, FloatArray]:
        rows = self._generator.integers(self._views.count, size=self._size)
        x, y = self._views.centred(rows, self._basis.moments.columns_kept, self._basis.moments.means)
        if self._views.keep < 1.0:
            mask = self._mask(x.shape)
            x, y = x * mask, y * SHOWN[self._views.target](mask, lambda: self._mask(y.shape))
        return x @ self._basis.directions, y @ self._basis.directions

    def _mask(self, shape: tuple[int, ...]) -> Mask:
        return self._generator.random(shape) < self._views.keep
