"""Which formats there are, and the ends of names that stand for them. Loading this loads no library."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from masktron.addresses import AddressPath
from masktron.errors import UsageError
from masktron.problems.problem import Known

if TYPE_CHECKING:
    from masktron.sources.tables.table_format import TableFormat

XML = "xml"
"""The format of files whose suffix says nothing else."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format of tables.

    Attributes
    ----------
    name : str
    suffixes : tuple of str
        In lower case, each with its point.
    what : str
        As a sentence names it: ``CSV``, ``an SPSS file``.
    module, implementation : str
        Where its `TableFormat` is, which is loaded when a file of it is opened.
    packages : tuple of str
        What it takes beside the packages of every installation.
    to_write : tuple of str
        What writing takes beside that.
    instead : tuple of str
        Names of the formats that are written in its place: files of it are only read.
    """

    name: str
    suffixes: tuple[str, ...]
    what: str
    module: str
    implementation: str
    packages: tuple[str, ...] = ()
    to_write: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()

    def load(self) -> TableFormat:
        """Return the format."""
        found: TableFormat = getattr(importlib.import_module(self.module), self.implementation)()
        return found


_TABLES = "masktron.sources.tables"
_CALAMINE, _READSTAT = ("fastexcel",), ("pyreadstat",)
_ZSTD = ".zst"
_SEPARATED = tuple(f"{end}{packed}" for packed in ("", ".gz", _ZSTD) for end in (".csv", ".tsv", ".tab", ".psv"))
_FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Format("csv", _SEPARATED, "CSV", f"{_TABLES}.separated.csv_format", "CsvFormat"),
        Format("parquet", (".parquet", ".pq"), "Parquet", f"{_TABLES}.arrow_files", "ParquetFormat"),
        Format("arrow", (".arrow", ".feather", ".ipc"), "Arrow", f"{_TABLES}.arrow_files", "ArrowFormat"),
        Format(
            *("xlsx", (".xlsx",), "an Excel workbook", f"{_TABLES}.workbooks", "XlsxFormat"),
            packages=_CALAMINE,
            to_write=("xlsxwriter",),
        ),
        Format(
            *("ods", (".ods",), "an OpenDocument spreadsheet", f"{_TABLES}.workbooks", "OdsFormat", _CALAMINE),
            instead=("xlsx", "csv"),
        ),
        Format(
            "sqlite", (".sqlite", ".sqlite3", ".db"), "an SQLite database", f"{_TABLES}.sqlite_files", "SqliteFormat"
        ),
        Format("duckdb", (".duckdb",), "a DuckDB database", f"{_TABLES}.duckdb_files", "DuckdbFormat", ("duckdb",)),
        Format("spss", (".sav", ".zsav"), "an SPSS file", f"{_TABLES}.spss", "SpssFormat", _READSTAT),
        Format("stata", (".dta",), "a Stata file", f"{_TABLES}.stata", "StataFormat", _READSTAT),
        Format(
            "xpt", (".xpt", ".xport", ".xpt8"), "a SAS transport file", f"{_TABLES}.sas", "XportFormat", _READSTAT
        ),
        Format(
            *("sas7bdat", (".sas7bdat",), "a SAS data set", f"{_TABLES}.sas", "Sas7bdatFormat", _READSTAT),
            instead=("xpt", "csv"),
        ),
    )
}

_SERVERS: dict[str, Format] = {
    "postgresql": Format(
        *("postgresql", (), "a table of PostgreSQL", f"{_TABLES}.postgresql.postgres_format", "PostgresFormat"),
        packages=("adbc-driver-postgresql",),
    )
}
"""What no file has: a table of a server is named by its address."""


@contextmanager
def registered(added: Format) -> Iterator[None]:
    """Know one more format within a context.

    Raises
    ------
    ValueError
        There is one of this name, or for one of its suffixes.
    """
    taken = {suffix for known in _FORMATS.values() for suffix in known.suffixes} | {".xml"}
    if added.name in (XML, *_FORMATS) or taken.intersection(added.suffixes):
        raise ValueError(f"there is a format {added.name!r}, or one for {', '.join(added.suffixes)}")
    _FORMATS[added.name] = added
    try:
        yield
    finally:
        del _FORMATS[added.name]


def known_formats(name: str | None = None) -> tuple[Format, ...]:
    """Return all formats, XML first, or the one of a name.

    Raises
    ------
    UsageError
        There is none of this name.
    """
    every = {XML: Format(XML, (".xml",), "XML, a record element for each record", "", ""), **_FORMATS}
    if name is not None and name not in every:
        raise UsageError.of("unknown-name", kind="format", name=name, known=Known(name, tuple(every)))
    return tuple(every.values()) if name is None else (every[name],)


def installed_apart() -> tuple[Format, ...]:
    """Return all formats, tables of servers too, and as one of its own CSV that takes another package when packed."""
    found = []
    for one in (*known_formats(), *_SERVERS.values()):
        packed = tuple(end for end in one.suffixes if end.endswith(_ZSTD))
        found.append(replace(one, suffixes=tuple(end for end in one.suffixes if end not in packed)))
        if packed:
            name, what = f"{one.name}{_ZSTD}", f"{one.what} in {_ZSTD}"
            found.append(replace(one, name=name, suffixes=packed, what=what, packages=("zstandard",)))
    return tuple(found)


def format_names() -> tuple[str, ...]:
    """Return the names of all formats."""
    return (XML, *_FORMATS)


def format_of_name(path: Path) -> str | None:
    """Return the format that the name of a file ends with, or that an address has; None where it is no table."""
    if isinstance(path, AddressPath):
        return path.address.scheme
    name = path.name.lower()
    ends = ((suffix, one.name) for one in _FORMATS.values() for suffix in one.suffixes if name.endswith(suffix))
    return max(ends, key=lambda end: len(end[0]), default=("", None))[1]


def written_formats(name: str) -> tuple[str, ...]:
    """Return the names of the formats in which a file of a format is released: its own, unless it is only read."""
    known = (_FORMATS | _SERVERS).get(name)
    return known.instead if known is not None and known.instead else (name,)


def require_written(out: Path, name: str) -> None:
    """Refuse an output in a format that is only read.

    Raises
    ------
    UsageError
    """
    if name not in (written := written_formats(name)):
        names = tuple(f"{out.name.removesuffix(out.suffix)}{suffixes_of(one)[0]}" for one in written)
        raise UsageError.of("output-name", out, found="a format that is only read", formats=written, names=names)


def suffixes_of(name: str | None) -> tuple[str, ...]:
    """Return what the names of files of a format end with, the usual one first; of all formats when None."""
    if name in _SERVERS:
        return ()
    if name is None:
        return (".xml", *(suffix for one in _FORMATS.values() for suffix in one.suffixes))
    return (".xml",) if name == XML else _FORMATS[name].suffixes


def table_format(name: str) -> TableFormat:
    """Return a format by its name.

    Raises
    ------
    UsageError
        There is no such format of tables.
    """
    known = _FORMATS | _SERVERS
    if name not in known:
        raise UsageError.of("unknown-name", kind="format of tables", name=name, known=Known(name, tuple(_FORMATS)))
    return known[name].load()
