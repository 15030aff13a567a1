"""What is released beside the values of records: the XML declaration, and the root with its attributes.

Of namespaces, those that names need are declared, once, on the root. Nothing else that the original has around its
values comes through: what it declares, says in comments and instructions, or calls its document type is nobody's to
check, and may tell of a record or of who wrote it.
"""

from __future__ import annotations

from typing import Any

from lxml import etree

from masktron.sources.record_layout import Layout
from masktron.sources.xml.encoding import Encoding

_XML = "http://www.w3.org/XML/1998/namespace"
CLOSING = "\n"
"""What is written behind the root."""


def opening(encoding: Encoding) -> str:
    """Return all that is written before the root."""
    mark = "\ufeff" if encoding.bom else ""
    return mark + (encoding.declaration + "\n" if encoding.declaration else "")


def namespaces_of(layout: Layout) -> dict[str | None, str]:
    """Return what the released root declares: by prefix, the namespaces of names, and of prefixes in its attributes.

    Namespaces that only records declare are declared here, under a prefix that tells nothing. A default namespace
    gets one where names inside have no namespace at all.
    """
    elements = {_uri(tag) for tag in (*layout.record_path, *(f.tag for f in layout.fields if not f.attribute))}
    own = [tag for tag, _ in layout.root_attributes]
    attributes = {_uri(tag) for tag in (*own, *(f.tag for f in layout.fields if f.attribute))}
    values = [value for _, value in layout.root_attributes]
    plain = "" in elements
    found = {
        prefix: uri
        for prefix, uri in layout.nsmap
        if (prefix is None and uri in elements and not plain)
        or (prefix is not None and uri in elements | attributes)
        or (prefix is not None and any(f"{prefix}:" in value for value in values))
    }
    prefixed = {uri for prefix, uri in found.items() if prefix is not None}
    lacking = sorted(((elements - {*found.values()}) | (attributes - prefixed)) - {"", _XML})
    taken = {prefix for prefix, _ in layout.nsmap}
    names = (name for number in range(len(lacking) + len(taken)) if (name := f"ns{number}") not in taken)
    return found | dict(zip(names, lacking, strict=False))


def _uri(tag: str) -> str:
    return tag[1:].partition("}")[0] if tag.startswith("{") else ""


def released(root: etree._Element, layout: Layout) -> etree._Element:
    """Move the records of a document of `microdata.iter_chunks` into one that declares what is needed.

    The elements between the root and the records come without attributes.
    """
    nsmap: Any = namespaces_of(layout)
    attributes: Any = dict(root.attrib)
    fresh = place = etree.Element(root.tag, attributes, nsmap)
    place.text = root.text
    for tag in layout.record_path[1:-1]:
        root = root[0]
        place = etree.SubElement(place, tag)
        place.text = root.text
    for record in list(root):
        place.append(record)
        etree.cleanup_namespaces(record)
    return fresh
