"""Where records and fields stand in a file, and whether every record of it is flat."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from lxml import etree

from masktron.errors import DocumentError, UsageError
from masktron.sources.lexical import XML_SPACE
from masktron.sources.records import Field, Layout, Shape
from masktron.sources.xml.encoding import Encoding
from masktron.sources.xml.parser import MAX_DEPTH, scan

_MAX_PATHS = 20_000


@dataclass(slots=True)
class _Node:
    """All elements of the file that share one path from the root."""

    tag: str
    parent: _Node | None
    line: int
    children: dict[str, _Node] = field(default_factory=dict)
    attributes: dict[str, int] = field(default_factory=dict)
    """Clark names with the line on which each was first seen."""
    count: int = 0
    seen_in: int = 0
    """Ordinal of the parent element in which the latest was seen."""
    repeated: int = 0
    """Line of the first element that is not the first of its name in its parent; 0 if there is none."""
    text: int = 0
    """Line of the first text, other than white space, directly in such an element; 0 if there is none."""

    @property
    def path(self) -> tuple[str, ...]:
        return (*(self.parent.path if self.parent else ()), self.tag)

    @property
    def complex(self) -> bool:
        return bool(self.children or self.attributes)

    def descendants(self) -> Iterator[_Node]:
        """Yield the nodes below this one, the shallowest first."""
        level = list(self.children.values())
        while level:
            yield from level
            level = [child for node in level for child in node.children.values()]


class Survey:
    """Expat handlers that fold the whole file into one tree of paths."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.top = _Node("", None, 0)
        self.namespaces: dict[str | None, str] = {}
        self.root_attributes: dict[str, str] = {}
        self._stack = [self.top]
        self._paths = 0

    def attach(self, parser: expat.XMLParserType) -> None:
        """Listen to a parser."""
        self._parser = parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartNamespaceDeclHandler = self._namespace

    @property
    def root(self) -> _Node:
        """The root element."""
        return next(iter(self.top.children.values()))

    def at(self, path: tuple[str, ...]) -> _Node:
        """Return the node at a path that is there."""
        node = self.top
        for tag in path:
            node = next(child for child in node.children.values() if child.tag == tag)
        return node

    def found(self, encoding: Encoding, record: str | None, hints: Collection[str]) -> tuple[Layout, _Node]:
        """Return the layout of what was read, and the node of the record element.

        Raises
        ------
        DocumentError, UsageError
            As `masktron.sources.xml.plain.survey`.
        """
        root = self.root
        chosen = _overridden(self.path, root, record) if record else _detected(self.path, root, hints)
        if chosen is None:
            name = min(hints, default="Record") if "Record" not in hints else "Record"
            tag = root.tag.removesuffix(_local(root.tag)) + name
            chosen = _Node(tag, root, root.line)
        layout = Layout(
            record_path=chosen.path,
            fields=_fields(chosen),
            root_attributes=tuple(self.root_attributes.items()),
            nsmap=tuple(self.namespaces.items()),
            encoding=encoding.name,
        )
        return layout, chosen

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        parent = self._stack[-1]
        node = parent.children.get(name)
        if node is None:
            node = self._new(name, parent)
        elif node.seen_in == parent.count and not node.repeated:
            node.repeated = self._parser.CurrentLineNumber
        node.seen_in = parent.count
        node.count += 1
        self._stack.append(node)
        if attributes:
            for attribute in attributes:
                node.attributes.setdefault(_clark(attribute), self._parser.CurrentLineNumber)
            if len(self._stack) == 2:
                self.root_attributes = {_clark(key): value for key, value in attributes.items()}

    def _new(self, name: str, parent: _Node) -> _Node:
        line = self._parser.CurrentLineNumber
        self._paths += 1
        if len(self._stack) > MAX_DEPTH:
            raise DocumentError(
                f"elements are nested deeper than the limit of {MAX_DEPTH}",
                where=f"{self.path}:{line}:{self._parser.CurrentColumnNumber + 1}",
                hint="flatten the file",
            )
        if self._paths > _MAX_PATHS:
            raise DocumentError(
                f"the file has more than {_MAX_PATHS:,} different element paths, which is not microdata",
                where=f"{self.path}:{line}",
                hint="give every record the same fields",
            )
        node = parent.children[name] = _Node(_clark(name), parent if parent.tag else None, line)
        return node

    def _end(self, name: str) -> None:
        self._stack.pop()

    def _text(self, text: str) -> None:
        node = self._stack[-1]
        if not node.text and (rest := text.lstrip(XML_SPACE)):
            # expat hands buffered text over where the next markup begins
            node.text = self._parser.CurrentLineNumber - rest.count("\n")

    def _namespace(self, prefix: str | None, uri: str | None) -> None:
        if len(self._stack) == 1 and uri:
            try:
                etree.Element("any", nsmap={"any": uri})
            except ValueError:  # libxml2 reads it, and will not write it
                raise DocumentError(
                    f"the namespace {uri!r} is no URI",
                    where=f"{self.path}:{self._parser.CurrentLineNumber}:{self._parser.CurrentColumnNumber + 1}",
                    hint="write it without spaces, quotes and other characters that a URI must not have",
                ) from None
            self.namespaces[prefix] = uri


def _clark(name: str) -> str:
    return "{" + name if "}" in name else name


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def survey_exactly(
    path: str | Path, *, record: str | None = None, hints: Collection[str] = ()
) -> tuple[Layout, Shape]:
    """Do what `masktron.sources.xml.plain.survey` does with expat alone: the way that says what is right."""
    path = Path(path)
    walk = Survey(path)
    encoding = scan(path, walk.attach)
    layout, chosen = walk.found(encoding, record, hints)
    return layout, shape_of(chosen)


def surveyed(path: Path) -> Survey:
    """Read a whole file and return its tree of paths.

    Raises
    ------
    DocumentError
        The file cannot be parsed.
    """
    walk = Survey(path)
    scan(path, walk.attach)
    return walk


def confirm(path: str | Path, layout: Layout) -> Shape:
    """Read a whole file again and tell whether it is flat, seen with a layout that was found before.

    Raises
    ------
    DocumentError
        The file cannot be parsed, or has another root or fields that the layout does not know.
    """
    path = Path(path)
    walk = surveyed(path)
    node: _Node | None = walk.top
    for tag in layout.record_path:
        node = next((c for c in node.children.values() if c.tag == tag), None) if node else None
    if walk.root.tag != layout.record_path[0] or (node and not set(_fields(node)) <= set(layout.fields)):
        raise DocumentError(
            "the file is not the one that was read before: it has other fields",
            where=str(path),
            hint="leave the input alone while it is being masked, and start again",
        )
    return shape_of(node) if node else Shape(True)


def _overridden(path: Path, root: _Node, record: str) -> _Node | None:
    found = [n for n in root.descendants() if record in {n.tag, _local(n.tag)}]
    if not found and not root.children:
        return None
    if len(found) == 1:
        return found[0]
    if found:
        what = f"--record {record!r} names more than one element: " + ", ".join(_show(n) for n in found[:6])
    else:
        names = dict.fromkeys(_local(n.tag) for n in root.descendants() if n.children)
        names = names or dict.fromkeys(_local(n.tag) for n in root.descendants())
        what = f"--record {record!r} names no element below the root; there is " + ", ".join(list(names)[:12])
    raise UsageError(what, where=str(path), hint="name the element that holds one record, as {namespace}name")


def _show(node: _Node) -> str:
    return "/".join(_local(tag) for tag in node.path)


def _detected(path: Path, root: _Node, hints: Collection[str]) -> _Node | None:
    """Find the record element without being told; None where the root is empty."""
    default = _default(root)
    if default is not None and (not hints or _local(default.tag) in hints):
        return default
    hinted = [n for n in root.descendants() if n.complex and _local(n.tag) in hints]
    if hinted:
        depth = len(hinted[0].path)
        if sum(len(n.path) == depth for n in hinted) == 1:
            return hinted[0]
    if default is not None or not root.children:
        return default
    raise DocumentError(
        f"nothing tells which element is the record: below {_local(root.tag)!r} stand "
        + ", ".join(f"{_local(n.tag)} ({n.count:,} times)" for n in list(root.children.values())[:8]),
        where=f"{path}:{root.line}",
        hint="name it with --record NAME",
    )


def _default(node: _Node) -> _Node | None:
    """Return the one repeated child, else go through an only child, else take that one as the single record."""
    children = list(node.children.values())
    repeated = [c for c in children if c.repeated and c.complex]
    if len(repeated) == 1:
        return repeated[0]
    if len(children) == 1 and (children[0].repeated or not children[0].children):
        return None if children[0].text and not children[0].complex else children[0]
    inner = [c for c in children if c.children]
    if repeated or len(inner) != 1:
        return None
    below = _default(inner[0]) if len(inner[0].children) == 1 else None
    return below if below is not None and below.complex else inner[0]


def _fields(record: _Node) -> tuple[Field, ...]:
    fields: list[Field] = []
    names: set[str] = set()
    for tag, attribute in [(t, True) for t in record.attributes] + [(c.tag, False) for c in record.children.values()]:
        name = ("@" if attribute else "") + _local(tag)
        if name in names:
            name = ("@" if attribute else "") + tag
        names.add(name)
        fields.append(Field(name, tag, attribute))
    return tuple(fields)


def shape_of(record: _Node) -> Shape:
    """Return the deviation from a flat table that stands first in the file."""
    found = [shape for shape in _deviations(record) if shape.line]
    return min(found, key=lambda s: s.line, default=Shape(True))


def _deviations(record: _Node) -> Iterator[Shape]:
    name = _local(record.tag)
    yield Shape(False, f"there is text between the fields of {name}", record.text if record.children else 0)
    if record.text and not record.children:
        yield Shape(False, f"{name} holds text instead of fields", record.text)
    locals_: set[str] = set()
    for child in record.children.values():
        label = _local(child.tag)
        if label in locals_:
            yield Shape(False, f"two fields are named {label}, in different namespaces", child.line)
        locals_.add(label)
        yield Shape(False, f"the field {label} occurs more than once in a {name}", child.repeated)
        for inner in child.children.values():
            yield Shape(False, f"the field {label} has the child element {_local(inner.tag)}", inner.line)
        for attribute, line in child.attributes.items():
            yield Shape(False, f"the field {label} has the attribute {_local(attribute)}", line)
    seen: set[str] = set()
    for attribute, line in record.attributes.items():
        if _local(attribute) in seen:
            yield Shape(False, f"two attributes are named {_local(attribute)}, in different namespaces", line)
        seen.add(_local(attribute))
    yield from _around(record)


def _around(record: _Node) -> Iterator[Shape]:
    """Yield what stands beside the records: it would leave with the masked file unseen."""
    node = record
    while (parent := node.parent) is not None:
        yield Shape(False, f"there is text directly in {_local(parent.tag)}", parent.text)
        if parent.parent is not None and parent.count > 1:
            yield Shape(False, f"records stand in more than one {_local(parent.tag)}", parent.repeated or parent.line)
        for sibling in parent.children.values():
            if sibling is not node:
                what = f"{_local(sibling.tag)} stands beside the records ({_local(record.tag)})"
                yield Shape(False, what, sibling.line)
        node = parent
