"""Which records hold the values of a prototype."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.masking.views import Views
from masktron.methods.grouping import Grouping
from masktron.read.lexical import parse_number

MISSING = -1
"""Code of a cell without a value."""


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Prototypes compared with the records of the file.

    Numbers are equal if their values are, whatever their spelling; categories, if their texts are. A record holds a
    prototype if it has its values in all fields in which the prototype has one; a prototype without any is nobody's.

    Attributes
    ----------
    equal : ndarray of bool, shape (n,)
        Records that hold the prototype of their group.
    held : ndarray of bool, shape (groups,)
        Groups with such a record.
    in_file : ndarray of intp, shape (groups,)
        Records of the whole file that hold the prototype.
    alone : ndarray of bool, shape (groups,)
        Groups that publish a value of a field of which one record of the group alone has a value, and fewer than k
        records of the file have this one.
    """

    equal: NDArray[np.bool_]
    held: NDArray[np.bool_]
    in_file: NDArray[np.intp]
    alone: NDArray[np.bool_]
    _own: NDArray[np.intp]
    _written: NDArray[np.intp]
    _labels: NDArray[np.intp]

    @classmethod
    def of(cls, views: Views, variables: Sequence[str], grouping: Grouping, lexemes: NDArray[np.object_]) -> Held:
        """Compare the prototypes of a block, lexemes of shape (groups, p), with all records."""
        pairs = [_coded(views, name, lexemes[:, at]) for at, name in enumerate(variables)]
        own, written = (np.stack(codes, axis=1) for codes in zip(*pairs, strict=True))
        masked = written[grouping.labels]
        equal = ((own == masked) | (masked == MISSING)).all(axis=1) & (masked != MISSING).any(axis=1)
        alone = [_alone(own[:, at], written[:, at], grouping, views.k) for at in range(len(variables))]
        return cls(
            equal=equal,
            held=np.bincount(grouping.labels, equal, minlength=grouping.groups) > 0,
            in_file=_in_file(own, written),
            alone=np.any(alone, axis=0),
            _own=own,
            _written=written,
            _labels=grouping.labels,
        )

    def unchanged(self, position: int) -> NDArray[np.bool_]:
        """Groups with a value of the field at a position, in which every record gets its own back."""
        own, written = self._own[:, position], self._written[:, position]
        changed = np.bincount(self._labels, own != written[self._labels], minlength=len(written))
        return np.asarray((written != MISSING) & (changed == 0))


def _coded(views: Views, name: str, texts: NDArray[np.object_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Code the values of a field in the records and in the prototypes alike; `MISSING` where there is none."""
    column = views.columns[name]
    present = column.present
    if name in views.numeric:
        codes = views.codes.get(name, frozenset())
        written = np.array([parse_number(text or "") for text in texts.tolist()])
        there = ~np.isnan(written) & ~np.isin(written, [float(code) for code in codes])
        cells = np.concatenate([views.values[name], written])
        shown = np.concatenate([~np.isnan(views.values[name]), there])
    else:
        known = set(column.lexemes[present].tolist())
        there = np.array([text in known for text in texts.tolist()], dtype=np.bool_)
        cells = np.array([text or "" for text in (*column.lexemes.tolist(), *texts.tolist())])
        shown = np.concatenate([present, there])
    _, numbered = np.unique(cells, return_inverse=True)
    coded = np.where(shown, numbered.ravel(), MISSING).astype(np.intp)
    return coded[: views.n], coded[views.n :]


def _in_file(own: NDArray[np.intp], written: NDArray[np.intp]) -> NDArray[np.intp]:
    """How many records of the file hold each prototype, pattern by pattern of missing values."""
    found = np.zeros(len(written), dtype=np.intp)
    patterns, which = np.unique(written == MISSING, axis=0, return_inverse=True)
    for at, missing in enumerate(patterns):
        groups = np.flatnonzero(which.ravel() == at)
        if missing.all():
            continue
        cells = np.concatenate([own[:, ~missing], written[np.ix_(groups, ~missing)]])
        _, alike = np.unique(cells, axis=0, return_inverse=True)
        counts = np.bincount(alike.ravel()[: len(own)], minlength=int(alike.max()) + 1)
        found[groups] = counts[alike.ravel()[len(own) :]]
    return found


def _alone(own: NDArray[np.intp], written: NDArray[np.intp], grouping: Grouping, k: int) -> NDArray[np.bool_]:
    """Groups that publish the only value of a field that their records have, where it is rare in the file."""
    there = own != MISSING
    single = np.bincount(grouping.labels, there, minlength=grouping.groups) == 1
    value = np.full(grouping.groups, MISSING, dtype=np.intp)
    value[grouping.labels[there]] = own[there]
    common = np.bincount(own[there], minlength=max(int(own.max(initial=0)), int(written.max(initial=0))) + 1)
    return np.asarray(single & (written != MISSING) & (written == value) & (common[value] < k))
