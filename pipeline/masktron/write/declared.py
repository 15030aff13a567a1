"""What a manifest says of the method: its contract, and what `check` needs to test it against the files."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from masktron.contracts import IdenticalGroups, MethodContract, PartitionedSynthesis, as_plain, contract_from


@dataclass(frozen=True, slots=True)
class Declared:
    """The protection that a masked file was given.

    Attributes
    ----------
    method : str
    contract : MethodContract
        What the method promises for the fields in `drawn`. All other masked fields are shared by groups.
    drawn : tuple of str
        Masked fields in which every record has a value of its own; none for methods whose groups share theirs.
    groups : tuple of int, or None
        Group of each record that was kept, in the order of the original: the groups that a method formed, or the
        parts of the file to which it was applied one by one. None where it saw the file as a whole.
    unmoved : int
        Records that `mask` itself counted as having come out as they went in.
    settled : mapping of str to float
        By drawn number: the sum, over the records, of the squared difference between what was drawn and what was
        written to keep the rules; 0 where a field is not there. Of values that were exchanged, how far they may be
        from those of the original in another order.
    marked : mapping of str to tuple of int
        By drawn field: positions (from 0, among the kept records in the order of the original) of the values that
        were to be replaced; for methods that replace some values alone.
    """

    method: str
    contract: MethodContract
    drawn: tuple[str, ...] = ()
    groups: tuple[int, ...] | None = None
    unmoved: int = 0
    settled: Mapping[str, float] = field(default_factory=dict)
    marked: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as ``declared`` of a manifest has it. Confidential."""
        return {
            "method": self.method,
            "contract": as_plain(self.contract),
            "drawn": list(self.drawn),
            "groups": None if self.groups is None else list(self.groups),
            "unmoved": self.unmoved,
            "settled": {name: float(moved) for name, moved in self.settled.items()},
            "marked": {name: list(positions) for name, positions in self.marked.items()},
        }


def declared_from(content: Mapping[str, Any], masked: tuple[str, ...]) -> Declared:
    """Build it from plain data.

    Parameters
    ----------
    content : mapping
    masked : tuple of str
        The masked fields of the manifest.

    Raises
    ------
    KeyError, TypeError, ValueError
        Something is missing, of a wrong type, or contradicts the rest.
    """
    contract = contract_from(_table(content["contract"], "contract"))
    groups = content["groups"]
    declared = Declared(
        method=_checked(content["method"], "method", lambda one: isinstance(one, str)),
        contract=contract,
        drawn=_names(content["drawn"], masked),
        groups=None if groups is None else _positions(groups, "groups"),
        unmoved=_positions([content["unmoved"]], "unmoved")[0],
        settled={name: _moved(moved) for name, moved in _table(content["settled"], "settled").items()},
        marked={name: _positions(at, "marked") for name, at in _table(content["marked"], "marked").items()},
    )
    if not {*declared.settled, *declared.marked} <= {*declared.drawn}:
        raise ValueError("it tells of drawn values in a field that was not drawn")
    if isinstance(contract, IdenticalGroups) and declared.drawn:
        raise ValueError("it promises identical groups for fields that were drawn record by record")
    if isinstance(contract, PartitionedSynthesis) and declared.drawn and groups is None:
        raise ValueError("the groups that values were drawn for are missing")
    return declared


def _names(value: Any, masked: tuple[str, ...]) -> tuple[str, ...]:
    names = _checked(value, "drawn", lambda one: isinstance(one, list) and all(isinstance(n, str) for n in one))
    if len({*names}) < len(names) or not {*names} <= {*masked}:
        raise ValueError("the drawn fields are not some of the masked ones")
    return tuple(names)


def _positions(value: Any, key: str) -> tuple[int, ...]:
    whole = _checked(
        value,
        key,
        lambda one: isinstance(one, list) and all(isinstance(n, int) and not isinstance(n, bool) for n in one),
    )
    if any(position < 0 for position in whole):
        raise ValueError(f"{key!r} holds a negative number")
    return tuple(whole)


def _moved(value: Any) -> float:
    moved = _checked(value, "settled", lambda one: isinstance(one, int | float) and not isinstance(one, bool))
    if not (math.isfinite(moved) and moved >= 0):
        raise ValueError("'settled' holds what is no sum of squares")
    return float(moved)


def _table(value: Any, key: str) -> dict[str, Any]:
    table: dict[str, Any] = _checked(value, key, lambda one: isinstance(one, dict))
    return table


def _checked(value: Any, key: str, fine: Callable[[Any], bool]) -> Any:
    if not fine(value):
        raise TypeError(f"{key!r} is not of the right kind")
    return value
