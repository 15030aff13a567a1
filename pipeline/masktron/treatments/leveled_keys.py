"""Keys as codes, with their labels at every level of a hierarchy as codes, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.hierarchies import Hierarchy
from masktron.problems.problem import Field, Place


@dataclass(frozen=True, slots=True, eq=False)
class LeveledKey:
    """A key and what becomes of its values at each level.

    Attributes
    ----------
    field : str
    codes : ndarray of int, shape (n,)
        Values from 0; -1 where missing, which stays missing at every level.
    labels : tuple of ndarray of int32, shape (m,) each
        For each level the code of the label of each value. Level 0 has the values themselves: 0 to m - 1. Values of
        one label have one label at all levels above.
    importance : float
        How much a loss in this key counts beside others; above 0.

    Raises
    ------
    UsageError
        Codes are outside -1 to m - 1, levels do not nest, or the importance is not above 0.
    """

    field: str
    codes: NDArray[np.integer[Any]]
    labels: tuple[NDArray[np.int32], ...]
    importance: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.importance < np.inf:
            given, name = repr(self.importance), f"importance[{self.field!r}]"
            raise UsageError.of("bad-value", name=name, expected="above 0", given=given)
        values = len(self.labels[0])
        if not np.array_equal(self.labels[0], np.arange(values)):
            raise UsageError.of(
                "bad-arrays", Place(field=Field(self.field)), detail="each value must be its own label at level 0"
            )
        if len(self.codes) and not -1 <= self.codes.min() <= self.codes.max() < values:
            raise UsageError.of(
                "bad-arrays", Place(field=Field(self.field)), detail=f"codes must be from -1 to {values - 1}"
            )
        for level in range(1, len(self.labels)):
            below, own = self.labels[level - 1], self.labels[level]
            _, first, which = np.unique(below, return_index=True, return_inverse=True)
            if own.shape != (values,) or not np.array_equal(own[first][which], own):
                raise UsageError.of(
                    "bad-arrays",
                    Place(field=Field(self.field)),
                    detail=f"level {level} splits a label of the level below",
                )

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.labels) - 1

    def is_emptied(self, level: int) -> bool:
        """Tell whether nothing is left of its values at a level: all have one label, where they were several."""
        return len(self.labels[0]) > 1 and bool((self.labels[level] == self.labels[level][0]).all())

    def at(self, level: int) -> NDArray[np.int32]:
        """Return the codes of the labels at a level, shape (n,); -1 where missing."""
        found: NDArray[np.int32] = np.append(self.labels[level], np.int32(-1))[self.codes]
        return found


def leveled(
    field: str,
    codes: NDArray[np.integer[Any]],
    values: Sequence[str],
    hierarchy: Hierarchy | None,
    importance: float = 1.0,
) -> LeveledKey:
    """Return a key with the levels of its hierarchy.

    Parameters
    ----------
    field : str
    codes : ndarray of int, shape (n,)
        Positions in `values`; -1 where missing.
    values : sequence of str, shape (m,)
        Distinct, each in the hierarchy.
    hierarchy : Hierarchy or None
        Where there is none, the key has level 0 alone and stays as it is.
    importance : float

    Raises
    ------
    UsageError
        As for `LeveledKey`.
    """
    labels = [np.arange(len(values), dtype=np.int32)]
    for names in hierarchy.levels[1:] if hierarchy else ():
        known: dict[str, int] = {}
        found = [known.setdefault(names[value], len(known)) for value in values]
        labels.append(np.array(found, dtype=np.int32))
    return LeveledKey(field, codes, tuple(labels), importance)
