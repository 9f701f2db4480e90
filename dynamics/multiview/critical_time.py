"""When each mode is learned, under every loss with a closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.checks import check_fraction
from dynamics.errors import ParameterError
from dynamics.features import Features, FloatArray
from dynamics.multiview.ladder import check_shared, plateau, shared
from dynamics.multiview.losses import Law, Loss, Setup
from dynamics.multiview.status import ModeStatus
from dynamics.status import StatusArray, words
from dynamics.table import Columns, Tabular, known

EXACT, LEADING = "exact", "leading-log"
"""How well a time is known: exactly for aligned modes, or to leading logarithms in a small start."""


@dataclass(frozen=True, eq=False)
class CriticalModes(Tabular):
    """Critical times of every mode under one loss, arrays of shape ``(len(features),)``.

    Attributes
    ----------
    eigenvalue
        What the loss sees of each feature: its strength or kappa, as `Loss.eigenvalue` says.
    asymptote
        Size that each mode tends to, as the loss measures it: for Barlow Twins the variance that a mode carries over all
        outputs of the projector; 0 where it is not learned.
    threshold
        Size that counts as learned: ``fraction`` of the asymptote or, where modes share plateaus (Barlow Twins with beta below
        1), of the size that the mode has on the plateau that it opens, from which later modes take.
    time
        Gradient-flow time at unit learning rate to the threshold; ``inf`` where it is not learned.
    accuracy
        ``exact`` for aligned modes, or ``leading-log``: right to leading logarithms in a small random start.
    status
        A `ModeStatus` a mode.
    """

    loss: Loss
    features: Features
    setup: Setup
    epsilon: FloatArray
    fraction: float
    eigenvalue: FloatArray
    asymptote: FloatArray
    threshold: FloatArray
    time: FloatArray
    accuracy: str
    status: StatusArray

    @property
    def log10_time(self) -> FloatArray:
        """Decimal logarithm; ``-inf`` where the mode is already reached."""
        with np.errstate(divide="ignore"):
            logarithm: FloatArray = np.log10(self.time)
        return logarithm

    @property
    def sequence(self) -> npt.NDArray[np.intp]:
        """Positions of the modes that are learned, first learned first."""
        order = np.argsort(self.time, kind="stable")
        return order[np.isfinite(self.time[order])]

    def columns(self) -> Columns:
        """The standard columns, and those of the loss."""
        count = len(self.features)
        return (
            {"feature": np.array(self.features.labels(), dtype=object)}
            | {name: np.full(count, value) for name, value in self.loss.settings(self.setup).items()}
            | {"epsilon": self.epsilon, "fraction": np.full(count, self.fraction)}
            | {"lambda": self.features.lam, "rho": self.features.rho, "sigma": self.features.sigma}
            | {self.loss.eigenvalue: self.eigenvalue, "asymptote": self.asymptote, "threshold": self.threshold}
            | {"critical_time": known(self.time), "log10_critical_time": known(self.log10_time)}
            | {"accuracy": np.full(count, self.accuracy), "status": words(self.status)}
        )


def critical_modes(
    loss: Loss, features: Features, *, epsilon: npt.ArrayLike, fraction: float = 0.5, setup: Setup | None = None
) -> CriticalModes:
    """When each mode is learned.

    Exact for modes that start aligned, each with an output of its own. From a small random start it holds to leading
    logarithms, with ``epsilon`` the part of each mode's column that is orthogonal to the modes learned before it
    (`residual_starts`). A projector holds as many modes as it is wide.

    Parameters
    ----------
    epsilon
        Amplitude of every mode at the start, the norm of its column in the projector; one number or one a mode.
    fraction
        Share of its asymptote that counts as learned.

    Raises
    ------
    ParameterError
        If a parameter is outside what is allowed: for Barlow Twins also a beta above 1, where modes are not shared.
    LindynError
        If the modes of the loss have no closed form.
    """
    setup = setup or Setup()
    check_fraction(fraction)
    amplitude = _amplitudes(epsilon, len(features))
    if setup.teacher_rate is not None and "teacher_rate" in loss.uses:
        return _with_teacher(loss, features, amplitude, fraction, setup)
    law, eigenvalue = loss.law_of(features, setup), loss.eigenvalues(features, setup)
    start, asymptote = _sizes(loss, amplitude, eigenvalue), law.asymptote
    status = law.status(start, fraction * asymptote)
    time = _alone(law, start, fraction * asymptote, status)
    learned = _within(setup.width, time, asymptote, status)
    threshold, accuracy = fraction * asymptote, EXACT
    if loss.shares:
        check_shared(setup.beta)
        _check_small(setup.beta, amplitude, status)
        time[learned] = shared(time[learned], width=setup.width, beta=setup.beta)
        energies = [plateau(step + 1, width=setup.width, beta=setup.beta).mode_energy for step in range(len(learned))]
        threshold[learned], asymptote[learned] = fraction * np.array(energies), energies[-1] if energies else 0.0
        accuracy = LEADING if setup.beta < 1.0 else EXACT
    return CriticalModes(loss, features, setup, amplitude, fraction, eigenvalue, asymptote, threshold, time, accuracy, status)


def _within(width: int, time: FloatArray, asymptote: FloatArray, status: StatusArray) -> npt.NDArray[np.intp]:
    """The modes that a projector has room for, first learned first; the others are marked as beyond its width."""
    learned = np.argsort(time, kind="stable")[: int(np.isfinite(time).sum())]
    beyond = learned[width:]
    status[beyond], time[beyond], asymptote[beyond] = ModeStatus.BEYOND_WIDTH, np.inf, 0.0
    return learned[:width]


def _amplitudes(epsilon: npt.ArrayLike, count: int) -> FloatArray:
    amplitude = np.array(np.broadcast_to(np.asarray(epsilon, dtype=np.float64), count))
    good = np.isfinite(amplitude) & (amplitude > 0.0)
    if not good.all():
        raise ParameterError("epsilon", amplitude[~good][0], "a positive finite number")
    return amplitude


def _sizes(loss: Loss, amplitude: FloatArray, eigenvalue: FloatArray) -> FloatArray:
    """Sizes at the start; raise if a double does not hold one."""
    with np.errstate(over="ignore", under="ignore"):
        start = loss.size(amplitude, eigenvalue)
    lost = ~np.isfinite(start) | ((np.abs(start) < np.finfo(np.float64).tiny) & (eigenvalue != 0.0))
    if lost.any():
        raise ParameterError("epsilon", amplitude[lost][0], "such that a double holds its square, and that times the strength")
    return start


def _check_small(beta: float, amplitude: FloatArray, status: StatusArray) -> None:
    """Raise if a staircase would begin in the middle: it is known from small starts only."""
    large = status == ModeStatus.ALREADY_REACHED
    if beta < 1.0 and large.any():
        raise ParameterError("epsilon", amplitude[large][0], "small where beta is below 1, where the staircase begins")


def _alone(law: Law, start: FloatArray, end: FloatArray, status: StatusArray) -> FloatArray:
    """The time of each mode by itself: 0 where it is already reached, ``inf`` where it is not learned."""
    time = np.full(len(start), np.inf)
    time[status == ModeStatus.ALREADY_REACHED] = 0.0
    going = status == ModeStatus.REACHED
    time[going] = law[going].time(start[going], end[going])
    return time


def _with_teacher(loss: Loss, features: Features, amplitude: FloatArray, fraction: float, setup: Setup) -> CriticalModes:
    """BYOL with an EMA teacher: a student of one layer and a predictor of one, which is JEPA's mode equation at L = M = 1."""
    from dynamics.objectives import jepa
    from dynamics.reduced import mode_times
    from dynamics.regime import Regime

    if len(set(amplitude.tolist())) > 1:
        raise ParameterError("epsilon", "different for different modes", "one number where there is a teacher")
    regime = Regime(teacher_rate=setup.teacher_rate, weight_decay=setup.weight_decay)
    found = mode_times(jepa(1, 1), features, epsilon=float(amplitude[0]), fraction=fraction, regime=regime)
    told = np.array([ModeStatus(status.value) for status in found.status], dtype=object)
    time, asymptote = found.time.copy(), found.asymptote.copy()
    _within(setup.width, time, asymptote, told)
    return CriticalModes(
        loss, features, setup, amplitude, fraction, features.lam, asymptote, fraction * asymptote, time, EXACT, told
    )
