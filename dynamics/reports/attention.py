"""The tables of the third system: phases of the reduced flows, runs of the network, metrics of attention maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from math import log

import numpy as np

from dynamics.attention.cl_flow import Contrast
from dynamics.attention.collapse import collapse, critical_weight_decay
from dynamics.attention.images import Areas, ImageModel
from dynamics.attention.leading_order import LeadingOrder, least_loss
from dynamics.attention.mae_flow import STATES, MaeFlow
from dynamics.attention.metrics import AttentionMetrics
from dynamics.attention.phases import PHI_G, PHI_T, phases
from dynamics.attention.simulation import AttentionRun
from dynamics.features import FloatArray
from dynamics.table import Columns, Table, known, stacked

LARGEST_COUNTED = 20_000
"""Patches up to which counts under masks are exact by default."""

CLOSE = 0.02
"""Distance from the asymptotic exponent below which a size shows it."""


def phases_table(
    models: Sequence[ImageModel], contrast: Contrast, *, counts: str | None = None, positions: bool = True
) -> Table:
    """One row a model: when a masked autoencoder's phases end, what theory says to leading order, when CL collapses.

    Parameters
    ----------
    counts
        As for `MaeFlow`; by default exact where areas are whole and patches not too many.
    """
    return stacked(Table(_phases_row(model, contrast, counts, positions)) for model in models)


def _phases_row(model: ImageModel, contrast: Contrast, counts: str | None, positions: bool) -> Columns:
    chosen = counts or counts_for(model.areas)
    found, theory = phases(model, counts=chosen, positions=positions), LeadingOrder(model)
    values: dict[str, object] = model_values(model) | {"counts": chosen}
    values |= {"initial_ratio": found.initial_ratio, "leader": found.leader}
    values |= {"onset": found.onset.time, "first_phase": found.first.time, "second_phase": found.second.time}
    values |= {"settled": found.settled.time}
    values |= {"phi_T": float(found.second.state[PHI_T]), "phi_G": float(found.second.state[PHI_G])}
    plain = is_plain(model)
    values |= {"second_leading": theory.local_time if plain else np.nan}
    values |= {"phi_G_leading": theory.plateau if plain else np.nan}
    values |= {"exponent": local_exponent(model, positions), "exponent_limit": 1.0 - model.areas.kappa_s}
    values |= {"least_loss": least_loss(model)} | _collapse_values(model, contrast)
    return _row(values)


def _collapse_values(model: ImageModel, contrast: Contrast) -> dict[str, object]:
    """Of contrastive learning, which needs another cluster; for strengths of 1."""
    if model.clusters < 2 or not is_plain(model):
        return dict.fromkeys(("collapse_position", "collapse_full", "critical_weight_decay"), np.nan)
    times: dict[str, object] = {
        f"collapse_{query}": collapse(model, contrast, query=query).time for query in ("position", "full")
    }
    return times | {"critical_weight_decay": critical_weight_decay(model, replace(contrast, weight_decay=0.0))}


def is_plain(model: ImageModel) -> bool:
    """Whether every area has strength 1, which closed forms and the flows of contrastive learning are for."""
    return bool((model.latent.values == 1.0).all())


def local_exponent(model: ImageModel, positions: bool) -> float:
    """d log T2 / d log P at fixed kappa_c and kappa_s, from P to 2 P, with mean counts."""
    areas = model.areas
    larger = 2.0 * areas.patches
    grown = Areas(larger, larger**areas.kappa_c, larger**areas.kappa_s)
    times = [phases(replace(model, areas=one), counts="mean", positions=positions).second.time for one in (areas, grown)]
    return log(times[1] / times[0]) / log(2.0)


def counts_for(areas: Areas) -> str:
    """Exact counts where they make sense and cost little."""
    whole = all(float(size) == round(size) for size in (areas.patches, areas.global_size, areas.local_size))
    fill = whole and (areas.patches - areas.global_size) % areas.local_size == 0
    return "exact" if fill and areas.patches <= LARGEST_COUNTED else "mean"


def model_values(model: ImageModel) -> dict[str, object]:
    """The columns that say which model it is."""
    areas = model.areas
    strengths = model.latent.interval or (float(model.latent.values.min()), float(model.latent.values.max()))
    return {
        "patches": float(areas.patches),
        "global_size": float(areas.global_size),
        "local_size": float(areas.local_size),
        "kappa_c": areas.kappa_c,
        "kappa_s": areas.kappa_s,
        "gap": areas.gap,
        "masked": model.masked,
        "clusters": model.clusters,
        "latent_low": strengths[0],
        "latent_high": strengths[1],
    }


def phases_remarks(table: Table) -> list[str]:
    """What the numbers mean, and where a size is too small for its exponent."""
    columns = table.columns
    told = [
        "onset: phi_G has fallen by 0.1; first_phase: the global area moves faster until then; second_phase and settled: half"
        " and 0.9 of the attention of a local patch is on its own area."
    ]
    exponent, limit = (np.array(columns[name], dtype=np.float64) for name in ("exponent", "exponent_limit"))
    off = np.abs(exponent - limit) > CLOSE
    if off.any():
        shown = ", ".join(
            f"P = {patches:g}: {found:.3g}, not {limit:.3g}"
            for patches, found, limit in zip(columns["patches"][off][:3], exponent[off][:3], limit[off][:3], strict=True)
        )
        told.append(f"At these sizes the second phase does not grow with its asymptotic exponent 1 - kappa_s yet ({shown}).")
    if (columns["clusters"] < 2).any():
        told.append("Contrastive learning needs two clusters or more; add --clusters.")
    if (np.array([columns["latent_low"], columns["latent_high"]]) != 1.0).any():
        told.append("Closed forms and contrastive flows are for areas of strength 1, and empty for others.")
    if any(value is None for value in columns["settled"]):
        told.append("Empty phases did not end in many times the predicted time.")
    return told


def run_row(run: AttentionRun) -> Table:
    """One row: what the network came to, beside the reduced flow."""
    predicted, errors = _reduction(run)
    simulated = run.crossing(0.5)
    values: dict[str, object] = {"objective": run.objective}
    values |= {} if run.objective == "mae" else {"query": run.query}
    values |= model_values(run.model)
    values |= {"steps": run.training.steps, "batch": run.training.batch, "learning_rate": run.learning_rate}
    values |= {"optimiser": run.training.optimiser, "seed": run.seed}
    values |= {"predicted_half": predicted, "simulated_half": simulated, "ratio": simulated / predicted}
    values |= errors | asdict(run.final) | {"final_loss": run.looks[-1].loss}
    return Table(_row(values))


def _reduction(run: AttentionRun) -> tuple[float, dict[str, object]]:
    """When the reduced flow has half of the attention where it ends, and how far the correlations of the network are off it."""
    from scipy.integrate import solve_ivp

    missing = {"rms_phi_T": np.nan, "rms_phi_G": np.nan}
    if run.training.optimiser == "adam" or run.diverged:
        return np.nan, dict(missing)
    if run.objective == "cl":
        negatives = run.training.batch - 1
        told = replace(run.contrast, negatives=negatives)
        return collapse(run.model, told, query=run.query).time, dict(missing)
    flow = MaeFlow(run.model, shared_partition=run.shared_partition)
    time = run.curve("time")
    found = solve_ivp(flow, (0.0, time[-1]), np.zeros(len(STATES)), method="LSODA", t_eval=time, rtol=1e-9, atol=1e-11)

    def off(place: int, name: str) -> float:
        difference: FloatArray = found.y[place] - run.curve(name)
        return float(np.sqrt((difference**2).mean()))

    if not found.success:
        return np.nan, dict(missing)
    half = phases(run.model, shared_partition=run.shared_partition).second.time
    return half, {"rms_phi_T": off(PHI_T, "phi_T"), "rms_phi_G": off(PHI_G, "phi_G")}


def metrics_table(metrics: AttentionMetrics) -> Table:
    """One row of metrics; empty where there are no areas."""
    return Table(_row(asdict(metrics)))


def _row(values: dict[str, object]) -> Columns:
    columns: Columns = {}
    for name, value in values.items():
        column = np.array([value])
        columns[name] = known(column) if column.dtype.kind == "f" else column
    return columns
