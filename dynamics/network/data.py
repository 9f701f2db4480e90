"""Data as a network is trained on them: their moments in the basis of their features, and minibatches of their rows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dynamics.feature_basis import FeatureBasis
from dynamics.features import FloatArray
from dynamics.network.batches import Batches
from dynamics.network.moments import Moments
from dynamics.views import UNMASKED, Masking, Views


def moments_of_views(views: Views, basis: FeatureBasis) -> Moments:
    """The moments of the views, turned into the basis of their features; off the diagonal is what the theory leaves out."""
    turn, data = basis.directions, basis.moments
    target = _target_masking(views).moment(_covariance_of_y(views, basis))
    inputs, cross, target = (turn.T @ matrix @ turn for matrix in (data.input_covariance, data.cross_covariance, target))
    return Moments((inputs + inputs.T) / 2, cross, (target + target.T) / 2)


def _covariance_of_y(views: Views, basis: FeatureBasis) -> FloatArray:
    """Of y before masking, in the kept columns."""
    kept, means = basis.moments.columns_kept, basis.moments.means
    covariance = np.zeros((len(kept), len(kept)))
    for part in views.blocks(views.width):
        _, y = views.centred(part, kept, means)
        covariance += y.T @ y / views.count
    return covariance


def _target_masking(views: Views) -> Masking:
    if views.target == "full":
        return UNMASKED
    shown = views.keep if views.target == "independent" else 1.0 - views.keep
    return Masking(shown * shown, shown * (1.0 - shown))


class DataBatches(Batches):
    """Rows of the data drawn with replacement, with fresh masks where the views are masked."""

    def __init__(self, views: Views, basis: FeatureBasis, size: int, generator: np.random.Generator) -> None:
        super().__init__(size, generator)
        self._views, self._basis = views, basis

    def _pairs(self) -> tuple[FloatArray, FloatArray]:
        rows = self._generator.integers(self._views.count, size=self._size)
        x, y = self._views.centred(rows, self._basis.moments.columns_kept, self._basis.moments.means)
        x, y = self._masked(x, y)
        return x @ self._basis.directions, y @ self._basis.directions

    def _masked(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        views = self._views
        if views.keep == 1.0:
            return x, y
        shown = self._mask(x.shape)
        hides = {"full": None, "independent": self._mask, "complementary": lambda _: ~shown}[views.target]
        return x * shown, y if hides is None else y * hides(y.shape)

    def _mask(self, shape: tuple[int, ...]) -> npt.NDArray[np.bool_]:
        return self._generator.random(shape) < self._views.keep
