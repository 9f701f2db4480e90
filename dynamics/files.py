"""Files written whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dynamics.errors import TableError


@contextmanager
def replaced(path: str | Path) -> Iterator[BinaryIO]:
    """A stream whose content takes the place of ``path`` once the block ends well; else the old file stays as it was.

    Links are followed, permissions kept; pipes and devices are written to as they are.
    """
    target = os.path.realpath(path)
    try:
        with _in_place(target) if _is_special(target) else _beside(target) as stream:
            yield stream
    except OSError as error:
        raise TableError(f"{path} cannot be written: {reason(error)}.") from None


def refuse_unwritable(path: str | Path) -> None:
    """Raise a `TableError` if the file could not be replaced: its folder is missing or closed to writing."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if os.path.isdir(target):
        raise TableError(f"{path} cannot be written: is a directory.")
    if not os.path.isdir(folder):
        raise TableError(f"{path} cannot be written: no such file or directory.")
    if not os.access(target if _is_special(target) else folder, os.W_OK):
        raise TableError(f"{path} cannot be written: permission denied.")


def reason(error: OSError) -> str:
    """What the operating system said, as the end of a sentence."""
    return (error.strerror or str(error)).lower()


def _is_special(target: str) -> bool:
    try:
        return not stat.S_ISREG(os.stat(target).st_mode)
    except FileNotFoundError:
        return False


def _in_place(target: str) -> BinaryIO:
    return open(target, "wb")


@contextmanager
def _beside(target: str) -> Iterator[BinaryIO]:
    import tempfile

    handle, beside = tempfile.mkstemp(prefix=f".{os.path.basename(target)}.", dir=os.path.dirname(target))
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        os.chmod(beside, _mode(target))
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise


def _mode(target: str) -> int:
    """The permissions of the file to replace, or those that a new file gets."""
    try:
        return stat.S_IMODE(os.stat(target).st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
