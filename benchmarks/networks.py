"""Training the real network: this library against PyTorch and diffrax, and many runs against one after the other.

    python benchmarks/networks.py --only descent

``descent`` counts steps of gradient descent of a JEPA network, an encoder of four layers and one predictor layer: this library
in double precision and one thread, on the exact moments, alone and observed, and on minibatches of 1,024 normal samples drawn
afresh; and autograd loops of the same network in PyTorch, with the threads it takes by itself, on the same moments in double
precision and on minibatches of 1,024 in single precision, from the usual loader and by index. ``flow`` integrates the gradient
flow of the same layers on the same full moments to the same time; diffrax is compiled before. ``runs`` trains 32 random starts.
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
from dynamics.network.descent import Descent, GradientDescent
from dynamics.network.gradients import Gradients
from dynamics.network.moments import Moments, moments_of_features
from dynamics.network.population import population_of
from dynamics.network.starts import start_from
from dynamics.network.threads import threads_for
from dynamics.objectives import jepa
from dynamics.simulation import Experiment
from dynamics.trajectory import amplitude

DEPTH, EPSILON, LEARNING_RATE = 4, 0.1, 0.01
LAYER = EPSILON ** (1.0 / DEPTH)
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
        print(f"  {name:64s} {value / count * scale:10.4g} {unit}   ratio {value / seconds[base]:.3g}")


def bare_steps(experiment: Experiment, steps: int) -> Timed:
    """Steps alone, as a loop of autograd takes them; each call goes on."""
    assert experiment.training is not None
    moments, generator = experiment.population.moments, np.random.default_rng(0)
    start = start_from(
        "orthogonal", experiment.objective, moments.width, encoder=LAYER, predictor=LAYER, generator=generator
    ).layers
    size = experiment.training.batch
    batches = None if size is None else experiment.population.batches(size, generator)
    network = Descent(Gradients(experiment.objective, moments), experiment.regime, experiment.training, start, batches)

    def run() -> None:
        with threads_for(moments.width):
            for _ in range(steps):
                network.differentiate()
                network.move()

    return run


def descent(rounds: int, steps: int) -> None:
    """Steps of gradient descent from random orthogonal layers, and whole runs of ten times as many, observed."""
    for width in (16, 64):
        diagonal = moments_of_features(features_of(width))
        start = start_from(
            "orthogonal", jepa(DEPTH), width, encoder=LAYER, predictor=LAYER, generator=np.random.default_rng(0)
        ).layers
        seconds: dict[str, float] = {}
        for kind, moments in (("diagonal", diagonal), ("full", turned(diagonal))):
            once = GradientDescent(LEARNING_RATE)
            experiment = Experiment(jepa(DEPTH), population_of(moments), EPSILON, training=once)
            observed = replace(experiment, start="orthogonal", until=LEARNING_RATE * 10 * steps)
            batched = replace(experiment, training=replace(once, batch=network_peers.BATCH))
            contestants: dict[str, Timed] = {
                f"lindyn, {kind} moments": bare_steps(experiment, steps),
                f"lindyn, {kind} moments, observed": observed.run,
                f"lindyn, minibatches, {kind} moments": bare_steps(batched, steps // network_peers.FEWER),
            }
            if find_spec("torch"):
                loops = network_peers.torch_loops(moments, start, DEPTH, LEARNING_RATE, steps)
                contestants |= {f"{name}, {kind} moments": loop for name, loop in loops.items()}
            seconds |= least_seconds(contestants, rounds)
        for name in seconds:
            seconds[name] *= network_peers.FEWER if "minibatches" in name else 0.1 if "observed" in name else 1.0
        show(f"a step at d = {width}, L = {DEPTH}", seconds, "lindyn, diagonal moments", steps, "us")


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
