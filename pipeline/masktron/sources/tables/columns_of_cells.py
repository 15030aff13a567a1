"""Columns of lexemes as the jobs have them: every distinct text is looked at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.sources.lexical import XML_SPACE, fraction_digits, parse_number
from masktron.sources.records import Column, Field, Status, Typed

_PLAIN = r"^-?[0-9]{1,40}(\.[0-9]{1,40})?$"
"""Decimals without exponent, sign of plus or white space: what `parse_number` reads as they stand."""


def column_of(field: Field, lexemes: pa.ChunkedArray, codes: frozenset[str], typed: Typed) -> Column:
    """Return a column with its lexemes, statuses and numbers.

    Parameters
    ----------
    field : Field
    lexemes : pyarrow.ChunkedArray
        Of strings; null where the field is absent.
    codes : frozenset of str
        Lexemes that mean 'missing'.
    typed : Typed
    """
    encoded = pc.dictionary_encode(lexemes).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # of no chunk
        encoded = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], pa.string()))
    distinct = encoded.dictionary
    which = pc.fill_null(encoded.indices, -1).to_numpy().astype(np.intp)
    # -1 stands for an absent cell and takes the last entry
    texts = np.array([*distinct.to_pylist(), None], dtype=np.object_)
    status = np.full(len(texts), Status.PRESENT, dtype=np.uint8)
    values = np.full(len(texts), np.nan, dtype=np.float64)
    status[-1] = Status.ABSENT
    plain, decimals = _plain_numbers(distinct, codes, values)
    for at in np.flatnonzero(~plain).tolist():
        text = texts[at].strip(XML_SPACE)
        if text in codes:
            status[at] = Status.CODE
        elif not text:
            status[at] = Status.EMPTY
        else:
            values[at] = parse_number(text)
            if not np.isnan(values[at]):
                decimals = max(decimals, fraction_digits(text))
    return Column(field, texts[which], status[which], values[which], decimals, typed)


def _plain_numbers(
    distinct: pa.Array, codes: frozenset[str], values: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], int]:
    """Read the texts that are decimals as most files write them, all at once: Arrow rounds them correctly, too.

    Parameters
    ----------
    distinct : pyarrow.Array
        Of strings, shape (m,).
    codes : frozenset of str
        What means 'missing' is none of them.
    values : ndarray of float64, shape (m + 1,)
        Takes the numbers.

    Returns
    -------
    plain : ndarray of bool, shape (m,)
    decimals : int
        Largest number of their fraction digits.
    """
    shaped = pc.match_substring_regex(distinct, _PLAIN)
    coded = pc.is_in(distinct, value_set=pa.array(sorted(codes), pa.string()))
    plain = pc.and_not(shaped, coded)
    taken = distinct.filter(plain)
    mask: NDArray[np.bool_] = plain.to_numpy(zero_copy_only=False)
    values[:-1][mask] = pc.cast(taken, pa.float64()).to_numpy()
    points = pc.find_substring(taken, ".").to_numpy()
    lengths = pc.utf8_length(taken).to_numpy()
    return mask, int(np.where(points < 0, 0, lengths - points - 1).max(initial=0))
