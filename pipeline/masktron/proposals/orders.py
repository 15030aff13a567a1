"""Fields that are never above another one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import permutations

import numpy as np

from masktron.proposals import chance
from masktron.proposals.candidate import ORDER, ShownValue, SuggestedRule
from masktron.proposals.profiles import FieldProfile, aligned
from masktron.proposals.spelled import FieldPaths, known

FEWEST_RECORDS = 20
FEWEST_THAT_REACH_IT = 3
"""Records in which both are the same, from which an order is more than a guess, and may have exceptions."""
MOST_BY_CHANCE = 0.9
"""Share of records that would agree at random: where nearly all would, sizes differ and there is no rule."""
_SAMPLE = 500


def orders(
    fields: Sequence[FieldProfile], paths: FieldPaths, implied: Collection[tuple[str, str]] = ()
) -> Iterator[SuggestedRule]:
    """Yield ``A <= B`` for quantities that obey it in all records that have both but errors, shortest chains alone.

    Neither a comparison that follows from two others nor one that the ranges of both fields imply is proposed.

    Parameters
    ----------
    fields : sequence of FieldProfile
        Quantities.
    paths : FieldPaths
    implied : collection of (str, str)
        Pairs of fields whose order follows from something else.
    """
    places = max((field.places for field in fields), default=0)
    known_fields = [(f, v) for f, v in zip(fields, aligned(list(fields), places), strict=True) if v is not None]
    found = {}
    for (lesser, low), (greater, high) in permutations(known_fields, 2):
        both = lesser.present & greater.present
        rows = np.flatnonzero(both)
        few = rows[:: max(1, len(rows) // _SAMPLE)]
        if len(rows) < FEWEST_RECORDS or (low[few] > high[few]).mean() > chance.MOST_EXCEPTIONS:
            continue
        fails, some = both & (low > high), both & ((low != 0) | (high != 0))
        if not chance.errors((high - low)[some]):
            continue
        rows = np.flatnonzero(both & ~fails)
        if low[rows].max() <= high[rows].min() or (low[rows] == high[rows]).all():
            continue
        share = chance.agreeing(rows, lambda one, other, a=low, b=high: int((a[one] <= b[other]).sum()))  # type: ignore[misc]
        expected = chance.expected(len(fields) * (len(fields) - 1), len(rows), int(fails.sum()), share)
        same = int(((low == high) & (low != 0))[rows].sum())
        if fails.any() and same < FEWEST_THAT_REACH_IT:
            continue
        if share <= MOST_BY_CHANCE and expected <= chance.PLAUSIBLE:
            found[lesser.name, greater.name] = (lesser, greater, both, fails, same, share, expected)
    for (low_name, high_name), (lesser, greater, both, fails, same, share, expected) in found.items():
        names = {field.name for field in fields} - {low_name, high_name}
        if (low_name, high_name) in implied or any(
            (low_name, name) in found and (name, high_name) in found for name in names
        ):
            continue
        one, two = paths[low_name], paths[high_name]
        yield SuggestedRule(
            ORDER,
            (low_name, high_name),
            f"order-{low_name}-{high_name}",
            (*known(one, lesser), *known(two, greater)),
            f"number({one}) <= number({two})",
            (f"{low_name} ", ShownValue(one), f" is above {high_name} ", ShownValue(two), "."),
            both,
            fails,
            "guess" if same < FEWEST_THAT_REACH_IT else chance.strength(expected, int(fails.sum())),
            f"{int((both & ~fails).sum()):,} records obey it, in {same:,} of them both are the same and not 0; put "
            f"together at random, {100 * share:.0f} % of records would",
            expected,
        )
