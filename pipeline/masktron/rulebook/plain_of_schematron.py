"""A rulebook of Schematron as plain rules, as far as they can say what it says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from masktron.rulebook.expressions import tree as xpath
from masktron.rulebook.expressions.parsing import understood
from masktron.rulebook.expressions.tree import Expression
from masktron.rulebook.plain.conditions import Records
from masktron.rulebook.plain.kinds import kind_compared, kinds_by_use
from masktron.rulebook.plain.spelling import UnspelledError, spelled
from masktron.rulebook.plain.tree import Arithmetic, Compared, Kind, Name, Node, Number, PlainRule, Severity, mapped
from masktron.rulebook.plain.tree import walk as walk_plain
from masktron.rulebook.plain_of_xpath import FieldsByPath, PlainOfXPath, Steps, steps_of, steps_with_predicates
from masktron.rulebook.schema import Check, Let, Pattern, Rule, Rulebook, ValueOf

type _Context = tuple[Steps, bool, tuple[Expression, ...]]
"""The steps of a context, whether they begin at the root, and the predicates of the last one."""


@dataclass(frozen=True, slots=True)
class Translated:
    """A rule in another language.

    Attributes
    ----------
    check : Check
    rule : PlainRule or None
    reason : str
        Why it has no spelling there; empty where it has one.
    caveats : tuple of str
        In which records the two may differ, in words.
    """

    check: Check
    rule: PlainRule | None
    reason: str = ""
    caveats: tuple[str, ...] = ()


def plain_of_rulebook(
    rulebook: Rulebook, levels: Sequence[Records] = (), *, lenient: bool = False
) -> tuple[Translated, ...]:
    """Write the rules of a rulebook as plain rules.

    Parameters
    ----------
    rulebook : Rulebook
    levels : sequence of Records
        Of the file, those within others behind these; without any, each field has the name of its element.
    lenient : bool
        Whether a plain rule may be undecided where a value is missing and the rule fails.
    """
    found = [
        one
        for pattern in rulebook.patterns
        for at in range(len(pattern.rules))
        for one in _of_rule(rulebook, pattern, at, levels, lenient)
    ]
    nodes = [_changed(one.rule.node, {}) for one in found if one.rule is not None]
    kinds = kinds_by_use(nodes, levels[0].kinds_of if levels else None)
    return tuple(_spelt(one, kinds) for one in found)


def _spelt(one: Translated, kinds: Mapping[str, Kind]) -> Translated:
    if one.rule is None:
        return one
    node = _changed(one.rule.node, kinds)
    try:
        return replace(one, rule=replace(one.rule, node=node, text=spelled(node)))
    except UnspelledError as error:
        return Translated(one.check, None, str(error))


def _of_rule(
    rulebook: Rulebook, pattern: Pattern, at: int, levels: Sequence[Records], lenient: bool
) -> Iterator[Translated]:
    rule = pattern.rules[at]
    for check in rule.checks:
        try:
            context = _context(rule, rulebook)
            before = [_context(one, rulebook) for one in pattern.rules[:at]]
            unless = [one[2] for one in before if one[:2] == context[:2] or one[0][-1] == context[0][-1]]
            variables = _variables(rulebook, pattern, rule)
            found = _translated(check, context, unless, variables, rulebook, pattern.version, levels, lenient)
        except UnspelledError as error:
            found = Translated(check, None, str(error))
        yield found


def _translated(
    check: Check,
    context: _Context,
    unless: Sequence[tuple[Expression, ...]],
    variables: Mapping[str, Expression],
    rulebook: Rulebook,
    version: str,
    levels: Sequence[Records],
    lenient: bool,
) -> Translated:
    if not all(unless):
        raise UnspelledError("a rule before it in the pattern has all of its records")
    test = understood(check.test, rulebook.namespaces)
    if test is None:
        raise UnspelledError(f"{check.test} is not understood")
    records, whole = _records(context, levels)
    top = len(context[0]) == 1 if not levels else "/" not in records.record
    for full in (False, True):
        names = FieldsByPath(
            lambda path: understood(path, records.namespaces.items()), records, bool(levels), whole, full, top
        )
        plain = PlainOfXPath(names, variables, version != "1.0", lenient=lenient)
        node = plain.condition(test, check.kind == "assert", context[2], unless)
        used = {one.name for one in walk_plain(node) if isinstance(one, Name)}
        if not levels or next((one for one in levels if one.sees(node)), None) is records:
            said = "".join(f"{{{one.select}}}" if isinstance(one, ValueOf) else one for one in check.text)
            severity: Severity = "error" if not check.soft else "warning"
            said_so = (word.lower() for word in (check.role, check.flag, check.severity) if word)
            if check.soft and any(word.startswith("info") for word in said_so):
                severity = "information"
            rule = PlainRule(check.id, node, check.origin.line, "", " ".join(said.split()), severity=severity)
            codes = {name: ", ".join(records.codes_of(name)) for name in sorted(used)}
            missing = (f"{code} of {name} is a missing value here" for name, code in codes.items() if code)
            return Translated(check, rule, caveats=(*plain.caveats, *missing))
    raise UnspelledError("other records have all fields that it names, and a plain rule would be on these")


def _context(rule: Rule, rulebook: Rulebook) -> _Context:
    tree = understood(rule.context, rulebook.namespaces)
    anywhere = False
    if isinstance(tree, xpath.Path) and isinstance(tree.first, xpath.Root) and tree.hops[0].deep:
        anywhere = True
        tree = replace(tree, hops=(replace(tree.hops[0], deep=False), *tree.hops[1:]))
    steps = [] if tree is None else [*steps_with_predicates(tree)]
    names = tuple(one[0] for one in steps if one is not None)
    if not names or len(names) < len(steps) or any(one is None or one[1] for one in steps[:-1]):
        raise UnspelledError(f"its context {rule.shown} has no spelling")
    last = steps[-1]
    predicates = last[1] if last is not None else ()
    root = names[0] == "/" and not anywhere
    return names[names[0] == "/" :], root, predicates


def _records(context: _Context, levels: Sequence[Records]) -> tuple[Records, bool]:
    """Return the records on which a rule is, and whether it is on the root instead."""
    steps, root, _ = context
    if not levels:
        if not steps or (root and len(steps) == 1):
            return Records(), True
        return Records(), False
    for level in levels:
        tree = understood(level.all, level.namespaces.items())
        full = () if tree is None else (steps_of(tree) or ())[1:]
        if full == steps or (not root and full[-len(steps) :] == steps):
            return level, False
        if level is levels[0] and full[:1] == steps and len(full) > 1:
            return level, True
    raise UnspelledError(f"the file has no records {'/'.join(steps)}")


def _variables(rulebook: Rulebook, pattern: Pattern, rule: Rule) -> dict[str, Expression]:
    """Return what variables hold: those of a rule anything, others what reads no record."""
    found: dict[str, Expression] = {}

    def add(lets: Iterable[Let], anything: bool) -> None:
        for one in lets:
            tree = understood(one.value, rulebook.namespaces)
            reads = (xpath.Step, xpath.ContextItem, xpath.Root, xpath.Call)
            if tree is not None and (anything or not any(isinstance(part, reads) for part in xpath.walk(tree))):
                found[one.name] = tree
            else:
                found.pop(one.name, None)

    add(rulebook.lets, False)
    add(pattern.lets, False)
    add(rule.lets, True)
    return found


def _changed(node: Node, kinds: Mapping[str, Kind]) -> Node:
    """Take away the ``0 +`` that makes a comparison one of numbers, where it is that anyhow."""

    def changed(one: Node) -> Node:
        match one:
            case Compared(_, Arithmetic("+", Number("0"), value), other):
                plain = not kinds or kind_compared(value, other, "==", kinds) == "number"
                return replace(one, left=value) if plain else one
        return one

    return mapped(node, changed)
