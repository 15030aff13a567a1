"""Columns as Arrow has them: strings, null where a field is absent."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.lexicon import Lexicon
from masktron.sources.variables import Variable

_ROWS = 1 << 15
"""Records that are strings at once, where a block of them is enough."""


def column_of(
    variable: Variable, lexemes: pa.ChunkedArray | pa.Array, missing: frozenset[str] = frozenset()
) -> Column:
    """Return a column of strings, null where the field is absent, of which some mean 'missing'."""
    encoded = pc.dictionary_encode(lexemes)
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # of no chunk
        encoded = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], pa.string()))
    # an absent cell takes the last entry
    which = pc.fill_null(encoded.indices, len(encoded.dictionary)).to_numpy().astype(np.int32)
    return Column.of_texts(variable, _lexicon(encoded.dictionary), which, missing)


def strings_of(column: Column) -> pa.ChunkedArray:
    """Return the cells of a column as strings."""
    texts = _strings(column.lexicon)
    parts = [column.codes[at : at + _ROWS] for at in range(0, len(column), _ROWS)]
    return pa.chunked_array([texts.take(pa.array(part)) for part in parts], type=pa.string())


def blocks_of(dataset: Dataset) -> Generator[Sequence[pa.Array]]:
    """Yield the records of a flat dataset block by block, as columns of strings."""
    columns = [(_strings(column.lexicon), column.codes) for column in dataset.columns.values()]
    for at in range(0, len(dataset) if columns else 0, _ROWS):
        yield [texts.take(pa.array(codes[at : at + _ROWS])) for texts, codes in columns]


def distinct_strings(column: Column) -> pa.Array:
    """Return the texts that some cell has, each once."""
    used = column.used & ~column.lexicon.absent()
    return pc.unique(_strings(column.lexicon).filter(pa.array(used)))


def _strings(lexicon: Lexicon) -> pa.Array:
    """Return texts as Arrow has them, null for None."""
    there = pa.array(~lexicon.absent())
    kind = pa.string() if lexicon.ends.dtype == np.int32 else pa.large_string()
    buffers = [there.buffers()[1], pa.py_buffer(lexicon.ends), pa.py_buffer(lexicon.data)]
    found = pa.Array.from_buffers(kind, len(lexicon), buffers)
    return found if kind == pa.string() else found.cast(pa.string())


def _lexicon(texts: pa.StringArray) -> Lexicon:
    """Return distinct texts, and behind them None."""
    _, ends, data = texts.buffers()
    places = np.zeros(1, dtype=np.int32)
    if len(texts):
        places = np.frombuffer(ends, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return Lexicon.placed(np.frombuffer(data or b"", dtype=np.uint8), places, [None])
