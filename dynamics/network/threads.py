"""How many threads a run computes with."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

NARROW = 256
"""Width up to which threads wait for each other longer than they save, and on busy cores many times longer."""


def threads_for(width: int) -> AbstractContextManager[object]:
    """One thread for matrices of this width, so that bytes do not depend on the number of cores.

    Wide ones are computed by as many as the user allows, and then the last digits can depend on that number. On another kind
    of processor they can differ in any case.
    """
    if width > NARROW:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits
