"""Packages that masktron loads when it needs them: which extra brings each, and why one cannot be used here."""

from __future__ import annotations

import importlib
import os
import re
import warnings
from dataclasses import dataclass
from threading import RLock
from types import MappingProxyType, ModuleType

from masktron.errors import UsageError
from masktron.versions import PACKAGES, version_of


@dataclass(frozen=True, slots=True)
class OptionalPackage:
    """A package that not everybody needs.

    Attributes
    ----------
    name : str
        As pip has it.
    extra : str
        Of masktron, with which it is installed.
    least : str
        The oldest version that will do.
    module : str
        What is imported of it.
    """

    name: str
    extra: str
    least: str
    module: str


OPTIONAL_PACKAGES = MappingProxyType(
    {
        one.name: one
        for one in (
            OptionalPackage("zstandard", "zstd", "0.22", "zstandard"),
            OptionalPackage("pyreadstat", "spss", "1.3.6", "pyreadstat"),
            OptionalPackage("fastexcel", "excel", "0.20", "fastexcel"),
            OptionalPackage("xlsxwriter", "excel", "3.2", "xlsxwriter"),
            OptionalPackage("matplotlib", "report", "3.10", "matplotlib"),
            OptionalPackage("adbc-driver-postgresql", "sql", "1.13", "adbc_driver_postgresql.dbapi"),
            OptionalPackage("duckdb", "sql", "1.4", "duckdb"),
            OptionalPackage("starlette", "web", "0.47", "starlette.applications"),
            OptionalPackage("uvicorn", "web", "0.34", "uvicorn"),
            OptionalPackage("python-multipart", "web", "0.0.20", "python_multipart"),
            OptionalPackage("distributed", "dask", "2026.1", "distributed"),
            OptionalPackage("cryptography", "dask", "43", "cryptography"),
        )
    }
)
"""By name. `tests/test_extras.py` compares it with ``pyproject.toml``."""
_BY_MODULE = {one.module.partition(".")[0]: one for one in OPTIONAL_PACKAGES.values()}
_CORE = MappingProxyType(
    {name: {"scikit-learn": "sklearn", "pyyaml": "yaml"}.get(name, name) for name in (*PACKAGES, "jinja2")}
)
"""What every installation has: packages, and what is imported of each."""


_SETTINGS_FILES = frozenset({".numba_config.yaml", "matplotlibrc"})
"""Files in which libraries look for settings in the working folder when they are imported."""
_LOADING = RLock()


@dataclass(frozen=True, slots=True)
class Shortcoming:
    """A package that cannot be used.

    Attributes
    ----------
    package : str
    why : str
        What is wrong with it, to follow its name.
    install : str
        The command that helps.
    """

    package: str
    why: str
    install: str


def installing(*extras: str) -> str:
    """Return the command that installs extras; in quotation marks that shells of all systems know."""
    return f'pip install "masktron[{",".join(extras)}]"'


def load(module: str) -> ModuleType:
    """Import a library, which finds no settings in the working folder: somebody else may have sent that folder.

    Neither numba nor matplotlib has a switch for this. Changing the folder meanwhile would move other threads, too.

    Raises
    ------
    ImportError
    """
    with _LOADING:
        exists = os.path.exists
        os.path.exists = lambda path: path not in _SETTINGS_FILES and exists(path)
        try:
            return importlib.import_module(module)
        finally:
            os.path.exists = exists


def library(module: str, what: str) -> ModuleType:
    """Import a library that not everybody needs.

    Parameters
    ----------
    module : str
    what : str
        What it is needed for.

    Raises
    ------
    UsageError
        It is not installed, or cannot be loaded.
    """
    try:
        return load(module)
    except ImportError as error:
        package = _BY_MODULE[module.partition(".")[0]]
        found = _shortcoming(package, error)
        if found.why == _MISSING:
            raise UsageError.of("package-missing", what=what, package=(package.name,), extra=package.extra) from error
        raise UsageError.of(
            "package-broken", what=what, package=found.package, reason=found.why, install=found.install
        ) from error


def shortcoming_of(name: str) -> Shortcoming | None:
    """Tell why an optional package cannot be used here; None where it can. It is loaded for that."""
    package = OPTIONAL_PACKAGES[name]
    if (problem := _loading(package.module)) is not None:
        return _shortcoming(package, problem)
    own = version_of(name)
    if own is not None and _release(own) < _release(package.least):
        why = f"is of version {own}, and has to be of {package.least} or newer"
        return Shortcoming(name, why, installing(package.extra))
    return None


def broken_core() -> tuple[Shortcoming, ...]:
    """Return those packages of every installation that cannot be loaded here."""
    found = []
    for name, module in _CORE.items():
        if (problem := _loading(module)) is not None:
            found.append(Shortcoming(name, _why(module, problem), f"pip install --force-reinstall {name}"))
    return tuple(found)


def _loading(module: str) -> ImportError | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages, which do not speak of masktron
        try:
            load(module)
        except ImportError as error:
            return error
    return None


def _shortcoming(package: OptionalPackage, error: ImportError) -> Shortcoming:
    why = _why(package.module, error)
    missing = why == _MISSING
    install = installing(package.extra) if missing else f"pip install --force-reinstall {package.name}"
    return Shortcoming(package.name, why, install)


_MISSING = "is not installed"


def _why(module: str, error: ImportError) -> str:
    """Tell a package that is not there from one that cannot be loaded, such as for want of another one."""
    own = isinstance(error, ModuleNotFoundError) and error.name is not None
    if own and f"{module}.".startswith(f"{error.name}."):
        return _MISSING
    return f"cannot be loaded: {' '.join(str(error).split())}"


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers that a version begins with."""
    begin = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, begin[0].split("."))) if begin else ()
