"""The tables of redundancy: how many modes a projector fills, and how alike its outputs are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dynamics.errors import LindynError
from dynamics.features import Features, FloatArray
from dynamics.multiview.collinear import collinear_escape, collinear_threshold, collinear_threshold_of_barlow_twins
from dynamics.multiview.critical_time import critical_modes
from dynamics.multiview.ladder import plateau
from dynamics.multiview.losses import Loss, Setup
from dynamics.multiview.members import penalised
from dynamics.multiview.status import ModeStatus
from dynamics.multiview.water_filling import activation, water_filling
from dynamics.reports.multiview import STAIRCASE, SetupGrid, named_views, tied
from dynamics.status import StatusArray, words
from dynamics.table import Columns, Table, cells, known, stacked


def redundancy_table(loss: Loss, features: Features, grid: SetupGrid, *, epsilon: Sequence[float]) -> Table:
    """One row a feature and setup.

    For Barlow Twins: the plateau that opens when the feature is learned, from ``critical_time`` to ``next_time``. For the
    penalised and normalised losses, which have no plateaus of their own: the final state.

    Raises
    ------
    LindynError
        If the loss sets no penalty on redundancy.
    """
    if loss.name not in TABLES:
        raise LindynError(f"The loss {loss.name} has no weight on redundancy; --loss can be {', '.join(TABLES)}.")
    return stacked(Table(columns) for setup in grid.setups() for columns in TABLES[loss.name](loss, features, setup, epsilon))


def _settings(loss: Loss, features: Features, setup: Setup) -> Columns:
    count = len(features)
    return {"feature": np.array(features.labels(), dtype=object)} | {
        name: np.full(count, value) for name, value in loss.settings(setup).items()
    }


def _values(features: Features) -> Columns:
    return {"lambda": features.lam, "rho": features.rho, "sigma": features.sigma}


def _plateaus(loss: Loss, features: Features, setup: Setup, epsilon: Sequence[float]) -> list[Columns]:
    return [_plateaus_from(loss, features, setup, start) for start in epsilon]


def _plateaus_from(loss: Loss, features: Features, setup: Setup, epsilon: float) -> Columns:
    times = critical_modes(loss, features, epsilon=epsilon, setup=setup)
    sequence = times.sequence
    found: dict[str, list[float | None]] = {name: [None] * len(features) for name in PLATEAU}
    following = [*times.time[sequence].tolist(), np.inf][1:]
    for step, (row, after) in enumerate(zip(sequence.tolist(), following, strict=True), start=1):
        told = plateau(step, width=setup.width, beta=setup.beta)
        alike = told.redundancy if setup.beta < 1.0 or step == setup.width else None
        values = (after, float(told.modes), alike, told.feature_variance, told.mode_energy, told.growth, told.loss)
        for name, value in zip(PLATEAU, values, strict=True):
            found[name][row] = value
    return (
        _settings(loss, features, setup)
        | {"epsilon": np.full(len(features), epsilon)}
        | _values(features)
        | {loss.eigenvalue: times.eigenvalue, "critical_time": known(times.time)}
        | {name: cells(column) for name, column in found.items()}
        | {"status": words(times.status)}
    )


PLATEAU = ("next_time", "effective_rank", "redundancy", "feature_variance", "mode_energy", "growth", "plateau_loss")


def _filled(loss: Loss, features: Features, setup: Setup, epsilon: Sequence[float]) -> list[Columns]:
    """Normalised features: the water-filling minimum, and from which beta times width on each mode is in it."""
    kappa = loss.eigenvalues(features, setup)
    energy = water_filling(kappa, beta=setup.beta, width=setup.width).energy
    thresholds = activation(kappa)
    beyond = (energy == 0.0) & (thresholds < setup.beta * setup.width)
    status = np.full(len(features), ModeStatus.NEVER, dtype=object)
    status[energy > 0.0], status[beyond] = ModeStatus.REACHED, ModeStatus.BEYOND_WIDTH
    square = float((energy**2).sum())
    alike = (square - setup.width) / (setup.width * (setup.width - 1)) if setup.width > 1 else 0.0
    return [_final(loss, features, setup, kappa, thresholds / setup.width, energy, status, max(alike, 0.0))]


def _penalised(loss: Loss, features: Features, setup: Setup, epsilon: Sequence[float]) -> list[Columns]:
    """Outputs without normalisation: the energies that the slowest-rising modes leave in a projector of this width."""
    kappa = loss.eigenvalues(features, setup)
    energy = penalised(kappa, setup.beta).asymptote
    beyond = (energy > 0.0) & (np.argsort(np.argsort(kappa, kind="stable")) >= setup.width)
    energy[beyond] = 0.0
    status = np.full(len(features), ModeStatus.NEVER, dtype=object)
    status[energy > 0.0], status[beyond] = ModeStatus.REACHED, ModeStatus.BEYOND_WIDTH
    return [_final(loss, features, setup, kappa, kappa / 2.0, energy, status, None)]


def _final(
    loss: Loss,
    features: Features,
    setup: Setup,
    kappa: FloatArray,
    activation_beta: FloatArray,
    energy: FloatArray,
    status: StatusArray,
    redundancy: float | None,
) -> Columns:
    count, square = len(features), float((energy**2).sum())
    rank = float(energy.sum()) ** 2 / square if square else 0.0
    told = _settings(loss, features, setup) | _values(features)
    told |= {"kappa": kappa, "activation_beta": activation_beta, "mode_energy": energy}
    told |= {"effective_rank": np.full(count, rank)}
    told |= {} if redundancy is None else {"redundancy": np.full(count, redundancy)}
    return told | {"status": words(status)}


TABLES: dict[str, Callable[[Loss, Features, Setup, Sequence[float]], list[Columns]]] = {
    "barlow-twins": _plateaus,
    "penalised": _penalised,
    "normalised": _filled,
}
"""What each loss that weighs redundancy makes of it."""


def redundancy_remarks(loss: Loss, features: Features, grid: SetupGrid, *, constants: int = 0) -> list[str]:
    """What weak and strong mean for these features, setup by setup; the first ``constants`` of them do not vary."""
    setups = list(grid.setups())
    varying = features[constants:] if len(features) > constants else features
    told = [line for setup in setups for line in REMARKS[loss.name](loss, features, setup, varying)]
    return list(dict.fromkeys([*told, *tied(features, loss.eigenvalues(features, setups[0]), loss.eigenvalue)]))


def _about_plateaus(loss: Loss, features: Features, setup: Setup, varying: Features) -> list[str]:
    d, beta = setup.width, setup.beta
    if beta >= 1.0:
        return [
            f"Beta {beta:g}: full orthogonality. No mode slows another, and outputs keep the ratios of their start within a"
            " mode, so that how alike they are is up to the start."
        ]
    modes = min(d, int((loss.eigenvalues(features, setup) > 0.0).sum()))
    if not modes:
        return ["No mode covaries positively between views, so none is learned."]
    weight = beta * d / (1.0 - beta)
    slowed = plateau(modes - 1, width=d, beta=beta).growth
    return [
        f"Width {d}, beta {beta:g}: beta d / (1 - beta) = {weight:.4g}. Beta is strong behind up to so many learned modes,"
        f" where the next grows at half of its own rate or more, and weak behind more; the last of {modes} grows at"
        f" {slowed:.3g} of its own.",
        STAIRCASE,
    ]


def _about_filling(loss: Loss, features: Features, setup: Setup, varying: Features) -> list[str]:
    d, beta = setup.width, setup.beta
    kappa = loss.eigenvalues(features, setup)
    wide = water_filling(kappa, beta=beta * d / 1e6, width=10**6).active
    which = f"Width {d}, beta {beta:g}{named_views(loss, setup)}"
    told = f"{which}: beta d is {beta * d:.4g}, which fills {min(wide, d)} of {len(features)} modes"
    room = f"; a width of {wide} would lose nothing at beta {beta * d / wide:.3g}" if d > wide else ""
    lack = f"; a width of {wide} is needed for the {wide} that this product fills" if d < wide else ""
    lines = [f"{told}{room}{lack}."]
    if len(features) > 1:
        threshold = collinear_threshold(kappa, d)
        escape = collinear_escape(kappa, beta=beta, width=d)
        state = f"left at a rate of {escape:.3g}" if escape > 0.0 else "a stable minimum"
        lines.append(f"{which}: all outputs alike on the first mode are {state}; stable for beta below {threshold:.3g}.")
    largest = varying.rho[varying.rho > 0.0]
    if len(largest) > 1:
        twins = collinear_threshold_of_barlow_twins(largest, d)
        lines.append(f"{which}: Barlow Twins on outputs of unit variance keeps them alike for beta below {twins:.3g}.")
    return lines


def _about_penalty(loss: Loss, features: Features, setup: Setup, varying: Features) -> list[str]:
    return [
        f"Beta {setup.beta:g}: a mode is alive if beta exceeds kappa / 2, whatever the width; the span of the outputs moves as"
        " e^(-2 K t) whatever beta: the penalty changes the spectrum only."
    ]


REMARKS: dict[str, Callable[[Loss, Features, Setup, Features], list[str]]] = {
    "barlow-twins": _about_plateaus,
    "penalised": _about_penalty,
    "normalised": _about_filling,
}
