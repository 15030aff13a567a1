"""Files of statistical packages as pyreadstat reads and writes them."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from masktron.errors import DocumentError, UsageError
from masktron.extras import library
from masktron.problems.problem import format_option
from masktron.sources.tables.arrow_values import unfit_field
from masktron.sources.tables.stored_values import StoredColumn
from masktron.sources.variables import Variable

_CP1252 = format_option("encoding", "CP1252")
_UNKNOWN_TO_READSTAT = "unsupported character set"
_NOT_IN_ENCODING = "convert string"


def pyreadstat_library() -> ModuleType:
    """Return pyreadstat.

    Raises
    ------
    UsageError
        It is not installed.
    """
    return library("pyreadstat", "reading and writing files of SPSS, Stata and SAS")


def read_file(path: Path, what: str, how: str, *, encoding: str | None = None, **told: Any) -> tuple[Any, Any]:
    """Read a file, every date as a number.

    Texts that are UTF-8, in a file that names no other encoding, are read as such whatever `encoding` says: masktron
    writes its releases in UTF-8. A file of Stata has no such texts where an encoding is asked of it.

    Parameters
    ----------
    path : Path
    what : str
        The format, as a sentence names it.
    how : str
        Name of pyreadstat's function.
    encoding : str, optional
        Of texts, as Python or iconv names it.
    told
        What else it is told.

    Raises
    ------
    DocumentError
        It is no such file.
    UsageError
        There is no such encoding.
    """
    asked = [] if encoding is None else _names_of(encoding)
    names: list[str | None] = [*asked] if asked and how == "read_dta" else [None, *asked]
    for name in names:
        with told_of(path, what, name):
            try:
                found: tuple[Any, Any] = _reader(how)(
                    str(path), encoding=name, disable_datetime_conversion=True, **told
                )
            except (UnicodeDecodeError, pyreadstat_library().ReadstatError) as error:
                if name is None and encoding is not None:
                    continue
                if _UNKNOWN_TO_READSTAT in str(error) and name is not None:
                    continue
                raise
        if name is not None or encoding is None or is_utf8(found[1]):
            return found
    raise _no_encoding(path, encoding)


def is_utf8(meta: Any) -> bool:
    """Whether texts of a file are in UTF-8, or in ASCII, as far as it says."""
    return (meta.file_encoding or "UTF-8").upper() in ("UTF-8", "UTF8", "US-ASCII")


def _reader(how: str) -> Any:
    if how != "read_xport":
        return getattr(pyreadstat_library(), how)
    pyreadstat_library()
    from pyreadstat._readstat_parser import parser_entry_point  # noqa: PLC0415

    # read_xport itself takes special missing values for ordinary ones
    return lambda path, **told: parser_entry_point(path, "xport", **told)


def _names_of(encoding: str) -> list[str]:
    """Return the names that iconv may have for an encoding of Python."""
    try:
        own = codecs.lookup(encoding).name
    except LookupError:
        return [encoding]
    return list(dict.fromkeys((encoding, own, own.replace("_", "-"), own.replace("mac-roman", "macintosh"))))


def _no_encoding(path: Path, encoding: str | None) -> UsageError:
    expected = "an encoding that iconv knows, such as cp1252 or iso8859-1"
    return UsageError.of("bad-value", path, name="encoding", expected=expected, given=encoding)


@contextmanager
def told_of(path: Path, what: str, encoding: str | None = None) -> Iterator[None]:
    """Say of a file what ReadStat says.

    Parameters
    ----------
    path : Path
    what : str
        The format, as a sentence names it.
    encoding : str, optional
        In which its texts are read.

    Raises
    ------
    DocumentError
    """
    pyreadstat = pyreadstat_library()
    try:
        yield
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, OSError, UnicodeDecodeError, TypeError) as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        if isinstance(error, UnicodeDecodeError) or _NOT_IN_ENCODING in reason:
            codec, detail = encoding or "UTF-8", "a text is in another one"
            raise DocumentError.of("wrong-encoding", path, codec=codec, detail=detail, helps=(_CP1252,)) from None
        raise DocumentError.of("file-damaged", path, format=what, detail=reason) from error


@contextmanager
def told_when_unfit(target: Path, package: str) -> Iterator[None]:
    """Say of a table why ReadStat cannot write it.

    Parameters
    ----------
    target : Path
    package : str
        As a sentence names it.

    Raises
    ------
    UsageError
    """
    pyreadstat = pyreadstat_library()
    try:
        yield
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError) as error:
        raise UsageError.of("cannot-hold", target, format=package, detail=f"this table: {error}") from error


def as_series(column: StoredColumn, width: int) -> tuple[pd.Series[Any], int]:
    """Return a column of texts for ReadStat, and its width in bytes.

    The writer makes a column as wide as its longest text; packages fill texts with blanks anyway.

    Parameters
    ----------
    column : StoredColumn
    width : int
        Of the column, unless a text is longer.
    """
    texts = column.texts
    width = max(1, width, *(len(text.encode()) for text in texts))
    if texts:
        texts[0] += " " * (width - len(texts[0].encode()))
    return pd.Series(texts, dtype=object), width


def require_short(variable: Variable, most: int, package: str) -> None:
    """Refuse labels of classes that a package would cut.

    Raises
    ------
    UsageError
    """
    for label in (*variable.labels.values(), *variable.missing.values()):
        if len(label.encode()) > most:
            detail = f"the label of a class has more than {most} bytes; shorten it in the hierarchy"
            raise unfit_field(package, variable.column, detail)


def cut(text: str, most: int) -> str:
    """Return as much of a text as so many bytes hold."""
    return text.encode()[:most].decode("utf-8", "ignore")


def overwrite(target: Path, places: dict[int, bytes]) -> None:
    """Change bytes of a file that ReadStat has written, such as the time of writing, which no option fixes.

    Parameters
    ----------
    target : Path
    places : dict of int to bytes
        By their offsets.
    """
    with target.open("r+b") as stream:
        for place, content in places.items():
            stream.seek(place)
            stream.write(content)
