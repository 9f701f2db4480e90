"""Figures drawn once, small enough for a test, and the theory that their tables are held against, written again."""

import re
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from mpmath import mpf
from scipy.stats import rankdata

import figures
from dynamics import Features, Objective, jepa, mae
from tests.cli.running import exact_time

OBJECTIVES = {"jepa": jepa, "mae": mae}
TITLES = {"jepa": "JEPA", "mae": "MAE"}
SMALL: dict[str, dict[str, Any]] = {
    "expansion-error": {"points": 7},
    "map": {"points": 7},
    "network": {"depth": 2},
    "initialisation": {"seeds": 2, "epsilon": 0.2},
    "teacher": {"points": 6, "networks": 2, "slowest": 1e-3},
    "collapse": {"points": 11, "networks": 2, "predictor_start": (0.3, 0.5), "decay_epsilon": (0.02, 0.4)},
    "digits": {"count": 2, "depth": 1},
    "steps": {"learning_rate": (0.05, 0.1)},
    "redundancy": {"points": 9, "width": (4, 16)},
    "projector": {"width": (4, 8, 16, 64), "steps": 300},
    "views": {"replicates": 500},
    "phases": {"patches": 64, "global_size": (34, 10), "steps": 150, "batch": 12},
    "exponents": {"points": 5, "kappa_c": (0.9,), "kappa_s": (0.4,)},
    "collapse-map": {"points": 4, "network_global": (8, 24), "steps": 60, "batch": 12},
    "attention-maps": {"patches": 25, "global_size": (16, 7), "local_size": 3, "steps": 100, "batch": 12},
}
"""Parameters with which a figure takes seconds where its own take minutes."""

MULTIVIEW = ("staircase", "redundancy", "projector", "views", "three-orders")
"""The figures of the second system, which have other columns."""

ATTENTION = ("phases", "exponents", "collapse-map", "attention-maps", "gap-sign")
"""The figures of the third system, which start at 0 and have features of their own."""

PAIR = Features(lam=[0.9, 0.7], rho=[0.7, 1.1], names=["fast", "slow"])
MIXED = Features(lam=[1.0, 0.6, 0.0, -0.3], sigma=[1.1, 0.8, 1.0, 1.0], names=["strong", "weak", "none", "opposed"])
"""Features of one's own, and some of which two are never learned."""

OWN: dict[str, dict[str, Any]] = {
    "network": {"depth": 1},
    "initialisation": {"seeds": 1, "start": ("orthogonal",), "epsilon": 0.1},
    "teacher": {"points": 2, "networks": 1, "slowest": 0.1},
    "steps": {"learning_rate": (0.1,)},
    "map": {"points": 3, "depth": (2,)},
    "crossover": {"max_depth": 4},
}
"""Parameters with which a figure draws them at once."""


@cache
def drawn(name: str, style: str = "neurips", **parameters: Any) -> figures.Drawing:
    return figures.draw(name, style, **parameters)


def small(name: str, **parameters: Any) -> figures.Drawing:
    return drawn(name, **(SMALL.get(name, {}) | parameters))


def table(name: str, **parameters: Any) -> pd.DataFrame:
    return small(name, **parameters).table.to_dataframe()


def of_kind(frame: pd.DataFrame, kind: str, **values: Any) -> pd.DataFrame:
    """The rows of a kind, and of these values in other columns."""
    chosen = frame["kind"] == kind
    for column, value in values.items():
        chosen &= frame[column] == value
    assert chosen.any(), (kind, values)
    return frame[chosen]


def tells(caption: str, *texts: str) -> bool:
    """Whether a caption has these texts, one after the other, each a whole word or number."""
    return re.search(".*?".join(rf"(?<![\w.]){re.escape(text)}(?![\w%])(?!\.\d)" for text in texts), caption) is not None


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])


# --- the theory, section by section -----------------------------------------------------------------------------------------


def exponents(objective: str, depth: int, predictor_depth: int) -> tuple[int, int]:
    """(a, b) of section 2."""
    if objective == "jepa":
        return 2 * depth + predictor_depth - 1, predictor_depth
    return depth + predictor_depth - 1, depth + predictor_depth


def asymptote(objective: str, depth: int, predictor_depth: int, rho: float) -> float:
    """w* of section 2."""
    return float(rho ** (depth / exponents(objective, depth, predictor_depth)[1]))


def critical_time(
    objective: str, depth: int, lam: float, rho: float, epsilon: float, fraction: float = 0.5, predictor_depth: int = 1
) -> float:
    """Section 3 in 40 digits, and 0 for what starts at its threshold."""
    if epsilon >= fraction * asymptote(objective, depth, predictor_depth, rho):
        return 0.0
    return float(exact_time(objective, depth, predictor_depth, lam, rho, epsilon, fraction))


def time_of(row: pd.Series, fraction: float | None = None) -> float:
    """The critical time of a row's feature at its setting, or when it reaches another fraction."""
    share = row["fraction"] if fraction is None else fraction
    how = (int(row["depth"]), row["lambda"], row["rho"], row["epsilon"], share, int(row["predictor_depth"]))
    return critical_time(row["objective"], *how)


def times_of(frame: pd.DataFrame) -> np.ndarray:
    return np.array([time_of(row) for _, row in frame.iterrows()])


def excess(
    objective: str, depth: int, predictor_depth: int, rho: tuple[float, float], epsilon: float, fraction: float = 0.5
) -> mpmath.mpf:
    """t(rho) / t(rho') - 1 at equal lambda, right also where it is far smaller than a double's rounding of 1."""
    with mpmath.workdps(40):
        low, high = (exact_time(objective, depth, predictor_depth, 1.0, value, epsilon, fraction) for value in rho)
        return low / high - mpf(1)


def descent(row: pd.Series, rate: float, steps: int) -> np.ndarray:
    """Encoder amplitudes of one feature's layers under gradient descent: plain steps of section 2's equation."""
    a, b = exponents(row["objective"], int(row["depth"]), int(row["predictor_depth"]))
    layer = row["epsilon"] ** (1.0 / row["depth"])
    amplitudes = [row["epsilon"]]
    for _ in range(steps):
        layer += rate * row["lambda"] * layer**a * (1.0 - layer**b / row["rho"])
        amplitudes.append(layer ** row["depth"])
    return np.array(amplitudes)


def objective_of(row: pd.Series) -> Objective:
    return OBJECTIVES[row["objective"]](int(row["depth"]), int(row["predictor_depth"]))


def features_of(frame: pd.DataFrame) -> Features:
    return Features(lam=frame["lambda"], rho=frame["rho"], sigma=frame["sigma"])


# --- what is in a panel -----------------------------------------------------------------------------------------------------


def is_tick(line: Line2D) -> bool:
    """Whether a line is vertical and stands in a part of its panel, as ``axvline`` draws it."""
    x = np.asarray(line.get_xdata(), dtype=float)
    return len(x) == 2 and x[0] == x[1] and line.get_transform() != line.axes.transData


def ticks(axes: Axes) -> list[float]:
    """Where vertical lines stand on the horizontal axis, in ascending order."""
    return sorted(float(line.get_xdata()[0]) for line in axes.lines if is_tick(line))


def lines_through(axes: Axes, x: Any, y: Any) -> list[Line2D]:
    """The lines whose data are exactly these, in this order."""
    wanted = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return [
        line
        for line in axes.lines
        if all(
            np.array_equal(np.asarray(found, dtype=float), data)
            for found, data in zip((line.get_xdata(), line.get_ydata()), wanted, strict=True)
        )
    ]


def legend_labels(name: str) -> list[str]:
    """The legend that a figure has below its panels."""
    (legend,) = small(name).figure.legends
    return [text.get_text() for text in legend.get_texts()]
