"""Recodings: which values of a field are written alike, and how they are then written.

A recoding is a function of the lexeme alone, the same in every record, so that rules can be translated: what is known
of a class is that the original value was one of its values. Translated rules hold where a value without a class is no
label, and where classes of numbers take texts as every XPath reads them: ``+5`` and ``1e3`` are no numbers.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from masktron.constraints import Range

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class ValueClass:
    """Values that are written alike.

    Attributes
    ----------
    label : str
        What is written for them.
    values : frozenset of str, or None
        All lexemes that it stands for; None where `interval` says it.
    interval : Range or None
        The numbers that it stands for; None where `values` lists them.
    """

    label: str
    values: frozenset[str] | None = None
    interval: Range | None = None


class Recoding(Protocol):
    """What a recoding tells those who apply it and those who translate rules."""

    @property
    def field(self) -> str:
        """The field that is recoded."""

    @property
    def classes(self) -> tuple[ValueClass, ...] | None:
        """The classes; values outside all of them are written as they are. None where they are without number."""

    def label_of(self, lexeme: str) -> str | None:
        """Return what is written for a value that is not missing; None where the recoding has no class for it."""


@dataclass(frozen=True, slots=True)
class ListRecoding:
    """Every value has its class in a list, such as a level of a hierarchy.

    Attributes
    ----------
    field : str
    labels : mapping of str to str
        The label of each lexeme. A value that is not listed has no class.
    """

    field: str
    labels: Mapping[str, str]

    @property
    def classes(self) -> tuple[ValueClass, ...]:
        """The classes, in the order in which their labels are listed first."""
        members: dict[str, set[str]] = {}
        for lexeme, label in self.labels.items():
            members.setdefault(label, set()).add(lexeme)
        return tuple(ValueClass(label, values=frozenset(values)) for label, values in members.items())

    def label_of(self, lexeme: str) -> str | None:
        """Return the label of the list; white space around a value does not count where the list has none."""
        found = self.labels.get(lexeme)
        return self.labels.get(lexeme.strip(_SPACE)) if found is None else found


@dataclass(frozen=True, slots=True)
class IntervalRecoding:
    """Numbers are written as the interval that they lie in, closed below and open above.

    Attributes
    ----------
    field : str
    breaks : tuple of Fraction, shape (m,)
        Rising. Class i has the numbers from break i to below break i + 1; the last class has no upper end, and a
        number below the first break has no class.
    labels : tuple of str, shape (m,)
    whole : bool
        Whether all values are integers: then other numbers have no class, and a class of integers from 15 to below 20
        has none above 19, which lets rules say more of it.
    """

    field: str
    breaks: tuple[Fraction, ...]
    labels: tuple[str, ...]
    whole: bool = False

    @property
    def classes(self) -> tuple[ValueClass, ...]:
        """The classes from the lowest to the highest."""
        ends = (*self.breaks[1:], None)
        return tuple(
            ValueClass(label, interval=self._interval(low, high))
            for label, low, high in zip(self.labels, self.breaks, ends, strict=True)
        )

    def _interval(self, low: Fraction, high: Fraction | None) -> Range:
        if not self.whole:
            return Range(self.field, low, high, high_open=high is not None)
        return Range(self.field, Fraction(math.ceil(low)), None if high is None else Fraction(math.ceil(high) - 1))

    def label_of(self, lexeme: str) -> str | None:
        """Return the label of the interval; None for a text and for numbers below all intervals."""
        number = exact_number(lexeme)
        if number is None or number < self.breaks[0] or (self.whole and number.denominator != 1):
            return None
        return self.labels[bisect_right(self.breaks, number) - 1]


@dataclass(frozen=True, slots=True)
class Rounded:
    """Numbers are written as the nearest multiple of a base; what lies half-way, as the even multiple.

    Attributes
    ----------
    field : str
    base : Fraction
        Above 0.
    decimals : int
        Fraction digits that are written, at least those of the base.
    """

    field: str
    base: Fraction
    decimals: int = 0

    @property
    def classes(self) -> None:
        """Without number; the class of a written value v has the numbers from v - base/2 to v + base/2."""
        return

    def label_of(self, lexeme: str) -> str | None:
        """Return the nearest multiple of the base; None for a text."""
        number = exact_number(lexeme)
        return None if number is None else decimal_text(self.base * round(number / self.base), self.decimals)


@dataclass(frozen=True, slots=True)
class Tails:
    """Numbers at or beyond a bound are written as one number each side, all others as they are.

    Attributes
    ----------
    field : str
    bottom, top : Fraction or None
        Numbers <= bottom, and >= top, are a tail.
    bottom_label, top_label : str
        What is written for them: a number in the tail, such as its mean or median.
    """

    field: str
    bottom: Fraction | None = None
    bottom_label: str = ""
    top: Fraction | None = None
    top_label: str = ""

    @property
    def classes(self) -> tuple[ValueClass, ...]:
        """The tails."""
        found: list[ValueClass] = []
        if self.bottom is not None:
            found.append(ValueClass(self.bottom_label, interval=Range(self.field, None, self.bottom)))
        if self.top is not None:
            found.append(ValueClass(self.top_label, interval=Range(self.field, self.top, None)))
        return tuple(found)

    @property
    def between(self) -> Range:
        """The numbers that are in no tail, and written as they are."""
        return Range(self.field, self.bottom, self.top, low_open=True, high_open=True)

    def label_of(self, lexeme: str) -> str | None:
        """Return the label of the tail, or the lexeme itself; None for a text."""
        number = exact_number(lexeme)
        if number is None:
            return None
        if self.bottom is not None and number <= self.bottom:
            return self.bottom_label
        return self.top_label if self.top is not None and number >= self.top else lexeme


def exact_number(lexeme: str) -> Fraction | None:
    """Return the number that a text denotes, exactly; None for what is none, or has an exponent beyond 999."""
    text = lexeme.strip(_SPACE)
    return Fraction(text) if _NUMBER.fullmatch(text) else None


def denote_alike(one: str | None, other: str | None) -> bool:
    """Whether two texts are equal, or absent both, or denote one number, exactly."""
    if one is None or other is None or one == other:
        return one == other
    number = exact_number(one)
    return number is not None and number == exact_number(other)


def decimal_text(number: Fraction, decimals: int) -> str:
    """Write a number with so many fraction digits; what lies half-way between two of them, as the even one.

    >>> decimal_text(Fraction(-5, 8), 2)
    '-0.62'
    """
    steps = round(number * 10**decimals)
    digits = str(abs(steps)).rjust(decimals + 1, "0")
    cut = len(digits) - decimals
    return f"{'-' if steps < 0 else ''}{digits[:cut]}{'.' if decimals else ''}{digits[cut:]}"


def of_field(recoding: Recoding, field: str) -> Recoding:
    """Return the same recoding of another field."""
    if isinstance(recoding, ListRecoding | IntervalRecoding | Rounded | Tails):
        return replace(recoding, field=field)
    raise TypeError(f"{type(recoding).__name__} is of no kind that a manifest has")
