"""The figures by name: what each shows, which parameters it has, and how to draw it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from inspect import Parameter, getdoc, signature
from typing import TYPE_CHECKING, Any

from dynamics.errors import LindynError
from dynamics.network.threads import threads_for
from figures.drawing import Drawing
from figures.style import Style, style_of

if TYPE_CHECKING:
    from dynamics.features import Features

NAMES = (
    "greedy",
    "depth",
    "expansion-error",
    "map",
    "crossover",
    "network",
    "initialisation",
    "teacher",
    "predictor-depth",
    "collapse",
    "masking",
    "temporal",
    "spectrum",
    "digits",
    "steps",
    "staircase",
    "redundancy",
    "projector",
    "views",
    "three-orders",
    "phases",
    "exponents",
    "collapse-map",
    "attention-maps",
    "gap-sign",
)
"""Every figure, in the order of the gallery."""


@dataclass(frozen=True)
class Entry:
    """One figure of the catalogue."""

    name: str

    @property
    def title(self) -> str:
        """What it shows, in one line."""
        return self._text().splitlines()[0]

    @property
    def description(self) -> str:
        """What it shows and what its parameters mean."""
        return self._text()

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters and their defaults."""
        return {name: default for name, default in self._options().items() if name != "features"}

    @property
    def takes_features(self) -> bool:
        """Whether it can draw a table of features in place of its own scenario."""
        return "features" in self._options()

    def draw(self, style: Style, *, features: Features | None = None, **parameters: Any) -> Drawing:
        """Compute it and draw it; parameters that are not given have their defaults."""
        if features is not None:
            self.require_features()
            parameters["features"] = features
        with threads_for(1):  # more would change last digits from machine to machine
            drawing: Drawing = self._module().draw(style, **parameters)
        return drawing

    def require_features(self) -> None:
        """Raise a `LindynError` unless it can draw a table of features."""
        if not self.takes_features:
            able = ", ".join(name for name in NAMES if Entry(name).takes_features)
            raise LindynError(f"The figure {self.name} takes no features; those that do are {able}.")

    def resolved(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """All of its parameters, those given in place of their defaults."""
        return self.parameters | dict(parameters)

    def _options(self) -> dict[str, Any]:
        options = signature(self._module().draw).parameters.values()
        return {option.name: option.default for option in options if option.kind is Parameter.KEYWORD_ONLY}

    def _text(self) -> str:
        return getdoc(self._module().draw) or ""

    def _module(self) -> Any:
        return import_module(f"figures.{self.name.replace('-', '_')}")


def entry_of(name: str) -> Entry:
    """The figure of a name; raises a `LindynError` with the nearest names."""
    if name not in NAMES:
        raise LindynError(f"There is no figure {name}; {nearest(name, NAMES)}.")
    return Entry(name)


def nearest(name: str, known: Sequence[str]) -> str:
    """The names most like this one, or all of them, as the end of a sentence."""
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    return f"the nearest is {close[0]}" if len(close) == 1 else f"there are {', '.join(close or known)}"


def draw(name: str, style: str = "neurips", *, features: Features | None = None, **parameters: Any) -> Drawing:
    """Draw a figure of the catalogue.

    Parameters
    ----------
    name
        One of `NAMES`.
    style
        One of the names in `figures.style.STYLES`: the width and type size of a venue.
    features
        Drawn in place of the figure's own scenario, where it can.
    parameters
        Of the figure, in place of its defaults.

    Raises
    ------
    LindynError
        If there is no such figure, style or parameter, or a value is refused.
    """
    entry = entry_of(name)
    for given in parameters:
        if given not in entry.parameters:
            raise LindynError(f"The figure {name} has no parameter {given}; {nearest(given, list(entry.parameters))}.")
    return entry.draw(style_of(style), features=features, **parameters)
