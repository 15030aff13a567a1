"""A rulebook on nested records as one on wide records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from masktron.errors import RulebookError
from masktron.rulebook.analysis import context_of, once
from masktron.rulebook.context_match import ContextPath, ContextStep
from masktron.rulebook.expressions import tree
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import Expression
from masktron.rulebook.schema import Check, Let, Pattern, Rule, Rulebook
from masktron.sources.level_tree import LevelPath
from masktron.sources.record_layout import Layout
from masktron.sources.wide.wide_record import UnitField, UnitNode, UnitPlace, WideRecord
from masktron.unrolling.unit_steps import FieldOfLevel, SequenceReads, UnitSteps
from masktron.unrolling.unrolled_expressions import Unroller
from masktron.unrolling.unrolled_values import (
    FALSE,
    TRUE,
    Focus,
    NodeItem,
    NotUnrolled,
    WideText,
    all_of,
    any_of,
    set_of,
    there,
)


@dataclass(frozen=True, slots=True)
class UnrolledCheck:
    """Where a check on wide records comes from.

    Attributes
    ----------
    check : int
        Index of the check in the rulebook as it is written.
    node : str
        Name of the member, or of its field, on which it fires; empty for the unit.
    """

    check: int
    node: str


@dataclass(frozen=True, slots=True)
class Unrolled:
    """A rulebook on the wide records of one class of compositions.

    Attributes
    ----------
    rulebook : Rulebook
        Its checks fire at most once in a record.
    origins : tuple of UnrolledCheck
        Of each of them.
    reasons : mapping of int to str
        Why a check of the rulebook as it is written is not among them, or not with all nodes on which it fires.
    sequences : mapping of tuple of str to tuple of int
        Kinds of members, by level, of whose order these checks of the rulebook as it is written speak.
    """

    rulebook: Rulebook
    origins: tuple[UnrolledCheck, ...]
    reasons: Mapping[int, str]
    sequences: Mapping[LevelPath, tuple[int, ...]]


def unroll(
    rulebook: Rulebook, wide: WideRecord, layout: Layout, inexact: frozenset[FieldOfLevel] = frozenset()
) -> Unrolled:
    """Write the rules of a nested file for the wide records of one class of compositions.

    For each node on which a check may fire there is one check on the wide record, and each pattern becomes one for
    each node, with the rules in the order in which the node is offered to them: so a check fires on a node of a unit,
    and fails there, exactly where the check of that node does on the wide record.

    Parameters
    ----------
    rulebook : Rulebook
    wide : WideRecord
    layout : Layout
        Of the nested file, whose record is the unit.
    inexact : frozenset of (tuple of str, str)
        Fields with decimals, by level and name: sums of these depend on their order.
    """
    return _Unrolling(rulebook, wide, layout, inexact).done()


@dataclass(slots=True)
class _Unrolling:
    original: Rulebook
    wide: WideRecord
    layout: Layout
    inexact: frozenset[FieldOfLevel]
    reasons: dict[int, str] = field(default_factory=dict)
    origins: list[UnrolledCheck] = field(default_factory=list)
    sequences: dict[LevelPath, set[int]] = field(default_factory=dict)
    unroller: Unroller = field(init=False)

    def __post_init__(self) -> None:
        above = self.layout.record_path[:-1]
        self.unroller = Unroller(
            self.original.version, UnitSteps(dict(self.original.namespaces), above), SequenceReads(self.inexact)
        )

    def done(self) -> Unrolled:
        patterns: list[Pattern] = []
        outer = self._with(Focus(None, None), self.original.lets)
        nodes: list[UnitNode] = []
        for place in self.wide.places:
            nodes += [place, *place.leaves]
        for pattern in self.original.patterns:
            self.unroller = replace(self.unroller, version=pattern.version)
            patterns += self._pattern(pattern, self._with(outer, pattern.lets), nodes)
        book = replace(self.original, patterns=tuple(patterns), lets=(), documents=(), beside=())
        self._note_sequences(check.index for check in self.original.checks)
        found = {path: tuple(sorted(checks)) for path, checks in self.sequences.items()}
        return Unrolled(book, tuple(self.origins), self.reasons, found)

    def _note_sequences(self, checks: Iterable[int]) -> None:
        """Say of some checks that they speak of the order that has been noted since the last time."""
        noted = self.unroller.sequences.kinds
        if noted:
            listed = tuple(checks)
            for path in noted:
                self.sequences.setdefault(path, set()).update(listed)
            noted.clear()

    def _with(self, focus: Focus, lets: Sequence[Let]) -> Focus:
        """Return the focus with the variables whose values are known."""
        for let in lets:
            try:
                focus = focus.bind(let.name, self.unroller.value(self.unroller.steps.read(let.value), focus))
            except NotUnrolled:
                focus = focus.without(let.name)
        return focus

    def _pattern(self, pattern: Pattern, outer: Focus, nodes: Sequence[UnitNode]) -> Iterator[Pattern]:
        matcher = ContextMatcher(self.unroller, outer)
        blocked = ""
        candidates: list[tuple[Rule, dict[int, WideText]]] = []
        for at_rule, rule in enumerate(pattern.rules):
            # which nodes a rule is offered, those before it decide
            reached = [check.index for later in pattern.rules[at_rule:] for check in later.checks]
            paths = context_of(self.original, rule.context)
            if blocked or paths is None:
                blocked = blocked or "the context is not a plain path"
                self._give_up(rule, blocked)
                blocked = (
                    blocked if blocked.startswith("an earlier") else f"an earlier rule of the pattern: {blocked}"
                )
                continue
            try:
                found = {at: matcher.matched(node, paths) for at, node in enumerate(nodes)}
            except NotUnrolled as problem:
                self._note_sequences(reached)
                self._give_up(rule, f"the context {rule.shown!r}: {problem}")
                blocked = f"an earlier rule of the pattern: the context {rule.shown!r}: {problem}"
                continue
            self._note_sequences(reached)
            candidates.append((rule, found))
        for at, node in enumerate(nodes):
            rules = tuple(self._rules(node, [(rule, found[at]) for rule, found in candidates], outer))
            if any(rule.checks for rule in rules):
                yield replace(
                    pattern, id=_named(pattern.id, node), lets=(), rules=rules, group=False, continues=False
                )

    def _give_up(self, rule: Rule, reason: str) -> None:
        for check in rule.checks:
            self.reasons.setdefault(check.index, reason)

    def _rules(self, node: UnitNode, offered: Sequence[tuple[Rule, WideText]], outer: Focus) -> Iterator[Rule]:
        for rule, when in offered:
            if when is FALSE:
                continue
            focus = self._with(replace(outer, node=node, current=node), rule.lets)
            self._note_sequences(check.index for check in rule.checks)
            checks = tuple(self._checks(rule, node, focus))
            record = self.wide.layout.record_tag
            context = record if when is TRUE else f"{record}[{when.shown()}]"
            yield replace(rule, context=context, lets=(), checks=checks, written="", visit_each="")
            if when is TRUE:
                return

    def _checks(self, rule: Rule, node: UnitNode, focus: Focus) -> Iterator[Check]:
        for check in rule.checks:
            try:
                test = self.unroller.truth(self.unroller.steps.read(check.test), focus)
            except NotUnrolled as problem:
                self.unroller.sequences.kinds.clear()  # it is judged as it is written
                self.reasons.setdefault(check.index, str(problem))
                continue
            self._note_sequences([check.index])
            index = len(self.origins)
            self.origins.append(UnrolledCheck(check.index, node.name))
            message = "".join(part for part in check.text if isinstance(part, str))
            yield replace(
                check, id=_named(check.id, node), index=index, test=test.shown(), message=(message,), subject=None
            )


def _named(name: str, node: UnitNode) -> str:
    own = node.name
    return f"{name}:{own}" if own else name


@dataclass(frozen=True, slots=True)
class ContextMatcher:
    """Matches nodes of a unit with contexts.

    Attributes
    ----------
    unroller : Unroller
    outer : Focus
        With the variables that contexts may see.
    """

    unroller: Unroller
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

    def _path(self, node: UnitNode, steps: Sequence[ContextStep], *, absolute: bool) -> WideText:
        if not steps or not self._names(steps[-1], node):
            return FALSE
        *before, last = steps
        parent = node.parent
        if parent is None:
            if last.positional:
                raise NotUnrolled("the position of a record")
            own = self._fulfilled(node, last)
            if own is FALSE:
                return FALSE
            around = self.unroller.steps.lead_around(before, absolute=absolute, gap=last.gap)
            return own if around else FALSE
        if last.positional and parent.hidden:
            raise NotUnrolled(f"a position among what else is in {parent.level.name}")
        own = self._chosen(parent, node, last)
        if own is FALSE:
            return FALSE
        return all_of([own, self._behind(parent, before, absolute=absolute, gap=last.gap)])

    def _behind(self, parent: UnitPlace, before: Sequence[ContextStep], *, absolute: bool, gap: bool) -> WideText:
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
        if self.unroller.steps.lead_around(before, absolute=absolute, gap=True):
            found.append(TRUE)
        return any_of(found)

    def _chosen(self, parent: UnitPlace, node: UnitNode, step: ContextStep) -> WideText:
        """Return whether a step from its parent selects a node."""
        siblings: list[UnitNode] = [*parent.leaves, *(member for kind in parent.members for member in kind)]
        items = [
            NodeItem(one, there(one) if isinstance(one, UnitPlace) else TRUE)
            for one in siblings
            if self._names(step, one)
        ]
        chosen = set_of(items)
        for predicate in step.predicates:
            chosen = self.unroller.predicated(predicate, chosen.items, self.outer)
        return next((item.when for item in chosen.items if item.node is node), FALSE)

    def _fulfilled(self, node: UnitNode, step: ContextStep) -> WideText:
        here = self.outer.at(node)
        return all_of([self.unroller.truth(predicate, here) for predicate in step.predicates])

    def _names(self, step: ContextStep, node: UnitNode) -> bool:
        attribute = isinstance(node, UnitField) and node.field.attribute
        return self.unroller.steps.takes(step, node.tag, attribute=attribute)


# --- the order of elements ------------------------------------------------------------------------------------------


@once
def order_bound(rulebook: Rulebook) -> frozenset[int]:
    """Return the checks for which it may matter in which order elements of different names stand in a record.

    Unrolled rules take it for granted that fields come before the records in a record, in the order of the tree.
    Steps with a name to children, attributes, parents and the node itself say the same in any order: the records of
    one kind keep theirs, and a field stands in its record once. Tests, variables and contexts up to their own count.
    """

    def bound(text: str) -> bool:
        try:
            return any(map(_reads_order, tree.walk(parsed(text, rulebook.namespaces))))
        except RulebookError:
            return True

    outer = any(bound(let.value) for let in rulebook.lets)
    found = set()
    for pattern in rulebook.patterns:
        before = outer or any(bound(let.value) for let in pattern.lets)
        for rule in pattern.rules:
            before |= bound(rule.context)
            inner = before or any(bound(let.value) for let in rule.lets)
            found |= {check.index for check in rule.checks if inner or bound(check.test)}
    return frozenset(found)


def _reads_order(part: Expression) -> bool:
    match part:
        case (
            tree.NodeSet()
            | tree.SimpleMap()
            | tree.Opaque()
            | tree.Comparison(sign="<<" | ">>")
            | tree.Call(standard="innermost" | "outermost")
        ):
            return True
        case tree.Step(axis="self" | "parent"):
            return False
        case tree.Step(axis="child" | "attribute", test=tree.NameTest(local=local, space=space)):
            return tree.ANY in (local, space)
        case tree.Step(axis=axis, test=test):
            return axis != "child" or test not in (tree.KindTest("text"), tree.KindTest("comment"))
        case tree.Path(hops=hops):
            # a step that is no name puts what it selects into the order of the document
            return any(
                hop.deep or not isinstance(_unfiltered(hop.to), tree.Step | tree.ContextItem | tree.Call)
                for hop in hops
            )
        case _:
            return False


def _unfiltered(part: Expression) -> Expression:
    return part.base if isinstance(part, tree.Filter) else part
