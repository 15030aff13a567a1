"""Steps of location paths, and where in a flat file they lead."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from masktron.judge.across.selection import NotAcross
from masktron.rulebook.expressions.tree import ANY, ContextItem, Expression, Filter, KindTest, NameTest, Step
from masktron.sources.record_layout import Layout


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step; ``gap`` where ``//`` stands before it, ``tag`` a Clark name or ``*``."""

    axis: str
    tag: str
    gap: bool = False

    def only[T](self, found: Collection[T]) -> T:
        """Return the one place that a step leads to.

        Raises
        ------
        NotAcross
            There is none, or more than one.
        """
        if len(found) != 1:
            many = "more than one" if found else "no"
            raise NotAcross(f"{self.axis}::{self.tag} leads to {many} place of the records")
        return next(iter(found))


def step_of(expression: Expression, *, gap: bool) -> tuple[PathStep, tuple[Expression, ...]]:
    """Return a step of a path, and its predicates.

    Raises
    ------
    NotAcross
        It is no plain step.
    """
    match expression:
        case Step(axis=axis, test=test, predicates=predicates):
            anything = test == KindTest("node") and axis in ("self", "parent")
            return PathStep(axis, "*" if anything else _tag(test), gap), predicates
        case Filter(base=ContextItem() as base, predicates=predicates):
            return step_of(base, gap=gap)[0], predicates
        case ContextItem():
            return PathStep("self", "*", gap), ()
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

    def walk(self, spot: Spot, step: PathStep) -> Spot:
        """Return where a step leads from a place.

        Raises
        ------
        NotAcross
            It leads to no place or to several, or may lead to nodes beside the records too.
        """
        starts = self._below(spot) if step.gap else [spot]
        return step.only({reached for start in starts for reached in self._one(start, step)})

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


class PrefixedNames:
    """Paths of the records and of their fields, with prefixes for their namespaces."""

    def __init__(self, layout: Layout) -> None:
        self.prefixes: dict[str, str] = {}
        self.path = "".join(f"/{self._name(tag)}" for tag in layout.record_path)
        self._fields = [("@" if one.attribute else "") + self._name(one.tag) for one in layout.fields]

    def of(self, at: int) -> str:
        """Return the path of a field from its record."""
        return self._fields[at]

    def at(self, field: int | None) -> str:
        """Return the path of the records, or of a field, from the root."""
        return self.path if field is None else f"{self.path}/{self.of(field)}"

    def _name(self, tag: str) -> str:
        uri, _, local = tag[1:].rpartition("}") if tag.startswith("{") else ("", "", tag)
        if not uri:
            return local
        prefix = next((p for p, u in self.prefixes.items() if u == uri), f"m-v{len(self.prefixes)}")
        self.prefixes[prefix] = uri
        return f"{prefix}:{local}"
