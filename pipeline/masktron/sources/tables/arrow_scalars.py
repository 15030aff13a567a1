"""Scalars and arrays to and from pyarrow, which loads pandas to make them of values of Python: half a second."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def text_scalar(text: str) -> pa.Scalar:
    """Return a text as a scalar of large strings."""
    data = text.encode()
    ends = pa.py_buffer(np.array([0, len(data)], dtype=np.int64))
    return pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(data)])[0]


def positions(rows: NDArray[np.int64]) -> pa.Array:
    """Return positions, with which rows are taken."""
    own = np.ascontiguousarray(rows, dtype=np.int64)
    return pa.Array.from_buffers(pa.int64(), len(own), [None, pa.py_buffer(own)])


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece; a piece that is one already is not copied."""
    if not column.num_chunks:
        return pa.nulls(0, column.type)
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def truths_of(array: pa.Array) -> NDArray[np.bool_]:
    """Return an array of truths without nulls as one of numpy."""
    bits = np.unpackbits(np.frombuffer(array.buffers()[1], dtype=np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(np.bool_)
