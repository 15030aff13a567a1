"""What the first pass over a file gathers for one aggregate, and the value that each record gets of it.

Of an aggregate that differs from record to record, all is one fold. The records that are chosen are sorted by class
(the keys that have to be equal) and within it by what else is compared: the position in the file, or a value. What a
record reads is then a stretch of its class, from an end to where the record itself would stand: its length is a
count, its running sum is a sum, and one of its records has a field that is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.judge.across.rewrite import Derived, fraction_of
from masktron.judge.across.selection import (
    POSITION,
    Aggregate,
    Join,
    Key,
    NotAcross,
    Predicate,
    Selection,
    Word,
)
from masktron.judge.findings import Verdict
from masktron.kernels.keys import running_sums
from masktron.rulebook.schema import XPathVersion
from masktron.sources.columns import Batch, Cell, NumberForm
from masktron.sources.key_table import KeyTable
from masktron.sources.lexical import normalize_space, xpath2_number


@dataclass(frozen=True, slots=True, eq=False)
class KeySpans:
    """One stretch ``buffer[start:stop]`` for each record that has a key.

    All stretches of a file are in one encoding, in which equal texts have equal bytes.
    """

    buffer: NDArray[np.uint8]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    present: NDArray[np.bool_]

    def numbers(self, table: KeyTable, chosen: NDArray[np.bool_] | None = None) -> NDArray[np.int32]:
        """Return the numbers that a table gives to the keys of chosen records, of all of them by default."""
        present = self.present if chosen is None else self.present & chosen
        return table.number(self.buffer, self.start, self.stop, present)


def spans(batch: Batch, key: Key, version: XPathVersion) -> KeySpans:
    """Return the keys of the records of a batch, in a version of XPath.

    Raises
    ------
    NotAcross
        A cell is one that only an engine should read.
    """
    for at in key.fields:
        _require_plain(batch, at)
    first = next(iter(key.fields))
    match key.kind:
        case "node" | "string":
            cells = batch.cells[first]
            there = cells.status != Cell.ABSENT
            if key.kind == "node":
                return KeySpans(batch.buffer, cells.start, cells.stop, there)
            start, stop = np.where(there, cells.start, 0), np.where(there, cells.stop, 0)
            return KeySpans(batch.buffer, start, stop, np.ones(len(batch), dtype=np.bool_))
        case "number":
            values = _doubles(batch, first, version)
            start = np.arange(len(values), dtype=np.int64) * 8
            return KeySpans(values.view(np.uint8), start, start + 8, ~np.isnan(values))
        case _:
            return _written(batch, key)


def _require_plain(batch: Batch, at: int) -> None:
    if batch.odd.any() or (batch.cells[at].status == Cell.ODD).any():
        raise NotAcross(f"there are values of {batch.layout.fields[at].name} with markup or references in them")


def _doubles(batch: Batch, at: int, version: XPathVersion) -> NDArray[np.float64]:
    """Return what ``number()`` makes of a field: NaN equals nothing, and both zeros are one."""
    _require_plain(batch, at)
    numbers = batch.numbers(at)
    other = np.flatnonzero(numbers.form == NumberForm.OTHER)
    if version == "1.0" or not len(other):
        # what only later versions have is NaN there
        return numbers.double + 0.0
    texts, values = batch.texts(at), numbers.double + 0.0
    found = {code: xpath2_number(texts.values[code]) for code in np.unique(texts.codes[other]).tolist()}
    if None in found.values():
        raise NotAcross("a value that may or may not be a number")
    values[other] = [found[code] for code in texts.codes[other].tolist()]
    return values + 0.0


def _written(batch: Batch, key: Key) -> KeySpans:
    """Texts that stand nowhere in the file: made record by record."""
    columns = [_column(batch, part) for part in key.parts]
    rows = ["".join(parts) for parts in zip(*columns, strict=True)]
    if key.kind == "normal":
        rows = list(map(normalize_space, rows))
    try:
        encoded = [row.encode(batch.codec) for row in rows]
    except UnicodeEncodeError:
        raise NotAcross("a text with characters that the file's encoding does not have") from None
    stop = np.cumsum([len(row) for row in encoded], dtype=np.int64)
    start = np.concatenate((np.zeros(1, dtype=np.int64), stop[:-1])) if len(stop) else stop
    buffer = np.frombuffer(b"".join(encoded) or b"\0", dtype=np.uint8)
    return KeySpans(buffer, start, stop, np.ones(len(rows), dtype=np.bool_))


def _column(batch: Batch, part: int | Word) -> list[str]:
    if isinstance(part, Word):
        return [part.text] * len(batch)
    texts = batch.texts(part)
    return [texts.values[code] if code >= 0 else "" for code in texts.codes]


_EXACT = 2**53
"""Up to this sum of absolute values, integers are added without rounding, in whatever order."""

type Verdicts = Mapping[Predicate, NDArray[np.uint8]]
"""`Verdict` codes of conditions on the records of a batch."""
type ConstantValue = int | float | bool | None
"""Of an aggregate that is the same for all records; None is the empty sequence."""


class Collector:
    """The running totals of an aggregate that is the same for all records."""

    def __init__(self, aggregate: Aggregate) -> None:
        self.aggregate = aggregate
        self._distinct = KeyTable()
        self._count = 0
        self._sum = _zero(aggregate)
        self._extreme = math.nan

    def add(self, batch: Batch, verdicts: Verdicts) -> None:
        """Take in the next records of those that are selected.

        Raises
        ------
        NotAcross
            A cell that matters is one that only an engine should read, or a condition has no certain answer.
        """
        selection, fold = self.aggregate.selection, self.aggregate.fold
        chosen = _chosen(batch, selection, verdicts)
        self._count += int(chosen.sum())
        if fold == "distinct":
            spans(batch, _target(selection), selection.version).numbers(self._distinct, chosen)
        if fold in ("count", "exists", "distinct") or not chosen.any():
            return
        values = _values(batch, selection, chosen)
        if fold in ("sum", "avg"):
            # one after the other, as both engines add: not numpy's sum, which adds in pairs
            self._sum = float(np.add.accumulate(np.concatenate(([self._sum], values)))[-1])
            return
        if ((values == 0) & np.signbit(values)).any():
            raise NotAcross("a negative zero")
        least = fold == "min"
        here = float(values.min() if least else values.max())
        self._extreme = here if math.isnan(self._extreme) else (min if least else max)(self._extreme, here)

    def constant(self) -> ConstantValue:
        """Return the value that all records share."""
        match self.aggregate.fold:
            case "count":
                return self._count
            case "distinct":
                return len(self._distinct)
            case "exists":
                return self._count > 0
            case "sum":
                return _finite(self._sum) if self._count else 0
            case "avg":
                return _finite(self._sum / self._count) if self._count else None
            case _:
                return self._extreme if self._count else None


class RecordCollector:
    """The columns of an aggregate that differs from record to record, and after `finish` its values."""

    def __init__(self, aggregate: Aggregate) -> None:
        self.aggregate = aggregate
        selection = aggregate.selection
        keys = [join.own for join in selection.equal], [join.other for join in selection.equal]
        self._classes = _Classes(*keys, selection.version)
        self._order = None if selection.order is None else _Order(selection.order, selection.version)
        self._texts = KeyTable()
        self._own: list[NDArray[np.int32]] = []
        self._others: list[NDArray[np.int32]] = []
        self._read: list[NDArray[np.float64] | NDArray[np.int32]] = []
        self._codec = ""
        self._values: NDArray[np.int64] | NDArray[np.float64] = np.zeros(0)
        self._absent = np.zeros(0, dtype=np.bool_)

    def add(self, batch: Batch, verdicts: Verdicts, *, others: bool = True, mine: bool = True) -> None:
        """Take in the next records.

        Parameters
        ----------
        verdicts : mapping of Predicate to ndarray of uint8
        others : bool
            Whether the selection is made of these records.
        mine : bool
            Whether these are the records that get a value.

        Raises
        ------
        NotAcross
            A cell that matters is one that only an engine should read, or a condition has no certain answer.
        """
        self._codec = self._codec or batch.codec
        if self._codec != batch.codec:
            raise NotAcross("the original has another encoding")
        selection, fold = self.aggregate.selection, self.aggregate.fold
        own, other = self._classes.of(batch, mine=mine, others=others)
        if others:
            # a field of a chosen record is read where it is there; it does not choose the record
            chosen = _chosen(batch, replace(selection, target=None) if fold == "node" else selection, verdicts)
            other = np.where(chosen, other, np.int32(-1))
        if self._order is not None:
            own, other = self._order.add(batch, own, other, mine=mine, others=others)
        if mine:
            if self.aggregate.required and (own < 0).any():
                raise NotAcross("index-of() for a record without the value")
            self._own.append(own)
        if others:
            self._others.append(other)
            if fold == "sum":
                self._read.append(_values(batch, selection, other >= 0))
            elif fold == "node":
                texts = spans(batch, _target(selection), selection.version)
                self._read.append(texts.numbers(self._texts, other >= 0)[other >= 0])

    def finish(self) -> None:
        """Give each record its value.

        Raises
        ------
        NotAcross
            A sum depends on the order in which an engine adds, or cannot be written exactly.
        """
        own, others = _joined(self._own, np.int32), _joined(self._others, np.int32)
        here = others >= 0
        classes, asked = others[here].astype(np.int64), np.maximum(own, 0).astype(np.int64)
        ends = np.cumsum(np.bincount(classes + 1, minlength=int(asked.max(initial=0)) + 2))
        low, high, keys = ends[asked], ends[asked + 1], classes
        counts = high - low
        if self._order is not None:
            mine, theirs = self._order.ranks(here)
            width = 1 + max(int(mine.max(initial=0)), int(theirs.max(initial=0)))
            keys = classes * width + theirs
            places, in_order = asked * width + mine, np.sort(keys)
            left, right = np.searchsorted(in_order, places, "left"), np.searchsorted(in_order, places, "right")
            match self._order.join.sign:
                case "<" | "<=" as sign:
                    high = left if sign == "<" else right
                case ">" | ">=" as sign:
                    low = right if sign == ">" else left
            counts = high - low if self._order.join.sign != "!=" else counts - (right - left)
        counts = np.where(own >= 0, counts, 0)
        match self.aggregate.fold:
            case "sum":
                self._absent = (counts == 0) & (self.aggregate.version != "1.0")
                sums = self._sums(classes, keys, (ends[asked], low, high))
                self._values = np.where(counts > 0, sums, 0.0)
                for value in np.unique(self._values).tolist():
                    fraction_of(value)
            case "node":
                self._values = self._nodes(keys, low, high, counts)
                self._absent = self._values < 0
            case fold:
                self._values = counts if fold == "count" else (counts > 0).astype(np.int64)
                self._absent = np.zeros(len(counts), dtype=np.bool_)

    def _sums(
        self,
        classes: NDArray[np.int64],
        keys: NDArray[np.int64],
        stretch: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
    ) -> NDArray[np.float64]:
        """Add up stretches, which begin at the second place and end before the third; classes begin at the first.

        Engines add in the order of the file. Running sums do so too, where a stretch begins with its class and the
        class stands in that order. Else numbers have to be integers, of which no sum is rounded.
        """
        rows = np.argsort(keys, kind="stable")
        values = _joined(self._read, np.float64)
        order = None if self._order is None else self._order.join
        if order is not None and (order.own != POSITION or order.sign != "<"):
            integral = (values == np.rint(values)) & ~((values == 0) & np.signbit(values))
            if not (integral.all() and np.abs(values).sum() <= _EXACT):
                raise NotAcross("a sum of fractions in another order than that of the file")
        sums = np.full(len(values) + 1, _zero(self.aggregate))
        running_sums(classes[rows], values[rows], _zero(self.aggregate), sums[1:])
        begin, low, high = stretch
        until, before = np.where(high > begin, sums[high], 0.0), np.where(low > begin, sums[low], 0.0)
        found: NDArray[np.float64] = np.where(low > begin, until - before, until)
        return found

    def _nodes(
        self, keys: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64], counts: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the number of the text of one record of each stretch; -1 for none."""
        nth = self.aggregate.selection.nth
        backwards = self._order is not None and self._order.join.sign == "<"
        first, last = (high - nth, low) if backwards else (low + nth - 1, high - 1)
        at = last if nth < 0 else first
        texts = np.append(_joined(self._read, np.int32)[np.argsort(keys, kind="stable")], np.int32(-1))
        there = (counts > 0) & (at >= low) & (at < high)
        return texts[np.where(there, at, -1)].astype(np.int64)

    def per_record(self, batch: Batch) -> NDArray[np.int64] | NDArray[np.float64]:
        """Return the value of each record of a batch; 0 and 1 where it is a truth value, the number of a text."""
        return self._values[batch.first : batch.first + len(batch)]

    def derived(self, batch: Batch, names: Sequence[str]) -> list[Derived]:
        """Return the values of the records of a batch as attributes."""
        values, codes = np.unique(self.per_record(batch), return_inverse=True)
        absent = self._absent[batch.first : batch.first + len(batch)]
        codes = np.where(absent, -1, codes)
        if self.aggregate.fold == "node":
            return [Derived(names[0], self._texts.keys(np.maximum(values, 0)), codes)]
        numbers = values.tolist()
        columns = zip(*map(fraction_of, numbers), strict=True) if self.aggregate.fold == "sum" else (numbers,)
        written = ([str(part).encode() for part in column] for column in columns)
        return [Derived(name, texts, codes) for name, texts in zip(names, written, strict=True)]


class _Classes:
    """Numbers for the keys that have to be equal, the same ones for those of the other record."""

    def __init__(self, own: Sequence[Key], others: Sequence[Key], version: XPathVersion) -> None:
        self._own, self._others, self._version = own, others, version
        self._tables = [KeyTable() for _ in range(max(0, 2 * len(own) - 1))]

    def of(self, batch: Batch, *, mine: bool, others: bool) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the class that each record asks for, and the one that it is in; -1 for none."""
        nobody = np.full(len(batch), -1, dtype=np.int32)
        own = self._numbered(batch, self._own) if mine else nobody
        if not others:
            return own, nobody
        return own, own if mine and self._own == self._others else self._numbered(batch, self._others)

    def _numbered(self, batch: Batch, keys: Sequence[Key]) -> NDArray[np.int32]:
        found = np.zeros(len(batch), dtype=np.int32)
        for at, key in enumerate(keys):
            one = spans(batch, key, self._version).numbers(self._tables[at])
            found = one if at == 0 else self._paired(len(keys) - 1 + at, found, one)
        return found

    def _paired(self, at: int, one: NDArray[np.int32], two: NDArray[np.int32]) -> NDArray[np.int32]:
        pairs = np.ascontiguousarray(np.stack((one, two), axis=1)).view(np.uint8).reshape(-1)
        start = np.arange(len(one), dtype=np.int64) * 8
        return self._tables[at].number(pairs, start, start + 8, (one >= 0) & (two >= 0))


class _Order:
    """What is compared within a class, as positions in an order that all values have."""

    def __init__(self, join: Join, version: XPathVersion) -> None:
        self.join, self._version = join, version
        self._table = KeyTable()
        self._codec = ""
        self._own: list[NDArray[Any]] = []
        self._others: list[NDArray[Any]] = []

    def add(
        self, batch: Batch, own: NDArray[np.int32], other: NDArray[np.int32], *, mine: bool, others: bool
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Take in the next records; return their classes, -1 where the value is missing."""
        self._codec = batch.codec
        if mine:
            values, there = self._values(batch, self.join.own)
            self._own.append(values)
            own = np.where(there, own, np.int32(-1))
        if others:
            values, there = self._values(batch, self.join.other)
            self._others.append(values)
            other = np.where(there, other, np.int32(-1))
        return own, other

    def _values(self, batch: Batch, key: Key) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        match key.kind:
            case "position":
                return np.arange(batch.first, batch.first + len(batch)), np.ones(len(batch), dtype=np.bool_)
            case "number":
                values = _doubles(batch, next(iter(key.fields)), self._version)
                return values, ~np.isnan(values)
            case _:
                numbers = spans(batch, key, self._version).numbers(self._table)
                return numbers, numbers >= 0

    def ranks(self, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the places of the values of all records in the order, and those of chosen other ones."""
        own, others = _joined(self._own, np.int64), _joined(self._others, np.int64)
        match self.join.own.kind:
            case "position":
                return own, others[chosen]
            case "number":
                order: NDArray[Any] = np.unique(np.concatenate((own, others)))
                return np.searchsorted(order, own), np.searchsorted(order, others[chosen])
            case _:
                texts = self._table.texts(0, self._codec)
                places = np.empty(len(texts) + 1, dtype=np.int64)
                # by code points, as both engines compare texts
                places[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
                places[-1] = 0
                return places[own], places[others[chosen]]


def _zero(aggregate: Aggregate) -> float:
    """Return what leaves every number as it is: libxml2 starts at 0, Saxon with the first item."""
    return 0.0 if aggregate.version == "1.0" else -0.0


def _finite(value: float) -> float:
    if math.isinf(value):
        raise NotAcross("a sum beyond the doubles")
    return value


def _joined(parts: Sequence[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=kind)


def _target(selection: Selection) -> Key:
    assert selection.target is not None  # noqa: S101 - for the type checker
    return Key("node", (selection.target,))


def _chosen(batch: Batch, selection: Selection, verdicts: Verdicts) -> NDArray[np.bool_]:
    chosen = np.ones(len(batch), dtype=np.bool_)
    if selection.target is not None:
        _require_plain(batch, selection.target)
        chosen &= batch.cells[selection.target].status != Cell.ABSENT
    for predicate in selection.where:
        found = verdicts[predicate]
        if (found == Verdict.ERROR).any():
            raise NotAcross(f"the condition {predicate.source!r} is an error in some record")
        chosen &= found == Verdict.HOLDS
    return chosen


def _values(batch: Batch, selection: Selection, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the numbers of chosen records."""
    numbers = batch.numbers(*_target(selection).fields)
    if (chosen & (numbers.form == NumberForm.OTHER)).any():
        raise NotAcross("a value that may or may not be a number")
    values = numbers.double[chosen]
    if selection.version != "1.0" and np.isnan(values).any():
        raise NotAcross("a value that is no number")
    return values
