"""Files that are no XML: what they are, and what to do with them."""

from __future__ import annotations

import codecs
import csv
import re
from pathlib import Path

from masktron.errors import DocumentError, MasktronError
from masktron.sources.known_formats import format_names

_MAGIC = (
    (b"\x1f\x8b", "a gzip archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"PK\x07\x08", "a zip archive"),
    (b"Rar!\x1a\x07", "a rar archive"),
    (b"\x04\x22\x4d\x18", "an lz4 archive"),
    (b"\x1f\x9d", "a compress archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel workbook"),
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Feather"),
    (b"FEA1", "Feather"),
    (b"$FL2", "an SPSS file"),
    (b"$FL3", "an SPSS file"),
    (b"<stata_dta>", "a Stata file"),
    (b"\0" * 12 + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\0", "a SAS file"),
    (b"HEADER RECORD*******", "a SAS file"),
    (b"RDX2", "an R file"),
    (b"RDX3", "an R file"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"%PDF-", "a PDF document"),
    (b"{\\rtf", "a text of a word processor"),
)
"""First bytes, by the formats' own descriptions."""
_OLD_STATA = re.compile(rb"[\x6c-\x73][\x01\x02]\x01\x00")
_ZIPPED = {".xlsx": "an Excel workbook", ".xlsm": "an Excel workbook", ".ods": "an OpenDocument spreadsheet"}
_ZIPPED |= dict.fromkeys((".docx", ".odt"), "a text of a word processor")
_FORMATS = {
    "CSV": "csv",
    "Parquet": "parquet",
    "Feather": "arrow",
    "an SPSS file": "spss",
    "a Stata file": "stata",
    "a SAS file": "sas",
    "an Excel workbook": "excel",
    "an OpenDocument spreadsheet": "ods",
    "an SQLite database": "sqlite",
}
"""What masktron calls a format, where it reads it."""
_READERS = {
    "JSON": "json",
    "an Excel workbook": "excel",
    "an OpenDocument spreadsheet": "excel",
    "an SPSS file": "spss",
    "a Stata file": "stata",
    "a SAS file": "sas",
}
"""Functions of pandas."""
_PACKED = frozenset({"a gzip archive", "a Zstandard archive"})
_DELIMITERS = ",;\t|"
_SEPARATED = frozenset({".csv", ".tsv", ".tab", ".psv"})
_CONTROLS = re.compile("[\0-\x08\x0e-\x1f]")


def refuse_other_formats(head: bytes, path: Path, error: type[MasktronError]) -> None:
    """Refuse a file that is known to be something else than XML.

    Parameters
    ----------
    head : bytes
        How the file begins.
    path : Path
    error : type
        `DocumentError` for microdata.

    Raises
    ------
    MasktronError
        Of the class `error`. It says what the file is, and what to do. What is not known is left to the parser.
    """
    found = format_of(head, path)
    if found is None:
        return
    other = "unpack it first" if "archive" in found else "name an XML file"
    hint = _hint(found, path) if error is DocumentError else other
    raise error(f"this is {found}, not XML", where=str(path), hint=hint)


def magic_of(head: bytes, path: Path) -> str | None:
    """Return what a file is whose first bytes are those of one format; None for text, and where that is not known."""
    suffix = path.suffix.lower()
    for magic, name in _MAGIC:
        if head.startswith(magic):
            return _ZIPPED.get(suffix, name) if name == "a zip archive" else name
    return "a Stata file" if _OLD_STATA.match(head) and suffix == ".dta" else None


def format_of(head: bytes, path: Path) -> str | None:
    """Return what a file is that is no XML, by its first bytes; None where that is not known."""
    found = magic_of(head, path)
    if found is not None:
        return found
    suffix = path.suffix.lower()
    text = _decoded(head)
    first = text.lstrip()[:1]
    if not first or first == "<" or _CONTROLS.search(text):
        return None
    if first in "{[":
        return "JSON"
    return "CSV" if _is_separated(text, suffix) else None


def _decoded(head: bytes) -> str:
    for mark, codec in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        if head.startswith(mark):
            return head[2:].decode(codec, errors="replace")
    return head.removeprefix(codecs.BOM_UTF8).decode("latin-1")


def _is_separated(text: str, suffix: str) -> bool:
    """Tell whether the first line is cut into as many cells as the next; a name may say so of a single column."""
    lines = text.lstrip().splitlines()
    if suffix in _SEPARATED:
        return True
    # the last line may be cut off by the end of what was read
    for delimiter in _DELIMITERS:
        sizes = [len(row) for row in csv.reader(lines[:2], delimiter=delimiter)]
        if len(sizes) == 2 and sizes[0] == sizes[1] > 1:
            return True
    return False


def _hint(found: str, path: Path) -> str:
    known = _FORMATS.get(found)
    if known in format_names():
        return f"masktron reads it: --format {known}"
    if found in _PACKED:
        return "if CSV is in it, say --format csv; else unpack it first"
    if "archive" in found:
        return "unpack it first"
    if found not in _READERS:
        return "save the table as CSV: masktron reads that"
    frame = f"pandas.read_{_READERS[found]}({path.name!r})"
    in_python = f'masktron.mask({frame}, "edits.sch", "masked.xml", k=5)'
    return f"in Python, give masktron the table: {in_python}; all commands take data frames there"
