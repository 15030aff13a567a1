"""Fields of the released file that give away which values were drawn anew or swapped, or what was suppressed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.jobs.prepared import Treated
from masktron.jobs.recoded import as_treated
from masktron.jobs.sorted_neighbours import moved_as_one, sorted_notes
from masktron.kernels.distinct import codes_of
from masktron.measures.keys.key_file import KeyFile
from masktron.measures.keys.read_off import ReadOff, read_off
from masktron.results import ConcernResult
from masktron.sources.records import Column, Records
from masktron.write.treatments import Treatment, perturbed_fields, perturbed_in, suppressed_in

type _Numbers = NDArray[np.int32]

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


def with_read_off(
    keys: KeyFile | None,
    treatments: Iterable[Treatment],
    before: Mapping[str, Column],
    released: Mapping[str, Column],
) -> KeyFile | None:
    """Fill in the suppressed cells that an intruder reads rightly off other fields, where that makes the risk larger.

    Parameters
    ----------
    keys : KeyFile or None
        As they are written.
    treatments : iterable of Treatment
    before, released : mapping of str to Column
        The fields as they were before cells were suppressed, and those that are written, in the same order.
    """
    if keys is None:
        return None
    told, columns = dict[str, ReadOff](), dict(keys.columns)
    for one in suppressed_in(treatments):
        numbered = {name: own.numbered(held=True) for name, own in released.items()}
        for name in (name for name in one.fields if name in released and name in columns):
            codes = codes_of(np.concatenate([released[name].held, before[name].held]))
            shown, true = codes[: len(keys)], codes[len(keys) :]
            hidden = np.where(shown < 0, true, np.int32(-1))
            if (hidden >= 0).any():
                telling = {other: own for other, own in numbered.items() if other not in one.fields}
                others = {other: numbered[other] for other in one.fields if other in numbered and other != name}
                told[name] = read_off(shown, hidden, telling, others)
                columns[name] = _filled(columns[name], shown, told[name].cells)
    filled = replace(keys, columns=columns, told=told, as_written=keys)
    worse = any(one.right for one in told.values()) and filled.risk.mean >= keys.risk.mean
    return filled if worse else replace(keys, told=told)


def _filled(column: _Numbers, shown: _Numbers, cells: _Numbers) -> _Numbers:
    """Return a column with some cells filled in, which have the codes of `shown`, by those of the column itself."""
    there = np.flatnonzero(shown >= 0)
    place = np.zeros(int(shown.max()) + 1, dtype=np.intp)
    place[shown[there]] = there
    return np.where(cells >= 0, column[place[np.maximum(cells, 0)]], column)


def read_off_concerns(keys: KeyFile | None) -> Iterator[ConcernResult]:
    """Name the keys of which suppressed cells come back, with the fields that give them away."""
    for name, one in () if keys is None else keys.told.items():
        if not one.fields:
            continue
        by, first = "; ".join(" with ".join(names) for names in one.fields), one.fields[0][0]
        yield ConcernResult(
            "read-off-key",
            name,
            one.right,
            one.suppressed,
            f"{one.right:,} of {one.suppressed:,} suppressed cells of {name} can be read off other fields of the "
            f"released file: {by} ({one.right:,} of {one.guessed:,} guesses are right)",
            f"write {first} in coarser classes (--recode {first}=...), or leave it out (--role {first}=identifier)",
        )


def read_off_notes(keys: KeyFile | None) -> Iterator[str]:
    """Say what key figures would be by the written file alone, and which pairs of fields nobody tried."""
    if keys is not None and (written := keys.as_written) is not None:
        yield (
            "key figures count the suppressed cells that can be read off as known: "
            f"key_k is {keys.frequencies.smallest:,.0f} and not {written.frequencies.smallest:,.0f}, "
            f"key_uniques {keys.frequencies.below(2):,} and not {written.frequencies.below(2):,}, "
            f"global_risk {100 * keys.mean_risk:.1f} % and not {100 * written.mean_risk:.1f} %"
        )
    for name, one in () if keys is None else keys.told.items():
        if one.untried:
            yield (
                f"{one.untried:,} pairs of fields are too many to try whether they give away suppressed cells of "
                f"{name}; single fields, and each with the keys, were tried"
            )


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
