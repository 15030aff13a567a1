"""The one way into XML: two conforming parsers, hardened, with every error put into the user's words.

expat goes first. It refuses a document type with declarations before anything is expanded, and it knows true
line numbers; libxml2 (lxml) builds the trees that XPath engines read.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

from lxml import etree

from masktron.errors import DocumentError, MasktronError
from masktron.files import refuse_special
from masktron.problems.problem import Place, Problem
from masktron.sources.other_formats import refuse_other_formats

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, b"<\0\0\0", b"\0\0\0<")
_DECLARATION = re.compile(
    r"""<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*(["'])(?P<version>[^"'<>]*)\1"""
    r"""(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(["'])(?P<encoding>[A-Za-z][A-Za-z0-9._-]*)\3)?"""
    r"""(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(["'])(?:yes|no)\5)?[ \t\r\n]*\?>"""
)
# Measured: on these codecs libxml2, expat and Python decode every byte alike. They do not on windows-1258 and on
# the multi-byte encodings of East Asia, so those are refused rather than read in two ways.
_SINGLE_BYTE = re.compile(r"ascii|iso8859-([1-9]|1[0134-6])|cp125[0-7]|koi8-[ru]")

HEAD = 4096
"""Number of bytes that `sniff` needs to see."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of one file.

    Attributes
    ----------
    name : str
        As declared, else ``UTF-8`` or ``UTF-16``.
    codec : str
        Python's codec, with the byte order for UTF-16; never writes a byte order mark.
    bom : bytes
        The mark at the start of the file, often empty.
    declaration : str
        The XML declaration as written, or an empty string.
    """

    name: str
    codec: str
    bom: bytes
    declaration: str


_BARE_UTF16 = re.compile(rb"<\0[^\0?]\0|\0<\0[^\0?]")
"""A root element in UTF-16 without anything that says so; ``<?`` begins a declaration, which may."""


def _family(head: bytes) -> tuple[str, bytes]:
    """Tell the code unit from the first bytes: a codec that can read the declaration, and the mark."""
    for bom, codec in _BOMS:
        if head.startswith(bom):
            return codec, bom
    if head[:4:2] == b"<?"[: len(head[:4:2])] and head[1:4:2] == b"\0\0":
        return "utf-16-le", b""
    if head[1:4:2] == b"<?" and head[:4:2] == b"\0\0":
        return "utf-16-be", b""
    return "latin-1", b""


def _codec(declared: str, where: str, error: type[MasktronError]) -> str:
    try:
        codec = codecs.lookup(declared).name
    except LookupError:
        raise error(Problem("xml-declaration", where, detail=f"the encoding {declared!r} is not known")) from None
    if codec in {"utf-8", "utf-16", "utf-16-le", "utf-16-be"} or _SINGLE_BYTE.fullmatch(codec):
        return codec
    raise error(Problem("xml-declaration", where, detail=f"masktron does not read the encoding {declared!r}"))


def sniff(head: bytes, where: str, error: type[MasktronError]) -> Encoding:
    """Find the encoding from the first `HEAD` bytes of a file.

    Raises
    ------
    MasktronError
        Of the class `error`: UTF-32, XML 1.1, an encoding that is unknown or that parsers read differently, or a
        declaration that contradicts the bytes (libxml2 accepts that in silence).
    """
    if _BARE_UTF16.match(head):
        raise error(
            Problem("xml-declaration", where, detail="it begins as UTF-16 without a byte order mark or a declaration")
        )
    if head.startswith(_UTF32):
        raise error(Problem("xml-declaration", where, detail="masktron does not read UTF-32"))
    family, bom = _family(head)
    text = head[len(bom) :].decode(family, errors="replace")
    match = _DECLARATION.match(text)
    declaration = match.group() if match else ""
    if match and match["version"] != "1.0":
        raise error(
            Problem("xml-declaration", where, detail=f"it is XML {match['version']}, and only XML 1.0 is read")
        )
    wide = family.startswith("utf-16")
    declared = match["encoding"] if match else None
    if declared is None:
        return Encoding("UTF-16" if wide else "UTF-8", family if wide else "utf-8", bom, declaration)
    codec = _codec(declared, where, error)
    actual = family if wide or bom else ("UTF-16" if codec.startswith("utf-16") else codec)
    if codec not in {actual, "utf-16" if wide else actual}:
        # what declares two bytes for each character and can be read as one for each is no UTF-16, whatever it says
        begins = "an encoding of one byte for each character" if codec.startswith("utf-16") and not wide else ""
        raise error(
            Problem(
                "xml-declaration",
                where,
                detail=f"its declaration says {declared}, but it begins as {begins or actual.upper()}",
            )
        )
    return Encoding(declared, family if wide else codec, bom, declaration)


MAX_DEPTH = 200
"""Deepest nesting of elements that is read; libxml2's own limit is 256."""

_BLOCK = 1 << 16
_URL = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
_HARDENED: dict[str, Any] = {
    "resolve_entities": False,
    "load_dtd": False,
    "no_network": True,
    "dtd_validation": False,
    "attribute_defaults": False,
    "huge_tree": False,
    "recover": False,
}
_EXPAT = {
    expat.errors.XML_ERROR_NO_ELEMENTS: "the file ends before the root element is closed",
    expat.errors.XML_ERROR_UNCLOSED_TOKEN: "the file ends inside a tag, comment or other markup",
    expat.errors.XML_ERROR_PARTIAL_CHAR: "the file ends inside a character",
    expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION: "the file ends inside a CDATA section",
    expat.errors.XML_ERROR_TAG_MISMATCH: "the end tag does not match the start tag",
    expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE: "an attribute is given twice",
    expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT: "there is more after the root element; XML has one root",
    expat.errors.XML_ERROR_UNDEFINED_ENTITY: "an entity is used that is not defined",
    expat.errors.XML_ERROR_BAD_CHAR_REF: "a character reference names a character that XML forbids",
    expat.errors.XML_ERROR_UNBOUND_PREFIX: "a namespace prefix is used that is not declared",
    expat.errors.XML_ERROR_MISPLACED_XML_PI: "there is something before the XML declaration",
    expat.errors.XML_ERROR_INCORRECT_ENCODING: "the declared encoding is not the encoding of the file",
}
_NATIVE = {"utf-8": "UTF-8", "iso8859-1": "ISO-8859-1", "ascii": "US-ASCII"}


@contextmanager
def opened(path: Path, error: type[MasktronError] = DocumentError) -> Iterator[tuple[BinaryIO, Encoding]]:
    """Open an XML file and find its encoding.

    Raises
    ------
    MasktronError
        Of the class `error`, when there is no such file, it is a directory, a pipe or a device, cannot be read, is
        empty, has another format than XML, or its encoding cannot be used.
    """
    refuse_special(path, error)
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        raise error(_missing(path)) from None
    except IsADirectoryError:
        files = f"; give files in it, such as {path}/*.xml" if error is DocumentError else ""
        raise error(Problem("cannot-read", path, reason=f"it is a folder{files}", file="file")) from None
    except (OSError, ValueError) as problem:
        raise error(Problem("cannot-read", path, reason=_reason(problem), file="file")) from None
    with stream:
        try:
            head = stream.read(HEAD)
            if not head:
                raise error(Problem("empty-file", path))
            refuse_other_formats(head, path, error)
            stream.seek(0)
            yield stream, sniff(head, f"{path}:1:1", error)
        except OSError as problem:
            raise error(Problem("cannot-read", path, reason=_reason(problem), file="file")) from None


def _missing(path: Path) -> Problem:
    if _URL.match(str(path)):
        return Problem(
            "cannot-read", path, reason="masktron reads no addresses of the web; download the file first", file="file"
        )
    quoted = f"; for several files, give {path} without quotation marks" if "*" in path.name else ""
    return Problem("cannot-read", path, file="file", reason=f"it does not exist{quoted}")


def _reason(problem: Exception) -> str:
    code = getattr(problem, "errno", None)
    return os.strerror(code) if code else str(problem)


def scan(
    path: Path,
    attach: Callable[[expat.XMLParserType], None] | None = None,
    error: type[MasktronError] = DocumentError,
) -> Encoding:
    """Read every byte of a file with expat; names come as ``uri}local``.

    Parameters
    ----------
    path : Path
    attach : callable, optional
        Sets the handlers it wants on the parser.
    error : type
        Class of the errors raised.

    Returns
    -------
    Encoding

    Raises
    ------
    MasktronError
        Of the class `error`, with line and column: the file is not well-formed, or its document type declares
        anything beyond the name of the root.
    """
    with opened(path, error) as (stream, encoding):
        parser = namespace_parser(path, encoding, error)
        if attach is not None:
            attach(parser)
        wide = encoding.codec.startswith("utf-16")
        # expat lets lone surrogates pass; the codec does not
        decoder = codecs.getincrementaldecoder(encoding.codec if wide else "latin-1")()
        block = b""
        start = 0
        try:
            while block := stream.read(_BLOCK):
                if wide:
                    decoder.decode(block)
                parser.Parse(block, False)
                start += len(block)
            parser.Parse(b"", True)
        except expat.ExpatError as problem:
            offset = parser.ErrorByteIndex - start
            byte = block[offset] if 0 <= offset < len(block) else -1
            raise error(
                _from_expat(problem, byte, encoding).at(Place(str(path), problem.lineno, problem.offset + 1))
            ) from None
        except UnicodeDecodeError as problem:
            place = Place(str(path), parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
            raise error(
                Problem("xml-declaration", place, detail=f"the text is not valid {encoding.name}: {problem.reason}")
            ) from None
    return encoding


def namespace_parser(path: Path, encoding: Encoding, error: type[MasktronError]) -> expat.XMLParserType:
    """Make a parser that gives names as ``uri}local`` and refuses document types with declarations."""
    parser = expat.ParserCreate(_NATIVE.get(encoding.codec), "}")
    parser.StartDoctypeDeclHandler = _doctype_guard(path, parser, error)
    return parser


def _doctype_guard(
    path: Path, parser: expat.XMLParserType, error: type[MasktronError]
) -> Callable[[str, str | None, str | None, bool], None]:
    def guard(name: str, system_id: str | None, public_id: str | None, internal: bool) -> None:
        if system_id or public_id or internal:
            place = Place(str(path), parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
            raise error(Problem("document-type", place))

    return guard


def _from_expat(problem: expat.ExpatError, byte: int, encoding: Encoding) -> Problem:
    reason = expat.ErrorString(problem.code) or "not well-formed"
    detail = _EXPAT.get(reason, reason)
    if reason == expat.errors.XML_ERROR_INVALID_TOKEN:
        if byte >= 0x80 and encoding.codec in {"utf-8", "ascii"}:
            return Problem("xml-declaration", detail=f"the byte 0x{byte:02X} here is not valid {encoding.name}")
        if 0 <= byte < 0x20 and byte not in b"\t\r\n":
            detail = f"the control character 0x{byte:02X} is not allowed"
        elif byte in b"<&":
            detail = f"write {'&lt;' if byte == ord('<') else '&amp;'} for {chr(byte)} here"
    return Problem("not-well-formed", reason=detail)


def from_lxml(path: Path, problem: etree.XMLSyntaxError, error: type[MasktronError]) -> MasktronError:
    """Put an error of libxml2 into an error of masktron, naming the limit if one was met."""
    line, column = problem.position
    place = Place(str(path), line, max(column, 1))
    text = str(problem.msg).split(", line ")[0].strip()
    if "Excessive depth" in text:
        return error(Problem("not-microdata", place, detail=f"elements are nested deeper than {MAX_DEPTH} levels"))
    if "too long" in text or "limit exceeded" in text.lower():
        return error(Problem("not-microdata", place, detail="a value or tag is longer than 10,000,000 bytes"))
    return error(Problem("not-well-formed", place, reason=text))


def tree_parser() -> etree.XMLParser:
    """Return a parser with the limits of `parse_tree`, for documents in memory; not for two threads at a time."""
    return etree.XMLParser(**_HARDENED)


def parse_tree(path: str | Path, error: type[MasktronError] = DocumentError) -> etree._ElementTree:
    """Parse a whole file into a tree: no DTD, no entities, no network, bounded depth and size.

    Parameters
    ----------
    path : str or Path
    error : type, optional
        Class of the errors raised: `DocumentError` for microdata, `RulebookError` for rulebooks.

    Raises
    ------
    MasktronError
        Of the class `error`, with ``file:line:column``.
    """
    path = Path(path)
    scan(path, None, error)
    with opened(path, error) as (stream, _):
        try:
            return etree.parse(stream, tree_parser(), base_url=str(path))
        except etree.XMLSyntaxError as problem:
            raise from_lxml(path, problem, error) from None


class _Deaf:
    """A target that takes no events: libxml2 parses, and no tree is built."""

    def close(self) -> None:
        """Return nothing at the end of the document."""


def deaf_parser() -> etree.XMLParser:
    """Make a libxml2 parser that only says whether what it is fed is well-formed; while it is fed, threads run."""
    target: Any = _Deaf()
    return etree.XMLParser(target=target, **_HARDENED)


def pulled(path: Path, tag: str | None, error: type[MasktronError] = DocumentError) -> Iterator[etree._Element]:
    """Yield each element with this Clark name after its end tag, while the file is being read.

    The tree grows as the file is read; the caller takes away what it has done with, and never the last element
    that was yielded or what follows it: libxml2 may still be adding text behind it.
    """
    parser = etree.XMLPullParser(events=("end",), tag=tag, **_HARDENED)
    with opened(path, error) as (stream, _):
        try:
            while block := stream.read(_BLOCK):
                parser.feed(block)
                yield from _ended(parser)
            parser.close()
        except etree.XMLSyntaxError as problem:
            raise from_lxml(path, problem, error) from None
        yield from _ended(parser)


def ended(text: bytes, tag: str) -> list[etree._Element]:
    """Return the elements with this Clark name of a document that is cut off behind one of them.

    Raises
    ------
    XMLSyntaxError
        It is not well-formed so far.
    """
    parser = etree.XMLPullParser(events=("end",), tag=tag, **_HARDENED)
    for start in range(0, len(text), _BLOCK):
        parser.feed(text[start : start + _BLOCK])
    return list(_ended(parser))


def _ended(parser: Any) -> Iterator[etree._Element]:
    for _event, element in parser.read_events():
        yield element


def parse_text(text: bytes) -> etree._Element:
    """Parse a small document of ours in UTF-8, made of parts of a file, with the limits of `parse_tree`.

    Raises
    ------
    XMLSyntaxError
        The parts are not what they were taken for.
    """
    return etree.fromstring(text, etree.XMLParser(encoding="utf-8", **_HARDENED))
