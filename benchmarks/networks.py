"""Training the real network: this library against PyTorch and diffrax, and many runs against one after the other.

    python benchmarks/networks.py --only descent

``descent`` counts steps of gradient descent of a JEPA network, an encoder of four layers and one predictor layer: this library
as it is used, observation included, and autograd loops of the same network, on the same second moments in double precision
and on minibatches of 1,024 samples in PyTorch's default precision. ``flow`` integrates the gradient flow of the same layers to
the same time with the same tolerance. ``runs`` trains 32 random starts. Within a part all are timed in turn, several rounds
over, and the least time is kept; what is not installed is skipped.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter

import network_peers
import numpy as np

from dynamics.ensemble import run_all, seeds
from dynamics.features import Features
from dynamics.network.descent import GradientDescent
from dynamics.network.moments import Moments, moments_of_features
from dynamics.network.population import population_of
from dynamics.objectives import jepa
from dynamics.simulation import Experiment

DEPTH, EPSILON, LEARNING_RATE = 4, 0.1, 0.01
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
        if find_spec("torch"):
            start = np.tile(EPSILON ** (1.0 / DEPTH) * np.eye(width), (DEPTH + 1, 1, 1))
            peers = network_peers.torch_loops(turned(diagonal), start, DEPTH, LEARNING_RATE, steps)
            contestants |= peers
        seconds = least_seconds(contestants, rounds)
        if network_peers.MINIBATCHES in seconds:
            seconds[network_peers.MINIBATCHES] *= network_peers.FEWER
        show(f"a step at d = {width}, L = {DEPTH}", seconds, "lindyn, full moments", steps, "us")


def flow(rounds: int) -> None:
    """Gradient flow to a given time."""
    for width in (8, 16):
        features = features_of(width)
        experiment = Experiment(jepa(2), population_of(features), EPSILON)
        until = experiment.horizon
        contestants: dict[str, Timed] = {"lindyn": experiment.run}
        exact = experiment.predicted.time
        error = np.abs(experiment.run().time / exact - 1.0).max()
        print(f"lindyn: greatest relative error of a critical time {error:.1e}")
        if find_spec("diffrax"):
            moments = moments_of_features(features)
            start = np.tile(EPSILON**0.5 * np.eye(width), (3, 1, 1))
            solve = network_peers.diffrax_flow(moments, start, 2, until)
            times = network_peers.crossings(*solve(), 0.5 * experiment.predicted.asymptote)
            print(f"diffrax: greatest relative error of a critical time {np.abs(times / exact - 1.0).max():.1e}")
            contestants["diffrax Dopri8, compiled"] = solve
        show(f"gradient flow at d = {width}, L = 2", least_seconds(contestants, rounds), "lindyn")


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
