"""What the first pass over a file gathers for one aggregate, and the value that each record gets of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.across.paths import NotAcross
from masktron.evaluation.across.rewrite import fraction_of
from masktron.evaluation.across.selection import Aggregate, Key, Predicate, Selection, Word
from masktron.evaluation.findings import Verdict
from masktron.kernels.keys import tally
from masktron.sources.columns import Batch, Cell, NumberForm
from masktron.sources.key_table import KeyTable
from masktron.sources.lexical import XML_SPACE


@dataclass(frozen=True, slots=True, eq=False)
class KeySpans:
    """One stretch ``buffer[start:stop]`` for each record that has a key.

    All stretches of a file are in one encoding, in which equal texts have equal bytes.
    """

    buffer: NDArray[np.uint8]
    start: NDArray[np.int64]
    stop: NDArray[np.int64]
    present: NDArray[np.bool_]

    def only(
        self, chosen: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return the parts, with the keys of chosen records only."""
        return self.buffer, self.start, self.stop, self.present if chosen is None else self.present & chosen


def spans(batch: Batch, key: Key) -> KeySpans:
    """Return the keys of the records of a batch.

    Raises
    ------
    NotAcross
        A cell is one that only an engine should read.
    """
    for at in key.fields:
        if batch.odd.any() or (batch.cells[at].status == Cell.ODD).any():
            raise NotAcross(f"there are values of {batch.layout.fields[at].name} with markup or references in them")
    first = key.parts[0]
    match key.kind:
        case "node" | "string":
            assert isinstance(first, int)  # noqa: S101 - for the type checker
            cells = batch.cells[first]
            there = cells.status != Cell.ABSENT
            if key.kind == "node":
                return KeySpans(batch.buffer, cells.start, cells.stop, there)
            start, stop = np.where(there, cells.start, 0), np.where(there, cells.stop, 0)
            return KeySpans(batch.buffer, start, stop, np.ones(len(batch), dtype=np.bool_))
        case "number":
            assert isinstance(first, int)  # noqa: S101 - for the type checker
            return _numbers(batch, first)
        case _:
            return _written(batch, key)


def _numbers(batch: Batch, at: int) -> KeySpans:
    """NaN equals nothing, and both zeros are one."""
    numbers = batch.numbers(at)
    if (numbers.form == NumberForm.OTHER).any():
        raise NotAcross("a value that may or may not be a number")
    values = numbers.double + 0.0
    start = np.arange(len(values), dtype=np.int64) * 8
    return KeySpans(values.view(np.uint8), start, start + 8, ~np.isnan(values))


def _written(batch: Batch, key: Key) -> KeySpans:
    """Texts that stand nowhere in the file: made record by record."""
    columns = [_column(batch, part) for part in key.parts]
    rows = ["".join(parts) for parts in zip(*columns, strict=True)]
    if key.kind == "normal":
        rows = [" ".join(part for part in _words(row)) for row in rows]
    try:
        encoded = [row.encode(batch.codec) for row in rows]
    except UnicodeEncodeError:
        raise NotAcross("a text with characters that the file's encoding does not have") from None
    stop = np.cumsum([len(row) for row in encoded], dtype=np.int64)
    start = np.concatenate((np.zeros(1, dtype=np.int64), stop[:-1])) if len(stop) else stop
    buffer = np.frombuffer(b"".join(encoded) or b"\0", dtype=np.uint8)
    return KeySpans(buffer, start, stop, np.ones(len(rows), dtype=np.bool_))


def _words(text: str) -> list[str]:
    for space in XML_SPACE[1:]:
        text = text.replace(space, " ")
    return [word for word in text.split(" ") if word]


def _column(batch: Batch, part: int | Word) -> list[str]:
    if isinstance(part, Word):
        return [part.text] * len(batch)
    texts = batch.texts(part)
    return [texts.values[code] if code >= 0 else "" for code in texts.codes]


_LARGEST = 2**53
_SUMS = frozenset({"sum", "avg", "min", "max"})

type Verdicts = Mapping[Predicate, NDArray[np.uint8]]
"""`Verdict` codes of conditions on the records of a batch."""


class Collector:
    """The running totals of one aggregate."""

    def __init__(self, aggregate: Aggregate) -> None:
        self.aggregate = aggregate
        self._chosen: Selection = aggregate.selection
        self._version = aggregate.selection.version
        self._tables = [KeyTable() for _ in range(max(1, 2 * len(self._chosen.join) - 1))]
        self._counts = np.zeros(1, dtype=np.int64)
        self._keys = 0
        self._total = 0
        # what leaves every number as it is: libxml2 starts at 0, Saxon with the first item
        self._zero = 0.0 if self._version == "1.0" else -0.0
        self._sums = np.full(1, self._zero)
        self._extreme = math.nan
        self._own: list[NDArray[np.int32]] = []
        self._before: list[NDArray[np.int32]] = []
        self._self: list[NDArray[np.bool_]] = []
        self._starts: list[int] = []
        self._codec = ""

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
        self._same_codec(batch)
        chosen = self._contributes(batch, verdicts) if others else np.zeros(len(batch), dtype=np.bool_)
        join = self._chosen.join
        if self.aggregate.constant and self.aggregate.fold != "distinct":
            self._total += int(chosen.sum())
            if self.aggregate.fold in _SUMS:
                self._fold(batch, chosen)
            return
        own = np.full(len(batch), -1 if join else 0, dtype=np.int32)
        if join and mine:
            own = self._numbered(batch, [key for _, key in join], None)
        if join and mine and others and all(one == two for one, two in join):
            other = np.where(chosen, own, np.int32(-1))
        else:
            other = self._numbered(batch, self._other_keys(), chosen)
        if mine and self.aggregate.fold == "sum" and self._version != "1.0" and (own < 0).any():
            raise NotAcross("the sum of nothing for a record without the value, which is an integer")
        if mine and self.aggregate.fold == "count" and self.aggregate.own is not None and (own < 0).any():
            raise NotAcross("index-of() for a record without the value")
        self._total += int((other >= 0).sum())
        self._note(batch, own, other, keep=mine)
        if self.aggregate.fold in _SUMS:
            self._fold_by_key(batch, other)

    def _same_codec(self, batch: Batch) -> None:
        self._codec = self._codec or batch.codec
        if self._codec != batch.codec:
            raise NotAcross("the original has another encoding")

    def _other_keys(self) -> list[Key]:
        if self.aggregate.fold == "distinct":
            assert self._chosen.target is not None  # noqa: S101 - for the type checker
            return [Key("node", (self._chosen.target,))]
        return [other for other, _ in self._chosen.join]

    def _contributes(self, batch: Batch, verdicts: Verdicts) -> NDArray[np.bool_]:
        chosen = np.ones(len(batch), dtype=np.bool_)
        target = self._chosen.target
        if target is not None:
            chosen &= present(batch, target)
        for predicate in self._chosen.where:
            found = verdicts[predicate]
            if (found == Verdict.ERROR).any():
                raise NotAcross(f"the condition {predicate.source!r} is an error in some record")
            chosen &= found == Verdict.HOLDS
        return chosen

    def _numbered(self, batch: Batch, keys: Sequence[Key], chosen: NDArray[np.bool_] | None) -> NDArray[np.int32]:
        """Return the number of the combination of keys of each record; -1 for none."""
        found: NDArray[np.int32] | None = None
        for at, key in enumerate(keys):
            one = self._table(at).number(*spans(batch, key).only(chosen))
            found = one if found is None else self._paired(len(keys) - 1 + at, found, one)
        if found is None:
            nobody = np.zeros(len(batch), dtype=np.int32)
            return nobody if chosen is None else np.where(chosen, nobody, np.int32(-1))
        return found

    def _table(self, at: int) -> KeyTable:
        return self._tables[at]

    def _paired(self, at: int, one: NDArray[np.int32], two: NDArray[np.int32]) -> NDArray[np.int32]:
        pairs = np.ascontiguousarray(np.stack((one, two), axis=1)).view(np.uint8).reshape(-1)
        start = np.arange(len(one), dtype=np.int64) * 8
        return self._table(at).number(*KeySpans(pairs, start, start + 8, (one >= 0) & (two >= 0)).only(None))

    def _note(self, batch: Batch, own: NDArray[np.int32], other: NDArray[np.int32], *, keep: bool) -> None:
        self._keys = max(self._keys, int(own.max(initial=-1)) + 1, int(other.max(initial=-1)) + 1)
        self._counts = _grown(self._counts, self._keys, 0)
        before = np.empty(len(own), dtype=np.int32)
        tally(own, other, self._counts, before)
        if not keep:
            return
        self._starts.append(batch.first)
        self._own.append(own)
        if self._chosen.reach != "all":
            self._before.append(before)
            self._self.append((own == other) & (own >= 0))

    def _values(self, batch: Batch, chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        target = self._chosen.target
        assert target is not None  # noqa: S101 - for the type checker
        numbers = batch.numbers(target)
        if (chosen & (numbers.form == NumberForm.OTHER)).any():
            raise NotAcross("a value that may or may not be a number")
        values = numbers.double
        if self._version != "1.0" and np.isnan(values[chosen]).any():
            raise NotAcross("a value that is no number")
        return values

    def _fold(self, batch: Batch, chosen: NDArray[np.bool_]) -> None:
        values = self._values(batch, chosen)[chosen]
        if not len(values):
            return
        if self.aggregate.fold in ("sum", "avg"):
            # one after the other, as both engines add: not numpy's sum, which adds in pairs
            self._sums[0] = np.add.accumulate(np.concatenate((self._sums[:1], values)))[-1]
            return
        if ((values == 0) & np.signbit(values)).any():
            raise NotAcross("a negative zero")
        least = self.aggregate.fold == "min"
        here = float(values.min() if least else values.max())
        self._extreme = here if math.isnan(self._extreme) else (min if least else max)(self._extreme, here)

    def _fold_by_key(self, batch: Batch, other: NDArray[np.int32]) -> None:
        if self.aggregate.fold != "sum":
            raise NotAcross(f"{self.aggregate.fold}() by class")
        chosen = other >= 0
        values = self._values(batch, chosen)[chosen]
        self._sums = _grown(self._sums, len(self._counts), self._zero)
        np.add.at(self._sums, other[chosen], values)

    def constant(self) -> int | float | bool | None:
        """Return the value that all records share; None is the empty sequence."""
        match self.aggregate.fold:
            case "count":
                return self._total
            case "distinct":
                return len(self._tables[0])
            case "exists" | "differs":
                return self._total > 0
            case "sum":
                return self._finite(float(self._sums[0])) if self._total or self._version == "1.0" else 0
            case "avg":
                return self._finite(float(self._sums[0]) / self._total) if self._total else None
            case _:
                return self._extreme if self._total else None

    def _finite(self, value: float) -> float:
        if math.isinf(value):
            raise NotAcross("a sum beyond the doubles")
        return value

    def check(self) -> None:
        """Make sure that every record gets a value.

        Raises
        ------
        NotAcross
        """
        if self.aggregate.constant:
            self.constant()
        elif self.aggregate.fold == "sum":
            if self._version != "1.0" and not self._counts[: self._keys].all():
                raise NotAcross("a class without a value")
            for value in self._class_sums().tolist():
                fraction_of(value)

    def _class_sums(self) -> NDArray[np.float64]:
        self._sums = _grown(self._sums, self._keys, self._zero)
        return self._sums[: max(self._keys, 1)]

    def per_record(self, batch: Batch) -> NDArray[np.int64] | NDArray[np.float64]:
        """Return the value of each record of a batch; 0 and 1 where it is a truth value."""
        at = self._starts.index(batch.first)
        own = self._own[at]
        asked = own >= 0
        if self.aggregate.fold == "sum":
            return np.where(asked, self._class_sums()[np.maximum(own, 0)], 0.0)
        counts: NDArray[np.int64] = np.where(asked, self._counts[np.maximum(own, 0)], 0)
        if self._chosen.reach != "all":
            before, itself = self._before[at].astype(np.int64), self._self[at].astype(np.int64)
            match self._chosen.reach:
                case "before":
                    counts = before
                case "after":
                    counts = np.where(asked, counts - before - itself, 0)
                case _:
                    counts = np.where(asked, counts - itself, 0)
        match self.aggregate.fold:
            case "exists":
                return (counts > 0).astype(np.int64)
            case "differs":
                return (asked & (self._total > counts)).astype(np.int64)
            case _:
                return counts


def present(batch: Batch, at: int) -> NDArray[np.bool_]:
    """Return the records that have a field.

    Raises
    ------
    NotAcross
        Some record of the batch should be read by an engine.
    """
    status = batch.cells[at].status
    if batch.odd.any() or (status == Cell.ODD).any():
        raise NotAcross(f"there are values of {batch.layout.fields[at].name} with markup or references in them")
    there: NDArray[np.bool_] = status != Cell.ABSENT
    return there


def _grown(values: NDArray[Any], size: int, fill: float) -> NDArray[Any]:
    if size <= len(values):
        return values
    room = max(size, len(values) * 3 // 2)
    return np.concatenate((values, np.full(room - len(values), fill, dtype=values.dtype)))
