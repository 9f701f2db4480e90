"""The errors of the library: one sentence that names the parameter, its value and what is allowed."""

from __future__ import annotations


class LindynError(ValueError):
    """Anything this library refuses to compute."""


class ParameterError(LindynError):
    """A parameter outside what is allowed.

    Parameters
    ----------
    name
        The parameter as the caller wrote it; commands show it as the option of the same name.
    value
        What was given.
    allowed
        What would have been accepted, to follow "it must be".
    """

    def __init__(self, name: str, value: object, allowed: str) -> None:
        self.name, self.value, self.allowed = name, value, allowed
        super().__init__(self.sentence(name))

    def __reduce__(self) -> tuple[type[ParameterError], tuple[str, str, str]]:
        """The way to another process, on which the value goes as the text that is shown."""
        return type(self), (self.name, str(self.value), self.allowed)

    def sentence(self, shown_name: str) -> str:
        """The message under another name for the parameter."""
        return f"{shown_name} is {self.value}; it must be {self.allowed}."


class TableError(LindynError):
    """A file or table that cannot be read as what it should be."""
