"""A release beside earlier ones of the same respondents: which sums of which values each pair tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config
from masktron.errors import UsageError
from masktron.jobs.column_memory import read_columns
from masktron.jobs.compared import compare, require_described
from masktron.jobs.released_tables import described_release_of, of_release
from masktron.kernels.distinct import codes_of
from masktron.measures.assessed import Assessed
from masktron.measures.differencing import OUTSIDE, Differencing, Sums, TwiceReleased, differencing, published_sums
from masktron.progress import Progress
from masktron.results import shown
from masktron.sources.opening import open_source
from masktron.sources.output_names import manifest_beside
from masktron.sources.record_hashes import RecordHashes
from masktron.sources.records import Records
from masktron.sources.source import Source
from masktron.sources.wide.wide_pair import wide_pair
from masktron.write.manifest import DescribedRelease

MODEL = (
    "who has both releases is taken to know of every respondent in which groups he is, and no original value, sign "
    "or range; sums of groups are published numbers times sizes, to the last digit that is published"
)


TOGETHER = (
    "differencing: each earlier release makes a pair with this one, and pairs are measured; three or more releases "
    "may tell together what no two of them tell"
)
FEWEST = 0.5
"""Share of the records of the smaller original, put together by a key or by values, from which there is a figure."""
ALIKE = 0.5
"""Share of the values of a field, beyond what is alike by chance, from which respondents count as the same ones."""
NEARLY = 0.05
"""Standard deviations of a field by which two numbers of a respondent may differ and still count as one value."""
UNCOVERED = (
    "categories, fields in one release alone, fields that follow in each record from others, draws, and weights in "
    "one release alone are not covered"
)
NO_MEAN = (
    "one of the releases publishes no means of them; a median, a quantile or a medoid is the value of a respondent, "
    "and two of them bound others: this is not covered, and no figure says that it is little"
)
OTHER_MEMBERS = (
    "differencing has no figure: one of the releases protects other members than the other, or puts those of "
    "different units side by side in another order, so that their groups are of other values; what both tell is not "
    "covered, and no figure says that it is little"
)
OTHER_WEIGHTS = (
    "respondents of both releases have other weights in one than in the other; two sums with two sets of weights may "
    "determine all values of a group, even where groups are the same: this is not covered, and no figure says that "
    "it is little; release one of the two, or keep the weights"
)


OTHER_SCALE = (
    "respondents of both releases have other numbers in one than in the other, which are the same in another "
    "unit or rounded otherwise; to whoever converts them they are one value: this is not covered, and no figure says "
    "that it is little; give both originals the same unit"
)
OTHER_VALUES = (
    "most respondents of both releases have other values in one original than in the other; whether they are the "
    "same respondents with new answers, or others, is not known, so no figure says that it is little; give both "
    "originals a field that names their records alike"
)
SCALED = 0.03
"""Share of the numbers of a field that differ, from which on another unit is looked for."""
STRAIGHT = 0.999
"""Correlation of two fields from which on one is taken for the other in another unit, or rounded otherwise."""


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
        if given and not masked:
            raise UsageError(
                "an original or a manifest of an earlier release was given, and no release",
                hint="give it with --against FILE",
            )
        if given and len(given) != len(masked):
            raise UsageError(
                f"{len(masked)} earlier releases and {len(given)} {what} of earlier releases were given",
                hint=f"give one of the {what} for each release, in the same order, or none",
            )
    nothing = [None] * len(masked)
    return tuple(starmap(Against, zip(masked, originals or nothing, manifests or nothing, strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One of the two releases.

    Attributes
    ----------
    files : Assessed
    described : DescribedRelease
    records : Records
        All of the original.
    rows : ndarray of intp
        Of those, the released ones.
    """

    files: Assessed
    described: DescribedRelease
    records: Records
    rows: NDArray[np.intp]

    @classmethod
    def of(cls, files: Assessed, described: DescribedRelease, original: Source, memory: int | None) -> _Side:
        records = read_columns(original, missing=described.missing, memory=memory)
        excluded = np.array(described.excluded, dtype=np.intp)
        return cls(files, described, records, np.setdiff1d(np.arange(len(records)), excluded).astype(np.intp))

    def values(self, name: str) -> NDArray[np.float64]:
        """Original values of a field in the released records."""
        found: NDArray[np.float64] = self.records.columns[name].values[self.rows]
        return found

    def masks(self, name: str) -> bool:
        """Whether groups share one number of the field."""
        own = self.described.declared.drawn
        return name in self.files.numeric and name not in self.files.solved and name not in own

    def sums(self, name: str) -> Sums | None:
        """What the release tells of a field; None where it tells no sums, or this part does not know them."""
        if name in self.described.kept:
            held = ~np.isnan(self.values(name))
            nothing = np.zeros(len(self.rows))
            return Sums(np.where(held, np.arange(len(self.rows)), OUTSIDE), nothing, nothing)
        if not self.masks(name) or name not in self.described.means:
            return None
        at = next(at for at, block in enumerate(self.files.blocks) if name in block)
        masked = self.files.masked[name]
        return published_sums(
            self.values(name),
            masked.values,
            self.files.groups[at],
            self.files.weights,
            step=10.0**-masked.decimals,
        )


def with_earlier(
    files: Assessed,
    described: DescribedRelease,
    original: Source,
    against: Sequence[Against],
    config: Config,
    progress: Progress,
) -> tuple[Assessed, tuple[str, ...]]:
    """Add to the files that are compared what earlier releases tell together with this one: the pair that tells most.

    Parameters
    ----------
    files : Assessed
        The release at hand beside its original.
    described : DescribedRelease
    original : Source
    against : sequence of Against
        One or more, each of which makes a pair with the release at hand.
    config : Config

    Returns
    -------
    Assessed
    notes : tuple of str

    Raises
    ------
    UsageError
        An earlier release has no manifest, or files do not belong together.
    DocumentError
        A file cannot be read.
    """
    pairs = [_beside(files, described, original, one, config, progress) for one in against]
    if len(pairs) == 1:
        [pair] = pairs
        return replace(files, differenced=pair.found), pair.notes
    names = [shown(one.masked) for one in against]
    notes = tuple(f"{name}: {note}" for name, pair in zip(names, pairs, strict=True) for note in pair.notes)
    unknown = frozenset().union(*(pair.unknown for pair in pairs))
    lost = sorted({name for pair in pairs for name in pair.found if name in unknown})
    if lost:
        notes = (
            *notes,
            f"differencing has no figure of {', '.join(lost)}: a pair of releases says nothing of them, so what all "
            "of them tell may be more than what the other pairs tell, which their notes say",
        )
    told = [{name: own for name, own in pair.found.items() if name not in unknown} for pair in pairs]
    shares = [Differencing.of_all(found.values()).share for found in told]
    if np.isnan(shares).all():
        return files, (*notes, TOGETHER)
    most = int(np.nanargmax(shares))
    worst = f"differencing: of the pairs with this release, the one with {names[most]} tells most; the figure is its"
    return replace(files, differenced=told[most]), (*notes, worst, TOGETHER)


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
    """

    found: Mapping[str, Differencing]
    unknown: frozenset[str]
    notes: tuple[str, ...]


def _beside(
    files: Assessed,
    described: DescribedRelease,
    original: Source,
    against: Against,
    config: Config,
    progress: Progress,
) -> _Pair:
    """Measure what one earlier release tells together with the one at hand."""
    manifest = against.manifest or manifest_beside(against.masked)
    if not manifest.exists():
        raise UsageError(
            "the earlier release has no manifest here, which says who was in which group",
            where=str(manifest),
            hint="give it with --against-manifest FILE",
        )
    before = against.original or original.path
    earlier = described_release_of(manifest, against.masked, before, config.levels)
    reading = config.reading.or_as(earlier.reading)
    as_released = of_release(reading, against.masked, earlier.removed)
    released = open_source(against.masked, reading=as_released, progress=progress, whole=True)
    if against.original is None and earlier.original != described.original:
        raise UsageError(
            "the earlier release was made of another original",
            where=str(against.masked),
            hint="give it with --against-original FILE",
        )
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
    first = _Side.of(others, earlier, beside, config.memory)
    second = _Side.of(files, described, original, config.memory)
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
        field = _field(first, second, name, people)
        if isinstance(field, str):
            lacking[field].append(name)
        else:
            found[name] = differencing(field)
    observed = [name for name in found if any(name in side.described.observed for side in (first, second))]
    unknown = frozenset(name for name in shared if name not in found)
    return _Pair(found, unknown, tuple(_notes(found, lacking, observed, told)))


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
    total = Differencing.of_all(found.values())
    if found:
        yield (
            f"differencing: {told}; of {total.values:,} original values, exact sums of groups would determine "
            f"{total.solvable:,}; despite rounding, {total.exact:,} are determined, and {total.given_away:,} are, "
            f"or lie in an interval of a tenth of a standard deviation; {MODEL}"
        )
    for why, names in lacking.items():
        if names:
            yield f"differencing says nothing of {', '.join(names)}: {why}"
    if observed:
        yield (
            f"differencing: some groups publish values of their records instead of means, in {', '.join(observed)} "
            "(exits of the manifests); the figure does not count these values"
        )


def _field(first: _Side, second: _Side, name: str, people: tuple[NDArray[np.intp], ...]) -> TwiceReleased | str:
    """Put what both releases tell of a field side by side; or say why it is not covered."""
    if any(name not in side.records.columns for side in (first, second)):
        return UNCOVERED
    sums = [side.sums(name) for side in (first, second)]
    kept = [name in side.described.kept for side in (first, second)]
    weighted = {side.files.weights is not None for side, own in zip((first, second), kept, strict=True) if not own}
    if any(kept) and all((~np.isnan(side.values(name))).any() for side in (first, second)):
        # what one release shows as it is needs nothing from the other one
        nothing = np.empty(0)
        sums = [
            Sums(np.full(len(side.rows), OUTSIDE, dtype=np.intp), nothing, nothing) if told is None else told
            for side, told in zip((first, second), sums, strict=True)
        ]
    one, other = sums
    if one is None or other is None:
        return NO_MEAN if all(side.masks(name) for side in (first, second)) else UNCOVERED
    if len(weighted) != 1:
        return UNCOVERED
    size = 1 + max(int(own.max(initial=-1)) for own in people)
    values, weights, groups = [], [], []
    for side, own, told in zip((first, second), people, (one, other), strict=True):
        values.append(_spread(side.values(name), own, size, np.nan))
        weight = side.files.weights if weighted == {True} else None
        weights.append(_spread(np.ones(len(own)) if weight is None else weight, own, size, np.nan))
        groups.append(_spread(told.groups, own, size, OUTSIDE).astype(np.intp))
    for at in np.flatnonzero(kept):
        # a value that is told as it is has the weight that the other release gives it
        weights[at] = np.where(np.isnan(weights[1 - at]), 1.0, weights[1 - at])
    before, now = values
    near = _nearly(before, now)
    if (weights[0] != weights[1])[near].any():
        return OTHER_WEIGHTS
    if why := _incomparable(before, now, near):
        return why
    other = _of_first_values(other, groups[1], np.where(near, weights[1] * (now - before), 0.0))
    outside = np.full(size, OUTSIDE, dtype=np.intp)
    held = [near, ~near & ~np.isnan(before), ~near & ~np.isnan(now)]
    labels = ((groups[0], groups[1]), (groups[0], outside), (outside, groups[1]))
    joined = [np.concatenate([pair[at][rows] for pair, rows in zip(labels, held, strict=True)]) for at in (0, 1)]
    return TwiceReleased(
        np.concatenate([values[at][rows] for at, rows in zip((0, 0, 1), held, strict=True)]),
        (replace(one, groups=joined[0]), replace(other, groups=joined[1])),
        np.concatenate([weights[at][rows] for at, rows in zip((0, 0, 1), held, strict=True)]),
        10.0 ** -max(side.records.columns[name].decimals for side in (first, second)),
    )


def _of_first_values(told: Sums, groups: NDArray[np.intp], apart: NDArray[np.float64]) -> Sums:
    """Say what sums of second values tell of the first ones, from which these are apart by little.

    The sum of the first values of a group is that of the second ones less the sum of what they are apart. Who attacks
    is taken to know for each value by how much at most, which favours him.
    """
    inside = (groups != OUTSIDE) & (apart != 0)
    m = len(told.error)
    return replace(
        told,
        error=told.error - np.bincount(groups[inside], apart[inside], minlength=m),
        tolerance=told.tolerance + np.bincount(groups[inside], np.abs(apart[inside]), minlength=m),
    )


def _incomparable(some: NDArray[np.float64], others: NDArray[np.float64], near: NDArray[np.bool_]) -> str:
    """Why the values of a field in two originals are not those of the same respondents; empty where they may be."""
    if _on_other_scale(some, others, near):
        return OTHER_SCALE
    return OTHER_VALUES if _alike(some, others, near) < ALIKE else ""


def _nearly(some: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which respondents have one value in both originals, but for what rounding changes: see `NEARLY`."""
    found: NDArray[np.bool_] = np.abs(some - others) <= NEARLY * _spread_of(some, others)
    return found


def _spread_of(some: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """The smaller standard deviation of a field in two originals; 0 where one of them has no value."""
    held = [own[~np.isnan(own)] for own in (some, others)]
    return min(float(own.std()) if len(own) else 0.0 for own in held)


def _alike(some: NDArray[np.float64], others: NDArray[np.float64], near: NDArray[np.bool_]) -> float:
    """Share of the pairs of values that are nearly the same, less what is by chance; 1 where all are by chance.

    Chance is the share of all pairs of any two respondents (Cohen 1960, A coefficient of agreement for nominal
    scales, equation 1). Missing values are in no pair.
    """
    both = ~(np.isnan(some) | np.isnan(others))
    if not both.any():
        return 1.0
    width = NEARLY * _spread_of(some, others)
    ordered = np.sort(others[both])
    above = np.searchsorted(ordered, some[both] + width, side="right")
    below = np.searchsorted(ordered, some[both] - width, side="left")
    chance = float((above - below).mean()) / len(ordered)
    return (float(near[both].mean()) - chance) / (1.0 - chance) if chance < 1.0 else 1.0


def _on_other_scale(some: NDArray[np.float64], others: NDArray[np.float64], near: NDArray[np.bool_]) -> bool:
    """Whether more than a few numbers that both releases have differ, and lie on a straight line."""
    both = ~np.isnan(some) & ~np.isnan(others)
    apart = both & ~near
    few = max(3.0, SCALED * both.sum())
    if apart.sum() < few or min(np.ptp(some[apart]), np.ptp(others[apart])) == 0:
        return False
    return bool(abs(np.corrcoef(some[apart], others[apart])[0, 1]) >= STRAIGHT)


def _spread[T: np.generic](values: NDArray[T], places: NDArray[np.intp], size: int, nothing: float) -> NDArray[T]:
    found = np.full(size, nothing, dtype=values.dtype)
    found[places] = values
    return found


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
    first: _Side, second: _Side, masked: Sequence[str]
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


def _by_values(first: _Side, second: _Side, names: Sequence[str], *, alone: bool = False) -> NDArray[np.intp]:
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


def _codes(name: str, first: _Side, second: _Side) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
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
