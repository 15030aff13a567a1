"""Columns of lexemes as the jobs have them: every distinct text is looked at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.sources.column import Column, Status
from masktron.sources.columns import Cell, Cells, numbers_of
from masktron.sources.lexical import XML_SPACE, fraction_digits, parse_number
from masktron.sources.lexicon import Lexicon
from masktron.sources.missing_codes import MissingCodes, codes_of_field
from masktron.sources.record_layout import Field
from masktron.sources.tables.string_cells import placed_cells
from masktron.sources.variables import Typed


def column_of(
    field: Field, lexemes: pa.ChunkedArray, codes: frozenset[str], typed: Typed, *, compiled: bool = False
) -> Column:
    """Return a column with its lexemes, statuses and numbers.

    Parameters
    ----------
    field : Field
    lexemes : pyarrow.ChunkedArray
        Of strings; null where the field is absent.
    codes : frozenset of str
        Lexemes that mean 'missing'.
    typed : Typed
    compiled : bool
        Whether a kernel reads the numbers, for which whoever has many records waits once.
    """
    encoded = pc.dictionary_encode(lexemes).combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):  # of no chunk
        encoded = pa.DictionaryArray.from_arrays(pa.array([], pa.int32()), pa.array([], pa.string()))
    distinct = encoded.dictionary.to_pylist()
    missing = codes_of_field(codes, text=typed.text)
    # an absent cell takes the last entry
    which = pc.fill_null(encoded.indices, len(distinct)).to_numpy().astype(np.int32)
    status = np.full(len(distinct) + 1, Status.PRESENT, dtype=np.uint8)
    values = np.full(len(distinct) + 1, np.nan, dtype=np.float64)
    status[-1], decimals = Status.ABSENT, 0
    left: Sequence[int] = range(len(distinct))
    if compiled:
        known, decimals = _plain_numbers(encoded.dictionary, missing, values[:-1])
        left = np.flatnonzero(~known).tolist()
    for at in left:
        text = distinct[at].strip(XML_SPACE)
        if text in missing:
            status[at] = Status.CODE
        elif not text:
            status[at] = Status.EMPTY
        else:
            values[at] = parse_number(text)
            if not np.isnan(values[at]):
                decimals = max(decimals, fraction_digits(text))
    return Column(field, which, _lexicon(encoded.dictionary), status, values, decimals, typed)


def _lexicon(texts: pa.StringArray) -> Lexicon:
    """Return distinct texts, and behind them None."""
    _, ends, data = texts.buffers()
    places = np.zeros(1, dtype=np.int32)
    if len(texts):
        places = np.frombuffer(ends, dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return Lexicon.placed(np.frombuffer(data or b"", dtype=np.uint8), places, [None])


def _plain_numbers(
    texts: pa.Array, codes: MissingCodes, values: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], int]:
    """Read texts that are plain numbers and surely no codes; return which ones, and their most fraction digits."""
    buffer, starts, stops, _ = placed_cells([texts])
    status = np.where(starts[0] == stops[0], np.uint8(Cell.EMPTY), np.uint8(Cell.TEXT))
    numbers = numbers_of(buffer, Cells(starts[0], stops[0], status))
    known = (numbers.scale >= 0) & ~np.isin(numbers.double, codes.doubles)
    values[known] = numbers.double[known]
    return known, int(numbers.scale[known].max(initial=0))
