"""Variants of record linkage: intruders who know less, who may be off by one, or who are after a group."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import require_fitting, require_value
from masktron.errors import UsageError
from masktron.kernels.distinct import alike, codes_of
from masktron.kernels.nearest import nearest_places, squared_distances
from masktron.measures.base import FieldPairs, require_comparable, require_finite
from masktron.measures.linkage import (
    TREE_FROM,
    credit_of_fields,
    linkage_of_fields,
    linkage_points,
)


def by_groups(
    original: NDArray[np.float64],
    masked: NDArray[np.float64],
    groups: Sequence[Sequence[int]],
    *,
    workers: int = 1,
) -> float:
    """Compute `linkage` over each group of variables by itself, and average.

    Each group counts the same, however many variables it has. Ties, missing values and constant variables are treated
    as in `linkage`.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        Row i of both belongs to the same respondent; NaN where missing.
    groups : sequence of sequence of int
        Columns of each group, from 0; a column may be in several groups, or in none.
    workers : int
        Threads for a file of many records; the result does not depend on them.

    Returns
    -------
    float
        Per cent; 0 without records.

    Raises
    ------
    UsageError
        The shapes differ, a value is infinite, there is no group, or a group is empty, names a column twice or one
        that is not there.

    Notes
    -----
    A reading of DBRL in constrained microaggregation (2009, section 5), whose groups are the blocks that are masked
    together.
    """
    require_comparable(original, masked)
    require_value(groups, "groups", "one group of variables or more", "none")
    for group in groups:
        _require_columns(group, original.shape[1])
    return groups_of_fields(FieldPairs.over(original, masked), groups=groups, workers=workers)


def groups_of_fields(pairs: FieldPairs, *, groups: Sequence[Sequence[int]], workers: int = 1) -> float:
    """Compute `by_groups` field by field, of groups of fields that are there."""
    return _mean([linkage_of_fields(pairs.of(group), workers=workers) for group in groups])


def by_knowledge(
    original: NDArray[np.float64], masked: NDArray[np.float64], known: int, *, workers: int = 1
) -> float:
    """Compute `linkage` for intruders who know the first 1, 2, ... variables, and average.

    Ties, missing values and constant variables are treated as in `linkage`.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        Row i of both belongs to the same respondent; NaN where missing. The order of the columns matters.
    known : int
        How many variables the best informed intruder knows, 1 to p.
    workers : int
        Threads for a file of many records; the result does not depend on them.

    Returns
    -------
    float
        Per cent; 0 without records.

    Raises
    ------
    UsageError
        The shapes differ, a value is infinite, or there are not that many variables.

    Notes
    -----
    After Domingo-Ferrer and Torra (2001), A quantitative comparison of disclosure control methods for microdata. With
    6 of 13 variables it is the reading of constrained microaggregation (2009, section 5) that comes closest to the
    figures there.
    """
    require_comparable(original, masked)
    require_value(
        1 <= known <= original.shape[1], "known", f"from 1 to {original.shape[1]}, the number of variables", known
    )
    return knowledge_of_fields(FieldPairs.over(original, masked), known=known, workers=workers)


def knowledge_of_fields(pairs: FieldPairs, *, known: int, workers: int = 1) -> float:
    """Compute `by_knowledge` field by field, for no more fields than there are."""
    return _mean([linkage_of_fields(pairs.of(range(j)), workers=workers) for j in range(1, known + 1)])


def second(original: NDArray[np.float64], masked: NDArray[np.float64], *, workers: int = 1) -> float:
    """Compute the share of masked records whose own original is the nearest or the second nearest (DBRL-2).

    Distance, missing values and constant variables are those of `linkage`. Originals that are equally near stand in
    random order: with a originals nearer than the own one and t as near, itself included, a record counts
    ``(2 - a) / t``, at least 0 and at most 1. With one place in the order instead of two that is `linkage`, which is
    never larger.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        Row i of both belongs to the same respondent; NaN where missing.
    workers : int
        Threads for a file of many records; the result does not depend on them.

    Returns
    -------
    float
        Per cent of the n records; 0 without records.

    Raises
    ------
    UsageError
        The shapes differ, or a value is infinite.

    Notes
    -----
    Source: class-restricted clustering (2013), section 6.1; Pagliuca and Seri (1999).
    """
    require_comparable(original, masked)
    if len(original) >= TREE_FROM:
        return second_of_fields(FieldPairs.over(original, masked), workers=workers)
    if not len(original):
        return 0.0
    return 100.0 * float(_credit_of_depth(*linkage_points(original, masked), 2).sum()) / len(original)


def second_of_fields(pairs: FieldPairs, *, workers: int = 1) -> float:
    """Compute `second` field by field, for so many records that a tree is worth loading."""
    return 100.0 * float(credit_of_fields(pairs, workers, 2).sum()) / pairs.records


def group_linkage(original: NDArray[np.float64], masked: NDArray[np.float64], kept: NDArray[np.float64]) -> float:
    """Compute the share of masked records whose nearest original has the values of their own in other variables.

    An intruder links a record through the masked variables; the link counts as correct if the original that was found
    agrees with the own one in all variables that are released as they are. Of t nearest originals, the share that
    agrees counts. Distance, missing values and constant variables are those of `linkage`, which is never larger; it
    is the same where no two records agree.

    Parameters
    ----------
    original, masked : ndarray of float64, shape (n, p)
        The masked variables; row i of both belongs to the same respondent; NaN where missing.
    kept : ndarray of float64, shape (n, q), q at least 1
        The other variables, the same in both files. Values agree if they are equal as numbers or both are missing.

    Returns
    -------
    float
        Per cent of the n records; 0 without records.

    Raises
    ------
    UsageError
        The shapes differ, a value is infinite, or there is no other variable.

    Notes
    -----
    Source: hybrid microdata through microaggregation (2010), section 5.3.
    """
    require_comparable(original, masked)
    fitting = kept.ndim == 2 and len(kept) == len(original) and kept.shape[1] > 0
    require_fitting(fitting, kept=kept, original=original)
    require_finite(kept)
    if not len(original):
        return 0.0
    known, released = linkage_points(original, masked)
    label, _ = alike(map(codes_of, kept.T), len(kept))
    return 100.0 * float(_agreement(known, released, label).sum()) / len(original)


def _require_columns(group: Sequence[int], p: int) -> None:
    if not group or len(set(group)) < len(group) or not all(0 <= column < p for column in group):
        expected = f"different columns from 0 to {p - 1}"
        raise UsageError.of("bad-value", name="each group", expected=expected, given=repr(list(group)))


def _mean(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares)


def _credit_of_depth(known: NDArray[np.float64], released: NDArray[np.float64], depth: int) -> NDArray[np.float64]:
    """Credit as `credit_through_tree` does, without loading the compiler."""
    n = len(known)
    if not known.shape[1]:
        return np.full(n, min(1.0, depth / n))
    places, people = np.unique(known, axis=0, return_counts=True)
    own = squared_distances(released, known)
    credit = np.empty(n)
    for near in nearest_places(places, released, depth):
        reach = near.spread(own[near.points])
        those = people[near.place]
        # if the own place is in no list, depth people are nearer than it
        nearer = np.add.reduceat(np.where(near.squared < reach, those, 0), near.starts)
        ties = np.add.reduceat(np.where(near.squared == reach, those, 0), near.starts)
        credit[near.points] = np.clip((depth - nearer) / np.maximum(ties, 1), 0.0, 1.0)
    return credit


def _agreement(
    known: NDArray[np.float64], released: NDArray[np.float64], label: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Share of the nearest originals of each record that have its label."""
    n = len(known)
    if not known.shape[1]:
        return np.bincount(label)[label] / n
    place, _ = alike(map(codes_of, known.T), n)
    people = np.bincount(place)
    first = np.empty(len(people), dtype=np.intp)
    # of equal records the last assignment stays
    first[place[::-1]] = np.arange(n)[::-1]
    labels = int(label.max()) + 1
    pairs, counts = np.unique(place * labels + label, return_counts=True)
    share = np.empty(n)
    for near in nearest_places(known[first], released, 1):
        best = np.minimum.reduceat(near.squared, near.starts)
        tied = near.squared == near.spread(best)
        pair = near.place * labels + near.spread(label[near.points])
        at = np.minimum(np.searchsorted(pairs, pair), len(pairs) - 1)
        agreeing = np.where(tied & (pairs[at] == pair), counts[at], 0)
        ties = np.add.reduceat(np.where(tied, people[near.place], 0), near.starts)
        share[near.points] = np.add.reduceat(agreeing, near.starts) / ties
    return share
