"""Where compiled kernels are kept: beside the package, for everybody who may read it, else with the user.

numba's own cache looks only where it can write, so that users of a package that an administrator installed would each
compile it anew, and it takes a kernel for unchanged that calls a function of another module which has changed. Here
the folder of the package is always read, and a kernel is known by the source of all modules that it is made of.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
import pkgutil
import re
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, suppress
from functools import cache
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)

_PACKAGE = __name__.rpartition(".")[0]
_IMPORTED = re.compile(rb"^from (%s\.\w+) import " % re.escape(_PACKAGE.encode()), re.MULTILINE)
"""Modules of kernels import others in this form alone, as a test asserts."""


class _ReadOnlyLocator(InTreeCacheLocator):
    """The folder of the package where nothing can be written, for a user without a folder of his own."""

    def ensure_cache_path(self) -> None:
        """Take the folder as it is."""


class _Implementation(CompileResultCacheImpl):
    _locator_classes = [  # noqa: RUF012 -- as in its base
        UserProvidedCacheLocator,
        InTreeCacheLocator,
        UserWideCacheLocator,
        _ReadOnlyLocator,
    ]


class KernelCache(FunctionCache):
    """Compiled forms of one kernel.

    Parameters
    ----------
    function : callable
        The kernel as it is written.
    """

    _impl_class = _Implementation

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        locator = self._impl.locator
        source = inspect.getfile(function)
        shared = _folder_of(InTreeCacheLocator(function, source))  # type: ignore[no-untyped-call]
        stamp = source_of(function.__module__)
        name = self._impl.filename_base
        self._writable = not isinstance(locator, _ReadOnlyLocator)
        files = [_file(folder, name, stamp) for folder in dict.fromkeys((_folder_of(locator), shared))]
        self._layers = _Layered(files, writable=self._writable)
        self._cache_file: Any = self._layers

    @property
    def is_kept(self) -> bool:
        """Whether what is compiled now outlives the process."""
        return self._writable

    def holds(self, target: Any) -> bool:
        """Tell whether a form for this processor is at hand, of any types."""
        processor = target.codegen().magic_tuple()
        return any(processor in key for key in self._layers.kept())


class _Layered:
    """Folders as one: read in turn, written to the first."""

    def __init__(self, files: list[Any], *, writable: bool) -> None:
        self._files = files
        self._writable = writable

    def load(self, key: Hashable) -> Any:
        """Return what is kept under a key, or None."""
        for file in self._files:
            with _unless_damaged():
                if (found := file.load(key)) is not None:
                    return found
        return None

    def save(self, key: Hashable, data: Any) -> None:
        """Keep what was compiled where that can be done."""
        if self._writable:
            self._files[0].save(key, data)

    def flush(self) -> None:
        """Forget what is kept."""
        if self._writable:
            self._files[0].flush()

    def kept(self) -> list[tuple[Any, ...]]:
        """Return the keys of all that is kept."""
        found: list[tuple[Any, ...]] = []
        for file in self._files:
            with _unless_damaged():
                found += file._load_index()
        return found


def _unless_damaged() -> AbstractContextManager[None]:
    """Pass over what somebody else's settings or a full disk have made unreadable: it is compiled anew."""
    return suppress(PermissionError, EOFError, pickle.UnpicklingError)


def _folder_of(locator: Any) -> str:
    return str(locator.get_cache_path())


def _file(folder: str, name: str, stamp: bytes) -> Any:
    created: Callable[..., Any] = IndexDataCacheFile
    return created(folder, name, stamp)


@cache
def source_of(module: str) -> bytes:
    """Return a digest of the source of a module of kernels, and of those that it imports.

    Parameters
    ----------
    module : str
        Its full name.
    """
    digest = hashlib.sha256()
    for name, text in sorted(_sources(module).items()):
        digest.update(f"{name}\0{len(text)}\0".encode())
        digest.update(text)
    return digest.digest()


def _sources(module: str) -> dict[str, bytes]:
    """Sources of a module and of the kernels that it imports, at any remove, by name."""
    found: dict[str, bytes] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found[name] = _read(name)
        waiting += [match.decode() for match in _IMPORTED.findall(found[name])]
    return found


@cache
def _read(module: str) -> bytes:
    text = pkgutil.get_data(_PACKAGE, f"{module.rpartition('.')[2]}.py")
    if text is None:
        raise ImportError(f"the source of {module} cannot be read")  # numba reads it too
    return text
