"""What pandas says of its columns and its index in the metadata of a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from masktron.sources.tables.arrow_columns import categories_of
from masktron.sources.tables.arrow_lexemes import is_text

PANDAS = b"pandas"
_MOST = 1 << 62
"""Above all numbers of an index that counts: the length of a range of Python has 63 bits."""


def pandas_metadata(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Return what pandas says of a file; nothing where it has not the form that pandas gives it."""
    text = (metadata or {}).get(PANDAS)
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    columns, indexes = found.get("columns", []), found.get("index_columns", [])
    if not (isinstance(columns, list) and isinstance(indexes, list)):
        return {}
    formed = all(
        isinstance(one, dict) and all(isinstance(one.get(key), str | None) for key in ("field_name", "name"))
        for one in columns
    ) and all(isinstance(one, str) or (isinstance(one, dict) and _counts(one)) for one in indexes)
    return found if formed else {}


def _counts(index: Mapping[str, Any]) -> bool:
    """Whether an index only counts, in numbers that a range of Python can have."""
    counts = [index.get(name, 1) for name in ("start", "stop", "step")]
    return all(isinstance(count, int) and abs(count) < _MOST for count in counts) and counts[2] != 0


def released_metadata(schema: pa.Schema, columns: dict[str, pa.ChunkedArray], rows: int) -> dict[bytes, bytes] | None:
    """Return the metadata of a file with these of the columns, in their types, and that many records."""
    described = pandas_metadata(schema.metadata)
    metadata: dict[bytes, bytes] | None = schema.metadata
    if not described or metadata is None:
        return metadata
    gone = set(schema.names) - columns.keys()
    kept = dict(described)
    kept["columns"] = [
        _described(one, columns.get(one.get("field_name", one.get("name"))), schema)
        for one in described.get("columns", ())
        if one.get("field_name", one.get("name")) not in gone
    ]
    kept["index_columns"] = [
        _counted(one, rows) if isinstance(one, dict) else one
        for one in described.get("index_columns", ())
        if isinstance(one, dict) or one not in gone
    ]
    if kept == described:
        return metadata
    return {**metadata, PANDAS: json.dumps(kept).encode()}


def _described(described: dict[str, Any], column: pa.ChunkedArray | None, before: pa.Schema) -> dict[str, Any]:
    """Return the description of a column with its type, and with the number of categories that it has."""
    if column is None:
        return described
    found = dict(described)
    if not column.type.equals(before.field(found.get("field_name", found.get("name"))).type):
        found |= _of_type(found, column.type)
    said = found.get("metadata")
    if pa.types.is_dictionary(column.type) and isinstance(said, dict) and "num_categories" in said:
        found["metadata"] = {**said, "num_categories": len(categories_of(column))}
    return found


def _of_type(described: Mapping[str, Any], kind: pa.DataType) -> dict[str, Any]:
    """Return what pandas is told of a column in its new type."""
    if not pa.types.is_dictionary(kind):
        names = ("unicode", "object") if is_text(kind) else (np.dtype(kind.to_pandas_dtype()).name,) * 2
        return {**dict(zip(("pandas_type", "numpy_type"), names, strict=True)), "metadata": None}
    said = described.get("metadata")
    metadata = {"metadata": {**said, "ordered": kind.ordered}} if isinstance(said, dict) else {}
    return {**metadata, "numpy_type": str(kind.index_type)}


def _counted(index: dict[str, Any], rows: int) -> dict[str, Any]:
    """Return the description of an index that only counts, for another number of records."""
    step = index.get("step", 1)
    size = len(range(index.get("start", 0), index.get("stop", 0), step))
    return index if size == rows else {**index, "stop": index.get("start", 0) + rows * step}
