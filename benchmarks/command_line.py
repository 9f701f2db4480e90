"""What the command costs as a process: cold start, and a million features from CSV to CSV, as ratios within one run.

    python benchmarks/command_line.py [--features 1000000] [--repeats 9]

Cold starts are medians over ``--repeats`` interleaved runs, against ``python -c "import click, numpy"``. The large table is
compared with what pandas alone takes to read the input and to write the same output.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

LINDYN = str(Path(sys.executable).parent / "lindyn")
COLD = {
    "import click, numpy": [sys.executable, "-c", "import click, numpy"],
    "lindyn critical-time --lambda 1 --rho 0.5": [LINDYN, "critical-time", "--lambda", "1", "--rho", "0.5"],
    "lindyn --help": [LINDYN, "--help"],
}
PANDAS_ALONE = """
import sys, time
import pandas as pd
output = pd.read_csv(sys.argv[2])
start = time.perf_counter()
pd.read_csv(sys.argv[1])
output.to_csv(sys.argv[3], index=False)
print(time.perf_counter() - start)
"""


def run(command: Sequence[str]) -> tuple[float, float]:
    """Wall seconds and peak memory in GB of one process."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, code, usage = os.wait4(process.pid, 0)
    if code:
        raise RuntimeError(f"{' '.join(command)} ended with {code}")
    return time.perf_counter() - start, usage.ru_maxrss / 1e6


def cold_starts(repeats: int) -> None:
    """Print the cold starts and their ratios to the first."""
    seconds: dict[str, list[float]] = {name: [] for name in COLD}
    for _ in range(repeats + 1):
        for name, command in COLD.items():
            seconds[name].append(run(command)[0])
    medians = {name: statistics.median(values[1:]) for name, values in seconds.items()}
    reference = next(iter(medians.values()))
    for name, median in medians.items():
        print(f"{name:<45} {1000 * median:8.0f} ms {median / reference:6.2f}")


def table_to_table(features: int) -> None:
    """Print the time and memory of a large table, against pandas reading the same input and writing the same output."""
    generator = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        source, target, copy = (str(Path(folder) / name) for name in ("features.csv", "times.csv", "copy.csv"))
        columns = {"lambda": 10 ** generator.uniform(-1, 1, features), "rho": 10 ** generator.uniform(-1, 0.3, features)}
        pd.DataFrame({"name": [f"f{row}" for row in range(features)]} | columns).to_csv(source, index=False)
        for objective in ("jepa", "mae"):
            seconds, memory = run([LINDYN, "critical-time", source, "--objective", objective, "--output", target])
            alone = subprocess.run([sys.executable, "-c", PANDAS_ALONE, source, target, copy], capture_output=True, check=True)
            ratio = seconds / float(alone.stdout)
            print(f"{features} features, {objective}, CSV to CSV: {seconds:.1f} s, {ratio:.2f} x pandas alone, {memory:.2f} GB")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--features", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    cold_starts(arguments.repeats)
    table_to_table(arguments.features)


if __name__ == "__main__":
    main()
