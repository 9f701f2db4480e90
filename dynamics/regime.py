"""How training departs from plain gradient flow: a predictor's own start and rate, a teacher, weight decay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dynamics.errors import ParameterError
from dynamics.features import FloatArray


@dataclass(frozen=True, eq=False)
class Regime:
    """What is changed in the training of a network; the defaults change nothing.

    Every number may be an array with one entry a feature where the features are integrated one by one (`mode_times`); a
    network has one number.

    Attributes
    ----------
    predictor_start
        Amplitude of one predictor (or decoder) *layer* at the start, of either sign; None for that of an encoder layer,
        ``epsilon**(1/depth)``, which is the balanced start.
    predictor_rate
        Learning rate of the predictor's layers over that of the encoder's (kappa); positive.
    teacher_rate
        Rate beta, per unit of training time, at which the layers of the target encoder follow the encoder's (exponential
        moving average); positive. None for the encoder itself, frozen when differentiating.
    weight_decay
        Rate eta, per unit of training time, at which every layer decays; not negative.
    stop_gradient
        False differentiates the target as well: a control, under which the encoder only shrinks.
    """

    predictor_start: float | FloatArray | None = None
    predictor_rate: float | FloatArray = 1.0
    teacher_rate: float | FloatArray | None = None
    weight_decay: float | FloatArray = 0.0
    stop_gradient: bool = True

    def __post_init__(self) -> None:
        _require("predictor_start", self.predictor_start, lambda value: value != 0, "a finite number other than 0")
        _require("predictor_rate", self.predictor_rate, lambda value: value > 0, "a positive finite number")
        _require("teacher_rate", self.teacher_rate, lambda value: value > 0, "a positive finite number")
        _require("weight_decay", self.weight_decay, lambda value: value >= 0, "a finite number, at least 0")

    @property
    def plain(self) -> bool:
        """Whether nothing is changed, so that the closed forms hold."""
        return (
            self.predictor_start is None
            and self.teacher_rate is None
            and self.stop_gradient
            and bool(np.all(self.predictor_rate == 1.0) and np.all(np.asarray(self.weight_decay) == 0.0))
        )


def _require(
    name: str, value: npt.ArrayLike | None, allowed: Callable[[FloatArray], npt.NDArray[np.bool_]], description: str
) -> None:
    if value is None:
        return
    try:
        numbers = np.atleast_1d(np.asarray(value, dtype=np.float64))
    except (TypeError, ValueError):
        raise ParameterError(name, repr(value), description) from None
    good = np.isfinite(numbers) & allowed(numbers)
    if not good.all():
        raise ParameterError(name, numbers[~good].ravel()[0], description)


PLAIN = Regime()
"""Nothing changed: plain gradient flow from a balanced start."""
