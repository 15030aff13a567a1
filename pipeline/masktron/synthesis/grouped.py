"""Groups of one size as one array: thousands of small groups are a few operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.synthesis.regression import Regression, regress

type Draw = Callable[[Regression, np.random.Generator], Floats]


def synthesise(
    values: Floats, kept: NDArray[np.bool_], labels: Labels, draw: Draw, generator: np.random.Generator
) -> Floats:
    """Draw new values for the variables that are not kept, group by group.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
    kept : ndarray of bool, shape (p,)
    labels : ndarray of intp, shape (n,)
        From 0, without gaps.
    draw : callable
        `masktron.synthesis.ipso.ipso` and the like; each group has to have the freedom that it needs.
    generator : numpy.random.Generator
        Used for the groups in the order of their sizes, then of their labels.

    Returns
    -------
    ndarray of float64, shape (n, p)
        Kept variables as they are.
    """
    drawn = values.copy()
    for _, rows in stacks(labels):
        records = values[rows]
        drawn[rows[:, :, None], np.flatnonzero(~kept)] = draw(
            regress(records[:, :, ~kept], records[:, :, kept]), generator
        )
    return drawn


def stacks(labels: Labels, among: Labels | None = None) -> Iterator[tuple[Labels, Labels]]:
    """Yield groups of one size together.

    Parameters
    ----------
    labels : ndarray of intp, shape (n,)
        From 0, without gaps.
    among : ndarray of intp, optional
        Ascending labels of the groups that are wanted; all when not given.

    Yields
    ------
    groups : ndarray of intp, shape (g,)
        Labels, ascending.
    rows : ndarray of intp, shape (g, size)
        Their records.
    """
    sizes = np.bincount(labels)
    order = np.argsort(labels, kind="stable")
    starts = np.cumsum(sizes) - sizes
    wanted = np.arange(len(sizes)) if among is None else among
    for size in np.unique(sizes[wanted]):
        groups = wanted[sizes[wanted] == size]
        yield groups, order[starts[groups][:, None] + np.arange(size)]


def joined(points: Floats, labels: Labels, lacks: Callable[[Labels], NDArray[np.bool_]]) -> Labels:
    """Join each group that cannot be masked alone with the nearest other group, until none is left.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Standardised coordinates, for the distances of means.
    labels : ndarray of intp, shape (n,)
        From 0, without gaps.
    lacks : callable
        Given the records of groups of one size, shape (g, size), tells which of them cannot be masked, shape (g,).

    Returns
    -------
    ndarray of intp, shape (n,)
        From 0, without gaps; the same where there was nothing to join. Where the last group lacks something as well,
        it is left.
    """
    untested: Labels = np.arange(int(labels.max()) + 1)
    while untested.size:
        short = np.sort(np.concatenate([groups[lacks(rows)] for groups, rows in stacks(labels, untested)]))
        if not short.size or not labels.any():
            return labels
        labels, untested = _join(labels, short, points)
    return labels


def _join(labels: Labels, short: Labels, points: Floats) -> tuple[Labels, Labels]:
    """Join groups with their nearest others; return new labels, and which of them are new."""
    sizes = np.bincount(labels)
    centres = np.stack([np.bincount(labels, column) for column in points.T], axis=1) / sizes[:, None]
    target = np.arange(len(sizes))
    joined_now = np.zeros(len(sizes), dtype=np.bool_)
    for group in short:
        if joined_now[group]:  # with what has joined it, it may suffice
            continue
        distances = np.square(centres - centres[group]).sum(axis=1)
        distances[group] = np.inf
        nearest = distances.argmin()
        target[group] = target[nearest]
        joined_now[[group, nearest]] = True
    fresh = np.unique(target[short])
    names, numbered = np.unique(target, return_inverse=True)
    return numbered[labels].astype(np.intp), np.searchsorted(names, fresh).astype(np.intp)
