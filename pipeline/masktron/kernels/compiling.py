"""How the kernels are compiled: once per machine where a cache can be kept, else once per process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit


def kernel[**P, R](function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function at its first call; it runs without the interpreter's lock.

    numba refuses to cache where neither the package nor the user has a folder that can be written to, as in a
    container without a home; the function is then compiled anew in each process.
    """
    compiled: Callable[P, R]
    try:
        compiled = njit(cache=True, nogil=True)(function)
    except RuntimeError:
        compiled = njit(nogil=True)(function)
    return compiled


def is_compiled(dispatcher: Any) -> bool:
    """Tell whether the first call will find the compiled form of a function, made after its source last changed."""
    if dispatcher.signatures:
        return True
    source = Path(dispatcher.py_func.__code__.co_filename)
    folder = dispatcher.stats.cache_path
    if folder is None or not Path(folder).is_dir():
        return False
    name = f"{source.stem}.{dispatcher.py_func.__name__}-"
    written = [path.stat().st_mtime for path in Path(folder).iterdir() if path.name.startswith(name)]
    # a package may be an archive, which is then the file that changes
    changed = next(path for path in (source, *source.parents) if path.exists()).stat().st_mtime
    return bool(written) and max(written) >= changed


def said_of_compiling(*, kept: bool) -> str:
    """Return what the user is told who waits for the compiler."""
    return f"compiling, {'once' if kept else 'in each run, as no folder for it can be written to'}"


def is_kept(dispatcher: Any) -> bool:
    """Tell whether the compiled form of a function outlives the process."""
    return dispatcher.stats.cache_path is not None
