"""A field around members that is computed anew as the sum of one of theirs."""

from __future__ import annotations

from dataclasses import dataclass

from masktron.sources.level_tree import LevelPath


@dataclass(frozen=True, slots=True)
class SumOfMembers:
    """A field of a record around members that is the sum of one of theirs.

    Attributes
    ----------
    level : tuple of str
        Of the record around them.
    field : str
    of : str
        The field of the members.
    rule : str
        Id of the rule that says so.
    """

    level: LevelPath
    field: str
    of: str
    rule: str
