"""What a rule of a nested file reads: single fields of records, and figures over the members of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from masktron.classify.edit import MissingStep
from masktron.constraints import Form
from masktron.sources.level_tree import Level, LevelPath
from masktron.sources.record_layout import Field

type MemberFunction = Literal["count", "sum", "min", "max", "avg", "distinct"]
type SiblingOrder = Literal["before", "after"]


@dataclass(frozen=True, slots=True, eq=False)
class RecordNode:
    """A record of some level that an expression speaks of.

    Attributes
    ----------
    path : tuple of str
        Of its level in the tree.
    above : RecordNode or None
        The record around it; None for the unit.
    depth : int
        0 for the record at which the rule fires and those around it; of a bound record, how many are bound with it.
    order : tuple of (str, RecordNode), optional
        That it stands before or after a sibling.
    picked : Picked, optional
        That it is one of several by its position.
    """

    level: Level
    path: LevelPath
    above: RecordNode | None
    depth: int = 0
    order: tuple[SiblingOrder, RecordNode] | None = None
    picked: Picked | None = None

    def around(self) -> Iterator[RecordNode]:
        """Yield this record and those around it, the innermost first."""
        at: RecordNode | None = self
        while at is not None:
            yield at
            at = at.above


@dataclass(frozen=True, slots=True)
class Picked:
    """The record at a position among those that satisfy a condition; it may not be there.

    Attributes
    ----------
    node : RecordNode
        The bound record that runs over them.
    where : tuple of str
        MemberConditions, as expressions on figures.
    position : int
        From 1.
    from_end : bool
        Whether it counts from the last.
    """

    node: RecordNode
    where: tuple[str, ...]
    position: int
    from_end: bool = False


@dataclass(frozen=True, slots=True)
class SingleField:
    """The field of one record."""

    node: RecordNode
    field: Field


@dataclass(frozen=True, slots=True)
class MemberFigure:
    """A figure over all records that can take the place of bound ones.

    Attributes
    ----------
    function : {"count", "sum", "min", "max", "avg", "distinct"}
        ``distinct`` is how many values there are.
    bound : tuple of RecordNode
        The outermost first.
    where : tuple of str
        MemberConditions that all of them satisfy, as expressions on figures.
    of : str
        The figure that is summed or compared; empty where records are counted.
    """

    function: MemberFunction
    bound: tuple[RecordNode, ...]
    where: tuple[str, ...]
    of: str = ""


type RuleFigure = SingleField | MemberFigure


@dataclass(slots=True)
class FigureTable:
    """The figures of a rule by the names that they have as fields of a flat record; equal ones have one name.

    Steps to a name that no record of their level has lead to nothing, and are noted in `missing`.
    """

    figures: dict[str, RuleFigure] = field(default_factory=dict)
    missing: list[MissingStep] = field(default_factory=list)
    _names: dict[tuple[object, ...], str] = field(default_factory=dict)
    _nodes: dict[tuple[object, ...], RecordNode] = field(default_factory=dict)

    def single(self, node: RecordNode, own: Field) -> str:
        """Return the name of a field of a record."""
        return self._named((id(node), own.name), SingleField(node, own))

    def figure(self, figure: MemberFigure) -> str:
        """Return the name of a figure over members."""
        nodes = tuple(map(id, figure.bound))
        return self._named((figure.function, nodes, figure.where, figure.of), figure)

    def node(
        self,
        level: Level,
        above: RecordNode,
        depth: int,
        order: tuple[SiblingOrder, RecordNode] | None = None,
        picked: Picked | None = None,
    ) -> RecordNode:
        """Return a record of a level in another record; the same one for the same asking."""
        path = (*above.path, level.name)
        chosen = picked and (id(picked.node), picked.where, picked.position, picked.from_end)
        key = (id(above), path, depth, order and (order[0], id(order[1])), chosen)
        if key not in self._nodes:
            self._nodes[key] = RecordNode(level, path, above, depth, order, picked)
        return self._nodes[key]

    def _named(self, key: tuple[object, ...], figure: RuleFigure) -> str:
        if key not in self._names:
            self._names[key] = f"{MARK}{len(self._names) + 1}"
            self.figures[self._names[key]] = figure
        return self._names[key]


MARK = "\u019b"
"""With it, the names of figures begin: a letter that no rulebook has where a name may stand."""


@dataclass(frozen=True, slots=True, eq=False)
class LevelRule:
    """What a check of a nested file says, at each record at which it fires.

    Attributes
    ----------
    node : RecordNode
        Any record at which it fires.
    field : Field or None
        The field of it on which the context is, where it is on one.
    form : Form
        What holds there, over the names of figures.
    figures : mapping of str to RuleFigure
    conditions : mapping of tuple of str to Form
        The form of each condition on members, by its expressions.
    """

    node: RecordNode
    field: Field | None
    form: Form
    figures: Mapping[str, RuleFigure]
    conditions: Mapping[tuple[str, ...], Form]

    def fields_read(self) -> Iterable[tuple[LevelPath, Field]]:
        """Yield the fields that it reads, each with the path of its level."""
        for figure in self.figures.values():
            if isinstance(figure, SingleField):
                yield figure.node.path, figure.field
        if self.field is not None:
            yield self.node.path, self.field
