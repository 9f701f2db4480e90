"""Networks and moments that several tests share, written from the theory page alone."""

from itertools import pairwise

import numpy as np

from dynamics import Features, Objective
from dynamics.features import FloatArray
from dynamics.network.moments import Moments

ONE = Features(lam=1.0, rho=0.9)
TWO = Features(lam=[1.0, 0.8], rho=[0.9, 0.7])
EIGHT = Features(
    lam=[1.0, 1.4, 0.6, 0.9, 1.2, 0.7, 1.1, 0.8],
    rho=[0.7, 0.8, 1.2, 0.9, 1.1, 1.0, 0.75, 0.95],
)


def random_moments(seed: int, width: int) -> Moments:
    """Moments of a pair of random vectors: nothing diagonal, and Syx not symmetric."""
    joint = np.random.default_rng(seed).standard_normal((2 * width, 3 * width)) / np.sqrt(3 * width)
    whole = joint @ joint.T
    return Moments(whole[:width, :width], whole[width:, :width], whole[width:, width:])


def chain(layers: FloatArray) -> FloatArray:
    """The layers multiplied, the first rightmost; the identity for none."""
    result = np.eye(layers.shape[-1])
    for layer in layers:
        result = layer @ result
    return result


def halves(objective: Objective, layers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Encoder product and predictor product."""
    return chain(layers[: objective.depth]), chain(layers[objective.depth :])


def differences(layers: FloatArray) -> FloatArray:
    """A'A - BB' of every layer A and the layer B below it: what gradient flow conserves."""
    return np.array([above.T @ above - below @ below.T for below, above in pairwise(layers)])
