"""Trees for one column after another, and values drawn in their leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.synthesis.bootstrap import bayesian_bootstrap
from masktron.synthesis.conditions import Conditions
from masktron.synthesis.free_columns import TOLD, Coordinates, basis
from masktron.synthesis.trees import Leaves, Question, outcome_of

_WITNESSES = 5
"""Different records beyond what a linear relation takes to be found, so that it is no accident of a few values."""
_GAPS = 2
"""How far smoothed values go beyond the range of their leaf: a leaf of few records has no room for its variance."""


def draw_trees(
    values: Floats,
    generator: np.random.Generator,
    *,
    k: int,
    nominal: NDArray[np.bool_] | None = None,
    order: Sequence[int] = (),
    smooth: bool = False,
    conditions: Conditions | None = None,
) -> Floats:
    """Draw as many records as there are, column after column.

    For every column a tree with at least k records in each leaf is grown on the conditions and the columns before it;
    a drawn record falls into a leaf by its conditions and by what was drawn for it so far, and its value is drawn
    from the leaf by the Bayesian bootstrap. Without conditions the first column is drawn from its values in the file.
    A column that those before it give by an exact linear relation is computed from what was drawn for them.

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
        Whether numbers are drawn from a kernel density of the leaf, within or near its range, and not from its
        values. Values that k records of the file share are no kernels: they stay as they are.
    conditions : Conditions, optional
        Of the same records.

    Returns
    -------
    ndarray of float64, shape (n, p)

    Notes
    -----
    Source: Reiter (2005), Using CART to generate partially synthetic, public use microdata; for the kernel density,
    West (1993), Approximating posterior distributions by mixtures.
    """
    n, p = values.shape
    kinds = np.zeros(p, dtype=np.bool_) if nominal is None else nominal
    columns = [*order, *(j for j in range(p) if j not in set(order))]
    given = Conditions.none(n) if conditions is None else conditions
    relations = _Relations(values, [j for j in columns if not kinds[j]], given.numbers())
    questions = given.questions()
    drawn = np.empty((n, p))
    for j in columns:
        own = values[:, j]
        computed = None if kinds[j] else relations.told(j)
        if computed is None:
            outcome = outcome_of(own, generator, nominal=bool(kinds[j]))
            leaves = Leaves.grown(outcome, questions, k, generator)
            chosen = bayesian_bootstrap(leaves.original, leaves.drawn, generator)
            computed = own[chosen]
            if smooth and not kinds[j]:
                computed = _smoothed(own, leaves.original, chosen, k, generator)
        drawn[:, j] = computed
        if not kinds[j]:
            relations.drew(j, computed)
        questions.append(Question(own, computed, bool(kinds[j])))
    return drawn


class _Relations:
    """What columns are given exactly by the ones drawn before them, while they are drawn.

    Numbers that stay stand before all of them. What they give by themselves is drawn all the same.
    """

    def __init__(self, values: Floats, columns: list[int], given: Floats) -> None:
        count = given.shape[1]
        self._given = count
        self._place = {column: count + at for at, column in enumerate(columns)}
        self._original = np.concatenate([given, values[:, columns]], axis=1)
        self._basis: Coordinates = basis(self._original)
        self._coordinates = np.zeros(self._original.shape)
        for at in range(count):
            self._drew(at, given[:, at])

    def told(self, column: int) -> Floats | None:
        """Return a column that the ones before it give; None where they do not, or where few records say so."""
        at, held = self._place[column], self._basis
        traces = TOLD * np.sqrt(len(self._original))
        if held.free[at] or not (np.abs(held.loads[self._given : at, at]) > traces).any():
            return None
        before = np.flatnonzero(held.free[:at])
        if len(np.unique(self._original[:, before], axis=0)) < len(before) + 1 + _WITNESSES:
            return None
        return np.asarray(held.center[at] + held.scale[at] * held.told(at, self._coordinates))

    def drew(self, column: int, drawn: Floats) -> None:
        """Take note of what was drawn."""
        self._drew(self._place[column], drawn)

    def _drew(self, at: int, drawn: Floats) -> None:
        held = self._basis
        if held.free[at]:
            self._coordinates[:, at] = held.coordinate(at, held.standardised(at, drawn), self._coordinates)


def _smoothed(values: Floats, leaves: Labels, chosen: Labels, k: int, generator: np.random.Generator) -> Floats:
    """Draw from a normal kernel density of each leaf, with the mean and the variance of the leaf.

    Kernels have Silverman's bandwidth. A chosen value first moves towards the mean of its leaf, by what the kernel
    adds to the variance (West 1993). What leaves the range of the leaf, widened by `_GAPS` mean gaps between its
    values, or that of the file, is reflected. Peaks, the values that k records share, stay; moments are those of the
    other values, and the bandwidth too where a leaf has k of these.
    """
    _, code, shared = np.unique(values, return_inverse=True, return_counts=True)
    free = shared[code] < k
    if not free.any():
        return values[chosen]
    power = int(np.frexp(np.abs(values).max())[1])
    near = np.ldexp(values, -power)
    count = np.bincount(leaves, free)
    center = np.bincount(leaves, near * free) / np.maximum(count, 1)
    counted = free | (count < k)[leaves]
    sizes = np.bincount(leaves, counted)
    means = np.bincount(leaves, near * counted) / sizes
    spread = np.sqrt(np.bincount(leaves, counted * np.square(near - means[leaves])) / sizes)
    width = 0.9 * sizes**-0.2
    leaf = leaves[chosen]
    moved = center[leaf] + np.sqrt(1 - np.square(width))[leaf] * (near[chosen] - center[leaf])
    moved += (width * spread)[leaf] * generator.standard_normal(len(chosen))
    lows, highs = np.full(len(count), np.inf), np.full(len(count), -np.inf)
    np.minimum.at(lows, leaves, near)
    np.maximum.at(highs, leaves, near)
    room = _GAPS * (highs - lows) / np.maximum(np.bincount(leaves) - 1, 1)
    low, high = np.maximum(lows - room, near.min())[leaf], np.minimum(highs + room, near.max())[leaf]
    span = np.where(high > low, high - low, 1.0)
    folded = np.clip(high - np.abs(span - (moved - low) % (2 * span)), low, high)
    smooth: Floats = np.where(free[chosen], np.ldexp(folded, power), values[chosen])
    return smooth
