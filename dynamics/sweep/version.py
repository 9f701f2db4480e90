"""The version of what computes: of this library, to the last line, and of the libraries under its numbers."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

BENEATH = ("numpy", "scipy")
"""Libraries whose versions can change the last digits."""


@cache
def code_version() -> str:
    """Release, digest of the sources of `dynamics`, and the versions of NumPy and SciPy: equal ones compute equal bytes."""
    digest, root = sha256(), Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    libraries = ", ".join(f"{name} {version(name)}" for name in BENEATH)
    return f"lindyn {version('lindyn')} (code {digest.hexdigest()[:12]}, {libraries})"
