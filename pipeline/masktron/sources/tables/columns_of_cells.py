"""Columns of Arrow strings as a `Dataset` has them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.sources.column import Column
from masktron.sources.lexicon import Lexicon
from masktron.sources.variables import Variable


def column_of(variable: Variable, lexemes: pa.ChunkedArray, missing: frozenset[str] = frozenset()) -> Column:
    """Return a column of strings, null where the field is absent, of which some mean 'missing'."""
    encoded = pc.dictionary_encode(lexemes).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # of no chunk
        encoded = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], pa.string()))
    # an absent cell takes the last entry
    which = pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy().astype(np.int32)
    return Column.of_texts(variable, _lexicon(encoded.dictionary), which, missing)


def _lexicon(texts: pa.StringArray) -> Lexicon:
    """Return distinct texts, and behind them None."""
    _, ends, data = texts.buffers()
    places = np.zeros(1, dtype=np.int32)
    if len(texts):
        places = np.frombuffer(ends, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return Lexicon.placed(np.frombuffer(data or b"", dtype=np.uint8), places, [None])
