"""What records look like, by the tree of paths of a file: rows of single values, trees of such rows, or neither."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from masktron.sources.level_tree import Level, Tree
from masktron.sources.record_layout import Field, Layout, Shape


@dataclass(slots=True)
class PathNode:
    """All elements of the file that share one path from the root."""

    tag: str
    parent: PathNode | None
    line: int
    children: dict[str, PathNode] = field(default_factory=dict)
    attributes: dict[str, int] = field(default_factory=dict)
    """Clark names with the line on which each was first seen."""
    count: int = 0
    seen_in: int = 0
    """Ordinal of the parent element in which the latest was seen."""
    repeated: int = 0
    """Line of the first element that is not the first of its name in its parent; 0 if there is none."""
    text: int = 0
    """Line of the first text, other than white space, directly in such an element; 0 if there is none."""
    most: int = 0
    """The largest number of such elements in one parent."""
    _parents: int = 0
    _here: int = 0
    _fewest: int = 0
    """Of parents that have one, but the latest; 0 before there is another."""

    @property
    def path(self) -> tuple[str, ...]:
        """Clark names from the root down to these elements."""
        return (*(self.parent.path if self.parent else ()), self.tag)

    @property
    def complex(self) -> bool:
        """Whether one of these elements has child elements or attributes."""
        return bool(self.children or self.attributes)

    @property
    def inner(self) -> bool:
        """Whether they are records within others, and no fields: they hold something, or are empty and repeated."""
        return self.complex or bool(self.repeated and not self.text)

    @property
    def least(self) -> int:
        """The smallest number of such elements in one parent."""
        if self.parent is not None and self._parents < self.parent.count:
            return 0
        return min(self._fewest or self._here, self._here)

    def met_in(self, parent: int) -> bool:
        """Take note of one more element, and tell whether its parent, with this ordinal, has had one before."""
        self.count += 1
        again = self.seen_in == parent and self.count > 1
        if again:
            self._here += 1
        else:
            if self._parents:
                self._fewest = min(self._fewest or self._here, self._here)
            self._parents, self._here, self.seen_in = self._parents + 1, 1, parent
        self.most = max(self.most, self._here)
        return again

    def descendants(self) -> Iterator[PathNode]:
        """Yield the nodes below this one, the shallowest first."""
        level = list(self.children.values())
        while level:
            yield from level
            level = [child for node in level for child in node.children.values()]


def clark(name: str) -> str:
    """Return the Clark name of a name as expat gives it."""
    return "{" + name if "}" in name else name


def local(tag: str) -> str:
    """Return the local name of a Clark name."""
    return tag.rpartition("}")[2]


def fields_of(record: PathNode) -> tuple[Field, ...]:
    """Return attributes and child elements as fields; of two with one local name, the later has its Clark name."""
    fields: list[Field] = []
    names: set[str] = set()
    for tag, attribute in [(t, True) for t in record.attributes] + [(c.tag, False) for c in record.children.values()]:
        name = ("@" if attribute else "") + local(tag)
        if name in names:
            name = ("@" if attribute else "") + tag
        names.add(name)
        fields.append(Field(name, tag, attribute))
    return tuple(fields)


def shape_of(record: PathNode) -> Shape:
    """Return the deviation from a flat table that stands first in the file.

    Of a file that is no tree of such tables either, it is what keeps it from being one.
    """
    found = _first(_untidy(record)) or _first(_nested(record))
    return replace(found, single=_single(record)) if found else Shape(True)


def _single(record: PathNode) -> frozenset[str]:
    """Name the fields that stand in a record once at most, with a text alone."""
    many = {child.tag for child in record.children.values() if child.complex or child.repeated}
    return frozenset(f.name for f in fields_of(record) if f.attribute or f.tag not in many)


def is_tidy(record: PathNode) -> bool:
    """Tell whether what was read holds nothing but fields with a single text and records of such fields."""
    return not _first(_untidy(record))


def tree_of(record: PathNode, layout: Layout) -> Tree | None:
    """Return the levels of a file whose records hold other records; None where they do not, or are no tree.

    Parameters
    ----------
    record : PathNode
        Of the top level.
    layout : Layout
        Of it.
    """
    if not is_tidy(record) or not _first(_nested(record)):
        return None
    top = replace(_level(record), least=record.count, most=record.count)
    return Tree(top, replace(layout, fields=top.fields))


def _level(node: PathNode) -> Level:
    inner = {child.tag: child for child in node.children.values() if child.inner}
    return Level(
        name=local(node.tag),
        tag=node.tag,
        fields=tuple(f for f in fields_of(node) if f.attribute or f.tag not in inner),
        children=tuple(map(_level, inner.values())),
        count=node.count,
        least=node.least,
        most=node.most,
    )


def _first(shapes: Iterable[Shape]) -> Shape | None:
    return min((shape for shape in shapes if shape.line), key=lambda one: one.line, default=None)


def _nested(record: PathNode) -> Iterator[Shape]:
    """Yield what makes records, or lists, of the fields of a record."""
    for child in record.children.values():
        yield _repeated(child, record)
        yield from _held(child)


def _untidy(record: PathNode) -> Iterator[Shape]:
    """Yield what is neither a field with a single text nor a record of such fields."""
    yield Shape(
        False, f"there is text between the fields of {local(record.tag)}", record.text * bool(record.children)
    )
    yield Shape(False, f"{local(record.tag)} holds text instead of fields", record.text * (not record.children))
    yield from _around(record)
    yield from _muddled(record)


def _muddled(record: PathNode) -> Iterator[Shape]:
    """Yield what is untidy within a record, all the way down."""
    yield from _same_names(record)
    for child in record.children.values():
        if not child.inner:
            yield _repeated(child, record)
        elif child.text:
            yield from _held(child)
        else:
            yield from _muddled(child)


def _repeated(child: PathNode, record: PathNode) -> Shape:
    return Shape(
        False, f"the field {local(child.tag)} occurs more than once in a {local(record.tag)}", child.repeated
    )


def _held(child: PathNode) -> Iterator[Shape]:
    """Yield what an element holds that a field does not."""
    label = local(child.tag)
    for inner in child.children.values():
        yield Shape(False, f"the field {label} has the child element {local(inner.tag)}", inner.line)
    for attribute, line in child.attributes.items():
        yield Shape(False, f"the field {label} has the attribute {local(attribute)}", line)


def _same_names(record: PathNode) -> Iterator[Shape]:
    for what, lines in (
        ("fields", {child.tag: child.line for child in record.children.values()}),
        ("attributes", record.attributes),
    ):
        seen: set[str] = set()
        for tag, line in lines.items():
            if local(tag) in seen:
                yield Shape(False, f"two {what} are named {local(tag)}, in different namespaces", line)
            seen.add(local(tag))


def _around(record: PathNode) -> Iterator[Shape]:
    """Yield what stands beside the records: it would leave with the masked file unseen."""
    node = record
    while (parent := node.parent) is not None:
        yield Shape(False, f"there is text directly in {local(parent.tag)}", parent.text)
        if parent.parent is not None and parent.count > 1:
            yield Shape(False, f"records stand in more than one {local(parent.tag)}", parent.repeated or parent.line)
        for sibling in parent.children.values():
            if sibling is not node:
                what = f"{local(sibling.tag)} stands beside the records ({local(record.tag)})"
                yield Shape(False, what, sibling.line)
        node = parent
