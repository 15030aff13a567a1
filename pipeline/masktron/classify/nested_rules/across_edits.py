"""Checks that read several levels of a nested file, or fire below its top: each says its own.

A class is read off a form in which each field of a record has one value. What stands in records within the record, or
more than once, has none: there is no such form for a rule that reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from masktron.classify import classify
from masktron.classify.edit import Edit, MissingStep
from masktron.classify.forms import form_of
from masktron.classify.nested_rules.level_classes import LevelReading, across_levels, names_in
from masktron.classify.nested_rules.level_steps import LevelFocus, LevelSteps, MemberReach, every, some
from masktron.classify.nested_rules.member_figures import (
    LevelRule,
    LevelWords,
    RecordNode,
    SingleField,
    without_impossible,
)
from masktron.classify.nested_rules.tree_reader import Meant, TreeReader
from masktron.constraints import Constraint, CrossRecordEdit, Form, OpaqueEdit, Untranslated
from masktron.rulebook.analysis import context_of, with_lets
from masktron.rulebook.context_match import ContextPath, ContextStep
from masktron.rulebook.context_paths import NamedPath, SoughtName, context_paths
from masktron.rulebook.expressions.tree import ANY, Call, Expression, walk
from masktron.rulebook.schema import Check, Let, Pattern, Rule, Rulebook
from masktron.sources.level_tree import Tree
from masktron.sources.record_layout import Field, Layout, Vocabulary
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


_FAR = ("//", "descendant")
"""With one of them, a name is looked for in all levels."""


@dataclass(frozen=True, slots=True)
class LevelNames:
    """The names of a file whose records are no rows of single values; those of attributes begin with ``@``.

    Attributes
    ----------
    unit : str
        Local name of the record.
    single : frozenset of str
        Fields that stand in the record itself, once at most, with a text alone.
    inner : frozenset of str
        All that stands in it otherwise, at any depth.
    """

    unit: str
    single: frozenset[str]
    inner: frozenset[str]

    @classmethod
    def of(cls, layout: Layout, single: frozenset[str], words: Vocabulary) -> LevelNames:
        """Find them among the names of a file."""
        depth = len(layout.record_path)
        fields = {(f.tag.rpartition("}")[2], f.attribute) for f in layout.fields if f.name in single}
        unit = layout.record_tag.rpartition("}")[2]
        below = {
            ("@" * attribute + path[-1][1])
            for attribute, paths in ((False, words.elements), (True, words.attributes))
            for path in paths
            if len(path) > depth and path[depth - 1][1] == unit
            if len(path) > depth + 1 or (path[-1][1], attribute) not in fields
        }
        return cls(unit, frozenset("@" * attribute + name for name, attribute in fields), frozenset(below))


def crossing(rulebook: Rulebook, names: LevelNames) -> dict[int, str]:
    """Return the checks that read records within records, or fire on them, by index, each with why it is one.

    Parameters
    ----------
    rulebook : Rulebook
    names : LevelNames
    """
    found = {}
    for pattern in rulebook.patterns:
        for at, rule in enumerate(pattern.rules):
            for check in rule.checks:
                if reason := _reason(rulebook, rule, _texts(rulebook, pattern, at, check.test), names):
                    found[check.index] = reason
    return found


def names_read(rulebook: Rulebook, check: int, names: LevelNames) -> tuple[str, ...]:
    """Return the local names of the file that a check asks for."""
    for pattern in rulebook.patterns:
        for at, rule in enumerate(pattern.rules):
            for own in rule.checks:
                if own.index == check:
                    texts = _texts(rulebook, pattern, at, own.test)
                    return tuple(
                        sorted({_shown(one) for one in _read(rulebook, texts)} & (names.single | names.inner))
                    )
    return ()


def without_other_levels(rulebook: Rulebook, edits: Sequence[Edit], names: LevelNames) -> tuple[Edit, ...]:
    """Make opaque what reads records within records, or fires on them; all other edits stay as they are.

    Parameters
    ----------
    rulebook : Rulebook
    edits : sequence of Edit
        Of `masktron.classify.classify`, which takes each field of a record for a single value.
    names : LevelNames
    """
    found = list(edits)
    for check, reason in crossing(rulebook, names).items():
        variables = names_read(rulebook, check, names)
        found[check] = replace(edits[check], constraint=OpaqueEdit(reason, variables), variables=variables, lints=())
    return tuple(found)


def _reason(rulebook: Rulebook, rule: Rule, texts: Sequence[str], names: LevelNames) -> str:
    """Say why a rule reaches across levels; nothing where it does not."""
    shared = names.inner & names.single
    if on := [one for path in _paths(rulebook, rule.context) if (one := _fires_below(path, names))]:
        return f"across levels: it fires on {on[0]}, and the record is {names.unit}"
    read = [_shown(one) for one in _read(rulebook, texts)]
    far = any(sign in text for text in texts for sign in _FAR)
    below = [name for name in read if name in names.inner - shared or (far and name in shared)]
    if not below:
        return ""
    return f"across levels: it reads {', '.join(dict.fromkeys(below))}, no single values of a {names.unit}"


def _fires_below(path: NamedPath, names: LevelNames) -> str:
    """Name what a context fires on that is not the record, nor a single field of it."""
    if path.steps is None:
        return "nodes that no path of names tells"
    if not path.steps:
        return ""
    name = path.steps[-1][1]
    shown = _shown(name)
    above = path.steps[-2][1].local if len(path.steps) > 1 and path.steps[-1][0] == "child" else ""
    elsewhere = shown in names.inner and not (shown in names.single and above == names.unit)
    return "any element" if name.local == ANY else shown if elsewhere else ""


def _texts(rulebook: Rulebook, pattern: Pattern, at: int, test: str) -> list[str]:
    """Return the expressions that a check is made of: test, context, contexts before it on such nodes, variables."""
    rule = pattern.rules[at]
    own = {_last(path) for path in _paths(rulebook, rule.context)}
    earlier = [
        one.context
        for one in pattern.rules[:at]
        if not own.isdisjoint({_last(path) for path in _paths(rulebook, one.context)})
    ]
    return list(with_lets([test, rule.context, *earlier], [*rulebook.lets, *pattern.lets, *rule.lets]))


def _last(path: NamedPath) -> str:
    return _shown(path.steps[-1][1]) if path.steps else ""


def _read(rulebook: Rulebook, texts: Iterable[str]) -> Iterator[SoughtName]:
    for text in texts:
        for path in _paths(rulebook, text):
            yield from path.names


def _paths(rulebook: Rulebook, text: str) -> tuple[NamedPath, ...]:
    return context_paths(text, rulebook.namespaces)


def _shown(name: SoughtName) -> str:
    return "@" * name.attribute + name.local
