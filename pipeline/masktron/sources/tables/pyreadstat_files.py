"""Files of statistical packages as pyreadstat reads them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from masktron.errors import DocumentError
from masktron.extras import library


def pyreadstat_library() -> ModuleType:
    """Return pyreadstat.

    Raises
    ------
    UsageError
        It is not installed.
    """
    return library("pyreadstat", "reading and writing files of SPSS, Stata and SAS")


def read_file(path: Path, what: str, how: str, **told: Any) -> tuple[Any, Any]:
    """Read a file, every date as a number.

    Parameters
    ----------
    path : Path
    what : str
        The format, as a sentence names it.
    how : str
        Name of pyreadstat's function.
    told
        What else it is told.

    Raises
    ------
    DocumentError
        It is no such file.
    """
    with told_of(path, what):
        found: tuple[Any, Any] = getattr(pyreadstat_library(), how)(
            str(path), disable_datetime_conversion=True, **told
        )
    return found


@contextmanager
def told_of(path: Path, what: str) -> Iterator[None]:
    """Say of a file what ReadStat says.

    Parameters
    ----------
    path : Path
    what : str
        The format, as a sentence names it.

    Raises
    ------
    DocumentError
    """
    pyreadstat = pyreadstat_library()
    try:
        yield
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError, UnicodeDecodeError, TypeError) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise DocumentError.of("file-damaged", path, format=what, detail=reason) from error
