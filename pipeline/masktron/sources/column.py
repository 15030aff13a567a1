"""The values of a field: texts kept as written, numbers beside them, kinds of missingness apart; each text once."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from dataclasses import field as dataclass_field
from enum import IntEnum
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.large_arrays import new_array
from masktron.problems.problem import Field, Note
from masktron.recodings import denote_alike
from masktron.sources.lexical import XML_SPACE, fraction_digits, parse_number
from masktron.sources.lexicon import Lexicon, ranked, same_texts
from masktron.sources.variables import NONE, MissingCodes, Typed, Variable, codes_of_field

_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
"""A number with digits that say nothing else, as leading zeros do."""
_TRIED = 1_000_000
"""Numbers that are looked at, at most, for those that no record may take for a missing value."""


@dataclass(frozen=True, slots=True)
class ColumnForm:
    """What is written in a column that was recoded.

    Attributes
    ----------
    values : tuple of str
        All lexemes: those of classes in their order, then others that stay, such as codes for missing values. Empty
        where the type of the column holds what is written, as it is.
    labels : mapping of str to str
        Labels of values that are true of what is written. Formats without labels take no notice.
    ordered : bool
        Whether the order of `values` is that of what they stand for.
    """

    values: tuple[str, ...] = ()
    labels: Mapping[str, str] = NONE
    ordered: bool = False


def shortest(label: str) -> str:
    """Return a number as types write it, without zeros at the end of its fraction; another text as it is.

    >>> shortest("12.50"), shortest("007")
    ('12.5', '007')
    """
    if not _PLAIN.fullmatch(label) or "." not in label:
        return label
    short = label.rstrip("0").rstrip(".")
    return "0" if short == "-0" else short


def all_numbers(labels: Sequence[str]) -> bool:
    """Whether labels are numbers as types write them: a column of numbers holds each as it is."""
    return all(_PLAIN.fullmatch(label) and shortest(label) == label and label != "-0" for label in labels)


def numbered(labels: Sequence[str], is_taken: Callable[[int], bool], column: str) -> tuple[str, ...]:
    """Return the numbers 1, 2, ... for labels, but for those that are taken by missing values.

    Raises
    ------
    UsageError
        Not enough of them are free.
    """
    free = (str(number) for number in range(1, _TRIED) if not is_taken(number))
    found = tuple(code for code, _ in zip(free, labels, strict=False))
    if len(found) < len(labels):
        detail = f"it has {len(labels):,} classes, and most of these numbers mean 'missing'; declare fewer so"
        numbers = f"the whole numbers from 1 to {_TRIED:,}"
        raise UsageError.of(
            "cannot-hold", format=numbers, detail=Note("{field}: {detail}", field=Field(column), detail=detail)
        )
    return found


_MANY = 1 << 14
"""Texts from which on a kernel reads those that are plain numbers, for which whoever has fewer need not wait."""
_AT_ONCE = 1 << 16
"""Texts that are read together."""


class Status(IntEnum):
    """What stands in a cell."""

    PRESENT = 0
    ABSENT = 1
    """No element or attribute."""
    EMPTY = 2
    """There, without content other than white space."""
    CODE = 3
    """A lexeme that was declared to mean 'missing'."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadTexts:
    """What texts are.

    Attributes
    ----------
    states : ndarray of uint8, shape (m,)
        `Status` of each text.
    numbers : ndarray of float64, shape (m,)
        Correctly rounded; NaN where the status is not PRESENT or the text is not a number.
    decimals : ndarray of int32, shape (m,)
        Fraction digits of each number; 0 of what is none.
    """

    states: NDArray[np.uint8]
    numbers: NDArray[np.float64]
    decimals: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class KnownTexts:
    """Texts of a column; they are read when it is first asked what they are.

    Attributes
    ----------
    lexicon : Lexicon
        The m texts exactly as the parser gives them; None where absent. Not all of them need be distinct, or used.
    missing : frozenset of str
        Lexemes that mean 'missing'.
    """

    lexicon: Lexicon
    missing: frozenset[str] = frozenset()
    _read: dict[bool, ReadTexts] = field(default_factory=dict, init=False, repr=False)

    def read(self, *, text: bool) -> ReadTexts:
        """Return what the texts are.

        Parameters
        ----------
        text : bool
            The type of the column is text: codes are compared as texts, see `MissingCodes`.
        """
        if text not in self._read:
            self._read[text] = read_texts(self.lexicon, codes_of_field(self.missing, text=text))
        return self._read[text]

    def only(self, which: NDArray[np.integer]) -> KnownTexts:
        """Return the texts at some positions."""
        found = KnownTexts(self.lexicon.only(which), self.missing)
        found._read.update(
            (text, ReadTexts(own.states[which], own.numbers[which], own.decimals[which]))
            for text, own in self._read.items()
        )
        return found


def read_texts(lexicon: Lexicon, codes: MissingCodes) -> ReadTexts:
    """Find out what texts are, given the codes that mean 'missing'."""
    states, numbers = new_array(len(lexicon), np.uint8), new_array(len(lexicon), np.float64)
    decimals = new_array(len(lexicon), np.int32)
    for at in range(0, len(lexicon), _AT_ONCE):
        own = slice(at, min(at + _AT_ONCE, len(lexicon)))
        found = _read_some(lexicon.part(own), codes, compiled=len(lexicon) >= _MANY)
        states[own], numbers[own], decimals[own] = found.states, found.numbers, found.decimals
    return ReadTexts(states, numbers, decimals)


def _read_some(lexicon: Lexicon, codes: MissingCodes, *, compiled: bool) -> ReadTexts:
    states, numbers = np.full(len(lexicon), Status.PRESENT, dtype=np.uint8), np.full(len(lexicon), np.nan)
    left, decimals = np.arange(len(lexicon)), np.zeros(len(lexicon), dtype=np.int32)
    if compiled:
        from masktron.sources.columns import plain_numbers  # noqa: PLC0415 -- loads numba

        plain = plain_numbers(lexicon)
        known = (plain.scale >= 0) & ~np.isin(plain.double, codes.doubles)
        numbers[known] = plain.double[known]
        decimals[known], left = plain.scale[known], np.flatnonzero(~known)
    for at, text in zip(left.tolist(), lexicon.some(left).tolist(), strict=True):
        found = (Status.ABSENT, np.nan, 0) if text is None else read_text(text, codes)
        states[at], numbers[at], decimals[at] = found
    return ReadTexts(states, numbers, decimals)


def read_text(lexeme: str, codes: MissingCodes) -> tuple[Status, float, int]:
    """Return status, number and fraction digits of a lexeme."""
    text = lexeme.strip(XML_SPACE)
    if text in codes:
        return Status.CODE, np.nan, 0
    if not text:
        return Status.EMPTY, np.nan, 0
    value = parse_number(text)
    return Status.PRESENT, value, 0 if np.isnan(value) else fraction_digits(text)


MANY_RECORDS = 10_000
"""Records from which on engines take long to look through all of them for each, however short they are."""
LONG_COLUMN = 1 << 14
"""Cells of a column from which on arrays that are made of it are not kept."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The values of one field, record by record: what is known of a text is held once, however many cells have it.

    A record takes 4 bytes of a column. Arrays with a value for each record (`lexemes`, `status`, `values` ...) are
    properties, which are made anew whenever they are asked for in a column of `LONG_COLUMN` cells or more: whoever
    needs one in a loop asks once before it, and whoever needs single cells asks `lexeme` or `lexemes_of`.

    Attributes
    ----------
    variable : Variable
        What the file says of the field.
    codes : ndarray of int32, shape (n,)
        Which text each cell has.
    known : KnownTexts
        The m texts, and what they are.
    places : int or None
        The fraction digits that count, where these are some cells of a column.
    """

    variable: Variable
    codes: NDArray[np.int32]
    known: KnownTexts
    places: int | None = None
    _made: dict[str, NDArray[Any]] = dataclass_field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of_texts(
        cls,
        variable: Variable,
        texts: Sequence[str | None] | Lexicon,
        codes: NDArray[np.integer],
        missing: frozenset[str] = frozenset(),
    ) -> Column:
        """Return a column of texts, given which of them each cell has, and what means 'missing'."""
        lexicon = texts if isinstance(texts, Lexicon) else Lexicon.of(texts, distinct=len({*texts}) == len(texts))
        return cls(variable, codes.astype(np.int32, copy=False), KnownTexts(lexicon, missing))

    @classmethod
    def of_cells(
        cls, variable: Variable, cells: Iterable[str | None], missing: frozenset[str] = frozenset()
    ) -> Column:
        """Return a column of cells, given one by one."""
        known: dict[str | None, int] = {}
        codes = [known.setdefault(text, len(known)) for text in cells]
        return cls.of_texts(variable, list(known), np.array(codes, dtype=np.int32), missing)

    @property
    def name(self) -> str:
        """As rules have it."""
        return self.variable.name

    @property
    def typed(self) -> Typed:
        """More than nothing where the file says what the column can hold."""
        return self.variable.typed

    @property
    def lexicon(self) -> Lexicon:
        """The m texts exactly as the parser gives them; None where absent. Not all of them need be used."""
        return self.known.lexicon

    @property
    def _read(self) -> ReadTexts:
        return self.known.read(text=self.variable.typed.text)

    @property
    def states(self) -> NDArray[np.uint8]:
        """`Status` of each text, shape (m,)."""
        return self._read.states

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The number of each text, shape (m,), correctly rounded; NaN where it is none, or means 'missing'."""
        return self._read.numbers

    @property
    def decimals(self) -> int:
        """Largest number of fraction digits among the numbers of its cells; 0 when all are integers."""
        if self.places is not None:
            return self.places
        if "decimals" not in self._made:
            self._made["decimals"] = np.array([self._read.decimals[self.used].max(initial=0)])
        return int(self._made["decimals"][0])

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def lexemes(self) -> NDArray[np.object_]:
        """The text of each cell, None where absent; shape (n,)."""
        return self._once("lexemes", lambda: self.lexemes_of(None))

    @property
    def status(self) -> NDArray[np.uint8]:
        """`Status` of each cell, shape (n,)."""
        return self._once("status", lambda: self.states[self.codes])

    @property
    def values(self) -> NDArray[np.float64]:
        """The number of each cell, shape (n,); NaN where it is none."""
        return self._once("values", lambda: self.numbers[self.codes])

    @property
    def present(self) -> NDArray[np.bool_]:
        """Mask of the cells that hold a value."""
        return self.where(self.states == Status.PRESENT)

    @property
    def held(self) -> NDArray[np.object_]:
        """The lexemes without the cells that hold no value, empty or a code for it: None in their place."""
        lexemes = self.lexemes.copy()
        lexemes[~self.present] = None
        return lexemes

    @property
    def is_number(self) -> NDArray[np.bool_]:
        """Mask of the cells that hold a number."""
        return self.where(~np.isnan(self.numbers))

    @property
    def numeric(self) -> bool:
        """Whether every value that is there is a number (and there is one)."""
        present = self.used & (self.states == Status.PRESENT)
        return bool(present.any()) and not bool(np.isnan(self.numbers[present]).any())

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which texts some cell has, shape (m,)."""
        found = np.zeros(len(self.states), dtype=np.bool_)
        found[self.codes] = True
        return found

    def where(self, texts: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which cells have one of some texts, shape (n,), given which texts these are, shape (m,)."""
        chosen = int(np.count_nonzero(texts))
        if chosen in (0, len(texts)):
            return np.full(len(self), chosen > 0)
        return texts[self.codes]

    def passing(self, test: Callable[[str | None], bool]) -> NDArray[np.bool_]:
        """Return which cells have a text that passes a test, shape (n,); asked of each text of the lexicon."""
        return self.where(np.fromiter(map(test, self.lexicon.objects()), dtype=np.bool_, count=len(self.lexicon)))

    @property
    def tells_apart(self) -> bool:
        """Whether no two cells have the same text, or are both absent."""
        used = np.flatnonzero(self.used)
        if len(used) < len(self) or self.lexicon.distinct:
            return len(used) == len(self)
        same = self.lexicon.same()[used]
        found = np.zeros(len(self.lexicon), dtype=np.bool_)
        found[same] = True
        return int(np.count_nonzero(found)) == len(self)

    def taken(self, which: NDArray[np.intp] | NDArray[np.bool_]) -> Column:
        """Return some cells, in the order of their positions."""
        return replace(self, codes=self.codes[which])

    def apart(self, which: NDArray[np.intp]) -> Column:
        """Return some cells as `taken` does, with the texts that these have and no others, in the scale of all."""
        used, codes = np.unique(self.codes[which], return_inverse=True)
        return replace(self, codes=codes.astype(np.int32), known=self.known.only(used), places=self.decimals)

    def declaring(self, missing: Collection[str]) -> Column:
        """Return the same cells, of which some more texts mean 'missing'."""
        return replace(self, known=replace(self.known, missing=self.known.missing.union(missing)))

    def with_cells(self, rows: NDArray[np.intp], other: Column) -> Column:
        """Return a column in which some cells are those of another one, one by one."""
        codes = self.codes.copy()
        codes[rows] = other.codes + len(self.lexicon)
        return replace(
            self, codes=codes, known=replace(self.known, lexicon=Lexicon.joined([self.lexicon, other.lexicon]))
        )

    def without(self, rows: NDArray[np.intp]) -> Column:
        """Return a column in which some cells are absent."""
        return self.with_cells(rows, Column.absent(self.variable, len(rows)))

    def spread(self, rows: NDArray[np.intp], cells: int) -> Column:
        """Return a column of more cells, of which some are those of this one, and all others are absent."""
        return Column.absent(self.variable, cells).with_cells(rows, self)

    @classmethod
    def absent(cls, variable: Variable, cells: int) -> Column:
        """Return a column of a field that no record has."""
        return cls.of_texts(variable, [None], np.zeros(cells, dtype=np.int32))

    def lexeme(self, row: int) -> str | None:
        """Return the text of one cell; None where absent."""
        kept = self._made.get("lexemes")
        if kept is None and len(self) < LONG_COLUMN:
            kept = self.lexemes
        text: str | None = self.lexicon[int(self.codes[row])] if kept is None else kept[row]
        return text

    def lexemes_of(self, rows: NDArray[np.intp] | NDArray[np.bool_] | None) -> NDArray[np.object_]:
        """Return the texts of some cells, of all where `rows` is None; equal texts are one object."""
        if rows is not None and len(self) < LONG_COLUMN:
            return self.lexemes[rows]
        codes = self.codes if rows is None else self.codes[rows]
        if 2 * len(codes) >= len(self.lexicon):
            return self.lexicon.objects()[codes]
        own, which = np.unique(codes, return_inverse=True)
        return self.lexicon.some(own.astype(np.intp))[which]

    def holds(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which of some cells hold a value."""
        found: NDArray[np.bool_] = self.states[self.codes[rows]] == Status.PRESENT
        return found

    def texts(self, *states: Status) -> list[str]:
        """Return the texts of the cells with some statuses, each distinct one once, in no special order.

        Parameters
        ----------
        *states : Status
            PRESENT where none is given; not ABSENT.
        """
        found = [str(text) for text in self.lexicon.some(self._of(states or (Status.PRESENT,)))]
        return found if self.lexicon.distinct else list(dict.fromkeys(found))

    def each_text(self) -> Iterator[str]:
        """Yield the texts of the cells that hold a value, in no special order; some of them more than once."""
        yield from self._some(self._of((Status.PRESENT,)))

    def each_number(self) -> Iterator[str]:
        """Yield the texts of the cells that hold a number, in no special order; some of them more than once."""
        yield from self._some(np.flatnonzero(self.used & ~np.isnan(self.numbers)))

    def _some(self, which: NDArray[np.intp]) -> Iterator[str]:
        for at in range(0, len(which), LONG_COLUMN):
            yield from map(str, self.lexicon.some(which[at : at + LONG_COLUMN]))

    def written_numbers(self) -> list[str]:
        """Return the texts of the cells that hold a number, each distinct one once, in no special order."""
        return list(dict.fromkeys(self.each_number()))

    def as_read(self) -> NDArray[np.float64]:
        """Return the numbers as rules read them, shape (n,): a code that is a number counts as one."""
        at = self._of((Status.CODE,))
        if not len(at):
            return self.values
        numbers = self.numbers.copy()
        numbers[at] = [parse_number(str(text)) for text in self.lexicon.some(at)]
        return self._once("as read", lambda: numbers[self.codes])

    def _of(self, states: Iterable[Status]) -> NDArray[np.intp]:
        return np.flatnonzero(self.used & np.isin(self.states, [int(status) for status in states]))

    def numbered(self, *, held: bool = False) -> NDArray[np.int32]:
        """Number the distinct texts by first appearance, shape (n,): from 0.

        Parameters
        ----------
        held : bool
            Whether cells count as absent that are empty or hold a code for a missing value.

        Returns
        -------
        ndarray of int32, shape (n,)
            -1 where absent.
        """
        rows = len(self)
        same = self.lexicon.same()
        known = ~self.lexicon.absent() if not held else self.states == Status.PRESENT
        first = np.full(len(same), rows, dtype=np.int64)
        first[self.codes[::-1]] = np.arange(rows - 1, -1, -1)
        if not self.lexicon.distinct:
            earliest = np.full(len(same), rows, dtype=np.int64)
            np.minimum.at(earliest, same[known], first[known])
            first = earliest
        asked = np.flatnonzero(known & (first < rows))
        rank = np.full(len(same), -1, dtype=np.int32)
        rank[asked[np.argsort(first[asked], kind="stable")]] = np.arange(len(asked), dtype=np.int32)
        found: NDArray[np.int32] = np.where(known, rank[same], np.int32(-1))[self.codes]
        return found

    def ranked(self) -> tuple[Lexicon, NDArray[np.intp]]:
        """Return the distinct texts of the cells in sorted order, absent first, and which one each cell has."""
        return ranked(self.lexicon, self.codes)

    def same_texts(self, other: Column) -> NDArray[np.bool_]:
        """Return in which rows two columns of n cells each have the same text, or are both absent."""
        if self.lexicon is other.lexicon and self.lexicon.distinct:
            same: NDArray[np.bool_] = self.codes == other.codes
            return same
        return same_texts(self.lexicon, self.codes, other.lexicon, other.codes)

    def _once[T: np.generic](self, name: str, make: Callable[[], NDArray[T]]) -> NDArray[T]:
        """Make an array; keep it where cells are few."""
        if len(self) >= LONG_COLUMN:
            return make()
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]


@dataclass(frozen=True, slots=True, eq=False)
class OnDemand[T: np.generic](Mapping[str, NDArray[T]]):
    """Arrays of some columns by field name, each made when it is asked for.

    Attributes
    ----------
    columns : mapping of str to Column
    make : callable
        Returns the array of a column, shape (n,).
    """

    columns: Mapping[str, Column]
    make: Callable[[Column], NDArray[T]]

    @classmethod
    def lexemes(cls, columns: Mapping[str, Column]) -> OnDemand[np.object_]:
        """Return the lexemes of each column."""
        return OnDemand(columns, attrgetter("lexemes"))

    def __getitem__(self, name: str) -> NDArray[T]:
        return self.make(self.columns[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns


def written_alike(
    texts: Lexicon, codes: NDArray[np.integer], column: Column, *, respelled: bool
) -> NDArray[np.bool_]:
    """Return which cells of a column have the texts that were meant, or denote the same numbers.

    Parameters
    ----------
    texts : Lexicon
    codes : ndarray of int, shape (n,)
        The text that was meant for each cell.
    column : Column, of n cells
    respelled : bool
        Whether the format may spell numbers otherwise; it never does in a column of texts.
    """
    alike = same_texts(texts, codes, column.lexicon, column.codes)
    if column.typed.text or not respelled:
        return alike
    apart = np.flatnonzero(~alike)
    pairs, which = np.unique(np.stack([codes[apart], column.codes[apart]]), axis=1, return_inverse=True)
    equal = [denote_alike(texts[int(meant)], column.lexicon[int(found)]) for meant, found in pairs.T]
    alike[apart] = np.array(equal, dtype=np.bool_)[which]
    return alike
