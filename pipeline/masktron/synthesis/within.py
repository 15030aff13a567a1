"""Draws within groups: numbers with their means and covariances, categories; groups of one size as one array."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats, Labels
from masktron.counts import counted
from masktron.errors import InfeasibleError
from masktron.kernels.linear_algebra import orthogonal_triangular, product, singular_decomposition, singular_values
from masktron.kernels.standardise import standardised
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


SPARE = 3
"""Records that a group needs beyond its rank: with one direction and two records, draws with the very moments of the
group are the records themselves or their mirror image."""
_CUT = 1e-10
"""Singular values of standardised columns below this part of the largest are exact relations, but for rounding."""


def draw_normal(values: Floats, labels: Labels, generator: np.random.Generator, *, exact: bool) -> Floats:
    """Draw normal values for every record, with the moments of its group.

    Each group's deviations are U S V' with standardised columns; drawn are Q S V', where Q is an orthonormal basis
    drawn at random, orthogonal to the constant. So mean and covariance are the group's to rounding, and so is every
    linear relation that holds in the group. Plain draws have independent normal numbers in place of Q, scaled so
    that mean and covariance are the group's in expectation.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Finite.
    labels : ndarray of intp, shape (n,)
        Groups, 0 to g - 1, each of at least its rank + 3 records.
    generator : numpy.random.Generator
    exact : bool
        Whether the moments are to be exact; plain draws otherwise.

    Returns
    -------
    ndarray of float64, shape (n, p)
        Row i was drawn for the group of record i. What is constant in a group stays.

    Raises
    ------
    InfeasibleError
        A group has fewer records than its rank + 3.
    """
    drawn = np.empty_like(values)
    for _, rows in stacks(labels):
        drawn[rows] = _draw_stacked(values[rows], generator, exact=exact)
    return drawn


def short(values: Floats, least: int = 0) -> NDArray[np.bool_]:
    """Tell which groups cannot be drawn anew: those of fewer records than their rank + 3, or than `least`.

    Parameters
    ----------
    values : ndarray of float64, shape (g, size, p)
        Of groups of one size.
    least : int

    Returns
    -------
    ndarray of bool, shape (g,)
    """
    _, _, singular, _ = _decomposed(values)
    directions = (singular > 0).sum(axis=1)
    size = values.shape[1]
    return np.asarray((size < least) | (directions > 0) & (size < directions + SPARE))


def unchanged(values: Floats, labels: Labels) -> str:
    """Say how many records stay as they are, since their group has one value in each column; nothing if none does."""
    alike = np.ones(int(labels.max()) + 1, dtype=np.bool_)
    first = np.unique(labels, return_index=True)[1]
    np.logical_and.at(alike, labels, (values == values[first[labels]]).all(axis=1))
    count = int(alike[labels].sum())
    stay = "stays as it is" if count == 1 else "stay as they are"
    return f"{count} of {counted(len(values), 'record')} {stay}: those of their group are equal" if count else ""


def rank(values: Floats) -> int:
    """Return how many directions the records differ in, by the cut that draws use."""
    singular = singular_values(standardised(values))
    return int((singular > _CUT * singular[:1]).sum()) if singular.size else 0


def draw_codes(codes: Labels, labels: Labels, generator: np.random.Generator, *, exact: bool) -> Labels:
    """Draw categories for every record, of each column by itself.

    Parameters
    ----------
    codes : ndarray of intp, shape (n, c)
    labels : ndarray of intp, shape (n,)
        Groups, 0 to g - 1.
    generator : numpy.random.Generator
    exact : bool
        Whether each group has each category as often as before, among records drawn at random. Otherwise they are
        drawn from the group's shares, to which one record with the shares of the file is added.

    Returns
    -------
    ndarray of intp, shape (n, c)
    """
    drawn = np.empty_like(codes)
    places = np.argsort(labels, kind="stable")
    for column in range(codes.shape[1]):
        chance = generator.random(len(codes))
        if exact:
            drawn[places, column] = codes[np.lexsort((chance, labels)), column]
        else:
            drawn[:, column] = _by_shares(codes[:, column], labels, chance)
    return drawn


def _by_shares(codes: Labels, labels: Labels, chance: Floats) -> Labels:
    groups, categories = int(labels.max()) + 1, int(codes.max()) + 1
    counts = np.bincount(labels * categories + codes, minlength=groups * categories).reshape(groups, categories)
    limits = np.cumsum(counts + counts.sum(axis=0) / len(codes), axis=1)
    limits = limits / limits[:, -1:] + np.arange(groups)[:, None]
    places = np.searchsorted(limits.ravel(), chance + labels, side="right") - labels * categories
    return np.asarray(np.minimum(places, categories - 1), dtype=np.intp)


def _draw_stacked(values: Floats, generator: np.random.Generator, *, exact: bool) -> Floats:
    """Draw for groups of one size, shape (groups, size, p)."""
    size = values.shape[1]
    means, scales, singular, turned = _decomposed(values)
    directions = int((singular > 0).sum(axis=1).max(initial=0))
    if size < directions + SPARE and directions:
        what = f"drawing a group of records that differ in {directions} directions"
        raise InfeasibleError.of("too-few-records", what=what, least=directions + SPARE, records=size)
    noise = generator.standard_normal((len(values), size, directions))
    if exact:
        noise -= noise.mean(axis=1, keepdims=True)
        # every basis is as likely as any other, as the triangle has no negative diagonal element
        noise, _ = orthogonal_triangular(noise)
    else:
        noise /= np.sqrt(size - 1)
    drawn = product(noise * singular[:, None, :directions], turned[:, :directions])
    return np.asarray(means + np.where(np.isinf(scales), 0.0, scales) * drawn)


def _decomposed(values: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Means and scales of groups, and S, shape (groups, r), and V' of their deviations in these scales."""
    means, scales, deviations = _standardised(values)
    _, singular, turned = singular_decomposition(deviations)
    singular[singular <= np.maximum(_CUT * singular[:, :1], _rounding(values, scales))] = 0.0
    return means, scales, singular, turned


def _standardised(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Means and scales, shape (groups, 1, p), and deviations from the means in these scales."""
    constant = values.max(axis=1, keepdims=True) == values.min(axis=1, keepdims=True)
    means = np.where(constant, values[:, :1], values.mean(axis=1, keepdims=True))
    deviations = values - means
    largest = np.abs(deviations).max(axis=1, keepdims=True)
    scales = np.where(largest > 0, largest, np.inf)
    return means, scales, deviations / scales


def _rounding(values: Floats, scales: Floats) -> Floats:
    """Size that singular values of exact relations may have from the rounding of the values, shape (groups, 1)."""
    relative = (np.abs(values).max(axis=1) / scales[:, 0]).max(axis=1, initial=0.0, keepdims=True)
    return np.asarray(8 * np.finfo(np.float64).eps * np.sqrt(values.shape[1] * values.shape[2]) * relative)
