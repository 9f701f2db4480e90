"""Non-contrastive learning with small projectors and several views: exact mode dynamics and their limits.

After Agrawal et al. 2024 (small projectors and multiple views), Simon et al. 2023 (the staircase of Barlow Twins), Tian et al.
2021, Wang et al. 2021, HaoChen et al. 2021 and Saxe et al. 2014. ``lam`` is the covariance of a feature between views,
``sigma**2`` its variance in one view and ``rho`` their ratio, as everywhere in this library.
"""

from dynamics.multiview.alignment import AlignmentError, alignment_error, estimate_variance
from dynamics.multiview.bistable import Bistable
from dynamics.multiview.flows import barlow_twins_flow, normalised_flow, penalised_flow, trajectory
from dynamics.multiview.ladder import Plateau, ladder_times, plateau, residual_starts
from dynamics.multiview.logistic import Logistic
from dynamics.multiview.members import barlow_twins, byol, direct_copy, penalised, spectral_contrastive, two_layers
from dynamics.multiview.riccati import Riccati
from dynamics.multiview.strengths import mode_strengths, reversal
from dynamics.multiview.water_filling import Filling, activation, collinear_escape, collinear_threshold, water_filling

__all__ = [
    "AlignmentError",
    "Bistable",
    "Filling",
    "Logistic",
    "Plateau",
    "Riccati",
    "activation",
    "alignment_error",
    "barlow_twins",
    "barlow_twins_flow",
    "byol",
    "collinear_escape",
    "collinear_threshold",
    "direct_copy",
    "estimate_variance",
    "ladder_times",
    "mode_strengths",
    "normalised_flow",
    "penalised",
    "penalised_flow",
    "plateau",
    "residual_starts",
    "reversal",
    "spectral_contrastive",
    "trajectory",
    "two_layers",
    "water_filling",
]
