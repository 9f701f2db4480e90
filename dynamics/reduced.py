"""When features are learned, by SciPy: beyond plain gradient flow, and as a check of the closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import isfinite, log

import numpy as np
import numpy.typing as npt

from dynamics.checks import check_epsilon, check_fraction
from dynamics.critical_time import CriticalTimes, critical_times
from dynamics.errors import LindynError, ParameterError
from dynamics.features import Features, FloatArray
from dynamics.intrinsic_time import SIMULATE, TOLERANCES, Method, Stretch, follow, integrate, quadrature
from dynamics.mode_equations import Balanced, Curve, Drifting, curves
from dynamics.modes import standard_modes
from dynamics.objectives import Objective
from dynamics.regime import Regime
from dynamics.status import Status, StatusArray, words
from dynamics.table import Columns, Tabular, known

Rows = npt.NDArray[np.intp]

LN10 = log(10.0)


@dataclass(frozen=True, eq=False)
class ModeTimes(Tabular):
    """Critical times of every feature under a regime, arrays of shape ``(len(features),)``.

    Attributes
    ----------
    time
        Training time at unit learning rate per encoder layer (with a finite step, the number of steps times the step);
        ``inf`` where the feature is never learned or a double overflows, nan where the status is ``not-predicted``.
    log10_time
        Decimal logarithm, finite also where ``time`` overflows; ``-inf`` where the feature is already reached.
    asymptote
        Encoder amplitude at which the feature is learned for good; 0 where it never is. Negative for a single encoder layer
        that passes through 0, as it does in a masked autoencoder whose stronger decoder starts with the wrong sign.
    status
        A `Status` a feature.
    """

    objective: Objective
    features: Features
    epsilon: float
    fraction: float
    time: FloatArray
    log10_time: FloatArray
    asymptote: FloatArray
    status: StatusArray

    def columns(self) -> Columns:
        """The standard columns, those of `CriticalTimes`."""
        plain = CriticalTimes(self.objective, self.features, self.epsilon, self.fraction, self.time, self.log10_time)
        times = {"critical_time": known(self.time), "log10_critical_time": known(self.log10_time)}
        return plain.columns() | times | {"asymptote": self.asymptote, "status": words(self.status)}


def integrated_critical_times(
    objective: Objective, features: Features, *, epsilon: float, fraction: float = 0.5, method: Method | None = None
) -> CriticalTimes:
    """Critical times as SciPy integrates them, all features in one call; within 1e-9 relative by any method.

    By quadrature the error is mostly below 1e-13.

    Parameters
    ----------
    epsilon, fraction
        As for `critical_times`, which decides the status.
    method
        An explicit or implicit method of ``scipy.integrate.solve_ivp`` (RK23 and BDF take thousands of steps); None for the
        quadrature of ``scipy.integrate.quad_vec``.

    Raises
    ------
    ParameterError
        As `critical_times`.
    LindynError
        If the integrator gives up; the sentence is SciPy's.
    """
    _check_method(method, taught=False)
    exact = critical_times(objective, features, epsilon=epsilon, fraction=fraction)
    reached = exact.status == Status.REACHED
    if not reached.any():
        return exact
    modes = standard_modes(objective, features, epsilon, Regime())[reached]
    log10_time = exact.log10_time.copy()
    stretches = [_stretch(Balanced(objective, modes), fraction)]
    log10_time[reached] = (integrate(stretches, method) if method else quadrature(stretches)) / LN10
    return replace(exact, time=_power_of_ten(log10_time), log10_time=log10_time)


def mode_times(
    objective: Objective,
    features: Features,
    *,
    epsilon: float,
    fraction: float = 0.5,
    regime: Regime | None = None,
    learning_rate: float | None = None,
    method: Method | None = None,
) -> ModeTimes:
    """First training time at which each feature reaches a fraction of its own asymptote, beyond plain gradient flow.

    Exact mode equations of aligned networks, integrated over the variable in which each is monotone to about 1e-9 relative,
    with a teacher to about 1e-7 (Littwin et al. 2024, feature dynamics in deep linear networks).

    Parameters
    ----------
    epsilon
        Encoder amplitude of every feature at the start, the product over layers; one layer starts at ``epsilon**(1/depth)``.
    fraction
        Share of the asymptote that counts as learned, in (0, 1).
    regime
        Departures from plain gradient flow; its numbers may be arrays, one entry a feature.
    learning_rate
        Step of gradient descent on balanced layers; None for gradient flow. Times are then steps times the step, right to its
        third power: not to be trusted where ``learning_rate`` times the greatest rate of the flow is not small against 1.
    method
        A method of ``scipy.integrate.solve_ivp``. By default the time is a quadrature (``quad_vec``), with weight decay on
        unbalanced layers DOP853 and with a teacher LSODA, or BDF where that gives up: the equations are then stiff, and
        explicit methods refused.

    Returns
    -------
    ModeTimes
        A feature whose start is at or above ``fraction * asymptote`` is already reached at time 0. Times are nan where the
        status is ``not-predicted``: no variable is monotone that could take the place of time.

    Raises
    ------
    ParameterError
        If ``epsilon``, ``fraction``, ``method`` or the length of an array is not allowed, or ``learning_rate`` is unstable at a
        fixed point.
    LindynError
        Without a stop-gradient, where a finite step meets a teacher or unbalanced layers, or if the integrator gives up.
    """
    regime = regime or Regime()
    check_epsilon(epsilon)
    check_fraction(fraction)
    _check_regime(regime, len(features), learning_rate)
    modes, labels = standard_modes(objective, features, epsilon, regime), np.array(features.labels(), dtype=object)
    taught = bool(modes.teacher.any())
    _check_method(method, taught)
    limit = np.zeros(len(features))
    status: StatusArray = np.full(len(features), Status.NEVER, dtype=object)
    going: list[tuple[Rows, Curve]] = []
    for which, way in curves(objective, modes):
        rows, curve = np.flatnonzero(which), way(objective, modes[which])
        if learning_rate is not None:
            curve = _with_step(curve, labels[rows].tolist(), learning_rate)
        fates = _fates(curve, fraction, taught)
        status[rows] = fates
        limit[rows] = np.where(
            fates == Status.COLLAPSES, 0.0, curve.orientation * np.exp(objective.depth * curve.log_encoder_end)
        )
        reached = fates == Status.REACHED
        if reached.any():
            going.append((rows[reached], curve[reached]))
    log_time = np.full(len(features), np.inf)
    log_time[status == Status.ALREADY_REACHED] = -np.inf
    for rows, times in _log_times(going, fraction, method, taught):
        log_time[rows] = times
    status[np.isnan(log_time)] = Status.NOT_PREDICTED
    log_time[status == Status.NOT_PREDICTED] = np.nan
    log10_time = log_time / LN10
    return ModeTimes(objective, features, epsilon, fraction, _power_of_ten(log10_time), log10_time, limit, status)


def _stretch(curve: Curve, fraction: float) -> Stretch:
    return Stretch(curve, curve.start(), curve.target(fraction))


def _fates(curve: Curve, fraction: float, taught: bool) -> StatusArray:
    """What becomes of each feature of a curve."""
    fates: StatusArray = np.full(len(curve.modes), Status.REACHED, dtype=object)
    lost = curve.lost(fraction)
    fates[curve.already(fraction)] = Status.ALREADY_REACHED
    fates[lost] = Status.COLLAPSES
    going = fates == Status.REACHED
    if isinstance(curve, Drifting) and going.any():
        going[going] = taught | curve[going].turns_at_start()
        fates[going] = Status.NOT_PREDICTED
    return fates


def _log_times(
    going: Sequence[tuple[Rows, Curve]], fraction: float, method: Method | None, taught: bool
) -> Iterator[tuple[Rows, FloatArray]]:
    """ln of the times of features that are learned: curve by curve with a teacher, else all that share a method in one call."""
    if taught:
        for rows, curve in going:
            yield rows, follow(curve, fraction, method) if method else _followed(curve, fraction)
        return
    stretches = [(rows, _stretch(curve, fraction)) for rows, curve in going]
    for drifts in (False, True):
        members = [(rows, stretch) for rows, stretch in stretches if stretch.drifts is drifts]
        if members:
            alike = [stretch for _, stretch in members]
            given = method or ("DOP853" if drifts else None)
            yield np.concatenate([rows for rows, _ in members]), integrate(alike, given) if given else quadrature(alike)


def _followed(curve: Curve, fraction: float) -> FloatArray:
    """By LSODA, or by the slower BDF where that gives up."""
    try:
        return follow(curve, fraction, "LSODA")
    except LindynError:
        return follow(curve, fraction, "BDF")


def _check_regime(regime: Regime, count: int, learning_rate: float | None) -> None:
    for name in ("predictor_start", "predictor_rate", "teacher_rate", "weight_decay"):
        shape = np.shape(getattr(regime, name) if getattr(regime, name) is not None else 0.0)
        if shape not in ((), (1,), (count,)):
            raise ParameterError(name, f"an array of shape {shape}", f"one number or {count}, one a feature")
    if not regime.stop_gradient:
        raise LindynError(f"Without stop_gradient there is no mode equation here; {SIMULATE}")
    if learning_rate is not None:
        if not (isinstance(learning_rate, int | float) and isfinite(learning_rate) and learning_rate > 0):
            raise ParameterError("learning_rate", learning_rate, "a positive finite number")
        if regime.teacher_rate is not None:
            raise LindynError(f"A finite learning_rate goes with no teacher_rate; {SIMULATE}")


def _check_method(method: Method | None, taught: bool) -> None:
    if method is not None and method not in TOLERANCES:
        raise ParameterError("method", method, "one of " + ", ".join(TOLERANCES))
    if taught and method in ("RK23", "RK45", "DOP853"):
        raise ParameterError("method", method, "Radau, BDF or LSODA, because a teacher makes the equations stiff")


def _with_step(curve: Curve, names: Sequence[str], learning_rate: float) -> Curve:
    """The curve as gradient descent follows it."""
    if type(curve) is not Balanced:
        raise LindynError(
            f"A finite learning_rate goes with balanced layers, and those of feature {names[0]} are not; {SIMULATE}"
        )
    stiffness = np.where(np.isfinite(curve.end), curve.stiffness(), 0.0)
    worst = int(np.argmax(stiffness))
    if learning_rate * stiffness[worst] >= 2.0:
        allowed = f"below {2.0 / stiffness[worst]:.6g}, where feature {names[worst]} becomes unstable at its fixed point"
        raise ParameterError("learning_rate", learning_rate, allowed)
    curve.step = learning_rate
    return curve


def _power_of_ten(log10_time: FloatArray) -> FloatArray:
    with np.errstate(over="ignore"):
        time: FloatArray = 10.0**log10_time
    return time
