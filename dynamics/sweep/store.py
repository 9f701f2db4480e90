"""The store of a sweep: a folder to which finished cells are added, each whole or not at all, by any number of processes.

``sweep.json``                     what the sweep is
``cells/KE/KEY/table.parquet``     rows of a finished cell, and beside them
``cells/KE/KEY/cell.json``         all that they depend on, and how long they took
``failed/KEY.json``                the same of a cell that failed, with its error
``claims``                         locks of the cells that are being computed; they end with the process that holds them
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dynamics.errors import LindynError, TableError
from dynamics.files import reason, replaced
from dynamics.sweep.claims import Claims
from dynamics.sweep.plan import Sweep
from dynamics.table import Table

ABOUT, CELLS, FAILED, CLAIMS = "sweep.json", "cells", "failed", "claims"
TABLE, RESOLVED = "table.parquet", "cell.json"
PARTS = ("command", "table", "observables", "axes", "shown", "sources", "version")
"""What a store says of its sweep, as `Sweep.described` has it."""
UNFINISHED = "."
"""How the name of a cell begins while it is being written."""


class StoreError(LindynError):
    """A folder that is no store, or the store of another sweep."""


class WriteError(TableError):
    """A store that cannot be written to; what it holds stays."""


@dataclass(frozen=True)
class Failure:
    """Why a cell failed.

    Attributes
    ----------
    kind
        Name of the exception.
    message
        What it says.
    traceback
        Where it came from.
    """

    kind: str
    message: str
    traceback: str = ""


@dataclass(frozen=True)
class Store:
    """A store in a folder."""

    path: Path

    def opened(self, sweep: Sweep, *, extend: bool = False) -> Store:
        """The store, made if the folder is new or empty; it then belongs to this sweep.

        Raises
        ------
        StoreError
            If the folder holds something else, or the store of another sweep, as for `refuse_strange`.
        WriteError
            If it cannot be made.
        """
        self.refuse_strange(sweep, extend=extend)
        text = json.dumps(sweep.described(), indent=1, ensure_ascii=False)
        with self._writing():
            for name in (CELLS, FAILED):
                (self.path / name).mkdir(parents=True, exist_ok=True)
            if not self.exists():
                self._begin(text)
        self.refuse_strange(sweep, extend=extend)  # another process may have made it just now
        if self.about() != json.loads(text):
            with self._writing(), replaced(self.path / ABOUT) as stream:
                stream.write(text.encode())
        return self

    def refuse_strange(self, sweep: Sweep, *, extend: bool = False) -> None:
        """Raise a `StoreError` unless this is no store yet, or the store of this sweep, which ``extend`` lets another have.

        A store of another version stays its own.
        """
        if self.path.exists() and not self.path.is_dir():
            raise StoreError(f"{self.path} is a file; name a folder with --store.")
        if not self.exists():
            try:
                strange = next((entry.name for entry in self.path.iterdir() if not self._is_own(entry.name)), None)
            except OSError:
                return
            if strange is not None:
                raise StoreError(f"{self.path} holds {strange} and is no store of a sweep; name a new folder with --store.")
            return
        about, asked = self.about(), json.loads(json.dumps(sweep.described()))
        if about["version"] != sweep.version:
            raise StoreError(
                f"{self.path} was made by {about['version']}, and this is {sweep.version}: cells of both do not go into one"
                " table; use that version, or name a new folder with --store. lindyn sweep-table still gathers what is there."
            )
        if about != asked and not extend:
            differing = [name for name in ("command", "table", "observables", "axes", "sources") if about[name] != asked[name]]
            kept = sum(self.is_finished(cell.key) for cell in sweep.cells())
            raise StoreError(
                f"{self.path} was made by another configuration (it differs in {', '.join(differing) or 'axes'}); name a new"
                f" folder with --store, or add --extend to go on in this one, which has {kept} of the {len(sweep)} cells."
            )

    def exists(self) -> bool:
        """Whether the folder is a store."""
        return (self.path / ABOUT).exists()

    def about(self) -> dict[str, Any]:
        """What its sweep is, as `Sweep.described` has it; raises a `StoreError` if it is no store."""
        try:
            found = json.loads((self.path / ABOUT).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StoreError(
                f"{self.path} is no store of a sweep; lindyn sweep CONFIG.toml --store {self.path} makes one."
            ) from None
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {reason(error)}.") from None
        except ValueError:
            raise StoreError(f"{self.path / ABOUT} is damaged; restore it, or name a new folder with --store.") from None
        if not isinstance(found, dict) or set(found) != set(PARTS):
            raise StoreError(f"{self.path / ABOUT} is damaged; restore it, or name a new folder with --store.")
        return found

    def is_finished(self, key: str) -> bool:
        """Whether a cell is there; one without content, left by a machine that lost its power, is not."""
        try:
            return os.stat(f"{self.path}/{CELLS}/{key[:2]}/{key}/{TABLE}").st_size > 0
        except OSError:
            return False

    def has_failed(self, key: str) -> bool:
        """Whether a cell was tried and failed."""
        return os.path.exists(f"{self.path}/{FAILED}/{key}.json")

    def prepare(self) -> None:
        """Load what the first cell would wait for."""
        import pyarrow as pa
        import pyarrow.parquet

        pa.array([0.0])

    def keep(self, key: str, table: Table, resolved: Mapping[str, Any]) -> None:
        """Add a finished cell, whole or not at all."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        place = self._place(key)
        beside = place.with_name(UNFINISHED + key)
        with self._writing():
            for left in (beside, place):  # by a process that was killed, as the claim is ours
                if left.exists() and not self.is_finished(key):
                    shutil.rmtree(left)
            try:
                beside.mkdir(parents=True, exist_ok=True)
                rows = pa.table({name: pa.array(column) for name, column in table.columns.items()})
                pq.write_table(rows, beside / TABLE, use_dictionary=False, write_statistics=False)
                (beside / RESOLVED).write_text(json.dumps(resolved, ensure_ascii=False), encoding="utf-8")
                os.rename(beside, place)
            except OSError:
                shutil.rmtree(beside, ignore_errors=True)
                if not self.is_finished(key):  # by another process, where there are no claims
                    raise
            self.forget(key)

    def keep_failure(self, key: str, failure: Failure, resolved: Mapping[str, Any]) -> None:
        """Keep why a cell failed."""
        with self._writing(), replaced(self._failed(key)) as stream:
            stream.write(json.dumps({"error": vars(failure), **resolved}, indent=1, ensure_ascii=False).encode())

    def forget(self, key: str) -> None:
        """Forget that a cell failed."""
        self._failed(key).unlink(missing_ok=True)

    def failure(self, key: str) -> Failure:
        """Why a cell failed."""
        return Failure(**json.loads(self._failed(key).read_text(encoding="utf-8"))["error"])

    def resolved(self, key: str) -> dict[str, Any]:
        """All that a finished cell depends on, how long it took and what is to be known of it."""
        found: dict[str, Any] = json.loads((self._place(key) / RESOLVED).read_text(encoding="utf-8"))
        return found

    def table(self, key: str) -> Path:
        """The file of the rows of a finished cell."""
        return self._place(key) / TABLE

    def claims(self) -> Claims:
        """Locks of the cells."""
        with self._writing():
            return Claims(self.path / CLAIMS)

    def _begin(self, text: str) -> None:
        """Write what the sweep is, unless another process does so at this moment."""
        beside = self.path / f"{UNFINISHED}{ABOUT}.{os.getpid()}"
        beside.write_text(text, encoding="utf-8")
        try:
            os.link(beside, self.path / ABOUT)
        except FileExistsError:
            pass
        finally:
            beside.unlink()

    def _place(self, key: str) -> Path:
        return self.path / CELLS / key[:2] / key

    def _failed(self, key: str) -> Path:
        return self.path / FAILED / f"{key}.json"

    def _is_own(self, name: str) -> bool:
        return name in (ABOUT, CELLS, FAILED, CLAIMS) or name.startswith(UNFINISHED + ABOUT)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            stays = "what was finished stays, and the same command goes on from there"
            raise WriteError(f"{self.path} cannot be written: {reason(error)}; {stays}.") from None
        except TableError as error:
            raise WriteError(str(error)) from None
