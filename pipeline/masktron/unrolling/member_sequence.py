"""Of whose order among its siblings an expression speaks.

Theorem. Where an expression is evaluated over a unit of which members of other kinds alone change places, its value
does not change. Proof: nodes of a set are told by their place in the document in these cases alone: a predicate or a
function that reads a position, an axis to siblings, the first node of a set that stands for a text or a number, a
sequence of values made of several nodes, and a sum of numbers that are no integers, as floating point rounds by the
order. `Unroller` notes the nodes in each of them; of two nodes, the document order is that of the members in which
their paths part, so that it is the order of that kind that is spoken of.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from masktron.sources.level_tree import LevelPath
from masktron.sources.wide.wide_record import UnitField, UnitNode

type FieldOfLevel = tuple[LevelPath, str]

ORDERLESS = frozenset({"count", "exists", "empty", "not", "boolean", "max", "min"})
"""Functions of a node set or a sequence that read no order of it."""
ADDING = frozenset({"sum", "avg"})
"""Functions that add, which is exact for integers."""


@dataclass(slots=True)
class SequenceReads:
    """Kinds of members of whose order something was read.

    Attributes
    ----------
    inexact : frozenset of (tuple of str, str)
        Fields with decimals, by level and name.
    kinds : set of tuple of str
        Paths of the levels.
    """

    inexact: frozenset[FieldOfLevel] = frozenset()
    kinds: set[LevelPath] = field(default_factory=set)

    def note(self, nodes: Iterable[UnitNode]) -> None:
        """Note that something depends on how some nodes follow each other."""
        paths = {_path(node) for node in nodes}
        depth = 0
        while any(len(path) > depth for path in paths):
            members: dict[tuple[tuple[tuple[str, int], ...], str], set[int]] = {}
            for path in paths:
                if len(path) > depth:
                    members.setdefault((path[:depth], path[depth][0]), set()).add(path[depth][1])
            for (above, kind), places in members.items():
                if len(places) > 1:
                    self.kinds.add((*(name for name, _ in above), kind))
            depth += 1

    def note_sum(self, nodes: Iterable[UnitNode]) -> None:
        """Note that some nodes are added."""
        listed = list(nodes)
        leaves = [node for node in listed if isinstance(node, UnitField)]
        if len(leaves) < len(listed) or any((one.place.level_path, one.field.name) in self.inexact for one in leaves):
            self.note(listed)


def _path(node: UnitNode) -> tuple[tuple[str, int], ...]:
    return node.place.path if isinstance(node, UnitField) else node.path
