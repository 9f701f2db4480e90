"""How redundant the features of Barlow Twins are after a time, whatever the width."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

import dynamics as dyn
from dynamics.checks import check_positive, whole_number
from dynamics.multiview.flows import barlow_twins_flow, trajectory
from dynamics.multiview.ladder import ladder_times, plateau, residual_starts
from dynamics.multiview.observables import effective_rank, redundancy
from dynamics.table import Table, stacked
from figures.drawing import Drawing, bound
from figures.plotting import groups, legend_below, log_axis
from figures.rows import log_range
from figures.staircase import tiny_start
from figures.style import MARKER_CYCLE, PALETTE, Style, shades

if TYPE_CHECKING:
    import numpy.typing as npt
    from matplotlib.figure import Figure

    from dynamics.features import FloatArray

PANELS = {"effective_rank": "effective rank", "mean_squared_correlation": "mean squared correlation"}

TOLERANCE = 1e-6
"""Relative tolerance a step of the integrator; what is looked at rests on a plateau or is between two."""

CLOSE = 0.1
"""Distance from the predicted rank within which a point counts as on the plateau."""

FINE = 300
"""Values of beta d / (1 - beta) at which the prediction is drawn."""


def draw(
    style: Style,
    *,
    width: Sequence[int] = (4, 8, 16, 32),
    strength: Sequence[float] = (4.0, 2.5, 1.6, 1.0, 0.6, 0.4),
    time: float = 10.0,
    smallest: float = 0.03,
    largest: float = 30.0,
    points: int = 25,
    epsilon: float = 1e-12,
    seed: int = 0,
) -> Drawing:
    """Redundancy of the features of Barlow Twins at a fixed time, for several widths.

    Effective rank and mean squared correlation between features, simulated and by the plateau of the modes that are predicted
    to be learned by then, against beta d / (1 - beta), by which alone beta and the width enter the times of the modes.

    Parameters
    ----------
    width
        Features d of the projector, 2 or more.
    strength
        Strength gamma of every mode, positive and falling.
    time
        Training time at which the features are looked at; the first mode must be learned by then.
    smallest, largest
        Ends of the range of beta d / (1 - beta).
    points
        Values of it at which the flow is integrated.
    epsilon
        Standard deviation of the weights at the start.
    """
    check_positive("time", time)
    coarse = log_range(points, smallest=smallest, largest=largest)
    fine = np.geomspace(smallest, largest, FINE)
    starts = [tiny_start(strength, one, epsilon, seed) for one in sorted({whole_number("width", one, 2) for one in width})]
    gamma = np.array(strength)
    parts = [_predicted(gamma, start, fine, time) for start in starts]
    if not all((part.columns["modes"] > 0).all() for part in parts):
        raise dyn.ParameterError("time", time, "long enough for the first mode to be learned from this start")
    parts += [_simulated(gamma, start, coarse, time) for start in starts]
    table = stacked(parts)
    table = Table(table.columns | {"time": np.full(len(table), time), "epsilon": np.full(len(table), epsilon)})
    return Drawing(_picture(style, table), table, _caption(table, strength, time, epsilon))


def _predicted(strength: FloatArray, start: FloatArray, ratio: FloatArray, time: float) -> Table:
    """The plateau at each ratio; where no mode is learned yet it has no redundancy."""
    beta = _beta(ratio, len(start))
    modes = _learned(strength, start, beta, time)
    told = [plateau(count, width=len(start), beta=one) for count, one in zip(modes.tolist(), beta.tolist(), strict=True)]
    return _rows("predicted", start, ratio, modes, modes, [one.redundancy for one in told])


def _simulated(strength: FloatArray, start: FloatArray, ratio: FloatArray, time: float) -> Table:
    """The features themselves, by integrating the flow of the matrices."""
    beta = _beta(ratio, len(start))
    flows = (barlow_twins_flow(strength, beta=one) for one in beta.tolist())
    ends = [trajectory(flow, start, [0.0, time], tolerance=TOLERANCE)[-1] for flow in flows]
    covariances = [(end * strength) @ end.T for end in ends]
    ranks, alike = ([measure(one) for one in covariances] for measure in (effective_rank, redundancy))
    return _rows("simulated", start, ratio, _learned(strength, start, beta, time), ranks, alike)


def _beta(ratio: FloatArray, width: int) -> FloatArray:
    return ratio / (width + ratio)


def _learned(strength: FloatArray, start: FloatArray, beta: FloatArray, time: float) -> npt.NDArray[np.int64]:
    """Modes that are predicted to be learned by a time, one number a beta."""
    squares = residual_starts(start, beta=float(beta[0]))  # the same for every beta below 1
    times = [ladder_times(strength, squares, width=len(start), beta=one) for one in beta.tolist()]
    return np.array([(each < time).sum() for each in times])


def _rows(kind: str, start: FloatArray, ratio: FloatArray, modes: npt.ArrayLike, *measures: npt.ArrayLike) -> Table:
    count, width = len(ratio), len(start)
    return Table(
        {"kind": np.full(count, kind), "width": np.full(count, width), "beta": _beta(ratio, width), "ratio": ratio}
        | {"modes": np.asarray(modes)}
        | {name: np.asarray(values, dtype=np.float64) for name, values in zip(PANELS, measures, strict=True)}
    )


def _caption(table: Table, strength: Sequence[float], time: float, epsilon: float) -> str:
    frame = table.to_dataframe()
    simulated = frame[frame["kind"] == "simulated"]
    close = (simulated["effective_rank"] - simulated["modes"]).abs() <= CLOSE
    widths = simulated["width"].unique()
    apart = simulated.groupby("ratio")["effective_rank"].agg(np.ptp)
    between = (
        f" Between widths the simulated effective rank differs by up to {bound(apart.median())} in the median and"
        f" {bound(apart.max())} at most."
    )
    return (
        f"Effective rank of the covariance of the features of Barlow Twins, and mean squared correlation between two of them,"
        f" at time {time:g} from gaussian starts of epsilon {epsilon:g}, against beta d/(1 - beta); strengths"
        f" {', '.join(f'{one:g}' for one in strength)}; darker means larger width d = {', '.join(map(str, widths))}. Lines:"
        " plateau of the r modes that are predicted to be learned by then, of rank r and mean squared correlation"
        f" (d - r)/(r(d - 1)); markers: gradient flow of the matrices, {close.sum()} of {len(close)} points within {CLOSE:g} of"
        f" the predicted rank.{between if len(widths) > 1 else ''}"
    )


def _picture(style: Style, table: Table) -> Figure:
    frame = table.to_dataframe()
    widths = frame["width"].unique()
    looks: dict[Any, dict[str, Any]] = {
        width: {"color": colour, "marker": marker}
        for width, colour, marker in zip(widths, shades(PALETTE[0], len(widths)), cycle(MARKER_CYCLE), strict=False)
    }
    with style.context():
        figure, panels = style.panels(1, 2, wide=1.4)
        for axes, (column, title) in zip(panels.flat, PANELS.items(), strict=True):
            for (kind, width), shown in groups(frame, "kind", "width"):
                look = {"marker": "none"} if kind == "predicted" else {"linestyle": "none"}
                axes.plot(shown["ratio"], shown[column], **(looks[width] | look))
            log_axis(axes.xaxis)
            axes.set(title=title, xlabel=r"$\beta d/(1-\beta)$")
            axes.set_ylim(bottom=0.0)
        entries = [(f"$d={width}$", look | {"linestyle": "none"}) for width, look in looks.items()]
        legend_below(figure, [*entries, ("predicted", {})])
    return figure
