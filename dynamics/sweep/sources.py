"""What a sweep is computed on: features, data or augmentation graphs, each under the name that an axis calls it by."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynamics.errors import LindynError, ParameterError, TableError
from dynamics.files import reason
from dynamics.matrices import split_key
from dynamics.sweep.parameters import Parameter

if TYPE_CHECKING:
    from dynamics.features import Features
    from dynamics.multiview.graph import AugmentationGraph
    from dynamics.network.population import Data

KINDS = {
    "lambda": ("lambda", "rho", "sigma", "name"),
    "rho": ("lambda", "rho", "sigma", "name"),
    "features": ("features",),
    "x": ("x", "y", "mask", "target", "lag", "columns", "standardise"),
    "graph": ("graph",),
}
"""The key that tells a kind of source, and the keys that it may have."""

OPTIONS = {
    "mask": Parameter(float, None),
    "target": Parameter(str, None, ("full", "independent", "complementary")),
    "lag": Parameter(int, None),
    "standardise": Parameter(bool, False),
}
"""What keys of data may be."""

CALLED = {"keep": "mask", "lam": "lambda"}
"""Keys that are not called like the library's parameter."""

FILES = ("features", "x", "y", "graph")
"""Keys that name a file, looked for beside the configuration."""


@dataclass(frozen=True, eq=False)
class Source:
    """Features, data or a graph.

    Attributes
    ----------
    described
        As the configuration has it, with the digests of the files in place of their names: equal ones are equal sources.
    content
        `Features`, `Data` or `AugmentationGraph`; None where only the description is left.
    """

    described: Mapping[str, Any]
    content: Features | Data | AugmentationGraph | None


def read_source(name: str, given: object, folder: Path) -> Source:
    """A source from its table in the configuration; files are looked for in ``folder``.

    Raises
    ------
    LindynError
        If it is of no kind, has unknown keys, or a file of it is refused.
    """
    if not isinstance(given, dict):
        raise ParameterError(f"sources.{name}", given, "a table, [sources.NAME]")
    kind = next((kind for kind in KINDS if kind in given), None)
    if kind is None:
        raise LindynError(f"The source {name} is empty; it needs lambda and rho, features = FILE, x = FILE or graph = FILE.")
    strange = [key for key in given if key not in KINDS[kind]]
    if strange:
        raise LindynError(f"The source {name} has the unknown key {strange[0]}; with {kind} go {', '.join(KINDS[kind])}.")
    given = {
        key: OPTIONS[key].read(f"sources.{name}.{key}", value) if key in OPTIONS else value for key, value in given.items()
    }
    paths = {key: _path(f"sources.{name}.{key}", given[key], folder) for key in FILES if key in given}
    described = {key: _described(paths[key]) if key in paths else value for key, value in given.items()}
    try:
        return Source(described, _READERS[kind](dict(given) | paths))
    except LindynError as error:
        text = error.sentence(CALLED.get(error.name, error.name)) if isinstance(error, ParameterError) else str(error)
        raise LindynError(f"The source {name} is refused: {text.replace('--', '')}") from None


def _described(path: str) -> dict[str, str]:
    """A file by its content, and which array of it is meant."""
    file, key = split_key(path)
    try:
        return {"sha256": digest_of(Path(file))} | ({"array": key} if key is not None else {})
    except OSError as error:
        raise TableError(f"{path} cannot be read: {reason(error)}.") from None


def digest_of(path: Path) -> str:
    """SHA-256 of a file, or of the names and contents of all files in a folder."""
    if not path.is_dir():
        return _digest(path)
    parts = (f"{part.relative_to(path).as_posix()} {_digest(part)}" for part in sorted(path.rglob("*")) if part.is_file())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _digest(file: Path) -> str:
    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _path(name: str, value: object, folder: Path) -> str:
    if not isinstance(value, str) or not value or value == "-":
        raise ParameterError(name, value, "the name of a file")
    return str(folder / value)


def _from_values(given: dict[str, Any]) -> Features:
    from dynamics.features import Features

    columns = {key: _list(key, given[key]) for key in given}
    names = columns.pop("name", None)
    return Features(**{_LIBRARY.get(key, key): column for key, column in columns.items()}, names=names)


_LIBRARY = {"lambda": "lam"}


def _list(name: str, value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ParameterError(name, value, "a list")
    return value


def _from_table(given: dict[str, Any]) -> Features:
    from dynamics.feature_table import read_features

    return read_features(given["features"])


def _from_data(given: dict[str, Any]) -> Data:
    from dynamics.feature_basis import diagonalise
    from dynamics.network.population import Data
    from dynamics.sources import read_views
    from dynamics.views import second_moments

    columns = given.get("columns")
    how = {**given, "columns": ",".join(_list("columns", columns)) if columns is not None else None}
    views = read_views(how.pop("x"), how.pop("y", None), **how)
    return Data(views, diagonalise(second_moments(views)))


def _from_graph(given: dict[str, Any]) -> AugmentationGraph:
    from dynamics.matrices import read_matrix
    from dynamics.multiview.graph import AugmentationGraph

    return AugmentationGraph(read_matrix(given["graph"]).values)


_READERS: dict[str, Callable[[dict[str, Any]], Features | Data | AugmentationGraph]] = {
    "lambda": _from_values,
    "rho": _from_values,
    "features": _from_table,
    "x": _from_data,
    "graph": _from_graph,
}
