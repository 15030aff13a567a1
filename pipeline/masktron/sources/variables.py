"""What a file says of its variables beside their values: labels, kinds, codes for missing values, types."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from masktron.config import Kind
from masktron.problems.problem import Note, Sentence
from masktron.sources.lexical import XML_SPACE, parse_number
from masktron.sources.record_layout import column_name

if TYPE_CHECKING:
    import pyarrow as pa


NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Typed:
    """What the type or the format of a column says of a field, and its lexemes do not.

    Attributes
    ----------
    bits : int or None
        Of the significand, where the type is a binary fraction.
    text : bool
        The values are texts, also where all of them look like numbers.
    lower, upper : Fraction or None
        The least and the largest number that the column can hold; None where nothing bounds them.
    places : int or None
        Fraction digits of a number that the column can hold, below 0 where it holds tens or hundreds alone; None
        where nothing bounds them.
    shown : (int, int) or None
        Characters and fraction digits of its display format, where a statistical package has given it one.
    """

    bits: int | None = None
    text: bool = False
    lower: Fraction | None = None
    upper: Fraction | None = None
    places: int | None = None
    shown: tuple[int, int] | None = None

    @classmethod
    def integer(cls, bits: int, *, signed: bool = True) -> Typed:
        """Return what an integer type of so many bits can hold."""
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        return cls(lower=Fraction(low), upper=Fraction(high), places=0)

    @classmethod
    def decimal(cls, precision: int, scale: int) -> Typed:
        """Return what decimals of so many digits, `scale` of them in the fraction, can hold; the scale may be < 0."""
        largest = (10**precision - 1) / Fraction(10) ** scale
        return cls(lower=-largest, upper=largest, places=scale)

    @property
    def digits(self) -> int | None:
        """Significant digits that a binary fraction surely keeps.

        Theorem: a decimal of at most that many digits is the shortest decimal of the nearest binary fraction. Proof:
        no two such decimals have the same nearest fraction, as 10 ** digits < 2 ** (bits - 1) (Matula 1968), and a
        shorter one would be such a decimal.
        """
        return None if self.bits is None else int((self.bits - 1) * math.log10(2))

    def keeps(self, largest: float, decimals: int) -> bool:
        """Whether the type keeps all numbers up to `largest` with so many fraction digits as they are written.

        Theorem: where neighbours of binary fractions are nearer to each other than those of decimals, each decimal
        has a fraction of its own, and is its shortest decimal. Proof: neighbours up to `largest` are at most
        ``largest * 2 ** (1 - bits)`` apart, and rounding moves a number by half of that.
        """
        return self.bits is None or largest * 10.0**decimals < 2.0 ** (self.bits - 1)


UNTYPED = Typed()


@dataclass(frozen=True, slots=True)
class Variable:
    """What a file, or a description beside it, says of a column.

    Attributes
    ----------
    name : str
        As rules, settings and results have it: see `masktron.sources.tables.column_names.xml_name`.
    column : str
        As the file has it.
    label : str
        The description of the variable; empty where there is none.
    labels : mapping of str to str
        Labels of values, by lexeme.
    missing : mapping of str to str
        Lexemes that mean 'missing' to the format, each with its label, which may be empty.
    kind : Kind or None
        What the format says that its values are.
    order : tuple of str
        Of an ordinal variable: all categories from the lowest to the highest, where the format has them.
    weight : bool
        The format says that this is the survey weight.
    typed : Typed
        What the type of the column can hold.
    stored : pyarrow.DataType or None
        The type that holds its values in another format; text when None.
    observed : frozenset of str
        Those of `missing` and `order` that nobody declared: only cells, or the categories of a type, tell them.
    ranges : tuple of str
        Ranges of values that mean 'missing', in words, such as ``90 to 99``.
    spans : tuple of (float, float)
        The same ranges as numbers that are stored; infinite where they are open.
    recoded : tuple of str or None
        Where its values were recoded: all lexemes that are written, those of classes in their order, none where the
        type of the column holds them in any case; None elsewhere. See `class_values.recoded`.
    listed : bool
        Somebody has listed its values, or put them in an order: in a description, as the enumeration of a database,
        as ordered categories. Texts without that may be names, also where they are stored as categories.
    """

    name: str
    column: str
    label: str = ""
    labels: Mapping[str, str] = NONE
    missing: Mapping[str, str] = NONE
    kind: Kind | None = None
    order: tuple[str, ...] = ()
    weight: bool = False
    typed: Typed = UNTYPED
    stored: pa.DataType | None = None
    observed: frozenset[str] = frozenset()
    ranges: tuple[str, ...] = ()
    spans: tuple[tuple[float, float], ...] = ()
    listed: bool = False
    recoded: tuple[str, ...] | None = None

    def __reduce__(self) -> tuple[type[Variable], tuple[object, ...]]:
        """Be sent to another process, where mappings that nobody can change cannot go."""
        values = (getattr(self, own.name) for own in fields(self))
        return type(self), tuple(dict(one) if isinstance(one, MappingProxyType) else one for one in values)

    @classmethod
    def named(cls, name: str) -> Variable:
        """Return a variable of which nothing is said but the name that rules have for it."""
        return cls(name, column_name(name))

    @property
    def moments(self) -> str:
        """What its values are where the type of the column says moments, ``date`` or ``time``; else nothing."""
        named = "" if self.stored is None else str(self.stored)
        return "date" if named.startswith(("date", "timestamp")) else "time" if named.startswith("time") else ""

    @property
    def declared_missing(self) -> Mapping[str, str]:
        """Codes that mean 'missing', whatever records hold, each with its label."""
        return {code: label for code, label in self.missing.items() if code not in self.observed}

    @property
    def declared_order(self) -> tuple[str, ...]:
        """Categories from the lowest to the highest, whatever records hold."""
        return tuple(value for value in self.order if value not in self.observed)


_BESIDE_NUMBERS = (
    "column {column!r} has {found:and} beside numbers: a text like any other; if it means that "
    "there is no value, give [[--format-option null={listed}]]"
)


def texts_beside_numbers(column: str, found: Sequence[str]) -> Note:
    """Say that a column has texts that often mean 'missing'."""
    return Note(_BESIDE_NUMBERS, column=column, found=[*map(repr, found)], listed=",".join(found))


def without_declared(note: Sentence, missing: Mapping[str, frozenset[str]]) -> Sentence | None:
    """Return a note; one of `texts_beside_numbers` without what settings declare, or None where that leaves no text.

    Parameters
    ----------
    note : Problem or str
    missing : mapping of str to frozenset of str
        Codes by field, as `masktron.config.Config` has them.
    """
    if not isinstance(note, Note) or note.code != _BESIDE_NUMBERS:
        return note
    column = note.references["column"]
    codes = frozenset[str]().union(*(own for name, own in missing.items() if column_name(name) in ("*", column)))
    left = [text for text in note.references["listed"].split(",") if text not in codes]
    return texts_beside_numbers(column, left) if left else None


class MissingCodes:
    """The codes of a field: ``lexeme in codes`` says whether a lexeme is one.

    A code that is a number is every lexeme of that number: ``9998`` stands for ``9998.0`` and ``09998`` as well. They
    are compared exactly, as decimals. All other codes, and those of fields whose type is text, are compared as texts.
    White space of XML around a lexeme does not count.

    Parameters
    ----------
    codes : iterable of str
    text : bool
        The type of the field is text: its values are no numbers, also where they look like some.

    Attributes
    ----------
    doubles : ndarray of float64
        The doubles nearest to the codes that are numbers: a lexeme with another one is none of them.
    """

    def __init__(self, codes: Iterable[str], *, text: bool = False) -> None:
        self._texts = frozenset(code.strip(XML_SPACE) for code in codes)
        numbers = {code: found for code in self._texts if (found := _exact(code)) is not None}
        self._number_of = {} if text else numbers
        self._by_number = {number: code for code, number in sorted(self._number_of.items(), reverse=True)}
        self._nearest = frozenset(map(parse_number, self._number_of))
        self.doubles: NDArray[np.float64] = np.array(sorted(map(parse_number, numbers)), dtype=np.float64)

    def __bool__(self) -> bool:
        return bool(self._texts)

    def __contains__(self, lexeme: str) -> bool:
        return self.declared(lexeme) is not None

    def declared(self, lexeme: str) -> str | None:
        """Return the code that a lexeme is, as it was declared; None where it is none."""
        text = lexeme.strip(XML_SPACE)
        if text in self._texts:
            return text
        if not self._nearest or parse_number(text) not in self._nearest:
            return None
        number = _exact(text)
        return None if number is None else self._by_number.get(number)

    def unmet(self, lexemes: Iterable[str]) -> tuple[str, ...]:
        """Return the codes that none of some lexemes is, in order; those of one number are met together."""
        met = {code for lexeme in lexemes if (code := self.declared(lexeme)) is not None}
        numbers = {self._number_of[code] for code in met if code in self._number_of}
        return tuple(
            sorted(self._texts - met - {one for one, number in self._number_of.items() if number in numbers})
        )


@lru_cache(maxsize=1024)
def codes_of_field(codes: frozenset[str], *, text: bool = False) -> MissingCodes:
    """Return the codes of a field, made once for each set of them."""
    return MissingCodes(codes, text=text)


def _exact(text: str) -> Decimal | None:
    """Return the number that a text is; None where it is none that a double holds."""
    if np.isnan(parse_number(text)):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent with which no two such numbers are told apart
        return None
