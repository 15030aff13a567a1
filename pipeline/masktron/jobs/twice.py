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
from masktron.jobs.compared import compare, require_described
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
from masktron.write.manifest import DescribedRelease, read_manifest

MODEL = (
    "who has both releases is taken to know of every respondent in which groups he is, and no original value, sign "
    "or range; sums of groups are published numbers times sizes, to the last digit that is published"
)


TOGETHER = (
    "differencing: each earlier release makes a pair with this one, and pairs are measured; three or more releases "
    "may tell together what no two of them tell"
)
FEWEST = 0.5
"""Share of the records of the smaller original, put together by their values alone, from which there is a figure."""
UNCOVERED = (
    "categories, fields in one release alone, fields that follow in each record from others, draws, and weights in "
    "one release alone are not covered"
)
NO_MEAN = (
    "one of the releases publishes no means of them; a median, a quantile or a medoid is the value of a respondent, "
    "and two of them bound others: this is not covered, and no figure says that it is little"
)
OTHER_WEIGHTS = (
    "respondents of both releases have other weights in one than in the other; two sums with two sets of weights may "
    "determine all values of a group, even where groups are the same: this is not covered, and no figure says that "
    "it is little; release one of the two, or keep the weights"
)


OTHER_SCALE = (
    "most respondents of both releases have other numbers in one than in the other, which are the same in another "
    "unit or rounded otherwise; to whoever converts them they are one value: this is not covered, and no figure says "
    "that it is little; give both originals the same unit"
)
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
    def of(cls, files: Assessed, described: DescribedRelease, original: Source) -> _Side:
        records = original.records(missing=described.missing)
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
        [(found, notes)] = pairs
        return replace(files, differenced=found), notes
    names = [shown(one.masked) for one in against]
    notes = tuple(f"{name}: {note}" for name, (_, own) in zip(names, pairs, strict=True) for note in own)
    shares = [Differencing.of_all(found.values()).share for found, _ in pairs]
    if np.isnan(shares).all():
        return files, (*notes, TOGETHER)
    most = int(np.nanargmax(shares))
    worst = f"differencing: of the pairs with this release, the one with {names[most]} tells most; the figure is its"
    return replace(files, differenced=pairs[most][0]), (*notes, worst, TOGETHER)


def _beside(
    files: Assessed,
    described: DescribedRelease,
    original: Source,
    against: Against,
    config: Config,
    progress: Progress,
) -> tuple[dict[str, Differencing], tuple[str, ...]]:
    """What one earlier release tells together with the one at hand, by field; and notes."""
    manifest = against.manifest or manifest_beside(against.masked)
    if not manifest.exists():
        raise UsageError(
            "the earlier release has no manifest here, which says who was in which group",
            where=str(manifest),
            hint="give it with --against-manifest FILE",
        )
    earlier = read_manifest(manifest)
    reading = config.reading.or_as(earlier.reading)
    released = open_source(against.masked, reading=reading, progress=progress)
    before = against.original or original.path
    if against.original is None and earlier.original != described.original:
        raise UsageError(
            "the earlier release was made of another original",
            where=str(against.masked),
            hint="give it with --against-original FILE",
        )
    source = open_source(before, reading=reading, progress=progress)
    require_described(released, source, earlier)
    beside = open_source(before, reading=replace(reading, record=released.layout.record_tag), progress=progress)
    progress("comparing with the earlier release", 0)
    others, _ = compare(released, beside, described=earlier, config=config, known={}, progress=progress)
    first, second = _Side.of(others, earlier, beside), _Side.of(files, described, original)
    people = (first.rows, second.rows)
    told = f"{len(np.intersect1d(*people)):,} respondents are in both releases"
    if not (earlier.original == described.original and beside.part == original.part):
        people, how = _respondents(first, second)
        told = f"{len(np.intersect1d(*people)):,} respondents are in both releases, put together by {how.field}"
        fewest = min(map(len, people))
        if not how.key and how.pairs < FEWEST * fewest:
            return {}, (
                f"differencing has no figure: no field names the records of both originals, and by their values only "
                f"{how.pairs:,} of {fewest:,} records are the same in all fields or all but one; who is in both "
                "releases is not known, so what they tell together is not covered; give both originals a field that "
                "names their records",
            )
        told += f", and {100 * how.alike:.0f} % of their values are the same in both originals" if how.pairs else ""
    names = [name for name in second.records.columns if name in {*earlier.masked, *described.masked}]
    found: dict[str, Differencing] = {}
    lacking: dict[str, list[str]] = {OTHER_WEIGHTS: [], OTHER_SCALE: [], NO_MEAN: [], UNCOVERED: []}
    for name in names:
        field = _field(first, second, name, people)
        if isinstance(field, str):
            lacking[field].append(name)
        else:
            found[name] = differencing(field)
    observed = [name for name in found if any(name in side.described.observed for side in (first, second))]
    return found, tuple(_notes(found, lacking, observed, told))


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
    same = values[0] == values[1]
    if (weights[0] != weights[1])[same].any():
        return OTHER_WEIGHTS
    if _on_other_scale(*values):
        return OTHER_SCALE
    outside = np.full(size, OUTSIDE, dtype=np.intp)
    held = [same, ~same & ~np.isnan(values[0]), ~same & ~np.isnan(values[1])]
    labels = ((groups[0], groups[1]), (groups[0], outside), (outside, groups[1]))
    joined = [np.concatenate([pair[at][rows] for pair, rows in zip(labels, held, strict=True)]) for at in (0, 1)]
    return TwiceReleased(
        np.concatenate([values[at][rows] for at, rows in zip((0, 0, 1), held, strict=True)]),
        (replace(one, groups=joined[0]), replace(other, groups=joined[1])),
        np.concatenate([weights[at][rows] for at, rows in zip((0, 0, 1), held, strict=True)]),
        10.0 ** -max(side.records.columns[name].decimals for side in (first, second)),
    )


def _on_other_scale(some: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Whether most numbers that both releases have differ, and lie on a straight line."""
    both = ~np.isnan(some) & ~np.isnan(others)
    apart = both & (some != others)
    if 2 * apart.sum() <= both.sum() or apart.sum() < 3 or min(np.ptp(some[apart]), np.ptp(others[apart])) == 0:
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
    key : bool
        Whether that is one that names the records of both.
    pairs : int
        Respondents in both.
    alike : float
        Share of their values that are the same in both originals, from 0 to 1.
    """

    field: str
    key: bool
    pairs: int
    alike: float


def _respondents(first: _Side, second: _Side) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], _PutTogether]:
    """Number the respondents of two originals: by what leaves most of their values as they were.

    Respondents are put together by a field that differs in every record of both, or where they have the same values
    in all fields; of the others, where they have the same values in all fields but one, and nobody else has.
    """
    names = [name for name in first.records.columns if name in second.records.columns]
    sides = (first, second)
    codes = [_codes(name, first, second) for name in names]
    best, how, key, pairs = -1, "", False, np.empty((2, 0), dtype=np.intp)
    for name, own in zip(names, codes, strict=True):
        if all(len(np.unique(one)) == len(one) and one.min(initial=0) >= 0 for one in own):
            found = _pairs(*own)
            if (score := _agreement(codes, found)) > best:
                best, how, key, pairs = score, name, True, found
    secret = b"respondents of two releases"
    hashes = [
        RecordHashes.of({name: side.records.columns[name] for name in names}, secret, len(side.records))
        for side in sides
    ]
    found = _pairs(*(own.whole[side.rows] for own, side in zip(hashes, sides, strict=True)))
    for name in names if len(names) > 1 else ():
        left = [np.setdiff1d(np.arange(len(side.rows)), own) for side, own in zip(sides, found, strict=True)]
        rest = [own.without(name)[side.rows][at] for own, side, at in zip(hashes, sides, left, strict=True)]
        single = [_single(own) for own in rest]
        more = _pairs(*(own[at] for own, at in zip(rest, single, strict=True)))
        joined = [at[one][pair] for at, one, pair in zip(left, single, more, strict=True)]
        found = np.concatenate([found, np.stack(joined)], axis=1)
    if (score := _agreement(codes, found)) > best:
        best, how, key, pairs = score, "all fields that both originals have, or all but one", False, found
    others = len(first.rows) + np.arange(len(second.rows))
    others[pairs[1]] = pairs[0]
    count = pairs.shape[1]
    return (np.arange(len(first.rows)), others), _PutTogether(how, key, count, best / max(1, count * len(names)))


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
