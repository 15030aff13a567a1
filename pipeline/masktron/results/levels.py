"""The levels of a nested file, as results tell them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from masktron.results.figure import FigureResult
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


@dataclass(frozen=True, slots=True)
class MaskedLevel(Serialised):
    """What is known of the masked records of one level of a nested file.

    Attributes
    ----------
    level : str
        Names from the unit down, with ``/`` between them.
    records : int
        That are written.
    weight : str
        The field by which they are weighted, their own or that of a level around them; empty where each counts once.
    figures : tuple of FigureResult
        ``whole_record_k``: records alike in all that is masked of them and of the records around them; of units, in
        all that is masked of their members, too. ``linkage``: among the records of units of the same composition.
        Figures of utility are those of the level's own fields.
    """

    KEYS: ClassVar = "level records weight figures"

    level: str
    records: int
    weight: str
    figures: tuple[FigureResult, ...]

    def __getitem__(self, name: str) -> float:
        """Return the value of a figure."""
        return {figure.name: figure.value for figure in self.figures}[name]


def levels_of(tree: Tree | None) -> tuple[LevelDescription, ...]:
    """Describe the levels of a file, each before those within it; none where it is not nested."""
    if tree is None:
        return ()
    return tuple(
        LevelDescription(
            level=tree.shown(path),
            records=level.count,
            least=level.least,
            most=level.most,
            fields=tuple(tree.name_of[path, field] for field in level.fields),
        )
        for path, level in tree.levels()
    )
