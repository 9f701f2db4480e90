"""When features are learned, by SciPy: beyond plain gradient flow, and as a check of the closed form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, log

import numpy as np
import numpy.typing as npt

from dynamics.checks import check_epsilon, check_fraction
from dynamics.critical_time import CriticalTimes, critical_times
from dynamics.errors import LindynError, ParameterError
from dynamics.features import Features, FloatArray
from dynamics.intrinsic_time import SIMULATE, Method, Stretch, integrate, log_times
from dynamics.mode_equations import Balanced, Curve, curves
from dynamics.modes import standard_modes
from dynamics.objectives import Objective
from dynamics.regime import Regime
from dynamics.status import Status, StatusArray, words
from dynamics.table import Columns, Tabular

LN10 = log(10.0)


@dataclass(frozen=True, eq=False)
class ModeTimes(Tabular):
    """Critical times of every feature under a regime, arrays of shape ``(len(features),)``.

    Attributes
    ----------
    time
        Training time at unit learning rate per encoder layer (with a finite step, the number of steps times the step);
        ``inf`` where the feature is never learned or a double overflows.
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
        return plain.columns() | {"asymptote": self.asymptote, "status": words(self.status)}


def integrated_critical_times(
    objective: Objective, features: Features, *, epsilon: float, fraction: float = 0.5, method: Method = "DOP853"
) -> CriticalTimes:
    """Critical times as SciPy integrates them, all features in one call; within 1e-9 relative by any method.

    Parameters
    ----------
    epsilon, fraction
        As for `critical_times`, which decides the status.
    method
        An explicit or implicit method of ``scipy.integrate.solve_ivp``. RK23 and BDF take thousands of steps.

    Raises
    ------
    ParameterError
        As `critical_times`.
    LindynError
        If the integrator gives up; the sentence is SciPy's.
    """
    exact = critical_times(objective, features, epsilon=epsilon, fraction=fraction)
    reached = exact.status == Status.REACHED
    if not reached.any():
        return exact
    modes = standard_modes(objective, features, epsilon, Regime())[reached]
    log10_time = exact.log10_time.copy()
    log10_time[reached] = integrate([Stretch(Balanced(objective, modes), fraction)], method) / LN10
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
    with a teacher or a drifting imbalance to about 1e-7 (Littwin et al. 2024, feature dynamics in deep linear networks).

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
        A method of ``scipy.integrate.solve_ivp``; by default DOP853 for a quadrature and LSODA with a teacher or with weight
        decay on layers that start unbalanced, where explicit methods are refused because the equations are stiff.

    Returns
    -------
    ModeTimes
        A feature whose start is at or above ``fraction * asymptote`` is already reached at time 0.

    Raises
    ------
    ParameterError
        If ``epsilon``, ``fraction`` or ``method`` is not allowed, or ``learning_rate`` is unstable at a fixed point.
    LindynError
        If the regime has no mode equation in one variable; the sentence says which feature and to simulate it instead.
    """
    regime = regime or Regime()
    check_epsilon(epsilon)
    check_fraction(fraction)
    _check_regime(regime, len(features), learning_rate)
    modes, labels = standard_modes(objective, features, epsilon, regime), np.array(features.labels(), dtype=object)
    limit, log_time = np.zeros(len(features)), np.full(len(features), np.inf)
    status: StatusArray = np.full(len(features), Status.NEVER, dtype=object)
    rows: list[npt.NDArray[np.intp]] = []
    stretches: list[Stretch] = []
    for which, way in curves(objective, modes):
        curve, here = way(objective, modes[which]), np.flatnonzero(which)
        if learning_rate is not None:
            curve = _with_step(curve, labels[here].tolist(), learning_rate)
        stretch = Stretch(curve, fraction)
        lost, already = stretch.lost(), stretch.already()
        limit[here] = np.where(lost, 0.0, curve.orientation * np.exp(objective.depth * curve.log_encoder_end))
        status[here] = Status.REACHED
        status[here[already]] = Status.ALREADY_REACHED
        status[here[lost]] = Status.COLLAPSES
        log_time[here[already & ~lost]] = -np.inf
        going = ~lost & ~already
        rows.append(here[going])
        stretches.append(stretch[going])
        stretches[-1].refuse_turns(labels[rows[-1]])
    if any(map(len, rows)):
        log_time[np.concatenate(rows)] = log_times(stretches, method, labels[np.concatenate(rows)].tolist())
    log10_time = log_time / LN10
    return ModeTimes(objective, features, epsilon, fraction, _power_of_ten(log10_time), log10_time, limit, status)


def _check_regime(regime: Regime, count: int, learning_rate: float | None) -> None:
    for name in ("predictor_start", "predictor_rate", "teacher_rate", "weight_decay"):
        shape = np.shape(getattr(regime, name) if getattr(regime, name) is not None else 0.0)
        if shape not in ((), (1,), (count,)):
            raise ParameterError(name, f"an array of shape {shape}", f"one number or {count}, one a feature")
    if not regime.stop_gradient:
        raise LindynError(
            "Without stop_gradient there is no mode equation here; simulate the network instead (lindyn simulate)."
        )
    if learning_rate is not None:
        if not (isfinite(learning_rate) and learning_rate > 0):
            raise ParameterError("learning_rate", learning_rate, "a positive finite number")
        if regime.teacher_rate is not None:
            raise LindynError(
                "A finite learning_rate goes with no teacher_rate; simulate the network instead (lindyn simulate)."
            )


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
