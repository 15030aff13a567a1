"""The XML twin of a table: the document that rules mean and engines read, written row by row from a second reading.

A row is one record element, a cell one element in it, or one attribute; what has no value is not there. What the
record and the elements are called, the rules say where they say it: `twin_names`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from masktron.errors import DocumentError, UsageError
from masktron.sources.lexical import NOT_IN_XML
from masktron.sources.names import ContextNames, NameStep
from masktron.sources.tables.column_names import xml_name
from masktron.sources.tables.table_format import SecondReading

ROOT, RECORD = "Data", "Record"
FIRST_LINE = 2
"""Line of the document in which the first record stands; each has a line of its own."""
_IN_ELEMENTS = {"\r": "&#13;", "\n": "&#10;"}


@dataclass(frozen=True, slots=True)
class TwinNames:
    """What the elements of the document are called.

    Attributes
    ----------
    above : tuple of str
        Local names from the root element to the parent of records.
    record : str
        Local name of the record element.
    space : str
        Namespace of all elements; empty for none.
    """

    above: tuple[str, ...] = (ROOT,)
    record: str = RECORD
    space: str = ""


def twin_names(columns: Collection[str], record: str | None, contexts: ContextNames) -> TwinNames:
    """Return the names that the contexts of rules ask for, or ``/Data/Record``.

    Contexts of the fields of a record, and those of what stands above it, are told apart by the columns. Where
    contexts name several elements, it is ``Record`` if that is one of them, else the one that most of them name.

    Parameters
    ----------
    columns : collection of str
        Names of the fields.
    record : str, optional
        Local or Clark name of the record element, where the user says it.
    contexts : ContextNames
    """
    space, _, local = ("", "", record) if record is None else record.removeprefix("{").rpartition("}")
    found: Counter[tuple[NameStep, ...]] = Counter()
    for rooted, steps in contexts.paths:
        path = list(steps)
        while path and path[-1][1] in columns:
            path.pop()
        if path and not (rooted and len(path) == 1) and local in (None, path[-1][1]):
            found[tuple(path)] += 1
    named: Counter[NameStep] = Counter()
    for named_path, times in found.items():
        named[named_path[-1]] += times
    # what has a record for a child stands above it
    records = {step[1] for step in named} | {RECORD}
    for (parent, child), _ in contexts.parents:
        if child in records and child not in (parent, *columns):
            named = Counter({step: times for step, times in named.items() if step[1] != parent})
    beside = [name for name in contexts.siblings if name not in columns]
    if not named:
        if local is None and beside:
            local = beside[0]
        _require_one_name(local or RECORD, beside)
        above = tuple(parent for (parent, child), _ in contexts.parents if child == (local or RECORD))[:1]
        return TwinNames(above or (ROOT,), local or RECORD, space)
    chosen = next((step for step in named if step[1] == RECORD), max(named, key=named.__getitem__))
    _require_one_name(chosen[1], beside)
    above = tuple(local for path in found if path[-1] == chosen for _, local in path[:-1])
    if not above:
        parents = [parent for (parent, child), _ in contexts.parents if child == chosen[1]]
        above = tuple(parents[:1])
    return TwinNames(above or (ROOT,), chosen[1], chosen[0])


def _require_one_name(record: str, beside: Collection[str]) -> None:
    """Refuse rules that call what stands beside a record otherwise than the record: they would find nothing there.

    Raises
    ------
    UsageError
    """
    if others := [name for name in beside if name != record]:
        raise UsageError(
            f"the rules call a record {record!r}, and the records beside it {', '.join(map(repr, others))}",
            hint="a table has one kind of record: give it one name in all rules, or name it with --record",
        )


def write_twin(path: Path, reading: SecondReading, names: TwinNames, where: str) -> None:
    """Write the document.

    Raises
    ------
    DocumentError
        A cell holds a character that XML forbids, or a row has not one cell for each column.
    """
    tags = [xml_name(column) for column in reading.columns]
    space = f" xmlns={quoteattr(names.space)}" if names.space else ""
    head = "".join(f"<{name}{space if at == 0 else ''}>" for at, name in enumerate(names.above))
    tail = "".join(f"</{name}>" for name in reversed(names.above))
    with path.open("w", encoding="UTF-8", newline="\n") as stream:
        stream.write(f'<?xml version="1.0" encoding="UTF-8"?>{head}\n')
        for number, row in enumerate(reading.rows, start=1):
            if len(row) != len(tags):
                raise DocumentError(f"record {number} has {len(row)} cells for {len(tags)} columns", where=where)
            stream.write(_record(names.record, tags, row, number, where))
        stream.write(f"{tail}\n")


def _record(name: str, tags: Sequence[str], row: Sequence[str | None], number: int, where: str) -> str:
    attributes, elements = "", []
    for tag, lexeme in zip(tags, row, strict=True):
        if lexeme is None:
            continue
        if NOT_IN_XML.search(lexeme):
            raise DocumentError(
                f"column {tag!r} of record {number} holds a control character or a surrogate, which no XML document "
                "and no rule can hold",
                where=where,
                hint="remove it",
            )
        if tag.startswith("@"):
            attributes += f" {tag[1:]}={quoteattr(lexeme, _IN_ELEMENTS | {chr(9): '&#9;'})}"
        else:
            elements.append(f"<{tag}>{escape(lexeme, _IN_ELEMENTS)}</{tag}>")
    return f"<{name}{attributes}>{''.join(elements)}</{name}>\n"
