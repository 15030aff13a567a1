"""A Dask cluster on this machine: a scheduler in this process, and workers that end with it.

Dask's own way to start workers imports the script that called masktron once more (`masktron.child_process` says why
that is not done). Whoever reaches a scheduler can have it run anything. So this one listens on the loopback address,
and speaks only to who has a certificate that exists in the memory of these processes.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from masktron.child_process import ChildLostError, ChildProcess, Work
from masktron.errors import ResourceError, UsageError
from masktron.executor.travelling import ALONE
from masktron.scratch import private_folder

_HOST = "127.0.0.1"
_TRIES = 3
"""Ends of a worker that has not lived, one after the other, after which none is started."""
_LIVED = 5.0
"""Seconds after which a worker has lived."""
_UNWATCHED = MappingProxyType({"distributed.worker.profile.enabled": False})
"""Dask looks at all stacks every 10 ms, for a dashboard that nobody has here: a tenth of a worker's time."""


@dataclass(frozen=True, slots=True)
class ClusterHere:
    """A cluster on this machine.

    Attributes
    ----------
    address : str
    security : distributed.Security
    failure : callable
        Returns why there are no workers, if so.
    """

    address: str
    security: Any
    failure: Callable[[], str | None]


@contextmanager
def local_cluster(workers: int) -> Iterator[ClusterHere]:
    """Give a cluster of so many processes, each with one thread.

    Raises
    ------
    UsageError
        The package cryptography is not installed.
    ResourceError
        A port cannot be opened.
    """
    import dask  # noqa: PLC0415 -- an extra
    from distributed import LocalCluster, Security  # noqa: PLC0415

    try:
        security = Security.temporary()
    except ImportError:
        raise UsageError.of("package-missing", what="Dask", package=("cryptography",), extra="dask") from None
    with private_folder() as folder:
        # Dask opens a port for HTTP in any case: it has no pages, and is closed below
        # a worker has no second slice in waiting, which would be blamed for its end too
        settings = {
            **_UNWATCHED,
            "distributed.scheduler.worker-saturation": 1.0,
            "temporary-directory": str(folder),
            "distributed.scheduler.http.routes": [],
        }
        with dask.config.set(settings):
            try:
                cluster = LocalCluster(
                    n_workers=0,
                    host=_HOST,
                    protocol="tls://",
                    security=security,
                    dashboard_address=f"{_HOST}:0",
                    silence_logs=logging.CRITICAL,
                    # a slice that ends two workers is given to no third
                    scheduler_kwargs={"allowed_failures": 1, "dashboard": False},
                )
            except OSError as problem:
                raise ResourceError.of("worker-lost", reason=f"a scheduler cannot be started: {problem}") from None
            with cluster, _Led(workers, (cluster.scheduler_address, security, str(folder))) as led:
                cluster.sync(_deaf, cluster.scheduler)
                yield ClusterHere(cluster.scheduler_address, security, lambda: led.failure)


async def _deaf(server: Any) -> None:
    """Close the port for HTTP, which is not encrypted and asks nobody who he is."""
    server.http_server.stop()


class _Led:
    """Processes of workers, each with a thread that starts another one where it ends."""

    def __init__(self, workers: int, opening: tuple[str, Any, str]) -> None:
        self.failure: str | None = None
        self._opening = partial(work_for_scheduler, *opening)
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._processes: set[ChildProcess] = set()
        self._threads = [
            threading.Thread(target=self._lead, name="masktron-dask", daemon=True) for _ in range(workers)
        ]

    def __enter__(self) -> _Led:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._closing.set()
            for process in self._processes:
                process.kill()
        for thread in self._threads:
            thread.join()

    def _lead(self) -> None:
        tries = 0
        while not self._closing.is_set():
            since = time.monotonic()
            try:
                child = ChildProcess(self._opening, member=False, environment=ALONE)
            except ChildLostError as lost:
                self.failure = f"a worker of Dask cannot be started: {lost}"
                return
            with self._lock:
                self._processes.add(child)
                if self._closing.is_set():
                    child.kill()
            code = child.process.wait()
            child.close()
            with self._lock:
                self._processes.discard(child)
            tries = 0 if time.monotonic() > since + _LIVED else tries + 1
            if tries >= _TRIES:
                self.failure = f"workers of Dask end as soon as they are started (exit code {code})"
                return


def work_for_scheduler(address: str, security: Any, folder: str) -> Work:
    """Be a worker until the scheduler or the parent ends: this opening never returns."""
    tempfile.tempdir = str(Path(folder))
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    asyncio.run(_work(address, security, folder))
    os._exit(0)  # without the ends of engines that have much to take down


async def _work(address: str, security: Any, folder: str) -> None:
    import dask  # noqa: PLC0415 -- an extra
    from distributed import Worker  # noqa: PLC0415

    # memory is bounded by slices; what Dask would write to disk to save some are records
    with dask.config.set({**_UNWATCHED, "distributed.worker.http.routes": []}):
        async with Worker(
            address,
            nthreads=1,
            host=_HOST,
            security=security,
            local_directory=folder,
            memory_limit=0,
            dashboard_address=f"{_HOST}:0",
            dashboard=False,
        ) as worker:
            await _deaf(worker)
            await worker.finished()
