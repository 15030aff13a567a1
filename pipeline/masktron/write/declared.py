"""What a manifest says of the method: its contract, and what `check` needs to test it against the files."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from masktron.contracts import IdenticalGroups, MethodContract, PartitionedSynthesis, as_plain, contract_from
from masktron.serialised import read_plain


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
    told = read_plain(_Told, content, "declared")
    contract, drawn, groups = contract_from(told.contract), told.drawn, told.groups
    if len({*drawn}) < len(drawn) or not {*drawn} <= {*masked}:
        raise ValueError("the drawn fields are not some of the masked ones")
    if min(itertools.chain(groups or (), (told.unmoved,), *told.marked.values())) < 0:
        raise ValueError("'declared' holds a negative number")
    if not all(math.isfinite(moved) and moved >= 0 for moved in told.settled.values()):
        raise ValueError("'settled' holds what is no sum of squares")
    if not {*told.settled, *told.marked} <= {*drawn}:
        raise ValueError("it tells of drawn values in a field that was not drawn")
    for name, positions in told.marked.items():
        if len({*positions}) < len(positions):
            raise ValueError(f"'marked' names a value of {name} twice")
    if isinstance(contract, IdenticalGroups) and drawn:
        raise ValueError("it promises identical groups for fields that were drawn record by record")
    if isinstance(contract, PartitionedSynthesis) and drawn and groups is None:
        raise ValueError("the groups that values were drawn for are missing")
    return Declared(told.method, contract, drawn, groups, told.unmoved, told.settled, told.marked)


@dataclass(frozen=True, slots=True)
class _Told:
    method: str
    contract: Mapping[str, Any]
    drawn: tuple[str, ...]
    groups: tuple[int, ...] | None
    unmoved: int
    settled: Mapping[str, float]
    marked: Mapping[str, tuple[int, ...]]
