"""Names of a plain file, where libxml2 writes them as they are read."""

from __future__ import annotations

from dataclasses import dataclass

from masktron.sources.records import Layout
from masktron.sources.xml.blocks import PlainFile
from masktron.sources.xml.edits import records_of, serialised
from masktron.sources.xml.microdata import cut_document


@dataclass(frozen=True, slots=True)
class RawNames:
    """The names of records.

    Attributes
    ----------
    record : bytes
        As written, with its prefix.
    fields : tuple of bytes
        Of each field of the layout; empty where none is known.
    attributes : int
        So many fields are attributes; they come first.
    """

    record: bytes
    fields: tuple[bytes, ...]
    attributes: int

    def frame(self, head: bytes, layout: Layout, codec: str) -> tuple[bytes, bytes] | None:
        """Return what is written around all records; None where libxml2 would not write names as they are.

        A tree knows namespaces, not prefixes: where a namespace has two, libxml2 chooses. A record with all names
        shows what it makes of the others.

        Parameters
        ----------
        head : bytes
            What the file has before the first record.
        layout : Layout
        codec : str
        """
        attributes = b"".join(b' %s=""' % raw for raw in self.fields[: self.attributes] if raw)
        children = b"".join(b"<%s/>" % raw for raw in self.fields[self.attributes :] if raw)
        sample = b"<%s%s>%s</%s>" % (self.record, attributes, children or b" ", self.record)
        root = cut_document(head + sample, layout)
        spaces = list(records_of(root, layout)[0].nsmap.values())
        if len(set(spaces)) < len(spaces):
            return None
        [piece] = serialised(root, layout)
        opening, text, closing = (
            part.encode(codec, "xmlcharrefreplace") for part in (piece.opening, piece.text, piece.closing)
        )
        return (opening, closing) if text == sample else None


def names_of(layout: Layout, plain: PlainFile) -> RawNames | None:
    """Take the names from a survey; None where a field has two, or the layout is not as surveys make it."""
    attributes = sum(f.attribute for f in layout.fields)
    known = [(name.column, name.raw) for name in plain.names if name.column >= 0]
    raw = dict(known)
    first = all(f.attribute for f in layout.fields[:attributes])
    if len(raw) < len(known) or len(layout.record_path) < 2 or not first:
        return None
    return RawNames(plain.record, tuple(raw.get(at, b"") for at in range(len(layout.fields))), attributes)
