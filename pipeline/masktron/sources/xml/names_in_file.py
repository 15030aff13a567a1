"""Every name of a file with its place: what a path in a rule can find there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from masktron.sources.level_tree import Tree
from masktron.sources.names import NameStep, Vocabulary
from masktron.sources.record_layout import Layout, Shape
from masktron.sources.xml.layout import Survey, surveyed


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
