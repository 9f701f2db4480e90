"""Claims: which process computes which cell, as locks that the system gives back when a process ends, however it does."""

from __future__ import annotations

import errno
from contextlib import suppress
from pathlib import Path
from types import TracebackType

try:
    import fcntl
except ImportError:  # no such locks: two processes may then compute the same cell, and one of them keeps it
    fcntl = None  # type: ignore[assignment]

WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What file systems say that know no locks: on them every claim is granted."""

DIGITS = 15
"""Hexadecimal digits of a key that say which byte of the file is locked: as many as a file can be long."""


class Claims:
    """Locks in one file, a byte a cell; a process has one such object for a file, as closing it gives all back."""

    def __init__(self, path: Path) -> None:
        self._stream = open(path, "ab")  # noqa: SIM115 - open as long as claims are held

    def take(self, key: str) -> bool:
        """Claim a cell; False if another process has it."""
        if fcntl is None:
            return True
        try:
            fcntl.lockf(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(key[:DIGITS], 16))
        except (BlockingIOError, PermissionError):  # systems differ in how they say so
            return False
        except OSError as error:
            if error.errno not in WITHOUT_LOCKS:
                raise
        return True

    def is_free(self, key: str) -> bool:
        """Whether no other process has a cell."""
        free = self.take(key)
        if free:
            self.release(key)
        return free

    def release(self, key: str) -> None:
        """Give a cell back."""
        if fcntl is not None:
            with suppress(OSError):  # where there are no locks
                fcntl.lockf(self._stream, fcntl.LOCK_UN, 1, int(key[:DIGITS], 16))

    def __enter__(self) -> Claims:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stream.close()
