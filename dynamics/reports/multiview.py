"""The tables of the second system: critical times of modes, and what is to be said beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dynamics.features import Features, FloatArray
from dynamics.multiview.critical_time import EXACT, LEADING, CriticalModes, critical_modes
from dynamics.multiview.losses import Loss, Setup
from dynamics.multiview.strengths import reversals
from dynamics.table import Table, stacked

NAMED = 5
"""Features named in a remark, at most."""

TIED = 1e-9
"""Relative distance of two eigenvalues up to which they count as one."""

STAIRCASE = (
    "Times with beta below 1 are leading logarithms in a small start. Measured for widths 8 and 16, beta from 0.01 and"
    " strengths a quarter or more apart, at half: within 16 per cent from 1e-6 and 4 from 1e-24; worse from larger starts, for"
    " closer strengths and smaller beta d."
)


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
        for width, beta, views in product(self.width, self.beta, self.views):
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
    told += [STAIRCASE] if any(result.accuracy == LEADING for result in results) else []
    if any(result.accuracy == EXACT for result in results):
        told.append(
            "Exact for modes that start aligned; a random start has its own amplitude in each (lindyn multiview simulate)."
        )
    told += roomy(len(features), [setup.width for setup in setups])
    for result in results:
        told += tied(features, result.eigenvalue, loss.eigenvalue + named_views(loss, result.setup))
    if loss.name == "barlow-twins" and any(setup.kernel == "view-mean" for setup in setups):
        told += reversed_pairs(features)
    return list(dict.fromkeys(told))


def named_views(loss: Loss, setup: Setup) -> str:
    """Which number of views a remark is about, where it matters."""
    return f" with {setup.views} views" if "views" in loss.settings(setup) else ""


def roomy(modes: int, widths: Sequence[int]) -> list[str]:
    """What a projector wider than the modes does with the room."""
    wide = sorted({width for width in widths if width > modes})
    if not wide:
        return []
    shown, noun = ", ".join(map(str, wide)), "mode" if modes == 1 else f"{modes} modes"
    return [f"Width {shown} exceeds the {noun}: the outputs share what there is, and their effective rank is at most {modes}."]


def tied(features: Features, eigenvalue: FloatArray, name: str) -> list[str]:
    """Which features share an eigenvalue, if any do: only the space that they span is determined."""
    order = np.argsort(eigenvalue, kind="stable")
    near = np.diff(eigenvalue[order]) <= TIED * np.maximum(np.abs(eigenvalue[order][1:]), TIED)
    labels = np.array(features.labels(), dtype=object)[order]
    groups = [group for group in np.split(labels, np.flatnonzero(~near) + 1) if len(group) > 1]
    if not groups:
        return []
    shown = "; ".join(", ".join(group[:NAMED]) + (", ..." if len(group) > NAMED else "") for group in groups[:NAMED])
    more = f" and {len(groups) - NAMED} more groups" if len(groups) > NAMED else ""
    return [f"Tied in {name}: {shown}{more}. Tied modes are learned together; which directions among them is up to the start."]


def reversed_pairs(features: Features) -> list[str]:
    """Pairs that the view-mean kernel puts into the order of their noise for few views, those of most views first."""
    views = reversals(features)
    count = int((views > 2.0).sum())
    most = np.argsort(-views, axis=None, kind="stable")[: min(NAMED, count)]
    labels = features.labels()
    told = [
        f"{labels[second]} before {labels[first]} below m = {views[first, second]:.3g}"
        for first, second in zip(*np.unravel_index(most, views.shape), strict=True)
    ]
    more = f" (and {count - NAMED} more pairs)" if count > NAMED else ""
    return [f"Under view-mean few views reverse the order of covariances: {', '.join(told)}{more}."] if told else []
