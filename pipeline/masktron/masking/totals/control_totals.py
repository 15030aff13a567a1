"""Numbers that stand outside the records, such as control totals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from lxml import etree

from masktron.masking.record_rules import RecordRules
from masktron.sources.lexical import parse_number
from masktron.sources.xml.parser import parse_tree


class ControlTotals:
    """Reads numbers outside the records: masking does not change them."""

    def __init__(self, rules: RecordRules) -> None:
        self._rules = rules
        self._of_check = [rule for pattern in rules.rulebook.patterns for rule in pattern.rules for _ in rule.checks]
        self._tree: Any = None
        self._known: dict[tuple[int, str], Fraction | None] = {}

    def number(self, rule: int, path: str) -> Fraction | None:
        """Return the number at a path, as seen from the context of a rule; None where it is not one plain number."""
        if (rule, path) not in self._known:
            if self._tree is None:
                self._tree = parse_tree(self._rules.original)
            context = self._of_check[rule].context.lstrip("/")
            ways = (path, f"//{context}/{path.lstrip('/')}" if context else path)
            found = (self._number(way) for way in dict.fromkeys(ways))
            self._known[rule, path] = next((number for number in found if number is not None), None)
        return self._known[rule, path]

    def _number(self, path: str) -> Fraction | None:
        spaces = {prefix: uri for prefix, uri in self._rules.rulebook.namespaces if prefix}
        try:
            nodes = self._tree.xpath(path, namespaces=spaces)
        except etree.XPathError:
            return None  # XPath 2: the figure of the original serves as well
        texts = {str(node) if isinstance(node, str) else str(node.xpath("string()")) for node in nodes or ()}
        if len(texts) != 1 or np.isnan(parse_number(*texts)):
            return None
        return Fraction(texts.pop().strip())
