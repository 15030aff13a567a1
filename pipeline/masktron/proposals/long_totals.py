"""Totals of any number of parts, by linear algebra: the sums that hold exactly in all rows of a small table.

A column that is a combination of columns before it is one in a field of prime order, too, and elimination finds its
coefficients there. A small coefficient is the same number in both. Where there is no such relation, coefficients are
arbitrary, and hardly ever all of them 0, 1 or -1. So what is found is a candidate, to be counted in integers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

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
