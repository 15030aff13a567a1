"""What of a file in CSV is plainly meant otherwise than it reads, which only all records tell: refused."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.errors import DocumentError, UsageError
from masktron.problems.problem import Field, Known, Place, format_option
from masktron.sources.lexical import parse_number
from masktron.sources.tables.arrow_scalars import text_scalar
from masktron.sources.tables.separated.csv_outline import CsvOutline
from masktron.sources.tables.separated.number_spellings import ambiguous
from masktron.sources.tables.string_cells import octets_of

_IN_NUMBERS = np.isin(np.arange(256), np.frombuffer(b"0123456789+-,", dtype=np.uint8))
_COMMA = ord(",")
_WITH_COMMA = r"^[+-]?[0-9]+,[0-9]+$"
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
