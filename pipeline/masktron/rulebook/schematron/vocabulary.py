"""Whether every element and attribute of a rulebook is Schematron's, of the edition that it declares, and kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from types import MappingProxyType

from lxml import etree

from masktron.errors import RulebookError
from masktron.problems.problem import Known
from masktron.rulebook.expressions.words import XSL
from masktron.rulebook.schematron.inclusions import ASCC, ISO, MARK, IncludedFiles
from masktron.rulebook.schematron.program_reader import PROGRAMS

EDITIONS = ("2016", "2020", "2025")
OLDER = ("2000", "2006")
"""Editions that may be declared, and admit what that of 2016 does."""

_RICH = "see icon fpi"
_PATTERN = f"id abstract is-a documents role:2025 {_RICH}"
_CHECK = f"test id role flag severity:2025 subject diagnostics properties {_RICH}"
_TERMS = {
    "schema": f"id schemaVersion defaultPhase queryBinding schematronEdition:2025 {_RICH}",
    "library:2025": f"id {_RICH}",
    "title": "",
    "p": "id class icon",
    "ns": "prefix uri",
    "let": "name value as:2025",
    "param": "name value",
    "include": "href",
    "extends": "rule href",
    "phase": f"id from:2025 when:2025 {_RICH}",
    "active": "pattern",
    "pattern": _PATTERN,
    "group:2025": _PATTERN,
    "rules:2025": f"id {_RICH}",
    "rule": f"id context abstract role flag subject visit-each:2025 {_RICH}",
    "assert": _CHECK,
    "report": _CHECK,
    "value-of": "select",
    "name": "path",
    "emph": "",
    "dir": "value",
    "span": "class",
    "diagnostics": "",
    "diagnostic": f"id role:2020 {_RICH}",
    "properties": "",
    "property": f"id role scheme {_RICH}",
}
"""The attributes of each element; behind a colon the first edition, where that is not the first of all."""
EDITION_OF: Mapping[str, str] = MappingProxyType(
    {element.partition(":")[0]: element.partition(":")[2] or EDITIONS[0] for element in _TERMS}
)
"""The first edition that has each element."""
ATTRIBUTES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        name: {term.partition(":")[0]: term.partition(":")[2] or EDITION_OF[name] for term in attributes.split()}
        for name, attributes in zip(EDITION_OF, _TERMS.values(), strict=True)
    }
)
"""The attributes of each element, with the first edition that has them there."""
LANGUAGE = ("lang", "space")
"""In the namespace of XML, on any element; SVRL shows the language of messages."""
LEFT_OVER: Mapping[str, frozenset[str]] = MappingProxyType(
    {"pattern": frozenset({"name"}), "schema": frozenset({"ns", "version"})}
)
"""Of Schematron 1.5: the name of a pattern is its id where it has none; the others say nothing of rules."""
BINDINGS: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("xslt", "xslt1", "xpath", "xslt2", "xpath2", "exslt", "stx", "xquery"), "2016"),
        **dict.fromkeys(("xslt3", "xpath3", "xpath31", "xquery3", "xquery31"), "2020"),
        **dict.fromkeys(("xslt4", "xpath4", "xquery4"), "2025"),
    }
)
"""The names of query languages that the editions reserve."""
_MESSAGE = {"value-of": "2016", "name": "2016", "emph": "2016", "dir": "2016", "span": "2016"}
_MARKUP = {"value-of": "2025", "name": "2025"}
_DOCUMENTED = {"dir": "2016", "emph": "2016", "span": "2016"}
_RULES = {"title": "2016", "p": "2016", "let": "2016", "rule": "2016", "param": "2016"}
_TOP = {"title": "2016", "p": "2016", "let": "2016", "pattern": "2016", "diagnostics": "2016", "properties": "2016"}
_TOP |= {"param": "2025", "group": "2025", "rules": "2025"}
CHILDREN: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "schema": {**_TOP, "ns": "2016", "phase": "2016"},
        "library": _TOP,
        "phase": {"p": "2016", "let": "2016", "active": "2016"},
        "pattern": _RULES,
        "group": _RULES,
        "rules": {"title": "2025", "p": "2025", "rule": "2025"},
        "rule": {"title": "2025", "p": "2016", "let": "2016", "assert": "2016", "report": "2016", "extends": "2016"},
        "assert": _MESSAGE,
        "report": _MESSAGE,
        "diagnostic": {**_MESSAGE, "name": "2025"},
        "property": _MESSAGE,
        "diagnostics": {"diagnostic": "2016"},
        "properties": {"property": "2016"},
        "title": {"dir": "2016"},
        "p": _DOCUMENTED,
        "active": _DOCUMENTED,
        "emph": _MARKUP,
        "dir": _MARKUP,
        "span": _MARKUP,
        **{name: {} for name in ("let", "ns", "param", "value-of", "name", "extends")},
    }
)
"""The Schematron elements that an element may hold when inclusions are in place, with the first edition for it."""
MIXED = frozenset({"assert", "report", "diagnostic", "property", "title", "p", "active", "emph", "dir", "span"})
"""Elements that hold text."""


_XML = "http://www.w3.org/XML/1998/namespace"
_PROGRAMS = frozenset({XSL, "http://www.w3.org/2012/xquery"})
"""What is foreign and would change what rules mean."""
_DATA = "rules are about the data file; document() reaches the original"
_REFUSED = {("pattern", "documents"): _DATA, ("group", "documents"): _DATA, ("let", "as"): "cast in the value"}
"""Attributes that are refused wherever they stand, with what to do; the others are refused where they are read."""
_VALUES = {
    ("rule", "abstract"): ("true", "false", "1", "0"),
    ("pattern", "abstract"): ("true", "false", "1", "0"),
    ("group", "abstract"): ("true", "false", "1", "0"),
    ("dir", "value"): ("ltr", "rtl"),
}


def check_edition(schema: etree._Element, sources: IncludedFiles) -> None:
    """Take the edition that a schema declares.

    Raises
    ------
    RulebookError
        There is no such edition, or the query binding came later.
    """
    edition = schema.get("schematronEdition")
    if edition is None:
        return
    where = str(sources.origin(schema))
    sources.edition = edition.strip()
    if sources.edition not in (*OLDER, *EDITIONS):
        expected = f"{', '.join(EDITIONS[:-1])} or {EDITIONS[-1]}"
        raise RulebookError.of("bad-value", where, name="schematronEdition", expected=expected, given=repr(edition))
    binding = schema.get("queryBinding", "").strip()
    _admitted(sources, BINDINGS.get(binding.lower(), ""), f"the query binding {binding!r}", where)


def check_included(sources: IncludedFiles) -> None:
    """Refuse what inclusions, and the roots that they took the children of, cannot say.

    Raises
    ------
    RulebookError
        With file and line of the first offence.
    """
    for parent, element in sources.gone:
        name = etree.QName(element).localname
        where = str(sources.origin(element))
        check_attributes(element, sources)
        if name == "extends" and parent in ("schema", "library"):
            _admitted(sources, "2025", f"<extends> in <{parent}>", where)
        if name == "library":
            _admitted(sources, "2025", "<library>", where)
        if name in ("include", "extends") and len(element):
            raise _misplaced(f"<{etree.QName(element[0]).localname}>", f"<{name}>", where)


def check_vocabulary(element: etree._Element, sources: IncludedFiles) -> None:
    """Refuse what is not Schematron, came after the declared edition, or is not carried out.

    Foreign elements are taken out, as the standard allows, where they are no programs; in messages their text stays.

    Raises
    ------
    RulebookError
        With file and line of the first offence.
    """
    name = etree.QName(element).localname
    check_attributes(element, sources)
    _check_text(element, name, sources)
    allowed = CHILDREN[name]
    if name == "let" and len(element) and element.get("value") is None:
        _take_content(element, sources)
    for child in list(element):
        if etree.QName(child).namespace != ISO:
            _check_foreign(child, name, sources)
            continue
        inner = etree.QName(child).localname
        where = str(sources.origin(child))
        if inner not in allowed:
            raise _misplaced(f"<{inner}>", f"<{name}>", where, Known(inner, tuple(sorted(allowed))))
        _admitted(sources, EDITION_OF[inner], f"<{inner}>", where)
        _admitted(sources, allowed[inner], f"<{inner}> in <{name}>", where)
        check_vocabulary(child, sources)


def _take_content(let: etree._Element, sources: IncludedFiles) -> None:
    """Make a document of the content of a variable, which it stands for; nothing in it is carried out.

    Raises
    ------
    RulebookError
        It is not one element, or a stylesheet would carry out a part of it.
    """
    where = str(sources.origin(let))
    instead = "put one element around it, without elements of Schematron or XSLT and without braces in attributes"
    content = let[0]
    for part in content.iter():
        names = [etree.QName(part), *(etree.QName(str(key)) for key in part.attrib)]
        braces = any("{" in str(value) or "}" in str(value) for value in part.attrib.values())
        if braces or any(one.namespace in (*_PROGRAMS, ISO) for one in names):
            raise RulebookError.of("not-supported", where, construct="this content of <let>", instead=instead)
    if len(let) > 1:
        raise RulebookError.of("not-supported", where, construct="several elements in <let>", instead=instead)
    let.remove(content)
    content.tail = None
    plain = deepcopy(content)
    for part in plain.iter():
        part.attrib.pop(MARK, "")
        part.text = part.text if (part.text or "").strip() else None
        part.tail = part.tail if (part.tail or "").strip() else None
    etree.cleanup_namespaces(plain)
    called = f"let:{len(sources.contents) + 1}"
    sources.contents[called] = etree.tostring(plain, encoding="unicode")
    let.set("value", f"document('{called}')")


def _misplaced(child: str, parent: str, where: str, known: Known | None = None) -> RulebookError:
    return RulebookError.of("not-allowed-here", where, child=child, parent=parent, known=known)


def check_attributes(element: etree._Element, sources: IncludedFiles) -> None:
    """Refuse attributes that a Schematron element cannot have, of its edition, or that are not carried out."""
    name = etree.QName(element).localname
    where = str(sources.origin(element))
    known = ATTRIBUTES.get(name, {})
    for key, value in element.attrib.items():
        attribute = etree.QName(str(key))
        local = attribute.localname
        if str(key) == MARK or _is_foreign(attribute):
            continue
        edition = None if attribute.namespace else known.get(local)
        if edition is None:
            _check_known(attribute, name, sorted(known), where)
            continue
        shown = f"{name}/@{local}"
        if local != "schematronEdition":
            _admitted(sources, edition, shown, where)
        if (name, local) in _REFUSED:
            instead = _REFUSED[name, local]
            raise RulebookError.of("not-supported", where, construct=shown, instead=instead)
        values = _VALUES.get((name, local))
        if values and str(value).strip() not in values:
            expected = f"one of {', '.join(values)}"
            raise RulebookError.of("bad-value", where, name=shown, expected=expected, given=repr(str(value)))


def _is_foreign(attribute: etree.QName) -> bool:
    if attribute.namespace == _XML:
        return attribute.localname in (*LANGUAGE, "id")
    return bool(attribute.namespace) and attribute.namespace not in (ISO, ASCC)


def _check_known(attribute: etree.QName, element: str, known: list[str], where: str) -> None:
    if not attribute.namespace and attribute.localname in LEFT_OVER.get(element, ()):
        return
    shown = attribute.localname
    if attribute.namespace:
        shown = f"{'xml' if attribute.namespace == _XML else 'sch'}:{shown}"
    known_ = Known(shown, tuple(known))
    raise _misplaced(f"the attribute {shown}", f"<{element}>", where, known_)


def _admitted(sources: IncludedFiles, edition: str, what: str, where: str) -> None:
    if sources.edition and sources.edition < edition and edition > EDITIONS[0]:
        declared = sources.edition
        raise RulebookError.of("newer-edition", where, feature=what, edition=edition, declared=declared)


def _check_text(element: etree._Element, name: str, sources: IncludedFiles) -> None:
    if name in MIXED:
        return
    text = next((t for t in _own_texts(element) if t.strip()), None)
    if text is not None:
        child = f"the text {' '.join(text.split())[:40]!r}"
        known = Known(name, ()) if name == "let" else Known(name, ("assert", "report"))
        raise _misplaced(child, f"<{name}>", str(sources.origin(element)), known)


def _own_texts(element: etree._Element) -> Iterator[str]:
    yield element.text or ""
    yield from (child.tail or "" for child in element)


def _check_foreign(child: etree._Element, parent: str, sources: IncludedFiles) -> None:
    qname = etree.QName(child)
    where = str(sources.origin(child))
    shown = f"<{child.prefix}:{qname.localname}>" if child.prefix else f"<{qname.localname}>"
    if qname.namespace == XSL and qname.localname in PROGRAMS and parent in ("schema", "library"):
        sources.programs.append(child)
        child.getparent().remove(child)  # type: ignore[union-attr]
        return
    if qname.namespace in _PROGRAMS:
        instead = "write XPath and <let>, or <xsl:function> and <xsl:key> in the schema"
        raise RulebookError.of("not-supported", where, construct=f"the foreign element {shown}", instead=instead)
    if (not qname.namespace or qname.namespace == ASCC) and qname.localname in (*EDITION_OF, "include"):
        raise _misplaced(f"{shown} outside the namespace of Schematron", f"<{parent}>", where)
    if not CHILDREN[parent]:
        raise _misplaced(shown, f"<{parent}>", where)
    if parent not in MIXED:
        sources.note(f"{where}: {shown} is foreign to Schematron and left out")
        # no text but white space stands behind it
        child.getparent().remove(child)  # type: ignore[union-attr]
        return
    for inner in list(child):
        if etree.QName(inner).namespace != ISO:
            _check_foreign(inner, parent, sources)
        elif etree.QName(inner).localname in CHILDREN[parent]:
            check_vocabulary(inner, sources)
        else:
            place = str(sources.origin(inner))
            raise _misplaced(f"<{etree.QName(inner).localname}>", f"{shown}, which is foreign", place)
