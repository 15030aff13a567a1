"""The levels of a nested file, as results tell them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from masktron.serialised import Serialised

if TYPE_CHECKING:
    from masktron.sources.level_tree import Tree


@dataclass(frozen=True, slots=True)
class LevelDescription(Serialised):
    """One kind of records of a nested file.

    Attributes
    ----------
    level : str
        Names from the unit down, with ``/`` between them.
    records : int
        In the file.
    least, most : int
        In one record of the level above; of the unit, in the file.
    fields : tuple of str
        Of its own, as rules and settings name them.
    """

    KEYS: ClassVar = "level records least most fields"

    level: str
    records: int
    least: int
    most: int
    fields: tuple[str, ...]

    @property
    def parent(self) -> str:
        """Name of the level above; empty for the unit."""
        return self.level.rpartition("/")[0].rpartition("/")[2]


def levels_of(tree: Tree | None) -> tuple[LevelDescription, ...]:
    """Describe the levels of a file, each before those within it; none where it is not nested."""
    if tree is None:
        return ()
    names = {(path, field): name for name, (path, field) in tree.names.items()}
    return tuple(
        LevelDescription(
            level="/".join((tree.top.name, *path)),
            records=level.count,
            least=level.least,
            most=level.most,
            fields=tuple(names[path, field] for field in level.fields),
        )
        for path, level in tree.levels()
    )
