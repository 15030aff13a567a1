"""Checks that read several levels of a nested file, or fire below its top, with their forms and classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from masktron.classify import classify
from masktron.classify.edit import Edit, MissingStep
from masktron.classify.forms import form_of
from masktron.classify.nested_rules.level_classes import LevelReading, across_levels, names_in
from masktron.classify.nested_rules.level_steps import LevelFocus, LevelSteps, MemberReach, every, some
from masktron.classify.nested_rules.member_figures import LevelRule, RecordNode, SingleField
from masktron.classify.nested_rules.member_forms import without_impossible
from masktron.classify.nested_rules.member_mathematics import LevelWords
from masktron.classify.nested_rules.tree_reader import Meant, TreeReader
from masktron.constraints import Constraint, CrossRecordEdit, Form, OpaqueEdit, Untranslated
from masktron.rulebook.analysis import context_of
from masktron.rulebook.context_match import ContextPath, ContextStep
from masktron.rulebook.expressions.tree import Call, Expression, walk
from masktron.rulebook.schema import Check, Let, Pattern, Rule, Rulebook
from masktron.sources.level_tree import Tree
from masktron.sources.record_layout import Field, Layout
from masktron.sources.record_layout import Field as LayoutField
from masktron.unrolling.unit_steps import UnitSteps
from masktron.unrolling.unrolled_values import NotUnrolled


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
    outer : LevelFocus
        With the variables that contexts may see.
    """

    reader: TreeReader
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

    def _path(
        self, node: RecordNode, field: Field | None, steps: Sequence[ContextStep], *, absolute: bool
    ) -> str | None:
        tag, attribute = (node.level.tag, False) if field is None else (field.tag, field.attribute)
        if not steps or not self.reader.steps.of_units.takes(steps[-1], tag, attribute=attribute):
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

    def _around(self, before: Sequence[ContextStep], *, absolute: bool, gap: bool) -> str | None:
        return "true()" if self.reader.steps.of_units.lead_around(before, absolute=absolute, gap=gap) else None

    def _behind(self, above: RecordNode, before: Sequence[ContextStep], *, absolute: bool, gap: bool) -> str | None:
        """Return whether the steps before lead to the record above, or where a gap follows to one around it."""
        if not before:
            return "true()" if gap or not absolute else None
        if not gap:
            return self._path(above, None, before, absolute=absolute)
        found = [self._path(at, None, before, absolute=absolute) for at in above.around()]
        return _any([*found, self._around(before, absolute=absolute, gap=True)])

    def _fulfilled(self, step: ContextStep, node: RecordNode, field: Field | None) -> list[str]:
        if step.positional:
            raise NotUnrolled("a position in a context")
        parts = (part for predicate in step.predicates for part in walk(predicate))
        if any(isinstance(part, Call) and part.standard == "current" for part in parts):
            raise NotUnrolled("current() in a context")
        here = LevelFocus(node, field, None, 0, self.outer.variables)
        return [self.reader.truth(predicate, here) for predicate in step.predicates]


def _any(found: Sequence[str | None]) -> str | None:
    known = [one for one in found if one is not None]
    if "true()" in known:
        return "true()"
    return some(list(dict.fromkeys(known))) if known else None


def across_edits(rulebook: Rulebook, edits: Sequence[Edit], tree: Tree, checks: Sequence[int]) -> tuple[Edit, ...]:
    """Give checks that reach across levels their classes; all other edits stay as they are.

    Parameters
    ----------
    rulebook : Rulebook
    edits : sequence of Edit
        By index of the check.
    tree : Tree
        Of the file.
    checks : sequence of int
        Those that reach across levels.

    Returns
    -------
    tuple of Edit
        What is not understood is opaque, with its reason.
    """
    found = list(edits)
    kinds = tuple(kinds_of(tree))
    for pattern in rulebook.patterns:
        for at, rule in enumerate(pattern.rules):
            for check in rule.checks:
                if check.index in checks:
                    found[check.index] = _edit(
                        edits[check.index], LevelCheck(rulebook, tree, kinds, pattern, at, check)
                    )
    return tuple(found)


def _edit(edit: Edit, asked: LevelCheck) -> Edit:
    try:
        rule = asked.rule()
        variables = asked.variables(rule)
        read = asked.read(rule)
    except NotUnrolled as problem:
        # what it reads is not known but by name
        variables = tuple(name for name in sorted(asked.tree.names) if name.rpartition("/")[2] in edit.variables)
        reason = f"across levels: {asked.words().text(str(problem))}"
        opaque = OpaqueEdit(reason, variables)
        return replace(edit, constraint=opaque, variables=variables, lints=(), missing=asked.missing)
    return replace(
        edit,
        constraint=read.constraint,
        variables=variables,
        lints=(),
        said=read.said,
        fires_on=read.fires_on,
        around=read.around,
        missing=asked.missing,
    )


@dataclass(slots=True)
class LevelCheck:
    """One check of a nested file on its way to its form."""

    rulebook: Rulebook
    tree: Tree
    kinds: Sequence[FiringKind]
    pattern: Pattern
    position: int
    check: Check
    unknown: dict[tuple[str, ...], str] = field(default_factory=dict)
    missing: tuple[MissingStep, ...] = ()
    reader: TreeReader = field(init=False)

    def __post_init__(self) -> None:
        above = self.tree.layout.record_path[:-1]
        steps = LevelSteps(UnitSteps(dict(self.rulebook.namespaces), above))
        self.reader = TreeReader(self.pattern.version, steps)

    def rule(self) -> LevelRule:
        """Return what the check says.

        Raises
        ------
        NotUnrolled
            That is not understood.
        """
        outer = self._with(LevelFocus(), (*self.rulebook.lets, *self.pattern.lets))
        contexts = LevelContexts(self.reader, outer)
        own = self.pattern.rules[self.position]
        kind, when = self._fires_on(contexts, own)
        focus = replace(outer, node=kind.node, field=kind.field, current=MemberReach(kind.node, kind.field))
        # of contexts, only what this one asks for at what it fires on is its own
        self.reader.table.missing.clear()
        self._matched(contexts, kind, own)
        try:
            test = self.reader.truth(self._read(self.check.test), self._with(focus, own.lets))
        finally:
            self.missing = tuple(dict.fromkeys(self.reader.table.missing))
        earlier = [
            (rule, taken)
            for rule in self.pattern.rules[: self.position]
            if (taken := self._matched(contexts, kind, rule)) is not None
        ]
        form = self._form(self._flat(replace(self.check, test=test), [*earlier, (own, self._there(kind, when))]))
        return LevelRule(kind.node, kind.field, form, self.reader.table.figures, self._conditions())

    def variables(self, rule: LevelRule) -> tuple[str, ...]:
        """Return the fields that the check reads, sorted by name."""
        return tuple(sorted({self.tree.name_of[place] for place in rule.fields_read()}))

    def read(self, rule: LevelRule) -> LevelReading:
        """Return the class of what the check says.

        Raises
        ------
        NotUnrolled
            It is not known.
        """
        return across_levels(rule, self.tree, self.unknown, self.denied, self.variables(rule))

    def words(self) -> LevelWords:
        """Return the words for what the check reads, as far as that is known."""
        figures = self.reader.table.figures
        conditions: dict[tuple[str, ...], Form] = {}
        for where in self._asked():
            text = every(where)
            conditions[where] = ((Untranslated(names_in(text), text, self.pattern.version),),)
        return LevelWords.of(LevelRule(self.kinds[0].node, None, (), figures, conditions), self.tree)

    def denied(self, where: tuple[str, ...]) -> Form:
        """Return the form of what holds where some conditions do not all."""
        text = f"not({every(where)})"
        form = self._condition_form(text)
        if form is None:
            raise NotUnrolled(self.unknown[(text,)])
        return form

    def _read(self, text: str) -> Expression:
        return self.reader.steps.of_units.read(text)

    def _with(self, focus: LevelFocus, lets: Sequence[Let]) -> LevelFocus:
        for let in lets:
            try:
                focus = focus.bind(let.name, Meant(self._read(let.value), focus))
            except NotUnrolled:  # whoever reads it says so
                continue
        return focus

    def _fires_on(self, contexts: LevelContexts, rule: Rule) -> tuple[FiringKind, str]:
        found = [(kind, when) for kind in self.kinds if (when := self._matched(contexts, kind, rule)) is not None]
        if len(found) == 1:
            return found[0]
        if not found:
            raise NotUnrolled("its context is on nothing that the levels of the file have")
        names = (
            "/".join((self.tree.top.name, *kind.node.path, *([kind.field.name] if kind.field else [])))
            for kind, _ in found
        )
        raise NotUnrolled(f"it fires on nodes of several kinds: {', '.join(names)}")

    def _matched(self, contexts: LevelContexts, kind: FiringKind, rule: Rule) -> str | None:
        paths = context_of(self.rulebook, rule.context)
        if paths is None:
            raise NotUnrolled(f"the context {rule.shown!r} is not a plain path")
        return contexts.matched(kind, paths)

    def _there(self, kind: FiringKind, when: str) -> str:
        if kind.field is None:
            return when
        return every([f"boolean({self.reader.table.single(kind.node, kind.field)})", when])

    def _flat(self, check: Check, contexts: Sequence[tuple[Rule, str]]) -> Rulebook:
        """Return a rulebook on flat records of figures, of which the last rule has the check."""
        rules = [
            Rule("R" if when == "true()" else f"R[{when}]", (), (), rule.origin, rule.id) for rule, when in contexts
        ]
        rules[-1] = replace(rules[-1], checks=(replace(check, index=0, message=(), subject=None),))
        pattern = replace(self.pattern, lets=(), rules=tuple(rules), group=False, continues=False)
        return replace(self.rulebook, patterns=(pattern,), lets=(), documents=(), beside=())

    def _form(self, flat: Rulebook) -> Form:
        constraint = self._classified(flat)
        if isinstance(constraint, OpaqueEdit | CrossRecordEdit):
            raise NotUnrolled(constraint.reason)
        return without_impossible(form_of(constraint), self.reader.table.figures)

    def _classified(self, flat: Rulebook) -> Constraint:
        fields = tuple(LayoutField(name, name) for name in self.reader.table.figures)
        return classify(flat, Layout(("D", "R"), fields))[0].constraint

    def _conditions(self) -> Mapping[tuple[str, ...], Form]:
        """Return the forms of all conditions on members; those that have none as they are written."""
        found: dict[tuple[str, ...], Form] = {}
        for where in self._asked():
            text = every(where)
            form = self._condition_form(text, where)
            if form is None:
                form = ((Untranslated(names_in(text), text, self.pattern.version),),)
            found[where] = form
        return found

    def _asked(self) -> Iterator[tuple[str, ...]]:
        for figure in self.reader.table.figures.values():
            if isinstance(figure, SingleField):
                for node in figure.node.around():
                    if node.picked is not None and node.picked.where:
                        yield node.picked.where
            elif figure.where:
                yield figure.where

    def _condition_form(self, text: str, where: tuple[str, ...] | None = None) -> Form | None:
        check = replace(self.check, test=text, kind="assert")
        constraint = self._classified(self._flat(check, [(self.pattern.rules[self.position], "true()")]))
        if isinstance(constraint, OpaqueEdit | CrossRecordEdit):
            self.unknown.setdefault(where or (text,), constraint.reason)
            return None
        return without_impossible(form_of(constraint), self.reader.table.figures)
