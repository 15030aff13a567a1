"""At which node an expression is evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from masktron.sources.wide.wide_record import Node
from masktron.unrolling.values import Text, Value


@dataclass(frozen=True, slots=True)
class Focus:
    """The context of an expression.

    Attributes
    ----------
    node : Leaf, Place or None
        The context item; None where there is none, as in a variable of the schema.
    current : Leaf, Place or None
        The node that the context of the rule has matched: that of ``current()``.
    position, size : Text, optional
        Numbers, inside a predicate.
    variables : mapping of str to value
    """

    node: Node | None
    current: Node | None
    position: Text | None = None
    size: Text | None = None
    variables: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))

    def at(self, node: Node, position: Text | None = None, size: Text | None = None) -> Focus:
        """Return the focus on another node."""
        return replace(self, node=node, position=position, size=size)

    def bind(self, name: str, value: Value) -> Focus:
        """Return the focus with a variable more."""
        return replace(self, variables={**self.variables, name: value})

    def without(self, name: str) -> Focus:
        """Return the focus without a variable."""
        return replace(self, variables={key: value for key, value in self.variables.items() if key != name})
