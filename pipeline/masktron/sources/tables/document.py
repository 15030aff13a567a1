"""The XML twin of a table: the document that rules mean and engines read, written row by row.

A row is one record element, a cell one element in it, or one attribute; what has no value is not there. What the
record and the elements are called, the rules say where they say it: `twin_names`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa
import pyarrow.compute as pc

from masktron.errors import UsageError
from masktron.sources.names import ContextNames, NameStep
from masktron.sources.record_layout import TABLE_PATH, Field, Layout
from masktron.sources.tables.arrow_scalars import text_scalar
from masktron.sources.tables.column_names import xml_name
from masktron.sources.tables.spilled import kept_in
from masktron.sources.tables.string_cells import octets_of, require_xml

ROOT, RECORD = TABLE_PATH
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

    def clark(self, name: str) -> str:
        """Return an element's local name with the namespace, as `Layout` has it."""
        return f"{{{self.space}}}{name}" if self.space else name


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
        raise UsageError.of(
            "record-unclear",
            elements=f"the rules call it {record!r}, and the records beside it {' and '.join(others)}",
        )


def twin_frame(names: TwinNames) -> tuple[str, str]:
    """Return the tags that stand before the records, and those behind them."""
    space = f" xmlns={quoteattr(names.space)}" if names.space else ""
    before = "".join(f"<{name}{space if at == 0 else ''}>" for at, name in enumerate(names.above))
    return before, "".join(f"</{name}>" for name in reversed(names.above))


def twin_layout(names: TwinNames, tags: Sequence[str], first: Sequence[int]) -> Layout | None:
    """Return the layout of the document without reading it; None where only its survey knows what it says.

    Fields come in the order in which the document first shows them, attributes before elements; those without any
    value are in none of its records.

    Parameters
    ----------
    names : TwinNames
    tags : sequence of str
        Names of the columns.
    first : sequence of int
        The first record, from 0, in which each has a value; -1 where none has.
    """
    local = {names.record, *names.above}
    if all(at < 0 for at in first) or not local.isdisjoint(tags):
        return None
    there = sorted((at, place) for place, at in enumerate(first) if at >= 0)
    shown = [tags[place] for _, place in there]
    attributes = [Field(tag, tag[1:], attribute=True) for tag in shown if tag.startswith("@")]
    elements = [Field(tag, names.clark(tag)) for tag in shown if not tag.startswith("@")]
    return Layout(
        record_path=tuple(map(names.clark, (*names.above, names.record))),
        fields=(*attributes, *elements),
        nsmap=((None, names.space),) if names.space else (),
    )


def write_twin(
    path: Path, columns: Sequence[str], blocks: Iterable[Sequence[pa.Array]], names: TwinNames, where: str
) -> None:
    """Write the document, block after block.

    Parameters
    ----------
    path : Path
    columns : sequence of str
        Names, as the file has them.
    blocks : iterable of sequences of pyarrow.Array
        Records as columns of strings, null where a record has no value.
    names : TwinNames
    where : str
        The file, for messages.

    Raises
    ------
    DocumentError
        A cell holds a character that XML forbids, or there is no room.
    """
    tags = [xml_name(column) for column in columns]
    with kept_in(path.parent):
        stream = path.open("wb")
    with stream:
        for piece in _pieces(tags, blocks, names, where):
            with kept_in(path.parent):
                stream.write(piece)
        with kept_in(path.parent):
            stream.close()


def _pieces(
    tags: Sequence[str], blocks: Iterable[Sequence[pa.Array]], names: TwinNames, where: str
) -> Iterator[bytes]:
    before, after = twin_frame(names)
    yield f'<?xml version="1.0" encoding="UTF-8"?>{before}\n'.encode()
    records = 0
    for block in blocks:
        require_xml(tags, block, records, where)
        yield record_lines(names.record, tags, block)
        records += len(block[0]) if block else 0
    yield f"{after}\n".encode()


def record_lines(name: str, tags: Sequence[str], columns: Sequence[pa.Array]) -> bytes:
    """Write records as XML, each in a line of its own.

    Parameters
    ----------
    name : str
        Of the record element.
    tags : sequence of str
        Names of the fields; ``@`` before that of an attribute.
    columns : sequence of pyarrow.Array
        Of strings that XML can hold, null where a record has no value.
    """
    if not columns or not len(columns[0]):
        return b""
    fields = list(zip(tags, columns, strict=True))
    pieces: list[pa.Array | str] = [f"<{name}"]
    for tag, column in fields:
        if tag.startswith("@"):
            pieces.append(_joined(f" {tag[1:]}=", _escaped(column, _attribute, always=True), ""))
    pieces.append(">")
    for tag, column in fields:
        if not tag.startswith("@"):
            text = _escaped(column, _element, always=False)
            before, after = f"<{tag}>", f"</{tag}>"
            pieces += [_joined(before, text, after)] if column.null_count else [before, text, after]
    lines = pc.binary_join_element_wise(*_scalars([*pieces, f"</{name}>\n"]), text_scalar(""), null_handling="skip")
    return octets_of(lines).tobytes()


def _scalars(pieces: Sequence[pa.Array | str]) -> Iterator[pa.Array | pa.Scalar]:
    """Join texts that stand side by side."""
    together = ""
    for piece in pieces:
        if isinstance(piece, str):
            together += piece
            continue
        if together:
            yield text_scalar(together)
        together = ""
        yield piece.cast(pa.large_string())
    yield text_scalar(together)


def _joined(before: str, column: pa.Array, after: str) -> pa.Array:
    return pc.binary_join_element_wise(
        text_scalar(before), column.cast(pa.large_string()), text_scalar(after), text_scalar("")
    )


def _escaped(column: pa.Array, write: Callable[[str], str], *, always: bool) -> pa.Array:
    """Write the cells in another way that hold what means something in XML, or all of them."""
    special = pc.is_valid(column) if always else pc.match_substring_regex(column, "[&<>\r\n]")
    if not pc.any(special).as_py():
        return column
    special = pc.fill_null(special, False)
    there = column.filter(special).dictionary_encode()
    texts = pa.array(map(write, there.dictionary.to_pylist()), type=column.type)
    return pc.replace_with_mask(column, special, texts.take(there.indices))


def _element(text: str) -> str:
    return escape(text, _IN_ELEMENTS)


def _attribute(text: str) -> str:
    return quoteattr(text, _IN_ELEMENTS | {chr(9): "&#9;"})
