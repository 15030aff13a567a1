"""Values beyond thresholds, and their replacement from clusters of like records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.kernels.standardise import standardised
from masktron.synthesis.bootstrap import bayesian_bootstrap

type Marks = NDArray[np.bool_]
type Side = Literal["upper", "lower", "both"]

_AT_ONCE = 1_000_000
"""Pairs of a recipient and a donor that are compared together."""


@dataclass(frozen=True, slots=True, eq=False)
class Marked:
    """Cells that are replaced.

    Attributes
    ----------
    cells : ndarray of bool, shape (n, p)
    more : tuple of int
        Variables where more values than those beyond the threshold had to be marked, for clusters to be had.
    all : tuple of int
        Variables with too few different values for that: all of their values are marked, and form one cluster.
    """

    cells: Marks
    more: tuple[int, ...] = ()
    all: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """One partially synthetic file.

    Attributes
    ----------
    values : ndarray of float64, shape (n, p)
        Cells that are not marked are those of the original.
    replaced : int
        Values that were drawn.
    apart : int
        Of these, values for which no donor had the values that were drawn for the record before: drawn from their
        cluster all the same.
    """

    values: Floats
    replaced: int
    apart: int


def mark(
    values: Floats,
    variables: Sequence[int],
    *,
    side: Side = "upper",
    quantile: float = 0.85,
    thresholds: Sequence[float] | None = None,
    records: int = 10,
    distinct: int = 3,
) -> Marked:
    """Mark values strictly beyond their thresholds.

    Where some are beyond it, but too few for a cluster of `records` with `distinct` values, the next ones are marked
    as well. A variable with fewer than `distinct` values is marked as a whole where any of its values is.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
    variables : sequence of int
        Columns with a threshold.
    side : {"upper", "lower", "both"}
        Where values are beyond it; ``both`` for quantiles alone.
    quantile : float
        Threshold of the upper side as a quantile of the column (type 7 of Hyndman and Fan), 1 minus it of the lower
        side; where no `thresholds` are given.
    thresholds : sequence of float, optional
        One for each of `variables`.
    records, distinct : int
        What a cluster needs; there are at least `records` records.
    """
    cells = np.zeros(values.shape, dtype=np.bool_)
    more, whole = [], []
    for at, j in enumerate(variables):
        own = values[:, j]
        beyond = _beyond(own, side, quantile, None if thresholds is None else thresholds[at])
        if not (beyond > 0).any():
            continue
        if len(np.unique(own)) < distinct:
            cells[:, j] = True
            whole.append(j)
            continue
        cells[:, j] = beyond > 0
        if cells[:, j].sum() < records or len(np.unique(own[cells[:, j]])) < distinct:
            cells[:, j] = beyond >= _bound(own, beyond, records, distinct)
            more.append(j)
    return Marked(cells, tuple(more), tuple(whole))


def _beyond(own: Floats, side: Side, quantile: float, threshold: float | None) -> Floats:
    """Return how far each value lies beyond the threshold; below 0 within it."""
    # half of everything: differences do not overflow
    upper = np.quantile(own / 2, quantile) if threshold is None else threshold / 2
    lower = np.quantile(own / 2, 1 - quantile) if threshold is None else threshold / 2
    over, under = own / 2 - upper, lower - own / 2
    if side == "both":
        return np.maximum(over, under)
    return over if side == "upper" else under


def _bound(own: Floats, beyond: Floats, records: int, distinct: int) -> float:
    """Return the greatest bound that leaves enough records and different values at or above it."""
    order = np.argsort(-beyond, kind="stable")
    _, first = np.unique(own[order], return_index=True)
    last = max(records - 1, int(np.sort(first)[distinct - 1]))
    return float(beyond[order[last]])


def replace_marked(
    values: Floats,
    marked: Marked,
    generator: np.random.Generator,
    clusters: Callable[[Floats, Labels], Labels],
) -> Release:
    """Replace marked values, variable after variable, by those of donors in the same cluster.

    Variables come by descending number of marked values, of equally many the first one first. The records whose
    value is marked are clustered by all variables, in standard deviations of the original, with what was drawn
    already. In a cluster each value is a donor with a random weight (Rubin 1981). Where a record was drawn values of
    other variables before, only donors count that have all of these in the original, so that the combination is one
    of the original: those of its cluster, else of other clusters, and where nobody else has them, all of its cluster.
    A record is no donor to itself there: it would often be the only one.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
    marked : Marked
    generator : numpy.random.Generator
    clusters : callable
        Labels from 0 of points, shape (q, p), and codes of their values, shape (q,).

    Notes
    -----
    Source: hierarchical cluster analysis for partially synthetic data (2013), section 3.1. The paper says that new
    values are imputed among "corresponding information units" for all combinations with those drawn before, which is
    read as above.
    """
    cells, released = marked.cells, values.copy()
    counts = cells.sum(axis=0)
    order = [int(j) for j in np.argsort(-counts, kind="stable") if counts[j]]
    apart = 0
    for turn, j in enumerate(order):
        rows = np.flatnonzero(cells[:, j])
        if j in marked.all:
            labels = np.zeros(len(rows), dtype=np.intp)
        else:
            points = _points(values, released)[rows]
            labels = clusters(points, np.unique(values[rows, j], return_inverse=True)[1].astype(np.intp))
        before = [i for i in order[:turn] if cells[rows, i].any()]
        donors, alone = _donors(
            labels,
            cells[np.ix_(rows, before)],
            released[np.ix_(rows, before)],
            values[np.ix_(rows, before)],
            generator,
        )
        released[rows, j] = values[rows[donors], j]
        apart += alone
    return Release(released, int(counts.sum()), apart)


def _points(original: Floats, released: Floats) -> Floats:
    """Return what was released so far in standard deviations of the original."""
    both = np.concatenate([original, released])
    spread = standardised(both)
    own = spread[: len(original)].std(axis=0)
    return np.asarray(spread[len(original) :] / np.where(own > 0, own, 1.0))


def _donors(
    labels: Labels, drawn: Marks, wanted: Floats, held: Floats, generator: np.random.Generator
) -> tuple[Labels, int]:
    """Return a donor for each record, and how many have none with the values that they were drawn before.

    Parameters
    ----------
    labels : ndarray of intp, shape (q,)
    drawn : ndarray of bool, shape (q, b)
        Variables of which the record was drawn a value before.
    wanted, held : ndarray of float64, shape (q, b)
        These values; those of the original.
    """
    q = len(labels)
    chosen, apart = bayesian_bootstrap(labels, labels, generator), 0
    weights, targets = generator.standard_exponential(q), generator.random(q)
    bound = np.flatnonzero(drawn.any(axis=1))
    step = max(1, _AT_ONCE // q)
    for start in range(0, len(bound), step):
        rows = bound[start : start + step]
        near = labels[rows, None] == labels
        fits = np.ones_like(near)
        for own, value, source in zip(drawn[rows].T, wanted[rows].T, held.T, strict=True):
            fits &= ~own[:, None] | (value[:, None] == source)
        # whose own combination comes up is often its only donor, and would get its record back
        near[np.arange(len(rows)), rows] &= near.sum(axis=1) == 1
        fits[np.arange(len(rows)), rows] = False
        close = near & fits
        nobody = ~fits.any(axis=1)
        admitted = np.where(close.any(axis=1)[:, None], close, np.where(nobody[:, None], near, fits))
        reached = np.cumsum(np.where(admitted, weights, 0.0), axis=1)
        goal = targets[rows] * reached[:, -1]
        chosen[rows] = (reached <= goal[:, None]).sum(axis=1)
        apart += int(nobody.sum())
    return chosen, apart
