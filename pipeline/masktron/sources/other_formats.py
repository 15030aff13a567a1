"""Files that are no XML: what they are, and what to do with them."""

from __future__ import annotations

import codecs
import csv
import re
from pathlib import Path

from masktron.errors import DocumentError, MasktronError
from masktron.problems.problem import Note, Problem

_OLD_EXCEL = "an old or encrypted Excel workbook"
_BINARY_EXCEL = "a binary Excel workbook"
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
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _OLD_EXCEL),
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Feather"),
    (b"FEA1", "Feather"),
    (b"$FL2", "an SPSS file"),
    (b"$FL3", "an SPSS file"),
    (b"<stata_dta>", "a Stata file"),
    (b"\0" * 12 + b"\xc2\xea\x81\x60\xb3\x14\x11\xcf\xbd\x92\x08\0", "a SAS data set"),
    (b"\0" * 12 + b"\xc2\xea\x81\x63\xb3\x14\x11\xcf\xbd\x92\x08\0", "a SAS catalogue of formats"),
    (b"HEADER RECORD*******", "a SAS transport file"),
    (b"ASCII SPSS PORT FILE", "a portable SPSS file"),
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
_ZIPPED |= {".xlsb": _BINARY_EXCEL} | dict.fromkeys((".docx", ".odt"), "a text of a word processor")
_READ = {
    "CSV": "csv",
    "Parquet": "parquet",
    "Feather": "arrow",
    "XML": "xml",
    "an SPSS file": "spss",
    "a Stata file": "stata",
    "a SAS data set": "sas7bdat",
    "a SAS transport file": "xpt",
    "an Excel workbook": "xlsx",
    "an OpenDocument spreadsheet": "ods",
    "an SQLite database": "sqlite",
}
"""What masktron calls a format that it reads."""
_DELIMITERS = ",;\t|"
_SEPARATED = frozenset({".csv", ".tsv", ".tab", ".psv"})
_R_FILES = frozenset({".rds", ".rdata", ".rda"})
"""They are packed."""
FOREIGN = {
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "JSON"),
    **dict.fromkeys(_R_FILES, "an R file"),
    **dict.fromkeys((".gz", ".zip", ".bz2", ".xz", ".zst", ".7z"), "an archive"),
    **dict.fromkeys((".h5", ".hdf5"), "an HDF5 file"),
    **{".por": "a portable SPSS file", ".sas7bcat": "a SAS catalogue of formats", ".xls": _OLD_EXCEL},
    **{".xlsb": _BINARY_EXCEL, ".pdf": "a PDF document"},
    **{".html": "HTML", ".md": "Markdown", ".toml": "a file of settings"},
}
"""What the ends of names stand for, where that is no format of microdata."""
_IN_R = "in R, read it and save the data frame: haven::write_sav(data, 'data.sav') keeps labels, write.csv does not"
_IN_PYTHON = "read it in Python with pandas and give masktron the data frame, or export it as CSV"
_A_DOCUMENT = "name the file that has the records; copy a table in a document into a spreadsheet, and save it as CSV"
_TODO = {
    "a portable SPSS file": (
        "in SPSS, save it as .sav; in R, haven::write_sav(haven::read_por('FILE.por'), 'FILE.sav') does the same"
    ),
    "an R file": _IN_R,
    "a SAS catalogue of formats": "name the data set itself, which ends in .sas7bdat; the catalogue has labels alone",
    _OLD_EXCEL: "in Excel, save it as .xlsx, without a password",
    _BINARY_EXCEL: "in Excel, save it as .xlsx",
    "JSON": _IN_PYTHON,
    "an HDF5 file": _IN_PYTHON,
    **dict.fromkeys(("a PDF document", "a text of a word processor", "HTML", "Markdown"), _A_DOCUMENT),
    "a file of settings": "name the data here, and the settings with [[--config]]",
    "plain text": "if it is a table with one column, say [[--format csv]]; export columns of fixed width as CSV",
}
"""What to do with files that masktron does not read; all others are archives."""
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
    if found is not None:
        microdata = error is DocumentError
        raise error(other_format(found, "XML", path) if microdata else Problem("not-xml", path, found=found))


def other_format(found: str, expected: str, path: Path) -> Problem:
    """Return the problem of a file that is something else than it was taken for, which masktron may read, too."""
    name = _READ.get(found, "")
    if not name:
        todo = Note(_TODO.get(found, "unpack it; packed CSV is read with [[--format csv]]"))
        return Problem("unreadable-format", path, found=found, expected=expected, todo=todo)
    return Problem("other-format", path, found=found, expected=expected, format=name)


def magic_of(head: bytes, path: Path) -> str | None:
    """Return what a file is whose first bytes are those of one format; None for text, and where that is not known."""
    suffix = path.suffix.lower()
    for magic, name in _MAGIC:
        if head.startswith(magic):
            if suffix in _R_FILES:
                return "an R file"
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
    if first == "<":
        return None
    if suffix in FOREIGN:
        return FOREIGN[suffix]
    if not first or _CONTROLS.search(text):
        return None
    if first in "{[":
        return "JSON"
    prose = "plain text" if suffix == ".txt" else None
    return "CSV" if _is_separated(text, suffix) else prose


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
