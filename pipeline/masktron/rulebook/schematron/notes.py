"""What a check has beside its test: messages, diagnostics, properties, and the nodes on which it is evaluated."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lxml import etree
from pyschematron.direct_mode.schematron import ast

from masktron.errors import RulebookError
from masktron.problems.problem import Known
from masktron.rulebook.context_match import ContextPath, ContextStep, condition, parse_context
from masktron.rulebook.expressions.parsing import parsed, understood
from masktron.rulebook.expressions.tree import Call, Literal, Step, outside_predicates
from masktron.rulebook.expressions.words import variables
from masktron.rulebook.schema import Namespaces, Note, Origin, Part, Pattern, Rich, Rule, ValueOf
from masktron.rulebook.schematron.inclusions import ISO, LANG
from masktron.rulebook.schematron.structure import name_of

FPI = "{urn:masktron:origin}fpi"
"""Attribute with the ``fpi`` of an element whose own is in use."""
_GIVE_NODES = frozenset({"current", "id", "idref", "key", "document", "doc", "root"})
WORD = r"[^\W\d][\w.\-·]*"
"""What the name of a parameter may be."""


@dataclass(frozen=True, slots=True)
class Templates:
    """The parameters of the instances of abstract patterns, by the mark of the instance.

    Attributes
    ----------
    renamed, written : dict of str to dict of str to str
        Values by the name under which the abstract pattern has them in the tree, and by the name as it was written.
    """

    renamed: dict[str, dict[str, str]] = field(default_factory=dict)
    written: dict[str, dict[str, str]] = field(default_factory=dict)

    def inside(self, text: str, instance: str) -> str:
        """Fill in a text of the abstract pattern."""
        return filled(text, self.renamed.get(instance, {}))

    def outside(self, text: str, instance: str) -> str:
        """Fill in a text that stands elsewhere, as those of diagnostics do."""
        return filled(text, self.written.get(instance, {}))


def filled(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of ``$name``; the longest name counts that there is."""

    def value(match: re.Match[str]) -> str:
        name = longest(match[1], values)
        return match[0] if name is None else f"{values[name]}{match[1][len(name) :]}"

    return re.sub(rf"\$({WORD})", value, text) if values else text


def longest(name: str, known: Mapping[str, str]) -> str | None:
    """Return the longest known name that a name is or begins with, up to a dot or hyphen."""
    shorter = [name[: cut.start()] for cut in re.finditer(r"[.\-·]", name)]
    return next((n for n in (name, *reversed(shorter)) if n in known), None)


def rich_of(element: etree._Element) -> Rich:
    """Return what an element says about its text."""
    languages = (e.get(LANG) for e in (element, *element.iterancestors()))
    lang = next((language for language in languages if language is not None), None)
    fpi = element.get(FPI) if name_of(element) in ("assert", "report") else element.get("fpi")
    return Rich(element.get("see"), element.get("icon"), fpi, lang or None)


def part_of(part: Any, namespaces: Namespaces) -> str | ValueOf:
    """Return a part of a message from pyschematron's."""
    match part:
        case ast.ValueOf():
            return ValueOf(part.select.query.strip())
        case ast.Name():
            return _named(part.path.query.strip() if part.path else ".", namespaces)
        case _:
            return str(part)


def _named(path: str, namespaces: Namespaces) -> ValueOf:
    """Return what ``<name path>`` shows: the name of a node, or the value of a call or a literal.

    The standard says that the path gives the name, as ``name(..)`` does; most rulebooks write a path to a node.
    """
    tree = understood(path, namespaces)
    value = isinstance(tree, Literal) or (isinstance(tree, Call) and tree.standard not in _GIVE_NODES)
    return ValueOf(path, is_name=not value)


def notes_of(
    check: etree._Element,
    notes: Mapping[tuple[str, str], etree._Element],
    templates: Templates,
    instance: str,
    origin: Origin,
    namespaces: Namespaces,
) -> Iterator[Part]:
    """Yield the diagnostics and properties that a check names, each a note with the parts of its text.

    Parameters
    ----------
    check : Element
    notes : mapping of (kind, id) to Element
    templates : Templates
    instance : str
        The mark of the instance of an abstract pattern that the check is of, else empty.
    origin : Origin
        Of the check.
    namespaces : tuple of (prefix, uri)

    Raises
    ------
    RulebookError
        A parameter names none.
    """
    for kind, plural in (("diagnostic", "diagnostics"), ("property", "properties")):
        for wanted in templates.inside(check.get(plural, ""), instance).split():
            element = notes.get((kind, wanted))
            if element is None:
                known = Known(wanted, tuple(name for of, name in notes if of == kind))
                raise RulebookError.of("unknown-name", str(origin), kind=kind, name=wanted, known=known)
            yield Note(
                "diagnostic" if kind == "diagnostic" else "property",
                wanted,
                element.get("role"),
                element.get("scheme"),
                rich_of(element),
            )
            for part in _parts(element):
                if isinstance(part, ValueOf):
                    select = templates.outside(part.select, instance)
                    yield _named(select, namespaces) if part.is_name else ValueOf(select)
                else:
                    yield templates.outside(part, instance)


def _parts(element: etree._Element) -> Iterator[str | ValueOf]:
    if element.text:
        yield element.text
    for child in element:
        if child.tag == f"{{{ISO}}}name":
            yield ValueOf((child.get("path") or ".").strip(), is_name=True)
        else:
            yield ValueOf((child.get("select") or "").strip())
        if child.tail:
            yield child.tail


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
