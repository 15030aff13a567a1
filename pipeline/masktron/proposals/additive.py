"""Totals: fields that add up to another one, in nearly all records.

Each field gets a fingerprint over a few records, ``sum(r_i * x_i) mod 2**64`` with random odd r_i, in integers of one
unit. It is linear: the fingerprint of a sum is the sum of the fingerprints. So a relation that holds in these records
is an equality of fingerprints, which sorting finds among all pairs of pairs, and the search does not depend on the
number of records. Totals of any number of parts are found by elimination (`long_totals`), in a few more records than
there are fields. Several subsets are drawn, so that a few records that break a relation do not hide it. What is found
is then counted on all records, exactly, and nothing else is reported: the search may overlook, never invent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, gcd

import numpy as np
from numpy.typing import NDArray

from masktron.proposals import candidate
from masktron.proposals.candidate import MOST_EXCEPTIONS
from masktron.proposals.profiles import FieldProfile, aligned

type Dependence = dict[int, int]
"""Coefficients other than 0 by column: their combination is 0."""

_PRIME = (1 << 31) - 1
"""A product of two residues stays within int64."""
_LARGEST = 1000
"""Coefficients up to which a relation is kept to simplify others."""


def unit_relations(table: NDArray[np.int64]) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield the parts and the total of sums that hold in all rows.

    Parameters
    ----------
    table : ndarray of int64, shape (n, m)
        Columns with parts before their totals, since a total is told by what stands before it; n well above m.
    """
    for relation in _simplified([one for one in _dependent(table) if max(map(abs, one.values())) <= _LARGEST]):
        if any(abs(factor) != 1 for factor in relation.values()):
            continue
        sides = [[at for at, factor in relation.items() if factor == sign] for sign in (1, -1)]
        parts, total = sorted(sides, key=len, reverse=True)
        if len(total) == 1 and len(parts) > 1:
            yield tuple(parts), total[0]


def _dependent(table: NDArray[np.int64]) -> Iterator[Dependence]:
    """Yield how each column depends on those before it, by Gauss-Jordan elimination modulo a prime."""
    left = table % _PRIME
    pivots: list[int] = []
    for at in range(left.shape[1]):
        row = len(pivots)
        below = np.flatnonzero(left[row:, at])
        if not len(below):
            factors = ((int(factor) + _PRIME // 2) % _PRIME - _PRIME // 2 for factor in left[:row, at])
            yield {pivot: factor for pivot, factor in zip(pivots, factors, strict=True) if factor} | {at: -1}
            continue
        left[[row, row + below[0]]] = left[[row + below[0], row]]
        left[row] = left[row] * pow(int(left[row, at]), -1, _PRIME) % _PRIME
        others = left[:, at].copy()
        others[row] = 0
        left = (left - others[:, None] * left[row]) % _PRIME
        pivots.append(at)


def _simplified(relations: list[Dependence]) -> list[Dependence]:
    """Put relations into each other as long as that leaves fewer terms: a grand total is one of subtotals."""
    shorter = True
    while shorter:
        shorter = False
        for at, one in enumerate(relations):
            made = [_less(one, other, times) for other in relations if other is not one for times in (1, -1)]
            best = min((found for found in made if found), key=_size, default=one)
            if _size(best) < _size(one):
                relations[at], shorter = best, True
    return relations


def _size(relation: Dependence) -> tuple[int, int]:
    return len(relation), sum(map(abs, relation.values()))


def _less(one: Dependence, other: Dependence, times: int) -> Dependence:
    """Subtract a multiple of a relation from another one."""
    found = {at: one.get(at, 0) - times * other.get(at, 0) for at in one.keys() | other.keys()}
    return {at: factor for at, factor in found.items() if factor}


MOST_OF_A_PART = 2 * MOST_EXCEPTIONS
"""The same of the records in which a certain part is not 0, of which there are fewer."""
FEWEST_RECORDS = 10
"""Records that have to tell something."""
FEWEST_OF_A_PART = 3
"""Records in which each part is not 0 and the total holds."""
LARGEST_FACTOR = 3
_SUBSETS = 24
_FEWER_SUBSETS = 8
_ELIMINATIONS = 60
"""Subsets in which totals of many parts are looked for: they are larger, so more of them hold a wrong record."""
_SPARE_ROWS = 8
"""Records of such a subset beyond the number of its fields, so that no relation holds for want of records."""
_PATTERNS = 8
_ROWS = 12
_MOST_ROWS = 24
_CANDIDATES = 20_000
"""Candidates of one subset that are looked at; a subset with more tells nothing."""
_SAMPLE = 2000


@dataclass(frozen=True, slots=True)
class SumRelation:
    """``sum(factor * field) = factor * total``, in natural numbers without a common divisor.

    Attributes
    ----------
    parts : tuple of (int, int)
        Position of the field and its factor.
    total : (int, int)
    """

    parts: tuple[tuple[int, int], ...]
    total: tuple[int, int]

    @property
    def fields(self) -> tuple[int, ...]:
        """Positions of all fields, the total last."""
        return (*(at for at, _ in self.parts), self.total[0])

    @property
    def vector(self) -> dict[int, int]:
        """The coefficients of ``sum - total = 0``."""
        return dict(self.parts) | {self.total[0]: -self.total[1]}


@dataclass(frozen=True, slots=True, eq=False)
class Additive:
    """A relation that was counted.

    Attributes
    ----------
    relation : SumRelation
    applies : ndarray of bool, shape (n,)
        Records in which all its fields have a value.
    fails : ndarray of bool, shape (n,)
    telling : int
        Records in which it holds and is not trivial: two parts are not 0, or of a single part, this one.
    share : float
        Of such records that agree when the total is put beside the parts at random.
    expected : float
        Logarithm of the expected number of such relations by chance.
    """

    relation: SumRelation
    applies: NDArray[np.bool_]
    fails: NDArray[np.bool_]
    telling: int
    share: float
    expected: float


class SumSearch:
    """Looks for relations among fields.

    Parameters
    ----------
    fields : sequence of FieldProfile
        Quantities.
    """

    def __init__(self, fields: Sequence[FieldProfile]) -> None:
        places = max((field.places for field in fields), default=0)
        kept = [
            (field, values)
            for field, values in zip(fields, aligned(list(fields), places), strict=True)
            if values is not None and np.count_nonzero(values) >= FEWEST_OF_A_PART
        ]
        self.left_out = tuple(
            field.name for field, values in zip(fields, aligned(list(fields), places), strict=True) if values is None
        )
        self.fields = [field for field, _ in kept]
        self.places = places
        shape = (len(kept), -1 if kept else 0)
        self._values = np.array([values for _, values in kept], dtype=np.int64).reshape(shape)
        self._known = np.array([field.present for field, _ in kept], dtype=np.bool_).reshape(shape)
        self.untried = frozenset(range(len(kept)))
        self._counted: dict[SumRelation, Additive | None] = {}

    def find(self) -> list[Additive]:
        """Return the relations that no chance explains and that do not follow from others, the shortest first."""
        if len(self.fields) < 2:
            return []
        candidates: dict[SumRelation, None] = {}
        for rows, fields in self._subsets():
            candidates.update(dict.fromkeys(self._candidates(rows, fields)))
        candidates.update(dict.fromkeys(self._eliminated()))
        found: dict[SumRelation, Additive] = {}
        for relation in [*candidates, *self._ratios()]:
            counted = self._completed(relation)
            if counted is not None:
                found[counted.relation] = counted
        return _independent(sorted(found.values(), key=self._rank))

    def _rank(self, one: Additive) -> tuple[object, ...]:
        relation = one.relation
        largest = max(factor for _, factor in (*relation.parts, relation.total))
        return (len(relation.parts), int(one.fails.sum()), largest > LARGEST_FACTOR, largest, relation.fields)

    def _subsets(self) -> Iterator[tuple[NDArray[np.intp], list[int]]]:
        """Yield a few records, and the fields that all of them have, not all of them 0."""
        draws = candidate.generator(candidate.SUBSETS)
        for pattern, (group, fields) in enumerate(self._patterns()):
            filled = [group[self._values[at, group] != 0] for at in fields]
            filled = [rows for rows in filled if len(rows)]
            for _ in range(_FEWER_SUBSETS if pattern else _SUBSETS):
                focus = filled
                if len(filled) > _MOST_ROWS:
                    focus = [filled[at] for at in draws.choice(len(filled), _MOST_ROWS, replace=False)]
                rows = {int(draws.choice(one)) for one in focus}
                if len(rows) < _ROWS:
                    rows.update(draws.choice(group, min(_ROWS, len(group)), replace=False).tolist())
                taken = np.array(sorted(rows), dtype=np.intp)
                live = [at for at in fields if self._values[at, taken].any()]
                if len(live) > 1:
                    yield taken, live

    def _patterns(self) -> Iterator[tuple[NDArray[np.intp], list[int]]]:
        """Yield records that have the same fields, of the most frequent patterns, and these fields."""
        marks = candidate.generator(candidate.SUBSETS).integers(0, 1 << 63, (len(self.fields), 1), dtype=np.uint64)
        prints = (self._known * marks).sum(axis=0, dtype=np.uint64)
        _, of, sizes = np.unique(prints, return_inverse=True, return_counts=True)
        for pattern in np.argsort(-sizes, kind="stable")[:_PATTERNS]:
            rows = np.flatnonzero(of == pattern)
            fields = np.flatnonzero(self._known[:, rows[0]]).tolist()
            if len(rows) >= FEWEST_RECORDS and len(fields) > 1:
                yield rows, fields

    def _candidates(self, rows: NDArray[np.intp], fields: list[int]) -> list[SumRelation]:
        """Return the relations that hold in some records."""
        draws = candidate.generator(candidate.SUBSETS)
        weights = draws.integers(0, 1 << 63, len(rows), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
        taken = self._values[np.ix_(fields, rows)].astype(np.uint64)
        prints = (taken * weights).sum(axis=1, dtype=np.uint64)
        found: list[SumRelation] = []
        for size, positions, totals in _matches(prints):
            if len(positions) > _CANDIDATES:
                continue
            for parts, total in zip(positions.tolist(), totals.tolist(), strict=True):
                if size == "scaled":
                    first, a, second, b, c = parts
                    found.append(SumRelation(((fields[first], a), (fields[second], b)), (fields[total], c)))
                else:
                    found.append(SumRelation(tuple((fields[at], 1) for at in sorted(parts)), (fields[total], 1)))
        return found

    def _eliminated(self) -> Iterator[SumRelation]:
        """Yield totals of any number of parts that hold in some records, more than there are fields."""
        draws = candidate.generator(candidate.SUBSETS)
        by_size = np.argsort(np.abs(self._values).sum(axis=1, dtype=np.float64), kind="stable")  # parts before totals
        for pattern, (group, fields) in enumerate(self._patterns()):
            ordered = [at for at in by_size.tolist() if at in fields]
            filled = {at: group[self._values[at, group] != 0] for at in ordered}
            ordered = [at for at in ordered if len(filled[at])]
            if len(group) < len(ordered) + _SPARE_ROWS:
                continue
            self.untried -= frozenset(fields)
            for _ in range(_FEWER_SUBSETS if pattern else _ELIMINATIONS):
                rows = {int(draws.choice(filled[at])) for at in ordered}
                rows.update(draws.choice(group, len(ordered) + _SPARE_ROWS, replace=False).tolist())
                for parts, total in unit_relations(self._values[np.ix_(ordered, sorted(rows))].T):
                    yield SumRelation(tuple(sorted((ordered[at], 1) for at in parts)), (ordered[total], 1))

    def _ratios(self) -> Iterator[SumRelation]:
        """Yield fields that are nearly always the same whole multiple of another one."""
        draws = candidate.generator(candidate.SUBSETS)
        count = self._values.shape[1]
        rows = np.sort(draws.choice(count, min(count, _SAMPLE), replace=False))
        sample, known = self._values[:, rows], self._known[:, rows]
        for lesser, greater in product(range(len(self.fields)), repeat=2):
            both = known[lesser] & known[greater] & (sample[lesser] != 0)
            if lesser == greater or both.sum() < FEWEST_RECORDS:
                continue
            factor = float(np.median(sample[greater, both] / sample[lesser, both]))
            if 2 <= factor <= 1000 and factor.is_integer():
                yield SumRelation(((lesser, int(factor)),), (greater, 1))

    def _completed(self, relation: SumRelation) -> Additive | None:
        """Count a relation; where another field is what its exceptions lack, count that with this field instead."""
        fails = self._failing(relation)
        if fails is None:
            return None
        tried = [relation]
        while fails.any() and self._plain(relation):
            longer = self._longer(relation, fails)
            if longer is None:
                break
            relation, fails = longer
            tried.append(relation)
        counted = (self._count(one) for one in reversed(tried))
        return next((one for one in counted if one is not None), None)

    @staticmethod
    def _plain(relation: SumRelation) -> bool:
        return all(factor == 1 for _, factor in (*relation.parts, relation.total))

    def _longer(
        self, relation: SumRelation, fails: NDArray[np.bool_]
    ) -> tuple[SumRelation, NDArray[np.bool_]] | None:
        rows = np.flatnonzero(fails)
        lacking = self._values[relation.total[0], rows] - sum(self._values[at, rows] for at, _ in relation.parts)
        used = set(relation.fields)
        for at in range(len(self.fields)):
            if at in used or 2 * int((self._values[at, rows] == lacking).sum()) < len(rows):
                continue
            longer = SumRelation(tuple(sorted((*relation.parts, (at, 1)))), relation.total)
            still = self._failing(longer)
            if still is not None and 2 * int(still.sum()) <= len(rows):
                return longer, still
        return None

    def _failing(self, relation: SumRelation) -> NDArray[np.bool_] | None:
        """Return the records in which a relation fails; None where too many do, on a sample first."""
        count = self._values.shape[1]
        step = max(1, count // _SAMPLE)
        if step > 1 and self._many(*self._difference(relation, slice(None, None, step))):
            return None
        fails, applies = self._difference(relation, slice(None))
        return None if self._many(fails, applies) else fails

    def _difference(self, relation: SumRelation, rows: slice) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        applies = np.logical_and.reduce([self._known[at, rows] for at in relation.fields])
        difference = sum(factor * self._values[at, rows] for at, factor in relation.vector.items())
        return applies & (difference != 0), applies

    @staticmethod
    def _many(fails: NDArray[np.bool_], applies: NDArray[np.bool_]) -> bool:
        return int(fails.sum()) > 2 * MOST_EXCEPTIONS * int(applies.sum())

    def _count(self, relation: SumRelation) -> Additive | None:
        if relation not in self._counted:
            self._counted[relation] = self._judged(relation)
        return self._counted[relation]

    def _judged(self, relation: SumRelation) -> Additive | None:
        """Count a relation on all records; None where it fails too often, or tells too little."""
        fails, applies = self._difference(relation, slice(None))
        parts = [self._values[at] != 0 for at, _ in relation.parts]
        filled = np.sum(parts, axis=0)
        total = self._values[relation.total[0]] != 0
        some = applies & ((filled > 0) | total)
        telling = some & ((filled >= 2) | (len(parts) == 1))
        holds = telling & ~fails
        asked = [(some, MOST_EXCEPTIONS), *((one & some, MOST_OF_A_PART) for one in (telling, *parts, total))]
        if any(int((fails & rows).sum()) > most * int(rows.sum()) for rows, most in asked):
            return None
        if holds.sum() < FEWEST_RECORDS or any((one & some & ~fails).sum() < FEWEST_OF_A_PART for one in parts):
            return None
        rows = np.flatnonzero(telling)
        left = sum(factor * self._values[at] for at, factor in relation.parts)
        right = relation.total[1] * self._values[relation.total[0]]
        share = candidate.agreeing(rows, lambda one, other: int((left[one] == right[other]).sum()))
        among = self._looked_for(len(relation.parts), scaled=not self._plain(relation))
        expected = candidate.expected(among, int(holds.sum()), int((telling & fails).sum()), share)
        if expected > candidate.PLAUSIBLE:
            return None
        return Additive(relation, applies, fails, int(holds.sum()), share, expected)

    def _looked_for(self, parts: int, *, scaled: bool) -> float:
        count = len(self.fields)
        return count * comb(count - 1, parts) * (1000 if scaled else 1)


def _matches(prints: NDArray[np.uint64]) -> Iterator[tuple[str, NDArray[np.intp], NDArray[np.intp]]]:
    """Yield where sums of fingerprints are fingerprints: positions of the parts, row by row, and of the totals."""
    count = len(prints)
    one, two = np.triu_indices(count, 1)
    pairs = prints[one] + prints[two]
    order = np.argsort(prints, kind="stable")
    singles = prints[order]

    left, right = _equal(singles, prints)
    keep = order[left] < right
    yield "equal", order[left][keep][:, None], right[keep]

    left, right = _equal(singles, pairs)
    total = order[left]
    yield "two", *_distinct(np.stack([one[right], two[right]], axis=1), total)

    for c, factors in _factors().items():
        scaled = prints * np.uint64(c)
        by = np.argsort(scaled, kind="stable")
        own = factors.astype(np.uint64)
        sums = prints[one] * own[:, :1] + prints[two] * own[:, 1:]
        left, right = _equal(scaled[by], sums.ravel())
        total, (times, pair) = by[left], np.divmod(right, len(one))
        f, s = one[pair], two[pair]
        keep = (f != total) & (s != total)
        rows = np.stack([f, factors[times, 0], s, factors[times, 1], np.full_like(f, c)], axis=1)
        yield "scaled", rows[keep], total[keep]

    total, less = (grid.ravel() for grid in np.meshgrid(np.arange(count), np.arange(count), indexing="ij"))
    total, less = total[total != less], less[total != less]
    rest = prints[total] - prints[less]
    by = np.argsort(pairs, kind="stable")
    left, right = _equal(pairs[by], rest)
    parts = np.stack([one[by[left]], two[by[left]], less[right]], axis=1)
    yield "three", *_distinct(parts, total[right])


@cache
def _factors() -> dict[int, NDArray[np.intp]]:
    """Factors of two parts, by that of their total, without a common divisor and not all 1."""
    some = range(1, LARGEST_FACTOR + 1)
    return {
        c: np.array([(a, b) for a, b in product(some, repeat=2) if gcd(a, b, c) == 1 and (a, b, c) != (1, 1, 1)])
        for c in some
    }


def _equal(ordered: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return pairs of positions, in a sorted array and in another one, that hold the same number."""
    low = np.searchsorted(ordered, wanted, side="left")
    high = np.searchsorted(ordered, wanted, side="right")
    counts = high - low
    if counts.sum() > 50 * _CANDIDATES:  # all fields alike: such a subset tells nothing
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    right = np.repeat(np.arange(len(wanted)), counts)
    starts = np.repeat(low - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) if len(wanted) else low
    return (starts + np.arange(len(right))).astype(np.intp), right


def _distinct(parts: NDArray[np.intp], totals: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Leave out matches that name a field twice, and those that differ in the order of the parts alone."""
    every = np.sort(np.concatenate([parts, totals[:, None]], axis=1), axis=1)
    keep = (every[:, 1:] != every[:, :-1]).all(axis=1)
    parts, totals = np.sort(parts[keep], axis=1), totals[keep]
    if not len(parts):
        return parts, totals
    unique = np.unique(np.concatenate([parts, totals[:, None]], axis=1), axis=0)
    return unique[:, :-1], unique[:, -1]


def _independent(relations: Sequence[Additive]) -> list[Additive]:
    """Keep relations that are no linear combination of those before them, in exact arithmetic.

    Theorem: a combination of relations holds in every record in which all of them hold, so what is left out says
    nothing more of these records.
    """
    rows: list[dict[int, Fraction]] = []
    kept = []
    for one in relations:
        vector = {at: Fraction(factor) for at, factor in one.relation.vector.items()}
        for row in rows:
            lead = next(iter(row))
            if factor := vector.get(lead):
                for at, own in row.items():
                    vector[at] = vector.get(at, Fraction(0)) - factor * own
        vector = {at: factor for at, factor in vector.items() if factor}
        if vector:
            lead = min(vector)
            scale = vector[lead]
            rows.append({lead: Fraction(1)} | {at: f / scale for at, f in vector.items() if at != lead})
            kept.append(one)
    return kept
