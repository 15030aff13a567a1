"""Microdata as columns: lexemes kept as written, numbers beside them, kinds of missingness apart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


class Status(IntEnum):
    """What stands in a cell."""

    PRESENT = 0
    ABSENT = 1
    """No element or attribute."""
    EMPTY = 2
    """There, without content other than white space."""
    CODE = 3
    """A lexeme that was declared to mean 'missing'."""


@dataclass(frozen=True, slots=True)
class Field:
    """A variable of the file: a child element or an attribute of the record.

    Attributes
    ----------
    name : str
        The name that rules, options and reports use: the local name, ``@`` before it for an attribute.
    tag : str
        Clark name, ``{namespace}local`` or ``local``, without ``@``.
    attribute : bool
    """

    name: str
    tag: str
    attribute: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """Where records and fields stand in the document.

    Attributes
    ----------
    record_path : tuple of str
        Clark names from the root element to the record element, both included.
    fields : tuple of Field
        In the order in which the file first shows them.
    root_attributes, nsmap
        Attributes and namespace declarations of the root element.
    encoding : str
    """

    record_path: tuple[str, ...]
    fields: tuple[Field, ...]
    root_attributes: tuple[tuple[str, str], ...] = ()
    nsmap: tuple[tuple[str | None, str], ...] = ()
    encoding: str = "UTF-8"

    def field(self, name: str) -> Field | None:
        """Return the field with this name, or None."""
        return next((f for f in self.fields if f.name == name), None)

    @property
    def record_tag(self) -> str:
        """Clark name of the record element."""
        return self.record_path[-1]


@dataclass(frozen=True, slots=True)
class Shape:
    """Whether the file is a plain table: like records, each with single fields that hold text only.

    Attributes
    ----------
    flat : bool
    reason : str
        What is not flat, in one sentence; empty for a flat file.
    line : int
        Where that was first seen; 0 for a flat file.
    """

    flat: bool
    reason: str = ""
    line: int = 0


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


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The values of one field, record by record.

    Attributes
    ----------
    lexemes : ndarray of object, shape (n,)
        The text exactly as the parser gives it; None where absent.
    status : ndarray of uint8, shape (n,)
        `Status` codes.
    values : ndarray of float64, shape (n,)
        Correctly rounded numbers; NaN where the status is not PRESENT or the text is not a number.
    decimals : int
        Largest number of fraction digits among the numbers; 0 when all are integers.
    typed : Typed
        More than nothing where the file was written from a data frame.
    """

    field: Field
    lexemes: NDArray[np.object_]
    status: NDArray[np.uint8]
    values: NDArray[np.float64]
    decimals: int
    typed: Typed = UNTYPED

    def taken(self, rows: NDArray[np.intp]) -> Column:
        """Return the cells of some records, in their order."""
        return replace(self, lexemes=self.lexemes[rows], status=self.status[rows], values=self.values[rows])

    @property
    def present(self) -> NDArray[np.bool_]:
        """Mask of the cells that hold a value."""
        mask: NDArray[np.bool_] = self.status == Status.PRESENT
        return mask

    @property
    def held(self) -> NDArray[np.object_]:
        """The lexemes without the cells that hold no value, empty or a code for it: None in their place."""
        lexemes = self.lexemes.copy()
        lexemes[~self.present] = None
        return lexemes

    @property
    def is_number(self) -> NDArray[np.bool_]:
        """Mask of the cells that hold a number."""
        return ~np.isnan(self.values)

    @property
    def numeric(self) -> bool:
        """Whether every value that is there is a number (and there is one)."""
        present = self.present
        return bool(present.any()) and bool(self.is_number[present].all())


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Texts of cells, each distinct one once: that of cell i is ``texts[codes[i]]``.

    Attributes
    ----------
    texts : ndarray of object, shape (m,)
        None where the field is absent. Not all of them need be distinct, or used.
    codes : ndarray of intp, shape (n,)
    """

    texts: NDArray[np.object_]
    codes: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """A microdata file in memory.

    Attributes
    ----------
    source : Path
    layout : Layout
    columns : mapping of str to Column
        By field name, in layout order.
    lines : ndarray of int64, shape (n,)
        True source line (from 1) on which each record begins.
    """

    source: Path
    layout: Layout
    columns: Mapping[str, Column]
    lines: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.lines)
