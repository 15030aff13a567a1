"""A masked nested file and its original as files of the same wide records."""

from __future__ import annotations

from collections.abc import Sequence

from masktron.sources.level_tree import TOP, LevelPath
from masktron.sources.source import Source
from masktron.sources.wide.member_rows import FILE_ORDER, MemberOrder
from masktron.sources.wide.member_source import MemberSource
from masktron.sources.wide.wide_record import SumOfMembers
from masktron.sources.wide.wide_source import WideSource


def wide_pair(
    released: Source,
    original: Source | None,
    order: MemberOrder = FILE_ORDER,
    level: LevelPath = TOP,
    sums: Sequence[SumOfMembers] = (),
) -> tuple[Source, Source | None]:
    """Return a released nested file and its original as files of wide records; any other files as they are.

    Fields have the names that they have in the original, whose units the released file has, or some of them; members
    stand in the same order in both.

    Parameters
    ----------
    released : Source
    original : Source, optional
    order : MemberOrder
    level : tuple of str
        Path of the level of which each record is one.
    sums : sequence of SumOfMembers
        Fields around records of such a level that were computed anew.
    """
    if released.tree is None or (original is not None and original.tree is None):
        return released, original
    if level != TOP:
        if original is None:
            return MemberSource(released, level, sums, member_order=order), None
        members = MemberSource(original, level, sums, member_order=order)
        return MemberSource(released, level, sums, wide=members.wide, member_order=order), members
    if original is None:
        return WideSource(released, member_order=order), None
    beside = WideSource(original, member_order=order)
    return WideSource(released, beside.wide, order), beside
