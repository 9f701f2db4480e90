"""When the phases of a masked autoencoder end: the reduced flow integrated by SciPy, events found as roots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynamics.attention.images import ImageModel
from dynamics.attention.leading_order import ONSET, LeadingOrder
from dynamics.attention.mae_flow import STATES, MaeFlow
from dynamics.errors import LindynError
from dynamics.features import FloatArray

LONGEST = 50.0
"""In units of the leading-order time at which phi_T diverges: the most that is integrated."""

TOLERANCE = 1e-9
"""Relative tolerance a step."""

PHI_T, PHI_G = (STATES.index(name) for name in ("phi_T", "phi_G"))


@dataclass(frozen=True)
class Event:
    """A time and the state then; ``nan`` where it does not come."""

    time: float
    state: FloatArray


@dataclass(frozen=True, eq=False)
class Phases:
    """The phases of a patch of a local area; times are gradient-flow times at unit learning rate.

    Attributes
    ----------
    flow
        The reduced flow behind them.
    onset
        When the correlation with the global area has fallen by 0.1 (`ONSET`).
    first
        T1: until then the global area moves faster than the own one grows; at time 0 where it never does.
    second
        T2: attention on the own area reaches a half.
    settled
        Attention on the own area reaches 0.9.
    """

    flow: MaeFlow
    onset: Event
    first: Event
    second: Event
    settled: Event

    @property
    def initial_ratio(self) -> float:
        """Speed of phi_G over that of phi_T at the start, about (1 - gamma) P^Delta."""
        rates = self.flow(0.0, np.zeros(len(STATES)))
        return float(-rates[PHI_G] / rates[PHI_T])

    @property
    def leader(self) -> str:
        """Which area moves first: ``global`` or ``local``."""
        return "global" if self.initial_ratio > 1.0 else "local"


def phases(model: ImageModel, *, counts: str = "exact", positions: bool = True, shared_partition: bool = False) -> Phases:
    """Integrate the reduced flow to its events.

    Parameters are those of `MaeFlow`.

    Raises
    ------
    LindynError
        If local areas have one patch, or the integrator gives up.
    """
    if model.areas.local_size <= 1.0:
        raise LindynError("Local areas of one patch are not learned: a hidden patch has none of its area to attend to.")
    flow = MaeFlow(model, counts=counts, positions=positions, shared_partition=shared_partition)
    # Weak areas take longer by the fourth power of their strength.
    end = LONGEST * LeadingOrder(model).local_time / min(model.latent.mean(4), 1.0)

    def rising(function: Callable[[FloatArray], float], *, terminal: bool = False) -> Callable[[float, FloatArray], float]:
        def event(_: float, state: FloatArray) -> float:
            return function(state)

        event.direction, event.terminal = 1.0, terminal  # type: ignore[attr-defined]
        return event

    def overtaken(state: FloatArray) -> float:
        """phi_T' - |phi_G'|, over its scale."""
        rates = flow(0.0, state)
        return float((rates[PHI_T] + rates[PHI_G]) / (rates[PHI_T] - rates[PHI_G]))

    events = [
        rising(lambda state: -float(state[PHI_G]) / ONSET - 1.0),
        rising(overtaken),
        rising(lambda state: flow.read(state).own - 0.5),
        rising(lambda state: flow.read(state).own - 0.9, terminal=True),
    ]
    from scipy.integrate import solve_ivp

    found = solve_ivp(
        flow, (0.0, end), np.zeros(len(STATES)), method="LSODA", events=events, rtol=TOLERANCE, atol=TOLERANCE * 1e-2
    )
    if not found.success:
        raise LindynError(f"The reduced flow could not be integrated: {found.message}")
    seen = [
        Event(float(times[0]), states[0]) if len(times) else Event(np.nan, np.full(len(STATES), np.nan))
        for times, states in zip(found.t_events or (), found.y_events or (), strict=True)
    ]
    start = Event(0.0, np.zeros(len(STATES)))
    onset, first, second, settled = seen
    made = Phases(flow, onset, start, second, settled)
    return made if made.leader == "local" else Phases(flow, onset, first, second, settled)
