"""Where records and fields stand in a file, whether every record is flat, and every name with its place."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from xml.parsers import expat

from lxml import etree

from masktron.errors import DocumentError, UsageError
from masktron.files import SCHEMATRON
from masktron.problems.problem import Known, Place
from masktron.sources.level_tree import Tree
from masktron.sources.lexical import XML_SPACE
from masktron.sources.record_layout import AsDocument, Layout, NameStep, Shape, Vocabulary
from masktron.sources.xml.parser import MAX_DEPTH, Encoding, scan
from masktron.sources.xml.shapes import PathNode, clark, fields_of, local, shape_of, tree_of

_MAX_PATHS = 20_000
_RULEBOOKS = tuple(f"{{{namespace}}}schema" for namespace in SCHEMATRON)


class Survey:
    """Expat handlers that fold the whole file into one tree of paths."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.top = PathNode("", None, 0)
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
    def root(self) -> PathNode:
        """The root element."""
        return next(iter(self.top.children.values()))

    def at(self, path: tuple[str, ...]) -> PathNode:
        """Return the node at a path that is there."""
        node = self.top
        for tag in path:
            node = next(child for child in node.children.values() if child.tag == tag)
        return node

    def found(
        self, encoding: Encoding, record: str | None, hints: Collection[str], document: AsDocument = "never"
    ) -> tuple[Layout, PathNode]:
        """Return the layout of what was read, and the node of the record element.

        Raises
        ------
        DocumentError, UsageError
            As `masktron.sources.xml.plain.survey`.
        """
        root = self.root
        if root.tag in _RULEBOOKS:
            raise DocumentError.of("data-is-rulebook", Place(str(self.path), root.line))
        named = document == "always" or (document != "never" and _is_document(root, hints))
        if named if record is None else document != "never" and record in {root.tag, local(root.tag)}:
            return Layout(root.path, ()), root
        chosen = _overridden(self.path, root, record) if record else _detected(self.path, root, hints)
        if chosen is None:
            name = min(hints, default="Record") if "Record" not in hints else "Record"
            tag = root.tag.removesuffix(local(root.tag)) + name
            chosen = PathNode(tag, root, root.line)
        layout = Layout(
            record_path=chosen.path,
            fields=fields_of(chosen),
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
        if node.met_in(parent.count) and not node.repeated:
            node.repeated = self._parser.CurrentLineNumber
        self._stack.append(node)
        if attributes:
            for attribute in attributes:
                node.attributes.setdefault(clark(attribute), self._parser.CurrentLineNumber)
            if len(self._stack) == 2:
                self.root_attributes = {clark(key): value for key, value in attributes.items()}

    def _new(self, name: str, parent: PathNode) -> PathNode:
        line = self._parser.CurrentLineNumber
        self._paths += 1
        if len(self._stack) > MAX_DEPTH:
            raise DocumentError.of(
                "not-microdata",
                Place(str(self.path), line, self._parser.CurrentColumnNumber + 1),
                detail=f"elements are nested deeper than {MAX_DEPTH} levels",
            )
        if self._paths > _MAX_PATHS:
            raise DocumentError.of(
                "not-microdata",
                Place(str(self.path), line),
                detail=f"it has more than {_MAX_PATHS:,} different element paths",
            )
        node = parent.children[name] = PathNode(clark(name), parent if parent.tag else None, line)
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
                raise DocumentError.of(
                    "not-well-formed",
                    Place(str(self.path), self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1),
                    reason=f"the namespace {uri!r} is no URI",
                ) from None
            self.namespaces[prefix] = uri


def survey_exactly(
    path: str | Path, *, record: str | None = None, hints: Collection[str] = ()
) -> tuple[Layout, Shape]:
    """Do what `masktron.sources.xml.plain.survey` does with expat alone: the way that says what is right."""
    layout, shape, _ = survey_levels(path, record=record, hints=hints)
    return layout, shape


def survey_levels(
    path: str | Path, *, record: str | None = None, hints: Collection[str] = (), document: AsDocument = "never"
) -> tuple[Layout, Shape, Tree | None]:
    """Do what `survey_exactly` does, and find the levels of a nested file; None where it is flat, or no tree."""
    path = Path(path)
    walk = Survey(path)
    encoding = scan(path, walk.attach)
    layout, chosen = walk.found(encoding, record, hints, document)
    if layout.is_document:
        return layout, Shape(False, "the file is one document", chosen.line), None
    return layout, shape_of(chosen), tree_of(chosen, layout)


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
    node: PathNode | None = walk.top
    for tag in layout.record_path:
        node = next((c for c in node.children.values() if c.tag == tag), None) if node else None
    if walk.root.tag != layout.record_path[0] or (node and not set(fields_of(node)) <= set(layout.fields)):
        raise DocumentError.of("file-changed", path)
    return shape_of(node) if node else Shape(True)


def confirm_tree(path: str | Path, tree: Tree) -> None:
    """Read a whole nested file again, and refuse it where its tree is not the one that was found before.

    Raises
    ------
    DocumentError
    """
    path = Path(path)
    node: PathNode | None = surveyed(path).top
    for tag in tree.layout.record_path:
        node = next((c for c in node.children.values() if c.tag == tag), None) if node else None
    if node is None or tree_of(node, tree.layout) != tree:
        raise DocumentError.of("file-changed", path)


def _overridden(path: Path, root: PathNode, record: str) -> PathNode | None:
    found = [n for n in root.descendants() if record in {n.tag, local(n.tag)}]
    if not found and not root.children:
        return None
    if found:
        # of records within records of one name, the outermost are meant, as where nobody names any
        first = min(found, key=lambda node: len(node.path))
        if all(node.path[: len(first.path)] == first.path for node in found):
            return first
        raise UsageError.of("record-unclear", path, elements=tuple(_show(n) for n in found[:6]))
    names = dict.fromkeys(local(n.tag) for n in root.descendants() if n.children)
    names = names or dict.fromkeys(local(n.tag) for n in root.descendants())
    known = Known(record, tuple(names)[:12])
    raise UsageError.of("unknown-name", path, kind="element for the option record,", name=record, known=known)


def _show(node: PathNode) -> str:
    return "/".join(local(tag) for tag in node.path)


def _detected(path: Path, root: PathNode, hints: Collection[str]) -> PathNode | None:
    """Find the record element without being told; None where the root is empty."""
    default = _default(root)
    if default is not None and (not hints or local(default.tag) in hints or _holds(default, hints)):
        return default
    hinted = [n for n in root.descendants() if n.complex and local(n.tag) in hints]
    if hinted:
        depth = len(hinted[0].path)
        if sum(len(n.path) == depth for n in hinted) == 1:
            return hinted[0]
    if default is not None or not root.children:
        return default
    raise DocumentError.of(
        "record-unclear",
        Place(str(path), root.line),
        elements=tuple(f"{local(n.tag)} ({n.count:,} times)" for n in list(root.children.values())[:8]),
    )


def _is_document(root: PathNode, hints: Collection[str]) -> bool:
    """Whether no records repeat in a file that has something in it."""
    if not root.children:
        return bool(root.attributes) or local(root.tag) in hints
    try:
        found = _detected(Path(), root, hints)
    except DocumentError:  # several elements might be the record
        return True
    return found is None or not found.repeated


def _holds(unit: PathNode, hints: Collection[str]) -> bool:
    """Whether an element that repeats holds all that rules name: they may judge the persons of households alone."""
    named = [n for n in unit.descendants() if n.complex and local(n.tag) in hints]
    return bool(unit.repeated and named) and tree_of(unit, Layout(unit.path, ())) is not None


def _default(node: PathNode) -> PathNode | None:
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


def vocabulary(path: Path, layout: Layout, shape: Shape, tree: Tree | None = None) -> Vocabulary:
    """Return the names of a file.

    The layout of a flat file has them all, and so has the tree of a nested one; any other file is read once more.

    Raises
    ------
    DocumentError
        The file cannot be parsed any more.
    """
    if shape.flat and len(layout.record_path) <= 2:
        return names_of(layout)
    if tree is not None and len(layout.record_path) <= 2:
        several = [names_of(tree.layout_of(at)) for at, _ in tree.levels()]
        return Vocabulary(
            frozenset[tuple[NameStep, ...]]().union(*(one.elements for one in several)),
            frozenset[tuple[NameStep, ...]]().union(*(one.attributes for one in several)),
        )
    walk = surveyed(path)
    return Vocabulary(frozenset(_elements(walk)), frozenset(_attributes(walk)))


def names_of(layout: Layout) -> Vocabulary:
    """Return the names of a flat file that has nothing beside its records."""
    record = tuple(map(_step, layout.record_path))
    elements = {record[: length + 1] for length in range(len(record))}
    elements |= {(*record, _step(field.tag)) for field in layout.fields if not field.attribute}
    attributes = {(*record, _step(field.tag)) for field in layout.fields if field.attribute}
    attributes |= {(record[0], _step(name)) for name, _ in layout.root_attributes}
    return Vocabulary(frozenset(elements), frozenset(attributes))


def _elements(walk: Survey) -> Iterator[tuple[NameStep, ...]]:
    for node in walk.top.descendants():
        yield tuple(map(_step, node.path))


def _attributes(walk: Survey) -> Iterator[tuple[NameStep, ...]]:
    for node in walk.top.descendants():
        for name in node.attributes:
            yield (*map(_step, node.path), _step(name))


def _step(tag: str) -> NameStep:
    space, _, local = tag.rpartition("}")
    return space.removeprefix("{"), local
