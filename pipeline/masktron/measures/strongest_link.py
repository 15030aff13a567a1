"""Record linkage by the strongest of several plain intruders: three distances, two ways to pick."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from scipy.spatial import KDTree
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from masktron.errors import UsageError
from masktron.kernels.standardise import Standard
from masktron.measures.base import require_comparable

type LinkDistance = Literal["Euclidean", "Mahalanobis", "ranks"]
type LinkPick = Literal["nearest", "one-to-one"]

EXACT = 2_000
"""Records alike in what is known exactly up to which all pairs are compared."""
NEAR = 30
"""Nearest originals among which a masked record is looked for where there are more."""
_FLAT = 1e-7
"""Part of the largest variance below which a direction holds nothing but rounding."""


@dataclass(frozen=True, slots=True)
class StrongestLinkage:
    """What the strongest intruder finds.

    Attributes
    ----------
    share : float
        Records that are rightly linked, in per cent; 0 without records.
    distance : {"Euclidean", "Mahalanobis", "ranks"}
    pick : {"nearest", "one-to-one"}
        Each record the nearest original, or no original twice and the least sum of squared distances.
    all : mapping of (distance, pick) to float
        What each intruder finds.
    """

    share: float
    distance: LinkDistance
    pick: LinkPick
    all: dict[tuple[LinkDistance, LinkPick], float]


def strongest_linkage(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    known: NDArray[np.integer[Any]] | None = None,
) -> StrongestLinkage:
    """Link masked records to originals by several distances and picks, and return what the best of them finds.

    Who links knows the original numbers of everybody, and what was not masked exactly: only records that agree in
    that are compared. Distances are Euclidean over

    - variables standardised by the original;
    - the same made uncorrelated: Mahalanobis distance with the sum of both covariance matrices;
    - ranks within each file.

    A missing value is put at the mean, and whether it is missing is one more variable. Ties are shared: of t nearest
    originals each counts 1/t, and records or originals that are the same in all are assigned in random order.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        Row i of both belongs to the same respondent; NaN where missing.
    known : ndarray of int, shape (n,), optional
        Equal where records are alike in all that was not masked.

    Returns
    -------
    StrongestLinkage

    Raises
    ------
    UsageError
        The shapes differ, or a value is infinite.

    Notes
    -----
    One-to-one assignment is exact among up to `EXACT` records that agree in what is known; among more, an original is
    looked for among the `NEAR` nearest ones, and a record may get none. It is no bound: an intruder who knows how
    the file was masked may find more.

    Source: Torra, Abowd and Domingo-Ferrer (2006), Using Mahalanobis distance-based record linkage for disclosure
    risk assessment, with the covariance between the files, which nobody knows who cannot link, taken for 0. The
    assignment is that of Kuhn (1955), as SciPy solves it.
    """
    require_comparable(original, masked, "has no distance")
    n = len(original)
    if known is not None and known.shape != (n,):
        raise UsageError(f"what is known of {known.shape} records does not go with {n}")
    classes = np.zeros(n, dtype=np.intp) if known is None else np.unique(known, return_inverse=True)[1]
    # an assignment that is one of several must not come from the order, in which each has its own place
    rng = np.random.default_rng(0)
    masked_order, original_order = rng.permutation(n), rng.permutation(n)
    members = [rows for rows in _members(classes) if len(rows) > 1]
    alone = n - sum(map(len, members))
    found: dict[tuple[LinkDistance, LinkPick], float] = {}
    for distance, (before, after) in _spaces(original, masked):
        found[distance, "nearest"] = found[distance, "one-to-one"] = float(alone)
        for rows in members:
            asked, others = (rows[np.argsort(order[rows])] for order in (masked_order, original_order))
            links = _Links(before, after, asked, others)
            found[distance, "nearest"] += links.nearest()
            found[distance, "one-to-one"] += links.assigned()
    shares = {key: 100 * value / n if n else 0.0 for key, value in found.items()}
    distance, pick = max(shares, key=shares.__getitem__)
    return StrongestLinkage(shares[distance, pick], distance, pick, shares)


def _members(classes: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield the records of each class."""
    order = np.argsort(classes, kind="stable")
    yield from np.split(order, np.flatnonzero(np.diff(classes[order])) + 1)


def _spaces(
    original: NDArray[np.float64], masked: NDArray[np.float64]
) -> Iterator[tuple[LinkDistance, tuple[NDArray[np.float64], NDArray[np.float64]]]]:
    """Yield the points of both files for each distance; what is constant in the original tells nobody apart."""
    standard = _standardised(original, masked)
    yield "Euclidean", standard
    yield "Mahalanobis", _whitened(*standard)
    ranks = [np.column_stack([_ranks(column) for column in file.T]) for file in (original, masked) if file.shape[1]]
    yield "ranks", _standardised(ranks[0], ranks[1]) if ranks else standard


def _ranks(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean ranks from 0 to 1 within a file; NaN where missing."""
    held = ~np.isnan(column)
    found = np.full(len(column), np.nan)
    if held.any():
        found[held] = rankdata(column[held]) / held.sum()
    return found


def _standardised(
    original: NDArray[np.float64], masked: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    before, after = [], []
    for own, other in zip(original.T, masked.T, strict=True):
        held = ~np.isnan(own)
        standard = Standard.of(own)
        if standard.deviation:
            before.append(np.nan_to_num(standard.places(own)))
            after.append(np.nan_to_num(standard.places(other)))
        if held.any() and not held.all():
            before.append((~held).astype(np.float64))
            after.append(np.isnan(other).astype(np.float64))
    if not before:
        nothing = np.zeros((len(original), 1))
        return nothing, nothing
    return np.column_stack(before), np.column_stack(after)


def _whitened(
    before: NDArray[np.float64], after: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Make the sum of both covariance matrices the identity; directions without variance are left out."""
    if len(before) < 2:
        return before, after
    joint = np.atleast_2d(np.cov(before, rowvar=False) + np.cov(after, rowvar=False))
    variances, directions = np.linalg.eigh(joint)
    kept = variances > _FLAT * max(float(variances[-1]), 0.0)
    turned = directions[:, kept] / np.sqrt(variances[kept])
    return before @ turned, after @ turned


class _Links:
    """Links among records that agree in what is known."""

    def __init__(
        self,
        before: NDArray[np.float64],
        after: NDArray[np.float64],
        rows: NDArray[np.intp],
        others: NDArray[np.intp],
    ) -> None:
        self._queries, self._places = after[rows], before[others]
        # respondents by the masked record that they have, and by the original
        self._own_masked = np.unique(after[others], axis=0, return_inverse=True)[1].ravel()
        self._own_place = np.unique(self._places, axis=0, return_inverse=True)[1].ravel()
        self._respondent, self._of_row = others, rows
        self._masked = np.empty(len(rows), dtype=np.intp)
        self._masked[np.argsort(rows)] = self._own_masked[np.argsort(others)]
        if len(rows) <= EXACT:
            self._costs = cdist(self._queries, self._places, "sqeuclidean")
        else:
            found = KDTree(self._places).query(self._queries, k=min(NEAR, len(rows)))
            self._far: NDArray[np.float64] = found[0]
            self._who: NDArray[np.intp] = found[1]

    def nearest(self) -> float:
        """Count right links where each record takes the nearest original, ties shared."""
        if len(self._of_row) <= EXACT:
            near = self._costs == self._costs.min(axis=1, keepdims=True)
            right = near & (self._respondent[np.newaxis, :] == self._of_row[:, np.newaxis])
        else:
            near = self._far == self._far[:, :1]
            right = near & (self._respondent[self._who] == self._of_row[:, np.newaxis])
        return float((right.sum(axis=1) / near.sum(axis=1)).sum())

    def assigned(self) -> float:
        """Count right links where no original is taken twice, alike ones in random order."""
        rows, columns = linear_sum_assignment(self._costs) if len(self._of_row) <= EXACT else self._sparse()
        # a respondent of place H and masked record G is linked rightly with 1 / (|H| |G|) for each link of G to H
        both = self._own_place * (int(self._own_masked.max()) + 1) + self._own_masked
        pairs, counts = np.unique(both, return_counts=True)
        links = self._own_place[columns] * (int(self._own_masked.max()) + 1) + self._masked[rows]
        at = np.minimum(np.searchsorted(pairs, links), len(pairs) - 1)
        shared = np.where(pairs[at] == links, counts[at], 0)
        sizes = np.bincount(self._own_place)[self._own_place[columns]] * np.bincount(self._masked)[self._masked[rows]]
        return float((shared / sizes).sum())

    def _sparse(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Assign near originals, or none at a price above all."""
        n, near = len(self._who), self._who.shape[1]
        costs = self._far**2 + 1.0  # what is 0 is no edge
        rows = np.concatenate([np.repeat(np.arange(n), near), np.arange(n)])
        columns = np.concatenate([self._who.ravel(), n + np.arange(n)])
        prices = np.concatenate([costs.ravel(), np.full(n, 2.0 * float(costs.max()) + 1.0)])
        row, column = min_weight_full_bipartite_matching(csr_array((prices, (rows, columns)), shape=(n, 2 * n)))
        found = column < n
        return row[found].astype(np.intp), column[found].astype(np.intp)
