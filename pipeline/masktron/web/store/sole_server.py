"""One server for a folder of projects."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from masktron.errors import UsageError
from masktron.web.store.disk import make_private


@contextmanager
def sole_server(root: Path) -> Iterator[bool]:
    """Hold the folder of all projects for this server; gives False where another one has it.

    Raises
    ------
    UsageError
        Files there cannot be locked.
    """
    import fcntl  # noqa: PLC0415 -- not on Windows

    make_private(root)
    descriptor = os.open(root / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_sole = False
        except OSError as error:
            raise UsageError(
                f"files cannot be locked there: {error.strerror}", where=str(root), hint="name another: --projects"
            ) from error
        else:
            is_sole = True
        yield is_sole
    finally:
        os.close(descriptor)
