"""Local suppression: cells of keys are left out, until every combination of keys is shared by k records.

Begin with `local_suppression`. `greedy_suppression` and `exact_suppression` find the cells, `key_patterns` has what
both share and the bound; `suppression_check` judges the result without them. What it protects, docs/suppression.md
says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_value
from masktron.counts import counted
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.kernels.distinct import factorized
from masktron.problems.problem import fields
from masktron.progress import Told, untold
from masktron.treatments.allowing import Allowed
from masktron.treatments.exact_suppression import least_suppression
from masktron.treatments.greedy_suppression import greedy
from masktron.treatments.key_patterns import (
    Suppressing,
    all_sets,
    combinations_of,
    cost_of,
    least_cost,
    record_bounds,
    suppressing,
)
from masktron.treatments.suppression_check import kept

_ROUNDS = 6
"""Times that a half of the records at risk is treated before all are."""


def wildcard_greedy(file: Suppressing) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Suppress cells of records at risk until each is matched by k records, where a missing value matches all.

    Returns
    -------
    cells : ndarray of bool, shape (n, m)
    left : ndarray of intp
        Records for which no way was found.

    Notes
    -----
    A record is written without the cheapest set T of keys outside of which k records agree with it. Whatever is
    suppressed in these, they go on matching it. Half of the records at risk, drawn anew, are treated at a time, since
    others are matched by what was suppressed in these.
    """
    n = len(file.codes)
    cells = np.zeros(file.codes.shape, dtype=np.bool_)
    for turn in range(_ROUNDS + 1):
        risk = np.flatnonzero(matching(np.where(cells, -1, file.codes), file.k) < file.k)
        if not len(risk):
            break
        # records come in random order, so that every second one is a random half
        left = risk if turn == _ROUNDS else risk[turn % 2 :: 2] if len(risk) > 1 else risk
        for at, pattern in enumerate(file.patterns):
            numbers, count = combinations_of(file.without(np.arange(n), pattern))
            fits = left[count[numbers[left]] >= file.k]
            fits = fits[file.may(fits, at)]
            cells[fits] = pattern & (file.codes[fits] >= 0)
            left = left[~np.isin(left, fits)]
            if not len(left):
                break
    return cells, np.flatnonzero(matching(np.where(cells, -1, file.codes), file.k) < file.k)


def wildcard_bound(file: Suppressing) -> float:
    """Return a bound: no suppression after which every record is matched k times costs less.

    Notes
    -----
    It is what the dearest single record needs: the least, over sets T of its keys, of the price of T and of one cell,
    the cheapest, for each record that then still has to be made to match. Where values are missing, or not all sets
    are among the patterns, it is one cell, the cheapest. There is no useful bound that adds up over records: k - 1
    records that are suppressed wholly match all others.
    """
    everyone = np.arange(len(file.codes))
    matches = matching(file.codes, file.k)
    risk = np.flatnonzero(matches < file.k)
    cheapest = float(file.cost.min())
    best = np.full(len(risk), cheapest)
    if (file.codes >= 0).all() and all_sets(file.codes.shape[1], file.patterns) == file.codes.shape[1]:
        best = (file.k - matches[risk]) * cheapest
        for pattern in file.patterns:
            numbers, count = combinations_of(file.without(everyone, pattern))
            lacks = np.maximum(file.k - count[numbers[risk]], 0)
            np.minimum(best, cost_of(pattern, file.cost) + lacks * cheapest, out=best)
    return float(best.max(initial=0.0))


def matching(codes: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Count the records that match each record, shape (n,); those that k match exactly are not looked at further."""
    distinct, own, count = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    found = count.copy()
    held = distinct >= 0
    masks, mask_of = np.unique(held, axis=0, return_inverse=True)
    mask_of = mask_of.ravel()
    few = count < k
    for at, mask in enumerate(masks):
        ours = np.flatnonzero(few & (mask_of == at))
        for beside, other in enumerate(masks):
            if not len(ours):
                break
            theirs = np.flatnonzero(mask_of == beside)
            both = mask & other
            joined = np.vstack([distinct[ours][:, both], distinct[theirs][:, both]])
            numbers = _numbered(joined)
            shared = np.bincount(numbers[len(ours) :], count[theirs], int(numbers.max()) + 1)
            matched = shared[numbers[: len(ours)]].astype(np.int64)
            found[ours] += matched - (count[ours] if at == beside else 0)
    return np.asarray(found[own.ravel()])


def _numbered(rows: NDArray[np.int64]) -> NDArray[np.intp]:
    numbers = np.zeros(len(rows), dtype=np.intp)
    for column in rows.T:
        numbers = factorized(numbers * (int(column.max(initial=0)) + 2) + column + 1)[0]
    return numbers


EXACT_UP_TO = 1_500
"""Variables of the integer program of a part, up to which the least suppression is sought."""
_MOST_EXACT = 3_000
"""Records of a file for which it is."""
_TIMES = 4
"""Draws of numbers for combinations before giving up: one suffices but once in 10^7 files of a very large key."""


class NoWayError(InfeasibleError):
    """What is allowed leaves no way to suppress keys.

    Attributes
    ----------
    forbidden : tuple of str
        Keys that may not be missing by themselves in some of the records that are left.
    """

    forbidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class LocalSuppression:
    """What local suppression has decided, and what it cost.

    Attributes
    ----------
    cells : ndarray of bool, shape (n, m)
        Cells that are suppressed; none of them was missing before.
    cost, bound : float
        The sum of their importance; no suppression that keeps the same promise has less than `bound`.
    exact : bool
        Whether it is proved to be the least.
    present : ndarray of int64, shape (m,)
        Cells of each key that had a value.
    combinations_before, combinations : int
        Combinations of all keys, as they were and as they are written.
    at_risk : int
        Records whose combination (of all keys, or of some subset that was asked for) had fewer than k.
    told : int
        Suppressed cells whose value is the same in all records that are written alike: whoever knows that it was
        suppressed without need knows nothing, but else the value is certain. Above 0 only where the rules demanded
        it, missing values matched all, or subsets of keys were asked for.
    """

    cells: NDArray[np.bool_]
    cost: float
    bound: float
    exact: bool
    present: NDArray[np.int64]
    combinations_before: int
    combinations: int
    at_risk: int
    told: int

    @property
    def by_key(self) -> NDArray[np.int64]:
        """Suppressed cells of each key, shape (m,)."""
        return np.asarray(self.cells.sum(axis=0))

    @property
    def records(self) -> int:
        """Records with a suppressed cell."""
        return int(self.cells.any(axis=1).sum())

    @property
    def says(self) -> str:
        """What it cost, in one sentence; without importance, costs are cells."""
        number = int(self.cells.sum())
        if self.exact:
            return f"{counted(number, 'cell')} suppressed, and no fewer would do (in their importance)"
        return (
            f"{counted(number, 'cell')} suppressed, at a cost of {self.cost:g}; at least {self.bound:g} is needed, "
            "and whether less would do was not decided"
        )


def local_suppression(
    keys: Sequence[NDArray[np.integer[Any]]],
    k: int,
    generator: np.random.Generator,
    *,
    subsets: int | None = None,
    importance: Sequence[float] | None = None,
    allowed: Allowed | None = None,
    missing_matches: bool = False,
    names: Sequence[str] | None = None,
    exact_up_to: int = EXACT_UP_TO,
    told: Told = untold,
) -> LocalSuppression:
    """Choose cells of keys to be left out, so that k records share every combination of keys.

    A missing value is one of its own: k records share a combination *as it is written*, gaps included. So whoever
    knows all keys of a respondent, and this program, finds k records among which he cannot choose by keys.

    Parameters
    ----------
    keys : sequence of ndarray of int, shape (n,) each
        Codes from 0; -1 where the value is missing.
    k : int
        At least 2.
    generator : numpy.random.Generator
        From the secret of the release (`streams.Streams.generator`): who could repeat the draws would know more.
    subsets : int, optional
        Size of the subsets of keys of which every combination is shared by k records: what an intruder knows of
        keys at most. All keys together where not given, which keeps all subsets, too.
    importance : sequence of float, shape (m,), optional
        What it costs to suppress a cell of each key, above 0; 1 each where not given. Of equal costs, keys with more
        values are suppressed first.
    allowed : Allowed, optional
        Tells which records may stand with which cells missing; everything may where it is not given.
    missing_matches : bool
        Whether a missing value matches every value, as in sdcMicro with ``alpha = 1``. It protects less.
    names : sequence of str, optional
        Of the keys, for errors.
    exact_up_to : int
        Variables of an integer program up to which the least suppression is sought; 0 never.
    told : Told
        Told how far the search is, in sets of keys.

    Returns
    -------
    LocalSuppression

    Raises
    ------
    UsageError
        A parameter is wrong, or keys do not have the same records.
    InfeasibleError
        There are fewer than k records, or what is allowed leaves no way.

    Notes
    -----
    Records are put in random order before anything is decided. So, where `allowed` is the same for all, records that
    are written alike were each, with the same probability, any of the originals that they stand for, whatever else
    is published of them and whatever is known of the algorithm. The proof, and what is not protected, is in
    docs/suppression.md.

    The problem is NP-hard for k = 3 and more (Meyerson and Williams 2004). The greedy algorithm
    (`greedy_suppression`) takes 10^5 records of 8 keys in seconds; `bound` says how far it may be from the least
    (`key_patterns.least_cost`). With `subsets` below all keys, subsets are treated in turn until none is left, and
    the result is compared with the one for all keys.

    Source: Samarati and Sweeney (1998), suppression for k-anonymity; Meyerson and Williams (2004), section 3; Templ,
    Kowarik and Meindl (2015), sdcMicro, section 4.2 (``localSuppression``). Cormode, Li, Li and Srivastava (2010),
    "Minimizing minimality and maximizing utility", on what knowing the algorithm gives away.
    """
    codes, cost = _checked(keys, k, subsets, importance)
    n, m = codes.shape
    own_names = [f"key {at + 1}" for at in range(m)] if names is None else list(names)
    if n < k:
        raise InfeasibleError.of(
            "too-few-records", what=f"k = {k} (n_samples = 1)" if n == 1 else f"k = {k}", least=k, records=n
        )
    order = generator.permutation(n)
    asked = None if allowed is None else _shuffled(allowed, order)
    size = m if subsets is None else min(subsets, m)
    for _ in range(_TIMES):
        cells, bound = _decided(
            codes[order], k, cost, asked, generator, size, missing_matches, exact_up_to, own_names, told
        )
        found = np.zeros_like(cells)
        found[order] = cells
        written, rows = np.where(found, -1, codes), np.flatnonzero(found.any(axis=1))
        stands = allowed is None or not len(rows) or bool(allowed(rows, found[rows]).all())
        if stands and not kept(list(codes.T), list(written.T), k, subsets=size, missing_matches=missing_matches):
            break
    else:
        raise RuntimeError("local suppression did not keep its promise")
    return _described(codes, found, k, size, cost, bound)


def _checked(
    keys: Sequence[NDArray[np.integer[Any]]], k: int, subsets: int | None, importance: Sequence[float] | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    if not keys or any(key.ndim != 1 or key.shape != keys[0].shape for key in keys):
        raise UsageError.of("bad-arrays", detail="there must be keys, all with the same records")
    codes = np.column_stack([key.astype(np.int64) for key in keys])
    if (codes < -1).any():
        raise UsageError.of("bad-arrays", detail="codes must be numbers from 0, or -1 for a missing value")
    require_value(k >= 2, "k", "2 or more", k)
    require_value(subsets is None or subsets >= 1, "subsets", "1 or more", subsets)
    cost = np.ones(len(keys)) if importance is None else np.array(importance, dtype=np.float64)
    if cost.shape != (len(keys),) or not (np.isfinite(cost) & (cost > 0)).all():
        raise UsageError.of(
            "bad-value", name="importance", expected="a number above 0 for each key", given=importance
        )
    return codes, cost


def _shuffled(allowed: Allowed, order: NDArray[np.intp]) -> Allowed:
    def asked(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return allowed(order[records], which)

    return asked


def _decided(
    codes: NDArray[np.int64],
    k: int,
    cost: NDArray[np.float64],
    allowed: Allowed | None,
    generator: np.random.Generator,
    size: int,
    missing_matches: bool,
    exact_up_to: int,
    names: Sequence[str],
    told: Told,
) -> tuple[NDArray[np.bool_], float]:
    """Return the cells, and the bound of their cost."""
    file = replace(suppressing(codes, k, cost, allowed, generator), told=told)
    m = codes.shape[1]
    if missing_matches or size < m:
        return _of_subsets(codes, k, cost, allowed, generator, size, missing_matches, names)
    cells, left = greedy(file)
    bound, found = least_cost(file), None if len(left) else cells
    small = len(codes) <= _MOST_EXACT and len(file.patterns) == 2**m - 1
    if exact_up_to and small and (found is None or bound < float(cost_of(cells, cost).sum()) * (1 - 1e-12)):
        least = least_suppression(file, found, exact_up_to)
        if least is not None:
            return least.cells, max(bound, least.bound)
    if found is None:
        hopeless = np.isinf(record_bounds(file))
        raise _no_way(names, left, int(hopeless.sum()), k, codes, allowed)
    return cells, bound


def _no_way(
    names: Sequence[str],
    left: NDArray[np.intp],
    hopeless: int,
    k: int,
    codes: NDArray[np.int64],
    allowed: Allowed | None,
) -> NoWayError:
    """Make the error that names which keys may not be missing."""
    refused_in: dict[str, int] = {}
    for at, name in enumerate(names):
        which = np.zeros((len(left), len(names)), dtype=np.bool_)
        which[:, at] = codes[left, at] >= 0
        refused_in[name] = 0 if allowed is None else int((~allowed(left, which) & which[:, at]).sum())
    first = sorted(names, key=lambda name: -refused_in[name])
    certain = f" (for {hopeless:,} of them the rules leave no way)" if hopeless else ""
    reason = f"{counted(len(left), 'record stays', 'records stay')} rare{certain}"
    facts = [RefusalFacts("suppression", conditions=tuple(first))]
    error = NoWayError.of("keys-stay-rare", reason=reason, keys=fields(first), k=k, facts=facts)
    error.forbidden = tuple(name for name, many in refused_in.items() if many)
    return error


def _of_subsets(
    codes: NDArray[np.int64],
    k: int,
    cost: NDArray[np.float64],
    allowed: Allowed | None,
    generator: np.random.Generator,
    size: int,
    missing_matches: bool,
    names: Sequence[str],
) -> tuple[NDArray[np.bool_], float]:
    """Treat subsets of keys in turn, until all of one size keep the promise."""
    m = codes.shape[1]
    own = [list(part) for part in combinations(range(m), size)]
    lower = []
    cells = np.zeros(codes.shape, dtype=np.bool_)
    left = np.empty(0, dtype=np.intp)
    again, first = True, True
    while again and not len(left):
        again = False
        for part in own:
            view = _allowed_beside(allowed, cells.copy(), part)
            file = suppressing(np.where(cells, -1, codes)[:, part], k, cost[part], view, generator)
            if first:
                plain = suppressing(codes[:, part], k, cost[part], None, generator)
                lower.append((wildcard_bound if missing_matches else least_cost)(plain))
            made, left = (wildcard_greedy if missing_matches else greedy)(file)
            if len(left):
                break
            cells[:, part] |= made
            again |= bool(made.any()) and size < m
        first = False
    bound = _disjoint_bound(own, lower)
    if size < m and not missing_matches:
        whole = suppressing(codes, k, cost, allowed, generator)
        other, stuck = greedy(whole)
        if not len(stuck) and (len(left) or cost_of(other, cost).sum() < cost_of(cells, cost).sum()):
            return other, bound
    if len(left):
        raise _no_way(names, left, 0, k, codes, allowed)
    return cells, bound


def _allowed_beside(allowed: Allowed | None, cells: NDArray[np.bool_], part: Sequence[int]) -> Allowed | None:
    """Return what allows cells of some keys, beside those that are suppressed already."""
    if allowed is None:
        return None

    def asked(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        together = cells[records]
        together[:, part] |= which
        return allowed(records, together)

    return asked


def _disjoint_bound(own: Sequence[Sequence[int]], lower: Sequence[float]) -> float:
    """Add up bounds of subsets that have no key in common: their cells are different ones."""
    used: set[int] = set()
    total = 0.0
    for bound, part in sorted(zip(lower, own, strict=False), key=lambda pair: -pair[0]):
        if not used & {*part}:
            used |= {*part}
            total += bound
    return total


def _described(
    codes: NDArray[np.int64],
    cells: NDArray[np.bool_],
    k: int,
    size: int,
    cost: NDArray[np.float64],
    bound: float,
) -> LocalSuppression:
    m = codes.shape[1]
    at_risk = np.zeros(len(codes), dtype=np.bool_)
    for part in combinations(range(m), size):
        own, count = _rows(codes[:, part])
        at_risk |= count[own] < k
    before = len(_rows(codes)[1])
    own, count = _rows(np.where(cells, -1, codes))
    told = 0
    for key in range(m):
        low, high = np.full(len(count), np.iinfo(np.int64).max), np.full(len(count), -1)
        np.minimum.at(low, own, codes[:, key])
        np.maximum.at(high, own, codes[:, key])
        told += int((cells[:, key] & (low == high)[own]).sum())
    spent = float(cost_of(cells, cost).sum())
    return LocalSuppression(
        cells,
        spent,
        min(bound, spent),
        bool(bound >= spent * (1 - 1e-9)),
        (codes >= 0).sum(axis=0),
        before,
        len(count),
        int(at_risk.sum()),
        told,
    )


def _rows(codes: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Number the distinct rows, and count them."""
    numbers = np.zeros(len(codes), dtype=np.intp)
    for column in codes.T:
        numbers = combinations_of(numbers * (int(column.max(initial=0)) + 2) + column + 1)[0]
    return combinations_of(numbers)
