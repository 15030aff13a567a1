"""The cores that this process may use, and BLAS on one of them: several add up in another order."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


def usable_cores() -> int:
    """Return how many cores this process may use, which may be fewer than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blas_alone() -> AbstractContextManager[object]:
    """Return a context in which BLAS, as far as it is loaded, has one thread.

    numpy's BLAS and scipy's are libraries of their own: each has to be loaded to be found.
    """
    loaded = tuple(name for name in ("numpy", "scipy.linalg") if name in sys.modules)
    return _controller(loaded).limit(limits=1) if loaded else nullcontext()


@cache
def _controller(loaded: tuple[str, ...]) -> ThreadpoolController:
    """Return the BLAS libraries of this process: looking for them takes a hundred times as long as limiting them."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415 -- most commands do without it

    found: ThreadpoolController = ThreadpoolController().select(user_api="blas")  # type: ignore[no-untyped-call]
    return found
