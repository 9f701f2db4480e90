"""Where cells are computed: in processes of this machine, or on a Dask cluster. Either hands out work and promises answers."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any, Protocol

from dynamics.checks import whole_number
from dynamics.errors import LindynError
from dynamics.sweep.parameters import Values
from dynamics.sweep.version import code_version
from dynamics.sweep.work import Answer, Job, computed
from dynamics.workers import cores, started, stop, submitted

AHEAD = 2
"""Cells handed out for each process, so that none waits for the next; no more, as others may share the store."""

ON_CLUSTER = 256
"""Cells handed out on a cluster, whose workers come and go."""

PATIENCE = 10
"""Seconds until a scheduler counts as not there."""


GONE = "The scheduler went away; start it again, and the same command goes on from here."


class EngineError(RuntimeError):
    """What cells are computed on is not there, or went away."""


class ProcessLostError(RuntimeError):
    """The process that computed a cell ended before it answered."""


class Promise(Protocol):
    """An answer to come."""

    def result(self) -> Any:
        """The answer; raises what became of it."""

    def add_done_callback(self, fn: Callable[[Any], object], /) -> object:
        """Call a function with this promise once the answer is there."""


class Engine(Protocol):
    """What computes cells.

    Attributes
    ----------
    window
        How many cells it is to be given at a time.
    """

    window: int

    def submit(self, values: Values) -> Promise:
        """Begin with a cell."""

    def answer(self, promise: Promise) -> Answer:
        """The answer; raises `ProcessLostError` or `EngineError` where there is none."""

    def renew(self) -> None:
        """Be ready again after a process was lost; cells in its neighbourhood may be lost with it."""


class Processes:
    """Processes of this machine, with one thread each."""

    def __init__(self, job: Job, contents: Mapping[str, Any], count: int) -> None:
        self.window = AHEAD * count
        self._count, self._shared = count, pickle.dumps((job, contents))
        self._pool = self._started()

    def submit(self, values: Values) -> Promise:
        """Begin with a cell."""
        try:
            return submitted(self._pool, _in_process, [values])[0]
        except BrokenProcessPool:
            self.renew()
            return submitted(self._pool, _in_process, [values])[0]

    def answer(self, promise: Promise) -> Answer:
        """The answer of a process."""
        try:
            answer: Answer = promise.result()
        except BrokenProcessPool:
            raise ProcessLostError from None
        return answer

    def renew(self) -> None:
        """Start new processes."""
        stop(self._pool)
        self._pool = self._started()

    def end(self, *, at_once: bool) -> None:
        """End the processes."""
        if at_once:
            stop(self._pool)
        else:
            self._pool.shutdown()

    def _started(self) -> ProcessPoolExecutor:
        pool = started(self._count, _share, self._shared)
        submitted(pool, _nothing, range(self._count))  # which starts them now
        return pool


@contextmanager
def processes(job: Job, contents: Mapping[str, Any], workers: int | None = None) -> Iterator[Processes]:
    """So many processes, by default one a core; they end with the block, at once where it fails.

    Raises
    ------
    ParameterError
        If ``workers`` is not a whole number, at least 1.
    """
    engine = Processes(job, contents, cores() if workers is None else whole_number("workers", workers, 1))
    try:
        yield engine
    except BaseException:
        engine.end(at_once=True)
        raise
    engine.end(at_once=False)


_SHARED: dict[str, Any] = {}
"""Of a process: the job, and what its cells are computed on."""


def _nothing(number: int) -> None:
    """No work."""


def _share(shared: bytes) -> None:
    _SHARED["job"], _SHARED["contents"] = pickle.loads(shared)


def _in_process(values: Values) -> Answer:
    return computed(_SHARED["job"], _SHARED["contents"], values)


class Cluster:
    """The workers of a Dask scheduler, which gives cells of a worker that ends to others."""

    window = ON_CLUSTER

    def __init__(self, client: Any, job: Job, contents: Mapping[str, Any]) -> None:
        self._client, self._job = client, job
        # As the answer of a task, and not scattered, it outlives every worker that holds it.
        self._contents = client.submit(_unpacked, pickle.dumps(contents), pure=False)

    def submit(self, values: Values) -> Promise:
        """Begin with a cell."""
        promise: Promise = self._client.submit(computed, self._job, self._contents, values, pure=False)
        return promise

    def answer(self, promise: Promise) -> Answer:
        """The answer of a worker."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker

        try:
            answer: Answer = promise.result()
        except KilledWorker:
            raise ProcessLostError from None
        except (CancelledError, OSError):
            raise EngineError(GONE) from None
        except Exception as error:  # computed() answers whatever happens in a cell
            raise EngineError(
                f"A worker cannot compute ({type(error).__name__}: {error}); install the same lindyn on all, and repeat the"
                " command."
            ) from None
        return answer

    def renew(self) -> None:
        """The scheduler sees to its workers."""


@contextmanager
def cluster(
    job: Job, contents: Mapping[str, Any], address: str, tell: Callable[[str], None] = lambda text: None
) -> Iterator[Cluster]:
    """The cluster of a scheduler; what it has not finished is taken back from it at the end of the block.

    ``tell`` is called with what a user should know while the cells are computed.

    Raises
    ------
    LindynError
        If Dask is not installed, or the address is none.
    EngineError
        If no scheduler answers, or its workers run another version of this library.
    """
    try:
        from distributed import Client
    except ImportError:
        raise LindynError(
            "A scheduler needs Dask, which is not installed; run pip install 'lindyn[distributed]', or leave --scheduler out."
        ) from None
    _require_address(address)
    with _quiet(), _connected(Client, address) as client:
        if not _versions_agree(client, job.version):
            tell(f"The scheduler at {address} has no workers yet; start one with dask worker {address}.")
        yield Cluster(client, job, contents)


def _connected(kind: Any, address: str) -> Any:
    try:
        client: Any = kind(address, timeout=f"{PATIENCE}s", set_as_default=False)
    except (OSError, TimeoutError):
        raise EngineError(
            f"No scheduler answers at {address} within {PATIENCE} s; start one with dask scheduler, or leave --scheduler out."
        ) from None
    return client


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave what Dask logs out: what a user is to know is said in one sentence."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _require_address(address: str) -> None:
    """Refuse what cannot be one, before a client waits for it."""
    from distributed.comm.addressing import parse_address, parse_host_port
    from distributed.comm.registry import get_backend

    try:
        protocol, place = parse_address(address)
        get_backend(protocol)
        known = bool(place) and (protocol not in ("tcp", "tls") or all(parse_host_port(place)))
    except ValueError:
        known = False
    if not known:
        raise LindynError(f"{address} is no address of a scheduler; give one like tcp://127.0.0.1:8786.")


def _versions_agree(client: Any, version: str) -> bool:
    """Ask the workers that are there; False where there are none."""
    try:
        found = client.run(code_version, on_error="return")
    except OSError:
        raise EngineError(GONE) from None
    for worker, told in found.items():
        if told != version:
            have = f"runs {told}" if isinstance(told, str) else f"cannot run lindyn ({told})"
            raise EngineError(f"The worker at {worker} {have}, and this is {version}; install the same there.")
    return bool(found)


def _unpacked(contents: bytes) -> Mapping[str, Any]:
    """What cells are computed on, from its way through a scheduler that need not know this library."""
    unpacked: Mapping[str, Any] = pickle.loads(contents)
    return unpacked
