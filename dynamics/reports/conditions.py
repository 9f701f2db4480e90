"""Columns that say how training departs from the default."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dynamics.objectives import Objective
from dynamics.regime import PLAIN, Regime
from dynamics.table import Columns

if TYPE_CHECKING:
    from dynamics.network.descent import GradientDescent


def regime_columns(regime: Regime, count: int) -> Columns:
    """What the regime changes, for each of ``count`` features."""
    changed = {field.name: getattr(regime, field.name) for field in fields(regime)}
    return _columns({name: value for name, value in changed.items() if np.any(value != getattr(PLAIN, name))}, count)


def regime_remarks(regime: Regime, objectives: Iterable[Objective]) -> list[str]:
    """What of the regime does nothing under some objective."""
    if regime.teacher_rate is None:
        return []
    names = dict.fromkeys(objective.name for objective in objectives if not objective.target_depth)
    return [f"{name} has no teacher: its target is the input itself, and teacher_rate changes nothing." for name in names]


def training_columns(start: str | npt.ArrayLike, training: GradientDescent | None, count: int) -> Columns:
    """How layers start and how they are trained, where that is not balanced and by gradient flow."""
    kind = start if isinstance(start, str) else "given"
    return _columns({} if kind == "balanced" else {"start": kind}, count) | _columns(dict(_descent(training)), count)


def _descent(training: GradientDescent | None) -> Iterator[tuple[str, object]]:
    if training is None:
        return
    yield "learning_rate", training.learning_rate
    yield "optimiser", training.optimiser
    if training.optimiser == "momentum":
        yield "momentum", training.momentum
    if training.batch is not None:
        yield "batch", training.batch


def _columns(values: dict[str, object], count: int) -> Columns:
    return {name: np.array(np.broadcast_to(np.asarray(value), count)) for name, value in values.items()}
