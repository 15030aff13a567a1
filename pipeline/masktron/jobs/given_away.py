"""Fields that are written as they were and give away which values were drawn anew or swapped."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.jobs.prepared import Treated
from masktron.sources.records import Records
from masktron.write.treatments import perturbed_fields

_LEAST_SHARED = 10
"""Records that share a value with an earlier one, from which on it is no chance that one field goes with another."""


def given_away_notes(done: Treated, released: Records) -> Iterator[str]:
    """Say which fields went with a changed field in the original without exception, and do not any more.

    Such are a postcode or a county beside a region, and the number of a household whose records live in one region.

    Parameters
    ----------
    done : Treated
    released : Records
        As treatments leave them, in the order of the original.
    """
    before = done.original.kept
    changed = perturbed_fields(done.treatments)
    hidden = (Role.CONFIDENTIAL, Role.IDENTIFIER)
    others = [fact.name for fact in done.original.fields if fact.role not in hidden and fact.name not in changed]
    for name in changed:
        was, now = (records.columns[name].numbered(held=True) for records in (before, released))
        telling = []
        for other in others:
            own = released.columns[other].numbered(held=True)
            if (_goes_with(own, was) and not _follows(own, now)) or (_goes_with(was, own) and not _follows(now, own)):
                telling.append(other)
        if telling:
            yield (
                f"{', '.join(telling)} went with {name} in every record of the original, as a postcode goes with a "
                f"region, and {'do' if len(telling) > 1 else 'does'} not any more: whoever has the file sees by that "
                f"where {name} was changed, and may see what it was; draw or swap them together, or leave out or "
                "recode what tells"
            )


type _Numbers = NDArray[np.int32]


def _follows(first: _Numbers, second: _Numbers) -> bool:
    """Tell whether records with the same first number have the same second one, but for what is missing."""
    there = (first >= 0) & (second >= 0)
    pairs = np.unique(np.column_stack([first[there], second[there]]), axis=0)
    return len(pairs) == len(np.unique(pairs[:, 0]))


def _goes_with(first: _Numbers, second: _Numbers) -> bool:
    """Tell whether the second number follows from the first, and not by chance."""
    known = first[(first >= 0) & (second >= 0)]
    return len(known) - len(np.unique(known)) >= _LEAST_SHARED and _follows(first, second)
