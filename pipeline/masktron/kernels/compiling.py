"""How the kernels are compiled: once per machine where a cache can be kept, else once per process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

from masktron.kernels.kept import KernelCache


def kernel[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call, or take the form that is kept; it runs without the interpreter's lock."""
    compiled: Any = njit(nogil=True)(function)
    compiled._cache = KernelCache(function)
    result: Callable[P, R] = compiled
    return result


def is_compiled(dispatcher: Any) -> bool:
    """Tell whether the first call will find a compiled form, made of the source as it is, for this processor."""
    return bool(dispatcher.signatures) or dispatcher._cache.holds(dispatcher.targetctx)


def said_of_compiling(*, kept: bool) -> str:
    """Return what the user is told who waits for the compiler."""
    return f"compiling, {'once' if kept else 'in each run, as no folder for it can be written to'}"


def folder_of(dispatcher: Any) -> str | None:
    """Return the folder in which the compiled form of a function is kept, if it is."""
    return str(dispatcher._cache.cache_path) if is_kept(dispatcher) else None


def is_kept(dispatcher: Any) -> bool:
    """Tell whether the compiled form of a function outlives the process."""
    kept: bool = dispatcher._cache.is_kept
    return kept
