"""Rules that a file does not test, and why: what is said to hold has to have been asked of something."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np

from masktron.classify import Edit
from masktron.classify.edit import MissingStep
from masktron.counts import counted
from masktron.errors import MasktronError, RulebookError, ViolationError
from masktron.jobs.job import Job
from masktron.judge import Evaluation
from masktron.preflight.conclusions import coverage, escapes
from masktron.problems.problem import Field, Known, Note, Problem, Rule, fields
from masktron.progress import no_progress
from masktron.reading.contexts import places
from masktron.reading.reader import ROOT, Scope
from masktron.results import RuleResult, Untested
from masktron.rulebook import schema
from masktron.rulebook.context_paths import NamedPath, SoughtName, context_paths
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import ANY, Hop, NameTest, Path, Step, walk
from masktron.rulebook.plain.compiled import EVERY
from masktron.rulebook.schema import Check, Pattern
from masktron.sources.level_tree import LevelPath, Tree
from masktron.sources.record_layout import Vocabulary
from masktron.sources.source import Source

_CODES = "texts are compared as they are written, and '1' is not '01'"
_EARLIER = "the earlier rules of its pattern"
_PROBES = 400
"""Pairs of rules that are evaluated to find which one takes the nodes of another; beyond, all earlier ones do."""


def may_be_untested(job: Job, rules: Iterable[str]) -> frozenset[int]:
    """Return the checks that need not be tested, by index.

    Raises
    ------
    UsageError
        The rulebook has no such rule.
    """
    named = tuple(rules)
    indices = {job.index_of(rule) for rule in named if rule != EVERY}
    return frozenset(indices | ({check.index for check in job.rulebook.checks} if EVERY in named else set()))


def with_untested(
    results: Sequence[RuleResult],
    job: Job,
    evaluation: Evaluation,
    *,
    allowed: Collection[int] = (),
    original: Source | None = None,
    known: Collection[str] = (),
) -> tuple[RuleResult, ...]:
    """Say of each rule whether it is tested, and on records or on something else.

    What a rule that is not tested says of the records is no verdict on them: its failures are None, unless it need
    not be tested. A file without records tests nothing, which is another matter.

    Parameters
    ----------
    results : sequence of RuleResult
    job : Job
    evaluation : Evaluation
        Of the same file.
    allowed : collection of int
        Checks that need not be tested.
    original : Source, optional
        What ``document()`` in the rules means.
    known : collection of str
        Fields that may be lacking, since masking can empty them.
    """
    index = {check.id: check.index for check in job.rulebook.checks}
    if job.source.layout.is_document and (evaluation.fired + evaluation.errors).any():
        return _in_document(results, job)
    within = _of_records(job)
    marked = [replace(result, of_records=result.id in within) for result in results]
    if not evaluation.records:
        return tuple(marked)
    found = untested(job, evaluation, [index[rule.id] for rule in marked], original, known)
    reasons = {i: replace(reason, allowed=i in allowed) for i, reason in found.items()}
    return tuple(_judged(rule, reasons.get(index[rule.id])) for rule in marked)


def _in_document(results: Sequence[RuleResult], job: Job) -> tuple[RuleResult, ...]:
    """Say of each rule whether a document that some rules fire on tests it; it need not."""
    rules, why = _rules(job), Problem("no-node-matches", records=_records(job))
    checks = zip(job.rulebook.checks, results, strict=True)
    return tuple(
        result
        if result.reached
        else replace(result, untested=replace(_idle(check, rules[check.index], [why], misnamed=False), allowed=True))
        for check, result in checks
    )


def _judged(rule: RuleResult, reason: Untested | None) -> RuleResult:
    failed = rule.failed if reason is None or reason.allowed else None
    return replace(rule, untested=reason, failed=failed)


def untested(
    job: Job,
    evaluation: Evaluation,
    checks: Iterable[int],
    original: Source | None = None,
    known: Collection[str] = (),
) -> dict[int, Untested]:
    """Return the checks that the file does not test, each with the reason, by index."""
    wanted = frozenset(checks)
    silent = [index for index in sorted(wanted) if not evaluation.fired[index] + evaluation.errors[index]]
    there = {field.name for field in job.source.layout.fields}
    doubtful = [edit for edit in job.edits if edit.check.index in wanted and _doubtful(edit, job, there)]
    if not silent and not doubtful:
        return {}
    words = job.source.vocabulary()
    found = dict(_silent(job, silent, words, evaluation, original))
    rules = _rules(job) if doubtful else {}
    for edit in doubtful:
        index = edit.check.index
        before = found.get(index)
        if before is not None and not before.misnamed and not edit.missing:
            continue
        told = known if before is None else {*known, *_asked_where(rules[index], job)}
        if reason := _unknown_fields(edit, rules[index], words, told, job):
            found[index] = reason if before is None else _together([before, reason], edit.check)
    return {index: found[index] for index in sorted(found)}


def written_untested(
    results: Sequence[RuleResult], job: Job, before: Mapping[int, Untested], fired: Sequence[int]
) -> tuple[RuleResult, ...]:
    """Say of each rule whether the masked file tests it.

    Parameters
    ----------
    results : sequence of RuleResult
        Of the masked file.
    before : mapping of int to Untested
        Checks that the original does not test, and need not.
    fired : sequence of int
        Nodes of the original on which each check fired.
    """
    within = _of_records(job)
    found = []
    for result in results:
        index = job.index_of(result.id)
        reason = before.get(index)
        if reason is None and not result.reached:
            lost = f"masking has taken its {counted(fired[index], 'node')} of the original from it"
            nothing = Problem("fires-on-nothing", reasons=(lost,), context="in the masked file")
            problem = Problem("rule-untested", rule=Rule(result.id), reasons=(nothing,))
            reason = Untested(problem, misnamed=False, allowed=True)
        found.append(replace(result, of_records=result.id in within, untested=reason))
    return tuple(found)


def require_names(job: Job, allowed: Collection[int]) -> None:
    """Stop where a hard rule asks for an element or field that the file never has.

    Raises
    ------
    RulebookError
        Naming each rule, the name and the closest names of the file.
    """
    words = job.source.vocabulary()
    there = {field.name for field in job.source.layout.fields}
    rules = _rules(job)
    found: dict[int, Untested] = {}
    for edit in job.edits:
        if edit.check.soft or edit.check.index in allowed:
            continue
        rule = rules[edit.check.index]
        doubts = [_misnamed_context(rule, edit.check, words, job)]
        if _doubtful(edit, job, there):
            asked = _asked_where(rule, job) if doubts[0] else ()
            doubts.append(_unknown_fields(edit, rule, words, asked, job))
        if reasons := [doubt for doubt in doubts if doubt is not None]:
            found[edit.check.index] = _together(reasons, edit.check)
    refuse(job, {index: found[index] for index in sorted(found)})


def asking_unknown_names(job: Job, allowed: Collection[int] = ()) -> frozenset[int]:
    """Return the checks that read what no record of the file has, but for some: what they find is no verdict on it.

    That is known before they are evaluated. Of a file without fields nothing is known.
    """
    there = {field.name for field in job.source.layout.fields}
    if not there:
        return frozenset()
    doubtful = [edit for edit in job.edits if edit.check.index not in allowed and _doubtful(edit, job, there)]
    if not doubtful:
        return frozenset()
    words, rules = job.source.vocabulary(), _rules(job)
    unknown = ((edit.check.index, rules[edit.check.index], edit) for edit in doubtful)
    return frozenset(at for at, rule, edit in unknown if _unknown_fields(edit, rule, words, (), job))


def idle_conditions(job: Job, evaluation: Evaluation) -> tuple[str, ...]:
    """Say which rules fire and never get to their THEN, since no record satisfies their IF.

    As a code in another spelling makes it. Only flat files that are read as trees are looked at, since their records
    are read again for it; `explain` looks at all.

    Parameters
    ----------
    job : Job
    evaluation : Evaluation
        With the verdicts on records.
    """
    holds = {int(index) for index in np.flatnonzero((evaluation.fired > 0) & (evaluation.failed == 0))}
    spared = escapes(job.rulebook, job.source.layout, holds)
    edits = [edit for edit in job.edits if edit.check.index in spared]
    if not edits:
        return ()
    read = {name for edit in edits for name in edit.variables}
    records = job.source.records(only=read)
    never = {one.rule for one in coverage(edits, records, evaluation, spared) if one.asked == 0}
    return tuple(
        f"{edit.check.origin}: the rule {edit.check.id!r} fires, but no record satisfies its IF, so that nothing is "
        f"asked -> look at the values that it asks for: {_CODES}"
        for edit in edits
        if edit.check.id in never
    )


def known_only(job: Job) -> tuple[Edit, ...]:
    """Return the edits that read nothing but fields of the file: those that can be planned with."""
    there = {field.name for field in job.source.layout.fields}
    return tuple(edit for edit in job.edits if there.issuperset(edit.variables))


def refuse(job: Job, reasons: Mapping[int, Untested]) -> None:
    """Raise one error about all rules that are not tested.

    Raises
    ------
    RulebookError
        One of them asks for what the file does not have.
    ViolationError
        They fire on nothing.
    """
    if not reasons:
        return
    checks = job.rulebook.checks
    kind: type[MasktronError] = RulebookError if any(one.misnamed for one in reasons.values()) else ViolationError
    places = [checks[index].origin for index in reasons]
    problems = tuple(one.problem for one in reasons.values())
    if len(problems) == 1:
        raise kind(problems[0].at(str(places[0])))
    raise kind(Problem("rules-untested", str(places[0]), rules=problems))


def told(results: Iterable[RuleResult]) -> Iterator[Note]:
    """Say of each rule that is not tested where it stands, why, and what can be done."""
    for rule in results:
        if rule.untested is not None:
            problem, allowed = rule.untested.problem, rule.untested.allowed
            mark = " (soft)" if rule.soft else " (allowed)" if allowed and rule.untested.hint else ""
            why = "{why:alone}" if allowed else "{why}"
            yield Note(f"{{origin}}: {why}{{mark}}", origin=rule.origin, why=problem, mark=mark)


def _doubtful(edit: Edit, job: Job, known: Collection[str]) -> bool:
    """Whether a rule asks for a name that is no field of the records, or for a field in a namespace of its own."""
    if edit.missing or _inside_fields(edit, job):
        return True
    spaces = {field.tag.rpartition("}")[0].removeprefix("{") for field in job.source.layout.fields}
    names = ((f"@{name.local}" if name.attribute else name.local, name.space) for name in edit.asked)
    return any(name not in known or (space != ANY and spaces != {space}) for name, space in names)


def _inside_fields(edit: Edit, job: Job) -> tuple[tuple[str, str], ...]:
    """Return the steps of a test from one field of a flat record into another one, which no record has."""
    if "/" not in edit.check.test or job.source.tree is not None:
        return ()
    known = {field.name for field in job.source.layout.fields}
    found: dict[tuple[str, str], None] = {}
    try:
        parts = walk(parsed(edit.check.test, job.rulebook.namespaces))
    except RulebookError:
        return ()
    for path in parts:
        match path:
            case Path(
                first=Step(axis="child", test=NameTest(local=outer), predicates=()),
                hops=(Hop(deep=False, to=Step(axis="child", test=NameTest(local=inner))), *_),
            ) if known.issuperset((outer, inner)) and not any(name.startswith(f"{outer}/") for name in known):
                found[outer, inner] = None
            case _:
                pass
    return tuple(found)


def _rules(job: Job) -> dict[int, schema.Rule]:
    return {check.index: pattern.rules[position] for pattern, position, check in job.rulebook.situated()}


def _unknown_fields(
    edit: Edit, rule: schema.Rule, words: Vocabulary, known: Collection[str], job: Job
) -> Untested | None:
    """Say which names of a check, in this rule, the file never has: all of them, in the order of their letters.

    In a nested file, also those that it has, and not where the rule asks for them; in a flat one, also fields inside
    of fields.
    """
    tree = job.source.tree
    missing = {} if rule.visit_each else {(step.name.local, step.name.attribute): step for step in edit.missing}
    names = {step.name for step in missing.values()}
    names.update(one for one in edit.asked if (one.local, one.attribute) not in missing)
    own = " ".join((rule.shown, rule.visit_each, edit.check.test, *(let.value for let in rule.lets)))
    unknown: list[str] = []
    reasons: list[Problem] = []
    hints: list[Problem] = []
    for name in sorted(names, key=lambda one: (one.local, one.attribute, one.space)):
        shown = f"@{name.local}" if name.attribute else name.local
        if name.occurs(words):
            step = missing.get((name.local, name.attribute))
            if step is not None and tree is not None and _lacks(tree, step, known):
                level = tree.level(step.path).name
                reason = Problem("reads-unknown", names=(Field(shown),), level=level)
                reasons.append(reason.then(*_elsewhere(step, tree)))
            continue
        if shown in known or any(shown == one.rpartition("/")[2] for one in known):
            continue
        if rule.visit_each and not re.search(rf"(?<![\w.-]){re.escape(name.local)}(?![\w.-])", own):
            continue  # an earlier rule of the pattern asks for it
        if differs := _differing(name, words):
            reasons.append(differs)
            continue
        unknown.append(shown)
        hints.append(_meant(name, words, shown))
        if re.search(rf"[=]\s*{re.escape(name.local)}(?![\w.:(\[/-])", edit.check.test):
            hints.append(_instead(shown, f"'{name.local}' if it is a text"))
    for outer, inner in _inside_fields(edit, job):
        unknown.append(f"{outer}/{inner}")
        hints.append(_instead(unknown[-1], f"{outer} div {inner} to divide, since / is a path"))
    if unknown:
        reasons.insert(0, Problem("reads-unknown", names=fields(unknown), level="record").then(*hints))
    return _untested(edit.check, reasons, misnamed=True) if reasons else None


def _untested(check: Check, reasons: Sequence[Problem], *, misnamed: bool) -> Untested:
    rule = Rule(check.id)
    problem = Problem("rule-untested", rule=rule, reasons=tuple(reasons))
    return Untested(problem.then(Problem("may-be-untested", rule=rule)), misnamed)


def _instead(construct: str, instead: str) -> Problem:
    return Problem("xpath-slip", construct=construct, instead=instead)


def _lacks(tree: Tree, step: MissingStep, known: Collection[str]) -> bool:
    """Whether no record of the level has the name, and masking has not emptied it."""
    return "/".join((*(step.path or (tree.top.name,)), _shown(step))) not in known


def _elsewhere(step: MissingStep, tree: Tree) -> Iterator[Problem]:
    """Say how to reach a name in other levels; how a prefix is called, the rulebook says."""
    name = _shown(step)
    there = [
        (path, level)
        for path, level in tree.levels()
        if level.field(name) is not None or any(child.name == name for child in level.children)
    ]
    if there and "}" not in tree.level(step.path).tag:
        ways = " or ".join("/".join((*_way(step.path, path), name)) for path, _ in there)
        yield _instead(name, f"{ways}, or give the rule the context {there[0][1].name}")


def _way(here: LevelPath, there: LevelPath) -> tuple[str, ...]:
    """Return the steps from records of one level to those of another one of the same unit."""
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(here, there, strict=False)))
    return (*[".."] * (len(here) - common), *there[common:])


def _shown(step: MissingStep) -> str:
    return f"@{step.name.local}" if step.name.attribute else step.name.local


def _together(reasons: Sequence[Untested], check: Check) -> Untested:
    """Return one reason out of those for which a check is not tested."""
    return _untested(check, [each for one in reasons for each in one.problem.references["reasons"]], misnamed=True)


def _differing(name: SoughtName, words: Vocabulary) -> Problem | None:
    """Say how a name differs from the same one of the file; None where the file has none like it."""
    local = name.local
    if spaces := words.spaces(local, attribute=name.attribute):
        there = " or ".join(f"in the namespace {space}" if space else "in no namespace" for space in sorted(spaces))
        asked = f"in the namespace {name.space}" if name.space else "without a prefix"
        declared = f'p:{local}, and <ns prefix="p" uri="{min(spaces)}"/> in the schema'
        instead = declared if min(spaces) else f"{local} without a prefix"
    elif words.spaces(local, attribute=not name.attribute):
        there, asked = ("an element", "with @") if name.attribute else ("an attribute", "without @")
        instead = f"{local} without @" if name.attribute else f"@{local}"
    else:
        return None
    return Problem("name-differs", name=local, there=there, asked=asked, instead=instead)


def _meant(name: SoughtName, words: Vocabulary, shown: str) -> Problem:
    """Say that the file does not have a name, and what was meant."""
    parts = name.local.split("-")
    if len(parts) > 1 and all(words.spaces(part) for part in parts):
        return _instead(shown, f"{' - '.join(parts)} with blanks: XPath reads {name.local} as one name")
    names = tuple(words.names(attribute=name.attribute) or words.names())
    kind = "attribute" if name.attribute else "element"
    return Problem("unknown-name", kind=kind, name=name.local, known=Known(name.local, names))


def _silent(
    job: Job, silent: Sequence[int], words: Vocabulary, evaluation: Evaluation, original: Source | None
) -> Iterator[tuple[int, Untested]]:
    """Say of checks that fired on nothing why not."""
    situated = {check.index: (pattern, position, check) for pattern, position, check in job.rulebook.situated()}
    waiting = []
    for index in silent:
        pattern, position, check = situated[index]
        if reason := _misnamed_context(pattern.rules[position], check, words, job):
            yield index, reason
        else:
            waiting.append((pattern, position, check))
    takers = _takers(job, waiting, evaluation, original)
    for pattern, position, check in waiting:
        rule = pattern.rules[position]
        if taken := takers.get(check.index):
            why = Problem("nodes-taken", taker=taken)
        else:
            why = Problem("no-node-matches", records=_records(job))
        yield check.index, _idle(check, rule, [why], misnamed=False)


def _idle(check: Check, rule: schema.Rule, reasons: Sequence[Problem], *, misnamed: bool) -> Untested:
    nothing = Problem("fires-on-nothing", reasons=tuple(reasons), context=_context(rule))
    return _untested(check, [nothing], misnamed=misnamed)


def _records(job: Job) -> str:
    return "/".join(["", *(tag.rpartition("}")[2] for tag in job.source.layout.record_path)])


def _context(rule: schema.Rule) -> str:
    """Show the context of a rule as it is written, with what else says on which nodes the rule fires."""
    if rule.visit_each:
        return f"context {rule.shown}, visit-each {rule.visit_each}"
    return f"context {rule.shown}{', in the part of the file that the phase takes' if rule.written else ''}"


def _misnamed_context(rule: schema.Rule, check: Check, words: Vocabulary, job: Job) -> Untested | None:
    """Say what a context asks for that the file does not have; None where one of its alternatives has all."""
    # the context that `visit-each` makes has the conditions of earlier rules in it
    texts = (rule.shown, rule.visit_each) if rule.visit_each else (rule.context,)
    for text in texts:
        if reason := _misnamed_text(text, rule, check, words, job):
            return reason
    return None


def _misnamed_text(text: str, rule: schema.Rule, check: Check, words: Vocabulary, job: Job) -> Untested | None:
    reasons = [_misnamed(path, words, job) for path in context_paths(text, job.rulebook.namespaces)]
    if not all(reasons) or not reasons:
        return None
    return _idle(check, rule, next(reason for reason in reasons if reason), misnamed=True)


def _asked_where(rule: schema.Rule, job: Job) -> set[str]:
    """Return the names that the context of a rule asks for, as rules show them."""
    texts = (rule.shown, rule.visit_each) if rule.visit_each else (rule.context,)
    paths = [path for text in texts for path in context_paths(text, job.rulebook.namespaces)]
    return {f"@{name.local}" if name.attribute else name.local for path in paths for name in path.names}


def _misnamed(path: NamedPath, words: Vocabulary, job: Job) -> tuple[Problem, ...]:
    """Say what a path asks for that the file does not have; nothing where it has all, or nobody knows."""
    lacking = [name for name in path.names if not name.occurs(words)]
    if lacking:
        return tuple(_differing(name, words) or _meant(name, words, name.local) for name in lacking)
    return () if path.matches(words) else (Problem("no-node-matches", records=_records(job)),)


def _takers(
    job: Job, waiting: Sequence[tuple[Pattern, int, Check]], evaluation: Evaluation, original: Source | None
) -> dict[int, str]:
    """Name the earlier rules of the pattern that take all nodes of a rule.

    Each rule that fired on nothing is evaluated alone; where it has nodes then, also behind each earlier rule that
    has some.
    """
    behind = [one for one in waiting if one[1]]
    alone = _probed(job, [(pattern, position, None) for pattern, position, _ in behind], original)
    taken = [one for one, count in zip(behind, alone, strict=True) if count]
    found = {check.index: _EARLIER for _, _, check in taken}
    reached = (evaluation.fired + evaluation.errors).tolist()
    pairs: list[tuple[Pattern, int, Check, schema.Rule]] = []
    for pattern, position, check in taken:
        able = [
            earlier
            for earlier in pattern.rules[:position]
            if not earlier.checks or any(reached[one.index] for one in earlier.checks)
        ]
        own = pattern.rules[position].context
        same = next((earlier for earlier in able if earlier.context == own and "$" not in own), None)
        if same is not None:
            found[check.index] = _takes(same)
        elif len(pairs) + len(able) <= _PROBES:
            pairs += [(pattern, position, check, earlier) for earlier in able]
    left = _probed(job, [(pattern, position, earlier) for pattern, position, _, earlier in pairs], original)
    for (_, _, check, earlier), count in zip(pairs, left, strict=True):
        if found[check.index] == _EARLIER and not count:
            found[check.index] = _takes(earlier)
    return found


def _takes(rule: schema.Rule) -> str:
    return f"the rule with context {rule.shown} in line {rule.origin.line}"


def _probed(
    job: Job, probes: Sequence[tuple[Pattern, int, schema.Rule | None]], original: Source | None
) -> list[int]:
    """Return how many nodes each rule of a pattern has alone, or behind an earlier one."""
    if not probes:
        return []
    places: dict[object, int] = {}
    patterns: list[Pattern] = []
    asked: list[int] = []
    for pattern, at, earlier in probes:
        own = pattern.rules[at]
        key = (pattern.lets, own.lets, own.context, earlier)
        if key not in places:
            places[key] = len(patterns)
            name = f"probe-{len(patterns)}"
            probe = replace(own.checks[0], index=len(patterns), id=name, kind="assert", test="true()")
            before = [] if earlier is None else [replace(earlier, checks=())]
            patterns.append(replace(pattern, id=name, rules=(*before, replace(own, checks=(probe,)))))
        asked.append(places[key])
    probing = replace(job, rulebook=replace(job.rulebook, patterns=tuple(patterns)))
    fired = probing.evaluate(original, no_progress, limit=0).fired.tolist()
    return [fired[place] for place in asked]


def _of_records(job: Job) -> frozenset[str]:
    """Return the ids of the checks that fire on records or on their fields."""
    names = frozenset({job.source.layout.record_tag.rpartition("}")[2]})
    scope = Scope(ROOT, namespaces=job.rulebook.namespaces, record_names=names, base=ROOT)
    known = frozenset(field.name for field in job.source.layout.fields)
    return frozenset(
        check.id
        for pattern in job.rulebook.patterns
        for rule in pattern.rules
        if _meets_records(rule.context, scope, known)
        for check in rule.checks
    )


def _meets_records(context: str, scope: Scope, known: frozenset[str]) -> bool:
    try:
        return any(place.kind != "outside" for place in places(context, scope, known))
    except RulebookError:
        return False
