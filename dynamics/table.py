"""A table in memory: columns by name, before anyone needs pandas."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

Columns = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """Named columns of one length, in order."""

    columns: Columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def to_dataframe(self) -> pd.DataFrame:
        """The table as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.columns, copy=False)

    def records(self) -> Iterator[dict[str, Any]]:
        """One dictionary a row, of plain Python values."""
        columns = [column.tolist() if isinstance(column, np.ndarray) else column for column in self.columns.values()]
        return (dict(zip(self.columns, row, strict=True)) for row in zip(*columns, strict=True))


class Tabular(ABC):
    """A result that can be laid out as a table, one row an entry."""

    @abstractmethod
    def columns(self) -> Columns:
        """Named columns, in the standard order where there is one."""

    def to_dataframe(self) -> pd.DataFrame:
        """The result as a pandas data frame."""
        return Table(self.columns()).to_dataframe()


def known(values: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    """A column of numbers with an empty cell for every nan."""
    return cells(None if np.isnan(value) else value for value in values.tolist())


def cells(values: Iterable[float | None]) -> npt.NDArray[Any]:
    """A column with empty cells: None where there is nothing to say."""
    column = list(values)
    array = anything(column)
    return array if None in column else array.astype(np.float64)


def anything(values: Iterable[Any]) -> npt.NDArray[Any]:
    """A column of whatever the values are."""
    column = list(values)
    array = np.empty(len(column), dtype=object)
    array[:] = column
    return array


def stacked(tables: Iterable[Table]) -> Table:
    """Tables of the same columns, one below the other."""
    parts = list(tables)
    if len(parts) == 1:
        return parts[0]
    return Table({name: np.concatenate([np.asarray(part.columns[name]) for part in parts]) for name in parts[0].columns})
