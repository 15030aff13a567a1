"""Rules that look at one record, with aggregates as its attributes; and batches whose records carry these."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from xml.sax.saxutils import quoteattr

import numpy as np
from numpy.typing import NDArray

from masktron.judge.across.recognise import Hole
from masktron.judge.across.selection import Aggregate, NotAcross
from masktron.rulebook.schema import Let, Rule, Rulebook, ValueOf
from masktron.sources.columns import Batch, Cell, Cells, Numbers, Texts
from masktron.sources.record_layout import Field, Layout

type TextPlace = tuple[int, ...]
"""Of an expression in a rulebook: pattern, rule, check and part, or those of a ``let``."""
type Editor = Callable[[str, TextPlace], str]
_LARGEST = 2**53
_UNNAMED = re.compile(r"(?:@|\battribute\s*::)\s*(?:\*|\w+\s*\()|\b(?:attribute|deep-equal|serialize)\s*\(")
PREFIX = "m.across."
"""Of the attributes that records seem to have."""


def transform(rulebook: Rulebook, edit: Editor) -> Rulebook:
    """Return a rulebook whose expressions, contexts apart, are replaced by what a function makes of them."""
    patterns = []
    for p, pattern in enumerate(rulebook.patterns):
        rules = tuple(_rule(rule, (p, r), edit) for r, rule in enumerate(pattern.rules))
        patterns.append(replace(pattern, lets=_lets(pattern.lets, (p,), edit), rules=rules))
    return replace(rulebook, lets=_lets(rulebook.lets, (), edit), patterns=tuple(patterns))


def _lets(lets: Sequence[Let], place: TextPlace, edit: Editor) -> tuple[Let, ...]:
    return tuple(replace(let, value=edit(let.value, (*place, -1 - k))) for k, let in enumerate(lets))


def _rule(rule: Rule, place: TextPlace, edit: Editor) -> Rule:
    checks = []
    for c, check in enumerate(rule.checks):
        parts = tuple(
            replace(part, select=edit(part.select, (*place, c, k + 1))) if isinstance(part, ValueOf) else part
            for k, part in enumerate(check.message)
        )
        checks.append(replace(check, test=edit(check.test, (*place, c, 0)), message=parts))
    return replace(rule, lets=_lets(rule.lets, place, edit), checks=tuple(checks))


def reads_all_attributes(rulebook: Rulebook) -> str:
    """Return an expression that may see an attribute without naming it; the empty text where there is none."""
    found: list[str] = []

    def look(expression: str, _place: TextPlace) -> str:
        found.append(expression)
        return expression

    transform(rulebook, look)
    found += [rule.context for pattern in rulebook.patterns for rule in pattern.rules]
    return next((" ".join(e.split()) for e in found if _UNNAMED.search(e)), "")


def filled(expression: str, holes: Sequence[Hole], text_of: Callable[[Aggregate], str]) -> str:
    """Return an expression with the texts of aggregates in its holes."""
    parts: list[str] = []
    at = 0
    for hole in holes:
        text = hole.written(text_of)
        # brackets of the part are those that its neighbours need: 5or is no XPath 2
        parts += expression[at : hole.start], f"({text})" if expression[hole.start] == "(" else text
        at = hole.end
    return "".join((*parts, expression[at:]))


def constant_text(aggregate: Aggregate, value: float | bool | None) -> str:
    """Write a value as an expression that an engine reads bit by bit as it is.

    Raises
    ------
    NotAcross
        There is no such expression.
    """
    if value is None:
        return "()"
    if aggregate.type == "boolean":
        return "true()" if value else "false()"
    if isinstance(value, int):
        return str(value)
    if aggregate.version != "1.0":
        text = repr(value)
        return f"({text if 'e' in text else f'{text}e0'})"
    return _dyadic(value)


def _dyadic(value: float) -> str:
    """libxml2 rounds decimal fractions wrongly, integers below 2 ** 53 and powers of two never."""
    if math.isnan(value):
        return "(0 div 0)"
    top, *divisors = fraction_of(value)
    return f"({top}{''.join(f' div {divisor}' for divisor in divisors)})"


def fraction_of(value: float) -> tuple[int, int, int]:
    """Return integers of at most 53 bits; the first divided by the others is a double, without any rounding.

    Raises
    ------
    NotAcross
        There are none.
    """
    if math.isnan(value):
        return 0, 0, 1
    if not math.isfinite(value) or (value == 0 and math.copysign(1.0, value) < 0):
        raise NotAcross("a sum that is no plain number")
    top, bottom = value.as_integer_ratio()
    if abs(top) > _LARGEST or bottom > _LARGEST**2:
        raise NotAcross("a sum of more digits than can be written exactly")
    return top, min(bottom, _LARGEST), max(bottom // _LARGEST, 1)


def attribute_names(aggregate: Aggregate, number: int) -> tuple[str, ...]:
    """Return the attributes in which a record carries the value of an aggregate; a double has two divisors."""
    return tuple(f"{PREFIX}{part}{number}" for part in ("abc" if aggregate.type == "double" else "a"))


def record_text(aggregate: Aggregate, names: Sequence[str], *, in_field: bool) -> str:
    """Return the expression that reads an aggregate from the record; a sum of nothing is an integer since XPath 2."""
    value, *divisors = (f"{'../' if in_field else ''}@{name}" for name in names)
    match aggregate.type:
        case "node":
            return value
        case "boolean":
            return f"({value} = '1')"
        case "integer":
            return f"number({value})" if aggregate.version == "1.0" else f"xs:integer({value})"
        case "double":
            double = " div ".join(f"number({part})" for part in (value, *divisors))
            return f"({double})" if aggregate.version == "1.0" else f"(if ({value}) then {double} else 0)"


@dataclass(frozen=True, slots=True, eq=False)
class Derived:
    """An attribute of records of a batch.

    Attributes
    ----------
    name : str
        Of the attribute, which has no namespace.
    texts : sequence of bytes
        Each distinct one once, in the encoding of the batch.
    codes : ndarray of intp, shape (n,)
        Positions in `texts`; -1 for none.
    """

    name: str
    texts: Sequence[bytes]
    codes: NDArray[np.intp]


class DerivedBatch(Batch):
    """A batch with more attributes, behind the fields that it has; its buffer begins with that of the batch."""

    __slots__ = ("_inner",)
    _inner: Batch

    @classmethod
    def of(cls, inner: Batch, added: Sequence[Derived]) -> DerivedBatch:
        """Return a batch with some attributes added."""
        extra = bytearray()
        cells = list(inner.cells)
        for derived in added:
            ends = len(inner.buffer) + len(extra) + np.cumsum([0, *map(len, derived.texts)], dtype=np.int64)
            extra += b"".join(derived.texts)
            starts, stops = ends[derived.codes], ends[np.where(derived.codes < 0, -1, derived.codes + 1)]
            status = np.where(starts == stops, np.uint8(Cell.EMPTY), np.uint8(Cell.TEXT))
            cells.append(Cells(starts, stops, np.where(derived.codes < 0, np.uint8(Cell.ABSENT), status)))
        batch = cls(
            layout=extended(inner.layout, [derived.name for derived in added]),
            codec=inner.codec,
            buffer=np.concatenate((inner.buffer, np.frombuffer(bytes(extra), dtype=np.uint8))),
            offset=inner.offset,
            first=inner.first,
            starts=inner.starts,
            stops=inner.stops,
            lines=inner.lines,
            odd=inner.odd,
            cells=tuple(cells),
        )
        object.__setattr__(batch, "_inner", inner)
        return batch

    @property
    def inner(self) -> Batch:
        """The batch as it is in the file."""
        return self._inner

    def numbers(self, at: int) -> Numbers:
        """Return a field as numbers."""
        return self._inner.numbers(at) if at < len(self._inner.cells) else super().numbers(at)

    def texts(self, at: int) -> Texts:
        """Return a field as text."""
        return self._inner.texts(at) if at < len(self._inner.cells) else super().texts(at)

    def misread_rows(self) -> NDArray[np.int64]:
        """Return no record: what libxml2 alone would say is not asked across records."""
        return np.zeros(0, dtype=np.int64)

    def record(self, row: int) -> bytes:
        """Return the bytes of one record, with the attributes that were added."""
        text = self._inner.record(row)
        end = next(at for at in range(1, len(text)) if text[at : at + 1] in (b" ", b"\t", b"\n", b"\r", b"/", b">"))
        own = len(self._inner.cells)
        added = "".join(
            f" {field.name.removeprefix('@')}={quoteattr(self._text(cells, row))}"
            for field, cells in zip(self.layout.fields[own:], self.cells[own:], strict=True)
            if cells.status[row] != Cell.ABSENT
        )
        return text[:end] + added.encode(self.codec) + text[end:]

    def _text(self, cells: Cells, row: int) -> str:
        return self.buffer[cells.start[row] : cells.stop[row]].tobytes().decode(self.codec)

    def records(self, rows: NDArray[np.int64]) -> bytes:
        """Return the bytes of some records, each with the attributes that were added."""
        return b"".join(self.record(int(row)) for row in rows)


def extended(layout: Layout, names: Sequence[str]) -> Layout:
    """Return a layout with more attributes of the record, behind its fields."""
    return replace(layout, fields=(*layout.fields, *(Field(f"@{name}", name, attribute=True) for name in names)))
