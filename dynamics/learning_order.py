"""Who is learned first, how sure that is, and at which start two features trade places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cmp_to_key
from itertools import pairwise
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dynamics.certificate import exact_status, time_ball
from dynamics.checks import check_fraction
from dynamics.critical_time import CriticalTimes, critical_times
from dynamics.errors import ParameterError
from dynamics.features import Features, FloatArray
from dynamics.objectives import Objective
from dynamics.status import Status, words
from dynamics.table import Columns, Tabular

if TYPE_CHECKING:
    from flint import arb

FIRST_BITS, MOST_BITS = 96, 96 << 6
SMALLEST_EPSILON = 1e-300
_TURN = {Status.ALREADY_REACHED: 0, Status.REACHED: 1, Status.NEVER: 2}


class Certainty(Enum):
    """How sure the place between a feature and the next one in the order is."""

    CERTIFIED = "certified"
    TIE = "tie"
    UNRESOLVED = "unresolved"
    LAST = "last"

    @property
    def message(self) -> str:
        """The sentence for a reader."""
        return _MESSAGES[self]


_MESSAGES = {
    Certainty.CERTIFIED: "Rigorous enclosures of the two critical times are disjoint, or the two outcomes differ.",
    Certainty.TIE: "The two critical times are equal: same lambda and rho, both learned at time 0, or both never.",
    Certainty.UNRESOLVED: f"The two critical times agree to more than {MOST_BITS} bits; their order is not known.",
    Certainty.LAST: "No feature is learned after this one.",
}


@dataclass(frozen=True, eq=False)
class LearningOrder(Tabular):
    """The order in which one objective learns the features.

    Attributes
    ----------
    times
        The critical times behind it.
    sequence
        Positions of the features, first learned first; ties keep the order of the input.
    rank
        Place of each feature from 1; tied features share the first of their places.
    certainty
        For each feature, how sure it is that the next one in the sequence comes later.
    """

    times: CriticalTimes
    sequence: npt.NDArray[np.intp]
    rank: npt.NDArray[np.intp]
    certainty: npt.NDArray[np.object_]

    def columns(self) -> Columns:
        """The columns of the critical times, then rank and next: how sure it is that the following feature comes later."""
        return self.times.columns() | {"rank": self.rank, "next": words(self.certainty)}


def order_features(objective: Objective, features: Features, *, epsilon: float, fraction: float = 0.5) -> LearningOrder:
    """Rank features by critical time and certify every neighbouring pair by ball arithmetic.

    The order is that of the doubles given; it says nothing of how well lambda and rho are known (for that, resample the data).

    Parameters and errors are those of `critical_times`.
    """
    times = critical_times(objective, features, epsilon=epsilon, fraction=fraction)
    judge = _Judge(objective, features, epsilon, fraction)
    guess: list[int] = np.lexsort((times.log10_time, times.time)).tolist()
    sequence: list[int] = sorted(guess, key=cmp_to_key(judge.leader))
    verdicts = [judge.compare(*pair)[1] for pair in pairwise(sequence)] + [Certainty.LAST]
    rank, certainty = np.empty(len(features), dtype=np.intp), np.empty(len(features), dtype=object)
    certainty[sequence] = verdicts
    place = 1
    for turn, feature in enumerate(sequence, start=1):
        rank[feature] = place
        if verdicts[turn - 1] is not Certainty.TIE:
            place = turn + 1
    return LearningOrder(times, np.array(sequence, dtype=np.intp), rank, certainty)


def plain_ranks(objective: Objective, features: Features, *, epsilon: float, fraction: float = 0.5) -> npt.NDArray[np.intp]:
    """Places from 1 by critical time as computed, not certified; equal times share the first of their places."""
    key = critical_times(objective, features, epsilon=epsilon, fraction=fraction).log10_time
    return 1 + np.searchsorted(np.sort(key), key)


def kendall_tau(first: LearningOrder, second: LearningOrder) -> float | None:
    """Kendall's tau-b between two orders of the same features: 1 for the same order, -1 for the reverse.

    ``None`` where it is not defined: fewer than two features, or an order that is one single tie.
    """
    from scipy.stats import kendalltau

    if any(len(np.unique(order.rank)) < 2 for order in (first, second)):
        return None
    return float(kendalltau(first.rank, second.rank).statistic)


def crossovers(objective: Objective, first: Features, second: Features, *, fraction: float = 0.5) -> FloatArray:
    """The starts epsilon at which two features are learned at the same time, in ascending order; at most two.

    As epsilon varies, the difference of the two critical times turns only where epsilon**(b/L) equals
    (lam_A - lam_B) / (sigma_A^2 - sigma_B^2): on either side of that point it is monotone, so the signs at three points,
    decided by ball arithmetic, find every crossing above 1e-300, and bisection with certified signs places it between
    neighbouring doubles.

    Parameters
    ----------
    first, second
        Two `Features` of one feature each.

    Raises
    ------
    ParameterError
        If ``fraction`` lies outside (0, 1) or either argument does not hold exactly one feature.
    """
    check_fraction(fraction)
    for name, given in (("first", first), ("second", second)):
        if len(given) != 1:
            raise ParameterError(name, f"{len(given)} features", "a single feature")
    pair = first.joined(second)
    if not (pair.lam > 0).all():
        return np.empty(0)

    def leader(epsilon: float) -> int:
        return _Judge(objective, pair, epsilon, fraction).leader(0, 1)

    stops = list(_turning_points(objective, pair, fraction))
    signs = [leader(epsilon) for epsilon in stops]
    stretches = zip(pairwise(stops), pairwise(signs), strict=True)
    return np.array([_bisect(leader, low, high, before) for (low, high), (before, after) in stretches if before * after < 0])


def _turning_points(objective: Objective, pair: Features, fraction: float) -> Iterator[float]:
    """The ends of the stretches of epsilon on which the difference of two critical times is monotone."""
    highest = fraction * float(np.min(pair.rho)) ** (objective.depth / objective.b)
    if highest <= SMALLEST_EPSILON:
        return
    yield SMALLEST_EPSILON
    covariance_gap, variance_gap = np.diff(pair.lam)[0], np.diff(pair.lam / pair.rho)[0]
    if covariance_gap * variance_gap > 0:
        turn = float(covariance_gap / variance_gap) ** (objective.depth / objective.b)
        if SMALLEST_EPSILON < turn < highest:
            yield turn
    yield highest


def _bisect(leader: Callable[[float], int], low: float, high: float, before: int) -> float:
    while True:
        middle = sqrt(low) * sqrt(high)
        if not low < middle < high:
            return low
        if leader(middle) == before:
            low = middle
        else:
            high = middle


class _Judge:
    """Compares critical times rigorously, keeping the enclosures it has already paid for."""

    def __init__(self, objective: Objective, features: Features, epsilon: float, fraction: float) -> None:
        self._objective, self._epsilon, self._fraction = objective, epsilon, fraction
        self._lam, self._rho = features.lam.tolist(), features.rho.tolist()
        self._status: dict[int, Status] = {}
        self._balls: dict[tuple[int, int], arb] = {}

    def compare(self, first: int, second: int) -> tuple[int, Certainty]:
        """-1 if the first is learned earlier, 1 if later, 0 if neither is known."""
        turns = [_TURN[self._status_of(feature)] for feature in (first, second)]
        if turns[0] != turns[1]:
            return (-1 if turns[0] < turns[1] else 1), Certainty.CERTIFIED
        same = self._lam[first] == self._lam[second] and self._rho[first] == self._rho[second]
        if same or turns[0] != _TURN[Status.REACHED]:
            return 0, Certainty.TIE
        bits = FIRST_BITS
        while bits <= MOST_BITS:
            one, other = self._ball(first, bits), self._ball(second, bits)
            if one < other:
                return -1, Certainty.CERTIFIED
            if one > other:
                return 1, Certainty.CERTIFIED
            bits *= 2
        return 0, Certainty.UNRESOLVED

    def leader(self, first: int, second: int) -> int:
        """The first half of `compare`, as sorting wants it."""
        return self.compare(first, second)[0]

    def _status_of(self, feature: int) -> Status:
        if feature not in self._status:
            self._status[feature] = exact_status(self._objective, *self._point(feature))
        return self._status[feature]

    def _ball(self, feature: int, bits: int) -> arb:
        if (feature, bits) not in self._balls:
            self._balls[feature, bits] = time_ball(self._objective, *self._point(feature), precision=bits)
        return self._balls[feature, bits]

    def _point(self, feature: int) -> tuple[float, float, float, float]:
        return self._lam[feature], self._rho[feature], self._epsilon, self._fraction
