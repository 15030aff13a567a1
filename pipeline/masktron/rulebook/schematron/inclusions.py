"""A rulebook and all that it includes as one tree in the ISO namespace, in which every element knows its origin."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from lxml import etree

from masktron.errors import RulebookError
from masktron.files import file_hash
from masktron.problems.problem import Known, Place, Sentence
from masktron.rulebook.expressions.words import LexicalError, rename_prefixes
from masktron.rulebook.schema import Origin
from masktron.sources.xml.parser import opened, parse_tree, scan

EXPRESSIONS: Mapping[str, tuple[str, ...]] = {
    "phase": ("from", "when"),
    "pattern": ("documents",),
    "group": ("documents",),
    "rule": ("context", "subject", "visit-each"),
    "assert": ("test", "subject"),
    "report": ("test", "subject"),
    "let": ("value",),
    "param": ("value",),
    "value-of": ("select",),
    "name": ("path",),
}
"""The attributes of each element that hold XPath."""


def bindings(top: etree._Element) -> dict[str, str]:
    """Return the prefixes that a schema or library declares by itself."""
    return {
        ns.get("prefix", ""): ns.get("uri", "")
        for ns in top
        if etree.QName(ns).localname == "ns" and etree.QName(ns).namespace == etree.QName(top).namespace
    }


def new_names(own: Mapping[str, str], bound: MutableMapping[str, str]) -> dict[str, str]:
    """Return other names for the prefixes that are bound to other namespaces already, and bind all.

    Parameters
    ----------
    own : mapping of prefix to namespace
        Of the file that is included.
    bound : mapping of prefix to namespace
        Of the rulebook so far; taken on.
    """
    found: dict[str, str] = {}
    for prefix, uri in own.items():
        if bound.setdefault(prefix, uri) == uri:
            continue
        name = next(p for p in _further(prefix) if bound.get(p, uri) == uri and p not in own)
        bound[name] = uri
        found[prefix] = name
    return found


def _further(prefix: str) -> Iterator[str]:
    return (f"{prefix}-{number}" for number in count(2))


def rename(top: etree._Element, names: Mapping[str, str]) -> etree._Element | None:
    """Write other prefixes into all expressions of a tree.

    Returns
    -------
    element : Element or None
        The first whose expression is none and may use such a prefix; None where all is done.
    """
    for element in top.iter() if names else ():
        name = etree.QName(element).localname
        if name == "ns" and element.get("prefix") in names:
            element.set("prefix", names[element.get("prefix", "")])
        for attribute in EXPRESSIONS.get(name, ()):
            written = element.get(attribute)
            if written is None:
                continue
            try:
                element.set(attribute, rename_prefixes(written, names))
            except LexicalError:
                if any(f"{prefix}:" in written for prefix in names):
                    return element
    return None


_ATTRIBUTE = r"""\s+[^\s=<>"'/]+\s*=\s*(?:"[^"]*"|'[^']*')"""
_AMPERSAND = r"&(?!(?:[^\W\d][\w.-]*|#[0-9]+|#x[0-9A-Fa-f]+);)(?:(?:lt|gt|amp|quot|apos)\b)?"
_MARKUP = re.compile(
    r"(?P<skipped><!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<![^>]*>|</[^>]*>)"
    rf"|<(?P<name>[^\W\d][\w.:-]*)(?P<attributes>(?:{_ATTRIBUTE})*)"
    rf"|(?P<text><|{_AMPERSAND})",
    re.DOTALL,
)
_VALUE = re.compile(r"""\s+(?P<name>[^\s=<>"'/]+)\s*=\s*(?P<quote>["'])(?P<value>.*?)(?P=quote)""", re.DOTALL)
_CUT = re.compile(
    r"""(?P<name>[\w:.-]+)\s*=\s*(?P<quote>["'])(?:(?!(?P=quote))[^<])*(?P=quote)(?!\s*(?:[/?]?>|$)|\s+[\w:.-]+\s*=\s*["'])"""
)
_BARE = re.compile(f"<|{_AMPERSAND}")
_ESCAPES = {"<": "&lt;", "&": "&amp;"}


@dataclass(frozen=True, slots=True)
class _Bare:
    """A sign at an offset, in an attribute or in the text of an element, whose tag begins at ``element``."""

    sign: str
    at: int
    element: int
    owner: str
    attribute: str = ""

    @property
    def instead(self) -> str:
        """What to write instead."""
        if "&&" in self.attribute:
            return "and for &&"
        written = " ".join(_BARE.sub(lambda match: _escaped(match[0]), self.attribute).split())
        return f"{_escaped(self.sign)} for {self.sign}" + (f": {written}" if written else "")


def _escaped(sign: str) -> str:
    """Return what stands for a bare sign, or for a reference without its semicolon."""
    return _ESCAPES.get(sign) or f"{sign};"


def bare_sign(path: Path, error: RulebookError) -> RulebookError | None:
    """Return an error that says what to write instead, if a bare sign is why a rulebook is not well-formed.

    Parameters
    ----------
    path : Path
    error : RulebookError
        What the parser says, with line and column.
    """
    line = error.problem.place.line
    if not line:
        return None
    with opened(path, RulebookError) as (stream, encoding):
        text = stream.read()[len(encoding.bom) :].decode(encoding.codec, "replace")
    found = next(_bare_signs(text), None)
    # what stands before it is wrong for another reason
    if found is None or _line(text, found.element) > line:
        return _cut_short(text.splitlines()[line - 1 : line], error)
    column = found.at - text.rfind("\n", 0, found.at)
    there, sign = Place(str(path), _line(text, found.at), column), f"a bare {found.sign}"
    return RulebookError.of("not-escaped", there, owner=found.owner, sign=sign, instead=found.instead)


def _cut_short(line: list[str], error: RulebookError) -> RulebookError | None:
    """Return an error that names an attribute which a quote inside it ends, if the line of the error has one."""
    cut = next((found for one in line for found in _CUT.finditer(one)), None)
    if cut is None:
        return None
    quote, other = cut["quote"], "'" if cut["quote"] == '"' else '"'
    sign = f"a {quote} inside its value, which ends it: {cut[0]}"
    instead = f"{other}...{other} for a text inside {cut['name']}={quote}...{quote}"
    return RulebookError.of("not-escaped", error.problem.place, owner=cut["name"], sign=sign, instead=instead)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _bare_signs(text: str) -> Iterator[_Bare]:
    """Yield the bare signs in the order of the text; quotes tell where the value of an attribute ends."""
    last, owner = 0, "the text"
    for found in _MARKUP.finditer(text):
        if found["text"]:
            yield _Bare(found["text"], found.start(), last, owner)
        if found["name"] is None:
            continue
        values = list(_VALUE.finditer(found["attributes"]))
        named = next((f" {value['value']!r}" for value in values if value["name"] == "id"), "")
        last, owner = found.start(), f"the text of <{found['name']}>{named}"
        for value in values:
            start = found.start("attributes") + value.start("value")
            who = f"{value['name']} of <{found['name']}>{named}"
            for sign in _BARE.finditer(value["value"]):
                yield _Bare(sign[0], start + sign.start(), last, who, value[0].strip())


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
    notes: list[Sentence] = field(default_factory=list)
    binding: str = ""
    files: int = 0
    digests: dict[Path, str] = field(default_factory=dict)
    """The SHA-256 of each file."""
    edition: str = ""
    """The edition that the rulebook declares."""
    bound: dict[str, str] = field(default_factory=dict)
    """The prefixes of the rulebook with those of all files that it includes."""
    programs: list[etree._Element] = field(default_factory=list)
    """The functions and keys of XSLT."""
    contents: dict[str, str] = field(default_factory=dict)
    """What variables have as their content, as documents, by the names that stand for them in expressions."""
    gone: list[tuple[str, etree._Element]] = field(default_factory=list)
    """Inclusions, and roots whose children were taken, each with the name of the element that it was in."""

    def origin(self, element: etree._Element) -> Origin:
        """Return where an element was written."""
        return self.origins[int(element.get(MARK, ""))]

    def note(self, text: str) -> None:
        """Keep a note, once."""
        if text not in self.notes:
            self.notes.append(text)


def load(path: Path, called: Path | None = None) -> tuple[etree._Element, IncludedFiles]:
    """Read a rulebook, whatever it is called: inclusions expanded in place, comments gone, old namespaces made new.

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
    root = _read(path, str(called or path), sources)
    name = etree.QName(root).localname
    if name == "pattern":
        # the edit paper prints bare patterns
        sources.note(f"{path}: a pattern without a schema around it; read as a schema of this pattern")
        schema = etree.Element(f"{{{ISO}}}schema", {MARK: root.get(MARK, "")})
        schema.append(root)
        root = schema
    elif name != "schema":
        raise RulebookError.of("not-a-rulebook", str(sources.origin(root)), element=name)
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
        construct = f"a rulebook that includes more than {_MAX_FILES:,} files"
        raise RulebookError.of("not-supported", shown, construct=construct, instead="join some of them")
    try:
        root = parse_tree(path, RulebookError).getroot()
        sources.digests[path.absolute()] = file_hash(path)
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
        named = f'{etree.QName(root).localname} xmlns="{namespace}"'
        raise RulebookError.of("not-a-rulebook", Place(shown, int(str(root.sourceline))), element=named)
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
                place = str(sources.origin(child))
                raise RulebookError.of("given-twice", place, to=f" of {'<extends>'}", one="href", other="rule")
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
        raise AssertionError
    at = parent.index(place)
    parent.remove(place)
    for offset, child in enumerate(children):
        parent.insert(at + offset, child)


def _included(place: etree._Element, file: _File, sources: IncludedFiles) -> etree._Element:
    root = _fetch(place, file, sources)
    if _iso_name(root) in _WHOLE:
        raise _unfit(place, "include", root, sources)
    return root


def _unfit(place: etree._Element, element: str, root: etree._Element, sources: IncludedFiles) -> RulebookError:
    where, found = str(sources.origin(place)), etree.QName(root).localname
    return RulebookError.of("cannot-include", where, element=element, found=found, href=place.get("href"))


def _extended(
    place: etree._Element, parent: etree._Element, file: _File, sources: IncludedFiles
) -> list[etree._Element]:
    root = _fetch(place, file, sources)
    name = _iso_name(parent)
    fits = _iso_name(root) in _WHOLE if name in _WHOLE else name == "rule" == _iso_name(root)
    if not fits:
        raise _unfit(place, name, root, sources)
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
        raise RulebookError.of("attribute-missing", where, element=_iso_name(place), attribute="href")
    target, fragment = _target(href, file.path, where, sources)
    if (target.resolve(), fragment) in file.stack:
        raise RulebookError.of("refers-to-itself", where, name=href)
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
        raise _unfit(place, _iso_name(place), root, sources)
    _expand(root, _File(target, (*file.stack, (target.resolve(), fragment)), names), sources)
    return root


def _bound(top: etree._Element, names: Mapping[str, str], where: str, sources: IncludedFiles) -> Mapping[str, str]:
    """Give the prefixes of a file other names where the rulebook binds them otherwise, and check its query binding.

    A file without a schema around its elements has the prefixes of the one that includes it.
    """
    if _iso_name(top) in _WHOLE:
        binding = top.get("queryBinding", "").strip()
        if binding and binding.lower() != (sources.binding.strip().lower() or "xslt"):
            expected, given = f"{sources.binding or 'xslt'!r}, as in the rulebook", repr(binding)
            raise RulebookError.of("bad-value", where, name="queryBinding", expected=expected, given=given)
        names = new_names(bindings(top), sources.bound)
    failed = rename(top, names)
    if failed is not None:
        prefix = next(p for p in names if any(f"{p}:" in str(value) for value in failed.attrib.values()))
        place, first = str(sources.origin(failed)), f"for {sources.bound[prefix]}"
        raise RulebookError.of("name-taken", place, kind="prefix", name=prefix, first=first)
    return names


def _by_id(root: etree._Element, fragment: str, href: str, where: str) -> etree._Element:
    for element in root.iter():
        if fragment in (element.get("id"), element.get(_XML_ID)):
            return element
    known = Known(fragment, tuple(id_ for element in root.iter() if (id_ := element.get("id"))))
    raise RulebookError.of("unknown-name", where, kind="element with the id", name=fragment, known=known)


def _target(href: str, path: Path, where: str, sources: IncludedFiles) -> tuple[Path, str]:
    """Return the file that an href names; what leads out of the rulebook's folder is refused unopened."""
    name, _, fragment = href.strip().partition("#")
    decoded = unquote(name)
    outward = _SCHEME.match(decoded) or decoded.startswith(("/", "\\")) or "\\" in decoded
    target = path.parent.joinpath(*PurePosixPath(decoded).parts)
    reason = ""
    if not decoded or "\0" in decoded:
        reason = "names no file"
    elif outward:
        reason = "is not a relative path"
    elif not target.resolve().is_relative_to(sources.folder):
        reason = "leads out of the rulebook's folder"
    elif not target.is_file():
        reason = "names a file that does not exist"
    if reason:
        raise RulebookError.of("bad-href", where, href=href, reason=reason)
    return target, fragment


def iso_children(element: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Yield the children with these Schematron names, in document order."""
    return (child for child in element if _iso_name(child) in names)
