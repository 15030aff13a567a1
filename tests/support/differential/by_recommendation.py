"""The independent oracle of XPath 1.0: its Recommendation, evaluated by `differential.xpath1`, node by node.

Contexts are matched by their definition: a node matches if the path selects it from one of its ancestors, from itself
or from the document.
"""

from __future__ import annotations

from collections.abc import Mapping

from differential.case import Case, Check, Let, Pattern, Rule
from differential.told import FAILS, HOLDS, Tally, Told
from differential.xpath1 import Context, Expression, Node, Value, compiled, document, to_boolean


def evaluate(case: Case) -> dict[str, Told]:
    """Evaluate every check on every node."""
    return _Walk(case).told()


class _Walk:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.spaces = dict(case.namespaces)
        self.root = document(case.table.document)
        self.nodes = [self.root]
        for node in self.root.descendants():
            self.nodes += [node, *node.attributes]
        (top,) = (n for n in self.root.children if n.kind == "element")
        self.records = {id(n): k for k, n in enumerate(n for n in top.children if n.kind == "element")}
        self._compiled: dict[str, Expression] = {}

    def told(self) -> dict[str, Told]:
        told: dict[str, Told] = {}
        outer = self.lets(self.case.lets, {}, self.root)
        for pattern in self.case.patterns:
            told |= self.pattern(pattern, self.lets(pattern.lets, outer, self.root))
        return told

    def value(self, expression: str, node: Node, variables: Mapping[str, Value]) -> Value:
        if expression not in self._compiled:
            self._compiled[expression] = compiled(expression, self.spaces)
        return self._compiled[expression](Context(node, 1, 1, variables, node))

    def lets(self, lets: tuple[Let, ...], known: Mapping[str, Value], node: Node) -> dict[str, Value]:
        values = dict(known)
        for let in lets:
            values[let.name] = self.value(let.value.text, node, values)
        return values

    def pattern(self, pattern: Pattern, values: Mapping[str, Value]) -> dict[str, Told]:
        taken: set[int] = set()
        told: dict[str, Told] = {}
        for rule in pattern.rules:
            mine = [n for n in self.matched(rule, values) if id(n) not in taken]
            taken.update(map(id, mine))
            told |= self.rule(rule, mine, values)
        return told

    def matched(self, rule: Rule, values: Mapping[str, Value]) -> list[Node]:
        found: dict[int, Node] = {}
        for step in rule.context:
            for start in [self.root] if step.text.startswith("/") else self.nodes:
                selected = self.value(step.text, start, values)
                assert isinstance(selected, list)
                found |= {id(n): n for n in selected if start is n or any(a is start for a in n.ancestors())}
        return sorted(found.values(), key=lambda n: n.order)

    def rule(self, rule: Rule, nodes: list[Node], values: Mapping[str, Value]) -> dict[str, Told]:
        tallies = {check.id: Tally(len(self.records)) for check in rule.checks}
        for node in nodes:
            inner = self.lets(rule.lets, values, node)
            for check in rule.checks:
                truth = to_boolean(self.value(check.test.text, node, inner))
                tallies[check.id].add(self.record(node), _mark(check, truth=truth))
        return {name: tally.told() for name, tally in tallies.items()}

    def record(self, node: Node) -> int:
        return next((self.records[id(n)] for n in (node, *node.ancestors()) if id(n) in self.records), -1)


def _mark(check: Check, *, truth: bool) -> str:
    return HOLDS if truth == (check.kind == "assert") else FAILS
