"""Values that a group of masked records reveals: all of its members had them, and they are published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.classify.truth import satisfied
from masktron.constraints import Linear
from masktron.measures.unchanged import same_cells
from masktron.sources.column import Column


@dataclass(frozen=True, slots=True)
class Revealed:
    """What the groups of one block reveal.

    Attributes
    ----------
    cells : int
        Values of the original that were masked.
    revealed : int
        Of these, the ones that all members of a group of two or more had and that are published, and those that
        follow from others, since the published values meet an inequality of the rules with equality.
    """

    cells: int
    revealed: int

    @property
    def share(self) -> float:
        """Per cent of the values; NaN where there are none."""
        return 100.0 * self.revealed / self.cells if self.cells else float("nan")


def revealed(
    names: Iterable[str],
    original: Mapping[str, Column],
    masked: Mapping[str, Column],
    groups: NDArray[np.intp],
    relations: Iterable[Linear] = (),
) -> Revealed:
    """Count the values that a group reveals, whatever its size.

    Records that share their published values of a block form a group. It reveals its value of a field where every
    member had this value before masking. Who finds a respondent in such a group, and no more than the group, has the
    true value: that of a lone record is `unchanged`, and no group of its own. A field with the same value in every
    record that has one reveals nothing of a group, and does not count as revealed.

    A group reveals a value of each member as well where its published values meet an inequality of the rules with
    equality, and every member did. A <= B holds in every record, so means with A = B say that all members have A = B.
    Each such equality gives one value from the others, unless it follows from equalities of the rules, from other
    such ones, or from values that are revealed by themselves.

    Parameters
    ----------
    names : iterable of str
        The fields of a block.
    original, masked : mapping of str to Column
        At least these fields, the same records in the same order. A field of `relations` that is not masked stands in
        the original alone.
    groups : ndarray of intp, shape (n,)
        Numbers of the groups from 0, without gaps.
    relations : iterable of Linear
        Equalities and ``<=`` that hold in every record.

    Returns
    -------
    Revealed
        Numbers are compared as numbers, all else as text. What the original does not have is no value: it is not
        among the cells, and a group reveals nothing of a field that one of its members did not have.

    Notes
    -----
    This is homogeneity as in l-diversity with l = 1 (Machanavajjhala and others 2007), for the masked fields
    themselves. A mean of values that cannot be negative is 0 only where all of them are. Every value that all members
    share is unchanged as well. Time is linear in the cells.
    """
    sizes = np.bincount(groups)
    first = np.zeros(len(sizes), dtype=np.intp)
    first[groups[::-1]] = np.arange(len(groups) - 1, -1, -1)
    cells = found = 0
    known: dict[str, NDArray[np.bool_]] = {}
    for name in names:
        column = original[name]
        cells += int(column.present.sum())
        known[name] = np.ones(len(sizes), dtype=np.bool_)
        if not _varies(column):
            continue
        own = column.present & same_cells(column, masked[name])
        # where all members have what is published and it is published alike, they had it alike; a field that follows
        # from others in each record is not published alike
        own &= _as_first(column, first[groups])
        known[name] = _all_of(own, groups, sizes)
        found += int(sizes[known[name]].sum())
    own_relations = [one for one in relations if not known.keys().isdisjoint(name for name, _ in one.terms)]
    return Revealed(cells, found + _following(own_relations, known, original, masked, groups))


def _following(
    relations: Sequence[Linear],
    known: Mapping[str, NDArray[np.bool_]],
    original: Mapping[str, Column],
    masked: Mapping[str, Column],
    groups: NDArray[np.intp],
) -> int:
    """Count the values that follow from others where groups meet inequalities with equality."""
    sizes = np.bincount(groups)
    met = [
        np.ones(len(sizes), dtype=np.bool_)
        if one.relation == "="
        else _all_of(_with_equality(one, original, masked), groups, sizes)
        for one in relations
    ]
    if not any(one.relation == "<=" and own.any() for one, own in zip(relations, met, strict=True)):
        return 0
    patterns, which = np.unique(np.column_stack([*met, *known.values()]), axis=0, return_inverse=True)
    records = np.bincount(which.ravel(), weights=sizes).astype(np.int64)
    coefficients = np.array([[float(dict(one.terms).get(name, 0)) for name in known] for one in relations])
    stated = np.array([one.relation == "=" for one in relations])
    return sum(
        int(count) * (_rank(coefficients[held][:, ~told]) - _rank(coefficients[stated][:, ~told]))
        for held, told, count in zip(
            patterns[:, : len(relations)], patterns[:, len(relations) :], records, strict=True
        )
    )


def _with_equality(
    relation: Linear, original: Mapping[str, Column], masked: Mapping[str, Column]
) -> NDArray[np.bool_]:
    """Which records meet an inequality with equality before and after masking; none, where all of the file do."""
    names = [name for name, _ in relation.terms]
    before = {name: original[name].values for name in names}
    after = {name: masked[name].values if name in masked else before[name] for name in names}
    equality = replace(relation, relation="=")
    met = satisfied(equality, before, {})
    varies = (satisfied(relation, before, {}) & ~met).any()
    return met & satisfied(equality, after, {}) if varies else np.zeros_like(met)


def _all_of(own: NDArray[np.bool_], groups: NDArray[np.intp], sizes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which groups of two or more have all of their members among these; shape (groups,)."""
    whole: NDArray[np.bool_] = np.bincount(groups[own], minlength=len(sizes)) == sizes
    return whole & (sizes > 1)


def _rank(rows: NDArray[np.float64]) -> int:
    return int(np.linalg.matrix_rank(rows)) if rows.size else 0


def _varies(column: Column) -> bool:
    """Whether two values of a column differ."""
    rows = np.flatnonzero(column.present)
    return bool(rows.size) and not _as_first(column, np.full(len(column), rows[0]))[rows].all()


def _as_first(column: Column, first: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which cells hold the value of another row each; shape (n,)."""
    same: NDArray[np.bool_] = column.values == column.values[first]
    numbers = column.is_number
    texts = np.flatnonzero(~(numbers & numbers[first]))
    same[texts] = column.taken(texts).same_texts(column.taken(first[texts]))
    return same
