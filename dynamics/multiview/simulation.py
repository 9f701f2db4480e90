"""The matrices themselves, trained on a loss from a small random start, beside the laws of their modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.checks import check_fraction, check_positive, whole_number
from dynamics.errors import LindynError, ParameterError
from dynamics.features import Features, FloatArray
from dynamics.multiview.critical_time import CriticalModes, critical_modes
from dynamics.multiview.graph import AugmentationGraph
from dynamics.multiview.ladder import plateau, residual_starts
from dynamics.multiview.logistic import Logistic
from dynamics.multiview.losses import Loss, Setup
from dynamics.multiview.motion import Motion, descended, followed
from dynamics.multiview.observables import effective_rank, redundancy
from dynamics.multiview.population import Views, sample_of, views_of
from dynamics.multiview.status import ModeStatus
from dynamics.multiview.training import TRAININGS, Training
from dynamics.multiview.water_filling import water_filling
from dynamics.status import StatusArray, words
from dynamics.table import Columns, Table, Tabular, known

if TYPE_CHECKING:
    from dynamics.network.population import Data

STARTS = ("gaussian", "orthogonal")
"""Independent normal weights, or orthonormal columns (rows in a projector narrower than the modes), times epsilon."""

AFTER, LONGEST = 1.3, 1e4
"""How far a run goes past the latest predicted time, as a factor; and at most where no time is predicted."""

LEAST = 1e-140
"""Amplitude at the start."""

SETTLED = 20.0
"""Relaxation times after which a run without predicted times ends."""


@dataclass(frozen=True, eq=False)
class Curves:
    """What was seen on the way, at ``time``: sizes of shape ``(times, modes)``, the rest of shape ``(times,)``."""

    time: FloatArray
    sizes: FloatArray
    effective_rank: FloatArray
    redundancy: FloatArray
    loss: FloatArray


@dataclass(frozen=True, eq=False)
class ModeRun(Tabular):
    """One run of the matrices, arrays of shape ``(modes,)``.

    Attributes
    ----------
    predicted
        The critical times that the law gives from this very start; None for a loss whose modes have no closed form.
    asymptote, threshold
        Size that each mode is predicted to tend to, and the one that counts as learned; as for `CriticalModes`.
    time
        When each came to its threshold (`CriticalModes.threshold`); ``nan`` where it did not.
    final
        Size at the end.
    status
        A `ModeStatus` a mode, of the run.
    curves
        What was seen on the way.
    diverged
        Whether gradient descent did.
    """

    loss: Loss
    features: Features
    setup: Setup
    start: str
    epsilon: float
    fraction: float
    learning_rate: float | None
    seed: int
    images: int | None
    predicted: CriticalModes | None
    asymptote: FloatArray
    threshold: FloatArray
    time: FloatArray
    final: FloatArray
    status: StatusArray
    curves: Curves
    diverged: bool

    @property
    def settings(self) -> dict[str, Any]:
        """What the run was made with, by the names that tables carry."""
        sample = {} if self.images is None else {"views": self.setup.views, "images": self.images}
        step = {} if self.learning_rate is None else {"learning_rate": self.learning_rate}
        start: dict[str, Any] = {"start": self.start, "epsilon": self.epsilon, "fraction": self.fraction, "seed": self.seed}
        if self.loss.of_unit_norm:
            del start["epsilon"]
        return self.loss.settings(self.setup) | sample | start | step

    def columns(self) -> Columns:
        """One row a mode: what was predicted from this start, and what happened."""
        count = len(self.features)
        predicted = np.full(count, np.nan) if self.predicted is None else self.predicted.time
        told = np.full(count, ModeStatus.NOT_PREDICTED, dtype=object) if self.predicted is None else self.predicted.status
        usable = np.isfinite(predicted) & (predicted > 0.0) & (self.time > 0.0)
        ratio = np.where(usable, self.time / np.where(usable, predicted, 1.0), np.nan)
        return (
            {"feature": np.array(self.features.labels(), dtype=object)}
            | {name: np.full(count, value) for name, value in self.settings.items()}
            | {"lambda": self.features.lam, "rho": self.features.rho, "sigma": self.features.sigma}
            | {"asymptote": self.asymptote, "threshold": self.threshold, "final_size": self.final}
            | {"critical_time": known(predicted), "simulated_time": known(self.time), "ratio": known(ratio)}
            | {"effective_rank": np.full(count, self.curves.effective_rank[-1])}
            | {"redundancy": known(np.full(count, self.curves.redundancy[-1]))}
            | {"status": words(told), "simulated_status": words(self.status)}
        )

    def curves_table(self) -> Table:
        """One row a mode and time: its size, and the effective rank, redundancy and loss then."""
        curves, count = self.curves, len(self.features)
        points = len(curves.time)
        return Table(
            {"feature": np.tile(np.array(self.features.labels(), dtype=object), points)}
            | {name: np.full(points * count, value) for name, value in self.settings.items()}
            | {"time": np.repeat(curves.time, count), "size": curves.sizes.ravel()}
            | {"effective_rank": np.repeat(curves.effective_rank, count)}
            | {"redundancy": known(np.repeat(curves.redundancy, count)), "loss_value": np.repeat(curves.loss, count)}
        )


def simulate_modes(
    loss: Loss,
    source: Features | AugmentationGraph | Data | Views,
    *,
    images: int | None = None,
    setup: Setup | None = None,
    epsilon: float = 1e-3,
    fraction: float = 0.5,
    start: str = "gaussian",
    learning_rate: float | None = None,
    until: float | None = None,
    points: int = 200,
    seed: int = 0,
) -> ModeRun:
    """Train the matrices of a loss, by gradient flow or by gradient descent.

    Parameters
    ----------
    source
        Features of exchangeable views, an augmentation graph (its exact kernel), or data, whose features may be coupled; or the
        moments of views.
    images
        Draw so many images, with ``setup.views`` normal views of each, and train on the moments that they estimate; by default
        on the exact ones. Only with features, and at least as many as there are.
    epsilon
        Amplitude of a mode at the start: the norm of its column in the projector, on average over starts. Normalised features
        start at unit norm instead.
    start
        One of `STARTS`.
    learning_rate
        Step of gradient descent, in which a step counts as this much time; None for gradient flow.
    until
        Time at which to end; by default a little after the predicted times.

    Raises
    ------
    ParameterError
        If a parameter is outside what is allowed.
    LindynError
        If the run would take too many steps, or the integrator gives up.
    """
    setup = setup or Setup()
    check_fraction(fraction)
    check_positive("epsilon", epsilon)
    if not LEAST <= epsilon <= 1.0 / LEAST:
        raise ParameterError("epsilon", epsilon, f"from {LEAST:g} to {1.0 / LEAST:g}, whose squares a double holds")
    views = views_of(source) if images is None else _sample(source, images, setup.views, seed)
    training, weights = TRAININGS[loss.name](views, setup), _weights(start, setup.width, views.count, epsilon, seed)
    predicted = _predicted(loss, views, setup, weights, fraction)
    asymptote = _asymptote(loss, views, setup) if predicted is None else predicted.asymptote
    end = _end(until, predicted, loss, views, setup)
    state = training.start(weights)
    threshold = fraction * asymptote if predicted is None else predicted.threshold
    watched = np.where(asymptote > 0.0, threshold, np.inf)
    times = np.linspace(0.0, end, whole_number("points", points, 2))
    if learning_rate is None:
        moved = followed(training, state, times, watched)
    else:
        moved = descended(training, state, times, watched, learning_rate)
    curves, time = _curves(training, moved), np.full_like(moved.crossed, np.nan) if moved.diverged else moved.crossed
    reached = np.isfinite(time)
    status = np.full(views.count, ModeStatus.DIVERGED if moved.diverged else ModeStatus.NOT_REACHED, dtype=object)
    status[reached] = ModeStatus.REACHED
    status[reached & (time == 0.0)] = ModeStatus.ALREADY_REACHED
    none = asymptote == 0.0
    status[none] = ModeStatus.NEVER if predicted is None else predicted.status[none]
    return ModeRun(
        *(loss, views.features, setup, start, epsilon, fraction, learning_rate, seed, images),
        *(predicted, asymptote, threshold, time, curves.sizes[-1], status, curves, moved.diverged),
    )


def _sample(source: Features | AugmentationGraph | Data | Views, images: int, views: int, seed: int) -> Views:
    if not isinstance(source, Features):
        raise LindynError("Images are drawn of features only; data and graphs have their own.")
    return sample_of(source, images=images, views=views, seed=seed)


def _weights(start: str, width: int, count: int, epsilon: float, seed: int) -> FloatArray:
    """Weights of the projector at the start, shape ``(width, modes)``."""
    if start not in STARTS:
        raise ParameterError("start", start, f"one of {', '.join(STARTS)}")
    normal = np.random.default_rng(whole_number("seed", seed, 0)).standard_normal((width, count))
    if start == "gaussian":
        weights: FloatArray = epsilon / np.sqrt(width) * normal
        return weights
    tall = np.linalg.qr(normal if width >= count else normal.T)[0]
    return epsilon * (tall if width >= count else tall.T)


def _predicted(loss: Loss, views: Views, setup: Setup, weights: FloatArray, fraction: float) -> CriticalModes | None:
    """The law from this start: each mode's own amplitude, less what lies along modes that are learned before."""
    if loss.law is None or (loss.shares and setup.beta > 1.0):
        return None
    if loss.shares and setup.beta < 1.0 and _is_large(loss, views, setup, weights, fraction):
        return None
    norms, eigenvalues = np.sqrt((weights**2).sum(axis=0)), loss.eigenvalues(views.features, setup)
    if "teacher_rate" in loss.uses and setup.teacher_rate is not None:
        norms = np.full(views.count, float(np.sqrt((norms**2).mean())))
    how: dict[str, Any] = {"fraction": fraction, "setup": setup}
    law = loss.law_of(views.features, setup)
    if loss.power == 1 or not isinstance(law, Logistic):
        return critical_modes(loss, views.features, epsilon=norms, **how)
    # Modes that grow exponentially come out of a random start one after the other, each orthogonal to those before.
    with np.errstate(divide="ignore", invalid="ignore"):
        speed = np.where(law.rate > 0.0, law.rate, np.nan)
        squares = residual_starts(
            weights,
            beta=setup.beta if loss.shares else 1.0,
            wait=lambda rest: (np.log(law.capacity) - np.log(loss.size(np.sqrt(rest), eigenvalues))) / speed,
        )
    return critical_modes(loss, views.features, epsilon=np.sqrt(squares), **how)


def _is_large(loss: Loss, views: Views, setup: Setup, weights: FloatArray, fraction: float) -> bool:
    """Whether a start is too large for a staircase."""
    sizes = loss.size(np.sqrt((weights**2).sum(axis=0)), loss.eigenvalues(views.features, setup))
    return bool((sizes >= fraction).any())


def _asymptote(loss: Loss, views: Views, setup: Setup) -> FloatArray:
    """Where modes without a predicted time end: normalised features by water-filling, Barlow Twins on its last plateau."""
    eigenvalues = loss.eigenvalues(views.features, setup)
    if loss.shares:
        first = (eigenvalues > 0.0) & (np.argsort(np.argsort(-eigenvalues, kind="stable")) < setup.width)
        held = int(first.sum())
        level = plateau(held, width=setup.width, beta=setup.beta).mode_energy if held and setup.beta < 1.0 else 1.0
        return np.where(first, level, 0.0)
    return water_filling(eigenvalues, beta=setup.beta, width=setup.width).energy


def _end(until: float | None, predicted: CriticalModes | None, loss: Loss, views: Views, setup: Setup) -> float:
    if until is not None:
        check_positive("until", until)
        return until
    if predicted is not None:
        finite = predicted.time[np.isfinite(predicted.time)]
        if finite.size and finite.max() > 0.0:
            return AFTER * float(finite.max())
        raise LindynError("No mode has its critical time ahead from this start, so the run needs an end; add --until.")
    if loss.shares:
        raise LindynError(
            "Above beta = 1, or from a large start below it, no critical time is predicted, so the run needs an end;"
            " add --until."
        )
    kappa = loss.eigenvalues(views.features, setup)
    filling = water_filling(kappa, beta=setup.beta, width=setup.width)
    outside, inside = kappa[kappa > filling.level], filling.energy[filling.energy > 0.0]
    rates = np.concatenate([2.0 * (outside - filling.level), 4.0 * setup.beta * inside])
    return float(min(SETTLED / rates.min(), LONGEST))


def _curves(training: Training, moved: Motion) -> Curves:
    covariances = [training.covariance(state) for state in moved.states]
    return Curves(
        moved.times,
        np.array([training.sizes(state) for state in moved.states]),
        np.array([effective_rank(covariance) for covariance in covariances]),
        np.array([redundancy(covariance) for covariance in covariances]),
        np.array([training.loss(state) for state in moved.states]),
    )
