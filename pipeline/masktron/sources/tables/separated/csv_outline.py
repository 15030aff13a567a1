"""The records of a file in CSV: where they are, what separates their cells, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.kernels import separated as kernel
from masktron.kernels.separated import Places, survey
from masktron.sources.tables.separated.cell_texts import cells_of
from masktron.sources.tables.separated.csv_dialect import CANDIDATES, ENDINGS, CsvDialect, named

_NONE = np.zeros(0, dtype=np.int64)
_QUOTES_ARE_PLAIN = "or, if quotes are plain characters in this file, say --format-option quote=none"
_DELIMITER = "--format-option delimiter=CHARACTER"
_LINES = {1: "LF", 2: "CRLF", 3: "CR"}


@dataclass(frozen=True, slots=True, eq=False)
class CsvOutline:
    """Where records are in the bytes of a file.

    Attributes
    ----------
    dialect : CsvDialect
        With what was found.
    columns : tuple of str
        Names, as the file has them, or V1, V2, ...
    records : int
        Without the line of names.
    longest : int
        Bytes of the longest record.
    begin, stop : int
        Where the first record begins, behind the names, and where the last one ends.
    closed : bool
        Whether the last line ends.
    breaks : bool
        Whether a cell goes over several lines.
    lines : ndarray of int64, shape (records,), or None
        The line of each, from 1; None where each record is one line.
    """

    dialect: CsvDialect
    columns: tuple[str, ...]
    records: int
    longest: int
    begin: int
    stop: int
    closed: bool
    breaks: bool
    lines: NDArray[np.int64] | None

    def line(self, record: int) -> int:
        """Return the line of a record, from 1."""
        return record + 1 + self.dialect.has_names if self.lines is None else int(self.lines[record])


def outline_of(data: bytes, dialect: CsvDialect, suffix: str, where: str) -> CsvOutline:
    """Find the records of a file.

    Parameters
    ----------
    data : bytes
        UTF-8, without a byte order mark.
    dialect : CsvDialect
        What is known. Where that has no delimiter, it is found: the one that cuts all records into as many cells.
    suffix : str
        The delimiter that the name of the file stands for; empty for any.
    where : str

    Raises
    ------
    DocumentError
        Two readers could take the file differently, or several delimiters would do.
    """
    if data[:4].lower() == b"sep=":
        raise DocumentError(
            "the first line is Excel's, and no line of names",
            where=f"{where}:1",
            hint=f"remove it, and say what stands between cells: {_DELIMITER}",
        )
    octets = np.frombuffer(data, dtype=np.uint8)
    dialect, facts = _with_delimiter(octets, dialect, suffix, where)
    if facts[kernel.ERROR] != kernel.SOUND:
        raise _problem(data, dialect, facts, where)
    dialect = replace(dialect, ending=ENDINGS.get(int(facts[kernel.ENDING]), "\n"))
    records, header, breaks = int(facts[kernel.RECORDS]), dialect.has_names, bool(facts[kernel.BREAKS])
    columns = int(facts[kernel.COLUMNS])
    body = int(facts[kernel.BODY]) if header else 0
    return CsvOutline(
        dialect,
        names_of_columns(data[:body], dialect, columns, where) if header else numbered_columns(columns),
        records - header,
        int(facts[kernel.LONGEST]),
        body,
        int(facts[kernel.STOP]),
        bool(facts[kernel.CLOSED]),
        breaks,
        record_places(octets, dialect, records)[1][int(header) :] if breaks else None,
    )


def record_places(octets: NDArray[np.uint8], dialect: CsvDialect, records: int) -> tuple[Places, Places]:
    """Return where each record begins, and in which line; that with names is one of them."""
    starts, lines = np.zeros(records, dtype=np.int64), np.zeros(records, dtype=np.int64)
    survey(octets, *dialect.codes, np.zeros(kernel.FACTS, dtype=np.int64), starts, lines, True)
    return starts, lines


def _surveyed(octets: NDArray[np.uint8], dialect: CsvDialect) -> Places:
    facts = np.zeros(kernel.FACTS, dtype=np.int64)
    survey(octets, *dialect.codes, facts, _NONE, _NONE, True)
    return facts


def _with_delimiter(
    octets: NDArray[np.uint8], dialect: CsvDialect, suffix: str, where: str
) -> tuple[CsvDialect, Places]:
    """Return the dialect with a delimiter, and what it makes of the file."""
    if dialect.delimiter:
        return dialect, _surveyed(octets, dialect)
    taken = {dialect.quote, dialect.escape}
    tried = [replace(dialect, delimiter=mark) for mark in CANDIDATES if mark not in taken]
    found = {one.delimiter: (one, _surveyed(octets, one)) for one in tried}
    several = {mark: one for mark, one in found.items() if one[1][kernel.COLUMNS] > 1}
    sound = [mark for mark, (_, facts) in several.items() if facts[kernel.ERROR] == kernel.SOUND]
    if suffix:
        if suffix not in several and sound:
            raise DocumentError(
                f"by its name there is a {named(suffix)} between cells, but it seems to be a {named(sound[0])}",
                where=where,
                hint=f"rename the file, or say what stands there: {_DELIMITER}",
            )
        return found[suffix]
    if len(sound) > 1:
        raise DocumentError(
            f"cells could be separated by {' or '.join(map(named, sound))}: each cuts all records alike",
            where=where,
            hint=f"say which it is: {_DELIMITER}",
        )
    if sound:
        return several[sound[0]]
    # none does: what is wrong is told of the one that comes farthest
    mark = max(several, key=lambda mark: int(several[mark][1][kernel.AT]), default="")
    return found[mark or next(iter(found))]


def names_of_columns(head: bytes, dialect: CsvDialect, count: int, where: str) -> tuple[str, ...]:
    """Return the names in the first line.

    Raises
    ------
    DocumentError
        A column has none.
    """
    names = _first_cells(head, dialect, count)
    for at, name in enumerate(names, start=1):
        if not name:
            raise DocumentError(
                f"column {at} has no name",
                where=f"{where}:1",
                hint="give it one; pandas and R write row names so, unless told not to",
            )
    return names


def _first_cells(head: bytes, dialect: CsvDialect, count: int) -> tuple[str, ...]:
    """Return the cells of the only record in some bytes."""
    columns = cells_of(head, dialect, count, len(head), breaks=True, null=None).columns
    return tuple(column[0].as_py() for column in columns)


def numbered_columns(columns: int) -> tuple[str, ...]:
    """Return the names of columns where the first line has none."""
    return tuple(f"V{at}" for at in range(1, columns + 1))


def _problem(data: bytes, dialect: CsvDialect, facts: Places, where: str) -> DocumentError:
    """Return what is wrong, with its line and column."""
    what, at, cell = (int(facts[place]) for place in (kernel.ERROR, kernel.AT, kernel.CELL))
    columns, body = int(facts[kernel.COLUMNS]), int(facts[kernel.BODY])
    place = f"column {cell}"
    if facts[kernel.RECORDS] and dialect.has_names and cell <= columns:
        place = f"column {_first_cells(data[:body], dialect, columns)[cell - 1]!r}"
    hint = ""
    match what:
        case kernel.RAGGED:
            text = f"cells: {cell}, columns: {columns}, separated by {named(dialect.delimiter)}"
            hint = f"cells that hold it (a decimal comma?) have to be quoted; for another delimiter, {_DELIMITER}"
            if cell == columns + 1 and facts[kernel.RECORDS] == 1:
                hint += "; R's write.table gives row names no column name: use row.names = FALSE"
        case kernel.OPEN:
            text, hint = f"a quote in {place} is never closed", f"close it {_QUOTES_ARE_PLAIN}"
        case kernel.INSIDE:
            text = f"a quote in {place} stands behind the beginning of the cell"
            hint = f"quote the whole cell and double the quotes in it {_QUOTES_ARE_PLAIN}"
            if data[at - 1 : at] in (b" ", b"\t"):
                hint = f"remove the blank before it {_QUOTES_ARE_PLAIN}"
        case kernel.AFTER:
            text = f"text stands behind the closing quote of {place}"
            hint = f"double the quotes in a quoted cell {_QUOTES_ARE_PLAIN}"
        case kernel.CONTROL:
            text = f"{place} holds a {'NUL byte' if data[at] == 0 else 'control character'}"
            hint = "remove it"
            if data[at] == 0 and dialect.codec == "utf-8":
                hint += "; if every second byte is one, say --format-option encoding=utf-16-le or utf-16-be"
        case kernel.MIXED:
            first = _LINES[int(facts[kernel.ENDING])]
            text, hint = f"this line does not end with {first}, as the first one does", "let all lines end alike"
        case kernel.BLANK:
            text = f"the line is empty, and {'others follow' if facts[kernel.RECORDS] else 'has no names of columns'}"
            hint = "remove it"
        case _:
            text, hint = f"the escape character in {place} stands before the end of a line", "remove it"
    return DocumentError(text, where=f"{where}:{int(facts[kernel.LINE])}", hint=hint)
