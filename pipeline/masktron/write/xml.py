"""The masked file: the source again, with new values in some fields."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np
from lxml import etree
from numpy.typing import NDArray

from masktron.errors import DocumentError, UsageError
from masktron.read.layout import confirm
from masktron.read.microdata import chunk_document, iter_chunks, record_lines
from masktron.read.parser import scan
from masktron.read.records import Field, Layout

_MARK = "<!---->"
"""Serialised between records: all comments are dropped and text is escaped, so it stands nowhere else."""


def write_masked(
    source: Path,
    target: Path,
    layout: Layout,
    replacements: Mapping[str, NDArray[np.object_]],
    *,
    removed: Collection[str] = (),
    keep: NDArray[np.bool_] | None = None,
    order: NDArray[np.intp] | None = None,
) -> int:
    """Write a copy of a flat file with new lexemes in some fields.

    The encoding, the XML declaration, the root with its attributes and namespaces, processing instructions before
    and after the root, lexemes that are not replaced and the indentation stay. All comments are dropped, and so are
    processing instructions inside the root: they could carry original values. CDATA sections and character
    references become plain text with the same value.

    Parameters
    ----------
    source : Path
    target : Path
        Written directly: give it a path from `masktron.write.atomic.atomic_path`.
    layout : Layout
    replacements : mapping of str to ndarray of object, shape (n,)
        Lexemes by field name, in the order of the source; None removes the element or attribute, and a value
        where there was none is inserted, in layout order.
    removed : collection of str
        Names of the fields that no record keeps.
    keep : ndarray of bool, shape (n,), optional
        Records that are written; without it, all.
    order : ndarray of intp, shape (n,), optional
        Permutation: source positions in the order in which they are written, `keep` applied after it. Without
        it the order of the source, and records are streamed instead of held.

    Returns
    -------
    int
        Number of records written.

    Raises
    ------
    DocumentError
        The source cannot be parsed, is not flat or has changed, or a lexeme has characters that XML forbids.
    UsageError
        An unknown field, or an array that does not have one entry per record.
    """
    shape = confirm(source, layout)
    if not shape.flat:
        raise DocumentError(
            f"the file cannot be masked: {shape.reason}",
            where=f"{source}:{shape.line}",
            hint="only files whose records hold single fields of text can be masked for now",
        )
    n = len(record_lines(source, layout))
    _check_arguments(layout, replacements, removed, n)
    for name, array in (("keep", keep), ("order", order)):
        if array is not None and array.shape != (n,):
            raise UsageError(f"{name} has the shape {array.shape}, and the file has {n:,} records")
    if order is not None and not np.array_equal(np.sort(order), np.arange(n)):
        raise UsageError(f"order is not a permutation of the {n:,} records")
    kept = np.ones(n, dtype=np.bool_) if keep is None else keep
    outline = _Outline()
    encoding = scan(source, outline.attach)
    with target.open("w", encoding=encoding.codec, errors="xmlcharrefreplace", newline="") as stream:
        if encoding.bom:
            stream.write("\ufeff")
        if encoding.declaration:
            stream.write(encoding.declaration + "\n")
        stream.writelines(item + "\n" for item in outline.before)
        pieces = _serialised(source, layout, _Edits(layout, replacements, removed))
        stream.writelines(_assembled(pieces, kept, order) if n else [_empty(layout)])
        stream.write("\n")
        stream.writelines(item + "\n" for item in outline.after)
    return int(kept.sum())


def _check_arguments(
    layout: Layout, replacements: Mapping[str, NDArray[np.object_]], removed: Collection[str], n: int
) -> None:
    for name in (*replacements, *removed):
        if layout.field(name) is None:
            names = ", ".join(f.name for f in layout.fields)
            raise UsageError(f"the file has no field {name!r}", hint=f"its fields are {names}")
    for name, lexemes in replacements.items():
        if lexemes.shape != (n,):
            raise UsageError(f"{name!r} has {lexemes.shape} new values, and the file has {n:,} records")
        if name in removed:
            raise UsageError(f"the field {name!r} is both replaced and removed")


class _Outline:
    """Expat handlers that collect what stands outside the root element."""

    def __init__(self) -> None:
        self.before: list[str] = []
        self.after: list[str] = []
        self._depth = 0
        self._current: list[str] | None = self.before

    def attach(self, parser: expat.XMLParserType) -> None:
        guard = parser.StartDoctypeDeclHandler

        def doctype(name: str, system_id: str | None, public_id: str | None, internal: bool) -> None:
            if guard is not None:
                guard(name, system_id, public_id, internal)
            self.before.append(f"<!DOCTYPE {name}>")

        parser.StartDoctypeDeclHandler = doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.ProcessingInstructionHandler = lambda target, text: self._add(f"<?{target} {text}".rstrip() + "?>")

    def _start(self, _name: str, _attributes: object) -> None:
        self._depth += 1
        self._current = None

    def _end(self, _name: str) -> None:
        self._depth -= 1
        if not self._depth:
            self._current = self.after

    def _add(self, item: str) -> None:
        if self._current is not None:
            self._current.append(item)


@dataclass(slots=True)
class _Edits:
    """What is done to each record element."""

    layout: Layout
    replacements: Mapping[str, NDArray[np.object_]]
    removed: Collection[str]
    inner: str | None = None
    """White space before a field, from the latest record that had one."""
    closing: str | None = None
    """White space behind the last field."""
    rank: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.rank = {f.tag: i for i, f in enumerate(self.layout.fields) if not f.attribute}

    def apply(self, record: etree._Element, i: int) -> None:
        etree.strip_tags(record, etree.Comment, etree.ProcessingInstruction)
        if len(record):
            self.inner, self.closing = record.text, record[-1].tail
        elements = {str(child.tag): child for child in record}
        for f in self.layout.fields:
            if f.name in self.replacements:
                self._set(record, elements.get(f.tag), f, self.replacements[f.name][i], i)
            elif f.name in self.removed:
                self._set(record, elements.get(f.tag), f, None, i)

    def _set(
        self, record: etree._Element, element: etree._Element | None, f: Field, lexeme: str | None, i: int
    ) -> None:
        try:
            if f.attribute:
                if lexeme is not None:
                    record.set(f.tag, lexeme)
                elif f.tag in record.attrib:
                    del record.attrib[f.tag]
            elif lexeme is None:
                self._drop(record, element)
            else:
                (self._inserted(record, f) if element is None else element).text = lexeme or None
        except (TypeError, ValueError) as problem:
            raise DocumentError(
                f"the new value of {f.name!r} in record {i + 1} cannot be written as XML: {problem}",
                hint="values are text without control characters",
            ) from None

    def _drop(self, record: etree._Element, element: etree._Element | None) -> None:
        if element is None:
            return
        before = element.getprevious()
        last = element.getnext() is None
        record.remove(element)
        if before is None and last:
            record.text = None
        elif before is not None and last:
            before.tail = self.closing

    def _inserted(self, record: etree._Element, f: Field) -> etree._Element:

        index = next((j for j, c in enumerate(record) if self.rank[str(c.tag)] > self.rank[f.tag]), len(record))
        element = etree.SubElement(record, f.tag)
        at_end = index == len(record) - 1
        if at_end and index:
            record[index - 1].tail = self.inner
        elif at_end:
            record.text = self.inner
        else:
            record.insert(index, element)
        element.tail = self.closing if at_end else self.inner
        return element


@dataclass(frozen=True, slots=True)
class _Piece:
    """One record as text, with the tags around all records."""

    opening: str
    text: str
    tail: str
    closing: str


def _serialised(source: Path, layout: Layout, edits: _Edits) -> Iterator[_Piece]:
    for chunk in iter_chunks(source, layout):
        place = chunk.root
        indent = "\n" if "\n" in (place.text or "") else ""
        for _tag in layout.record_path[1:-1]:
            place[0].tail, indent = indent, place.text or ""
            place = place[0]
        lead = place.text or ""
        place.text = None
        tails = []
        for j, record in enumerate(list(place)):
            edits.apply(record, chunk.first + j)
            tails.append(record.tail or "")
            record.tail = None
            record.addprevious(etree.Comment(""))
        place.append(etree.Comment(""))
        opening, *texts, closing = etree.tostring(chunk.root, encoding="unicode").split(_MARK)
        for text, tail in zip(texts, tails, strict=True):
            yield _Piece(opening + lead, text, tail, closing)


def _assembled(pieces: Iterator[_Piece], kept: NDArray[np.bool_], order: NDArray[np.intp] | None) -> Iterator[str]:
    """Yield the root element with the records that are kept, in order."""
    if order is None:
        yield from _in_source_order(pieces, kept)
        return
    held = list(pieces)
    yield held[0].opening
    separator = held[0].tail
    chosen = [int(i) for i in order if kept[i]]
    for count, i in enumerate(chosen, 1):
        yield held[i].text
        yield separator if count < len(chosen) else held[-1].tail
    yield held[-1].closing


def _in_source_order(pieces: Iterator[_Piece], kept: NDArray[np.bool_]) -> Iterator[str]:
    last: _Piece | None = None
    pending = ""
    for piece, wanted in zip(pieces, kept, strict=True):
        if last is None:
            yield piece.opening
        if wanted:
            yield pending
            yield piece.text
            pending = piece.tail
        last = piece
    if last is not None:
        yield last.tail
        yield last.closing


def _empty(layout: Layout) -> str:
    return etree.tostring(chunk_document(layout, []), encoding="unicode")
