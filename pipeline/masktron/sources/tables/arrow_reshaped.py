"""Columns with Arrow's types that are going to hold what a recoding writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from masktron.sources.column_forms import ColumnForm
from masktron.sources.tables.arrow_columns import values_of
from masktron.sources.tables.arrow_lexemes import is_text, value_type, variable_of
from masktron.sources.tables.class_values import holds
from masktron.sources.variables import Variable

_PANDAS = b"pandas"
_MOST_OF_8 = 127
"""Categories that an index of 8 bits counts."""


def reshaped_type(kind: pa.DataType, form: ColumnForm) -> pa.DataType:
    """Return the type in which a column holds what is to be written: its own if it can, else that of texts.

    Categories stay categories, and have an order where that of the classes is one.
    """
    if not form.values or is_text(kind):
        return kind
    own = value_type(kind)
    values = own if not pa.types.is_null(own) and (is_text(own) or holds(own, form.values)) else pa.string()
    if not pa.types.is_dictionary(kind):
        return values
    narrow = kind.index_type.bit_width == 8 and len(form.values) > _MOST_OF_8
    return pa.dictionary(pa.int16() if narrow else kind.index_type, values, kind.ordered and form.ordered)


def reshaped_schema(schema: pa.Schema, names: Sequence[str], forms: Mapping[str, ColumnForm]) -> pa.Schema:
    """Return the schema of a file in which some columns hold other values; see `reshaped_type`.

    Parameters
    ----------
    schema : pyarrow.Schema
    names : sequence of str
        Of the variables, one for each column.
    forms : mapping of str to ColumnForm
    """
    fields = [
        one.with_type(reshaped_type(one.type, forms[name])) if name in forms else one
        for name, one in zip(names, schema, strict=True)
    ]
    changed = {
        one.name: one.type for one, before in zip(fields, schema, strict=True) if not one.type.equals(before.type)
    }
    return pa.schema(fields, _metadata(schema.metadata, changed))


def reshaped_values(values: pa.Table, names: Sequence[str], forms: Mapping[str, ColumnForm]) -> pa.Table:
    """Return typed columns of which some hold nothing but have the type, and the categories, of what is to come.

    Parameters
    ----------
    values : pyarrow.Table
    names : sequence of str
        Of the variables, one for each column.
    forms : mapping of str to ColumnForm
    """
    schema = reshaped_schema(values.schema, names, forms)
    columns = [
        _nothing(one.type, forms[name], len(values)) if name in forms and forms[name].values else column
        for name, one, column in zip(names, schema, values.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def reshaped_variables(
    variables: Sequence[Variable], schema: pa.Schema, forms: Mapping[str, ColumnForm]
) -> tuple[Variable, ...]:
    """Return variables of which some are of the types that `reshaped_values` gives their columns."""
    return tuple(
        replace(variable_of(one.name, one.column, field.type), label=one.label) if one.name in forms else one
        for one, field in zip(variables, schema, strict=True)
    )


def _nothing(kind: pa.DataType, form: ColumnForm, rows: int) -> pa.ChunkedArray:
    if not pa.types.is_dictionary(kind):
        return pa.chunked_array([pa.nulls(rows, kind)], type=kind)
    texts = pa.chunked_array([pa.array(form.values, pa.string())])
    categories = values_of(texts, kind.value_type).combine_chunks()
    codes = pa.nulls(rows, kind.index_type)
    one = pa.DictionaryArray.from_arrays(codes, categories, ordered=kind.ordered)
    return pa.chunked_array([one], type=kind)


def pandas_metadata(metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    """Return what pandas says of a file; nothing where it has not the form that pandas gives it."""
    text = (metadata or {}).get(_PANDAS)
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    columns, indexes = found.get("columns", []), found.get("index_columns", [])
    if not (isinstance(columns, list) and isinstance(indexes, list)):
        return {}
    counts = [[one.get(name, 1) for name in ("start", "stop", "step")] for one in indexes if isinstance(one, dict)]
    formed = all(isinstance(one, dict) for one in columns) and all(
        all(isinstance(count, int) for count in three) and three[2] for three in counts
    )
    return found if formed else {}


def _metadata(metadata: dict[bytes, bytes] | None, changed: Mapping[str, pa.DataType]) -> dict[bytes, bytes] | None:
    """Return the metadata of a file in which pandas is told the new types of columns."""
    if not metadata or _PANDAS not in metadata or not changed:
        return metadata
    described = pandas_metadata(metadata)
    if "columns" not in described:
        return metadata  # what pandas cannot read tells it nothing
    columns = [{**one, **dict(_of_pandas(one, changed))} for one in described["columns"]]
    return {**metadata, _PANDAS: json.dumps({**described, "columns": columns}).encode()}


def _of_pandas(one: Mapping[str, Any], changed: Mapping[str, pa.DataType]) -> Iterator[tuple[str, Any]]:
    """Yield what pandas is told of a column in its new type."""
    kind = changed.get(str(one.get("field_name", one.get("name"))))
    if kind is None:
        return
    if pa.types.is_dictionary(kind):
        if isinstance(one.get("metadata"), dict):
            yield "metadata", {**one["metadata"], "ordered": kind.ordered}
        yield "numpy_type", str(kind.index_type)
        return
    yield from (("pandas_type", "unicode"), ("numpy_type", "object"), ("metadata", None))
