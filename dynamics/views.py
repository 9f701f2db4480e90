"""Paired views of real data and their second moments, exactly and block by block.

    >>> import numpy as np
    >>> from dynamics.views import masked, second_moments
    >>> moments = second_moments(masked(np.eye(4), keep=0.5))
    >>> moments.input_covariance.shape, moments.count
    ((4, 4), 4)

A row of the data becomes a pair (x, y): two given rows, a masked and a full row, or a row and a later one. All that the
linear theory asks of them is Sxx = E[x x'] and Syx = E[y x'] about the means. Masks are averaged over exactly, not sampled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import cbrt, ceil
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dynamics.checks import whole_number
from dynamics.errors import LindynError, ParameterError
from dynamics.features import FloatArray
from dynamics.large import chunk_ends, is_stored, read_rows, side_by_side

Found = TypeVar("Found")

BLOCK_BYTES = 1 << 25
"""Size of the float64 block of rows worked on at a time."""

LEAST_VARIANCE, MOST_VARIANCE = 1e-140, 1e140
"""Range of variances whose squares, which the distances from the theory need, a double still holds."""


@dataclass(frozen=True)
class Masking:
    """What masks make of a second moment C on average: ``full * C + diagonal * diag(C)``.

    The diagonal is apart because an entry meets its own mask there.
    """

    full: float
    diagonal: float

    def moment(self, covariance: FloatArray) -> FloatArray:
        """The second moment of the masked views, shape ``(d, d)`` as ``covariance``."""
        return self.full * covariance + self.diagonal * np.diag(np.diagonal(covariance))

    def along(self, x: FloatArray, y: FloatArray, directions: FloatArray) -> FloatArray:
        """``u' moment(y x') u`` for every row of ``x`` and ``y`` (rows x d) and every direction (d x r): rows x r."""
        return self.full * (y @ directions) * (x @ directions) + self.diagonal * ((y * x) @ directions**2)


UNMASKED = Masking(1.0, 0.0)

_TARGETS: dict[str, Callable[[float], Masking]] = {
    "full": lambda q: Masking(q, 0.0),
    "independent": lambda q: Masking(q * q, 0.0),
    "complementary": lambda q: Masking(q * (1 - q), -q * (1 - q)),
}


@dataclass(frozen=True, eq=False)
class Rows:
    """One side of the pairs: consecutive rows of a table, never copied as a whole.

    Attributes
    ----------
    values
        Shape ``(rows, d)``, of any real, integer or boolean type; may be memory-mapped, or a Dask array.
    name
        What messages call the table.
    columns
        Labels of its columns, or None for the numbers from 1.
    first
        Position in the table of the first of these rows, counted from 0.
    unit
        What every column is divided by, or None.
    """

    values: npt.NDArray[Any]
    name: str
    columns: tuple[str, ...] | None = None
    first: int = 0
    unit: FloatArray | None = None

    @property
    def precision(self) -> float:
        """Relative spacing of the numbers as stored, and of doubles at least."""
        kept = self.values.dtype.kind == "f"
        return max(float(np.finfo(self.values.dtype).eps if kept else 0.0), float(np.finfo(np.float64).eps))

    def block(self, part: slice | npt.NDArray[np.intp]) -> FloatArray:
        """Some of the rows as new doubles; raises a `ParameterError` that names an entry which is not finite."""
        rows = read_rows(self.values, part) if is_stored(self.values) else self.values[part]
        block = np.array(rows, dtype=np.float64, order="C")
        if not np.isfinite(block).all():
            row, column = np.argwhere(~np.isfinite(block))[0]
            label = f" ({self.columns[column]})" if self.columns else ""
            number = np.arange(len(self.values))[part][row]
            where = f"row {self.first + number + 1}, column {column + 1}{label}"
            raise ParameterError(self.name, f"{block[row, column]} in {where}", "finite")
        if self.unit is not None:
            block /= self.unit
        return block


@dataclass(frozen=True, eq=False)
class Views:
    """How rows of data become pairs (x, y); made by `paired`, `masked` or `lagged`.

    Attributes
    ----------
    x, y
        The two sides before masking, of equal shape; the same object where both views show one row.
    input_masking, cross_masking
        What the masks make of the second moments of the sides: Sxx from that of x, Syx from that of y with x.
    block_length
        Rows that depend on one another and are therefore resampled together (see `bootstrap`); 1 for independent rows.
    keep, target
        How masked views are masked, as for `masked`.
    """

    x: Rows
    y: Rows
    input_masking: Masking = UNMASKED
    cross_masking: Masking = UNMASKED
    block_length: int = 1
    keep: float = 1.0
    target: str = "full"

    @property
    def count(self) -> int:
        """Number of pairs."""
        return len(self.x.values)

    @property
    def width(self) -> int:
        """Number of columns d."""
        return int(self.x.values.shape[1])

    def blocks(self, numbers_per_row: int) -> Iterator[slice]:
        """The rows in order, in slices that hold about 32 MB at so many doubles a row, or whole chunks of a stored table."""
        step = max(1, BLOCK_BYTES // (8 * numbers_per_row))
        if not is_stored(self.x.values):
            return (slice(start, min(start + step, self.count)) for start in range(0, self.count, step))
        return _whole_chunks(chunk_ends(self.x.values), step)

    def over_blocks(self, work: Callable[[slice], Found]) -> Iterator[Found]:
        """The work on every block, in order; on the blocks of a stored table side by side."""
        blocks = self.blocks(self.width)
        return side_by_side(work, blocks) if is_stored(self.x.values) else map(work, blocks)

    def centred(
        self, part: slice | npt.NDArray[np.intp], columns: npt.NDArray[np.intp], means: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Some rows of x and of y, in the given columns and about the given means."""
        x = self.x.block(part)[:, columns] - means[0]
        return x, x if self.y is self.x else self.y.block(part)[:, columns] - means[1]


def _whole_chunks(ends: Sequence[int], step: int) -> Iterator[slice]:
    """Chunks joined to slices of at most so many rows, unless a single one has more."""
    start = last = 0
    for end in ends:
        if last > start and end - start > step:
            yield slice(start, last)
            start = last
        last = end
    yield slice(start, last)


def paired(x: npt.ArrayLike, y: npt.ArrayLike, *, columns: Sequence[str] | None = None) -> Views:
    """Row by row a pair: two tables of one shape whose columns are the same coordinates, because x and y live in one space.

    Raises
    ------
    ParameterError
        If a table is not two-dimensional, not of real numbers, or has fewer than 2 rows.
    LindynError
        If the shapes differ, or ``columns`` does not hold one name a column.
    """
    first, second = _rows(x, "X", columns), _rows(y, "Y", columns)
    if first.values.shape != second.values.shape:
        have, other = (f"{side.values.shape[0]} rows and {side.values.shape[1]} columns" for side in (first, second))
        raise LindynError(f"X has {have} and Y has {other}; the two views need the same rows and the same columns.")
    return Views(first, second)


def masked(x: npt.ArrayLike, *, keep: float, target: str = "full", columns: Sequence[str] | None = None) -> Views:
    """x is a row about its mean with every entry kept with probability ``keep``, independently, and otherwise set to 0.

    Parameters
    ----------
    keep
        q in (0, 1]; 1 masks nothing and has no complement.
    target
        What y shows of the same row: ``full`` the whole of it (Syx = q C), ``independent`` another mask of the same q
        (q^2 C), ``complementary`` what x hides (q(1-q)(C - diag C)), with C the covariance of the rows. Always
        Sxx = q^2 C + q(1-q) diag C.

    Raises
    ------
    ParameterError
        If ``keep`` or ``target`` is not one of these, or the table is not as for `paired`.
    """
    inputs, cross = maskings(keep, target)
    rows = _rows(x, "X", columns)
    return Views(rows, rows, inputs, cross, keep=float(keep), target=target)


def maskings(keep: float, target: str) -> tuple[Masking, Masking]:
    """What masks make of Sxx and of Syx, on average; parameters and errors are those of `masked`."""
    if target not in _TARGETS:
        raise ParameterError("target", target, "full, independent or complementary")
    most = "below 1, so that the complement shows something" if target == "complementary" else "at most 1"
    number = isinstance(keep, int | float | np.integer | np.floating) and not isinstance(keep, bool)
    if not (number and 0 < keep <= 1) or (keep == 1 and target == "complementary"):
        raise ParameterError("keep", keep, f"a number above 0 and {most}")
    return Masking(keep * keep, keep * (1 - keep)), _TARGETS[target](keep)


def lagged(x: npt.ArrayLike, *, lag: int, columns: Sequence[str] | None = None) -> Views:
    """x is row t of a series and y is row t + ``lag``, each about its own mean; rows are in time order, evenly spaced.

    Raises
    ------
    ParameterError
        If ``lag`` is not a whole number that leaves at least two pairs, or the table is not as for `paired`.
    """
    rows = _rows(x, "X", columns)
    if len(rows.values) < 3:
        raise LindynError("X has 2 rows and lagged views need at least 3, because two pairs are the fewest with a variance.")
    shift = whole_number("lag", lag, 1, len(rows.values) - 2)
    early, late = replace(rows, values=rows.values[:-shift]), replace(rows, values=rows.values[shift:], first=shift)
    count = len(early.values)
    return Views(early, late, block_length=min(ceil(cbrt(count)), count // 2))


def standardised(views: Views) -> Views:
    """The same views with every column divided by its standard deviation in x, in both sides: no unit outweighs another.

    Masks keep their meaning, because an entry that is set to 0 is 0 in every unit. Raises what `second_moments` raises.
    """
    moments = second_moments(replace(views, input_masking=UNMASKED, cross_masking=UNMASKED))
    unit = np.ones(views.width)
    unit[moments.columns_kept] = np.sqrt(np.diagonal(moments.input_covariance))
    x = replace(views.x, unit=unit)
    return replace(views, x=x, y=x if views.y is views.x else replace(views.y, unit=unit))


@dataclass(frozen=True, eq=False)
class SecondMoments:
    """Population second moments of paired views about their means, divided by the number of pairs.

    Attributes
    ----------
    input_covariance, cross_covariance
        Sxx = E[x x'] and Syx = E[y x'] over the kept columns, in the squared units of the data.
    count
        Pairs behind them.
    columns_kept
        Positions of the columns in which x varies, counted from 0.
    means
        Of x and of y before masking, in the kept columns.
    notes
        One sentence for each thing that was left out.
    precision
        Relative rounding of the entries behind the moments.
    """

    input_covariance: FloatArray
    cross_covariance: FloatArray
    count: int
    columns_kept: npt.NDArray[np.intp]
    means: tuple[FloatArray, FloatArray]
    notes: tuple[str, ...] = ()
    precision: float = float(np.finfo(np.float64).eps)


def second_moments(views: Views) -> SecondMoments:
    """Second moments in two passes over blocks of rows, the means first, in doubles whatever the type of the data.

    Needs memory for a few d x d matrices and blocks, so the data may be a memory-mapped file larger than memory, or a Dask
    array, of which it reads as many blocks at a time as there are cores. Columns in
    which x does not vary beyond the rounding of its numbers are left out of both views, with a note.

    Raises
    ------
    ParameterError
        If an entry is not finite; names its row and column, counted from 1.
    LindynError
        If no column varies, or variances leave the range from 1e-140 to 1e140.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        mean, varies = _mean_and_variation(views, views.x)
        other = mean if views.y is views.x else _mean_and_variation(views, views.y)[0]
        kept = np.flatnonzero(varies)
        notes = _constant_columns(views.x, varies)
        means = mean[kept], other[kept]

        def products(part: slice) -> tuple[FloatArray, FloatArray]:
            x, y = views.centred(part, kept, means)
            inputs = x.T @ x / views.count
            return inputs, inputs if y is x else y.T @ x / views.count

        raw_input, raw_cross = np.zeros((len(kept), len(kept))), np.zeros((len(kept), len(kept)))
        for inputs, cross in views.over_blocks(products):
            raw_input += inputs
            raw_cross += cross
    _require_in_range(raw_input, raw_cross)
    input_covariance, cross_covariance = views.input_masking.moment(raw_input), views.cross_masking.moment(raw_cross)
    return SecondMoments(input_covariance, cross_covariance, views.count, kept, means, notes, views.x.precision)


def _mean_and_variation(views: Views, side: Rows) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Means of the columns, and whether they vary. Measured from the first row, so that a constant has no rounding."""
    origin = side.block(slice(0, 1))[0]

    def measures(part: slice) -> tuple[FloatArray, FloatArray, FloatArray]:
        block = side.block(part)
        largest = np.abs(block).max(axis=0)
        block -= origin
        return largest, np.abs(block).max(axis=0), block.sum(axis=0)

    total, spread, size = np.zeros(views.width), np.zeros(views.width), np.zeros(views.width)
    for largest, farthest, sums in views.over_blocks(measures):
        size, spread = np.maximum(size, largest), np.maximum(spread, farthest)
        total += sums
    return origin + total / views.count, spread > 4 * side.precision * size


def _constant_columns(side: Rows, varies: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    if varies.all():
        return ()
    if not varies.any():
        raise LindynError(f"no column of {side.name} varies, so x has no features.")
    constant = np.flatnonzero(~varies)
    labels = [side.columns[column] if side.columns else str(column + 1) for column in constant[:8]]
    more = f" and {len(constant) - 8} more" if len(constant) > 8 else ""
    what = f"{len(constant)} of the {len(varies)} columns, {', '.join(labels)}{more}"
    return (f"x does not vary in {what}; left out of both views.",)


def _require_in_range(raw_input: FloatArray, raw_cross: FloatArray) -> None:
    largest = float(np.diagonal(raw_input).max())
    crossing = float(np.abs(raw_cross).max())
    if not (LEAST_VARIANCE <= largest <= MOST_VARIANCE and crossing <= MOST_VARIANCE):
        have = f"the largest variance of x is {largest:.3g} and the largest covariance with y {crossing:.3g}"
        raise LindynError(f"{have}; rescale the data so that they lie between {LEAST_VARIANCE} and {MOST_VARIANCE}.")


def _rows(values: npt.ArrayLike, name: str, columns: Sequence[str] | None) -> Rows:
    try:
        array: Any = values if is_stored(values) else np.asarray(values)
    except ValueError:
        raise ParameterError(name, "a ragged list", "a table of numbers, one row a sample") from None
    if array.ndim != 2 or array.shape[1] == 0:
        raise ParameterError(name, f"an array of shape {array.shape}", "a table of numbers, one row a sample")
    if array.dtype.kind not in "biuf":
        raise ParameterError(name, f"an array of type {array.dtype}", "an array of real numbers")
    if len(array) < 2:
        raise ParameterError(name, f"a table of {len(array)} rows", "a table of at least 2")
    if columns is not None and len(columns) != array.shape[1]:
        raise LindynError(f"there are {len(columns)} names for the {array.shape[1]} columns of {name}.")
    return Rows(array, name, None if columns is None else tuple(map(str, columns)))
