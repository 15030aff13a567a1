"""Aggregates from the values that an engine read, and records of a slice that carry them as attributes.

Texts are equal where they have the same characters, numbers where Python's floats are; NaN equals nothing. Sums are
added in the order of the file, as the engines do: libxml2 begins with 0, Saxon with the first number.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.child_process import RefusedError
from masktron.judge.across.collect import ConstantValue
from masktron.judge.across.paths import PrefixedNames
from masktron.judge.across.planned import Planned
from masktron.judge.across.rewrite import PREFIX, fraction_of
from masktron.judge.across.selection import (
    POSITION,
    Aggregate,
    Join,
    Key,
    NotAcross,
    RecordSource,
    Selection,
    Sign,
    Word,
)
from masktron.judge.programs import Guard
from masktron.judge.recount.field_values import FieldValues, Wanted, reads_of
from masktron.judge.stylesheet import EngineName
from masktron.sources.record_layout import Layout
from masktron.sources.xml.slices import Frame, framed_test

type _Value = float | str | None


@dataclass(slots=True, eq=False)
class Recounted:
    """Aggregates of one file.

    Attributes
    ----------
    constants : dict of Aggregate to value
        Those that are the same for all records.
    columns : dict of Aggregate to sequence
        The others, a value for each record of the file; 0 and 1 for truth values, None for nothing.
    failed : dict of Aggregate to str
        Why one has no value.
    """

    constants: dict[Aggregate, ConstantValue] = field(default_factory=dict)
    columns: dict[Aggregate, Sequence[_Value]] = field(default_factory=dict)
    failed: dict[Aggregate, str] = field(default_factory=dict)

    @property
    def known(self) -> frozenset[Aggregate]:
        """Those that have a value."""
        return frozenset((*self.constants, *self.columns))

    def why(self, aggregates: Collection[Aggregate]) -> str:
        """Return why one of some aggregates has no value; the empty text where all have."""
        return next((self.failed[a] for a in aggregates if a in self.failed), "")


def recounted(planned: Planned, tables: Mapping[RecordSource, FieldValues], engine: EngineName) -> Recounted:
    """Compute the aggregates of a plan of which an expression can be exactly the value; the others have failed.

    Parameters
    ----------
    tables : mapping of source to FieldValues
        Of the file, and of the original where some of them ask for it.
    engine : {"libxml2", "saxon"}
        That read them. Saxon, in XPath 1.0 mode too, has no sum of what is no number.
    """
    found = Recounted()
    for aggregate in planned.aggregates:
        try:
            if aggregate.constant:
                value = _constant(aggregate, tables[aggregate.selection.source], engine)
                planned.text_of(aggregate, (), {aggregate: value})
                found.constants[aggregate] = value
                continue
            column = _by_record(aggregate, tables, engine)
            for total in {*column} - {None} if aggregate.fold == "sum" else ():
                fraction_of(total)  # type: ignore[arg-type]
            found.columns[aggregate] = column
        except NotAcross as problem:
            found.failed[aggregate] = str(problem)
    return found


def _constant(aggregate: Aggregate, table: FieldValues, engine: EngineName) -> ConstantValue:
    selection = aggregate.selection
    chosen = _chosen(selection, table)
    count: int = chosen.true_count
    match aggregate.fold:
        case "count":
            return count
        case "exists":
            return count > 0
        case "distinct":
            return len(table.columns[Wanted(_target(selection), "text")].filter(chosen).unique())
        case "sum" | "avg" | "min" | "max":
            return _folded(
                aggregate,
                [number for number in _numbers(selection, table, chosen, engine) if number is not None],
                engine,
            )
        case _:
            raise NotAcross(f"'{aggregate.fold}' of all records")


def _folded(aggregate: Aggregate, numbers: Sequence[float], engine: EngineName) -> ConstantValue:
    if not numbers:
        return 0 if aggregate.fold == "sum" else None
    if aggregate.fold in ("min", "max"):
        if any(number == 0 and math.copysign(1.0, number) < 0 for number in numbers):
            raise NotAcross("a negative zero")
        return min(numbers) if aggregate.fold == "min" else max(numbers)
    total = _zero(engine)
    for number in numbers:
        total += number
    if math.isinf(total):
        raise NotAcross("a sum beyond the doubles")
    return total if aggregate.fold == "sum" else total / len(numbers)


def _zero(engine: EngineName) -> float:
    """Return what a sum begins with: libxml2 starts at 0, Saxon with the first number."""
    return 0.0 if engine == "libxml2" else -0.0


def _by_record(
    aggregate: Aggregate, tables: Mapping[RecordSource, FieldValues], engine: EngineName
) -> Sequence[_Value]:
    selection, fold = aggregate.selection, aggregate.fold
    file, table = tables["file"], tables[selection.source]
    order = selection.order or Join(POSITION, "=", POSITION)
    own, others = classes_of(tables, selection)
    if aggregate.required and -1 in own:
        raise NotAcross("index-of() for a record without the value")
    chosen = _chosen(selection, table, target=fold != "node")
    others = [key if here else -1 for key, here in zip(others, chosen.to_pylist(), strict=True)]
    in_file = order.own == POSITION and order.sign != "!="
    numbers: Sequence[float | None] = ()
    if fold == "sum":
        read = pa.array([key >= 0 for key in others], pa.bool_())
        numbers = list(_numbers(selection, table, read, engine))
        if not in_file or order.sign == ">":
            _require_exact(numbers)
    if not in_file:
        ranked = _ranked((own, _key(file, order.own)), (others, _key(table, order.other)), order.sign, numbers)
        return [min(value, 1) for value in ranked] if fold == "exists" else ranked
    match fold:
        case "count" | "exists":
            counts = _states(own, others, order, lambda seen, _: (seen or 0) + 1)
            return [min(count or 0, 1) if fold == "exists" else count or 0 for count in counts]
        case "sum":
            zero = _zero(engine)
            nothing = 0.0 if aggregate.version == "1.0" else None
            sums = _states(
                own, others, order, lambda seen, row: (zero if seen is None else seen) + (numbers[row] or 0.0)
            )
            return [nothing if total is None else total for total in sums]
        case "node":
            nth = selection.nth
            texts = table.columns[Wanted(_target(selection), "text")].to_pylist()
            rows = _states(
                own,
                others,
                order,
                lambda seen, row: (*(seen or ()), row)[-nth:] if nth > 0 else seen or (row,),
                backwards=order.sign != "<",
            )
            return [texts[found[0]] if found and len(found) == max(nth, 1) else None for found in rows]
        case _:
            raise NotAcross(f"{fold}() by class")


def _states(
    own: Sequence[int],
    others: Sequence[int],
    order: Join,
    update: Callable[[Any, int], Any],
    *,
    backwards: bool | None = None,
) -> list[Any]:
    """Go through the records in the order of the file, and return for each record the state of its class.

    Parameters
    ----------
    own, others : sequence of int
        The class that a record asks for, and the one that it is in; -1 for none.
    order : Join
        Whether the state is that of all records, of those before, or of those after.
    update : callable
        Returns the next state of a class from the last one, None at first, and the position of a record.
    """
    seen: dict[int, Any] = {}
    found: list[Any] = [None] * len(own)
    rows = range(len(others))
    for row in reversed(rows) if (order.sign == ">" if backwards is None else backwards) else rows:
        if order.sign != "=":
            found[row] = seen.get(own[row])
        if others[row] >= 0:
            seen[others[row]] = update(seen.get(others[row]), row)
    return found if order.sign != "=" else [seen.get(key) for key in own]


def _ranked(
    own: tuple[Sequence[int], pa.Array],
    others: tuple[Sequence[int], pa.Array],
    sign: Sign,
    numbers: Sequence[float | None],
) -> Sequence[float]:
    """Count, or add up, the records of each record's class whose value is less, more or another one.

    Parameters
    ----------
    own, others : (sequence of int, pyarrow.Array)
        The class and the value of each record, and of each other one.
    numbers : sequence of float or None
        What is added; empty for counts.
    """
    table = pa.table(
        {"class": pa.array(others[0], pa.int64()), "value": others[1], "row": pa.array(range(len(others[0])))}
    )
    table = table.filter(pc.and_(pc.greater_equal(table["class"], 0), pc.is_valid(table["value"])))
    table = table.sort_by([("class", "ascending"), ("value", "ascending")])
    classes, values = table["class"].to_pylist(), table["value"].to_pylist()
    weights = [numbers[row] or 0 if numbers else 1 for row in table["row"].to_pylist()]
    until = [0, *accumulate(weights)]
    found: list[float] = []
    for key, value in zip(own[0], own[1].to_pylist(), strict=True):
        low, high = (0, 0) if key < 0 or value is None else (bisect_left(classes, key), bisect_right(classes, key))
        left, right = (bisect(values, value, low, high) if high else 0 for bisect in (bisect_left, bisect_right))
        low, high = {"<": (low, left), "<=": (low, right), ">": (right, high), ">=": (left, high)}.get(
            sign, (low, high)
        )
        ties = until[right] - until[left] if sign == "!=" else 0
        found.append(until[high] - until[low] - ties)
    return found


def _require_exact(numbers: Sequence[float | None]) -> None:
    """Integers are added without rounding in any order, and other numbers only as an engine adds them."""
    known = [number for number in numbers if number is not None]
    plain = all(number.is_integer() and (number or math.copysign(1.0, number) > 0) for number in known)
    if not plain or sum(map(abs, known)) > _EXACT:
        raise NotAcross("a sum of fractions in another order than that of the file")


_EXACT = 2**53


def _chosen(selection: Selection, table: FieldValues, *, target: bool = True) -> pa.BooleanArray:
    """Say of each record whether it has the field that is asked for, and all conditions hold on it."""
    if broken := next((one for one in selection.where if one in table.errors), None):
        raise NotAcross(f"the condition {broken.source!r} is an error in some record")
    chosen = pa.array(np.ones(table.records, dtype=np.bool_))
    if target and selection.target is not None:
        there, text = Wanted(selection.target, "there"), Wanted(selection.target, "text")
        chosen = table.columns[there] if there in table.columns else table.columns[text].is_valid()
    for predicate in selection.where:
        chosen = pc.and_(chosen, table.holds[predicate])
    return chosen


def _numbers(
    selection: Selection, table: FieldValues, chosen: pa.BooleanArray, engine: EngineName
) -> Iterator[float | None]:
    """Yield the numbers of chosen records, and None for the others."""
    numbers = table.columns[Wanted(_target(selection), "number")]
    for number, own in zip(numbers.to_pylist(), chosen.to_pylist(), strict=True):
        if own and engine == "saxon" and math.isnan(number):
            raise NotAcross("a value that is no number")
        yield number if own else None


def _target(selection: Selection) -> int:
    if selection.target is None:
        raise NotAcross("a number of whole records")
    return selection.target


def classes_of(tables: Mapping[RecordSource, FieldValues], selection: Selection) -> tuple[list[int], list[int]]:
    """Return the class that each record of the file asks for, and the one of each other record; -1 for none."""
    file, table = tables["file"], tables[selection.source]
    found = pa.array(np.zeros(file.records + table.records, dtype=np.int64))
    for join in selection.equal:
        codes = _codes(pa.concat_arrays([_key(file, join.own), _key(table, join.other)]))
        # one behind the other, and numbered anew, so that they stay small; what is missing stays so
        found = _codes(pc.add(pc.multiply(found, pa.scalar(len(codes) + 1, pa.int64())), codes))
    numbers = found.fill_null(-1).to_pylist()
    return numbers[: file.records], numbers[file.records :]


def _codes(values: pa.Array) -> pa.Array:
    return values.dictionary_encode().indices.cast(pa.int64())


def _key(table: FieldValues, key: Key) -> pa.Array:
    """Return a key of each record; null where it is missing."""
    if key.kind == "position":
        return pa.array(range(table.records), pa.int64())
    parts = [
        part.text if isinstance(part, Word) else table.columns[Wanted(part, reads_of(key))] for part in key.parts
    ]
    match key.kind:
        case "node" | "normal":
            return parts[0]
        case "number":
            # both zeros are one
            numbers = pc.add(parts[0], 0.0)
            return pc.if_else(pc.is_nan(numbers), None, numbers)
        case _:
            texts = [part if isinstance(part, str) else pc.fill_null(part, "") for part in parts]
            return pc.binary_join_element_wise(*texts, "") if len(texts) > 1 else texts[0]


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
        names = planned.names_of(aggregate)
        written = {value: _attributes(aggregate, names, value) for value in {*column[begin:end]}}
        columns.append([written[value] for value in column[begin:end]])
    return tuple(map("".join, zip(*columns, strict=True)))


def _attributes(aggregate: Aggregate, names: Sequence[str], value: _Value) -> str:
    match value:
        case None:
            return ""
        case str():
            parts: Sequence[object] = (value,)
        case _:
            parts = fraction_of(value) if aggregate.fold == "sum" else (int(value),)
    return "".join(f" {name}={quoteattr(str(part))}" for name, part in zip(names, parts, strict=True))


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
        b"".join((start, f' {_NUMBER}="{number}"{own}'.encode(frame.encoding.codec, "xmlcharrefreplace"), piece))
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
