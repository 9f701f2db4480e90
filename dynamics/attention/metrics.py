"""What attention looks like: mass by area, diversity, distance, and how much a query tells of where it looks."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
import numpy.typing as npt

from dynamics.errors import ParameterError
from dynamics.features import FloatArray

ROUNDING = 1e-3
"""By how much a row may miss a sum of 1, as half precision does."""


@dataclass(frozen=True)
class AttentionMetrics:
    """Metrics of one attention map; means over the patches of local areas unless said otherwise.

    Attributes
    ----------
    local_to_own, local_to_global
        Attention on the own and on the global area.
    global_to_global
        Attention of the patches of the global area on that area.
    diversity
        1 - mean cosine of every row with the mean row, over all patches: 0 if all look at the same. So is an untrained network;
        read it beside the mass on the global area.
    information
        Normalised mutual information of query and key, over all patches (Park et al. 2023): 0 if rows are alike.
    distance, local_distance
        Attention-weighted distance of query and key on the square grid of patches, in patches, over all and over local
        queries; nan where the number of patches is not a square.
    """

    local_to_own: float
    local_to_global: float
    global_to_global: float
    diversity: float
    information: float
    distance: float
    local_distance: float


def areas_of(patches: int, global_size: int, local_size: int) -> npt.NDArray[np.intp]:
    """Areas as runs of patches: the global one, 0, first; raises a `LindynError` unless whole areas fill the patches."""
    from dynamics.attention.images import Areas

    areas = Areas(patches, global_size, local_size).whole()
    places = 1 + np.repeat(np.arange(int(areas.local_areas)), local_size)
    return np.concatenate([np.zeros(global_size, dtype=np.intp), places])


def attention_metrics(attention: npt.ArrayLike, area: npt.ArrayLike | None = None) -> AttentionMetrics:
    """Metrics of an attention map.

    Parameters
    ----------
    attention
        Shape ``(patches, patches)``, every row a distribution over keys.
    area
        Area of every patch, 0 the global one; without areas what needs them is nan.

    Raises
    ------
    ParameterError
        If the shapes do not fit, or a row is not a distribution.
    """
    rows = np.array(attention, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] != rows.shape[1]:
        raise ParameterError("attention", f"an array of shape {rows.shape}", "square, one row and one column a patch")
    total = np.where(np.isfinite(rows) & (rows >= 0.0), rows, np.nan).sum(axis=1)
    wrong = np.flatnonzero(~(np.abs(total - 1.0) <= ROUNDING))
    if len(wrong):
        raise ParameterError("attention", f"no distribution in row {wrong[0] + 1}", "rows of numbers from 0 on that sum to 1")
    rows /= total[:, None]
    where = np.full(len(rows), -1) if area is None else _checked_areas(area, len(rows))
    local, everywhere = where > 0, where == 0
    own = (rows * (where[:, None] == where[None, :])).sum(axis=1)
    on_global = rows[:, everywhere].sum(axis=1)
    distances = _distances(rows)
    return AttentionMetrics(
        _mean(own, local),
        _mean(on_global, local),
        _mean(on_global, everywhere),
        _diversity(rows),
        _information(rows),
        float(distances.mean()),
        _mean(distances, local),
    )


def _checked_areas(area: npt.ArrayLike, patches: int) -> npt.NDArray[np.intp]:
    given = np.array(area, dtype=np.float64)
    if given.shape != (patches,):
        raise ParameterError("areas", f"an array of shape {given.shape}", f"{patches} numbers, one a patch")
    good = np.isfinite(given) & (given >= 0.0) & (given == np.round(given))
    if not good.all():
        raise ParameterError("areas", given[~good][0], "whole numbers from 0, the global area, on")
    return given.astype(np.intp)


def _mean(values: FloatArray, which: npt.NDArray[np.bool_]) -> float:
    return float(values[which].mean()) if which.any() else float("nan")


def _diversity(rows: FloatArray) -> float:
    mean = rows.mean(axis=0)
    cosines = rows @ mean / (np.linalg.norm(rows, axis=1) * np.linalg.norm(mean))
    return max(float(1.0 - cosines.mean()), 0.0)


def _information(rows: FloatArray) -> float:
    """Mutual information of a query drawn evenly and its key, over the root of both entropies."""
    keys = _entropy(rows.mean(axis=0))
    shared = keys - float(np.mean([_entropy(row) for row in rows]))
    scale = np.sqrt(keys * np.log(len(rows)))
    return max(float(shared / scale), 0.0) if scale > 0.0 else 0.0


def _entropy(chances: FloatArray) -> float:
    positive = chances[chances > 0.0]
    return float(-(positive * np.log(positive)).sum())


def _distances(rows: FloatArray) -> FloatArray:
    side = isqrt(len(rows))
    if side**2 != len(rows):
        return np.full(len(rows), np.nan)
    places = np.stack(np.divmod(np.arange(len(rows)), side), axis=1).astype(np.float64)
    apart = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=-1))
    distances: FloatArray = (rows * apart).sum(axis=1)
    return distances
