"""An OpenDocument spreadsheet of one table, written row by row."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

from masktron.sources.tables.office_files import letters

_MIME = "application/vnd.oasis.opendocument.spreadsheet"
_SPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}"'
    for prefix, name in (
        ("office", "office:1.0"),
        ("table", "table:1.0"),
        ("text", "text:1.0"),
        ("style", "style:1.0"),
        ("number", "datastyle:1.0"),
        ("fo", "xsl-fo-compatible:1.0"),
    )
)
_MANIFEST = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0" manifest:version="1.3">'
    f'<manifest:file-entry manifest:full-path="/" manifest:version="1.3" manifest:media-type="{_MIME}"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
    "</manifest:manifest>"
)
_BREAKS = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
_YEAR_ONE = (1980, 1, 1, 0, 0, 0)
"""The time of all parts, so that the same table is the same file."""

type OdsCell = tuple[str | None, str, str]
"""A lexeme, its type, and the name of a style or nothing."""


def write_ods(
    target: Path,
    sheet: str,
    rows: Iterable[Sequence[OdsCell]],
    *,
    before: Sequence[str] = (),
    top: int = 0,
    left: int = 0,
    styles: Sequence[tuple[str, str]] = (),
    named: tuple[str, int, int] | None = None,
) -> None:
    """Write a workbook.

    Parameters
    ----------
    target : Path
    sheet : str
        Name of the sheet with the table.
    rows : iterable of sequences of OdsCell
    before : sequence of str
        Names of empty sheets before it.
    top, left : int
        Where the table begins, from 0.
    styles : sequence of (str, str)
        Names of styles, each with its data style as XML.
    named : (str, int, int), optional
        A name for the cells from there on, so many rows and columns.
    """
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr(_part("mimetype", zipfile.ZIP_STORED), _MIME)
        archive.writestr(_part("META-INF/manifest.xml"), _MANIFEST)
        with archive.open(_part("content.xml"), "w", force_zip64=True) as stream:
            stream.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document-content {_SPACES} '.encode())
            stream.write(b'office:version="1.3"><office:automatic-styles>')
            for name, data in styles:
                stream.write(_renamed(data, f"N{name}").encode())
                stream.write(
                    f'<style:style style:name={quoteattr(name)} style:family="table-cell" '
                    f"style:data-style-name={quoteattr(f'N{name}')}/>".encode()
                )
            stream.write(b"</office:automatic-styles><office:body><office:spreadsheet>")
            for name in before:
                empty = f"<table:table table:name={quoteattr(name)}><table:table-row><table:table-cell/>"
                stream.write(f"{empty}</table:table-row></table:table>".encode())
            stream.write(f"<table:table table:name={quoteattr(sheet)}>".encode())
            if top:
                empty = f'<table:table-row table:number-rows-repeated="{top}"><table:table-cell/></table:table-row>'
                stream.write(empty.encode())
            margin = f'<table:table-cell table:number-columns-repeated="{left}"/>' if left else ""
            for row in rows:
                text = "".join(_cell(*cell) for cell in row)
                stream.write(f"<table:table-row>{margin}{text}</table:table-row>\n".encode())
            stream.write(b"</table:table>")
            if named is not None:
                stream.write(_named(sheet, top, left, *named).encode())
            stream.write(b"</office:spreadsheet></office:body></office:document-content>")


def _part(name: str, how: int = zipfile.ZIP_DEFLATED) -> zipfile.ZipInfo:
    part = zipfile.ZipInfo(name, _YEAR_ONE)
    part.compress_type = how
    return part


def _cell(text: str | None, kind: str, style: str) -> str:
    styled = f" table:style-name={quoteattr(style)}" if style else ""
    if text is None:
        return "<table:table-cell/>"
    shown = escape(text)
    if kind == "n":
        value = f'office:value-type="float" office:value="{shown}"'
    elif kind == "b":
        value = f'office:value-type="boolean" office:boolean-value="{shown}"'
    elif kind == "d":
        value = f'office:value-type="date" office:date-value="{shown}"'
    else:
        value = 'office:value-type="string"'
        if text != " ".join(text.split()):  # paragraphs join white space; the attribute keeps it
            value += f" office:string-value={quoteattr(text, _BREAKS)}"
    paragraphs = "".join(f"<text:p>{line}</text:p>" for line in shown.split("\n"))
    return f"<table:table-cell{styled} {value}>{paragraphs}</table:table-cell>"


def _named(sheet: str, top: int, left: int, name: str, rows: int, columns: int) -> str:
    quoted = "$'" + sheet.replace("'", "''") + "'"
    first = f"${letters(left)}${top + 1}"
    last = f"${letters(left + columns - 1)}${top + rows}"
    return (
        f"<table:named-expressions><table:named-range table:name={quoteattr(name)} "
        f"table:base-cell-address={quoteattr(f'{quoted}.{first}')} "
        f"table:cell-range-address={quoteattr(f'{quoted}.{first}:.{last}')}/></table:named-expressions>"
    )


def _renamed(data: str, name: str) -> str:
    """Give a data style, as `lxml` has written it, another name."""
    element = etree.parse(BytesIO(data.encode()), etree.XMLParser(resolve_entities=False, no_network=True)).getroot()
    element.set("{urn:oasis:names:tc:opendocument:xmlns:style:1.0}name", name)
    return etree.tostring(element, encoding="unicode")
