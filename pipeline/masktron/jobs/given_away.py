"""Fields that are written as they were and give away which values were drawn anew or swapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.jobs.prepared import Treated
from masktron.jobs.recoded import as_treated
from masktron.jobs.sorted_neighbours import moved_as_one, sorted_notes
from masktron.sources.records import Records
from masktron.write.treatments import perturbed_fields, perturbed_in

_LEAST_SHARED = 10
"""Records that share a value with an earlier one, from which on it is no chance that one field goes with another."""


def given_away_notes(done: Treated, released: Records, *, in_order: bool) -> Iterator[str]:
    """Say which fields tell what a changed field was: those that went with it, and those whose neighbours tell it.

    The first went with it in the original without exception, and do not any more: a postcode or a county beside a
    region, and the number of a household whose records live in one region. Of the others, such as a serial number
    that runs through the regions, most neighbours of a record have its value.

    Parameters
    ----------
    done : Treated
    released : Records
        As treatments leave them, in the order of the original.
    in_order : bool
        Whether the released file stands in the order of the original.
    """
    before = as_treated(done.original.kept, done.treatments)
    changed = perturbed_fields(done.treatments)
    hidden = (Role.CONFIDENTIAL, Role.IDENTIFIER)
    others = [fact.name for fact in done.original.fields if fact.role not in hidden and fact.name not in changed]
    as_one = {name: one.settings.household for one in perturbed_in(done.treatments) for name in one.fields}
    for name in changed:
        was, now = (records.columns[name].numbered(held=True) for records in (before, released))
        telling = _telling(others, was, now, released)
        if telling:
            yield (
                f"{', '.join(telling)} went with {name} in every record of the original, as a postcode goes with a "
                f"region, and {'do' if len(telling) > 1 else 'does'} not any more: whoever has the file sees by that "
                f"where {name} was changed, and may see what it was; draw or swap them together, or leave out or "
                "recode what tells"
            )
        rest = [other for other in others if other not in telling]
        units = moved_as_one(before, as_one[name])
        yield from sorted_notes(name, was, units, released.columns, rest, in_order=in_order)


type _Numbers = NDArray[np.int32]


def _telling(others: Sequence[str], was: _Numbers, now: _Numbers, released: Records) -> list[str]:
    """Return the fields with which a changed one went, and does not go any more."""
    found = []
    for other in others:
        own = released.columns[other].numbered(held=True)
        if (_goes_with(own, was) and not _follows(own, now)) or (_goes_with(was, own) and not _follows(now, own)):
            found.append(other)
    return found


def _follows(first: _Numbers, second: _Numbers) -> bool:
    """Tell whether records with the same first number have the same second one, but for what is missing."""
    there = (first >= 0) & (second >= 0)
    pairs = np.unique(np.column_stack([first[there], second[there]]), axis=0)
    return len(pairs) == len(np.unique(pairs[:, 0]))


def _goes_with(first: _Numbers, second: _Numbers) -> bool:
    """Tell whether the second number follows from the first, and not by chance."""
    known = first[(first >= 0) & (second >= 0)]
    return len(known) - len(np.unique(known)) >= _LEAST_SHARED and _follows(first, second)
