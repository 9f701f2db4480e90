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
    encoder
        d ln u over the change of the variable.
    """

    log_speed: FloatArray
    room: FloatArray
    encoder: FloatArray | float = 1.0

    def log_rate(self) -> FloatArray:
        """ln of the variable's speed where the teacher is the encoder itself."""
        return self.log_speed + np.log(self.room)


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
        alive = np.isfinite(self.end)
        self.other_end = self.other(np.where(alive, self.end, 0.0))
        self.share = np.exp(2.0 * (self.end - self.other_end))
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

    def at(self, distance: FloatArray, time: FloatArray | None = None) -> Place:
        """The place at this distance before the fixed point, ``time`` after the start (where it matters)."""
        lead = self.end - distance
        other = self.other(lead)
        change = other - self.other_end
        near = distance < NEAR
        if near.any():
            change[near] = 0.5 * np.log1p(self.share[near] * np.expm1(-2.0 * distance[near]))
        (lead_speed, other_speed), (lead_power, other_power) = self.speed_powers, self.saturation_powers
        log_speed = self.modes.log_lam + lead_speed * lead + other_speed * other
        encoder = 1.0 if self.encoder_leads else np.exp(2.0 * (lead - other))
        return Place(log_speed, -np.expm1(other_power * change - lead_power * distance), encoder)


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
        other = 0.5 * modes.log_balance + np.logaddexp(angle, -angle) - LN2
        short = 2.0 * np.cosh(0.5 * (self.end + angle)) * np.sinh(0.5 * distance) / np.sinh(self.end)
        near = 0.5 * np.log1p(np.where(distance < NEAR, -self.share * short * (2.0 - short), 0.0))
        change = self.saturation_powers[1] * np.where(distance < NEAR, near, other - self.other_end)
        log_speed = modes.log_lam + (self.speed_powers[1] - 1) * other
        return Place(log_speed, -np.expm1(change) + np.exp(change) * short, 1.0 if self.encoder_leads else np.tanh(angle))


class PredictorCrossing(Crossing):
    """c < 0 and a single, negative predictor layer."""

    encoder_leads = False


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
            room = room + np.exp(self.log_decay - log_speed) * np.expm1(-growth * distance)
        if self.step:
            log_speed = log_speed + np.log(self._step_factor(distance, np.exp(log_speed), room))
        return Place(log_speed, room)

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

    def at(self, distance: FloatArray, time: FloatArray | None = None) -> Place:
        modes, objective = self.modes, self.objective
        depth, layers, target = objective.depth, objective.predictor_depth, objective.target_depth
        elapsed = np.zeros(len(modes)) if time is None else time
        balance = modes.stronger * np.exp(modes.log_balance - 2.0 * self.end - 2.0 * modes.decay * elapsed)
        square = np.maximum(np.exp(-2.0 * distance) + balance, TINY)
        change = 0.5 * np.where(square < 0.5, np.log(square), np.log1p(np.maximum(np.expm1(-2.0 * distance) + balance, -0.9)))
        log_speed_change = layers * change - (depth - 2 + target) * distance
        log_speed = modes.log_lam + (objective.a - 1) * self.end + log_speed_change
        room = -self.filled * np.expm1(layers * change - (depth - target) * distance)
        return Place(log_speed, room + np.exp(self.log_decay - log_speed) * np.expm1(log_speed_change))


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
