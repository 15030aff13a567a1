"""Columns as Arrow has them: strings, null where a field is absent."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.errors import DocumentError
from masktron.problems.problem import Field, Place
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.lexical import NOT_IN_XML
from masktron.sources.lexicon import Lexicon
from masktron.sources.variables import Variable


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


_SPACE = ord(" ")
_BEYOND = 0xED
"""With this byte, or a greater one, begin halves of surrogate pairs, U+FFFE and U+FFFF, among others."""


def octets_of(column: pa.Array) -> NDArray[np.uint8]:
    """Return the bytes of an array of strings, one text behind the other; those of nulls are of no account."""
    _, offsets, data = column.buffers()
    if data is None or not len(column):
        return np.zeros(0, dtype=np.uint8)
    width = np.int64 if pa.types.is_large_string(column.type) else np.int32
    places = np.frombuffer(offsets, dtype=width)
    return np.frombuffer(data, dtype=np.uint8)[places[column.offset] : places[column.offset + len(column)]]


def require_xml(tags: Sequence[str], columns: Sequence[pa.Array], before: int, where: str) -> None:
    """Refuse characters that no XML document can hold.

    Parameters
    ----------
    tags : sequence of str
        Names of the columns.
    columns : sequence of pyarrow.Array
        Of strings.
    before : int
        Records of the file that stand before these.
    where : str
        The file.

    Raises
    ------
    DocumentError
        Says in which record and column, of the first one.
    """
    # few columns hold a byte that such a character begins with
    found: list[tuple[int, str]] = []
    for tag, column in zip(tags, columns, strict=True):
        data = octets_of(column)
        if len(data) and (data.min() < _SPACE or data.max() >= _BEYOND):
            octets = column.cast(pa.large_binary() if pa.types.is_large_string(column.type) else pa.binary())
            texts = (cell.decode("utf-8", "surrogatepass") for cell in octets.fill_null(b"").to_pylist())
            at = next((at for at, text in enumerate(texts) if NOT_IN_XML.search(text)), -1)
            if at >= 0:
                found.append((at, tag))
    if found:
        at, tag = min(found, key=lambda one: one[0])
        raise no_letter(where, before + at + 1, tag)


def no_letter(where: str, record: int, name: str) -> DocumentError:
    """Return the error of a text with a character that XML does not have, in a record counted from 1."""
    detail = "a control character or half a surrogate pair, which XML and rules do not have"
    return DocumentError.of("value-not-readable", Place(where, record=record), field=Field(name), detail=detail)


def placed_cells(
    columns: Sequence[pa.Array],
) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Put columns of strings behind each other.

    Parameters
    ----------
    columns : sequence of pyarrow.Array
        Of one length.

    Returns
    -------
    texts : ndarray of uint8
        The bytes of all cells.
    starts, stops : ndarray of int64, shape (columns, records)
        Where each cell stands there; equal where there is none.
    there : ndarray of bool, shape (columns, records)
        Whether there is a value.
    """
    shape = len(columns), len(columns[0]) if columns else 0
    starts, stops = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
    there = np.ones(shape, dtype=np.bool_)
    parts, base = [], 0
    for at, column in enumerate(columns):
        octets = octets_of(column)
        parts.append(octets)
        if not len(column):
            continue
        width = np.int64 if pa.types.is_large_string(column.type) else np.int32
        places = np.frombuffer(column.buffers()[1], dtype=width)[column.offset : column.offset + len(column) + 1]
        shift = base - int(places[0])
        starts[at], stops[at] = places[:-1], places[1:]
        starts[at] += shift
        stops[at] += shift
        if column.null_count:
            there[at] = truths_of(column.is_valid())
            stops[at] = np.where(there[at], stops[at], starts[at])
        base += len(octets)
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint8), starts, stops, there
