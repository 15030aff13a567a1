"""What records look like: rows of single values, trees of such rows, or neither, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from masktron.sources.level_tree import Level, Tree
from masktron.sources.record_layout import Layout, Shape
from masktron.sources.xml.path_nodes import PathNode, fields_of, local


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
