"""That every byte of a nested file is a tree of tables, and how many records each level has.

The work is shared as for flat files (`masktron.sources.xml.flatness`): libxml2 says whether the file is well-formed,
the kernel tokenizes units with all records in them, and expat gets each unit that the kernel does not understand to
the last byte, or that tells something new: a name, or the first parent with two records of one kind. So the tree of
paths is the one that expat makes of the whole file, but for the counts, which the kernel adds of the units that expat
did not see. Lines are true: where units are left out, as many line ends stand in their place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.scanner import LOOK_BEFORE, LOOK_RECORD, line_breaks
from masktron.sources.level_tree import TOP, Level, LevelPath, Tree
from masktron.sources.record_layout import Field, Layout, Shape
from masktron.sources.xml.blocks import Found, LevelName, LevelScan, NestedFile
from masktron.sources.xml.flatness import MOST_NAMES, SHOWN, KernelReading, read_whole
from masktron.sources.xml.parser import Encoding
from masktron.sources.xml.prefix import NotPlain, Paths, Start
from masktron.sources.xml.shapes import PathNode, is_tidy, local, shape_of, tree_of
from masktron.sources.xml.wellformed import WellFormedness, stamp_of

_ROWS = 1 << 15

type _Place = tuple[str, ...]
"""Clark names from below the unit down; empty for the unit."""
type _Raw = tuple[bytes, bool]
"""A name as written, and whether it is that of an attribute."""


def levels_established(
    path: Path,
    stream: BinaryIO,
    encoding: Encoding,
    begun: tuple[Start, PathNode],
    record: str | None,
    hints: Collection[str],
    block: int,
    judge: WellFormedness | None = None,
) -> tuple[Layout, Shape, Tree, NestedFile]:
    """Read a whole file whose first units were found to be records of records.

    Parameters
    ----------
    begun : tuple of Start and PathNode
        From `masktron.sources.xml.prefix.first_unit`.

    Raises
    ------
    NotPlain
        The file is no tree of tables all through, or written in a way that the kernel does not read.
    XMLSyntaxError, ExpatError, UnicodeDecodeError, MasktronError
        It cannot be parsed, or nothing tells which element is the unit.
    """
    stamp = stamp_of(stream)
    start, first = begun
    inner = {node.path[len(start.path) :] for node in first.descendants() if node.inner}
    reading = _LevelReading(Paths(path, encoding), start, encoding.codec, inner)
    read_whole(reading, stream, stamp, block, judge)
    layout, node = reading.walk.found(encoding, record, hints)
    tree = tree_of(node, layout)
    if tree is None or layout.record_path != start.path or stamp_of(stream) != stamp:
        raise NotPlain
    tree = replace(tree, top=reading.counted(tree.top))
    nested = NestedFile(
        codec=encoding.codec,
        start=start.offset,
        line=start.line,
        units=reading.records,
        unit=start.raw,
        names=tuple(reading.names_in(tree).items()),
        stamp=stamp,
    )
    return layout, shape_of(node), tree, nested


@dataclass(slots=True)
class _Counted:
    """Records of a level in units that expat did not see.

    Attributes
    ----------
    records, parents : int
    least, most : int
        Of the records in one parent; 0 where there is no parent.
    """

    records: int = 0
    parents: int = 0
    least: int = 0
    most: int = 0

    def add(self, counts: NDArray[np.intp]) -> None:
        """Take the numbers of records in some parents."""
        if len(counts):
            fewest = int(counts.min())
            self.least = min(self.least, fewest) if self.parents else fewest
            self.most = max(self.most, int(counts.max()))
            self.parents += len(counts)
            self.records += int(counts.sum())


class _LevelReading(KernelReading):
    """The pass over a nested file."""

    def __init__(self, walk: Paths, start: Start, codec: str, inner: Collection[_Place]) -> None:
        self._inner = frozenset(inner)
        self._names: dict[_Place, dict[_Raw, Field | _Place | None]] = {TOP: {}}
        self._fields: dict[_Place, dict[Field, int]] = {TOP: {}}
        self._counted: dict[_Place, _Counted] = {TOP: _Counted()}
        super().__init__(walk, start, codec)
        self._fed_line = start.line

    def counted(self, level: Level, place: _Place = TOP) -> Level:
        """Return a level that expat has seen with the counts of the whole file."""
        children = tuple(self.counted(child, (*place, child.tag)) for child in level.children)
        if place == TOP:
            return replace(level, children=children, count=self.records, least=self.records, most=self.records)
        own = self._counted.get(place)
        if own is None:  # in units alone that expat has seen
            own = _Counted()
            own.add(np.zeros(self._unseen(place[:-1]), dtype=np.intp))
        return replace(
            level,
            children=children,
            count=level.count + own.records,
            least=min(level.least, own.least) if own.parents else level.least,
            most=max(level.most, own.most),
        )

    def _unseen(self, place: _Place) -> int:
        """Return how many records of a level stand in units that expat did not see."""
        return self._counted[place].records if place in self._counted else 0

    def names_in(self, tree: Tree) -> dict[LevelPath, tuple[LevelName, ...]]:
        """Return the names that were met, by the levels and fields of a tree.

        Raises
        ------
        NotPlain
            The kernel has taken records for fields, or fields for records.
        """
        levels = {self._place(tree, path): (path, level) for path, level in tree.levels()}
        if not levels.keys() >= self._names.keys():
            raise NotPlain
        return {levels[place][0]: tuple(_ordered(own, place, levels)) for place, own in self._names.items()}

    @staticmethod
    def _place(tree: Tree, path: LevelPath) -> _Place:
        return tuple(tree.level(path[: depth + 1]).tag for depth in range(len(path)))

    def _new_table(self) -> LevelScan:
        paths = {place: tuple(local(tag) for tag in place) for place in self._names}
        names = {
            paths[place]: [_named(raw, one, self._fields[place], paths) for raw, one in own.items()]
            for place, own in self._names.items()
        }
        if len(names) < len(paths):  # two kinds of records with one local name
            raise NotPlain
        return LevelScan(self.start.raw, names, [len(own) for own in self._fields.values()], _ROWS)

    def _learn(self, raw: bytes, found: Found) -> None:
        place, attribute = list(self._names)[found.level], found.is_attribute
        tag = self.walk.clark(raw, attribute=attribute)
        self._names[place][raw, attribute] = None if tag is None else self._meaning(place, tag, attribute=attribute)
        if sum(map(len, self._names.values())) > MOST_NAMES:
            raise NotPlain
        self._table = self._new_table()

    def _meaning(self, place: _Place, tag: str, *, attribute: bool) -> Field | _Place | None:
        node = self._node(place)
        child = node.children.get(tag.removeprefix("{"))
        if tag not in node.attributes if attribute else child is None:
            return None
        inner = (*place, tag)
        if child is not None and not attribute and (child.inner or inner in self._inner):
            self._names.setdefault(inner, {})
            self._fields.setdefault(inner, {})
            if inner not in self._counted:
                self._counted[inner] = _Counted()
                self._counted[inner].add(np.zeros(self._unseen(place), dtype=np.intp))
            return inner
        field = Field("", tag, attribute)
        self._fields[place].setdefault(field, len(self._fields[place]))
        return field

    def _node(self, place: _Place) -> PathNode:
        try:
            return self.walk.at((*self.start.path, *place))
        except StopIteration:
            raise NotPlain from None

    def _show(self, data: NDArray[np.uint8], found: Found) -> bool:
        table, rows = self._table, found.rows
        if not isinstance(table, LevelScan):
            raise TypeError("not of a nested file")
        table.look[: max(0, min(rows, SHOWN - self.records))] |= LOOK_RECORD
        self._count(table, rows)
        shown = False
        for row, text in self._spans(data, rows):
            line = int(table.lines[0, row])
            if table.look[row] & LOOK_BEFORE:
                line -= int(line_breaks(data, int(table.stops[row - 1]) if row else 0, int(table.starts[row])))
            self._feed(text, line)
            shown = True
        return shown

    def _feed(self, text: bytes, line: int) -> None:
        """Let expat read what begins in a line of the file."""
        self.walk.feed(b"\n" * (line - self._fed_line) + text)
        self._fed_line = line + int(line_breaks(np.frombuffer(text, dtype=np.uint8), 0, len(text)))

    def _end(self, rest: bytes) -> None:
        self._feed(rest, self._line)

    def _count(self, table: LevelScan, rows: int) -> None:
        """Count the records in units that expat need not see; it sees the first parent with two of a kind."""
        units = {TOP: np.arange(rows)}
        parted = {}
        for at, place in enumerate(self._names):
            parents = table.parents[at, : int(table.counts[at])]
            if place:
                units[place] = units[place[:-1]][parents]
                parted[place] = np.bincount(parents, minlength=len(units[place[:-1]]))
                many = np.flatnonzero(parted[place] > 1)
                if len(many) and not self._node(place).repeated:
                    table.look[units[place[:-1]][many[0]]] |= LOOK_RECORD
        unseen = table.look[:rows] & LOOK_RECORD == 0
        self._counted[TOP].add(np.ones(int(unseen.sum()), dtype=np.intp))
        for place, counts in parted.items():
            self._counted[place].add(counts[unseen[units[place[:-1]]]])

    def _check_shape(self) -> None:
        record = self._node(TOP)
        fields = {(*place, f.tag) for place, own in self._fields.items() for f in own if not f.attribute}
        taken = {node.path[len(record.path) :] for node in record.descendants() if node.inner}
        if not is_tidy(record) or not fields.isdisjoint(taken):
            raise NotPlain


def _named(
    raw: _Raw, one: Field | _Place | None, fields: Mapping[Field, int], paths: Mapping[_Place, LevelPath]
) -> LevelName:
    if isinstance(one, tuple):
        return LevelName(*raw, inner=paths[one])
    return LevelName(*raw, field=-1 if one is None else fields[one])


def _ordered(
    names: Mapping[_Raw, Field | _Place | None], place: _Place, levels: Mapping[_Place, tuple[LevelPath, Level]]
) -> list[LevelName]:
    """Return the names of a level in the order of its fields and of the records within it."""
    level = levels[place][1]
    fields = {replace(f, name=""): at for at, f in enumerate(level.fields)}
    kinds = [child.tag for child in level.children]
    found = []
    for (raw, attribute), one in names.items():
        if isinstance(one, tuple):
            found.append((len(fields) + kinds.index(one[-1]), LevelName(raw, attribute, inner=levels[one][0])))
        else:
            at = -1 if one is None else fields.get(one, -1)
            found.append((at, LevelName(raw, attribute, at)))
    return [name for _, name in sorted(found, key=lambda pair: pair[0])]
