"""The same network in PyTorch and in diffrax, each written as its users would write it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dynamics.network.moments import Moments

FloatArray = npt.NDArray[np.float64]

BATCH, SAMPLES = 1024, 65_536
TOLERANCE = 1e-11
FEWER = 10
"""Of minibatches so many times fewer steps are taken, to save time, and scaled up."""


def chain(first: Any, layers: Any) -> Any:
    """The layers applied to the first, one after the other."""
    for layer in layers:
        first = layer @ first
    return first


def torch_loops(
    moments: Moments, start: FloatArray, depth: int, learning_rate: float, steps: int
) -> dict[str, Callable[[], object]]:
    """Loops of autograd and `torch.optim.SGD`, on moments and on minibatches of samples kept in memory; each call goes on."""
    import torch

    torch.manual_seed(0)
    inputs, cross = (torch.tensor(matrix) for matrix in (moments.input_covariance, moments.cross_covariance))
    layers = [torch.nn.Parameter(torch.tensor(layer)) for layer in start]
    descent = torch.optim.SGD(layers, lr=learning_rate)

    def on_moments() -> None:
        for _ in range(steps):
            encoder = chain(layers[0], layers[1:depth])
            whole = chain(encoder, layers[depth:])
            loss = 0.5 * ((whole @ inputs) * whole).sum() - (whole * (encoder.detach() @ cross)).sum()
            descent.zero_grad()
            loss.backward()
            descent.step()

    x, y = (torch.tensor(rows, dtype=torch.float32) for rows in _samples(moments))
    modules = [torch.nn.Linear(*layer.shape, bias=False) for layer in start]
    for module, layer in zip(modules, start, strict=True):
        module.weight.data = torch.tensor(layer, dtype=torch.float32)
    encoder, predictor = torch.nn.Sequential(*modules[:depth]), torch.nn.Sequential(*modules[depth:])
    stochastic = torch.optim.SGD([*encoder.parameters(), *predictor.parameters()], lr=learning_rate)

    def stochastic_step(x: Any, y: Any) -> None:
        with torch.no_grad():
            target = encoder(y)
        loss = 0.5 * (predictor(encoder(x)) - target).square().sum(dim=1).mean()
        stochastic.zero_grad()
        loss.backward()
        stochastic.step()

    def by_index() -> None:
        for _ in range(steps // FEWER):
            rows = torch.randint(SAMPLES, (BATCH,))
            stochastic_step(x[rows], y[rows])

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=BATCH, shuffle=True, drop_last=True)

    def by_loader() -> None:
        done = 0
        while done < steps // FEWER:
            for batch in itertools.islice(loader, steps // FEWER - done):
                stochastic_step(*batch)
                done += 1

    return {
        "PyTorch float64": on_moments,
        "PyTorch DataLoader of minibatches, float32": by_loader,
        "PyTorch minibatches by index, float32": by_index,
    }


def _samples(moments: Moments) -> tuple[FloatArray, FloatArray]:
    generator = np.random.default_rng(0)
    inputs, cross, targets = moments.input_covariance, moments.cross_covariance, moments.target_covariance
    joint = np.block([[inputs, cross.T], [cross, targets]])
    values, vectors = np.linalg.eigh(joint)
    rows = generator.standard_normal((SAMPLES, len(joint))) * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    return rows[:, : moments.width], rows[:, moments.width :]


def diffrax_flow(moments: Moments, start: FloatArray, depth: int, until: float) -> Callable[[], tuple[FloatArray, FloatArray]]:
    """The gradient flow in training time, compiled; times and amplitudes of the encoder."""
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    inputs, cross = jnp.asarray(moments.input_covariance), jnp.asarray(moments.cross_covariance)

    def loss(layers: Any) -> Any:
        encoder = chain(layers[0], layers[1:depth])
        whole = chain(encoder, layers[depth:])
        return 0.5 * jnp.vdot(whole @ inputs, whole) - jnp.vdot(whole, jax.lax.stop_gradient(encoder) @ cross)

    slope = jax.grad(loss)

    def velocity(_time: Any, layers: Any, _args: Any) -> Any:
        return -slope(layers)

    @jax.jit
    def solve(layers: Any) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(velocity),
            diffrax.Dopri8(),
            0.0,
            until,
            None,
            layers,
            stepsize_controller=diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE),
            max_steps=1_000_000,
        ).ys[0]

    def run() -> FloatArray:
        return np.asarray(solve(jnp.asarray(start)))

    run()
    return run
