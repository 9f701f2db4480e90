"""Tables of the matrices trained on a loss, and what to say beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dynamics.features import Features
from dynamics.multiview.graph import AugmentationGraph
from dynamics.multiview.logistic import Logistic
from dynamics.multiview.losses import Loss, Setup
from dynamics.multiview.simulation import ModeRun, simulate_modes
from dynamics.reports.multiview import tied
from dynamics.table import Table, stacked

if TYPE_CHECKING:
    from dynamics.network.population import Data

COARSE = 0.2
"""Learning rate times the fastest rate above which a step of descent is far from the flow."""


def trained(
    loss: Loss,
    source: Features | AugmentationGraph | Data,
    cases: Iterable[tuple[Setup, float, int]],
    done: Callable[[str], None] = lambda case: None,
    **how: Any,
) -> list[ModeRun]:
    """One run for every setup, start and seed; the rest is as for `simulate_modes`. ``done`` is called after each."""
    finished = []
    for setup, start, seed in cases:
        finished.append(simulate_modes(loss, source, setup=setup, epsilon=start, seed=seed, **how))
        done(f"seed {seed}")
    return finished


def run_table(runs: Sequence[ModeRun]) -> Table:
    """One row a mode and run."""
    return stacked(Table(run.columns()) for run in runs)


def run_curves(runs: Sequence[ModeRun]) -> Table:
    """The curves of all runs, one below the other."""
    return stacked(run.curves_table() for run in runs)


def mode_simulation_remarks(runs: Sequence[ModeRun]) -> list[str]:
    """How the runs ended, and how far the law was off."""
    first = runs[0]
    told = [f"{first.loss.name}: {first.loss.title}."]
    told += _coarse(first)
    told += [text for run in runs for text in _divergence(run)]
    ratios = np.array([ratio for run in runs for ratio in run.columns()["ratio"] if ratio is not None], dtype=np.float64)
    if ratios.size:
        told.append(f"Simulated over predicted times: {ratios.min():.4g} to {ratios.max():.4g}.")
    ranks = [run.curves.effective_rank[-1] for run in runs]
    told.append(f"Effective rank of the outputs at the end: {_range(ranks)}.")
    alike = [run.curves.redundancy[-1] for run in runs if np.isfinite(run.curves.redundancy[-1])]
    told += [f"Mean squared correlation of two outputs at the end: {_range(alike)}."] if alike else []
    return [*told, *_ties(first)]


def mode_cautions(run: ModeRun) -> list[str]:
    """What should be known of one run, however many there are."""
    return [*_coarse(run), *_divergence(run), *_ties(run)]


def _divergence(run: ModeRun) -> list[str]:
    if not run.diverged:
        return []
    return [f"The run of seed {run.seed}, width {run.setup.width} diverged; lower --learning-rate."]


def _ties(run: ModeRun) -> list[str]:
    return tied(run.features, run.loss.eigenvalues(run.features, run.setup), run.loss.eigenvalue)


def _coarse(run: ModeRun) -> list[str]:
    """Whether a step is large beside the fastest growth."""
    if run.learning_rate is None or run.loss.law is None:
        return []
    law = run.loss.law_of(run.features, run.setup)
    fastest = float(law.rate.max()) if isinstance(law, Logistic) else float(run.features.lam.max())
    if run.learning_rate * fastest <= COARSE:
        return []
    return [
        f"A step is coarse: learning rate times the fastest rate is {run.learning_rate * fastest:.3g}; lower --learning-rate."
    ]


def _range(values: Sequence[float]) -> str:
    low, high = f"{min(values):.4g}", f"{max(values):.4g}"
    return low if low == high else f"{low} to {high}"
