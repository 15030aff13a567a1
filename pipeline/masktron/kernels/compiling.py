"""How the kernels are compiled: once per machine where a cache can be kept, else once per process.

The compiler, which takes most of a second to load, is loaded when a kernel is called first or is asked whether it is
compiled, not where its module is imported: kernels are imported like any function.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import RLock
from typing import Any

from masktron.extras import load
from masktron.progress import Progress

_LOCK = RLock()
_PROGRESS: ContextVar[Progress | None] = ContextVar("progress", default=None)
"""Who is told that the compiler works.  A thread that calls kernels runs in a copy of its starter's context."""


class _Kernel:
    """A function that is compiled at its first call; all else that it is asked for, its compiled form answers.

    The compiler takes it for that form as well, where another kernel calls it: it asks for ``_numba_type_``, and for
    ``targetoptions`` and ``py_func`` of what is inlined.
    """

    def __init__(self, function: Callable[..., Any], *, cached: bool = False, **options: Any) -> None:
        self.__doc__, self.__module__ = function.__doc__, function.__module__
        self.__wrapped__ = function
        self._cached, self._options = cached, options
        self._compiled: Any = None

    def __call__(self, *values: Any, **named: Any) -> Any:
        compiled = self._compiled or self._made()
        progress = _PROGRESS.get()
        if progress is not None and self._cached and not is_compiled(compiled):
            progress(said_of_compiling(kept=is_kept(compiled)), 0)
        return compiled(*values, **named)

    def __getattr__(self, name: str) -> Any:
        # what Python itself looks for needs no compiler
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._compiled or self._made(), name)

    def __reduce__(self) -> str:
        return self.__wrapped__.__qualname__  # a copy, and what another process gets, is the kernel of this name

    def _made(self) -> Any:
        numba = load("numba")  # the one place that loads the compiler
        numba.core.config._config_fname = ""  # it would read the file of this name again before it compiles
        from masktron.kernels.kept import KernelCache  # noqa: PLC0415 -- it loads the compiler, too

        with _LOCK:
            if self._compiled is None:
                compiled: Any = numba.njit(nogil=True, **self._options)(self.__wrapped__)
                if self._cached:
                    compiled._cache = KernelCache(self.__wrapped__)
                self._compiled = compiled
            return self._compiled


@contextmanager
def told_of_compiling(progress: Progress) -> Generator[None]:
    """Tell who waits for a run, where a kernel that it calls has to be compiled first: that takes seconds."""
    token = _PROGRESS.set(progress)
    try:
        yield
    finally:
        _PROGRESS.reset(token)


def kernel[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call, or take the form that is kept; it runs without the interpreter's lock."""
    return _Kernel(function, cached=True)


def part[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function together with the kernels that call it, the only ones that do."""
    return _Kernel(function)


def inlined[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Write a function out in the kernels that call it, the only ones that do."""
    return _Kernel(function, inline="always")


def is_compiled(dispatcher: Any) -> bool:
    """Tell whether the first call will find a compiled form, made of the source as it is, for this processor."""
    return bool(dispatcher.signatures) or dispatcher._cache.holds(dispatcher.targetctx)


def said_of_compiling(*, kept: bool) -> str:
    """Return what the user is told who waits for the compiler."""
    return f"compiling, {'once' if kept else 'in each run, as no folder is closed to others'}"


def folder_of(dispatcher: Any) -> str | None:
    """Return the folder in which the compiled form of a function is kept, if it is."""
    return str(dispatcher._cache.cache_path) if is_kept(dispatcher) else None


def is_kept(dispatcher: Any) -> bool:
    """Tell whether the compiled form of a function outlives the process."""
    kept: bool = dispatcher._cache.is_kept
    return kept
