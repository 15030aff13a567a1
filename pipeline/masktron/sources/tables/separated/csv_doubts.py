"""What a CSV leaves in doubt, what of it users hear of, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.errors import DocumentError, UsageError
from masktron.kernels import separated as kernel
from masktron.problems.problem import Field, Known, Note, Place, Problem, Sentence, format_option
from masktron.sources.lexical import parse_number
from masktron.sources.tables.column_strings import octets_of, text_scalar
from masktron.sources.tables.separated.csv_dialect import CsvDialect, ambiguous, named
from masktron.sources.tables.separated.csv_outline import CsvOutline, CsvSurvey, CsvText, names_of
from masktron.sources.variables import texts_beside_numbers

_IN_NUMBERS = np.isin(np.arange(256), np.frombuffer(b"0123456789+-,", dtype=np.uint8))
_COMMA = ord(",")
_NUMBER = r"^[+-]?[0-9]+(,[0-9]+)?$"
RECORD, NAMES = format_option("header", "no"), format_option("header", "yes")
_DECIMAL, _TEXTS = format_option("decimal", "comma"), format_option("decimal", "point")
_GROUPED = format_option("grouping", "point")

type CellBlocks = Generator[Sequence[pa.Array]]
"""Records as columns of strings."""


class CsvDoubts:
    """Whether the first line is a record, and whether commas are decimal points, of which nobody says anything.

    Look at all records in blocks, and then `settle`.

    Parameters
    ----------
    outline : CsvOutline
    where : str
        The file.
    said : bool
        Whether the user says what the decimal point is.

    Raises
    ------
    DocumentError
        The first line holds numbers alone.
    """

    def __init__(self, outline: CsvOutline, where: str, *, said: bool) -> None:
        self._where, self._columns, dialect = where, outline.columns, outline.dialect
        names = dict(enumerate(outline.columns))
        # a name that is no number, and no value of its column
        unseen = {at: text_scalar(name) for at, name in names.items() if np.isnan(parse_number(name))}
        if dialect.header is None and not unseen:
            raise DocumentError.of(
                "unclear-header", Place(where, 1), detail="it holds only numbers", names=NAMES, record=RECORD
            )
        self._asked = dialect.header is None and len(names) > 1 and outline.records > 0
        self._unseen = unseen if self._asked else {}
        commas = not (said or dialect.delimiter == "," or dialect.grouping)
        self._numeric = {at for at, name in names.items() if name not in dialect.texts} if commas else set()
        self._commas: set[int] = set()

    def look(self, block: Sequence[pa.Array]) -> None:
        """Look at some records, as columns of strings."""
        for at, name in list(self._unseen.items()):
            if pc.any(pc.equal(block[at], name)).as_py():
                del self._unseen[at]
        for at in list(self._numeric):
            octets = octets_of(block[at])
            if not _IN_NUMBERS[octets].all():
                self._numeric.discard(at)
            elif (octets == _COMMA).any():
                self._commas.add(at)

    @property
    def seen(self) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
        """What was seen of some records: names that are no value of theirs, columns of numbers, those with commas."""
        return frozenset(self._unseen), frozenset(self._numeric), frozenset(self._commas)

    def join(self, seen: tuple[frozenset[int], frozenset[int], frozenset[int]]) -> None:
        """Take what was `seen` of other records."""
        unseen, numeric, commas = seen
        self._unseen = {at: name for at, name in self._unseen.items() if at in unseen}
        self._numeric &= numeric
        self._commas |= commas

    def settle(self, again: Callable[[], CellBlocks]) -> None:
        """Refuse the file where a doubt is left.

        Parameters
        ----------
        again : callable
            Gives all records once more.

        Raises
        ------
        DocumentError
        """
        if self._asked and not self._unseen:
            raise DocumentError.of(
                "unclear-header",
                Place(self._where, 1),
                detail="all its cells are numbers or values of their columns",
                names=NAMES,
                record=RECORD,
            )
        left = self._commas & self._numeric
        found: set[int] = set()
        if left:
            with closing(again()) as blocks:
                for block in blocks:
                    # a block may have no value of a column
                    left = {at for at in left if pc.all(_matches(block[at], _NUMBER), min_count=0).as_py()}
                    found |= {at for at in left if pc.any(_matches(block[at], _WITH_COMMA)).as_py()}
        for at in sorted(left & found):
            raise DocumentError.of(
                "unclear-numbers",
                self._where,
                field=Field(self._columns[at]),
                detail="numbers with a comma and no other values",
                helps=(_DECIMAL, _TEXTS),
            )


def require_columns(outline: CsvOutline, where: str) -> None:
    """Refuse names of columns of texts that no column has.

    Raises
    ------
    UsageError
    """
    for name in outline.dialect.texts:
        if name not in outline.columns:
            raise UsageError.of(
                "unknown-name",
                where,
                kind="column for the option texts,",
                name=name,
                known=Known(name, outline.columns),
            )


def only_numbers(names: Sequence[str]) -> bool:
    """Whether all names are numbers."""
    return all(not np.isnan(parse_number(name)) for name in names)


def refuse_ambiguous(table: pa.Table, outline: CsvOutline, where: str) -> None:
    """Refuse numbers with a point where the decimal point is another.

    Raises
    ------
    DocumentError
    """
    dialect = outline.dialect
    if dialect.decimal == ".":
        return
    for name, column in zip(table.column_names, outline.columns, strict=True):
        if column in dialect.texts:
            continue
        found = np.flatnonzero(ambiguous(table[name], dialect))
        if found.size:
            texts = format_option("texts", ",".join((*dialect.texts, column)))
            raise DocumentError.of(
                "unclear-numbers",
                Place(where, outline.line(int(found[0]))),
                field=Field(column),
                detail="a number with a point beside decimal commas",
                helps=(texts,) if dialect.grouping else (texts, _GROUPED),
            )


def _matches(cells: pa.Array, pattern: str) -> pa.Array:
    return pc.match_substring_regex(cells, pattern)


_TOKENS = ("NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", ".", "-")
_LOOKED_AT = 10_000
"""Records in which numbers are looked for that have commas, or that stand beside a text for 'missing'."""
_WITH_COMMA = r"^[+-]?[0-9]+,[0-9]+$"
_GROUPING = {".": "point", ",": "comma", " ": "space"}
"""What stands between groups of digits, as the option `grouping` has it."""
_ANY_MARK = r"^[+-]?[0-9]*[.,]?[0-9]+$"


def notes_of(table: pa.Table, columns: Sequence[str], dialect: CsvDialect) -> Iterator[Sentence]:
    """Say which columns hold texts that often mean 'missing', and numbers with a comma, beside how to say so."""
    tokens = pa.array([token for token in _TOKENS if token not in dialect.null], type=pa.string())
    commas = dialect.decimal == "." and not dialect.grouping
    for name, column in zip(table.column_names, columns, strict=True):
        there = pc.is_in(table[name], value_set=tokens)
        if pc.any(there).as_py() and _any(table[name].slice(0, _LOOKED_AT), _ANY_MARK):
            found = pc.unique(table[name].filter(there)).to_pylist()
            yield texts_beside_numbers(column, found)
        looked_at = table[name].slice(0, _LOOKED_AT)
        if commas and _any(looked_at, _WITH_COMMA):
            yield Note(
                "column {column!r} has numbers with a comma: texts; if it is their decimal point, give "
                "[[--format-option decimal=comma]], if it stands between groups of digits, "
                "[[--format-option grouping=comma]]",
                column=column,
            )
        elif not dialect.grouping and (
            marks := [mark for mark in _GROUPING if _any(looked_at, _grouped(mark, dialect))]
        ):
            options = [format_option("grouping", _GROUPING[mark]) for mark in marks]
            yield Note(
                "column {column!r} has numbers with groups of digits: texts; to read them as numbers, give "
                "{options:or}",
                column=column,
                options=options,
            )


def _grouped(mark: str, dialect: CsvDialect) -> str:
    """Return the pattern of a number with groups of digits and, unless it has several of them, a fraction."""
    if mark == dialect.decimal:
        return "$^"  # no text
    group, point = re.escape(mark), re.escape(dialect.decimal)
    return rf"^[+-]?[0-9]{{1,3}}(({group}[0-9]{{3}})+{point}[0-9]+|({group}[0-9]{{3}}){{2,}})$"


def _any(values: pa.ChunkedArray, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(values, pattern)).as_py())


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
