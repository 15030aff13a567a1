"""The order of the document among the fields of a record, which need not be that of the layout."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.columns.coded import Coded, chosen, constant
from masktron.evaluation.columns.outcome import Truth
from masktron.evaluation.columns.xpath1_types import Member, Nodes, field_of
from masktron.sources.columns import Batch, Cell


def first(nodes: Nodes, what: Callable[[Member], Callable[[Batch], Coded[str]]]) -> Callable[[Batch], Coded[str]]:
    """Return what is asked for of the first node of a set in the order of the document; the empty text of none."""
    read = [what(member) for member in nodes.members]
    if len(read) > 1:
        for member in nodes.members:
            field_of(member)

    def of(batch: Batch) -> Coded[str]:
        which, unsure = _order(nodes, batch)
        parts = [part(batch) for part in read]
        for k, part in enumerate(parts):
            unsure = unsure | (part.unsure & (which == k))
        return chosen(which, [*parts, constant("")], unsure)

    return of


def _order(nodes: Nodes, batch: Batch) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the position of the first member that is there, and where this is unsure."""
    present = [member.present(batch) for member in nodes.members]
    unsure = np.zeros((), dtype=np.bool_)
    for there in present:
        unsure = unsure | there.unsure
    if len(present) < 2:
        holds = present[0].holds if present else np.zeros((), dtype=np.bool_)
        return np.where(holds, 0, len(present)), unsure
    starts, known = places(nodes, batch, present)
    several = np.sum([there.holds for there in present], axis=0) > 1
    nearest = np.argmin(starts, axis=0)
    nothing = ~np.logical_or.reduce([there.holds for there in present])
    return np.where(nothing, len(present), nearest), unsure | (several & ~known)


def places(nodes: Nodes, batch: Batch, present: list[Truth]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where the members stand, absent ones last, and whether all that are there have a place.

    An empty cell need not have one: its element may be a single tag.
    """
    last = np.iinfo(np.int64).max
    starts = []
    known = np.ones(len(batch), dtype=np.bool_)
    for member, there in zip(nodes.members, present, strict=True):
        cells = batch.cells[field_of(member)]
        starts.append(np.where(there.holds, cells.start, last))
        known &= ~there.holds | (cells.status == Cell.TEXT)
    return np.array(starts), known
