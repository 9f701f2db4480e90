"""The objectives, each one member (a, b) of the power-law family du/dt = lambda u^a (1 - u^b / rho)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dynamics.checks import whole_number

MOST_LAYERS = 100_000


@dataclass(frozen=True)
class Objective:
    """A self-supervised loss, reduced to the growth of one feature's layer amplitude u.

    Under balanced, aligned gradient flow every feature obeys ``du/dt = lam u**a (1 - u**b / rho)`` in training time (unit
    learning rate per layer), and the encoder's amplitude is the product ``w = u**depth`` (Littwin et al. 2024, feature
    dynamics in deep linear networks).

    Attributes
    ----------
    name
        The word that tables carry.
    depth, predictor_depth
        Layers of the encoder (L) and of the predictor or decoder (M).
    a, b
        Exponents of growth and of saturation; ``a >= 1`` and ``b >= 1``.
    """

    name: str
    depth: int
    predictor_depth: int
    a: int
    b: int

    @property
    def alpha(self) -> Fraction:
        """(a - 1) / b: the one exponent left in the logistic coordinate z = u**b / rho."""
        return Fraction(self.a - 1, self.b)

    @property
    def target_depth(self) -> int:
        """Encoder layers that the target passes through, counted from the input: none (MAE) or all (JEPA)."""
        return self.a - (self.depth + self.predictor_depth - 1)


def jepa(depth: int, predictor_depth: int = 1) -> Objective:
    """Joint-embedding prediction with a stop-gradient target: a = 2L + M - 1, b = M, asymptote rho**(L/M)."""
    encoder, predictor = _both(depth, predictor_depth)
    return Objective("jepa", encoder, predictor, a=2 * encoder + predictor - 1, b=predictor)


def mae(depth: int, predictor_depth: int = 1) -> Objective:
    """Masked reconstruction of the input: a = L + M - 1, b = L + M, asymptote rho**(L/(L+M)).

    ``predictor_depth`` counts the decoder's layers.
    """
    encoder, decoder = _both(depth, predictor_depth)
    return Objective("mae", encoder, decoder, a=encoder + decoder - 1, b=encoder + decoder)


def supervised(depth: int) -> Objective:
    """A supervised deep linear network of at least two layers (Saxe et al. 2014): MAE whose last layer is the decoder.

    ``depth`` counts all layers; amplitudes are those of the product of all but the last, as for the MAE it equals.
    """
    layers = whole_number("depth", depth, 2, MOST_LAYERS)
    return Objective("supervised", layers - 1, 1, a=layers - 1, b=layers)


def _both(depth: int, predictor_depth: int) -> tuple[int, int]:
    return whole_number("depth", depth, 1, MOST_LAYERS), whole_number("predictor_depth", predictor_depth, 1, MOST_LAYERS)
