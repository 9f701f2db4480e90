"""The objectives, each one member (a, b) of the power-law family du/dt = lambda u^a (1 - u^b / rho)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from operator import index

from dynamics.errors import ParameterError

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


def jepa(depth: int, predictor_depth: int = 1) -> Objective:
    """Joint-embedding prediction with a stop-gradient target: a = 2L + M - 1, b = M, asymptote rho**(L/M)."""
    encoder, predictor = _layers(depth, "depth", 1), _layers(predictor_depth, "predictor_depth", 1)
    return Objective("jepa", encoder, predictor, a=2 * encoder + predictor - 1, b=predictor)


def mae(depth: int, predictor_depth: int = 1) -> Objective:
    """Masked reconstruction of the input: a = L + M - 1, b = L + M, asymptote rho**(L/(L+M)).

    ``predictor_depth`` counts the decoder's layers.
    """
    encoder, decoder = _layers(depth, "depth", 1), _layers(predictor_depth, "predictor_depth", 1)
    return Objective("mae", encoder, decoder, a=encoder + decoder - 1, b=encoder + decoder)


def supervised(depth: int) -> Objective:
    """A supervised deep linear network of at least two layers (Saxe et al. 2014): MAE whose last layer is the decoder.

    ``depth`` counts all layers; amplitudes are those of the product of all but the last, as for the MAE it equals.
    """
    layers = _layers(depth, "depth", 2)
    return Objective("supervised", layers - 1, 1, a=layers - 1, b=layers)


def _layers(value: int, name: str, least: int) -> int:
    allowed = f"a whole number, at least {least}"
    try:
        layers = index(value)
    except TypeError:
        raise ParameterError(name, value, allowed) from None
    if isinstance(value, bool) or layers < least:
        raise ParameterError(name, value, allowed)
    if layers > MOST_LAYERS:
        raise ParameterError(name, value, f"at most {MOST_LAYERS}")
    return layers
