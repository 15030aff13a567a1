"""Typed columns with the values of lexemes, those of categories among them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from masktron.sources.tables.arrow_lexemes import has_text, is_text, texts_of, value_type
from masktron.sources.tables.arrow_values import UnfitError, array_of, no_room
from masktron.sources.tables.column_strings import one_array


def categories_of(column: pa.ChunkedArray) -> tuple[str, ...]:
    """Return the lexemes of the categories of a column that `lexemes_of` has read, in their order."""
    found: dict[str, None] = {}
    for chunk in column.chunks:
        found.update((text, None) for text in texts_of(chunk.dictionary).to_pylist() if text is not None)
    return tuple(found)


def values_of(lexemes: pa.ChunkedArray, kind: pa.DataType, order: Sequence[str] = ()) -> pa.ChunkedArray:
    """Return lexemes as values of a type, exactly.

    Parameters
    ----------
    lexemes : pyarrow.ChunkedArray
    kind : pyarrow.DataType
    order : sequence of str
        Lexemes of categories that come first, in their order.

    Raises
    ------
    UnfitError
        The type cannot hold one.
    """
    if is_text(kind):
        return lexemes.cast(kind)
    if pa.types.is_null(kind):
        if lexemes.null_count < len(lexemes):
            raise UnfitError("the column had no value")
        return pa.chunked_array([pa.nulls(len(lexemes))])
    if not has_text(kind):
        raise UnfitError("its values have no text form")
    places: dict[str, int] = {text: at for at, text in enumerate(dict.fromkeys(order))}
    encoded = one_array(pc.dictionary_encode(lexemes))
    own = [places.setdefault(text, len(places)) for text in encoded.dictionary.to_pylist()]
    indices = pa.array(own, pa.int64()).take(encoded.indices)
    values = array_of(list(places), value_type(kind))
    if pa.types.is_dictionary(kind):
        return pa.chunked_array([_dictionary(indices, values, kind)])
    return pa.chunked_array([taken(values, indices)], type=kind)


def taken(values: Any, rows: pa.Array) -> Any:
    """Return some values of an array or a column of any type; the categories of a column are those of all chunks.

    Raises
    ------
    UnfitError
        The type cannot count the categories of all chunks.
    """
    if pa.types.is_string_view(values.type):
        return values.cast(pa.large_string()).take(rows).cast(pa.string_view())
    if isinstance(values, pa.ChunkedArray) and pa.types.is_dictionary(values.type):
        values = one_dictionary(values)
    return values.take(rows)


def one_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of categories whose chunks have the same ones.

    Raises
    ------
    UnfitError
        The type cannot count them.
    """
    chunks = column.chunks
    if all(chunk.dictionary.equals(chunks[0].dictionary) for chunk in chunks[1:]):
        return column
    places: dict[str | None, int] = {}
    kind, dictionaries, pieces, size = column.type, [], [], 0
    for chunk in chunks:
        texts = texts_of(chunk.dictionary).to_pylist()
        fresh: list[int] = []
        for at, text in enumerate(texts):
            if text not in places:
                places[text] = size + len(fresh)
                fresh.append(at)
        dictionaries.append(taken(chunk.dictionary, pa.array(fresh, pa.int64())))
        size += len(fresh)
        own = pa.array([places[text] for text in texts], pa.int64())
        pieces.append(own.take(chunk.indices))
    values = _joined(dictionaries)
    return pa.chunked_array([_dictionary(piece, values, kind) for piece in pieces], type=kind)


def replaced(original: pa.ChunkedArray, changed: NDArray[np.bool_], lexemes: pa.ChunkedArray, name: str) -> Any:
    """Return a typed column in which cells that have changed have the values of their lexemes.

    Parameters
    ----------
    original : pyarrow.ChunkedArray
        Its values, in the order in which they are written.
    changed : ndarray of bool, shape (n,)
    lexemes : pyarrow.ChunkedArray
        Of strings.
    name : str
        Of the column, for messages.

    Raises
    ------
    UsageError
        The type of the column cannot hold a masked value.
    """
    if not changed.any():
        return original
    kind = original.type
    try:
        if pa.types.is_dictionary(kind):
            return _recoded(original, changed, lexemes)
        new = values_of(lexemes.filter(pa.array(changed)), kind)
    except UnfitError as problem:
        raise no_room(name, f"{problem}, and its type is {kind}") from None
    if changed.all():
        return new
    rows = np.arange(len(original), dtype=np.int64)
    rows[changed] = len(original) + np.arange(int(changed.sum()))
    return taken(pa.chunked_array([*original.chunks, *new.chunks], type=kind), pa.array(rows))


def _recoded(original: pa.ChunkedArray, changed: NDArray[np.bool_], lexemes: pa.ChunkedArray) -> pa.ChunkedArray:
    """Put values into a column of categories, which may not get new ones."""
    one = one_dictionary(original).combine_chunks()
    one = one.chunk(0) if isinstance(one, pa.ChunkedArray) else one
    places: dict[str, int] = {}
    for at, text in enumerate(texts_of(one.dictionary).to_pylist()):
        places.setdefault(text, at)
    codes: list[int | None] = one.indices.to_pylist()
    new = lexemes.to_pylist()
    for at in np.flatnonzero(changed).tolist():
        if new[at] is not None and new[at] not in places:
            raise UnfitError("it is none of the categories")
        codes[at] = None if new[at] is None else places[new[at]]
    return pa.chunked_array([_dictionary(codes, one.dictionary, original.type)])


def without_categories(column: pa.ChunkedArray, lost: Collection[str]) -> pa.ChunkedArray:
    """Return a column without some categories, which no value of it has.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Of categories.
    lost : collection of str
        Lexemes.
    """
    one = one_dictionary(column).combine_chunks()
    texts = texts_of(one.dictionary).to_pylist()
    kept = [at for at, text in enumerate(texts) if text not in lost]
    if len(kept) == len(texts):
        return column
    places = {at: new for new, at in enumerate(kept)}
    codes = pa.array([None if at is None else places[at] for at in one.indices.to_pylist()], column.type.index_type)
    return pa.chunked_array([_dictionary(codes, taken(one.dictionary, pa.array(kept, pa.int64())), column.type)])


def _dictionary(codes: Any, values: pa.Array, kind: pa.DataType) -> pa.DictionaryArray:
    try:
        indices = pa.array(codes, pa.int64()).cast(kind.index_type)
    except pa.ArrowInvalid:
        raise UnfitError("there are more categories than the type can count") from None
    return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered)


def _joined(arrays: list[pa.Array]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
