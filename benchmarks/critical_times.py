"""Critical times of many features: this library against general ODE solvers, in one run.

Every tool starts from the same arrays lambda and rho and returns the training time at which each feature reaches half its
asymptote. All tools are timed in turn, several rounds over, and the least mean time per feature is kept; compilation is not
timed. Errors are measured against rigorous enclosures of the times by ball arithmetic.

    python benchmarks/critical_times.py --features 10000 --without diffrax

The solvers integrate y = ln(u / u(0)) in a time tau whose unit lies midway, on a log scale, between a feature's first and last
e-folding time, so that the derivatives of a Taylor step neither overflow nor underflow:

    dy/dtau = exp((a - 1) y + growth) - exp((a - 1 + b) y + saturation),    y = 0 at the start,    y = end when learned.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from itertools import product
from time import perf_counter
from typing import Any

import flint
import numpy as np
import numpy.typing as npt

from dynamics.critical_time import critical_times
from dynamics.features import Features
from dynamics.objectives import Objective, jepa, mae

FloatArray = npt.NDArray[np.float64]
Solve = Callable[[], FloatArray]

FRACTION = 0.5
FOREVER = 1e300
SAMPLE_SECONDS = 0.02
"""A sample is the mean over as many calls as fill this time, so that fast and slow tools are sampled alike."""


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


def certified(problem: Problem) -> list[flint.arb]:
    """Enclosures of the critical times, of relative radius below 1e-20, at the very doubles given."""
    precision, flint.ctx.prec = flint.ctx.prec, 128
    try:
        return [_enclosure(problem, *map(float, feature)) for feature in zip(problem.lam, problem.rho, strict=True)]
    finally:
        flint.ctx.prec = precision


def _enclosure(problem: Problem, lam: float, rho: float) -> flint.arb:
    """1 / (lam b u(0)**(a - 1)) times the integral of exp(-alpha s) / (1 - z(0) exp(s)) over s = 0 .. ln(z / z(0))."""
    objective, start = problem.objective, flint.arb(problem.epsilon)
    per_layer = flint.arb(flint.fmpq(objective.b, objective.depth))
    z_start = start**per_layer / flint.arb(rho)
    alpha = flint.arb(flint.fmpq(objective.alpha.numerator, objective.alpha.denominator))
    span = (flint.arb(FRACTION) ** per_layer / z_start).log()

    def integrand(s: flint.acb, _: bool) -> flint.acb:
        return (-alpha * s).exp() / (1 - z_start * s.exp())

    integral = flint.acb.integral(integrand, flint.acb(0), flint.acb(span), rel_tol=flint.arb(2) ** -80).real
    growth = start ** flint.arb(flint.fmpq(objective.a - 1, objective.depth))
    time = integral / (flint.arb(lam) * objective.b * growth)
    if time.rel_accuracy_bits() < 67:
        raise ArithmeticError(f"the reference at lambda {lam}, rho {rho} holds only {time.rel_accuracy_bits()} bits.")
    return time


def max_relative_error(times: FloatArray, reference: list[flint.arb]) -> float:
    """Over the features both have and the tool reached; nan where it reached none."""
    pairs = [(float(time), ball) for time, ball in zip(times, reference, strict=False) if np.isfinite(time)]
    return max((abs(float((flint.arb(time) - ball) / ball)) for time, ball in pairs), default=np.nan)


def measure(solvers: dict[str, Solve], rounds: int) -> dict[str, float]:
    """Least mean seconds a call, every tool once a round."""
    seconds = dict.fromkeys(solvers, np.inf)
    for _, (name, solve) in product(range(rounds), solvers.items()):
        seconds[name] = min(seconds[name], _sample(solve))
    return seconds


def _sample(solve: Solve) -> float:
    calls, began = 0, perf_counter()
    while (elapsed := perf_counter() - began) < SAMPLE_SECONDS:
        solve()
        calls += 1
    return elapsed / calls


@dataclass(frozen=True)
class Row:
    """One tool on one problem: seconds a feature, their ratio to the library's, the largest relative error, failures."""

    problem: Problem
    tool: Tool
    seconds: float
    ratio: float
    error: float
    failed: int
    tried: int

    def cells(self) -> tuple[str, ...]:
        """What the table shows."""
        failures = f"; fails on {self.failed} of {self.tried}" if self.failed else ""
        objective = self.problem.objective
        return (
            objective.name,
            str(objective.depth),
            f"{self.problem.epsilon:.0e}",
            self.tool.name,
            f"{self.seconds * 1e6:.4g}",
            f"{self.ratio:.4g}" if self.failed < self.tried else "-",
            f"{self.error:.1e}" if np.isfinite(self.error) else "-",
            self.tool.note + failures,
        )


HEADER = ("objective", "L", "epsilon", "tool", "us/feature", "ratio", "max rel error", "note")


def compare(problem: Problem, tools: list[Tool], rounds: int, checked: int) -> list[Row]:
    """All tools on one problem."""
    parts = {tool.name: problem.first(tool.features or len(problem.lam)) for tool in tools}
    solvers = {tool.name: tool.prepare(parts[tool.name]) for tool in tools}
    times = {name: solve() for name, solve in solvers.items()}
    reference = certified(problem.first(checked))
    seconds = {name: total / len(times[name]) for name, total in measure(solvers, rounds).items()}
    return [
        Row(
            problem,
            tool,
            seconds[tool.name],
            seconds[tool.name] / seconds["lindyn"],
            max_relative_error(times[tool.name], reference),
            int((~np.isfinite(times[tool.name])).sum()),
            len(times[tool.name]),
        )
        for tool in tools
    ]


def random_features(count: int, seed: int = 0) -> tuple[FloatArray, FloatArray]:
    """lambda log-uniform in 0.1 to 10 and rho in 0.2 to 2, all of them reached from both starts at depth 5."""
    rng = np.random.default_rng(seed)
    return 10.0 ** rng.uniform(-1.0, 1.0, count), 10.0 ** rng.uniform(np.log10(0.2), np.log10(2.0), count)


def print_table(rows: list[Row]) -> None:
    """Aligned text."""
    table = [HEADER, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip())


def print_summary(rows: list[Row]) -> None:
    """How many times slower than the library each tool is, over the problems it can solve at all."""
    ratios: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.tool.name != "lindyn" and row.failed < row.tried:
            ratios.setdefault((row.tool.name, row.problem.objective.name), []).append(row.ratio)
    for (name, objective), values in sorted(ratios.items()):
        print(f"{name} / lindyn, {objective}: {min(values):.1f} to {max(values):.1f}")


def main() -> None:
    """Run the comparison and print it."""
    parser = argparse.ArgumentParser(description="Critical times of many features, against general ODE solvers.")
    parser.add_argument("--features", type=int, default=10_000, help="features a problem (default: 10000)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds over all tools, the least time is kept (default: 5)")
    parser.add_argument("--checked", type=int, default=1000, help="features compared with the reference (default: 1000)")
    parser.add_argument("--without", action="append", default=[], choices=[tool.name for tool in TOOLS[1:]], metavar="TOOL")
    options = parser.parse_args()
    wanted = [tool for tool in TOOLS if tool.name not in options.without]
    tools = [tool for tool in wanted if find_spec(tool.package)]
    packages = dict.fromkeys(tool.package for tool in tools)
    print(f"{options.features} features;", ", ".join(f"{package} {version(package)}" for package in packages))
    for tool in wanted:
        if tool not in tools:
            print(f"{tool.name}: skipped, {tool.package} is not installed")
    lam, rho = random_features(options.features)
    rows: list[Row] = []
    for objective, epsilon in product((jepa(2), jepa(5), mae(2), mae(5)), (1e-4, 1e-12)):
        rows += compare(Problem(objective, epsilon, lam, rho), tools, options.repeats, options.checked)
    print_table(rows)
    print_summary(rows)


if __name__ == "__main__":
    main()
