"""The nodes on which checks are evaluated: those of a context that a phase leaves, and those that they visit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from masktron.errors import RulebookError
from masktron.rulebook.context_match import ContextPath, ContextStep, condition, parse_context
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import Step, outside_predicates
from masktron.rulebook.expressions.words import variables
from masktron.rulebook.schema import Namespaces, Origin, Pattern, Rule


def parts(rules: Sequence[Rule], namespaces: Namespaces) -> Iterator[tuple[Rule, ...]]:
    """Split the rules of a pattern so that each part fires on the nodes that its rules evaluate.

    A rule with ``visit-each`` evaluates other nodes than those of its context, and it is the latter that no later
    rule may fire on. So it becomes a part of its own, whose context leads on to what is visited from those
    nodes of the context that no earlier rule has; and later rules have it, without checks, in front of them.

    Parameters
    ----------
    rules : sequence of Rule
    namespaces : tuple of (prefix, uri)

    Raises
    ------
    RulebookError
        What is visited is no path down, or the context of an earlier rule is no path.
    """
    start = 0
    for at, rule in enumerate(rules):
        if rule.visit_each:
            if start < at:
                yield _part(rules, start, at)
            yield (_visiting(rule, rules[:at], namespaces),)
            start = at + 1
    if start < len(rules) or not rules:
        yield _part(rules, start, len(rules))


def _part(rules: Sequence[Rule], start: int, stop: int) -> tuple[Rule, ...]:
    before = (replace(rule, checks=(), lets=(), visit_each="") for rule in rules[:start])
    return (*before, *rules[start:stop])


def _visiting(rule: Rule, earlier: Sequence[Rule], namespaces: Namespaces) -> Rule:
    from_ = _paths(rule.context, namespaces, rule.origin, "the context of a rule with visit-each")
    visited = _paths(rule.visit_each, namespaces, rule.origin, "visit-each")
    for path in visited:
        # a node that is reached from two others would be evaluated once instead of twice
        if path.absolute or any(step.gap for step in path.steps):
            raise _refused("visit-each", rule.visit_each, rule.origin)
    _check_down("visit-each", rule.visit_each, rule.origin, namespaces)
    for path in from_:
        if path.kind not in ("element", "document"):
            raise _refused("the context of a rule with visit-each", rule.context, rule.origin)
    what = "the context of a rule before one with visit-each"
    taken = [path for other in earlier for path in _paths(other.context, namespaces, other.origin, what)]
    if taken and any(not path.steps for path in from_):
        raise _refused("the context of a rule with visit-each", rule.context, rule.origin)
    free = "".join(f"[not({condition(path)})]" for path in taken)
    heads = [_written(path) + free for path in from_]
    tails = [_written(path) for path in visited]
    joined = (head if tail == "." else f"{head.rstrip('/')}/{tail}" for head in heads for tail in tails)
    return replace(rule, context=" | ".join(joined), written=rule.context)


def _check_down(what: str, expression: str, origin: Origin, namespaces: Namespaces) -> None:
    """Refuse steps that a context may have since it is read from anywhere, and a path that is walked may not."""
    for one in outside_predicates(parsed(expression, namespaces)):
        if isinstance(one, Step) and one.axis in ("parent", "self"):
            raise _refused(what, expression, origin)


def _paths(expression: str, namespaces: Namespaces, origin: Origin, what: str) -> tuple[ContextPath, ...]:
    found = parse_context(expression, namespaces)
    if found is None or variables(expression):
        raise _refused(what, expression, origin)
    return found


def _refused(what: str, expression: str, origin: Origin) -> RulebookError:
    return RulebookError.of("not-a-path-down", str(origin), part=what, expression=expression)


def _written(path: ContextPath) -> str:
    if not path.steps:
        return "/"
    text = ""
    for k, step in enumerate(path.steps):
        if step.gap:
            text += "//"
        elif k or path.absolute:
            text += "/"
        text += _step(step)
    return text


def _step(step: ContextStep) -> str:
    name = "." if step.kind == "any" else f"{'@' if step.kind == 'attribute' else ''}{step.test}"
    return name + "".join(f"[{p}]" for p in step.predicates)


def from_part(pattern: Pattern, start: str, origin: Origin, namespaces: Namespaces) -> Pattern:
    """Return a pattern that fires only in the part of a document that a phase begins at (``phase/@from``).

    Parameters
    ----------
    pattern : Pattern
    start : str
        A path that is read at the root of the document.
    origin : Origin
        Of the phase.
    """
    starts = [replace(path, absolute=True) for path in _paths(start, namespaces, origin, "phase/@from")]
    _check_down("phase/@from", start, origin, namespaces)
    if any(not path.steps for path in starts):
        return pattern
    if any(path.kind != "element" for path in starts):
        raise _refused("phase/@from", start, origin)
    return replace(pattern, rules=tuple(_restricted(rule, starts, namespaces) for rule in pattern.rules))


def _restricted(rule: Rule, starts: Sequence[ContextPath], namespaces: Namespaces) -> Rule:
    paths = _paths(rule.context, namespaces, rule.origin, "the context of a rule in a phase with from")
    if any(not path.steps for path in paths):
        raise _refused("the context of a rule in a phase with from", rule.context, rule.origin)
    within = " or ".join(f"ancestor-or-self::*[{condition(start)}]" for start in starts)
    context = " | ".join(f"{_written(path)}[{within}]" for path in paths)
    return replace(rule, context=context, written=rule.written or rule.context)


def subject_of(subject: str, origin: Origin, namespaces: Namespaces) -> str | None:
    """Return the path to the node that findings point at; None for the node of the context itself.

    Raises
    ------
    RulebookError
        It is no path down of plain names.
    """
    subject = subject.strip()
    if not subject or subject == ".":
        return None
    paths = _paths(subject, namespaces, origin, "subject")
    _check_down("subject", subject, origin, namespaces)
    plain = len(paths) == 1 and not paths[0].absolute
    for step in paths[0].steps if plain else ():
        plain = plain and step.plain_name is not None and not step.gap and not step.predicates
    if not plain:
        raise _refused("subject", subject, origin)
    return _written(paths[0])
