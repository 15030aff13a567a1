"""The independent oracle of XPath 1.0: libxml2, asked node by node, with contexts matched by their definition.

Nothing of masktron is used, and no stylesheet: a node matches a context if the path selects it from one of its
ancestors, from itself or from the document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from lxml import etree

from differential.case import Case, Check, Let, Pattern, Rule
from differential.told import FAILS, HOLDS, Tally, Told


@dataclass(frozen=True, slots=True)
class Node:
    """An element, or an attribute of one."""

    element: etree._Element
    attribute: str = ""


def compiles(expression: str, namespaces: Mapping[str, str]) -> bool:
    """Tell whether an expression is XPath 1.0, for libxml2."""
    try:
        etree.XPath(expression.replace("current()", "$current"), namespaces=dict(namespaces))
    except etree.XPathSyntaxError:
        return False
    return True


def evaluate(case: Case) -> dict[str, Told]:
    """Evaluate every check on every node."""
    return _Walk(case).told()


class _Walk:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.spaces = dict(case.namespaces)
        parser = etree.XMLParser(resolve_entities=False)
        self.root = etree.fromstring(case.table.document, parser)
        self.elements = [e for e in self.root.iter() if isinstance(e.tag, str)]
        self.nodes = [n for e in self.elements for n in (Node(e), *(Node(e, a) for a in e.attrib))]
        self.position = {node: i for i, node in enumerate(self.nodes)}
        self.records = {record: i for i, record in enumerate(e for e in self.root if isinstance(e.tag, str))}

    def told(self) -> dict[str, Told]:
        told: dict[str, Told] = {}
        outer = self.lets(self.case.lets, {}, None)
        for pattern in self.case.patterns:
            told |= self.pattern(pattern, self.lets(pattern.lets, outer, None))
        return told

    def lets(self, lets: tuple[Let, ...], known: Mapping[str, Any], node: etree._Element | None) -> dict[str, Any]:
        """Return the values of variables at an element; of a pattern or schema, which read from // on, anywhere."""
        values = dict(known)
        for let in lets:
            focus = self.root if node is None else node
            values[let.name] = self.compiled(let.value.text)(focus, current=[focus], **values)
        return values

    def compiled(self, expression: str) -> Any:
        text = expression.replace("current()", "$current")
        return etree.XPath(text, namespaces=self.spaces or None)

    def pattern(self, pattern: Pattern, values: Mapping[str, Any]) -> dict[str, Told]:
        taken: set[Node] = set()
        told: dict[str, Told] = {}
        for rule in pattern.rules:
            mine = [n for n in self.matched(rule, values) if n not in taken]
            taken.update(mine)
            told |= self.rule(rule, mine, values)
        return told

    def matched(self, rule: Rule, values: Mapping[str, Any]) -> list[Node]:
        found: set[Node] = set()
        for step in rule.context:
            absolute = step.text.startswith("/")
            if not step.text.startswith(".."):
                found |= set(_nodes(self.compiled(step.text if absolute else f"/{step.text}")(self.root, **values)))
            if absolute:
                continue
            own = self.compiled(step.text)
            if step.text.startswith("../@"):
                # seen from the attribute itself, at which lxml evaluates nothing
                inner = self.compiled(step.text.removeprefix("../"))
                found |= {n for start in self.elements for n in _nodes(inner(start, **values))}
            for start in self.elements:
                below = {*start.iter()}
                found |= {n for n in _nodes(own(start, **values)) if n.element in below}
        return sorted(found, key=self.position.__getitem__)

    def rule(self, rule: Rule, nodes: list[Node], values: Mapping[str, Any]) -> dict[str, Told]:
        tallies = {check.id: Tally(len(self.records)) for check in rule.checks}
        plain = {check.id: self.compiled(f"boolean({check.test.text})") for check in rule.checks}
        for node in nodes:
            inner = self.lets(rule.lets, values, node.element) if not node.attribute else dict(values)
            record = self.record(node.element)
            for check in rule.checks:
                if node.attribute:
                    at = self.compiled(f"boolean(@{node.attribute}[boolean({check.test.text})])")
                    truth = at(node.element, **inner)
                else:
                    truth = plain[check.id](node.element, current=[node.element], **inner)
                tallies[check.id].add(record, _mark(check, truth=bool(truth)))
        return {name: tally.told() for name, tally in tallies.items()}

    def record(self, element: etree._Element) -> int:
        return next((self.records[e] for e in (element, *element.iterancestors()) if e in self.records), -1)


def _mark(check: Check, *, truth: bool) -> str:
    return HOLDS if truth == (check.kind == "assert") else FAILS


def _nodes(found: Any) -> list[Node]:
    return [
        Node(f.getparent(), str(f.attrname)) if isinstance(f, str) else Node(f)
        for f in found
        if not isinstance(f, etree._Comment | etree._ProcessingInstruction)
    ]


def pruned(case: Case) -> Case:
    """Return the case without rules and checks that libxml2 cannot read."""
    spaces = dict(case.namespaces)

    def rule(one: Rule) -> Rule | None:
        if not compiles(one.context_text, spaces) or not all(compiles(let.value.text, spaces) for let in one.lets):
            return None
        checks = tuple(
            c
            for c in one.checks
            if compiles(c.test.text, spaces) and (c.shown is None or compiles(c.shown.text, spaces))
        )
        return replace(one, checks=checks) if checks else None

    patterns = tuple(
        replace(p, rules=rules) for p in case.patterns if (rules := tuple(r for r in map(rule, p.rules) if r))
    )
    return replace(case, patterns=patterns)
