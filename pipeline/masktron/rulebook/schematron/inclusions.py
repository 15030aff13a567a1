"""A rulebook and all that it includes as one tree in the ISO namespace, in which every element knows its origin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from lxml import etree

from masktron.errors import RulebookError
from masktron.rulebook.schema import Origin
from masktron.rulebook.schematron.escapes import bare_sign
from masktron.rulebook.schematron.prefixes import bindings, new_names, rename
from masktron.sources.xml.parser import parse_tree, scan

ISO = "http://purl.oclc.org/dsdl/schematron"
ASCC = "http://www.ascc.net/xml/schematron"
MARK = "{urn:masktron:origin}at"
"""Attribute of every element: the number of its origin in `IncludedFiles.origins`."""
_XML_ID = "{http://www.w3.org/XML/1998/namespace}id"
LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_MAX_FILES = 1000
_WHOLE = ("schema", "library")


@dataclass(slots=True)
class IncludedFiles:
    """What has been read so far of one rulebook."""

    folder: Path
    """The folder of the rulebook, resolved: nothing outside is opened."""
    shown: Path
    """The same folder as the user wrote it."""
    origins: list[Origin] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    binding: str = ""
    files: int = 0
    edition: str = ""
    """The edition that the rulebook declares."""
    bound: dict[str, str] = field(default_factory=dict)
    """The prefixes of the rulebook with those of all files that it includes."""
    gone: list[tuple[str, etree._Element]] = field(default_factory=list)
    """Inclusions, and roots whose children were taken, each with the name of the element that it was in."""

    def origin(self, element: etree._Element) -> Origin:
        """Return where an element was written."""
        return self.origins[int(element.get(MARK, ""))]

    def note(self, text: str) -> None:
        """Keep a note, once."""
        if text not in self.notes:
            self.notes.append(text)


def load(path: Path) -> tuple[etree._Element, IncludedFiles]:
    """Read a rulebook: inclusions expanded in place, comments gone, old namespaces made new.

    Returns
    -------
    schema : Element
        ``schema`` in the ISO namespace.
    sources : IncludedFiles

    Raises
    ------
    RulebookError
        A file is missing, malformed, lies outside the rulebook's folder, or includes itself.
    """
    sources = IncludedFiles(path.parent.resolve(), path.parent)
    root = _read(path, str(path), sources)
    name = etree.QName(root).localname
    if name == "pattern":
        # the edit paper prints bare patterns
        sources.note(f"{path}: a pattern without a schema around it; read as a schema of this pattern")
        schema = etree.Element(f"{{{ISO}}}schema", {MARK: root.get(MARK, "")})
        schema.append(root)
        root = schema
    elif name == "library":
        raise RulebookError(
            "the root element is <library>: what it holds is for a schema that extends it",
            where=str(sources.origin(root)),
            hint=f'write <extends href="{path.name}"/> in a schema, and name that',
        )
    elif name != "schema":
        raise RulebookError(
            f"the root element is <{name}>, not a Schematron <schema>",
            where=str(sources.origin(root)),
            hint="name the file with the rules",
        )
    sources.binding = root.get("queryBinding", "")
    sources.bound.update(bindings(root))
    _expand(root, _File(path, ((path.resolve(), ""),), {}), sources)
    _declare(root, sources)
    return root, sources


def _declare(root: etree._Element, sources: IncludedFiles) -> None:
    """Declare the prefixes of elements that were included from other schemas."""
    known = bindings(root)
    for prefix, uri in sources.bound.items():
        if prefix not in known:
            mark = root.get(MARK, "")
            root.insert(0, etree.Element(f"{{{ISO}}}ns", {"prefix": prefix, "uri": uri, MARK: mark}))


def _read(path: Path, shown: str, sources: IncludedFiles) -> etree._Element:
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


def _to_iso(root: etree._Element, shown: str, sources: IncludedFiles) -> None:
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


@dataclass(frozen=True, slots=True)
class _File:
    """Where an inclusion stands.

    Attributes
    ----------
    stack : tuple of (path, fragment)
        What is being included, outermost first.
    names : mapping of str to str
        Other names for prefixes of the file.
    """

    path: Path
    stack: tuple[tuple[Path, str], ...]
    names: Mapping[str, str]


def _expand(element: etree._Element, file: _File, sources: IncludedFiles) -> None:
    """Put what is included in the place of ``include`` and ``extends href``, in document order."""
    for child in list(element):
        name = _iso_name(child)
        if name == "include":
            sources.gone.append((_iso_name(element), child))
            _put(child, [_included(child, file, sources)])
        elif name == "extends" and child.get("href") is not None:
            if child.get("rule") is not None:
                raise RulebookError("extends has both href and rule", where=str(sources.origin(child)))
            sources.gone.append((_iso_name(element), child))
            _put(child, _extended(child, element, file, sources))
        else:
            _expand(child, file, sources)


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


def _included(place: etree._Element, file: _File, sources: IncludedFiles) -> etree._Element:
    root = _fetch(place, file, sources)
    if _iso_name(root) in _WHOLE:
        raise RulebookError(
            f'include brings a whole {_iso_name(root)} ("{place.get("href")}")',
            where=str(sources.origin(place)),
            hint='write <extends href="..."/> instead, or add #ID to include one element of it',
        )
    return root


def _extended(
    place: etree._Element, parent: etree._Element, file: _File, sources: IncludedFiles
) -> list[etree._Element]:
    root = _fetch(place, file, sources)
    name = _iso_name(parent)
    fits = _iso_name(root) in _WHOLE if name in _WHOLE else name == "rule" == _iso_name(root)
    if not fits:
        raise RulebookError(
            f"<{name}> cannot extend the <{etree.QName(root).localname}> in {place.get('href')}",
            where=str(sources.origin(place)),
            hint="a schema extends a schema or a library, a rule extends a rule",
        )
    if name == "rule" and root.get("context") is not None:
        sources.note(f"{sources.origin(root)}: the rule is extended, so its checks are taken and its context is not")
    sources.gone.append((name, root))
    for child in root:
        if child.get(LANG) is None:
            child.set(LANG, root.get(LANG, ""))
    return [child for child in root if name == "rule" or _iso_name(child) not in ("title", "p")]


def _fetch(place: etree._Element, file: _File, sources: IncludedFiles) -> etree._Element:
    """Return the element that an ``href`` names, itself expanded, with its own language and prefixes."""
    href = place.get("href")
    where = str(sources.origin(place))
    if href is None:
        raise RulebookError(f"{_iso_name(place)} has no href", where=where)
    target, fragment = _target(href, file.path, where, sources)
    if (target.resolve(), fragment) in file.stack:
        raise RulebookError(f"{href} includes itself", where=where, hint="break the cycle")
    shown = str(sources.shown / target.resolve().relative_to(sources.folder))
    top = _read(target, shown, sources)
    names = _bound(top, file.names, where, sources)
    root = _by_id(top, fragment, href, where) if fragment else top
    if root.get(LANG) is None:
        root.set(LANG, next((e.get(LANG, "") for e in root.iterancestors() if e.get(LANG) is not None), ""))
    holder = etree.Element("holder")
    if root.getparent() is None:
        holder.append(root)
    if _iso_name(root) in ("include", "extends"):
        raise RulebookError(f"{href} holds nothing but another inclusion", where=where)
    _expand(root, _File(target, (*file.stack, (target.resolve(), fragment)), names), sources)
    return root


def _bound(top: etree._Element, names: Mapping[str, str], where: str, sources: IncludedFiles) -> Mapping[str, str]:
    """Give the prefixes of a file other names where the rulebook binds them otherwise, and check its query binding.

    A file without a schema around its elements has the prefixes of the one that includes it.
    """
    if _iso_name(top) in _WHOLE:
        binding = top.get("queryBinding", "").strip()
        if binding and binding.lower() != (sources.binding.strip().lower() or "xslt"):
            raise RulebookError(
                f'the extended schema asks for queryBinding="{binding}", the rulebook for '
                f'"{sources.binding or "xslt"}"',
                where=where,
                hint="give both the same queryBinding",
            )
        names = new_names(bindings(top), sources.bound)
    failed = rename(top, names)
    if failed is not None:
        prefix = next(p for p in names if any(f"{p}:" in str(value) for value in failed.attrib.values()))
        raise RulebookError(
            f"the prefix {prefix!r} is {sources.bound[names[prefix]]} here and {sources.bound[prefix]} in the "
            "rulebook, and this is no XPath in which it could be renamed",
            where=str(sources.origin(failed)),
            hint="bind different prefixes",
        )
    return names


def _by_id(root: etree._Element, fragment: str, href: str, where: str) -> etree._Element:
    for element in root.iter():
        if fragment in (element.get("id"), element.get(_XML_ID)):
            return element
    raise RulebookError(f"nothing has the id {fragment!r} in {href}", where=where)


def _target(href: str, path: Path, where: str, sources: IncludedFiles) -> tuple[Path, str]:
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
