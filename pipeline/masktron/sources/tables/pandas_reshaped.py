"""Data frames of pandas some of whose columns are going to hold what a recoding writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pyarrow as pa

from masktron.sources.column_forms import ColumnForm
from masktron.sources.tables.arrow_reshaped import reshaped_type
from masktron.sources.tables.class_values import holds
from masktron.sources.tables.pandas_lexemes import columns_of, precision_of


def reshaped_frame(frame: pd.DataFrame, forms: Mapping[str, ColumnForm]) -> pd.DataFrame:
    """Return a data frame in which some columns have the type of what is going to be written, and one of its values.

    Parameters
    ----------
    frame : DataFrame
    forms : mapping of str to ColumnForm
        By the name of the field.
    """
    columns = {}
    for at, name in enumerate(columns_of(frame, "")):
        column, form = frame.iloc[:, at], forms.get(name)
        columns[at] = column if form is None or not form.values else _reshaped(column, form)
    found = pd.DataFrame(columns, index=frame.index)
    found.columns, found.attrs = frame.columns, dict(frame.attrs)
    return found


def _reshaped(column: pd.Series[Any], form: ColumnForm) -> pd.Series[Any]:
    """Return a column of a type that holds all lexemes of a form: its own where it does."""
    kind: Any = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return _made(column, pd.Categorical.from_codes([0] * len(column), dtype=_categories(kind, form)))
    if isinstance(kind, pd.ArrowDtype):
        own = kind.pyarrow_dtype
        if (now := reshaped_type(own, form)).equals(own) and not pa.types.is_dictionary(now):
            return column
        texts = pa.array([form.values[0]] * len(column), pa.string())
        if pa.types.is_dictionary(now):
            categories = pa.array(form.values, pa.string()).cast(now.value_type)
            codes = pa.array([0] * len(column), now.index_type)
            texts = pa.DictionaryArray.from_arrays(codes, categories, ordered=now.ordered)
        return _made(column, pd.array(texts, dtype=pd.ArrowDtype(now)))
    if _holds(kind, form) or (pd.api.types.is_object_dtype(kind) and _has_texts(column)):
        return column
    if pd.api.types.is_extension_array_dtype(kind) and not isinstance(kind, pd.DatetimeTZDtype | pd.PeriodDtype):
        return _made(column, pd.array([form.values[0]] * len(column), dtype="string"))
    return _made(column, pd.Series([form.values[0]] * len(column)).array)


def _has_texts(column: pd.Series[Any]) -> bool:
    return any(isinstance(value, str) for value in column.tolist())


def _made(column: pd.Series[Any], values: Any) -> pd.Series[Any]:
    return pd.Series(values, index=column.index, name=column.name)


def _categories(kind: pd.CategoricalDtype, form: ColumnForm) -> pd.CategoricalDtype:
    """Return categories for all lexemes of a form: numbers where the former ones are, and hold them."""
    ordered, former = bool(kind.ordered) and form.ordered, kind.categories.dtype
    if pd.api.types.is_integer_dtype(former) and _holds(former, form):
        return pd.CategoricalDtype(pd.Index([int(text) for text in form.values], dtype=former), ordered)
    if pd.api.types.is_float_dtype(former) and _holds(former, form):
        return pd.CategoricalDtype(pd.Index([float(text) for text in form.values], dtype=former), ordered)
    return pd.CategoricalDtype(pd.Index(list(form.values)), ordered)


def _holds(kind: Any, form: ColumnForm) -> bool:
    """Whether a column of a type that is neither of categories nor of Arrow holds all lexemes of a form."""
    if pd.api.types.is_bool_dtype(kind):
        return False
    if pd.api.types.is_integer_dtype(kind) or pd.api.types.is_float_dtype(kind):
        return holds(pa.from_numpy_dtype(precision_of(kind)), form.values)
    return isinstance(kind, pd.StringDtype)
