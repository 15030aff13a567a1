"""BLAS in one thread, where it is asked at all: several add up in another order.

What draws are made of is `masktron.kernels.linear_algebra`, which asks nobody.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """Return the BLAS libraries of this process: looking for them takes a hundred times as long as limiting them.

    numpy's BLAS and scipy's are libraries of their own: both have to be loaded to be found.
    """
    import scipy.linalg  # noqa: F401, PLC0415 -- listing the methods must not wait for it

    libraries: ThreadpoolController = ThreadpoolController().select(user_api="blas")  # type: ignore[no-untyped-call]
    return libraries


def blas_in_one_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS uses one thread."""
    limits: AbstractContextManager[object] = _controller().limit(limits=1)
    return limits
