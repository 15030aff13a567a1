"""Truth with a third value, record by record: what is surely so, surely not, and left to an engine.

Arrays may have no dimension where the value is the same in all records; they broadcast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.evaluation.columns.outcome import Truth


def sure(holds: NDArray[np.bool_] | bool) -> Truth:
    """Return a truth without doubt."""
    return Truth(np.asarray(holds, dtype=np.bool_), np.zeros((), dtype=np.bool_))


def never_unsure(truth: Truth) -> bool:
    """Tell at no cost whether a truth has no doubt; False where that is not known at no cost."""
    return truth.unsure.ndim == 0 and not truth.unsure


def both(one: Truth, other: Truth) -> Truth:
    """Return the conjunction: false where one is surely false, unsure where that leaves it open."""
    holds = one.holds & other.holds
    if never_unsure(one) and never_unsure(other):
        return sure(holds)
    possible = (one.holds | one.unsure) & (other.holds | other.unsure)
    return Truth(holds, (one.unsure | other.unsure) & possible)


def either(one: Truth, other: Truth) -> Truth:
    """Return the disjunction: true where one is surely true, unsure where that leaves it open."""
    holds = one.holds | other.holds
    if never_unsure(one) and never_unsure(other):
        return sure(holds)
    decided = (one.holds & ~one.unsure) | (other.holds & ~other.unsure)
    return Truth(holds, (one.unsure | other.unsure) & ~decided)


def negated(truth: Truth) -> Truth:
    """Return the negation."""
    return Truth(~truth.holds, truth.unsure)


def spread(truth: Truth, records: int) -> Truth:
    """Return a truth with one value for each record."""
    return Truth(np.broadcast_to(truth.holds, (records,)), np.broadcast_to(truth.unsure, (records,)))
