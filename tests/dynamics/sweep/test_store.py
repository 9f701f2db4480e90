"""Stores: cells are there whole or not at all, and a store belongs to one sweep."""

import errno
import json
import os
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from dynamics.sweep.configuration import sweep_of
from dynamics.sweep.plan import Sweep
from dynamics.sweep.store import Failure, Store, StoreError, WriteError
from dynamics.table import Table

ROWS = Table({"time": np.array([1.0, np.inf]), "status": np.array(["reached", "never"])})


def planned(**more: Any) -> Sweep:
    return sweep_of({"command": "attention phases", "settings": {"kappa_c": 0.9, "kappa_s": 0.4}} | more)


def test_a_cell_that_is_kept_is_there_with_all_that_it_depends_on(tmp_path: Path) -> None:
    sweep = planned(axes={"patches": [100, 200]})
    store = Store(tmp_path / "store").opened(sweep)
    first, second = sweep.cells()
    store.keep(first.key, ROWS, sweep.resolved(first))
    assert store.is_finished(first.key)
    assert not store.is_finished(second.key)
    assert pq.read_table(store.table(first.key)).to_pydict() == {"time": [1.0, np.inf], "status": ["reached", "never"]}
    resolved = json.loads((store.table(first.key).parent / "cell.json").read_text())
    assert resolved["parameters"]["patches"] == 100.0
    assert resolved["parameters"]["masked"] == 0.5
    assert resolved["version"] == sweep.version


def test_a_failure_is_kept_until_its_cell_is(tmp_path: Path) -> None:
    sweep = planned()
    store, cell = Store(tmp_path).opened(sweep), next(sweep.cells())
    store.keep_failure(cell.key, Failure("ParameterError", "it is wrong"), sweep.resolved(cell))
    assert store.has_failed(cell.key)
    assert not store.is_finished(cell.key)
    assert store.failure(cell.key) == Failure("ParameterError", "it is wrong")
    store.keep(cell.key, ROWS, sweep.resolved(cell))
    assert not store.has_failed(cell.key)


def test_what_a_killed_process_left_is_no_cell_and_in_nobodys_way(tmp_path: Path) -> None:
    sweep = planned()
    store, cell = Store(tmp_path).opened(sweep), next(sweep.cells())
    place = store.table(cell.key).parent
    half = place.with_name(f".{cell.key}")
    half.mkdir(parents=True)
    (half / "table.parquet").write_bytes(b"PAR1 and no more")
    assert not store.is_finished(cell.key)
    store.keep(cell.key, ROWS, sweep.resolved(cell))
    assert store.is_finished(cell.key)
    assert not half.exists()


def test_a_cell_without_content_is_not_finished_and_is_replaced(tmp_path: Path) -> None:
    sweep = planned()
    store, cell = Store(tmp_path).opened(sweep), next(sweep.cells())
    store.table(cell.key).parent.mkdir(parents=True)
    store.table(cell.key).touch()
    assert not store.is_finished(cell.key)
    store.keep(cell.key, ROWS, sweep.resolved(cell))
    assert store.is_finished(cell.key)


def test_a_cell_that_another_process_has_kept_meanwhile_stays(tmp_path: Path) -> None:
    sweep = planned()
    store, cell = Store(tmp_path).opened(sweep), next(sweep.cells())
    store.keep(cell.key, ROWS, sweep.resolved(cell))
    before = os.stat(store.table(cell.key))
    store.keep(cell.key, ROWS, sweep.resolved(cell))
    assert os.stat(store.table(cell.key)).st_ino == before.st_ino
    assert [entry.name for entry in store.table(cell.key).parent.parent.iterdir()] == [cell.key]


def test_a_store_opens_again_for_its_own_sweep_only(tmp_path: Path) -> None:
    Store(tmp_path).opened(planned())
    Store(tmp_path).opened(planned())
    with pytest.raises(StoreError, match=r"another configuration \(it differs in axes\).*--extend"):
        Store(tmp_path).opened(planned(axes={"masked": [0.4, 0.5]}))


def test_a_store_of_another_version_is_refused_with_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("dynamics.sweep.configuration.code_version", lambda: "lindyn 0.0.1")
        Store(tmp_path).opened(planned())
    with pytest.raises(StoreError, match=r"made by lindyn 0\.0\.1, and this is lindyn"):
        Store(tmp_path).opened(planned(), extend=True)


def test_an_extended_store_keeps_the_cells_that_both_have(tmp_path: Path) -> None:
    small, large = planned(axes={"masked": [0.4, 0.5]}), planned(axes={"masked": [0.5, 0.6]})
    store = Store(tmp_path).opened(small)
    for cell in small.cells():
        store.keep(cell.key, ROWS, small.resolved(cell))
    store.opened(large, extend=True)
    assert [store.is_finished(cell.key) for cell in large.cells()] == [True, False]
    assert store.about() == large.described()


def test_a_folder_of_other_things_is_not_made_a_store(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(StoreError, match=r"holds thesis\.tex and is no store"):
        Store(tmp_path).opened(planned())
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_is_no_store_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is no store of a sweep"):
        Store(tmp_path / "missing").about()
    (tmp_path / "sweep.json").write_text("{")
    with pytest.raises(StoreError, match="is damaged"):
        Store(tmp_path).about()
    (tmp_path / "sweep.json").write_text("{}")
    with pytest.raises(StoreError, match="is damaged"):
        Store(tmp_path).about()
    (tmp_path / "sweep.json").write_text("[]")
    with pytest.raises(StoreError, match="is damaged"):
        Store(tmp_path).about()


def test_a_file_is_no_place_for_a_store(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="is a file; name a folder"):
        Store(tmp_path / "file").opened(planned())
    with pytest.raises(WriteError, match=r"cannot be written: not a directory; what was finished stays"):
        Store(tmp_path / "file" / "store").opened(planned())


def test_a_disk_that_fills_up_while_a_cell_is_written_leaves_nothing_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = planned(axes={"masked": [0.4, 0.5]})
    store = Store(tmp_path).opened(sweep)
    first, second = sweep.cells()
    store.keep(first.key, ROWS, sweep.resolved(first))

    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pyarrow.parquet.write_table", full)
    with pytest.raises(WriteError, match="no space left on device; what was finished stays"):
        store.keep(second.key, ROWS, sweep.resolved(second))
    assert store.is_finished(first.key)
    assert not store.is_finished(second.key)
    assert not list(tmp_path.glob("cells/*/.*"))


def test_where_there_are_no_locks_every_claim_is_granted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    with Store(tmp_path).opened(planned()).claims() as claims, monkeypatch.context() as patch:
        patch.setattr("fcntl.lockf", none)
        assert claims.take("a" * 24)
        claims.release("a" * 24)


def _claim(path: str, key: str, done: Any, leave: Any) -> None:
    claims = Store(Path(path)).claims()
    done.put(claims.take(key))
    leave.wait()


def test_a_claim_lasts_as_long_as_its_process_and_no_longer(tmp_path: Path) -> None:
    store = Store(tmp_path).opened(planned())
    key, other = "a" * 24, "b" * 24
    context = get_context("spawn")
    done, leave = context.Queue(), context.Event()
    process = context.Process(target=_claim, args=(str(tmp_path), key, done, leave))
    process.start()
    assert done.get(timeout=60)
    with store.claims() as claims:
        assert not claims.take(key)
        assert not claims.is_free(key)
        assert claims.take(other)
        process.kill()
        process.join()
        assert claims.is_free(key)
        assert claims.take(key)
        claims.release(key)
        assert claims.take(key)
