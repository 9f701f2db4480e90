"""Time as the unknown, integrated by SciPy over the share of its way that each feature has gone.

Over the share the time has no plateau, no blow-up and no event: every critical time is the value at the end of its own stretch,
and one call serves all features. Where nothing but the place matters it is a quadrature; where an imbalance fades, it has a
differential equation of its own; with a teacher, the growth that the teacher's lag leaves is carried along.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import count
from math import log
from typing import Any, Literal

import numpy as np

from dynamics.errors import LindynError
from dynamics.features import FloatArray
from dynamics.mode_equations import Curve, Drifting, Place
from dynamics.modes import BoolArray

Method = Literal["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"]

TOLERANCES: dict[str, float] = {"RK23": 1e-11, "RK45": 1e-11, "DOP853": 1e-10, "Radau": 1e-9, "BDF": 1e-12, "LSODA": 1e-12}
"""Relative tolerance a step that leaves every critical time of thousands within 1e-9; BDF's errors add up most."""

PATIENT = ("RK23", "BDF")
"""Methods of low order, whose many evaluations mean nothing."""

FIRST_STEP = 0.05
"""First share that is tried; what SciPy guesses is a thousand times less."""

QUADRATURE = 1e-10
"""Error of a time by quadrature, in units of about that time, for the worst feature; it is mostly below 1e-13."""

ESTIMATES, OFF = 4, 10.0
"""Times that a quadrature is begun anew, because a time came out so many times greater than its estimate."""

PLACES = 9
"""Places at which a time is estimated before it is integrated."""

PAST = 1e-11
"""Relative tolerance a step with a teacher."""

FOLLOWING = 1e10
"""Teacher rate over growth rate from which on its lag changes nothing."""

STANDSTILL = 1e-20
"""Growth, over its value without saturation and the distance left, below which a trial step is answered as if it were this."""

LARGEST = 300.0
"""Greatest -ln of the growth, and of a trial lag, that is answered for: no solution gets there, trial steps might overflow."""

BEND, STRAIGHT, STEEPEST = 0.1, 1e-3, 100.0
"""Share of the speed's exponent that the coordinate takes up, its least value, and the greatest exponent of the coordinate."""

MOST_TRIALS = 30_000
"""Evaluations after which an integrator has given up without saying so; a thousand features take 6,000."""

SIMULATE = "simulate the network instead (lindyn simulate)."


class Stretch:
    """The way of a curve between two distances from its fixed point, over a coordinate x in which the time changes evenly.

    The distance is d = ln(1 + k s) / k, s = ln(1 + exp(-x)): near the fixed point x is the logit of the share of ln u that is
    done; far from it exp(k d) is linear in x, with k a tenth of the exponent with which the speed grows.
    """

    def __init__(self, curve: Curve, first: FloatArray, last: FloatArray) -> None:
        self.curve, self.first, self.last = curve, first, last
        moving = first > last
        far, near = np.where(moving, first, 2.0), np.where(moving, last, 1.0)
        exponent = (curve.at(near).log_speed - curve.at(far).log_speed) / (far - near)
        self.bend = np.clip(BEND * exponent, STRAIGHT, np.maximum(STRAIGHT, STEEPEST / far))
        self.begin = self._coordinate(far)
        self.length = np.where(moving, self._coordinate(near) - self.begin, 0.0)
        with np.errstate(divide="ignore"):
            self.log_length = np.log(self.length)

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, which: BoolArray) -> Stretch:
        return Stretch(self.curve[which], self.first[which], self.last[which])

    def _coordinate(self, distance: FloatArray) -> FloatArray:
        softplus = np.expm1(self.bend * distance) / self.bend
        coordinate: FloatArray = -softplus - np.log(-np.expm1(-softplus))
        return coordinate

    def at(self, share: float) -> tuple[FloatArray, FloatArray]:
        """Distance from the fixed point at a share of the stretch, and the logarithm of its decrease over the share."""
        x = self.begin + self.length * share
        tail = np.log1p(np.exp(-np.abs(x)))
        bent = np.log1p(self.bend * (tail - np.minimum(x, 0.0)))
        return bent / self.bend, self.log_length - np.maximum(x, 0.0) - tail - bent

    def slope(self, share: float, log_unit: FloatArray, time: FloatArray | None = None) -> FloatArray:
        """Derivative of the time in units of exp(log_unit) over the share, ``time`` after the start (where it matters)."""
        log_width, place = self._place(share, log_unit, time)
        slope: FloatArray = np.exp(log_width - place.log_speed - log_unit) / place.room
        return slope

    def _place(self, share: float, log_unit: FloatArray | float, time: FloatArray | None) -> tuple[FloatArray, Place]:
        distance, log_width = self.at(share)
        if not self.drifts:
            return log_width, self.curve.at(distance)
        place = self.curve.at(distance, None if time is None else _times(time, log_unit))
        slowest = log_width - log_unit - LARGEST  # only of trial steps, and answered so as not to overflow
        return log_width, Place(np.maximum(place.log_speed, slowest), np.maximum(place.room, STANDSTILL * distance))

    @property
    def drifts(self) -> bool:
        """Whether the speed at a place depends on the time."""
        return isinstance(self.curve, Drifting)

    def turns(self, share: float, log_unit: FloatArray, time: FloatArray) -> BoolArray:
        """Whether an encoder has stopped growing short of its end, which only a fading imbalance can do."""
        if not isinstance(self.curve, Drifting):
            return np.zeros(len(self), dtype=bool)
        return self.curve.turns(self.at(share)[0], _times(time, log_unit))

    def log_unit(self) -> FloatArray:
        """ln of about the time that the stretch takes."""
        places = [self._place(share, 0.0, None) for share in np.linspace(0.0, 1.0, PLACES).tolist()]
        unit: FloatArray = np.logaddexp.reduce([log_width - place.log_rate() for log_width, place in places]) - log(PLACES)
        return unit

    def taught_slope(self, share: float, log_growth: FloatArray, log_unit: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Derivatives over the share of ln G and of the time; G = room + ubar^k / u^k - 1 is the growth a teacher leaves."""
        curve, target = self.curve, self.curve.objective.target_depth
        distance, log_width = self.at(share)
        place, width = curve.at(distance), np.exp(log_width)
        growth = np.exp(np.clip(log_growth, -LARGEST, LARGEST))
        log_lag_share = np.log1p(np.maximum(growth - place.room, -1.0 + np.exp(-LARGEST)))  # ln of ubar^k / u^k
        log_slope = log_width - place.log_speed - np.log(growth)
        catch_up = np.exp(np.minimum(np.log(curve.modes.teacher) + log_slope, log(FOLLOWING)))
        lag = curve.encoder_slope(distance) * width - catch_up * np.expm1(-log_lag_share / target)
        change = -target * np.exp(log_lag_share) * lag - curve.room_slope(distance, place) * width
        return change / growth, np.exp(log_slope - log_unit)


def _times(time: FloatArray, log_unit: FloatArray | float) -> FloatArray:
    """Training times; those that a double cannot hold are so long that every imbalance has faded."""
    times: FloatArray = np.minimum(time, 1e100) * np.exp(np.minimum(log_unit, LARGEST))
    return times


def quadrature(stretches: Sequence[Stretch]) -> FloatArray:
    """ln of the times over stretches where nothing but the place matters, one after the other, in one call of SciPy.

    Raises
    ------
    LindynError
        If the quadrature does not come to its tolerance.
    """
    from scipy.integrate import quad_vec

    ends = np.cumsum([len(stretch) for stretch in stretches])[:-1]
    log_unit = np.concatenate([stretch.log_unit() for stretch in stretches])

    def slope(share: float, log_unit: FloatArray) -> FloatArray:
        units = np.split(log_unit, ends)
        return np.concatenate([stretch.slope(share, unit) for stretch, unit in zip(stretches, units, strict=True)])

    for _ in range(ESTIMATES):
        times, error = quad_vec(slope, 0.0, 1.0, epsabs=QUADRATURE, epsrel=0.0, norm="max", quadrature="gk21", args=(log_unit,))
        log_unit = log_unit + np.log(times)
        if times.max() <= OFF:
            break
    if not error <= 10.0 * QUADRATURE:
        raise LindynError(f"SciPy's quadrature gave up at a relative error of {error:.1g}; {SIMULATE}")
    return log_unit


def integrate(stretches: Sequence[Stretch], method: Method) -> FloatArray:
    """ln of the times over stretches without a teacher, one after the other, in one call of SciPy's solve_ivp.

    nan where an encoder turns back on the way, so that amplitude cannot take the place of time; the call is then repeated
    without such features.

    Raises
    ------
    LindynError
        If the integrator gives up; the sentence is SciPy's.
    """
    from scipy.integrate import solve_ivp

    log_units = [stretch.log_unit() for stretch in stretches]
    ends = np.cumsum([len(stretch) for stretch in stretches])[:-1]
    tolerance, log_scale, trials = TOLERANCES[method], np.concatenate(log_units), count()

    def slope(share: float, time: FloatArray) -> FloatArray:
        if method not in PATIENT and next(trials) > MOST_TRIALS:
            raise LindynError(f"SciPy's {method} gave up after {MOST_TRIALS} evaluations; {SIMULATE}")
        times = np.split(time, ends)
        return np.concatenate([one.slope(share, *rest) for one, *rest in zip(stretches, log_units, times, strict=True)])

    def turns(share: float, time: FloatArray) -> BoolArray:
        times = np.split(time, ends)
        return np.concatenate([one.turns(share, *rest) for one, *rest in zip(stretches, log_units, times, strict=True)])

    def grows(share: float, time: FloatArray) -> float:
        return -1.0 if turns(share, time).any() else 1.0

    grows.terminal = True  # type: ignore[attr-defined]

    run = solve_ivp(
        slope,
        (0.0, 1.0),
        np.zeros_like(log_scale),
        method=method,
        rtol=tolerance,
        atol=tolerance,
        first_step=FIRST_STEP,
        events=grows if any(stretch.drifts for stretch in stretches) else None,
        **_coupling(method, log_scale.size, 1),
    )
    turned = turns(float(run.t[-1]), run.y[:, -1])
    if turned.any():
        return _without(turned, stretches, method)
    if not run.success:
        raise LindynError(f"SciPy's {method} gave up: {run.message}")
    result: FloatArray = np.log(run.y[:, -1]) + log_scale
    return result


def _without(turned: BoolArray, stretches: Sequence[Stretch], method: Method) -> FloatArray:
    """The times of the others."""
    result, ends = np.full(len(turned), np.nan), np.cumsum([len(stretch) for stretch in stretches])[:-1]
    if not turned.all():
        kept = zip(stretches, np.split(~turned, ends), strict=True)
        result[~turned] = integrate([stretch[which] for stretch, which in kept if which.any()], method)
    return result


def follow(curve: Curve, fraction: float, method: Method) -> FloatArray:
    """ln of the times from the start to a fraction of the end under a teacher, in two calls of SciPy.

    A slow teacher first leaves the encoder to grow as under a frozen target, then leads it. Each call ends where the one way
    passes into the other, at the same share for all features, so that the turn is resolved once and not for each.

    Two unknowns a feature, side by side: ln of the growth that the teacher leaves, and the time over its unit at the start.

    Raises
    ------
    LindynError
        If the integrator gives up; the sentence is SciPy's.
    """
    from scipy.integrate import solve_ivp

    first, last = curve.start(), curve.target(fraction)
    turn = np.clip(curve.frozen(), last, first)
    start = curve.at(first)
    log_unit = -start.log_rate()
    state = np.stack([np.log(start.room), np.zeros(len(first))], axis=1).ravel()
    for stretch in (Stretch(curve, first, turn), Stretch(curve, turn, last)):
        trials = count()

        def slope(share: float, state: FloatArray, stretch: Stretch = stretch, trials: Iterator[int] = trials) -> FloatArray:
            if next(trials) > MOST_TRIALS:
                raise LindynError(f"SciPy's {method} gave up after {MOST_TRIALS} evaluations of the teacher's lag; {SIMULATE}")
            return np.stack(stretch.taught_slope(share, state[::2], log_unit), axis=1).ravel()

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # LSODA also warns of what its status says
            run = solve_ivp(
                slope, (0.0, 1.0), state, method=method, rtol=PAST, atol=PAST, t_eval=[1.0], **_coupling(method, state.size, 2)
            )
        if not run.success:
            raise LindynError(f"SciPy's {method} gave up on the teacher's lag ({run.message}); {SIMULATE}")
        state = run.y[:, -1]
    result: FloatArray = np.log(state[1::2]) + log_unit
    return result


def _coupling(method: Method, size: int, block: int) -> dict[str, Any]:
    """What an implicit method is told: a feature's unknowns, ``block`` of them side by side, know nothing of other features."""
    if method == "LSODA":
        return {"lband": block - 1, "uband": block - 1}
    if method in ("Radau", "BDF"):
        from scipy.sparse import csc_matrix, identity, kron

        if block == 1:
            return {"jac_sparsity": identity(size, format="csc")}
        return {"jac_sparsity": csc_matrix(kron(identity(size // block), np.ones((block, block))))}
    return {}
