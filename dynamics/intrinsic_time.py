"""Time as the unknown, integrated by SciPy over the share of its way that each feature has gone.

Over the logit x of that share the time has no plateau, no blow-up and no event: every critical time is the value at the end of
its own stretch of x, and one call serves all features. Where nothing but the place matters it is a quadrature; with a past, the
teacher's lag is carried along.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dynamics.errors import LindynError, ParameterError
from dynamics.features import FloatArray
from dynamics.mode_equations import Curve, Drifting
from dynamics.status import StatusArray

Method = Literal["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"]

TOLERANCES: dict[str, float] = {"RK23": 1e-11, "RK45": 1e-11, "DOP853": 1e-11, "Radau": 1e-8, "BDF": 1e-12, "LSODA": 1e-12}
"""Relative tolerance a step that leaves every critical time of thousands within 1e-9; BDF's errors add up most."""

PLACES = 9
"""Places at which a time is estimated before it is integrated."""

PAST = 1e-9
"""Relative tolerance a step where the past matters."""

FOLLOWING = 1e12
"""Teacher rate over growth rate from which on its lag changes nothing."""

STANDSTILL = 1e-20
"""Growth, over its value without saturation, below which a trial step is answered as if it were this."""

TURNING = 1e-9
"""The same, at which a feature counts as about to turn back."""

LARGEST = 700.0

SIMULATE = "simulate the network instead (lindyn simulate)."


Moves = tuple[FloatArray, FloatArray, FloatArray]


class Stretch:
    """The way of a curve from its start to a fraction of its end, over the logit x of the share that is done."""

    def __init__(self, curve: Curve, fraction: float) -> None:
        self.curve = curve
        self.first, self.last = curve.start(), curve.target(fraction)
        with np.errstate(invalid="ignore"):
            moving = self.first > self.last
        self.begin = _logit(np.where(moving, self.first, 1.0))
        self.length = _logit(np.where(moving, self.last, 1.0)) - self.begin
        with np.errstate(divide="ignore"):
            self.log_length = np.log(self.length)

    def __getitem__(self, which: npt.NDArray[np.bool_]) -> Stretch:
        part = object.__new__(Stretch)
        part.curve = self.curve[which]
        for name in ("first", "last", "begin", "length", "log_length"):
            setattr(part, name, getattr(self, name)[which])
        return part

    def already(self) -> npt.NDArray[np.bool_]:
        """Whether the start is where the stretch would end, or beyond."""
        return self.first <= self.last

    def lost(self) -> npt.NDArray[np.bool_]:
        """Whether there is no fixed point, or weight decay exceeds growth from the start on."""
        with np.errstate(invalid="ignore", over="ignore"):
            shrinks = ~self.already() & (self.curve.at(self.first).room <= 0)
        return ~np.isfinite(self.curve.end) | (shrinks & (not isinstance(self.curve, Drifting)))

    def refuse_turns(self, names: StatusArray) -> None:
        """Raise if the encoder of a feature does not grow at the start, where only growth can be followed."""
        if isinstance(self.curve, Drifting):
            turns = ~self.curve.modes.positive | (self.curve.at(self.first).room <= TURNING)
            if turns.any():
                raise _turning(names[int(np.argmax(turns))])

    def at(self, share: float) -> tuple[FloatArray, FloatArray]:
        """Distance from the fixed point at a share of the stretch, and the logarithm of its decrease over the share."""
        x = self.begin + self.length * share
        distance = np.maximum(-x, 0.0) + np.log1p(np.exp(-np.abs(x)))
        return distance, self.log_length - x - distance

    def has_past(self) -> bool:
        """Whether the speed at a place depends on how it was reached."""
        return isinstance(self.curve, Drifting) or bool(self.curve.modes.teacher.any())

    def slope(self, share: float, log_unit: FloatArray | float = 0.0) -> FloatArray:
        """Time over the share in units of exp(log_unit), where nothing but the place matters."""
        distance, log_width = self.at(share)
        place = self.curve.at(distance)
        slope: FloatArray = np.exp(log_width - place.log_speed - log_unit) / place.room
        return slope

    def log_slope(self, share: float) -> FloatArray:
        """ln of the time over the share."""
        distance, log_width = self.at(share)
        return log_width - self.curve.at(distance).log_rate()

    def moves(self, share: float, lag: FloatArray, time: FloatArray, log_unit: FloatArray) -> Moves:
        """Derivatives over the share of lag and of time over its unit, and the growth that the teacher leaves."""
        modes, target = self.curve.modes, self.curve.objective.target_depth
        distance, log_width = self.at(share)
        with np.errstate(over="ignore"):
            place = self.curve.at(distance, time * np.exp(np.minimum(log_unit, LARGEST)))
        growth = place.room + np.expm1(-target * lag)
        log_slope = log_width - place.log_speed - np.log(np.maximum(growth, STANDSTILL * np.minimum(distance, 1.0)))
        with np.errstate(divide="ignore"):
            catch_up = np.exp(np.minimum(np.log(modes.teacher) + log_slope, log(FOLLOWING)))
        behind = np.where(modes.teacher > 0, place.encoder * np.exp(log_width) - catch_up * np.expm1(lag), 0.0)
        return behind, np.exp(log_slope - log_unit), growth

    def steepness(self, share: float, lag: FloatArray, time: FloatArray, log_unit: FloatArray) -> FloatArray:
        """Derivatives of both by the lag, side by side."""
        _, slope, growth = self.moves(share, lag, time, log_unit)
        target = self.curve.objective.target_depth
        relative = np.where(growth > STANDSTILL, target * np.exp(-target * lag) / np.maximum(growth, STANDSTILL), 0.0)
        with np.errstate(divide="ignore"):
            catch_up = np.log(self.curve.modes.teacher) + np.log(slope) + log_unit
        capped = catch_up > log(FOLLOWING)
        pull = np.exp(np.minimum(catch_up, log(FOLLOWING)))
        towards = -pull * (np.exp(lag) + np.where(capped, 0.0, relative) * np.expm1(lag))
        return np.stack([np.where(self.curve.modes.teacher > 0, towards, 0.0), slope * relative], axis=1)


def _logit(distance: FloatArray) -> FloatArray:
    """The x at which ln(1 + exp(-x)) is the distance from the fixed point."""
    logit: FloatArray = -distance - np.log(-np.expm1(-distance))
    return logit


def integrate(stretches: Sequence[Stretch], method: Method) -> FloatArray:
    """ln of the times over stretches where nothing but the place matters, one after the other, in one call of SciPy.

    Raises
    ------
    LindynError
        If the integrator gives up; the sentence is SciPy's.
    """
    from scipy.integrate import solve_ivp

    log_units = [
        np.logaddexp.reduce([stretch.log_slope(share) for share in np.linspace(0.0, 1.0, PLACES)]) - log(PLACES)
        for stretch in stretches
    ]
    tolerance = TOLERANCES[method]

    def slope(share: float, _: FloatArray) -> FloatArray:
        parts = [stretch.slope(share, unit) for stretch, unit in zip(stretches, log_units, strict=True)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    log_scale = np.concatenate(log_units)
    start = np.zeros_like(log_scale)
    run = solve_ivp(slope, (0.0, 1.0), start, method=method, rtol=tolerance, atol=tolerance, **_no_coupling(method, start.size))
    if not run.success:
        raise LindynError(f"SciPy's {method} gave up: {run.message}")
    result: FloatArray = np.log(run.y[:, -1]) + log_scale
    return result


def _no_coupling(method: Method, count: int) -> dict[str, Any]:
    """What an implicit method is told: a quadrature's slope does not depend on its value."""
    if method == "LSODA":
        return {"lband": 0, "uband": 0}
    if method in ("Radau", "BDF"):
        from scipy.sparse import csc_matrix

        return {"jac": csc_matrix((count, count))}
    return {}


def follow(stretches: Sequence[Stretch], method: Method, names: Sequence[str]) -> FloatArray:
    """ln of the times over stretches on which the past matters, by a teacher or a fading imbalance, in one call of SciPy.

    Two unknowns a feature, side by side: the teacher's lag ln(u / ubar), and the time over its unit at the start.

    Raises
    ------
    LindynError
        If the integrator gives up, or the encoder of a feature turns back on the way; it is named.
    """
    from scipy.integrate import solve_ivp

    log_units = [-stretch.curve.at(stretch.first).log_rate() for stretch in stretches]
    count = sum(map(len, log_units))
    ends = np.cumsum([len(unit) for unit in log_units])[:-1]

    def slope(share: float, state: FloatArray) -> FloatArray:
        parts = np.split(state.reshape(count, 2), ends)
        moves = [
            stretch.moves(share, part[:, 0], part[:, 1], unit)[:2]
            for stretch, part, unit in zip(stretches, parts, log_units, strict=True)
        ]
        return np.concatenate([np.stack(move, axis=1) for move in moves]).ravel()

    def jacobian(share: float, state: FloatArray) -> Any:
        parts = np.split(state.reshape(count, 2), ends)
        columns = [
            stretch.steepness(share, part[:, 0], part[:, 1], unit)
            for stretch, part, unit in zip(stretches, parts, log_units, strict=True)
        ]
        return _lag_columns(np.concatenate(columns))

    known: dict[str, Any] = {"lband": 1, "uband": 1} if method == "LSODA" else {"jac": jacobian}
    run = solve_ivp(slope, (0.0, 1.0), np.zeros(2 * count), method=method, rtol=PAST, atol=PAST, **known)
    if any(isinstance(stretch.curve, Drifting) for stretch in stretches):
        for share, state in zip(run.t, run.y.T, strict=True):
            _refuse_turns(stretches, float(share), np.split(state.reshape(count, 2), ends), log_units, names)
    if not run.success:
        raise LindynError(f"SciPy's {method} gave up: {run.message}")
    result: FloatArray = np.log(run.y[1::2, -1]) + np.concatenate(log_units)
    return result


def _lag_columns(columns: FloatArray) -> Any:
    """The Jacobian of pairs (lag, time) from what the lag does to both; what the time does is never stiff and left out."""
    from scipy.sparse import csc_matrix

    size = columns.size
    starts = np.minimum(2 * ((np.arange(size + 1) + 1) // 2), size)
    return csc_matrix((columns.ravel(), np.arange(size), starts), shape=(size, size))


def _refuse_turns(
    stretches: Sequence[Stretch], share: float, states: Sequence[FloatArray], units: Sequence[FloatArray], names: Sequence[str]
) -> None:
    first = 0
    for stretch, state, unit in zip(stretches, states, units, strict=True):
        _, _, growth = stretch.moves(share, state[:, 0], state[:, 1], unit)
        turns = growth <= TURNING * np.minimum(stretch.at(share)[0], 1.0)
        if isinstance(stretch.curve, Drifting) and turns.any():
            raise _turning(names[first + int(np.argmax(turns))])
        first += len(turns)


def _turning(name: str) -> LindynError:
    return LindynError(
        f"The encoder of feature {name} does not grow all the way, so amplitude cannot take the place of time; {SIMULATE}"
    )


def log_times(stretches: Sequence[Stretch], method: Method | None, names: Sequence[str]) -> FloatArray:
    """ln of the times over the stretches, one after the other: quadratures in one call, those with a past in another."""
    past = np.concatenate([np.full(len(stretch.length), stretch.has_past()) for stretch in stretches])
    log_time = np.empty(past.size)
    if not past.all():
        straight = [stretch for stretch in stretches if not stretch.has_past()]
        log_time[~past] = integrate(straight, method or "DOP853")
    if past.any():
        winding = [stretch for stretch in stretches if stretch.has_past()]
        log_time[past] = follow(winding, _implicit(method), np.array(names, dtype=object)[past].tolist())
    return log_time


def _implicit(method: Method | None) -> Method:
    if method in ("RK23", "RK45", "DOP853"):
        raise ParameterError("method", method, "Radau, BDF or LSODA: a teacher or a fading imbalance is stiff")
    return method or "LSODA"
