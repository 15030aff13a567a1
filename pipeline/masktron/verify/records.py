"""Records and fields of a released file beside those of its original: numbers, order and unmasked cells."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from masktron.config import Role
from masktron.counts import counted
from masktron.errors import UsageError
from masktron.problems.level_names import LevelNames
from masktron.problems.problem import Field, Note
from masktron.sources.column import Status
from masktron.sources.dataset import Dataset
from masktron.step_kinds import perturbed_fields, recodings_in
from masktron.verify.cells import published_as_it_was
from masktron.verify.findings import Findings
from masktron.verify.pairing import UNMASKED, UNPAIRED, Stated, paired
from masktron.verify.release import Release

_CELLS = "unmasked fields cell by cell"
_DIFFER = f"{_CELLS}: the numbers of records differ"


def verify(release: Release, source: Dataset) -> Findings:
    """Compare records and fields with those of the original, as the steps before masking leave it."""
    described, data, found = release.described, release.released, Findings()
    if len(data) != len(source) - len(described.excluded):
        left_out = f", of which {len(described.excluded)} were excluded" if described.excluded else ""
        found.problems.append(f"{counted(len(data), 'record')} for {len(source)} of the original{left_out}")
    elif release.rows is None:
        have = counted(0 if described.order is None else len(described.order), "record")
        found.problems.append(
            f"the manifest has the order of {have}, but the file has {len(data):,}: no record can be compared with "
            "the original"
        )
    found.problems += _not_in_original(data, source)
    found.problems += [f"the field {name} of the original is gone" for name in _gone(release, source)]
    found.checked.append("numbers of records, and fields, against the original")
    if release.rows is None:
        found.not_checked.append(_DIFFER)
        return found
    drawn = perturbed_fields(described.treatments)
    same = [name for name in described.kept if name not in drawn]
    for name in same:
        if name in data.columns and name in source.columns:
            changed = int((~data.columns[name].same_texts(source.columns[name].taken(release.rows))).sum())
            if changed:
                differs = "the unmasked field {field} differs from the original in {changed:record}"
                found.problems.append(Note(differs, field=Field(name), changed=changed))
    recoded = len({*release.names.names(recodings_in(described.treatments).keys() - {*drawn})})
    how = f", {recoded} of them as the manifest recodes the original" if recoded else ""
    by_level = {wide: one.name for one in described.nested.fields for wide in one.wide}
    fields = {by_level.get(name, name) for name in same if name in by_level or not by_level}
    found.checked.append(f"{counted(len(fields), 'unmasked field')} cell by cell{how}")
    found.notes += [
        Note("the masked field {field} is published as it was, in every record", field=Field(name))
        for name in described.masked
        if name in data.columns
        and name in source.columns
        and published_as_it_was(source.columns[name].taken(release.rows), data.columns[name])
    ]
    return found


def verify_alone(
    data: Dataset, source: Dataset, roles: Mapping[str, Role], stated: Stated, names: LevelNames
) -> Findings:
    """Compare records and fields with those of the original where no manifest tells which fields are masked.

    Parameters
    ----------
    data, source : Dataset
        The released file and its original.
    roles : mapping of str to Role
        Fields that settings declare as unmasked are compared, where records can be paired.
    stated : Stated
        What is said of the order of records.
    names : LevelNames
    """
    found, as_many = Findings(), len(data) == len(source)
    if not as_many:
        found.problems.append(f"{counted(len(data), 'record')} for {len(source)} of the original")
    found.problems += _not_in_original(data, source)
    found.not_checked += [
        f"field {name}: gone; the manifest would tell whether on purpose"
        for name in source.columns
        if name not in data.columns
    ]
    found.checked.append("numbers of records, and fields, against the original")
    kept = [name for name in data.columns if name in source.columns and roles.get(name) in UNMASKED]
    if not kept:
        found.not_checked.append(Note("{cells}: need the manifest ([[--manifest FILE]])", cells=_CELLS))
    elif not as_many:
        found.not_checked.append(_DIFFER)
    else:
        try:
            if paired(data, source, None, roles, stated).known:
                found.checked.append(f"{counted(len(names.names(kept)), 'unmasked field')} cell by cell")
            else:
                found.not_checked.append(f"{_CELLS}: {UNPAIRED}")
        except UsageError as error:
            found.problems.append(error.problem)
    return found


def nothing_is_masked(data: Dataset, source: Dataset) -> bool:
    """Tell whether no cell differs, which is told where nothing else is wrong."""
    common = [name for name in data.columns if name in source.columns]
    as_many = 0 < len(data) == len(source)
    return as_many and all(data.columns[name].same_texts(source.columns[name]).all() for name in common)


def _not_in_original(data: Dataset, source: Dataset) -> Iterator[str]:
    return (f"the field {name} is not in the original" for name in data.columns if name not in source.columns)


def _gone(release: Release, source: Dataset) -> Iterator[str]:
    """Yield the fields of the original that the file lacks, and that were not removed, nor left without a value."""
    described, excluded = release.described, release.described.excluded
    may_be = {*described.removed, *(described.masked if release.as_masked else ())}
    suppressed = release.suppressed & release.names.known.keys()
    for name in source.columns:
        if name in release.released.columns or name in may_be:
            continue
        # of members, all that stand in one place may have lost a key; and records left out may have had a field alone
        if (name in suppressed or excluded) and not _holds(source, name, excluded):
            continue
        yield name


def _holds(source: Dataset, name: str, excluded: Collection[int]) -> bool:
    """Whether a cell of a field is there in a record that is released."""
    column = source.columns[name]
    there = column.where(column.states != Status.ABSENT)
    there[list(excluded)] = False
    return bool(there.any())
