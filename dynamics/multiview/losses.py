"""The losses of the second system as data: what each asks of its features, and the law that their modes follow.

A new loss is one entry of `LOSSES`, if its modes are logistic or bistable.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dynamics.checks import check_positive, whole_number
from dynamics.errors import LindynError, ParameterError
from dynamics.features import Features, FloatArray
from dynamics.multiview.invariance import INVARIANCES, invariances
from dynamics.multiview.members import (
    barlow_twins,
    byol,
    direct_copy,
    iso_loss,
    penalised,
    spectral_contrastive,
    two_layers,
)
from dynamics.multiview.strengths import KERNELS, mode_strengths
from dynamics.status import StatusArray


@dataclass(frozen=True)
class Setup:
    """What a loss is trained with; each loss reads its own part (`Loss.uses`).

    Attributes
    ----------
    width
        Outputs d of the projector; it holds as many modes.
    beta
        Weight of the penalty on correlations between features.
    kernel
        Which second moments of the views the loss sees, one of `KERNELS`.
    views
        Views m of an image.
    invariance
        Form of the invariance term, one of `INVARIANCES`.
    weight_decay
        Rate at which all weights decay, per unit of training time.
    teacher_rate
        Rate at which an EMA teacher follows, per unit of training time: (1 - EMA) / learning rate; None for no teacher.
    """

    width: int = 16
    beta: float = 1.0
    kernel: str = "cross-view"
    views: int = 2
    invariance: str = "pairs"
    weight_decay: float = 0.0
    teacher_rate: float | None = None

    def __post_init__(self) -> None:
        whole_number("width", self.width, 1)
        check_positive("beta", self.beta)
        whole_number("views", self.views, 2)
        for name, allowed in (("kernel", KERNELS), ("invariance", INVARIANCES)):
            if getattr(self, name) not in allowed:
                raise ParameterError(name, getattr(self, name), f"one of {', '.join(allowed)}")
        if not 0.0 <= self.weight_decay < float("inf"):
            raise ParameterError("weight_decay", self.weight_decay, "a finite number, at least 0")
        if self.teacher_rate is not None:
            check_positive("teacher_rate", self.teacher_rate)


class Law(Protocol):
    """How the sizes of modes move, each by itself."""

    def __getitem__(self, which: npt.NDArray[np.bool_]) -> Law:
        """The law of some of the modes."""

    @property
    def asymptote(self) -> FloatArray:
        """Size that each mode tends to; 0 where it is not learned."""

    def status(self, start: FloatArray, end: FloatArray) -> StatusArray:
        """What becomes of each mode from one size, on the way to another."""

    def time(self, start: FloatArray, end: FloatArray) -> FloatArray:
        """Time from one size to another, of modes that are learned."""


@dataclass(frozen=True)
class Loss:
    """One loss.

    Attributes
    ----------
    name
        As the command line has it.
    title
        What it is, and whose.
    uses
        The settings of `Setup` that it reads besides the width.
    eigenvalue
        Column that its eigenvalues stand in: ``strength``, the more the faster, or ``kappa``, the less the faster.
    eigenvalues
        These, from the features.
    law
        From features, eigenvalues and setup to the law of the modes; None for a loss without one.
    power
        The size that the law is about: the square of a mode's amplitude, or (1) the amplitude.
    of_variance
        Whether the size is measured in units of 1 / strength, as the share of a unit variance is.
    shares
        Whether outputs share modes where beta is below 1, so that modes wait for one another (a staircase).
    of_unit_norm
        Whether outputs are held at unit variance, whatever their start.
    """

    name: str
    title: str
    uses: tuple[str, ...]
    eigenvalue: str
    eigenvalues: Callable[[Features, Setup], FloatArray]
    law: Callable[[Features, FloatArray, Setup], Law] | None
    power: int = 2
    of_variance: bool = False
    shares: bool = False
    of_unit_norm: bool = False

    def size(self, amplitude: FloatArray, eigenvalues: FloatArray) -> FloatArray:
        """Sizes of modes of these amplitudes: norms of their columns in the projector, or singular values."""
        size: FloatArray = amplitude**self.power
        return size * eigenvalues if self.of_variance else size

    def settings(self, setup: Setup) -> dict[str, Any]:
        """What the loss reads of a setup, by the names that tables carry."""
        read = {name: getattr(setup, name) for name in self.uses}
        if setup.kernel != "view-mean" and setup.invariance != "views":
            read.pop("views", None)
        return {"loss": self.name, "width": setup.width} | {name: value for name, value in read.items() if value is not None}

    def law_of(self, features: Features, setup: Setup) -> Law:
        """The law of the modes of these features; raises a `LindynError` for a loss without a closed form."""
        if self.law is None:
            raise LindynError(f"The modes of {self.name} have no closed form in time; lindyn multiview simulate trains them.")
        return self.law(features, self.eigenvalues(features, setup), setup)


def _strength(features: Features, setup: Setup) -> FloatArray:
    return mode_strengths(features, kernel=setup.kernel, views=setup.views)


def _correlation(features: Features, setup: Setup) -> FloatArray:
    return mode_strengths(features, kernel="whitened", views=setup.views)


def _covariance(features: Features, setup: Setup) -> FloatArray:
    return features.lam


def _kappa(features: Features, setup: Setup) -> FloatArray:
    return invariances(features, form=setup.invariance, views=setup.views)


LOSSES = {
    loss.name: loss
    for loss in (
        Loss(
            "barlow-twins",
            "Barlow Twins with weight beta on the off-diagonal (Simon et al. 2023, Agrawal et al. 2024)",
            ("beta", "kernel", "views"),
            "strength",
            _strength,
            lambda features, strength, setup: barlow_twins(strength),
            of_variance=True,
            shares=True,
        ),
        Loss(
            "penalised",
            "invariance plus beta times a penalty on the covariance (Agrawal et al. 2024)",
            ("beta", "invariance", "views"),
            "kappa",
            _kappa,
            lambda features, kappa, setup: penalised(kappa, setup.beta),
        ),
        Loss(
            "normalised",
            "the same with every feature of unit variance, as after batch normalisation",
            ("beta", "invariance", "views"),
            "kappa",
            _kappa,
            None,
            of_unit_norm=True,
        ),
        Loss(
            "spectral-contrastive",
            "spectral contrastive loss (HaoChen et al. 2021)",
            (),
            "strength",
            _correlation,
            lambda features, strength, setup: spectral_contrastive(strength),
        ),
        Loss(
            "byol",
            "linear BYOL with a trained predictor (Tian et al. 2021)",
            ("weight_decay", "teacher_rate"),
            "strength",
            _covariance,
            lambda features, strength, setup: byol(strength, features.sigma**2, setup.weight_decay),
            power=1,
        ),
        Loss(
            "direct-copy",
            "a predictor set to the covariance of the features (Wang et al. 2021)",
            ("weight_decay",),
            "strength",
            _covariance,
            lambda features, strength, setup: direct_copy(strength, features.sigma**2, setup.weight_decay),
        ),
        Loss(
            "iso-loss",
            "a predictor in closed form and a loss that makes modes learn alike (Halvagal et al. 2023)",
            (),
            "strength",
            _covariance,
            lambda features, strength, setup: iso_loss(strength, features.sigma**2),
        ),
        Loss(
            "two-layers",
            "regression of the other view by two layers (Saxe et al. 2014)",
            (),
            "strength",
            _covariance,
            lambda features, strength, setup: two_layers(strength, features.sigma**2),
            power=1,
        ),
    )
}
"""Every loss by its name."""


def loss_of(name: str) -> Loss:
    """The loss of a name; raises a `ParameterError` with all names if there is none."""
    if name not in LOSSES:
        raise ParameterError("loss", name, f"one of {', '.join(LOSSES)}")
    return LOSSES[name]
