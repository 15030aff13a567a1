"""Which cells of a record may be missing: what rules say of it, what they demand then, and what they give away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, combinations
from math import prod

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError
from masktron.measures.keys.combinations import combined

type Allowed = Callable[[NDArray[np.intp], NDArray[np.bool_]], NDArray[np.bool_]]
"""Takes records, shape (r,), and the cells suppressed in each, shape (r, m); tells which may stand so, shape (r,)."""

type Admissible = Callable[[NDArray[np.intp], NDArray[np.int32]], NDArray[np.bool_]]
"""Takes records, shape (r,), and codes of all keys of each, shape (r, m); tells which obey the rules, shape (r,)."""

_MOST_COMPANIONS = 8
"""Fields of which every set is tried as a consequence."""
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
    alike, _ = combined(list(codes.T), len(codes))
    known: dict[tuple[int, bytes], bool] = {}

    def asked(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        numbers, _ = combined([alike[records], *which.T], len(records))
        _, first, own = np.unique(numbers, return_index=True, return_inverse=True)
        questions = [(int(alike[records[at]]), which[at].tobytes()) for at in first]
        new = [at for at, one in zip(first, questions, strict=True) if one not in known]
        if new:
            answers = allowed(records[new], which[new])
            for at, answer in zip(new, answers, strict=True):
                known[int(alike[records[at]]), which[at].tobytes()] = bool(answer)
        return np.array([known[one] for one in questions], dtype=np.bool_)[own]

    return asked


class Consequences:
    """Fields that are no keys, and are suppressed where a rule does not let them stand beside a suppressed key.

    Without an age nobody can be "retired" by a rule of ages; without both, the record may stand.

    Parameters
    ----------
    allowed : Allowed
        Over m keys and q companions, which come last.
    present : ndarray of bool, shape (n, q)
        Where a companion has a value.
    cost : sequence of float, shape (q,)
        Of suppressing a cell of each, above 0.

    Raises
    ------
    UsageError
        There are more than 8 companions, or shapes differ.
    """

    def __init__(self, allowed: Allowed, present: NDArray[np.bool_], cost: Sequence[float]) -> None:
        if present.ndim != 2 or present.shape[1] != len(cost):
            raise UsageError("the companions do not have a cost each")
        if len(cost) > _MOST_COMPANIONS:
            raise UsageError(
                f"{len(cost)} fields would be suppressed as consequences, and at most {_MOST_COMPANIONS} can be",
                hint="name fewer keys, or recode some of them",
            )
        self._allowed = allowed
        self._present = present
        places = range(len(cost))
        sets = chain.from_iterable(combinations(places, size) for size in range(len(cost) + 1))
        self._sets = sorted(sets, key=lambda own: (sum(cost[at] for at in own), own))

    def __call__(self, records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell which records may stand with these keys missing, if companions are missing too."""
        return self._cheapest(records, which)[0]

    def also(self, records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the companions that are suppressed with these keys, shape (r, q): the cheapest that are allowed."""
        return self._cheapest(records, which)[1]

    def _cheapest(
        self, records: NDArray[np.intp], which: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        fine = np.zeros(len(records), dtype=np.bool_)
        found = np.zeros((len(records), self._present.shape[1]), dtype=np.bool_)
        for own in self._sets:
            # a set with a companion that has no value is, without it, a cheaper set that was tried before
            left = np.flatnonzero(~fine & self._present[records][:, own].all(axis=1))
            if not len(left):
                continue
            also = np.zeros((len(left), found.shape[1]), dtype=np.bool_)
            also[:, own] = True
            accepted = left[self._allowed(records[left], np.hstack([which[left], also]))]
            fine[accepted] = True
            found[np.ix_(accepted, own)] = True
        return fine, found


def derivable(
    codes: NDArray[np.int32],
    records: NDArray[np.intp],
    which: NDArray[np.bool_],
    admissible: Admissible,
    *,
    values: Sequence[int],
    least: int = 2,
) -> NDArray[np.bool_]:
    """Find suppressed cells that the rules give away: fewer than `least` values of the field are possible.

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
    least : int
        Possible values from which on a cell is no longer given away; at least 2.

    Returns
    -------
    ndarray of bool, shape (r, m)
        Cells of `which` that are given away.

    Raises
    ------
    UsageError
        `least` is below 2.

    Notes
    -----
    Rules alone are looked at, with what is written of this very record. What an intruder adds of his own, such as
    that some value is rare, is not. l = 2 is the least for which a cell is not known for certain.
    """
    if least < 2:
        raise UsageError(f"least must be at least 2, not {least}")
    which = which & (codes[records] >= 0)
    given = np.zeros(which.shape, dtype=np.bool_)
    patterns, pattern_of = np.unique(which, axis=0, return_inverse=True)
    for at, pattern in enumerate(patterns):
        fields = np.flatnonzero(pattern)
        if len(fields):
            rows = np.flatnonzero(pattern_of.ravel() == at)
            given[np.ix_(rows, fields)] = ~_open(codes, records[rows], fields, admissible, values, least)
    return given


def _open(
    codes: NDArray[np.int32],
    records: NDArray[np.intp],
    fields: NDArray[np.intp],
    admissible: Admissible,
    values: Sequence[int],
    least: int,
) -> NDArray[np.bool_]:
    """Tell which fields of records have `least` values or more in admissible completions, shape (r, fields).

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
            enough[left, place] = own[left].sum(axis=1) >= least
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


def hidden_from_rules(
    codes: NDArray[np.int32], admissible: Admissible, *, values: Sequence[int], least: int = 2
) -> Allowed:
    """Return what allows cells to be suppressed only where the rules give none of them away.

    Parameters
    ----------
    codes : ndarray of int32, shape (n, m)
    admissible : Admissible
    values, least
        As for `derivable`.
    """

    def allowed(records: NDArray[np.intp], which: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return np.asarray(~derivable(codes, records, which, admissible, values=values, least=least).any(axis=1))

    return allowed
