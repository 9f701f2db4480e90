"""Slow clean against fast noisy signals: predicted from the model's formulas and simulated on a sample, under JEPA and MAE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

import dynamics as dyn
from dynamics.checks import whole_number
from dynamics.generative import NoisyAutoregression, sampled
from dynamics.grid import Setting
from dynamics.table import Table
from figures.drawing import Drawing
from figures.samples import DRAWN, departure, how, outcome, picture, predicted_and_simulated
from figures.style import NAMES, Style

if TYPE_CHECKING:
    import numpy.typing as npt


def draw(
    style: Style,
    *,
    coefficient: Sequence[float] = (0.9, 0.8, 0.7, 0.6),
    variance: Sequence[float] = (0.9, 1.1, 1.35, 1.7),
    noise: Sequence[float] = (0.0, 0.1, 0.2, 0.4),
    lag: int = 1,
    steps: int = 100_000,
    depth: int = 4,
    predictor_depth: int = 1,
    epsilon: float = 0.01,
    fraction: float = 0.5,
    seed: int = 0,
) -> Drawing:
    """Noisy AR(1) signals: JEPA learns the slow and clean first, MAE the strong, predicted and simulated.

    A series of the temporal model is drawn, networks are trained to predict it a few steps ahead, and their amplitudes are laid
    over the exact curves that the model's own formulas predict. Last panel: each feature's time under JEPA against its time
    under MAE.

    Parameters
    ----------
    coefficient, variance, noise
        Of every feature's amplitude: what one step keeps of it, its variance, and that of the noise it is seen with.
    lag
        Steps from x to y.
    steps
        Length of the series, drawn with ``seed``.
    """
    model = NoisyAutoregression(coefficient, variance, noise, lag)
    features = model.features()
    data = sampled(model, whole_number("steps", steps, 3), np.random.default_rng(seed))
    settings = [Setting(objective(depth, predictor_depth), epsilon, fraction) for objective in (dyn.jepa, dyn.mae)]
    table = predicted_and_simulated(settings, features, data)
    caption = (
        f"AR(1) amplitudes seen with noise, lag {lag}: features 1 to {len(features)} have coefficients"
        f" {_listed(model.coefficient)}, lambda {_listed(features.lam)} and rho {_listed(features.rho)}."
        f" {how(depth, predictor_depth, epsilon)} {steps} steps. {DRAWN}"
        f" {' '.join(f'{_orders(table, name)} {outcome(table, name)}' for name in ('jepa', 'mae'))}"
        f" {departure(model, data)} {_by_depth(features, depth, predictor_depth, epsilon, fraction)}"
    )
    return Drawing(picture(style, table), table, caption)


def _listed(values: npt.NDArray[np.float64]) -> str:
    return ", ".join(f"{value:.3g}" for value in values)


def _orders(table: Table, objective: str) -> str:
    """In which order one objective should learn, and whether its network did."""
    predicted, simulated = (_order(table, objective, kind) for kind in ("critical-time", "simulated-time"))
    followed = "the network did so" if simulated == predicted else f"the network learned {', '.join(simulated) or 'none'}"
    return f"{NAMES[objective]} should learn {', '.join(predicted)}: {followed}."


def _by_depth(features: dyn.Features, depth: int, predictor_depth: int, epsilon: float, fraction: float) -> str:
    """How far the predicted orders of the two objectives agree at every depth up to this one."""
    taus = [
        dyn.kendall_tau(
            *(
                dyn.order_features(objective(layers, predictor_depth), features, epsilon=epsilon, fraction=fraction)
                for objective in (dyn.jepa, dyn.mae)
            )
        )
        for layers in range(1, depth + 1)
    ]
    told = ", ".join("undefined" if tau is None else f"{tau:.2g}" for tau in taus)
    return f"Kendall's tau between the predicted orders of JEPA and MAE, at depth 1 to {depth}: {told}."


def _order(table: Table, objective: str, kind: str) -> list[str]:
    """The features that are learned, the first first."""
    frame = table.to_dataframe()
    times = frame[(frame.objective == objective) & (frame.kind == kind) & np.isfinite(frame.time)]
    return list(times.sort_values("time", kind="stable")["feature"])
