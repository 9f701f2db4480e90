"""The data: images of patches in one global and several local areas, each area with a latent strength, seen through masks."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log

import numpy as np

from dynamics.checks import whole_number
from dynamics.errors import LindynError, ParameterError
from dynamics.features import FloatArray

GLOBAL_EXPONENTS, LOCAL_EXPONENTS = (0.5, 1.0), (0.001, 0.5)
"""Ranges of kappa_c and kappa_s that the theory is about."""

MOST = 1e90
"""Patches whose third powers a double holds."""

NODES = 16
"""Gauss-Legendre nodes of an interval of latent strengths."""


@dataclass(frozen=True)
class Areas:
    """How P patches fall into one global area and local areas of equal size; sizes need not be whole.

    Attributes
    ----------
    patches
        P, at least 2.
    global_size, local_size
        C_G and C_S, at least 1; what the global area leaves is shared out among local ones.

    Raises
    ------
    ParameterError
        If a size is below 1.
    LindynError
        If the areas do not fit into the patches.
    """

    patches: float
    global_size: float
    local_size: float

    def __post_init__(self) -> None:
        for name, value, least in (
            ("patches", self.patches, 2),
            ("global_size", self.global_size, 1),
            ("local_size", self.local_size, 1),
        ):
            if not least <= value <= MOST:
                raise ParameterError(name, value, f"a number from {least} to {MOST:g}")
        if self.global_size + self.local_size > self.patches:
            raise LindynError(
                f"A global area of {self.global_size:g} and a local one of {self.local_size:g} patches do not fit into"
                f" {self.patches:g}."
            )

    @classmethod
    def of_exponents(cls, patches: float, kappa_c: float, kappa_s: float) -> Areas:
        """Areas of P^kappa_c and P^kappa_s patches; kappa_c from 0.5 to 1, kappa_s from 0.001 to 0.5."""
        for name, value, (low, high) in (("kappa_c", kappa_c, GLOBAL_EXPONENTS), ("kappa_s", kappa_s, LOCAL_EXPONENTS)):
            if not low <= value <= high:
                raise ParameterError(name, value, f"from {low:g} to {high:g}")
        return cls(patches, patches**kappa_c, patches**kappa_s)

    @property
    def local_areas(self) -> float:
        """Number of local areas."""
        return (self.patches - self.global_size) / self.local_size

    @property
    def kappa_c(self) -> float:
        """Exponent of the global area: log C_G / log P."""
        return log(self.global_size) / log(self.patches)

    @property
    def kappa_s(self) -> float:
        """Exponent of a local area: log C_S / log P."""
        return log(self.local_size) / log(self.patches)

    @property
    def gap(self) -> float:
        """Information gap Delta = (1 - kappa_s) - 2 (1 - kappa_c): log_P of how much faster the global area moves at first."""
        return (1.0 - self.kappa_s) - 2.0 * (1.0 - self.kappa_c)

    def whole(self) -> Areas:
        """The same areas; raises a `LindynError`, with the nearest that do, unless whole areas fill the patches."""
        sizes = (self.patches, self.global_size, self.local_size)
        if any(float(size) != round(size) for size in sizes) or (self.patches - self.global_size) % self.local_size:
            raise LindynError(
                f"Areas of {self.global_size:g} and {self.local_size:g} do not fill {self.patches:g} patches with whole areas;"
                f" the nearest that do are {_nearest(*sizes)}."
            )
        return Areas(*(int(size) for size in sizes))


def _nearest(patches: float, global_size: float, local_size: float) -> str:
    total, local = round(patches), max(1, round(local_size))
    count = max(1, round((total - global_size) / local))
    rest = total - count * local
    if rest < 1:
        count, rest = (total - 1) // local, total - (total - 1) // local * local
    return f"{rest} and {local} of {total}"


@dataclass(frozen=True, eq=False)
class Latent:
    """The law of an area's strength z: values with weights, or (made by `uniform`) an interval by its quadrature.

    Attributes
    ----------
    values, weights
        Positive strengths and their probabilities.
    interval
        Its ends, where the law is uniform; strengths are then drawn from it.
    """

    values: FloatArray
    weights: FloatArray
    interval: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        values, weights = (np.atleast_1d(np.array(part, dtype=np.float64)) for part in (self.values, self.weights))
        if values.ndim != 1 or values.shape != weights.shape or not (np.isfinite(values) & (values >= 0.0)).all():
            raise ParameterError("latent", self.values, "a list of numbers, 0 or more, with one weight each")
        if not ((weights >= 0.0).all() and abs(float(weights.sum()) - 1.0) < 1e-9 and (weights @ values) > 0.0):
            raise ParameterError("weights", self.weights, "probabilities that sum to 1, not all of them on 0")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "weights", weights)

    def mean(self, power: int = 1) -> float:
        """E[z^power]."""
        return float(self.weights @ self.values**power)

    def sample(self, shape: tuple[int, ...], generator: np.random.Generator) -> FloatArray:
        """Independent strengths."""
        if self.interval is not None:
            return generator.uniform(*self.interval, size=shape)
        if len(self.values) == 1:
            return np.full(shape, self.values[0])
        return generator.choice(self.values, size=shape, p=self.weights)


def constant(value: float = 1.0) -> Latent:
    """Every area equally strong."""
    return Latent(np.array([value]), np.ones(1))


def uniform(low: float, high: float) -> Latent:
    """Uniform on [low, high], 0 <= low <= high; raises a `ParameterError` otherwise."""
    if not 0.0 <= low <= high < np.inf or high == 0.0:
        raise ParameterError("latent", f"{low:g} to {high:g}", "an interval of numbers from 0 on, its lower end first")
    if low == high:
        return constant(low)
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return Latent(0.5 * (low + high) + 0.5 * (high - low) * nodes, weights / 2.0, (low, high))


@dataclass(frozen=True, eq=False)
class ImageModel:
    """Images of several clusters, each with a partition of its own into areas of the same sizes.

    Attributes
    ----------
    areas
        Sizes of the areas.
    masked
        Share gamma of the patches that a mask hides, in (0, 1).
    clusters
        Clusters K, drawn evenly.
    latent
        Law of the strength of an area, independent from area to area.
    """

    areas: Areas
    masked: float = 0.5
    clusters: int = 1
    latent: Latent = field(default_factory=constant)

    def __post_init__(self) -> None:
        if not 0.0 < self.masked < 1.0:
            raise ParameterError("masked", self.masked, "strictly between 0 and 1")
        whole_number("clusters", self.clusters, 1)

    @property
    def shown(self) -> float:
        """1 - gamma."""
        return 1.0 - self.masked

    @property
    def shown_patches(self) -> int:
        """How many patches every mask shows; raises a `ParameterError` unless it shows and hides some."""
        patches = int(self.areas.patches)
        count = round(self.shown * patches)
        if not 0 < count < patches:
            raise ParameterError("masked", self.masked, f"a share by which a mask hides and shows some of {patches} patches")
        return count
