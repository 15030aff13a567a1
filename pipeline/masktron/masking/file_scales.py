"""What distances, steps and grids are measured in: found in all records to mask, and kept where a part is masked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from masktron.kernels.standardise import Standard
from masktron.settle.grid import Grid


@dataclass(frozen=True, slots=True)
class FieldScale:
    """The scale of a masked field.

    Attributes
    ----------
    standard : Standard
        Of its numbers or ranks.
    measured_in : float
        What distances are measured in, in settle.
    deviation : float
        Standard deviation of its numbers, with divisor n; 0 where there are none.
    free, tied : Grid or None
        What it can hold where it stands in no equality, and where it does; None for categories.
    """

    standard: Standard
    measured_in: float
    deviation: float
    free: Grid | None
    tied: Grid | None

    def grid(self, *, tied: bool) -> Grid:
        """Return the grid of a field of numbers."""
        found = self.tied if tied else self.free
        if found is None:
            raise TypeError("categories have no grid")
        return found


type FileScales = Mapping[str, FieldScale]
"""Of masked fields, by name."""
