"""Trees for one column after another, and values drawn in their leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.synthesis.bootstrap import bayesian_bootstrap
from masktron.synthesis.linear_relations import Coordinates, basis

_WITNESSES = 5
"""Different records beyond what a linear relation takes to be found, so that it is no accident of a few values."""


def draw_trees(
    values: Floats,
    generator: np.random.Generator,
    *,
    k: int,
    nominal: NDArray[np.bool_] | None = None,
    order: Sequence[int] = (),
    smooth: bool = False,
) -> Floats:
    """Draw as many records as there are, column after column.

    The first column is drawn from its values in the file. For every other one a tree with at least k records in each
    leaf is grown on the columns before it; a drawn record falls into a leaf by what was drawn for it so far, and its
    value is drawn from the leaf by the Bayesian bootstrap. A column that those before it give by an exact linear
    relation is computed from what was drawn for them.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Finite; categories as codes. At least k records.
    generator : numpy.random.Generator
    k : int
        Fewest records in a leaf.
    nominal : ndarray of bool, shape (p,), optional
        Columns of codes.
    order : sequence of int
        Columns to draw first, in this order; the others follow as they stand.
    smooth : bool
        Whether numbers are drawn from a kernel density of the leaf, within its range, and not from its values. Values
        that k records of the file share are no kernels: they stay as they are.

    Returns
    -------
    ndarray of float64, shape (n, p)

    Notes
    -----
    Source: Reiter (2005), Using CART to generate partially synthetic, public use microdata.
    """
    n, p = values.shape
    kinds = np.zeros(p, dtype=np.bool_) if nominal is None else nominal
    columns = [*order, *(j for j in range(p) if j not in set(order))]
    relations = _Relations(values, [j for j in columns if not kinds[j]])
    grown: list[NDArray[np.float32]] = []
    fallen: list[NDArray[np.float32]] = []
    drawn = np.empty((n, p))
    for j in columns:
        own = values[:, j]
        computed = None if kinds[j] else relations.told(j)
        if computed is None:
            leaves, reached = _leaves(own, bool(kinds[j]), grown, fallen, k, generator)
            chosen = bayesian_bootstrap(leaves, reached, generator)
            computed = own[chosen]
            if smooth and not kinds[j]:
                computed = _smoothed(own, leaves, chosen, k, generator)
        drawn[:, j] = computed
        if not kinds[j]:
            relations.drew(j, computed)
        grown += _questions(own, own, nominal=bool(kinds[j]))
        fallen += _questions(own, computed, nominal=bool(kinds[j]))
    return drawn


class _Relations:
    """What columns are given exactly by the ones drawn before them, while they are drawn."""

    def __init__(self, values: Floats, columns: list[int]) -> None:
        self._place = {column: at for at, column in enumerate(columns)}
        self._basis: Coordinates = basis(values[:, columns])
        self._coordinates = np.zeros((len(values), len(columns)))
        self._values = values
        self._columns = columns

    def told(self, column: int) -> Floats | None:
        """Return a column that the ones before it give; None where they do not, or where few records say so."""
        at, held = self._place[column], self._basis
        if held.free[at] or not held.free[:at].any() or not held.loads[:at, at].any():
            return None
        before = [self._columns[i] for i in range(at) if held.free[i]]
        if len(np.unique(self._values[:, before], axis=0)) < len(before) + 1 + _WITNESSES:
            return None
        return np.asarray(held.center[at] + held.scale[at] * held.told(at, self._coordinates))

    def drew(self, column: int, drawn: Floats) -> None:
        """Take note of what was drawn."""
        at, held = self._place[column], self._basis
        if held.free[at]:
            standardised = (drawn - held.center[at]) / held.scale[at]
            self._coordinates[:, at] = held.coordinate(at, standardised, self._coordinates)


def _leaves(
    target: Floats,
    category: bool,
    grown: list[NDArray[np.float32]],
    fallen: list[NDArray[np.float32]],
    k: int,
    generator: np.random.Generator,
) -> tuple[Labels, Labels]:
    """Return the leaf of every original and of every drawn record, from 0."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor  # noqa: PLC0415 -- loads slowly

    n = len(target)
    # ties between questions are broken at random; asked for even where no tree is grown, so that draws stay apart
    seed = int(generator.integers(2**31))
    if not grown or target.min() == target.max():
        return np.zeros(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
    kind = DecisionTreeClassifier if category else DecisionTreeRegressor
    # a power of two: squares of large numbers do not overflow
    near = target if category else np.ldexp(target, -int(np.frexp(np.abs(target).max())[1]))
    tree = kind(min_samples_leaf=k, random_state=seed).fit(np.stack(grown, axis=1), near)
    nodes = [tree.apply(np.stack(asked, axis=1)) for asked in (grown, fallen)]
    found, leaves = np.unique(nodes[0], return_inverse=True)
    return leaves.astype(np.intp), np.searchsorted(found, nodes[1]).astype(np.intp)


def _questions(original: Floats, values: Floats, *, nominal: bool) -> list[NDArray[np.float32]]:
    """Return what a tree asks of a column: ranks of numbers, or for each category whether it is that one.

    Ranks, because trees compare single-precision numbers, and only their order counts. What lies between two values
    of the original has a rank between theirs.
    """
    support = np.unique(original)
    if nominal:
        return [(values == category).astype(np.float32) for category in support]
    low = np.searchsorted(support, values, side="left")
    high = np.searchsorted(support, values, side="right")
    return [((low + high) / 2.0).astype(np.float32)]


def _smoothed(values: Floats, leaves: Labels, chosen: Labels, k: int, generator: np.random.Generator) -> Floats:
    """Move drawn values by a normal kernel with Silverman's bandwidth, reflected at the range of their leaf."""
    power = int(np.frexp(np.abs(values).max())[1])
    near = np.ldexp(values, -power)
    sizes = np.bincount(leaves)
    means = np.bincount(leaves, near) / sizes
    spread = np.sqrt(np.bincount(leaves, np.square(near - means[leaves])) / np.maximum(sizes - 1, 1))
    width = 0.9 * spread * sizes**-0.2
    low, high = np.full(len(sizes), np.inf), np.full(len(sizes), -np.inf)
    np.minimum.at(low, leaves, near)
    np.maximum.at(high, leaves, near)
    leaf = leaves[chosen]
    moved = near[chosen] + width[leaf] * generator.standard_normal(len(chosen))
    moved = np.where(moved < low[leaf], 2 * low[leaf] - moved, moved)
    moved = np.where(moved > high[leaf], 2 * high[leaf] - moved, moved)
    _, code, shared = np.unique(values, return_inverse=True, return_counts=True)
    kept = shared[code[chosen]] >= k
    smooth: Floats = np.where(kept, values[chosen], np.ldexp(np.clip(moved, low[leaf], high[leaf]), power))
    return smooth
