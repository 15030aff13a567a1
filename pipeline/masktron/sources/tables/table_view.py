"""What rules and engines see of a table: the names of its XML view, its layout, and the document that is written.

A row is one record element, a cell one element in it, or one attribute; what has no value is not there. What the
record and the elements are called, the rules say where they say it: `twin_names`.
"""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa
import pyarrow.compute as pc

from masktron.errors import UsageError
from masktron.problems.problem import Place
from masktron.progress import Progress
from masktron.scratch import create_private, folder_on_disk, private_folder, require_room
from masktron.sources.column import MANY_RECORDS
from masktron.sources.record_layout import NO_CONTEXTS, TABLE_PATH, ContextNames, Field, Layout, NameStep
from masktron.sources.tables.column_names import xml_name
from masktron.sources.tables.column_strings import octets_of, require_xml, text_scalar
from masktron.sources.tables.spilled import kept_in
from masktron.sources.tables.table_format import Options
from masktron.sources.tables.table_stream import TableStream
from masktron.sources.xml import wellformed
from masktron.sources.xml.nested_units import compile_first
from masktron.sources.xml.xml_source import XmlSource

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


@dataclass(frozen=True, slots=True)
class TableRequest:
    """What is asked of a table beside its file.

    Attributes
    ----------
    options : mapping of str to str
        What the user says of the file.
    record : str, optional
        What the record element of the twin is called.
    contexts : ContextNames
        Of the rules: they say what the elements of the twin are called.
    progress : callable, optional
        Told of what takes long.
    memory : int, optional
        Bytes that the run may take, where all records will be asked for: a table that is small beside them is read at
        once. Without it, any large file is read block by block.
    """

    options: Options = MappingProxyType({})
    record: str | None = None
    contexts: ContextNames = NO_CONTEXTS
    progress: Progress | None = None
    memory: int | None = None

    def names(self, columns: Sequence[str]) -> TwinNames:
        """Return what the elements of the view of a table with these columns are called."""
        return twin_names(columns, self.record, self.contexts)

    def size_of_view(self, blocks: TableStream) -> int:
        """Return roughly how many bytes the document would have."""
        names = (self.names(blocks.names).record, *blocks.names)
        return blocks.text + blocks.count * sum(len(f"<{name}></{name}>") for name in names)


class TableView:
    """The XML view of the records of a table; the document is written when it is first asked for.

    Parameters
    ----------
    path : Path
        The file, for messages.
    blocks : TableStream
    asked : TableRequest
    reading : method
        Of the source that has this view; returns the context in which records are read, on which two libraries agree
        where two read them.
    """

    def __init__(
        self,
        path: Path,
        blocks: TableStream,
        asked: TableRequest,
        reading: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self.path, self.blocks, self._asked = path, blocks, asked
        self._reading = weakref.WeakMethod(reading)  # so that the document goes with the source that has this view
        self.names = asked.names(blocks.names)
        self.size = asked.size_of_view(blocks)
        self._held = ExitStack()
        weakref.finalize(self, self._held.close)

    @property
    def is_large(self) -> bool:
        """Whether the document is worth a place on a disk, and its records evaluation over columns."""
        return self.size >= wellformed.SMALLEST

    @cached_property
    def _place(self) -> Path:
        above = folder_on_disk()[0] if self.is_large else None
        return self._held.enter_context(private_folder(above)) / "document.xml"

    @cached_property
    def document(self) -> Path:
        """Where the document is, as long as this is there."""
        path = self._place
        if self.is_large:
            require_room(path.parent, self.size, what=f"what engines read of {self.path.name}")
            compile_first(self._asked.progress)
        path.unlink(missing_ok=True)  # of an attempt that was refused
        with kept_in(path.parent):
            os.close(create_private(path))
        reading = self._reading()
        if reading is None:
            raise ValueError("the source of this view is gone")
        with reading(), closing(self.blocks.again()) as found:
            columns = [variable.column for variable in self.blocks.variables]
            write_twin(path, columns, found, self.names, str(self.path))
        return path

    @cached_property
    def _seen(self) -> tuple[Layout, int | None]:
        """What a survey of the document would say: its layout, and how many records, where these are many."""
        layout = twin_layout(self.names, self.blocks.names, self.blocks.first)
        if layout is None:
            return XmlSource(self.document, record=self.names.record, progress=self._asked.progress).layout, None
        if not self.is_large and self.blocks.count < MANY_RECORDS:
            return layout, None
        compile_first(self._asked.progress)
        return layout, self.blocks.count

    @property
    def layout(self) -> Layout:
        """Where records and fields stand."""
        return self._seen[0]

    @property
    def count(self) -> int | None:
        """Number of records of a table that is evaluated over columns."""
        return self._seen[1]

    def line(self, record: int) -> int:
        """Return the line or row of a record in the file; 0 of what is none."""
        return int(self.blocks.lines(record, 1)[0]) if 0 <= record < self.blocks.count else 0

    def own_place(self, place: Place) -> Place:
        """Return the file, and the line of the record, for a place in the document."""
        if "_place" not in self.__dict__ or place.source != str(self._place):
            return place
        line = self.line(place.line - FIRST_LINE) if place.line else 0
        return replace(place, source=str(self.path), line=line, column=0)
