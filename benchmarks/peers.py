"""The tools of the benchmark: this library and general ODE solvers, each used the fastest honest way found.

The solvers integrate y = ln(u / u(0)) in a time tau whose unit lies midway, on a log scale, between a feature's first and last
e-folding time, so that the derivatives of a Taylor step neither overflow nor underflow:

    dy/dtau = exp((a - 1) y + growth) - exp((a - 1 + b) y + saturation),    y = 0 at the start,    y = end when learned.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dynamics.critical_time import critical_times
from dynamics.features import Features
from dynamics.objectives import Objective

FloatArray = npt.NDArray[np.float64]
Solve = Callable[[], FloatArray]

FRACTION = 0.5
FOREVER = 1e300


@dataclass(frozen=True)
class Problem:
    """Features of one objective at one start, and the same problem in the coordinates the solvers use."""

    objective: Objective
    epsilon: float
    lam: FloatArray
    rho: FloatArray

    def first(self, count: int) -> Problem:
        """The first ``count`` features."""
        return replace(self, lam=self.lam[:count], rho=self.rho[:count])

    @cached_property
    def start_growth(self) -> float:
        """u(0)**(a - 1)."""
        return _power(self.epsilon, self.objective.a - 1, self.objective.depth)

    def logistic_start(self) -> FloatArray:
        """z(0) = u(0)**b / rho."""
        return _power(self.epsilon, self.objective.b, self.objective.depth) / self.rho

    def logistic_end(self) -> float:
        """z when learned."""
        return _power(FRACTION, self.objective.b, self.objective.depth)


@dataclass(frozen=True)
class Mode:
    """Coefficients of dy/dtau, one a feature, and the training time of one unit of tau."""

    order: npt.NDArray[np.intp]
    growth: FloatArray
    saturation: FloatArray
    end: FloatArray
    unit: FloatArray


def mode(problem: Problem) -> Mode:
    """The problem as a solver sees it; ``order`` puts features of like length side by side."""
    start = problem.logistic_start()
    end = np.log(problem.logistic_end() / start) / problem.objective.b
    growth = -0.5 * (problem.objective.a - 1) * end
    unit = np.exp(growth) / (problem.lam * problem.start_growth)
    return Mode(np.argsort(start), growth, growth + np.log(start), end, unit)


def _power(base: float, numerator: int, denominator: int) -> float:
    return float(np.longdouble(base) ** (np.longdouble(numerator) / denominator))


@dataclass(frozen=True)
class Tool:
    """One way to a critical time: ``prepare`` compiles, what it returns is timed."""

    name: str
    package: str
    prepare: Callable[[Problem], Solve]
    note: str
    features: int | None = None


def lindyn(problem: Problem) -> Solve:
    """This library, validation of the features included."""

    def solve() -> FloatArray:
        features = Features(lam=problem.lam, rho=problem.rho)
        return critical_times(problem.objective, features, epsilon=problem.epsilon, fraction=FRACTION).time

    return solve


def heyoka_event(problem: Problem) -> Solve:
    """heyoka in t over log u, with a terminal event.

    The fastest of the variants tried: four SIMD vectors a batch, features sorted by length, fast math, the difference of two
    exponentials instead of a product, and re-entry after each event. A callback that keeps learned lanes running, non-terminal
    events, dense output and wider or narrower batches are all slower. In units of the first e-folding time alone its
    derivatives overflow at epsilon = 1e-12.
    """
    import heyoka as hy

    lanes, exponent = 4 * hy.recommended_simd_size(), problem.objective.a - 1
    y = hy.make_vars("y")
    slope = hy.exp(exponent * y + hy.par[0]) - hy.exp((exponent + problem.objective.b) * y + hy.par[1])
    learned = hy.t_event_batch(y - hy.par[2], direction=hy.event_direction.positive)
    integrator = hy.taylor_adaptive_batch(
        [(y, slope)], np.zeros((1, lanes)), t_events=[learned], pars=np.zeros((3, lanes)), fast_math=True
    )

    def solve() -> FloatArray:
        given = mode(problem)
        parameters = np.array([given.growth, given.saturation, given.end])
        tau = np.full(len(problem.lam), np.nan)
        for rows in _batches(given.order, lanes):
            tau[rows] = _until_all_learned(integrator, parameters[:, rows])
        return tau * given.unit

    return solve


def _until_all_learned(integrator: Any, parameters: FloatArray) -> FloatArray:
    """Event times of one batch: a call returns at the first event in any lane, and learned lanes are then held."""
    state, time = integrator.state[0], integrator.time
    integrator.set_time(0.0)
    integrator.reset_cooldowns()
    integrator.pars[:] = parameters
    state[:] = 0.0
    until, learned = np.full(len(state), FOREVER), np.zeros(len(state), dtype=bool)
    near_end = parameters[2] - 1e-12
    for _ in range(len(state)):
        integrator.propagate_until(until)
        learned |= state >= near_end
        if learned.all():
            return np.array(time)
        np.copyto(until, time, where=learned)
    return np.full(len(state), np.nan)


def heyoka_quadrature(problem: Problem) -> Solve:
    """heyoka with time as the unknown over the logit of z: no event, no blow-up; fastest at eight vectors a batch."""
    import heyoka as hy

    lanes = 8 * hy.recommended_simd_size()
    time = hy.make_vars("time")
    slope = (hy.exp(hy.par[1] - hy.time) + hy.par[0]) ** float(problem.objective.alpha)
    integrator = hy.taylor_adaptive_batch([(time, slope)], np.zeros((1, lanes)), pars=np.zeros((2, lanes)), fast_math=True)
    state, end = integrator.state[0], problem.logistic_end()

    def solve() -> FloatArray:
        start = problem.logistic_start()
        parameters = np.array([start, np.log1p(-start)])
        logit_span = np.log(end / start) + np.log((1.0 - start) / (1.0 - end))
        integral = np.empty(len(start))
        for rows in _batches(np.argsort(start), lanes):
            integrator.set_time(0.0)
            integrator.pars[:] = parameters[:, rows]
            state[:] = 0.0
            integrator.propagate_until(logit_span[rows])
            integral[rows] = state
        return integral / (problem.lam * problem.objective.b * problem.start_growth)

    return solve


def _batches(order: npt.NDArray[np.intp], lanes: int) -> Iterator[npt.NDArray[np.intp]]:
    padding = np.repeat(order[-1], -len(order) % lanes)
    yield from np.concatenate([order, padding]).reshape(-1, lanes)


def scipy_lsoda(problem: Problem) -> Solve:
    """SciPy's solve_ivp with an event, feature by feature: LSODA, the fastest of its stiff methods here."""
    exponent = problem.objective.a - 1

    def solve() -> FloatArray:
        given = mode(problem)
        coefficients = zip(given.growth, given.saturation, given.end, strict=True)
        tau = [_lsoda(exponent, exponent + problem.objective.b, *of_feature) for of_feature in coefficients]
        return np.array(tau) * given.unit

    return solve


def _lsoda(grows: int, saturates: int, growth: float, saturation: float, end: float) -> float:
    from scipy.integrate import solve_ivp

    def slope(_: float, y: FloatArray) -> FloatArray:
        return np.exp(grows * y + growth) - np.exp(saturates * y + saturation)

    def learned(_: float, y: FloatArray) -> float:
        return float(y[0]) - end

    learned.terminal, learned.direction = True, 1  # type: ignore[attr-defined]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = solve_ivp(slope, (0.0, FOREVER), [0.0], method="LSODA", rtol=1e-10, atol=1e-12, events=learned)
    except ValueError:  # the event's root search finds no sign change: time no longer resolves the step
        return np.nan
    return float(run.t_events[0][0]) if run.t_events and run.status == 1 else np.nan


def diffrax_event(problem: Problem) -> Solve:
    """diffrax with an event: Dopri8 in double precision, all features under one vmap and jit."""
    import jax

    jax.config.update("jax_enable_x64", True)  # type: ignore[no-untyped-call,unused-ignore]
    exponent = float(problem.objective.a - 1)

    def solve() -> FloatArray:
        given = mode(problem)
        # An event function in units of relative time, which is what its root search can resolve.
        weight = np.exp(2.0 * given.growth)
        tau = _diffrax_batch()(exponent, exponent + problem.objective.b, given.growth, given.saturation, given.end, weight)
        return np.asarray(tau) * given.unit

    solve()
    return solve


@lru_cache
def _diffrax_batch() -> Callable[..., Any]:
    import diffrax
    import jax
    import jax.numpy as jnp
    import optimistix

    def slope(_: Any, y: Any, coefficients: Any) -> Any:
        grows, saturates, growth, saturation, *_ = coefficients
        return jnp.exp(grows * y + growth) - jnp.exp(saturates * y + saturation)

    def learned(t: Any, y: Any, args: Any, **_: Any) -> Any:
        *_, end, weight = args
        return weight * (y - end)

    tight = diffrax.PIDController(rtol=1e-10, atol=1e-10)
    event = diffrax.Event(learned, optimistix.Newton(rtol=1e-13, atol=1e-13), direction=True)

    def tau(*coefficients: Any) -> Any:
        run = diffrax.diffeqsolve(
            diffrax.ODETerm(slope),
            diffrax.Dopri8(),
            t0=0.0,
            t1=jnp.inf,
            dt0=None,
            y0=jnp.array(0.0),
            args=coefficients,
            stepsize_controller=tight,
            event=event,
            max_steps=1024,
            throw=False,
        )
        return jnp.where(diffrax.is_event(run.result), run.ts[-1], jnp.nan)

    return jax.jit(jax.vmap(tau, in_axes=(None, None, 0, 0, 0, 0)))


TOOLS = (
    Tool("lindyn", "numpy", lindyn, "closed form"),
    Tool("heyoka", "heyoka", heyoka_event, "Taylor in t over log u, terminal event, batch"),
    Tool("heyoka-quadrature", "heyoka", heyoka_quadrature, "Taylor, time as the unknown over the logit, batch"),
    Tool("scipy", "scipy", scipy_lsoda, "LSODA over log u, event, rtol 1e-10", features=25),
    Tool("diffrax", "diffrax", diffrax_event, "Dopri8 over log u, event, rtol 1e-10, vmap, all cores"),
)
