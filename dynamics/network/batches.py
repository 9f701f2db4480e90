"""Minibatches: a linear network sees of a batch only its second moments, so a batch is drawn as those."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from dynamics.checks import whole_number
from dynamics.errors import ParameterError
from dynamics.features import FloatArray
from dynamics.network.moments import Moments, SampleMoments


class Batches(ABC):
    """A source of minibatches of one size."""

    def __init__(self, size: int, generator: np.random.Generator) -> None:
        self._size, self._generator = whole_number("batch", size, 1), generator

    def draw(self) -> SampleMoments:
        """The second moments of a fresh batch, about the means of the population."""
        return SampleMoments(*self._pairs())

    @abstractmethod
    def _pairs(self) -> tuple[FloatArray, FloatArray]:
        """Samples x and y in the coordinates of the features, one a row."""


class GaussianBatches(Batches):
    """Normal x and y with the given moments: y is what x predicts of it, and independent noise.

    Raises
    ------
    ParameterError
        If no pair of random vectors has these moments, because y would vary less than x predicts.
    """

    def __init__(self, moments: Moments, size: int, generator: np.random.Generator) -> None:
        super().__init__(size, generator)
        self._x = _root(moments.input_covariance)
        self._predict = np.linalg.lstsq(moments.input_covariance, moments.cross_covariance.T, rcond=None)[0]
        noise = moments.target_covariance - moments.cross_covariance @ self._predict
        if np.linalg.eigvalsh(noise)[0] < -1e-9 * np.linalg.norm(moments.target_covariance):
            raise ParameterError("target_covariance", "too small", "at least what x predicts of y, Syx Sxx^-1 Sxy")
        self._noise = _root(noise)

    def _pairs(self) -> tuple[FloatArray, FloatArray]:
        x = self._generator.standard_normal((self._size, len(self._x))) @ self._x
        return x, x @ self._predict + self._generator.standard_normal(x.shape) @ self._noise


def _root(covariance: FloatArray) -> FloatArray:
    """The symmetric square root."""
    values, vectors = np.linalg.eigh(covariance)
    root: FloatArray = vectors * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    return root
