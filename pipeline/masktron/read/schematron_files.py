"""A rulebook and all that it includes as one tree in the ISO namespace, in which every element knows its origin."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from lxml import etree

from masktron.errors import RulebookError
from masktron.read.parser import parse_tree, scan
from masktron.read.rulebook import Origin
from masktron.read.schematron_escapes import bare_sign

ISO = "http://purl.oclc.org/dsdl/schematron"
ASCC = "http://www.ascc.net/xml/schematron"
MARK = "{urn:masktron:origin}at"
"""Attribute of every element: the number of its origin in `Sources.origins`."""
_XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_MAX_FILES = 1000


@dataclass(slots=True)
class Sources:
    """What has been read so far of one rulebook."""

    folder: Path
    """The folder of the rulebook, resolved: nothing outside is opened."""
    shown: Path
    """The same folder as the user wrote it."""
    origins: list[Origin] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    binding: str = ""
    files: int = 0

    def origin(self, element: etree._Element) -> Origin:
        """Return where an element was written."""
        return self.origins[int(element.get(MARK, ""))]

    def note(self, text: str) -> None:
        """Keep a note, once."""
        if text not in self.notes:
            self.notes.append(text)


def load(path: Path) -> tuple[etree._Element, Sources]:
    """Read a rulebook: inclusions expanded in place, comments gone, old namespaces made new.

    Returns
    -------
    schema : Element
        ``schema`` in the ISO namespace.
    sources : Sources

    Raises
    ------
    RulebookError
        A file is missing, malformed, lies outside the rulebook's folder, or includes itself.
    """
    sources = Sources(path.parent.resolve(), path.parent)
    root = _read(path, str(path), sources)
    name = etree.QName(root).localname
    if name == "pattern":
        # the edit paper prints bare patterns
        sources.note(f"{path}: a pattern without a schema around it; read as a schema of this pattern")
        schema = etree.Element(f"{{{ISO}}}schema", {MARK: root.get(MARK, "")})
        schema.append(root)
        root = schema
    elif name != "schema":
        raise RulebookError(
            f"the root element is <{name}>, not a Schematron <schema>",
            where=str(sources.origin(root)),
            hint="name the file with the rules",
        )
    sources.binding = root.get("queryBinding", "")
    _expand(root, path, ((path.resolve(), ""),), sources)
    return root, sources


def _read(path: Path, shown: str, sources: Sources) -> etree._Element:
    sources.files += 1
    if sources.files > _MAX_FILES:
        raise RulebookError(f"the rulebook includes more than {_MAX_FILES} files", where=shown)
    try:
        root = parse_tree(path, RulebookError).getroot()
    except RulebookError as error:
        raise (bare_sign(path, error) or error) from None
    etree.strip_tags(root, etree.Comment, etree.ProcessingInstruction)
    _to_iso(root, shown, sources)
    for element, line in zip(root.iter(), _lines(path), strict=True):
        element.set(MARK, str(len(sources.origins)))
        sources.origins.append(Origin(shown, line))
    return root


def _lines(path: Path) -> list[int]:
    """Return the line on which each element begins; libxml2 gives the one on which its start tag ends."""
    lines: list[int] = []

    def attach(parser: Any) -> None:
        parser.StartElementHandler = lambda _name, _attributes: lines.append(parser.CurrentLineNumber)

    scan(path, attach, RulebookError)
    return lines


def _to_iso(root: etree._Element, shown: str, sources: Sources) -> None:
    namespace = etree.QName(root).namespace
    if namespace == ISO:
        return
    if namespace not in (None, ASCC):
        raise RulebookError(
            f"<{etree.QName(root).localname}> is in the namespace {namespace}, which is not Schematron's",
            where=f"{shown}:{root.sourceline}",
            hint=f'use xmlns="{ISO}"',
        )
    for element in root.iter():
        if etree.QName(element).namespace == namespace:
            element.tag = f"{{{ISO}}}{etree.QName(element).localname}"
    said = "without a namespace" if namespace is None else "in the namespace of Schematron 1.5"
    sources.note(f"{shown}: written {said}; read as ISO Schematron")


type _Stack = tuple[tuple[Path, str], ...]


def _expand(element: etree._Element, path: Path, stack: _Stack, sources: Sources) -> None:
    """Put what is included in the place of ``include`` and ``extends href``, in document order."""
    for child in list(element):
        name = _iso_name(child)
        if name == "include":
            _put(child, [_included(child, path, stack, sources)])
        elif name == "extends" and child.get("href") is not None:
            if child.get("rule") is not None:
                raise RulebookError("extends has both href and rule", where=str(sources.origin(child)))
            _put(child, _extended(child, element, path, stack, sources))
        else:
            _expand(child, path, stack, sources)


def _iso_name(element: etree._Element) -> str:
    qname = etree.QName(element)
    return qname.localname if qname.namespace == ISO else ""


def _put(place: etree._Element, children: list[etree._Element]) -> None:
    parent = place.getparent()
    if parent is None:
        raise RulebookError("the root element cannot be an inclusion")
    at = parent.index(place)
    parent.remove(place)
    for offset, child in enumerate(children):
        parent.insert(at + offset, child)


def _included(place: etree._Element, path: Path, stack: _Stack, sources: Sources) -> etree._Element:
    root = _fetch(place, path, stack, sources)
    if _iso_name(root) == "schema":
        raise RulebookError(
            f'include brings a whole schema ("{place.get("href")}")',
            where=str(sources.origin(place)),
            hint='write <extends href="..."/> instead, or add #ID to include one element of it',
        )
    return root


def _extended(
    place: etree._Element, parent: etree._Element, path: Path, stack: _Stack, sources: Sources
) -> list[etree._Element]:
    root = _fetch(place, path, stack, sources)
    name = _iso_name(parent)
    if name not in ("schema", "rule") or _iso_name(root) != name:
        raise RulebookError(
            f"<{name}> cannot extend the <{etree.QName(root).localname}> in {place.get('href')}",
            where=str(sources.origin(place)),
            hint="a schema extends a schema, a rule extends a rule",
        )
    if name == "rule" and root.get("context") is not None:
        raise RulebookError(
            "the rule that is extended has a context",
            where=str(sources.origin(root)),
            hint="only a rule without a context can be extended",
        )
    binding = root.get("queryBinding", "")
    if name == "schema" and binding and binding != sources.binding:
        raise RulebookError(
            f'the extended schema asks for queryBinding="{binding}", the rulebook for "{sources.binding or "xslt"}"',
            where=str(sources.origin(place)),
            hint="give both the same queryBinding",
        )
    return [child for child in root if name == "rule" or _iso_name(child) not in ("title", "p")]


def _fetch(place: etree._Element, path: Path, stack: _Stack, sources: Sources) -> etree._Element:
    """Return the element that an ``href`` names, itself expanded."""
    href = place.get("href")
    where = str(sources.origin(place))
    if href is None:
        raise RulebookError(f"{_iso_name(place)} has no href", where=where)
    target, fragment = _target(href, path, where, sources)
    if (target.resolve(), fragment) in stack:
        raise RulebookError(f"{href} includes itself", where=where, hint="break the cycle")
    shown = str(sources.shown / target.resolve().relative_to(sources.folder))
    root = _read(target, shown, sources)
    if fragment:
        root = _by_id(root, fragment, href, where)
    holder = etree.Element("holder")
    if root.getparent() is None:
        holder.append(root)
    if _iso_name(root) in ("include", "extends"):
        raise RulebookError(f"{href} holds nothing but another inclusion", where=where)
    _expand(root, target, (*stack, (target.resolve(), fragment)), sources)
    return root


def _by_id(root: etree._Element, fragment: str, href: str, where: str) -> etree._Element:
    for element in root.iter():
        if fragment in (element.get("id"), element.get(_XML_ID)):
            return element
    raise RulebookError(f"nothing has the id {fragment!r} in {href}", where=where)


def _target(href: str, path: Path, where: str, sources: Sources) -> tuple[Path, str]:
    """Return the file that an href names; what leads out of the rulebook's folder is refused unopened."""
    name, _, fragment = href.strip().partition("#")
    decoded = unquote(name)
    hint = "included files must lie in the folder of the rulebook or below"
    if not decoded or "\0" in decoded:
        raise RulebookError(f"the href {href!r} names no file", where=where, hint=hint)
    if _SCHEME.match(decoded) or decoded.startswith(("/", "\\")) or "\\" in decoded:
        raise RulebookError(f"the href {href!r} is not a relative path", where=where, hint=hint)
    target = path.parent.joinpath(*PurePosixPath(decoded).parts)
    if not target.resolve().is_relative_to(sources.folder):
        raise RulebookError(f"the href {href!r} leads out of the rulebook's folder", where=where, hint=hint)
    if not target.is_file():
        raise RulebookError(f"the file {href!r} does not exist", where=where, hint="check the href")
    return target, fragment


def iso_children(element: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Yield the children with these Schematron names, in document order."""
    return (child for child in element if _iso_name(child) in names)
