"""Critical times of many features: this library against general ODE solvers, in one run.

    python benchmarks/critical_times.py --features 10000 --without diffrax

Every tool starts from the same arrays lambda and rho and returns the training time at which each feature reaches half its
asymptote. All tools are timed in turn, several rounds over, and the least mean time per feature is kept; compilation is not
timed. Errors are measured against rigorous enclosures of the times by ball arithmetic.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from itertools import product
from time import perf_counter

import flint
import numpy as np
from peers import FRACTION, TOOLS, FloatArray, Problem, Solve, Tool

from dynamics.objectives import jepa, mae

SAMPLE_SECONDS = 0.02
"""A sample is the mean over as many calls as fill this time, so that fast and slow tools are sampled alike."""


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
