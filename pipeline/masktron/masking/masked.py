"""A block with its groups and prototypes, and what came of its candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.grouping.record_groups import RecordGroups
from masktron.masking.disclosure.exposure import Exposure
from masktron.plan import Block
from masktron.settle.prototypes import Settled


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one candidate of a block.

    Attributes
    ----------
    aggregator : str
    information_loss : float or None
        100 SSE/SST of its prototypes over the numeric variables of the block; None where it was not settled.
    copied_share : float or None
        Share of the records in groups that copy one of their records, 0 to 1; None where it was not settled.
    verdict : str
        Taken, or why not.
    solved : tuple of str
        Variables that it solves in each record.
    """

    aggregator: str
    information_loss: float | None
    copied_share: float | None
    verdict: str
    solved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class MaskedBlock:
    """A block with its groups and prototypes.

    Attributes
    ----------
    block : Block
        With the chosen candidate in use.
    grouping : RecordGroups
        Of the records that were given to mask.
    settled : Settled
    exposure : Exposure
        What the prototypes publish of single records.
    trials : tuple of Trial
        One for each candidate of the block, in its order; none where there is only one.
    aims : ndarray of float64, shape (groups, p), or None
        What a method drew, where each record is a group of its own.
    """

    block: Block
    grouping: RecordGroups
    settled: Settled
    exposure: Exposure
    trials: tuple[Trial, ...] = ()
    aims: NDArray[np.float64] | None = None

    def lexemes(self, position: int) -> NDArray[np.object_]:
        """Masked lexemes of the variable at a position of the block, record by record."""
        return self.settled.column(position, self.grouping.labels).objects()
