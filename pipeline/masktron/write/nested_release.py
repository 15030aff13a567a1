"""What a manifest says of a nested file: how its members were put side by side, and what weighs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any, Self

from masktron.sources.level_tree import TOP, LevelPath
from masktron.sources.wide.member_rows import FILE_ORDER, MemberOrder
from masktron.sources.wide.wide_record import SumOfMembers


@dataclass(frozen=True, slots=True)
class ReleasedField:
    """A field of a level, with the wide fields that it has.

    Attributes
    ----------
    level : str
        Names of levels from the top down, with ``/`` between them: ``Household/Person``.
    name : str
        As settings and rules name it.
    wide : tuple of str
        Its names in the records that are masked, position by position; none where no masked record holds it.
    numbered : bool
        Whether it joins tables and got new numbers.
    """

    level: str
    name: str
    wide: tuple[str, ...]
    numbered: bool = False


@dataclass(frozen=True, slots=True)
class NestedRelease:
    """How the units of a nested file were read.

    Attributes
    ----------
    member_order : MemberOrder
    weights : mapping of tuple of str to str
        By level, the field of its own that is its weight.
    protect : tuple of str
        Path of the level of which each record is one that was masked.
    sums : tuple of SumOfMembers
        Fields around such records that were computed anew.
    removed : mapping of tuple of str to frozenset of str
        By level around or beside such records, the fields that were left out.
    fields : tuple of ReleasedField
        All fields of all levels, in the order of the file; none by earlier versions.
    """

    member_order: MemberOrder = FILE_ORDER
    weights: Mapping[LevelPath, str] = field(default_factory=lambda: MappingProxyType({}))
    protect: LevelPath = TOP
    sums: tuple[SumOfMembers, ...] = ()
    removed: Mapping[LevelPath, frozenset[str]] = field(default_factory=lambda: MappingProxyType({}))
    fields: tuple[ReleasedField, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        weights = [{"level": "/".join(path), "field": name} for path, name in self.weights.items()]
        sums = [{**asdict(one), "level": "/".join(one.level)} for one in self.sums]
        return {
            "protect": "/".join(self.protect),
            "member_order": self.member_order.as_dict(),
            "weights": weights,
            "sums": sums,
            "removed": [{"level": "/".join(path), "fields": sorted(names)} for path, names in self.removed.items()],
            "fields": [{**asdict(one), "wide": list(one.wide)} for one in self.fields],
        }

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
            weights[_path(entry["level"])] = _text(entry["field"])
        sums = tuple(
            SumOfMembers(_path(one["level"]), _text(one["field"]), _text(one["of"]), _text(one["rule"]))
            for one in content["sums"]
        )
        order = MemberOrder.from_plain(content["member_order"])
        removed = {_path(one["level"]): frozenset(map(_text, one["fields"])) for one in content["removed"]}
        fields = tuple(
            ReleasedField(
                _text(one["level"]), _text(one["name"]), tuple(map(_text, one["wide"])), one["numbered"] is True
            )
            for one in content.get("fields", ())
        )
        protect = _path(content["protect"])
        return cls(order, MappingProxyType(weights), protect, sums, MappingProxyType(removed), fields)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("'nested' has a name that is no text")
    return value


def _path(value: object) -> LevelPath:
    return tuple(filter(None, _text(value).split("/")))
