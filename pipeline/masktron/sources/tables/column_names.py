"""Names of columns as names of XML elements, as SQL/XML maps them (ISO/IEC 9075-14, 9.1 to 9.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from lxml import etree

from masktron.errors import DocumentError
from masktron.problems.problem import Field
from masktron.sources.names import ESCAPE

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]*")


def xml_name(column: str) -> str:
    """Return the name of the element, or the attribute, that a column becomes.

    A column ``@name`` is an attribute. A character that no XML name has in its place is ``_xHHHH_``, with four
    hexadecimal digits, or six where it is beyond the first 65,536; so is an underline that begins what would read as
    such an escape. ``annual income`` is ``annual_x0020_income``, 2024 is ``_x0032_024``. A name of XML is what all
    engines read as one: libxml2 takes names in XPath by an earlier edition of XML, without the euro sign.

    Raises
    ------
    ValueError
        The name is empty.
    """
    attribute = column.startswith("@") and len(column) > 1
    text = column[attribute:]
    if not text:
        raise ValueError("a column has no name")
    if not (_PLAIN.fullmatch(text) and not ESCAPE.search(text)):
        text = "".join(_escaped(text, at) for at in range(len(text)))
    if attribute and text == "xmlns":  # no attribute is called so
        text = "_x0078_mlns"
    return f"@{text}" if attribute else text


def xml_names(columns: Iterable[str], where: str) -> tuple[str, ...]:
    """Return the names of all columns.

    Raises
    ------
    DocumentError
        One has no name, or two have the same; says which, counted from 1.
    """
    found: dict[str, int] = {}
    for at, column in enumerate(columns, start=1):
        if not column or column in found:
            if not column:
                raise DocumentError.of("column-without-name", where, column=at)
            first = f"by column {found[column]}"
            raise DocumentError.of("name-taken", where, kind="column", name=Field(column), first=first)
        found[column] = at
    return tuple(map(xml_name, found))


def _escaped(text: str, at: int) -> str:
    letter = text[at]
    if letter == "_" and ESCAPE.match(text, at):
        return "_x005F_"
    if letter != ":" and _is_name(letter if at == 0 else f"a{letter}"):
        return letter
    code = ord(letter)
    return f"_x{code:04X}_" if code < 0x10000 else f"_x{code:06X}_"


@lru_cache(maxsize=4096)
def _is_name(text: str) -> bool:
    if "{" in text or "}" in text:
        return False
    try:
        etree.QName(text)
        etree.XPath(text)
    except (ValueError, etree.XPathError):
        return False
    return True
