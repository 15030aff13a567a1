"""Linear algebra in one thread: several add up in another order, and the same seed has to give the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from threadpoolctl import threadpool_limits


def one_thread[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that does the same, with BLAS in one thread."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with threadpool_limits(1, "blas"):  # type: ignore[no-untyped-call]
            return function(*args, **kwargs)

    return limited
