"""What of XSLT a rulebook may declare beside its patterns: functions and keys.

The instructions are few, all by name. Every attribute that holds XPath is screened token by token as tests are, and
nothing has an attribute value template, so that what a function can reach is what a test can reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from lxml import etree

from masktron.errors import RulebookError
from masktron.rulebook.expressions.forbidden import DocumentCall, screen
from masktron.rulebook.expressions.words import STANDARD_NAMESPACES, XSL, expanded, variables
from masktron.rulebook.schema import Instruction, Namespaces, Origin, Rulebook
from masktron.rulebook.schematron.inclusions import MARK, IncludedFiles

_WITHIN = "variable sequence value-of choose if for-each text"
_ALLOWED: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "function": ("name as", f"param {_WITHIN}"),
        "key": ("name match use", ""),
        "param": ("name as", ""),
        "variable": ("name as select", _WITHIN),
        "sequence": ("select", ""),
        "value-of": ("select separator", ""),
        "choose": ("", "when otherwise"),
        "when": ("test", _WITHIN),
        "otherwise": ("", _WITHIN),
        "if": ("test", _WITHIN),
        "for-each": ("select", _WITHIN),
        "text": ("", ""),
    }
)
"""The instructions, with their attributes and the instructions in them."""
PROGRAMS = ("function", "key")


def read_program(element: etree._Element, sources: IncludedFiles, namespaces: Namespaces) -> Instruction:
    """Read a function or a key.

    Parameters
    ----------
    element : Element
    sources : IncludedFiles
    namespaces : tuple of (prefix, uri)
        That the rulebook declares by ``ns``.

    Raises
    ------
    RulebookError
        It has what is not carried out, or calls what is forbidden.
    """
    found = _read(element, sources)
    name, spaces = found.value("name"), dict(namespaces)
    for prefix, uri in element.nsmap.items():
        if prefix and spaces.get(prefix, uri) != uri:
            first = f"for {spaces[prefix]}"
            raise RulebookError.of("name-taken", str(found.origin), kind="prefix", name=prefix, first=first)
    space = expanded(name, spaces)[0]
    taken = {*STANDARD_NAMESPACES.values(), XSL, ""}
    if found.name == "function" and (":" not in name or space in taken or space.startswith("urn:masktron:")):
        expected = "a prefix that <ns> declares, and a local name"
        raise RulebookError.of(
            "bad-value", str(found.origin), name="xsl:function/@name", expected=expected, given=name
        )
    return found


def _read(element: etree._Element, sources: IncludedFiles) -> Instruction:
    name, origin = etree.QName(element).localname, sources.origin(element)
    attributes, inner = _ALLOWED[name]
    given = {str(key): str(value) for key, value in element.attrib.items() if key != MARK}
    for attribute, value in given.items():
        if attribute not in attributes.split() or (attribute == "separator" and ("{" in value or "}" in value)):
            raise _refused(f"xsl:{name}/@{attribute}", origin)
    if "name" in attributes and (not given.get("name") or (":" in given["name"] and name in ("param", "variable"))):
        raise RulebookError.of("attribute-missing", str(origin), element=f"xsl:{name}", attribute="name")
    for needed in ("match", "use", "test"):
        if needed in attributes.split() and needed not in given:
            raise _refused(f"xsl:{name} without {needed}", origin)
    texts = [element.text or "", *(child.tail or "" for child in element)]
    if name != "text" and any(text.strip() for text in texts):
        raise _refused(f"text in xsl:{name}", origin)
    children = []
    for child in element:
        tag = etree.QName(child)
        if tag.namespace != XSL or tag.localname not in inner.split():
            shown = f"xsl:{tag.localname}" if tag.namespace == XSL else tag.localname
            raise _refused(f"{shown} in xsl:{name}", sources.origin(child))
        children.append(_read(child, sources))
    return Instruction(
        name, tuple(given.items()), tuple(children), origin, element.text or "" if name == "text" else ""
    )


def _refused(construct: str, origin: Origin) -> RulebookError:
    known = ", ".join(name for name in _ALLOWED if name not in PROGRAMS)
    instead = f"write functions with {known}, and keys with match and use"
    return RulebookError.of("not-supported", str(origin), construct=construct, instead=instead)


def require_allowed(rulebook: Rulebook) -> None:
    """Refuse what functions and keys must not call, read, or share a name with.

    Raises
    ------
    RulebookError
    """
    for one in rulebook.programs:
        calls = list(program_documents(one, rulebook))
        texts = [value for part in one.walk() for value in part.expressions]
        if one.name == "key" and calls:
            raise _refused("document() in xsl:key", one.origin)
        if one.name == "key" and any(map(variables, texts)):
            raise _refused("a variable in xsl:key", one.origin)
        if one.name == "function" and rulebook.version == "1.0":
            instead = 'queryBinding="xslt2"'
            raise RulebookError.of(
                "not-supported", str(one.origin), construct="xsl:function in XPath 1.0", instead=instead
            )


def program_documents(program: Instruction, rulebook: Rulebook) -> Iterator[DocumentCall]:
    """Yield the documents that a function or a key reads; what it must not call is refused."""
    for part in program.walk():
        for text in part.expressions:
            yield from screen(text, part.origin, rulebook.namespaces, rulebook.own_functions)
