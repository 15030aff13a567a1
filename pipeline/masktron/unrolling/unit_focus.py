"""At which node an expression is evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from masktron.sources.wide.wide_record import UnitNode
from masktron.unrolling.unrolled_values import Value, WideText


@dataclass(frozen=True, slots=True)
class Focus:
    """The context of an expression.

    Attributes
    ----------
    node : UnitField, UnitPlace or None
        The context item; None where there is none, as in a variable of the schema.
    current : UnitField, UnitPlace or None
        The node that the context of the rule has matched: that of ``current()``.
    position, size : WideText, optional
        Numbers, inside a predicate.
    variables : mapping of str to value
    among : tuple of UnitField or UnitPlace
        The nodes among which the context item has its position.
    """

    node: UnitNode | None
    current: UnitNode | None
    position: WideText | None = None
    size: WideText | None = None
    variables: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    among: tuple[UnitNode, ...] = ()

    def at(self, node: UnitNode, position: WideText | None = None, size: WideText | None = None) -> Focus:
        """Return the focus on another node."""
        return replace(self, node=node, position=position, size=size)

    def bind(self, name: str, value: Value) -> Focus:
        """Return the focus with a variable more."""
        return replace(self, variables={**self.variables, name: value})

    def without(self, name: str) -> Focus:
        """Return the focus without a variable."""
        return replace(self, variables={key: value for key, value in self.variables.items() if key != name})
