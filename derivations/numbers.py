"""A derivation in numbers: certified critical times of given features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from derivations.certified_time import CriticalTime, Setting, critical_time
from derivations.derivation import Derivation, derive, derive_loss, objectives
from derivations.fixed_points import FixedPoint, polynomial, positive_zeros
from dynamics.errors import LindynError, ParameterError


@dataclass(frozen=True, eq=False)
class Answer:
    """The critical time of one feature in one setting, and all fixed points of its mode."""

    setting: Setting
    found: CriticalTime
    fixed_points: tuple[FixedPoint, ...]


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
    lam: Sequence[float], rho: Sequence[float], epsilon: Sequence[float], fraction: Sequence[float]
) -> list[tuple[float, float, float, float]]:
    """All combinations of features, starts and fractions; lambda and rho pair up, a single one serves all.

    Raises
    ------
    ParameterError
        If there are several of both and not equally many.
    """
    count = max(len(lam), len(rho))
    if len(lam) > 1 and len(rho) > 1 and len(lam) != len(rho):
        raise ParameterError("rho", f"given {len(rho)} times", f"given once or as often as lambda, {len(lam)} times")
    pairs = [(lam[k % len(lam)], rho[k % len(rho)]) for k in range(count)] if lam and rho else []
    return [(*pair, start, share) for start in epsilon for share in fraction for pair in pairs]


def answers(derivation: Derivation, points: Sequence[tuple[float, float, float, float]]) -> list[Answer]:
    """The critical time at each (lambda, rho, epsilon, fraction), enclosed to 30 digits.

    A double stands for the decimal that it prints as. Times are training times.

    Raises
    ------
    LindynError
        If the derivation is for any depth.
    """
    if points and (derivation.depth is None or derivation.predictor_depth is None):
        raise LindynError("Numbers need a --depth.")
    found = [Setting(*point, derivation.depth or 1, derivation.predictor_depth or 1) for point in points]
    return [
        Answer(setting, critical_time(derivation.terms, setting), positive_zeros(polynomial(derivation.terms, setting.point)))
        for setting in found
    ]
