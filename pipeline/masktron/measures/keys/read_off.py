"""Values of a key that were suppressed, drawn or swapped, and that other fields of the released file give away."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Indices
from masktron.kernels.distinct import factorized

type CodedValues = NDArray[np.int32]
type Mask = NDArray[np.bool_]
type Guess = tuple[CodedValues, Floats]
"""A value for each record, -1 where there is no guess, and how sure it is, from 0 to 1."""

EXACT = 1e-6
"""How far a line may miss a value of the key, in standard deviations of the key."""
_LEAST_ROWS = 12
"""Records by which a line may be found: fewer would fit by chance."""
MOST_TERMS = 60
"""Numeric fields in one line."""


def grouped(columns: Sequence[CodedValues]) -> tuple[Indices, int]:
    """Number the records that are alike in all columns, shape (n,), and return a bound on these numbers.

    The number is -1 where a column is. The bound is at most 4 n + 1,000, so that tables of groups stay small.
    """
    n = len(columns[0])
    codes, count, there = np.zeros(n, dtype=np.intp), 1, np.ones(n, dtype=np.bool_)
    for column in columns:
        there &= column >= 0
        kinds = int(column.max(initial=0)) + 1
        codes, count = codes * kinds + np.maximum(column, 0), count * kinds
        if count > 4 * n + 1_000:
            codes, distinct = factorized(codes)
            count = len(distinct)
            if count == n:  # what follows cannot tell them further apart
                break
    return np.where(there, codes, -1), count


def by_groups(groups: Indices, count: int, shown: CodedValues, known: Mask) -> Guess:
    """Guess the value that most of the known records of a group show.

    Of m known records, of which t show it, the guess is sure to t / (m + 1): as if one more showed another value.

    Parameters
    ----------
    groups, count
        As `grouped` returns them.
    shown : ndarray of int32, shape (n,)
        The key as released, -1 where missing.
    known : ndarray of bool, shape (n,)
        Records that are looked at.
    """
    used = known & (groups >= 0)
    value, sure = np.full(count + 1, -1, dtype=np.int32), np.zeros(count + 1)
    if used.any():
        kinds = int(shown.max()) + 1
        cells, copies = np.unique(groups[used] * kinds + shown[used], return_counts=True)
        starts = np.flatnonzero(np.diff(cells // kinds, prepend=-1))
        most = np.maximum.reduceat(copies, starts)
        of_cell = np.repeat(most, np.diff(starts, append=len(cells)))
        best = np.flatnonzero(copies == of_cell)
        value[cells[best] // kinds] = cells[best] % kinds
        sure[cells[starts] // kinds] = most / (np.add.reduceat(copies, starts) + 1)
    return value[groups], sure[groups]


def by_neighbours(order: Indices, sides: int, shown: CodedValues, known: Mask) -> Guess:
    """Guess the value that most of the nearest known records show, so many on each side, itself left out.

    Parameters
    ----------
    order : ndarray of intp, shape (m,)
        Records in sorted order, without those that have no value to sort by.
    sides : int
        Of 2 s neighbours, of which t agree, the guess is sure to t / (2 s + 1).
    shown, known
        As for `by_groups`.
    """
    own = known[order]
    values, after = shown[order][own], np.cumsum(own)
    votes = []
    for step in range(sides):
        for places in (after - own - 1 - step, after + step):
            there = (places >= 0) & (places < len(values))
            votes.append(np.where(there, values.take(places, mode="clip"), -1) if len(values) else places * 0 - 1)
    agreeing = [np.ones(len(order), dtype=np.int8) for _ in votes]
    for one, two in combinations(range(len(votes)), 2):
        same = votes[one] == votes[two]
        agreeing[one] += same
        agreeing[two] += same
    best, most = np.full(len(order), -1, dtype=np.int32), np.zeros(len(order), dtype=np.int8)
    for vote, agree in zip(votes, agreeing, strict=True):
        better = (vote >= 0) & (agree > most)
        best[better], most[better] = vote[better], agree[better]
    value, sure = np.full(len(shown), -1, dtype=np.int32), np.zeros(len(shown))
    value[order], sure[order] = best, most / (2 * sides + 1)
    return value, sure


def _pursued(fields: Sequence[Floats], target: Floats, names: Sequence[int]) -> list[int]:
    """Choose few fields that give an exact line, where records are few; none where there is no such line.

    One or two of them, or more that are added one by one, by what is left (orthogonal matching pursuit: Pati,
    Rezaiifar and Krishnaprasad 1993), as long as there are three records for each.
    """
    standard = [(own - own.mean()) / (float(own.std()) or 1.0) for own in fields]
    exact = EXACT * (float(target.std()) or 1.0)

    def left_by(chosen: Sequence[int]) -> Floats:
        design = np.column_stack([*(standard[at] for at in chosen), np.ones(len(target))])
        return np.asarray(target - design @ np.linalg.lstsq(design, target, rcond=None)[0])

    for size in (1, 2):
        for pair in combinations(range(len(fields)), size):
            if np.abs(left_by(pair)).max() <= exact:
                return [names[at] for at in pair]
    chosen: list[int] = []
    left = left_by(chosen)
    while len(chosen) < min(len(fields), len(target) // 3 - 1) and np.abs(left).max() > exact:
        gains = [0.0 if at in chosen else abs(float(own @ left)) for at, own in enumerate(standard)]
        chosen.append(int(np.argmax(gains)))
        left = left_by(chosen)
    return [names[at] for at in sorted(chosen)] if np.abs(left).max() <= exact else []


def by_line(values: Sequence[Floats], numbers: Floats, shown: CodedValues, known: Mask) -> tuple[Guess, list[int]]:
    """Guess the number of a key from a linear combination of numeric fields, by least squares.

    Parameters
    ----------
    values : sequence of ndarray of float64, shape (n,) each
        The fields, NaN where missing.
    numbers : ndarray of float64, shape (c,)
        The number of each value of the key, NaN where it is none.
    shown, known
        As for `by_groups`.

    Returns
    -------
    guess : Guess
        The code c where the line gives a number that the key never has.
    used : list of int
        Fields with a share in the line. None where the fit has too few records, and guesses nothing.
    """
    nothing = np.full(len(shown), -1, dtype=np.int32), np.zeros(len(shown))
    known = known & np.isfinite(numbers)[np.maximum(shown, 0)]
    there = [np.isfinite(own) for own in values]
    # a field counts if some value differs; those that are missing most often go until enough records are complete
    kept = [at for at, own in enumerate(values) if (some := own[there[at] & known]).size and np.ptp(some) > 0]
    kept = sorted(kept, key=lambda at: -int(there[at].sum()))[:MOST_TERMS]
    while kept:
        complete = np.logical_and.reduce([there[at] for at in kept])
        rows = np.flatnonzero(complete & known)
        if len(rows) >= _LEAST_ROWS:
            break
        kept.pop()
    if not kept:
        return nothing, []
    rows = rows[: 20 * (len(kept) + 1)]
    if len(rows) < 3 * (len(kept) + 1) + 10:
        kept = _pursued([values[at][rows] for at in kept], numbers[shown[rows]], kept)
        if not kept:
            return nothing, []
        complete = np.logical_and.reduce([there[at] for at in kept])
    fields = np.column_stack([values[at] for at in kept])
    middle, spread = fields[rows].mean(axis=0), fields[rows].std(axis=0)
    spread[spread == 0] = 1.0
    target = numbers[shown[rows]]
    design = np.column_stack([(fields[rows] - middle) / spread, np.ones(len(rows))])
    shares = np.linalg.lstsq(design, target, rcond=None)[0]
    unit = float(target.std()) or 1.0
    used = [at for at, share in zip(kept, shares[:-1].tolist(), strict=True) if abs(share) > 1e-3 * unit]
    fitted = np.where(complete, ((fields - middle) / spread * shares[:-1]).sum(axis=1) + shares[-1], np.nan)
    order = np.argsort(numbers, kind="stable")[: int(np.isfinite(numbers).sum())]
    places = np.searchsorted(numbers[order], fitted - EXACT * unit)
    nearest = order[np.minimum(places, len(order) - 1)]
    hit = np.abs(numbers[nearest] - fitted) <= EXACT * unit
    value = np.where(complete, np.where(hit, nearest, len(numbers)), -1).astype(np.int32)
    return (value, complete.astype(np.float64)), used


SURE = (0.0, 0.5, 2 / 3, 0.8, 0.9, 0.95)
"""How sure a guess must be; the least of these that makes guesses reliable counts."""
RELIABLE = 0.9
"""Share of right guesses, at values that are shown and at values that are hidden, from which a field counts."""
CHANCE = 1e-3
"""Most probability, over all that is tried for a key, that chance alone makes some guesses look so reliable."""
SIDES = (1, 5)
"""Neighbours on each side in sorted order that are asked together."""
WORK = 10_000_000
"""Records times sets of fields that are tried in a file, with 5,000 records more for each set."""
MOST_TOGETHER = 12
"""Fields in a set of the coarsest ones: more tell nearly all records apart."""
MOST_GROWN = 6
"""Fields in a set that was grown one by one."""

type _Names = tuple[str, ...]
type _Way = Callable[[Mask], Guess]


@dataclass(frozen=True, slots=True, eq=False)
class Telling:
    """A released field, as an intruder may use it.

    Attributes
    ----------
    codes : ndarray of int32, shape (n,)
        Its values as numbers, -1 where missing.
    orders : sequence of ndarray of intp
        The records as somebody may sort them by it, without those where it is missing.
    numbers : ndarray of float64, shape (n,), or None
        Of a numeric field, NaN where missing.
    """

    codes: CodedValues
    orders: Sequence[Indices] = ()
    numbers: Floats | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ReadOff:
    """What other fields tell of the hidden values of a key.

    Attributes
    ----------
    fields : tuple of tuple of str
        The fields, or sets of them, that tell values; the one that tells most comes first.
    hidden, guessed : int
        Values that were suppressed or changed, and those of them that are guessed.
    suppressed : int
        Those of the hidden values that are missing in the released file.
    cells : ndarray of int32, shape (n,)
        The code of each value that is guessed rightly; -1 elsewhere.
    untried : int
        Pairs of fields that were too many to try.
    masked : frozenset of str
        Those of the fields that were masked. `read_off` does not know them.
    """

    fields: tuple[_Names, ...]
    hidden: int
    guessed: int
    suppressed: int
    cells: CodedValues
    untried: int
    masked: frozenset[str] = field(default_factory=frozenset)

    @property
    def right(self) -> int:
        """How many values are guessed rightly."""
        return int((self.cells >= 0).sum())


def read_off(
    shown: CodedValues,
    true: CodedValues,
    telling: Mapping[str, Telling],
    others: Mapping[str, CodedValues],
    numbers: Floats | None = None,
    work: int = WORK,
) -> ReadOff:
    """Guess the hidden values of a key from what the released file shows of it in records that are like them.

    An intruder needs the released file alone. He guesses a value by the majority in its group, the records that are
    alike in a set of fields; by its neighbours in the order of a field; or, for a number, by a line through numeric
    fields that meets it exactly. He tries all fields, those with other keys, the coarsest ones together,
    and pairs; and he adds fields to the best pair one by one.

    A way to guess counts where at least `RELIABLE` of its guesses are right: at values that are shown as they are
    and that it did not see, and at hidden ones. Suppression leaves out rare values first, so that what is shown may
    mislead. Drawn and swapped values are hidden, too; they only add noise to the majority.

    Parameters
    ----------
    shown, true : ndarray of int32, shape (n,)
        CodedValues of the key in the released file, and before its values were hidden; -1 where missing.
    telling : mapping of str to Telling
        Released fields. At least one of them is in each set.
    others : mapping of str to ndarray of int32, shape (n,) each
        Other keys that were suppressed with this one. Alone they tell nothing: suppression sees to that.
    numbers : ndarray of float64, shape (c,), or None
        The number of each value of the key, NaN where it is none.
    work : int
        Records times sets of fields that are tried; bounds the time. Numeric fields are always tried.

    Returns
    -------
    ReadOff

    Notes
    -----
    Guesses count only where chance does not explain that they are right. They are made from one half of the shown
    values, drawn at random, and tested on T of the other half, of which a share q is right. If a set without one of
    its fields told as much, a tested value would be a random one among those that are alike in the rest, of which a
    share p has the guessed value; so the mean of p explains q with a probability of at most exp(-T KL(q, p))
    (Hoeffding 1963, Probability inequalities for sums of bounded random variables, theorem 1, and section 6 for
    draws without replacement). That, times the number of tries, must not exceed `CHANCE`, for each field of a set.
    """
    search = _Search(shown, true)
    sets, untried = _sets(search, telling, others, max(50, work // (len(shown) + 5_000)))
    search.tries = search.most_sets = len(sets) + MOST_GROWN * len(search.codes)
    search.tries += len(SIDES) * sum(len(one.orders) for one in telling.values()) + 1
    for names in sets:
        search.by_set(names)
    search.grow()
    for name, one in telling.items():
        # a field with few values has large groups, which say more than neighbours do
        for order in () if 0 <= int(one.codes.max()) < math.sqrt(len(shown)) else one.orders:
            for sides in SIDES:
                search.judge((name,), partial(by_neighbours, order, sides, shown))
    numeric = {name: one.numbers for name, one in telling.items() if one.numbers is not None}
    if numbers is not None and numeric:
        lines = list(numeric.values())
        used = by_line(lines, numbers, shown, search.known)[1]
        names = tuple(name for at, name in enumerate(numeric) if at in used)
        search.judge(names, lambda known: by_line(lines, numbers, shown, known)[0])
    return search.result(untried)


class _Search:
    """What is known of one key, and what has been found so far."""

    def __init__(self, shown: CodedValues, true: CodedValues) -> None:
        self.shown, self.known = shown, shown >= 0
        self.hidden = np.where(shown != true, true, np.int32(-1))
        # nothing is protected by this half: it only keeps what is guessed from what is tested
        self.half = self.known & (np.random.default_rng(0).random(len(shown)) < 0.5)
        self.tested = self.known & ~self.half & (shown == true)
        self.codes: dict[str, CodedValues] = {}
        self.telling: frozenset[str] = frozenset()
        self.tries = self.most_sets = 1
        self.scores: dict[_Names, int] = {}
        self.found: dict[_Names, CodedValues] = {}

    def may_tell(self, codes: CodedValues) -> bool:
        """Whether a field has several values, and a hidden value shares one with a shown one."""
        hidden, known = codes[(codes >= 0) & (self.hidden >= 0)], codes[(codes >= 0) & self.known]
        return len(known) > 0 and bool((known != known[0]).any()) and bool(np.isin(hidden, known).any())

    def by_set(self, names: _Names) -> None:
        """Guess by groups of records that are alike in some fields, and without those of them that add nothing."""
        names = tuple(name for name in self.codes if name in {*names})
        while names not in self.scores and len(self.scores) < self.most_sets and not self.telling.isdisjoint(names):
            groups, count = grouped([self.codes[name] for name in names])
            rest = [names[:at] + names[at + 1 :] for at in range(len(names))]
            way = partial(by_groups, groups, count, self.shown)
            names = self.judge(names, way, rest)

    def grow(self) -> None:
        """Add to the best pair whatever makes most guesses right, until nothing does."""
        pairs = [names for names in self.scores if len(names) == 2]
        best: _Names = max(pairs, key=self.scores.__getitem__, default=())
        while 2 <= len(best) < MOST_GROWN:
            for name in self.codes:
                if name not in best:
                    self.by_set((*best, name))
            larger = [names for names in self.scores if len(names) == len(best) + 1 and {*best} < {*names}]
            grown = max(larger, key=self.scores.__getitem__, default=())
            if not grown or self.scores[grown] <= self.scores[best]:
                return
            best = grown

    def judge(self, names: _Names, way: _Way, rest: Sequence[_Names] = ((),)) -> _Names:
        """Keep what a way tells of hidden values; return the smaller set that is as good, or the same set.

        Parameters
        ----------
        names : tuple of str
        way : callable
            What guesses from known records.
        rest : sequence of tuple of str
            The smaller sets, each of which chance may need to look as reliable.
        """
        value, sure = way(self.half)
        tested = np.flatnonzero(self.tested & (value >= 0))
        right = value[tested] == self.shown[tested]
        self.scores[names] = max(self.scores.get(names, 0), int(right.sum()))
        limit = math.log(CHANCE / (len(SURE) * self.tries))
        as_good = names
        for least in SURE:
            enough = sure[tested] >= least
            share = float(right[enough].mean()) if enough.any() else 0.0
            if share < RELIABLE:
                continue
            rows = tested[enough]
            likely = ((one, self._likely(rows, value[rows], one)) for one in rest)
            explained = (one for one, p in likely if _chance(len(rows), p, share) > limit)
            as_good = next(explained, names)
            if as_good == names and self._keep(names, *way(self.known), least):
                break
        return as_good

    def _keep(self, names: _Names, value: CodedValues, sure: Floats, least: float) -> bool:
        """Keep guesses of hidden values that are sure enough, and tell whether they are reliable."""
        told = np.where((sure >= least) & (self.hidden >= 0), value, np.int32(-1))
        right = told[told >= 0] == self.hidden[told >= 0]
        if not right.any() or right.mean() < RELIABLE:
            return False
        before = self.found.get(names)
        if before is None or right.sum() > ((before >= 0) & (before == self.hidden)).sum():
            self.found[names] = told
        return True

    def _likely(self, rows: Indices, value: CodedValues, names: _Names) -> float:
        """Mean probability that guesses are right if tested values are mixed among those that are alike in a set."""
        shown = self.shown[rows]
        groups = grouped([self.codes[name][rows] for name in names])[0] if names else np.zeros(len(rows), np.intp)
        kinds = int(max(shown.max(), value.max())) + 1
        both, copies = np.unique(groups * kinds + shown, return_counts=True)
        at = np.minimum(np.searchsorted(both, groups * kinds + value), len(both) - 1)
        there = both[at] == groups * kinds + value
        return float((np.where(there, copies[at], 0) / np.bincount(groups)[groups]).mean())

    def result(self, untried: int) -> ReadOff:
        """Put together what was found: what tells most comes first, then what tells most of the rest."""
        found, cells, used = dict(self.found), np.full(len(self.shown), -1, dtype=np.int32), list[_Names]()
        while found:
            # of as many cells, a single field comes first
            names = max(found, key=lambda one: int(((found[one] >= 0) & (cells < 0)).sum()))
            told = found.pop(names)
            if (new := (told >= 0) & (cells < 0)).any():
                cells[new] = told[new]
                used.append(names)
        right = np.where(cells == self.hidden, cells, np.int32(-1))
        hidden = self.hidden >= 0
        return ReadOff(
            tuple(used), int(hidden.sum()), int((cells >= 0).sum()), int((hidden & ~self.known).sum()), right, untried
        )


def _sets(
    search: _Search, telling: Mapping[str, Telling], others: Mapping[str, CodedValues], most: int
) -> tuple[list[_Names], int]:
    """Return the sets of fields that are tried, and how many pairs are left out as there are too many."""
    held = [name for name, one in telling.items() if search.may_tell(one.codes)]
    held.sort(key=lambda name: int(telling[name].codes.max()))
    search.telling = frozenset(held)
    search.codes = {**{name: telling[name].codes for name in held}, **others}
    together = tuple(others)
    found: list[_Names] = [(name,) for name in held]
    found += [
        (*held[:size], *keys)
        for size in range(3, min(len(held), MOST_TOGETHER) + 1)
        for keys in dict.fromkeys([(), together])
    ]
    with_all = [(name, *together) for name in held if len(together) > 1]
    pairs = [(name, other) for other in together for name in held] + list(combinations(held, 2))
    room = max(most - len(found) - len(with_all), 0)
    return [*found, *with_all, *pairs[:room]], max(0, len(pairs) - room)


def _chance(trials: int, likely: float, right: float) -> float:
    """Logarithm of the probability that chance makes such a share of guesses right."""
    if likely >= right:
        return 0.0
    wrong = 0.0 if right == 1 else (1 - right) * math.log((1 - right) / (1 - likely))
    return -trials * (right * math.log(right / max(likely, 1e-300)) + wrong)
