"""Slices on the workers of a Dask cluster: futures of dask.distributed, and nothing else of Dask.

The scheduler sees keys, functions and places of slices; results come from the workers. A function is the result of a
task of its own, so that it travels from worker to worker, and a worker that comes later gets it too.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Self

from masktron.errors import MasktronError, ResourceError, UsageError
from masktron.executor.contract import AHEAD, ended_twice, number_of
from masktron.executor.travelling import answer, as_given, carried_in_full, failed, result, seen
from masktron.processes import rule_seconds
from masktron.progress import Told, untold
from masktron.versions import version_of

if TYPE_CHECKING:
    from distributed import Client, Future

_ENCRYPTED = ("tls://", "wss://", "inproc://")
"""Protocols that ask for a certificate; and the one that does not leave this process."""
_OPEN = (
    "the scheduler of Dask was reached without TLS: whoever else reaches it or a worker could read the records and "
    "change the answers; see docs/clusters.md"
)
_LOOKING = 1.0
_MISSING = 20.0
"""Seconds after which a scheduler that does not answer, or has no workers, is given up."""


class DaskExecutor:
    """An `Executor` on a Dask cluster.

    Parameters
    ----------
    scheduler : str or None
        Address, as ``tcp://HOST:8786``; None for a cluster on this machine, which ends with the run. Certificates for
        ``tls://`` are those of Dask's own settings (``distributed.comm.tls``).
    workers : int
        Of a cluster on this machine; else the number is that of the cluster.

    Raises
    ------
    UsageError
        Dask is not installed. When it is entered: the scheduler does not answer, or has no workers.
    """

    name = "dask"

    def __init__(self, scheduler: str | None = None, *, workers: int = 1) -> None:
        try:
            import distributed  # noqa: F401, PLC0415 -- an extra
        except ImportError:
            raise UsageError.of("package-missing", what="Dask", package=("distributed",), extra="dask") from None
        self.workers = workers
        self.elsewhere = scheduler is not None
        self.notes: tuple[str, ...] = ()
        self._scheduler = scheduler
        self._client: Client | None = None
        self._failure: Callable[[], str | None] = lambda: None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(_quiet())
            if self._scheduler is None:
                from masktron.executor.dask_workers import local_cluster  # noqa: PLC0415

                cluster = stack.enter_context(local_cluster(self.workers))
                address, security, self._failure = cluster.address, cluster.security, cluster.failure
            else:
                address, security = self._scheduler, None
            self._client = stack.enter_context(_connected(address, security))
            least = self.workers if self._scheduler is None else 1
            self.workers = _threads(self._client, address, least, self._failure)
            self.notes = () if address.startswith(_ENCRYPTED) else (_OPEN,)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._client = None
        self._stack.close()

    def map[S, R](
        self, function: Callable[[S], R], slices: Iterable[S], *, stage: str, told: Told = untold
    ) -> Generator[R]:
        """Yield the result for each slice: `masktron.executor.contract.Executor.map`."""
        client = self._client
        if client is None:
            raise RuntimeError("an executor that is not open")
        with _reaching(client, stage):
            self.workers = _threads_now(client) or self.workers  # a cluster may grow
        # Dask's dashboard shows what stands before the first hyphen
        name = f"{stage.replace('-', ' ')}-{secrets.token_hex(16)}"
        travelling, paths = carried_in_full(function)
        with _reaching(client, stage):
            shared = client.submit(_itself, travelling, key=(f"setting up {name}", 0), pure=False)
        size, seconds, version = number_of(slices), rule_seconds(), version_of("masktron") or ""
        waiting = enumerate(slices)
        running: deque[Future[bytes]] = deque()
        taken = 0
        try:
            while True:
                while len(running) < AHEAD * self.workers and (piece := next(waiting, None)) is not None:
                    if client.status not in ("running", "connecting"):
                        raise _scheduler_gone(stage)
                    number, what = piece
                    given = (shared, carried_in_full(what)[0], seconds, version, tuple(paths))
                    with _reaching(client, stage):
                        running.append(client.submit(_done, *given, key=(name, number), pure=False))
                if not running:
                    return
                said = self._said(client, running[0], stage, taken)
                running.popleft().release()
                taken += 1
                try:
                    value = result(said)
                except MasktronError as error:
                    raise as_given(error, {} if isinstance(error, UsageError) else paths) from None
                if size is not None:
                    told(taken, size)
                yield value
        finally:
            with suppress(Exception):  # the scheduler may be gone, and with it what there is to cancel
                client.cancel([*running, shared], force=True)

    def _said(self, client: Client, future: Future[bytes], stage: str, number: int) -> bytes:
        """Wait for what is said of a slice."""
        from distributed import KilledWorker  # noqa: PLC0415
        from distributed.client import FutureCancelledError  # noqa: PLC0415

        since = time.monotonic()
        while True:
            try:
                said: bytes = future.result(timeout=_LOOKING)
            except OSError as problem:  # a TimeoutError is one
                if client.status == "running" and isinstance(problem, TimeoutError):
                    since = time.monotonic()
                if time.monotonic() > since + _MISSING:
                    raise _scheduler_gone(stage) from None
                if (failure := self._failure()) is not None:
                    raise ResourceError.of("worker-lost", stage, reason=failure) from None
                time.sleep(_LOOKING / 10)
            except KilledWorker:
                raise ended_twice(stage, number) from None
            except FutureCancelledError:
                raise _scheduler_gone(stage) from None
            except ImportError as problem:
                raise UsageError.of("worker-unfit", stage, reason=f"cannot load masktron: {problem}") from None
            else:
                return said


def _itself(function: bytes) -> bytes:
    return function


def _done(function: bytes, piece: bytes, seconds: float, version: str, paths: tuple[str, ...]) -> bytes:
    """Do a slice, in a worker."""
    own = version_of("masktron") or ""
    if own != version:
        return failed(UsageError.of("worker-unfit", reason=f"has masktron {own}, and this is masktron {version}"))
    return seen(answer(function, piece, seconds), paths)


@contextmanager
def _quiet() -> Iterator[None]:
    """Say nothing of connections that end: what matters of them is an error of ours."""
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _connected(address: str, security: Any) -> Iterator[Client]:
    from distributed import Client  # noqa: PLC0415

    # a client that gets no connection cannot be closed before it gives up
    try:
        with ThreadPoolExecutor(max_workers=1) as helper:  # a notebook has a loop in this thread
            helper.submit(asyncio.run, _reached(address, security)).result()
    except (OSError, ValueError, TypeError, RuntimeError, ImportError) as problem:
        reason = " ".join(str(problem).split()) or type(problem).__name__
        raise UsageError.of("cluster-unreachable", address, reason=reason) from None
    # results come from the workers, and not through the scheduler
    client = Client(address, security=security, set_as_default=False, timeout=_MISSING, direct_to_workers=True)
    try:
        yield client
    finally:
        client.close(timeout=_LOOKING)


async def _reached(address: str, security: Any) -> None:
    """Connect to a scheduler once."""
    from distributed import Security  # noqa: PLC0415
    from distributed.comm.core import connect  # noqa: PLC0415

    arguments = (security or Security()).get_connection_args("client")
    comm = await connect(address, timeout=_MISSING, **arguments)
    await comm.close()


def _threads(client: Client, address: str, least: int, failure: Callable[[], str | None]) -> int:
    """Wait for workers, and return how many slices they can do at a time."""
    until = time.monotonic() + _MISSING
    while True:
        if (threads := _threads_now(client)) >= least:
            return threads
        if (why := failure()) is not None:
            raise ResourceError.of("worker-lost", reason=why)
        if time.monotonic() > until:
            raise UsageError.of("cluster-unreachable", address, reason="it has no workers")
        time.sleep(_LOOKING / 10)


def _threads_now(client: Client) -> int:
    """Return how many slices the workers that are there can do at a time; 0 where the scheduler does not say."""
    workers = client.scheduler_info(n_workers=-1).get("workers", {})
    return sum(int(worker["nthreads"]) for worker in workers.values())


@contextmanager
def _reaching(client: Client, stage: str) -> Iterator[None]:
    """Take what Dask raises while its scheduler is not there for that."""
    from distributed.client import ClosedClientError  # noqa: PLC0415

    try:
        yield
    except (OSError, RuntimeError, ClosedClientError):
        if client.status == "running":
            raise
        raise _scheduler_gone(stage) from None


def _scheduler_gone(stage: str) -> ResourceError:
    return ResourceError.of("cluster-unreachable", stage, reason="its scheduler is gone")
