"""What travels between a run and its workers: functions, slices, results and errors, as bytes."""

from __future__ import annotations

import io
import os
import pickle
import socket
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from masktron.errors import MasktronError, UsageError
from masktron.executor.contract import SliceFailedError
from masktron.kernels.cores import blas_alone
from masktron.processes import rules_within

ALONE = MappingProxyType(
    dict.fromkeys(
        ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
        "1",
    )
)
"""Variables by which BLAS has one thread: several add up in another order."""
_KEPT = 4
"""Functions that a worker keeps with what they have compiled."""

_DONE, _FAILED = b"\1", b"\0"
"""How an answer begins: with the result of a slice, or its error."""


class _Functions(threading.local):
    """Those that a thread was sent last: what they compile is for this thread."""

    def __init__(self) -> None:
        self.kept: OrderedDict[bytes, Callable[[Any], Any]] = OrderedDict()


_FUNCTIONS = _Functions()


def carried(what: object) -> bytes:
    """Return an object as bytes."""
    return pickle.dumps(what, protocol=pickle.HIGHEST_PROTOCOL)


def carried_in_full(what: object) -> tuple[bytes, dict[str, str]]:
    """Return an object as bytes in which paths are full: a relative one names another file in another folder.

    Returns
    -------
    bytes
    dict of str to str
        Each path in full that stands in the object and is there, and as it was given.
    """
    stream = io.BytesIO()
    pickler = _InFull(stream)
    pickler.dump(what)
    return stream.getvalue(), pickler.found


class _InFull(pickle.Pickler):
    """Writes paths in full."""

    def __init__(self, stream: io.BytesIO) -> None:
        super().__init__(stream, protocol=pickle.HIGHEST_PROTOCOL)
        self.found: dict[str, str] = {}

    def reducer_override(self, one: Any) -> Any:
        """Return how a path is made again; everything else as it is usual."""
        if type(one) is not type(Path()):  # addresses of databases and names of data frames are others
            return NotImplemented
        full = os.path.abspath(one)  # noqa: PTH100 -- a link stays one
        if one.exists():
            self.found[full] = str(one)
        return type(one), (full,)


def seen(said: bytes, paths: Iterable[str]) -> bytes:
    """Return an answer; where it is an error, and this process does not see one of some paths, that error.

    Parameters
    ----------
    said : bytes
        As of `answer`.
    paths : iterable of str
        In full; those of `carried_in_full`.
    """
    if said.startswith(_DONE):
        return said
    hidden = next((path for path in paths if not os.access(path, os.R_OK)), None)
    if hidden is None:
        return said
    reason = f"on {socket.gethostname()} does not see the file or folder, or may not read it"
    return failed(UsageError.of("worker-unfit", hidden, reason=reason))


def as_given(error: MasktronError, paths: Mapping[str, str]) -> MasktronError:
    """Let an error of a worker name paths as they were given."""
    error.rename_files(paths)
    return error


def answer(function: bytes, piece: bytes, seconds: float) -> bytes:
    """Apply a function to a slice, both as `carried`, and return its result or error as bytes for `result`.

    Parameters
    ----------
    seconds : float
        What engines may take for a rule.
    """
    try:
        with rules_within(seconds), blas_alone():
            return _DONE + carried(_function(function)(pickle.loads(piece)))  # noqa: S301 - from our own run
    except Exception as error:  # noqa: BLE001 -- raised again in the run, at its place in the order
        return failed(portable(error))


def failed(error: Exception) -> bytes:
    """Return the answer that a slice ended with an error, which can be pickled."""
    return _FAILED + carried(error)


def result(said: bytes) -> Any:
    """Return the result in an answer, or raise its error."""
    value = pickle.loads(memoryview(said)[1:])  # noqa: S301 - from our own worker
    if said.startswith(_DONE):
        return value
    raise value


def portable(error: Exception) -> Exception:
    """Return an error that can be pickled: itself, with a note of where it happened, or `SliceFailedError`."""
    where = "".join(traceback.format_exception(error))
    if not isinstance(error, MasktronError):
        error.add_note(f"in a worker of masktron:\n{where}")
    try:
        same = type(pickle.loads(pickle.dumps(error))) is type(error)  # noqa: S301 - our own bytes
    except Exception:  # noqa: BLE001 -- whatever an error's own class does when it is made again
        same = False
    return error if same else SliceFailedError(where)


def _function(blob: bytes) -> Callable[[Any], Any]:
    kept = _FUNCTIONS.kept
    if blob not in kept:
        kept[blob] = pickle.loads(blob)  # noqa: S301 - from our own run
    kept.move_to_end(blob)
    while len(kept) > _KEPT:
        kept.popitem(last=False)
    return kept[blob]
