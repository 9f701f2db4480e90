"""How the cost of critical times grows: MAE against JEPA, ten million features against one million, and peak memory.

python benchmarks/scaling.py --features 1000000
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
from itertools import product
from time import process_time

import numpy as np

from dynamics.critical_time import critical_times
from dynamics.features import Features
from dynamics.objectives import Objective, jepa, mae

OBJECTIVES = {"jepa": jepa, "mae": mae}
DEPTHS = (2, 5)
EPSILON = 1e-4
TIMES_MORE = 10


def random_features(count: int, seed: int = 0) -> Features:
    """lambda log-uniform in 0.1 to 10 and rho in 0.2 to 2."""
    rng = np.random.default_rng(seed)
    return Features(lam=10.0 ** rng.uniform(-1.0, 1.0, count), rho=10.0 ** rng.uniform(np.log10(0.2), np.log10(2.0), count))


def mean_seconds(objective: Objective, features: Features, calls: int) -> float:
    """Mean processor time over consecutive calls, which other work on the machine disturbs less than the clock on the wall."""
    began = process_time()
    for _ in range(calls):
        critical_times(objective, features, epsilon=EPSILON)
    return (process_time() - began) / calls


def nanoseconds_a_feature(count: int, rounds: int) -> dict[tuple[str, int, int], float]:
    """By objective, depth and number of features: the least sample, where every sample is the same number of features.

    The cases are sampled in turn, so that a slow moment of the machine falls on all of them.
    """
    sizes = {calls: random_features(TIMES_MORE // calls * count) for calls in (TIMES_MORE, 1)}
    least: dict[tuple[str, int, int], float] = {}
    for _, depth, name, (calls, features) in product(range(rounds), DEPTHS, OBJECTIVES, sizes.items()):
        case = name, depth, len(features)
        seconds = mean_seconds(OBJECTIVES[name](depth), features, calls)
        least[case] = min(least.get(case, np.inf), seconds / len(features) * 1e9)
    return least


def peak_bytes() -> int:
    """Largest resident size of this process so far."""
    kilobytes_or_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes_or_bytes * (1 if sys.platform == "darwin" else 1024)


def peak_in_fresh_process(count: int, name: str) -> int:
    """Peak memory of making the features, computing their critical times and holding both."""
    command = [sys.executable, __file__, "--peak", name, "--features", str(count)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def report_peak(count: int, name: str) -> None:
    """The other side of `peak_in_fresh_process`."""
    result = critical_times(OBJECTIVES[name](max(DEPTHS)), random_features(count), epsilon=EPSILON)
    assert len(result.time) == count
    print(peak_bytes())


def report_scaling(count: int, rounds: int) -> None:
    """Print memory first, while this process is still small, then the times."""
    many = TIMES_MORE * count
    for name in OBJECTIVES:
        print(f"peak memory, {name}, {many} features: {peak_in_fresh_process(many, name) / 1e9:.2f} GB")
    cost = nanoseconds_a_feature(count, rounds)
    for depth, name in product(DEPTHS, OBJECTIVES):
        few_cost, many_cost = cost[name, depth, count], cost[name, depth, many]
        print(
            f"{name}, L = {depth}: {few_cost:.1f} ns a feature of {count}, {many_cost:.1f} ns of {many}; "
            f"time ratio {TIMES_MORE * many_cost / few_cost:.2f}"
        )
    for depth, size in product(DEPTHS, (count, many)):
        print(f"mae / jepa, L = {depth}, {size} features: {cost['mae', depth, size] / cost['jepa', depth, size]:.2f}")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="How the cost of critical times grows with the number of features.")
    parser.add_argument("--features", type=int, default=1_000_000, help="the smaller number; the larger is ten times it")
    parser.add_argument("--repeats", type=int, default=8, help="rounds, the least time is kept (default: 8)")
    parser.add_argument("--peak", choices=list(OBJECTIVES), help="print only the peak memory in bytes of one computation")
    options = parser.parse_args()
    if options.peak:
        report_peak(options.features, options.peak)
    else:
        report_scaling(options.features, options.repeats)


if __name__ == "__main__":
    main()
