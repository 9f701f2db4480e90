"""Non-contrastive learning with small projectors and several views: exact mode dynamics and their limits.

After Agrawal et al. 2024 (small projectors and multiple views), Simon et al. 2023 (the staircase of Barlow Twins), Tian et al.
2021, Wang et al. 2021, HaoChen et al. 2021 and Saxe et al. 2014. ``lam`` is the covariance of a feature between views,
``sigma**2`` its variance in one view and ``rho`` their ratio, as everywhere in this library.
"""

from dynamics.multiview.alignment import AlignmentError, alignment_error, estimate_variance
from dynamics.multiview.bistable import Bistable
from dynamics.multiview.collinear import (
    collinear_escape,
    collinear_threshold,
    collinear_threshold_of_barlow_twins,
)
from dynamics.multiview.critical_time import CriticalModes, critical_modes
from dynamics.multiview.flows import (
    barlow_twins_flow,
    normalised_flow,
    penalised_flow,
    spectral_contrastive_flow,
    trajectory,
)
from dynamics.multiview.graph import AugmentationGraph, four_nodes
from dynamics.multiview.invariance import invariances
from dynamics.multiview.ladder import Plateau, ladder_times, plateau, residual_starts
from dynamics.multiview.logistic import Logistic
from dynamics.multiview.losses import LOSSES, Loss, Setup, loss_of
from dynamics.multiview.members import (
    barlow_twins,
    byol,
    direct_copy,
    iso_loss,
    penalised,
    spectral_contrastive,
    two_layers,
)
from dynamics.multiview.observables import effective_rank, redundancy
from dynamics.multiview.read_out import BestBeta, ReadOut, best_beta, trained_gram
from dynamics.multiview.riccati import Riccati
from dynamics.multiview.sampled_views import SampledViews, leading_modes, sampled_views, simulated_error
from dynamics.multiview.sharing import Sharing
from dynamics.multiview.simulation import ModeRun, simulate_modes
from dynamics.multiview.status import ModeStatus
from dynamics.multiview.strengths import mode_strengths, reversal
from dynamics.multiview.unpenalised import tilt, unpenalised_limit
from dynamics.multiview.water_filling import Filling, activation, water_filling

__all__ = [
    "LOSSES",
    "AlignmentError",
    "AugmentationGraph",
    "BestBeta",
    "Bistable",
    "CriticalModes",
    "Filling",
    "Logistic",
    "Loss",
    "ModeRun",
    "ModeStatus",
    "Plateau",
    "ReadOut",
    "Riccati",
    "SampledViews",
    "Setup",
    "Sharing",
    "activation",
    "alignment_error",
    "barlow_twins",
    "barlow_twins_flow",
    "best_beta",
    "byol",
    "collinear_escape",
    "collinear_threshold",
    "collinear_threshold_of_barlow_twins",
    "critical_modes",
    "direct_copy",
    "effective_rank",
    "estimate_variance",
    "four_nodes",
    "invariances",
    "iso_loss",
    "ladder_times",
    "leading_modes",
    "loss_of",
    "mode_strengths",
    "normalised_flow",
    "penalised",
    "penalised_flow",
    "plateau",
    "redundancy",
    "residual_starts",
    "reversal",
    "sampled_views",
    "simulate_modes",
    "simulated_error",
    "spectral_contrastive",
    "spectral_contrastive_flow",
    "tilt",
    "trained_gram",
    "trajectory",
    "two_layers",
    "unpenalised_limit",
    "water_filling",
]
