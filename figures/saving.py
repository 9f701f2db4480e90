"""A drawing as files: the picture, the data behind it, and a record of how it was made, the same bytes every time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from shutil import which
from typing import Any

from dynamics.errors import LindynError
from figures.catalogue import Entry
from figures.drawing import Drawing
from figures.style import Style

FORMATS: dict[str, Callable[[str], dict[str, Any]]] = {
    "pdf": lambda title: {"metadata": {"Title": title, "Creator": "lindyn", "CreationDate": None}},
    "svg": lambda title: {"metadata": {"Title": title, "Creator": "lindyn", "Date": None}},
    "png": lambda title: {"metadata": {"Title": title}},
}
"""Formats of pictures, and what keeps their bytes the same: no dates."""

UNITS = "Times are gradient-flow times at unit learning rate per layer; multiply by the depth for the other convention."


@dataclass(frozen=True)
class Order:
    """A figure to be made: which, how, and in which formats.

    Attributes
    ----------
    features, source
        A table of features to draw instead of the figure's own scenario, and what it is called.
    parameters
        In place of the figure's defaults.
    """

    entry: Entry
    style: Style
    formats: Sequence[str] = ("pdf",)
    parameters: Mapping[str, Any] | None = None
    features: Any = None
    source: str | None = None

    def files(self) -> dict[str, bytes]:
        """Every file of the figure by its name: pictures, ``NAME.csv`` with the data and ``NAME.json`` with the record.

        Raises
        ------
        LindynError
            Whatever the figure refuses, told with its name; or if LaTeX was asked for and fails.
        """
        with _told_by_latex(self.style):
            drawing = self.entry.draw(self.style, features=self.features, **(self.parameters or {}))
            pictures = {f"{self.entry.name}.{kind}": self._picture(drawing, kind) for kind in self.formats}
        return pictures | {f"{self.entry.name}.csv": _data(drawing), f"{self.entry.name}.json": self._record(drawing)}

    def _picture(self, drawing: Drawing, kind: str) -> bytes:
        stream = BytesIO()
        with self.style.context():
            drawing.figure.savefig(stream, format=kind, **FORMATS[kind](self.entry.title))
        return stream.getvalue()

    def _record(self, drawing: Drawing) -> bytes:
        record = {
            "figure": self.entry.name,
            "title": self.entry.title,
            "caption": drawing.caption,
            "parameters": self.entry.resolved(self.parameters or {}),
            "features": self.source,
            "style": {"name": self.style.name, "width_inches": self.style.width, "type_size_points": self.style.size},
            "units": UNITS,
            "rows": len(drawing.table),
            "columns": list(drawing.table.columns),
            "made_with": {name: version(name) for name in ("lindyn", "matplotlib", "numpy", "scipy")},
        }
        return (json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


@contextmanager
def _told_by_latex(style: Style) -> Iterator[None]:
    """Turn what LaTeX complains of, where it was asked for, into a `LindynError`."""
    if style.latex and which("latex") is None:
        raise LindynError("LaTeX is not installed, or not on the path; leave --latex out.")
    try:
        yield
    except RuntimeError as error:
        if not style.latex:
            raise
        raise LindynError(f"LaTeX could not set the text: {str(error).splitlines()[0]}; leave --latex out.") from None


def write(files: Mapping[str, bytes], folder: str | Path) -> list[Path]:
    """Put files into a folder, each whole or not at all; raises a `TableError` where that fails."""
    from dynamics.files import replaced

    paths = [Path(folder) / name for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        with replaced(path) as stream:
            stream.write(content)
    return paths


def _data(drawing: Drawing) -> bytes:
    from dynamics.tables import write_table

    stream = BytesIO()
    write_table(drawing.table, stream, "csv")
    return stream.getvalue()
