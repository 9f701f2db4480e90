"""A finished sweep, made once."""

import shutil
from pathlib import Path

import pytest

from tests.cli.sweeping import GRID, swept, written


@pytest.fixture(scope="module")
def whole_grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished store of GRID, to be copied."""
    folder = tmp_path_factory.mktemp("grid")
    assert swept(written(folder, GRID), folder / "store").exit_code == 0
    return folder / "store"


@pytest.fixture
def grid(whole_grid: Path, tmp_path: Path) -> tuple[Path, Path]:
    """The configuration GRID and its finished store, this test's own."""
    return written(tmp_path, GRID), Path(shutil.copytree(whole_grid, tmp_path / "store", copy_function=shutil.copy2))
