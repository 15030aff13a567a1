"""Location paths, and where in a flat file they lead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal as OneOf

from masktron.rulebook.expressions import tree
from masktron.rulebook.expressions.tree import (
    ANY,
    Call,
    ContextItem,
    Expression,
    Filter,
    KindTest,
    Literal,
    NameTest,
    Root,
    Step,
    Variable,
)
from masktron.sources.record_layout import Layout

type PathOrigin = OneOf["focus", "root", "current", "document", "variable"]
_FORWARD = frozenset({"child", "attribute", "descendant", "descendant-or-self", "self"})
_AXES = _FORWARD | {"preceding-sibling", "following-sibling", "preceding", "following", "parent", "ancestor"}


class NotAcross(Exception):  # noqa: N818 - an outcome, not an error: the check goes to an engine as it is
    """An expression has no evaluation as an aggregate; the text says why."""


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step; ``gap`` where ``//`` stands before it, ``tag`` a Clark name or ``*``."""

    axis: str
    tag: str
    gap: bool = False
    predicates: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Path:
    """A path as written; ``name`` is that of the variable it starts with."""

    origin: PathOrigin
    steps: tuple[PathStep, ...] = ()
    name: str = ""


@dataclass(frozen=True, slots=True)
class PathReader:
    """Reads the paths of one rulebook."""

    beside: frozenset[str] = frozenset()
    """Names of documents that are not the original: nothing is gathered there."""

    def read(self, expression: Expression) -> Path:  # noqa: PLR0911 -- one branch per kind of path
        """Return the path that an expression is.

        Raises
        ------
        NotAcross
            It is no path, or of a kind that is not analysed.
        """
        match expression:
            case Root():
                return Path("root")
            case tree.Path(first=first, hops=hops):
                path = self.read(first)
                steps = (replace(_step(hop.to), gap=hop.deep) for hop in hops)
                return replace(path, steps=(*path.steps, *steps))
            case Filter(base=base, predicates=predicates):
                path = self.read(base)
                *before, last = path.steps or (PathStep("self", "*"),)
                last = replace(last, predicates=(*last.predicates, *predicates))
                return replace(path, steps=(*before, last))
            case ContextItem():
                return Path("focus")
            case Variable(name=name):
                return Path("variable", name=name)
            case Call(standard="document" | "doc", arguments=(where, *_)):
                if isinstance(where, Literal) and where.value in self.beside:
                    raise NotAcross("another document than the original")
                return Path("document")
            case Call(standard="current"):
                return Path("current")
            case _:
                return Path("focus", (_step(expression),))


def _step(expression: Expression) -> PathStep:
    match expression:
        case Step(axis=axis, test=test, predicates=predicates) if axis in _AXES:
            anything = test == KindTest("node") and axis in ("self", "parent")
            return PathStep(axis, "*" if anything else _tag(test), predicates=predicates)
        case Filter(base=base, predicates=predicates):
            inner = _step(base)
            return replace(inner, predicates=(*inner.predicates, *predicates))
        case ContextItem():
            return PathStep("self", "*")
        case _:
            raise NotAcross(f"'{expression}' is no plain step")


def _tag(test: NameTest | KindTest) -> str:
    """Return the Clark name of a name test, or ``*``."""
    if isinstance(test, NameTest):
        if (test.local, test.space) == (ANY, ANY):
            return "*"
        if test.tag:
            return test.tag
    raise NotAcross("a node test that is no name")


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a path leads: a level of the record path (``level`` 0 is the document), and a field below the record."""

    level: int
    field: int | None = None


@dataclass(frozen=True, slots=True)
class Map:
    """A flat file, to walk on by names.

    Attributes
    ----------
    outside : frozenset of str
        Clark names of elements beside the records, ``@`` before those of attributes.
    """

    layout: Layout
    outside: frozenset[str] = frozenset()

    @property
    def record(self) -> Spot:
        """Where the records stand."""
        return Spot(len(self.layout.record_path))

    def walk(self, spots: Iterator[Spot] | list[Spot], step: PathStep) -> list[Spot]:
        """Return where a step leads from some places, each one once.

        Raises
        ------
        NotAcross
            It may lead to nodes beside the records too.
        """
        found: dict[Spot, None] = {}
        for spot in spots:
            for start in self._below(spot) if step.gap else [spot]:
                for reached in self._one(start, step):
                    found[reached] = None
        return list(found)

    def _below(self, spot: Spot) -> Iterator[Spot]:
        yield spot
        if spot.field is not None:
            return
        for level in range(spot.level + 1, self.record.level + 1):
            yield Spot(level)
        yield from (Spot(self.record.level, i) for i, f in enumerate(self.layout.fields) if not f.attribute)

    def _one(self, spot: Spot, step: PathStep) -> list[Spot]:
        match step.axis:
            case "child":
                return self._children(spot, step)
            case "descendant":
                return [s for start in self._below(spot) for s in self._children(start, step)]
            case "attribute":
                return self._attributes(spot, step)
            case "parent":
                return self._parent(spot, step)
            case "self" | "descendant-or-self" if step.tag == "*":
                return [spot] if step.axis == "self" else list(self._below(spot))
            case _:
                raise NotAcross(f"the axis {step.axis}")

    def _children(self, spot: Spot, step: PathStep) -> list[Spot]:
        if spot.field is not None:
            return []
        if spot.level < self.record.level:
            tag = self.layout.record_path[spot.level]
            beside = self.outside if step.tag == "*" or (step.gap or step.axis == "descendant") else frozenset()
            if step.tag in beside or (step.tag == "*" and any(not name.startswith("@") for name in beside)):
                raise NotAcross(f"'{step.tag}' stands beside the records too")
            return [Spot(spot.level + 1)] if step.tag in ("*", tag) else []
        if step.tag == "*":
            raise NotAcross("all fields of a record")
        return [
            Spot(spot.level, i) for i, f in enumerate(self.layout.fields) if not f.attribute and f.tag == step.tag
        ]

    def _attributes(self, spot: Spot, step: PathStep) -> list[Spot]:
        if step.tag == "*":
            raise NotAcross("all attributes")
        if step.gap and f"@{step.tag}" in self.outside:
            raise NotAcross(f"'@{step.tag}' stands outside the records too")
        if spot.field is not None or spot.level < self.record.level:
            return []
        return [Spot(spot.level, i) for i, f in enumerate(self.layout.fields) if f.attribute and f.tag == step.tag]

    def _parent(self, spot: Spot, step: PathStep) -> list[Spot]:
        above = Spot(spot.level) if spot.field is not None else Spot(spot.level - 1)
        if above.level < 1 or step.tag not in ("*", self.layout.record_path[above.level - 1]):
            return []
        return [above]
