"""A derivation in numbers: certified critical times of given features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches

from derivations.certified_time import CriticalTime, Setting, critical_time, refused_negative
from derivations.derivation import Derivation, derive, derive_loss, objectives
from derivations.fixed_points import FixedPoint
from derivations.notation import lam, rho, sigma
from dynamics.errors import LindynError, ParameterError

MOST_DIGITS = 1_000
GUARD_DIGITS = 2
"""Enclosed beyond what is shown, so that what is shown is rounded from the true value."""


Number = float | Decimal
Point = tuple[Number, Number, Number, Number]
"""lambda, rho, epsilon and fraction."""


@dataclass(frozen=True, eq=False)
class Answer:
    """The critical time of one feature in one setting, and all fixed points of its mode."""

    setting: Setting
    found: CriticalTime
    digits: int

    @property
    def fixed_points(self) -> tuple[FixedPoint, ...]:
        """All positive fixed points of the layer, ascending."""
        return self.found.fixed_points


def derivation_of(objective: str | None, loss: str | None, depth: int | None, predictor_depth: int | None) -> Derivation:
    """The derivation of a named objective or of a loss given as text.

    Raises
    ------
    LindynError
        If there is no such objective; the sentence gives the nearest.
    """
    if objective is None:
        return derive_loss(loss or "", depth, predictor_depth)
    if objective not in objectives():
        near = get_close_matches(objective, objectives(), n=1, cutoff=0.3)
        hint = f"the nearest is {near[0]}" if near else f"the objectives are {', '.join(objectives())}"
        raise LindynError(f"There is no objective {objective}; {hint}.")
    return derive(objective, depth, predictor_depth)


def settings(
    lam: Sequence[Number], rho: Sequence[Number], epsilon: Sequence[Number], fraction: Sequence[Number]
) -> list[Point]:
    """All combinations of features, starts and fractions; lambda and rho pair up, a single one serves all.

    Raises
    ------
    ParameterError
        If there are several of both and not equally many, or a number is out of its range: nothing needs deriving to tell.
    """
    count = max(len(lam), len(rho))
    if len(lam) > 1 and len(rho) > 1 and len(lam) != len(rho):
        raise ParameterError("rho", f"given {len(rho)} times", f"given once or as often as lambda, {len(lam)} times")
    pairs = [(lam[k % len(lam)], rho[k % len(rho)]) for k in range(count)] if lam and rho else []
    points = [(*pair, start, share) for start in epsilon for share in fraction for pair in pairs]
    for point in points:
        Setting(*point)
    return points


def answers(derivation: Derivation, points: Sequence[Point], digits: int = 30) -> list[Answer]:
    """The critical time at each (lambda, rho, epsilon, fraction), enclosed to these significant digits.

    A double stands for the decimal that it prints as. Times are training times.

    Raises
    ------
    LindynError
        If the derivation is for any depth, the digits are out of range, or a point is out of reach (`critical_time`).
    """
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= MOST_DIGITS:
        raise ParameterError("digits", digits, f"a whole number from 1 to {MOST_DIGITS}")
    if points and (derivation.depth is None or derivation.predictor_depth is None):
        missing = "--depth" if derivation.depth is None else "--predictor-depth"
        raise LindynError(f"Numbers need a {missing}.")
    found = [Setting(*point, derivation.depth or 1, derivation.predictor_depth or 1) for point in points]
    for setting in found:
        if setting.lam < 0 and _balance_depends_on_features(derivation):
            raise refused_negative(setting.lam)
    enclosed = digits + GUARD_DIGITS
    return [Answer(setting, critical_time(derivation.terms, setting, digits=enclosed), digits) for setting in found]


def _balance_depends_on_features(derivation: Derivation) -> bool:
    """Whether v on the balanced line is u times something with lambda, rho or sigma, whose sign then matters."""
    balance = [line for line in derivation.lines if line.title == "Conserved quantity"]
    return any(formula.has(lam, rho, sigma) for line in balance for formula in line.formulas)
