"""Grids of settings: every combination of objective, depths, start and fraction."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from dynamics.errors import ParameterError
from dynamics.features import Features
from dynamics.objectives import Objective, jepa, mae
from dynamics.table import Columns

OBJECTIVES: dict[str, Callable[[int, int], Objective]] = {"jepa": jepa, "mae": mae}


@dataclass(frozen=True)
class Setting:
    """One objective at its depths, one start and one fraction."""

    objective: Objective
    epsilon: float
    fraction: float

    def columns(self, features: Features) -> Columns:
        """The columns that say what a row is about: feature, setting, lambda, rho and sigma."""
        count = len(features)
        constants: Columns = {
            "objective": np.full(count, self.objective.name),
            "depth": np.full(count, self.objective.depth),
            "predictor_depth": np.full(count, self.objective.predictor_depth),
            "epsilon": np.full(count, self.epsilon),
            "fraction": np.full(count, self.fraction),
        }
        named: Columns = {"feature": np.array(features.labels(), dtype=object)}
        return named | constants | {"lambda": features.lam, "rho": features.rho, "sigma": features.sigma}


@dataclass(frozen=True)
class Grid:
    """All combinations of the given values, in order, the last varying fastest."""

    objectives: Sequence[str] = ("jepa", "mae")
    depths: Sequence[int] = (2,)
    predictor_depths: Sequence[int] = (1,)
    epsilons: Sequence[float] = (1e-2,)
    fractions: Sequence[float] = (0.5,)

    def settings(self) -> Iterator[Setting]:
        """Every setting of the grid.

        Raises
        ------
        ParameterError
            If an objective is not one of jepa and mae, or a depth is not a whole number from 1.
        """
        for name, depth, predictor_depth, epsilon, fraction in product(
            self.objectives, self.depths, self.predictor_depths, self.epsilons, self.fractions
        ):
            if name not in OBJECTIVES:
                raise ParameterError("objective", name, f"one of {', '.join(OBJECTIVES)}")
            yield Setting(OBJECTIVES[name](depth, predictor_depth), epsilon, fraction)
