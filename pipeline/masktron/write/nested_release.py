"""What a manifest says of a nested file: how its members were put side by side, and what weighs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

from masktron.sources.level_tree import LevelPath
from masktron.sources.wide.member_order import FILE_ORDER, MemberOrder


@dataclass(frozen=True, slots=True)
class NestedRelease:
    """How the units of a nested file were read.

    Attributes
    ----------
    member_order : MemberOrder
    weights : mapping of tuple of str to str
        By level, the field of its own that is its weight.
    """

    member_order: MemberOrder = FILE_ORDER
    weights: Mapping[LevelPath, str] = field(default_factory=lambda: MappingProxyType({}))

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        weights = [{"level": "/".join(path), "field": name} for path, name in self.weights.items()]
        return {"member_order": self.member_order.as_dict(), "weights": weights}

    @classmethod
    def from_plain(cls, content: object) -> Self:
        """Return what `as_dict` has written.

        Raises
        ------
        TypeError, KeyError
            It is none.
        """
        if not isinstance(content, dict) or not isinstance(content["weights"], list):
            raise TypeError("'nested' is no table of an order and weights")
        weights: dict[LevelPath, str] = {}
        for entry in content["weights"]:
            level, name = entry["level"], entry["field"]
            if not isinstance(level, str) or not isinstance(name, str):
                raise TypeError("'nested' has a weight without a name")
            weights[tuple(filter(None, level.split("/")))] = name
        return cls(MemberOrder.from_plain(content["member_order"]), MappingProxyType(weights))
