"""What is read off the second moments of a projector's outputs: how many directions they fill, how alike they are."""

from __future__ import annotations

import numpy as np

from dynamics.features import FloatArray


def effective_rank(covariance: FloatArray) -> float:
    """Participation ratio (tr C)^2 / |C|^2, from 1 for collinear outputs to their number; 0 where all are 0."""
    square = float((covariance**2).sum())
    return float(np.trace(covariance)) ** 2 / square if square else 0.0


def redundancy(covariance: FloatArray) -> float:
    """Mean squared correlation of two outputs, 0 to 1; 0 for a single output, ``nan`` where one does not vary."""
    variances = np.diagonal(covariance)
    count = len(variances)
    if count == 1:
        return 0.0
    if not (variances > 0.0).all():
        return float("nan")
    correlations = covariance / np.sqrt(np.outer(variances, variances))
    return float(((correlations**2).sum() - count) / (count * (count - 1)))
