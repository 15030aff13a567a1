"""Whose original is nearest, through a tree: for many records, without measuring all pairs.

Nobody asks which original is the nearest of a masked record, only whether any is nearer than its own, and if none is,
how many are as near. A search ends at the first nearer one, or at the second where the own one may be second; where
there is none, only boxes as near as the own original are opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import is_compiled
from masktron.kernels.distinct import factorized
from masktron.kernels.linkage_search import credit_links
from masktron.kernels.mdav_tree import BoxTree, build_in

_CAPACITY = 64
type NewArray = Callable[[Any, Any], NDArray[Any]]
"""Returns an array to be filled, by shape and type."""
_PIECES = 64
"""Into which the queries are cut: enough for any number of threads, and for an interruption to be heard."""


@dataclass(frozen=True, slots=True, eq=False)
class CodedPoints:
    """Points with each distinct coordinate once: that of point i in dimension t is ``values[t][codes[t][i]]``.

    Attributes
    ----------
    codes : tuple of ndarray of int32, each of shape (n,)
    values : tuple of ndarray of float64
    """

    codes: tuple[NDArray[np.int32], ...]
    values: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(cls, columns: Iterable[NDArray[np.float64]], new_array: NewArray = np.empty) -> Self:
        """Code the columns of points, which have no NaN; `new_array` makes the arrays that are returned."""
        codes, values = [], []
        for column in columns:
            own, distinct = factorized(column)
            codes.append(new_array(len(own), np.int32))
            codes[-1][:] = own
            values.append(new_array(len(distinct), np.float64))
            values[-1][:] = distinct
        return cls(tuple(codes), tuple(values))

    def taken(self, which: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return some points, shape (m, d), C-contiguous."""
        points = np.empty((len(which), len(self.codes)))
        for at, (codes, values) in enumerate(zip(self.codes, self.values, strict=True)):
            points[:, at] = values[codes[which]]
        return points


def credits_of_links(
    places: NDArray[np.float64],
    people: NDArray[np.int64],
    own: NDArray[np.int64],
    queries: CodedPoints,
    prototype: NDArray[np.int64],
    workers: int,
    depth: int = 1,
    new_array: NewArray = np.empty,
) -> NDArray[np.float64]:
    """Credit every query by the chance that its own person is among the `depth` nearest, ties in random order.

    With a people nearer and t as near as the own place, that is ``(depth - a) / t``, between 0 and 1.

    Parameters
    ----------
    places : ndarray of float64, shape (m, d)
        Distinct, C-contiguous, finite; d at least 1, magnitudes below 1e17.
    people : ndarray of int64, shape (m,)
        How many share each place.
    own : ndarray of int64, shape (n,)
        Place of each query.
    queries : CodedPoints
        n points in d dimensions, finite; squared distances must not overflow.
    prototype : ndarray of int64, shape (n,)
        Equal for equal queries; numbered from 0 without gaps.
    workers : int
        Threads; the result does not depend on them.
    depth : int
        How many people a query may be linked to, at least 1.
    new_array : callable
        Makes the arrays of the tree, which take as much as the places.

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    tree = _tree(places, new_array)
    order = _order(tree, own, prototype)
    credit = np.empty(len(own))
    ends = np.linspace(0, len(own), _PIECES + 1).astype(np.int64).tolist()

    def search(piece: tuple[int, int]) -> None:
        which = order[slice(*piece)]
        found = np.empty(len(which))
        points, places_of = queries.taken(which), np.arange(len(which))
        credit_links(places, tree, people, own[which], points, prototype[which], places_of, depth, found)
        credit[which] = found

    context = copy_context()
    with ThreadPoolExecutor(max_workers=workers) as threads:
        for _ in threads.map(lambda piece: context.copy().run(search, piece), pairwise(ends)):
            # what fails in a thread fails here
            pass
    return credit


def _tree(places: NDArray[np.float64], new_array: NewArray) -> BoxTree:
    m, d = places.shape
    leaves = 1 << (m // _CAPACITY).bit_length()
    near = new_array((leaves, d, _CAPACITY), np.float32)
    ids = new_array((leaves, _CAPACITY), np.int64)
    leaf_of, slot_of = new_array(m, np.int64), new_array(m, np.int64)
    return build_in(places, np.arange(m), places.mean(axis=0), near, ids, leaf_of, slot_of)


def compile_links() -> None:
    """Compile the search, on one record."""
    one, records = np.zeros((1, 1)), np.zeros(1, dtype=np.int64)
    credits_of_links(one, records + 1, records, CodedPoints.of(one), records, 1)


def links_ready() -> bool:
    """Tell whether compiled code is at hand."""
    return is_compiled(credit_links) and is_compiled(build_in)


def _order(tree: BoxTree, own: NDArray[np.int64], prototype: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order queries so that equal ones follow each other, and after them those that open the same boxes."""
    leaf = tree.leaf_of[own]
    first = np.full(int(prototype.max()) + 1, len(tree.held), dtype=np.int64)
    np.minimum.at(first, prototype, leaf)
    order: NDArray[np.int64] = np.argsort(first[prototype] * len(first) + prototype, kind="stable")
    return order
