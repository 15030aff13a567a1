"""What is wrong with a file in CSV, with its line and column."""

from __future__ import annotations

from dataclasses import replace

from masktron.errors import DocumentError
from masktron.kernels import separated as kernel
from masktron.problems.problem import Field, Place, Problem, format_option
from masktron.sources.tables.separated.csv_dialect import named
from masktron.sources.tables.separated.csv_outline import names_of
from masktron.sources.tables.separated.csv_survey import CsvSurvey, CsvText

_NO_QUOTES, _CP1252 = format_option("quote", "none"), format_option("encoding", "cp1252")
_UTF_16 = (format_option("encoding", "utf-16-le"), format_option("encoding", "utf-16-be"))
_BACKSLASH = format_option("escape", "\\")
_LINES = {kernel.LF: "LF", kernel.CRLF: "CRLF", kernel.CR: "CR"}


def is_excel_line(head: bytes) -> bool:
    """Whether the first line is that with which Excel says what stands between cells."""
    return head[:4].lower() == b"sep="


def refuse_excel_line(head: bytes, where: str) -> None:
    """Refuse a file whose first line is Excel's.

    Raises
    ------
    DocumentError
    """
    if is_excel_line(head):
        raise DocumentError.of(
            "unclear-delimiter", Place(where, 1), detail="the first line is Excel's; remove it, since it has no names"
        )


def refuse_unsound(text: CsvText, found: CsvSurvey, where: str) -> None:
    """Refuse a file that two readers could take differently, given its survey and its name.

    Raises
    ------
    DocumentError
    """
    if not found.sound:
        raise DocumentError(_problem(text, found, where))


def _problem(text: CsvText, found: CsvSurvey, where: str) -> Problem:
    dialect, columns = found.dialect, found.columns
    what, at, cell, records = (found[fact] for fact in (kernel.ERROR, kernel.AT, kernel.CELL, kernel.RECORDS))
    place = Place(where, found[kernel.LINE])
    if what == kernel.RAGGED:
        mark = named(dialect.delimiter)
        problem = Problem("ragged-line", place, cells=cell, columns=columns, delimiter=mark)
        row_names = cell == columns + 1 and records == 1
        return problem.then(Problem("column-without-name", column=1)) if row_names else problem
    if what == kernel.MIXED:
        detail = f"it does not end with {_LINES[found[kernel.ENDING]]}, as the first line does"
        return Problem("bad-csv-line", place, detail=detail)
    if what == kernel.BLANK:
        return Problem("bad-csv-line", place, detail="it is empty")
    named_cell = records and dialect.has_names and cell <= columns
    place = replace(place, field=Field(names_of(text, found)[cell - 1] if named_cell else str(cell)))
    if what == kernel.CONTROL:
        return _control(text.part(at, 1)[0], place, dialect.codec)
    before = bytes(text.part(max(0, at - 2), 2))
    match what:
        case kernel.OPEN:
            detail = "a quote is never closed"
        case kernel.INSIDE:
            blank = before[-1:] in (b" ", b"\t")
            detail = f"a quote stands {'after a blank' if blank else 'in the middle of a cell'}"
        case kernel.AFTER:
            detail = "text follows a closing quote"
        case _:
            return Problem("bad-csv-line", place, detail="an escape character stands at its end")
    return Problem("csv-quote", place, detail=detail, helps=(_BACKSLASH,) if b'\\"' in before else (_NO_QUOTES,))


def _control(byte: int, place: Place, codec: str) -> Problem:
    """Say what is wrong with a control character by its first byte."""
    if byte >= 0x80:
        detail = "a character from U+0080 to U+009F is a control character"
        return Problem("wrong-encoding", place, codec=codec, detail=detail, helps=(_CP1252,))
    if byte or codec != "utf-8":
        return Problem("bad-csv-line", place, detail="it holds a control character")
    return Problem("wrong-encoding", place, codec=codec, detail="there is a NUL byte", helps=_UTF_16)
