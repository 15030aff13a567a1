"""An expanded rulebook through pyschematron's own parser and resolvers, with origins and order carried along.

pyschematron keeps no line numbers, sorts asserts before reports and puts what a rule extends first. Every pattern,
rule and check therefore goes in with the number of its origin as its ``fpi``, which all resolvers leave alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

from lxml import etree
from pyschematron.direct_mode.schematron import ast
from pyschematron.direct_mode.schematron.ast_visitors import (
    PhaseSelectionVisitor,
    ResolveAbstractPatternsVisitor,
    ResolveExtendsVisitor,
)
from pyschematron.direct_mode.schematron.parsers.xml.parser import SchemaParser

from masktron.errors import RulebookError
from masktron.read.rulebook import Check, Let, Origin, Pattern, Rule, ValueOf
from masktron.read.schematron_files import ISO, MARK, Sources, iso_children
from masktron.read.schematron_structure import expanded, is_true, name_of

SOFT = frozenset({"warning", "warn", "information", "info", "informational", "hint", "soft"})
"""Values of ``role`` or ``flag`` (in lower case) that mark a soft edit."""
_ALL = "#ALL"
_DEFAULT = "#DEFAULT"
_INSTANCE = "masktronInstance"
_WORD = r"[^\W\d][\w.\-·]*"


def resolve(
    schema: etree._Element, sources: Sources, phase: str | None
) -> tuple[Any, tuple[Let, ...], tuple[Pattern, ...]]:
    """Resolve extends, abstract patterns and the phase.

    Returns
    -------
    schema : pyschematron.direct_mode.schematron.ast.Schema
        Each check's ``fpi`` is ``masktron:INDEX``.
    lets : tuple of Let
        Of the schema and the active phase.
    patterns : tuple of Pattern

    Raises
    ------
    RulebookError
        The phase is unknown, or nothing is left to check.
    """
    active = _phase(schema, phase, sources)
    _prepare(schema)
    # elementpath selects from the document: beside a comment before the root, pyschematron would find no pattern.
    tree = SchemaParser().parse(deepcopy(schema))
    tree = ResolveExtendsVisitor(tree).apply(tree)
    tree = ResolveAbstractPatternsVisitor(tree).apply(tree)
    tree = PhaseSelectionVisitor(tree, active or _ALL).apply(tree)
    lets = _lets(schema, {v.name: v.value.query for v in tree.variables}, schema, sources, None)
    for node in tree.phases if active else ():
        element = next(p for p in iso_children(schema, "phase") if p.get("id") == active)
        lets += _lets(element, {v.name: v.value.query for v in node.variables}, schema, sources, None)
    builder = _Builder(schema, sources)
    patterns = [builder.pattern(node) for node in tree.patterns]
    _require_checks([p for p, _ in patterns], schema, sources, active)
    return (
        tree.with_updated(patterns=tuple(node for _, node in patterns)),
        lets,
        tuple(pattern for pattern, _ in patterns),
    )


def _phase(schema: etree._Element, phase: str | None, sources: Sources) -> str:
    """Return the id of the active phase, or the empty string for all patterns."""
    phases = [p.get("id", "") for p in iso_children(schema, "phase")]
    wanted = phase if phase not in (None, _DEFAULT) else schema.get("defaultPhase") or _ALL
    if wanted == _ALL:
        return ""
    if wanted not in phases:
        raise RulebookError(
            f"the rulebook has no phase {wanted!r}",
            where=str(sources.origin(schema)),
            hint=f"phases: {', '.join([*phases, _ALL])}",
        )
    return str(wanted)


def _require_checks(patterns: list[Pattern], schema: etree._Element, sources: Sources, active: str) -> None:
    if any(rule.checks for pattern in patterns for rule in pattern.rules):
        return
    what = "no pattern" if not patterns else "no assert or report"
    scope = f"the phase {active!r}" if active else "the rulebook"
    raise RulebookError(
        f"{scope} has {what}: there is nothing to check",
        where=str(sources.origin(schema)),
        hint="a rulebook needs pattern, rule and assert or report",
    )


def _prepare(schema: etree._Element) -> None:
    """Write into the tree what pyschematron needs: origins as ``fpi``, and parameters that cannot be confused."""
    for element in schema.iter(*(f"{{{ISO}}}{n}" for n in ("pattern", "rule", "assert", "report"))):
        element.set("fpi", element.get(MARK, ""))
        if is_true(element, "abstract"):
            element.set("abstract", "true")
        for scope in ("diagnostics", "properties"):
            if element.get(scope) is not None:
                element.set(scope, " ".join(element.get(scope, "").split()))
    for abstract in iso_children(schema, "pattern"):
        if not is_true(abstract, "abstract"):
            continue
        instances = [p for p in iso_children(schema, "pattern") if p.get("is-a") == abstract.get("id")]
        _rename_parameters(abstract, instances)
        abstract.set("fpi", f"{abstract.get(MARK)}|${_INSTANCE}")
        for instance in instances:
            _param(instance, _INSTANCE, instance.get(MARK, ""))


def _param(instance: etree._Element, name: str, value: str) -> None:
    etree.SubElement(instance, f"{{{ISO}}}param", {"name": name, "value": value})


def _rename_parameters(abstract: etree._Element, instances: list[etree._Element]) -> None:
    """Give parameters names of which none begins another, where they are defined and where they are used.

    pyschematron replaces ``$a`` at a word boundary, so also in ``$a-b`` and ``$a.b``, which are other names.
    """
    given = {p.get("name", "").strip() for i in instances for p in iso_children(i, "param")}
    new = {name: f"masktronP{k}x" for k, name in enumerate(sorted(given))}
    for instance in instances:
        for param in iso_children(instance, "param"):
            param.set("name", new[param.get("name", "").strip()])
    declared = {let.get("name", "").strip() for let in abstract.iter(f"{{{ISO}}}let")}

    def substitute(match: re.Match[str]) -> str:
        name = match[1]
        shorter = [name[: cut.start()] for cut in re.finditer(r"[.\-·]", name)]
        found = next((n for n in (name, *reversed(shorter)) if n in new), None)
        if found is None or name in declared:
            return match[0]
        return f"${new[found]}{name[len(found) :]}"

    for element in abstract.iter():
        for key, value in element.attrib.items():
            element.set(key, re.sub(rf"\$({_WORD})", substitute, str(value)))
        for part in ("text", "tail"):
            text = getattr(element, part)
            if text and element is not abstract:
                setattr(element, part, re.sub(rf"\$({_WORD})", substitute, text))


def _lets(
    scope: etree._Element,
    values: Mapping[str, str],
    schema: etree._Element,
    sources: Sources,
    instance: Origin | None,
) -> tuple[Let, ...]:
    """Return the variables of a scope in document order, with the values that pyschematron resolved."""
    elements = expanded(scope, schema, sources, "let")
    return tuple(
        Let(name, values[name].strip(), replace(sources.origin(element), instance=instance))
        for element in elements
        for name in [element.get("name", "")]
    )


class _Builder:
    """Our patterns from pyschematron's, checks numbered in document order."""

    def __init__(self, schema: etree._Element, sources: Sources) -> None:
        self.schema = schema
        self.sources = sources
        self.by_mark = {element.get(MARK, ""): element for element in schema.iter()}
        self.index = 0
        self.ids: set[str] = set()
        self.pattern_ids: set[str] = set()

    def pattern(self, node: Any) -> tuple[Pattern, Any]:
        """Return our pattern, and pyschematron's with numbered checks."""
        mark, _, instance_mark = node.fpi.partition("|")
        element = self.by_mark[mark]
        labelled = self.by_mark[instance_mark or mark]
        instance = self.sources.origin(labelled) if instance_mark else None
        label = _label(labelled) or (_label(element) if instance_mark else "")
        rules = [self.rule(rule, label, instance) for rule in node.rules]
        values = {v.name: v.value.query for v in node.variables}
        pattern = Pattern(
            id=_unique(label or f"pattern-{len(self.pattern_ids) + 1}", self.pattern_ids),
            lets=_lets(element, values, self.schema, self.sources, instance),
            rules=tuple(rule for rule, _ in rules),
            origin=replace(self.sources.origin(element), instance=instance),
        )
        return pattern, node.with_updated(rules=tuple(rule for _, rule in rules))

    def rule(self, node: Any, label: str, instance: Origin | None) -> tuple[Rule, Any]:
        """Return our rule, and pyschematron's with numbered checks in document order."""
        element = self.by_mark[node.fpi]
        order = [e.get(MARK, "") for e in expanded(element, self.schema, self.sources, "assert", "report")]
        resolved = sorted(node.checks, key=lambda check: order.index(check.fpi))
        checks = tuple(self.check(check, node, label, instance) for check in resolved)
        values = {v.name: v.value.query for v in node.variables}
        numbered = tuple(
            theirs.with_updated(fpi=f"masktron:{ours.index}") for theirs, ours in zip(resolved, checks, strict=True)
        )
        rule = Rule(
            context=node.context.query.strip(),
            lets=_lets(element, values, self.schema, self.sources, instance),
            checks=checks,
            origin=replace(self.sources.origin(element), instance=instance),
        )
        return rule, node.with_updated(checks=numbered)

    def check(self, node: Any, rule: Any, label: str, instance: Origin | None) -> Check:
        """Return our check."""
        element = self.by_mark[node.fpi]
        role, flag = node.role or rule.role, node.flag or rule.flag
        check = Check(
            id=_unique(
                (node.id or "").strip() or (rule.id or "").strip() or label or f"rule-{self.index + 1}", self.ids
            ),
            index=self.index,
            kind="assert" if name_of(element) == "assert" else "report",
            test=node.test.query.strip(),
            message=tuple(_part(part) for part in node.content),
            origin=replace(self.sources.origin(element), instance=instance),
            role=role,
            flag=flag,
            soft=any((word or "").strip().lower() in SOFT for word in (role, flag)),
        )
        self.index += 1
        return check


def _part(part: Any) -> str | ValueOf:
    match part:
        case ast.ValueOf():
            return ValueOf(part.select.query.strip())
        case ast.Name():
            return ValueOf(part.path.query.strip() if part.path else ".", is_name=True)
        case _:
            return str(part)


def _label(pattern: etree._Element) -> str:
    title = next(iso_children(pattern, "title"), None)
    words = (
        pattern.get("id")
        or pattern.get("name")
        or ("".join(str(t) for t in title.itertext()) if title is not None else "")
    )
    return " ".join(str(words).split())


def _unique(wanted: str, taken: set[str]) -> str:
    """Return the name on one line, numbered where it is taken."""
    name = first = " ".join(wanted.split())
    number = 1
    while name in taken:
        number += 1
        name = f"{first}.{number}"
    taken.add(name)
    return name
