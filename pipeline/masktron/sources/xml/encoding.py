"""How a file is encoded: byte order mark, XML declaration and codec, found before any parser runs."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from masktron.errors import MasktronError
from masktron.problems.problem import Problem

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
