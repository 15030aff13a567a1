"""What a nested file is made of: records of the top level, the units, with records of other levels within them.

A household with its persons is a unit with one kind of children. A flat file is the tree of one level.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from masktron.sources.record_layout import Field, Layout

type LevelPath = tuple[str, ...]
"""Names of levels below the top level, the outermost first: ``()`` is the top level itself, ``("Person",)`` below."""
TOP: LevelPath = ()


@dataclass(frozen=True, slots=True)
class Level:
    """One kind of records: all elements of the file that stand in the same place.

    Attributes
    ----------
    name : str
        The local name; unique among the fields and children of the level above.
    tag : str
        Clark name.
    fields : tuple of Field
        Attributes and child elements of its own that hold a single text each.
    children : tuple of Level
        Kinds of records within it, in the order in which the file first shows them.
    count : int
        Records in the file.
    least, most : int
        Records in one record of the level above; of the top level, `count`.
    """

    name: str
    tag: str
    fields: tuple[Field, ...]
    children: tuple[Level, ...] = ()
    count: int = 0
    least: int = 0
    most: int = 0

    def field(self, name: str) -> Field | None:
        """Return the field of its own with this name, or None."""
        return next((f for f in self.fields if f.name == name), None)


@dataclass(frozen=True)
class Tree:
    """The levels of a nested file.

    Attributes
    ----------
    top : Level
        The units.
    layout : Layout
        That of the top level, with the fields of its own alone.
    """

    top: Level
    layout: Layout

    @classmethod
    def flat(cls, layout: Layout, count: int) -> Tree:
        """Return the tree of a flat file."""
        name = layout.record_tag.rpartition("}")[2]
        return cls(Level(name, layout.record_tag, layout.fields, (), count, count, count), layout)

    def levels(self) -> Iterator[tuple[LevelPath, Level]]:
        """Yield all levels with their paths: the top level first, each level before its children."""
        waiting: list[tuple[LevelPath, Level]] = [(TOP, self.top)]
        while waiting:
            path, level = waiting.pop()
            yield path, level
            waiting += [((*path, child.name), child) for child in reversed(level.children)]

    def level(self, path: LevelPath) -> Level:
        """Return the level with a path.

        Raises
        ------
        KeyError
            There is none.
        """
        return self._levels[path]

    def shown(self, path: LevelPath) -> str:
        """Return the name of a level with those above it, from the top down: ``Household/Person``."""
        return "/".join((self.top.name, *path))

    def tags(self, path: LevelPath) -> tuple[str, ...]:
        """Return the Clark names of the levels on a path below the top level."""
        return tuple(self._levels[path[: depth + 1]].tag for depth in range(len(path)))

    def layout_of(self, path: LevelPath) -> Layout:
        """Return the layout of a level: where its records stand, with the fields of its own."""
        fields = self._levels[path].fields
        return replace(self.layout, record_path=(*self.layout.record_path, *self.tags(path)), fields=fields)

    @property
    def outline(self) -> Layout:
        """The layout of the units with all names within them as if they were fields: what has to be declared."""
        own = dict.fromkeys(f for level in self._levels.values() for f in level.fields)
        inner = dict.fromkeys(Field(level.name, level.tag) for path, level in self._levels.items() if path)
        return replace(self.layout, fields=(*own, *inner))

    @cached_property
    def names(self) -> Mapping[str, tuple[LevelPath, Field]]:
        """Every field by the name that settings and reports have for it, with its level.

        It is the field's own where no other level has one like it; else the path stands before it: ``Person/Age``,
        ``Person/@id``, and for a field of the top level the name of that, ``Household/Age``.
        """
        times = Counter(f.name for level in self._levels.values() for f in level.fields)
        return {
            f.name if times[f.name] == 1 else self._full(path, f): (path, f)
            for path, level in self._levels.items()
            for f in level.fields
        }

    @cached_property
    def name_of(self) -> Mapping[tuple[LevelPath, Field], str]:
        """The name of each field of a level: `names`, the other way round."""
        return {place: name for name, place in self.names.items()}

    def named(self, name: str) -> tuple[LevelPath, Field] | None:
        """Return the field that a name means, with its level; None where it means none, or may mean several.

        A field that no other level has one like may be named with its path, too.
        """
        return self.names.get(name) or self._full_names.get(name)

    def candidates(self, name: str) -> tuple[str, ...]:
        """Return the names of all fields that are called so on their own levels."""
        return tuple(full for full, (_, field) in self.names.items() if field.name == name)

    def _full(self, path: LevelPath, field: Field) -> str:
        if path:
            return "/".join((*path, field.name))
        clash = any(child.name == self.top.name for child in self.top.children)
        return field.name if clash else f"{self.top.name}/{field.name}"

    @cached_property
    def _full_names(self) -> Mapping[str, tuple[LevelPath, Field]]:
        return {self._full(path, f): (path, f) for path, level in self._levels.items() for f in level.fields}

    @cached_property
    def _levels(self) -> Mapping[LevelPath, Level]:
        return dict(self.levels())
