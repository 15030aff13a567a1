"""Records of a slice that carry the values of aggregates as attributes, and how an engine tests that they do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from masktron.evaluation.across.planned import Planned
from masktron.evaluation.across.rewrite import PREFIX, fraction_of
from masktron.evaluation.programs import Guard
from masktron.evaluation.recount.aggregates import Recounted
from masktron.evaluation.recount.field_values import PrefixedNames
from masktron.evaluation.worker_pool import RefusedError
from masktron.sources.record_layout import Layout
from masktron.sources.xml.slices import Frame, framed_test

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

    Theorem: then each attribute that `carrying` wrote is one of the record that it was written for. Proof: there are
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
