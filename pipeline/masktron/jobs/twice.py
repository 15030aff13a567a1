"""A release beside earlier ones of the same respondents: which sums of which values they tell together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config
from masktron.errors import UsageError
from masktron.jobs.compared import compare, require_described
from masktron.jobs.released_sums import (
    NO_MEAN,
    OTHER_SCALE,
    OTHER_VALUES,
    OTHER_WEIGHTS,
    UNCOVERED,
    ReleaseSide,
    field_of,
)
from masktron.jobs.released_tables import described_release_of, of_release
from masktron.kernels.distinct import codes_of
from masktron.measures.assessed import Assessed
from masktron.measures.differencing import (
    MOST_SUMS,
    Differencing,
    FieldReleases,
    differencing,
)
from masktron.problems.problem import Sentence, Setting
from masktron.progress import Progress
from masktron.results import shown
from masktron.sources.opening import open_source
from masktron.sources.output_names import manifest_beside
from masktron.sources.record_hashes import RecordHashes
from masktron.sources.source import Source
from masktron.sources.wide.wide_pair import wide_pair
from masktron.write.manifest import DescribedRelease

MODEL = (
    "who has these releases is taken to know of every respondent in which groups he is, and no original value, sign "
    "or range; sums of groups are published numbers times sizes, to the last digit that is published"
)
FEWEST = 0.5
"""Share of the records of the smaller original, put together by a key or by values, from which there is a figure."""
OTHER_MEMBERS = (
    "differencing has no figure: one of the releases protects other members than the other, or puts those of "
    "different units side by side in another order, so that their groups are of other values; what both tell is not "
    "covered, and no figure says that it is little"
)


@dataclass(frozen=True, slots=True)
class Against:
    """An earlier release, as the user gives it.

    Attributes
    ----------
    masked : Path
    original : Path or None
        That of the release at hand when None.
    manifest : Path or None
        The one beside the file when None.
    """

    masked: Path
    original: Path | None = None
    manifest: Path | None = None


def earlier_releases(
    masked: Sequence[Path], originals: Sequence[Path], manifests: Sequence[Path]
) -> tuple[Against, ...]:
    """Put earlier releases together with what they were made of, and with their manifests, in the order given.

    Raises
    ------
    UsageError
        There are originals or manifests, and not one for each release.
    """
    for given, what in ((originals, "originals"), (manifests, "manifests")):
        named = f"{what} of earlier releases"
        if given and not masked:
            release = Setting("--against", ("FILE",))
            raise UsageError.of("needs-setting", name=named, needed="the releases", setting=release)
        if given and len(given) != len(masked):
            expected = f"one for each of {len(masked)} releases in the same order, or none"
            raise UsageError.of("bad-value", name=named, expected=expected, given=len(given))
    nothing = [None] * len(masked)
    return tuple(starmap(Against, zip(masked, originals or nothing, manifests or nothing, strict=True)))


def with_earlier(
    files: Assessed,
    described: DescribedRelease,
    original: Source,
    against: Sequence[Against],
    config: Config,
    progress: Progress,
) -> tuple[Assessed, tuple[Sentence, ...]]:
    """Add to the files that are compared what all earlier releases tell together with this one.

    Parameters
    ----------
    files : Assessed
        The release at hand beside its original.
    described : DescribedRelease
    original : Source
    against : sequence of Against
        One or more.
    config : Config

    Returns
    -------
    Assessed
    notes : tuple of str
        What each pair with the release at hand tells, and what all of them tell.

    Raises
    ------
    UsageError
        An earlier release has no manifest, or files do not belong together.
    DocumentError
        A file cannot be read.
    """
    now = ReleaseSide.of(files, described, original, config.memory)
    pairs = [_beside(now, original, one, config, progress) for one in against]
    if len(pairs) == 1:
        [pair] = pairs
        return replace(files, differenced=pair.found), pair.notes
    names = [shown(one.masked) for one in against]
    notes = [f"{name}: {note}" for name, pair in zip(names, pairs, strict=True) for note in pair.notes]
    progress("solving the sums of all releases", 0)
    found, more = _all_together(pairs, now)
    return replace(files, differenced=found), (*notes, *more)


@dataclass(frozen=True, slots=True)
class _Pair:
    """What one earlier release tells together with the one at hand.

    Attributes
    ----------
    found : mapping of str to Differencing
        By field.
    unknown : frozenset of str
        Masked fields that both releases have, of which there is no figure.
    notes : tuple of str
    side : ReleaseSide or None
        The earlier release; None where nothing is known of its groups or its respondents.
    original : tuple
        What it was made of.
    people : tuple of ndarray of intp
        Numbers of the respondents of both, equal for the same one.
    """

    found: Mapping[str, Differencing]
    unknown: frozenset[str]
    notes: tuple[Sentence, ...]
    side: ReleaseSide | None = None
    original: tuple[str, tuple[str, ...]] = ("", ())
    people: tuple[NDArray[np.intp], ...] = ()


def _all_together(pairs: Sequence[_Pair], now: ReleaseSide) -> tuple[dict[str, Differencing], list[str]]:
    """Measure what the releases that can be compared in a field tell together, never less than a pair does."""
    people = _numbered(pairs, now)
    found, fields = dict[str, Differencing](), list[FieldReleases]()
    names = dict.fromkeys(name for pair in pairs for name in pair.found)
    lost = {name for name in names if any(name in pair.unknown for pair in pairs)}
    for name in names:
        found[name] = max((pair.found[name] for pair in pairs if name in pair.found), key=lambda one: one.given_away)
        own = [(pair.side, one) for pair, one in zip(pairs, people, strict=False) if name in pair.found and pair.side]
        field = field_of([*(side for side, _ in own), now], name, [*(one for _, one in own), people[-1]])
        if isinstance(field, str):
            lost.add(name)
        else:
            fields.append(field)
            found[name] = max(found[name], differencing(field), key=lambda one: one.given_away)
    notes = []
    if lost:
        notes.append(
            f"differencing of {', '.join(sorted(lost))} is too low: some releases cannot be compared in these fields"
        )
    if found:
        notes.append(f"differencing: {_counted(f'of all {len(pairs) + 1} releases together', found)}")
    if any(len(field.sums) > 2 and sum(len(one.error) for one in field.sums) > MOST_SUMS for field in fields):
        notes.append(
            f"differencing: the releases have more than {MOST_SUMS:,} groups, so each pair of them is solved alone; "
            "three or more may tell together what no two of them tell"
        )
    return found, notes


def _numbered(pairs: Sequence[_Pair], now: ReleaseSide) -> list[NDArray[np.intp]]:
    """Number the respondents of all releases, those of the one at hand first and last.

    Respondents that this one lacks are the same in two earlier releases of one original, and else taken for others.
    """
    found, size, starts = list[NDArray[np.intp]](), len(now.rows), dict[tuple[str, tuple[str, ...]], int]()
    for pair in pairs:
        if pair.side is None:
            found.append(np.empty(0, dtype=np.intp))
            continue
        own, current = pair.people
        place = np.full(1 + max(int(one.max(initial=-1)) for one in pair.people), -1, dtype=np.intp)
        place[current] = np.arange(len(current))
        if pair.original not in starts:
            starts[pair.original], size = size, size + len(pair.side.records)
        found.append(np.where(place[own] >= 0, place[own], starts[pair.original] + pair.side.rows))
    return [*found, np.arange(len(now.rows))]


def _beside(second: ReleaseSide, original: Source, against: Against, config: Config, progress: Progress) -> _Pair:
    """Measure what one earlier release tells together with the one at hand."""
    described = second.described
    manifest = against.manifest or manifest_beside(against.masked)
    if not manifest.exists():
        given = Setting("--against-manifest", ("FILE",))
        needed = "its manifest, which is not beside it"
        raise UsageError.of("needs-setting", manifest, name="the earlier release", needed=needed, setting=given)
    before = against.original or original.path
    earlier = described_release_of(manifest, against.masked, before, config.levels)
    reading = config.reading.or_as(earlier.reading)
    as_released = of_release(reading, against.masked, earlier.removed)
    released = open_source(against.masked, reading=as_released, progress=progress, whole=True)
    if against.original is None and earlier.original != described.original:
        given = Setting("--against-original", ("FILE",))
        needed = "its own original, which is another one"
        raise UsageError.of("needs-setting", against.masked, name="the earlier release", needed=needed, setting=given)
    source = open_source(before, reading=reading, progress=progress)
    require_described(released, source, earlier)
    then, now = earlier.nested, described.nested
    if (then.protect, then.member_order) != (now.protect, now.member_order):
        return _Pair({}, frozenset(described.masked), (OTHER_MEMBERS,))
    named = replace(reading, record=released.layout.record_tag)
    beside = open_source(before, reading=named, progress=progress, whole=True)
    pair = wide_pair(released, beside, now.member_order, now.protect, then.sums)
    released, beside = pair[0], pair[1] or beside
    progress("comparing with the earlier release", 0)
    others, _ = compare(released, beside, described=earlier, config=config, known={}, progress=progress)
    first = ReleaseSide.of(others, earlier, beside, config.memory)
    people = (first.rows, second.rows)
    told = f"{len(np.intersect1d(*people)):,} respondents are in both releases"
    names = [name for name in second.records.columns if name in {*earlier.masked, *described.masked}]
    shared = [name for name in names if name in first.records.columns]
    one_original = earlier.original == described.original and beside.part == original.part
    if not one_original:
        people, how = _respondents(
            first, second, [name for name in shared if name in earlier.masked and name in described.masked]
        )
        told = f"{len(np.intersect1d(*people)):,} respondents are in both releases, put together by {how.field}"
        fewest = min(map(len, people))
        if how.pairs < FEWEST * fewest:
            return _Pair({}, frozenset(shared), (_too_few(how, fewest),))
        told += f", and {100 * how.alike:.0f} % of their values are the same in both originals" if how.pairs else ""
    found: dict[str, Differencing] = {}
    lacking: dict[str, list[str]] = {
        why: [] for why in (OTHER_WEIGHTS, OTHER_SCALE, OTHER_VALUES, NO_MEAN, UNCOVERED)
    }
    for name in names:
        field = field_of((first, second), name, people)
        if isinstance(field, str):
            lacking[field].append(name)
        else:
            found[name] = differencing(field)
    observed = [name for name in found if any(name in side.described.observed for side in (first, second))]
    unknown = frozenset(name for name in shared if name not in found)
    notes = tuple(_notes(found, lacking, observed, told))
    return _Pair(found, unknown, notes, first, (earlier.original, beside.part), people)


def _too_few(how: _PutTogether, fewest: int) -> str:
    return (
        "differencing has no figure: no field names the records of both originals alike, and by their values only "
        f"{how.pairs:,} of {fewest:,} records are the same in all fields or all but one; who is in both "
        "releases is not known, so what they tell together is not covered; give both originals a field that "
        "names their records"
    )


def _notes(
    found: Mapping[str, Differencing], lacking: Mapping[str, Sequence[str]], observed: Sequence[str], told: str
) -> Iterator[str]:
    if found:
        yield f"differencing: {_counted(f'{told}', found)}"
    for why, names in lacking.items():
        if names:
            yield f"differencing says nothing of {', '.join(names)}: {why}"
    if observed:
        yield (
            f"differencing: some groups publish values of their records instead of means, in {', '.join(observed)} "
            "(exits of the manifests); the figure does not count these values"
        )


def _counted(told: str, found: Mapping[str, Differencing]) -> str:
    total = Differencing.of_all(found.values())
    return (
        f"{told}; of {total.values:,} original values, exact sums of groups would determine {total.solvable:,}; "
        f"despite rounding, {total.exact:,} are determined, and {total.given_away:,} are, or lie in an interval of a "
        f"tenth of a standard deviation; {MODEL}"
    )


@dataclass(frozen=True, slots=True)
class _PutTogether:
    """How the respondents of two originals were put together.

    Attributes
    ----------
    field : str
        By which field, or what else.
    pairs : int
        Respondents in both.
    alike : float
        Share of their values that are the same in both originals, from 0 to 1.
    """

    field: str
    pairs: int
    alike: float


def _respondents(
    first: ReleaseSide, second: ReleaseSide, masked: Sequence[str]
) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], _PutTogether]:
    """Number the respondents of two originals: by what leaves most of their values as they were.

    Respondents are put together by a field that differs in every record of both, or where they have the same values
    in all fields; of the others, where they have the same values in all fields but one, and nobody else has. The same
    is tried with the fields that both releases mask alone, as new names of records and a new date of the survey are
    two fields that differ in all. A way that puts together fewer than `FEWEST` counts only where all do. A field that
    puts records together says nothing for itself.
    """
    names = [name for name in first.records.columns if name in second.records.columns]
    codes = {name: _codes(name, first, second) for name in names}
    ways = [(name, _pairs(*own)) for name, own in codes.items() if all(_names_each(one) for one in own)]
    judged = [codes[name] for name in names if name in masked or name not in {name for name, _ in ways}]
    ways.append(("all fields that both originals have, or all but one", _by_values(first, second, names)))
    if 1 < len(masked) < len(names):
        found = _by_values(first, second, masked, alone=True)
        ways.append(("all fields that both releases mask, or all but one", found))
    fewest = FEWEST * min(len(first.rows), len(second.rows))
    how, pairs = max(ways, key=lambda way: (way[1].shape[1] >= fewest, _agreement(judged, way[1])))
    others = len(first.rows) + np.arange(len(second.rows))
    others[pairs[1]] = pairs[0]
    count = pairs.shape[1]
    alike = _agreement(judged, pairs) / max(1, count * len(judged))
    return (np.arange(len(first.rows)), others), _PutTogether(how, count, alike)


def _names_each(codes: NDArray[np.int32]) -> bool:
    """Whether a field differs in every record, and is missing in none."""
    return len(np.unique(codes)) == len(codes) and int(codes.min(initial=0)) >= 0


def _by_values(
    first: ReleaseSide, second: ReleaseSide, names: Sequence[str], *, alone: bool = False
) -> NDArray[np.intp]:
    """Put together records with the same values in all of the fields, or in all but one; shape (2, m).

    With ``alone``, only those that are like no other one in all of the fields: others may be anybody.
    """
    sides = (first, second)
    secret = b"respondents of two releases"
    hashes = [
        RecordHashes.of({name: side.records.columns[name] for name in names}, secret, len(side.records))
        for side in sides
    ]
    if alone:
        totals = [own.total[side.rows] for own, side in zip(hashes, sides, strict=True)]
        places = [_single(own) for own in totals]
        pairs = _pairs(*(own[at] for own, at in zip(totals, places, strict=True)))
        found = np.stack([at[pair] for at, pair in zip(places, pairs, strict=True)])
    else:
        found = _pairs(*(own.whole[side.rows] for own, side in zip(hashes, sides, strict=True)))
    for name in names if len(names) > 1 else ():
        left = [np.setdiff1d(np.arange(len(side.rows)), own) for side, own in zip(sides, found, strict=True)]
        rest = [own.without(name)[side.rows][at] for own, side, at in zip(hashes, sides, left, strict=True)]
        single = [_single(own) for own in rest]
        more = _pairs(*(own[at] for own, at in zip(rest, single, strict=True)))
        joined = [at[one][pair] for at, one, pair in zip(left, single, more, strict=True)]
        found = np.concatenate([found, np.stack(joined)], axis=1)
    return found


def _single(hashes: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Places of the hashes that stand in an array once."""
    _, places, copies = np.unique(hashes, return_index=True, return_counts=True)
    found: NDArray[np.intp] = places[copies == 1]
    return found


def _codes(name: str, first: ReleaseSide, second: ReleaseSide) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Number the values of a field in both originals alike; -1 where there is none."""
    both = [side.records.columns[name].held[side.rows] for side in (first, second)]
    codes = codes_of(np.concatenate(both))
    return codes[: len(both[0])], codes[len(both[0]) :]


def _pairs(some: NDArray[np.generic], others: NDArray[np.generic]) -> NDArray[np.intp]:
    """Places of the same value in two arrays that have each value once, shape (2, m)."""
    _, one, other = np.intersect1d(some, others, assume_unique=True, return_indices=True)
    return np.stack([one, other])


def _agreement(codes: Sequence[tuple[NDArray[np.int32], NDArray[np.int32]]], pairs: NDArray[np.intp]) -> int:
    """Count the values that pairs of records have in common."""
    return sum(int((one[pairs[0]] == other[pairs[1]]).sum()) for one, other in codes)
