"""Each check of a rulebook on its way to the recoded file.

A rule may ask nothing any more. ``AGE < 40 or B > 3`` asks nothing of a class from 35 without an end, as somebody of
it may be 35; and nothing of the classes below. Its translation still applies to what has no class, as a missing age,
and finds no error in any other record. That is another thing than a rule which every value obeys, and which never
asked anything of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from masktron.classify import Edit, classify, reading_removed, record_names
from masktron.classify.display import render_cross_record, render_form
from masktron.classify.forms import Effort, form_of
from masktron.classify.situation import Situation, situations
from masktron.constraints import Constraint, CrossRecordEdit, DomainEdit, OpaqueEdit
from masktron.errors import RulebookError
from masktron.reading.nodes import (
    Expression,
    FieldRef,
    OtherField,
    OtherNodes,
    Unknown,
    fields_of,
    reads_everything,
    walk,
)
from masktron.reading.reader import ROOT, Scope
from masktron.recodings import Recoding
from masktron.rulebook.expressions import tree as written_tree
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.spacing import without_predicates
from masktron.rulebook.schema import Check, Pattern, Rule, Rulebook, XPathVersion
from masktron.sources.record_layout import Layout
from masktron.translation.joined_rules import ClassedRule, joined_rules
from masktron.translation.recoded_conditions import RecodedTree, recoded
from masktron.translation.recoded_spelling import LostError, Spelling
from masktron.translation.translated_rules import Fate, TranslatedRule, Translation
from masktron.translation.truth_trees import ALWAYS, TruthTree, both, either, leaves, tree_of


def asks_nothing_any_more(
    tree: TruthTree, recodings: Sequence[Recoding], version: XPathVersion, *, as_intervals: bool = False
) -> bool:
    """Whether a rule asks something of records that have a value in each recoded field, and its translation nothing.

    Parameters
    ----------
    tree : TruthTree
        What the rule asks before fields are recoded.
    recodings : sequence of Recoding
        In the order in which the rule is translated.
    version : str
    as_intervals : bool
        As for `masktron.translation.recoded_conditions.recoded`.

    Returns
    -------
    bool
        False as well where that cannot be told.
    """

    def silent(
        asked: TruthTree, left: Sequence[Recoding], told: Callable[[RecodedTree], Collection[TruthTree]]
    ) -> bool:
        if asked == ALWAYS or not left:
            return asked == ALWAYS
        found = told(recoded(asked, left[0], version, as_intervals=as_intervals))
        return all(silent(one, left[1:], told) for one in found)

    try:
        return silent(tree, recodings, lambda one: one.now) and not silent(tree, recodings, lambda one: one.before)
    except LostError:
        return False  # what is asked of one class alone cannot be written, so that it is something


MOST_WRITTEN = 200
"""A rule whose translation has more comparisons is lost; a list of labels is one."""
_NOTHING_ASKED = "it asks nothing any more of any class of {}"


def translated(
    rulebook: Rulebook,
    edits: Sequence[Edit],
    recodings: Mapping[str, Recoding],
    layout: Layout | None = None,
    *,
    let_go: Collection[str] = (),
    masked: Collection[str] = (),
    removed: Collection[str] = (),
) -> Translation:
    """Translate every check of a rulebook to the file in which fields are recoded.

    Each is translated by itself. Where several say more together (`joined_rules`), the last of them asks that.

    Parameters
    ----------
    rulebook : Rulebook
    edits : sequence of Edit
        What `masktron.classify.classify` found of it, by index of the check.
    recodings : mapping of str to Recoding
        By field.
    layout : Layout, optional
        Of the file, as it was given to `classify`.
    let_go : collection of str
        Ids of rules that records may break: nothing follows from them for others, as from soft ones.
    masked : collection of str
        Fields whose values are going to be others: with them nobody can tell what a record had. Rules that read them
        are asked by themselves, so that classes tie no masked fields together.
    removed : collection of str
        Fields that the file does not have any more. Rules that read them are not asked.

    Returns
    -------
    Translation
    """
    scope = Scope(ROOT, namespaces=rulebook.namespaces, record_names=record_names(rulebook, layout), base=ROOT)
    situated = list(situations(rulebook, layout, scope, Effort()))
    records = _record_paths(situated)
    rules = [
        _rule(rulebook, edit, situation, position, records, recodings)
        for edit, (situation, position, _) in zip(edits, situated, strict=True)
    ]
    for index, reason in reading_removed(edits, removed).items():
        rules[index] = replace(rules[index], fate="removed", new="", test="", context="", reason=reason, focus="")
    held = [
        (rule, situation, position)
        for rule, edit, (situation, position, check) in zip(rules, edits, situated, strict=True)
        if rule.fate in ("weakened", "vacuous", "implied") and not check.soft and check.id not in let_go
        if not set(masked).intersection(edit.variables)
    ]
    for rule in _together(rulebook, held, records, recodings):
        rules[rule.index] = rule
    left_out = _contexts_read(rulebook, situated, recodings)
    return Translation(rulebook, tuple(_with_mathematics(rulebook, rules, layout)), left_out, frozenset(let_go))


def _together(
    rulebook: Rulebook,
    rules: Sequence[tuple[TranslatedRule, Situation, int]],
    records: Mapping[str, int],
    recodings: Mapping[str, Recoding],
) -> Iterator[TranslatedRule]:
    """Yield the rules; where some say more together, the last of these with what they ask together."""
    classed, known = list[ClassedRule](), {rule.index: rule for rule, _, _ in rules}
    checks = {check.index: check for check in rulebook.checks}
    contexts: dict[int, tuple[str, str]] = {}
    for rule, situation, position in rules:
        try:
            tree = _tree(situation, position, checks[rule.index])
            contexts[rule.index] = _context(situation, position, records)
        except (LostError, RulebookError):
            continue  # a rule that is implied may have no context of its own
        classed.append(ClassedRule(rule.index, tree, contexts[rule.index][0]))
    all_of_them = list(recodings.values())

    def written(tree: TruthTree) -> TruthTree:
        return _translated(tree, all_of_them, rulebook.version).tree

    added: dict[int, list[tuple[tuple[int, ...], TruthTree]]] = {}
    for group, tree in joined_rules(classed, recodings, rulebook.version, written):
        added.setdefault(group[-1], []).append((group, tree))
    trees = {one.index: one.tree for one in classed}
    asked_in: dict[int, int] = {}
    for index, found in added.items():
        test = _spelled(rulebook, both(tree for _, tree in found))
        if test is None:
            continue  # each is asked by itself
        several = sorted({at for group, _ in found for at in group})
        nothing = asks_nothing_any_more(both(trees[at] for at in several), all_of_them, rulebook.version)
        asked_in |= {} if nothing else dict.fromkeys(several, index)
        fate: Fate = "vacuous" if nothing else "weakened"
        known[index] = _asked_together([known[at] for at in several], fate, test, *contexts[index])
    for index, rule in known.items():
        yield _or_asked_in(rule, known[asked_in[index]] if index in asked_in else None)


def _spelled(rulebook: Rulebook, tree: TruthTree) -> str | None:
    """Write a tree as a test; None where it has no spelling."""
    try:
        test = Spelling(rulebook.version, dict(rulebook.namespaces)).test(tree)
        parsed(test, rulebook.namespaces)
    except (LostError, RulebookError, RecursionError):
        return None
    return test


def _asked_together(
    several: Sequence[TranslatedRule], fate: Fate, test: str, context: str, focus: str
) -> TranslatedRule:
    """Return the last of some rules, which asks what they say together."""
    *others, last = several
    return replace(
        last,
        fate=fate,
        new=test,
        test=test,
        context=context,
        focus=focus,
        reason=f"asked together with {', '.join(one.id for one in others)}",
        fields=tuple(sorted({name for one in several for name in one.fields})),
    )


def _or_asked_in(rule: TranslatedRule, last: TranslatedRule | None) -> TranslatedRule:
    """A rule that asks nothing by itself, and something in another one, is weakened."""
    if last is None or rule.fate != "vacuous":
        return rule
    return replace(rule, fate="weakened", reason=f"asked in {last.id}")


def _contexts_read(
    rulebook: Rulebook, situated: Sequence[tuple[Situation, int, Check]], recodings: Mapping[str, Recoding]
) -> frozenset[tuple[int, int]]:
    """Return the rules whose context reads a recoded field, or may; none where it cannot be parsed."""
    known = {id(situation.pattern): situation for situation, _, _ in situated}
    found: set[tuple[int, int]] = set()
    for at, pattern in enumerate(rulebook.patterns):
        for position in range(len(pattern.rules)) if id(pattern) in known else ():
            try:
                places = known[id(pattern)].places(position)
            except RulebookError:
                continue
            conditions = [one for place in places for one in place.conditions]
            if any(fields_of(one) & recodings.keys() or reads_everything(one) for one in conditions):
                found.add((at, position))
    return frozenset(found)


def _rule(
    rulebook: Rulebook,
    edit: Edit,
    situation: Situation,
    position: int,
    records: Mapping[str, int],
    recodings: Mapping[str, Recoding],
) -> TranslatedRule:
    check, old = edit.check, shown(edit)
    read = recodings if _may_read_all(situation, position, check) else edit.variables
    fields = tuple(sorted(name for name in read if name in recodings))
    unread = names_read(rulebook, situation.pattern, position, check) & recodings.keys() - set(fields)
    if unread:
        reason = f"it names {' and '.join(sorted(unread))} in a way that is not understood"
        return TranslatedRule(check.id, check.index, "lost", old, "", "", "", reason, (*fields, *sorted(unread)))
    if not fields:
        context = situation.pattern.rules[position].context
        return TranslatedRule(check.id, check.index, "kept", old, old, check.test, context)
    try:
        _require_own(edit.constraint, fields)
        tree = _tree(situation, position, check)
        context, focus = _context(situation, position, records)
        told = _translated(tree, [recodings[name] for name in fields], rulebook.version)
        reason = _NOTHING_ASKED.format(" and ".join(fields)) if told.vacuous else ""
        if told.tree == ALWAYS:
            fate: Fate = "vacuous" if told.vacuous else "implied"
            return TranslatedRule(check.id, check.index, fate, old, "", "", "", reason, fields)
        test = Spelling(rulebook.version, dict(rulebook.namespaces)).test(told.tree)
        parsed(test, rulebook.namespaces)
    except (LostError, RulebookError, RecursionError) as error:
        return TranslatedRule(check.id, check.index, "lost", old, "", "", "", _why(error), fields)
    fate = "exact" if told.exact else "vacuous" if told.vacuous else "weakened"
    return TranslatedRule(check.id, check.index, fate, old, test, test, context, reason, fields, focus)


def _why(error: LostError | RulebookError | RecursionError) -> str:
    if isinstance(error, LostError):
        return error.reason
    return error.what if isinstance(error, RulebookError) else "it is nested too deeply"


def names_read(
    rulebook: Rulebook, pattern: Pattern, position: int, check: Check, *, earlier: bool = False
) -> frozenset[str]:
    """Return all names in a test, its context and the variables of both, whatever they stand for.

    Parameters
    ----------
    rulebook : Rulebook
    pattern : Pattern
    position : int
        Of the rule of the check in it.
    check : Check
    earlier : bool
        Whether the contexts of the rules before it count, and what names no name but may mean any does, as ``*``.
    """
    rule = pattern.rules[position]
    values = {let.name: let.value for let in (*rulebook.lets, *pattern.lets, *rule.lets)}
    ahead, names = [check.test, rule.context], set[str]()
    ahead += [one.context for one in pattern.rules[:position]] if earlier else []
    while ahead:
        try:
            nodes = list(written_tree.walk(parsed(ahead.pop(), rulebook.namespaces)))
        except RulebookError:
            continue  # what cannot be parsed has no translation at all
        passed = {id(part) for node in nodes if earlier for part in _passed_by(node)}
        for node in nodes:
            if id(node) in passed:
                continue
            match node:
                case written_tree.Variable(name=name) if name in values:
                    ahead.append(values.pop(name))
                case written_tree.Step(axis=axis, test=written_tree.NameTest(local=name)):
                    names.add(f"@{name}" if axis == "attribute" and name != written_tree.ANY else name)
                case written_tree.Step(axis=axis, test=written_tree.KindTest(kind=kind, asked=name)):
                    names.add(name)
                    if earlier and axis not in ("self", "parent") and (axis, kind) != ("child", "text"):
                        names.add(written_tree.ANY)
                case written_tree.Opaque() if earlier:
                    names.add(written_tree.ANY)
                case _:
                    pass
    return frozenset(names)


def _passed_by(node: written_tree.Expression) -> Iterator[written_tree.Expression]:
    """Yield nameless steps of a path behind which a name says what is read: ``*`` in ``*/b``."""
    parts = (node.first, *(hop.to for hop in node.hops)) if isinstance(node, written_tree.Path) else ()
    for part, behind in pairwise(parts):
        nameless = isinstance(part, written_tree.Step) and not part.predicates and _names_any(part.test)
        if nameless and isinstance(behind, written_tree.Step) and isinstance(behind.test, written_tree.NameTest):
            yield part


def _names_any(test: written_tree.NameTest | written_tree.KindTest) -> bool:
    return test.local == written_tree.ANY if isinstance(test, written_tree.NameTest) else not test.asked


def _may_read_all(situation: Situation, position: int, check: Check) -> bool:
    """Whether a check may read fields that it does not name; what cannot be parsed may read any."""
    try:
        places = situation.places(position)
        expressions = [situation.test(position, check, place) for place in places]
        expressions += [one for place in places for one in place.conditions]
        for earlier in range(position):
            expressions += [one for place in situation.places(earlier) for one in place.conditions]
    except RulebookError:
        return True
    return any(reads_everything(one) for one in expressions)


@dataclass(frozen=True, slots=True)
class _Told:
    """A tree after all its fields were recoded."""

    tree: TruthTree
    exact: bool
    vacuous: bool


def _translated(tree: TruthTree, recodings: Sequence[Recoding], version: XPathVersion) -> _Told:
    """Recode one field after the other; where that is too long to be written, with intervals for listed numbers."""
    for as_intervals in (False, True):
        found, exact = tree, True
        for recoding in recodings:
            one = recoded(found, recoding, version, as_intervals=as_intervals)
            found, exact = one.tree, exact and one.exact
        size = sum(1 for _ in leaves(found))
        if size <= MOST_WRITTEN:
            vacuous = not exact and asks_nothing_any_more(tree, recodings, version, as_intervals=as_intervals)
            return _Told(found, exact, vacuous)
    raise LostError(f"its translation would have {size} comparisons; {MOST_WRITTEN} are written at most")


def _require_own(constraint: Constraint, fields: Sequence[str]) -> None:
    """Require that the record itself decides."""
    names = " and ".join(fields)
    if isinstance(constraint, DomainEdit):
        raise LostError(f"it reads {names} and the values of another document, which are not recoded")
    if isinstance(constraint, CrossRecordEdit):
        raise LostError(f"it reads {names} in several records")


def _tree(situation: Situation, position: int, check: Check) -> TruthTree:
    """What the check asks of a record: of each node on which it fires, that its test holds.

    A node fires the first rule of a pattern that takes it. So the conditions of the context, and that no earlier rule
    takes the node, imply the test.
    """
    parts: list[TruthTree] = []
    for place in situation.places(position):
        if place.kind not in ("record", "field"):
            raise LostError("its context is neither a record nor a field")
        spared = [tree_of(_plain(condition), negated=True) for condition in place.conditions]
        if isinstance(place.focus, FieldRef):
            spared.insert(0, tree_of(place.focus, negated=True))
        for earlier in range(position):
            taking = [other for other in situation.places(earlier) if place.meets(other)]
            spared += [both(tree_of(_plain(condition)) for condition in other.conditions) for other in taking]
        wanted = tree_of(situation.test(position, check, place), negated=check.kind == "report")
        parts.append(either((*spared, wanted)))
    return both(parts)


def _plain(condition: Expression) -> Expression:
    """Require that a condition of a context reads the record alone."""
    for node in walk(condition):
        if isinstance(node, OtherNodes | OtherField) or (isinstance(node, Unknown) and node.outside):
            raise LostError("its context, or an earlier one of the pattern, reads what stands outside the record")
    return condition


def _record_paths(situated: Sequence[tuple[Situation, int, Check]]) -> Counter[str]:
    """Count the paths of records in the contexts, without predicates."""
    found: Counter[str] = Counter()
    for situation, position, _ in situated:
        try:
            places, paths = situation.places(position), _paths(situation, position)
        except RulebookError:
            continue
        found.update(path for place, path in zip(places, paths, strict=True) if place.kind == "record")
    return found


def _paths(situation: Situation, position: int) -> list[str]:
    """The alternatives of a context without their predicates."""
    context = parsed(situation.pattern.rules[position].context, situation.rulebook.namespaces)
    return [without_predicates(one) for one in written_tree.alternatives(context)]


def _context(situation: Situation, position: int, records: Mapping[str, int]) -> tuple[str, str]:
    """Return the path of the records on which a check is asked, and the path from there to where it was asked."""
    found: set[tuple[str, str]] = set()
    for place, path in zip(situation.places(position), _paths(situation, position), strict=True):
        above, _, last = path.rpartition("/")
        name = above.rstrip("/").rpartition("/")[2].rpartition(":")[2]
        if place.kind == "record":
            found.add((path, ""))
        elif name in situation.scope.record_names:
            found.add((above.rstrip("/"), last))
        elif records:
            found.add((max(records, key=lambda path: records[path]), last))
        else:
            raise LostError("no context of the rulebook names the record")
    if len({context for context, _ in found}) > 1:
        raise LostError("its context has several paths")
    return min(found) if len(found) == 1 else (min(found)[0], "|".join(sorted(focus or "." for _, focus in found)))


def _with_mathematics(
    rulebook: Rulebook, rules: Sequence[TranslatedRule], layout: Layout | None
) -> Iterator[TranslatedRule]:
    """Say in mathematics what the translated rules ask."""
    asked = [rule for rule in rules if rule.test and rule.fate in ("exact", "weakened", "vacuous")]
    checks = {check.index: check for check in rulebook.checks}
    version = rulebook.version
    patterns = tuple(
        _pattern(replace(checks[rule.index], kind="assert", test=rule.test), rule, version) for rule in asked
    )
    edits = classify(replace(rulebook, lets=(), patterns=patterns), layout) if asked else ()
    new = {rule.index: shown(edit) for rule, edit in zip(asked, edits, strict=True)}
    for rule in rules:
        yield replace(rule, new=new[rule.index]) if rule.index in new else rule


def _pattern(check: Check, translated: TranslatedRule, version: XPathVersion) -> Pattern:
    rule = Rule(translated.context, (), (check,), check.origin)
    return Pattern(f"translated-{check.index}", (), (rule,), check.origin, version)


def shown(edit: Edit) -> str:
    """Return a rule in mathematics, or as it is written where it has no form."""
    match edit.constraint:
        case CrossRecordEdit():
            return render_cross_record(edit.constraint) or edit.check.test
        case OpaqueEdit():
            return edit.check.test
        case _:
            return render_form(form_of(edit.constraint))
