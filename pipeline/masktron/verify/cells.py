"""Cells as numbers and groups, for all steps: what is equal, what a text denotes, who is of one household."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Indices
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_SPACE = " \t\r\n"


def number_of(text: str) -> Fraction | None:
    """Return the number that a text denotes, exactly; None where it denotes none."""
    digits = text.strip(_SPACE)
    return Fraction(digits) if _DECIMAL.fullmatch(digits) else None


def rounded_text(number: Fraction, decimals: int) -> str:
    """Write a number with so many fraction digits, half to even."""
    return format(number, f"z.{decimals}f")


def numbered(columns: Sequence[Column], first: Sequence[str] = ()) -> list[Indices]:
    """Number the values of columns of n cells alike, shape (n,) each; -1 where a cell holds none.

    Parameters
    ----------
    columns : sequence of Column
    first : sequence of str
        Different values that have the numbers from 0, whether or not a cell holds them.
    """
    import pandas as pd  # noqa: PLC0415 -- most runs do without

    texts = [np.array(first, dtype=np.object_), *(column.held for column in columns)]
    codes: Indices = pd.factorize(np.concatenate(texts))[0].astype(np.intp)
    cells = codes[len(first) :].reshape(len(columns), -1)
    found: list[Indices] = [*cells]
    return found


def same_values(was: Column, now: Column) -> NDArray[np.bool_]:
    """Tell which cells hold the same number, or where one is no number, the same text, shape (n,)."""
    same: NDArray[np.bool_] = was.values == now.values
    texts = np.flatnonzero(~(was.is_number & now.is_number))
    same[texts] = was.taken(texts).same_texts(now.taken(texts))
    return same


def published_as_it_was(was: Column, now: Column) -> bool:
    """Tell whether every record has its own value of a field, where records have different ones."""
    there = np.flatnonzero(was.present)
    own = was.taken(there)
    first = own.taken(np.zeros(len(there), dtype=np.intp))
    return bool(same_values(own, now.taken(there)).all() and not same_values(own, first).all())


def combinations_of(columns: Sequence[NDArray[np.integer]], n: int) -> Indices:
    """Number the combinations of columns of n numbers from 0, shape (n,)."""
    if not columns:
        return np.zeros(n, dtype=np.intp)
    import pandas as pd  # noqa: PLC0415 -- most runs do without

    found = pd.DataFrame(dict(enumerate(columns))).groupby([*range(len(columns))], sort=False).ngroup()
    return np.asarray(found, dtype=np.intp)


def units_of(records: Dataset, household: str | None) -> Indices:
    """Number the households, shape (n,): a record that names none is one of its own, as all are without a field."""
    own = np.arange(len(records))
    if household is None:
        return own
    (codes,) = numbered([records.columns[household]])
    alone = codes < 0
    return combinations_of([np.where(alone, own, codes), alone.astype(np.intp)], len(records))


def hidden_records(
    names: Sequence[str], was: Sequence[Indices], now: Sequence[Indices], suppressed: Collection[str]
) -> NDArray[np.bool_]:
    """Tell of which records a value may have been suppressed after it was changed, shape (n,)."""
    gone = np.zeros(len(was[0]), dtype=np.bool_)
    for name, old, new in zip(names, was, now, strict=True):
        if name in suppressed:
            gone |= (old >= 0) & (new < 0)
    return gone
