"""The tree of paths into which a survey folds a file: one node for all elements that stand in the same place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from masktron.sources.record_layout import Field


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
