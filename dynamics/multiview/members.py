"""Losses whose modes have closed forms, each as the law of its modes' sizes.

A new loss of these kinds is a function here and an entry in `dynamics.multiview.losses`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dynamics.checks import check_positive
from dynamics.errors import ParameterError
from dynamics.features import FloatArray
from dynamics.multiview.bistable import Bistable
from dynamics.multiview.logistic import Logistic

ROUNDING = 1e-14
"""Of a level at the threshold of a mode."""


def barlow_twins(strength: npt.ArrayLike) -> Logistic:
    """Linear Barlow Twins of full orthogonality, beta = 1 (Simon et al. 2023): share of a unit variance, gamma s^2.

    The weight's singular value s tends to gamma^(-1/2), and the half time from s_0 is -ln(gamma s_0^2) / (8 gamma) for a small
    start.
    """
    gamma = _column("strength", strength)
    return Logistic(8.0 * gamma, np.ones_like(gamma))


def penalised(kappa: npt.ArrayLike, beta: float) -> Logistic:
    """Invariance plus beta times a penalty on the covariance: energy of a mode of invariance eigenvalue kappa.

    It tends to 1 - kappa / (2 beta); a mode is alive only if beta exceeds kappa / 2, whatever the width.
    """
    check_positive("beta", beta)
    level = 1.0 - _column("kappa", kappa) / (2.0 * beta)
    level[np.abs(level) <= ROUNDING] = 0.0
    return Logistic(8.0 * beta * level, np.where(level > 0.0, level, 1.0))


def spectral_contrastive(strength: npt.ArrayLike) -> Logistic:
    """Spectral contrastive loss (HaoChen et al. 2021): the energy of a mode tends to its strength."""
    gamma = _column("strength", strength)
    return Logistic(8.0 * gamma, np.where(gamma > 0.0, gamma, 1.0))


def two_layers(covariance: npt.ArrayLike, variance: npt.ArrayLike) -> Logistic:
    """A regression by a network of two balanced layers (Saxe et al. 2014): the mode of their product tends to rho.

    ``covariance`` is lam and ``variance`` sigma^2 of each feature, 1 on whitened input.
    """
    lam, square = _column("covariance", covariance), _positive("variance", variance)
    return Logistic(2.0 * lam, np.where(lam > 0.0, lam / square, 1.0))


def iso_loss(covariance: npt.ArrayLike, variance: npt.ArrayLike) -> Logistic:
    """A predictor set in closed form, with a loss that makes all modes learn alike (Halvagal et al. 2023): energy of a mode.

    At a rate of lam alone, where `direct_copy` has lam times the energy itself.
    """
    return two_layers(covariance, variance)


def byol(covariance: npt.ArrayLike, variance: npt.ArrayLike, decay: float) -> Bistable:
    """Linear BYOL with a trained predictor and weight decay (Tian et al. 2021): the predictor's eigenvalue p.

    On the invariant line of a predictor as strong as the encoder, and a teacher that is the student itself.
    """
    return Bistable(*_balance(covariance, variance, decay))


def direct_copy(covariance: npt.ArrayLike, variance: npt.ArrayLike, decay: float) -> Bistable:
    """DirectCopy, a predictor set to the covariance of the representation (Wang et al. 2021): the energy of a mode.

    Weight decay keeps modes that augmentation leaves alone and kills those it shakes, from lam^2 / (4 sigma^2) on.
    """
    return Bistable(*(2.0 * part for part in _balance(covariance, variance, decay)))


def _balance(covariance: npt.ArrayLike, variance: npt.ArrayLike, decay: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    if not (np.isfinite(decay) and decay >= 0.0):
        raise ParameterError("weight_decay", decay, "a finite number, at least 0")
    lam, square = _column("covariance", covariance), _positive("variance", variance)
    return lam, square, np.full_like(square, decay)


def _positive(name: str, values: npt.ArrayLike) -> FloatArray:
    column = _column(name, values)
    if not (column > 0.0).all():
        raise ParameterError(name, values, "a list of positive numbers")
    return column


def _column(name: str, values: npt.ArrayLike) -> FloatArray:
    column = np.atleast_1d(np.array(values, dtype=np.float64))
    if column.ndim != 1 or not np.isfinite(column).all():
        raise ParameterError(name, values, "a list of finite numbers")
    return column
