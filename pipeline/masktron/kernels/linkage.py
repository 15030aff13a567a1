"""Whose original is nearest, through a tree: for many records, without measuring all pairs.

Nobody asks which original is the nearest of a masked record, only whether any is nearer than its own, and if none is,
how many are as near. A search ends at the first nearer one, or at the second where the own one may be second; where
there is none, only boxes as near as the own original are opened.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from masktron.kernels.compiling import is_compiled
from masktron.kernels.linkage_search import credit_links
from masktron.kernels.mdav_tree import BoxTree, build

_CAPACITY = 64
_PIECES = 64
"""Into which the queries are cut: enough for any number of threads, and for an interruption to be heard."""


def credits_of_links(
    places: NDArray[np.float64],
    people: NDArray[np.int64],
    own: NDArray[np.int64],
    queries: NDArray[np.float64],
    prototype: NDArray[np.int64],
    workers: int,
    depth: int = 1,
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
    queries : ndarray of float64, shape (n, d)
        C-contiguous, finite; squared distances must not overflow.
    prototype : ndarray of int64, shape (n,)
        Equal for equal queries; numbered from 0 without gaps.
    workers : int
        Threads; the result does not depend on them.
    depth : int
        How many people a query may be linked to, at least 1.

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    tree = build(places, np.arange(len(places)), _CAPACITY, places.mean(axis=0))
    order = _order(tree, own, prototype)
    credit = np.empty(len(queries))
    ends = np.linspace(0, len(queries), _PIECES + 1).astype(np.int64).tolist()

    def search(piece: tuple[int, int]) -> None:
        credit_links(places, tree, people, own, queries, prototype, order[slice(*piece)], depth, credit)

    with ThreadPoolExecutor(max_workers=workers) as threads:
        for _ in threads.map(search, pairwise(ends)):
            # what fails in a thread fails here
            pass
    return credit


def compile_links() -> None:
    """Compile the search, on one record."""
    one, records = np.zeros((1, 1)), np.zeros(1, dtype=np.int64)
    credits_of_links(one, records + 1, records, one, records, 1)


def links_ready() -> bool:
    """Tell whether compiled code is at hand."""
    return is_compiled(credit_links) and is_compiled(build)


def _order(tree: BoxTree, own: NDArray[np.int64], prototype: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order queries so that equal ones follow each other, and after them those that open the same boxes."""
    leaf = tree.leaf_of[own]
    first = np.full(int(prototype.max()) + 1, len(tree.held), dtype=np.int64)
    np.minimum.at(first, prototype, leaf)
    order: NDArray[np.int64] = np.argsort(first[prototype] * len(first) + prototype, kind="stable")
    return order
