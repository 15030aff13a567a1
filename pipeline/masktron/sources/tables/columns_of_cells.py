"""Columns of lexemes as the jobs have them: every distinct text is looked at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.sources.lexical import XML_SPACE, fraction_digits, parse_number
from masktron.sources.records import Column, Field, Status, Typed


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
    distinct = encoded.dictionary.to_pylist()
    which = pc.fill_null(encoded.indices, -1).to_numpy().astype(np.intp)
    # -1 stands for an absent cell and takes the last entry
    texts = np.array([*distinct, None], dtype=np.object_)
    status = np.full(len(texts), Status.PRESENT, dtype=np.uint8)
    values = np.full(len(texts), np.nan, dtype=np.float64)
    status[-1], decimals = Status.ABSENT, 0
    for at, lexeme in enumerate(distinct):
        text = lexeme.strip(XML_SPACE)
        if text in codes:
            status[at] = Status.CODE
        elif not text:
            status[at] = Status.EMPTY
        else:
            values[at] = parse_number(text)
            if not np.isnan(values[at]):
                decimals = max(decimals, fraction_digits(text))
    return Column(field, texts[which], status[which], values[which], decimals, typed)
