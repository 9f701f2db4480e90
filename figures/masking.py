"""Masked pixels: predicted from the model's formulas and simulated on a sample of it, under JEPA and MAE."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import dynamics as dyn
from dynamics.checks import check_positive, whole_number
from dynamics.generative import MaskedPixels, sampled
from dynamics.grid import Setting
from figures.drawing import Drawing
from figures.samples import DRAWN, departure, how, outcome, picture, predicted_and_simulated
from figures.style import Style


def draw(
    style: Style,
    *,
    count: int = 8,
    decay: float = 0.85,
    keep: float = 0.5,
    target: str = "full",
    images: int = 10_000,
    depth: int = 2,
    predictor_depth: int = 1,
    epsilon: float = 0.01,
    fraction: float = 0.5,
    seed: int = 0,
) -> Drawing:
    """Random masking: JEPA and MAE learn in the same order, predicted and simulated.

    Images of the masking model are drawn, networks are trained on them, and their amplitudes are laid over the exact curves
    that the model's own formulas predict. Last panel: each feature's time under JEPA against its time under MAE.

    Parameters
    ----------
    count
        Pixels and features, a power of two.
    decay
        Eigenvalue of every feature over that of the one before; pixels have variance 1.
    keep, target
        Probability that x shows a pixel, and what y shows: ``full``, ``independent`` or ``complementary``.
    images
        Images drawn, with ``seed``.
    """
    check_positive("decay", decay)
    if whole_number("count", count, 2, 1024) & (count - 1):
        raise dyn.ParameterError("count", count, "a power of two")
    kappa = decay ** np.arange(count)
    model = MaskedPixels(kappa / kappa.mean(), keep, target)
    features = model.features()
    data = sampled(model, whole_number("images", images, 2), np.random.default_rng(seed))
    settings = [Setting(objective(depth, predictor_depth), epsilon, fraction) for objective in (dyn.jepa, dyn.mae)]
    table = predicted_and_simulated(settings, features, data)
    kept = f"pixels of variance 1 kept with probability {keep:g}, {target} target"
    caption = (
        f"Masked pixels: {count} features, eigenvalues {model.eigenvalues.max():.3g} to {model.eigenvalues.min():.3g}, {kept};"
        f" {(features.lam > 0.0).sum()} of them have a positive lambda. {how(depth, predictor_depth, epsilon)} {images} images,"
        f" masks averaged over exactly. {DRAWN} {_together(features)};"
        f" {_agreement(settings, features)}. {outcome(table, 'jepa')} {outcome(table, 'mae')}"
        f" {departure(model, data)}"
    )
    return Drawing(picture(style, table), table, caption)


def _agreement(settings: Sequence[Setting], features: dyn.Features) -> str:
    """Whether the certified orders under all settings are the same, of the features that are learned at all."""
    learned = features[features.lam > 0.0]
    orders = {
        tuple(dyn.order_features(one.objective, learned, epsilon=one.epsilon, fraction=one.fraction).sequence.tolist())
        for one in settings
    }
    return "their exact orders agree" if len(orders) == 1 else "from this start their exact orders differ"


def _together(features: dyn.Features) -> str:
    """What becomes of lambda and rho along the eigenvalues."""
    order = np.argsort(features.lam, kind="stable")
    if (np.diff(features.lam[order]) > 0.0).all() and (np.diff(features.rho[order]) > 0.0).all():
        return "Lambda and rho rise together with the eigenvalue, so JEPA and MAE should rank alike"
    return "Lambda and rho do not both rise with the eigenvalue"
