"""Where the elements of an XML file begin and end, in bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from masktron.errors import RulebookError
from masktron.problems.problem import Place

NAMESPACES = ("http://purl.oclc.org/dsdl/schematron", "http://www.ascc.net/xml/schematron")
"""Of ISO Schematron, and of Schematron before it."""
LARGEST = 1_000_000
"""Bytes of a rulebook that is changed in place, some 3,000 rules: a page reads it each time that it is shown."""
_DEEPEST = 100
_ENCODINGS = {"utf-8": "utf-8", "us-ascii": "ascii", "ascii": "ascii", "iso-8859-1": "latin-1"}
_QUOTE = re.compile(rb"[\"']")
_ATTRIBUTE = re.compile(rb"([^\s=/<>\"']+)\s*=\s*(\"[^\"]*\"|'[^']*')")


class NotInPlaceError(RulebookError):
    """A rulebook that may be right, and of which bytes are no places: no rule of it is changed in place."""


@dataclass(slots=True, eq=False)
class Element:
    """An element with its place.

    Attributes
    ----------
    name : str
        Local name of an element of Schematron; of others the name as written, in braces.
    attributes : dict of str to str
        As a parser reads them, by name.
    start, inner, close, end : int
        Bytes: where its start tag begins and ends, where its end tag begins and ends. An empty-element tag has no
        inside: `inner`, `close` and `end` are one place.
    line, last_line : int
        Lines of its start tag, from 1.
    content : list of str or Element or None
        Texts and elements; None for a comment, a processing instruction or a CDATA section.
    """

    name: str
    attributes: dict[str, str]
    start: int
    line: int
    parent: Element | None
    inner: int = 0
    close: int = 0
    end: int = 0
    last_line: int = 0
    content: list[str | Element | None] = field(default_factory=list)

    @property
    def children(self) -> list[Element]:
        """The elements in it."""
        return [one for one in self.content if isinstance(one, Element)]

    def of(self, *names: str) -> list[Element]:
        """Return its children of these names."""
        return [one for one in self.children if one.name in names]

    def within(self) -> Iterator[Element]:
        """Yield it and all elements in it, in the order of the file."""
        yield self
        for one in self.children:
            yield from one.within()


@dataclass(frozen=True, slots=True)
class XmlText:
    """A file of XML with the places of its elements.

    Attributes
    ----------
    source : bytes
    root : Element
    encoding : str
        In which Python writes what is added.
    """

    source: bytes
    root: Element
    encoding: str

    def encoded(self, text: str) -> bytes:
        """Return markup as bytes; a character that the encoding lacks as a reference."""
        return text.encode(self.encoding, errors="xmlcharrefreplace")

    def tag_name(self, element: Element) -> str:
        """Return the name of an element as it is written, with its prefix."""
        found = re.match(rb"<([^\s/>]+)", self.source[element.start : element.inner])
        if found is None:
            raise AssertionError
        return found[1].decode(self.encoding)

    def attribute_places(self, element: Element) -> dict[str, tuple[int, int]]:
        """Return where the values of attributes stand, with their quotes, by name as written."""
        tag = self.source[element.start : element.inner]
        return {
            one[1].decode(self.encoding): (element.start + one.start(2), element.start + one.end(2))
            for one in _ATTRIBUTE.finditer(tag, len(self.tag_name(element).encode(self.encoding)) + 1)
        }

    def line_start(self, place: int) -> int | None:
        """Return where the line of a place begins, if there is only white space between; else None."""
        start = self.source.rfind(b"\n", 0, place) + 1
        return start if not self.source[start:place].strip() else None


def xml_text(source: bytes, where: str) -> XmlText:
    """Read a file of XML.

    Raises
    ------
    RulebookError
        It is not well-formed.
    NotInPlaceError
        It declares a document type, has an encoding of which bytes are no places, or is too large or too deep.
    """
    if len(source) > LARGEST:
        raise _not_in_place(f"it has more than {LARGEST // 1_000_000} MB", where)
    builder = _Builder(source)
    try:
        builder.parser.Parse(source, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise RulebookError.of("not-well-formed", Place(where, error.lineno), reason=reason) from error
    except (LookupError, UnicodeError) as error:
        raise _not_in_place("its encoding is not known", where) from error
    if builder.refused:
        raise _not_in_place(builder.refused, where)
    if builder.root is None:
        raise AssertionError
    return XmlText(source, builder.root, builder.encoding)


def _not_in_place(reason: str, where: str = "") -> NotInPlaceError:
    return NotInPlaceError.of("not-in-place", where, what="the rulebook", done="changed", reason=reason)


class _Builder:
    """Puts elements together from what expat reports."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.root: Element | None = None
        self.encoding = "utf-8"
        self.refused = ""
        self._open: Element | None = None
        self._depth = 0
        self.parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.CommentHandler = self._other
        parser.ProcessingInstructionHandler = self._other
        parser.StartCdataSectionHandler = self._other
        if source[:2] in (b"\xff\xfe", b"\xfe\xff"):
            self.refused = "it is in UTF-16"

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        known = _ENCODINGS.get((encoding or "utf-8").lower())
        if known is None:
            self.refused = f"it is in {encoding}"
        else:
            self.encoding = known

    def _doctype(self, *_: Any) -> None:
        # entities stand for text that is elsewhere
        self.refused = "it has a document type"
        self.parser.EntityDeclHandler = self._entity

    def _entity(self, *_: Any) -> None:
        raise _not_in_place("it declares entities")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _not_in_place("it is nested too deeply")
        space, _, local = name.rpartition(" ")
        start = self.parser.CurrentByteIndex
        inner = self._tag_end(start)
        element = Element(
            local if space in NAMESPACES else f"{{{name}}}",
            attributes,
            start,
            self.parser.CurrentLineNumber,
            self._open,
            inner,
        )
        element.last_line = element.line + self.source.count(b"\n", start, inner)
        if self._open is None:
            self.root = element
        else:
            self._open.content.append(element)
        self._open = element

    def _end(self, _: str) -> None:
        self._depth -= 1
        element = self._open
        if element is None:
            raise AssertionError
        if self.source[element.inner - 2 : element.inner] == b"/>":
            element.close = element.end = element.inner
        else:
            element.close = self.parser.CurrentByteIndex
            element.end = self.source.index(b">", element.close) + 1
        self._open = element.parent

    def _text(self, text: str) -> None:
        if self._open is not None:
            content = self._open.content
            if content and isinstance(content[-1], str):
                content[-1] += text
            else:
                content.append(text)

    def _other(self, *_: Any) -> None:
        if self._open is not None:
            self._open.content.append(None)

    def _tag_end(self, start: int) -> int:
        place = start
        while True:
            end = self.source.index(b">", place)
            quote = _QUOTE.search(self.source, place, end)
            if quote is None:
                return end + 1
            place = self.source.index(quote[0], quote.end()) + 1
