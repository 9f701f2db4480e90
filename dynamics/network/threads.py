"""How many threads a run computes with."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

NARROW = 256
"""Width up to which threads wait for each other longer than they save, and on busy cores many times longer."""


def threads_for(width: int) -> AbstractContextManager[object]:
    """One thread for matrices of this width, so that bytes do not depend on the machine's cores; the user's for wide ones."""
    if width > NARROW:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits
