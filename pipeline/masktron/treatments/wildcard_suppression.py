"""Suppression where a missing value counts as every value, as sdcMicro has it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.distinct import factorized
from masktron.treatments.key_patterns import Suppressing, all_sets, combinations_of, cost_of

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
    the cheapest, for each record that then still has to be made to match. There is no useful bound that adds up over
    records: k - 1 records that are suppressed wholly match all others.
    """
    everyone = np.arange(len(file.codes))
    matches = matching(file.codes, file.k)
    risk = np.flatnonzero(matches < file.k)
    cheapest = float(file.cost.min())
    best = (file.k - matches[risk]) * cheapest
    if (file.codes >= 0).all() and all_sets(file.codes.shape[1], file.patterns) == file.codes.shape[1]:
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
