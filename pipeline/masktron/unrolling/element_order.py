"""Which checks may read in which order elements of different names stand in a record.

Unrolled rules take it for granted that fields come before the records in a record, in the order of the tree. Steps
with a name to children, attributes, parents and the node itself say the same in any order: the records of one kind
keep theirs, and a field stands in its record once.
"""

from __future__ import annotations

from typing import Any

from masktron.errors import RulebookError
from masktron.rulebook.analysis import once
from masktron.rulebook.schema import Rulebook
from masktron.xpath.tokens import parse

_SETS = frozenset({"|", "union", "intersect", "except", "<<", ">>", "//", "!", "innermost", "outermost"})
_AXES = frozenset({"descendant", "descendant-or-self", "ancestor", "ancestor-or-self", "following", "preceding"})
_BESIDE = frozenset({"following-sibling", "preceding-sibling", "node", "element", "attribute", "Q{"})
_ORDERED = _SETS | _AXES | _BESIDE


@once
def order_bound(rulebook: Rulebook) -> frozenset[int]:
    """Return the checks for which the order may matter, by tests, variables, or contexts up to their own."""
    spaces = dict(rulebook.namespaces)

    def bound(text: str) -> bool:
        try:
            return _reads_order(parse(text, spaces))
        except RulebookError:
            return True

    outer = any(bound(let.value) for let in rulebook.lets)
    found = set()
    for pattern in rulebook.patterns:
        before = outer or any(bound(let.value) for let in pattern.lets)
        for rule in pattern.rules:
            before |= bound(rule.context)
            inner = before or any(bound(let.value) for let in rule.lets)
            found |= {check.index for check in rule.checks if inner or bound(check.test)}
    return frozenset(found)


def _reads_order(token: Any) -> bool:
    waiting = [token]
    while waiting:
        one = waiting.pop()
        parts = list(one)
        if one.symbol in _ORDERED or (one.symbol == "*" and not parts):
            return True
        # a step that is no name puts what it selects into the order of the document
        if one.symbol == "/" and len(parts) == 2 and _bare(parts[1]).symbol in ("(", ",", "for", "if"):
            return True
        waiting += parts
    return False


def _bare(token: Any) -> Any:
    while token.symbol == "[" and len(token) == 2:
        token = token[0]
    return token
