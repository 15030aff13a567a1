"""Whether a file keeps what local suppression promises; it shares nothing with what suppresses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError


def kept(
    original: Sequence[NDArray[np.integer[Any]]],
    written: Sequence[NDArray[np.integer[Any]]],
    k: int,
    *,
    subsets: int | None = None,
    missing_matches: bool = False,
) -> list[str]:
    """Say what is wrong with a file in which keys were suppressed.

    Parameters
    ----------
    original, written : sequence of ndarray of int, shape (n,) each
        Codes of the keys, in the same numbering and order of records; -1 where missing. The original is what stood
        there before suppression, that is, recoded where keys were recoded. Without it (no columns) combinations alone
        are counted.
    k, subsets, missing_matches
        As for `suppression.local_suppression`.

    Returns
    -------
    list of str
        Empty where every written cell is the original one or missing, and every combination is shared by k records.
        No value is named.

    Raises
    ------
    UsageError
        The columns do not have the same records, or there are none.
    """
    n = len(written[0]) if len(written) else 0
    if not len(written) or any(column.shape != (n,) for column in (*original, *written)):
        raise UsageError.of("bad-arrays", detail="the columns must have the same records")
    wrong = []
    if len(original):
        for at, (before, after) in enumerate(zip(original, written, strict=True), 1):
            changed = int(((after != before) & (after >= 0)).sum())
            if changed:
                wrong.append(f"key {at}: {changed:,} cells are neither as they were nor missing")
    size = min(subsets or len(written), len(written))
    for own in combinations(range(len(written)), size):
        rows = list(zip(*(written[at].tolist() for at in own), strict=True))
        count = Counter(rows)
        few = {row: shared for row, shared in count.items() if shared < k}
        if missing_matches and few:
            few = _unmatched(few, count, k)
        if few:
            which = ", ".join(str(at + 1) for at in own)
            records = sum(count[row] for row in few)
            wrong.append(f"keys {which}: {records:,} records share their combination with fewer than {k} of the file")
    return wrong


def _unmatched(
    few: dict[tuple[int, ...], int], count: Counter[tuple[int, ...]], k: int
) -> dict[tuple[int, ...], int]:
    """Return those combinations that fewer than k records match where a missing value matches every value."""
    every, shared = np.array(list(count)), np.array(list(count.values()))
    found = {}
    for row in few:
        own = np.array(row)
        matches = int(shared[((every == own) | (every < 0) | (own < 0)).all(axis=1)].sum())
        if matches < k:
            found[row] = matches
    return found
