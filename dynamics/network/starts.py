"""Where training starts: layers whose *products* have the amplitudes asked for, whatever the layers look like.

Every start takes the amplitude u0 of an encoder layer, so that the encoder's product has amplitude u0**L = epsilon, and the
amplitude v0 of a predictor layer: the balanced u0, or another (unbalanced). The theory needs more than balance: with R the
orthogonal factor of the encoder's product, features decouple iff the predictor's orthogonal factor undoes it, up to what the
target keeps (the identity for JEPA, R' for MAE).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynamics.errors import ParameterError
from dynamics.features import FloatArray
from dynamics.network.gradients import product
from dynamics.objectives import Objective

ALIGNED = 1e-8
"""Misalignment up to which features decouple to the accuracy of a run."""


@dataclass(frozen=True, eq=False)
class Start:
    """Layers at time 0, the encoder's first, and how to read amplitudes off them.

    Attributes
    ----------
    layers
        Shape ``(depth + predictor_depth, d, d)``.
    frame
        Orthogonal factor R of the encoder's product, in which its amplitudes are read: the diagonal of R' W.
    misalignment
        Share of the predictor, in the frames of target and encoder, that is off the diagonal or of the wrong sign on it, 0 to
        1. Up to `ALIGNED`, with diagonal moments, features do not mix at first; rounding can make them mix later unless layers
        are diagonal.
    by_norm
        Whether a feature's amplitude is the norm of its column of W, because no frame tells where it will go.
    """

    layers: FloatArray
    frame: FloatArray
    misalignment: float
    by_norm: bool = False


def start_from(
    kind: str | FloatArray,
    objective: Objective,
    width: int,
    *,
    encoder: float,
    predictor: float,
    generator: np.random.Generator,
) -> Start:
    """The start of a kind, or the given layers.

    Parameters
    ----------
    kind
        One of `STARTS`, or an array of shape ``(depth + predictor_depth, width, width)``.
    encoder, predictor
        Amplitudes of one layer of each; not used for given layers.

    Raises
    ------
    ParameterError
        If ``kind`` is neither.
    """
    if not isinstance(kind, str):
        return _start(objective, _given(kind, (objective.depth + objective.predictor_depth, width, width)), 1.0)
    if kind not in STARTS:
        raise ParameterError("start", kind, f"one of {', '.join(STARTS)}")
    amplitudes = np.array([encoder] * objective.depth + [predictor] * objective.predictor_depth)
    layers = amplitudes[:, None, None] * STARTS[kind](objective, width, generator)
    return _start(objective, layers, np.sign(predictor) ** objective.predictor_depth, by_norm=kind in BY_NORM)


def _start(objective: Objective, layers: FloatArray, sign: float, *, by_norm: bool = False) -> Start:
    sizes = np.linalg.norm(layers, axis=(1, 2), keepdims=True)
    shapes = layers / np.where(sizes > 0, sizes, 1.0)
    frame = _orthogonal_factor(product(shapes[: objective.depth]))
    target = _orthogonal_factor(product(shapes[: objective.target_depth])) if objective.target_depth else np.eye(len(frame))
    seen = sign * target.T @ product(shapes[objective.depth :]) @ frame
    return Start(layers, frame, _misalignment(seen), by_norm)


def _misalignment(predictor: FloatArray) -> float:
    kept = np.maximum(np.diagonal(predictor), 0.0)
    whole = np.linalg.norm(predictor)
    return float(np.linalg.norm(predictor - np.diag(kept)) / whole) if whole else 0.0


def _balanced(objective: Objective, width: int, _: np.random.Generator) -> FloatArray:
    """Every layer a multiple of the identity."""
    return np.tile(np.eye(width), (objective.depth + objective.predictor_depth, 1, 1))


def _orthogonal(objective: Objective, width: int, generator: np.random.Generator) -> FloatArray:
    """Random orthogonal layers, the last turned so that the predictor undoes the encoder's turn, up to the target's.

    Aligned to rounding only: where a feature that waits has the larger rho, what is off the diagonal grows, and in a long JEPA
    run features mix.
    """
    layers = _haar(objective, width, generator)
    target = product([np.eye(width), *layers[: objective.target_depth]])
    layers[-1] = target @ product(layers[:-1]).T
    return layers


def _haar(objective: Objective, width: int, generator: np.random.Generator) -> FloatArray:
    """Independent random orthogonal layers, the predictor's too: features mix, and some may be lost."""
    return np.stack([_rotation(width, generator) for _ in range(objective.depth + objective.predictor_depth)])


def _gaussian(objective: Objective, width: int, generator: np.random.Generator) -> FloatArray:
    """Independent normal entries, so that E |W x|^2 = epsilon^2 |x|^2."""
    entries: FloatArray = generator.standard_normal((objective.depth + objective.predictor_depth, width, width))
    entries /= np.sqrt(width)
    return entries


STARTS: dict[str, Callable[[Objective, int, np.random.Generator], FloatArray]] = {
    "balanced": _balanced,
    "orthogonal": _orthogonal,
    "haar": _haar,
    "gaussian": _gaussian,
}
"""Layers of amplitude 1, by the name of the start."""

BY_NORM = ("gaussian",)
"""Starts without a frame to read amplitudes in."""


def _rotation(width: int, generator: np.random.Generator) -> FloatArray:
    """A random orthogonal matrix, all equally likely (Mezzadri 2007: the signs of R make QR unique)."""
    q, r = np.linalg.qr(generator.standard_normal((width, width)))
    rotation: FloatArray = q * np.sign(np.diagonal(r))
    return rotation


def _given(layers: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    allowed = f"finite numbers of shape {shape}, encoder layers first"
    try:
        array = np.array(layers, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ParameterError("start", repr(layers), allowed) from None
    if array.shape != shape or not np.isfinite(array).all():
        raise ParameterError("start", f"an array of shape {array.shape}", allowed)
    return array


def _orthogonal_factor(matrix: FloatArray) -> FloatArray:
    """R of the polar decomposition R S; the identity where the matrix is diagonal and positive."""
    if np.array_equal(matrix, np.diag(np.diagonal(matrix))) and (np.diagonal(matrix) > 0).all():
        return np.eye(len(matrix))
    left, _, right = np.linalg.svd(matrix)
    factor: FloatArray = left @ right
    return factor
