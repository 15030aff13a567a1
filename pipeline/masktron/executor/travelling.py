"""What travels between a run and its workers: functions, slices, results and errors, as bytes."""

from __future__ import annotations

import pickle
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from masktron.errors import MasktronError
from masktron.executor.contract import SliceFailedError
from masktron.kernels.blas_threads import blas_alone
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

type Answer = tuple[bool, Any]
"""Whether a slice is done, with its result; else its error."""


class _Functions(threading.local):
    """Those that a thread was sent last: what they compile is for this thread."""

    def __init__(self) -> None:
        self.kept: OrderedDict[bytes, Callable[[Any], Any]] = OrderedDict()


_FUNCTIONS = _Functions()


def carried(what: object) -> bytes:
    """Return an object as bytes."""
    return pickle.dumps(what, protocol=pickle.HIGHEST_PROTOCOL)


def answer(function: bytes, piece: bytes, seconds: float) -> bytes:
    """Apply a function to a slice, both as `carried`, and return the `Answer` so too.

    Parameters
    ----------
    seconds : float
        What engines may take for a rule.
    """
    try:
        with rules_within(seconds), blas_alone():
            return carried((True, _function(function)(pickle.loads(piece))))  # noqa: S301 - from our own run
    except Exception as error:  # noqa: BLE001 -- raised again in the run, at its place in the order
        return carried((False, portable(error)))


def result(said: bytes) -> Any:
    """Return the result in an answer, or raise its error."""
    done, value = pickle.loads(said)  # noqa: S301 - from our own worker
    if done:
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
