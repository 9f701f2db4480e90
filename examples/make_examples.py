"""Regenerate the example data, ``digits.npz`` and ``weather.csv``, next to this script.

Both data sets come from files inside Python packages, so nothing else is downloaded:

    pip install numpy==2.4.6 scikit-learn==1.9.1 vega-datasets==0.9.0
    python make_examples.py

The files in this folder were made with these versions on CPython 3.11. What the data are and their licences: ``README.md``.
"""

from __future__ import annotations

import csv
from datetime import date
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits  # type: ignore[import-not-found, import-untyped, unused-ignore]
from vega_datasets import local_data  # type: ignore[import-not-found, import-untyped, unused-ignore]

FOLDER = Path(__file__).resolve().parent
WEATHER_NUMBERS = ("precipitation", "temp_max", "temp_min", "wind")


def write_digits(path: Path) -> None:
    """Write the 1,797 handwritten digits as one array ``pixels``, one row an image, without the labels."""
    grey = np.asarray(load_digits().data)
    pixels = np.ascontiguousarray(grey, dtype=np.uint8)
    if pixels.shape != (1797, 64) or not np.array_equal(pixels, grey) or pixels.max() > 16:
        raise ValueError("load_digits gave something else than 1,797 rows of 64 whole numbers from 0 to 16.")
    # Every member of the archive carries the same fixed date, so that the same versions give the same bytes.
    np.savez_compressed(path, pixels=pixels)


def write_weather(path: Path) -> None:
    """Write the daily Seattle weather in time order: the date as YYYY-MM-DD and the four numbers as they are shipped."""
    with Path(local_data.seattle_weather.filepath).open(encoding="utf-8", newline="") as source:
        days = [
            [date(*map(int, day["date"].split("/"))).isoformat(), *(day[name] for name in WEATHER_NUMBERS)]
            for day in csv.DictReader(source)
        ]
    with path.open("w", encoding="utf-8", newline="") as target:
        table = csv.writer(target, lineterminator="\n")
        table.writerow(["date", *WEATHER_NUMBERS])
        table.writerows(sorted(days))


def main() -> None:
    """Write both files and say how large they are."""
    for write, path in ((write_digits, FOLDER / "digits.npz"), (write_weather, FOLDER / "weather.csv")):
        write(path)
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
