"""Records as trees: new values set in them, and the text that libxml2 writes of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

from masktron.read.records import Coded, Field, Layout
from masktron.write.outline import released

_MARK = "<!---->"
"""Serialised between records: all comments are dropped and text is escaped, so it stands nowhere else."""


@dataclass(slots=True)
class Edits:
    """What is done to each record element.

    Attributes
    ----------
    layout : Layout
    replacements : mapping of str to Coded
    removed : collection of str
    inner, closing : str or None
        White space before a field, and behind the last, from the latest record that had one.
    """

    layout: Layout
    replacements: Mapping[str, Coded]
    removed: Collection[str]
    inner: str | None = None
    closing: str | None = None
    _rank: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._rank = {f.tag: i for i, f in enumerate(self.layout.fields) if not f.attribute}

    def remember(self, record: etree._Element) -> None:
        """Take the remarks out of a record, and note its white space."""
        etree.strip_tags(record, etree.Comment, etree.ProcessingInstruction)
        if len(record):
            self.inner, self.closing = record.text, record[-1].tail

    def apply(self, record: etree._Element, i: int) -> None:
        """Edit the record with position i in the source."""
        self.remember(record)
        elements = {str(child.tag): child for child in record}
        for f in self.layout.fields:
            coded = self.replacements.get(f.name)
            if coded is not None:
                self._set(record, elements.get(f.tag), f, coded.texts[coded.codes[i]])
            elif f.name in self.removed:
                self._set(record, elements.get(f.tag), f, None)

    def _set(self, record: etree._Element, element: etree._Element | None, f: Field, lexeme: str | None) -> None:
        if f.attribute:
            if lexeme is not None:
                record.set(f.tag, lexeme)
            elif f.tag in record.attrib:
                del record.attrib[f.tag]
        elif lexeme is None:
            self._drop(record, element)
        else:
            (self._inserted(record, f) if element is None else element).text = lexeme or None

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
        index = next((j for j, c in enumerate(record) if self._rank[str(c.tag)] > self._rank[f.tag]), len(record))
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
class Piece:
    """One record as text, with the tags around all records."""

    opening: str
    text: str
    tail: str
    closing: str


def records_of(root: etree._Element, layout: Layout) -> list[etree._Element]:
    """Return the records of a document of `masktron.read.microdata.iter_chunks`."""
    place = root
    for _tag in layout.record_path[1:-1]:
        place = place[0]
    return list(place)


def serialised(root: etree._Element, layout: Layout) -> Iterator[Piece]:
    """Yield the records of such a document as they are written; it is used up."""
    place = root = released(root, layout)
    indent = "\n" if "\n" in (place.text or "") else ""
    for _tag in layout.record_path[1:-1]:
        place[0].tail, indent = indent, place.text or ""
        place = place[0]
    lead = place.text or ""
    place.text = None
    tails = []
    for record in list(place):
        tails.append(record.tail or "")
        record.tail = None
        record.addprevious(etree.Comment(""))
    place.append(etree.Comment(""))
    opening, *texts, closing = etree.tostring(root, encoding="unicode").split(_MARK)
    for text, tail in zip(texts, tails, strict=True):
        yield Piece(opening + lead, text, tail, closing)
