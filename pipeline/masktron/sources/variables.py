"""What a file says of its variables beside their values: labels, kinds, codes for missing values, types."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING

from masktron.config import Kind
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
