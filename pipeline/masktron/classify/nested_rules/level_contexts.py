"""On which records of a nested file the context of a rule is, and under which condition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from masktron.classify.nested_rules.level_reach import LevelFocus, every, some
from masktron.classify.nested_rules.member_figures import RecordNode
from masktron.classify.nested_rules.tree_reader import TreeReader
from masktron.sources.level_tree import Tree
from masktron.sources.records import Field
from masktron.unrolling.unrolled_values import NotUnrolled
from masktron.xpath.context_match import ContextPath, Step
from masktron.xpath.tokens import parse

_CURRENT = re.compile(r"\bcurrent\s*\(")


@dataclass(frozen=True, slots=True)
class FiringKind:
    """All records of one level, or all fields of one name in them.

    Attributes
    ----------
    node : RecordNode
        Any of them.
    """

    node: RecordNode
    field: Field | None


def kinds_of(tree: Tree) -> Iterator[FiringKind]:
    """Yield the kinds of nodes of a nested file on which rules may fire."""
    nodes: dict[tuple[str, ...], RecordNode] = {}
    for path, level in tree.levels():
        nodes[path] = RecordNode(level, path, nodes[path[:-1]] if path else None)
        yield FiringKind(nodes[path], None)
        yield from (FiringKind(nodes[path], own) for own in level.fields)


@dataclass(frozen=True, slots=True)
class LevelContexts:
    """Matches kinds of nodes with contexts.

    Attributes
    ----------
    reader : TreeReader
    above : tuple of str
        Clark names of the elements around the units, from the root.
    outer : LevelFocus
        With the variables that contexts may see.
    """

    reader: TreeReader
    above: tuple[str, ...]
    outer: LevelFocus

    def matched(self, kind: FiringKind, paths: Sequence[ContextPath]) -> str | None:
        """Return the condition under which some path selects a node of a kind; None where none ever does.

        Raises
        ------
        NotUnrolled
            It is not known.
        """
        found = [self._path(kind.node, kind.field, path.steps, absolute=path.absolute) for path in paths]
        return _any(found)

    def _path(self, node: RecordNode, field: Field | None, steps: Sequence[Step], *, absolute: bool) -> str | None:
        if not steps or not self._takes(steps[-1], node, field):
            return None
        *before, last = steps
        own = self._fulfilled(last, node, field)
        above = node if field is not None else node.above
        around = (
            self._around(before, absolute=absolute, gap=last.gap)
            if above is None
            else self._behind(above, before, absolute=absolute, gap=last.gap)
        )
        return None if around is None else every([one for one in (*own, around) if one != "true()"])

    def _behind(self, above: RecordNode, before: Sequence[Step], *, absolute: bool, gap: bool) -> str | None:
        """Return whether the steps before lead to the record above, or where a gap follows to one around it."""
        if not before:
            return "true()" if gap or not absolute else None
        if not gap:
            return self._path(above, None, before, absolute=absolute)
        found = [self._path(at, None, before, absolute=absolute) for at in above.around()]
        return _any([*found, self._around(before, absolute=absolute, gap=True)])

    def _around(self, steps: Sequence[Step], *, absolute: bool, gap: bool) -> str | None:
        """Return whether steps lead to what stands around the unit, with or without a gap before the unit."""
        tags, rest = list(self.above), list(steps)
        while rest:
            step = rest.pop()
            while tags and not self._name_takes(step, tags[-1]):
                if not gap:
                    return None
                tags.pop()
            if not tags:
                return None
            if step.predicates or (gap and rest):
                raise NotUnrolled("a context that asks for what stands around the unit")
            tags.pop()
            gap = step.gap
        return "true()" if not absolute or gap or not tags else None

    def _fulfilled(self, step: Step, node: RecordNode, field: Field | None) -> list[str]:
        if step.positional:
            raise NotUnrolled("a position in a context")
        if any(_CURRENT.search(predicate) for predicate in step.predicates):
            raise NotUnrolled("current() in a context")
        here = LevelFocus(node, field, None, 0, self.outer.variables)
        return [self.reader.truth(predicate, here) for predicate in step.predicates]

    def _takes(self, step: Step, node: RecordNode, field: Field | None) -> bool:
        if step.kind not in ("element", "attribute"):
            if step.kind in ("text", "comment", "processing-instruction"):
                return False
            raise NotUnrolled(f"the context step {step.test}")
        if (step.kind == "attribute") != (field is not None and field.attribute):
            return False
        return self._name_takes(step, node.level.tag if field is None else field.tag)

    def _name_takes(self, step: Step, tag: str) -> bool:
        if step.kind not in ("element", "attribute"):
            raise NotUnrolled(f"the context step {step.test}")
        test = self.reader.steps.name_test(parse(step.name, self.reader.steps.namespaces))
        if test is None:
            raise NotUnrolled(f"the context step {step.test}")
        return test.takes(tag)


def _any(found: Sequence[str | None]) -> str | None:
    known = [one for one in found if one is not None]
    if "true()" in known:
        return "true()"
    return some(list(dict.fromkeys(known))) if known else None
