"""Where compiled kernels are kept: beside the package, for everybody who may read it, else with the user.

numba's own cache looks only where it can write, so that users of a package that an administrator installed would each
compile it anew, and it takes a kernel for unchanged that calls a function of another module which has changed. Here
the folder of the package is always read, and a kernel is known by the source of all modules that it is made of.

A kept kernel is a pickle, which can run any code. It is read only from folders that `is_trusted`.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
import pkgutil
import re
import stat
import sys
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import (
    CompileResultCacheImpl,
    FunctionCache,
    IndexDataCacheFile,
    InTreeCacheLocator,
    UserProvidedCacheLocator,
    UserWideCacheLocator,
)

if sys.platform != "win32":
    import grp
    import pwd

_PACKAGE = __name__.rpartition(".")[0]
_IMPORTED = re.compile(rb"^from (%s\.\w+) import " % re.escape(_PACKAGE.encode()), re.MULTILINE)
"""Modules of kernels import others in this form alone, as a test asserts."""


def is_trusted(folder: str) -> bool:
    """Tell whether nobody but this user, root or the owner of the package can put files into a folder."""
    path = Path(folder)
    if not path.is_absolute() or not path.is_dir():
        return False
    if sys.platform == "win32":
        return True
    found = path.stat()
    others = stat.S_IWOTH if _is_private_group(found) else stat.S_IWOTH | stat.S_IWGRP
    return found.st_uid in (os.geteuid(), 0, Path(__file__).stat().st_uid) and not found.st_mode & others


if sys.platform != "win32":

    def _is_private_group(found: os.stat_result) -> bool:
        """Tell whether a group has the owner of the file as its only member: many systems make one for each user."""
        try:
            group, owner = grp.getgrgid(found.st_gid), pwd.getpwuid(found.st_uid)
        except KeyError:
            return False
        return group.gr_name == owner.pw_name and set(group.gr_mem) <= {owner.pw_name}


class _Trusted:
    """A place for kept kernels that is passed over where others can write to it."""

    def ensure_cache_path(self: Any) -> None:
        """Make the folder.

        Raises
        ------
        OSError
            It cannot be written to, or others can write to it.
        """
        folder = self.get_cache_path()
        if Path(folder).is_absolute():
            super().ensure_cache_path()  # type: ignore[misc]
        if not is_trusted(folder):
            raise PermissionError(f"others can write to {folder}")


class _NamedLocator(_Trusted, UserProvidedCacheLocator):
    """What ``NUMBA_CACHE_DIR`` names."""


class _BesideLocator(_Trusted, InTreeCacheLocator):
    """The folder of the package."""


class _UserLocator(_Trusted, UserWideCacheLocator):
    """The user's folder of caches."""


class _ReadOnlyLocator(InTreeCacheLocator):
    """The folder of the package where nothing can be written, for a user without a folder of his own."""

    def ensure_cache_path(self) -> None:
        """Take the folder as it is."""


class _Implementation(CompileResultCacheImpl):
    _locator_classes = [  # noqa: RUF012 -- as in its base
        _NamedLocator,
        _BesideLocator,
        _UserLocator,
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
        folders = filter(is_trusted, dict.fromkeys((_folder_of(locator), shared)))
        files = [_file(folder, name, stamp) for folder in folders]
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
