"""One feature under a regime, by SciPy in plain time from the theory page (section 5); shares no code with the library."""

import numpy as np
from scipy.integrate import solve_ivp

from dynamics import Objective
from dynamics.regime import Regime


def twin_time(
    objective: Objective, lam: float, rho: float, epsilon: float, regime: Regime, asymptote: float, fraction: float = 0.5
) -> float:
    """First t at which u^L is the fraction of the asymptote.

    u' = u^(L-1) v^M e - eta u, v' = kappa v^(M-1) u^L e - eta v, ubar' = beta (u - ubar), e = target - sigma^2 u^L v^M, the
    target lam ubar^L for a JEPA (lam u^L without a teacher) and lam for an MAE.
    """
    depth, layers, taught = objective.depth, objective.predictor_depth, regime.teacher_rate is not None
    start = epsilon ** (1.0 / depth)
    predictor = start if regime.predictor_start is None else float(regime.predictor_start)
    beta = float(regime.teacher_rate) if regime.teacher_rate is not None else 0.0

    def slope(_: float, state: np.ndarray) -> list[float]:
        u, v, teacher = state
        target = lam if objective.name == "mae" else lam * (teacher if taught else u) ** depth
        error = target - lam / rho * u**depth * v**layers
        return [
            u ** (depth - 1) * v**layers * error - float(regime.weight_decay) * u,
            float(regime.predictor_rate) * v ** (layers - 1) * u**depth * error - float(regime.weight_decay) * v,
            beta * (u - teacher),
        ]

    def reached(_: float, state: np.ndarray) -> float:
        return float(state[0] ** depth / asymptote - fraction)

    reached.terminal, reached.direction = True, 1.0  # type: ignore[attr-defined]
    run = solve_ivp(
        slope,
        (0.0, 1e300),
        [start, predictor, start],
        method="Radau" if taught else "LSODA",
        rtol=1e-12,
        atol=1e-14 * start,
        events=reached,
        first_step=1e-6,
    )
    return float(run.t_events[0][0]) if len(run.t_events[0]) else np.inf
