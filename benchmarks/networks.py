"""Training the real network: this library against PyTorch and diffrax, and many runs against one after the other.

    python benchmarks/networks.py --only descent

``descent`` counts steps of gradient descent of a JEPA network, an encoder of four layers and one predictor layer: this library
as it is used, observation included, in double precision and one thread, on the exact moments and on minibatches of 1,024 normal
samples drawn afresh; and autograd loops of the same network in PyTorch, with the threads it takes by itself, on the same
moments in double precision and on minibatches of 1,024 from memory in single precision. ``flow`` integrates the gradient flow
of the same layers on the same full moments to the same time; diffrax is compiled before. ``runs`` trains 32 random starts.
Within a part all are timed in turn, several rounds over, and the least time is kept; what is not installed is skipped.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from time import perf_counter
from typing import Any

import network_peers
import numpy as np

from dynamics.critical_time import critical_times
from dynamics.ensemble import run_all, seeds
from dynamics.features import Features
from dynamics.network.descent import GradientDescent
from dynamics.network.moments import Moments, moments_of_features
from dynamics.network.population import population_of
from dynamics.objectives import jepa
from dynamics.simulation import Experiment
from dynamics.trajectory import amplitude

DEPTH, EPSILON, LEARNING_RATE = 4, 0.1, 0.01
OWN_MINIBATCHES = f"lindyn, minibatches of {network_peers.BATCH}"
Timed = Callable[[], object]


def features_of(width: int) -> Features:
    """Features all of which are learned, rho in favour of those of small lambda."""
    return Features(lam=np.linspace(1.0, 0.3, width), rho=np.linspace(0.7, 1.2, width))


def turned(moments: Moments) -> Moments:
    """The same moments in random coordinates: full matrices."""
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((moments.width, moments.width)))
    matrices = (moments.input_covariance, moments.cross_covariance, moments.target_covariance)
    inputs, cross, targets = (turn @ matrix @ turn.T for matrix in matrices)
    return Moments((inputs + inputs.T) / 2, cross, (targets + targets.T) / 2)


def least_seconds(contestants: dict[str, Timed], rounds: int) -> dict[str, float]:
    """Least seconds of each, every one once a round."""
    seconds = dict.fromkeys(contestants, np.inf)
    for _ in range(rounds):
        for name, run in contestants.items():
            began = perf_counter()
            run()
            seconds[name] = min(seconds[name], perf_counter() - began)
    return seconds


def show(title: str, seconds: dict[str, float], base: str, count: int = 1, unit: str = "s") -> None:
    """Seconds in a unit, and ratios to the base."""
    scale = {"s": 1.0, "us": 1e6}[unit]
    print(title)
    for name, value in seconds.items():
        print(f"  {name:44s} {value / count * scale:10.4g} {unit}   ratio {value / seconds[base]:.3g}")


def descent(rounds: int, steps: int) -> None:
    """Steps of gradient descent."""
    for width in (16, 64):
        diagonal = moments_of_features(features_of(width))
        contestants: dict[str, Timed] = {}
        for name, moments in (("full moments", turned(diagonal)), ("diagonal moments", diagonal)):
            experiment = Experiment(
                jepa(DEPTH),
                population_of(moments),
                EPSILON,
                training=GradientDescent(LEARNING_RATE),
                until=LEARNING_RATE * steps,
            )
            contestants[f"lindyn, {name}"] = experiment.run
        batches = GradientDescent(LEARNING_RATE, batch=network_peers.BATCH)
        contestants[OWN_MINIBATCHES] = replace(
            experiment, training=batches, until=LEARNING_RATE * steps / network_peers.FEWER
        ).run
        if find_spec("torch"):
            start = np.tile(EPSILON ** (1.0 / DEPTH) * np.eye(width), (DEPTH + 1, 1, 1))
            peers = network_peers.torch_loops(turned(diagonal), start, DEPTH, LEARNING_RATE, steps)
            contestants |= peers
        seconds = least_seconds(contestants, rounds)
        for name in seconds.keys() & {OWN_MINIBATCHES, network_peers.MINIBATCHES}:
            seconds[name] *= network_peers.FEWER
        show(f"a step at d = {width}, L = {DEPTH}", seconds, "lindyn, full moments", steps, "us")


def flow(rounds: int) -> None:
    """Gradient flow until half of the features are learned, from starts of shorter and longer plateaus."""
    for width, epsilon in product((8, 16), (0.1, 1e-3)):
        features = Features(lam=np.linspace(1.0, 0.3, width), rho=np.linspace(1.2, 0.7, width))
        moments = turned(moments_of_features(features))
        until = float(np.median(critical_times(jepa(2), features, epsilon=epsilon).time))
        expected = np.sort(amplitude(jepa(2), features, epsilon=epsilon, time=[until])[:, 0])[::-1]
        experiment = Experiment(jepa(2), population_of(moments), epsilon, until=until)
        contestants: dict[str, Callable[[], Any]] = {"lindyn": lambda run=experiment.run: run().layers}
        if find_spec("diffrax"):
            start = np.tile(epsilon**0.5 * np.eye(width), (3, 1, 1))
            contestants["diffrax Dopri8, compiled"] = network_peers.diffrax_flow(moments, start, 2, until)
        show(f"gradient flow at d = {width}, L = 2, epsilon {epsilon:g}", least_seconds(contestants, rounds), "lindyn")
        for name, solve in contestants.items():
            layers = solve()
            found = np.linalg.svd(layers[1] @ layers[0], compute_uv=False)
            print(f"  {name}: amplitudes within {np.abs(found / expected - 1.0).max():.1e}")


def runs(rounds: int) -> None:
    """Random starts, one after the other and side by side."""
    experiment = Experiment(
        jepa(3), population_of(features_of(32)), 1e-2, start="gaussian", training=GradientDescent(0.02), until=400.0
    )
    experiments = seeds(experiment, 32)
    contestants: dict[str, Timed] = {
        "two processes": lambda: run_all(experiments, workers=2),
        "one after the other": lambda: run_all(experiments, workers=1),
    }
    show("32 runs at d = 32, L = 3, 20,000 steps each", least_seconds(contestants, rounds), "two processes")


def main() -> None:
    """Run the comparisons and print them."""
    parser = argparse.ArgumentParser(description="Training the real network, against PyTorch and diffrax.")
    parser.add_argument("--only", choices=["descent", "flow", "runs"], help="one part (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, the least time is kept (default: 5)")
    parser.add_argument("--steps", type=int, default=2000, help="steps of gradient descent a round (default: 2000)")
    options = parser.parse_args()
    if options.only in (None, "descent"):
        descent(options.rounds, options.steps)
    if options.only in (None, "flow"):
        flow(options.rounds)
    if options.only in (None, "runs"):
        runs(min(options.rounds, 2))


if __name__ == "__main__":
    main()
