"""The features of a regime in standard form, and the fixed points they tend to.

With u an encoder layer, v a predictor layer and kappa the predictor's rate, n = v / sqrt(kappa) obeys the equations of
kappa = 1 with lam kappa^(M/2) for lam and rho kappa^(-M/2) for rho. Then c = n^2 - u^2 obeys c' = -2 eta c for any target.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import log, log1p

import numpy as np
import numpy.typing as npt

from dynamics.features import Features, FloatArray
from dynamics.objectives import Objective
from dynamics.regime import Regime

BoolArray = npt.NDArray[np.bool_]

ROOT_STEPS = 80
"""Newton steps for a fixed point; halving is the slowest they converge, at a fold."""


@dataclass(frozen=True, eq=False)
class Modes:
    """Features in standard form: the predictor's rate scaled away, signs such that a positive predictor grows for lam > 0.

    Attributes
    ----------
    lam, log_lam, log_rho
        lam kappa^(M/2), ln of its size, and ln of the size of rho kappa^(-M/2).
    log_encoder, log_predictor, positive
        ln u and ln |n| at the start, and whether n > 0 there.
    log_balance, stronger
        ln |c|, and the sign of c: 1 where the predictor starts stronger than the encoder, 0 where balanced.
    decay, teacher
        eta and beta; a rate of 0 stands for no teacher.
    """

    lam: FloatArray
    log_lam: FloatArray
    log_rho: FloatArray
    log_encoder: FloatArray
    log_predictor: FloatArray
    positive: BoolArray
    log_balance: FloatArray
    stronger: FloatArray
    decay: FloatArray
    teacher: FloatArray

    def __getitem__(self, which: BoolArray) -> Modes:
        return Modes(**{field.name: getattr(self, field.name)[which] for field in fields(self)})

    def __len__(self) -> int:
        return len(self.lam)


def standard_modes(objective: Objective, features: Features, epsilon: float, regime: Regime) -> Modes:
    """The features under a regime, in standard form."""
    count = len(features)
    layers = objective.predictor_depth
    log_encoder = np.full(count, log(epsilon) / objective.depth)
    log_rate = 0.5 * np.log(_spread(regime.predictor_rate, count))
    if regime.predictor_start is None:
        log_predictor, sign = log_encoder - log_rate, np.ones(count)
    else:
        start = _spread(regime.predictor_start, count)
        log_predictor, sign = np.log(np.abs(start)) - log_rate, np.sign(start)
    lam = features.lam
    if layers % 2:  # an odd number of predictor layers: (n, lam, rho) -> -(n, lam, rho) changes nothing
        sign, lam = np.where(lam < 0, -sign, sign), np.abs(lam)
    else:
        sign = np.abs(sign)
    surplus = 2.0 * (log_predictor - log_encoder)
    surplus[np.abs(surplus) <= 1e-15 * (1.0 + np.abs(log_encoder))] = 0.0  # what rounding makes of a balanced start
    with np.errstate(divide="ignore"):
        size = np.where(lam == 0, 1.0, np.abs(features.lam))
        rho = np.where(lam == 0, 1.0, np.abs(features.rho))
        log_balance = 2.0 * np.maximum(log_encoder, log_predictor) + np.log(-np.expm1(-np.abs(surplus)))
    return Modes(
        lam=lam,
        log_lam=np.log(size) + layers * log_rate,
        log_rho=np.log(rho) - layers * log_rate,
        log_encoder=log_encoder,
        log_predictor=log_predictor,
        positive=sign > 0,
        log_balance=log_balance,
        stronger=np.sign(surplus),
        decay=_spread(regime.weight_decay, count),
        teacher=_spread(0.0 if regime.teacher_rate is None or not objective.target_depth else regime.teacher_rate, count),
    )


def _spread(value: float | FloatArray, count: int) -> FloatArray:
    return np.array(np.broadcast_to(np.asarray(value, dtype=np.float64), count))


def fixed_point(lead_power: int, other_power: int, log_balance: FloatArray, log_rho: FloatArray) -> FloatArray:
    """ln x where x^i (x^2 + c)^(j/2) = rho; minus infinity where no positive x does it."""
    if not lead_power:
        room = np.minimum(log_balance - 2.0 * log_rho / other_power, 0.0)
        with np.errstate(divide="ignore"):
            point: FloatArray = log_rho / other_power + 0.5 * np.log(-np.expm1(room))
        return point
    lead = log_rho / (lead_power + other_power)
    for _ in range(ROOT_STEPS if other_power else 1):  # from the right of a convex function: every step descends to the root
        total = np.logaddexp(2.0 * lead, log_balance)
        slope = lead_power + other_power * np.exp(2.0 * lead - total)
        step = (lead_power * lead + 0.5 * other_power * total - log_rho) / slope
        lead = lead - step
        if np.all(np.abs(step) <= 4e-16 * np.abs(lead)):
            break
    return lead


def log_fold(alpha: float) -> float:
    """ln of the greatest z^alpha (1 - z)."""
    return (alpha * log(alpha) if alpha else 0.0) - (1.0 + alpha) * log1p(alpha)


def filled_end(alpha: float, log_decay: FloatArray) -> FloatArray:
    """ln of the greater z at which z^alpha (1 - z) is exp(log_decay); minus infinity where it never is."""
    exists = log_decay < log_fold(alpha)
    level = np.where(exists, log_decay, log_fold(alpha) - 1.0)
    logit = -level
    for _ in range(ROOT_STEPS):  # from the right of a concave function: every step descends to the root
        log_z, log_gap = -np.logaddexp(0.0, -logit), -np.logaddexp(0.0, logit)
        slope = (1.0 + alpha) * np.exp(log_z) - alpha
        step = (level - alpha * log_z - log_gap) / np.maximum(slope, 1e-9)
        logit = logit - np.maximum(step, 0.0)
        if np.all(step <= 4e-16 * np.abs(logit)):
            break
    return np.where(exists, -np.logaddexp(0.0, -logit), -np.inf)


def weight_decay_fold(objective: Objective, features: Features) -> FloatArray:
    """Weight decay eta from which on a balanced feature cannot be held: the two fixed points meet; 0 where lambda <= 0.

    Below it a feature is learned if it starts above the lower fixed point; for a = 1 (one encoder and one decoder layer) there
    is no lower one and the fold is lambda.
    """
    alpha, learned = float(objective.alpha), features.lam > 0
    lam, rho = np.where(learned, features.lam, 1.0), np.where(learned, features.rho, 1.0)
    fold: FloatArray = np.where(learned, np.exp(np.log(lam) + alpha * np.log(rho) + log_fold(alpha)), 0.0)
    return fold
