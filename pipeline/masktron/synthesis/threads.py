"""Linear algebra in one thread: several add up in another order, and the same seed has to give the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, wraps

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


def one_thread[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that does the same, with BLAS in one thread."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with blas_in_one_thread():
            return function(*args, **kwargs)

    return limited
