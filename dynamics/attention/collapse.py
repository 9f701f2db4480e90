"""When contrastive learning collapses onto the global area, and the weight decay that keeps it from learning at all."""

from __future__ import annotations

from dataclasses import dataclass
from math import e

import numpy as np

from dynamics.attention.cl_flow import Contrast, FullFlow, PositionFlow, require_clusters
from dynamics.attention.images import ImageModel
from dynamics.errors import LindynError, ParameterError
from dynamics.features import FloatArray

QUERIES: dict[str, type[PositionFlow] | type[FullFlow]] = {"position": PositionFlow, "full": FullFlow}
"""What a query sees: its position, or its patch as well."""

LONGEST = 60.0
"""In units of the leading-order time of collapse: the most that is integrated."""


@dataclass(frozen=True, eq=False)
class Collapse:
    """How attention ends up on the global area.

    Attributes
    ----------
    time
        When half of the attention (of a shown local patch) is on the shown patches of the global area; ``inf`` if that does not
        come in many times the leading-order time, as under strong weight decay.
    state
        The state then, or at the end.
    on_global
        Attention on the global area at the end of the integration.
    """

    flow: PositionFlow | FullFlow
    time: float
    state: FloatArray
    on_global: float


def collapse_time(model: ImageModel, contrast: Contrast | None = None) -> float:
    """Leading order for position-only queries: K P^(1 + 2 (1 - kappa_c)) / (2 Lambda(0) (1 - gamma)^2)."""
    require_clusters(model)
    told = contrast or Contrast()
    start = model.shown * model.areas.global_size / model.areas.patches
    return model.clusters * model.areas.patches / (2.0 * told.force(0.0, model.clusters) * start**2)


def critical_weight_decay(model: ImageModel, contrast: Contrast | None = None) -> float:
    """2 e Lambda(0) a_G^2 / (K P): from there on nothing is learned, to leading order in P; smeared at laptop sizes."""
    require_clusters(model)
    told = contrast or Contrast()
    start = model.shown * model.areas.global_size / model.areas.patches
    return 2.0 * e * told.force(0.0, model.clusters) * start**2 / (model.clusters * model.areas.patches)


def collapse(model: ImageModel, contrast: Contrast | None = None, *, query: str = "position") -> Collapse:
    """Integrate the reduced flow to the collapse, and to its end.

    Raises
    ------
    ParameterError
        If ``query`` is none of `QUERIES`, or there is but one cluster.
    LindynError
        If the integrator gives up.
    """
    from scipy.integrate import solve_ivp

    if query not in QUERIES:
        raise ParameterError("query", query, " or ".join(QUERIES))
    flow = QUERIES[query](model, contrast)

    def half(_: float, state: FloatArray) -> float:
        return flow.on_global(state) - 0.5

    half.direction = 1.0  # type: ignore[attr-defined]
    force = flow.contrast.force
    # Near half, S = 1/4, cold contrast pulls far less than at the start.
    end = LONGEST * collapse_time(model, contrast) * max(force(0.0, model.clusters) / force(0.3, model.clusters), 1.0)
    start = np.zeros(len(flow.states))
    found = solve_ivp(flow, (0.0, end), start, method="LSODA", events=[half], rtol=1e-9, atol=1e-12)
    if not found.success:
        raise LindynError(f"The reduced flow could not be integrated: {found.message}")
    assert found.t_events is not None
    assert found.y_events is not None
    times, states = found.t_events[0], found.y_events[0]
    time, state = (float(times[0]), states[0]) if len(times) else (np.inf, found.y[:, -1])
    return Collapse(flow, time, state, flow.on_global(found.y[:, -1]))
