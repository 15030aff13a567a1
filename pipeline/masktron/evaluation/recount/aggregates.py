"""Aggregates from the values that an engine read, and records of a slice that carry them as attributes.

Texts are equal where they have the same characters, numbers where Python's floats are; NaN equals nothing. Sums are
added in the order of the file, as the engines do: libxml2 begins with 0, Saxon with the first number.
"""

from __future__ import annotations

import math
import re
from array import array
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from masktron.evaluation.across.paths import NotAcross
from masktron.evaluation.across.planned import ConstantValue, Planned
from masktron.evaluation.across.rewrite import PREFIX, fraction_of
from masktron.evaluation.across.selection import Aggregate, Key, RecordSource, Selection, Word
from masktron.evaluation.programs import Guard
from masktron.evaluation.recount.field_values import FieldValues, PrefixedNames, Wanted, reads_of
from masktron.evaluation.stylesheet import EngineName
from masktron.evaluation.worker_pool import RefusedError
from masktron.sources.record_layout import Layout
from masktron.sources.xml.slices import Frame, framed_test


class NotRecountedError(Exception):
    """An aggregate has no value here; the text says why. It never reaches the user as an error."""


@dataclass(slots=True, eq=False)
class Recounted:
    """Aggregates of one file.

    Attributes
    ----------
    constants : dict of Aggregate to value
        Those that are the same for all records.
    columns : dict of Aggregate to array
        The others, a value for each record of the file; 0 and 1 for truth values.
    failed : dict of Aggregate to str
        Why one has no value.
    """

    constants: dict[Aggregate, ConstantValue] = field(default_factory=dict)
    columns: dict[Aggregate, Sequence[float]] = field(default_factory=dict)
    failed: dict[Aggregate, str] = field(default_factory=dict)

    @property
    def known(self) -> frozenset[Aggregate]:
        """Those that have a value."""
        return frozenset((*self.constants, *self.columns))

    def why(self, aggregates: Collection[Aggregate]) -> str:
        """Return why one of some aggregates has no value; the empty text where all have."""
        return next((self.failed[a] for a in aggregates if a in self.failed), "")


def recounted(
    aggregates: Collection[Aggregate], tables: Mapping[RecordSource, FieldValues], engine: EngineName
) -> Recounted:
    """Compute aggregates.

    Parameters
    ----------
    tables : mapping of source to FieldValues
        Of the file, and of the original where some of them ask for it.
    engine : {"libxml2", "saxon"}
        That read them. Saxon, in XPath 1.0 mode too, has no sum of what is no number.
    """
    found = Recounted()
    for aggregate in aggregates:
        try:
            if aggregate.constant:
                found.constants[aggregate] = _constant(aggregate, tables[aggregate.selection.source], engine)
            else:
                found.columns[aggregate] = _by_record(aggregate, tables, engine)
        except NotRecountedError as problem:
            found.failed[aggregate] = str(problem)
    return found


def writable(planned: Planned, found: Recounted) -> Recounted:
    """Return the aggregates of which an expression can be exactly the value; the others have failed."""
    kept = Recounted(failed=dict(found.failed))
    for aggregate in found.known:
        try:
            if aggregate.constant:
                for place, holes in planned.holes.items():
                    for hole in (one for one in holes if one.aggregate == aggregate):
                        planned.text_of(hole, place, found.constants)
                kept.constants[aggregate] = found.constants[aggregate]
                continue
            if aggregate.fold == "sum":
                for value in set(found.columns[aggregate]):
                    fraction_of(value)
            kept.columns[aggregate] = found.columns[aggregate]
        except NotAcross as problem:
            kept.failed[aggregate] = str(problem)
    return kept


def _constant(aggregate: Aggregate, table: FieldValues, engine: EngineName) -> ConstantValue:
    chosen = _chosen(aggregate.selection, table)
    match aggregate.fold:
        case "count":
            return sum(chosen)
        case "exists":
            return any(chosen)
        case "distinct":
            texts = table.columns[Wanted(_target(aggregate.selection), "text")]
            return len({text for text, own in zip(texts, chosen, strict=True) if own})
        case "sum" | "avg" | "min" | "max":
            return _folded(aggregate, list(_numbers(aggregate.selection, table, chosen, engine)), engine)
        case _:
            raise NotRecountedError(f"'{aggregate.fold}' of all records")


def _typed(selection: Selection) -> bool:
    """Whether the sum of nothing is an integer, and no double."""
    return selection.version != "1.0"


def _zero(engine: EngineName) -> float:
    """Return what a sum begins with: libxml2 starts at 0, Saxon with the first number."""
    return 0.0 if engine == "libxml2" else -0.0


def _folded(aggregate: Aggregate, numbers: list[float], engine: EngineName) -> ConstantValue:
    if not numbers:
        empty: Mapping[str, ConstantValue] = {"sum": 0 if _typed(aggregate.selection) else 0.0}
        return empty.get(aggregate.fold)
    if aggregate.fold in ("min", "max"):
        if any(number == 0 and math.copysign(1.0, number) < 0 for number in numbers):
            raise NotRecountedError("a negative zero")
        return min(numbers) if aggregate.fold == "min" else max(numbers)
    total = _zero(engine)
    for number in numbers:
        total += number
    if math.isinf(total):
        raise NotRecountedError("a sum beyond the doubles")
    return total if aggregate.fold == "sum" else total / len(numbers)


def _by_record(
    aggregate: Aggregate, tables: Mapping[RecordSource, FieldValues], engine: EngineName
) -> Sequence[float]:
    selection = aggregate.selection
    table = tables[selection.source]
    own = keys_of(tables["file"], [mine for _, mine in selection.join])
    chosen = _chosen(selection, table)
    others = keys_of(table, [other for other, _ in selection.join])
    # what is not chosen has no key
    keys = [key if wanted else None for key, wanted in zip(others, chosen, strict=True)]
    match aggregate.fold:
        case "sum":
            numbers = _numbers(selection, table, [key is not None for key in keys], engine)
            return _sums(keys, own, numbers, _zero(engine), typed=_typed(selection))
        case "count" | "exists":
            counts = _counts(selection, keys, own)
            if aggregate.own is not None and any(key is None for key in own):
                raise NotRecountedError("index-of() for a record without the value")
            return counts if aggregate.fold == "count" else array("q", (count > 0 for count in counts))
        case "differs":
            equal = Counter(key for key in keys if key is not None)
            total = sum(equal.values())
            return array("q", (key is not None and total > equal[key] for key in own))
        case _:
            raise NotRecountedError(f"{aggregate.fold}() by class")


def _counts(selection: Selection, keys: Sequence[Hashable], own: Sequence[Hashable]) -> array[int]:
    """Count the chosen records that have the key of each record: before it, after it, or anywhere."""
    if selection.reach == "before":
        return _running(keys, own)
    if selection.reach == "after":
        found = _running(keys[::-1], own[::-1])
        found.reverse()
        return found
    equal = Counter(key for key in keys if key is not None)
    if selection.reach == "all":
        return array("q", (0 if key is None else equal[key] for key in own))
    return array("q", (0 if k is None else equal[k] - (k == other) for k, other in zip(own, keys, strict=True)))


def _running(keys: Sequence[Hashable], own: Sequence[Hashable]) -> array[int]:
    seen: Counter[Hashable] = Counter()
    found = array("q")
    for mine, key in zip(own, keys, strict=True):
        found.append(0 if mine is None else seen[mine])
        if key is not None:
            seen[key] += 1
    return found


def _sums(
    keys: Sequence[Hashable], own: Sequence[Hashable], numbers: Iterable[float], zero: float, *, typed: bool
) -> array[float]:
    totals: dict[Hashable, float] = {}
    for key, number in zip((key for key in keys if key is not None), numbers, strict=True):
        totals[key] = totals.get(key, zero) + number
    if typed and any(key not in totals for key in own):
        raise NotRecountedError("the sum of nothing, which is an integer")
    return array("d", (totals.get(key, 0.0) for key in own))


def _chosen(selection: Selection, table: FieldValues) -> list[bool]:
    """Say of each record whether it has the field that is asked for, and all conditions hold on it."""
    if broken := next((one for one in selection.where if one in table.errors), None):
        raise NotRecountedError(f"the condition {broken.source!r} is an error in some record")
    chosen = [True] * table.records
    if selection.target is not None:
        there, text = Wanted(selection.target, "there"), Wanted(selection.target, "text")
        chosen = (
            list(map(bool, table.columns[there]))
            if there in table.columns
            else [value is not None for value in table.columns[text]]
        )
    for predicate in selection.where:
        chosen = [own and bool(holds) for own, holds in zip(chosen, table.holds[predicate], strict=True)]
    return chosen


def _numbers(selection: Selection, table: FieldValues, chosen: Sequence[bool], engine: EngineName) -> Iterator[float]:
    for number, own in zip(table.columns[Wanted(_target(selection), "number")], chosen, strict=True):
        if own:
            if engine == "saxon" and math.isnan(number):
                raise NotRecountedError("a value that is no number")
            yield number


def _target(selection: Selection) -> int:
    if selection.target is None:
        raise NotRecountedError("a number of whole records")
    return selection.target


def keys_of(table: FieldValues, keys: Sequence[Key]) -> list[Hashable]:
    """Return the combination of keys of each record; None where one of them is missing."""
    columns = [list(_key(table, key)) for key in keys]
    if not columns:
        return [()] * table.records
    if len(columns) == 1:
        return columns[0]
    return [None if None in row else row for row in zip(*columns, strict=True)]


def _key(table: FieldValues, key: Key) -> Iterable[Hashable]:
    fields: list[Sequence[Any]] = [
        table.columns[Wanted(at, reads_of(key))] for at in key.parts if isinstance(at, int)
    ]
    match key.kind:
        case "node" | "normal":
            return fields[0]
        case "string":
            return (text or "" for text in fields[0])
        case "number":
            return (None if math.isnan(number) else number for number in fields[0])
        case _:
            texts = iter(fields)
            parts = [
                [part.text] * table.records if isinstance(part, Word) else [text or "" for text in next(texts)]
                for part in key.parts
            ]
            return ("".join(row) for row in zip(*parts, strict=True))


_NUMBER = f"{PREFIX}n"
"""The attribute that counts the records of a document."""


def attributes_of(planned: Planned, found: Recounted, begin: int, end: int) -> tuple[str, ...]:
    """Return the attributes of some records of the file, with a space before each.

    Raises
    ------
    NotAcross
        A sum has more digits than can be written exactly.
    """
    columns = [[""] * (end - begin)]
    for aggregate, column in found.columns.items():
        write = _Writer(planned.names_of(aggregate), exact=aggregate.fold == "sum")
        columns.append([write(value) for value in column[begin:end]])
    return tuple(map("".join, zip(*columns, strict=True)))


class _Writer:
    """Writes values as attributes, each one once."""

    def __init__(self, names: Sequence[str], *, exact: bool) -> None:
        self._names = names
        self._exact = exact
        self._known: dict[float, str] = {}

    def __call__(self, value: float) -> str:
        text = self._known.get(value)
        if text is None:
            parts = fraction_of(value) if self._exact else (int(value),)
            text = "".join(f' {name}="{part}"' for name, part in zip(self._names, parts, strict=True))
            self._known[value] = text
        return text


def carrying(frame: Frame, records: bytes, attributes: Sequence[str]) -> bytes:
    """Return a document in which each record has its number in the document, and some attributes.

    That every start tag that is found is one of a record is for the engine to test, with `carrying_guard`.

    Raises
    ------
    RefusedError
        There are more or fewer start tags than records.
    """
    start = b"<" + frame.end_tag[2:-1]
    pieces = re.split(re.escape(start) + rb"(?=[\s/>])", records)
    if len(pieces) != len(attributes) + 1:
        raise RefusedError("start tags of records that are none")
    numbered = (
        b"".join((start, f' {_NUMBER}="{number}"{own}'.encode(), piece))
        for number, own, piece in zip(range(1, len(pieces)), attributes, pieces[1:], strict=True)
    )
    return frame.document(pieces[0] + b"".join(numbered))


def carrying_guard(frame: Frame, layout: Layout, records: int) -> Guard:
    """Return what is true of a document if it has so many records, of which each one has its number.

    Theorem: then each attribute that was written is one of the record that it was written for. Proof: there are
    as many numbers as records, and the record at each place has the number of that place, which was written once,
    together with the attributes that follow it.
    """
    test, prefixes = framed_test(frame, layout)
    names = PrefixedNames(layout)
    count = f"count({names.path}[@{_NUMBER} = position()]) = {records} and count({names.path}) = {records}"
    return Guard(f"{test} and {count}", (*prefixes.items(), *names.prefixes.items()))


def records_in(pieces: Sequence[tuple[int, int]], counted: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
    """Yield where pieces of a file begin and end, with the positions of their first record and of the next one's."""
    first = 0
    for (begin, end), records in zip(pieces, counted, strict=True):
        yield begin, end, first, first + records
        first += records
