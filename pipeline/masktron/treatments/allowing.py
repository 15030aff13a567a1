"""Which cells of a record may be missing: what rules say of it, what they demand then, and what they give away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.kernels.distinct import alike
from masktron.measures.keys.combinations import combined

type Allowed = Callable[[NDArray[np.intp], NDArray[np.bool_]], NDArray[np.bool_]]
"""Takes records, shape (r,), and the cells suppressed in each, shape (r, m); tells which may stand so, shape (r,)."""

type Admissible = Callable[[NDArray[np.intp], NDArray[np.int32]], NDArray[np.bool_]]
"""Takes records, shape (r,), and codes of all keys of each, shape (r, m); tells which obey the rules, shape (r,)."""

_MOST_COMPANIONS = 8
"""Fields of which every set is tried as a consequence."""
_MOST_LOOKED_AT = 300
"""Records that may be written alike, by which companions are chosen."""
_MOST_COMPLETIONS = 4096
"""Completions of one record that are tried."""
_STRIDE = 2_654_435_761
"""A prime, by the multiples of which all fields take many values."""
_AT_A_TIME = 1 << 18
"""Completions of all records that are judged in one go."""
_FIRST = 16
"""Completions of each record that are tried first; then twice as many of those that are still open."""


def allowed_fields(free: Sequence[NDArray[np.bool_]]) -> Allowed:
    """Return what allows a cell to be missing or not, whatever else is missing in the record.

    Parameters
    ----------
    free : sequence of ndarray of bool, shape (n,) each
        Of each field: in which records it may be missing.
    """
    table = np.column_stack(list(free))

    def allowed(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.asarray(~(which & ~table[records]).any(axis=1))

    return allowed


def allowed_by_all(*parts: Allowed) -> Allowed:
    """Return what allows what all parts allow; a later one is asked only about what the earlier ones allow."""

    def allowed(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        fine = np.ones(len(records), dtype=np.bool_)
        for part in parts:
            left = np.flatnonzero(fine)
            if len(left):
                fine[left] = part(records[left], which[left])
        return fine

    return allowed


def asked_once(codes: NDArray[np.int32], allowed: Allowed) -> Allowed:
    """Return what asks once about records that are alike in these codes, with the same cells suppressed.

    Parameters
    ----------
    codes : ndarray of int32, shape (n, m)
        Of all that the answer depends on.
    allowed : Allowed
        Over the same m fields.
    """
    same, _ = combined(list(codes.T), len(codes))
    known: dict[tuple[int, bytes], bool] = {}

    def asked(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        numbers, _ = combined([same[records], *which.T], len(records))
        _, first, own = np.unique(numbers, return_index=True, return_inverse=True)
        questions = [(int(same[records[at]]), which[at].tobytes()) for at in first]
        new = [at for at, one in zip(first, questions, strict=True) if one not in known]
        if new:
            answers = allowed(records[new], which[new])
            for at, answer in zip(new, answers, strict=True):
                known[int(same[records[at]]), which[at].tobytes()] = bool(answer)
        return np.array([known[one] for one in questions], dtype=np.bool_)[own]

    return asked


class Consequences:
    """Fields that are no keys, and are suppressed where a rule does not let them stand beside a suppressed key.

    Without an age nobody can be "retired" by a rule of ages; without both, the record may stand.

    The companions of a written combination of keys are the same in all records, whatever their suppressed values and
    the companions themselves are: those that let most of the records stand that may be written so, by the keys that
    are shown; of as good ones the cheapest. A record that may not stand with these is not written so.

    Parameters
    ----------
    allowed : Allowed
        Over m keys and q companions, which come last.
    keys : ndarray of int, shape (n, m)
        Codes of the keys, -1 where missing.
    present : ndarray of bool, shape (n, q)
        Where a companion has a value.
    cost : sequence of float, shape (q,)
        Of suppressing a cell of each, above 0.
    order : ndarray of intp, shape (n,)
        The records in an order that is drawn from the secret of the release.

    Raises
    ------
    UsageError
        There are more than 8 companions, or shapes differ.

    Notes
    -----
    The set of companions is a function of the written combination, and of all records that may be written so. It is
    the same in two records that are written same, and exchanging their originals exchanges two of these records, of
    which the set does not depend. So the gaps tell nothing of either that the combination does not. Where many
    may be written so, 300 are looked at: those whose keys are rarest, which are likelier to be, and of as rare ones
    the first in the drawn order. Exchanging two originals is then as probable as exchanging their places in it.
    """

    def __init__(
        self,
        allowed: Allowed,
        keys: NDArray[np.int32],
        present: NDArray[np.bool_],
        cost: Sequence[float],
        order: NDArray[np.intp],
    ) -> None:
        if present.ndim != 2 or present.shape[1] != len(cost) or not len(keys) == len(present) == len(order):
            raise UsageError.of("bad-arrays", detail="companions need one cost each, and keys of the same records")
        if len(cost) > _MOST_COMPANIONS:
            raise UsageError.of(
                "too-many-values",
                number=len(cost),
                things="fields to suppress as a consequence",
                most=_MOST_COMPANIONS,
            )
        self._allowed = allowed
        self._keys = keys
        self._present = present
        places = range(len(cost))
        sets = sorted(
            chain.from_iterable(combinations(places, size) for size in range(len(cost) + 1)),
            key=lambda own: (sum(cost[at] for at in own), own),
        )
        self._sets = np.array([[at in own for at in places] for own in sets], dtype=np.bool_).reshape(len(sets), -1)
        self._chosen: dict[bytes, int] = {}
        self._members: dict[bytes, dict[bytes, NDArray[np.intp]]] = {}
        numbers, _ = alike(keys.T, len(keys))
        self._by_rarity = order[np.argsort(np.bincount(numbers)[numbers[order]], kind="stable")]

    def __call__(self, records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell which records may stand with these keys missing, if companions are missing too."""
        return self._with_companions(records, which)[0]

    def also(self, records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the companions that are suppressed with these keys, shape (r, q)."""
        return self._with_companions(records, which)[1]

    def _with_companions(
        self, records: NDArray[np.intp], which: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        also = np.zeros((len(records), self._present.shape[1]), dtype=np.bool_)
        if not len(records):
            return np.zeros(0, dtype=np.bool_), also
        written = np.where(which, -1, self._keys[records])
        rows, row_of = np.unique(written, axis=0, return_inverse=True)
        self._choose([row for row in rows if row.tobytes() not in self._chosen])
        chosen = np.array([self._chosen[row.tobytes()] for row in rows], dtype=np.intp)
        also = self._sets[chosen[row_of.ravel()]] & self._present[records]
        fine = self._allowed(records, np.hstack([which, also]))
        also[~fine] = False
        return fine, also

    def _choose(self, rows: Sequence[NDArray[np.int32]]) -> None:
        """Find the companions of written combinations."""
        members = [self._may_be_written(row) for row in rows]
        sizes = np.array([len(own) for own in members], dtype=np.intp)
        best, most = np.zeros(len(rows), dtype=np.intp), np.full(len(rows), -1, dtype=np.intp)
        for at, own in enumerate(self._sets):
            open_rows = np.flatnonzero(most < sizes)
            if not len(open_rows):
                break
            records = np.concatenate([members[row] for row in open_rows])
            of_row = np.repeat(open_rows, sizes[open_rows])
            gaps = np.array([rows[row] < 0 for row in open_rows.tolist()], dtype=np.bool_)
            which = np.repeat(gaps, sizes[open_rows], axis=0)
            fine = self._allowed(records, np.hstack([which, own & self._present[records]]))
            found = np.bincount(of_row[fine], minlength=len(rows))
            better = found > most
            best[better], most[better] = at, found[better]
        self._chosen.update((row.tobytes(), int(one)) for row, one in zip(rows, best, strict=True))

    def _may_be_written(self, row: NDArray[np.int32]) -> NDArray[np.intp]:
        """Return the records with the keys that are shown, those first whose keys are rarest."""
        shown = row >= 0
        known = self._members.get(shown.tobytes())
        if known is None:
            known = self._members[shown.tobytes()] = self._parted(shown)
        return known[row[shown].tobytes()]

    def _parted(self, shown: NDArray[np.bool_]) -> dict[bytes, NDArray[np.intp]]:
        """Return the records by what they have in the keys that are shown."""
        own = np.ascontiguousarray(self._keys[self._by_rarity][:, shown])
        numbers, count = alike(own.T, len(own))
        order = np.argsort(numbers, kind="stable")
        starts = np.searchsorted(numbers[order], np.arange(count))
        parts = np.split(self._by_rarity[order], starts[1:])
        return {own[order[at]].tobytes(): part[:_MOST_LOOKED_AT] for at, part in zip(starts, parts, strict=True)}


def derivable(
    codes: NDArray[np.int32],
    records: NDArray[np.intp],
    which: NDArray[np.bool_],
    admissible: Admissible,
    *,
    values: Sequence[int],
) -> NDArray[np.bool_]:
    """Find suppressed cells that the rules give away: fewer than two values of the field are possible.

    A value is possible if it stands in some completion of the suppressed cells of the record that obeys the rules.
    Where there are more than 4,096 completions, so many are tried, spread over all; what is not found possible among
    them counts as impossible, so that a cell is rather taken for given away than not.

    Parameters
    ----------
    codes : ndarray of int32, shape (n, m)
        Of the original, -1 where missing. A value that is missing in the original is not completed.
    records : ndarray of intp, shape (r,)
    which : ndarray of bool, shape (r, m)
        The cells that are suppressed in each.
    admissible : Admissible
    values : sequence of int, shape (m,)
        How many values each field has: codes from 0.

    Returns
    -------
    ndarray of bool, shape (r, m)
        Cells of `which` that are given away.

    Notes
    -----
    Rules alone are looked at, with what is written of this very record. What an intruder adds of his own, such as
    that some value is rare, is not. l = 2 is the least for which a cell is not known for certain.
    """
    which = which & (codes[records] >= 0)
    given = np.zeros(which.shape, dtype=np.bool_)
    patterns, pattern_of = np.unique(which, axis=0, return_inverse=True)
    for at, pattern in enumerate(patterns):
        fields = np.flatnonzero(pattern)
        if len(fields):
            rows = np.flatnonzero(pattern_of.ravel() == at)
            given[np.ix_(rows, fields)] = ~_open(codes, records[rows], fields, admissible, values)
    return given


def _open(
    codes: NDArray[np.int32],
    records: NDArray[np.intp],
    fields: NDArray[np.intp],
    admissible: Admissible,
    values: Sequence[int],
) -> NDArray[np.bool_]:
    """Tell which fields of records have two values or more in admissible completions, shape (r, fields).

    A record is left as soon as all its fields have: most need a few completions of thousands.
    """
    completions = _completions([values[field] for field in fields])
    seen = [np.zeros((len(records), values[field]), dtype=np.bool_) for field in fields]
    enough = np.zeros((len(records), len(fields)), dtype=np.bool_)
    left, start, size = np.arange(len(records)), 0, _FIRST
    while start < len(completions) and len(left):
        part = completions[start : start + max(1, min(size, _AT_A_TIME // len(left)))]
        fine = _judged(codes, records[left], fields, part, admissible)
        for place, own in enumerate(seen):
            for value in np.unique(part[:, place]):
                own[left, value] |= fine[:, part[:, place] == value].any(axis=1)
            enough[left, place] = own[left].sum(axis=1) >= 2
        left = left[~enough[left].all(axis=1)]
        start, size = start + len(part), size * 2
    return enough


def _judged(
    codes: NDArray[np.int32],
    records: NDArray[np.intp],
    fields: NDArray[np.intp],
    completions: NDArray[np.int32],
    admissible: Admissible,
) -> NDArray[np.bool_]:
    """Tell which completions of which records obey the rules, shape (r, completions)."""
    filled = np.repeat(codes[records], len(completions), axis=0)
    filled[:, fields] = np.tile(completions, (len(records), 1))
    fine = admissible(np.repeat(records, len(completions)), filled)
    return fine.reshape(len(records), len(completions))


def _completions(sizes: Sequence[int]) -> NDArray[np.int32]:
    """Return all combinations of values, in an order in which all fields vary; of too many, the first in it."""
    total = prod(sizes)
    found = np.empty((min(total, _MOST_COMPLETIONS), len(sizes)), dtype=np.int32)
    for number, row in enumerate(found):
        rest = number * _STRIDE % total
        for place, size in reversed([*enumerate(sizes)]):
            rest, row[place] = divmod(rest, size)
    return found


def hidden_from_rules(codes: NDArray[np.int32], admissible: Admissible, *, values: Sequence[int]) -> Allowed:
    """Return what allows cells to be suppressed only where the rules give none of them away.

    Parameters
    ----------
    codes : ndarray of int32, shape (n, m)
    admissible : Admissible
    values
        As for `derivable`.
    """

    def allowed(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.asarray(~derivable(codes, records, which, admissible, values=values).any(axis=1))

    return allowed
