"""Persons that are alike only because they live together: groups of members that stand in one unit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from masktron.counts import counted
from masktron.results import ConcernResult


def units_behind(groups: NDArray[np.intp], units: NDArray[np.intp]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which records share their group with records of their own unit alone, or but for one record.

    Parameters
    ----------
    groups, units : ndarray of intp, shape (n,)
        Of each record the group, and the unit in which it stands.

    Returns
    -------
    within : ndarray of bool, shape (n,)
        All records of the group, of which there are several, stand in one unit.
    but_one : ndarray of bool, shape (n,)
        All of them but one stand in one unit, and these are several: they know the value of the other one.
    """
    pairs, many = np.unique(np.stack([groups, units]), axis=1, return_counts=True)
    sizes = np.bincount(groups)
    most = np.zeros(len(sizes), dtype=np.intp)
    np.maximum.at(most, pairs[0], many)
    within, but_one = (most == sizes) & (sizes > 1), (most == sizes - 1) & (most > 1)
    return within[groups], but_one[groups]


def groups_within_units(
    blocks: Iterable[NDArray[np.intp]], units: NDArray[np.intp], names: tuple[str, str]
) -> Iterator[ConcernResult]:
    """Yield what there is to say of members that are alike others of their own unit alone.

    Parameters
    ----------
    blocks : iterable of ndarray of intp, each of shape (n,)
        Of each block the group of each member; not of blocks that a method draws record by record.
    units : ndarray of intp, shape (n,)
    names : tuple of str
        What a member and a unit are called.
    """
    within, but_one = np.zeros(len(units), dtype=np.bool_), np.zeros(len(units), dtype=np.bool_)
    for groups in blocks:
        inside, nearly = units_behind(groups, units)
        within |= inside
        but_one |= nearly
    but_one &= ~within
    member, unit = names
    told = []
    if alone := int(within.sum()):
        told.append(
            f"{alone:,} of them are alike others of the same {unit} only, so that what is published is made of that "
            f"{unit} alone"
        )
    if left := int(but_one.sum()):
        told.append(
            f"{left:,} stand in groups of which all but one are of the same {unit}, and who knows these computes the "
            "values of the one from a mean"
        )
    if told:
        yield ConcernResult(
            "within-unit",
            "",
            alone + left,
            len(units),
            f"of {counted(len(units), member)}, {'; '.join(told)}",
            f"protect {unit} (without --protect), or a larger k",
        )
