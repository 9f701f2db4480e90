"""MAE against contrastive learning in a one-layer softmax ViT: where attention goes, and when.

After Huang et al. 2025. Images fall into one global and several local areas of patches. A masked autoencoder learns to attend
to the area of each patch, contrastive learning collapses onto the global area, whatever the sign of the information gap.
"""

from dynamics.attention.cl_flow import Contrast, FullFlow, PositionFlow
from dynamics.attention.collapse import Collapse, collapse, collapse_time, critical_weight_decay
from dynamics.attention.images import Areas, ImageModel, Latent, constant, uniform
from dynamics.attention.leading_order import LeadingOrder, least_loss
from dynamics.attention.mae_flow import MaeFlow
from dynamics.attention.metrics import AttentionMetrics, attention_metrics
from dynamics.attention.phases import Event, Phases, phases
from dynamics.attention.sampling import Batch, Sampler
from dynamics.attention.simulation import AttentionRun, Look, Training, simulate_attention

__all__ = [
    "Areas",
    "AttentionMetrics",
    "AttentionRun",
    "Batch",
    "Collapse",
    "Contrast",
    "Event",
    "FullFlow",
    "ImageModel",
    "Latent",
    "LeadingOrder",
    "Look",
    "MaeFlow",
    "Phases",
    "PositionFlow",
    "Sampler",
    "Training",
    "attention_metrics",
    "collapse",
    "collapse_time",
    "constant",
    "critical_weight_decay",
    "least_loss",
    "phases",
    "simulate_attention",
    "uniform",
]
