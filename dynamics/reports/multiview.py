"""The tables of the second system: critical times of modes, and what is to be said beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dynamics.features import Features, FloatArray
from dynamics.multiview.critical_time import LEADING, CriticalModes, critical_modes
from dynamics.multiview.losses import Loss, Setup
from dynamics.multiview.strengths import reversal
from dynamics.table import Table, stacked

NAMED = 5
"""Features named in a remark, at most."""


@dataclass(frozen=True)
class SetupGrid:
    """Every combination of widths, weights and numbers of views, with what they share."""

    width: tuple[int, ...]
    beta: tuple[float, ...]
    views: tuple[int, ...]
    kernel: str = "cross-view"
    invariance: str = "pairs"
    weight_decay: float = 0.0
    teacher_rate: float | None = None

    def setups(self) -> Iterator[Setup]:
        """In order, the last axis fastest."""
        rest = (self.kernel, self.views, self.invariance)
        for width, beta, views in product(self.width, self.beta, rest[1]):
            yield Setup(width, beta, self.kernel, views, self.invariance, self.weight_decay, self.teacher_rate)


def mode_times(
    loss: Loss, features: Features, grid: SetupGrid, *, epsilon: Sequence[float], fraction: Sequence[float]
) -> list[CriticalModes]:
    """Critical times at every setup, start and fraction."""
    return [
        critical_modes(loss, features, epsilon=start, fraction=share, setup=setup)
        for setup, start, share in product(grid.setups(), epsilon, fraction)
    ]


def mode_table(results: Sequence[CriticalModes]) -> Table:
    """One row a mode and setup."""
    return stacked(Table(result.columns()) for result in results)


def mode_remarks(features: Features, results: Sequence[CriticalModes]) -> list[str]:
    """What the numbers mean and where they are not to be trusted."""
    loss, setups = results[0].loss, [result.setup for result in results]
    told = [f"{loss.name}: {loss.title}."]
    if any(result.accuracy == LEADING for result in results):
        told.append(
            "Times with beta below 1 are leading logarithms in a small start: right within about 20 per cent from 1e-6 and"
            " within 5 per cent from 1e-24, where the width is 8 or more and strengths are a quarter or more apart."
        )
    told += roomy(len(features), [setup.width for setup in setups])
    told += tied(features, results[0].eigenvalue, loss.eigenvalue)
    if loss.name == "barlow-twins" and any(setup.kernel == "view-mean" for setup in setups):
        told += reversals(features)
    return told


def roomy(modes: int, widths: Sequence[int]) -> list[str]:
    """What a projector wider than the modes does with the room."""
    wide = sorted({width for width in widths if width > modes})
    if not wide:
        return []
    shown, noun = ", ".join(map(str, wide)), "mode" if modes == 1 else f"{modes} modes"
    return [f"Width {shown} exceeds the {noun}: the outputs share what there is, and their effective rank is at most {modes}."]


def tied(features: Features, eigenvalue: FloatArray, name: str) -> list[str]:
    """Which features share an eigenvalue, if any do: only the space that they span is determined."""
    values, places = np.unique(eigenvalue, return_inverse=True)
    labels = np.array(features.labels(), dtype=object)
    groups = [labels[places == place] for place in range(len(values)) if (places == place).sum() > 1]
    if not groups:
        return []
    shown = "; ".join(", ".join(group[:NAMED]) + (", ..." if len(group) > NAMED else "") for group in groups[:NAMED])
    more = f" and {len(groups) - NAMED} more groups" if len(groups) > NAMED else ""
    return [f"Tied in {name}: {shown}{more}. Tied modes are learned together; which directions among them is up to the start."]


def reversals(features: Features) -> list[str]:
    """Pairs that few views put into the order of their noise, those of most views first."""
    found = []
    for one, other in product(range(len(features)), repeat=2):
        if features.lam[one] > features.lam[other]:
            views = reversal(features[[one]], features[[other]])
            if views > 2.0:
                found.append((views, features.labels()[one], features.labels()[other]))
    found.sort(key=lambda entry: -entry[0])
    told = [f"{second} before {first} below m = {views:.3g}" for views, first, second in found[:NAMED]]
    more = f" (and {len(found) - NAMED} more pairs)" if len(found) > NAMED else ""
    return [f"Few views reverse the order of cross-view strengths: {', '.join(told)}{more}."] if told else []
