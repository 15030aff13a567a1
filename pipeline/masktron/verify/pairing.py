"""Which record of the original a masked record was made of."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.errors import UsageError
from masktron.problems.problem import Field
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.write.manifest import DescribedRelease

UNMASKED = (Role.IDENTIFIER, Role.RECORD_ID, Role.WEIGHT, Role.UNTOUCHED, Role.QUASI_IDENTIFIER)
"""Roles of fields that masking leaves as they are."""
UNPAIRED = "nothing says which masked record belongs to which of the original: they may be in random order"

_DECIMAL = re.compile(r"[+-]?\d+\.\d*")


@dataclass(frozen=True, slots=True)
class Pairing:
    """How the records of two files belong together.

    Attributes
    ----------
    rows : ndarray of intp, shape (n,)
        For each masked record its row in the original; where nobody knows, rows of the original in its order.
    known : bool
    note : str
        How it is known; empty with a manifest.
    """

    rows: NDArray[np.intp]
    known: bool
    note: str


@dataclass(frozen=True, slots=True)
class Stated:
    """What is said of the order of records where there is no manifest.

    Attributes
    ----------
    same_order : bool
        The masked records are in the order of the original.
    index : ndarray of intp, shape (n,), or None
        For each masked record its row in the original, as the indices of two data frames have it.
    """

    same_order: bool = False
    index: NDArray[np.intp] | None = None


NOTHING_STATED = Stated()


def paired(
    released: Dataset, source: Dataset, described: DescribedRelease | None, roles: Mapping[str, Role], stated: Stated
) -> Pairing:
    """Put each masked record beside its own original: by the manifest, as somebody said, or by a key.

    Raises
    ------
    UsageError
        The numbers of records do not fit, or an unmasked field differs in records that are said to belong together.
    """
    if described is not None:
        known = rows_of(described, len(released), len(source))
        if known is None:
            raise _not_of_one_run(released, source, described.excluded)
        return Pairing(known, True, "")
    keys = _keys(released, source, roles)
    if stated.index is not None or stated.same_order:
        rows = np.arange(len(source)) if stated.index is None else stated.index
        _require_as_many(released, source, len(rows))
        _require_agreement(released, source, roles, rows, keys)
        note = (
            "record 1 of the masked file is taken for record 1 of the original, and so on, since their order is said "
            "to be the same"
            if stated.index is None
            else "the rows of both data frames were put together by their index"
        )
        return Pairing(rows, True, note)
    if keys:
        name, rows = next(iter(keys.items()))
        if roles.get(name) is Role.RECORD_ID or all(np.array_equal(rows, other) for other in keys.values()):
            _require_agreement(released, source, roles, rows, {})
            note = f"records are put together by {name}, which differs in every record and is in both files"
            return Pairing(rows, True, note)
    _require_as_many(released, source, len(source))
    return Pairing(np.arange(len(source)), False, f"{UNPAIRED}; so only files as a whole are compared")


def rows_of(described: DescribedRelease, released: int, original: int) -> NDArray[np.intp] | None:
    """Return the row of the original of each released record, given their numbers; None where these do not fit."""
    rows = np.setdiff1d(np.arange(original), np.array(described.excluded, dtype=np.intp)).astype(np.intp)
    if len(rows) != released or (described.order is not None and len(described.order) != len(rows)):
        return None
    return rows if described.order is None else rows[described.order]


def _require_as_many(released: Dataset, source: Dataset, n: int) -> None:
    if len(released) != n:
        raise _not_of_one_run(released, source)


def _not_of_one_run(released: Dataset, source: Dataset, excluded: Sequence[int] = ()) -> UsageError:
    left_out = f", of which {len(excluded)} were left out" if excluded else ""
    reason = f"{len(released)} masked records for {len(source)} of the original{left_out}"
    return UsageError.of("not-of-one-run", released.path, reason=reason)


def _keys(released: Dataset, source: Dataset, roles: Mapping[str, Role]) -> dict[str, NDArray[np.intp]]:
    """Rows of the original by each field that names the record, those that are declared as keys first.

    A declared key may lack records that were left out. Any other field that may be unmasked has to have the very
    values of the original, and each once.
    """
    found = {}
    for name in sorted(released.columns, key=lambda name: roles.get(name) is not Role.RECORD_ID):
        role = roles.get(name, Role.UNTOUCHED)
        if name in source.columns and role in UNMASKED:
            rows = _rows_by(released.columns[name], source.columns[name])
            if rows is not None and (role is Role.RECORD_ID or len(rows) == len(source)):
                found[name] = rows
    return found


def _rows_by(after: Column, before: Column) -> NDArray[np.intp] | None:
    """Row of the original of each masked value; None where a value is missing, repeated or new."""
    if not (after.present.all() and before.present.all()) or len(after) > len(before):
        return None
    if len(before.texts()) != len(before) or len(after.texts()) != len(after):
        return None
    places = {value: row for row, value in enumerate(before.lexemes)}
    rows = [places.get(value, -1) for value in after.lexemes]
    return None if -1 in rows else np.array(rows, dtype=np.intp)


def _require_agreement(
    released: Dataset,
    source: Dataset,
    roles: Mapping[str, Role],
    rows: NDArray[np.intp],
    keys: Mapping[str, NDArray[np.intp]],
) -> None:
    """Refuse pairs of records that differ in a field that was not masked."""
    differing = [name for name, own in keys.items() if not np.array_equal(own, rows)]
    differing += [
        name
        for name, column in released.columns.items()
        if name in source.columns
        and roles.get(name) in UNMASKED
        and _differ(column, source.columns[name].taken(rows))
    ]
    if differing:
        raise UsageError.of("records-differ", released.path, field=Field(differing[0]))


def _differ(after: Column, before: Column) -> bool:
    """Tell whether values differ, in more than the zeros at the end of a decimal: many formats do not keep these."""
    places = np.flatnonzero(~after.same_texts(before))
    pairs = zip(after.lexemes_of(places), before.lexemes_of(places), strict=True)
    return any(_without_zeros(one) != _without_zeros(other) for one, other in pairs)


def _without_zeros(lexeme: str | None) -> str | None:
    return lexeme.rstrip("0").rstrip(".") if lexeme is not None and _DECIMAL.fullmatch(lexeme) else lexeme
