"""Parameters of a cell: what each may be, what it is where nobody says, and when it is read at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from dynamics.errors import LindynError, ParameterError

Value = bool | int | float | str | None
Condition = tuple[str, tuple[Value, ...]]
Values = Mapping[str, Any]
"""Every parameter of a cell by its name."""

NONE = "none"
"""How a configuration says that an optional parameter is left out."""

_ALLOWED = {bool: "true or false", int: "a whole number", float: "a finite number", str: "a text"}


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes
    ----------
    kind
        Type of its values: ``bool``, ``int``, ``float`` or ``str``.
    default
        Value where the configuration says nothing; None leaves it out, and then "none" is allowed as well.
    choices
        The texts that are allowed; empty for any.
    read_with
        Other parameters and their values, with one of which alone this one is read; without values, any but None.
    """

    kind: type
    default: Value = None
    choices: tuple[str, ...] = ()
    read_with: tuple[Condition, ...] = ()

    def read(self, name: str, value: object) -> Value:
        """A value of the configuration as one of this parameter; raises a `ParameterError` where it is none."""
        if self.default is None and value == NONE:
            return None
        if self.kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        right = isinstance(value, self.kind) and isinstance(value, bool) == (self.kind is bool)
        if not right or (self.choices and value not in self.choices) or (isinstance(value, float) and not isfinite(value)):
            raise ParameterError(name, _written(value), self.allowed)
        return value  # type: ignore[return-value]

    @property
    def allowed(self) -> str:
        """What values it may have, to follow "it must be"."""
        allowed = one_of(self.choices) if self.choices else _ALLOWED[self.kind]
        return f'{allowed}, or "{NONE}"' if self.default is None else allowed

    def is_read(self, axes: Mapping[str, Sequence[Value]]) -> bool:
        """Whether some combination of the values reads it."""
        return not self.read_with or any(
            value in values if values else value is not None for other, values in self.read_with for value in axes[other]
        )


def one_of(choices: Sequence[str]) -> str:
    """What is allowed where only some texts are."""
    return f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0]


def refuse_unread(parameters: Mapping[str, Parameter], axes: Mapping[str, Sequence[Value]], given: Sequence[str]) -> None:
    """Refuse parameters that someone gave and no cell would read."""
    for name in given:
        parameter = parameters[name]
        if parameter.is_read(axes):
            continue
        wanted = ", or ".join(
            f"{other} = {' or '.join(map(_written, values)) if values else 'a value'}" for other, values in parameter.read_with
        )
        raise LindynError(f"{name} is read by no cell: it goes with {wanted}; set that, or leave {name} out.")


def _written(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
