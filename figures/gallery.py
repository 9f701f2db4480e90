"""The page that shows every figure, made from the catalogue.

    python -m figures.gallery docs

writes ``docs/gallery.md`` and a small PNG of each figure into ``docs/gallery/``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dynamics.errors import LindynError
from figures.catalogue import NAMES, Entry
from figures.orders import make
from figures.parameters import shown
from figures.saving import Order, write
from figures.style import style_of

DOTS_PER_INCH = 110
"""Of the small pictures."""

INTRODUCTION = """# Gallery

Every figure is a function of the library, drawn from a table that it writes beside the picture. `lindyn figure NAME` makes
`NAME.pdf`, the data `NAME.csv`, and the caption and parameters `NAME.json`; `lindyn figure --all` makes them all. Parameters
are changed with `--set`, venues with `--style`, formats with `--format`; where it says so, `--features FILE` draws your own
features. The captions are written by the figures, with the numbers of these very pictures. This page is made by
`python -m figures.gallery docs`.
"""


def page(captions: dict[str, str]) -> str:
    """The page, from the caption of every figure."""
    entries = [Entry(name) for name in captions]
    contents = "\n".join(f"- [{entry.name}](#{entry.name}): {entry.title}" for entry in entries)
    return "\n".join([INTRODUCTION, contents, *(_section(entry, captions[entry.name]) for entry in entries)])


def _section(entry: Entry, caption: str) -> str:
    own = f"\nDraws your own features: `lindyn figure {entry.name} --features features.csv`\n" if entry.takes_features else ""
    return (
        f"\n## {entry.name}\n\n{entry.title}\n\n![{entry.title}](gallery/{entry.name}.png)\n\n{caption}\n\n"
        f"`lindyn figure {entry.name}`, with the defaults `{shown(entry.parameters)}`\n{own}"
    )


def write_gallery(folder: Path) -> None:
    """Draw every figure and write the page with its pictures."""
    (folder / "gallery").mkdir(parents=True, exist_ok=True)
    captions: dict[str, str] = {}

    def keep(order: Order, files: dict[str, bytes]) -> None:
        name = order.entry.name
        captions[name] = json.loads(files[f"{name}.json"])["caption"]
        write({f"{name}.png": files[f"{name}.png"]}, folder / "gallery")

    def refused(order: Order, error: LindynError) -> None:
        raise error

    style = style_of("neurips", dots_per_inch=DOTS_PER_INCH)
    make([Order(Entry(name), style, ("png",)) for name in NAMES], keep, refused)
    write({"gallery.md": page({name: captions[name] for name in NAMES}).encode()}, folder)


if __name__ == "__main__":
    write_gallery(Path(sys.argv[1]))
