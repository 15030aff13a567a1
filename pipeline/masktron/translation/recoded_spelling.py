"""Trees of conditions as XPath, read at the record, with the prefixes of the rulebook."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from masktron.reading.nodes import (
    Boolean,
    Call,
    Comparison,
    ContextRecord,
    Expression,
    FieldRef,
    Not,
    OtherNodes,
    Unknown,
    VariableReference,
    changed,
    walk,
)
from masktron.reading.plain_text import source_of
from masktron.rulebook.expressions.spacing import quoted, quoted_in_any
from masktron.rulebook.expressions.words import FUNCTIONS_NAMESPACE
from masktron.rulebook.schema import XPathVersion
from masktron.translation.truth_trees import Both, Branch, Claim, Either, OneOf, TruthTree

_STANDARD = frozenset({"http://www.w3.org/2001/XMLSchema", FUNCTIONS_NAMESPACE})
_PLAIN = (Comparison, FieldRef, Call, Not, Boolean)


class LostError(Exception):
    """A rule that cannot be translated.

    Attributes
    ----------
    reason : str
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Spelling:
    """Writes trees for one rulebook.

    Parameters
    ----------
    version : str
        The version of XPath.
    namespaces : mapping of str to str
        URIs by prefix.
    """

    def __init__(self, version: XPathVersion, namespaces: Mapping[str, str]) -> None:
        self._modern = version != "1.0"
        self._prefixes = {uri: prefix for prefix, uri in reversed(list(namespaces.items())) if prefix}
        self._prefixed = any(uri not in _STANDARD for uri in self._prefixes)

    def test(self, tree: TruthTree) -> str:
        """Return the tree as the test of an assert.

        Raises
        ------
        LostError
            Part of it has no spelling at the record.
        """
        return self._spelled(tree)

    def _spelled(self, tree: TruthTree) -> str:  # noqa: PLR0911 -- one branch per kind of tree
        match tree:
            case Claim():
                return self._claim(tree)
            case OneOf():
                return self._one_of(tree)
            case Both(parts=()):
                return "true()"
            case Either(parts=()):
                return "false()"
            case Both(parts=parts):
                return " and ".join(map(self._grouped, parts))
            case Either(parts=parts):
                return " or ".join(map(self._grouped, parts))
            case Branch(condition=condition, then=then, otherwise=otherwise):
                asked, first, second = map(self._spelled, (condition, then, otherwise))
                return f"if ({asked}) then ({first}) else ({second})"
            case _:
                assert_never(tree)

    def _grouped(self, tree: TruthTree) -> str:
        text = self._spelled(tree)
        if isinstance(tree, Claim):
            return text if tree.negated or isinstance(tree.expression, _PLAIN) else f"({text})"
        single = isinstance(tree, OneOf) and (tree.negated or self._modern or len(tree.labels) == 1)
        return text if single else f"({text})"

    def _claim(self, claim: Claim) -> str:
        text = source_of(self._named(claim.expression))
        return f"not({text})" if claim.negated else text

    def _one_of(self, listed: OneOf) -> str:
        name = source_of(self._named(listed.field))
        labels = sorted(listed.labels, key=_by_number)
        if self._modern and len(labels) > 1:
            text = f"{name} = ({', '.join(map(quoted, labels))})"
        else:
            text = " or ".join(f"{name} = {self._literal(label)}" for label in labels)
        return f"not({text})" if listed.negated else text

    def _literal(self, text: str) -> str:
        return quoted(text) if self._modern else quoted_in_any(text)

    def _named(self, expression: Expression) -> Expression:
        """Put prefixes before the names of fields."""
        for node in walk(expression):
            match node:
                case VariableReference(name=name):
                    raise LostError(f"the value of the variable ${name} is not known")
                case Unknown(source=source) | OtherNodes(source=source) if self._prefixed or "$" in source:
                    raise LostError(f"{' '.join(source.split())} is not understood")
                case ContextRecord():
                    raise LostError("it reads the record as a whole")
                case _:
                    pass
        return changed(expression, self._prefix)

    def _prefix(self, node: Expression) -> Expression | None:
        if not isinstance(node, FieldRef) or not node.namespace:
            return None
        prefix = self._prefixes.get(node.namespace)
        if node.namespace == "*" and self._modern:
            prefix = "*"
        if prefix is None:
            raise LostError(f"the namespace of {node.name} has no prefix")
        local = node.name.removeprefix("@")
        return replace(node, name=f"{'@' * (local != node.name)}{prefix}:{local}")


def _by_number(label: str) -> tuple[object, ...]:
    """Order labels by their first number, then as texts."""
    found = re.search(r"\d+", label)
    return (found is None, int(found.group()) if found else 0, label)
