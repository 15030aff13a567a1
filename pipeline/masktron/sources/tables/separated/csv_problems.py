"""What is wrong with a file in CSV, with its line and column."""

from __future__ import annotations

from masktron.errors import DocumentError
from masktron.kernels import separated as kernel
from masktron.problems.problem import FormatOption
from masktron.sources.tables.separated.csv_dialect import SAY_DELIMITER, named
from masktron.sources.tables.separated.csv_outline import names_of
from masktron.sources.tables.separated.csv_survey import CsvSurvey, CsvText

_NO_QUOTES, _CP1252 = FormatOption("quote", "none"), FormatOption("encoding", "cp1252")
_UTF_16 = (FormatOption("encoding", "utf-16-le"), FormatOption("encoding", "utf-16-be"))
_QUOTES_ARE_PLAIN = f"or, if quotes are plain characters in this file, say {_NO_QUOTES}"
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
        raise DocumentError(
            "the first line is Excel's, and no line of names",
            where=f"{where}:1",
            hint=f"remove it, and say what stands between cells: {SAY_DELIMITER}",
        )


def refuse_unsound(text: CsvText, found: CsvSurvey, where: str) -> None:
    """Refuse a file that two readers could take differently, given its survey and its name.

    Raises
    ------
    DocumentError
    """
    if not found.sound:
        raise _problem(text, found, where)


def _problem(text: CsvText, found: CsvSurvey, where: str) -> DocumentError:
    dialect, columns = found.dialect, found.columns
    what, at, cell, records = (found[fact] for fact in (kernel.ERROR, kernel.AT, kernel.CELL, kernel.RECORDS))
    place = f"column {cell}"
    if records and dialect.has_names and cell <= columns:
        place = f"column {names_of(text, found)[cell - 1]!r}"
    hint = ""
    match what:
        case kernel.RAGGED:
            says = f"cells: {cell}, columns: {columns}, separated by {named(dialect.delimiter)}"
            hint = f"cells that hold it (a decimal comma?) have to be quoted; for another delimiter, {SAY_DELIMITER}"
            if cell == columns + 1 and records == 1:
                hint += "; R's write.table gives row names no column name: use row.names = FALSE"
        case kernel.OPEN:
            says, hint = f"a quote in {place} is never closed", f"close it {_QUOTES_ARE_PLAIN}"
        case kernel.INSIDE:
            says = f"a quote in {place} stands behind the beginning of the cell"
            hint = f"quote the whole cell and double the quotes in it {_QUOTES_ARE_PLAIN}"
            if bytes(text.part(at - 1, 1)) in (b" ", b"\t"):
                hint = f"remove the blank before it {_QUOTES_ARE_PLAIN}"
        case kernel.AFTER:
            says = f"text stands behind the closing quote of {place}"
            hint = f"double the quotes in a quoted cell {_QUOTES_ARE_PLAIN}"
        case kernel.CONTROL:
            says, hint = _control(text.part(at, 1)[0], place, dialect.codec)
        case kernel.MIXED:
            first = _LINES[found[kernel.ENDING]]
            says, hint = f"this line does not end with {first}, as the first one does", "let all lines end alike"
        case kernel.BLANK:
            says = f"the line is empty, and {'others follow' if records else 'has no names of columns'}"
            hint = "remove it"
        case _:
            says, hint = f"the escape character in {place} stands before the end of a line", "remove it"
    helps = [one for one in (_NO_QUOTES, _CP1252, *_UTF_16) if str(one) in hint]
    return DocumentError(says, where=f"{where}:{found[kernel.LINE]}", hint=hint, helps=helps)


def _control(byte: int, place: str, codec: str) -> tuple[str, str]:
    """Say what is wrong with a control character, and what to do, by its first byte."""
    if byte >= 0x80:
        return (
            f"{place} holds a control character from U+0080 to U+009F, as a file has them that is read in another "
            "encoding than its own",
            f"is it cp1252? Then say {_CP1252}; else remove it",
        )
    if byte:
        return f"{place} holds a control character", "remove it"
    hint = "remove it"
    if codec == "utf-8":
        hint += f"; if every second byte is one, say {_UTF_16[0]} or {_UTF_16[1]}"
    return f"{place} holds a NUL byte", hint
