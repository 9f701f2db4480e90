"""Symbols: from the loss to the mode equation to the closed form to the theorem (SymPy).

    >>> import derivations as der
    >>> der.derive("jepa", depth=2, predictor_depth=1).member.a
    4

Each name is imported when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from derivations.derivation import Derivation as Derivation
    from derivations.derivation import derive as derive
    from derivations.derivation import derive_loss as derive_loss
    from derivations.expression import LossError as LossError
    from derivations.expression import parse_loss as parse_loss
    from derivations.statement import Statement as Statement
    from derivations.statement import Verdict as Verdict
    from derivations.verification import Result as Result
    from derivations.verification import selected as selected
    from derivations.verification import verify as verify

_MODULES = {
    "derivation": ("Derivation", "derive", "derive_loss"),
    "expression": ("LossError", "parse_loss"),
    "statement": ("Statement", "Verdict"),
    "verification": ("Result", "selected", "verify"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
