"""The features table: which columns it has, what stands in them, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from dynamics.errors import LindynError, TableError
from dynamics.features import Features, FloatArray
from dynamics.tables import is_number, numeric_column, read_frame, require_cells

if TYPE_CHECKING:
    import pandas as pd

VALUES = ("lambda", "rho", "sigma")
NAMES = ("feature", "name")
SETTINGS = ("objective", "depth", "predictor_depth", "epsilon", "fraction")
OWN_COLUMNS = frozenset(
    "objective depth predictor_depth epsilon fraction asymptote critical_time log10_critical_time status steps difference "
    "critical_time_lower critical_time_upper time time_from_critical time_convention amplitude rank next "
    "lambda_se rho_se leakage elasticity_lambda elasticity_rho elasticity_epsilon elasticity_fraction "
    "rank_jepa rank_mae rank_jepa_se rank_mae_se dominant_time expansion_time "
    "final_amplitude final_amplitude_sd polar_amplitude simulated_time simulated_time_sd ratio simulated_status "
    "reached runs diverged "
    "start learning_rate optimiser momentum batch predictor_start predictor_rate teacher_rate weight_decay "
    "stop_gradient "
    "loss kernel invariance views width beta threshold strength kappa accuracy seed final_size simulated_error "
    "simulated_error_se next_time effective_rank redundancy feature_variance mode_energy growth plateau_loss activation_beta "
    "size loss_value images samples images_part views_part pairs_part error".split()
)
"""Columns that lindyn's own tables carry besides the features; a features table may keep them, and they are not read."""

EXPECTED = "two of the columns lambda, rho and sigma, and optionally name"


def read_features(source: str | Path | BinaryIO, table_format: str | None = None) -> Features:
    """Read a features table: two of the columns lambda, rho and sigma, and optionally name (or feature).

    Parameters
    ----------
    source
        A path, or a binary stream whose format is recognised from its content.
    table_format
        One of `FORMATS`; by default what the path's ending says, else CSV.

    Raises
    ------
    TableError
        If the file cannot be read or is not such a table; the sentence names the row (counted from 1 below the header) and
        the column.
    """
    name = str(source) if isinstance(source, str | Path) else "standard input"
    try:
        frame = read_frame(source, name, table_format)
        columns = _checked_columns(frame, name)
        values = {column: _values(frame[column], column, name) for column in VALUES if column in columns}
        if len(frame) > 1 and any(frame[column].nunique() > 1 for column in SETTINGS if column in columns):
            raise TableError(f"{name} lists features at several settings; keep the rows of one setting.")
        labels = [_labels(frame[column], column, name) for column in NAMES if column in columns]
        return Features(
            lam=values.get("lambda"), rho=values.get("rho"), sigma=values.get("sigma"), names=labels[0] if labels else None
        )
    except TableError:
        raise
    except LindynError as error:
        raise TableError(f"{name}: {error}") from None


def _checked_columns(frame: pd.DataFrame, name: str) -> set[str]:
    columns = list(frame.columns)
    present = [column for column in VALUES if column in columns]
    if columns and all(is_number(column) for column in columns):
        raise TableError(f"{name} has no header; its first line must name {EXPECTED}.")
    if len(columns) == 1 and ";" in columns[0]:
        raise TableError(f"{name} is separated by semicolons; expected commas, and {EXPECTED}.")
    unknown = [column for column in columns if column not in {*VALUES, *NAMES} | OWN_COLUMNS]
    if unknown:
        meant = str(unknown[0]).lower()
        hint = f" (write {meant}, in small letters)" if meant in {*VALUES, *NAMES} else ""
        raise TableError(f"{name} has the unknown column {unknown[0]}{hint}; expected {EXPECTED}.")
    if len(present) < 2:
        raise TableError(f"{name} has {' and '.join(present) or 'none'} of lambda, rho and sigma; expected {EXPECTED}.")
    if frame.empty:
        raise TableError(f"{name} has a header but no rows.")
    return set(columns)


def _values(column: pd.Series[Any], title: str, name: str) -> FloatArray:
    values = numeric_column(column, title, name)
    return require_cells(values, values > 0, title, name, "a positive number") if title == "sigma" else values


def _labels(column: pd.Series[Any], title: str, name: str) -> list[str]:
    missing = column.isna().to_numpy()
    if missing.any():
        raise TableError(f"{name}: row {int(np.argmax(missing)) + 1}, column {title} is empty; a name is needed.")
    labels: list[str] = column.astype(str).str.strip().tolist()
    return labels
