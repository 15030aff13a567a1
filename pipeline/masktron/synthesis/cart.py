"""Trees for one column after another, and values drawn in their leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.synthesis.bootstrap import bayesian_bootstrap
from masktron.synthesis.conditions import Conditions
from masktron.synthesis.linear_relations import TOLD, Coordinates, basis
from masktron.synthesis.trees import Leaves, Question, outcome_of

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
        Whether numbers are drawn from a kernel density of the leaf, within its range, and not from its values. Values
        that k records of the file share are no kernels: they stay as they are.
    conditions : Conditions, optional
        Of the same records.

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
            standardised = (drawn - held.center[at]) / held.scale[at]
            self._coordinates[:, at] = held.coordinate(at, standardised, self._coordinates)


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
