"""What the laws of modes have in common: arrays with one entry a mode, of which some can be looked at alone."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Modes:
    """A law whose fields are arrays of shape ``(modes,)``."""

    def __getitem__(self, which: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> Self:
        """The law of some of the modes."""
        parts: list[Any] = [getattr(self, field.name)[which] for field in fields(self)]
        return type(self)(*parts)
