"""Centroid agglomeration: the nearest clusters are joined until each has enough records and different values."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.errors import InfeasibleError
from masktron.partitions.cutting import in_file_order
from masktron.partitions.kdcut import kd_cut

type Stop = Literal["small", "counts", "spr", "rmsstd"]

TOGETHER = 2_000
"""Records that are clustered at once: that takes time, and a dendrogram memory, for the square of their number."""
LIMITS = {"spr": 0.05, "rmsstd": 1.0}
"""Where homogeneity stops the joining when no limit is given."""


def agglomerate(
    points: Floats,
    codes: Labels,
    *,
    records: int = 10,
    distinct: int = 3,
    stop: Stop = "small",
    limit: float | None = None,
) -> Labels:
    """Partition points into clusters with enough records and enough different values.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Coordinates in which Euclidean distance is meant.
    codes : ndarray of intp, shape (n,)
        Codes of the values of which a cluster needs different ones.
    records, distinct : int
        What every cluster needs.
    stop : {"small", "counts", "spr", "rmsstd"}
        ``small``: a cluster that has enough is joined no further; of the others the nearest pair is. ``counts``: of
        all pairs the nearest, until none lacks anything; a record far from all others is the last to be joined, so
        that often one cluster is left. ``spr`` and ``rmsstd``: of all pairs the nearest, up to the first whose
        joining would exceed `limit`, then as ``small``. What finds no partner in the end joins the nearest cluster.
    limit : float, optional
        ``spr``: share of the sum of squares of all points that one joining may add to that within clusters.
        ``rmsstd``: pooled standard deviation of a cluster, in the unit of the points.

    Returns
    -------
    ndarray of intp, shape (n,)
        Labels 0 to g - 1, in the order of their first record.

    Raises
    ------
    InfeasibleError
        All points together have too few records or different values.

    Notes
    -----
    Source: hierarchical cluster analysis for partially synthetic data (2013), section 3.1; Halkidi et al. (2002).
    More than 2,000 points are cut at medians first; what lacks something in its block is then joined across blocks.
    """
    different = len(np.unique(codes))
    if len(points) < records:
        raise InfeasibleError.of("too-few-records", what="a cluster", least=records, records=len(points))
    if different < distinct:
        raise InfeasibleError.of("too-few-values", least=distinct, values=different)
    labels, start = np.empty(len(points), dtype=np.intp), 0
    for block in kd_cut(points, max(TOGETHER, 2 * records), records):
        own = points[block], codes[block]
        labels[block] = start + _clusters(*own, records=records, distinct=distinct, stop=stop, limit=limit)
        start = int(labels[block].max()) + 1
    return in_file_order(join_small(points, labels, codes, records=records, distinct=distinct))


def _clusters(
    points: Floats, codes: Labels, *, records: int, distinct: int, stop: Stop, limit: float | None
) -> Labels:
    """Return clusters of a block, from 0 without gaps; the last ones may lack something."""
    labels = np.arange(len(points))
    if stop != "small" and len(points) > 1:
        labels = _joined_up_to(points, codes, records, distinct, stop, limit)
    return in_file_order(join_small(points, labels, codes, records=records, distinct=distinct, closed=True))


def _joined_up_to(
    points: Floats, codes: Labels, records: int, distinct: int, stop: Stop, limit: float | None
) -> Labels:
    """Return clusters after as many steps of the dendrogram as the rule admits."""
    from scipy.cluster.hierarchy import linkage  # noqa: PLC0415 -- loads slowly

    # for centroids its steps are in the order of joining, also where distances fall
    tree = linkage(points, "centroid")
    if stop == "counts":
        steps = _until_enough(tree, codes, records, distinct)
    else:
        bound = LIMITS[stop] if limit is None else limit
        index = semi_partial(tree, points) if stop == "spr" else pooled_deviation(tree, points)
        steps = int(np.argmax(index > bound)) if (index > bound).any() else len(tree)
    return _cut(tree, steps)


def semi_partial(tree: Floats, points: Floats) -> Floats:
    """Return the semi-partial R-squared of every step of a centroid linkage, shape (n - 1,).

    What joining A and B adds to the sum of squares within clusters, ``n_A n_B / (n_A + n_B) d(A, B)^2``, as a share
    of that of all points; these shares add up to 1.
    """
    total = float(np.square(points - points.mean(axis=0)).sum())
    return _added(tree) / total if total else np.zeros(len(tree))


def pooled_deviation(tree: Floats, points: Floats) -> Floats:
    """Return the root-mean-square standard deviation of the cluster that each step makes, shape (n - 1,).

    ``sqrt(W / (d (n - 1)))`` with W the sum of squares within the cluster, n its records and d the dimensions in
    which points differ.
    """
    n = len(points)
    dimensions = max(int((np.ptp(points, axis=0) > 0).sum()), 1)
    within = np.zeros(n + len(tree))
    for step, ((first, second), added) in enumerate(zip(tree[:, :2].astype(np.intp), _added(tree), strict=True)):
        within[n + step] = within[first] + within[second] + added
    deviation: Floats = np.sqrt(within[n:] / (dimensions * (tree[:, 3] - 1)))
    return deviation


def _added(tree: Floats) -> Floats:
    n = len(tree) + 1
    sizes = np.concatenate([np.ones(n), tree[:, 3]])
    first, second = (sizes[tree[:, side].astype(np.intp)] for side in (0, 1))
    added: Floats = first * second / (first + second) * np.square(tree[:, 2])
    return added


def _until_enough(tree: Floats, codes: Labels, records: int, distinct: int) -> int:
    """Return the number of steps after which no cluster lacks anything; all of them where that never comes."""
    seen = [frozenset((code,)) for code in codes.tolist()]
    sizes = [1] * len(codes)
    lacking = len(codes) if records > 1 or distinct > 1 else 0
    for step, (first, second) in enumerate(tree[:, :2].astype(np.intp).tolist()):
        if not lacking:
            return step
        size, both = sizes[first] + sizes[second], _some(seen[first] | seen[second], distinct)
        lacking -= sum(sizes[one] < records or len(seen[one]) < distinct for one in (first, second))
        lacking += size < records or len(both) < distinct
        sizes.append(size)
        seen.append(both)
    return len(tree)


def _cut(tree: Floats, steps: int) -> Labels:
    """Return the cluster of every point after so many steps."""
    n = len(tree) + 1
    root = np.arange(n + steps)
    for step in reversed(range(steps)):
        root[tree[step, :2].astype(np.intp)] = root[n + step]
    return np.unique(root[:n], return_inverse=True)[1].astype(np.intp)


def join_small(
    points: Floats, labels: Labels, codes: Labels, *, records: int, distinct: int, closed: bool = False
) -> Labels:
    """Join clusters that lack something with the cluster whose centre is nearest, the nearest pair first.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
    labels : ndarray of intp, shape (n,)
        Clusters to begin with, from 0 without gaps.
    codes : ndarray of intp, shape (n,)
    records, distinct : int
        What every cluster needs.
    closed : bool
        Whether clusters that have enough take no others; one that finds no partner is left as it is.

    Returns
    -------
    ndarray of intp, shape (n,)
        Labels, not numbered without gaps.
    """
    sizes = np.bincount(labels).astype(np.float64)
    centers = np.stack([np.bincount(labels, column) for column in points.T], axis=1) / sizes[:, None]
    seen: list[frozenset[int]] = [frozenset()] * len(sizes)
    for label, code in zip(labels.tolist(), codes.tolist(), strict=True):
        if len(seen[label]) < distinct:
            seen[label] |= {code}
    lacks = (sizes < records) | np.array([len(one) < distinct for one in seen])
    into = np.arange(len(sizes))
    # nobody is near what cannot be joined
    targets = np.where(closed & ~lacks[:, None], np.inf, centers)
    nearest, away = np.zeros(len(sizes), dtype=np.intp), np.full(len(sizes), np.inf)
    for one in np.flatnonzero(lacks):
        nearest[one], away[one] = _nearest(targets, centers[one], one)
    while lacks.any() and len(sizes) > 1:
        gone = int(np.where(lacks, away, np.inf).argmin())
        kept = int(nearest[gone])
        if not lacks[gone] or not np.isfinite(away[gone]):
            break
        size = sizes[gone] + sizes[kept]
        centers[kept] = (sizes[gone] * centers[gone] + sizes[kept] * centers[kept]) / size
        sizes[kept], seen[kept], into[gone] = size, _some(seen[gone] | seen[kept], distinct), kept
        lacks[gone], lacks[kept] = False, size < records or len(seen[kept]) < distinct
        targets[gone], targets[kept] = np.inf, centers[kept] if lacks[kept] or not closed else np.inf
        _update(centers, targets, lacks, nearest, away, gone, kept)
    while not np.array_equal(into, into[into]):
        into = into[into]
    result: Labels = into[labels]
    return result


def _update(
    centers: Floats,
    targets: Floats,
    lacks: NDArray[np.bool_],
    nearest: Labels,
    away: Floats,
    gone: int,
    kept: int,
) -> None:
    """Find the nearest clusters anew where a joining has changed them."""
    stale = lacks & ((nearest == gone) | (nearest == kept))
    stale[kept] = lacks[kept]
    for one in np.flatnonzero(stale):
        nearest[one], away[one] = _nearest(targets, centers[one], one)
    others = np.flatnonzero(lacks & ~stale)
    distance = np.square(targets[kept] - centers[others]).sum(axis=1)
    nearer = distance < away[others]
    nearest[others[nearer]], away[others[nearer]] = kept, distance[nearer]


def _nearest(targets: Floats, center: Floats, one: int | np.signedinteger[Any]) -> tuple[int, float]:
    distances = np.square(targets - center).sum(axis=1)
    distances[one] = np.inf
    found = int(distances.argmin())
    return found, float(distances[found])


def _some(codes: frozenset[int], most: int) -> frozenset[int]:
    """Return at most so many of the codes: nobody asks for more."""
    return codes if len(codes) <= most else frozenset(sorted(codes)[:most])
