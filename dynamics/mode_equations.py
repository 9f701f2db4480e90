"""Mode equations beyond plain gradient flow, each along the variable in which it is monotone.

In the standard form of `Modes` a feature obeys

    u' = A u (ubar^k / u^k - g) - eta u,    A = lam u^(L-2+k) n^M,    g = u^(L-k) n^M / rho,    n^2 - u^2 = c exp(-2 eta t).

So n is known from u (or u from n), one variable is left, and the time is what is integrated over it. A `Curve` is the features
that share such a variable; a place on it is told by the distance in the variable from the fixed point, so that no digit is lost
near the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from math import log
from typing import Self

import numpy as np

from dynamics.clock import LN2
from dynamics.features import FloatArray
from dynamics.modes import BoolArray, Modes, filled_end, fixed_point
from dynamics.objectives import Objective

NEAR = 0.35
"""Distance from the fixed point below which differences from it are taken by log1p."""

TURNING = 1e-9
"""Growth, over its value without saturation, at which a feature counts as about to turn back."""

STANDING = 1e-14
"""Growth, over its value without saturation, that rounding leaves of a start on the unstable fixed point."""

TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Place:
    """How fast a curve's variable moves at a place: exp(log_speed) * (room + ubar^k / u^k - 1).

    Attributes
    ----------
    log_speed
        ln A, or of what takes its place along another variable than ln u.
    room
        1 - g - eta / A: what saturation and weight decay leave of the growth, positive on the way.
    """

    log_speed: FloatArray
    room: FloatArray

    def log_rate(self) -> FloatArray:
        """ln of the variable's speed where the teacher is the encoder itself."""
        return self.log_speed + np.log(self.room)


LARGEST = 300.0
"""Greatest logarithm of a ratio to the growth that is told apart: such a feature shrinks, however much more it is."""


def _exp(logarithm: FloatArray) -> FloatArray:
    ratio: FloatArray = np.exp(np.minimum(logarithm, LARGEST))
    return ratio


class Curve:
    """Features that move along one variable, the logarithm of the weaker of u and n; without weight decay.

    Attributes
    ----------
    end, log_encoder_end
        The variable and ln u at the fixed point; minus infinity where there is none.
    orientation
        Sign of the encoder there.
    """

    encoder_leads = True
    orientation = 1.0

    def __init__(self, objective: Objective, modes: Modes) -> None:
        depth, layers, target = objective.depth, objective.predictor_depth, objective.target_depth
        self.objective, self.modes = objective, modes
        self.speed_powers, self.saturation_powers = (depth - 2 + target, layers), (depth - target, layers)
        if not self.encoder_leads:
            self.speed_powers, self.saturation_powers = (layers - 2, depth + target), (layers, depth - target)
        self.end = self._fixed_point()
        end = np.where(np.isfinite(self.end), self.end, 0.0)
        self.other_end = self.other(end)
        self.share = np.exp(2.0 * (self.end - self.other_end))
        self.log_speed_end = modes.log_lam + self.speed_powers[0] * end + self.speed_powers[1] * self.other_end
        self.log_encoder_end = self.end if self.encoder_leads else self.other_end

    def __getitem__(self, which: BoolArray) -> Self:
        part = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray | Modes):
                setattr(part, name, value[which])
        return part

    def _fixed_point(self) -> FloatArray:
        return fixed_point(*self.saturation_powers, self.modes.log_balance, self.modes.log_rho)

    def other(self, lead: FloatArray) -> FloatArray:
        """The logarithm of the stronger of u and n, from that of the weaker."""
        double, balance = 2.0 * lead, self.modes.log_balance
        # np.logaddexp is twice as slow.
        return 0.5 * (np.maximum(double, balance) + np.log1p(np.exp(-np.abs(double - balance))))

    def start(self) -> FloatArray:
        """Distance of the start from the fixed point; not positive where it lies beyond."""
        modes = self.modes
        return self.end - (modes.log_encoder if self.encoder_leads else modes.log_predictor)

    def target(self, fraction: float) -> FloatArray:
        """Distance from the fixed point where u^L is ``fraction`` of its end; infinite where it is never that small."""
        log_fraction = log(fraction) / self.objective.depth
        if self.encoder_leads:
            return np.full(len(self.modes), -log_fraction)
        with np.errstate(divide="ignore"):
            distance: FloatArray = -0.5 * np.log1p(np.maximum(np.expm1(2.0 * log_fraction) / self.share, -1.0))
        return distance

    def already(self, fraction: float) -> BoolArray:
        """Whether the start is where the feature counts as learned, or beyond."""
        return self.start() <= self.target(fraction)

    def lost(self, fraction: float) -> BoolArray:
        """Whether there is no fixed point, or weight decay exceeds growth at the start, even above the threshold."""
        lost = ~np.isfinite(self.end)
        below = ~lost & (self.start() > 0.0)
        way = self[below]
        lost[below] = way.at(way.start()).room <= np.where(way.already(fraction), -STANDING, STANDING)
        return lost

    def at(self, distance: FloatArray, time: FloatArray | None = None) -> Place:
        """The place at this distance before the fixed point, ``time`` after the start (where it matters)."""
        change = self._other_change(distance)
        (lead_speed, other_speed), (lead_power, other_power) = self.speed_powers, self.saturation_powers
        log_speed = self.log_speed_end + other_speed * change - lead_speed * distance
        return Place(log_speed, -np.expm1(other_power * change - lead_power * distance))

    def _other_change(self, distance: FloatArray) -> FloatArray:
        """ln of the stronger layer over its end: of x^2 + c over its end, halved."""
        change, near = self.other(self.end - distance) - self.other_end, distance < NEAR
        if near.any():
            change[near] = 0.5 * np.log1p(self.share[near] * np.expm1(-2.0 * distance[near]))
        return change

    def encoder_slope(self, distance: FloatArray) -> FloatArray | float:
        """d ln u over the change of the variable."""
        return 1.0 if self.encoder_leads else self._other_slope(distance)

    def _other_slope(self, distance: FloatArray) -> FloatArray:
        """d ln of the stronger layer over d ln of the weaker: x^2 / (x^2 + c)."""
        slope: FloatArray = np.exp(2.0 * (self.end - distance - self.other(self.end - distance)))
        return slope

    def room_slope(self, distance: FloatArray, place: Place) -> FloatArray:
        """Derivative of the room by the distance."""
        lead_power, other_power = self.saturation_powers
        slope: FloatArray = (1.0 - place.room) * (lead_power + other_power * self._other_slope(distance))
        return slope

    def frozen(self) -> FloatArray:
        """Distance from the fixed point at which a teacher that never moves would hold the feature, weight decay aside."""
        return self.end - self._frozen_lead()

    def _frozen_lead(self) -> FloatArray:
        target = self.objective.target_depth
        lead_power, other_power = self.saturation_powers
        powers = (lead_power + target, other_power) if self.encoder_leads else (lead_power, other_power + target)
        return fixed_point(*powers, self.modes.log_balance, self.modes.log_rho + target * self.modes.log_encoder)


class EncoderLed(Curve):
    """c > 0: the predictor starts stronger, the variable is ln u."""


class PredictorLed(Curve):
    """c < 0 and a positive predictor, which starts weaker: the variable is ln n."""

    encoder_leads = False


class Crossing(Curve):
    """The weaker of u and n is one layer x of the wrong sign, which passes through 0: the variable is asinh(x / sqrt|c|)."""

    def __init__(self, objective: Objective, modes: Modes) -> None:
        super().__init__(objective, modes)
        self.end = np.arcsinh(np.exp(self.end - 0.5 * modes.log_balance))

    def start(self) -> FloatArray:
        modes = self.modes
        lead = modes.log_encoder if self.encoder_leads else modes.log_predictor
        return self.end + np.arcsinh(np.exp(lead - 0.5 * modes.log_balance))

    def target(self, fraction: float) -> FloatArray:
        distance = super().target(fraction)
        end, ratio = np.sinh(self.end), np.exp(-distance)
        rise = end * -np.expm1(-2.0 * distance) / (np.hypot(1.0, end * ratio) + ratio * np.hypot(1.0, end))
        return np.where(ratio > 0, np.arcsinh(rise), np.inf)

    def at(self, distance: FloatArray, time: FloatArray | None = None) -> Place:
        modes, angle = self.modes, self.end - distance
        half, middle = np.sinh(0.5 * distance), self.end - 0.5 * distance
        short = 2.0 * np.cosh(middle) * half / np.sinh(self.end)  # 1 - x / its end
        other = self._stronger(angle)
        change, near = other - self.other_end, distance < NEAR
        if near.any():
            change[near] = np.log1p(-2.0 * np.sinh(middle[near]) * half[near] / np.cosh(self.end[near]))
        change *= self.saturation_powers[1]
        log_speed = modes.log_lam + (self.speed_powers[1] - 1) * other
        return Place(log_speed, np.exp(change) * short - np.expm1(change))

    def _stronger(self, angle: FloatArray) -> FloatArray:
        """ln of sqrt|c| cosh(angle)."""
        size = np.abs(angle)
        stronger: FloatArray = 0.5 * self.modes.log_balance + size + np.log1p(np.exp(-2.0 * size)) - LN2
        return stronger

    def encoder_slope(self, distance: FloatArray) -> FloatArray | float:
        return np.tanh(self.end - distance)

    def room_slope(self, distance: FloatArray, place: Place) -> FloatArray:
        angle, other_power = self.end - distance, self.saturation_powers[1]
        change = other_power * (self._stronger(angle) - self.other_end)
        slope: FloatArray = np.exp(change) * np.cosh(angle) / np.sinh(self.end) + other_power * (1.0 - place.room) * np.tanh(
            angle
        )
        return slope

    def frozen(self) -> FloatArray:
        return self.end - np.arcsinh(np.exp(self._frozen_lead() - 0.5 * self.modes.log_balance))


class PredictorCrossing(Crossing):
    """c < 0 and a single, negative predictor layer; on the way the encoder first falls, then rises."""

    encoder_leads = False

    def already(self, fraction: float) -> BoolArray:
        return 2.0 * self.end - self.start() <= self.target(fraction)


class EncoderCrossing(Crossing):
    """c > 0, a single encoder layer and a target that does not pass through it: the encoder becomes negative."""

    orientation = -1.0


class Balanced(Curve):
    """c = 0: a scalar flow f(u) = lam u^a (1 - u^b / rho) - eta u, the variable is ln u.

    ``step`` is the learning rate of gradient descent, whose steps follow, up to its third power, the flow
    f - (step / 2) f' f + step^2 (f'' f^2 / 12 + f'^2 f / 3).
    """

    def __init__(self, objective: Objective, modes: Modes, step: float = 0.0) -> None:
        self.step = step
        super().__init__(objective, modes)
        with np.errstate(divide="ignore"):
            self.log_decay = np.log(modes.decay)
        self.filled = np.exp(np.where(np.isfinite(self.end), objective.b * self.end - modes.log_rho, 0.0))

    def _fixed_point(self) -> FloatArray:
        modes, objective = self.modes, self.objective
        end = modes.log_rho / objective.b
        fading = modes.decay > 0
        if fading.any():
            log_scale = modes.log_lam + float(objective.alpha) * modes.log_rho
            log_z = filled_end(float(objective.alpha), np.log(modes.decay[fading]) - log_scale[fading])
            end[fading] += log_z / objective.b
        return end

    def other(self, lead: FloatArray) -> FloatArray:
        return lead

    def at(self, distance: FloatArray, time: FloatArray | None = None) -> Place:
        growth, saturation = self.objective.a - 1, self.objective.b
        log_speed = self.modes.log_lam + growth * (self.end - distance)
        room = -self.filled * np.expm1(-saturation * distance)
        if self.modes.decay.any():
            room = room + _exp(self.log_decay - log_speed) * np.expm1(-growth * distance)
        if self.step:
            log_speed = log_speed + np.log(self._step_factor(distance, np.exp(log_speed), room))
        return Place(log_speed, room)

    def room_slope(self, distance: FloatArray, place: Place) -> FloatArray:
        growth, saturation = self.objective.a - 1, self.objective.b
        taken: FloatArray = saturation * self.filled * np.exp(-saturation * distance)
        return taken - growth * _exp(self.log_decay - place.log_speed)

    def stiffness(self) -> FloatArray:
        """-f' at the fixed point."""
        growth, saturation = self.objective.a - 1, self.objective.b
        speed = np.exp(self.modes.log_lam + growth * self.end)
        return speed * saturation * self.filled - self.modes.decay * growth

    def _step_factor(self, distance: FloatArray, speed: FloatArray, room: FloatArray) -> FloatArray:
        """The modified flow over f; with f = u R and D = d / d ln u, f' = R + DR and u f'' = DR + DDR."""
        growth, saturation = self.objective.a - 1, self.objective.b
        taken = self.filled * np.exp(-saturation * distance)
        first = speed * (growth - (growth + saturation) * taken)
        second = speed * (growth**2 - (growth + saturation) ** 2 * taken)
        rate = speed * room
        slope = rate + first
        factor: FloatArray = 1.0 - 0.5 * self.step * slope + self.step**2 * ((first + second) * rate / 12.0 + slope**2 / 3.0)
        return factor


class Drifting(Balanced):
    """c != 0 and weight decay, under which it fades: the variable is ln u as long as u grows, and its speed depends on time."""

    def lost(self, fraction: float) -> BoolArray:
        return ~np.isfinite(self.end)

    def turns_at_start(self) -> BoolArray:
        """Whether the encoder does not grow at the start."""
        return ~self.modes.positive | (self.at(self.start()).room <= TURNING)

    def turns(self, distance: FloatArray, time: FloatArray) -> BoolArray:
        """Whether the encoder has stopped growing short of its end."""
        return self.at(distance, time).room <= TURNING * np.minimum(distance, 1.0)

    def at(self, distance: FloatArray, time: FloatArray | None = None) -> Place:
        modes, objective = self.modes, self.objective
        depth, layers, target = objective.depth, objective.predictor_depth, objective.target_depth
        elapsed = np.zeros(len(modes)) if time is None else time
        balance = modes.stronger * _exp(modes.log_balance - 2.0 * self.end - 2.0 * modes.decay * elapsed)
        square = np.maximum(np.exp(-2.0 * distance) + balance, TINY)
        change = 0.5 * np.where(square < 0.5, np.log(square), np.log1p(np.maximum(np.expm1(-2.0 * distance) + balance, -0.9)))
        log_speed_change = layers * change - (depth - 2 + target) * distance
        log_speed = modes.log_lam + (objective.a - 1) * self.end + log_speed_change
        room = -self.filled * np.expm1(np.minimum(layers * change - (depth - target) * distance, LARGEST))
        return Place(log_speed, room + _exp(self.log_decay - log_speed) * np.expm1(np.minimum(log_speed_change, LARGEST)))


def curves(objective: Objective, modes: Modes) -> Iterator[tuple[BoolArray, type[Curve]]]:
    """The features that are learned, or would be but for a collapse, by the variable along which they move."""
    grows = (modes.lam > 0) & modes.positive
    wrong = (modes.lam != 0) & ((modes.lam > 0) != modes.positive)
    crosses = wrong & (modes.stronger < 0) & (objective.predictor_depth == 1)
    turns_over = wrong & (modes.stronger > 0) & (objective.depth == 1) & (objective.target_depth == 0)
    drifts = (modes.decay > 0) & (modes.stronger != 0)
    ways: tuple[tuple[BoolArray, type[Curve]], ...] = (
        (grows & (modes.stronger == 0), Balanced),
        (grows & ~drifts & (modes.stronger > 0), EncoderLed),
        (grows & ~drifts & (modes.stronger < 0), PredictorLed),
        (crosses & ~drifts, PredictorCrossing),
        (turns_over & ~drifts, EncoderCrossing),
        ((grows | crosses | turns_over) & drifts, Drifting),
    )
    for which, way in ways:
        if which.any():
            yield which, way
