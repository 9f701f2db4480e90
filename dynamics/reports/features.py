"""The table of features of real data, and what to say beside it."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from dynamics.bootstrap import bootstrap
from dynamics.errors import ParameterError
from dynamics.feature_basis import FeatureBasis
from dynamics.features import Features
from dynamics.grid import Grid, Setting
from dynamics.learning_order import plain_ranks
from dynamics.table import Columns, Table
from dynamics.views import Views


def features_table(basis: FeatureBasis) -> Table:
    """Features by decreasing lambda, and how strongly each is coupled to the others (leakage, 0 to 1)."""
    return Table(_columns(basis))


def features_table_with_errors(
    views: Views, basis: FeatureBasis, grid: Grid, *, replicates: int, seed: int, block_length: int | None = None
) -> Table:
    """The same with bootstrap standard errors of lambda and rho, and each objective's ranks with theirs.

    The grid must hold a single setting an objective. Parameters are those of `dynamics.bootstrap.bootstrap`.
    """
    settings = list(grid.settings())
    if len(settings) > len(set(grid.objectives)):
        raise ParameterError(
            "depth", "one of several settings", "given once, like the other settings, for the ranks of a bootstrap"
        )
    columns = _columns(basis)
    for setting in settings:
        errors = bootstrap(
            views, basis, seed=seed, replicates=replicates, rank_by=partial(_ranks, setting), block_length=block_length
        )
        name = f"rank_{setting.objective.name}"
        columns |= {"lambda_se": errors.lam, "rho_se": errors.rho}
        columns |= {name: _ranks(setting, basis.features), f"{name}_se": errors.rank}
    return Table(columns)


def distances(basis: FeatureBasis) -> list[str]:
    """What was left out, how far the data are from the theory, and advice where that is far."""
    moments = basis.moments
    found = (
        f"Features: {len(basis.features)}, from {moments.count} pairs. Distance from the theory:"
        f" off-diagonal share of Sxx {basis.input_off_diagonal:.2g}, of Syx {basis.cross_off_diagonal:.2g};"
        f" commutator {basis.commutator:.2g}; asymmetry of Syx {basis.asymmetry:.2g}."
    )
    return [*basis.notes, found, *([basis.advice] if basis.advice else [])]


def _columns(basis: FeatureBasis) -> Columns:
    features = basis.features
    return {
        "feature": np.array(features.labels(), dtype=object),
        "lambda": features.lam,
        "rho": features.rho,
        "sigma": features.sigma,
        "leakage": basis.leakage,
    }


def _ranks(setting: Setting, features: Features) -> npt.NDArray[np.intp]:
    return plain_ranks(setting.objective, features, epsilon=setting.epsilon, fraction=setting.fraction)
