"""A block with its groups and prototypes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.methods.grouping import Grouping
from masktron.plan import Block
from masktron.settle.prototypes import Settled


@dataclass(frozen=True, slots=True, eq=False)
class MaskedBlock:
    """A block with its groups and prototypes.

    Attributes
    ----------
    grouping : Grouping
        Of the records that were given to mask.
    settled : Settled
    """

    block: Block
    grouping: Grouping
    settled: Settled

    def lexemes(self, position: int) -> NDArray[np.object_]:
        """Masked lexemes of the variable at a position of the block, record by record."""
        column: NDArray[np.object_] = self.settled.lexemes[self.grouping.labels, position]
        return column
