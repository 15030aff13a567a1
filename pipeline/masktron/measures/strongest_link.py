"""Record linkage by the strongest of several plain intruders: four ways to compare, two ways to pick."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_fitting
from masktron.kernels.distinct import alike, codes_of
from masktron.kernels.standardise import Standard
from masktron.large_arrays import new_array
from masktron.measures.base import require_comparable

type Points = NDArray[np.float64]
type _Rows = NDArray[np.intp]
type _Codes = NDArray[np.int32]
type LinkDistance = Literal["Euclidean", "Mahalanobis", "ranks", "likelihood"]
type LinkPick = Literal["nearest", "one-to-one"]
_PICKS: tuple[LinkPick, ...] = ("nearest", "one-to-one")

Z95 = 1.959963984540054
"""The normal quantile of an interval of 95 per cent."""
EXACT = 1_000
"""Records up to which all are linked."""
SAMPLE = 500
"""Released records that are looked for in a larger file."""
RIVALS = 100
"""Released records near a sampled one that compete with it for originals."""
CANDIDATES = 150
"""Originals near a sampled record for which these compete: more than rivals, so that those at the rim find theirs."""
_BLOCK = 4_096
"""Records among which near ones are looked for at a time."""
_FLAT = 1e-7
"""Part of the largest variance below which a direction holds nothing but rounding."""
_BINS = 60
"""Of the differences between ranks; one more is for a value that is missing in one file."""
_LEARNERS = 20_000
"""Respondents from whom it is learned how far ranks move."""
_STRANGERS = 20
"""Originals of other respondents with which each of them is compared."""


@dataclass(frozen=True, slots=True)
class StrongestLinkage:
    """What the strongest intruder finds.

    Attributes
    ----------
    share : float
        Records that are rightly linked, in per cent; 0 without records.
    distance : {"Euclidean", "Mahalanobis", "ranks", "likelihood"}
    pick : {"nearest", "one-to-one"}
        Each record the nearest original, or no original twice and the least sum of costs.
    all : mapping of (distance, pick) to float
        What each intruder finds.
    interval : tuple of float, or None
        Interval of 95 per cent of what local intruders find in the file, where that is estimated from a sample.
    """

    share: float
    distance: LinkDistance
    pick: LinkPick
    all: dict[tuple[LinkDistance, LinkPick], float]
    interval: tuple[float, float] | None = None


def strongest_linkage(
    original: Points,
    masked: Points,
    known: NDArray[np.integer[Any]] | None = None,
    categories: Sequence[tuple[_Codes, _Codes]] = (),
) -> StrongestLinkage:
    """Link masked records to originals by several distances and picks, and return what the best of them finds.

    The intruder knows the original values of everybody, and exactly what was not masked: only records that agree in
    that are compared. A link costs the squared Euclidean distance over

    - variables standardised by the original;
    - the same made uncorrelated: Mahalanobis distance with the sum of both covariance matrices;
    - ranks within each file;

    or minus the log-likelihood of the differences between the ranks, variable by variable. Whoever has the program
    learns from it how far it moves ranks. Here it is learned from one half of the respondents for the other half, so
    that no record is linked by what was learned from itself.

    A field of categories costs more where the records disagree. In the distances, it costs strangers as much on
    average as one standardised number does, so a yes/no field costs the same as a category and as a number. In the
    likelihood, a category is kept with a chance, learned as above, and else drawn anew. Agreement in a rare category
    then counts for more.

    A missing number is put at the mean, and whether it is missing is one more variable. A missing category is one
    more category. Ties are shared: of t nearest originals each counts 1/t, and records or originals that are the same
    in all are assigned in random order.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        Row i of both belongs to the same respondent; NaN where missing.
    known : ndarray of int, shape (n,), optional
        Equal where records are alike in all that was not masked.
    categories : sequence of pairs of ndarray of int32, shape (n,) each
        Original and masked categories of each field, numbered alike; -1 where missing.

    Returns
    -------
    StrongestLinkage

    Raises
    ------
    UsageError
        The shapes differ, or a value is infinite.

    Notes
    -----
    Up to `EXACT` records all are linked at once. In larger files the intruders are local: each released record is
    assigned together with its nearest `RIVALS` released records to the `CANDIDATES` originals nearest to it. What
    they find is estimated from `SAMPLE` released records, drawn with a fixed seed, with the interval of Wilson
    (1927). Intruders who link a large file at once find more: of 2,500 records after rank swapping 29.9 per cent,
    where local ones find 26.7.

    It is no bound: an intruder who knows more of how the file was masked may find more.

    Source: Torra, Abowd and Domingo-Ferrer (2006), Using Mahalanobis distance-based record linkage for disclosure
    risk assessment, with the covariance between the files, which nobody knows who cannot link, taken for 0. The
    likelihood is that of Fellegi and Sunter (1969), with variables independent, and with the frequencies of
    categories. The assignment is that of Kuhn (1955), as SciPy solves it.
    """
    require_comparable(original, masked)
    n = len(original)
    if known is not None:
        require_fitting(known.shape == (n,), original=original, known=known)
    classes = np.zeros(n, dtype=np.intp) if known is None else np.unique(known, return_inverse=True)[1]
    for codes in (codes for pair in categories for codes in pair):
        require_fitting(codes.shape == (n,), original=original, categories=codes)
    if not original.shape[1]:
        original = masked = np.zeros((n, 1))
    # a seed of its own: an assignment that is one of several must not come from the order of the records
    rng = np.random.default_rng(0)
    wanted = np.zeros(n, dtype=np.bool_)
    wanted[rng.choice(n, SAMPLE, replace=False) if n > EXACT else slice(None)] = True
    members = [rows for rows in _members(classes) if wanted[rows].any()]
    doubles = _Doubles(classes, original, masked, categories)
    fields = tuple(_Category.of(*pair) for pair in categories if (pair[0] != pair[0][:1]).any())
    found: dict[tuple[LinkDistance, LinkPick], float] = {}
    for distance, space in _spaces(original, masked, fields, rng):
        found[distance, "nearest"] = found[distance, "one-to-one"] = 0.0
        for rows in members:
            linked = _links(space, rng.permutation(rows), rng.permutation(rows), wanted, doubles)
            for pick, credit in zip(_PICKS, linked, strict=True):
                found[distance, pick] += credit
    looked_for = int(wanted.sum())
    shares = {key: 100 * value / looked_for if n else 0.0 for key, value in found.items()}
    distance, pick = max(shares, key=shares.__getitem__)
    interval = wilson(found[distance, pick], looked_for) if looked_for < n else None
    return StrongestLinkage(shares[distance, pick], distance, pick, shares, interval)


def wilson(found: float, tried: int) -> tuple[float, float]:
    """Return the interval of Wilson (1927) of 95 per cent for a share, in per cent.

    Parameters
    ----------
    found : float
        Right ones; parts of one count as parts, which only makes the interval wider than it has to be.
    tried : int
        At least 1.
    """
    share, weight = found / tried, Z95**2 / tried
    middle = (share + weight / 2) / (1 + weight)
    half = Z95 / (1 + weight) * math.sqrt(share * (1 - share) / tried + weight / (4 * tried))
    return 100 * max(middle - half, 0.0), 100 * min(middle + half, 1.0)


def _members(classes: _Rows) -> Iterator[_Rows]:
    """Yield the records of each class."""
    order = np.argsort(classes, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(classes[order])) + 1)


class _Doubles:
    """Respondents who share their released record, their original, or both."""

    def __init__(
        self, classes: _Rows, original: Points, masked: Points, categories: Sequence[tuple[_Codes, _Codes]]
    ) -> None:
        n = len(classes)
        self._place, self._released = (
            alike((classes.astype(np.int32), *(pair[side] for pair in categories), *map(codes_of, numbers.T)), n)[0]
            for side, numbers in enumerate((original, masked))
        )
        self._pairs, self._counts = np.unique(self._pair(np.arange(n), np.arange(n)), return_counts=True)
        self._places, self._releases = np.bincount(self._place), np.bincount(self._released)

    def credit(self, released: _Rows, originals: _Rows) -> float:
        """Return how many links are right: each with the chance that doubles leave.

        A respondent of place H and released record G is linked rightly with 1 / (|H| |G|) for each link of G to H.
        """
        links = self._pair(released, originals)
        at = np.minimum(np.searchsorted(self._pairs, links), len(self._pairs) - 1)
        shared = np.where(self._pairs[at] == links, self._counts[at], 0)
        sizes = self._places[self._place[originals]] * self._releases[self._released[released]]
        return float((shared / sizes).sum())

    def _pair(self, released: _Rows, originals: _Rows) -> _Rows:
        return self._place[originals] * len(self._released) + self._released[released]


@dataclass(frozen=True, eq=False)
class _Category:
    """A field of categories that tells originals apart.

    Attributes
    ----------
    codes : tuple of ndarray of int32, shape (n,) each
        Of the originals and of the released records, from 0.
    shares : ndarray of float64, shape (c,)
        Of each category in the original.
    """

    codes: tuple[_Codes, _Codes]
    shares: Points

    @classmethod
    def of(cls, before: _Codes, after: _Codes) -> Self:
        """Number missing values as one more category."""
        many = int(max(before.max(), after.max())) + 2
        return cls((before + 1, after + 1), np.bincount(before + 1, minlength=many) / len(before))

    @property
    def diversity(self) -> float:
        """The chance that two originals have different categories, and the sum of the variances of its indicators."""
        return 1.0 - float((self.shares**2).sum())

    def gain(self, learners: _Rows) -> Points:
        """Learn for each released category how much more likely agreement makes a link than disagreement, shape (c,).

        A category is kept with a chance, and else drawn with the shares of the original.
        """
        before, after = (codes[learners] for codes in self.codes)
        by_chance = float(self.shares @ np.bincount(self.codes[1], minlength=len(self.shares))) / len(self.codes[1])
        # one stranger more, so that nothing is certain
        agreeing = (int((before == after).sum()) + by_chance) / (len(learners) + 1)
        kept = max(agreeing - by_chance, 0.0) / (1 - by_chance)
        found: Points = np.log1p(kept / (1 - kept) / np.maximum(self.shares, 1 / len(self.codes[0])))
        return found


@dataclass(frozen=True, eq=False)
class _Space:
    """How links are priced: by the squared distance of points, and by what they gain where categories agree.

    Attributes
    ----------
    before, after : ndarray of float64, shape (n, q)
        The numbers of both files as points.
    fields : tuple of _Category
    gains : tuple of ndarray of float64, shape (n,) each
        What a link of each released record gains if it agrees in the field.
    """

    before: Points
    after: Points
    fields: tuple[_Category, ...]
    gains: tuple[Points, ...]

    def costs(self, released: _Rows, originals: _Rows) -> Points:
        """Return the cost of each link, shape (released, originals), but for what all links of a record share."""
        return self.distances(released, originals) - self._gained(released, originals, 0)

    def distances(self, released: _Rows, originals: _Rows) -> Points:
        """Return what each link costs by its numbers, shape (released, originals)."""
        from scipy.spatial.distance import cdist  # noqa: PLC0415 -- most runs do without

        return cdist(self.after[released], self.before[originals], "sqeuclidean")

    def near(self, asked: _Rows, rows: _Rows, side: int, k: int) -> list[_Rows]:
        """Return for each asked released record the k of some originals, 0, or released records, 1, at least cost.

        The cost of numbers is the squared distance here, in whatever space.
        """
        points = (self.before, self.after)[side]
        found = [rows[:0]] * len(asked)
        costs = [np.empty(0)] * len(asked)
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            # without the square of the asked one, which all of its links have
            rough = (points[block] ** 2).sum(axis=1) - 2 * self.after[asked] @ points[block].T
            rough -= self._gained(asked, block, side)
            for at, row in enumerate(rough):
                nearer = np.flatnonzero(row < costs[at].max()) if len(costs[at]) == k else np.arange(len(block))
                own = np.append(costs[at], row[nearer])
                kept = own.argpartition(k - 1)[:k] if len(own) > k else np.arange(len(own))
                costs[at], found[at] = own[kept], np.append(found[at], block[nearer])[kept]
        return found

    def _gained(self, released: _Rows, others: _Rows, side: int) -> Points:
        """Return what released records gain where they agree with originals, 0, or with released records, 1."""
        found = np.zeros((len(released), len(others)))
        for field, gain in zip(self.fields, self.gains, strict=True):
            codes = field.codes[side][others]
            found += gain[released, np.newaxis] * (field.codes[1][released, np.newaxis] == codes)
        return found


@dataclass(frozen=True, eq=False)
class _LikelihoodSpace(_Space):
    """Ranks divided by how far they usually move; a link costs minus its log-likelihood.

    Attributes
    ----------
    moves : ndarray of float64, shape (q,)
    half : ndarray of bool, shape (n,)
        To which half of the respondents each belongs.
    prices : ndarray of float64, shape (2, q, bins)
        For records of each half, as learned from the other.
    """

    moves: Points
    half: NDArray[np.bool_]
    prices: Points

    def distances(self, released: _Rows, originals: _Rows) -> Points:
        half = self.half[released, np.newaxis] * self.prices.shape[2]
        found = np.zeros((len(released), len(originals)))
        for at, move in enumerate(self.moves):
            after, before = self.after[released, at] * move, self.before[originals, at] * move
            found += self.prices[:, at].ravel().take(_bins(after[:, np.newaxis], before) + half)
        return found


def _spaces(
    original: Points, masked: Points, fields: tuple[_Category, ...], rng: np.random.Generator
) -> Iterator[tuple[LinkDistance, _Space]]:
    """Yield how links are priced; what is constant in the original tells nobody apart."""
    # strangers disagree with the chance of the diversity, and are 2 apart on average in a standardised number
    gains = tuple(np.broadcast_to(2 / field.diversity, len(original)) for field in fields)
    before, after = _standardised(original, masked)
    yield "Euclidean", _Space(before, after, fields, gains)
    # and 1 apart in what is whitened
    yield "Mahalanobis", _Space(*_whitened(before, after), fields, tuple(gain / 2 for gain in gains))
    before, after = _ranks(original), _ranks(masked)
    yield "ranks", _Space(*_standardised(before, after), fields, gains)
    yield "likelihood", _likelihood(before, after, fields, rng)


def _ranks(values: Points) -> Points:
    """Mean ranks from 0 to 1 within a file; NaN where missing."""
    found = new_array(values.shape, np.float64)
    found[...] = np.nan
    for at, column in enumerate(values.T):
        held = ~np.isnan(column)
        if held.any():
            _, at_value, times = np.unique(column[held], return_inverse=True, return_counts=True)
            found[held, at] = (np.cumsum(times) - (times - 1) / 2)[at_value] / held.sum()
    return found


def _standardised(original: Points, masked: Points) -> tuple[Points, Points]:
    standards = [Standard.of(own) for own in original.T]
    gaps = np.isnan(original).any(axis=0) & ~np.isnan(original).all(axis=0)
    width = sum(standard.deviation > 0 for standard in standards) + int(gaps.sum())
    # a column of zeros where nothing varies
    files = [new_array((len(original), max(width, 1)), np.float64) for _ in range(2)]
    for file, points in zip((original, masked), files, strict=True):
        values = (one.places(own) for own, one in zip(file.T, standards, strict=True) if one.deviation)
        missing = (np.isnan(own) for own, some in zip(file.T, gaps, strict=True) if some)
        points[...] = 0.0
        for at, column in enumerate(chain(values, missing)):
            points[:, at] = np.nan_to_num(column)
    return files[0], files[1]


def _whitened(before: Points, after: Points) -> tuple[Points, Points]:
    """Make the sum of both covariance matrices the identity; directions without variance are left out."""
    if len(before) < 2:
        return before, after
    joint = np.atleast_2d(np.cov(before, rowvar=False) + np.cov(after, rowvar=False))
    variances, directions = np.linalg.eigh(joint)
    kept = variances > _FLAT * max(float(variances[-1]), 0.0)
    turned = directions[:, kept] / np.sqrt(variances[kept])
    return before @ turned, after @ turned


def _likelihood(
    before: Points, after: Points, fields: tuple[_Category, ...], rng: np.random.Generator
) -> _LikelihoodSpace:
    """Learn how far ranks of respondents move, against those of strangers, and how often categories are kept."""
    n, p = before.shape
    for ranks in (before, after):
        ranks[np.isnan(ranks)] = 2.0  # beyond all ranks by one or more
    half = rng.permutation(n) % 2 == 1
    learners = rng.permutation(n)[:_LEARNERS]
    own = _bins(after[learners], before[learners])
    strangers = [np.roll(learners, int(rng.integers(1, max(len(learners), 2)))) for _ in range(_STRANGERS)]
    apart = np.concatenate([_bins(after[learners], before[others]) for others in strangers])
    counts = np.stack([_counts(own[half[learners] != one]) for one in (False, True)])
    usual = _counts(apart) + 1.0
    # fields of one method move alike: where a field says little, all of them do
    likely = counts + counts.mean(axis=1, keepdims=True) + 0.05 * usual / usual.sum(axis=1, keepdims=True) + 0.01
    moves = np.abs(after[learners] - before[learners]).mean(axis=0) + 1 / max(n, 1) if n else np.ones(p)
    gains = tuple(
        np.stack([field.gain(learners[half[learners] != one]) for one in (False, True)])[half * 1, field.codes[1]]
        for field in fields
    )
    return _LikelihoodSpace(before / moves, after / moves, fields, gains, moves, half, -np.log(likely / usual))


def _bins(after: Points, before: Points) -> _Rows:
    bins: _Rows = np.minimum(np.abs(after - before) * _BINS, _BINS).astype(np.intp)
    return bins


def _counts(bins: _Rows) -> Points:
    """How often each bin occurs in each column, shape (columns, bins)."""
    return np.stack([np.bincount(column, minlength=_BINS + 1) for column in bins.T]).astype(np.float64)


def _links(
    space: _Space, released: _Rows, originals: _Rows, wanted: NDArray[np.bool_], doubles: _Doubles
) -> tuple[float, float]:
    """Count right links of the wanted ones of a class, to the nearest original and one to one.

    Released records and originals are those of the class, each in a random order.
    """
    own = wanted[released]
    if own.all() or len(released) <= CANDIDATES:
        return _links_among(space, released, originals, own, doubles)
    asked = released[own]
    near = space.near(asked, originals, 0, CANDIDATES)
    rivals = space.near(asked, released, 1, RIVALS)
    nearest = assigned = 0.0
    for one, candidates, others in zip(asked, near, rivals, strict=True):
        among = np.append(others[others != one][: RIVALS - 1], one)
        found = _links_among(space, among, candidates, among == one, doubles)
        nearest, assigned = nearest + found[0], assigned + found[1]
    return nearest, assigned


def _links_among(
    space: _Space, released: _Rows, originals: _Rows, own: NDArray[np.bool_], doubles: _Doubles
) -> tuple[float, float]:
    """Count right links of some released records, where all compete."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 -- most runs do without

    costs = space.costs(released, originals)
    near = costs[own] == costs[own].min(axis=1, keepdims=True)
    right = near & (originals == released[own][:, np.newaxis])
    rows, columns = linear_sum_assignment(costs)
    assigned = doubles.credit(released[rows[own[rows]]], originals[columns[own[rows]]])
    return float((right.sum(axis=1) / near.sum(axis=1)).sum()), assigned
