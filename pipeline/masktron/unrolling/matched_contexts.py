"""Which nodes of a unit the context of a rule selects, each with the condition under which it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from masktron.sources.wide.wide_record import UnitField, UnitNode, UnitPlace
from masktron.unrolling.unit_focus import Focus
from masktron.unrolling.unrolled_expressions import Unroller
from masktron.unrolling.unrolled_values import (
    FALSE,
    TRUE,
    NodeItem,
    NotUnrolled,
    WideText,
    all_of,
    any_of,
    set_of,
    there,
)
from masktron.xpath.context_match import ContextPath, Step
from masktron.xpath.tokens import parse


@dataclass(frozen=True, slots=True)
class ContextMatcher:
    """Matches nodes of a unit with contexts.

    Attributes
    ----------
    unroller : Unroller
    above : tuple of str
        Clark names of the elements around the unit, from the root.
    outer : Focus
        With the variables that contexts may see.
    """

    unroller: Unroller
    above: tuple[str, ...]
    outer: Focus

    def matched(self, node: UnitNode, paths: Sequence[ContextPath]) -> WideText:
        """Return the condition under which some path selects a node that is there.

        Raises
        ------
        NotUnrolled
            It is not known.
        """
        found = any_of([self._path(node, path.steps, absolute=path.absolute) for path in paths])
        return FALSE if found is FALSE else all_of([there(node), found])

    def _path(self, node: UnitNode, steps: Sequence[Step], *, absolute: bool) -> WideText:
        if not steps or not self._names(steps[-1], node):
            return FALSE
        *before, last = steps
        parent = node.parent
        if parent is None:
            if last.positional:
                raise NotUnrolled("the position of a record")
            own = self._fulfilled(node, last)
            return own if own is FALSE else all_of([own, self._around(before, absolute=absolute, gap=last.gap)])
        if last.positional and parent.hidden:
            raise NotUnrolled(f"a position among what else is in {parent.level.name}")
        own = self._chosen(parent, node, last)
        if own is FALSE:
            return FALSE
        return all_of([own, self._behind(parent, before, absolute=absolute, gap=last.gap)])

    def _behind(self, parent: UnitPlace, before: Sequence[Step], *, absolute: bool, gap: bool) -> WideText:
        """Return whether the steps before lead to the parent, or where a gap follows to what is around it."""
        if not before:
            return TRUE if gap or not absolute else FALSE
        if not gap:
            return self._path(parent, before, absolute=absolute)
        found = []
        at: UnitPlace | None = parent
        while at is not None:
            found.append(self._path(at, before, absolute=absolute))
            at = at.parent
        if self._around(before, absolute=absolute, gap=True) is TRUE:
            found.append(TRUE)
        return any_of(found)

    def _around(self, steps: Sequence[Step], *, absolute: bool, gap: bool) -> WideText:
        """Return whether steps lead to what stands around the unit, with or without a gap before the unit."""
        tags = list(self.above)
        rest = list(steps)
        while rest:
            step = rest.pop()
            while tags and not self._takes(step, tags[-1], attribute=False):
                if not gap:
                    return FALSE
                tags.pop()
            if not tags:
                return FALSE
            if step.predicates:
                raise NotUnrolled("a condition on what stands around the unit")
            if gap and any(self._takes(step, tag, attribute=False) for tag in tags[:-1]) and rest:
                raise NotUnrolled("a path that may begin at several elements around the unit")
            tags.pop()
            gap = step.gap
        return TRUE if not absolute or gap or not tags else FALSE

    def _chosen(self, parent: UnitPlace, node: UnitNode, step: Step) -> WideText:
        """Return whether a step from its parent selects a node."""
        siblings: list[UnitNode] = [*parent.leaves, *(member for kind in parent.members for member in kind)]
        items = [
            NodeItem(one, there(one) if isinstance(one, UnitPlace) else TRUE)
            for one in siblings
            if self._names(step, one)
        ]
        chosen = set_of(items)
        for predicate in step.predicates:
            walk = self.unroller.of(predicate)
            chosen = self.unroller.predicated(walk.root, walk, chosen.items, self.outer, reverse=False)
        return next((item.when for item in chosen.items if item.node is node), FALSE)

    def _fulfilled(self, node: UnitNode, step: Step) -> WideText:
        conditions = [self.unroller.truth(predicate, self.outer.at(node)) for predicate in step.predicates]
        return all_of(conditions)

    def _names(self, step: Step, node: UnitNode) -> bool:
        if isinstance(node, UnitField):
            return self._takes(step, node.field.tag, attribute=node.field.attribute)
        return self._takes(step, node.level.tag, attribute=False)

    def _takes(self, step: Step, tag: str, *, attribute: bool) -> bool:
        if step.kind in ("attribute", "element"):
            test = self.unroller.steps.name_test(parse(step.name, self.unroller.steps.namespaces))
            if test is None:
                raise NotUnrolled(f"the context step {step.test}")
            return (step.kind == "attribute") == attribute and test.takes(tag)
        if step.kind in ("text", "comment", "processing-instruction"):
            return False
        raise NotUnrolled(f"the context step {step.test}")
