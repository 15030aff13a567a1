"""Records as trees: new values set in them, and the text that libxml2 writes of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lxml import etree

from masktron.sources.column import Column
from masktron.sources.record_layout import Field, Layout
from masktron.sources.xml.outline import Spacing, released

_MARK = "<!---->"
"""Serialised between records: all comments are dropped and text is escaped, so it stands nowhere else."""


class RecordEdits(Protocol):
    """What is done to each record element, whatever stands in it."""

    @property
    def layout(self) -> Layout:
        """With all names of the records."""

    @property
    def spacing(self) -> Spacing:
        """White space around records."""

    def apply(self, record: etree._Element, i: int) -> None:
        """Make anew the record with position i in the source."""


@dataclass(frozen=True, slots=True)
class Edits:
    """What is done to each record element.

    Attributes
    ----------
    layout : Layout
    replacements : mapping of str to Column
    removed : collection of str
    spacing : Spacing
    """

    layout: Layout
    replacements: Mapping[str, Column]
    removed: Collection[str]
    spacing: Spacing
    _ranks: dict[str, int] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._ranks.update({f.tag: rank for rank, f in enumerate(self.layout.fields) if not f.attribute})

    def apply(self, record: etree._Element, i: int) -> None:
        """Make anew the record with position i in the source: its values, and names, in its own order.

        Attributes, which have none, come in that of the layout; so does a field that was not there, before the first
        of the record that comes later.
        """
        etree.strip_tags(record, etree.Comment, etree.ProcessingInstruction)
        elements = {str(child.tag): child.text or "" for child in record}
        attributes = {str(tag): str(value) for tag, value in record.attrib.items()}
        order = [self._ranks[tag] for tag in elements]
        texts: dict[int, str] = {}
        record.attrib.clear()
        del record[:]
        record.text = None
        for rank, f in enumerate(self.layout.fields):
            lexeme = self._lexeme(f, i, (attributes if f.attribute else elements).get(f.tag))
            if f.attribute and lexeme is not None:
                record.set(f.tag, lexeme)
            elif lexeme is not None:
                texts[rank] = lexeme
                if f.tag not in elements:
                    order.insert(next((j for j, other in enumerate(order) if other > rank), len(order)), rank)
        self._fill(record, [(self.layout.fields[rank].tag, texts[rank]) for rank in order if rank in texts])

    def _fill(self, record: etree._Element, values: Sequence[tuple[str, str]]) -> None:
        for tag, text in values:
            element = etree.SubElement(record, tag)
            element.text, element.tail = text or None, self.spacing.inner
        if values:
            record.text, record[-1].tail = self.spacing.inner, self.spacing.closing

    def _lexeme(self, f: Field, i: int, given: str | None) -> str | None:
        new = self.replacements.get(f.name)
        if new is None:
            return None if f.name in self.removed else given
        return new.lexeme(i)


@dataclass(frozen=True, slots=True)
class RecordText:
    """One record as text, with the tags around all records."""

    opening: str
    text: str
    tail: str
    closing: str


def records_of(root: etree._Element, layout: Layout) -> list[etree._Element]:
    """Return the records of a document of `masktron.sources.xml.microdata.iter_chunks`."""
    place = root
    for _tag in layout.record_path[1:-1]:
        place = place[0]
    return list(place)


def serialised(root: etree._Element, layout: Layout) -> Iterator[RecordText]:
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
        yield RecordText(opening + lead, text, tail, closing)
