"""Differencing: what releases of the same records tell together of single values, and none of them tells alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, combinations

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_fitting
from masktron.measures.joint_sums import determined_by_sums

NEAR = 0.1
"""Width of an interval, in standard deviations of the field, up to which a value counts as given away."""
OUTSIDE = -1
"""Stands for the group of a value of which a release tells nothing."""
MOST_SUMS = 6_000
"""Sums of three or more releases up to which they are solved together; of more, each pair is solved alone."""


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What a release tells of a field: a sum for each group, up to an error.

    Attributes
    ----------
    groups : ndarray of intp, shape (n,)
        Group of each value; `OUTSIDE` where the release holds no sum of it.
    error : ndarray of float64, shape (m,)
        By group: the true sum less the one that is published.
    tolerance : ndarray of float64, shape (m,)
        By group: the most by which the two may differ.
    """

    groups: NDArray[np.intp]
    error: NDArray[np.float64]
    tolerance: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Possible:
    """What follows for each value from the sums of releases.

    Attributes
    ----------
    solvable : ndarray of bool, shape (n,)
        The value is a combination of sums: exact sums would determine it.
    low, high : ndarray of float64, shape (n,)
        The least and the largest number that it may be, less itself; infinite where nothing follows.
    """

    solvable: NDArray[np.bool_]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class FieldReleases:
    """A field in two or more releases, in which there are n respondents altogether.

    Attributes
    ----------
    values : ndarray of float64, shape (n,)
        Of the original; NaN where it is missing. One that two originals have otherwise stands in two rows.
    sums : tuple of Sums
        By release.
    scale : ndarray of float64, shape (n,)
        What a value is multiplied by in the sums: its survey weight, or 1.
    step : float
        Distance of two neighbouring numbers in the original as it is written.
    """

    values: NDArray[np.float64]
    sums: tuple[Sums, ...]
    scale: NDArray[np.float64]
    step: float


@dataclass(frozen=True, slots=True)
class Differencing:
    """How many values releases give away together.

    Attributes
    ----------
    values : int
        Of the original.
    solvable : int
        Those that exact sums would determine.
    exact : int
        Those that are determined although published numbers are rounded: no other number of the field is possible.
    given_away : int
        Those, and the others that lie in an interval of at most `NEAR` standard deviations.
    """

    values: int
    solvable: int
    exact: int
    given_away: int

    @property
    def share(self) -> float:
        """Values that are given away, per cent; NaN without values."""
        return 100.0 * self.given_away / self.values if self.values else float("nan")

    @classmethod
    def of_all(cls, found: Iterable[Differencing]) -> Differencing:
        """Join what was found in several fields."""
        parts = [(one.values, one.solvable, one.exact, one.given_away) for one in found]
        return cls(*(sum(column) for column in zip(*parts, strict=True))) if parts else cls(0, 0, 0, 0)


def published_sums(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    groups: NDArray[np.intp],
    weights: NDArray[np.float64] | None = None,
    *,
    step: float,
) -> Sums:
    """Return what the published numbers of a field tell of sums over groups: number times size.

    A sum may be off by half a step of the published numbers for each record of the group, as means are rounded; where
    it is off by more, since something other than the mean was published, by as much as it is. Who attacks is taken to
    know that: this can only make the interval of a value narrower than he can. Of a group in which a value is missing
    in one file alone, or that holds several published numbers, nothing is told.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n,)
        NaN where missing.
    groups : ndarray of intp, shape (n,)
        From 0.
    weights : ndarray of float64, shape (n,), optional
        Survey weights: sums are those of weight times value.
    step : float
        Distance of two neighbouring published numbers; 0 where they are exact.

    Raises
    ------
    UsageError
        The shapes differ.
    """
    fitting = original.shape == masked.shape == groups.shape and original.ndim == 1
    require_fitting(fitting, original=original, masked=masked, groups=groups)
    m = int(groups.max(initial=-1)) + 1
    weight = np.ones(len(original)) if weights is None else weights
    held = ~np.isnan(original)
    known = np.bincount(groups[held != ~np.isnan(masked)], minlength=m) == 0
    lowest, highest = np.full(m, np.inf), np.full(m, -np.inf)
    np.minimum.at(lowest, groups[held], masked[held])
    np.maximum.at(highest, groups[held], masked[held])
    known &= lowest == highest
    # differences from the published number are small, and so are the errors of their sum
    published = np.where(known, lowest, 0.0)[groups]
    apart = np.where(held, weight * (original - published), 0.0)
    error = np.bincount(groups, apart, minlength=m)
    size = np.bincount(groups[held], weight[held], minlength=m)
    tolerance = np.maximum(0.5 * step * size, np.abs(error))
    return Sums(np.where(held & known[groups], groups, OUTSIDE), error, tolerance)


def differencing(field: FieldReleases) -> Differencing:
    """Count the values of a field that two or more releases give away together.

    Whoever attacks knows of every respondent in which group of each release he is, and in which ones he is not;
    he knows no original value, and nothing of signs and ranges. Two partitions that are nearly the same, such as
    those of a file and of the same file with one record more, determine values as the difference of two sums.

    Parameters
    ----------
    field : FieldReleases

    Returns
    -------
    Differencing

    Notes
    -----
    Source: Adam and Wortmann (1989), Security-control methods for statistical databases, section 3 (overlap of query
    sets); which values a system of sums determines, see `possible_values`. One release alone determines no value of a
    group of two or more.
    """
    held = ~np.isnan(field.values)
    values = field.values[held]
    if not len(values):
        return Differencing(0, 0, 0, 0)
    found = possible_values(*(Sums(one.groups[held], one.error, one.tolerance) for one in field.sums))
    low, high = found.low / field.scale[held], found.high / field.scale[held]
    # the value itself is possible: no other one of the field is where its neighbours are not
    exact = (low > -field.step) & (high < field.step)
    near = high - low <= NEAR * values.std()
    return Differencing(len(values), int(found.solvable.sum()), int(exact.sum()), int((exact | near).sum()))


def possible_values(*sums: Sums) -> Possible:
    """Say which values follow from sums over the groups of two or more partitions, and how exactly.

    Each pair of partitions is solved by itself, with the narrowest intervals. Of three or more, values that no pair
    determines are then looked for in all sums together, up to `MOST_SUMS` sums.

    Parameters
    ----------
    sums : Sums
        Two or more, of the same n values.

    Returns
    -------
    Possible
    """
    pairs = [_possible_by_pair(*pair) for pair in combinations(sums, 2)]
    found = Possible(
        np.any([one.solvable for one in pairs], axis=0),
        np.array([one.low for one in pairs]).max(axis=0),
        np.array([one.high for one in pairs]).min(axis=0),
    )
    *starts, count = accumulate((len(one.error) for one in sums), initial=0)
    if len(sums) > 2 and count <= MOST_SUMS:
        numbers = [np.where(one.groups == OUTSIDE, -1, one.groups + at) for one, at in zip(sums, starts, strict=True)]
        error, tolerance = (np.concatenate(own) for own in zip(*((s.error, s.tolerance) for s in sums), strict=True))
        for at, low, high in determined_by_sums(numbers, error, tolerance, found.solvable.copy()):
            found.solvable[at] = True
            # the true value is always possible
            found.low[at], found.high[at] = np.minimum(low, 0.0), np.maximum(high, 0.0)
    return found


def _possible_by_pair(first: Sums, second: Sums) -> Possible:
    """Say which values follow from sums over the groups of two partitions, and how exactly.

    Groups are the vertices of a graph and values its edges: one joins the groups of both partitions that it is in, or
    its group and the outside where it is in one sum alone. Theorem: exact sums determine a value if and only if its
    edge is a bridge, that is, on no cycle. Proof: direct edges from the first partition to the second, and those of
    the outside accordingly. Two solutions differ by a flow that is conserved in every group; then it is in the
    outside, too, as what leaves all other vertices together is 0. A flow that is conserved everywhere is a sum of
    flows along cycles, so it is 0 on every edge on no cycle; and along any cycle there is one that is not 0.

    Without a bridge, the two sides of the graph have no other edge in common: the sums of the first partition on one
    side, less those of the second there, are the value. Its error is the sum of theirs. Either side may tell it, but
    for the one with the outside. As errors of different groups have nothing to do with each other, and all other
    values may be any numbers, the interval of the value is what both sides leave.

    Parameters
    ----------
    first, second : Sums
        Of the same n values.

    Returns
    -------
    Possible
    """
    m = len(first.error)
    # 0 is the outside
    one = np.where(first.groups == OUTSIDE, 0, first.groups + 1)
    other = np.where(second.groups == OUTSIDE, 0, second.groups + 1 + m)
    sign = np.concatenate([[0.0], np.ones(m), -np.ones(len(second.error))])
    error = sign * np.concatenate([[0.0], first.error, second.error])
    tolerance = np.concatenate([[np.inf], first.tolerance, second.tolerance])
    bounds = Possible(np.zeros(len(one), dtype=np.bool_), np.full(len(one), -np.inf), np.full(len(one), np.inf))
    size = len(sign)
    pairs, which, copies = np.unique(one * size + other, return_index=True, return_counts=True)
    ends = np.stack([pairs // size, pairs % size], axis=1)
    joins = ends[:, 0] != ends[:, 1]
    ends, which, copies = ends[joins], which[joins], copies[joins]
    forest = _forest(ends, size)
    bridges = forest.bridges & (copies == 1)
    below = np.where(forest.parents[ends[:, 0]] == ends[:, 1], ends[:, 0], ends[:, 1])[bridges]
    errors, tolerances = forest.sums(error), forest.sums(np.where(np.isinf(tolerance), 0.0, tolerance))
    outside = forest.sums(np.isinf(tolerance).astype(np.float64))
    roots, above = forest.roots[below], forest.parents[below]
    at = which[bridges]
    bounds.solvable[at] = True
    for end, wrong, most, open_ in (
        (below, errors[below], tolerances[below], outside[below]),
        (
            above,
            errors[roots] - errors[below],
            tolerances[roots] - tolerances[below],
            outside[roots] - outside[below],
        ),
    ):
        told = open_ == 0
        centre = -sign[end] * wrong
        bounds.low[at[told]] = np.maximum(bounds.low[at[told]], (centre - most)[told])
        bounds.high[at[told]] = np.minimum(bounds.high[at[told]], (centre + most)[told])
    # the true value is always possible: what rounding errors of sums say otherwise is theirs
    np.minimum(bounds.low, 0.0, out=bounds.low)
    np.maximum(bounds.high, 0.0, out=bounds.high)
    return bounds


@dataclass(frozen=True, slots=True, eq=False)
class _Forest:
    """A depth-first forest of a graph without repeated edges.

    Attributes
    ----------
    order : ndarray of intp, shape (v,)
        Vertices as they were found: all below a vertex stand directly behind it.
    last : ndarray of intp, shape (v,)
        By vertex: place in `order` behind the last one below it.
    places : ndarray of intp, shape (v,)
        By vertex: its place in `order`.
    parents : ndarray of intp, shape (v,)
        -1 for a root.
    roots : ndarray of intp, shape (v,)
    bridges : ndarray of bool, shape (e,)
    """

    order: NDArray[np.intp]
    last: NDArray[np.intp]
    places: NDArray[np.intp]
    parents: NDArray[np.intp]
    roots: NDArray[np.intp]
    bridges: NDArray[np.bool_]

    def sums(self, amounts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each vertex the sum of an amount over itself and all below it."""
        running = np.concatenate([[0.0], np.cumsum(amounts[self.order])])
        found: NDArray[np.float64] = running[self.last] - running[self.places]
        return found


def _forest(ends: NDArray[np.intp], size: int) -> _Forest:
    """Search a graph depth first (Tarjan 1974: A note on finding the bridges of a graph)."""
    order, parents, roots = _searched(ends, size)
    places = np.empty(size, dtype=np.intp)
    places[order] = np.arange(size)
    # every edge that is not of the forest joins a vertex with one above it, and so covers the edges between them
    child = np.where(parents[ends[:, 0]] == ends[:, 1], ends[:, 0], ends[:, 1])
    of_forest = (parents[ends[:, 0]] == ends[:, 1]) | (parents[ends[:, 1]] == ends[:, 0])
    back = places[ends[~of_forest]]
    covered = np.zeros(size, dtype=np.intp)
    np.add.at(covered, order[back.max(axis=1)] if len(back) else [], 1)
    np.add.at(covered, order[back.min(axis=1)] if len(back) else [], -1)
    last = places + 1
    for vertex in order[::-1].tolist():
        if (above := parents[vertex]) >= 0:
            last[above] = max(last[above], last[vertex])
    running = np.concatenate([[0], np.cumsum(covered[order])])
    below = running[last] - running[places]
    return _Forest(order, last, places, parents, roots, of_forest & (below[child] == 0))


def _searched(ends: NDArray[np.intp], size: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return vertices in the order of a search in depth, with the parent and the root of each."""
    both = np.concatenate([ends, ends[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    starts = np.searchsorted(both[:, 0], np.arange(size + 1)).tolist()
    neighbours = both[:, 1].tolist()
    following, order = starts[:-1].copy(), []
    parents, roots = [-1] * size, [-1] * size
    for root in range(size):
        if roots[root] >= 0:
            continue
        roots[root] = root
        order.append(root)
        path = [root]
        while path:
            vertex = path[-1]
            place = following[vertex]
            if place == starts[vertex + 1]:
                path.pop()
                continue
            following[vertex] = place + 1
            neighbour = neighbours[place]
            if roots[neighbour] < 0:
                roots[neighbour], parents[neighbour] = root, vertex
                order.append(neighbour)
                path.append(neighbour)
    return tuple(np.array(found, dtype=np.intp) for found in (order, parents, roots))  # type: ignore[return-value]
